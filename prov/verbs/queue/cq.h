/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The completion queue object: one ibv_cq, polled in batches straight into the application's
 * entries.
 */
#ifndef VRB_CQ_H
#define VRB_CQ_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <rdma/fi_eq.h>
#include "prov/base/cntr.h"
#include "prov/base/cq.h"
#include "src/ds/lock.h"
#include "prov/verbs/provider/domain.h"
#include "wc.h"
#include "wq.h"

#define VRB_CQ_BUNCH_MAX 32

#define VRB_CQ_KEPT   1u	 /* completions are kept */
#define VRB_CQ_LOST   2u	 /* queues have work requests that only the library can complete */
#define VRB_CQ_CLOSED 4u	 /* queues of closed endpoints wait to be freed */
#define VRB_CQ_TRACED 8u	 /* queues are VRB_WQ_TRACED; set with the lock held, for good */
#define VRB_CQ_DGRAM  16u	 /* queues are of datagrams; set as TRACED is */
#define VRB_CQ_HELD   256u	 /* times the queues with work requests that FI_MORE holds back */
#define VRB_CQ_SAVED  (1u << 30) /* what is stored has no counters; with the lock held */
#define VRB_CQ_COUNTS (1u << 31) /* queues have counters; set with the lock held, for good */

/*
 * What was taken from the device before the application read it: a ring, used with VRB_CQ_COUNTS or
 * VRB_CQ_SAVED.
 */
struct vrb_cq_store {
	struct ibv_wc *wc;
	uint32_t size, first, count;
	int fd; /* eventfd, readable while something is stored; -1: nothing can be waited for */
};

struct vrb_cq {
	union {
		struct fid_cq fid;
		struct ofi_cq base;
	};
	struct ofi_lock lock; /* guards polling: what follows up to the next remark */
	bool locked;	      /* the domain's threading asks for the lock; constant */
	uint32_t bunch;	      /* completions taken from the device at once; constant */
	uint32_t special;     /* VRB_CQ_*: what a read has to see to besides polling; atomic */
	struct ibv_cq *ibv;
	/*
	 * Taken from the device: wc[first..first+kept) is still to be handed out, an error or what
	 * came after it.
	 */
	uint32_t first, kept;
	struct ibv_wc wc[VRB_CQ_BUNCH_MAX];
	void *out; /* the array of the read at work, and its length in entries */
	size_t room;
	fi_addr_t *src; /* where the read at work tells the sources, or NULL */
	LIST_HEAD(, vrb_wq) wqs;
	LIST_HEAD(, vrb_wq) closed; /* kept until the device can't mention them any more */
	LIST_HEAD(, vrb_share) shares, closed_shares; /* the same of shared receive queues */
	struct vrb_wc_detail detail;		      /* err_data of the last error read */

	/* Credits, under domain->lock. */
	uint32_t capacity, reserved;
	bool shared; /* all is reserved, the rest is in the pool */
	int pool;    /* entries shared by queues that could not reserve their own; atomic */

	/* Set at open. */
	struct ibv_comp_channel *channel; /* NULL where there is nothing to wait on */
	unsigned int unacked;		  /* channel events not yet acknowledged; under lock */
	struct ofi_cq_slow slow;
	struct vrb_domain *domain;
	struct ofi_stats *stats;
	LIST_ENTRY(vrb_cq) siblings;

	struct vrb_cq_store store; /* under lock; after what is kept, before what the device has */
	bool unread; /* an endpoint's own, for counters: all is retired as it comes; constant */
};

static inline struct vrb_cq *vrb_cq(struct fid_cq *fid)
{
	return (struct vrb_cq *)fid;
}

int vrb_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		void *context);
/* The completion vector that serves the processor of FI_AFFINITY, else the first. */
static inline int vrb_cq_vector(const struct vrb_domain *domain, const struct fi_cq_attr *attr)
{
	int vectors = domain->ctx->num_comp_vectors;

	return attr->flags & FI_AFFINITY && vectors > 0 ? attr->signaling_vector % vectors : 0;
}

/*
 * Makes room for a queue's completions, by growing the CQ or, failing that, by sharing its pool. 0
 * or -FI_ENOSPC.
 */
int vrb_cq_attach(struct vrb_cq *cq, struct vrb_wq *wq);
/*
 * The queue's endpoint is about to close: none of its completions is reported any more, but those
 * that succeed are retired. True while some are outstanding and there is a point in waiting.
 */
bool vrb_cq_drain(struct vrb_cq *cq, struct vrb_wq *wq);
/*
 * The queue's endpoint closes, its queue pair is destroyed: the CQ drops what still completes. Once
 * the device has no more of it the queue is freed, and its room is others'.
 */
void vrb_cq_detach(struct vrb_cq *cq, struct vrb_wq *wq);
/* Entries for a queue, or a place in the pool (cq_room.c). 0 or -FI_ENOSPC. */
int vrb_cq_admit(struct vrb_cq *cq, struct vrb_wq *wq);
/*
 * With the CQ's lock held: gives back the entries of a queue, or the credits of what it has
 * outstanding.
 */
void vrb_cq_release(struct vrb_cq *cq, struct vrb_wq *wq);
/* Entries for good, of the CQ's own or of its pool. 0 or -FI_ENOSPC. */
int vrb_cq_reserve(struct vrb_cq *cq, uint32_t size);
void vrb_cq_unreserve(struct vrb_cq *cq, uint32_t size);
/*
 * With the lock held: takes completions, those kept or up to count from the device, into wc from
 * first on. Their number, or -FI_EIO.
 */
int vrb_cq_poll(struct vrb_cq *cq, size_t count);
/* Their part from the device into wc, which has room for want. Their number, or negative. */
int vrb_cq_take_device(struct vrb_cq *cq, struct ibv_wc *wc, int want);
/* Of those taken, keeps wc[from..end) for later. */
void vrb_cq_keep(struct vrb_cq *cq, uint32_t from, uint32_t end);

/*
 * For a full send queue whose owner may never read this CQ, since its operations are silent:
 * retires what completed silently, keeps the rest.
 */
void vrb_cq_reclaim(struct vrb_cq *cq);
/* The application gets an error: what that means for the endpoint. */
void vrb_cq_failed(const struct ibv_wc *wc);
/* Retires a silent success. False for what the application is to read. */
bool vrb_cq_retire_silent(const struct ibv_wc *wc);
/*
 * Drops what closed endpoints have left in the device's queue, as far as nothing unread is before
 * it: nobody may read the CQ for long.
 */
void vrb_cq_purge(struct vrb_cq *cq);
/*
 * Frees the queues of closed endpoints: the device was seen to have no more of them, and nothing is
 * kept.
 */
void vrb_cq_reap(struct vrb_cq *cq);
/* Rings the doorbells that FI_MORE left: whoever looks for completions posts nothing now. */
void vrb_cq_ring_held(struct vrb_cq *cq);

/* Counters (cq_count.c); with the lock held. */
/* Prepares for a queue with counters, or for a larger capacity. 0 or -FI_E*. */
int vrb_cq_count_open(struct vrb_cq *cq);
/*
 * With the lock held, after the channel's events were taken: counts all there is and asks for
 * another event, since others sleep by the same channel. 0: there was nothing.
 */
int vrb_cq_arm_counted(struct vrb_cq *cq);
void vrb_cq_count_close(struct vrb_cq *cq);
/* Counts what the completions wc[0..n) stand for. */
void vrb_cq_count(const struct ibv_wc *wc, int n);
/* Counts what is outstanding in queues whose device is gone. */
void vrb_cq_count_lost(struct vrb_cq *cq);
/*
 * Takes and counts up to a bunch of what the device has, and stores what the application is to
 * read. What was found, or negative.
 */
int vrb_cq_fetch(struct vrb_cq *cq);
/* Up to want of those stored, into cq->wc. Their number. */
int vrb_cq_take_stored(struct vrb_cq *cq, int want);
/*
 * Without the lock: a queue that is in use counts from now on, and what it has outstanding as it
 * completes. 0 or -FI_E*.
 */
int vrb_cq_count_late(struct vrb_cq *cq, struct vrb_wq *wq, struct ofi_cntr *const *cntrs);
/*
 * Without the lock: stores what the device has. Some forget the completions of a queue pair that is
 * destroyed, and with them the receives of a shared queue.
 */
void vrb_cq_save(struct vrb_cq *cq);
/* A queue closes: nothing of it is counted any more. */
void vrb_cq_count_forget(struct vrb_wq *wq);
/* Drops what is stored of a queue that closes. */
void vrb_cq_forget(struct vrb_cq *cq, const struct vrb_wq *wq);
/*
 * Without the lock: vrb_cq_fetch() for counters, and the same before a sleep on the channel's
 * descriptor.
 */
extern const struct ofi_cntr_source_ops vrb_cq_source_ops;

static inline bool vrb_cq_counts(const struct vrb_cq *cq)
{
	return __atomic_load_n(&cq->special, __ATOMIC_RELAXED) & VRB_CQ_COUNTS;
}

static inline void vrb_cq_set_special(struct vrb_cq *cq, uint32_t bits, bool on)
{
	if (on)
		__atomic_or_fetch(&cq->special, bits, __ATOMIC_RELEASE);
	else
		__atomic_and_fetch(&cq->special, ~bits, __ATOMIC_RELEASE);
}

/* What was kept goes first. Nothing is kept afterwards. */
static inline int vrb_cq_take_kept(struct vrb_cq *cq)
{
	int n = (int)cq->kept;

	cq->kept = 0;
	vrb_cq_set_special(cq, VRB_CQ_KEPT, false);
	return n;
}

/*
 * A failed one that nobody hears of: of a closed queue, or parts of a buffer that are flushed
 * before its last.
 */
static inline bool vrb_cq_drops(const struct ibv_wc *wc)
{
	const struct vrb_slot *slot = (const struct vrb_slot *)(uintptr_t)wc->wr_id;

	return vrb_wq_closed(slot->wq) ||
	       (wc->status == IBV_WC_WR_FLUSH_ERR &&
		(slot->flags & (VRB_MULTI | FI_MULTI_RECV)) == VRB_MULTI);
}

static inline int vrb_cq_want(const struct vrb_cq *cq, size_t count)
{
	return (int)(count < cq->bunch ? count : cq->bunch);
}

/* By format, with locks and without (cq_read.c). */
extern const struct fi_ops_cq vrb_cq_ops[FI_CQ_FORMAT_TAGGED + 1];
extern const struct fi_ops_cq vrb_cq_nolock_ops[FI_CQ_FORMAT_TAGGED + 1];
const char *vrb_cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf,
			    size_t len);
/* What else all CQs do (cq_wait.c, cq_err.c). */
extern const struct ofi_cq_ops vrb_cq_base_ops;
bool vrb_cq_take_error(struct ofi_cq *cq, struct fi_cq_err_entry *entry);
/* The device's part of the wait object. 0 or -FI_E*, logged. */
int vrb_cq_wait_open(struct vrb_cq *cq, const struct fi_cq_attr *attr);

static inline void vrb_cq_lock(struct vrb_cq *cq)
{
	if (cq->locked)
		ofi_lock(&cq->lock);
}

static inline void vrb_cq_unlock(struct vrb_cq *cq)
{
	if (cq->locked)
		ofi_unlock(&cq->lock);
}

#endif
