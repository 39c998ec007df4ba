/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Device memory in tests. A program that links gpu.c has the fake GPU of tests/hmem, and its
 * fixtures allocate their memory there. Other programs have none.
 */
#ifndef GPU_H
#define GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_domain.h>

struct gpu {
	void *(*alloc)(size_t len);
	void (*free)(void *addr);
	bool (*owns)(const void *addr);
	void (*put)(void *to, const void *from, size_t len);
	void (*get)(void *to, const void *from, size_t len);
	int (*export)(const void *addr, size_t len); /* a descriptor of a dma-buf */
	uint64_t (*calls)(void);		     /* of the runtime so far */
	enum fi_hmem_iface (*iface)(void);
	uint64_t (*regions)(void); /* dma-buf registrations so far */
};

/* In tests/hmem/dmabuf.c. */
uint64_t false_dmabuf_regions(void);

/* NULL if there is none. */
extern const struct gpu *const gpu;

/* memcpy() and memset() where either side may be device memory. */
void mem_put(void *to, const void *from, size_t len);
void mem_get(void *to, const void *from, size_t len);
void mem_set(void *to, int byte, size_t len);
/* Registers device memory with fi_mr_regattr. */
void gpu_reg(struct fid_domain *domain, void *buf, size_t len, uint64_t access, struct fid_mr **mr);

#endif
