/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ordering between kinds of operations that one connection does not order by itself: the target's
 * processor performs atomics, its device performs reads and writes, and a read may be overtaken. An
 * endpoint opened with such an ordering fences any operation that would overtake another kind. The
 * endpoint's lock guards everything.
 */
#ifndef OFI_RDM_ORDER_H
#define OFI_RDM_ORDER_H

#include "peer.h"
#include "rdm.h"

enum ofi_rdm_order_kind {
	OFI_RDM_ORDER_READ,
	OFI_RDM_ORDER_WRITE,
	OFI_RDM_ORDER_ATOMIC,
	OFI_RDM_ORDER_SEND,
	OFI_RDM_ORDER_KINDS
};

/*
 * Computes for each kind of operation the kinds that it must not overtake, from the requested
 * orderings.
 */
static inline void ofi_rdm_order_init(struct ofi_rdm_ep *ep, const struct fi_info *info)
{
	const struct {
		enum ofi_rdm_order_kind kind, before;
		uint64_t order;
	} rows[] = {
		{ OFI_RDM_ORDER_READ, OFI_RDM_ORDER_ATOMIC, FI_ORDER_RAR | FI_ORDER_RAW },
		{ OFI_RDM_ORDER_READ, OFI_RDM_ORDER_SEND, FI_ORDER_RAS },
		{ OFI_RDM_ORDER_WRITE, OFI_RDM_ORDER_READ, FI_ORDER_WAR | FI_ORDER_RMA_WAR },
		{ OFI_RDM_ORDER_WRITE, OFI_RDM_ORDER_ATOMIC, FI_ORDER_WAR | FI_ORDER_WAW },
		{ OFI_RDM_ORDER_WRITE, OFI_RDM_ORDER_SEND, FI_ORDER_WAS },
		{ OFI_RDM_ORDER_ATOMIC, OFI_RDM_ORDER_READ, FI_ORDER_RAR | FI_ORDER_WAR },
		{ OFI_RDM_ORDER_ATOMIC, OFI_RDM_ORDER_SEND, FI_ORDER_RAS | FI_ORDER_WAS },
		{ OFI_RDM_ORDER_SEND, OFI_RDM_ORDER_READ, FI_ORDER_SAR },
		{ OFI_RDM_ORDER_SEND, OFI_RDM_ORDER_WRITE, FI_ORDER_SAW },
		{ OFI_RDM_ORDER_SEND, OFI_RDM_ORDER_ATOMIC, FI_ORDER_SAR | FI_ORDER_SAW },
	};
	const uint64_t caps[OFI_RDM_ORDER_KINDS] = { FI_RMA, FI_RMA, FI_ATOMIC,
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
 * Returns the kinds that an operation of this kind must not overtake and still could. A write or an
 * atomic posted before a send arrives before it, and whatever follows a send arrives after it once
 * the send is posted.
 */
static inline unsigned int ofi_rdm_order_late(const struct ofi_rdm_peer *peer,
					      enum ofi_rdm_order_kind kind)
{
	unsigned int late = peer->issued & peer->ep->order[kind];

	if (kind == OFI_RDM_ORDER_SEND && STAILQ_EMPTY(&peer->ops))
		late &= 1u << OFI_RDM_ORDER_READ;
	if (kind != OFI_RDM_ORDER_SEND && STAILQ_EMPTY(&peer->proto.flow.data) &&
	    STAILQ_EMPTY(&peer->fenced))
		late &= ~(1u << OFI_RDM_ORDER_SEND);
	return late;
}

/* Records a new operation; item->fence tells whether it has FI_FENCE. */
static inline void ofi_rdm_order_begin(struct ofi_rdm_peer *peer, struct ofi_rdm_fenced *item,
				       enum ofi_rdm_order_kind kind)
{
	if (!peer->ep->ordered)
		return;
	item->kinds = (uint8_t)(1u << kind);
	item->late = item->fence ? 0 : (uint8_t)ofi_rdm_order_late(peer, kind);
	item->fence = item->fence || item->late;
	peer->issued |= item->kinds;
}

/*
 * Records that the operation is fenced: it cannot overtake anything posted before it, but messages
 * if it does not have FI_FENCE.
 */
static inline void ofi_rdm_order_fenced(struct ofi_rdm_peer *peer,
					const struct ofi_rdm_fenced *item)
{
	uint8_t kept = item->late ? 1u << OFI_RDM_ORDER_SEND : 0;

	if (item->fence)
		peer->issued = item->kinds | (peer->issued & kept);
}

#endif
