/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting receives to a shared receive context. */
#include "prov/base/ops.h"
#include "prov/verbs/queue/post.h"
#include "srx.h"

#define SRX_FLAGS (FI_MSG | FI_RECV)

/* Posts a work request and leaves the queue, which the caller has entered. */
OFI_INLINE ssize_t srq_post(struct vrb_srq *srq, struct ibv_recv_wr *wr, void *context, size_t len,
			    bool lock)
{
	struct vrb_slot *slot = srq->free;
	int err;

	if (ofi_unlikely(!slot))
		slot = vrb_srq_refill(srq);
	if (ofi_unlikely(!slot || vrb_wq_special(&srq->wq) & VRB_WQ_SHUT)) {
		srq->free = slot;
		return vrb_wq_leave(&srq->wq, lock, vrb_srq_blocked(srq));
	}
	srq->free = slot->next;
	slot->context = context;
	slot->flags = SRX_FLAGS;
	slot->len = len;
	__atomic_store_n(&srq->taken, srq->taken + 1, __ATOMIC_RELAXED);
	__atomic_store_n(&srq->wq.head, slot, __ATOMIC_RELEASE);
	wr->wr_id = (uintptr_t)slot;
	err = ibv_post_srq_recv(srq->ibv, wr, &srq->wq.bad_recv);
	return vrb_wq_leave(&srq->wq, lock,
			    ofi_likely(!err) ? 0 : vrb_srq_post_failed(srq, slot, err));
}

OFI_INLINE ssize_t srx_recv_on(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			       void *context, bool lock)
{
	struct vrb_srq *srq = vrb_srx(fid)->srq;

	(void)src;
	if (ofi_unlikely(len > UINT32_MAX))
		return -FI_EMSGSIZE;
	vrb_wq_enter(&srq->wq, lock);
	vrb_sge_set_recv(&srq->wq.sge, buf, len, desc, srq->domain->recv_max);
	srq->wq.recv.num_sge = len != 0;
	return srq_post(srq, &srq->wq.recv, context, len, lock);
}

static ssize_t srx_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			void *context)
{
	return srx_recv_on(fid, buf, len, desc, src, context, true);
}

static ssize_t srx_recv_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t src,
			       void *context)
{
	return srx_recv_on(fid, buf, len, desc, src, context, false);
}

static ssize_t srx_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_srx *srx = vrb_srx(fid);
	struct ibv_sge sge[VRB_IOV_MAX];
	struct ibv_recv_wr wr = { .sg_list = sge };
	size_t len;
	ssize_t ret;

	if (ofi_unlikely(!msg))
		return -FI_EINVAL;
	if (ofi_unlikely(flags & ~OFI_RX_FLAGS))
		return -FI_EBADFLAGS;
	ret = vrb_sge_fill_recv(sge, msg, srx->iov_limit, srx->domain->recv_max, &len);
	if (ofi_unlikely(ret))
		return ret;
	wr.num_sge = len ? (int)msg->iov_count : 0;
	vrb_wq_enter(&srx->srq->wq, srx->domain->lock_posts);
	return srq_post(srx->srq, &wr, msg->context, len, srx->domain->lock_posts);
}

static ssize_t srx_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t src, void *context)
{
	struct fi_msg msg = vrb_msg_of_iov(iov, desc, count, src, context);

	return srx_recvmsg(fid, &msg, vrb_srx(fid)->op_flags);
}

const struct fi_ops_msg vrb_srx_msg_ops = {
	.size = OFI_MSG_DEFAULTS,
	.recv = srx_recv,
	.recvv = srx_recvv,
	.recvmsg = srx_recvmsg,
};

const struct fi_ops_msg vrb_srx_msg_nolock_ops = {
	.size = OFI_MSG_DEFAULTS,
	.recv = srx_recv_nolock,
	.recvv = srx_recvv,
	.recvmsg = srx_recvmsg,
};
