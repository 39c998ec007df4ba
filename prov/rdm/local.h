/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The application's own registrations. A program that need not register its buffers may pass any
 * descriptor with them, also that of a region of other memory.
 */
#ifndef OFI_RDM_LOCAL_H
#define OFI_RDM_LOCAL_H

#include "rdm.h"

/*
 * Returns true if the descriptor is that of the region used last, which has the memory. The memory
 * does not wrap around and is not empty. The caller holds the lock.
 */
static inline bool ofi_rdm_region_has(const struct ofi_rdm_ep *ep, const void *desc, const void *at,
				      size_t len, bool written)
{
	return desc == ep->region[written].desc && (uintptr_t)at >= ep->region[written].start &&
	       (uintptr_t)at + len <= ep->region[written].end;
}

/*
 * Returns true if the region of the descriptor has the memory, and may be written if `written` is
 * set. From now on it is the one used last. The caller holds the lock.
 */
bool ofi_rdm_region_covers(struct ofi_rdm_ep *ep, const void *desc, const void *at, size_t len,
			   bool written);

/* Called when the region of the descriptor closes: the descriptor then may be that of another. */
void ofi_rdm_region_forget(struct ofi_rdm_ep *ep, const void *desc);

#endif
