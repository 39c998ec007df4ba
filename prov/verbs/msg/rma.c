/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA: all forms of fi_write and fi_read. A region's key is its rkey, an address its virtual
 * address.
 */
#include <rdma/fi_rma.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/ops.h"
#include "alias_trigger.h"
#include "hmem.h"
#include "ops.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/post.h"
#include "work.h"

#define RMA_WRITE (FI_RMA | FI_WRITE)
#define RMA_READ  (FI_RMA | FI_READ)
#define USUAL_FLAGS \
	(FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define READ_FLAGS                                                                        \
	(FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE)

OFI_INLINE void remote(struct ibv_send_wr *wr, uint64_t addr, uint64_t key)
{
	wr->wr.rdma.remote_addr = addr;
	wr->wr.rdma.rkey = (uint32_t)key;
}

/* Checks for the fast path. A key of more than 32 bits is not one of this provider's. */
OFI_INLINE bool is_fast(const void *buf, size_t len, size_t max, uint64_t key)
{
	return vrb_fast(buf, len, max) && ofi_likely(!(key >> 32));
}

/* Slow path: zero-length transfer or argument errors. */
static OFI_OUTLINE ssize_t rma_slow(struct vrb_ep *ep, size_t len, size_t max,
				    struct ibv_send_wr wr, uint64_t key, void *context,
				    uint64_t flags)
{
	if (len > max)
		return -FI_EMSGSIZE;
	if (key >> 32)
		return -FI_EKEYREJECTED;
	if (len)
		return -FI_EINVAL;
	wr.wr.rdma.rkey = (uint32_t)key;
	vrb_wq_enter(ep->sq, ep->lock_posts);
	return vrb_sq_post(ep->sq, &wr, context, flags, 0, false, ep->lock_posts);
}

/*
 * `inject` and the following arguments are constants, so that calls without flags have specialized
 * code.
 */
OFI_INLINE ssize_t write_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     enum ibv_wr_opcode opcode, uint64_t data, uint64_t addr, uint64_t key,
			     void *context, bool inject, bool lock)
{
	struct vrb_ep *ep = vrb_ep(fid);
	uint64_t flags = RMA_WRITE | (inject ? VRB_SILENT : vrb_ep_tx_silent(ep));
	size_t max = inject ? ep->inject_size : ep->send_max;
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM && ofi_unlikely(data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	if (!is_fast(buf, len, max, key))
		return rma_slow(ep, len, max,
				(struct ibv_send_wr){ .opcode = opcode,
						      .imm_data = htonl((uint32_t)data),
						      .send_flags = inject ? 0 : ep->tx_wr_flags,
						      .wr.rdma.remote_addr = addr },
				key, context, flags);
	vrb_wq_enter(sq, lock);
	wr = vrb_sq_wr(sq, buf, len, desc);
	wr->opcode = opcode;
	if (opcode == IBV_WR_RDMA_WRITE_WITH_IMM)
		wr->imm_data = htonl((uint32_t)data);
	wr->send_flags = inject ? IBV_SEND_INLINE : ep->tx_wr_flags | vrb_inline_flag(ep, len);
	remote(wr, addr, key);
	return vrb_sq_post(sq, wr, context, flags, len, false, lock);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
			 uint64_t addr, uint64_t key, void *context)
{
	(void)dest;
	return write_one(ep, buf, len, desc, IBV_WR_RDMA_WRITE, 0, addr, key, context, false, true);
}

static ssize_t rma_write_nolock(struct fid_ep *ep, const void *buf, size_t len, void *desc,
				fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	(void)dest;
	return write_one(ep, buf, len, desc, IBV_WR_RDMA_WRITE, 0, addr, key, context, false,
			 false);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
			     void *context)
{
	(void)dest;
	return write_one(ep, buf, len, desc, IBV_WR_RDMA_WRITE_WITH_IMM, data, addr, key, context,
			 false, true);
}

static ssize_t rma_writedata_nolock(struct fid_ep *ep, const void *buf, size_t len, void *desc,
				    uint64_t data, fi_addr_t dest, uint64_t addr, uint64_t key,
				    void *context)
{
	(void)dest;
	return write_one(ep, buf, len, desc, IBV_WR_RDMA_WRITE_WITH_IMM, data, addr, key, context,
			 false, false);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
			  uint64_t addr, uint64_t key)
{
	(void)dest;
	return write_one(ep, buf, len, NULL, IBV_WR_RDMA_WRITE, 0, addr, key, NULL, true, true);
}

static ssize_t rma_inject_nolock(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest,
				 uint64_t addr, uint64_t key)
{
	(void)dest;
	return write_one(ep, buf, len, NULL, IBV_WR_RDMA_WRITE, 0, addr, key, NULL, true, false);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest, uint64_t addr, uint64_t key)
{
	(void)dest;
	return write_one(ep, buf, len, NULL, IBV_WR_RDMA_WRITE_WITH_IMM, data, addr, key, NULL,
			 true, true);
}

static ssize_t rma_injectdata_nolock(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				     fi_addr_t dest, uint64_t addr, uint64_t key)
{
	(void)dest;
	return write_one(ep, buf, len, NULL, IBV_WR_RDMA_WRITE_WITH_IMM, data, addr, key, NULL,
			 true, false);
}

OFI_INLINE ssize_t rma_read_on(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			       uint64_t addr, uint64_t key, void *context, bool lock)
{
	struct vrb_ep *ep = vrb_ep(fid);
	uint64_t flags = RMA_READ | vrb_ep_tx_silent(ep);
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	(void)src;
	if (!is_fast(buf, len, ep->max_msg_size, key))
		return rma_slow(ep, len, ep->max_msg_size,
				(struct ibv_send_wr){ .opcode = IBV_WR_RDMA_READ,
						      .send_flags = ep->tx_wr_flags,
						      .wr.rdma.remote_addr = addr },
				key, context, flags);
	vrb_wq_enter(sq, lock);
	wr = vrb_sq_wr(sq, buf, len, desc);
	wr->opcode = IBV_WR_RDMA_READ;
	wr->send_flags = ep->tx_wr_flags;
	remote(wr, addr, key);
	return vrb_sq_post(sq, wr, context, flags, len, false, lock);
}

static ssize_t rma_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			uint64_t addr, uint64_t key, void *context)
{
	return rma_read_on(fid, buf, len, desc, src, addr, key, context, true);
}

static ssize_t rma_read_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			       uint64_t addr, uint64_t key, void *context)
{
	return rma_read_on(fid, buf, len, desc, src, addr, key, context, false);
}

/* Returns true for a single buffer with data and a single remote range of the same length. */
OFI_INLINE bool is_single(const struct vrb_ep *ep, const struct fi_msg_rma *msg)
{
	return ofi_likely(msg && msg->iov_count == 1 && msg->msg_iov && msg->rma_iov_count == 1 &&
			  msg->rma_iov) &&
	       is_fast(msg->msg_iov->iov_base, msg->msg_iov->iov_len, ep->max_msg_size,
		       msg->rma_iov->key) &&
	       msg->rma_iov->len == msg->msg_iov->iov_len;
}

/* Fast path: only FI_COMPLETION among the flags changes the work request. */
OFI_INLINE ssize_t post_single(struct vrb_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			       enum ibv_wr_opcode opcode, bool lock)
{
	bool silent = ep->tx_selective && !(flags & FI_COMPLETION);
	bool write = opcode == IBV_WR_RDMA_WRITE;
	const struct iovec *iov = msg->msg_iov;
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	vrb_wq_enter(sq, lock);
	wr = vrb_sq_wr(sq, iov->iov_base, iov->iov_len, msg->desc ? msg->desc[0] : NULL);
	wr->opcode = opcode;
	wr->send_flags = silent ? 0 : IBV_SEND_SIGNALED;
	if (write)
		wr->send_flags |= vrb_inline_flag(ep, iov->iov_len);
	remote(wr, msg->rma_iov->addr, msg->rma_iov->key);
	return vrb_sq_post(sq, wr, msg->context,
			   (write ? RMA_WRITE : RMA_READ) | (silent ? VRB_SILENT : 0), iov->iov_len,
			   false, lock);
}

/* A read with too many segments would end the connection. Some devices report 0: no known limit. */
static OFI_OUTLINE bool reads_too_many(const struct vrb_ep *ep, size_t count)
{
	int max = ep->domain->attr.max_sge_rd;

	if (count < 2 || max <= 0 || count <= (size_t)max)
		return false;
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_DATA,
		       "fi_readv: %zu buffers; the device reads into %d at most (max_sge_rd)\n",
		       count, max);
	return true;
}

/* Prepares the single remote range of an fi_msg_rma, which must be as long as the local side. */
OFI_INLINE ssize_t rma_build(const struct vrb_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			     bool read, struct ibv_send_wr *wr, size_t *len,
			     struct vrb_tx_mode *mode)
{
	bool data = flags & FI_REMOTE_CQ_DATA;
	ssize_t ret;

	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov ||
	    (read && reads_too_many(ep, msg->iov_count)))
		return -FI_EINVAL;
	ret = vrb_sge_fill(wr->sg_list, msg->msg_iov, msg->desc, msg->iov_count,
			   ep->info->tx_attr->iov_limit, false, len);
	if (!ret)
		ret = vrb_tx_mode(ep, flags, read ? READ_FLAGS : ep->tx_flags, *len, mode);
	if (ret)
		return ret;
	if (msg->rma_iov[0].len != *len || (data && msg->data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	if (msg->rma_iov[0].key >> 32)
		return -FI_EKEYREJECTED;
	wr->num_sge = *len ? (int)msg->iov_count : 0;
	wr->send_flags = mode->wr_flags;
	wr->opcode = IBV_WR_RDMA_READ;
	if (!read) {
		wr->opcode = data ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
		wr->imm_data = htonl((uint32_t)msg->data);
		wr->send_flags |= vrb_inline_flag(ep, *len);
	}
	remote(wr, msg->rma_iov[0].addr, msg->rma_iov[0].key);
	return 0;
}

ssize_t vrb_rma_build(const struct vrb_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
		      bool read, struct ibv_send_wr *wr, size_t *len, struct vrb_tx_mode *mode)
{
	return rma_build(ep, msg, flags, read, wr, len, mode);
}

static OFI_OUTLINE ssize_t rmamsg_any(struct vrb_ep *ep, const struct fi_msg_rma *msg,
				      uint64_t flags, bool read)
{
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	uint8_t data[VRB_INLINE_MAX];
	struct vrb_tx_mode mode;
	size_t len;
	ssize_t ret = rma_build(ep, msg, flags, read, &wr, &len, &mode);

	if (ret == -FI_EBADFLAGS)
		return vrb_trigger_rma(ep, read ? FI_OP_READ : FI_OP_WRITE, msg, flags);
	if (ret)
		return ret;
	vrb_inline_gather(&wr, data);
	vrb_wq_enter(ep->sq, ep->lock_posts);
	return vrb_sq_post(ep->sq, &wr, msg->context, (read ? RMA_READ : RMA_WRITE) | mode.silent,
			   len, flags & FI_MORE, ep->lock_posts);
}

OFI_INLINE ssize_t rma_msg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags,
			   bool read, bool lock)
{
	struct vrb_ep *ep = vrb_ep(fid);

	if (!is_single(ep, msg) || ofi_unlikely(flags & ~(USUAL_FLAGS & ep->tx_flags)))
		return rmamsg_any(ep, msg, flags, read);
	return post_single(ep, msg, flags, read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, lock);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, false, true);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, true, true);
}

static ssize_t rma_writemsg_nolock(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, false, false);
}

static ssize_t rma_readmsg_nolock(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
	return rma_msg(fid, msg, flags, true, false);
}

/*
 * Returns the length of an iov, for calls without a length of the remote range. If it overflows,
 * the result fails the length checks.
 */
static size_t iov_len(const struct iovec *iov, size_t count, size_t limit)
{
	size_t i, len = 0;

	for (i = 0; iov && i < count && i < limit; i++)
		if (__builtin_add_overflow(len, iov[i].iov_len, &len))
			return SIZE_MAX;
	return len;
}

/* Writes go through the endpoint's table, because those with FI_HMEM are different. */
static ssize_t post_iov(struct vrb_ep *ep, const struct iovec *iov, void **desc, size_t count,
			uint64_t addr, uint64_t key, void *context, bool read)
{
	struct fi_rma_iov to = { addr, iov_len(iov, count, ep->info->tx_attr->iov_limit), key };
	struct fi_msg_rma msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.rma_iov = &to,
		.rma_iov_count = 1,
		.context = context,
	};

	if (read)
		return rmamsg_any(ep, &msg, ep->tx_op_flags & ~FI_INJECT, true);
	return ep->fid.rma->writemsg(&ep->fid, &msg, ep->tx_op_flags);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, void *context)
{
	(void)dest;
	return post_iov(vrb_ep(ep), iov, desc, count, addr, key, context, false);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, uint64_t addr, uint64_t key, void *context)
{
	(void)src;
	return post_iov(vrb_ep(ep), iov, desc, count, addr, key, context, true);
}

#define RMA(lock_)                                                                              \
	{                                                                                       \
		.size = OFI_RMA_DEFAULTS, .read = rma_read##lock_, .readv = rma_readv,          \
		.readmsg = rma_readmsg##lock_, .write = rma_write##lock_, .writev = rma_writev, \
		.writemsg = rma_writemsg##lock_, .inject = rma_inject##lock_,                   \
		.writedata = rma_writedata##lock_, .injectdata = rma_injectdata##lock_,         \
	}

const struct fi_ops_rma vrb_rma_ops = RMA();
const struct fi_ops_rma vrb_rma_nolock_ops = RMA(_nolock);

/* Reads need no special case: the device writes the result to any memory. */
const struct fi_ops_rma vrb_rma_hmem_ops = {
	.size = OFI_RMA_DEFAULTS,
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = vrb_call_write,
	.writev = rma_writev,
	.writemsg = vrb_hmem_writemsg,
	.inject = vrb_hmem_inject_write,
	.writedata = vrb_call_writedata,
	.injectdata = vrb_hmem_inject_writedata,
};
