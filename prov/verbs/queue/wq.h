/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A work queue's ring of slots: what the library remembers of each work request until it completes.
 * Queue pairs retire in order, so the completion of a slot retires every slot before it: work
 * requests that ask for no completion need no list. The address of a slot is its wr_id.
 *
 * The ring has one slot more than the queue holds; head == tail is an empty queue. The posting side
 * moves head up to stop, which it derives from where the polling side's tail was. Whatever makes a
 * post special (the queue is shut, work requests are held back ...) puts stop at the head: one
 * comparison tells the common case.
 *
 * The queue of a shared receive context is of its own kind, see srq.h: its slots retire in any
 * order.
 */
#ifndef VRB_WQ_H
#define VRB_WQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "src/ds/compiler.h"
#include "src/ds/lock.h"
#include "prov/base/stats.h"

#define VRB_CACHELINE 64

/* In vrb_slot.flags: no entry for the application unless the operation fails. */
#define VRB_SILENT (1ULL << 63)
/* In vrb_slot.flags: a part of a buffer of FI_MULTI_RECV. The last part has that flag too. */
#define VRB_MULTI (1ULL << 60)
/* In vrb_slot.flags: counters do not count it. */
#define VRB_UNCOUNTED (1ULL << 62)
/* In vrb_slot.flags, until it is counted: deferred work, len is its completion counter. */
#define VRB_WORK     (1ULL << 61)
#define VRB_SLOT_OWN (VRB_SILENT | VRB_UNCOUNTED | VRB_WORK) /* not for the application to see */

/* What endpoints count, by counter. */
enum { VRB_COUNT_SEND, VRB_COUNT_RECV, VRB_COUNT_READ, VRB_COUNT_WRITE, VRB_COUNTS };

#define VRB_FLAGS (VRB_SLOT_OWN | VRB_MULTI) /* all of them */
struct ofi_cntr;
struct vrb_ep;
struct vrb_cq;
struct vrb_wq;

struct vrb_slot {
	void *context;
	uint64_t flags; /* FI_MSG | FI_SEND and the like, and VRB_SILENT */
	size_t len;
	void *buf; /* where the data goes; only with VRB_MULTI */
	/* Constant: */
	struct vrb_wq *wq;
	struct vrb_slot *next; /* not constant in a shared queue: the next free one */
	unsigned int
		signal; /* IBV_SEND_SIGNALED in a few slots, so that silent queues retire too */
	uint32_t index;
};

/* In vrb_wq.special: why a post or a completion needs more than a slot. */
#define VRB_WQ_SHUT   (1u << 31)       /* not enabled, not connected, or over */
#define VRB_WQ_SHARES (1u << 30)       /* takes its credits from a pool */
#define VRB_WQ_SHARED (1u << 29)       /* the wq of a struct vrb_srq */
#define VRB_WQ_HELD   ((1u << 24) - 1) /* the number of work requests that ep->batch holds back */
#define VRB_WQ_TRACED \
	(VRB_WQ_SHARES | VRB_WQ_SHARED) /* retiring a slot concerns more than the ring */

struct vrb_wq {
	/* Of the posting side, guarded by lock where the domain takes locks. */
	struct ofi_lock lock;
	uint32_t special;      /* atomic */
	struct vrb_slot *head; /* next to use; published before the post, for the poller */
	struct vrb_slot *stop; /* not to be used without a closer look; atomic */
	struct ibv_qp *qp;
	union { /* templates: next, sg_list and the like are set once */
		struct ibv_send_wr send;
		struct ibv_recv_wr recv;
	};
	struct ibv_sge sge;
	union { /* where a failed post says how far it came */
		struct ibv_send_wr *bad_send;
		struct ibv_recv_wr *bad_recv;
	};
	struct vrb_slot *slots;
	struct vrb_slot *marked; /* where stats.mark was set */
	uint32_t size;		 /* work requests it holds */
	bool multi;		 /* takes buffers of FI_MULTI_RECV; constant */
	int *pool;		 /* credits of a CQ that could not grow for this queue; atomic */
	struct vrb_ep *ep;	 /* NULL where it is shared, as is cq */
	struct vrb_cq *cq;

	/* Of the polling side, guarded by the CQ's lock. */
	struct vrb_slot *tail __attribute__((aligned(VRB_CACHELINE))); /* oldest not retired */
	struct vrb_slot *counted;      /* next to count, where there are counters */
	struct ofi_cntr *const *cntrs; /* by VRB_COUNT_*, NULL where nothing is counted */
	bool lost;   /* the device is gone: the library completes what is outstanding; atomic */
	bool closed; /* the endpoint is gone; what completes still is dropped; atomic */
	bool dgram;  /* receives of datagrams: a header precedes them; constant */
	LIST_ENTRY(vrb_wq) siblings; /* cq->wqs, or cq->closed until the CQ was seen empty */

	struct ofi_stats stats; /* at the end, as ofi_stats_alloc() wants it */
};

/* A ring for size outstanding work requests, shut. NULL when out of memory. */
struct vrb_wq *vrb_wq_new(struct vrb_ep *ep, uint32_t size);
void vrb_wq_free(struct vrb_wq *wq);
/*
 * The device completes nothing more for the queue: its CQ reports what is outstanding as flushed.
 */
void vrb_wq_lose(struct vrb_wq *wq);
/* Asks for a completion of each work request; where posts take locks, with the lock held. */
void vrb_wq_signal_all(struct vrb_wq *wq);
/*
 * Before it is used: counts for these, and asks for a completion of each work request, so that it
 * does so in time.
 */
void vrb_wq_set_cntrs(struct vrb_wq *wq, struct ofi_cntr *const *cntrs);
/* Work requests that could be posted now. */
uint32_t vrb_wq_left(const struct vrb_wq *wq);
/* Looks where the tail is. False when the queue is full. */
bool vrb_wq_refresh(struct vrb_wq *wq);
/*
 * Counts what was posted, for statistics. At least once a round: the head does not pass stop
 * without a look at the tail, which does it, nor do more work requests than there are slots come in
 * one batch.
 */
void vrb_wq_mark(struct vrb_wq *wq);
/* Sends the next post the rare way if something makes it special. */
void vrb_wq_guard(struct vrb_wq *wq);
/* From any thread: nothing is posted any more. `lock` where posts take locks. */
void vrb_wq_shut(struct vrb_wq *wq, bool lock);
/* One credit of the shared pool, where the queue has none of its own. */
bool vrb_wq_take_pool(struct vrb_wq *wq);
/* Takes the last n slots back: their work requests were not posted. */
void vrb_wq_untake(struct vrb_wq *wq, uint32_t n);

static inline uint32_t vrb_wq_special(const struct vrb_wq *wq)
{
	return __atomic_load_n(&wq->special, __ATOMIC_RELAXED);
}

static inline void vrb_wq_set(struct vrb_wq *wq, uint32_t bits)
{
	__atomic_or_fetch(&wq->special, bits, __ATOMIC_RELAXED);
}

static inline void vrb_wq_clear(struct vrb_wq *wq, uint32_t bits)
{
	__atomic_and_fetch(&wq->special, ~bits, __ATOMIC_RELAXED);
}

static inline uint32_t vrb_wq_held(const struct vrb_wq *wq)
{
	return vrb_wq_special(wq) & VRB_WQ_HELD;
}

/* Slots from one to another. */
static inline uint32_t vrb_wq_distance(const struct vrb_wq *wq, const struct vrb_slot *from,
				       const struct vrb_slot *to)
{
	return (uint32_t)(to >= from ? to - from : to - from + wq->size + 1);
}

/* Slots taken and not retired. */
static inline uint32_t vrb_wq_used(const struct vrb_wq *wq)
{
	return vrb_wq_distance(wq, __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE),
			       __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE));
}

static inline void vrb_wq_give_pool(struct vrb_wq *wq, uint32_t credits)
{
	if (ofi_unlikely(vrb_wq_special(wq) & VRB_WQ_SHARES))
		__atomic_add_fetch(wq->pool, (int)credits, __ATOMIC_RELEASE);
}

/*
 * Takes the slot at the head and returns its wr_id. The head moves after the slot is filled and
 * before the post: whoever polls the completion and then looks at the head sees what is in the
 * slot.
 */
static inline uint64_t vrb_wq_take(struct vrb_wq *wq, void *context, uint64_t flags, size_t len)
{
	struct vrb_slot *slot = wq->head;

	slot->context = context;
	slot->flags = flags;
	slot->len = len;
	__atomic_store_n(&wq->head, slot->next, __ATOMIC_RELEASE);
	return (uintptr_t)slot;
}

/* Retires everything up to the slot of a queue that is not VRB_WQ_TRACED. */
static inline void vrb_wq_retire_fast(struct vrb_wq *wq, const struct vrb_slot *slot)
{
	__atomic_store_n(&wq->tail, slot->next, __ATOMIC_RELEASE);
}

/*
 * Retires everything up to the slot; of a shared queue the slot alone. Returns the flags of its
 * completion, with VRB_SILENT when nobody is to see it.
 */
uint64_t vrb_wq_retire(struct vrb_wq *wq, struct vrb_slot *slot, uint64_t flags);

static inline bool vrb_wq_closed(const struct vrb_wq *wq)
{
	return __atomic_load_n(&wq->closed, __ATOMIC_RELAXED);
}

#endif
