/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arriving packets. The inline part handles an eager tagged message that comes on the same
 * connection as the previous one and finds its receive posted; everything else is a call. The
 * endpoint's lock guards everything.
 */
#ifndef VRB_RDM_ARRIVE_H
#define VRB_RDM_ARRIVE_H

#include <string.h>
#include "prov/rdm/copy.h"
#include "rc_conn.h"
#include "prov/rdm/peer.h"
#include "prov/rdm/rdm.h"
#include "prov/rdm/stats.h"

/* Handles any packet, or a failed receive. */
void vrb_rdm_arrived(struct ofi_rdm_ep *ep, const struct ibv_wc *wc);

enum vrb_rdm_meeting {
	VRB_RDM_MATCHED,
	VRB_RDM_UNEXPECTED, /* an eager tagged message without a receive */
	VRB_RDM_OTHER,	    /* a case for vrb_rdm_arrived() */
};

struct vrb_rdm_arrival {
	const uint8_t *payload;
	size_t len;
	struct ofi_rdm_match_node **at; /* where the receive is in the match table */
	struct ofi_rdm_recv *recv;
};

static inline struct vrb_rdm_rx *vrb_rdm_rx_of(const struct ibv_wc *wc)
{
	return (struct vrb_rdm_rx *)(uintptr_t)(wc->wr_id - VRB_RDM_RX_BIT);
}

/* Classifies a packet without changing anything. Sets *a if the packet matches a receive. */
OFI_INLINE enum vrb_rdm_meeting vrb_rdm_meet(const struct ofi_rdm_ep *ep, const struct ibv_wc *wc,
					     struct vrb_rdm_arrival *a)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)vrb_rdm_rx_of(wc)->sge.addr;
	const struct ofi_rdm_match *m = &ep->proto.match[OFI_RDM_PROTO_TAGGED];
	uint64_t tag;

	if (ofi_unlikely(wc->status != IBV_WC_SUCCESS || wc->qp_num != vrb_rc(ep)->recent_qp ||
			 !ofi_rdm_wire_is_fast(bytes, wc->byte_len, true)))
		return VRB_RDM_OTHER;
	a->payload = bytes + sizeof(struct ofi_rdm_wire_fast);
	a->len = wc->byte_len - sizeof(struct ofi_rdm_wire_fast);
	/* Keeps the compiler from recomputing it from byte_len, so it takes one register. */
	ofi_forget(a->len);
	tag = ofi_rdm_wire_fast_tag(bytes);
	a->at = ofi_rdm_match_look(m, vrb_rc(ep)->recent_src, tag);
	a->recv = (struct ofi_rdm_recv *)*a->at;
	if (ofi_unlikely(!a->recv))
		return ofi_rdm_match_has_many(m) ? VRB_RDM_OTHER : VRB_RDM_UNEXPECTED;
	if (ofi_unlikely((a->recv->flags & OFI_RDM_RECV_SLOW) ||
			 a->len > a->recv->proto.iov[0].iov_len))
		return VRB_RDM_OTHER;
	return VRB_RDM_MATCHED;
}

/* Describes, like vrb_rdm_meet(), a packet that matches the receive at `at`. */
static inline void vrb_rdm_matched_at(const struct ibv_wc *wc, struct ofi_rdm_match_node **at,
				      struct vrb_rdm_arrival *a)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)vrb_rdm_rx_of(wc)->sge.addr;

	*a = (struct vrb_rdm_arrival){
		.payload = bytes + sizeof(struct ofi_rdm_wire_fast),
		.len = wc->byte_len - sizeof(struct ofi_rdm_wire_fast),
		.at = at,
		.recv = (struct ofi_rdm_recv *)*at,
	};
}

/* Completes the receive, whose buffer has the payload already. */
OFI_INLINE void vrb_rdm_take_matched(struct ofi_rdm_ep *ep, const struct ibv_wc *wc,
				     const struct vrb_rdm_arrival *a,
				     struct fi_cq_tagged_entry *entry)
{
	*entry = (struct fi_cq_tagged_entry){
		a->recv->proto.match.context,
		a->recv->flags,
		a->len,
		NULL,
		0,
		ofi_rdm_wire_fast_tag(a->payload - sizeof(struct ofi_rdm_wire_fast)),
	};
	ofi_rdm_match_take(&ep->proto.match[OFI_RDM_PROTO_TAGGED], a->at);
	ofi_rdm_count(ep, OFI_STATS_RECEIVES, OFI_STATS_RECEIVE_BYTES, a->len);
	SLIST_INSERT_HEAD(&ep->free_recvs[OFI_RDM_PROTO_TAGGED], a->recv, link);
	vrb_rdm_rx_reuse(&vrb_rc(ep)->rx, vrb_rdm_rx_of(wc));
}

/* Makes room for a packet to be kept and returns it. Returns NULL when out of memory. */
static inline struct vrb_rdm_rx *vrb_rdm_make_room(struct ofi_rdm_ep *ep, struct vrb_rdm_rx *rx,
						   size_t len)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr;
	struct vrb_rdm_small *small;

	if (len > VRB_RDM_SMALL_SIZE || !(small = vrb_rdm_small_get(&vrb_rc(ep)->rx)))
		return vrb_rdm_rx_keep(&vrb_rc(ep)->rx, rx, len);
	if (ofi_likely(len >= 16 && len <= 32)) {
		memcpy(small->bytes, bytes, 16);
		memcpy(small->bytes + len - 16, bytes + len - 16, 16);
	} else {
		memcpy(small->bytes, bytes, len);
	}
	vrb_rdm_rx_reuse(&vrb_rc(ep)->rx, rx);
	return &small->rx;
}

/* Ends the connection because a packet of the peer cannot be kept, or must not be. */
void vrb_rdm_not_kept(struct ofi_rdm_peer *peer, enum ofi_rdm_wire_error error);

/* Keeps an eager packet without a receive, which is in a receive buffer. */
static inline void vrb_rdm_keep_fast(struct ofi_rdm_peer *peer, struct vrb_rdm_rx *buffer,
				     size_t len, bool tagged, uint64_t tag)
{
	struct vrb_rdm_rx *rx = vrb_rdm_make_room(peer->ep, buffer, len);
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_E_MEMORY;

	if (ofi_likely(rx)) {
		ofi_rdm_count(peer->ep, OFI_STATS_UNEXPECTED, OFI_STATS_UNEXPECTED_BYTES,
			      len - ofi_rdm_wire_fast_header(tagged));
		error = ofi_rdm_proto_unexpected(&peer->proto, &rx->in,
						 (const void *)(uintptr_t)rx->sge.addr, len, tagged,
						 tag);
	} else {
		vrb_rdm_rx_reuse(&vrb_rc(peer->ep)->rx, buffer);
	}
	if (ofi_unlikely(error))
		vrb_rdm_not_kept(peer, error);
}

#endif
