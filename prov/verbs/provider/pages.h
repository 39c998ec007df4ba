/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Pages for memory that is registered. With RDMAV_FORK_SAFE, libibverbs removes registered pages as
 * a whole from a forked child, which still needs the rest of the heap.
 */
#ifndef VRB_PAGES_H
#define VRB_PAGES_H

#include <stddef.h>
#include <sys/mman.h>

/* Returns zeroed memory, or NULL. */
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
