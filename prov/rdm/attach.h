/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attaching endpoints to the queues and counters whose readers make them progress. */
#ifndef OFI_RDM_ATTACH_H
#define OFI_RDM_ATTACH_H

#include "rdm.h"

/* Attaches the endpoint to everything that is bound. Returns 0 or -FI_E*; then detach it. */
int ofi_rdm_attach(struct ofi_rdm_ep *ep);
/* Attaches it to queues that were bound later. Returns 0 or -FI_E*. */
int ofi_rdm_attach_cqs(struct ofi_rdm_ep *ep);
void ofi_rdm_detach(struct ofi_rdm_ep *ep);
/* Detaches and unbinds the queue of a direction. */
void ofi_rdm_release_cq(struct ofi_rdm_ep *ep, uint8_t half);

#endif
