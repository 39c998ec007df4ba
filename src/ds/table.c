/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Entries found by index, in chunks that never move. */
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_BITS = 64, CHUNK_WORDS = OFI_TABLE_CHUNK / WORD_BITS, DIR_MIN = 16 };

/* Stored after the entries of a chunk. */
struct ofi_table_chunk {
	uint64_t live[CHUNK_WORDS];
	uint64_t *tags; /* atomic */
};

/* Replaced directories are kept, because a reader may still use them. */
struct ofi_table_dir {
	struct ofi_table_dir *older;
	size_t room;
	uint8_t *chunks[];
};

void ofi_table_init(struct ofi_table *table, size_t entry_size)
{
	*table = (struct ofi_table){ .entry_size = (entry_size + 7) & ~(size_t)7 };
}

static size_t chunk_count(const struct ofi_table *table)
{
	return (table->limit + OFI_TABLE_CHUNK - 1) >> OFI_TABLE_SHIFT;
}

static struct ofi_table_chunk *chunk_of(const struct ofi_table *table, size_t index)
{
	uint8_t *const *chunks = __atomic_load_n(&table->chunks, __ATOMIC_RELAXED);

	return (void *)(chunks[index >> OFI_TABLE_SHIFT] + OFI_TABLE_CHUNK * table->entry_size);
}

void ofi_table_fini(struct ofi_table *table)
{
	size_t i, count = chunk_count(table);
	struct ofi_table_dir *dir;

	for (i = 0; i < count; i++) {
		free(chunk_of(table, i << OFI_TABLE_SHIFT)->tags);
		free(table->chunks[i]);
	}
	while ((dir = table->dir)) {
		table->dir = dir->older;
		free(dir);
	}
	ofi_table_init(table, table->entry_size);
}

static bool table_grow(struct ofi_table *table, size_t room)
{
	size_t count = chunk_count(table);
	struct ofi_table_dir *dir;

	if (table->dir && table->dir->room >= room)
		return true;
	if (room < DIR_MIN)
		room = DIR_MIN;
	if (table->dir && room < table->dir->room * 2)
		room = table->dir->room * 2;
	dir = malloc(sizeof(*dir) + room * sizeof(dir->chunks[0]));
	if (!dir)
		return false;
	dir->room = room;
	dir->older = table->dir;
	if (count)
		memcpy(dir->chunks, table->dir->chunks, count * sizeof(dir->chunks[0]));
	table->dir = dir;
	__atomic_store_n(&table->chunks, dir->chunks, __ATOMIC_RELEASE);
	return true;
}

bool ofi_table_reserve(struct ofi_table *table, size_t count)
{
	return !count || table_grow(table, ((count - 1) >> OFI_TABLE_SHIFT) + 1);
}

/* Adds one index at the end. */
static bool table_extend(struct ofi_table *table)
{
	size_t chunk = table->limit >> OFI_TABLE_SHIFT;

	if (!(table->limit & (OFI_TABLE_CHUNK - 1))) {
		if (!table_grow(table, chunk + 1))
			return false;
		table->dir->chunks[chunk] = calloc(1, OFI_TABLE_CHUNK * table->entry_size +
							      sizeof(struct ofi_table_chunk));
		if (!table->dir->chunks[chunk])
			return false;
	}
	__atomic_store_n(&table->limit, table->limit + 1, __ATOMIC_RELEASE);
	return true;
}

static uint64_t *live_word(const struct ofi_table *table, size_t index)
{
	return &chunk_of(table, index)->live[(index & (OFI_TABLE_CHUNK - 1)) / WORD_BITS];
}

static uint64_t live_bit(size_t index)
{
	return 1ULL << (index % WORD_BITS);
}

/* The caller serializes changes; readers take no lock. */
static void set_live(struct ofi_table *table, size_t index, bool live)
{
	uint64_t *word = live_word(table, index);
	uint64_t others = *word & ~live_bit(index);

	__atomic_store_n(word, live ? others | live_bit(index) : others, __ATOMIC_RELEASE);
}

/* Returns the first unused index at or after `index`; if there is none, the limit. */
static size_t find_free(const struct ofi_table *table, size_t index)
{
	uint64_t idle;

	if (table->used == table->limit)
		return table->limit;
	while (index < table->limit) {
		idle = ~*live_word(table, index) & ~(live_bit(index) - 1);
		if (idle) {
			index = (index & ~(size_t)(WORD_BITS - 1)) + (size_t)__builtin_ctzll(idle);
			break;
		}
		index = (index | (WORD_BITS - 1)) + 1;
	}
	return index < table->limit ? index : table->limit;
}

size_t ofi_table_take(struct ofi_table *table, size_t from)
{
	size_t index = find_free(table, from > table->lowest ? from : table->lowest);

	if (index == table->limit && !table_extend(table))
		return OFI_TABLE_NONE;
	set_live(table, index, true);
	table->used++;
	if (from <= table->lowest)
		table->lowest = index + 1;
	return index;
}

void ofi_table_give(struct ofi_table *table, size_t index)
{
	uint64_t *tags = chunk_of(table, index)->tags;

	set_live(table, index, false);
	table->used--;
	if (index < table->lowest)
		table->lowest = index;
	if (tags)
		__atomic_store_n(&tags[index & (OFI_TABLE_CHUNK - 1)], index, __ATOMIC_RELAXED);
}

bool ofi_table_has(const struct ofi_table *table, size_t index)
{
	return index < __atomic_load_n(&table->limit, __ATOMIC_ACQUIRE) &&
	       (__atomic_load_n(live_word(table, index), __ATOMIC_ACQUIRE) & live_bit(index));
}

uint64_t *ofi_table_tag(struct ofi_table *table, size_t index)
{
	struct ofi_table_chunk *chunk = chunk_of(table, index);
	size_t i, first = index & ~(OFI_TABLE_CHUNK - 1);
	uint64_t *tags = chunk->tags;

	if (!tags) {
		tags = malloc(OFI_TABLE_CHUNK * sizeof(*tags));
		if (!tags)
			return NULL;
		for (i = 0; i < OFI_TABLE_CHUNK; i++)
			tags[i] = first + i;
		__atomic_store_n(&chunk->tags, tags, __ATOMIC_RELEASE);
	}
	return &tags[index - first];
}

uint64_t ofi_table_tag_of(const struct ofi_table *table, size_t index)
{
	const uint64_t *tags = __atomic_load_n(&chunk_of(table, index)->tags, __ATOMIC_ACQUIRE);

	return tags ? __atomic_load_n(&tags[index & (OFI_TABLE_CHUNK - 1)], __ATOMIC_RELAXED)
		    : index;
}
