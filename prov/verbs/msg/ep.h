/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoint object: a queue pair and its work queues. One of type FI_EP_MSG has a connection;
 * one of type FI_EP_DGRAM is the beginning of a struct vrb_dgram.
 */
#ifndef VRB_EP_H
#define VRB_EP_H

#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <rdma/fi_endpoint.h>
#include "prov/base/cntr.h"
#include "prov/base/eq.h"
#include "prov/verbs/cm/cm.h"
#include "prov/verbs/cm/conn.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/queue/wq.h"

#define VRB_IOV_MAX	64	   /* scatter/gather entries that a posting call has room for */
#define VRB_CQ_DATA_MAX UINT32_MAX /* immediate data is 4 bytes */

struct vrb_batch;
struct vrb_srx;
struct ofi_stx;

struct vrb_ep {
	struct fid_ep fid;
	struct vrb_wq *sq;
	struct vrb_wq *rq;
	size_t inject_size;
	size_t send_max;    /* largest send or RMA: inject_size where tx op_flags hold FI_INJECT */
	uint64_t tx_silent; /* VRB_SILENT where an operation without flags gets no entry, else 0 */
	uint64_t rx_flags;  /* of a receive without flags: FI_MSG | FI_RECV, VRB_SILENT */
	unsigned int tx_wr_flags; /* IBV_SEND_* of an operation without flags */
	struct vrb_batch *batch;  /* work requests that FI_MORE holds back; guarded by sq->lock */
	size_t max_msg_size;
	uint64_t tx_op_flags, rx_op_flags;
	uint64_t tx_flags;		 /* those that a transmit call may carry; constant */
	bool tx_selective, rx_selective; /* completions only where FI_COMPLETION asks */
	bool lock_posts;		 /* several threads may post */
	size_t min_multi;		 /* FI_OPT_MIN_MULTI_RECV; atomic */
	struct vrb_ep *self;		 /* of an alias the endpoint, else this one; constant */
	struct ofi_ref fids;		 /* not closed: its own and its aliases' */
	LIST_HEAD(, vrb_ep) aliases;	 /* guarded by domain->lock */
	bool enabled;
	int down_err;		      /* what posting gives once the connection is over; atomic */
	struct vrb_cq *tx_cq, *rx_cq; /* bound, or own_cq */
	struct vrb_cq *own_cq;	      /* where there is none bound, for counters */
	struct ofi_cntr *cntrs[VRB_COUNTS]; /* bound */
	struct ofi_cntr_watches watches;    /* of deferred work; domain->lock guards them */
	uint64_t watched;    /* FI_SEND and the like: the counters that have their source */
	struct vrb_srx *srx; /* bound: then rq is never used */
	struct ofi_stx *stx; /* bound */
	bool last_wqe;	     /* the queue pair has let go of the SRQ; atomic */
	struct vrb_domain *domain;
	struct ofi_eq *eq;
	struct vrb_owner owner; /* of qp */
	struct ibv_qp *qp;	/* from fi_enable on */
	int qp_access;		/* IBV_ACCESS_* of the queue pair */
	uint32_t qp_num;	/* for error texts; atomic */
	uint32_t peer_qp_num;	/* for error texts; set before the endpoint is ready */
	struct fi_info *info;	/* what it was opened with */
	struct vrb_conn conn;	/* of FI_EP_MSG */
	enum fi_ep_type type;
	bool listed;
	LIST_ENTRY(vrb_ep) siblings; /* domain->eps; of an alias self->aliases */
};

static inline struct vrb_ep *vrb_ep(struct fid_ep *fid)
{
	return (struct vrb_ep *)fid;
}

/* VRB_SILENT or 0; the compiler is told that it is no other bit. */
static inline uint64_t vrb_ep_tx_silent(const struct vrb_ep *ep)
{
	uint64_t silent = ep->tx_silent;

	if (silent & ~VRB_SILENT)
		__builtin_unreachable();
	return silent;
}

/* The endpoint that an alias stands for: what calls other than posting work on. */
static inline struct vrb_ep *vrb_ep_self(struct fid *fid)
{
	return ((struct vrb_ep *)fid)->self;
}

/* The EQ that hears of the endpoint: its own, else its domain's, else NULL. */
static inline struct ofi_eq *vrb_ep_eq(const struct vrb_ep *ep)
{
	return ep->eq ? ep->eq : ep->domain->eq;
}

/* Whether it is one of these, for connections or datagrams, or an alias. */
bool vrb_is_ep(const struct fid *fid);
int vrb_ep_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context);

static inline bool vrb_ep_is_dgram(const struct vrb_ep *ep)
{
	return ep->type == FI_EP_DGRAM;
}

/* With domain->lock held: the endpoint of a queue pair, NULL when it is closed. */
static inline struct vrb_ep *vrb_ep_find(const struct vrb_domain *domain, uint32_t qp_num)
{
	struct vrb_ep *ep;

	LIST_FOREACH (ep, &domain->eps, siblings)
		if (__atomic_load_n(&ep->qp_num, __ATOMIC_RELAXED) == qp_num)
			break;
	return ep;
}

/* Its hints asked for a shared receive context, or one is bound. */
static inline bool vrb_ep_shares_rx(const struct vrb_ep *ep)
{
	return ep->srx || ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT;
}

/* What the connection asks of the endpoint; called from any thread. */
void vrb_ep_ready(struct vrb_ep *ep); /* connected: sending is allowed */
void vrb_ep_down(
	struct vrb_ep *ep,
	int err); /* over: posting gives err (-FI_ENOTCONN, -FI_ENODEV), the queues flush */

#endif
