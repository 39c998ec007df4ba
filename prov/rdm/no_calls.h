/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints with FI_HMEM that may not call a GPU's library: FI_OPT_CUDA_API_PERMITTED is false. */
#ifndef OFI_RDM_NO_CALLS_H
#define OFI_RDM_NO_CALLS_H

#include "rdm.h"

/* Returns 0 if the option may be set to false by this fid, or logs and returns -FI_E*. */
int ofi_rdm_may_stop_calls(const struct ofi_rdm_ep *ep, const struct fid *fid);
/* Returns 0 if no descriptor is that of device memory, or logs and returns -FI_EOPNOTSUPP. */
int ofi_rdm_check_host(const struct ofi_rdm_ep *ep, const char *call, void *const *desc,
		       size_t count);

/*
 * Returns 0 if the endpoint may copy memory with these descriptors, or logs and returns
 * -FI_EOPNOTSUPP.
 */
static inline int ofi_rdm_check_copy(const struct ofi_rdm_ep *ep, const char *call,
				     void *const *desc, size_t count)
{
	return ofi_likely(!ep->hmem_options.no_calls) ? 0
						      : ofi_rdm_check_host(ep, call, desc, count);
}

#endif
