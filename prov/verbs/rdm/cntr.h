/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable-datagram endpoints as what counters look at to find what has completed. */
#ifndef VRB_RDM_CNTR_H
#define VRB_RDM_CNTR_H

#include "prov/base/cntr.h"
#include "rdm.h"

extern const struct ofi_cntr_source_ops vrb_rdm_cntr_source;

/* Deferred work completes to the counter: who reads it makes the endpoint progress. 0 or -FI_E*. */
int vrb_rdm_cntr_watch_work(struct vrb_rdm *ep, struct ofi_cntr *cntr);

#endif
