/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Datagrams: all forms of fi_send and fi_recv. */
#include <errno.h>
#include <string.h>
#include "prov/base/ops.h"
#include "dgram.h"
#include "prov/verbs/queue/post.h"

#define MSG_SEND (FI_MSG | FI_SEND)
#define MSG_RECV (FI_MSG | FI_RECV)

/* Returns the destination of an address whose address handle exists. */
OFI_INLINE const struct vrb_dest *ready_dest(const struct vrb_av *av, fi_addr_t addr)
{
	const struct vrb_dest *dest = ofi_av_at(&av->base, addr);

	return ofi_likely(dest && __atomic_load_n(&dest->ah, __ATOMIC_ACQUIRE)) ? dest : NULL;
}

/*
 * Returns the destination of a send on the fast path: a single buffer with data. Returns NULL
 * otherwise; the call then takes the path of fi_sendmsg, which checks everything.
 */
OFI_INLINE const struct vrb_dest *usual_dest(const struct vrb_dgram *ep, const void *buf,
					     size_t len, size_t max, fi_addr_t addr)
{
	if (ofi_unlikely(!buf || len - ep->prefix - 1 >= max))
		return NULL;
	return ready_dest(ep->av, addr);
}

_Static_assert(sizeof(struct ibv_ah *) + 2 * sizeof(uint32_t) ==
		       offsetof(struct vrb_dest, qkey) + sizeof(uint32_t),
	       "a destination begins as an address in a work request does");

OFI_INLINE void set_dest(struct ibv_send_wr *wr, const struct vrb_dest *dest)
{
	memcpy(&wr->wr.ud, dest, sizeof(wr->wr.ud));
}

/*
 * Returns the destination if the endpoint has no fast path, or NULL with errno set on failure, for
 * example if the endpoint is not enabled.
 */
static OFI_OUTLINE const struct vrb_dest *unusual_dest(const struct vrb_dgram *ep, fi_addr_t addr,
						       struct vrb_dest *own)
{
	errno = FI_EOPBADSTATE;
	if (!ep->ep.enabled)
		return NULL;
	return ep->other_tclass ? vrb_av_dest_as(ep->av, addr, ep->tclass, own)
				: vrb_av_dest(ep->av, addr);
}

/* Returns the error that the AV has left in errno. */
static OFI_OUTLINE ssize_t no_dest(void)
{
	return errno ? -errno : -FI_EINVAL;
}

/*
 * Posts a send in the common case, after the queue has been entered. `inject` is a constant, as the
 * operation and `lock` are.
 */
OFI_INLINE ssize_t post_one(struct vrb_dgram *ep, const void *buf, size_t len, void *desc,
			    enum ibv_wr_opcode opcode, uint64_t data, const struct vrb_dest *dest,
			    void *context, bool inject, bool lock)
{
	struct vrb_wq *sq = ep->ep.sq;
	struct ibv_send_wr *wr;
	int err;

	len -= ep->prefix;
	wr = vrb_sq_wr(sq, (const char *)buf + ep->prefix, len, desc);
	set_dest(wr, dest);
	wr->opcode = opcode;
	if (opcode == IBV_WR_SEND_WITH_IMM)
		wr->imm_data = htonl((uint32_t)data);
	wr->send_flags =
		sq->head->signal |
		(inject ? IBV_SEND_INLINE : ep->ep.tx_wr_flags | vrb_inline_flag(&ep->ep, len));
	wr->wr_id =
		vrb_wq_take(sq, context, MSG_SEND | (inject ? VRB_SILENT : ep->ep.tx_silent), len);
	ofi_stats_add(&sq->stats, OFI_STATS_SEND_BYTES, len);
	err = ibv_post_send(sq->qp, wr, &sq->bad_send);
	return vrb_wq_leave(sq, lock, ofi_likely(!err) ? 0 : vrb_wq_post_failed(sq, err));
}

/* Removes the prefix, all of which must be in the first buffer; otherwise returns -FI_EINVAL. */
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

/*
 * Sends a message of at most `limit` buffers. `data` has room for inline data of several buffers;
 * it is NULL if the limit is one.
 */
OFI_INLINE ssize_t send_up_to(struct vrb_dgram *ep, const struct fi_msg *msg, uint64_t flags,
			      bool silent, bool lock, size_t limit, uint8_t *data)
{
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_send_wr wr = { .sg_list = sge };
	const struct vrb_dest *dest;
	struct vrb_tx_mode mode;
	struct vrb_dest own;
	size_t len;
	ssize_t ret;

	if (ofi_unlikely((flags & FI_REMOTE_CQ_DATA) && msg->data > VRB_CQ_DATA_MAX))
		return -FI_EINVAL;
	ret = vrb_sge_fill(sge, msg->msg_iov, msg->desc, msg->iov_count, limit, false, &len);
	if (ofi_likely(!ret))
		ret = skip_prefix(ep, sge, msg->iov_count, &len);
	if (ofi_likely(!ret))
		ret = vrb_tx_mode(&ep->ep, flags, ep->ep.tx_flags, len, &mode);
	if (ofi_unlikely(ret))
		return ret;
	dest = ofi_likely(ep->send_max) ? vrb_av_dest(ep->av, msg->addr)
					: unusual_dest(ep, msg->addr, &own);
	if (ofi_unlikely(!dest))
		return no_dest();
	if (silent)
		mode = (struct vrb_tx_mode){ .silent = VRB_SILENT };
	set_dest(&wr, dest);
	wr.num_sge = len ? (int)msg->iov_count : 0;
	wr.opcode = flags & FI_REMOTE_CQ_DATA ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
	wr.imm_data = htonl((uint32_t)msg->data);
	wr.send_flags = (mode.wr_flags & ~IBV_SEND_FENCE) | vrb_inline_flag(&ep->ep, len);
	if (data)
		vrb_inline_gather(&wr, data);
	vrb_wq_enter(ep->ep.sq, lock);
	return vrb_sq_post(ep->ep.sq, &wr, msg->context, MSG_SEND | mode.silent, len,
			   flags & FI_MORE, lock);
}

static OFI_OUTLINE ssize_t send_several(struct vrb_dgram *ep, const struct fi_msg *msg,
					uint64_t flags, bool silent)
{
	uint8_t data[VRB_INLINE_MAX];

	return send_up_to(ep, msg, flags, silent, ep->ep.lock_posts,
			  ep->ep.info->tx_attr->iov_limit, data);
}

/* Sends any message. With `silent` no completion is reported, regardless of the flags. */
OFI_INLINE ssize_t dgram_msg_send_any(struct vrb_dgram *ep, const struct fi_msg *msg,
				      uint64_t flags, bool silent, bool lock)
{
	if (ofi_unlikely(!msg))
		return -FI_EINVAL;
	if (ofi_unlikely(msg->iov_count > 1))
		return send_several(ep, msg, flags, silent);
	return send_up_to(ep, msg, flags, silent, lock, 1, NULL);
}

static ssize_t dgram_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return dgram_msg_send_any(vrb_dgram(fid), msg, flags, false, true);
}

static ssize_t dgram_sendmsg_nolock(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	return dgram_msg_send_any(vrb_dgram(fid), msg, flags, false, false);
}

static ssize_t send_buf(struct vrb_dgram *ep, const void *buf, size_t len, void *desc,
			uint64_t data, fi_addr_t dest, void *context, uint64_t flags, bool silent)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)buf, .iov_len = len };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.addr = dest,
		.context = context,
		.data = data,
	};

	return dgram_msg_send_any(ep, &msg, flags, silent, ep->ep.lock_posts);
}

/*
 * A slow path is entered through a tail call with the same arguments, before or after entering the
 * queue, so that the fast path saves no registers.
 */
static OFI_OUTLINE ssize_t send_slow(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				     fi_addr_t addr, void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);

	return send_buf(ep, buf, len, desc, 0, addr, context, ep->ep.tx_op_flags, false);
}

static OFI_OUTLINE ssize_t send_held(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				     fi_addr_t addr, void *context)
{
	vrb_wq_leave(vrb_ep(fid)->sq, vrb_ep(fid)->lock_posts, 0);
	return send_slow(fid, buf, len, desc, addr, context);
}

OFI_INLINE ssize_t dgram_send_on(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				 fi_addr_t addr, void *context, bool lock)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	const struct vrb_dest *dest = usual_dest(ep, buf, len, ep->send_max, addr);

	if (ofi_unlikely(!dest))
		return send_slow(fid, buf, len, desc, addr, context);
	if (lock && ofi_unlikely(!ofi_trylock(&ep->ep.sq->lock)))
		return send_slow(fid, buf, len, desc, addr, context);
	if (!vrb_wq_usual(ep->ep.sq))
		return send_held(fid, buf, len, desc, addr, context);
	return post_one(ep, buf, len, desc, IBV_WR_SEND, 0, dest, context, false, lock);
}

static ssize_t dgram_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  fi_addr_t addr, void *context)
{
	return dgram_send_on(fid, buf, len, desc, addr, context, true);
}

static ssize_t dgram_send_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				 fi_addr_t addr, void *context)
{
	return dgram_send_on(fid, buf, len, desc, addr, context, false);
}

static OFI_OUTLINE ssize_t senddata_slow(struct fid_ep *fid, const void *buf, size_t len,
					 void *desc, uint64_t data, fi_addr_t addr, void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);

	return send_buf(ep, buf, len, desc, data, addr, context,
			ep->ep.tx_op_flags | FI_REMOTE_CQ_DATA, false);
}

static OFI_OUTLINE ssize_t senddata_held(struct fid_ep *fid, const void *buf, size_t len,
					 void *desc, uint64_t data, fi_addr_t addr, void *context)
{
	vrb_wq_leave(vrb_ep(fid)->sq, vrb_ep(fid)->lock_posts, 0);
	return senddata_slow(fid, buf, len, desc, data, addr, context);
}

OFI_INLINE ssize_t dgram_senddata_on(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				     uint64_t data, fi_addr_t addr, void *context, bool lock)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	const struct vrb_dest *dest = usual_dest(ep, buf, len, ep->send_max, addr);

	if (ofi_unlikely(!dest || data > VRB_CQ_DATA_MAX))
		return senddata_slow(fid, buf, len, desc, data, addr, context);
	if (lock && ofi_unlikely(!ofi_trylock(&ep->ep.sq->lock)))
		return senddata_slow(fid, buf, len, desc, data, addr, context);
	if (!vrb_wq_usual(ep->ep.sq))
		return senddata_held(fid, buf, len, desc, data, addr, context);
	return post_one(ep, buf, len, desc, IBV_WR_SEND_WITH_IMM, data, dest, context, false, lock);
}

static ssize_t dgram_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			      uint64_t data, fi_addr_t addr, void *context)
{
	return dgram_senddata_on(fid, buf, len, desc, data, addr, context, true);
}

static ssize_t dgram_senddata_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				     uint64_t data, fi_addr_t addr, void *context)
{
	return dgram_senddata_on(fid, buf, len, desc, data, addr, context, false);
}

static OFI_OUTLINE ssize_t inject_slow(struct fid_ep *fid, const void *buf, size_t len,
				       fi_addr_t addr)
{
	struct vrb_dgram *ep = vrb_dgram(fid);

	return send_buf(ep, buf, len, NULL, 0, addr, NULL, FI_INJECT, true);
}

static OFI_OUTLINE ssize_t inject_held(struct fid_ep *fid, const void *buf, size_t len,
				       fi_addr_t addr)
{
	vrb_wq_leave(vrb_ep(fid)->sq, vrb_ep(fid)->lock_posts, 0);
	return inject_slow(fid, buf, len, addr);
}

OFI_INLINE ssize_t dgram_inject_on(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
				   bool lock)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	const struct vrb_dest *dest = usual_dest(ep, buf, len, ep->inject_max, addr);

	if (ofi_unlikely(!dest))
		return inject_slow(fid, buf, len, addr);
	if (lock && ofi_unlikely(!ofi_trylock(&ep->ep.sq->lock)))
		return inject_slow(fid, buf, len, addr);
	if (!vrb_wq_usual(ep->ep.sq))
		return inject_held(fid, buf, len, addr);
	return post_one(ep, buf, len, NULL, IBV_WR_SEND, 0, dest, NULL, true, lock);
}

static ssize_t dgram_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return dgram_inject_on(fid, buf, len, addr, true);
}

static ssize_t dgram_inject_nolock(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return dgram_inject_on(fid, buf, len, addr, false);
}

static OFI_OUTLINE ssize_t injectdata_slow(struct fid_ep *fid, const void *buf, size_t len,
					   uint64_t data, fi_addr_t addr)
{
	struct vrb_dgram *ep = vrb_dgram(fid);

	return send_buf(ep, buf, len, NULL, data, addr, NULL, FI_INJECT | FI_REMOTE_CQ_DATA, true);
}

static OFI_OUTLINE ssize_t injectdata_held(struct fid_ep *fid, const void *buf, size_t len,
					   uint64_t data, fi_addr_t addr)
{
	vrb_wq_leave(vrb_ep(fid)->sq, vrb_ep(fid)->lock_posts, 0);
	return injectdata_slow(fid, buf, len, data, addr);
}

OFI_INLINE ssize_t dgram_injectdata_on(struct fid_ep *fid, const void *buf, size_t len,
				       uint64_t data, fi_addr_t addr, bool lock)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	const struct vrb_dest *dest = usual_dest(ep, buf, len, ep->inject_max, addr);

	if (ofi_unlikely(!dest || data > VRB_CQ_DATA_MAX))
		return injectdata_slow(fid, buf, len, data, addr);
	if (lock && ofi_unlikely(!ofi_trylock(&ep->ep.sq->lock)))
		return injectdata_slow(fid, buf, len, data, addr);
	if (!vrb_wq_usual(ep->ep.sq))
		return injectdata_held(fid, buf, len, data, addr);
	return post_one(ep, buf, len, NULL, IBV_WR_SEND_WITH_IMM, data, dest, NULL, true, lock);
}

static ssize_t dgram_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				fi_addr_t addr)
{
	return dgram_injectdata_on(fid, buf, len, data, addr, true);
}

static ssize_t dgram_injectdata_nolock(struct fid_ep *fid, const void *buf, size_t len,
				       uint64_t data, fi_addr_t addr)
{
	return dgram_injectdata_on(fid, buf, len, data, addr, false);
}

/*
 * Sets the destination of the next receive's header; the queue has been entered. Returns the number
 * of segments before the message's.
 */
OFI_INLINE int aim_header(struct vrb_dgram *ep, struct ibv_sge *sge, const void *buf)
{
	uint32_t index = ep->ep.rq->head->index;

	if (ep->prefix) {
		ep->headers[index] = buf;
		return 0;
	}
	sge->addr = (uintptr_t)&ep->spill[index];
	return 1;
}

/* Posts a receive. sge has room for the header, then `count` segments, the first one at buf. */
static ssize_t post_recv(struct vrb_dgram *ep, struct ibv_sge *sge, size_t count, const void *buf,
			 size_t len, void *context, uint64_t flags)
{
	struct ibv_recv_wr wr = { .num_sge = (int)count };
	int headers;

	sge[0] = ep->rx_sge[0];
	vrb_wq_enter(ep->ep.rq, ep->ep.lock_posts);
	headers = aim_header(ep, sge, buf);
	wr.sg_list = sge + 1 - headers;
	wr.num_sge += headers;
	return vrb_rq_post(ep->ep.rq, &wr, context, flags, len, ep->ep.lock_posts);
}

/* Slow path: a zero-length or very long buffer, argument errors, and all receives of an alias. */
static OFI_OUTLINE ssize_t recv_slow(struct fid_ep *fid, void *buf, size_t len, void *desc,
				     fi_addr_t src, void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct ibv_sge sge[2];

	(void)src;
	if (len > UINT32_MAX)
		return -FI_EMSGSIZE;
	if ((ep->prefix && !buf) || len < ep->prefix)
		return -FI_EINVAL;
	vrb_sge_set_recv(&sge[1], buf, len, desc, ep->ep.domain->recv_max);
	return post_recv(ep, sge, len != 0, buf, len, context, ep->ep.rx_flags);
}

/* Slow path after the queue has been entered. */
static OFI_OUTLINE ssize_t recv_special(struct fid_ep *fid, void *buf, size_t len, void *desc,
					fi_addr_t src, void *context)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct vrb_wq *rq = ep->ep.rq;

	(void)src;
	aim_header(ep, ep->rx_sge, buf);
	vrb_sge_set(&ep->rx_sge[1], buf, len, desc);
	return vrb_rq_post(rq, &rq->recv, context, ep->ep.rx_flags, len, ep->ep.lock_posts);
}

static OFI_OUTLINE ssize_t recv_contended(struct fid_ep *fid, void *buf, size_t len, void *desc,
					  fi_addr_t src, void *context)
{
	ofi_lock(&vrb_ep(fid)->rq->lock);
	return recv_special(fid, buf, len, desc, src, context);
}

/* Slow paths are tail calls with the same arguments, so that the fast path saves no registers. */
OFI_INLINE ssize_t dgram_recv_on(struct fid_ep *fid, void *buf, size_t len, void *desc,
				 fi_addr_t src, void *context, bool lock)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct vrb_wq *rq = ep->ep.rq;
	int err;

	if (ofi_unlikely(!buf || len - ep->prefix - 1 >= ep->recv_max))
		return recv_slow(fid, buf, len, desc, src, context);
	if (lock && ofi_unlikely(!ofi_trylock(&rq->lock)))
		return recv_contended(fid, buf, len, desc, src, context);
	if (!vrb_wq_usual(rq))
		return recv_special(fid, buf, len, desc, src, context);
	aim_header(ep, ep->rx_sge, buf);
	vrb_sge_set(&ep->rx_sge[1], buf, len, desc);
	rq->recv.wr_id = vrb_wq_take(rq, context, ep->ep.rx_flags, len);
	err = ibv_post_recv(rq->qp, &rq->recv, &rq->bad_recv);
	return vrb_wq_leave(rq, lock, ofi_likely(!err) ? 0 : vrb_wq_post_failed(rq, err));
}

static ssize_t dgram_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			  void *context)
{
	return dgram_recv_on(fid, buf, len, desc, src, context, true);
}

static ssize_t dgram_recv_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc,
				 fi_addr_t src, void *context)
{
	return dgram_recv_on(fid, buf, len, desc, src, context, false);
}

static ssize_t dgram_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_dgram *ep = vrb_dgram(fid);
	struct ibv_sge sge[VRB_IOV_MAX + 1];
	size_t len;
	ssize_t ret;

	if (ofi_unlikely(!msg))
		return -FI_EINVAL;
	if (ofi_unlikely(flags & ~OFI_RX_FLAGS))
		return -FI_EBADFLAGS;
	ret = vrb_sge_fill_recv(sge + 1, msg, ep->ep.info->rx_attr->iov_limit,
				ep->ep.domain->recv_max, &len);
	if (ofi_unlikely(ret))
		return ret;
	if (ofi_unlikely(ep->prefix && (!len || sge[1].length < ep->prefix)))
		return -FI_EINVAL;
	return post_recv(ep, sge, len ? msg->iov_count : 0, len ? msg->msg_iov->iov_base : NULL,
			 len, msg->context, MSG_RECV | vrb_ep_rx_silent(&ep->ep, flags));
}

static ssize_t dgram_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			   fi_addr_t src, void *context)
{
	struct fi_msg msg = vrb_msg_of_iov(iov, desc, count, src, context);

	return dgram_recvmsg(fid, &msg, vrb_ep(fid)->rx_op_flags);
}

#define DATAGRAMS(lock_, recv_)                                                           \
	{                                                                                 \
		.size = OFI_MSG_DEFAULTS, .recv = recv_, .recvv = dgram_recvv,            \
		.recvmsg = dgram_recvmsg, .send = dgram_send##lock_, .sendv = vrb_sendv,  \
		.sendmsg = dgram_sendmsg##lock_, .inject = dgram_inject##lock_,           \
		.senddata = dgram_senddata##lock_, .injectdata = dgram_injectdata##lock_, \
	}

const struct fi_ops_msg vrb_dgram_ops = DATAGRAMS(, dgram_recv);
const struct fi_ops_msg vrb_dgram_nolock_ops = DATAGRAMS(_nolock, dgram_recv_nolock);
const struct fi_ops_msg vrb_dgram_alias_ops = DATAGRAMS(, recv_slow);
const struct fi_ops_msg vrb_dgram_alias_nolock_ops = DATAGRAMS(_nolock, recv_slow);
