/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The contended side of struct ofi_lock: sleeping on the word and waking one sleeper. An arriving
 * thread may overtake one that was woken, so that no thread has to wait for that one to be
 * scheduled. A thread that was overtaken more than LOCK_PATIENCE times is handed the lock.
 */
#include "lock.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCK_FREE, LOCK_HELD, LOCK_SLEEPERS, LOCK_HANDED, LOCK_SPINS = 100, LOCK_PATIENCE = 3 };
/* The word of an alias of another lock. ofi_release() subtracts 1 from it for a moment. */
enum { LOCK_JOINED = 1 << 30 };
/* Futex bit masks for the sleepers that a wake-up is meant for. */
enum { LOCK_ANY = 1, LOCK_STARVED = 2 };

/* On most ARM cores YIELD takes no time; ISB waits like PAUSE. */
static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

static bool is_joined(const struct ofi_lock *lock)
{
	return __atomic_load_n(&lock->word, __ATOMIC_ACQUIRE) >= LOCK_JOINED - 1;
}

static struct ofi_lock *other_of(struct ofi_lock *lock)
{
	return ((struct ofi_lock_joined *)lock)->other;
}

static void futex(int *word, int op, int val, int whom)
{
	int saved = errno;

	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, NULL, NULL, whom);
	errno = saved;
}

static bool lock_spin(struct ofi_lock *lock)
{
	int i;

	for (i = 0; i < LOCK_SPINS; i++) {
		cpu_relax();
		if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && ofi_trylock(lock))
			return true;
	}
	return false;
}

static bool lock_swap(struct ofi_lock *lock, int from, int to)
{
	return __atomic_compare_exchange_n(&lock->word, &from, to, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

/*
 * Takes the lock as "held with sleepers": others may be asleep, and an extra wake-up is harmless.
 */
static bool lock_take(struct ofi_lock *lock, bool starved)
{
	return lock_swap(lock, LOCK_FREE, LOCK_SLEEPERS) ||
	       (starved && lock_swap(lock, LOCK_HANDED, LOCK_SLEEPERS));
}

/*
 * Sleeps until the lock may have been released, and returns true. Returns false at once if the lock
 * should be tried again.
 */
static bool lock_nap(struct ofi_lock *lock, bool starved)
{
	int seen = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);

	if (seen == LOCK_FREE || seen > LOCK_HANDED || (seen == LOCK_HANDED && starved))
		return false;
	if (seen == LOCK_HELD) {
		if (!lock_swap(lock, LOCK_HELD, LOCK_SLEEPERS))
			return false;
		seen = LOCK_SLEEPERS;
	}
	futex(&lock->word, FUTEX_WAIT_BITSET, seen, starved ? LOCK_STARVED : LOCK_ANY);
	return true;
}

void ofi_lock_slow(struct ofi_lock *lock)
{
	int late = 0;

	if (!is_joined(lock) && lock_spin(lock))
		return;
	while (!lock_take(lock, late > LOCK_PATIENCE)) {
		if (is_joined(lock)) {
			ofi_lock(other_of(lock));
			break;
		}
		if (lock_nap(lock, late > LOCK_PATIENCE) && ++late == LOCK_PATIENCE + 1)
			__atomic_add_fetch(&lock->starved, 1, __ATOMIC_RELAXED);
	}
	if (late > LOCK_PATIENCE)
		__atomic_sub_fetch(&lock->starved, 1, __ATOMIC_RELAXED);
}

/*
 * The word is not LOCK_FREE here, so a thread that is counted as starved remains so until it is
 * handed the lock. A thread that is counted after this check is woken like any other.
 */
void ofi_unlock_slow(struct ofi_lock *lock)
{
	bool starved = __atomic_load_n(&lock->starved, __ATOMIC_RELAXED);

	if (is_joined(lock)) {
		__atomic_store_n(&lock->word, LOCK_JOINED, __ATOMIC_RELAXED);
		ofi_unlock(other_of(lock));
		return;
	}
	__atomic_store_n(&lock->word, starved ? LOCK_HANDED : LOCK_FREE, __ATOMIC_RELEASE);
	futex(&lock->word, FUTEX_WAKE_BITSET, 1, starved ? LOCK_STARVED : LOCK_STARVED | LOCK_ANY);
}

/* Wakes all sleepers, which check the word again. */
void ofi_lock_join(struct ofi_lock_joined *lock, struct ofi_lock *other)
{
	lock->other = other;
	__atomic_store_n(&lock->own.word, LOCK_JOINED, __ATOMIC_RELEASE);
	futex(&lock->own.word, FUTEX_WAKE_BITSET, INT_MAX, LOCK_STARVED | LOCK_ANY);
}

bool ofi_lock_or_mark(struct ofi_lock *lock)
{
	int seen;

	while (!ofi_trylock(lock)) {
		if (is_joined(lock)) {
			ofi_lock(other_of(lock));
			return true;
		}
		seen = __atomic_load_n(&lock->word, __ATOMIC_RELAXED);
		if (seen == LOCK_SLEEPERS || seen == LOCK_HANDED ||
		    lock_swap(lock, LOCK_HELD, LOCK_SLEEPERS))
			return false;
	}
	return true;
}
