/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posting a work request, inlined into each posting call: take a slot and a credit, record the
 * operation, publish it, post. The slow path is in post.c.
 */
#ifndef VRB_POST_H
#define VRB_POST_H

#include <arpa/inet.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/desc.h"
#include "prov/base/ep.h"
#include "prov/verbs/discovery/inline.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/stats.h"

/* Flags allowed in transmit calls; others return -FI_EBADFLAGS. */
#define VRB_TX_FLAGS                                                                               \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

/*
 * `lock` tells whether the domain's threading model requires the queue's lock. It is a constant in
 * the fast-path calls, which each table has its own copy of; the slow path reads it from the
 * endpoint.
 */
OFI_INLINE void vrb_wq_enter(struct vrb_wq *wq, bool lock)
{
	if (lock)
		ofi_lock(&wq->lock);
}

/* Wakes threads waiting for the queue's lock. Returns ret, for use at the end of a call. */
ssize_t vrb_wq_wake(struct vrb_wq *wq, ssize_t ret);

OFI_INLINE ssize_t vrb_wq_leave(struct vrb_wq *wq, bool lock, ssize_t ret)
{
	if (lock && ofi_unlikely(!ofi_release(&wq->lock)))
		return vrb_wq_wake(wq, ret);
	return ret;
}

/*
 * Slow path: the queue is full or shut, uses the pool's credits, or work requests are or will be
 * held back. This path takes the lock unless it is held already, because another thread handles
 * held work requests when the connection ends.
 */
ssize_t vrb_sq_post_slow(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context, uint64_t flags,
			 size_t len, bool more, bool locked);
/* Adds the work request to the batch. */
ssize_t vrb_sq_hold(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context, uint64_t flags,
		    size_t len, bool locked);
ssize_t vrb_rq_post_slow(struct vrb_wq *rq, struct ibv_recv_wr *wr, void *context, uint64_t flags,
			 size_t len);
/* Takes credits for count slots that are taken next. Returns 0 or -FI_E*. */
ssize_t vrb_wq_reserve(struct vrb_wq *wq, uint32_t count);
/*
 * Handles a post that failed with errno err: gives its slot back. Returns -FI_E*, or 0 if the
 * device is lost, so that the CQ completes the work request.
 */
ssize_t vrb_wq_post_failed(struct vrb_wq *wq, int err);

OFI_INLINE bool vrb_wq_usual(const struct vrb_wq *wq)
{
	return ofi_likely(wq->head != __atomic_load_n(&wq->stop, __ATOMIC_RELAXED));
}

/*
 * Posts a work request and leaves the queue, which the caller has entered. flags are those of the
 * completion, with VRB_SILENT if there will be none.
 */
OFI_INLINE ssize_t vrb_sq_post(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context,
			       uint64_t flags, size_t len, bool more, bool lock)
{
	ssize_t ret = 0;
	int err;

	if (vrb_wq_usual(sq) && !more) {
		wr->send_flags |= sq->head->signal;
		wr->wr_id = vrb_wq_take(sq, context, flags, len);
		vrb_wq_count(sq, flags, len, 1);
		err = ibv_post_send(sq->qp, wr, &sq->bad_send);
		if (ofi_unlikely(err))
			ret = vrb_wq_post_failed(sq, err);
	} else if (more) {
		ret = vrb_sq_hold(sq, wr, context, flags, len, lock);
	} else {
		ret = vrb_sq_post_slow(sq, wr, context, flags, len, false, lock);
	}
	return vrb_wq_leave(sq, lock, ret);
}

OFI_INLINE ssize_t vrb_rq_post(struct vrb_wq *rq, struct ibv_recv_wr *wr, void *context,
			       uint64_t flags, size_t len, bool lock)
{
	ssize_t ret = 0;
	int err;

	if (vrb_wq_usual(rq)) {
		wr->wr_id = vrb_wq_take(rq, context, flags, len);
		err = ibv_post_recv(rq->qp, wr, &rq->bad_recv);
		if (ofi_unlikely(err))
			ret = vrb_wq_post_failed(rq, err);
	} else {
		ret = vrb_rq_post_slow(rq, wr, context, flags, len);
	}
	return vrb_wq_leave(rq, lock, ret);
}

/* Returns the message structure for a call with only an iov. */
OFI_INLINE struct fi_msg vrb_msg_of_iov(const struct iovec *iov, void **desc, size_t count,
					fi_addr_t addr, void *context)
{
	return (struct fi_msg){
		.msg_iov = iov,
		.desc = desc,
		.iov_count = count,
		.addr = addr,
		.context = context,
	};
}

/* The fi_sendv of all endpoints: calls fi_sendmsg with the default flags. */
ssize_t vrb_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		  fi_addr_t dest, void *context);

OFI_INLINE void vrb_sge_set(struct ibv_sge *sge, const void *buf, size_t len, void *desc)
{
	sge->addr = (uintptr_t)buf;
	sge->length = (uint32_t)len;
	sge->lkey = ofi_desc_lkey(desc);
}

/*
 * Fills sge from an iov of at most limit buffers and sets *len to the total length. Returns
 * -FI_EINVAL if there are too many, or if a buffer to read from is NULL (inline data would be
 * copied from it); -FI_EMSGSIZE if the total overflows.
 * Without buffers the first segment is empty: some drivers use it even if num_sge is 0.
 */
static inline ssize_t vrb_sge_fill(struct ibv_sge *sge, const struct iovec *iov, void **desc,
				   size_t count, size_t limit, bool is_recv, size_t *len)
{
	size_t i;

	*len = 0;
	if (ofi_unlikely(count - 1 >= limit || !iov)) {
		*sge = (struct ibv_sge){ 0 };
		return count ? -FI_EINVAL : 0;
	}
	for (i = 0; i < count; i++) {
		vrb_sge_set(&sge[i], iov[i].iov_base, iov[i].iov_len, desc ? desc[i] : NULL);
		if (ofi_unlikely(!is_recv && !iov[i].iov_base && iov[i].iov_len))
			return -FI_EINVAL;
		if (ofi_unlikely(__builtin_add_overflow(*len, iov[i].iov_len, len)))
			return -FI_EMSGSIZE;
	}
	return 0;
}

/* Sets a segment of a receive, whose buffer may be longer than all messages. */
static inline void vrb_sge_set_recv(struct ibv_sge *sge, const void *buf, size_t len, void *desc,
				    uint32_t max)
{
	vrb_sge_set(sge, buf, len < max ? len : max, desc);
}

/*
 * Fills the segments of a receive, each of at most `max` bytes. Returns -FI_EMSGSIZE from 4 GiB on,
 * too.
 */
static inline ssize_t vrb_sge_fill_recv(struct ibv_sge *sge, const struct fi_msg *msg, size_t limit,
					uint32_t max, size_t *len)
{
	ssize_t ret = vrb_sge_fill(sge, msg->msg_iov, msg->desc, msg->iov_count, limit, true, len);
	size_t i;

	if (ofi_unlikely(ret || *len > UINT32_MAX))
		return ret ? ret : -FI_EMSGSIZE;
	for (i = 0; i < msg->iov_count; i++)
		if (ofi_unlikely(sge[i].length > max))
			sge[i].length = max;
	return 0;
}

/*
 * Returns true for a single buffer with data. Any other call takes the path of its fi_...msg form,
 * which checks everything.
 */
OFI_INLINE bool vrb_fast(const void *buf, size_t len, size_t max)
{
	return ofi_likely(buf && len - 1 < max);
}

/*
 * Returns the queue's template work request with its segment filled; the caller sets flags and
 * operation.
 */
OFI_INLINE struct ibv_send_wr *vrb_sq_wr(struct vrb_wq *sq, const void *buf, size_t len, void *desc)
{
	vrb_sge_set(&sq->sge, buf, len, desc);
	return &sq->send;
}

/*
 * Returns IBV_SEND_INLINE if the data fits: this saves the device a read, and the buffer may be
 * reused at return.
 */
OFI_INLINE unsigned int vrb_inline_flag(const struct vrb_ep *ep, size_t len)
{
	return len <= ep->inject_size ? IBV_SEND_INLINE : 0;
}

/*
 * Gathers inline data of several segments in `data`, because some drivers copy only the first
 * segment.
 */
static inline void vrb_inline_gather(struct ibv_send_wr *wr, uint8_t *data)
{
	struct ibv_sge *sge = wr->sg_list;
	uint32_t len = 0;
	int i;

	if (wr->num_sge < 2 || !(wr->send_flags & IBV_SEND_INLINE))
		return;
	for (i = 0; i < wr->num_sge; i++) {
		if (sge[i].length)
			memcpy(data + len, (void *)(uintptr_t)sge[i].addr, sge[i].length);
		len += sge[i].length;
	}
	*sge = (struct ibv_sge){ .addr = (uintptr_t)data, .length = len };
	wr->num_sge = 1;
}

/* Datagrams are sent in order and wait for nothing, so they need no fence. */
static inline unsigned int vrb_fence_flag(const struct vrb_ep *ep, uint64_t flags)
{
	return flags & FI_FENCE && !vrb_ep_is_dgram(ep) ? IBV_SEND_FENCE : 0;
}

/* The effects of a transmit call's flags on the work request and the completion. */
struct vrb_tx_mode {
	unsigned int wr_flags;
	uint64_t silent;
};

/* Returns 0, -FI_EBADFLAGS or -FI_EMSGSIZE. */
static inline ssize_t vrb_tx_mode(const struct vrb_ep *ep, uint64_t flags, uint64_t allowed,
				  size_t len, struct vrb_tx_mode *mode)
{
	if (ofi_unlikely(flags & ~allowed))
		return -FI_EBADFLAGS;
	if (ofi_unlikely(len > ep->max_msg_size || ((flags & FI_INJECT) && len > ep->inject_size)))
		return -FI_EMSGSIZE;
	mode->silent = ep->tx_selective && !(flags & FI_COMPLETION) ? VRB_SILENT : 0;
	mode->wr_flags = mode->silent ? 0 : IBV_SEND_SIGNALED;
	if (flags & FI_FENCE)
		mode->wr_flags |= IBV_SEND_FENCE;
	return 0;
}

#endif
