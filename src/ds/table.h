/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Entries of a fixed size that are found by their index. They never move, so a reader needs no
 * lock. A new entry has the lowest index that is free.
 */
#ifndef OFI_TABLE_H
#define OFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "compiler.h"

#define OFI_TABLE_SHIFT 12 /* entries of a chunk, as a power of two */
#define OFI_TABLE_CHUNK ((size_t)1 << OFI_TABLE_SHIFT)
#define OFI_TABLE_NONE	SIZE_MAX

struct ofi_table_chunk; /* entries first */
struct ofi_table_dir;

struct ofi_table {
	size_t limit;		   /* indices are below it; atomic, never sinks */
	uint8_t *const *chunks;	   /* atomic; its chunks below limit are there */
	size_t entry_size;	   /* constant */
	struct ofi_table_dir *dir; /* owner of chunks, and of those that were too small */
	size_t used;		   /* entries in use */
	size_t lowest;		   /* no free index is below it */
};

/* Holds no memory until it is used. */
void ofi_table_init(struct ofi_table *table, size_t entry_size);
/* Frees all. What entries own is for the caller to free before. */
void ofi_table_fini(struct ofi_table *table);
/* Room to find `count` entries, as a hint: they are not allocated yet. False when out of memory. */
bool ofi_table_reserve(struct ofi_table *table, size_t count);
/*
 * Takes the lowest free index from `from` on; OFI_TABLE_NONE when out of memory. A new entry holds
 * zeros, a used one what it was left with. Changes are for the caller to serialize.
 */
size_t ofi_table_take(struct ofi_table *table, size_t from);
void ofi_table_give(struct ofi_table *table, size_t index);
/*
 * Is the index in use? Needs no lock, but the answer may be out of date without that of the
 * changes.
 */
bool ofi_table_has(const struct ofi_table *table, size_t index);
/*
 * The word that goes with an entry, made with the first one, preset to the indices. NULL when out
 * of memory.
 */
uint64_t *ofi_table_tag(struct ofi_table *table, size_t index);
/* The same, or the index when none was made. Needs no lock. */
uint64_t ofi_table_tag_of(const struct ofi_table *table, size_t index);

/* The entry of an index that was taken once, else NULL. Needs no lock. */
static inline void *ofi_table_at(const struct ofi_table *table, size_t index)
{
	uint8_t *const *chunks;

	if (ofi_unlikely(index >= __atomic_load_n(&table->limit, __ATOMIC_ACQUIRE)))
		return NULL;
	chunks = __atomic_load_n(&table->chunks, __ATOMIC_RELAXED);
	return chunks[index >> OFI_TABLE_SHIFT] +
	       (index & (OFI_TABLE_CHUNK - 1)) * table->entry_size;
}

#endif
