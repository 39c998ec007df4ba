/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics under hooks. */
#include <rdma/fi_atomic.h>
#include "hook.h"

static ssize_t atomic_write(struct fid_ep *ep, const void *buf, size_t count, void *desc,
			    fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_atomic" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->atomic->write(real, buf, count, desc, dest_addr, addr, key, datatype, op,
				    context),
		"buf %p, count %zu, desc %p, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, datatype %d, op %d, context %p",
		(const void *)buf, count, (const void *)desc, (unsigned long long)dest_addr,
		(unsigned long long)addr, (unsigned long long)key, datatype, op,
		(const void *)context);
}

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			     fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_atomicv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->atomic->writev(real, iov, desc, count, dest_addr, addr, key, datatype, op,
				     context),
		"iov %p, desc %p, count %zu, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, datatype %d, op %d, context %p",
		(const void *)iov, (const void *)desc, count, (unsigned long long)dest_addr,
		(unsigned long long)addr, (unsigned long long)key, datatype, op,
		(const void *)context);
}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_atomicmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(&site, ep, start, real->atomic->writemsg(real, msg, flags),
			    "msg %p, flags 0x%llx", (const void *)msg, (unsigned long long)flags);
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest_addr,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	static struct ofi_hook_site site = { .name = "fi_inject_atomic" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->atomic->inject(real, buf, count, dest_addr, addr, key, datatype, op),
		"buf %p, count %zu, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, datatype %d, op %d",
		(const void *)buf, count, (unsigned long long)dest_addr, (unsigned long long)addr,
		(unsigned long long)key, datatype, op);
}

static ssize_t atomic_readwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				void *result, void *result_desc, fi_addr_t dest_addr, uint64_t addr,
				uint64_t key, enum fi_datatype datatype, enum fi_op op,
				void *context)
{
	static struct ofi_hook_site site = { .name = "fi_fetch_atomic" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->atomic->readwrite(real, buf, count, desc, result, result_desc, dest_addr,
					addr, key, datatype, op, context),
		"buf %p, count %zu, desc %p, result %p, result_desc %p, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, datatype %d, op %d, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)result,
		(const void *)result_desc, (unsigned long long)dest_addr, (unsigned long long)addr,
		(unsigned long long)key, datatype, op, (const void *)context);
}

static ssize_t atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
				 size_t count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	static struct ofi_hook_site site = { .name = "fi_fetch_atomicv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->atomic->readwritev(real, iov, desc, count, resultv, result_desc, result_count,
					 dest_addr, addr, key, datatype, op, context),
		"iov %p, desc %p, count %zu, resultv %p, result_desc %p, result_count %zu, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, datatype %d, op %d, context %p",
		(const void *)iov, (const void *)desc, count, (const void *)resultv,
		(const void *)result_desc, result_count, (unsigned long long)dest_addr,
		(unsigned long long)addr, (unsigned long long)key, datatype, op,
		(const void *)context);
}

static ssize_t atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
				   struct fi_ioc *resultv, void **result_desc, size_t result_count,
				   uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_fetch_atomicmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(
		&site, ep, start,
		real->atomic->readwritemsg(real, msg, resultv, result_desc, result_count, flags),
		"msg %p, resultv %p, result_desc %p, result_count %zu, flags 0x%llx",
		(const void *)msg, (const void *)resultv, (const void *)result_desc, result_count,
		(unsigned long long)flags);
}

static ssize_t atomic_compwrite(struct fid_ep *ep, const void *buf, size_t count, void *desc,
				const void *compare, void *compare_desc, void *result,
				void *result_desc, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
				enum fi_datatype datatype, enum fi_op op, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_compare_atomic" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->atomic->compwrite(real, buf, count, desc, compare, compare_desc, result,
					result_desc, dest_addr, addr, key, datatype, op, context),
		"buf %p, count %zu, desc %p, compare %p, compare_desc %p, result %p, result_desc "
		"%p, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, datatype %d, op %d, context %p",
		(const void *)buf, count, (const void *)desc, (const void *)compare,
		(const void *)compare_desc, (const void *)result, (const void *)result_desc,
		(unsigned long long)dest_addr, (unsigned long long)addr, (unsigned long long)key,
		datatype, op, (const void *)context);
}

static ssize_t atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc,
				 size_t count, const struct fi_ioc *comparev, void **compare_desc,
				 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, fi_addr_t dest_addr, uint64_t addr,
				 uint64_t key, enum fi_datatype datatype, enum fi_op op,
				 void *context)
{
	static struct ofi_hook_site site = { .name = "fi_compare_atomicv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->atomic->compwritev(real, iov, desc, count, comparev, compare_desc,
					 compare_count, resultv, result_desc, result_count,
					 dest_addr, addr, key, datatype, op, context),
		"iov %p, desc %p, count %zu, comparev %p, compare_desc %p, compare_count %zu, "
		"resultv %p, result_desc %p, result_count %zu, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, datatype %d, op %d, context %p",
		(const void *)iov, (const void *)desc, count, (const void *)comparev,
		(const void *)compare_desc, compare_count, (const void *)resultv,
		(const void *)result_desc, result_count, (unsigned long long)dest_addr,
		(unsigned long long)addr, (unsigned long long)key, datatype, op,
		(const void *)context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
				   const struct fi_ioc *comparev, void **compare_desc,
				   size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				   size_t result_count, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_compare_atomicmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(
		&site, ep, start,
		real->atomic->compwritemsg(real, msg, comparev, compare_desc, compare_count,
					   resultv, result_desc, result_count, flags),
		"msg %p, comparev %p, compare_desc %p, compare_count %zu, resultv %p, result_desc %p, result_count %zu, flags 0x%llx",
		(const void *)msg, (const void *)comparev, (const void *)compare_desc,
		compare_count, (const void *)resultv, (const void *)result_desc, result_count,
		(unsigned long long)flags);
}

static int atomic_writevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			     size_t *count)
{
	static struct ofi_hook_site site = { .name = "fi_atomicvalid" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start,
				 real->atomic->writevalid(real, datatype, op, count),
				 "datatype %d, op %d, count %p", datatype, op, (const void *)count);
}

static int atomic_readwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	static struct ofi_hook_site site = { .name = "fi_fetch_atomicvalid" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start,
				 real->atomic->readwritevalid(real, datatype, op, count),
				 "datatype %d, op %d, count %p", datatype, op, (const void *)count);
}

static int atomic_compwritevalid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
				 size_t *count)
{
	static struct ofi_hook_site site = { .name = "fi_compare_atomicvalid" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, ep, start,
				 real->atomic->compwritevalid(real, datatype, op, count),
				 "datatype %d, op %d, count %p", datatype, op, (const void *)count);
}

struct fi_ops_atomic ofi_hook_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_readwrite,
	.readwritev = atomic_readwritev,
	.readwritemsg = atomic_readwritemsg,
	.compwrite = atomic_compwrite,
	.compwritev = atomic_compwritev,
	.compwritemsg = atomic_compwritemsg,
	.writevalid = atomic_writevalid,
	.readwritevalid = atomic_readwritevalid,
	.compwritevalid = atomic_compwritevalid,
};
