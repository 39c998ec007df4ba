/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the application's registration that a descriptor stands for. */
#include "local.h"

#include "prov/base/desc.h"

/* Device memory has to be registered: its descriptor is the right one. */
bool ofi_rdm_region_covers(struct ofi_rdm_ep *ep, const void *desc, const void *at, size_t len,
			   bool written)
{
	struct ofi_domain *domain = ep->domain;
	uintptr_t start;
	size_t size;

	if (ofi_rdm_region_has(ep, desc, at, len, written))
		return true;
	if (!ofi_desc_permits(desc, written))
		return false;
	if (ofi_desc_iface(desc) || ofi_desc_is_dmabuf(desc))
		return true;
	if (!domain->ops->mr_range(domain, ofi_desc_lkey(desc), &start, &size))
		return false;
	ep->region[written].desc = desc;
	ep->region[written].start = start;
	ep->region[written].end = start + size;
	return ofi_rdm_region_has(ep, desc, at, len, written);
}
