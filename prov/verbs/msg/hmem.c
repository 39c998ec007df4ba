/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends and writes of connected endpoints with FI_HMEM. */
#include "hmem.h"

#include <string.h>
#include "ops.h"
#include "prov/base/desc.h"
#include "prov/base/hmem.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/post.h"
#include "work.h"

const struct ofi_hmem *vrb_hmem_of(const struct vrb_ep *ep, const void *buf, const void *desc)
{
	const char *why;

	if (desc && !ofi_desc_iface(desc))
		return NULL;
	if (desc)
		return ofi_hmem_get(&vrb_prov, ofi_desc_iface(desc), &why);
	return ep->self->hmem.no_calls ? NULL : ofi_hmem_of(buf);
}

ssize_t vrb_hmem_load(const struct vrb_ep *ep, void *to, const void *buf, const void *desc,
		      size_t len)
{
	const struct ofi_hmem *hmem = vrb_hmem_of(ep, buf, desc);

	if (hmem && ep->self->hmem.no_calls)
		return -FI_EOPNOTSUPP;
	if (hmem)
		return hmem->copy_from(to, buf, len);
	memcpy(to, buf, len);
	return 0;
}

static void *desc_at(const struct fi_msg *msg, size_t i)
{
	return msg->desc ? msg->desc[i] : NULL;
}

static bool has_device_memory(const struct fi_msg *msg)
{
	size_t i;

	for (i = 0; i < msg->iov_count; i++)
		if (msg->msg_iov[i].iov_len && ofi_desc_iface(desc_at(msg, i)))
			return true;
	return false;
}

/* Copies the data to host memory, because the application may reuse its buffers at return. */
static ssize_t hmem_stage(const struct vrb_ep *ep, const struct fi_msg *msg, uint8_t *to,
			  struct ibv_send_wr *wr)
{
	const struct iovec *iov = msg->msg_iov;
	uint8_t *at = to;
	ssize_t ret;
	size_t i;

	for (i = 0; i < msg->iov_count; i++) {
		if (!iov[i].iov_len)
			continue;
		ret = vrb_hmem_load(ep, at, iov[i].iov_base, desc_at(msg, i), iov[i].iov_len);
		if (ret)
			return ret;
		at += iov[i].iov_len;
	}
	vrb_sge_set(wr->sg_list, to, (size_t)(at - to), NULL);
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
	return 0;
}

/* Posts a send or a write that is built; data that the device must not read is copied into it. */
static ssize_t hmem_post(struct vrb_ep *ep, const struct fi_msg *msg, uint64_t flags,
			 struct ibv_send_wr *wr, size_t len, uint64_t slot_flags)
{
	uint8_t data[VRB_INLINE_MAX];
	ssize_t ret = 0;

	if (slot_flags & VRB_SILENT)
		wr->send_flags &= ~(unsigned int)IBV_SEND_SIGNALED;
	if (flags & FI_INJECT && len)
		ret = hmem_stage(ep, msg, data, wr);
	else if (has_device_memory(msg))
		wr->send_flags &= ~(unsigned int)IBV_SEND_INLINE;
	if (ret)
		return ret;
	vrb_inline_gather(wr, data);
	vrb_wq_enter(ep->sq, ep->lock_posts);
	return vrb_sq_post(ep->sq, wr, msg->context, slot_flags, len, flags & FI_MORE,
			   ep->lock_posts);
}

/* With `silent` no completion is reported, regardless of the flags. */
static ssize_t hmem_send(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags,
			 uint64_t silent)
{
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_tx_mode mode;
	size_t len;
	ssize_t ret = vrb_send_build(ep, msg, flags, &wr, &len, &mode);

	if (ret)
		return ret;
	return hmem_post(ep, msg, flags, &wr, len, FI_MSG | FI_SEND | mode.silent | silent);
}

static ssize_t hmem_write(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags,
			  uint64_t silent)
{
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_tx_mode mode;
	struct fi_msg local;
	size_t len;
	ssize_t ret = vrb_rma_build(ep, msg, flags, false, &wr, &len, &mode);

	if (ret)
		return ret;
	local = vrb_msg_of_iov(msg->msg_iov, msg->desc, msg->iov_count, msg->addr, msg->context);
	return hmem_post(ep, &local, flags, &wr, len, FI_RMA | FI_WRITE | mode.silent | silent);
}

static ssize_t inject_msg(struct fid_ep *ep, const void *buf, size_t len, uint64_t flags,
			  uint64_t data)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	const struct fi_msg msg = { &iov, NULL, 1, 0, NULL, data };

	return hmem_send(ep, &msg, FI_INJECT | flags, VRB_SILENT);
}

static ssize_t inject_rma(struct fid_ep *ep, const void *buf, const struct fi_rma_iov *to,
			  uint64_t flags, uint64_t data)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, to->len };
	const struct fi_msg_rma msg = { &iov, NULL, 1, 0, to, 1, NULL, data };

	return hmem_write(ep, &msg, FI_INJECT | flags, VRB_SILENT);
}

/* Operations that wait for a counter use the path of all endpoints. */
ssize_t vrb_hmem_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (!msg || flags & ~vrb_ep(fid)->tx_flags)
		return vrb_msg_ops.sendmsg(fid, msg, flags);
	return hmem_send(fid, msg, flags, 0);
}

ssize_t vrb_hmem_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	(void)dest;
	return inject_msg(ep, buf, len, 0, 0);
}

ssize_t vrb_hmem_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			    fi_addr_t dest)
{
	(void)dest;
	return inject_msg(ep, buf, len, FI_REMOTE_CQ_DATA, data);
}

ssize_t vrb_hmem_inject_write(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			      uint64_t addr, uint64_t key)
{
	const struct fi_rma_iov remote = { addr, len, key };

	(void)dest;
	return inject_rma(ep, buf, &remote, 0, 0);
}

ssize_t vrb_hmem_inject_writedata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				  fi_addr_t dest, uint64_t addr, uint64_t key)
{
	const struct fi_rma_iov remote = { addr, len, key };

	(void)dest;
	return inject_rma(ep, buf, &remote, FI_REMOTE_CQ_DATA, data);
}

ssize_t vrb_hmem_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov || flags & ~vrb_ep(fid)->tx_flags)
		return vrb_rma_ops.writemsg(fid, msg, flags);
	return hmem_write(fid, msg, flags, 0);
}
