/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fi_collective(3) calls of reliable-datagram endpoints. */
#include "prov/base/coll.h"
#include "prov/base/ops.h"
#include <rdma/fi_errno.h>
#include "coll.h"
#include "cq.h"
#include "hmem.h"
#include "lock.h"
#include "prov/base/refuse.h"

#define FLAGS (FI_COMPLETION | FI_MORE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE)

static ssize_t coll_call(struct fid_ep *fid, enum fi_collective_op kind, const void *buf,
			 void *desc, void *result, void *result_desc, size_t count, fi_addr_t group,
			 fi_addr_t root, enum fi_datatype datatype, enum fi_op op, uint64_t flags,
			 void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	struct ofi_coll_call call = { .kind = kind,
				      .buf = buf,
				      .result = result,
				      .count = count,
				      .datatype = datatype,
				      .op = op,
				      .root = root,
				      .context = context,
				      .device = ep->hmem };
	const struct iovec iov[] = { { (void *)(uintptr_t)buf, count }, { result, count } };
	void *const descs[] = { desc, result_desc };
	ssize_t ret;

	if (flags & ~FLAGS)
		return -FI_EBADFLAGS;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	ret = ofi_rdm_check_copy(ep, "collective", iov, descs, 2);
	if (ret)
		return ret;
	ofi_rdm_lock(ep);
	ret = ofi_rdm_coll_start(ep, group, &call);
	ofi_rdm_unlock(ep);
	return ret;
}

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t group, uint64_t flags, void *context)
{
	return coll_call(ep, FI_BARRIER, NULL, NULL, NULL, NULL, 0, group, 0, FI_VOID, FI_NOOP,
			 flags, context);
}

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t group, void *context)
{
	return coll_barrier2(ep, group, 0, context);
}

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc,
			      fi_addr_t group, fi_addr_t root, enum fi_datatype datatype,
			      uint64_t flags, void *context)
{
	return coll_call(ep, FI_BROADCAST, NULL, NULL, buf, desc, count, group, root, datatype,
			 FI_NOOP, flags, context);
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			     void *result, void *result_desc, fi_addr_t group,
			     enum fi_datatype datatype, uint64_t flags, void *context)
{
	return coll_call(ep, FI_ALLTOALL, buf, desc, result, result_desc, count, group, 0, datatype,
			 FI_NOOP, flags, context);
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t group,
			      enum fi_datatype datatype, enum fi_op op, uint64_t flags,
			      void *context)
{
	return coll_call(ep, FI_ALLREDUCE, buf, desc, result, result_desc, count, group, 0,
			 datatype, op, flags, context);
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t group,
			      enum fi_datatype datatype, uint64_t flags, void *context)
{
	return coll_call(ep, FI_ALLGATHER, buf, desc, result, result_desc, count, group, 0,
			 datatype, FI_NOOP, flags, context);
}

static ssize_t coll_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				   void *result, void *result_desc, fi_addr_t group,
				   enum fi_datatype datatype, enum fi_op op, uint64_t flags,
				   void *context)
{
	return coll_call(ep, FI_REDUCE_SCATTER, buf, desc, result, result_desc, count, group, 0,
			 datatype, op, flags, context);
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
			   enum fi_datatype datatype, enum fi_op op, uint64_t flags, void *context)
{
	return coll_call(ep, FI_REDUCE, buf, desc, result, result_desc, count, group, root,
			 datatype, op, flags, context);
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
			    enum fi_datatype datatype, uint64_t flags, void *context)
{
	return coll_call(ep, FI_SCATTER, buf, desc, result, result_desc, count, group, root,
			 datatype, FI_NOOP, flags, context);
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t group, fi_addr_t root,
			   enum fi_datatype datatype, uint64_t flags, void *context)
{
	return coll_call(ep, FI_GATHER, buf, desc, result, result_desc, count, group, root,
			 datatype, FI_NOOP, flags, context);
}

const struct fi_ops_collective ofi_rdm_coll_ops = {
	.size = OFI_COLLECTIVE_DEFAULTS,
	.barrier = coll_barrier,
	.broadcast = coll_broadcast,
	.alltoall = coll_alltoall,
	.allreduce = coll_allreduce,
	.allgather = coll_allgather,
	.reduce_scatter = coll_reduce_scatter,
	.reduce = coll_reduce,
	.scatter = coll_scatter,
	.gather = coll_gather,
	.barrier2 = coll_barrier2,
};

/*
 * Called with the first group: from now on each progress call drives collectives. Endpoints without
 * a group do not pay for them.
 */
static void coll_collect(struct ofi_rdm_ep *ep)
{
	ofi_rdm_lock(ep);
	__atomic_store_n(&ep->collects, true, __ATOMIC_RELAXED);
	ofi_rdm_unlock(ep);
	if (ep->tx_cq)
		ofi_rdm_cq_renew(ep->tx_cq);
	if (ep->rx_cq)
		ofi_rdm_cq_renew(ep->rx_cq);
}

int ofi_rdm_coll_join(struct fid_ep *fid, const void *addr, uint64_t flags, struct fid_mc **mc,
		      void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);
	const struct fi_provider *prov = ep->domain->prov;
	int ret;

	if (!(flags & FI_COLLECTIVE))
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_ENOSYS,
			"fi_join: reliable datagrams have no multicast; FI_COLLECTIVE, or fi_join_collective, joins a collective group\n");
	if (!ep->coll)
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
				  "fi_join: the endpoint was opened without FI_COLLECTIVE\n");
	if (!ep->enabled)
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
				  "fi_join: the endpoint is not enabled; use fi_enable\n");
	coll_collect(ep);
	ret = ofi_rdm_coll_form(ep, addr, flags, mc, context);
	if (!ret)
		ofi_rdm_coll_attend(ep->coll);
	return ret;
}

int ofi_rdm_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
			     struct fi_collective_attr *attr, uint64_t flags)
{
	(void)domain;
	return ofi_coll_query(coll, attr, flags, OFI_RDM_COLL_MAX);
}
