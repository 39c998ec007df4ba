/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors of device memory tell whether a copy would need the library of the GPU. An endpoint
 * with FI_OPT_CUDA_API_PERMITTED set to false has device memory that only RMA uses, by its
 * descriptors. It takes all other memory for the system's, and asks that library for nothing.
 */
#include "hmem.h"

#include <rdma/fi_errno.h>
#include "prov/base/desc.h"
#include "prov/base/hmem_copy.h"
#include "prov/base/refuse.h"

/* Returns NULL, or the reason why the memory is not copied. */
static const char *no_copy(const struct ofi_rdm_ep *ep, const void *addr, const void *desc)
{
	if (!ofi_desc_iface(desc))
		return NULL;
	if (ep->hmem_options.no_calls)
		return "FI_OPT_CUDA_API_PERMITTED does not permit that";
	return ofi_desc_is_dmabuf(desc) && !ofi_hmem_at(true, addr)
		       ? "the GPU's library does not know the address of its dma-buf"
		       : NULL;
}

int ofi_rdm_check_hmem(const struct ofi_rdm_ep *ep, const char *call, const struct iovec *iov,
		       void *const *desc, size_t count)
{
	const char *why = NULL;

	while (count-- && !why)
		if (iov[count].iov_len)
			why = no_copy(ep, iov[count].iov_base, ofi_desc_at(desc, count));
	if (!why)
		return 0;
	return ofi_refuse(
		ep->domain->prov, FI_LOG_EP_DATA, -FI_EOPNOTSUPP,
		"%s of device memory: it would be copied, but %s; RMA without FI_INJECT needs no copy, given a descriptor and FI_MR_PROV_KEY\n",
		call, why);
}

/* Returns NULL, or what of the endpoint copies device memory. */
static const char *obstacle(const struct ofi_rdm_ep *ep)
{
	const uint64_t copying = FI_TAGGED | FI_ATOMIC | FI_COLLECTIVE | FI_TRIGGER;

	if (!(ep->info->caps & FI_RMA))
		return "messages copy device memory, and the endpoint has no FI_RMA";
	if (ep->info->caps & copying)
		return "the endpoint has FI_TAGGED, FI_ATOMIC, FI_COLLECTIVE or FI_TRIGGER, which copy device memory";
	if (ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		return "the receives of a shared receive context copy device memory";
	return ep->prov_keys ? NULL : "RMA copies device memory without FI_MR_PROV_KEY";
}

int ofi_rdm_may_stop_calls(const struct ofi_rdm_ep *ep, const struct fid *fid)
{
	const char *why =
		fid == &ep->fid.fid ? obstacle(ep) : "contexts and aliases do not have this option";

	if (why)
		return ofi_decline(ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
				   "fi_setopt: FI_OPT_CUDA_API_PERMITTED: %s\n", why);
	if (ep->enabled)
		return ofi_refuse(ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
				  "fi_setopt: set FI_OPT_CUDA_API_PERMITTED before fi_enable\n");
	return 0;
}
