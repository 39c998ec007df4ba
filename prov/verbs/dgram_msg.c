/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: fi_send and fi_recv in all their forms. */
#include <errno.h>
#include "dgram.h"
#include "post.h"

#define MSG_SEND (FI_MSG | FI_SEND)
#define MSG_RECV (FI_MSG | FI_RECV)

/* One buffer, behind the prefix, with data in it. */
VRB_INLINE bool plain(const struct vrb_dgram *ep, const void *buf, size_t len, size_t max)
{
	return vrb_likely(buf && len - ep->prefix - 1 < max);
}

VRB_INLINE void set_dest(struct ibv_send_wr *wr, const struct vrb_dest *dest)
{
	wr->wr.ud.ah = dest->ah;
	wr->wr.ud.remote_qpn = dest->qpn;
	wr->wr.ud.remote_qkey = dest->qkey;
}

/* The av has said in errno why it has no such address. */
static VRB_OUTLINE ssize_t no_dest(void)
{
	return errno ? -errno : -FI_EINVAL;
}

/* A send without data, or what is wrong with it. */
static VRB_OUTLINE ssize_t send_odd(struct vrb_dgram *ep, const void *buf, size_t len, bool inject,
				    enum ibv_wr_opcode opcode, uint64_t data, fi_addr_t addr,
				    void *context)
{
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.imm_data = htonl((uint32_t)data),
		.send_flags = inject ? 0 : ep->ep.tx_wr_flags,
	};
	const struct vrb_dest *dest;

	if (len < ep->prefix)
		return -FI_EINVAL;
	len -= ep->prefix;
	if (len > (inject ? ep->ep.inject_size : ep->ep.send_max))
		return -FI_EMSGSIZE;
	if (vrb_no_buf(buf, len + ep->prefix))
		return -FI_EINVAL;
	if (!ep->ep.enabled)
		return -FI_EOPBADSTATE;
	dest = vrb_av_dest(ep->av, addr);
	if (!dest)
		return no_dest();
	set_dest(&wr, dest);
	vrb_wq_enter(ep->ep.sq);
	return vrb_sq_post(ep->ep.sq, &wr, context,
			   MSG_SEND | (inject ? VRB_SILENT : ep->ep.tx_silent), 0, false);
}

VRB_INLINE ssize_t send_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    enum ibv_wr_opcode opcode, uint64_t data, fi_addr_t addr, void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct vrb_wq *sq = ep->ep.sq;
	const struct vrb_dest *dest;
	struct ibv_send_wr *wr;

	if (!plain(ep, buf, len, ep->send_max))
		return send_odd(ep, buf, len, false, opcode, data, addr, context);
	dest = vrb_av_dest(ep->av, addr);
	if (vrb_unlikely(!dest))
		return no_dest();
	buf = (const char *)buf + ep->prefix;
	len -= ep->prefix;
	vrb_wq_enter(sq);
	wr = vrb_sq_wr(sq, buf, len, desc);
	set_dest(wr, dest);
	wr->opcode = opcode;
	if (opcode == IBV_WR_SEND_WITH_IMM)
		wr->imm_data = htonl((uint32_t)data);
	wr->send_flags = ep->ep.tx_wr_flags | vrb_inline_flag(&ep->ep, len);
	return vrb_sq_post(sq, wr, context, MSG_SEND | ep->ep.tx_silent, len, false);
}

VRB_INLINE ssize_t inject_one(struct fid_ep *fid, const void *buf, size_t len,
			      enum ibv_wr_opcode opcode, uint64_t data, fi_addr_t addr)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct vrb_wq *sq = ep->ep.sq;
	const struct vrb_dest *dest;
	struct ibv_send_wr *wr;

	if (!plain(ep, buf, len, ep->inject_max))
		return send_odd(ep, buf, len, true, opcode, data, addr, NULL);
	dest = vrb_av_dest(ep->av, addr);
	if (vrb_unlikely(!dest))
		return no_dest();
	buf = (const char *)buf + ep->prefix;
	len -= ep->prefix;
	vrb_wq_enter(sq);
	wr = vrb_sq_wr(sq, buf, len, NULL);
	set_dest(wr, dest);
	wr->opcode = opcode;
	if (opcode == IBV_WR_SEND_WITH_IMM)
		wr->imm_data = htonl((uint32_t)data);
	wr->send_flags = IBV_SEND_INLINE;
	return vrb_sq_post(sq, wr, NULL, MSG_SEND | VRB_SILENT, len, false);
}

static ssize_t dgram_send(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			  fi_addr_t dest, void *context)
{
	return send_one(ep, buf, len, desc, IBV_WR_SEND, 0, dest, context);
}

static ssize_t dgram_senddata(struct fid_ep *ep, const void *buf, size_t len, void *desc,
			      uint64_t data, fi_addr_t dest, void *context)
{
	if (vrb_unlikely(data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	return send_one(ep, buf, len, desc, IBV_WR_SEND_WITH_IMM, data, dest, context);
}

static ssize_t dgram_inject(struct fid_ep *ep, const void *buf, size_t len, fi_addr_t dest)
{
	return inject_one(ep, buf, len, IBV_WR_SEND, 0, dest);
}

static ssize_t dgram_injectdata(struct fid_ep *ep, const void *buf, size_t len, uint64_t data,
				fi_addr_t dest)
{
	if (vrb_unlikely(data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	return inject_one(ep, buf, len, IBV_WR_SEND_WITH_IMM, data, dest);
}

/* Takes the prefix off, which is all in the first buffer. -FI_EINVAL when it isn't. */
static inline ssize_t skip_prefix(const struct vrb_dgram *ep, struct ibv_sge *sge, size_t count,
				  size_t *len)
{
	if (!ep->prefix)
		return 0;
	if (!count || sge->length < ep->prefix)
		return -FI_EINVAL;
	sge->addr += ep->prefix;
	sge->length -= (uint32_t)ep->prefix;
	*len -= ep->prefix;
	return 0;
}

static ssize_t dgram_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	const struct vrb_dest *dest;
	struct vrb_tx_mode mode;
	size_t len;
	ssize_t ret;

	if (vrb_unlikely(!msg || ((flags & FI_REMOTE_CQ_DATA) && msg->data > VRB_CQ_DATA_MAX)))
		return -FI_EINVAL;
	ret = vrb_sge_fill(sge, msg->msg_iov, msg->desc, msg->iov_count,
			   ep->ep.info->tx_attr->iov_limit, &len);
	if (vrb_likely(!ret))
		ret = skip_prefix(ep, sge, msg->iov_count, &len);
	if (vrb_likely(!ret))
		ret = vrb_tx_mode(&ep->ep, flags, ep->ep.tx_flags, len, &mode);
	if (vrb_unlikely(ret))
		return ret;
	if (vrb_unlikely(!ep->ep.enabled))
		return -FI_EOPBADSTATE;
	dest = vrb_av_dest(ep->av, msg->addr);
	if (vrb_unlikely(!dest))
		return no_dest();
	set_dest(&wr, dest);
	wr.num_sge = len ? (int)msg->iov_count : 0;
	wr.opcode = flags & FI_REMOTE_CQ_DATA ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	wr.imm_data = htonl((uint32_t)msg->data);
	wr.send_flags = mode.wr_flags | vrb_inline_flag(&ep->ep, len);
	vrb_wq_enter(ep->ep.sq);
	return vrb_sq_post(ep->ep.sq, &wr, msg->context, MSG_SEND | mode.silent, len,
			   flags & FI_MORE);
}

static ssize_t dgram_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   fi_addr_t dest, void *context)
{
	struct fi_msg msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = dest,
		.context = context,
	};

	return dgram_sendmsg(fid, &msg, vrb_ep(fid)->tx_op_flags);
}

/* With the queue entered: where the header of the next receive goes. Returns the segments before the message's. */
VRB_INLINE int aim_header(struct vrb_dgram *ep, struct ibv_sge *sge, const void *buf)
{
	uint32_t index = ep->ep.rq->head->index;

	if (ep->prefix) {
		ep->headers[index] = buf;
		return 0;
	}
	sge->addr = (uintptr_t)&ep->spill[index];
	return 1;
}

/* sge: room for the header, then `count` segments of the message, which begins at buf. */
static ssize_t post_recv(struct vrb_dgram *ep, struct ibv_sge *sge, size_t count, const void *buf,
			 size_t len, void *context, uint64_t flags)
{
	struct ibv_recv_wr wr = { .num_sge = (int)count };
	int headers;

	sge[0] = ep->rx_sge[0];
	vrb_wq_enter(ep->ep.rq);
	headers = aim_header(ep, sge, buf);
	wr.sg_list = sge + 1 - headers;
	wr.num_sge += headers;
	return vrb_rq_post(ep->ep.rq, &wr, context, flags, len);
}

/* A receive without room or with very much, or what is wrong with it. */
static VRB_OUTLINE ssize_t recv_odd(struct fid_ep *fid, void *buf, size_t len, void *desc,
				    fi_addr_t src, void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct ibv_sge sge[2];

	(void)src;
	if (len > UINT32_MAX)
		return -FI_EMSGSIZE;
	if (vrb_no_buf(buf, len) || len < ep->prefix)
		return -FI_EINVAL;
	vrb_sge_set(&sge[1], buf, len, desc);
	return post_recv(ep, sge, len != 0, buf, len, context, ep->ep.rx_flags);
}

/* The queue is entered, and does not take the common way. */
static VRB_OUTLINE ssize_t recv_special(struct fid_ep *fid, void *buf, size_t len, void *desc,
					fi_addr_t src, void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct vrb_wq *rq = ep->ep.rq;

	(void)src;
	aim_header(ep, ep->rx_sge, buf);
	vrb_sge_set(&ep->rx_sge[1], buf, len, desc);
	return vrb_rq_post(rq, &rq->recv, context, ep->ep.rx_flags, len);
}

static VRB_OUTLINE ssize_t recv_contended(struct fid_ep *fid, void *buf, size_t len, void *desc,
					  fi_addr_t src, void *context)
{
	vrb_wq_enter(vrb_ep(fid)->rq);
	return recv_special(fid, buf, len, desc, src, context);
}

/* What is rare leaves by a tail call with the same arguments, so that no register is saved for it. */
static ssize_t dgram_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			  void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct vrb_wq *rq = ep->ep.rq;
	int err;

	if (vrb_unlikely(!buf || (len - ep->prefix - 1) >> 31))
		return recv_odd(fid, buf, len, desc, src, context);
	if (VRB_LOCKS && vrb_unlikely(!ofi_trylock(&rq->lock)))
		return recv_contended(fid, buf, len, desc, src, context);
	if (!vrb_wq_usual(rq))
		return recv_special(fid, buf, len, desc, src, context);
	aim_header(ep, ep->rx_sge, buf);
	vrb_sge_set(&ep->rx_sge[1], buf, len, desc);
	rq->recv.wr_id = vrb_wq_take(rq, context, ep->ep.rx_flags, len);
	err = ibv_post_recv(rq->qp, &rq->recv, &rq->bad_recv);
	return vrb_wq_leave(rq, vrb_likely(!err) ? 0 : vrb_wq_post_failed(rq, err));
}

static ssize_t dgram_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct ibv_sge sge[VRB_IOV_MAX + 1];
	uint64_t silent;
	size_t len;
	ssize_t ret;

	if (vrb_unlikely(!msg))
		return -FI_EINVAL;
	if (vrb_unlikely(flags & ~VRB_RX_FLAGS))
		return -FI_EBADFLAGS;
	ret = vrb_sge_fill(sge + 1, msg->msg_iov, msg->desc, msg->iov_count,
			   ep->ep.info->rx_attr->iov_limit, &len);
	if (vrb_unlikely(ret))
		return ret;
	if (vrb_unlikely(len > UINT32_MAX))
		return -FI_EMSGSIZE;
	if (vrb_unlikely(ep->prefix && (!len || sge[1].length < ep->prefix)))
		return -FI_EINVAL;
	silent = ep->ep.rx_selective && !(flags & FI_COMPLETION) ? VRB_SILENT : 0;
	return post_recv(ep, sge, len ? msg->iov_count : 0, len ? msg->msg_iov->iov_base : NULL,
			 len, msg->context, MSG_RECV | silent);
}

static ssize_t dgram_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   fi_addr_t src, void *context)
{
	struct fi_msg msg = {
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = src,
		.context = context,
	};

	return dgram_recvmsg(fid, &msg, vrb_ep(fid)->rx_op_flags);
}

struct fi_ops_msg VRB_TABLE(dgram) = {
	.size = sizeof(struct fi_ops_msg),
	.recv = dgram_recv,
	.recvv = dgram_recvv,
	.recvmsg = dgram_recvmsg,
	.send = dgram_send,
	.sendv = dgram_sendv,
	.sendmsg = dgram_sendmsg,
	.inject = dgram_inject,
	.senddata = dgram_senddata,
	.injectdata = dgram_injectdata,
};
