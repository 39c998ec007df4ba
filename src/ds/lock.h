/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A one-word mutex whose uncontended lock and unlock are a handful of inlined instructions. A
 * thread that waits for the lock sleeps in the kernel, so that an oversubscribed host does not
 * spin. No thread sleeps forever, however many others take the lock continuously.
 */
#ifndef OFI_LOCK_H
#define OFI_LOCK_H

#include <stdbool.h>
#include "compiler.h"

struct ofi_lock {
	/* 0 free, 1 held, 2 held with sleepers, 3 handed to a starved thread; larger if joined */
	int word;
	int starved; /* number of threads that were overtaken too often, all in ofi_lock_slow() */
};

/*
 * A lock that can become an alias of a lock that several objects share. From then on, taking or
 * releasing `own` takes or releases `other`, on the slow path, and ofi_trylock() always fails.
 */
struct ofi_lock_joined {
	struct ofi_lock own; /* first */
	struct ofi_lock *other;
};

void ofi_lock_slow(struct ofi_lock *lock);
void ofi_unlock_slow(struct ofi_lock *lock);
/* Makes the lock an alias of `other` for good. The caller holds lock->own, which this releases. */
void ofi_lock_join(struct ofi_lock_joined *lock, struct ofi_lock *other);
/*
 * Takes the lock without waiting, but waits for a shared lock that it is an alias of. Returns false
 * if the lock is held; then its holder releases it through ofi_unlock_slow().
 */
bool ofi_lock_or_mark(struct ofi_lock *lock);

static inline void ofi_lock_init(struct ofi_lock *lock)
{
	__atomic_store_n(&lock->word, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&lock->starved, 0, __ATOMIC_RELAXED);
}

static inline bool ofi_trylock(struct ofi_lock *lock)
{
	int free = 0;

	return __atomic_compare_exchange_n(&lock->word, &free, 1, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static inline void ofi_lock(struct ofi_lock *lock)
{
	if (ofi_unlikely(!ofi_trylock(lock)))
		ofi_lock_slow(lock);
}

/*
 * Releases the lock. Returns false if there are sleepers, or if it is an alias: the lock stays held
 * until ofi_unlock_slow().
 */
static inline bool ofi_release(struct ofi_lock *lock)
{
	return __atomic_sub_fetch(&lock->word, 1, __ATOMIC_RELEASE) == 0;
}

static inline void ofi_unlock(struct ofi_lock *lock)
{
	if (ofi_unlikely(!ofi_release(lock)))
		ofi_unlock_slow(lock);
}

#endif
