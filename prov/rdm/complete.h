/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions of an endpoint. */
#ifndef OFI_RDM_COMPLETE_H
#define OFI_RDM_COMPLETE_H

#include "prov/base/cq_ring.h"
#include "rdm.h"

/* Writes an entry for the CQ. The caller holds the lock. */
void ofi_rdm_put(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq, const struct ofi_cq_item *item);
/*
 * Completes a transmit: writes a CQ entry and updates counters. err is FI_E* with wc_status, or 0.
 * The caller holds the lock.
 */
void ofi_rdm_complete_tx(struct ofi_rdm_ep *ep, void *context, uint64_t flags, int err,
			 int wc_status);
/* Completes a receive. Sets item->src; on failure the caller has set item->olen. */
void ofi_rdm_complete_rx(struct ofi_rdm_ep *ep, const struct ofi_rdm_recv *recv,
			 struct ofi_cq_item *item, struct ofi_rdm_peer *from);
void ofi_rdm_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done);

#endif
