/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collectives under hooks. */
#include <rdma/fi_collective.h>
#include <rdma/fi_errno.h>
#include "hook.h"

static ssize_t coll_barrier(struct fid_ep *ep, fi_addr_t coll_addr, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_barrier" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start, real->collective->barrier(real, coll_addr, context),
			    "coll_addr 0x%llx, context %p", (unsigned long long)coll_addr,
			    (const void *)context);
}

static ssize_t coll_broadcast(struct fid_ep *ep, void *buf, size_t count, void *desc,
			      fi_addr_t coll_addr, fi_addr_t root_addr, enum fi_datatype datatype,
			      uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_broadcast" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->broadcast(real, buf, count, desc, coll_addr, root_addr, datatype,
					    flags, context),
		"buf %p, count %zu, desc %p, coll_addr 0x%llx, root_addr 0x%llx, datatype %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (unsigned long long)coll_addr,
		(unsigned long long)root_addr, datatype, (unsigned long long)flags,
		(const void *)context);
}

static ssize_t coll_alltoall(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			     void *result, void *result_desc, fi_addr_t coll_addr,
			     enum fi_datatype datatype, uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_alltoall" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->alltoall(real, buf, count, desc, result, result_desc, coll_addr,
					   datatype, flags, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, coll_addr 0x%llx, datatype %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)coll_addr, datatype,
		(unsigned long long)flags, (const void *)context);
}

static ssize_t coll_allreduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll_addr,
			      enum fi_datatype datatype, enum fi_op op, uint64_t flags,
			      void *context)
{
	static struct ofi_hook_site site = { .name = "fi_allreduce" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->allreduce(real, buf, count, desc, result, result_desc, coll_addr,
					    datatype, op, flags, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, coll_addr 0x%llx, datatype %d, op %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)coll_addr, datatype, op,
		(unsigned long long)flags, (const void *)context);
}

static ssize_t coll_allgather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			      void *result, void *result_desc, fi_addr_t coll_addr,
			      enum fi_datatype datatype, uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_allgather" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->allgather(real, buf, count, desc, result, result_desc, coll_addr,
					    datatype, flags, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, coll_addr 0x%llx, datatype %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)coll_addr, datatype,
		(unsigned long long)flags, (const void *)context);
}

static ssize_t coll_reduce_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				   void *result, void *result_desc, fi_addr_t coll_addr,
				   enum fi_datatype datatype, enum fi_op op, uint64_t flags,
				   void *context)
{
	static struct ofi_hook_site site = { .name = "fi_reduce_scatter" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->reduce_scatter(real, buf, count, desc, result, result_desc,
						 coll_addr, datatype, op, flags, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, coll_addr 0x%llx, datatype %d, op %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)coll_addr, datatype, op,
		(unsigned long long)flags, (const void *)context);
}

static ssize_t coll_reduce(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll_addr,
			   fi_addr_t root_addr, enum fi_datatype datatype, enum fi_op op,
			   uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_reduce" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->reduce(real, buf, count, desc, result, result_desc, coll_addr,
					 root_addr, datatype, op, flags, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, coll_addr 0x%llx, root_addr 0x%llx, datatype %d, op %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)coll_addr,
		(unsigned long long)root_addr, datatype, op, (unsigned long long)flags,
		(const void *)context);
}

static ssize_t coll_scatter(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t coll_addr,
			    fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags,
			    void *context)
{
	static struct ofi_hook_site site = { .name = "fi_scatter" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->scatter(real, buf, count, desc, result, result_desc, coll_addr,
					  root_addr, datatype, flags, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, coll_addr 0x%llx, root_addr 0x%llx, datatype %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)coll_addr,
		(unsigned long long)root_addr, datatype, (unsigned long long)flags,
		(const void *)context);
}

static ssize_t coll_gather(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t coll_addr,
			   fi_addr_t root_addr, enum fi_datatype datatype, uint64_t flags,
			   void *context)
{
	static struct ofi_hook_site site = { .name = "fi_gather" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->collective->gather(real, buf, count, desc, result, result_desc, coll_addr,
					 root_addr, datatype, flags, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, coll_addr 0x%llx, root_addr 0x%llx, datatype %d, flags 0x%llx, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)coll_addr,
		(unsigned long long)root_addr, datatype, (unsigned long long)flags,
		(const void *)context);
}

static ssize_t coll_msg(struct fid_ep *ep, const struct fi_msg_collective *msg,
			struct fi_ioc *resultv, void **result_desc, size_t result_count,
			uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_collective_msg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(
		&site, ep, start,
		real->collective->msg(real, msg, resultv, result_desc, result_count, flags),
		"msg %p, resultv %p, result_desc %p, result_count %zu, flags 0x%llx",
		(const void *)msg, (const void *)resultv, (const void *)result_desc, result_count,
		(unsigned long long)flags);
}

static ssize_t coll_barrier2(struct fid_ep *ep, fi_addr_t coll_addr, uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_barrier2" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (!FI_CHECK_OP(real->collective, struct fi_ops_collective, barrier2))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return ofi_hook_end(
		&site, ep, start, real->collective->barrier2(real, coll_addr, flags, context),
		"coll_addr 0x%llx, flags 0x%llx, context %p", (unsigned long long)coll_addr,
		(unsigned long long)flags, (const void *)context);
}

struct fi_ops_collective ofi_hook_collective_ops = {
	.size = sizeof(struct fi_ops_collective),
	.barrier = coll_barrier,
	.broadcast = coll_broadcast,
	.alltoall = coll_alltoall,
	.allreduce = coll_allreduce,
	.allgather = coll_allgather,
	.reduce_scatter = coll_reduce_scatter,
	.reduce = coll_reduce,
	.scatter = coll_scatter,
	.gather = coll_gather,
	.msg = coll_msg,
	.barrier2 = coll_barrier2,
};
