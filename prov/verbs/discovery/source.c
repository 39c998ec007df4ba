/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The source address of an endpoint whose fi_info has none. */
#include "source.h"

#include <ofi/addr.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "kind.h"
#include "prov/base/name.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/domain.h"

/* Takes the domain's IP address if it has one, with any port. Returns 0 or -FI_ENOMEM. */
static int take_domains(const struct fi_info *its, struct fi_info *info)
{
	if (!its->src_addr || its->addr_format != info->addr_format ||
	    info->addr_format > FI_SOCKADDR_IN6)
		return 0;
	info->src_addr = ofi_copy_new(its->src_addr, its->src_addrlen, &info->src_addrlen);
	if (!info->src_addr)
		return -FI_ENOMEM;
	ofi_addr_set_port(info->src_addr, 0);
	return 0;
}

int vrb_source_choose(const struct vrb_domain *domain, struct fi_info *info)
{
	const struct fi_provider *prov = domain->fabric->kind->prov;
	char *device = domain->ctx->device->name;
	struct fi_domain_attr attr = { .name = device, .mr_mode = FI_MR_LOCAL };
	struct fi_ep_attr ep = { .type = info->ep_attr->type };
	struct fi_fabric_attr fabric = { .name = domain->base.info->fabric_attr->name };
	const struct fi_info hints = { .addr_format = info->addr_format,
				       .fabric_attr = &fabric,
				       .domain_attr = &attr,
				       .ep_attr = &ep };
	struct fi_info *found;
	int ret;

	if (info->src_addr)
		return 0;
	ret = take_domains(domain->base.info, info);
	if (ret || info->src_addr)
		return ret;
	ret = prov->getinfo(prov->fi_version, NULL, NULL, 0, &hints, &found);
	if (ret)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, ret,
			"fi_endpoint: the fi_info has no src_addr, and %s none to offer: %s\n",
			device, fi_strerror(-ret));
	info->addr_format = found->addr_format;
	info->src_addr = found->src_addr;
	info->src_addrlen = found->src_addrlen;
	found->src_addr = NULL;
	fi_freeinfo(found);
	return 0;
}
