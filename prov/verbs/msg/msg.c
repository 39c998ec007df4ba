/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages: all forms of fi_send and fi_recv. */
#include <string.h>
#include "prov/base/ops.h"
#include "prov/verbs/queue/batch.h"
#include "alias_trigger.h"
#include "hmem.h"
#include "multi.h"
#include "ops.h"
#include "prov/verbs/queue/post.h"
#include "work.h"

#define MSG_SEND (FI_MSG | FI_SEND)

/* Slow path: zero-length send or argument errors. */
static OFI_OUTLINE ssize_t send_slow(struct vrb_ep *ep, size_t len, bool inject,
				     enum ibv_wr_opcode opcode, uint64_t data, void *context)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.imm_data = htonl((uint32_t)data),
		.send_flags = inject ? 0 : ep->tx_wr_flags,
	};

	if (len > (inject ? ep->inject_size : ep->send_max))
		return -FI_EMSGSIZE;
	if (len)
		return -FI_EINVAL;
	vrb_wq_enter(ep->sq, ep->lock_posts);
	return vrb_sq_post(ep->sq, &wr, context,
			   MSG_SEND | (inject ? VRB_SILENT : vrb_ep_tx_silent(ep)), 0, false,
			   ep->lock_posts);
}

/*
 * `inject` and the following arguments are constants, so that calls without flags have specialized
 * code.
 */
OFI_INLINE ssize_t send_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    enum ibv_wr_opcode opcode, uint64_t data, void *context, bool inject,
			    bool lock)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	if (opcode == IBV_WR_SEND_WITH_IMM && ofi_unlikely(data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	if (!vrb_fast(buf, len, inject ? ep->inject_size : ep->send_max))
		return send_slow(ep, len, inject, opcode, data, context);
	vrb_wq_enter(sq, lock);
	wr = vrb_sq_wr(sq, buf, len, desc);
	wr->opcode = opcode;
	if (opcode == IBV_WR_SEND_WITH_IMM)
		wr->imm_data = htonl((uint32_t)data);
	wr->send_flags = inject ? IBV_SEND_INLINE : ep->tx_wr_flags | vrb_inline_flag(ep, len);
	return vrb_sq_post(sq, wr, context, MSG_SEND | (inject ? VRB_SILENT : vrb_ep_tx_silent(ep)),
			   len, false, lock);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t len, void *desc, fi_addr_t dest,
			void *context)
{
	(void)dest;
	return send_one(ep, buf, len, desc, IBV_WR_SEND, 0, context, false, true);
}

static ssize_t msg_send_nolock(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			       fi_addr_t dest, void *context)
{
	(void)dest;
	return send_one(ep, buf, len, desc, IBV_WR_SEND, 0, context, false, false);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t dest, void *context)
{
	(void)dest;
	return send_one(ep, buf, len, desc, IBV_WR_SEND_WITH_IMM, data, context, false, true);
}

static ssize_t msg_senddata_nolock(struct fid_ep *ep, const void *buf, size_t len, void *desc,
				   uint64_t data, fi_addr_t dest, void *context)
{
	(void)dest;
	return send_one(ep, buf, len, desc, IBV_WR_SEND_WITH_IMM, data, context, false, false);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	(void)dest;
	return send_one(ep, buf, len, NULL, IBV_WR_SEND, 0, NULL, true, true);
}

static ssize_t msg_inject_nolock(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	(void)dest;
	return send_one(ep, buf, len, NULL, IBV_WR_SEND, 0, NULL, true, false);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
			      fi_addr_t dest)
{
	(void)dest;
	return send_one(ep, buf, len, NULL, IBV_WR_SEND_WITH_IMM, data, NULL, true, true);
}

static ssize_t msg_injectdata_nolock(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				     fi_addr_t dest)
{
	(void)dest;
	return send_one(ep, buf, len, NULL, IBV_WR_SEND_WITH_IMM, data, NULL, true, false);
}

/* Fast path: a single buffer with data. */
OFI_INLINE ssize_t send_single(struct vrb_ep *ep, const struct fi_msg *msg, uint64_t flags,
			       bool lock)
{
	const struct iovec *iov = msg->msg_iov;
	struct vrb_wq *sq = ep->sq;
	struct vrb_tx_mode mode;
	struct ibv_send_wr *wr;
	ssize_t ret;

	ret = vrb_tx_mode(ep, flags, ep->tx_flags, iov->iov_len, &mode);
	if (ofi_unlikely(ret))
		return ret == -FI_EBADFLAGS ? vrb_trigger_msg(ep, FI_OP_SEND, msg, flags) : ret;
	vrb_wq_enter(sq, lock);
	wr = vrb_sq_wr(sq, iov->iov_base, iov->iov_len, msg->desc ? msg->desc[0] : NULL);
	wr->opcode = flags & FI_REMOTE_CQ_DATA ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	wr->imm_data = htonl((uint32_t)msg->data);
	wr->send_flags = mode.wr_flags | vrb_inline_flag(ep, iov->iov_len);
	return vrb_sq_post(sq, wr, msg->context, MSG_SEND | mode.silent, iov->iov_len,
			   flags & FI_MORE, lock);
}

OFI_INLINE ssize_t send_build(const struct vrb_ep *ep, const struct fi_msg *msg, uint64_t flags,
			      struct ibv_send_wr *wr, size_t *len, struct vrb_tx_mode *mode)
{
	ssize_t ret = vrb_sge_fill(wr->sg_list, msg->msg_iov, msg->desc, msg->iov_count,
				   ep->info->tx_attr->iov_limit, false, len);

	if (ofi_likely(!ret))
		ret = vrb_tx_mode(ep, flags, ep->tx_flags, *len, mode);
	if (ofi_unlikely(ret))
		return ret;
	wr->num_sge = *len ? (int)msg->iov_count : 0;
	wr->opcode = flags & FI_REMOTE_CQ_DATA ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	wr->imm_data = htonl((uint32_t)msg->data);
	wr->send_flags = mode->wr_flags | vrb_inline_flag(ep, *len);
	return 0;
}

ssize_t vrb_send_build(const struct vrb_ep *ep, const struct fi_msg *msg, uint64_t flags,
		       struct ibv_send_wr *wr, size_t *len, struct vrb_tx_mode *mode)
{
	if ((flags & FI_REMOTE_CQ_DATA) && msg->data > VRB_CQ_DATA_MAX)
		return -FI_EINVAL;
	return send_build(ep, msg, flags, wr, len, mode);
}

static OFI_OUTLINE ssize_t send_iov(struct vrb_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	uint8_t data[VRB_INLINE_MAX];
	struct vrb_tx_mode mode;
	size_t len;
	ssize_t ret = send_build(ep, msg, flags, &wr, &len, &mode);

	if (ofi_unlikely(ret))
		return ret == -FI_EBADFLAGS ? vrb_trigger_msg(ep, FI_OP_SEND, msg, flags) : ret;
	vrb_inline_gather(&wr, data);
	vrb_wq_enter(ep->sq, ep->lock_posts);
	return vrb_sq_post(ep->sq, &wr, msg->context, MSG_SEND | mode.silent, len, flags & FI_MORE,
			   ep->lock_posts);
}

OFI_INLINE ssize_t send_msg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags, bool lock)
{
	struct vrb_ep *ep = vrb_ep(fid);

	if (ofi_unlikely(!msg))
		return -FI_EINVAL;
	if (ofi_unlikely((flags & FI_REMOTE_CQ_DATA) && msg->data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	if (ofi_likely(msg->iov_count == 1 && msg->msg_iov) &&
	    vrb_fast(msg->msg_iov->iov_base, msg->msg_iov->iov_len, ep->max_msg_size))
		return send_single(ep, msg, flags, lock);
	return send_iov(ep, msg, flags);
}

static OFI_OUTLINE ssize_t send_more_slow(struct fid_ep *ep, const struct fi_msg *msg,
					  uint64_t flags)
{
	return send_msg(ep, msg, flags, vrb_ep(ep)->lock_posts);
}

/* Adds a message with one buffer to the batch, behind n held work requests. */
OFI_INLINE void hold(struct vrb_wq *sq, uint32_t n, const struct fi_msg *msg, unsigned int wr_flags,
		     uint64_t flags)
{
	struct vrb_batch *batch = sq->ep->batch;
	struct ibv_send_wr *wr = &batch->wr[n];
	const struct iovec *iov = msg->msg_iov;
	const void *buf = iov->iov_base;

	if (wr_flags & IBV_SEND_INLINE)
		buf = memcpy(batch->data + n * batch->inline_size, buf, iov->iov_len);
	vrb_sge_set(wr->sg_list, buf, iov->iov_len, msg->desc ? msg->desc[0] : NULL);
	wr->wr_id = (uintptr_t)sq->head;
	wr->num_sge = 1;
	wr->opcode = flags & FI_REMOTE_CQ_DATA ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	wr->imm_data = htonl((uint32_t)msg->data);
	wr->send_flags = wr_flags | sq->head->signal;
}

/*
 * FI_MORE: fast path if a batch has been started, to which the message is simply added. All else
 * takes the slow path.
 */
static OFI_OUTLINE ssize_t send_more(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_wq *sq = ep->sq;
	struct vrb_tx_mode mode;
	uint32_t n;
	size_t len;

	if (ofi_unlikely(!msg || msg->iov_count != 1 || !msg->msg_iov ||
			 ((flags & FI_REMOTE_CQ_DATA) && msg->data > VRB_CQ_DATA_MAX)))
		return send_more_slow(fid, msg, flags);
	len = msg->msg_iov->iov_len;
	if (!vrb_fast(msg->msg_iov->iov_base, len, ep->max_msg_size) ||
	    ofi_unlikely(vrb_tx_mode(ep, flags, ep->tx_flags, len, &mode) ||
			 !ofi_trylock(&sq->lock)))
		return send_more_slow(fid, msg, flags);
	n = vrb_wq_special(sq);
	if (ofi_unlikely(!vrb_batch_open(sq, n) || !ep->batch)) {
		ofi_unlock(&sq->lock);
		return send_more_slow(fid, msg, flags);
	}
	hold(sq, n, msg, mode.wr_flags | vrb_inline_flag(ep, len), flags);
	vrb_batch_publish(sq, n, msg->context, MSG_SEND | mode.silent, len);
	ofi_unlock(&sq->lock);
	return 0;
}

static OFI_OUTLINE ssize_t send_now(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return send_msg(ep, msg, flags, true);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return flags & FI_MORE ? send_more(ep, msg, flags) : send_now(ep, msg, flags);
}

static OFI_OUTLINE ssize_t send_now_nolock(struct fid_ep *ep, const struct fi_msg *msg,
					   uint64_t flags)
{
	return send_msg(ep, msg, flags, false);
}

static ssize_t msg_sendmsg_nolock(struct fid_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	return flags & FI_MORE ? send_more(ep, msg, flags) : send_now_nolock(ep, msg, flags);
}

/*
 * Slow path: a receive with a zero-length, very long or NULL buffer. A NULL buffer takes only
 * messages of length 0; the device rejects others.
 */
static OFI_OUTLINE ssize_t recv_slow(struct fid_ep *fid, void *buf, size_t len, void *desc,
				     fi_addr_t src, void *context)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = len != 0 };

	(void)src;
	if (len > UINT32_MAX)
		return -FI_EMSGSIZE;
	vrb_sge_set_recv(&sge, buf, len, desc, ep->domain->recv_max);
	vrb_wq_enter(ep->rq, ep->lock_posts);
	return vrb_rq_post(ep->rq, &wr, context, ep->rx_flags, len, ep->lock_posts);
}

/* Slow path after the queue has been entered. */
static OFI_OUTLINE ssize_t recv_special(struct fid_ep *fid, void *buf, size_t len, void *desc,
					fi_addr_t src, void *context)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_wq *rq = ep->rq;

	(void)src;
	vrb_sge_set(&rq->sge, buf, len, desc);
	return vrb_rq_post(rq, &rq->recv, context, ep->rx_flags, len, ep->lock_posts);
}

static OFI_OUTLINE ssize_t recv_contended(struct fid_ep *fid, void *buf, size_t len, void *desc,
					  fi_addr_t src, void *context)
{
	ofi_lock(&vrb_ep(fid)->rq->lock);
	return recv_special(fid, buf, len, desc, src, context);
}

/*
 * Receives are frequent and short: slow paths are tail calls with the same arguments, so that the
 * fast path saves no registers.
 */
OFI_INLINE ssize_t msg_recv_on(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			       void *context, bool lock)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_wq *rq = ep->rq;
	int err;

	if (ofi_unlikely(!buf || len - 1 >= INT32_MAX))
		return recv_slow(fid, buf, len, desc, src, context);
	if (lock && ofi_unlikely(!ofi_trylock(&rq->lock)))
		return recv_contended(fid, buf, len, desc, src, context);
	if (!vrb_wq_usual(rq))
		return recv_special(fid, buf, len, desc, src, context);
	vrb_sge_set(&rq->sge, buf, len, desc);
	rq->recv.wr_id = vrb_wq_take(rq, context, ep->rx_flags, len);
	err = ibv_post_recv(rq->qp, &rq->recv, &rq->bad_recv);
	return vrb_wq_leave(rq, lock, ofi_likely(!err) ? 0 : vrb_wq_post_failed(rq, err));
}

static ssize_t msg_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			void *context)
{
	return msg_recv_on(fid, buf, len, desc, src, context, true);
}

static ssize_t msg_recv_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			       void *context)
{
	return msg_recv_on(fid, buf, len, desc, src, context, false);
}

static ssize_t msg_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_recv_wr wr = { .sg_list = sge };
	size_t len;
	ssize_t ret;

	if (ofi_unlikely(!msg))
		return -FI_EINVAL;
	if (ofi_unlikely(flags & ~OFI_RX_FLAGS))
		return vrb_trigger_msg(ep, FI_OP_RECV, msg, flags);
	ret = vrb_sge_fill_recv(sge, msg, ep->info->rx_attr->iov_limit, ep->domain->recv_max, &len);
	if (ofi_unlikely(ret))
		return ret;
	wr.num_sge = len ? (int)msg->iov_count : 0;
	vrb_wq_enter(ep->rq, ep->lock_posts);
	return vrb_rq_post(ep->rq, &wr, msg->context,
			   FI_MSG | FI_RECV | vrb_ep_rx_silent(ep, flags), len, ep->lock_posts);
}

static ssize_t msg_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, void *context)
{
	struct fi_msg msg = vrb_msg_of_iov(iov, desc, count, src, context);

	return msg_recvmsg(fid, &msg, vrb_ep(fid)->rx_op_flags);
}

/* Receives are posted to the shared context instead. */
#define NOT_HERE (void *)ofi_eopnotsupp
#define MESSAGES(recv_, recvv_, recvmsg_, lock_)                                      \
	{                                                                             \
		.size = OFI_MSG_DEFAULTS, .recv = (recv_), .recvv = (recvv_),         \
		.recvmsg = (recvmsg_), .send = msg_send##lock_, .sendv = vrb_sendv,   \
		.sendmsg = msg_sendmsg##lock_, .inject = msg_inject##lock_,           \
		.senddata = msg_senddata##lock_, .injectdata = msg_injectdata##lock_, \
	}

const struct fi_ops_msg vrb_msg_ops = MESSAGES(msg_recv, msg_recvv, msg_recvmsg, );
const struct fi_ops_msg vrb_msg_nolock_ops =
	MESSAGES(msg_recv_nolock, msg_recvv, msg_recvmsg, _nolock);
const struct fi_ops_msg vrb_msg_srx_ops = MESSAGES(NOT_HERE, NOT_HERE, NOT_HERE, );
const struct fi_ops_msg vrb_msg_srx_nolock_ops = MESSAGES(NOT_HERE, NOT_HERE, NOT_HERE, _nolock);
const struct fi_ops_msg vrb_msg_multi_ops =
	MESSAGES(vrb_multi_recv, vrb_multi_recvv, vrb_multi_recvmsg, );
const struct fi_ops_msg vrb_msg_multi_nolock_ops =
	MESSAGES(vrb_multi_recv, vrb_multi_recvv, vrb_multi_recvmsg, _nolock);

static ssize_t hmem_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			 void *context)
{
	return msg_recv_on(fid, buf, len, desc, src, context, vrb_ep(fid)->lock_posts);
}

#define HMEM_MESSAGES(recv_, recvv_, recvmsg_)                                    \
	{                                                                         \
		.size = OFI_MSG_DEFAULTS, .recv = (recv_), .recvv = (recvv_),     \
		.recvmsg = (recvmsg_), .send = vrb_call_send, .sendv = vrb_sendv, \
		.sendmsg = vrb_hmem_sendmsg, .inject = vrb_hmem_inject,           \
		.senddata = vrb_call_senddata, .injectdata = vrb_hmem_injectdata, \
	}

const struct fi_ops_msg vrb_msg_hmem_ops = HMEM_MESSAGES(hmem_recv, msg_recvv, msg_recvmsg);
const struct fi_ops_msg vrb_msg_hmem_srx_ops = HMEM_MESSAGES(NOT_HERE, NOT_HERE, NOT_HERE);
const struct fi_ops_msg vrb_msg_hmem_multi_ops =
	HMEM_MESSAGES(vrb_multi_recv, vrb_multi_recvv, vrb_multi_recvmsg);
