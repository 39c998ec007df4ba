/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The reverse lookup of address vectors: linear probing with 4 bytes per slot. Between two values
 * of the sequence counter, data that readers use is stored with release and loaded with acquire
 * order, so no fence is needed.
 */
#include <stdlib.h>
#include <string.h>
#include "av.h"

enum { SLOTS_MIN = 64 };

struct vrb_source_slots {
	struct vrb_source_slots *older; /* a reader may still be using it */
	size_t mask;
	uint32_t slot[]; /* index + 1, 0 if empty; atomic */
};

struct key {
	uint64_t prefix, id;
	uint32_t qpn;
};

static struct key key_of(const struct vrb_dest *dest)
{
	return (struct key){
		.prefix = __atomic_load_n(&dest->gid.global.subnet_prefix, __ATOMIC_ACQUIRE),
		.id = __atomic_load_n(&dest->gid.global.interface_id, __ATOMIC_ACQUIRE),
		.qpn = __atomic_load_n(&dest->qpn, __ATOMIC_ACQUIRE),
	};
}

static size_t key_hash(struct key key)
{
	uint64_t h = key.prefix * 0x9e3779b97f4a7c15u ^ key.id;

	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u + key.qpn;
	h = (h ^ h >> 32) * 0xd6e8feb86659fd93u;
	return (size_t)(h ^ h >> 32);
}

static bool key_equal(struct key a, struct key b)
{
	return a.prefix == b.prefix && a.id == b.id && a.qpn == b.qpn;
}

void vrb_dest_set(struct vrb_dest *entry, const struct vrb_dest *from)
{
	__atomic_store_n(&entry->gid.global.subnet_prefix, from->gid.global.subnet_prefix,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&entry->gid.global.interface_id, from->gid.global.interface_id,
			 __ATOMIC_RELEASE);
	__atomic_store_n(&entry->qpn, from->qpn, __ATOMIC_RELEASE);
	entry->qkey = from->qkey;
	entry->lid = from->lid;
	entry->pkey = from->pkey;
	entry->sl = from->sl;
	memcpy(entry->qpn2, from->qpn2, sizeof(entry->qpn2));
}

void vrb_sources_fini(struct vrb_sources *sources)
{
	struct vrb_source_slots *slots;

	while ((slots = sources->slots)) {
		sources->slots = slots->older;
		free(slots);
	}
	sources->count = 0;
}

/* Surround every change of an entry or of the index. */
static void begin_change(struct vrb_sources *sources)
{
	__atomic_store_n(&sources->seq, sources->seq + 1, __ATOMIC_RELAXED);
}

static void end_change(struct vrb_sources *sources)
{
	__atomic_store_n(&sources->seq, sources->seq + 1, __ATOMIC_RELEASE);
}

static uint32_t slot_get(const struct vrb_source_slots *slots, size_t at)
{
	return __atomic_load_n(&slots->slot[at], __ATOMIC_ACQUIRE);
}

static void slot_set(struct vrb_source_slots *slots, size_t at, uint32_t value)
{
	__atomic_store_n(&slots->slot[at], value, __ATOMIC_RELEASE);
}

static void av_source_put(struct vrb_source_slots *slots, size_t index, const struct vrb_dest *dest)
{
	size_t at = key_hash(key_of(dest)) & slots->mask;

	while (slot_get(slots, at))
		at = (at + 1) & slots->mask;
	slot_set(slots, at, (uint32_t)index + 1);
}

/* Makes room for one more. Returns false when out of memory. */
static bool sources_reserve(struct vrb_sources *sources, const struct ofi_table *table)
{
	struct vrb_source_slots *old = sources->slots, *slots;
	size_t room = old ? old->mask + 1 : 0, at;
	uint32_t value;

	if (sources->count + 1 <= room - room / 4)
		return true;
	room = room ? room * 2 : SLOTS_MIN;
	slots = calloc(1, sizeof(*slots) + room * sizeof(slots->slot[0]));
	if (!slots)
		return false;
	slots->mask = room - 1;
	slots->older = old;
	for (at = 0; old && at <= old->mask; at++) {
		value = slot_get(old, at);
		if (value)
			av_source_put(slots, value - 1, ofi_table_at(table, value - 1));
	}
	__atomic_store_n(&sources->slots, slots, __ATOMIC_RELEASE);
	return true;
}

bool vrb_sources_put(struct vrb_sources *sources, const struct ofi_table *table, size_t index,
		     struct vrb_dest *entry, const struct vrb_dest *from, bool indexed)
{
	if (indexed && !sources_reserve(sources, table))
		return false;
	begin_change(sources);
	if (from)
		vrb_dest_set(entry, from);
	if (indexed)
		av_source_put(sources->slots, index, entry);
	sources->count += indexed;
	end_change(sources);
	return true;
}

/*
 * Moves entries up that were displaced by the slot that is now free, so that no probe ends too
 * early.
 */
static void close_gap(struct vrb_source_slots *slots, const struct ofi_table *table, size_t gap)
{
	size_t at = gap, home;
	uint32_t value;

	for (;;) {
		at = (at + 1) & slots->mask;
		value = slot_get(slots, at);
		if (!value)
			break;
		home = key_hash(key_of(ofi_table_at(table, value - 1))) & slots->mask;
		if (((at - home) & slots->mask) < ((at - gap) & slots->mask))
			continue;
		slot_set(slots, gap, value);
		gap = at;
	}
	slot_set(slots, gap, 0);
}

void vrb_sources_remove(struct vrb_sources *sources, const struct ofi_table *table, size_t index)
{
	struct vrb_source_slots *slots = sources->slots;
	size_t at = key_hash(key_of(ofi_table_at(table, index))) & slots->mask;

	while (slot_get(slots, at) != (uint32_t)index + 1)
		at = (at + 1) & slots->mask;
	begin_change(sources);
	close_gap(slots, table, at);
	sources->count--;
	end_change(sources);
}

/* May run during a change: every index is checked, and the number of steps is bounded. */
static size_t probe_slots(const struct vrb_source_slots *slots, const struct ofi_table *table,
			  struct key key)
{
	size_t at = key_hash(key) & slots->mask, steps;
	const struct vrb_dest *dest;
	uint32_t value;

	for (steps = 0; steps <= slots->mask; steps++) {
		value = slot_get(slots, at);
		if (!value)
			break;
		dest = ofi_table_at(table, value - 1);
		if (dest && key_equal(key_of(dest), key))
			return value - 1;
		at = (at + 1) & slots->mask;
	}
	return OFI_TABLE_NONE;
}

size_t vrb_sources_find(const struct vrb_sources *sources, const struct ofi_table *table,
			const union ibv_gid *gid, uint32_t qpn)
{
	const struct vrb_dest wanted = { .gid = *gid, .qpn = qpn };
	const struct vrb_source_slots *slots;
	struct key key = key_of(&wanted);
	unsigned int seq;
	size_t index;

	do {
		while ((seq = __atomic_load_n(&sources->seq, __ATOMIC_ACQUIRE)) & 1)
			;
		slots = __atomic_load_n(&sources->slots, __ATOMIC_ACQUIRE);
		index = slots ? probe_slots(slots, table, key) : OFI_TABLE_NONE;
	} while (__atomic_load_n(&sources->seq, __ATOMIC_RELAXED) != seq);
	return index;
}
