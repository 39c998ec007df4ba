/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Control packets in answer to a peer's: sent at once, or as soon as there is a credit. */
#ifndef OFI_RDM_REPLY_H
#define OFI_RDM_REPLY_H

#include "peer.h"

/* A control packet to the peer. False when out of memory, or the peer takes none of them. */
bool ofi_rdm_answer(struct ofi_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet,
		    const void *payload, size_t len);
/* Sends those that wait. False: some still do. */
bool ofi_rdm_replies_send(struct ofi_rdm_peer *peer);
/* The peer is gone. */
void ofi_rdm_replies_drop(struct ofi_rdm_peer *peer);

static inline bool ofi_rdm_replies_sent(struct ofi_rdm_peer *peer)
{
	return ofi_likely(STAILQ_EMPTY(&peer->replies)) || ofi_rdm_replies_send(peer);
}

#endif
