/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Options of endpoints with FI_HMEM: FI_OPT_FI_HMEM_P2P and FI_OPT_CUDA_API_PERMITTED. */
#include <rdma/fi_endpoint.h>
#include "ep.h"
#include "hmem.h"
#include "refuse.h"

bool ofi_hmem_has_option(const struct fi_info *info, int level, int name)
{
	return info->caps & FI_HMEM && level == FI_OPT_ENDPOINT &&
	       (name == FI_OPT_FI_HMEM_P2P || name == FI_OPT_CUDA_API_PERMITTED);
}

int ofi_hmem_getopt(const struct fi_provider *prov, const struct ofi_hmem_options *options,
		    int name, void *value, size_t *len)
{
	const int p2p = options->p2p;
	const bool permitted = !options->no_calls;

	if (name == FI_OPT_FI_HMEM_P2P)
		return ofi_ep_give_option(prov, name, &p2p, sizeof(p2p), value, len);
	return ofi_ep_give_option(prov, name, &permitted, sizeof(permitted), value, len);
}

static int set_p2p(const struct fi_provider *prov, const struct fi_info *info,
		   struct ofi_hmem_options *options, int to)
{
	bool copies = info->ep_attr->type == FI_EP_RDM;

	if (to < FI_HMEM_P2P_ENABLED || to > FI_HMEM_P2P_DISABLED)
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "fi_setopt: FI_OPT_FI_HMEM_P2P has no value %d\n", to);
	if ((!copies || info->caps & FI_RMA) && to == FI_HMEM_P2P_DISABLED)
		return ofi_decline(
			prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
			"fi_setopt: FI_HMEM_P2P_DISABLED; FI_EP_MSG and FI_RMA have no other way to device memory\n");
	if (copies && to == FI_HMEM_P2P_REQUIRED)
		return ofi_decline(
			prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
			"fi_setopt: FI_HMEM_P2P_REQUIRED; FI_EP_RDM copies short messages\n");
	options->p2p = to;
	return 0;
}

int ofi_hmem_setopt(const struct fi_provider *prov, const struct fi_info *info,
		    struct ofi_hmem_options *options, int name, const void *value, size_t len)
{
	uint8_t permitted;
	int p2p, ret;

	if (name == FI_OPT_FI_HMEM_P2P) {
		ret = ofi_ep_take_option(prov, name, &p2p, sizeof(p2p), value, len);
		return ret ? ret : set_p2p(prov, info, options, p2p);
	}
	ret = ofi_ep_take_option(prov, name, &permitted, sizeof(permitted), value, len);
	if (!ret)
		options->no_calls = !permitted;
	return ret;
}
