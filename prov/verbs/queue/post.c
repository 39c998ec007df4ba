/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The slow paths of posting: full or shut queues, failed posts, and the batches of FI_MORE. */
#include <stdlib.h>
#include "batch.h"
#include "cq.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/provider/err.h"
#include "post.h"
#include "qp.h"

/* Batches. */

static struct vrb_batch *batch_new(size_t iov_limit, size_t inline_size)
{
	size_t sges = VRB_BATCH_MAX * iov_limit * sizeof(struct ibv_sge), i;
	struct vrb_batch *batch;
	struct ibv_sge *sge;

	batch = malloc(sizeof(*batch) + sges + VRB_BATCH_MAX * inline_size);
	if (!batch)
		return NULL;
	memset(batch, 0, sizeof(*batch));
	sge = (struct ibv_sge *)(batch + 1);
	batch->inline_size = inline_size;
	batch->data = (uint8_t *)sge + sges;
	for (i = 0; i < VRB_BATCH_MAX; i++) {
		batch->wr[i].sg_list = sge + i * iov_limit;
		batch->wr[i].next = &batch->wr[i + 1];
	}
	return batch;
}

/*
 * Returns true if the endpoint can hold work requests back, which most endpoints never do. Without
 * memory they are posted one by one.
 */
static bool batch_open(struct vrb_ep *ep)
{
	if (!ep->batch)
		ep->batch = batch_new(ep->info->tx_attr->iov_limit, ep->inject_size);
	return ep->batch;
}

void vrb_batch_free(struct vrb_batch *batch)
{
	free(batch);
}

/* Copies a work request into position n. Usually it has one segment; inline data always is one. */
OFI_INLINE void copy(struct vrb_batch *batch, uint32_t n, const struct ibv_send_wr *wr)
{
	struct ibv_send_wr *held = &batch->wr[n];
	uint8_t *data;

	held->wr_id = wr->wr_id;
	held->num_sge = wr->num_sge;
	held->opcode = wr->opcode;
	held->send_flags = wr->send_flags;
	held->imm_data = wr->imm_data;
	held->wr = wr->wr;
	if (ofi_unlikely(wr->num_sge != 1)) {
		held->sg_list[0].length = 0;
		if (wr->num_sge)
			memcpy(held->sg_list, wr->sg_list, wr->num_sge * sizeof(*wr->sg_list));
		return;
	}
	held->sg_list[0] = wr->sg_list[0];
	if (wr->send_flags & IBV_SEND_INLINE) {
		data = batch->data + n * batch->inline_size;
		memcpy(data, (void *)(uintptr_t)wr->sg_list[0].addr, wr->sg_list[0].length);
		held->sg_list[0].addr = (uintptr_t)data;
	}
}

/* Appends a copy of wr, whose slot is published. There is room: see VRB_BATCH_MAX. */
static void batch_add(struct vrb_ep *ep, const struct ibv_send_wr *wr)
{
	uint32_t n = vrb_wq_held(ep->sq);

	copy(ep->batch, n, wr);
	vrb_batch_count(ep->sq, n);
}

/*
 * Completes n rejected work requests, which earlier calls have accepted: posts them again in the
 * error state, so that they are flushed in order. If even that fails, the device is gone.
 */
static void batch_give_up(struct vrb_ep *ep, const struct ibv_send_wr *refused, uint32_t n)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	struct vrb_wq *sq = ep->sq;
	int err = 0;

	__atomic_store_n(&ep->down_err, -FI_EIO, __ATOMIC_RELAXED);
	vrb_wq_set(sq, VRB_WQ_SHUT);
	vrb_qp_flush(ep);
	for (; n && !err; n--, refused++) {
		wr.wr_id = refused->wr_id;
		wr.wr = refused->wr; /* a datagram's destination */
		err = ibv_post_send(sq->qp, &wr, &bad);
	}
	if (err) {
		vrb_wq_lose(sq);
		ofi_cntr_wake_all(&ep->domain->base.triggers, &ep->watches);
	}
}

ssize_t vrb_batch_ring(struct vrb_ep *ep, uint32_t mine)
{
	struct vrb_batch *batch = ep->batch;
	uint32_t refused, count = vrb_wq_held(ep->sq);
	struct ibv_send_wr *bad = NULL, *last;
	int err;

	if (!count)
		return 0;
	__atomic_sub_fetch(&ep->sq->special, count, __ATOMIC_RELAXED);
	__atomic_sub_fetch(&ep->sq->cq->special, VRB_CQ_HELD, __ATOMIC_RELAXED);
	last = &batch->wr[count - 1];
	last->next = NULL;
	vrb_wq_mark(ep->sq);
	ofi_stats_add(&ep->sq->stats, OFI_STATS_SHARED, -1);
	err = ibv_post_send(ep->sq->qp, batch->wr, &bad);
	last->next = last + 1;
	if (!err)
		return 0;
	refused = bad ? count - (bad - batch->wr) : count;
	if (!vrb_wq_untake(ep->sq, mine))
		return 0;
	if (refused > mine)
		batch_give_up(ep, &batch->wr[count - refused], refused - mine);
	return vrb_errno(err);
}

void vrb_batch_flush(struct vrb_ep *ep)
{
	ofi_lock(&ep->sq->lock);
	vrb_batch_ring(ep, 0);
	ofi_unlock(&ep->sq->lock);
}

/* Posting. */

static int down_err(const struct vrb_ep *ep)
{
	int err = __atomic_load_n(&ep->down_err, __ATOMIC_RELAXED);

	if (!err && vrb_ep_is_dgram(ep) && vrb_dgram_is_broken((const struct vrb_dgram *)ep))
		return -FI_EAGAIN;
	return err ? err : -FI_EOPBADSTATE;
}

/* Returns the reason why a queue accepts nothing. */
static ssize_t wq_blocked(struct vrb_wq *wq)
{
	if (vrb_wq_special(wq) & VRB_WQ_SHUT)
		return down_err(wq->ep);
	ofi_stats_add(&wq->stats, OFI_STATS_EAGAIN, 1);
	return -FI_EAGAIN;
}

static bool is_shut(struct vrb_wq *wq)
{
	return vrb_wq_special(wq) & VRB_WQ_SHUT &&
	       !(vrb_ep_is_dgram(wq->ep) && vrb_dgram_mend(vrb_dgram_of(wq->ep), wq));
}

ssize_t vrb_wq_reserve(struct vrb_wq *wq, uint32_t count)
{
	if (vrb_wq_left(wq) < count)
		return wq_blocked(wq);
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

/* Returns true if there is room, possibly after retiring silent completions. */
static bool makes_room(struct vrb_wq *wq)
{
	if (has_room(wq))
		return true;
	if (vrb_wq_special(wq) & VRB_WQ_SHUT)
		return false;
	vrb_cq_reclaim(wq->cq);
	return has_room(wq);
}

/* Without locks, posts reach the device although the queue is shut; some devices refuse them. */
ssize_t vrb_wq_post_failed(struct vrb_wq *wq, int err)
{
	if (!vrb_wq_untake(wq, 1))
		return 0;
	if (!(vrb_wq_special(wq) & VRB_WQ_SHUT) || !wq->ep)
		return vrb_errno(err);
	vrb_wq_guard(wq);
	return down_err(wq->ep);
}

/* Posts after a slot and a credit have been taken. */
static ssize_t sq_post_taken(struct vrb_wq *sq, struct ibv_send_wr *wr, bool more)
{
	int err;

	if (!vrb_wq_held(sq) && (!more || !batch_open(sq->ep))) {
		err = ibv_post_send(sq->qp, wr, &sq->bad_send);
		return err ? vrb_wq_post_failed(sq, err) : 0;
	}
	batch_add(sq->ep, wr);
	return more && vrb_wq_held(sq) < VRB_BATCH_MAX ? 0 : vrb_batch_ring(sq->ep, 1);
}

ssize_t vrb_sq_post_slow(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context, uint64_t flags,
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
		ret = wq_blocked(sq);
	}
	vrb_wq_guard(sq);
	if (!locked)
		ofi_unlock(&sq->lock);
	return ret;
}

ssize_t vrb_sq_hold(struct vrb_wq *sq, struct ibv_send_wr *wr, void *context, uint64_t flags,
		    size_t len, bool locked)
{
	uint32_t n;

	if (!locked)
		ofi_lock(&sq->lock);
	n = vrb_wq_special(sq);
	if (vrb_batch_open(sq, n) && ofi_likely(sq->ep->batch)) {
		wr->send_flags |= sq->head->signal;
		wr->wr_id = (uintptr_t)sq->head;
		copy(sq->ep->batch, n, wr);
		vrb_batch_publish(sq, n, context, flags, len);
		if (!locked)
			ofi_unlock(&sq->lock);
		return 0;
	}
	if (!locked)
		ofi_unlock(&sq->lock);
	return vrb_sq_post_slow(sq, wr, context, flags, len, true, locked);
}

ssize_t vrb_rq_post_slow(struct vrb_wq *rq, struct ibv_recv_wr *wr, void *context, uint64_t flags,
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
		ret = wq_blocked(rq);
	}
	vrb_wq_guard(rq);
	return ret;
}

ssize_t vrb_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		  fi_addr_t dest, void *context)
{
	struct fi_msg msg = vrb_msg_of_iov(iov, desc, count, dest, context);

	return fid->msg->sendmsg(fid, &msg, vrb_ep(fid)->tx_op_flags);
}

ssize_t vrb_wq_wake(struct vrb_wq *wq, ssize_t ret)
{
	ofi_unlock_slow(&wq->lock);
	return ret;
}
