/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What makes a lock free for the one that takes it all the time. The owner, one thread at a time,
 * enters by two plain accesses of memory; who else needs what the lock guards takes the lock, and
 * then shuts the owner out, which costs a system call. An owner that is shut out takes the lock.
 */
#ifndef OFI_BIAS_H
#define OFI_BIAS_H

#include <stdbool.h>
#include "compiler.h"

struct ofi_bias {
	int inside; /* the owner is; it alone writes it */
	int shut;   /* written with the lock held */
};

/*
 * False: the kernel does not have what this needs. To be called before a bias is used; any number
 * of times.
 */
bool ofi_bias_init(void);
/* With the lock held, by another than the owner: returns when the owner is out, which it stays. */
void ofi_bias_shut(struct ofi_bias *bias);

/*
 * What this thread does is not the owner's doing: it shuts the owner out. So of a thread of the
 * library, for good, and of one of the application for a while.
 */
extern __thread bool ofi_bias_outside;

/* With the lock still held. */
static inline void ofi_bias_open(struct ofi_bias *bias)
{
	__atomic_store_n(&bias->shut, 0, __ATOMIC_RELEASE);
}

static inline void ofi_bias_leave(struct ofi_bias *bias)
{
	__atomic_store_n(&bias->inside, 0, __ATOMIC_RELEASE);
}

/*
 * By the owner, which does not hold the lock. False: it is to take the lock. That the two accesses
 * are in this order for who shuts it out is the doing of ofi_bias_shut().
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
