/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_FENCE: a fenced operation, and everything posted after it, waits until all earlier operations
 * to the same peer have completed. An order (order.h) fences operations, too, but these wait only
 * for earlier operations of the kinds that the order names. A marker in the peer's queue of RMA and
 * atomics holds the place; while it exists, new operations to the peer queue up behind it in order.
 * The endpoint's lock guards everything.
 */
#ifndef OFI_RDM_FENCE_H
#define OFI_RDM_FENCE_H

#include "op.h"
#include "peer.h"
#include "rdm.h"

/*
 * Accepts an operation that has FI_FENCE or must wait behind one, and sends it when it may go.
 * Returns 0 or -FI_EAGAIN.
 */
int ofi_rdm_fence_add(struct ofi_rdm_peer *peer, struct ofi_rdm_fenced *item);
/*
 * Called when the peer is connected and its marker is first in peer->ops. Returns true if
 * everything before the marker has completed and the next operations have been released.
 */
bool ofi_rdm_fence_lift(struct ofi_rdm_peer *peer);
/*
 * Returns true if all messages and atomics are complete, and all that was sent before the marker.
 * If there is no marker, the first call with marker_set false takes its place. Control packets that
 * are sent later do not matter.
 */
bool ofi_rdm_fence_passed(struct ofi_rdm_peer *peer);
/*
 * Fails the operations behind a marker that was taken out of peer->ops, or queues them there to be
 * failed.
 */
void ofi_rdm_fence_fail(struct ofi_rdm_peer *peer, int err);

#endif
