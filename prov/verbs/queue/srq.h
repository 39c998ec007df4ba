/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A receive queue that endpoints share: the device's SRQ and its slots. Its receives complete in
 * any order and on the CQ of whichever endpoint took them, so that the slots are a free list:
 * pollers push what they retire, without a lock, and posting takes all of that when it has none
 * left.
 *
 * Closing the SRQ ends its receives. The slots stay until each CQ that may still hold a completion
 * of theirs was seen empty: a share is a CQ's part in the queue, and its reference on it.
 */
#ifndef VRB_SRQ_H
#define VRB_SRQ_H

#include "prov/verbs/provider/domain.h"
#include "wq.h"

struct vrb_share {
	struct vrb_srq *srq;
	struct vrb_cq *cq;
	LIST_ENTRY(vrb_share) of_srq; /* srq->shares, until the SRQ or the CQ closes */
	LIST_ENTRY(vrb_share) of_cq;  /* cq->shares, then cq->closed_shares */
};

struct vrb_srq {
	struct vrb_wq wq; /* first. Its head is the slot taken last: see vrb_wq_take */
	/* Of the posting side, guarded by wq.lock where the domain takes locks. */
	struct ibv_srq *ibv;
	struct vrb_slot *free;
	uint32_t taken; /* so far; atomic */
	int down_err;	/* what posting gives once the queue is shut; atomic */
	/* Of the pollers. */
	struct vrb_slot *returned __attribute__((aligned(VRB_CACHELINE))); /* atomic */
	uint32_t retired;						   /* so far; atomic */
	int refs; /* its owner and the shares; atomic */
	struct vrb_domain *domain;
	LIST_HEAD(, vrb_share) shares; /* guarded by domain->share_lock */
};

static inline struct vrb_srq *vrb_srq(struct vrb_wq *wq)
{
	return (struct vrb_srq *)wq;
}

/* For size outstanding receives, without SRQ of the device. NULL when out of memory. */
struct vrb_srq *vrb_srq_new(struct vrb_domain *domain, uint32_t size);
/*
 * Ends the receives without completing them, and frees the queue as soon as nothing can mention it.
 * NULL-safe.
 */
void vrb_srq_close(struct vrb_srq *srq);
/*
 * Room in the CQ for all that can be outstanding; once for each CQ, until either closes. Counters
 * count where that is asked. 0 or -FI_E*.
 */
int vrb_srq_attach(struct vrb_srq *srq, struct vrb_cq *cq, bool count);
/* The CQ closes: what it still has of shared queues is retired. */
void vrb_srq_forget_cq(struct vrb_cq *cq);
/* Gives back the share's room and its reference, and frees it. */
void vrb_srq_leave(struct vrb_share *share);
/* With the CQ's lock held: the device was seen to have no more of closed queues. */
void vrb_srq_reap(struct vrb_cq *cq);
/* Receives that could be posted now. */
uint32_t vrb_srq_left(const struct vrb_srq *srq);

/* Of the posting side: slots that were retired, NULL when there are none. */
struct vrb_slot *vrb_srq_refill(struct vrb_srq *srq);
/* Why there is no slot. */
ssize_t vrb_srq_blocked(const struct vrb_srq *srq);
/* The post failed with errno err; takes the slot back. */
ssize_t vrb_srq_post_failed(struct vrb_srq *srq, struct vrb_slot *slot, int err);

/* Only pushed one by one and taken all at once, the list has no ABA problem. */
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

/* From any thread: nothing is posted any more, that gives err. */
static inline void vrb_srq_shut(struct vrb_srq *srq, int err)
{
	int none = 0;

	__atomic_compare_exchange_n(&srq->down_err, &none, err, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	vrb_wq_set(&srq->wq, VRB_WQ_SHUT);
}

#endif
