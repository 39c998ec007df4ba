/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Aliases of reliable-datagram endpoints: a fid with tables of its own, whose calls are made on the
 * endpoint with the alias's flags. Aliases and the endpoint's own fid keep the endpoint open.
 */
#ifndef OFI_RDM_ALIAS_H
#define OFI_RDM_ALIAS_H

#include <rdma/fi_endpoint.h>
#include "rdm.h"

/* What can be a default of transmit operations, and of receives. */
#define OFI_RDM_TX_OP_FLAGS                                                     \
	(FI_COMPLETION | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_INJECT | FI_MATCH_COMPLETE)
#define OFI_RDM_RX_OP_FLAGS (FI_COMPLETION | FI_MULTI_RECV)

/* FI_ALIAS on the endpoint or on an alias of it, whose flags are given. 0 or -FI_E*. */
int ofi_rdm_alias_open(struct ofi_rdm_ep *ep, uint64_t tx_op_flags, uint64_t rx_op_flags,
		       const struct fi_alias *arg);
bool ofi_rdm_is_alias(const struct fid *fid);

/* Of a call on an alias that has no flags: those of the alias that are allowed. */
uint64_t ofi_rdm_alias_tx_flags(struct fid_ep *fid, uint64_t allowed);
extern const struct fi_ops_atomic ofi_rdm_alias_atomic_ops; /* alias_atomic.c */

#endif
