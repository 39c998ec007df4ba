/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which address a datagram came from: indices of an address vector, found by GID and queue pair
 * number. One writer at a time; readers take no lock and try again when a change was under way.
 */
#ifndef VRB_AV_SOURCE_H
#define VRB_AV_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/ds/table.h"
#include "ud_name.h"

struct vrb_source_slots;

struct vrb_sources {
	struct vrb_source_slots *slots; /* atomic; outgrown ones hang from it */
	size_t count;
	unsigned int seq; /* atomic; odd while something changes */
};

void vrb_sources_fini(struct vrb_sources *sources);
/* Around every change of an entry or of the index. */
void vrb_sources_begin(struct vrb_sources *sources);
void vrb_sources_end(struct vrb_sources *sources);
/* Room for one more, to be called before vrb_sources_begin(). False when out of memory. */
bool vrb_sources_reserve(struct vrb_sources *sources, const struct ofi_table *table);
/* The entry is filled, and stays so until it is removed. */
void vrb_sources_add(struct vrb_sources *sources, size_t index, const struct vrb_dest *dest);
void vrb_sources_remove(struct vrb_sources *sources, const struct ofi_table *table, size_t index);
/* OFI_TABLE_NONE when there is no such entry. Of equal entries any. */
size_t vrb_sources_find(const struct vrb_sources *sources, const struct ofi_table *table,
			const union ibv_gid *gid, uint32_t qpn);
/* Fills the fields of an entry that readers compare. */
void vrb_dest_set(struct vrb_dest *entry, const struct vrb_dest *from);

#endif
