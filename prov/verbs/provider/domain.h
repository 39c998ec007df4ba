/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The domain object: an open device, its protection domain, and its children. */
#ifndef VRB_DOMAIN_H
#define VRB_DOMAIN_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "prov/base/ops.h"
#include "prov/base/domain.h"
#include "prov/base/eq.h"
#include "prov/base/work.h"
#include "src/ds/lock.h"
#include "fabric.h"
#include "mr_table.h"

#define VRB_VENDOR_SOFT_ROCE 0xffffff /* the OUI that soft-RoCE reports */
#define VRB_VENDOR_INTEL     0x8086

struct ofi_cntr;
struct ofi_rdm_domain_progress;
struct vrb_ep;
struct vrb_srx;

enum { VRB_TAKERS = 1024 };

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
	uint64_t *scratch;	   /* destination of atomic results that the caller discards */
	struct ibv_mr *scratch_mr; /* NULL without atomics */
	bool lock_posts;	   /* FI_THREAD_SAFE: several threads may post to one endpoint */
	/* Set for FI_THREAD_FID, too: an endpoint may close while another thread polls. */
	bool lock_polls;
	void *mrs;	   /* tsearch(3) tree by key, for RDM domains; guarded by lock */
	void *locals;	   /* the same by lkey, of regions with a descriptor */
	bool rdm;	   /* opened for reliable datagrams */
	bool unordered;	   /* queue pairs complete their work requests in any order */
	uint32_t recv_max; /* bytes that a segment of a receive may have; constant */
	bool ud;	   /* reliable datagrams go through unreliable ones; constant */
	bool shares;	   /* packets to peers on the same host use shared memory; constant */
	/*
	 * The longest RDMA read of an unordered device in bytes, or 0 if it has none; constant.
	 * With RDMA reads, peers' devices read memory that is registered with FI_REMOTE_READ.
	 */
	uint32_t max_read;
	bool grows; /* with ud: busy connections get queue pairs of their own; constant */
	struct vrb_mr_table table;
	struct ofi_lock paths_lock; /* guards `paths`, a tree of address handles (ah.h) */
	void *paths;
	/* Strangers have so many of them; the spare ones are listed, the longest unused first. */
	uint32_t stranger_paths;
	TAILQ_HEAD(, vrb_ah) spare_paths;
	bool dead;		 /* the device is gone; atomic */
	bool reports_mrs;	 /* base.eq reports registrations; atomic */
	struct ofi_source async; /* the device's asynchronous events */
	struct ofi_lock lock;	 /* guards eps and mrs; a thread that posts may wait for it */
	/*
	 * Guards srxs, is held while endpoints and shared contexts fail, which waits for threads
	 * that post, and is held, too, when eps changes. Taken before the locks of connections and
	 * queues and before `lock`.
	 */
	struct ofi_lock fail_lock;
	LIST_HEAD(, vrb_ep) eps;
	/* Endpoints with a shared receive context, by queue pair number; guarded by `lock`. */
	LIST_HEAD(vrb_takers, vrb_ep) takers[VRB_TAKERS];
	LIST_HEAD(, vrb_srx) srxs;
	/*
	 * Guards the links between shared receive queues and CQs. Taken before a CQ's lock, which
	 * is taken before `lock`.
	 */
	struct ofi_lock share_lock;
	/* Serializes bindings to enabled endpoints. Taken before share_lock. */
	struct ofi_lock bind_lock;
	bool windows; /* memory windows are used: the device has not failed to bind one; atomic */
	bool no_last_wqe; /* the device does not report when a QP stops using its SRQ; atomic */
};

/*
 * The extensions of a domain for reliable datagrams. They are registered when the provider starts,
 * so that nothing here refers to them by name.
 */
struct vrb_domain_rdm {
	struct fi_ops_domain *ops;
	/*
	 * Open and close the domain's RDM objects. close() is also called if open() failed or was
	 * not called.
	 */
	int (*open)(struct vrb_domain *domain);
	void (*close)(struct vrb_domain *domain);
	/*
	 * Reports that the device is gone if ep is NULL; otherwise that a queue of that endpoint
	 * has failed. err is FI_E*.
	 */
	void (*lost)(struct ofi_rdm_domain_progress *progress, const void *ep, int err);
	/* Called before the region with the descriptor closes. */
	void (*forget)(struct ofi_rdm_domain_progress *progress, const void *desc);
	/*
	 * From watch() to unwatch(), reading the counter makes all endpoints progress. Returns 0 or
	 * -FI_E*.
	 */
	int (*watch)(struct ofi_rdm_domain_progress *progress, struct ofi_cntr *cntr);
	void (*unwatch)(struct ofi_rdm_domain_progress *progress, struct ofi_cntr *cntr);
	/* These serve deferred work. */
	const struct ofi_work_ops *work;
	ofi_work_find *work_find;
};

void vrb_domain_register_rdm(const struct vrb_domain_rdm *rdm);
/* Returns NULL until the extensions are registered. */
const struct vrb_domain_rdm *vrb_domain_rdm(void);

static inline struct vrb_domain *vrb_domain(struct fid_domain *fid)
{
	return (struct vrb_domain *)fid;
}

/*
 * Returns the part of the access (IBV_ACCESS_*) that an unordered device grants. Peers have no RDMA
 * writes: their data arrives in packets.
 */
static inline int vrb_domain_unordered_access(const struct vrb_domain *domain, int access)
{
	return access & (IBV_ACCESS_LOCAL_WRITE | (domain->max_read ? IBV_ACCESS_REMOTE_READ : 0));
}

/* Returns true if the application serializes all calls: a caller may move what posts read. */
static inline bool vrb_domain_is_serialized(const struct vrb_domain *domain)
{
	return domain->base.info->domain_attr->threading == FI_THREAD_DOMAIN;
}

/* Returns the RDM part of a domain opened for reliable datagrams, else NULL. */
static inline const struct vrb_domain_rdm *vrb_rdm_of(const struct vrb_domain *domain)
{
	return domain->base.progress ? vrb_domain_rdm() : NULL;
}

/* Returns true if the domain belongs to this provider. */
bool vrb_is_domain(const struct fid_domain *fid);
/* Implements fi_stx_context, with the limits of the device's endpoints. */
OFI_CALL(fi_ops_domain, stx_ctx) vrb_stx_open;
OFI_CALL(fi_ops_fabric, domain) vrb_domain_open;

#endif
