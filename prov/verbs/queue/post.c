/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rare ways of posting: full or closed queues, failed posts, and the batches of FI_MORE. */
#include "batch.h"
#include "cq.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/provider/err.h"
#include "post.h"

static int down_err(const struct vrb_ep *ep)
{
	int err = __atomic_load_n(&ep->down_err, __ATOMIC_RELAXED);

	if (!err && vrb_ep_is_dgram(ep) && vrb_dgram_is_broken((const struct vrb_dgram *)ep))
		return -FI_EAGAIN;
	return err ? err : -FI_EOPBADSTATE;
}

/* Why a queue takes nothing. */
static ssize_t blocked(struct vrb_wq *wq)
{
	if (vrb_wq_special(wq) & VRB_WQ_SHUT)
		return down_err(wq->ep);
	ofi_stats_add(&wq->stats, OFI_STATS_EAGAIN, 1);
	return -FI_EAGAIN;
}

static bool is_shut(struct vrb_wq *wq)
{
	return vrb_wq_special(wq) & VRB_WQ_SHUT &&
	       !(vrb_ep_is_dgram(wq->ep) && vrb_dgram_mend(vrb_dgram_of(wq->ep)));
}

ssize_t vrb_wq_reserve(struct vrb_wq *wq, uint32_t count)
{
	if (vrb_wq_left(wq) < count)
		return blocked(wq);
	if (!(vrb_wq_special(wq) & VRB_WQ_SHARES) ||
	    __atomic_sub_fetch(wq->pool, (int)count, __ATOMIC_ACQUIRE) >= 0)
		return 0;
	vrb_wq_give_pool(wq, count);
	return -FI_EAGAIN;
}

static bool has_room(struct vrb_wq *wq)
{
	return !is_shut(wq) && vrb_wq_refresh(wq) && vrb_wq_take_pool(wq);
}

/* Perhaps after a look at what completed silently. */
static bool makes_room(struct vrb_wq *wq)
{
	if (has_room(wq))
		return true;
	if (vrb_wq_special(wq) & VRB_WQ_SHUT)
		return false;
	vrb_cq_reclaim(wq->cq);
	return has_room(wq);
}

ssize_t vrb_wq_post_failed(struct vrb_wq *wq, int err)
{
	vrb_wq_untake(wq, 1);
	return vrb_errno(err);
}

/* With a slot and a credit. */
static ssize_t sq_post_taken(struct vrb_wq *sq, struct ibv_send_wr *wr, bool more)
{
	int err;

	if (!vrb_wq_held(sq) && !more) {
		err = ibv_post_send(sq->qp, wr, &sq->bad_send);
		return err ? vrb_wq_post_failed(sq, err) : 0;
	}
	vrb_batch_add(sq->ep, wr);
	return more && vrb_wq_held(sq) < VRB_BATCH_MAX ? 0 : vrb_batch_ring(sq->ep, 1);
}

ssize_t vrb_sq_post_rare(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context, uint64_t flags,
			 size_t len, bool more, bool locked)
{
	ssize_t ret;

	if (!locked)
		ofi_lock(&sq->lock);
	if (makes_room(sq)) {
		wr->send_flags |= sq->head->signal;
		wr->wr_id = vrb_wq_take(sq, context, flags, len);
		vrb_wq_count(sq, flags, len, 1);
		ret = sq_post_taken(sq, wr, more);
	} else {
		vrb_batch_ring(sq->ep, 0);
		ret = blocked(sq);
	}
	vrb_wq_guard(sq);
	if (!locked)
		ofi_unlock(&sq->lock);
	return ret;
}

ssize_t vrb_rq_post_rare(struct vrb_wq *rq, struct ibv_recv_wr *wr, void *context, uint64_t flags,
			 size_t len)
{
	ssize_t ret = 0;
	int err;

	if (makes_room(rq)) {
		wr->wr_id = vrb_wq_take(rq, context, flags, len);
		err = ibv_post_recv(rq->qp, wr, &rq->bad_recv);
		if (err)
			ret = vrb_wq_post_failed(rq, err);
	} else {
		ret = blocked(rq);
	}
	vrb_wq_guard(rq);
	return ret;
}

ssize_t vrb_wq_wake(struct vrb_wq *wq, ssize_t ret)
{
	ofi_unlock_slow(&wq->lock);
	return ret;
}
