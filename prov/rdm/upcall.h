/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the transport tells the engine of a peer, and asks it, with the endpoint's lock held. The
 * rest is proto.h's: what was sent is complete, and what arrived.
 */
#ifndef OFI_RDM_UPCALL_H
#define OFI_RDM_UPCALL_H

#include "peer.h"

/*
 * Connected: a send queue of so many credits; eager is the peer's limit. What waited is sent,
 * unless the connection is to end already.
 */
void ofi_rdm_up(struct ofi_rdm_peer *peer, uint32_t credits, size_t eager, bool ending);
/* Not connected any more, or will not be: its operations fail with err. */
void ofi_rdm_down(struct ofi_rdm_peer *peer, int err);
/* The connection ended by agreement: what waits does so for the next one. */
void ofi_rdm_left(struct ofi_rdm_peer *peer);
/* The connection does not end after all: what waits because the peer was held is sent. */
void ofi_rdm_resume(struct ofi_rdm_peer *peer);
/* What could not be sent for want of something may be now. */
void ofi_rdm_try_again(struct ofi_rdm_peer *peer);

/* Operations wait for the peer, which fail if it does not come. */
bool ofi_rdm_has_waiting(const struct ofi_rdm_peer *peer);
/* It is the peer's turn to send something. */
bool ofi_rdm_is_awaited(const struct ofi_rdm_peer *peer);
/*
 * Nothing is under way; what was sent has arrived. What waits because the peer is held waits for
 * the next connection.
 */
bool ofi_rdm_is_drained(const struct ofi_rdm_peer *peer);
/* Whatever is not complete fails, unreported: the endpoint closes. */
void ofi_rdm_release_all(struct ofi_rdm_ep *ep);

#endif
