/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A hash index that finds numbers by their keys, in 4 bytes per slot: linear probing, with a hash
 * that has a random seed. The caller keeps the keys, serializes all calls, and adds no two numbers
 * with equal keys.
 */
#ifndef OFI_INDEX_H
#define OFI_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OFI_INDEX_NONE UINT32_MAX /* not a number that can be added */

/* Gives access to the keys. All calls on an index pass the same value. */
struct ofi_index_keys {
	const void *owner;
	/* Returns the key of a number that was added. */
	const void *(*key_of)(const void *owner, uint32_t number);
	uint64_t (*hash)(const void *key, uint64_t seed);
	int (*compare)(const void *a, const void *b); /* 0 if equal */
};

/* All zeros are an empty index. */
struct ofi_index {
	uint32_t *slots; /* OFI_INDEX_NONE if empty */
	size_t mask;	 /* number of slots, minus one */
	size_t used;
	uint64_t seed;
};

void ofi_index_fini(struct ofi_index *index);
/* Returns the number with the key, or OFI_INDEX_NONE. */
uint32_t ofi_index_find(const struct ofi_index *index, struct ofi_index_keys keys, const void *key);
/* Adds a number; key_of() must already know its key. Returns false when out of memory. */
bool ofi_index_add(struct ofi_index *index, struct ofi_index_keys keys, uint32_t number);
/* Removes a number; key_of() must still know its key. Does nothing if it was not added. */
void ofi_index_remove(struct ofi_index *index, struct ofi_index_keys keys, uint32_t number);

/* Mixes a word into a hash, whose first value is the seed. Returns the new hash. */
static inline uint64_t ofi_index_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

#endif
