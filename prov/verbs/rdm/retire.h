/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a work request's completion does, in line where it is the usual one. */
#ifndef VRB_RDM_RETIRE_H
#define VRB_RDM_RETIRE_H

#include "op.h"
#include "progress.h"
#include "sink.h"

/* A completed work request retires those before it, which did not ask. */
void vrb_rdm_retired_any(struct vrb_rdm *ep, const struct ibv_wc *wc);

/* Messages and operations that wait for credits, or for what is complete now. */
static inline void vrb_rdm_pump(struct vrb_rdm_peer *peer)
{
	if (ofi_unlikely(!STAILQ_EMPTY(&peer->proto.flow.data)))
		ofi_rdm_proto_progress(&peer->proto);
	if (ofi_unlikely(!STAILQ_EMPTY(&peer->ops) || !STAILQ_EMPTY(&peer->replies)))
		vrb_rdm_ops_pump(peer);
}

/* The one that is due, of a plain message, of a link that is well: in line. */
OFI_INLINE bool vrb_rdm_retired(struct vrb_rdm *ep, const struct ibv_wc *wc, bool single)
{
	struct vrb_rdm_slot *slot = (struct vrb_rdm_slot *)(uintptr_t)wc->wr_id;
	struct vrb_rdm_link *link = slot->link;

	if (ofi_unlikely(wc->status != IBV_WC_SUCCESS || slot->flags >> VRB_RDM_KIND_SHIFT ||
			 slot->seq != link->tail)) {
		vrb_rdm_retired_any(ep, wc);
		return false;
	}
	link->tail++;
	if (ofi_unlikely(slot->bounce))
		vrb_rdm_pool_put(&ep->tx_bufs, slot->bounce);
	ofi_rdm_flow_give(&link->peer->proto.flow, 1);
	vrb_rdm_pump(link->peer);
	if (ofi_likely(!ep->counts && vrb_rdm_sink_take(ep, ep->tx_cq, slot->context, slot->flags,
							0, 0, NULL, single)))
		return true;
	vrb_rdm_complete_tx(ep, slot->context, slot->flags, 0, 0);
	return false;
}

#endif
