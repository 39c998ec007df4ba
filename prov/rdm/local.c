/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the application's registration that a descriptor stands for. */
#include "local.h"

#include "lock.h"
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
	__atomic_store_n(&ep->region[written].desc, desc, __ATOMIC_RELAXED);
	ep->region[written].start = start;
	ep->region[written].end = start + size;
	return ofi_rdm_region_has(ep, desc, at, len, written);
}

/* Most regions are not the one used last, so the lock is rarely taken. */
void ofi_rdm_region_forget(struct ofi_rdm_ep *ep, const void *desc)
{
	int written;

	for (written = 0; written < 2; written++) {
		if (__atomic_load_n(&ep->region[written].desc, __ATOMIC_RELAXED) != desc)
			continue;
		ofi_rdm_lock(ep);
		if (ep->region[written].desc == desc)
			ep->region[written].end = 0;
		ofi_rdm_unlock(ep);
	}
}
