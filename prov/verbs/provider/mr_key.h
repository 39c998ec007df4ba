/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef VRB_MR_KEY_H
#define VRB_MR_KEY_H

#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

/* Implements FI_GET_RAW_MR: `size` bytes of the key, and the start of the region for peers. */
int vrb_mr_raw_get(uint64_t key, size_t size, uint64_t base, const struct fi_mr_raw_attr *raw);
/*
 * Implement FI_MAP_RAW_MR and FI_UNMAP_KEY for a domain whose keys have `size` bytes. Return 0 or
 * -FI_E*.
 */
int vrb_mr_raw_map(size_t size, const struct fi_mr_map_raw *map);
int vrb_mr_raw_unmap(const uint64_t *key);

#endif
