/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Control packets in reply to a peer's: sent at once, or as soon as there is a credit. */
#ifndef OFI_RDM_REPLY_H
#define OFI_RDM_REPLY_H

#include "peer.h"

/*
 * Sends or queues a control packet to the peer. Returns false when out of memory, or if too many
 * replies to the peer are queued.
 */
bool ofi_rdm_answer(struct ofi_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet,
		    const void *payload, size_t len);
/* Sends queued replies. Returns false if some are left. */
bool ofi_rdm_replies_send(struct ofi_rdm_peer *peer);
/* Drops the queued replies of a peer that is gone. */
void ofi_rdm_replies_drop(struct ofi_rdm_peer *peer);

static inline bool ofi_rdm_replies_sent(struct ofi_rdm_peer *peer)
{
	return ofi_likely(STAILQ_EMPTY(&peer->replies)) || ofi_rdm_replies_send(peer);
}

#endif
