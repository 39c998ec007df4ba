/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rings in shared memory: packets of any length come out as they went in, and whatever one side
 * writes to the memory, the other stays within it.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include "prov/rdm/shm_ring.h"

enum { STEPS = 200000, WRECKS = 20000, LARGEST = 20000 };

static struct ofi_shm_ring_map map;
static struct ofi_shm_ring_tx tx;
static struct ofi_shm_ring_rx rx;

static uint32_t any_of(uint32_t n)
{
	static uint64_t random = 88172645463325252ULL;

	random ^= random << 13;
	random ^= random >> 7;
	random ^= random << 17;
	return (uint32_t)(random >> 20) % n;
}

static int setup(void **state)
{
	(void)state;
	memset(&map, 0, sizeof(map));
	tx = (struct ofi_shm_ring_tx){ .map = &map };
	rx = (struct ofi_shm_ring_rx){ .map = &map };
	return 0;
}

static void fill(uint8_t *bytes, uint32_t len, uint32_t seed)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)(seed * 31 + i);
}

/* Writes a packet in two pieces. */
static enum ofi_shm_ring_state put(uint32_t len, uint32_t mark)
{
	static uint8_t bytes[LARGEST];
	enum ofi_shm_ring_state state = ofi_shm_ring_begin(&tx, len, mark);

	if (state != OFI_SHM_RING_PACKET)
		return state;
	fill(bytes, len, mark);
	ofi_shm_ring_add(&tx, bytes, len / 3);
	ofi_shm_ring_add(&tx, bytes + len / 3, len - len / 3);
	ofi_shm_ring_end(&tx);
	return state;
}

static void get(uint32_t mark)
{
	static uint8_t bytes[LARGEST], expected[LARGEST];
	uint32_t len = 0, seen = 0;

	assert_int_equal(ofi_shm_ring_peek(&rx, &len, &seen), OFI_SHM_RING_PACKET);
	assert_int_equal(seen, mark);
	ofi_shm_ring_take(&rx, bytes, len);
	fill(expected, len, mark);
	assert_memory_equal(bytes, expected, len);
}

static void test_any_packets(void **state)
{
	uint32_t sent = 0, taken = 0, len, mark;
	int step;

	(void)state;
	for (step = 0; step < STEPS; step++) {
		if (any_of(2)) {
			sent += put(any_of(any_of(8) ? 200 : LARGEST), sent) == OFI_SHM_RING_PACKET;
		} else if (taken < sent) {
			get(taken++);
		} else {
			assert_int_equal(ofi_shm_ring_peek(&rx, &len, &mark), OFI_SHM_RING_EMPTY);
		}
	}
	assert_true(taken > STEPS / 4);
}

/* The end of a packet is near while at most half of the ring lies before it. */
static void test_full(void **state)
{
	uint64_t end = 0;
	uint32_t n;

	(void)state;
	for (n = 0; put(1000, n) == OFI_SHM_RING_PACKET; n++)
		end = tx.written;
	assert_int_equal(n, OFI_SHM_RING_DATA / 1008);
	assert_int_equal(put(1000, n), OFI_SHM_RING_FULL);
	assert_false(ofi_shm_ring_near(&tx, end));
	assert_true(ofi_shm_ring_near(&tx, 1008));
	for (n = 0; n < OFI_SHM_RING_DATA / 1008 / 2 + 1; n++)
		get(n);
	assert_true(ofi_shm_ring_near(&tx, end));
	assert_int_equal(put(1000, 9), OFI_SHM_RING_PACKET);
}

/* The writer is woken once its packet is near, however much is written behind it. */
static void test_waits_for_one(void **state)
{
	uint64_t end = 40 * 1008;
	uint32_t n;

	(void)state;
	for (n = 0; put(1000, n) == OFI_SHM_RING_PACKET; n++)
		;
	assert_true(n > 60);
	assert_false(ofi_shm_ring_must_wake_writer(&rx));
	ofi_shm_ring_wait(&tx, end);
	for (n = 0; !ofi_shm_ring_near(&tx, end); n++) {
		assert_false(ofi_shm_ring_must_wake_writer(&rx));
		get(n);
	}
	assert_int_equal(n, 8);
	assert_true(ofi_shm_ring_must_wake_writer(&rx));
	assert_false(ofi_shm_ring_must_wake_writer(&rx));
}

/* The reader's end goes back, or beyond what was written. */
static void test_wrong_reader(void **state)
{
	(void)state;
	while (put(1000, 1) == OFI_SHM_RING_PACKET)
		;
	map.read = tx.written + 8;
	assert_int_equal(put(1000, 1), OFI_SHM_RING_INVALID);
	assert_false(ofi_shm_ring_near(&tx, tx.written));
	map.read = 5040;
	assert_int_equal(put(1000, 1), OFI_SHM_RING_PACKET);
	while (put(1000, 1) == OFI_SHM_RING_PACKET)
		;
	map.read = 1008;
	assert_int_equal(put(1000, 1), OFI_SHM_RING_INVALID);
}

static void test_wrong_writer(void **state)
{
	const uint32_t lens[] = { OFI_SHM_RING_DATA, 1001, 0x7fffffff, UINT32_MAX };
	uint32_t len, mark;
	size_t i;

	(void)state;
	map.written = OFI_SHM_RING_DATA;
	assert_int_equal(ofi_shm_ring_written(&rx), OFI_SHM_RING_DATA);
	map.written = OFI_SHM_RING_DATA + 8;
	assert_int_equal(ofi_shm_ring_written(&rx), 0);
	assert_int_equal(ofi_shm_ring_peek(&rx, &len, &mark), OFI_SHM_RING_INVALID);
	rx.written = 0;
	map.written = 12;
	assert_int_equal(ofi_shm_ring_peek(&rx, &len, &mark), OFI_SHM_RING_INVALID);
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		setup(NULL);
		assert_int_equal(put(1000, 1), OFI_SHM_RING_PACKET);
		memcpy(map.data, &lens[i], sizeof(lens[i]));
		assert_int_equal(ofi_shm_ring_peek(&rx, &len, &mark), OFI_SHM_RING_INVALID);
	}
}

/* The memory is written over at random: nothing outside of it is touched. */
static void test_wrecked(void **state)
{
	static uint8_t bytes[OFI_SHM_RING_DATA];
	uint32_t len, mark;
	uint64_t wreck;
	int step;

	for (step = 0; step < WRECKS; step++) {
		if (!any_of(20))
			setup(state);
		put(any_of(3000), 0);
		wreck = any_of(2) ? any_of(1 << 20) & ~7u : (uint64_t)any_of(UINT32_MAX) << 32;
		if (!any_of(4))
			memcpy(&map.data[any_of(OFI_SHM_RING_DATA - 8)], &wreck, sizeof(wreck));
		if (!any_of(8))
			map.written = wreck;
		if (!any_of(8))
			map.read = wreck;
		if (ofi_shm_ring_peek(&rx, &len, &mark) != OFI_SHM_RING_PACKET)
			continue;
		assert_true(len <= sizeof(bytes));
		ofi_shm_ring_take(&rx, bytes, len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_any_packets, setup),
		cmocka_unit_test_setup(test_full, setup),
		cmocka_unit_test_setup(test_waits_for_one, setup),
		cmocka_unit_test_setup(test_wrong_reader, setup),
		cmocka_unit_test_setup(test_wrong_writer, setup),
		cmocka_unit_test_setup(test_wrecked, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
