/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors of memory regions: the lkey, above it the interface of memory that the processor must
 * not access, and in the uppermost bits what tells a descriptor from any other value. A program
 * that need not register its buffers may pass any value.
 */
#ifndef OFI_DESC_H
#define OFI_DESC_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_domain.h>

#define OFI_DESC_VALID	  (1ull << 63)
#define OFI_DESC_WRITABLE (1ull << 62) /* by the local device */

static inline void *ofi_desc(uint32_t lkey, enum fi_hmem_iface iface, bool writable)
{
	return (void *)(uintptr_t)(OFI_DESC_VALID | (writable ? OFI_DESC_WRITABLE : 0) |
				   (uint64_t)iface << 32 | lkey);
}

static inline uint32_t ofi_desc_lkey(const void *desc)
{
	return (uint32_t)(uintptr_t)desc;
}

static inline enum fi_hmem_iface ofi_desc_iface(const void *desc)
{
	return (enum fi_hmem_iface)((uintptr_t)desc >> 32 & UINT8_MAX);
}

/* Returns true if the device may read from the region, or write to it, on behalf of its owner. */
static inline bool ofi_desc_permits(const void *desc, bool write)
{
	const uint64_t needs = OFI_DESC_VALID | (write ? OFI_DESC_WRITABLE : 0);

	return ((uint64_t)(uintptr_t)desc & needs) == needs;
}

#endif
