/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The way of a work request to the device, inlined into each posting call: take a slot and a credit,
 * remember the operation, publish, post. What is rare is out of line in post.c.
 */
#ifndef VRB_POST_H
#define VRB_POST_H

#include <arpa/inet.h>
#include <rdma/fi_errno.h>
#include "ep.h"

#define VRB_INLINE static inline __attribute__((always_inline))

/* Flags that a transmit call may carry; others give -FI_EBADFLAGS. */
#define VRB_TX_FLAGS                                                                               \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define VRB_RX_FLAGS (FI_COMPLETION | FI_MORE)

/* A source compiled with VRB_BARE takes no locks, and its tables are the bare ones. */
#ifdef VRB_BARE
#define VRB_TABLE(name) vrb_##name##_bare_ops
#define VRB_LOCKS	false
#else
#define VRB_TABLE(name) vrb_##name##_ops
#define VRB_LOCKS	true
#endif

/* With the lock held: the queue is full or closed, shares credits, or work requests are or will be held back. */
ssize_t vrb_sq_post_rare(struct vrb_ep *ep, struct ibv_send_wr *wr, void *context, uint64_t flags,
			 size_t len, bool more);
ssize_t vrb_rq_post_rare(struct vrb_ep *ep, struct ibv_recv_wr *wr, void *context, uint64_t flags,
			 size_t len);
/* With the lock held: the post failed with errno err; takes the slot back. */
ssize_t vrb_wq_post_failed(struct vrb_wq *wq, int err);

/*
 * Takes the next slot and returns the wr_id. The head moves after the slot is filled and before the post:
 * whoever polls the completion and then looks at the head sees what is in the slot.
 */
VRB_INLINE uint64_t vrb_wq_take(struct vrb_wq *wq, void *context, uint64_t flags, size_t len)
{
	uint32_t head = wq->head;
	struct vrb_slot *slot = &wq->slots[head & wq->mask];

	slot->context = context;
	slot->flags = flags;
	slot->len = len;
	__atomic_store_n(&wq->head, head + 1, __ATOMIC_RELEASE);
	return (uintptr_t)slot;
}

/* Silent work requests ask for a completion now and then, so that the queue retires. */
VRB_INLINE void vrb_sq_fill(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context,
			    uint64_t flags, size_t len)
{
	wr->wr_id = vrb_wq_take(sq, context, flags, len);
	wr->next = NULL;
	if ((flags & VRB_SILENT) && !(sq->head & sq->signal_mask))
		wr->send_flags |= IBV_SEND_SIGNALED;
}

/* flags: what the completion will report, with VRB_SILENT where it will not. */
VRB_INLINE ssize_t vrb_sq_post(struct vrb_ep *ep, struct ibv_send_wr *wr, void *context,
			       uint64_t flags, size_t len, bool more)
{
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *bad;
	ssize_t ret;
	int err;

	if (VRB_LOCKS)
		ofi_lock(&sq->lock);
	if (vrb_likely(!vrb_wq_blocked(sq) && !sq->special && !more)) {
		vrb_sq_fill(sq, wr, context, flags, len);
		err = ibv_post_send(sq->qp, wr, &bad);
		ret = vrb_likely(!err) ? 0 : vrb_wq_post_failed(sq, err);
	} else {
		ret = vrb_sq_post_rare(ep, wr, context, flags, len, more);
	}
	if (VRB_LOCKS)
		ofi_unlock(&sq->lock);
	return ret;
}

VRB_INLINE ssize_t vrb_rq_post(struct vrb_ep *ep, struct ibv_sge *sge, int count, void *context,
			       uint64_t flags, size_t len)
{
	struct ibv_recv_wr *bad, wr = { .sg_list = sge, .num_sge = count };
	struct vrb_wq *rq = ep->rq;
	ssize_t ret;
	int err;

	if (VRB_LOCKS)
		ofi_lock(&rq->lock);
	if (vrb_likely(!vrb_wq_blocked(rq) && !rq->special)) {
		wr.wr_id = vrb_wq_take(rq, context, flags, len);
		err = ibv_post_recv(rq->qp, &wr, &bad);
		ret = vrb_likely(!err) ? 0 : vrb_wq_post_failed(rq, err);
	} else {
		ret = vrb_rq_post_rare(ep, &wr, context, flags, len);
	}
	if (VRB_LOCKS)
		ofi_unlock(&rq->lock);
	return ret;
}

VRB_INLINE void vrb_sge_set(struct ibv_sge *sge, const void *buf, size_t len, void *desc)
{
	sge->addr = (uintptr_t)buf;
	sge->length = (uint32_t)len;
	sge->lkey = (uint32_t)(uintptr_t)desc;
}

/* A buffer that is missing: inline data would be copied from it. */
VRB_INLINE bool vrb_no_buf(const void *buf, size_t len)
{
	return !buf && len;
}

/*
 * Fills sge from an iov, of at most limit buffers, and *len with the sum of the lengths. -FI_EINVAL when
 * a buffer is missing or there are too many, -FI_EMSGSIZE when the sum overflows.
 */
static inline ssize_t vrb_sge_fill(struct ibv_sge *sge, const struct iovec *iov, void **desc,
				   size_t count, size_t limit, size_t *len)
{
	size_t i;

	*len = 0;
	if (vrb_unlikely(count > limit || (count && !iov)))
		return -FI_EINVAL;
	for (i = 0; i < count; i++) {
		vrb_sge_set(&sge[i], iov[i].iov_base, iov[i].iov_len, desc ? desc[i] : NULL);
		if (vrb_unlikely(vrb_no_buf(iov[i].iov_base, iov[i].iov_len)))
			return -FI_EINVAL;
		if (vrb_unlikely(__builtin_add_overflow(*len, iov[i].iov_len, len)))
			return -FI_EMSGSIZE;
	}
	return 0;
}

/* IBV_SEND_INLINE where the data fits: it saves the device a read, and the buffer is free at return. */
VRB_INLINE unsigned int vrb_inline_flag(const struct vrb_ep *ep, size_t len)
{
	return len <= ep->inject_size ? IBV_SEND_INLINE : 0;
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
	if (vrb_unlikely(flags & ~allowed))
		return -FI_EBADFLAGS;
	if (vrb_unlikely(len > ep->max_msg_size || ((flags & FI_INJECT) && len > ep->inject_size)))
		return -FI_EMSGSIZE;
	mode->silent = ep->tx_selective && !(flags & FI_COMPLETION) ? VRB_SILENT : 0;
	mode->wr_flags = mode->silent ? 0 : IBV_SEND_SIGNALED;
	if (flags & FI_FENCE)
		mode->wr_flags |= IBV_SEND_FENCE;
	return 0;
}

#endif
