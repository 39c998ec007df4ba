/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Makes a lock free of charge for the thread that takes it all the time. The owner, one thread at a
 * time, enters with two plain memory accesses. Any other thread takes the lock and then locks out
 * the owner, which costs a system call. An owner that is locked out takes the lock.
 */
#ifndef OFI_BIAS_H
#define OFI_BIAS_H

#include <stdbool.h>
#include "compiler.h"

struct ofi_bias {
	int inside; /* the owner is inside; only the owner writes it */
	int shut;   /* the owner is locked out; written with the lock held */
};

/*
 * Returns false if the kernel lacks the required system call. Must be called before a bias is used;
 * may be called repeatedly.
 */
bool ofi_bias_init(void);
/*
 * Locks out the owner and returns when it is outside. Called by another thread than the owner with
 * the lock held.
 */
void ofi_bias_shut(struct ofi_bias *bias);

/*
 * True while this thread does not act as the owner and has to lock it out: permanently in threads
 * of the library, temporarily in threads of the application.
 */
extern __thread bool ofi_bias_outside;

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
