/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mapped.h"

#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Linux 5.14, which the C library's headers may not know. */
#define POPULATE_READ  22
#define POPULATE_WRITE 23

bool ofi_is_mapped(const void *at, size_t len, bool written)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start = (uintptr_t)at / page * page;

	return !madvise((void *)start, (uintptr_t)at + len - start,
			written ? POPULATE_WRITE : POPULATE_READ);
}
