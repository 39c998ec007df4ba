/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive contexts: a fid_ep for posting receives to a shared receive queue. */
#ifndef VRB_SRX_H
#define VRB_SRX_H

#include <rdma/fi_endpoint.h>
#include "prov/base/eq.h"
#include "prov/verbs/provider/domain.h"
#include "ep.h"
#include "prov/verbs/queue/srq.h"

struct vrb_ep;

struct vrb_srx {
	struct fid_ep fid;
	struct vrb_srq *srq;
	size_t iov_limit;
	uint64_t op_flags;
	struct vrb_domain *domain;
	/* The bound EQ for its notifications, else the domain's is used; atomic. */
	struct ofi_eq *eq;
	struct ofi_ref ref;	      /* bound endpoints */
	LIST_ENTRY(vrb_srx) siblings; /* in domain->srxs */
};

static inline struct vrb_srx *vrb_srx(struct fid_ep *fid)
{
	return (struct vrb_srx *)fid;
}

/* Returns the EQ for its events; NULL if there is none. */
static inline struct ofi_eq *vrb_srx_eq(const struct vrb_srx *srx)
{
	struct ofi_eq *eq = __atomic_load_n(&srx->eq, __ATOMIC_ACQUIRE);

	return eq ? eq : srx->domain->base.eq;
}

OFI_CALL(fi_ops_domain, srx_ctx) vrb_srx_open;
/* Returns the device's limit for shared receive contexts. */
static inline size_t vrb_srx_max_iov(const struct ibv_device_attr *attr)
{
	int max = attr->max_srq_sge < attr->max_sge ? attr->max_srq_sge : attr->max_sge;

	return max < VRB_IOV_MAX ? (size_t)max : VRB_IOV_MAX;
}

/*
 * Called when an endpoint closes. Its queue pair may hold a receive that it has taken, which
 * completes once the queue pair is in the error state. If the queue pair were destroyed earlier,
 * the receive would be lost to all other endpoints.
 */
void vrb_srx_leave(struct vrb_ep *ep);

extern const struct fi_ops_msg vrb_srx_msg_ops, vrb_srx_msg_nolock_ops; /* in srx_recv.c */

#endif
