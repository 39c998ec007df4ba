/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of connected endpoints: binding, and the completion queues that feed them. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/cntr.h"
#include "cntr.h"
#include "cq.h"
#include "prov/verbs/provider/prov.h"
#include "srq.h"
#include "prov/verbs/msg/srx.h"
#include "prov/verbs/msg/work.h"
#include "prov/base/ep.h"
#include "prov/base/refuse.h"

static const uint64_t kinds[VRB_COUNTS] = {
	[VRB_COUNT_SEND] = FI_SEND,
	[VRB_COUNT_RECV] = FI_RECV,
	[VRB_COUNT_READ] = FI_READ,
	[VRB_COUNT_WRITE] = FI_WRITE,
};

int vrb_cntr_open(struct fid_domain *fid, struct fi_cntr_attr *attr, struct fid_cntr **cntr,
		  void *context)
{
	struct vrb_domain *domain = vrb_domain(fid);

	return ofi_cntr_open(&vrb_prov, &domain->base.ref, &domain->fabric->ref,
			     &domain->base.triggers, attr, cntr, context);
}

/* The queue that feeds a counter supports waiting if the counter does. */
static enum fi_wait_obj wait_obj(const struct vrb_ep *ep)
{
	int i;

	for (i = 0; i < VRB_COUNTS; i++)
		if (ep->cntrs[i] && ep->cntrs[i]->epfd >= 0)
			return FI_WAIT_FD;
	return FI_WAIT_NONE;
}

static int open_own_cq(struct vrb_ep *ep)
{
	struct fi_cq_attr attr = {
		.size = ep->info->tx_attr->size + ep->info->rx_attr->size,
		.wait_obj = wait_obj(ep),
	};
	struct fid_cq *fid;
	int ret;

	if (ep->tx_cq && (ep->rx_cq || !ep->cntrs[VRB_COUNT_RECV]))
		return 0;
	if (ep->rx_cq && !vrb_cntr_tx(ep))
		return 0;
	if (attr.size > (size_t)ep->domain->attr.max_cqe)
		attr.size = (size_t)ep->domain->attr.max_cqe;
	ret = vrb_cq_open(&ep->domain->fid, &attr, &fid, NULL);
	if (ret)
		return ret;
	ep->own_cq = vrb_cq(fid);
	ep->own_cq->unread = true;
	if (!ep->tx_cq) {
		ep->tx_cq = ep->own_cq;
		ofi_ref_get(&ep->own_cq->slow.ref);
	}
	if (!ep->rx_cq) {
		ep->rx_cq = ep->own_cq;
		ofi_ref_get(&ep->own_cq->slow.ref);
	}
	return 0;
}

/*
 * Returns the queue that feeds a counter of this kind: a work queue without its own CQ completes on
 * the other one's.
 */
static struct vrb_cq *cq_of(const struct vrb_ep *ep, int kind)
{
	if (kind == VRB_COUNT_RECV)
		return ep->rx_cq ? ep->rx_cq : ep->tx_cq;
	return ep->tx_cq ? ep->tx_cq : ep->rx_cq;
}

static int watch_one(struct vrb_ep *ep, struct ofi_cntr *cntr, int kind)
{
	struct vrb_cq *cq = cq_of(ep, kind);
	int ret = ofi_cntr_watch(cntr, &vrb_cq_source_ops, cq, cq->channel ? cq->channel->fd : -1);

	if (!ret)
		ep->watched |= kinds[kind];
	return ret;
}

static int cntr_watch(struct vrb_ep *ep)
{
	int i, ret = 0;

	for (i = 0; i < VRB_COUNTS && !ret; i++)
		if (ep->cntrs[i] && !(ep->watched & kinds[i]))
			ret = watch_one(ep, ep->cntrs[i], i);
	return ret;
}

int vrb_cntr_enable(struct vrb_ep *ep)
{
	bool all = vrb_ep_triggers(ep);
	int ret;

	if (!all && !vrb_cntr_any(ep))
		return 0;
	ret = open_own_cq(ep);
	if (ret)
		return ret;
	if ((all || vrb_cntr_tx(ep)) && !ep->sq->cntrs)
		vrb_wq_set_cntrs(ep->sq, ep->cntrs);
	if ((all || ep->cntrs[VRB_COUNT_RECV]) && !ep->srx && !ep->rq->cntrs)
		vrb_wq_set_cntrs(ep->rq, ep->cntrs);
	return cntr_watch(ep);
}

static void unwatch_late(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int i;

	for (i = 0; i < VRB_COUNTS; i++)
		if (flags & ep->watched & kinds[i])
			ofi_cntr_unwatch(cntr, cq_of(ep, i));
	ep->watched &= ~flags;
}

static int watch_late(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int i, ret = 0;

	for (i = 0; i < VRB_COUNTS && !ret; i++)
		if (flags & kinds[i])
			ret = watch_one(ep, cntr, i);
	if (ret)
		unwatch_late(ep, cntr, flags);
	return ret;
}

/* The posting side comes first, because unsignaled operations would be counted late. */
static int count_sends(struct vrb_ep *ep)
{
	if (ep->lock_posts)
		ofi_lock(&ep->sq->lock);
	vrb_wq_signal_all(ep->sq);
	if (ep->lock_posts)
		ofi_unlock(&ep->sq->lock);
	return vrb_cq_count_late(ep->sq->cq, ep->sq, ep->cntrs);
}

static int count_receives(struct vrb_ep *ep)
{
	if (ep->srx)
		return vrb_srq_attach(ep->srx->srq, cq_of(ep, VRB_COUNT_RECV), true);
	return vrb_cq_count_late(ep->rq->cq, ep->rq, ep->cntrs);
}

/*
 * Sets the counter with both locks: polling threads use it with the CQ's lock held, and for shared
 * receives also with domain->lock. vrb_wq_lose() has neither.
 */
static void set_late(struct vrb_ep *ep, struct ofi_cntr *cntr, int kind)
{
	struct vrb_cq *cq = cq_of(ep, kind);

	ofi_ref_get(&cntr->ref);
	vrb_cq_lock(cq);
	ofi_lock(&ep->domain->lock);
	__atomic_store_n(&ep->cntrs[kind], cntr, __ATOMIC_RELEASE);
	ofi_unlock(&ep->domain->lock);
	vrb_cq_unlock(cq);
}

/*
 * Binds a counter to an enabled endpoint: completions are counted from now on. The caller holds
 * domain->bind_lock.
 */
static int bind_late(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int i, ret = watch_late(ep, cntr, flags);

	if (ret)
		return ret;
	if (flags & ~FI_RECV)
		ret = count_sends(ep);
	if (!ret && (flags & FI_RECV))
		ret = count_receives(ep);
	if (ret) {
		unwatch_late(ep, cntr, flags);
		return ret;
	}
	for (i = 0; i < VRB_COUNTS; i++)
		if (flags & kinds[i])
			set_late(ep, cntr, i);
	return 0;
}

static void bind_early(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int i;

	for (i = 0; i < VRB_COUNTS; i++) {
		if (!(flags & kinds[i]))
			continue;
		ep->cntrs[i] = cntr;
		ofi_ref_get(&cntr->ref);
	}
}

static bool is_bound(const struct vrb_ep *ep, uint64_t flags)
{
	int i;

	for (i = 0; i < VRB_COUNTS; i++)
		if ((flags & kinds[i]) && ep->cntrs[i])
			return true;
	return false;
}

int vrb_cntr_bind(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int ret = ofi_ep_check_cntr(&vrb_prov, cntr, &ep->domain->base.ref, 0, &flags);

	if (ret)
		return ret;
	ofi_lock(&ep->domain->bind_lock);
	if (is_bound(ep, flags))
		ret = ofi_refuse_second(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind",
					"a counter for one of these flags");
	else if (ep->enabled)
		ret = bind_late(ep, cntr, flags);
	else
		bind_early(ep, cntr, flags);
	ofi_unlock(&ep->domain->bind_lock);
	return ret;
}

int vrb_cntr_watch_work(struct vrb_ep *ep, struct ofi_cntr *cntr, bool recv)
{
	struct vrb_cq *cq = cq_of(ep, recv ? VRB_COUNT_RECV : VRB_COUNT_SEND);

	return ofi_cntr_watch_once(&ep->domain->base.triggers, &ep->watches, cntr,
				   &vrb_cq_source_ops, cq, cq->channel ? cq->channel->fd : -1);
}

void vrb_cntr_unbind(struct vrb_ep *ep)
{
	int i;

	ofi_cntr_unwatch_all(&ep->domain->base.triggers, &ep->watches);
	for (i = 0; i < VRB_COUNTS; i++) {
		if (ep->watched & kinds[i])
			ofi_cntr_unwatch(ep->cntrs[i], cq_of(ep, i));
		if (ep->cntrs[i])
			ofi_ref_put(&ep->cntrs[i]->ref);
	}
}
