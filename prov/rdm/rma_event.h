/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA events: packets that follow the work requests of an operation and tell the target of it. One
 * is sent if the operation carries data for the target's completion queue, or if the target counts
 * operations (FI_RMA_EVENT).
 */
#ifndef OFI_RDM_RMA_EVENT_H
#define OFI_RDM_RMA_EVENT_H

#include "op.h"

/* Returns true if the operation ends with an RMA event, as far as the peer is known. */
static inline bool ofi_rdm_rma_event_is_due(const struct ofi_rdm_op *op)
{
	return op->kind != OFI_RDM_OP_ATOMIC && (op->has_data || op->peer->rma_events);
}

/*
 * Posts the event behind a write, which is complete when both are: whoever then closes its endpoint
 * does not take the event back. Returns 0 or -FI_EAGAIN.
 */
int ofi_rdm_rma_event_post(struct ofi_rdm_op *op);
/*
 * Sends the event of a completed read; a packet sent earlier could overtake the read. A fence on
 * the work request would prevent that, but soft-RoCE may stop forever at a fenced work request
 * after a receiver-not-ready.
 */
void ofi_rdm_rma_event_read(const struct ofi_rdm_op *op);
ofi_rdm_packet_fn ofi_rdm_rma_event;
/* Counts an atomic operation that was performed on our memory. */
void ofi_rdm_rma_event_atomic(struct ofi_rdm_ep *ep, const struct ofi_rdm_wire_packet *packet);

#endif
