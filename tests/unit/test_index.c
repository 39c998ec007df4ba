/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Indexes: what was added is found, whatever was removed, and whatever collides; no memory. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include "src/ds/index.h"

enum { MANY = 3000, STEPS = 60000 };

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static bool no_memory;

void *__wrap_malloc(size_t size)
{
	return no_memory ? NULL : __real_malloc(size);
}

static struct ofi_index index_;
static unsigned int key[MANY];
static unsigned int homes; /* of few() */

static const void *key_of(const void *owner, uint32_t number)
{
	return (const unsigned int *)owner + number;
}

static uint64_t hash(const void *a, uint64_t seed)
{
	return (*(const unsigned int *)a ^ seed) * 0x9e3779b97f4a7c15ULL >> 32;
}

static uint64_t few(const void *a, uint64_t seed)
{
	(void)seed;
	return *(const unsigned int *)a % homes - 1;
}

static int compare(const void *a, const void *b)
{
	return *(const unsigned int *)a != *(const unsigned int *)b;
}

static struct ofi_index_keys keys = { .owner = key, .key_of = key_of, .compare = compare };

static int begin(void **state)
{
	unsigned int i;

	(void)state;
	no_memory = false;
	keys.hash = hash;
	for (i = 0; i < MANY; i++)
		key[i] = 7 * i + 3;
	return 0;
}

static int end(void **state)
{
	(void)state;
	ofi_index_fini(&index_);
	return 0;
}

static uint32_t find(unsigned int at)
{
	return ofi_index_find(&index_, keys, &at);
}

static void empty_finds_nothing(void **state)
{
	(void)state;
	assert_int_equal(find(key[0]), OFI_INDEX_NONE);
	ofi_index_remove(&index_, keys, 1);
	assert_int_equal(index_.used, 0);
}

static void what_is_added_is_found(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i < MANY; i++)
		assert_true(ofi_index_add(&index_, keys, i));
	for (i = 0; i < MANY; i++) {
		assert_int_equal(find(key[i]), i);
		assert_int_equal(find(key[i] + 1), OFI_INDEX_NONE);
	}
	assert_in_range(index_.mask + 1, MANY * 4 / 3, MANY * 8 / 3);
}

/* Random additions and removals; the few homes wrap around and chain across each other. */
static void steps(unsigned int numbers)
{
	static bool has[MANY];
	unsigned int i, n;

	memset(has, 0, sizeof(has));
	srand(1);
	for (i = 0; i < STEPS; i++) {
		n = (unsigned int)rand() % numbers;
		if (has[n])
			ofi_index_remove(&index_, keys, n);
		else
			assert_true(ofi_index_add(&index_, keys, n));
		has[n] = !has[n];
		n = (unsigned int)rand() % numbers;
		assert_int_equal(find(key[n]), has[n] ? n : OFI_INDEX_NONE);
	}
	for (n = 0; n < numbers; n++)
		assert_int_equal(find(key[n]), has[n] ? n : OFI_INDEX_NONE);
}

static void removals_leave_the_others(void **state)
{
	(void)state;
	steps(MANY);
}

static void collisions_leave_the_others(void **state)
{
	(void)state;
	keys.hash = few;
	homes = 5;
	steps(40);
}

static void without_memory_nothing_is_lost(void **state)
{
	uint32_t i = 0;

	(void)state;
	no_memory = true;
	assert_false(ofi_index_add(&index_, keys, 0));
	no_memory = false;
	assert_true(ofi_index_add(&index_, keys, i++));
	no_memory = true;
	while (ofi_index_add(&index_, keys, i))
		i++;
	assert_in_range(i, 8, 16);
	assert_int_equal(find(key[i]), OFI_INDEX_NONE);
	no_memory = false;
	assert_true(ofi_index_add(&index_, keys, i));
	for (; i; i--)
		assert_int_equal(find(key[i]), i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(empty_finds_nothing, begin, end),
		cmocka_unit_test_setup_teardown(what_is_added_is_found, begin, end),
		cmocka_unit_test_setup_teardown(removals_leave_the_others, begin, end),
		cmocka_unit_test_setup_teardown(collisions_leave_the_others, begin, end),
		cmocka_unit_test_setup_teardown(without_memory_nothing_is_lost, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
