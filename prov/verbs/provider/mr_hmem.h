/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registration of device memory: as a dma-buf, or by its address if the kernel supports peer
 * memory.
 */
#ifndef VRB_MR_HMEM_H
#define VRB_MR_HMEM_H

#include <infiniband/verbs.h>
#include "prov/base/hmem.h"

struct vrb_domain;

/* Flags of fi_mr_regattr that describe the memory. */
#define VRB_MR_HMEM_FLAGS (FI_MR_DMABUF | FI_HMEM_HOST_ALLOC | FI_HMEM_DEVICE_ONLY)

/* Device memory, or memory that is passed as a dma-buf. */
struct vrb_mr_memory {
	const struct ofi_hmem *hmem; /* NULL: the processor may access it */
	const struct fi_mr_dmabuf *dmabuf;
	struct iovec iov;
};

/* Gets the memory that fi_mr_regattr registers from attr. Returns 0, or logs and returns -FI_E*. */
int vrb_mr_memory(const struct vrb_domain *domain, const struct fi_mr_attr *attr, uint64_t flags,
		  struct vrb_mr_memory *memory);
/*
 * Registers memory of an interface. On failure returns NULL without logging it; *why has the reason
 * why the dma-buf failed, and errno that of peer memory.
 */
struct ibv_mr *vrb_mr_hmem_try(const struct vrb_domain *domain, const struct vrb_mr_memory *memory,
			       int access, struct ofi_hmem_why *why);
/* Registers memory of an interface or a dma-buf. On failure logs it and returns NULL with errno. */
struct ibv_mr *vrb_mr_hmem_reg(const struct vrb_domain *domain, const struct vrb_mr_memory *memory,
			       int access);
/* Returns the descriptor of a region of this memory, or of the system's if it is NULL. */
void *vrb_mr_hmem_desc(const struct vrb_mr_memory *memory, uint32_t lkey, bool writable);

#endif
