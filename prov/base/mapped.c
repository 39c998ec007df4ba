/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mapped.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
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

bool ofi_has_hole(const void *at, size_t len, bool written)
{
	uintptr_t next = (uintptr_t)at, end = next + len, from, to;
	FILE *maps = fopen("/proc/self/maps", "re");
	char read, write;

	if (!maps)
		return false;
	if (end < next)
		end = UINTPTR_MAX;
	while (next < end && fscanf(maps, "%" SCNxPTR "-%" SCNxPTR " %c%c%*[^\n]", &from, &to,
				    &read, &write) == 4) {
		if (to <= next)
			continue;
		if (from > next || read != 'r' || (written && write != 'w'))
			break;
		next = to;
	}
	fclose(maps);
	return next < end;
}
