/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_FENCE: an operation, and whatever is behind it, waits until all that the endpoint asked of the
 * peer before is complete. A marker in the queue of RMA and atomics marks the place; while there is
 * one, all new operations on the peer wait behind it, in order. The endpoint's lock guards
 * everything.
 */
#ifndef OFI_RDM_FENCE_H
#define OFI_RDM_FENCE_H

#include "op.h"
#include "peer.h"
#include "rdm.h"

/* An operation with FI_FENCE, or behind one: it is started when that may be. 0, or -FI_EAGAIN. */
int ofi_rdm_fence_out(struct ofi_rdm_peer *peer, struct ofi_rdm_out *out);
int ofi_rdm_fence_op(struct ofi_rdm_peer *peer, struct ofi_rdm_op *op);
/* The peer is up and its marker the first of peer->ops. True: it is not, any more. */
bool ofi_rdm_fence_open(struct ofi_rdm_peer *peer);
/* The marker was taken out of peer->ops: what is behind it fails, or is put there to fail. */
void ofi_rdm_fence_fail(struct ofi_rdm_peer *peer, int err);

#endif
