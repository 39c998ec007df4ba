/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where the rig's domain would have reliable datagrams: there are none. */
#include "unit.h"
#include <rdma/fi_errno.h>
#include "verbs_rig.h"
#include "prov/verbs/rdm/all.h"
#include "prov/verbs/rdm/atomic.h"
#include "prov/verbs/rdm/av.h"
#include "prov/verbs/rdm/cache.h"
#include "prov/verbs/rdm/coll.h"
#include "prov/verbs/rdm/cq.h"
#include "prov/verbs/rdm/ep.h"
#include "prov/verbs/rdm/info.h"
#include "prov/verbs/rdm/work.h"

unsigned int fake_rdm_watches, fake_rdm_watch_most;

void fake_rdm(void)
{
}

int vrb_rdm_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep, void *context)
{
	(void)domain;
	(void)info;
	(void)ep;
	(void)context;
	return -FI_ENOSYS;
}

int vrb_rdm_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
		    void *context)
{
	(void)domain;
	(void)attr;
	(void)av;
	(void)context;
	return -FI_ENOSYS;
}

int vrb_rdm_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		    void *context)
{
	(void)domain;
	(void)attr;
	(void)cq;
	(void)context;
	return -FI_ENOSYS;
}

int vrb_rdm_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
			 struct fi_atomic_attr *attr, uint64_t flags)
{
	(void)domain;
	(void)datatype;
	(void)op;
	(void)attr;
	(void)flags;
	return -FI_ENOSYS;
}

int vrb_rdm_cache_open(struct vrb_domain *domain, struct ofi_mr_cache **cache)
{
	(void)domain;
	(void)cache;
	return -FI_ENOSYS;
}

void vrb_rdm_cache_close(struct ofi_mr_cache *cache)
{
	(void)cache;
}

bool vrb_rdm_is_cq(const struct fid *cq)
{
	(void)cq;
	return false;
}

int vrb_rdm_cq_trywait(struct vrb_rdm_cq *cq)
{
	(void)cq;
	return -FI_ENOSYS;
}

const struct ofi_poll_ops vrb_rdm_poll_ops;

struct fi_tx_attr vrb_rdm_tx_limits(void)
{
	return (struct fi_tx_attr){ 0 };
}

int vrb_rdm_all_open(struct vrb_domain *domain, struct vrb_rdm_all **all)
{
	(void)domain;
	(void)all;
	return -FI_ENOSYS;
}

void vrb_rdm_all_close(struct vrb_rdm_all *all)
{
	(void)all;
}

int vrb_rdm_all_watch(struct vrb_rdm_all *all, struct ofi_cntr *cntr)
{
	assert_non_null(all);
	assert_non_null(cntr);
	if (fake_rdm_watches >= fake_rdm_watch_most)
		return -FI_ENOMEM;
	fake_rdm_watches++;
	return 0;
}

void vrb_rdm_all_unwatch(struct vrb_rdm_all *all, struct ofi_cntr *cntr)
{
	assert_non_null(all);
	assert_non_null(cntr);
	fake_rdm_watches--;
}

int vrb_rdm_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			     struct fi_collective_attr *attr, uint64_t flags)
{
	(void)domain;
	(void)coll;
	(void)attr;
	(void)flags;
	return -FI_ENOSYS;
}

ssize_t vrb_rdm_queue_work(struct vrb_domain *domain, const struct fi_deferred_work *from,
			   struct ofi_cntr *cntr)
{
	(void)domain;
	(void)from;
	(void)cntr;
	return -FI_ENOSYS;
}
