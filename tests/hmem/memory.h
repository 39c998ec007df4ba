/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of the false GPUs. It is mapped without any access at the address that programs know,
 * so that a processor that touches it ends the program. The copies and the dma-buf, which is a
 * memfd, reach it by a second mapping.
 */
#ifndef FALSE_MEMORY_H
#define FALSE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct false_memory {
	uint64_t id; /* 0: unused */
	uint8_t *device, *host;
	size_t len; /* whole pages */
	int fd;
};

enum { FALSE_PAGE = 4096 };

/*
 * Counts a call. Returns the error that FALSE_GPU_FAIL, such as cuInit:100, asks of this function,
 * or 0.
 */
int false_memory_called(const char *name);
/* Returns false if there is no memory. */
bool false_memory_new(size_t len, uint64_t *addr);
/* These return false if nothing is allocated at the address. */
bool false_memory_delete(uint64_t addr);
bool false_memory_find(uint64_t addr, struct false_memory *found);
/* Copy. These return false if the bytes are not all of one allocation. */
bool false_memory_put(uint64_t to, const void *from, size_t len);
bool false_memory_get(void *to, uint64_t from, size_t len);
/*
 * Returns a descriptor of the memory's file, whose position is that of the address, or -1. The
 * test's registration begins there, which is why it is a file of its own.
 */
int false_memory_open(uint64_t addr, size_t len);

/* For tests: what gpu.c needs, whatever the runtime is. */
extern const int false_gpu_iface;
void *false_gpu_alloc(size_t len);
bool false_gpu_free(const void *addr);
bool false_gpu_owns(const void *addr);
bool false_gpu_put(void *to, const void *from, size_t len);
bool false_gpu_get(void *to, const void *from, size_t len);
int false_gpu_export(const void *addr, size_t len);
/* Returns how often the functions of the runtime were called. */
uint64_t false_gpu_calls(void);

#endif
