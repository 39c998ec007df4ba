/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queues of an endpoint: rings, completion queues, opening and shutting them. */
#include <rdma/fi_errno.h>
#include "ep.h"
#include "prov/verbs/queue/batch.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/queue/qp.h"
#include "srx.h"
#include "work.h"

int vrb_ep_attach(struct vrb_ep *ep)
{
	struct vrb_cq *tx = ep->tx_cq ? ep->tx_cq : ep->rx_cq;
	struct vrb_cq *rx = ep->rx_cq ? ep->rx_cq : ep->tx_cq;
	int ret = 0;

	if (!ep->sq->cq)
		ret = vrb_cq_attach(tx, ep->sq);
	if (!ret && ep->srx)
		ret = vrb_srq_attach(ep->srx->srq, rx, ep->cntrs[VRB_COUNT_RECV]);
	else if (!ret && !ep->rq->cq)
		ret = vrb_cq_attach(rx, ep->rq);
	return ret;
}

/*
 * Empties the device's CQ. An Elastic Fabric Adapter may give the number of a destroyed queue pair
 * to a new one, and libefa would take the old completions for those of the new one.
 */
static void clear_device(const struct vrb_wq *wq)
{
	if (wq && wq->cq && wq->unordered)
		vrb_cq_save(wq->cq);
}

void vrb_ep_close_queues(struct vrb_ep *ep)
{
	if (ep->sq && ep->sq->cq)
		vrb_cq_close_wq(ep->sq->cq, ep->sq);
	if (ep->rq && ep->rq->cq)
		vrb_cq_close_wq(ep->rq->cq, ep->rq);
}

void vrb_ep_free_queues(struct vrb_ep *ep)
{
	clear_device(ep->sq);
	clear_device(ep->rq);
	if (ep->sq && ep->sq->cq)
		vrb_cq_detach(ep->sq->cq, ep->sq);
	else
		vrb_wq_free(ep->sq);
	if (ep->rq && ep->rq->cq)
		vrb_cq_detach(ep->rq->cq, ep->rq);
	else
		vrb_wq_free(ep->rq);
	ep->sq = ep->rq = NULL;
}

int vrb_ep_new_queues(struct vrb_ep *ep)
{
	ep->sq = vrb_wq_new(ep, ep->info->tx_attr->size);
	ep->rq = vrb_wq_new(ep, vrb_ep_shares_rx(ep) ? 1 : ep->info->rx_attr->size);
	if (!ep->sq || !ep->rq)
		return -FI_ENOMEM;
	if (ep->domain->unordered) {
		vrb_wq_set_unordered(ep->sq);
		vrb_wq_set_unordered(ep->rq);
	}
	return 0;
}

void vrb_ep_set_templates(struct vrb_ep *ep)
{
	ep->sq->qp = ep->rq->qp = ep->qp;
	ep->sq->send = (struct ibv_send_wr){ .sg_list = &ep->sq->sge, .num_sge = 1 };
	ep->rq->recv = (struct ibv_recv_wr){ .sg_list = &ep->rq->sge, .num_sge = 1 };
}

void vrb_ep_wake(struct vrb_ep *ep)
{
	if (!vrb_ep_triggers(ep))
		return;
	ofi_wait_signal(&ep->sq->cq->slow.wait);
	if (ep->rx_cq && ep->rx_cq != ep->sq->cq)
		ofi_wait_signal(&ep->rx_cq->slow.wait);
}

void vrb_ep_ready(struct vrb_ep *ep)
{
	vrb_wq_clear(ep->sq, VRB_WQ_SHUT);
	vrb_ep_wake(ep);
}

void vrb_ep_unready(struct vrb_ep *ep)
{
	vrb_wq_shut(ep->sq, ep->lock_posts);
}

bool vrb_ep_is_idle(const struct vrb_ep *ep)
{
	return !vrb_wq_used(ep->sq) && !vrb_wq_used(ep->rq);
}

void vrb_ep_down(struct vrb_ep *ep, int err)
{
	int none = 0;

	__atomic_compare_exchange_n(&ep->down_err, &none, err, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	vrb_wq_shut(ep->sq, ep->lock_posts);
	vrb_wq_shut(ep->rq, ep->lock_posts);
	/*
	 * Work requests held back by FI_MORE were accepted, so they must complete. They are posted
	 * first, because some devices refuse or ignore posts to a queue pair in the error state.
	 */
	vrb_batch_flush(ep);
	vrb_qp_flush(ep);
	if (!ep->enabled)
		return;
	vrb_ep_wake(ep);
	if (err == -FI_ENODEV) {
		vrb_wq_lose(ep->sq);
		if (!ep->srx)
			vrb_wq_lose(ep->rq);
		ofi_cntr_wake_all(&ep->domain->base.triggers, &ep->watches);
	}
}
