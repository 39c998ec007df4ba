/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A receive queue shared by endpoints: the device's SRQ and its slots. Receives complete in any
 * order, on the CQ of the endpoint that took them. The free slots are therefore a list: pollers
 * push retired slots without a lock, and posting takes the whole list when it has run out.
 *
 * Closing the SRQ ends its receives. The slots stay until each CQ that may hold one of their
 * completions was seen empty. A share links a CQ to the queue and holds a reference on the queue.
 */
#ifndef VRB_SRQ_H
#define VRB_SRQ_H

#include "prov/verbs/provider/domain.h"
#include "wq.h"

struct vrb_share {
	struct vrb_srq *srq;
	struct vrb_cq *cq;
	LIST_ENTRY(vrb_share) of_srq; /* in srq->shares, until the SRQ or the CQ closes */
	LIST_ENTRY(vrb_share) of_cq;  /* in cq->shares, then cq->closed_shares */
};

struct vrb_srq {
	struct vrb_wq wq; /* first; its head is the slot taken last, see vrb_wq_take */
	/* The posting side, guarded by wq.lock if the domain uses locks. */
	struct ibv_srq *ibv;
	struct vrb_slot *free;
	uint32_t taken; /* total so far; atomic */
	int down_err;	/* error of posting once the queue is shut; atomic */
	/* The polling side. */
	struct vrb_slot *returned __attribute__((aligned(VRB_CACHELINE))); /* atomic */
	/* Total so far; atomic. */
	uint32_t retired;
	int refs; /* one of the owner and one of each share; atomic */
	struct vrb_domain *domain;
	LIST_HEAD(, vrb_share) shares; /* guarded by domain->share_lock */
};

static inline struct vrb_srq *vrb_srq(struct vrb_wq *wq)
{
	return (struct vrb_srq *)wq;
}

/*
 * Allocates a queue for `size` outstanding receives without the device's SRQ. Returns NULL when out
 * of memory.
 */
struct vrb_srq *vrb_srq_new(struct vrb_domain *domain, uint32_t size);
/*
 * Ends the receives without completing them, and frees the queue as soon as no completion can refer
 * to it. NULL-safe.
 */
void vrb_srq_close(struct vrb_srq *srq);
/*
 * Reserves room in the CQ for all receives that can be outstanding, once per CQ, until either
 * closes. With `count` the CQ updates counters. Returns 0 or -FI_E*.
 */
int vrb_srq_attach(struct vrb_srq *srq, struct vrb_cq *cq, bool count);
/* Called when the CQ closes: retires its completions of shared queues. */
void vrb_srq_forget_cq(struct vrb_cq *cq);
/* Gives back the share's room and reference, and frees it. */
void vrb_srq_leave(struct vrb_share *share);
/*
 * Called with the CQ's lock held when the device was seen to have no more completions of closed
 * queues.
 */
void vrb_srq_reap(struct vrb_cq *cq);
/* Returns how many receives could be posted now. */
uint32_t vrb_srq_left(const struct vrb_srq *srq);

/* Posting side: returns the retired slots, or NULL if there are none. */
struct vrb_slot *vrb_srq_refill(struct vrb_srq *srq);
/* Returns the error that explains why there is no free slot. */
ssize_t vrb_srq_blocked(const struct vrb_srq *srq);
/* Handles a post that failed with errno err: gives its slot back. Returns -FI_E*. */
ssize_t vrb_srq_post_failed(struct vrb_srq *srq, struct vrb_slot *slot, int err);

/* Slots are pushed one by one but only taken all at once, so there is no ABA problem. */
static inline void vrb_srq_retire(struct vrb_wq *wq, struct vrb_slot *slot)
{
	struct vrb_srq *srq = vrb_srq(wq);
	struct vrb_slot *first = __atomic_load_n(&srq->returned, __ATOMIC_RELAXED);

	__atomic_add_fetch(&srq->retired, 1, __ATOMIC_RELAXED);
	do {
		slot->next = first;
	} while (!__atomic_compare_exchange_n(&srq->returned, &first, slot, true, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

/* Makes posting return err from now on. May be called from any thread. */
static inline void vrb_srq_shut(struct vrb_srq *srq, int err)
{
	int none = 0;

	__atomic_compare_exchange_n(&srq->down_err, &none, err, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	vrb_wq_set(&srq->wq, VRB_WQ_SHUT);
}

#endif
