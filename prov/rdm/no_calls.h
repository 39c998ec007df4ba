/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints with FI_HMEM that may not call a GPU's library: FI_OPT_CUDA_API_PERMITTED is false. */
#ifndef OFI_RDM_NO_CALLS_H
#define OFI_RDM_NO_CALLS_H

#include "rdm.h"

/* Returns 0 if the option may be set to false by this fid, or logs and returns -FI_E*. */
int ofi_rdm_may_stop_calls(const struct ofi_rdm_ep *ep, const struct fid *fid);
/* Makes the endpoint do what the option says. */
void ofi_rdm_set_calls(struct ofi_rdm_ep *ep);
/* Returns the table of messages of an endpoint with FI_HMEM. */
const struct fi_ops_msg *ofi_rdm_msg_ops(const struct ofi_rdm_ep *ep);
/*
 * Returns 0 if the endpoint may copy memory with these descriptors, or logs and returns
 * -FI_EOPNOTSUPP.
 */
int ofi_rdm_check_copy(const struct ofi_rdm_ep *ep, const char *call, void *const *desc,
		       size_t count);

#endif
