/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions of an endpoint. */
#ifndef OFI_RDM_COMPLETE_H
#define OFI_RDM_COMPLETE_H

#include "prov/base/cq_ring.h"
#include "rdm.h"

/* An entry for the CQ, with the lock held. */
void ofi_rdm_put(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq, const struct ofi_cq_item *item);
/*
 * With the lock held: entries for the application, and counts. err: FI_E* or 0; wc_status with it.
 */
void ofi_rdm_complete_tx(struct ofi_rdm_ep *ep, void *context, uint64_t flags, int err,
			 int wc_status);
/* item->src is set here; item->olen, of a failure, is the caller's. */
void ofi_rdm_complete_rx(struct ofi_rdm_ep *ep, const struct ofi_rdm_recv *recv,
			 struct ofi_cq_item *item, struct ofi_rdm_peer *from);
void ofi_rdm_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done);

#endif
