/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Orders between kinds of operations that one connection does not keep by itself: atomics are
 * performed by the target's processor, reads and writes by its device, and a read may be overtaken.
 * An endpoint that was asked for such an order puts a fence before an operation that would overtake
 * another kind. The endpoint's lock guards everything.
 */
#ifndef VRB_RDM_ORDER_H
#define VRB_RDM_ORDER_H

#include "peer.h"
#include "rdm.h"

enum vrb_rdm_order_kind {
	VRB_RDM_ORDER_READ,
	VRB_RDM_ORDER_WRITE,
	VRB_RDM_ORDER_ATOMIC,
	VRB_RDM_ORDER_SEND,
	VRB_RDM_ORDER_KINDS
};

/* The kinds that each kind must not overtake, by the orders that were asked for. */
static inline void vrb_rdm_order_init(struct vrb_rdm *ep, const struct fi_info *info)
{
	const struct {
		enum vrb_rdm_order_kind kind, before;
		uint64_t order;
	} rows[] = {
		{ VRB_RDM_ORDER_READ, VRB_RDM_ORDER_ATOMIC, FI_ORDER_RAR | FI_ORDER_RAW },
		{ VRB_RDM_ORDER_READ, VRB_RDM_ORDER_SEND, FI_ORDER_RAS },
		{ VRB_RDM_ORDER_WRITE, VRB_RDM_ORDER_READ, FI_ORDER_WAR | FI_ORDER_RMA_WAR },
		{ VRB_RDM_ORDER_WRITE, VRB_RDM_ORDER_ATOMIC, FI_ORDER_WAR | FI_ORDER_WAW },
		{ VRB_RDM_ORDER_WRITE, VRB_RDM_ORDER_SEND, FI_ORDER_WAS },
		{ VRB_RDM_ORDER_ATOMIC, VRB_RDM_ORDER_READ, FI_ORDER_RAR | FI_ORDER_WAR },
		{ VRB_RDM_ORDER_ATOMIC, VRB_RDM_ORDER_SEND, FI_ORDER_RAS | FI_ORDER_WAS },
		{ VRB_RDM_ORDER_SEND, VRB_RDM_ORDER_READ, FI_ORDER_SAR },
		{ VRB_RDM_ORDER_SEND, VRB_RDM_ORDER_WRITE, FI_ORDER_SAW },
		{ VRB_RDM_ORDER_SEND, VRB_RDM_ORDER_ATOMIC, FI_ORDER_SAR | FI_ORDER_SAW },
	};
	const uint64_t caps[VRB_RDM_ORDER_KINDS] = { FI_RMA, FI_RMA, FI_ATOMIC,
						     FI_MSG | FI_TAGGED };
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (info->tx_attr->msg_order & rows[i].order && info->caps & caps[rows[i].kind] &&
		    info->caps & caps[rows[i].before]) {
			ep->order[rows[i].kind] |= (uint8_t)(1u << rows[i].before);
			ep->ordered = true;
		}
}

/*
 * What of those may still be overtaken: what was posted before a send arrives before it, and what
 * follows a send arrives behind it once that is posted.
 */
static inline unsigned int vrb_rdm_order_late(const struct vrb_rdm_peer *peer,
					      enum vrb_rdm_order_kind kind)
{
	unsigned int late = peer->issued & peer->ep->order[kind];

	if (kind == VRB_RDM_ORDER_SEND && STAILQ_EMPTY(&peer->ops))
		late &= 1u << VRB_RDM_ORDER_READ;
	if (kind != VRB_RDM_ORDER_SEND && STAILQ_EMPTY(&peer->proto.flow.data))
		late &= ~(1u << VRB_RDM_ORDER_SEND);
	return late;
}

/* An operation begins; item->fence is whether it has FI_FENCE. */
static inline void vrb_rdm_order_begin(struct vrb_rdm_peer *peer, struct vrb_rdm_fenced *item,
				       enum vrb_rdm_order_kind kind)
{
	if (!peer->ep->ordered)
		return;
	item->kinds = (uint8_t)(1u << kind);
	item->fence = item->fence || vrb_rdm_order_late(peer, kind);
	peer->issued |= item->kinds;
}

/* It has a fence before it, so nothing else can be overtaken any more. */
static inline void vrb_rdm_order_fenced(struct vrb_rdm_peer *peer,
					const struct vrb_rdm_fenced *item)
{
	if (item->fence)
		peer->issued = item->kinds;
}

#endif
