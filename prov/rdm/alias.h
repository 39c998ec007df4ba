/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Aliases of reliable-datagram endpoints. An alias is an ofi_rdm_fid whose calls act on the
 * endpoint with the default flags of the alias. The endpoint stays open until its own fid and all
 * aliases are closed.
 */
#ifndef OFI_RDM_ALIAS_H
#define OFI_RDM_ALIAS_H

#include <rdma/fi_endpoint.h>
#include "prov/base/ep.h"
#include "rdm.h"

/* The flags that fi_alias() and FI_SETOPSFLAG may set as defaults of transmits and receives. */
#define OFI_RDM_TX_OP_FLAGS                                                     \
	(FI_COMPLETION | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_INJECT | FI_MATCH_COMPLETE)
#define OFI_RDM_RX_OP_FLAGS (OFI_RX_OP_FLAGS | FI_MULTI_RECV)

/* Returns the default flags of an alias or a context, and the flags that may be defaults. */
struct ofi_ep_op_flags ofi_rdm_op_flags(struct ofi_rdm_fid *fid);
/*
 * Opens an alias of the endpoint; tx_op_flags and rx_op_flags are the defaults of the fid that
 * fi_alias() was called on. Returns 0 or -FI_E*.
 */
int ofi_rdm_alias_open(struct ofi_rdm_ep *ep, uint64_t tx_op_flags, uint64_t rx_op_flags,
		       const struct fi_alias *arg);

#endif
