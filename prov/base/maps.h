/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counts the process's mappings without allocating, so that threads that must not change a mapping
 * may call it.
 */
#ifndef OFI_MAPS_H
#define OFI_MAPS_H

#include <stddef.h>

/* Returns 0 if there is no /proc. Takes about 100 ns per mapping. */
size_t ofi_maps_count(void);
/* Returns vm.max_map_count, beyond which mmap() and malloc() fail. */
size_t ofi_maps_limit(void);

#endif
