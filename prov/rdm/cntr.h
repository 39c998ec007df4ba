/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registers endpoints with counters, so that reading a counter makes the endpoints progress. */
#ifndef OFI_RDM_CNTR_H
#define OFI_RDM_CNTR_H

#include "prov/base/cntr.h"
#include "rdm.h"

extern const struct ofi_cntr_source_ops ofi_rdm_cntr_source;

/*
 * Watches the counter of deferred work: reading it makes the endpoint progress. Returns 0 or
 * -FI_E*.
 */
int ofi_rdm_cntr_watch_work(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr);

#endif
