/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_OPT_CUDA_API_PERMITTED set to false: an endpoint whose device memory only RMA uses, by its
 * descriptors. It takes all other memory for the system's, and asks no GPU's library for anything.
 */
#include "no_calls.h"

#include <rdma/fi_errno.h>
#include "prov/base/desc.h"
#include "prov/base/refuse.h"

static bool has_device(void *const *desc, size_t count)
{
	while (count--)
		if (ofi_desc_iface(ofi_desc_at(desc, count)))
			return true;
	return false;
}

int ofi_rdm_check_host(const struct ofi_rdm_ep *ep, const char *call, void *const *desc,
		       size_t count)
{
	if (!has_device(desc, count))
		return 0;
	return ofi_refuse(
		ep->domain->prov, FI_LOG_EP_DATA, -FI_EOPNOTSUPP,
		"%s of device memory: it would be copied, which FI_OPT_CUDA_API_PERMITTED does not permit; use RMA by its descriptor\n",
		call);
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
