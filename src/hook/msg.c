/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages, with tags and without, under hooks. */
#include <rdma/fi_tagged.h>
#include "hook.h"

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			void *context)
{
	static struct ofi_hook_site site = { .name = "fi_recv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start, real->msg->recv(real, buf, len, desc, src_addr, context),
		"buf %p, len %zu, desc %p, src_addr 0x%llx, context %p", (const void *)buf, len,
		(const void *)desc, (unsigned long long)src_addr, (const void *)context);
}

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src_addr, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_recvv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start, real->msg->recvv(real, iov, desc, count, src_addr, context),
		"iov %p, desc %p, count %zu, src_addr 0x%llx, context %p", (const void *)iov,
		(const void *)desc, count, (unsigned long long)src_addr, (const void *)context);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_recvmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(&site, ep, start, real->msg->recvmsg(real, msg, flags),
			    "msg %p, flags 0x%llx", (const void *)msg, (unsigned long long)flags);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			fi_addr_t dest_addr, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_send" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start, real->msg->send(real, buf, len, desc, dest_addr, context),
		"buf %p, len %zu, desc %p, dest_addr 0x%llx, context %p", (const void *)buf, len,
		(const void *)desc, (unsigned long long)dest_addr, (const void *)context);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t dest_addr, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_sendv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start, real->msg->sendv(real, iov, desc, count, dest_addr, context),
		"iov %p, desc %p, count %zu, dest_addr 0x%llx, context %p", (const void *)iov,
		(const void *)desc, count, (unsigned long long)dest_addr, (const void *)context);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_sendmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(&site, ep, start, real->msg->sendmsg(real, msg, flags),
			    "msg %p, flags 0x%llx", (const void *)msg, (unsigned long long)flags);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest_addr)
{
	static struct ofi_hook_site site = { .name = "fi_inject" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start, real->msg->inject(real, buf, len, dest_addr),
			    "buf %p, len %zu, dest_addr 0x%llx", (const void *)buf, len,
			    (unsigned long long)dest_addr);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest_addr, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_senddata" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start,
			    real->msg->senddata(real, buf, len, desc, data, dest_addr, context),
			    "buf %p, len %zu, desc %p, data 0x%llx, dest_addr 0x%llx, context %p",
			    (const void *)buf, len, (const void *)desc, (unsigned long long)data,
			    (unsigned long long)dest_addr, (const void *)context);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest_addr)
{
	static struct ofi_hook_site site = { .name = "fi_injectdata" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start,
			    real->msg->injectdata(real, buf, len, data, dest_addr),
			    "buf %p, len %zu, data 0x%llx, dest_addr 0x%llx", (const void *)buf,
			    len, (unsigned long long)data, (unsigned long long)dest_addr);
}

struct fi_ops_msg ofi_hook_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t len, void *desc, fi_addr_t src_addr,
			   uint64_t tag, uint64_t ignore, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_trecv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->tagged->recv(real, buf, len, desc, src_addr, tag, ignore, context),
		"buf %p, len %zu, desc %p, src_addr 0x%llx, tag 0x%llx, ignore 0x%llx, context %p",
		(const void *)buf, len, (const void *)desc, (unsigned long long)src_addr,
		(unsigned long long)tag, (unsigned long long)ignore, (const void *)context);
}

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t src_addr, uint64_t tag, uint64_t ignore, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_trecvv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->tagged->recvv(real, iov, desc, count, src_addr, tag, ignore, context),
		"iov %p, desc %p, count %zu, src_addr 0x%llx, tag 0x%llx, ignore 0x%llx, context %p",
		(const void *)iov, (const void *)desc, count, (unsigned long long)src_addr,
		(unsigned long long)tag, (unsigned long long)ignore, (const void *)context);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_trecvmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(&site, ep, start, real->tagged->recvmsg(real, msg, flags),
			    "msg %p, flags 0x%llx", (const void *)msg, (unsigned long long)flags);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			   fi_addr_t dest_addr, uint64_t tag, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_tsend" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start, real->tagged->send(real, buf, len, desc, dest_addr, tag, context),
		"buf %p, len %zu, desc %p, dest_addr 0x%llx, tag 0x%llx, context %p",
		(const void *)buf, len, (const void *)desc, (unsigned long long)dest_addr,
		(unsigned long long)tag, (const void *)context);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			    fi_addr_t dest_addr, uint64_t tag, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_tsendv" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start,
			    real->tagged->sendv(real, iov, desc, count, dest_addr, tag, context),
			    "iov %p, desc %p, count %zu, dest_addr 0x%llx, tag 0x%llx, context %p",
			    (const void *)iov, (const void *)desc, count,
			    (unsigned long long)dest_addr, (unsigned long long)tag,
			    (const void *)context);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_tsendmsg" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start;

	if (msg && (flags & FI_TRIGGER))
		ofi_hook_trigger(msg->context, flags);
	start = ofi_hook_begin();
	return ofi_hook_end(&site, ep, start, real->tagged->sendmsg(real, msg, flags),
			    "msg %p, flags 0x%llx", (const void *)msg, (unsigned long long)flags);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest_addr,
			     uint64_t tag)
{
	static struct ofi_hook_site site = { .name = "fi_tinject" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start, real->tagged->inject(real, buf, len, dest_addr, tag),
			    "buf %p, len %zu, dest_addr 0x%llx, tag 0x%llx", (const void *)buf, len,
			    (unsigned long long)dest_addr, (unsigned long long)tag);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			       uint64_t data, fi_addr_t dest_addr, uint64_t tag, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_tsenddata" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(
		&site, ep, start,
		real->tagged->senddata(real, buf, len, desc, data, dest_addr, tag, context),
		"buf %p, len %zu, desc %p, data 0x%llx, dest_addr 0x%llx, tag 0x%llx, context %p",
		(const void *)buf, len, (const void *)desc, (unsigned long long)data,
		(unsigned long long)dest_addr, (unsigned long long)tag, (const void *)context);
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				 fi_addr_t dest_addr, uint64_t tag)
{
	static struct ofi_hook_site site = { .name = "fi_tinjectdata" };
	struct fid_ep *real = ofi_hook_real(ep);
	uint64_t start = ofi_hook_begin();

	return ofi_hook_end(&site, ep, start,
			    real->tagged->injectdata(real, buf, len, data, dest_addr, tag),
			    "buf %p, len %zu, data 0x%llx, dest_addr 0x%llx, tag 0x%llx",
			    (const void *)buf, len, (unsigned long long)data,
			    (unsigned long long)dest_addr, (unsigned long long)tag);
}

struct fi_ops_tagged ofi_hook_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};
