/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Finds the address that a datagram came from: indices of an address vector by GID and queue pair
 * number. There is one writer at a time; readers take no lock and retry if a change was in
 * progress.
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
	struct vrb_source_slots *slots; /* atomic; replaced ones are linked to it */
	size_t count;
	unsigned int seq; /* atomic; odd during a change */
};

void vrb_sources_fini(struct vrb_sources *sources);
/*
 * Sets an entry, unless `from` is NULL, and adds it to the index if `indexed`. The entry does not
 * change until it is removed. Returns false when out of memory.
 */
bool vrb_sources_put(struct vrb_sources *sources, const struct ofi_table *table, size_t index,
		     struct vrb_dest *entry, const struct vrb_dest *from, bool indexed);
void vrb_sources_remove(struct vrb_sources *sources, const struct ofi_table *table, size_t index);
/* Returns OFI_TABLE_NONE if there is no such entry. Of equal entries it may return any. */
size_t vrb_sources_find(const struct vrb_sources *sources, const struct ofi_table *table,
			const union ibv_gid *gid, uint32_t qpn);
/* Sets all fields of an entry but ah; the ones that readers compare are stored atomically. */
void vrb_dest_set(struct vrb_dest *entry, const struct vrb_dest *from);

#endif
