/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rare ways of posting: full or closed queues, failed posts, and the batches of FI_MORE. */
#include "batch.h"
#include "cq.h"
#include "err.h"
#include "post.h"

static int down_err(const struct vrb_ep *ep)
{
	int err = __atomic_load_n(&ep->down_err, __ATOMIC_RELAXED);

	return err ? err : -FI_EOPBADSTATE;
}

static ssize_t sq_blocked(struct vrb_ep *ep)
{
	vrb_batch_ring(ep, 0);
	return vrb_wq_limit(ep->sq) ? -FI_EAGAIN : down_err(ep);
}

/* One credit of the shared pool, where the queue has none of its own. */
static bool take_pool(struct vrb_wq *wq)
{
	if (!(wq->special & VRB_WQ_SHARES) ||
	    __atomic_sub_fetch(wq->pool, 1, __ATOMIC_ACQUIRE) >= 0)
		return true;
	vrb_wq_give_pool(wq, 1);
	return false;
}

/* A slot and a credit are free, perhaps after a look at what completed silently. */
static bool sq_has_room(struct vrb_wq *sq)
{
	if (vrb_wq_blocked(sq) && vrb_wq_limit(sq))
		vrb_cq_reclaim(sq->cq);
	if (vrb_wq_blocked(sq))
		return false;
	if (take_pool(sq))
		return true;
	vrb_cq_reclaim(sq->cq);
	return take_pool(sq);
}

ssize_t vrb_wq_post_failed(struct vrb_wq *wq, int err)
{
	vrb_wq_unpublish(wq, 1);
	return vrb_errno(err);
}

ssize_t vrb_sq_post_rare(struct vrb_ep *ep, struct ibv_send_wr *wr, void *context, uint64_t flags,
			 size_t len, bool more)
{
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *bad;
	int err;

	if (!sq_has_room(sq))
		return sq_blocked(ep);
	vrb_sq_fill(sq, wr, context, flags, len);
	if (vrb_wq_held(sq) || more) {
		vrb_batch_add(ep, wr);
		return more && vrb_wq_held(sq) < VRB_BATCH_MAX ? 0 : vrb_batch_ring(ep, 1);
	}
	err = ibv_post_send(sq->qp, wr, &bad);
	return err ? vrb_wq_post_failed(sq, err) : 0;
}

ssize_t vrb_rq_post_rare(struct vrb_ep *ep, struct ibv_recv_wr *wr, void *context, uint64_t flags,
			 size_t len)
{
	struct vrb_wq *rq = ep->rq;
	struct ibv_recv_wr *bad;
	int err;

	if (vrb_wq_blocked(rq))
		return vrb_wq_limit(rq) ? -FI_EAGAIN : down_err(ep);
	if (!take_pool(rq))
		return -FI_EAGAIN;
	wr->wr_id = vrb_wq_take(rq, context, flags, len);
	err = ibv_post_recv(rq->qp, wr, &bad);
	return err ? vrb_wq_post_failed(rq, err) : 0;
}
