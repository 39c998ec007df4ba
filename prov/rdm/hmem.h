/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Checks what endpoints with FI_HMEM copy, and whether they may call the library of the GPU. */
#ifndef OFI_RDM_HMEM_H
#define OFI_RDM_HMEM_H

#include "rdm.h"

/* Returns 0 if the option may be set to false by this fid, or logs and returns -FI_E*. */
int ofi_rdm_may_stop_calls(const struct ofi_rdm_ep *ep, const struct fid *fid);
/* The same as ofi_rdm_check_copy(), for endpoints with FI_HMEM. */
int ofi_rdm_check_hmem(const struct ofi_rdm_ep *ep, const char *call, const struct iovec *iov,
		       void *const *desc, size_t count);

/* Returns true if descriptors tell whether memory may and can be copied. */
static inline bool ofi_rdm_checks_copy(const struct ofi_rdm_ep *ep)
{
	return ofi_unlikely(ep->hmem || ep->hmem_options.no_calls);
}

/*
 * Returns 0 if the endpoint may and can copy memory with these descriptors, or logs and returns
 * -FI_EOPNOTSUPP.
 */
static inline int ofi_rdm_check_copy(const struct ofi_rdm_ep *ep, const char *call,
				     const struct iovec *iov, void *const *desc, size_t count)
{
	return ofi_rdm_checks_copy(ep) ? ofi_rdm_check_hmem(ep, call, iov, desc, count) : 0;
}

#endif
