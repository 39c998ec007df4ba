/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls of the transport to the engine about a peer, with the endpoint's lock held. Sent and
 * received packets are reported by the functions of proto.h.
 */
#ifndef OFI_RDM_UPCALL_H
#define OFI_RDM_UPCALL_H

#include "peer.h"

/*
 * Called when the peer is connected, with a send queue of that many credits; `eager` is the peer's
 * limit. Posts the queued RMA operations and then the messages, which may announce what is written.
 * If the connection is already about to end, only messages are posted.
 */
void ofi_rdm_up(struct ofi_rdm_peer *peer, uint32_t credits, size_t eager, bool ending);
/* Called when the peer is no longer connected, or never will be: its operations fail with err. */
void ofi_rdm_down(struct ofi_rdm_peer *peer, int err);
/* Called when the connection has ended by agreement: queued operations wait for the next one. */
void ofi_rdm_left(struct ofi_rdm_peer *peer);
/*
 * Called when the connection does not end after all: sends what was queued while the peer was held.
 */
void ofi_rdm_resume(struct ofi_rdm_peer *peer);
/* Retries what could not be sent for lack of a resource. */
void ofi_rdm_try_again(struct ofi_rdm_peer *peer);

/* Returns true if operations wait for the peer and will fail if it does not connect. */
bool ofi_rdm_has_waiting(const struct ofi_rdm_peer *peer);
/* Returns true if we wait for the peer to send something. */
bool ofi_rdm_is_awaited(const struct ofi_rdm_peer *peer);
/*
 * Returns true if nothing is in flight and everything sent has arrived. Operations that are queued
 * because the peer is held wait for the next connection.
 */
bool ofi_rdm_is_drained(const struct ofi_rdm_peer *peer);
/*
 * Fails everything that is incomplete, because the endpoint closes. Only receives of a shared
 * receive context are reported.
 */
void ofi_rdm_release_all(struct ofi_rdm_ep *ep);

#endif
