/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lock excludes, and nobody sleeps for ever. */
#include "unit.h"

#include <pthread.h>
#include <ofi/lock.h>

enum { THREADS = 8, ROUNDS = 20000 };

static struct ofi_lock lock;
static long counter;

static void *count(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		ofi_lock(&lock);
		counter++;
		ofi_unlock(&lock);
	}
	return NULL;
}

static void test_exclusion(void **state)
{
	pthread_t threads[THREADS];
	int i;

	(void)state;
	ofi_lock_init(&lock);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, THREADS * ROUNDS);
	assert_int_equal(lock.word, 0);
}

static void test_trylock(void **state)
{
	(void)state;
	ofi_lock_init(&lock);
	assert_true(ofi_trylock(&lock));
	assert_false(ofi_trylock(&lock));
	ofi_unlock(&lock);
	assert_true(ofi_trylock(&lock));
	ofi_unlock(&lock);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusion),
		cmocka_unit_test(test_trylock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
