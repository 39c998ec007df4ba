/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The completion queue object: one ibv_cq, polled in batches directly into the application's
 * entries.
 */
#ifndef VRB_CQ_H
#define VRB_CQ_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "prov/base/ops.h"
#include "prov/base/cntr.h"
#include "prov/base/cq.h"
#include "src/ds/lock.h"
#include "prov/verbs/provider/domain.h"
#include "wc.h"
#include "wq.h"

#define VRB_CQ_BUNCH_MAX 32

#define VRB_CQ_KEPT   1u  /* completions are kept */
#define VRB_CQ_LOST   2u  /* queues are in `losing` or `lost` */
#define VRB_CQ_CLOSED 4u  /* queues of closed endpoints wait to be freed */
#define VRB_CQ_TRACED 8u  /* queues are VRB_WQ_TRACED; set permanently with the lock held */
#define VRB_CQ_DGRAM  16u /* queues are of datagram endpoints; set like TRACED */
/* Unit of the number of queues with a batch held back by FI_MORE. */
#define VRB_CQ_HELD   256u
#define VRB_CQ_SAVED  (1u << 30) /* stored completions without counters; set with the lock held */
#define VRB_CQ_COUNTS (1u << 31) /* queues have counters; set permanently with the lock held */

/*
 * A ring of completions that were polled before the application read them, used with VRB_CQ_COUNTS
 * or VRB_CQ_SAVED.
 */
struct vrb_cq_store {
	struct ibv_wc *wc;
	uint32_t size, first, count;
	int fd; /* eventfd, readable while something is stored; -1 if the CQ has no wait object */
};

struct vrb_cq {
	union {
		struct fid_cq fid;
		struct ofi_cq base;
	};
	struct ofi_lock lock; /* guards polling: the fields up to `detail`, unless noted */
	bool locked;	      /* the domain's threading model requires the lock; constant */
	uint32_t bunch;	      /* number of completions polled at once; constant */
	uint32_t special;     /* VRB_CQ_*: a read has more to do than polling; atomic */
	struct ibv_cq *ibv;
	/*
	 * wc[first..first+kept) was polled but not yet returned, such as an error and the
	 * completions after it.
	 */
	uint32_t first, kept;
	struct ibv_wc wc[VRB_CQ_BUNCH_MAX];
	void *out; /* array of the current read, and its length in entries */
	size_t room;
	fi_addr_t *src; /* array for the sources of the current read, or NULL */
	LIST_HEAD(, vrb_wq) wqs;
	struct vrb_wq *held; /* a stack of queues, with all that hold a batch; atomic */
	/* Queues that only the library completes: lost since the device was polled, or before. */
	struct ofi_lock lost_lock; /* guards changes of VRB_CQ_LOST and the first list */
	LIST_HEAD(, vrb_wq) losing, lost;
	LIST_HEAD(, vrb_wq) closed; /* queues kept until the device can no longer refer to them */
	LIST_HEAD(, vrb_share) shares, closed_shares; /* the same for shared receive queues */
	struct vrb_wc_detail detail;		      /* err_data of the last error read */

	/* Entries, guarded by domain->lock. */
	uint32_t capacity, reserved;
	bool shared; /* all entries are reserved, or in the pool */
	int pool;    /* entries for queues that could not reserve their own; atomic */

	/* Set at open. */
	struct ibv_comp_channel *channel; /* NULL if the CQ has no wait object */
	unsigned int unacked;		  /* unacknowledged channel events; guarded by lock */
	struct ofi_cq_slow slow;
	struct vrb_domain *domain;
	struct ofi_stats *stats;

	/* Guarded by lock; read after kept completions and before the device. */
	struct vrb_cq_store store;
	/* An endpoint's internal CQ for counters: completions are retired at once; constant. */
	bool unread;
};

static inline struct vrb_cq *vrb_cq(struct fid_cq *fid)
{
	return (struct vrb_cq *)fid;
}

OFI_CALL(fi_ops_domain, cq_open) vrb_cq_open;
/* Returns the completion vector that serves the processor of FI_AFFINITY, else the first. */
static inline int vrb_cq_vector(const struct vrb_domain *domain, const struct fi_cq_attr *attr)
{
	int vectors = domain->ctx->num_comp_vectors;

	return attr->flags & FI_AFFINITY && vectors > 0 ? attr->signaling_vector % vectors : 0;
}

/*
 * Makes room for a queue's completions by growing the CQ or else by sharing its pool. Returns 0 or
 * -FI_ENOSPC.
 */
int vrb_cq_attach(struct vrb_cq *cq, struct vrb_wq *wq);
/*
 * Prepares closing the queue's endpoint: its completions are no longer reported, but successful
 * ones are retired. Returns true while some are outstanding and worth waiting for.
 */
bool vrb_cq_drain(struct vrb_cq *cq, struct vrb_wq *wq);
/*
 * Makes threads that read the CQ leave the queue's endpoint alone, which is being closed.
 * vrb_cq_detach() follows.
 */
void vrb_cq_close_wq(struct vrb_cq *cq, struct vrb_wq *wq);
/*
 * Detaches a closed queue whose queue pair is destroyed: the CQ drops its remaining completions.
 * Once the device has no more of them, the queue is freed and its room is available to others.
 */
void vrb_cq_detach(struct vrb_cq *cq, struct vrb_wq *wq);
/* Reserves entries for a queue, or a place in the pool (cq_room.c). Returns 0 or -FI_ENOSPC. */
int vrb_cq_admit(struct vrb_cq *cq, struct vrb_wq *wq);
/*
 * Gives back the entries of a queue, or the pool credits of its outstanding operations. The caller
 * holds the CQ's lock.
 */
void vrb_cq_release(struct vrb_cq *cq, struct vrb_wq *wq);
/* Reserves entries permanently, from the CQ or from its pool. Returns 0 or -FI_ENOSPC. */
int vrb_cq_reserve(struct vrb_cq *cq, uint32_t size);
void vrb_cq_unreserve(struct vrb_cq *cq, uint32_t size);
/*
 * Stores completions in wc, starting at first: the kept ones, or up to count from the device.
 * Returns their number, or -FI_EIO. The caller holds the lock.
 */
int vrb_cq_poll(struct vrb_cq *cq, size_t count);
/*
 * Polls up to `want` completions from the device into wc. Returns their number, or a negative
 * value.
 */
int vrb_cq_take_device(struct vrb_cq *cq, struct ibv_wc *wc, int want);
/* Keeps wc[from..end) for later. */
void vrb_cq_keep(struct vrb_cq *cq, uint32_t from, uint32_t end);

/*
 * Called for a full send queue whose owner may never read this CQ because its operations are
 * silent: retires silent completions and keeps the others.
 */
void vrb_cq_reclaim(struct vrb_cq *cq);
/* Handles the effect on the endpoint of an error that the application reads. */
void vrb_cq_failed(const struct ibv_wc *wc);
/*
 * Retires a silent success, or a failure that is not reported. Returns false if the application
 * must read the completion.
 */
bool vrb_cq_retire_silent(const struct ibv_wc *wc);
/*
 * Drops completions of closed endpoints from the device's queue, up to the first unread one of an
 * open endpoint, because the application may not read the CQ for a long time.
 */
void vrb_cq_purge(struct vrb_cq *cq);
/*
 * Frees the queues of closed endpoints. Called when the device was seen empty and no completions
 * are kept.
 */
void vrb_cq_reap(struct vrb_cq *cq);
/* Posts the batches held back by FI_MORE, because the application may wait for their completion. */
void vrb_cq_ring_held(struct vrb_cq *cq);
/* Adds a queue to cq->held before it holds a batch. The caller holds the queue's lock. */
void vrb_cq_list_held(struct vrb_cq *cq, struct vrb_wq *wq);
/* Empties cq->held, and posts the batches of queues that are not closed. */
void vrb_cq_take_held(struct vrb_cq *cq);

/* Counters (cq_count.c); the caller holds the lock. */
/* Prepares the CQ for a queue with counters, or for a larger capacity. Returns 0 or -FI_E*. */
int vrb_cq_count_open(struct vrb_cq *cq);
/*
 * Counts everything available and requests another event, because other threads sleep on the same
 * channel. Called with the lock held after the channel's events were read. Returns 0 if there was
 * nothing, -FI_EAGAIN if there was, or another error.
 */
int vrb_cq_arm_counted(struct vrb_cq *cq);
void vrb_cq_count_close(struct vrb_cq *cq);
/* Counts the operations of the completions wc[0..n). */
void vrb_cq_count(const struct ibv_wc *wc, int n);
/* Counts the outstanding operations of queues that are given up. */
void vrb_cq_count_lost(struct vrb_cq *cq);
/*
 * Polls and counts up to a batch of completions, and stores those that the application will read.
 * Returns the number found, or a negative value.
 */
int vrb_cq_fetch(struct vrb_cq *cq);
/* Moves up to `want` stored completions into cq->wc. Returns their number. */
int vrb_cq_take_stored(struct vrb_cq *cq, int want);
/*
 * Starts counting on a queue in use; outstanding operations are counted as they complete. Called
 * without the lock. Returns 0 or -FI_E*.
 */
int vrb_cq_count_late(struct vrb_cq *cq, struct vrb_wq *wq, struct ofi_cntr *const *cntrs);
/*
 * Stores the device's completions, because some devices discard those of a destroyed queue pair,
 * and with them receives of a shared queue. Called without the lock.
 */
void vrb_cq_save(struct vrb_cq *cq);
/* Returns true if all work requests of an ordered queue have completed, read or not. */
bool vrb_cq_has_all(struct vrb_cq *cq, const struct vrb_wq *wq);
/*
 * Stores the device's completions. Returns true if none of the queue's waits to be read; false also
 * if another thread reads, or without memory.
 */
bool vrb_cq_has_none(struct vrb_cq *cq, const struct vrb_wq *wq);
/* Stops counting for a queue that closes. */
void vrb_cq_count_forget(struct vrb_wq *wq);
/* Drops stored completions of a queue that closes. */
void vrb_cq_forget(struct vrb_cq *cq, const struct vrb_wq *wq);
/*
 * vrb_cq_fetch() for counters, and preparation for sleeping on the channel's descriptor; called
 * without the lock.
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

/* Returns the number of kept completions, which come first. Nothing is kept afterward. */
static inline int vrb_cq_take_kept(struct vrb_cq *cq)
{
	int n = (int)cq->kept;

	cq->kept = 0;
	vrb_cq_set_special(cq, VRB_CQ_KEPT, false);
	return n;
}

/*
 * Returns true for a failure that is not reported: of a closed queue, or of a flushed work request
 * that is the library's own or a part of an FI_MULTI_RECV buffer other than the last one.
 */
static inline bool vrb_cq_drops(const struct ibv_wc *wc)
{
	const struct vrb_slot *slot = (const struct vrb_slot *)(uintptr_t)wc->wr_id;

	return vrb_wq_closed(slot->wq) ||
	       (wc->status == IBV_WC_WR_FLUSH_ERR &&
		((slot->flags & VRB_SLOT_OWN) == VRB_SLOT_OWN ||
		 (slot->flags & (VRB_MULTI | FI_MULTI_RECV)) == VRB_MULTI));
}

static inline int vrb_cq_want(const struct vrb_cq *cq, size_t count)
{
	return (int)(count < cq->bunch ? count : cq->bunch);
}

/* Tables by format, with and without locks (cq_read.c). */
extern const struct fi_ops_cq vrb_cq_ops[FI_CQ_FORMAT_TAGGED + 1];
extern const struct fi_ops_cq vrb_cq_nolock_ops[FI_CQ_FORMAT_TAGGED + 1];
OFI_CALL(fi_ops_cq, strerror) vrb_cq_strerror;
/* The other operations of all CQs (cq_wait.c, cq_take.c). */
extern const struct ofi_cq_ops vrb_cq_base_ops;
bool vrb_cq_take_error(struct ofi_cq *cq, struct fi_cq_err_entry *entry);
/* Opens the device's part of the wait object. Returns 0, or logs and returns -FI_E*. */
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
