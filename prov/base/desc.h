/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Descriptors of memory regions: the lkey, above it the interface of memory that the processor must
 * not access, whether it is in a dma-buf of the application, whether the device may write on behalf
 * of the region's owner, and on top a mark that other values do not have. A program that need not
 * register its buffers may pass any value.
 */
#ifndef OFI_DESC_H
#define OFI_DESC_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_domain.h>

#define OFI_DESC_MARK	  0xd5c3e2u /* in the uppermost 24 bits */
#define OFI_DESC_WRITABLE 1u	    /* the last of these bits */
#define OFI_DESC_DMABUF	  (1ULL << 39)

static inline void *ofi_desc(uint32_t lkey, enum fi_hmem_iface iface, bool writable)
{
	return (void *)(uintptr_t)((uint64_t)(OFI_DESC_MARK | (writable ? OFI_DESC_WRITABLE : 0))
					   << 40 |
				   (uint64_t)iface << 32 | lkey);
}

static inline void *ofi_desc_of_dmabuf(const void *desc)
{
	return (void *)(uintptr_t)((uintptr_t)desc | OFI_DESC_DMABUF);
}

static inline uint32_t ofi_desc_lkey(const void *desc)
{
	return (uint32_t)(uintptr_t)desc;
}

/* Returns true if the device may read from the region, or write to it, on behalf of its owner. */
static inline bool ofi_desc_permits(const void *desc, bool write)
{
	uint64_t mark = (uint64_t)(uintptr_t)desc >> 40;

	return (write ? mark : mark | OFI_DESC_WRITABLE) == (OFI_DESC_MARK | OFI_DESC_WRITABLE);
}

/* Returns the list, or NULL if it is a descriptor itself: no pointer has its mark. */
static inline void *const *ofi_desc_list(void *const *list)
{
	return ofi_desc_permits(list, false) ? NULL : list;
}

/* Returns a descriptor of a list, or NULL without one. */
static inline void *ofi_desc_at(void *const *list, size_t i)
{
	list = ofi_desc_list(list);
	return list ? list[i] : NULL;
}

/* Returns FI_HMEM_SYSTEM for what is no descriptor. */
static inline enum fi_hmem_iface ofi_desc_iface(const void *desc)
{
	return ofi_desc_permits(desc, false)
		       ? (enum fi_hmem_iface)((uintptr_t)desc >> 32 & INT8_MAX)
		       : FI_HMEM_SYSTEM;
}

/* Returns true for device memory that need not be mapped where the addresses of its region say. */
static inline bool ofi_desc_is_dmabuf(const void *desc)
{
	return ofi_desc_permits(desc, false) && ((uintptr_t)desc & OFI_DESC_DMABUF);
}

#endif
