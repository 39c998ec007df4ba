/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The statistics of the provider's objects, and the application's access to them. */
#include "stats.h"

#include <string.h>
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/msg/ep.h"
#include "prov.h"

void vrb_stats_show(struct vrb_domain *domain, struct ofi_stats *stats, uint32_t fclass)
{
	stats->fclass = fclass;
	stats->domain = stats == domain->base.stats ? 0 : domain->base.stats->id;
	ofi_stats_show(stats, "%s", domain->base.info->domain_attr->name);
}

void vrb_stats_show_ep(struct vrb_ep *ep)
{
	struct ofi_stats *tx = &ep->sq->stats, *rx = &ep->rq->stats;

	tx->fclass = FI_CLASS_TX_CTX;
	rx->fclass = FI_CLASS_RX_CTX;
	tx->group = rx->group = ofi_stats_number();
	tx->domain = rx->domain = ep->domain->base.stats->id;
	ofi_stats_show(tx, "%s qp %u", ep->domain->base.info->domain_attr->name, ep->qp_num);
	ofi_stats_show_like(rx, tx);
}

static uint64_t wq_completed(const struct vrb_wq *wq)
{
	return ofi_stats_posted(&wq->stats) - ofi_stats_outstanding(&wq->stats);
}

void vrb_stats_detach(struct vrb_cq *cq, struct vrb_wq *wq)
{
	ofi_stats_hide(&wq->stats.id);
	ofi_stats_add(cq->stats, OFI_STATS_COMPLETED, wq_completed(wq));
}

void vrb_stats_error(struct vrb_cq *cq, struct vrb_wq *wq, enum ibv_wc_status status)
{
	ofi_stats_add(cq->stats, OFI_STATS_ERRORS, 1);
	/* A shared queue is polled from several CQs and has no statistics of its own. */
	if (vrb_wq_special(wq) & VRB_WQ_SHARED)
		return;
	ofi_stats_add(&wq->stats, OFI_STATS_ERRORS, 1);
	if (status == IBV_WC_RNR_RETRY_EXC_ERR)
		ofi_stats_add(&wq->stats, OFI_STATS_RNR, 1);
}

/*
 * Returns the length that a CQ entry reports: a datagram's header does not count, unless the
 * application receives it as a prefix.
 */
static uint32_t wc_length(const struct vrb_wq *wq, const struct ibv_wc *wc)
{
	bool header = wq->dgram && !((const struct vrb_dgram *)wq->ep)->prefix;

	return header ? wc->byte_len - VRB_GRH_SIZE : wc->byte_len;
}

/* A closed queue is not counted: its endpoint, which wc_length() reads, is gone. */
void vrb_stats_received(const struct ibv_wc *wc)
{
	struct vrb_wq *wq = ((struct vrb_slot *)(uintptr_t)wc->wr_id)->wq;

	if ((wc->opcode & IBV_WC_RECV) && !(vrb_wq_special(wq) & VRB_WQ_SHARED) &&
	    !vrb_wq_closed(wq))
		ofi_stats_add(&wq->stats, OFI_STATS_RECEIVE_BYTES, wc_length(wq, wc));
}

static size_t list_cq(struct vrb_cq *cq, struct fi_stats_item *items)
{
	size_t n = ofi_stats_list(cq->stats, items);
	struct vrb_wq *wq;

	vrb_cq_lock(cq);
	items[0].value = ofi_stats_value(cq->stats, OFI_STATS_COMPLETED);
	LIST_FOREACH (wq, &cq->wqs, siblings)
		items[0].value += wq_completed(wq);
	vrb_cq_unlock(cq);
	return n;
}

static ssize_t list_ep(const struct vrb_ep *ep, struct fi_stats_item *items)
{
	size_t n;

	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	n = ofi_stats_list(&ep->sq->stats, items);
	return n + ofi_stats_list(&ep->rq->stats, items + n);
}

static ssize_t stats_list(struct fid *fid, struct fi_stats_item *items)
{
	bool ours = fid->ops && fid->ops->ops_open == vrb_stats_open_ops;

	if (ours && fid->fclass == FI_CLASS_DOMAIN)
		return ofi_stats_list(((struct vrb_domain *)fid)->base.stats, items);
	if (ours && fid->fclass == FI_CLASS_CQ)
		return list_cq((struct vrb_cq *)fid, items);
	if (ours && fid->fclass == FI_CLASS_EP)
		return list_ep(vrb_ep_self(fid), items);
	return ofi_refuse(
		&vrb_prov, FI_LOG_CORE, -FI_EINVAL,
		"fi_ops_stats: read: object of class %zu; these operations belong to domains, and of the completion queues and endpoints of FI_EP_MSG and FI_EP_DGRAM\n",
		fid->fclass);
}

static ssize_t stats_read(struct fid *fid, struct fi_stats_item *items, size_t count)
{
	struct fi_stats_item all[FI_STATS_MAX];
	ssize_t n;

	if (!fid || (count && !items))
		return -FI_EINVAL;
	n = stats_list(fid, all);
	if (n > 0)
		memcpy(items, all, ((size_t)n < count ? (size_t)n : count) * sizeof(*items));
	return n;
}

static struct fi_ops_stats stats_ops = {
	.size = sizeof(struct fi_ops_stats),
	.read = stats_read,
};

int vrb_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	(void)fid;
	(void)context;
	return ofi_stats_open_ops(&vrb_prov, name, flags, ops, &stats_ops);
}
