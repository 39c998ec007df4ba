/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion of work requests, with the most frequent case inlined. */
#ifndef VRB_RDM_RETIRE_H
#define VRB_RDM_RETIRE_H

#include "prov/rdm/peer.h"

/* Retires a completed work request and the unsignaled ones before it. */
void vrb_rdm_retired(struct ofi_rdm_ep *ep, const struct ibv_wc *wc);

/* Returns true if something waits for a credit, or for what has just completed. */
static inline bool vrb_rdm_pump_is_due(const struct ofi_rdm_peer *peer)
{
	return !STAILQ_EMPTY(&peer->proto.flow.data) || !STAILQ_EMPTY(&peer->ops) ||
	       !STAILQ_EMPTY(&peer->replies);
}

/*
 * Returns true if the completed work request is the next one due and belongs to an eager message or
 * an operation, a reader of a CQ with FI_CQ_FORMAT_TAGGED waits for it, and it has no further
 * effects: it gives back no buffer that a peer waits for.
 */
OFI_INLINE bool vrb_rdm_retires_now(const struct ofi_rdm_ep *ep, const struct ibv_wc *wc)
{
	const struct vrb_rdm_slot *slot = (const struct vrb_rdm_slot *)(uintptr_t)wc->wr_id;
	const struct vrb_rc_conn *conn = slot->conn;

	return ofi_likely(wc->status == IBV_WC_SUCCESS && !(slot->flags >> OFI_RDM_KIND_SHIFT) &&
			  slot->seq == conn->tail && ep->direct.cq == ep->tx_tagged &&
			  !ep->counts && !vrb_rdm_pump_is_due(conn->peer) &&
			  (!slot->bounce || TAILQ_EMPTY(&vrb_rc(ep)->conns.starved)));
}

/* Writes the entry of such a work request. */
OFI_INLINE void vrb_rdm_retire_now(struct ofi_rdm_ep *ep, const struct ibv_wc *wc,
				   struct fi_cq_tagged_entry *entry)
{
	const struct vrb_rdm_slot *slot = (const struct vrb_rdm_slot *)(uintptr_t)wc->wr_id;

	/* Before anything is written, so that the compiler tests it once for both functions. */
	if (ofi_unlikely(slot->bounce))
		vrb_rdm_pool_put(&vrb_rc(ep)->tx_bufs, slot->bounce);
	slot->conn->tail++;
	ofi_rdm_flow_give(&slot->conn->peer->proto.flow, 1);
	*entry = (struct fi_cq_tagged_entry){ slot->context, slot->flags, 0, NULL, 0, 0 };
}

#endif
