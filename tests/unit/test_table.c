/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tables: the lowest free index, entries that do not move, readers concurrent with a writer, no
 * memory.
 */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "src/ds/table.h"

enum { MANY = 3 * OFI_TABLE_CHUNK + 100, ENTRY = 20 };

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static int fail_in; /* the so many-th allocation fails, 0 is none */

static int fails(void)
{
	return fail_in && !--fail_in;
}

void *__wrap_malloc(size_t size)
{
	return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
	return fails() ? NULL : __real_calloc(count, size);
}

static struct ofi_table table;

static int setup(void **state)
{
	(void)state;
	fail_in = 0;
	ofi_table_init(&table, ENTRY);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ofi_table_fini(&table);
	return 0;
}

static void take(size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
		assert_int_equal(ofi_table_take(&table, 0), i);
}

static void test_empty(void **state)
{
	(void)state;
	assert_null(ofi_table_at(&table, 0));
	assert_null(ofi_table_at(&table, SIZE_MAX));
	assert_false(ofi_table_has(&table, 0));
}

static void test_order(void **state)
{
	size_t i;

	(void)state;
	take(MANY);
	for (i = 0; i < MANY; i++) {
		assert_true(ofi_table_has(&table, i));
		assert_non_null(ofi_table_at(&table, i));
	}
	assert_null(ofi_table_at(&table, MANY));
	assert_false(ofi_table_has(&table, MANY));
	assert_int_equal(table.used, MANY);
}

static void test_entries_stay(void **state)
{
	void *first, *last;

	(void)state;
	take(OFI_TABLE_CHUNK);
	first = ofi_table_at(&table, 0);
	last = ofi_table_at(&table, OFI_TABLE_CHUNK - 1);
	memset(first, 1, ENTRY);
	memset(last, 2, ENTRY);
	while (table.limit < 40 * OFI_TABLE_CHUNK)
		ofi_table_take(&table, 0);
	assert_ptr_equal(ofi_table_at(&table, 0), first);
	assert_ptr_equal(ofi_table_at(&table, OFI_TABLE_CHUNK - 1), last);
	assert_int_equal(*(uint8_t *)first, 1);
	assert_int_equal(*(uint8_t *)last, 2);
}

static void test_lowest_free(void **state)
{
	static const size_t holes[] = { 5000, 3, MANY - 1, 64, 63 };
	static const size_t filled[] = { 3, 63, 64, 5000, MANY - 1, MANY };
	size_t i;

	(void)state;
	take(MANY);
	for (i = 0; i < 5; i++)
		ofi_table_give(&table, holes[i]);
	assert_false(ofi_table_has(&table, 64));
	assert_non_null(ofi_table_at(&table, 64)); /* a sender may still look at it */
	for (i = 0; i < 6; i++)
		assert_int_equal(ofi_table_take(&table, 0), filled[i]);
}

static void test_take_from(void **state)
{
	(void)state;
	take(10);
	ofi_table_give(&table, 2);
	ofi_table_give(&table, 7);
	assert_int_equal(ofi_table_take(&table, 3), 7);
	assert_int_equal(ofi_table_take(&table, 3), 10);
	assert_int_equal(ofi_table_take(&table, 0), 2);
	assert_int_equal(ofi_table_take(&table, 0), 11);
}

static void test_tags(void **state)
{
	(void)state;
	take(OFI_TABLE_CHUNK + 1);
	assert_int_equal(ofi_table_tag_of(&table, 7), 7);
	*ofi_table_tag(&table, OFI_TABLE_CHUNK) = 77;
	assert_int_equal(ofi_table_tag_of(&table, OFI_TABLE_CHUNK), 77);
	assert_int_equal(ofi_table_tag_of(&table, 7), 7);
	ofi_table_give(&table, OFI_TABLE_CHUNK);
	assert_int_equal(ofi_table_tag_of(&table, OFI_TABLE_CHUNK), OFI_TABLE_CHUNK);
}

static void test_no_memory(void **state)
{
	(void)state;
	fail_in = 1;
	assert_false(ofi_table_reserve(&table, 1));
	fail_in = 1; /* the directory */
	assert_int_equal(ofi_table_take(&table, 0), OFI_TABLE_NONE);
	fail_in = 2; /* the chunk */
	assert_int_equal(ofi_table_take(&table, 0), OFI_TABLE_NONE);
	take(1);
	fail_in = 1;
	assert_null(ofi_table_tag(&table, 0));
	assert_int_equal(ofi_table_tag_of(&table, 0), 0);
}

static void *read_all(void *arg)
{
	size_t i, limit = 0;
	uint64_t *entry;

	(void)arg;
	while (limit < MANY) {
		limit = __atomic_load_n(&table.limit, __ATOMIC_ACQUIRE);
		for (i = 0; i < limit; i += 61) {
			entry = ofi_table_at(&table, i);
			if (__atomic_load_n(entry, __ATOMIC_RELAXED) > i)
				return entry;
		}
	}
	return NULL;
}

static void test_readers(void **state)
{
	pthread_t thread;
	void *wrong;
	size_t i;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, read_all, NULL), 0);
	for (i = 0; i < MANY; i++) {
		assert_int_equal(ofi_table_take(&table, 0), i);
		__atomic_store_n((uint64_t *)ofi_table_at(&table, i), i, __ATOMIC_RELAXED);
	}
	pthread_join(thread, &wrong);
	assert_null(wrong);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_empty),	TEST(test_order),     TEST(test_entries_stay),
		TEST(test_lowest_free), TEST(test_take_from), TEST(test_tags),
		TEST(test_no_memory),	TEST(test_readers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
