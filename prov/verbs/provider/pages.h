/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that is registered has pages of its own: with RDMAV_FORK_SAFE libibverbs takes whole pages
 * from a forked child, which needs all the rest of the heap.
 */
#ifndef VRB_PAGES_H
#define VRB_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* Zeros, or NULL. */
static inline void *vrb_pages_map(size_t len)
{
	void *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* NULL is ignored. */
static inline void vrb_pages_unmap(void *at, size_t len)
{
	if (at)
		munmap(at, len);
}

#endif
