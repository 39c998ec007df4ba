/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of connected endpoints: binding, and the completion queues that feed them. */
#include <stdlib.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/cntr.h>
#include "cntr.h"
#include "cq.h"
#include "prov.h"
#include "work.h"

#define REMOTE_FLAGS (FI_REMOTE_READ | FI_REMOTE_WRITE)

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

	return ofi_cntr_open(&vrb_prov, &domain->ref, &domain->fabric->ref, &domain->triggers, attr,
			     cntr, context);
}

static int check_flags(uint64_t flags)
{
	uint64_t known = FI_SEND | FI_RECV | FI_READ | FI_WRITE;

	if (flags & REMOTE_FLAGS) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: a counter with FI_REMOTE_READ or FI_REMOTE_WRITE: the device "
			"does not tell the target of RMA; let the peer write with data, and count "
			"FI_RECV\n");
		return -FI_EOPNOTSUPP;
	}
	if (!flags || (flags & ~known)) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: flags 0x%llx; bind a counter with FI_SEND, FI_RECV, FI_READ, "
			"FI_WRITE or several of them\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	return 0;
}

int vrb_cntr_bind(struct vrb_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int i, ret = check_flags(flags);

	if (ret)
		return ret;
	if (!ofi_cntr_of(&cntr->fid.fid, &ep->domain->ref)) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the counter is of another domain\n");
		return -FI_EINVAL;
	}
	for (i = 0; i < VRB_COUNTS; i++)
		if ((flags & kinds[i]) && ep->cntrs[i])
			return -FI_EBUSY;
	for (i = 0; i < VRB_COUNTS; i++) {
		if (!(flags & kinds[i]))
			continue;
		ep->cntrs[i] = cntr;
		ofi_ref_get(&cntr->ref);
	}
	return 0;
}

/* Where a counter can be waited for, so can what feeds it. */
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
		ofi_ref_get(&ep->own_cq->ref);
	}
	if (!ep->rx_cq) {
		ep->rx_cq = ep->own_cq;
		ofi_ref_get(&ep->own_cq->ref);
	}
	return 0;
}

/* The queue that a counter of this kind counts. */
static struct vrb_cq *cq_of(const struct vrb_ep *ep, int kind)
{
	return kind == VRB_COUNT_RECV ? ep->rx_cq : ep->tx_cq;
}

static int watch(struct vrb_ep *ep)
{
	struct vrb_cq *cq;
	int i, ret;

	for (i = 0; i < VRB_COUNTS; i++) {
		if (!ep->cntrs[i] || (ep->watched & kinds[i]))
			continue;
		cq = cq_of(ep, i);
		ret = ofi_cntr_watch(ep->cntrs[i], &vrb_cq_source_ops, cq,
				     cq->channel ? cq->channel->fd : -1);
		if (ret)
			return ret;
		ep->watched |= kinds[i];
	}
	return 0;
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
	return watch(ep);
}

struct vrb_lent {
	struct ofi_cntr *cntr;
	struct vrb_cq *cq;
	LIST_ENTRY(vrb_lent) link;
};

static int lend(struct vrb_ep *ep, struct ofi_cntr *cntr, struct vrb_cq *cq)
{
	struct vrb_lent *lent;
	int ret;

	LIST_FOREACH (lent, &ep->lent, link)
		if (lent->cntr == cntr && lent->cq == cq)
			return 0;
	lent = malloc(sizeof(*lent));
	if (!lent)
		return -FI_ENOMEM;
	*lent = (struct vrb_lent){ .cntr = cntr, .cq = cq };
	ret = ofi_cntr_watch(cntr, &vrb_cq_source_ops, cq, cq->channel ? cq->channel->fd : -1);
	if (ret) {
		free(lent);
		return ret;
	}
	ofi_ref_get(&cntr->ref);
	LIST_INSERT_HEAD(&ep->lent, lent, link);
	return 0;
}

int vrb_cntr_lend(struct vrb_ep *ep, struct ofi_cntr *cntr, bool recv)
{
	int ret;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	ofi_lock(&ep->domain->lock);
	ret = lend(ep, cntr, recv ? ep->rx_cq : ep->tx_cq);
	ofi_unlock(&ep->domain->lock);
	return ret;
}

static void take_back(struct vrb_ep *ep)
{
	struct vrb_lent *lent;

	while ((lent = LIST_FIRST(&ep->lent))) {
		ofi_cntr_unwatch(lent->cntr, lent->cq);
		ofi_ref_put(&lent->cntr->ref);
		LIST_REMOVE(lent, link);
		free(lent);
	}
}

void vrb_cntr_unbind(struct vrb_ep *ep)
{
	int i;

	take_back(ep);
	for (i = 0; i < VRB_COUNTS; i++) {
		if (ep->watched & kinds[i])
			ofi_cntr_unwatch(ep->cntrs[i], cq_of(ep, i));
		if (ep->cntrs[i])
			ofi_ref_put(&ep->cntrs[i]->ref);
	}
}
