/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A hash index of numbers by their keys. */
#include "index.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { SLOTS_MIN = 16 };

void ofi_index_fini(struct ofi_index *index)
{
	free(index->slots);
	*index = (struct ofi_index){ 0 };
}

static size_t home_of(const struct ofi_index *index, struct ofi_index_keys keys, const void *key)
{
	return keys.hash(key, index->seed) & index->mask;
}

static size_t home_of_slot(const struct ofi_index *index, struct ofi_index_keys keys, size_t slot)
{
	return home_of(index, keys, keys.key_of(keys.owner, index->slots[slot]));
}

/* Returns the slot with the key, or the empty slot that ends the search. The index has slots. */
static size_t slot_of(const struct ofi_index *index, struct ofi_index_keys keys, const void *key)
{
	size_t slot = home_of(index, keys, key);
	const void *at;

	for (; index->slots[slot] != OFI_INDEX_NONE; slot = (slot + 1) & index->mask) {
		at = keys.key_of(keys.owner, index->slots[slot]);
		if (!keys.compare(at, key))
			break;
	}
	return slot;
}

uint32_t ofi_index_find(const struct ofi_index *index, struct ofi_index_keys keys, const void *key)
{
	return index->slots ? index->slots[slot_of(index, keys, key)] : OFI_INDEX_NONE;
}

static void put(struct ofi_index *index, struct ofi_index_keys keys, uint32_t number)
{
	size_t slot = home_of(index, keys, keys.key_of(keys.owner, number));

	while (index->slots[slot] != OFI_INDEX_NONE)
		slot = (slot + 1) & index->mask;
	index->slots[slot] = number;
}

/*
 * The seeds of all indexes come from one random number of the process. Without randomness that
 * number is 0, which only makes collisions easier to choose.
 */
static uint64_t new_seed(void)
{
	static uint64_t secret, count;
	uint64_t drawn = __atomic_load_n(&secret, __ATOMIC_RELAXED);

	if (!drawn && getrandom(&drawn, sizeof(drawn), GRND_NONBLOCK) == sizeof(drawn))
		__atomic_store_n(&secret, drawn, __ATOMIC_RELAXED);
	return ofi_index_mix(drawn, __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
}

static bool grow(struct ofi_index *index, struct ofi_index_keys keys)
{
	size_t i, slots = index->slots ? (index->mask + 1) * 2 : SLOTS_MIN;
	struct ofi_index old = *index;

	index->slots = malloc(slots * sizeof(*index->slots));
	if (!index->slots) {
		*index = old;
		return false;
	}
	memset(index->slots, 0xff, slots * sizeof(*index->slots));
	index->mask = slots - 1;
	if (!old.slots)
		index->seed = new_seed();
	for (i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i] != OFI_INDEX_NONE)
			put(index, keys, old.slots[i]);
	free(old.slots);
	return true;
}

/* At most three quarters of the slots are used, so every search ends. */
bool ofi_index_add(struct ofi_index *index, struct ofi_index_keys keys, uint32_t number)
{
	if ((!index->slots || index->used >= index->mask - index->mask / 4) && !grow(index, keys))
		return false;
	put(index, keys, number);
	index->used++;
	return true;
}

/* Moves later numbers into the gap, except one that would end up before its home slot. */
void ofi_index_remove(struct ofi_index *index, struct ofi_index_keys keys, uint32_t number)
{
	size_t gap, slot, mask = index->mask;

	if (!index->slots)
		return;
	gap = slot = slot_of(index, keys, keys.key_of(keys.owner, number));
	if (index->slots[gap] != number)
		return;
	for (;;) {
		slot = (slot + 1) & mask;
		if (index->slots[slot] == OFI_INDEX_NONE)
			break;
		if (((slot - home_of_slot(index, keys, slot)) & mask) >= ((slot - gap) & mask)) {
			index->slots[gap] = index->slots[slot];
			gap = slot;
		}
	}
	index->slots[gap] = OFI_INDEX_NONE;
	index->used--;
}
