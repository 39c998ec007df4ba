/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A work queue's ring of slots: what the library remembers of each work request until it completes.
 * Queue pairs retire in order, so the completion of a slot retires every slot before it: work
 * requests that ask for no completion need no list. The address of a slot is its wr_id.
 */
#ifndef VRB_WQ_H
#define VRB_WQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <ofi/lock.h>

#define VRB_CACHELINE 64

#define vrb_likely(x)	__builtin_expect(!!(x), 1)
#define vrb_unlikely(x) __builtin_expect(!!(x), 0)

/* In vrb_slot.flags: no entry for the application unless the operation fails. */
#define VRB_SILENT (1ULL << 63)

struct vrb_ep;
struct vrb_cq;
struct vrb_wq;

/* In vrb_wq.special; the rest of it counts the work requests in ep->batch, published but not posted. */
#define VRB_WQ_SHARES (1u << 31) /* takes its credits from a pool; set when enabled */

struct vrb_slot {
	void *context;
	struct vrb_wq *wq;
	uint64_t flags; /* FI_MSG | FI_SEND and the like, and VRB_SILENT */
	size_t len;
};

struct vrb_wq {
	/* Of the posting side, guarded by lock where the domain takes locks. */
	struct ofi_lock lock;
	uint32_t
		special; /* why a post needs more than a slot: VRB_WQ_SHARES, and the requests held back */
	uint32_t head; /* work requests ever posted; published before the post, for the poller */
	uint32_t mask; /* slots - 1 */
	uint32_t
		limit; /* outstanding work requests allowed now, 0 before connecting and after; atomic */
	uint32_t
		signal_mask; /* a silent slot whose number + 1 has none of these bits asks for a completion */
	struct ibv_qp *qp;
	struct vrb_slot *slots;
	int *pool; /* credits of a CQ that could not grow for this queue; atomic */
	struct vrb_ep *ep;
	struct vrb_cq *cq;

	/* Of the polling side, guarded by the CQ's lock. */
	uint32_t tail
		__attribute__((aligned(VRB_CACHELINE))); /* retired; read by the posting side */
	bool lost;   /* the device is gone: the library completes what is outstanding; atomic */
	bool closed; /* the endpoint is gone; what completes still is dropped */
	LIST_ENTRY(vrb_wq) siblings; /* cq->wqs, or cq->closed until the CQ was seen empty */
};

/* A ring for size outstanding work requests. NULL when out of memory. */
struct vrb_wq *vrb_wq_new(struct vrb_ep *ep, uint32_t size);
void vrb_wq_free(struct vrb_wq *wq);

static inline uint32_t vrb_wq_held(const struct vrb_wq *wq)
{
	return wq->special & ~VRB_WQ_SHARES;
}

static inline uint32_t vrb_wq_tail(const struct vrb_wq *wq)
{
	return __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE);
}

static inline uint32_t vrb_wq_limit(const struct vrb_wq *wq)
{
	return __atomic_load_n(&wq->limit, __ATOMIC_RELAXED);
}

static inline void vrb_wq_set_limit(struct vrb_wq *wq, uint32_t limit)
{
	__atomic_store_n(&wq->limit, limit, __ATOMIC_RELAXED);
}

/* Work requests that could be posted now. */
static inline uint32_t vrb_wq_left(const struct vrb_wq *wq)
{
	uint32_t used = __atomic_load_n(&wq->head, __ATOMIC_RELAXED) - vrb_wq_tail(wq);
	uint32_t limit = vrb_wq_limit(wq);

	return used < limit ? limit - used : 0;
}

static inline void vrb_wq_give_pool(struct vrb_wq *wq, int credits)
{
	if (vrb_unlikely(wq->special & VRB_WQ_SHARES))
		__atomic_add_fetch(wq->pool, credits, __ATOMIC_RELEASE);
}

/* Full or not open. */
static inline bool vrb_wq_blocked(const struct vrb_wq *wq)
{
	return wq->head - vrb_wq_tail(wq) >= vrb_wq_limit(wq);
}

/* Takes the last n publications back: their work requests were not posted. */
static inline void vrb_wq_unpublish(struct vrb_wq *wq, uint32_t n)
{
	__atomic_store_n(&wq->head, wq->head - n, __ATOMIC_RELEASE);
	vrb_wq_give_pool(wq, n);
}

/* Retires everything up to the slot. */
static inline void vrb_wq_retire(struct vrb_wq *wq, const struct vrb_slot *slot)
{
	uint32_t tail = wq->tail;
	uint32_t done = (((uint32_t)(slot - wq->slots) - tail) & wq->mask) + 1;

	vrb_wq_give_pool(wq, done);
	__atomic_store_n(&wq->tail, tail + done, __ATOMIC_RELEASE);
}

#endif
