/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A work queue's ring of slots, which describe each work request until it completes. Queue pairs
 * complete work requests in order, so the completion of a slot retires all slots before it, and
 * unsignaled work requests need no list. The address of a slot is its wr_id.
 *
 * The ring has one slot more than the queue; head == tail means empty. The posting side moves head
 * up to stop, which it computes from an earlier value of the polling side's tail. Whenever a post
 * needs the slow path (the queue is shut, work requests are held back, and so on), stop is set to
 * head: a single comparison recognizes the fast path.
 *
 * The queue of a shared receive context is different, see srq.h: its slots retire in any order. The
 * queue pairs of an Elastic Fabric Adapter complete each work request, in any order: such a queue
 * is `unordered`, and its tail stops at the first slot that is not VRB_RETIRED.
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

/* In vrb_slot.flags: no CQ entry unless the operation fails. */
#define VRB_SILENT (1ULL << 63)
/* In vrb_slot.flags: part of an FI_MULTI_RECV buffer. The last part has that flag, too. */
#define VRB_MULTI (1ULL << 60)
/* In vrb_slot.flags: not counted by counters. */
#define VRB_UNCOUNTED (1ULL << 62)
/* In vrb_slot.flags until it is counted: deferred work, whose completion counter is in len. */
#define VRB_WORK (1ULL << 61)
/* In vrb_slot.flags, in unordered queues: complete, but behind a slot that is not. */
#define VRB_RETIRED (1ULL << 59)
/* The flags of the library's own work requests, which are neither reported nor counted. */
#define VRB_SLOT_OWN (VRB_SILENT | VRB_UNCOUNTED | VRB_WORK)

/* The kinds of operations that counters count. */
enum { VRB_COUNT_SEND, VRB_COUNT_RECV, VRB_COUNT_READ, VRB_COUNT_WRITE, VRB_COUNTS };

#define VRB_FLAGS (VRB_SLOT_OWN | VRB_MULTI) /* internal flags of a slot that is not retired */
struct ofi_cntr;
struct vrb_ep;
struct vrb_cq;
struct vrb_wq;

struct vrb_slot {
	void *context;
	uint64_t flags; /* FI_MSG | FI_SEND and similar flags, and VRB_SILENT */
	size_t len;
	void *buf; /* destination of the data; only with VRB_MULTI */
	/* Constant: */
	struct vrb_wq *wq;
	struct vrb_slot *next; /* in a shared queue, the next free slot and not constant */
	/* IBV_SEND_SIGNALED in some slots, so that silent queues retire, too. */
	unsigned int signal;
	uint32_t index;
};

/* In vrb_wq.special: reasons why a post or a completion takes the slow path. */
#define VRB_WQ_SHUT   (1u << 31)       /* not enabled, not connected, or ended */
#define VRB_WQ_SHARES (1u << 30)       /* takes its credits from a pool */
#define VRB_WQ_SHARED (1u << 29)       /* the wq of a struct vrb_srq */
#define VRB_WQ_HELD   ((1u << 24) - 1) /* number of work requests held in ep->batch */
#define VRB_WQ_TRACED \
	(VRB_WQ_SHARES | VRB_WQ_SHARED) /* retiring a slot affects more than the ring */

struct vrb_wq {
	/* The posting side, guarded by lock if the domain uses locks. */
	struct ofi_lock lock;
	uint32_t special;      /* atomic */
	struct vrb_slot *head; /* next slot to use; moves before the post; atomic */
	struct vrb_slot *stop; /* first slot whose use takes the slow path; atomic */
	struct ibv_qp *qp;
	union { /* templates: next, sg_list and similar fields are set once */
		struct ibv_send_wr send;
		struct ibv_recv_wr recv;
	};
	struct ibv_sge sge;
	union { /* set by a failed post to the work request that was not posted */
		struct ibv_send_wr *bad_send;
		struct ibv_recv_wr *bad_recv;
	};
	struct vrb_slot *slots;
	struct vrb_slot *marked; /* position at which stats.mark was set */
	uint32_t size;		 /* capacity in work requests */
	bool multi;		 /* accepts FI_MULTI_RECV buffers; constant */
	bool unordered;		 /* slots retire one by one, in any order; constant */
	int *pool;		 /* credits of a CQ that could not grow for this queue; atomic */
	struct vrb_ep *ep;	 /* NULL in a shared queue, like cq */
	struct vrb_cq *cq;
	struct vrb_wq *next_held;
	bool listed; /* in cq->held, or just taken from it */

	/* The polling side, guarded by the CQ's lock. */
	/* Oldest slot that is not retired. */
	struct vrb_slot *tail __attribute__((aligned(VRB_CACHELINE)));
	struct vrb_slot *counted;      /* next slot to count, if there are counters */
	struct ofi_cntr *const *cntrs; /* indexed by VRB_COUNT_*, NULL if nothing is counted */
	bool lost;		       /* the device completes nothing more; atomic */
	bool given_up;		       /* the CQ completes what is outstanding */
	bool closed; /* the endpoint is gone: remaining completions are dropped; atomic */
	bool dgram;  /* receives of datagrams, which follow a header; constant */
	LIST_ENTRY(vrb_wq) lost_entry; /* in cq->losing, then cq->lost, once it is lost */
	LIST_ENTRY(vrb_wq) siblings; /* in cq->wqs, or in cq->closed until the CQ was seen empty */

	struct ofi_stats stats; /* last, as ofi_stats_alloc() requires */
};

/*
 * Allocates a ring for `size` outstanding work requests, initially shut. Returns NULL when out of
 * memory.
 */
struct vrb_wq *vrb_wq_new(struct vrb_ep *ep, uint32_t size);
void vrb_wq_free(struct vrb_wq *wq);
/*
 * Called when the device completes nothing more for the queue: once its CQ has been seen empty, it
 * reports the outstanding work requests as flushed.
 */
void vrb_wq_lose(struct vrb_wq *wq);
/* Makes a new queue unordered: each work request has a completion, and nothing is counted. */
void vrb_wq_set_unordered(struct vrb_wq *wq);
/* Requests a completion for each work request. The caller holds the lock if posting uses locks. */
void vrb_wq_signal_all(struct vrb_wq *wq);
/*
 * Sets the counters before the queue is used, and requests a completion for each work request, so
 * that it is counted in time.
 */
void vrb_wq_set_cntrs(struct vrb_wq *wq, struct ofi_cntr *const *cntrs);
/* Returns how many work requests could be posted now. */
uint32_t vrb_wq_left(const struct vrb_wq *wq);
/* Rereads the tail. Returns false if the queue is full. */
bool vrb_wq_refresh(struct vrb_wq *wq);
/*
 * Counts posted work requests for the statistics. Called at least once per round of the ring: the
 * head does not pass stop without rereading the tail, which calls this, and a batch never exceeds
 * the number of slots.
 */
void vrb_wq_mark(struct vrb_wq *wq);
/* Sends the next post to the slow path if anything requires it. */
void vrb_wq_guard(struct vrb_wq *wq);
/*
 * Shuts the queue: nothing is posted anymore, or without locks at most until the ring is full. May
 * be called from any thread that does not hold the lock; `lock` states whether posting uses it.
 */
void vrb_wq_shut(struct vrb_wq *wq, bool lock);
/* Takes one credit of the shared pool, for a queue without credits of its own. */
bool vrb_wq_take_pool(struct vrb_wq *wq);
/*
 * Gives back the last n slots, whose work requests were not posted. Returns false if the device is
 * lost: a reader of the CQ completes them, or has done so.
 */
bool vrb_wq_untake(struct vrb_wq *wq, uint32_t n);

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

/* Returns the number of slots from one to another. */
static inline uint32_t vrb_wq_distance(const struct vrb_wq *wq, const struct vrb_slot *from,
				       const struct vrb_slot *to)
{
	return (uint32_t)(to >= from ? to - from : to - from + wq->size + 1);
}

/* Returns the number of slots that are taken and not retired. */
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
 * before the post.
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

/*
 * Precedes the first access to a slot whose completion was polled. The device orders what the
 * posting thread wrote before the completion, so there is nothing to load: the poller must not
 * fetch the cache line that each post writes. ThreadSanitizer knows nothing of the device.
 */
static inline void vrb_wq_see(const struct vrb_wq *wq)
{
	(void)wq;
#ifdef __SANITIZE_THREAD__
	(void)__atomic_load_n(&wq->head, __ATOMIC_ACQUIRE);
#endif
	__atomic_signal_fence(__ATOMIC_ACQUIRE);
}

/* Retires all slots up to this one, in a queue that is not VRB_WQ_TRACED. */
static inline void vrb_wq_retire_fast(struct vrb_wq *wq, const struct vrb_slot *slot)
{
	__atomic_store_n(&wq->tail, slot->next, __ATOMIC_RELEASE);
}

/*
 * Retires all slots up to this one; in a shared or unordered queue only this one. Returns the flags
 * of its completion, with VRB_SILENT if it is not reported.
 */
uint64_t vrb_wq_retire(struct vrb_wq *wq, struct vrb_slot *slot, uint64_t flags);

static inline bool vrb_wq_closed(const struct vrb_wq *wq)
{
	return __atomic_load_n(&wq->closed, __ATOMIC_RELAXED);
}

#endif
