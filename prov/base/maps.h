/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The process's mappings, counted without allocating: a thread that must not change a mapping may
 * ask.
 */
#ifndef OFI_MAPS_H
#define OFI_MAPS_H

#include <stddef.h>

/* 0 where there is no /proc. Takes some 100 ns for each. */
size_t ofi_maps_count(void);
/* vm.max_map_count: beyond it mmap() and malloc() fail. */
size_t ofi_maps_limit(void);

#endif
