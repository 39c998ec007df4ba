/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way of a work request to the device, inlined into each posting call: take a slot and a
 * credit, remember the operation, publish, post. The slow path is in post.c.
 */
#ifndef VRB_POST_H
#define VRB_POST_H

#include <arpa/inet.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/stats.h"

/* Flags that a transmit call may carry; others give -FI_EBADFLAGS. */
#define VRB_TX_FLAGS                                                                               \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define VRB_RX_FLAGS (FI_COMPLETION | FI_MORE)

/*
 * `lock`: the domain's threading asks for the queue's lock. A constant in the calls of the fast
 * path, of which each table has its own; the slow path looks into the endpoint.
 */
OFI_INLINE void vrb_wq_enter(struct vrb_wq *wq, bool lock)
{
	if (lock)
		ofi_lock(&wq->lock);
}

/* Wakes who waits for the queue's lock. Returns ret, so that it can end a call. */
ssize_t vrb_wq_wake(struct vrb_wq *wq, ssize_t ret);

OFI_INLINE ssize_t vrb_wq_leave(struct vrb_wq *wq, bool lock, ssize_t ret)
{
	if (lock && ofi_unlikely(!ofi_release(&wq->lock)))
		return vrb_wq_wake(wq, ret);
	return ret;
}

/*
 * The queue is full or shut, shares credits, or work requests are or will be held back. They are
 * another thread's when the connection ends, so this way takes the lock, unless it is held already.
 */
ssize_t vrb_sq_post_slow(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context, uint64_t flags,
			 size_t len, bool more, bool locked);
/* Holds the work request back. */
ssize_t vrb_sq_hold(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context, uint64_t flags,
		    size_t len, bool locked);
ssize_t vrb_rq_post_slow(struct vrb_wq *rq, struct ibv_recv_wr *wr, void *context, uint64_t flags,
			 size_t len);
/* Credits for count slots, to be taken at once. 0, or why not. */
ssize_t vrb_wq_reserve(struct vrb_wq *wq, uint32_t count);
/* The post failed with errno err; takes the slot back. */
ssize_t vrb_wq_post_failed(struct vrb_wq *wq, int err);

OFI_INLINE bool vrb_wq_usual(const struct vrb_wq *wq)
{
	return ofi_likely(wq->head != __atomic_load_n(&wq->stop, __ATOMIC_RELAXED));
}

/*
 * Posts a work request and leaves the queue, which the caller has entered. flags: what the
 * completion will report, with VRB_SILENT where it will not.
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

/* The message of a call that has an iov and nothing else. */
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

OFI_INLINE void vrb_sge_set(struct ibv_sge *sge, const void *buf, size_t len, void *desc)
{
	sge->addr = (uintptr_t)buf;
	sge->length = (uint32_t)len;
	sge->lkey = (uint32_t)(uintptr_t)desc;
}

/*
 * Fills sge from an iov, of at most limit buffers, and *len with the sum of the lengths. -FI_EINVAL
 * when there are too many, or a buffer to read from is missing (inline data would be copied from
 * it), -FI_EMSGSIZE when the sum overflows.
 */
static inline ssize_t vrb_sge_fill(struct ibv_sge *sge, const struct iovec *iov, void **desc,
				   size_t count, size_t limit, bool is_recv, size_t *len)
{
	size_t i;

	*len = 0;
	if (ofi_unlikely(count > limit || (count && !iov)))
		return -FI_EINVAL;
	for (i = 0; i < count; i++) {
		vrb_sge_set(&sge[i], iov[i].iov_base, iov[i].iov_len, desc ? desc[i] : NULL);
		if (ofi_unlikely(!is_recv && !iov[i].iov_base && iov[i].iov_len))
			return -FI_EINVAL;
		if (ofi_unlikely(__builtin_add_overflow(*len, iov[i].iov_len, len)))
			return -FI_EMSGSIZE;
	}
	return 0;
}

/*
 * One buffer with data in it. Without, a call takes the way of its fi_...msg form, which checks
 * everything.
 */
OFI_INLINE bool vrb_plain(const void *buf, size_t len, size_t max)
{
	return ofi_likely(buf && len - 1 < max);
}

/* The queue's own work request with its one segment filled; its flags and operation are left. */
OFI_INLINE struct ibv_send_wr *vrb_sq_wr(struct vrb_wq *sq, const void *buf, size_t len, void *desc)
{
	vrb_sge_set(&sq->sge, buf, len, desc);
	return &sq->send;
}

/*
 * IBV_SEND_INLINE where the data fits: it saves the device a read, and the buffer is free at
 * return.
 */
OFI_INLINE unsigned int vrb_inline_flag(const struct vrb_ep *ep, size_t len)
{
	return len <= ep->inject_size ? IBV_SEND_INLINE : 0;
}

/* Datagrams leave in order, and there is nothing that one of them could wait for. */
static inline unsigned int vrb_fence_flag(const struct vrb_ep *ep, uint64_t flags)
{
	return flags & FI_FENCE && !vrb_ep_is_dgram(ep) ? IBV_SEND_FENCE : 0;
}

/* What a transmit call with flags of its own asks of the work request and of the completion. */
struct vrb_tx_mode {
	unsigned int wr_flags;
	uint64_t silent;
};

/* 0, -FI_EBADFLAGS or -FI_EMSGSIZE. */
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
