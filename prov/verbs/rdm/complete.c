/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions of an endpoint: counted, and told to the reader at work or to the ring. */
#include <stdlib.h>
#include "prov/base/cq.h"
#include <rdma/fi_errno.h>
#include "cq.h"
#include "link.h"
#include "peer.h"
#include "progress.h"
#include "direct.h"
#include "stats.h"
#include "work.h"

void vrb_rdm_cq_wake(struct vrb_rdm_cq *cq)
{
	if (__atomic_exchange_n(&cq->waiting, false, __ATOMIC_SEQ_CST))
		ofi_wait_signal(&cq->slow.wait);
}

void vrb_rdm_cq_name_sender(struct ofi_cq_item *item, const struct vrb_rdm_addr *addr)
{
	struct vrb_rdm_addr *copy = malloc(sizeof(*copy));

	item->from = copy;
	if (!copy)
		return;
	*copy = *addr;
	item->flags |= VRB_RDM_CQ_FROM;
}

void vrb_rdm_cq_put(struct vrb_rdm_cq *cq, const struct ofi_cq_item *item)
{
	vrb_rdm_cq_add(cq, item);
}

static void complete_count(struct vrb_rdm *ep, uint64_t flags, int err)
{
	struct ofi_cntr *cntr = ep->cntrs[flags & FI_RECV		       ? VRB_RDM_RECV
					  : flags & FI_READ		       ? VRB_RDM_RMA_READ
					  : flags & (FI_WRITE | FI_COLLECTIVE) ? VRB_RDM_RMA_WRITE
									       : VRB_RDM_SEND];

	if (!cntr)
		return;
	if (err)
		ofi_cntr_count_error(cntr, 1);
	else
		ofi_cntr_count(cntr, 1);
}

/* To the reader at work if that has room; what comes behind an entry of the ring goes there too. */
void vrb_rdm_put(struct vrb_rdm *ep, struct vrb_rdm_cq *cq, const struct ofi_cq_item *item)
{
	struct vrb_rdm_direct *direct = &ep->direct;

	if (direct->cq == cq && !item->err) {
		ofi_cq_put_entry(cq->base.format, direct->at, 0, item);
		vrb_rdm_direct_advance(direct, ofi_cq_entry_size(cq->base.format), item->src);
		return;
	}
	if (direct->cq == cq)
		direct->cq = VRB_RDM_NO_DIRECT;
	vrb_rdm_cq_put(cq, item);
}

void vrb_rdm_complete_tx(struct vrb_rdm *ep, void *context, uint64_t flags, int err, int wc_status)
{
	struct ofi_cq_item item = {
		.context = context,
		.flags = flags & ~(VRB_SILENT | VRB_RDM_KIND),
		.src = FI_ADDR_NOTAVAIL,
		.err = err,
		.prov_errno = wc_status,
	};

	if (ep->closing)
		return;
	if (ofi_unlikely(err))
		ofi_stats_add(&ep->stats, OFI_STATS_ERRORS, 1);
	if (ep->counts) {
		if (flags & VRB_RDM_DEFERRED) {
			vrb_rdm_work_done(ep, ep->tx_cq, &item);
			return;
		}
		complete_count(ep, flags, err);
	}
	if (!ep->tx_cq || ((flags & VRB_SILENT) && !err))
		return;
	if (err)
		item.olen = 0;
	vrb_rdm_put(ep, ep->tx_cq, &item);
}

static void set_source(struct vrb_rdm *ep, struct ofi_cq_item *item, struct vrb_rdm_peer *from)
{
	item->src = from ? vrb_rdm_peer_source(from) : FI_ADDR_NOTAVAIL;
	if (ofi_unlikely(ep->source_err) && from && item->src == FI_ADDR_NOTAVAIL) {
		item->err = FI_EADDRNOTAVAIL;
		vrb_rdm_cq_name_sender(item, &from->addr);
	}
}

void vrb_rdm_complete_rx(struct vrb_rdm *ep, const struct vrb_rdm_recv *recv,
			 struct ofi_cq_item *item, struct vrb_rdm_peer *from)
{
	if (ep->closing)
		return;
	if (ofi_unlikely(item->err))
		ofi_stats_add(&ep->stats, OFI_STATS_RX_ERRORS, 1);
	if (from)
		vrb_rdm_count(ep, OFI_STATS_RECEIVES, OFI_STATS_RECEIVE_BYTES, item->len);
	if (ep->counts) {
		if (recv->flags & VRB_RDM_DEFERRED) {
			vrb_rdm_work_done(ep, ep->rx_cq, item);
			return;
		}
		complete_count(ep, FI_RECV, item->err);
	}
	/* That a buffer for several messages is released is told, whatever is suppressed. */
	if (!ep->rx_cq ||
	    (!item->err && (recv->flags & VRB_RDM_RECV_SILENT) && !(item->flags & FI_MULTI_RECV)))
		return;
	if (!item->err)
		set_source(ep, item, from);
	vrb_rdm_put(ep, ep->rx_cq, item);
}
