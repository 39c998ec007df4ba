/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA: fi_write and fi_read in all their forms. A region's key is its rkey, an address its virtual
 * address.
 */
#include <rdma/fi_rma.h>
#include "prov/base/ops.h"
#include "ops.h"
#include "prov/verbs/queue/post.h"
#include "work.h"

#define RMA_WRITE (FI_RMA | FI_WRITE)
#define RMA_READ  (FI_RMA | FI_READ)
#define READ_FLAGS                                                                        \
	(FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE)

OFI_INLINE void remote(struct ibv_send_wr *wr, uint64_t addr, uint64_t key)
{
	wr->wr.rdma.remote_addr = addr;
	wr->wr.rdma.rkey = (uint32_t)key;
}

/* A key of more than 32 bits is none that this provider gave out. */
OFI_INLINE bool plain(const void *buf, size_t len, size_t max, uint64_t key)
{
	return vrb_plain(buf, len, max) && ofi_likely(!(key >> 32));
}

/* A transfer without data, or what is wrong with it. */
static OFI_OUTLINE ssize_t rma_odd(struct vrb_ep *ep, size_t len, size_t max, struct ibv_send_wr wr,
				   uint64_t key, void *context, uint64_t flags)
{
	if (len > max)
		return -FI_EMSGSIZE;
	if (key >> 32)
		return -FI_EKEYREJECTED;
	if (len)
		return -FI_EINVAL;
	wr.wr.rdma.rkey = (uint32_t)key;
	vrb_wq_enter(ep->sq);
	return vrb_sq_post(ep->sq, &wr, context, flags, 0, false);
}

OFI_INLINE ssize_t write_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     enum ibv_wr_opcode opcode, uint64_t data, uint64_t addr, uint64_t key,
			     void *context)
{
	struct vrb_ep *ep = vrb_ep(fid);
	uint64_t flags = RMA_WRITE | vrb_ep_tx_silent(ep);
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	if (!plain(buf, len, ep->send_max, key))
		return rma_odd(ep, len, ep->send_max,
			       (struct ibv_send_wr){ .opcode = opcode,
						     .imm_data = htonl((uint32_t)data),
						     .send_flags = ep->tx_wr_flags,
						     .wr.rdma.remote_addr = addr },
			       key, context, flags);
	vrb_wq_enter(sq);
	wr = vrb_sq_wr(sq, buf, len, desc);
	wr->opcode = opcode;
	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr->imm_data = htonl((uint32_t)data);
	wr->send_flags = ep->tx_wr_flags | vrb_inline_flag(ep, len);
	remote(wr, addr, key);
	return vrb_sq_post(sq, wr, context, flags, len, false);
}

OFI_INLINE ssize_t inject_one(struct fid_ep *fid, const void *buf, size_t len,
			      enum ibv_wr_opcode opcode, uint64_t data, uint64_t addr, uint64_t key)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	if (!plain(buf, len, ep->inject_size, key))
		return rma_odd(ep, len, ep->inject_size,
			       (struct ibv_send_wr){ .opcode = opcode,
						     .imm_data = htonl((uint32_t)data),
						     .wr.rdma.remote_addr = addr },
			       key, NULL, RMA_WRITE | VRB_SILENT);
	vrb_wq_enter(sq);
	wr = vrb_sq_wr(sq, buf, len, NULL);
	wr->opcode = opcode;
	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr->imm_data = htonl((uint32_t)data);
	wr->send_flags = IBV_SEND_INLINE;
	remote(wr, addr, key);
	return vrb_sq_post(sq, wr, NULL, RMA_WRITE | VRB_SILENT, len, false);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
			 uint64_t addr, uint64_t key, void *context)
{
	(void)dest;
	return write_one(ep, buf, len, desc, IBV_WR_RDMA_WRITE, 0, addr, key, context);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
			     void *context)
{
	(void)dest;
	if (ofi_unlikely(data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	return write_one(ep, buf, len, desc, IBV_WR_RDMA_WRITE_WITH_IMM, data, addr, key, context);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			  uint64_t addr, uint64_t key)
{
	(void)dest;
	return inject_one(ep, buf, len, IBV_WR_RDMA_WRITE, 0, addr, key);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest, uint64_t addr, uint64_t key)
{
	(void)dest;
	if (ofi_unlikely(data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	return inject_one(ep, buf, len, IBV_WR_RDMA_WRITE_WITH_IMM, data, addr, key);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			uint64_t addr, uint64_t key, void *context)
{
	struct vrb_ep *ep = vrb_ep(fid);
	uint64_t flags = RMA_READ | vrb_ep_tx_silent(ep);
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	(void)src;
	if (!plain(buf, len, ep->max_msg_size, key))
		return rma_odd(ep, len, ep->max_msg_size,
			       (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_READ,
						     .send_flags = ep->tx_wr_flags,
						     .wr.rdma.remote_addr = addr },
			       key, context, flags);
	vrb_wq_enter(sq);
	wr = vrb_sq_wr(sq, buf, len, desc);
	wr->opcode = IBV_WR_RDMA_READ;
	wr->send_flags = ep->tx_wr_flags;
	remote(wr, addr, key);
	return vrb_sq_post(sq, wr, context, flags, len, false);
}

/* The one remote range of an fi_msg_rma; it must be as long as the local side. */
static ssize_t msg_prepare(struct vrb_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			   uint64_t allowed, struct ibv_send_wr *wr, size_t *len,
			   struct vrb_tx_mode *mode)
{
	ssize_t ret;

	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov)
		return -FI_EINVAL;
	ret = vrb_sge_fill(wr->sg_list, msg->msg_iov, msg->desc, msg->iov_count,
			   ep->info->tx_attr->iov_limit, len);
	if (!ret)
		ret = vrb_tx_mode(ep, flags, allowed, *len, mode);
	if (ret)
		return ret;
	if (msg->rma_iov[0].len != *len)
		return -FI_EINVAL;
	if (msg->rma_iov[0].key >> 32)
		return -FI_EKEYREJECTED;
	wr->num_sge = *len ? (int)msg->iov_count : 0;
	wr->send_flags = mode->wr_flags;
	remote(wr, msg->rma_iov[0].addr, msg->rma_iov[0].key);
	return 0;
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	struct vrb_tx_mode mode;
	size_t len;
	ssize_t ret;

	ret = msg_prepare(ep, msg, flags, VRB_TX_FLAGS, &wr, &len, &mode);
	if (ret)
		return ret == -FI_EBADFLAGS ? vrb_trigger_rma(ep, FI_OP_WRITE, msg, flags) : ret;
	if ((flags & FI_REMOTE_CQ_DATA) && msg->data > VRB_CQ_DATA_MAX)
		return -FI_EINVAL;
	wr.opcode = flags & FI_REMOTE_CQ_DATA ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	wr.imm_data = htonl((uint32_t)msg->data);
	wr.send_flags |= vrb_inline_flag(ep, len);
	vrb_wq_enter(ep->sq);
	return vrb_sq_post(ep->sq, &wr, msg->context, RMA_WRITE | mode.silent, len,
			   flags & FI_MORE);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge, .opcode = IBV_WR_RDMA_READ };
	struct vrb_tx_mode mode;
	size_t len;
	ssize_t ret;

	ret = msg_prepare(ep, msg, flags, READ_FLAGS, &wr, &len, &mode);
	if (ret)
		return ret == -FI_EBADFLAGS ? vrb_trigger_rma(ep, FI_OP_READ, msg, flags) : ret;
	vrb_wq_enter(ep->sq);
	return vrb_sq_post(ep->sq, &wr, msg->context, RMA_READ | mode.silent, len, flags & FI_MORE);
}

/*
 * Bytes of an iov, for the remote range of the calls that give none; an overflow fails the length
 * checks.
 */
static size_t iov_len(const struct iovec *iov, size_t count, size_t limit)
{
	size_t i, len = 0;

	for (i = 0; iov && i < count && i < limit; i++)
		if (__builtin_add_overflow(len, iov[i].iov_len, &len))
			return SIZE_MAX;
	return len;
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct fi_rma_iov target = { addr, iov_len(iov, count, ep->info->tx_attr->iov_limit), key };
	struct fi_msg_rma msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.context = context,
	};

	return rma_writemsg(fid, &msg, ep->tx_op_flags);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct fi_rma_iov target = { addr, iov_len(iov, count, ep->info->tx_attr->iov_limit), key };
	struct fi_msg_rma msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = src,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.context = context,
	};

	return rma_readmsg(fid, &msg, ep->tx_op_flags & READ_FLAGS);
}

const struct fi_ops_rma VRB_TABLE(rma) = {
	.size = sizeof(struct fi_ops_rma),
	OFI_RMA_DEFAULTS,
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
