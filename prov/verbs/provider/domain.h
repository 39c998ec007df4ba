/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The domain object: one opened device, its protection domain, and what hangs from it. */
#ifndef VRB_DOMAIN_H
#define VRB_DOMAIN_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <rdma/fi_domain.h>
#include "prov/base/domain.h"
#include "prov/base/eq.h"
#include "src/ds/lock.h"
#include "domain_rdm.h"
#include "fabric.h"

struct vrb_ep;
struct vrb_cq;
struct vrb_srx;

struct vrb_domain {
	union {
		struct fid_domain fid;
		struct ofi_domain base;
	};
	struct vrb_fabric *fabric;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_device_attr attr;
	uint32_t odp;		   /* IBV_ODP_SUPPORT_*, 0: memory is pinned */
	uint64_t *scratch;	   /* where the device puts results that nobody asked for */
	struct ibv_mr *scratch_mr; /* NULL where there are no atomics */
	struct ofi_eq *eq;	   /* bound with fi_domain_bind, default of its endpoints */
	bool lock_posts;	   /* FI_THREAD_SAFE: several threads may post to one endpoint */
	bool lock_polls; /* also FI_THREAD_FID: an endpoint may close while another thread polls */
	void *mrs;	 /* tsearch(3) by key, of one with rdm; under lock */
	bool rdm;	 /* opened for reliable datagrams */
	bool dead;	 /* the device is gone; atomic */
	struct ofi_source async; /* the device's asynchronous events */
	struct ofi_lock lock;	 /* guards the lists */
	LIST_HEAD(, vrb_ep) eps;
	LIST_HEAD(, vrb_cq) cqs;
	LIST_HEAD(, vrb_srx) srxs;
	/*
	 * Which CQs shared receive queues complete on. Taken before a CQ's lock, that before
	 * `lock`.
	 */
	struct ofi_lock share_lock;
	/* Bindings to endpoints that are enabled, one at a time. Taken before share_lock. */
	struct ofi_lock bind_lock;
	bool no_windows;  /* the device failed to bind or to invalidate a memory window; atomic */
	bool no_last_wqe; /* the device does not tell when a QP lets go of its SRQ; atomic */
};

static inline struct vrb_domain *vrb_domain(struct fid_domain *fid)
{
	return (struct vrb_domain *)fid;
}

/* Of a domain that is open for reliable datagrams, else NULL. */
static inline const struct vrb_domain_rdm *vrb_rdm_of(const struct vrb_domain *domain)
{
	return domain->base.progress ? vrb_domain_rdm() : NULL;
}

/* Whether it is one of this provider's. */
bool vrb_is_domain(const struct fid_domain *fid);
int vrb_domain_open(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **domain,
		    void *context);

#endif
