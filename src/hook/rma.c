/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory access under hooks. */
#include <rdma/fi_rma.h>
#include "hook.h"

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			uint64_t addr, uint64_t key, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_read" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->rma->read(real, buf, len, desc, src_addr, addr, key, context),
		"buf %p, len %zu, desc %p, src_addr 0x%llx, addr 0x%llx, key 0x%llx, context %p",
		(const void *)buf, len, (const void *)desc, (unsigned long long)src_addr,
		(unsigned long long)addr, (unsigned long long)key, (const void *)context);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, uint64_t addr, uint64_t key, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_readv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->rma->readv(real, iov, desc, count, src_addr, addr, key, context),
		"iov %p, desc %p, count %zu, src_addr 0x%llx, addr 0x%llx, key 0x%llx, context %p",
		(const void *)iov, (const void *)desc, count, (unsigned long long)src_addr,
		(unsigned long long)addr, (unsigned long long)key, (const void *)context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_readmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(&site, ep, start, real->rma->readmsg(real, msg, flags),
			    "msg %p, flags 0x%llx", (const void *)msg, (unsigned long long)flags);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			 fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_write" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->rma->write(real, buf, len, desc, dest_addr, addr, key, context),
		"buf %p, len %zu, desc %p, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, context %p",
		(const void *)buf, len, (const void *)desc, (unsigned long long)dest_addr,
		(unsigned long long)addr, (unsigned long long)key, (const void *)context);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest_addr, uint64_t addr, uint64_t key, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_writev" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->rma->writev(real, iov, desc, count, dest_addr, addr, key, context),
		"iov %p, desc %p, count %zu, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, context %p",
		(const void *)iov, (const void *)desc, count, (unsigned long long)dest_addr,
		(unsigned long long)addr, (unsigned long long)key, (const void *)context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_writemsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(&site, ep, start, real->rma->writemsg(real, msg, flags),
			    "msg %p, flags 0x%llx", (const void *)msg, (unsigned long long)flags);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest_addr,
			  uint64_t addr, uint64_t key)
{
	static struct ofi_hook_site site = { .name = "fi_inject_write" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start,
			    real->rma->inject(real, buf, len, dest_addr, addr, key),
			    "buf %p, len %zu, dest_addr 0x%llx, addr 0x%llx, key 0x%llx",
			    (const void *)buf, len, (unsigned long long)dest_addr,
			    (unsigned long long)addr, (unsigned long long)key);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t dest_addr, uint64_t addr, uint64_t key,
			     void *context)
{
	static struct ofi_hook_site site = { .name = "fi_writedata" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->rma->writedata(real, buf, len, desc, data, dest_addr, addr, key, context),
		"buf %p, len %zu, desc %p, data 0x%llx, dest_addr 0x%llx, addr 0x%llx, key 0x%llx, context %p",
		(const void *)buf, len, (const void *)desc, (unsigned long long)data,
		(unsigned long long)dest_addr, (unsigned long long)addr, (unsigned long long)key,
		(const void *)context);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr, uint64_t addr, uint64_t key)
{
	static struct ofi_hook_site site = { .name = "fi_inject_writedata" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start, real->rma->injectdata(real, buf, len, data, dest_addr, addr, key),
		"buf %p, len %zu, data 0x%llx, dest_addr 0x%llx, addr 0x%llx, key 0x%llx",
		(const void *)buf, len, (unsigned long long)data, (unsigned long long)dest_addr,
		(unsigned long long)addr, (unsigned long long)key);
}

struct fi_ops_rma ofi_hook_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
