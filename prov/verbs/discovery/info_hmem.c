/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_HMEM, which is examined and offered only on request. */
#include "info.h"
#include "inline.h"

#include <stdio.h>
#include <string.h>
#include "prov/base/hmem.h"
#include "prov/verbs/provider/prov.h"

static bool asks_hmem(const struct fi_info *hints)
{
	return hints && hints->caps & FI_HMEM;
}

/* Returns NULL, or the reason why endpoints of this type do not support device memory. */
static const char *hmem_obstacle(const struct fi_info *info)
{
	enum fi_ep_type type = info->ep_attr->type;
	const char *why;

	if (info->ep_attr->protocol == FI_PROTO_EFA)
		return "there is no device memory on Elastic Fabric Adapters";
	if (type == FI_EP_DGRAM)
		return "there is no device memory for FI_EP_DGRAM";
	if (type == FI_EP_RDM && vrb_rdm_wants_ud(info))
		return "verbs;ofi_rxd and FI_VERBS_RDM_TRANSPORT=ud or auto have no device memory";
	if (!ofi_hmem_any(&vrb_prov, &why))
		return why;
	return ofi_hmem_p2p_disabled()
		       ? "FI_HMEM_DISABLE_P2P is set, and regions of device memory need it"
		       : NULL;
}

void vrb_info_offer_hmem(struct fi_info *info, const struct fi_info *hints)
{
	if (!asks_hmem(hints) || hmem_obstacle(info))
		return;
	info->caps |= FI_HMEM;
	info->tx_attr->caps |= FI_HMEM;
	info->rx_attr->caps |= FI_HMEM;
	info->domain_attr->mr_mode |= FI_MR_HMEM;
	if (info->ep_attr->type == FI_EP_MSG && info->tx_attr->inject_size > VRB_INLINE_MAX)
		info->tx_attr->inject_size = VRB_INLINE_MAX;
}

void vrb_info_explain_hmem(const struct fi_info *info, const struct fi_info *hints,
			   struct ofi_miss *miss)
{
	const char *why = NULL;

	if (asks_hmem(hints) && miss)
		why = hmem_obstacle(info);
	if (why && !strcmp(miss->attr, "caps") && strstr(miss->asked, "FI_HMEM"))
		snprintf(miss->has, sizeof(miss->has), "%s", why);
}
