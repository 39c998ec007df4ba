/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registration of device memory: as dma-buf, or by its address where the kernel has peer memory. */
#ifndef VRB_MR_HMEM_H
#define VRB_MR_HMEM_H

#include <infiniband/verbs.h>
#include "prov/base/hmem.h"

struct vrb_domain;

/* Flags of fi_mr_regattr that say what memory it is. */
#define VRB_MR_HMEM_FLAGS (FI_MR_DMABUF | FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY)

/* Memory that is not the system's, or comes as a dma-buf. */
struct vrb_mr_memory {
	const struct ofi_hmem *hmem; /* NULL: the processor may touch it */
	const struct fi_mr_dmabuf *dmabuf;
	struct iovec iov;
};

/*
 * The interface is in the upper half of a region's descriptor, above the lkey, where the processor
 * must not touch the memory.
 */
static inline void *vrb_mr_desc(uint32_t lkey, const struct ofi_hmem *hmem)
{
	return (void *)(uintptr_t)(lkey | (hmem ? (uint64_t)hmem->iface << 32 : 0));
}

static inline enum fi_hmem_iface vrb_mr_desc_iface(const void *desc)
{
	return (enum fi_hmem_iface)((uintptr_t)desc >> 32);
}

/* What fi_mr_regattr is to register. 0 or -FI_E*, logged. */
int vrb_mr_memory(const struct vrb_domain *domain, const struct fi_mr_attr *attr, uint64_t flags,
		  struct vrb_mr_memory *memory);
/* NULL and errno, logged. */
struct ibv_mr *vrb_mr_hmem_reg(const struct vrb_domain *domain, const struct vrb_mr_memory *memory,
			       int access);

#endif
