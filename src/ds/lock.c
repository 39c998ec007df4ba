/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The contended side of struct ofi_lock: sleeping on the word and waking one sleeper. */
#include <ofi/lock.h>

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCK_SLEEPERS = 2, LOCK_SPINS = 100 };

static void cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

static void futex(int *word, int op, int val)
{
	int saved = errno;

	syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, val, NULL, NULL, 0);
	errno = saved;
}

static bool spin(struct ofi_lock *lock)
{
	int i;

	for (i = 0; i < LOCK_SPINS; i++) {
		cpu_relax();
		if (__atomic_load_n(&lock->word, __ATOMIC_RELAXED) == 0 && ofi_trylock(lock))
			return true;
	}
	return false;
}

void ofi_lock_slow(struct ofi_lock *lock)
{
	if (spin(lock))
		return;
	/* Taken as "held with sleepers": others may sleep too, one wake-up too many is harmless. */
	while (__atomic_exchange_n(&lock->word, LOCK_SLEEPERS, __ATOMIC_ACQUIRE) != 0)
		futex(&lock->word, FUTEX_WAIT, LOCK_SLEEPERS);
}

void ofi_unlock_slow(struct ofi_lock *lock)
{
	__atomic_store_n(&lock->word, 0, __ATOMIC_RELEASE);
	futex(&lock->word, FUTEX_WAKE, 1);
}
