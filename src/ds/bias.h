/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes a lock almost free for the thread that takes it all the time. The owner, one thread at a
 * time, enters with two plain memory accesses. Any other thread takes the lock and then locks out
 * the owner, which costs a system call. An owner that is locked out takes the lock.
 */
#ifndef OFI_BIAS_H
#define OFI_BIAS_H

#include <stdbool.h>
#include <stdint.h>
#include "compiler.h"

/*
 * Values of `shut`. CALLED asks the owner to take the lock; after a barrier, SHUT, the owner is
 * certain to see the request.
 */
enum { OFI_BIAS_CALLED = 1, OFI_BIAS_SHUT };

struct ofi_bias {
	int inside; /* the owner is inside; only the owner writes it */
	int shut;   /* 0 or one of the above; written with the lock held */
};

/*
 * Returns false if the kernel lacks the required system call. Must be called before a bias is used;
 * may be called repeatedly.
 */
bool ofi_bias_init(void);
/*
 * Locks out the owner and returns when it is outside. A thread other than the owner calls it, with
 * the lock held.
 */
void ofi_bias_shut(struct ofi_bias *bias);
/*
 * Locks out the owner without waiting for it. Returns false if the owner is inside; its next entry
 * fails even if the caller releases the lock in the meantime.
 */
bool ofi_bias_try_shut(struct ofi_bias *bias);
/* Returns how long the last barrier took, for any bias, in ms. */
uint64_t ofi_bias_cost(void);

/*
 * True while this thread does not act as the owner and has to lock it out: permanently in threads
 * of the library, temporarily in threads of the application.
 */
extern __thread bool ofi_bias_outside;

/*
 * Returns true if the owner was seen inside; it may have left since. False says nothing about where
 * the owner is.
 */
static inline bool ofi_bias_looks_inside(const struct ofi_bias *bias)
{
	return __atomic_load_n(&bias->inside, __ATOMIC_RELAXED);
}

/* Called with the lock held. */
static inline bool ofi_bias_is_shut(const struct ofi_bias *bias)
{
	return __atomic_load_n(&bias->shut, __ATOMIC_RELAXED);
}

/*
 * Makes the owner take the lock at its next entry after it sees the request. Costs nothing, and
 * says nothing about where the owner is. Called with the lock held.
 */
static inline void ofi_bias_call(struct ofi_bias *bias)
{
	if (!ofi_bias_is_shut(bias))
		__atomic_store_n(&bias->shut, OFI_BIAS_CALLED, __ATOMIC_RELAXED);
}

/* Readmits the owner. The lock is still held. */
static inline void ofi_bias_open(struct ofi_bias *bias)
{
	__atomic_store_n(&bias->shut, 0, __ATOMIC_RELEASE);
}

static inline void ofi_bias_leave(struct ofi_bias *bias)
{
	__atomic_store_n(&bias->inside, 0, __ATOMIC_RELEASE);
}

/*
 * Called by the owner without the lock. On false the owner must take the lock. The barrier of
 * ofi_bias_shut() orders the two accesses with respect to other threads.
 */
static inline bool ofi_bias_enter(struct ofi_bias *bias)
{
	__atomic_store_n(&bias->inside, 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (ofi_likely(!__atomic_load_n(&bias->shut, __ATOMIC_ACQUIRE)))
		return true;
	ofi_bias_leave(bias);
	return false;
}

#endif
