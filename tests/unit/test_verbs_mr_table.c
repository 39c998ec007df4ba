/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that peers may access by the device's key: bounds and access. */
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/mr_table.h"

enum { LEN = 64, KEY = 0x1234 };

static struct vrb_domain domain;
static uint8_t memory[LEN], bytes[LEN];
static struct ibv_mr mr = { .addr = memory, .length = LEN, .rkey = KEY };

static int open_table(void **state)
{
	(void)state;
	memset(&domain, 0, sizeof(domain));
	memset(memory, 7, LEN);
	memset(bytes, 9, LEN);
	vrb_mr_table_open(&domain.table);
	return 0;
}

static int close_table(void **state)
{
	(void)state;
	vrb_mr_table_close(&domain.table);
	return 0;
}

static bool copies(uint64_t offset, size_t len, bool written)
{
	return vrb_mr_table_copy(&domain, KEY, (uintptr_t)memory + offset, len, written, bytes);
}

static void test_access(void **state)
{
	(void)state;
	assert_int_equal(vrb_mr_table_add(&domain, &mr, IBV_ACCESS_REMOTE_READ), 0);
	assert_false(copies(0, LEN, true));
	assert_int_equal(memory[0], 7);
	assert_true(copies(0, LEN, false));
	assert_int_equal(bytes[LEN - 1], 7);
	vrb_mr_table_remove(&domain, &mr);
	assert_false(copies(0, LEN, false));
	assert_int_equal(vrb_mr_table_add(&domain, &mr, IBV_ACCESS_REMOTE_WRITE), 0);
	assert_false(copies(0, LEN, false));
	memset(bytes, 3, LEN);
	assert_true(copies(1, 1, true));
	assert_int_equal(memory[0], 7);
	assert_int_equal(memory[1], 3);
	assert_int_equal(memory[2], 7);
}

static void test_bounds(void **state)
{
	static const struct {
		uint64_t offset;
		size_t len;
	} outside[] = { { 0, LEN + 1 },	     { 1, LEN },	  { LEN, 1 },
			{ (uint64_t)-1, 2 }, { (uint64_t)-1, 1 }, { 8, SIZE_MAX },
			{ 8, SIZE_MAX - 7 } };
	size_t i;

	(void)state;
	assert_int_equal(
		vrb_mr_table_add(&domain, &mr, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE),
		0);
	for (i = 0; i < sizeof(outside) / sizeof(outside[0]); i++) {
		assert_false(copies(outside[i].offset, outside[i].len, false));
		assert_false(copies(outside[i].offset, outside[i].len, true));
	}
	assert_true(copies(LEN - 1, 1, false));
	assert_true(copies(LEN, 0, false));
	assert_true(vrb_mr_table_copy(&domain, KEY, (uintptr_t)memory, 1, true, NULL));
	assert_false(vrb_mr_table_copy(&domain, KEY, (uintptr_t)memory, LEN + 1, true, NULL));
	assert_false(vrb_mr_table_copy(&domain, KEY + 1, (uintptr_t)memory, 1, false, bytes));
}

/* Nothing can be accessed by a key without remote access, and a second region gets no used key. */
static void test_list(void **state)
{
	struct ibv_mr same = mr;

	(void)state;
	same.addr = bytes;
	assert_int_equal(vrb_mr_table_add(&domain, &mr, IBV_ACCESS_LOCAL_WRITE), 0);
	assert_false(copies(0, 1, false));
	assert_int_equal(vrb_mr_table_add(&domain, &mr, IBV_ACCESS_REMOTE_READ), 0);
	assert_int_not_equal(vrb_mr_table_add(&domain, &same, IBV_ACCESS_REMOTE_READ), 0);
	vrb_mr_table_remove(&domain, &same);
	assert_true(copies(0, 1, false));
	vrb_mr_table_remove(&domain, &mr);
}

static void test_unused(void **state)
{
	(void)state;
	domain.table.used = false;
	assert_int_equal(vrb_mr_table_add(&domain, &mr, IBV_ACCESS_REMOTE_READ), 0);
	assert_null(domain.table.tree);
	vrb_mr_table_remove(&domain, &mr);
}

enum { THREADS = 4, ROUNDS = 100000, KEPT = 16 };

static void *add_and_remove(void *thread)
{
	struct ibv_mr own[KEPT] = { 0 };
	uintptr_t i, failed = 0;

	for (i = 0; i < ROUNDS; i++) {
		if (i >= KEPT)
			vrb_mr_table_remove(&domain, &own[i % KEPT]);
		own[i % KEPT] = (struct ibv_mr){
			.addr = memory,
			.length = LEN,
			.rkey = (uint32_t)(i * 2654435761u) / THREADS * THREADS +
				(uint32_t)(uintptr_t)thread,
		};
		failed += vrb_mr_table_add(&domain, &own[i % KEPT], IBV_ACCESS_REMOTE_READ) != 0;
	}
	for (i = 0; i < KEPT; i++)
		vrb_mr_table_remove(&domain, &own[i]);
	return (void *)failed;
}

/* A thread frees nodes of the tree while others look at what they added. */
static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	void *failed;
	uintptr_t i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, add_and_remove, (void *)i), 0);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_access, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_bounds, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_list, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_unused, open_table, close_table),
		cmocka_unit_test_setup_teardown(test_threads, open_table, close_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
