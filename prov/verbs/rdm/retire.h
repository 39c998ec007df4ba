/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a work request's completion does, in line where it is the usual one. */
#ifndef VRB_RDM_RETIRE_H
#define VRB_RDM_RETIRE_H

#include "prov/rdm/op.h"
#include "prov/rdm/peer.h"

/* A completed work request retires those before it, which did not ask. */
void vrb_rdm_retired(struct ofi_rdm_ep *ep, const struct ibv_wc *wc);

/* Something waits for a credit, or for what is complete now. */
static inline bool vrb_rdm_pump_is_due(const struct ofi_rdm_peer *peer)
{
	return !STAILQ_EMPTY(&peer->proto.flow.data) || !STAILQ_EMPTY(&peer->ops) ||
	       !STAILQ_EMPTY(&peer->replies);
}

/*
 * The one that is due, of an eager message or operation, completes to the reader of a CQ of
 * FI_CQ_FORMAT_TAGGED who waits for it, and nothing else comes of it.
 */
OFI_INLINE bool vrb_rdm_retires_now(const struct ofi_rdm_ep *ep, const struct ibv_wc *wc)
{
	const struct vrb_rdm_slot *slot = (const struct vrb_rdm_slot *)(uintptr_t)wc->wr_id;
	const struct vrb_rdm_link *link = slot->link;

	return ofi_likely(wc->status == IBV_WC_SUCCESS && !(slot->flags >> OFI_RDM_KIND_SHIFT) &&
			  slot->seq == link->tail && ep->direct.cq == ep->tx_tagged &&
			  !ep->counts && !vrb_rdm_pump_is_due(link->peer));
}

/* Of one of which that is true, into its entry. */
OFI_INLINE void vrb_rdm_retire_now(struct ofi_rdm_ep *ep, const struct ibv_wc *wc,
				   struct fi_cq_tagged_entry *entry)
{
	const struct vrb_rdm_slot *slot = (const struct vrb_rdm_slot *)(uintptr_t)wc->wr_id;

	slot->link->tail++;
	if (ofi_unlikely(slot->bounce))
		vrb_rdm_pool_put(&vrb_rc(ep)->tx_bufs, slot->bounce);
	ofi_rdm_flow_give(&slot->link->peer->proto.flow, 1);
	*entry = (struct fi_cq_tagged_entry){ slot->context, slot->flags, 0, NULL, 0, 0 };
}

#endif
