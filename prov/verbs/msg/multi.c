/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receives with FI_MULTI_RECV. A work request takes one message, so a buffer is posted in parts,
 * each large enough for any message: at least FI_OPT_MIN_MULTI_RECV.
 */
#include "multi.h"
#include "ops.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/queue/post.h"
#include "prov/verbs/queue/qp.h"

#define ALIGN 64

uint32_t vrb_multi_parts(size_t len, size_t min, uint32_t room, size_t *size)
{
	size_t count = len / min;

	count = count < VRB_MULTI_PARTS ? count : VRB_MULTI_PARTS;
	count = count < room ? count : room;
	count = count ? count : 1;
	*size = len / count;
	if (count > 1 && (*size & ~(size_t)(ALIGN - 1)) >= min)
		*size &= ~(size_t)(ALIGN - 1);
	return (uint32_t)count;
}

/*
 * Posted parts cannot be canceled, so the endpoint is shut and the parts are flushed without being
 * reported.
 */
static ssize_t multi_failed(struct vrb_wq *rq, uint32_t count, uint32_t posted, int err)
{
	if (!vrb_wq_untake(rq, count - posted))
		return 0;
	if (posted) {
		__atomic_store_n(&rq->ep->down_err, -FI_EIO, __ATOMIC_RELAXED);
		vrb_wq_set(rq, VRB_WQ_SHUT);
		vrb_qp_flush(rq->ep);
	}
	return vrb_errno(err);
}

/* The last part gets the remaining bytes. */
static void fill_recv(struct vrb_wq *rq, struct ibv_recv_wr *wr, struct ibv_sge *sge,
		      const struct fi_msg *msg, uint64_t flags, uint32_t count, size_t size)
{
	uint8_t *at = msg->msg_iov->iov_base;
	size_t left = msg->msg_iov->iov_len;
	uint32_t i;

	for (i = 0; i < count; i++, at += size, left -= size) {
		if (i + 1 == count) {
			size = left;
			flags = (flags & ~VRB_SILENT) | FI_MULTI_RECV;
		}
		vrb_sge_set_recv(&sge[i], at, size, msg->desc ? msg->desc[0] : NULL,
				 rq->ep->domain->recv_max);
		rq->head->buf = at;
		wr[i] = (struct ibv_recv_wr){
			.wr_id = vrb_wq_take(rq, msg->context, flags, size),
			.next = i + 1 < count ? &wr[i + 1] : NULL,
			.sg_list = &sge[i],
			.num_sge = 1,
		};
	}
}

static ssize_t multi_recv_post(struct vrb_ep *ep, const struct fi_msg *msg, uint64_t flags)
{
	struct ibv_recv_wr wr[VRB_MULTI_PARTS];
	struct ibv_sge sge[VRB_MULTI_PARTS];
	struct vrb_wq *rq = ep->rq;
	size_t size, min = __atomic_load_n(&ep->self->min_multi, __ATOMIC_RELAXED);
	uint32_t count = vrb_multi_parts(msg->msg_iov->iov_len, min, rq->size, &size);
	ssize_t ret;
	int err;

	ret = vrb_wq_reserve(rq, count);
	if (ret)
		return ret;
	fill_recv(rq, wr, sge, msg, flags, count, size);
	vrb_wq_refresh(rq);
	err = ibv_post_recv(rq->qp, wr, &rq->bad_recv);
	if (err)
		ret = multi_failed(rq, count, (uint32_t)(rq->bad_recv - wr), err);
	vrb_wq_guard(rq);
	return ret;
}

ssize_t vrb_multi_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	uint64_t silent = vrb_ep_rx_silent(ep, flags);
	const struct iovec *iov;

	if (!(flags & FI_MULTI_RECV))
		return vrb_msg_ops.recvmsg(fid, msg, flags);
	if (flags & ~(OFI_RX_FLAGS | FI_MULTI_RECV))
		return -FI_EBADFLAGS;
	if (!msg || msg->iov_count != 1 || !msg->msg_iov)
		return -FI_EINVAL;
	iov = msg->msg_iov;
	if (!iov->iov_base ||
	    iov->iov_len < __atomic_load_n(&ep->self->min_multi, __ATOMIC_RELAXED))
		return -FI_EINVAL;
	if (iov->iov_len > UINT32_MAX)
		return -FI_EMSGSIZE;
	vrb_wq_enter(ep->rq, ep->lock_posts);
	return vrb_wq_leave(ep->rq, ep->lock_posts,
			    multi_recv_post(ep, msg, FI_MSG | FI_RECV | VRB_MULTI | silent));
}

ssize_t vrb_multi_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			fi_addr_t src, void *context)
{
	struct fi_msg msg = vrb_msg_of_iov(iov, desc, count, src, context);

	return vrb_multi_recvmsg(fid, &msg, vrb_ep(fid)->rx_op_flags);
}

ssize_t vrb_multi_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
		       void *context)
{
	struct iovec iov = { buf, len };

	if (vrb_ep(fid)->rx_op_flags & FI_MULTI_RECV)
		return vrb_multi_recvv(fid, &iov, &desc, 1, src, context);
	return (vrb_ep(fid)->lock_posts ? vrb_msg_ops : vrb_msg_nolock_ops)
		.recv(fid, buf, len, desc, src, context);
}
