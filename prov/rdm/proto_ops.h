/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The protocol of an endpoint: what it is opened with, and what it tells. */
#ifndef OFI_RDM_PROTO_OPS_H
#define OFI_RDM_PROTO_OPS_H

#include "objects.h"

/* Of an endpoint that is opened. 0 or -FI_E*. */
int ofi_rdm_proto_open(struct ofi_rdm_ep *ep, const struct ofi_rdm_xport *xport,
		       const struct ofi_rdm_proto_config *config);

#endif
