/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the target of RMA is told: a packet behind the work requests of the operation, where it
 * carries data for the target's completion queue, or where the target counts (FI_RMA_EVENT).
 */
#ifndef OFI_RDM_RMA_EVENT_H
#define OFI_RDM_RMA_EVENT_H

#include "op.h"

/* What an atomic operation of this kind does to its target's memory. */
static inline uint64_t ofi_rdm_atomic_access(uint8_t kind)
{
	if (kind == OFI_RDM_WIRE_ATOMIC_READ)
		return FI_REMOTE_READ;
	return kind == OFI_RDM_WIRE_ATOMIC_WRITE ? FI_REMOTE_WRITE
						 : FI_REMOTE_READ | FI_REMOTE_WRITE;
}

/* Whether the operation ends with a note, as far as the peer is known. */
static inline bool ofi_rdm_rma_event_is_due(const struct ofi_rdm_op *op)
{
	return op->kind != OFI_RDM_OP_ATOMIC && (op->has_data || op->peer->notes);
}

/* Behind a write. 0 or -FI_EAGAIN. */
int ofi_rdm_rma_event_post(const struct ofi_rdm_op *op);
/*
 * Of a read that is done: what follows one may overtake it. A fence would hold the note back, but
 * soft-RoCE may stop forever at one behind which a receive was not ready.
 */
void ofi_rdm_rma_event_read(const struct ofi_rdm_op *op);
enum ofi_rdm_wire_error ofi_rdm_rma_event(struct ofi_rdm_peer *peer,
					  const struct ofi_rdm_wire_packet *packet);
/* An atomic operation was performed on our memory. */
void ofi_rdm_rma_event_atomic(struct ofi_rdm_ep *ep, const struct ofi_rdm_wire_packet *packet);

#endif
