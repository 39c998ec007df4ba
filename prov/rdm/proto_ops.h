/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connects the protocol with an endpoint: its configuration and its callbacks. */
#ifndef OFI_RDM_PROTO_OPS_H
#define OFI_RDM_PROTO_OPS_H

#include "objects.h"

/* Opens the protocol of an endpoint. Returns 0 or -FI_E*. */
int ofi_rdm_proto_open(struct ofi_rdm_ep *ep, const struct ofi_rdm_xport *xport,
		       const struct ofi_rdm_proto_config *config);

#endif
