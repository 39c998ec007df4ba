/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends and writes of connected endpoints with FI_HMEM. */
#include "hmem.h"

#include <string.h>
#include "multi.h"
#include "ops.h"
#include "prov/base/hmem.h"
#include "prov/verbs/provider/mr_hmem.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/post.h"

/* The arguments of a send or a write in any form. */
struct transfer {
	const struct iovec *iov;
	void **desc;
	size_t count;
	void *context;
	uint64_t flags; /* flags of the call */
	uint64_t data;
	const struct fi_rma_iov *remote; /* for a write, else NULL */
	bool injected;			 /* the call produces no completion and has no descriptor */
};

const struct ofi_hmem *vrb_hmem_of(const struct vrb_ep *ep, const void *buf, const void *desc)
{
	const char *why;

	if (desc && !vrb_mr_desc_iface(desc))
		return NULL;
	if (desc)
		return ofi_hmem_get(&vrb_prov, vrb_mr_desc_iface(desc), &why);
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

static void *desc_at(const struct transfer *transfer, size_t i)
{
	return transfer->desc ? transfer->desc[i] : NULL;
}

static bool has_device_memory(const struct transfer *transfer)
{
	size_t i;

	for (i = 0; i < transfer->count; i++)
		if (transfer->iov[i].iov_len && vrb_mr_desc_iface(desc_at(transfer, i)))
			return true;
	return false;
}

/* Copies the data to host memory, because the application may reuse its buffers at return. */
static ssize_t hmem_stage(const struct vrb_ep *ep, const struct transfer *transfer, uint8_t *to,
			  struct ibv_send_wr *wr)
{
	uint8_t *at = to;
	ssize_t ret;
	size_t i;

	for (i = 0; i < transfer->count; i++) {
		if (!transfer->iov[i].iov_len)
			continue;
		ret = vrb_hmem_load(ep, at, transfer->iov[i].iov_base, desc_at(transfer, i),
				    transfer->iov[i].iov_len);
		if (ret)
			return ret;
		at += transfer->iov[i].iov_len;
	}
	vrb_sge_set(wr->sg_list, to, (size_t)(at - to), NULL);
	wr->num_sge = 1;
	wr->send_flags |= IBV_SEND_INLINE;
	return 0;
}

static void set_operation(struct ibv_send_wr *wr, const struct transfer *transfer)
{
	bool data = transfer->flags & FI_REMOTE_CQ_DATA;

	wr->imm_data = htonl((uint32_t)transfer->data);
	if (!transfer->remote) {
		wr->opcode = data ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
		return;
	}
	wr->opcode = data ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	wr->wr.rdma.remote_addr = transfer->remote->addr;
	wr->wr.rdma.rkey = (uint32_t)transfer->remote->key;
}

static ssize_t hmem_check(const struct vrb_ep *ep, const struct transfer *transfer, size_t len,
			  struct vrb_tx_mode *mode)
{
	if ((transfer->flags & FI_REMOTE_CQ_DATA) && transfer->data > VRB_CQ_DATA_MAX)
		return -FI_EINVAL;
	if (transfer->remote && transfer->remote->len != len)
		return -FI_EINVAL;
	if (transfer->remote && transfer->remote->key >> 32)
		return -FI_EKEYREJECTED;
	return vrb_tx_mode(ep, transfer->flags, VRB_TX_FLAGS, len, mode);
}

static ssize_t hmem_post(struct vrb_ep *ep, const struct transfer *transfer)
{
	uint64_t kind = transfer->remote ? FI_RMA | FI_WRITE : FI_MSG | FI_SEND;
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	uint8_t data[VRB_HMEM_INJECT_MAX];
	struct vrb_tx_mode mode;
	size_t len;
	ssize_t ret;

	ret = vrb_sge_fill(sge, transfer->iov, transfer->desc, transfer->count,
			   ep->info->tx_attr->iov_limit ? ep->info->tx_attr->iov_limit : 1, false,
			   &len);
	if (!ret)
		ret = hmem_check(ep, transfer, len, &mode);
	if (ret)
		return ret;
	if (transfer->injected)
		mode = (struct vrb_tx_mode){ .silent = VRB_SILENT };
	wr.num_sge = len ? (int)transfer->count : 0;
	wr.send_flags = mode.wr_flags;
	set_operation(&wr, transfer);
	if (transfer->flags & FI_INJECT && len)
		ret = hmem_stage(ep, transfer, data, &wr);
	else if (!has_device_memory(transfer))
		wr.send_flags |= vrb_inline_flag(ep, len);
	if (ret)
		return ret;
	vrb_wq_enter(ep->sq, ep->lock_posts);
	return vrb_sq_post(ep->sq, &wr, transfer->context, kind | mode.silent, len,
			   transfer->flags & FI_MORE, ep->lock_posts);
}

static ssize_t post_one(struct fid_ep *fid, const void *buf, size_t len, void *desc, void *context,
			uint64_t flags, uint64_t data, const struct fi_rma_iov *remote)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct vrb_ep *ep = vrb_ep(fid);
	struct transfer transfer = {
		.iov = &iov,
		.desc = &desc,
		.count = 1,
		.context = context,
		.flags = flags,
		.data = data,
		.remote = remote,
	};

	return hmem_post(ep, &transfer);
}

static ssize_t post_inject(struct fid_ep *fid, const void *buf, size_t len, uint64_t flags,
			   uint64_t data, const struct fi_rma_iov *remote)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct transfer transfer = {
		.iov = &iov,
		.count = 1,
		.flags = flags | FI_INJECT,
		.data = data,
		.remote = remote,
		.injected = true,
	};

	return hmem_post(vrb_ep(fid), &transfer);
}

ssize_t vrb_hmem_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
		      void *context)
{
	(void)dest;
	return post_one(ep, buf, len, desc, context, vrb_ep(ep)->tx_op_flags, 0, NULL);
}

ssize_t vrb_hmem_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc, uint64_t data,
			  fi_addr_t dest, void *context)
{
	(void)dest;
	return post_one(ep, buf, len, desc, context, vrb_ep(ep)->tx_op_flags | FI_REMOTE_CQ_DATA,
			data, NULL);
}

/* Operations that wait for a counter use the path of all endpoints. */
ssize_t vrb_hmem_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	if (!msg || flags & ~VRB_TX_FLAGS)
		return vrb_msg_ops.sendmsg(fid, msg, flags);
	return hmem_post(vrb_ep(fid), &(struct transfer){
					      .iov = msg->msg_iov,
					      .desc = msg->desc,
					      .count = msg->iov_count,
					      .context = msg->context,
					      .flags = flags,
					      .data = msg->data,
				      });
}

ssize_t vrb_hmem_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	(void)dest;
	return post_inject(ep, buf, len, 0, 0, NULL);
}

ssize_t vrb_hmem_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			    fi_addr_t dest)
{
	(void)dest;
	return post_inject(ep, buf, len, FI_REMOTE_CQ_DATA, data, NULL);
}

ssize_t vrb_hmem_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
		       uint64_t addr, uint64_t key, void *context)
{
	const struct fi_rma_iov remote = { addr, len, key };

	(void)dest;
	return post_one(ep, buf, len, desc, context, vrb_ep(ep)->tx_op_flags, 0, &remote);
}

ssize_t vrb_hmem_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			   uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
			   void *context)
{
	const struct fi_rma_iov remote = { addr, len, key };

	(void)dest;
	return post_one(ep, buf, len, desc, context, vrb_ep(ep)->tx_op_flags | FI_REMOTE_CQ_DATA,
			data, &remote);
}

ssize_t vrb_hmem_inject_write(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			      uint64_t addr, uint64_t key)
{
	const struct fi_rma_iov remote = { addr, len, key };

	(void)dest;
	return post_inject(ep, buf, len, 0, 0, &remote);
}

ssize_t vrb_hmem_inject_writedata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				  fi_addr_t dest, uint64_t addr, uint64_t key)
{
	const struct fi_rma_iov remote = { addr, len, key };

	(void)dest;
	return post_inject(ep, buf, len, FI_REMOTE_CQ_DATA, data, &remote);
}

ssize_t vrb_hmem_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov || flags & ~VRB_TX_FLAGS)
		return vrb_rma_ops.writemsg(fid, msg, flags);
	return hmem_post(vrb_ep(fid), &(struct transfer){
					      .iov = msg->msg_iov,
					      .desc = msg->desc,
					      .count = msg->iov_count,
					      .context = msg->context,
					      .flags = flags,
					      .data = msg->data,
					      .remote = msg->rma_iov,
				      });
}

ssize_t vrb_hmem_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	struct fi_rma_iov remote = { .addr = addr, .key = key };
	const struct fi_msg_rma msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.rma_iov = &remote,
		.rma_iov_count = 1,
		.context = context,
	};
	size_t i;

	(void)dest;
	for (i = 0; iov && i < count; i++)
		remote.len += iov[i].iov_len;
	return vrb_hmem_writemsg(ep, &msg, vrb_ep(ep)->tx_op_flags);
}
