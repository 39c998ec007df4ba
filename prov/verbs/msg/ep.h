/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoint object: a queue pair and its work queues. An FI_EP_MSG endpoint has a connection; an
 * FI_EP_DGRAM endpoint is the beginning of a struct vrb_dgram.
 */
#ifndef VRB_EP_H
#define VRB_EP_H

#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <rdma/fi_endpoint.h>
#include "prov/base/cntr.h"
#include "prov/base/eq.h"
#include "prov/base/hmem.h"
#include "prov/verbs/cm/cm.h"
#include "prov/verbs/cm/conn.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/queue/wq.h"

#define VRB_IOV_MAX	64	   /* maximum number of scatter/gather entries of a posting call */
#define VRB_CQ_DATA_MAX UINT32_MAX /* immediate data is 4 bytes */

struct vrb_batch;
struct vrb_srx;
struct ofi_stx;

struct vrb_ep {
	struct fid_ep fid;
	struct vrb_wq *sq;
	struct vrb_wq *rq;
	size_t inject_size;
	/*
	 * Limit of the fast path of sends and RMA writes: max_msg_size, or inject_size if the tx
	 * op_flags include FI_INJECT.
	 */
	size_t send_max;
	uint64_t tx_silent; /* VRB_SILENT if an operation without flags gets no CQ entry, else 0 */
	uint64_t rx_flags;  /* flags of a receive without flags: FI_MSG | FI_RECV, VRB_SILENT */
	unsigned int tx_wr_flags; /* IBV_SEND_* flags of an operation without flags */
	struct vrb_batch *batch;  /* work requests held back by FI_MORE; guarded by sq->lock */
	size_t max_msg_size;
	uint64_t tx_op_flags, rx_op_flags;
	uint64_t tx_flags;		 /* flags that a transmit call may have; constant */
	bool tx_selective, rx_selective; /* completions only with FI_COMPLETION */
	bool lock_posts;		 /* several threads may post */
	size_t min_multi;		 /* FI_OPT_MIN_MULTI_RECV; atomic */
	/* For an alias the endpoint, otherwise this one; constant. */
	struct vrb_ep *self;
	struct ofi_ref fids;	     /* open fids: its own and those of its aliases */
	LIST_HEAD(, vrb_ep) aliases; /* guarded by domain->lock */
	bool enabled;
	struct ofi_hmem_options hmem;
	int down_err;		      /* error of posting after the connection has ended; atomic */
	struct vrb_cq *tx_cq, *rx_cq; /* the bound CQ, or own_cq */
	struct vrb_cq *own_cq;	      /* for counters if no CQ is bound */
	struct ofi_cntr *cntrs[VRB_COUNTS]; /* bound counters */
	struct ofi_cntr_watches watches;    /* for deferred work */
	uint64_t watched;    /* FI_SEND and similar flags: counters that its CQs are sources of */
	struct vrb_srx *srx; /* bound shared receive context; rq is not used then */
	struct ofi_stx *stx; /* bound shared transmit context */
	bool last_wqe;	     /* the queue pair no longer uses the SRQ; atomic */
	struct vrb_domain *domain;
	struct ofi_eq *eq;
	struct vrb_owner owner; /* owner of qp */
	struct ibv_qp *qp;	/* set by fi_enable */
	int qp_access;		/* IBV_ACCESS_* flags of the queue pair */
	uint8_t qp_port;	/* the queue pair's port in state INIT */
	uint32_t qp_num;	/* for error texts; atomic */
	uint32_t peer_qp_num;	/* for error texts; set before the endpoint is ready */
	struct fi_info *info;	/* the attributes that it was opened with */
	struct vrb_conn conn;	/* for FI_EP_MSG */
	enum fi_ep_type type;
	bool listed;
	LIST_ENTRY(vrb_ep) siblings; /* in domain->eps; for an alias in self->aliases */
	LIST_ENTRY(vrb_ep) taker;    /* in domain->takers, while it has srx and qp */
};

static inline struct vrb_ep *vrb_ep(struct fid_ep *fid)
{
	return (struct vrb_ep *)fid;
}

/* Returns VRB_SILENT or 0, and tells the compiler that no other bit is set. */
static inline uint64_t vrb_ep_tx_silent(const struct vrb_ep *ep)
{
	uint64_t silent = ep->tx_silent;

	if (silent & ~VRB_SILENT)
		__builtin_unreachable();
	return silent;
}

/* Returns VRB_SILENT if a receive with the flags gets no CQ entry, else 0. */
static inline uint64_t vrb_ep_rx_silent(const struct vrb_ep *ep, uint64_t flags)
{
	return ep->rx_selective && !(flags & FI_COMPLETION) ? VRB_SILENT : 0;
}

/* Returns the endpoint of an alias. All calls except posting operate on it. */
static inline struct vrb_ep *vrb_ep_self(struct fid *fid)
{
	return ((struct vrb_ep *)fid)->self;
}

/* Returns the EQ for the endpoint's events: its own, its domain's, or NULL. */
static inline struct ofi_eq *vrb_ep_eq(const struct vrb_ep *ep)
{
	return ep->eq ? ep->eq : ep->domain->base.eq;
}

/* Returns true if the fid is an endpoint of this provider, connected or datagram, or an alias. */
bool vrb_is_ep(const struct fid *fid);
int vrb_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);

static inline bool vrb_ep_is_dgram(const struct vrb_ep *ep)
{
	return ep->type == FI_EP_DGRAM;
}

/*
 * Returns the endpoint with a shared receive context that has the queue pair, NULL if it is closed.
 * The caller holds domain->lock.
 */
static inline struct vrb_ep *vrb_ep_find(const struct vrb_domain *domain, uint32_t qp_num)
{
	struct vrb_ep *ep;

	LIST_FOREACH (ep, &domain->takers[qp_num % VRB_TAKERS], taker)
		if (ep->qp_num == qp_num)
			break;
	return ep;
}

/* Returns true if the hints asked for a shared receive context, or one is bound. */
static inline bool vrb_ep_shares_rx(const struct vrb_ep *ep)
{
	return ep->srx || ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
}

/* Callbacks of the connection to the endpoint, from any thread. */
/* Wakes the threads that sleep on the queues: one of them runs work that is due. */
void vrb_ep_wake(struct vrb_ep *ep);
void vrb_ep_ready(struct vrb_ep *ep);	/* accepting or connected: sending is allowed */
void vrb_ep_unready(struct vrb_ep *ep); /* accepting failed: sending is not allowed */
/* Returns true if nothing is outstanding in its queues. */
bool vrb_ep_is_idle(const struct vrb_ep *ep);
/*
 * Called when the connection has ended: posting returns err (-FI_ENOTCONN, -FI_ENODEV) from now on,
 * without locks at the latest when a queue is full, and the queues are flushed.
 */
void vrb_ep_down(struct vrb_ep *ep, int err);

/* Allocates rings of the sizes in its fi_info. Returns 0 or -FI_ENOMEM. */
int vrb_ep_new_queues(struct vrb_ep *ep);
/* Threads that read the completion queues leave the endpoint alone from now on. */
void vrb_ep_close_queues(struct vrb_ep *ep);
/* Frees the queues. An attached queue outlives the endpoint; the CQ frees it. */
void vrb_ep_free_queues(struct vrb_ep *ep);
/*
 * Reserves room in the CQs for all work requests that can be outstanding, so that they never
 * overrun. If enabling fails later, the queues stay attached for the next attempt.
 */
int vrb_ep_attach(struct vrb_ep *ep);
/* Initializes the template work requests of the queue pair. */
void vrb_ep_set_templates(struct vrb_ep *ep);

int vrb_ep_bind(struct fid *ep, struct fid *bfid, uint64_t flags);
void vrb_ep_unbind(struct vrb_ep *ep);
/* Uses the domain's event queue if the endpoint has none of its own. */
void vrb_ep_use_domain_eq(struct vrb_ep *ep);

/* Handles events of connected and datagram endpoints. */
extern const struct vrb_owner_ops vrb_ep_owner_ops;

#endif
