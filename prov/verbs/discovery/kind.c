/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The devices of the verbs provider: all but Elastic Fabric Adapters. */
#include "kind.h"

#include <stdio.h>
#include "info.h"
#include "prov/verbs/provider/prov.h"

/*
 * An Elastic Fabric Adapter has neither connections nor multicast, and its datagrams differ from
 * those of other devices.
 */
static bool kind_takes(const struct vrb_device *dev, struct ofi_miss *why)
{
	if (dev->attr.vendor_id != VRB_VENDOR_AMAZON)
		return true;
	why->attr = "device";
	snprintf(why->asked, sizeof(why->asked), "an InfiniBand, RoCE or iWARP device");
	snprintf(why->has, sizeof(why->has),
		 "an Elastic Fabric Adapter, which verbs does not support");
	return false;
}

const struct vrb_kind vrb_kind = {
	.prov = &vrb_prov,
	.sizes = &vrb_params,
	.takes = kind_takes,
	.dgram = vrb_info_dgram,
	.names = FI_ADDR_IB_UD,
	.has_ip = true,
};

int vrb_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
		const struct fi_info *hints, struct fi_info **info)
{
	return vrb_kind_getinfo(&vrb_kind, version, node, service, flags, hints, info);
}
