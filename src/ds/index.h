/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Numbers found by what they stand for, in 4 bytes a slot: linear probing over a hash with a random
 * seed. The caller keeps the keys, serializes all calls, and adds no two numbers with equal keys.
 */
#ifndef OFI_INDEX_H
#define OFI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFI_INDEX_NONE UINT32_MAX /* not a number that can be added */

/* All calls of an index have the same. */
struct ofi_index_keys {
	const void *owner;
	/* Returns the key of a number that was added. */
	const void *(*key_of)(const void *owner, uint32_t number);
	uint64_t (*hash)(const void *key, uint64_t seed);
	int (*compare)(const void *a, const void *b); /* 0: equal */
};

/* Zeros are an empty one. */
struct ofi_index {
	uint32_t *slots; /* OFI_INDEX_NONE if empty */
	size_t mask;	 /* number of slots, minus one */
	size_t used;
	uint64_t seed;
};

void ofi_index_fini(struct ofi_index *index);
/* Returns the number with the key, or OFI_INDEX_NONE. */
uint32_t ofi_index_find(const struct ofi_index *index, struct ofi_index_keys keys, const void *key);
/* Adds a number, whose key can be read already. Returns false when out of memory. */
bool ofi_index_add(struct ofi_index *index, struct ofi_index_keys keys, uint32_t number);
/* Removes a number, whose key can still be read. Does nothing if it was not added. */
void ofi_index_remove(struct ofi_index *index, struct ofi_index_keys keys, uint32_t number);

/* Adds a word to a hash, which begins with a seed. Returns the new hash. */
static inline uint64_t ofi_index_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

#endif
