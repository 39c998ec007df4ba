/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fixed-size entries found by index. They never move, so readers take no lock. A new entry gets the
 * lowest free index.
 */
#ifndef OFI_TABLE_H
#define OFI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "compiler.h"

#define OFI_TABLE_SHIFT 12 /* log2 of the number of entries in a chunk */
#define OFI_TABLE_CHUNK ((size_t)1 << OFI_TABLE_SHIFT)
#define OFI_TABLE_NONE	SIZE_MAX

struct ofi_table_chunk; /* follows the entries in memory */
struct ofi_table_dir;

struct ofi_table {
	size_t limit;		   /* all indices are below it; atomic, never decreases */
	uint8_t *const *chunks;	   /* atomic; the chunks of all indices below limit exist */
	size_t entry_size;	   /* constant */
	struct ofi_table_dir *dir; /* owns chunks and the directories that it replaced */
	size_t used;		   /* number of entries in use */
	size_t lowest;		   /* lower bound of the free indices */
};

/* Allocates nothing until it is used. */
void ofi_table_init(struct ofi_table *table, size_t entry_size);
/* Frees everything. The caller has freed what the entries own. */
void ofi_table_fini(struct ofi_table *table);
/*
 * Makes room in the directory for `count` entries, which are not allocated yet. Returns false when
 * out of memory.
 */
bool ofi_table_reserve(struct ofi_table *table, size_t count);
/*
 * Takes the lowest free index at or above `from`; returns OFI_TABLE_NONE when out of memory. A new
 * entry holds zeros, a reused one its old contents. The caller serializes changes.
 */
size_t ofi_table_take(struct ofi_table *table, size_t from);
void ofi_table_give(struct ofi_table *table, size_t index);
/* Returns true if the index is in use. Needs no lock, but without it the result may be outdated. */
bool ofi_table_has(const struct ofi_table *table, size_t index);
/*
 * Returns the word that accompanies an entry. The words of a chunk are allocated together, when the
 * first of them is requested, and preset to the indices. Returns NULL when out of memory.
 */
uint64_t *ofi_table_tag(struct ofi_table *table, size_t index);
/* Returns the word, or the index if none is allocated. Takes no lock. */
uint64_t ofi_table_tag_of(const struct ofi_table *table, size_t index);

/* Returns the entry of an index that was taken at least once, else NULL. Takes no lock. */
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
