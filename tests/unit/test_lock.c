/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lock excludes other threads, and no thread sleeps for ever, however greedy others are. */
#include "unit.h"

#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <unistd.h>
#include "src/ds/lock.h"

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

/* The holder releases it through ofi_unlock_slow(), with a sleeper or without. */
static void test_mark(void **state)
{
	(void)state;
	ofi_lock_init(&lock);
	assert_true(ofi_lock_or_mark(&lock));
	assert_false(ofi_lock_or_mark(&lock));
	assert_false(ofi_lock_or_mark(&lock));
	assert_false(ofi_release(&lock));
	assert_false(ofi_lock_or_mark(&lock));
	ofi_unlock_slow(&lock);
	assert_true(ofi_lock_or_mark(&lock));
	assert_true(ofi_release(&lock));
}

/*
 * Pollers take the lock again as soon as they have released it, and while a thread waits they hold
 * it until that thread sleeps. It comes too late each time it is woken, unless the lock is handed
 * to it.
 */
enum { POLLERS = 3, WAITS = 20, FEW = 8, MANY = 200 };

static bool greedy, over;
static int passes; /* of this wait */

#define get(var)	__atomic_load_n(&(var), __ATOMIC_RELAXED)
#define set(var, value) __atomic_store_n(&(var), value, __ATOMIC_RELAXED)

/* The lock's futex: who was woken goes on when the lock is not free. */
long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	long arg[6], ret;
	va_list list;
	int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	if (!get(real))
		set(real, (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"));
	ret = get(real)(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
	while (get(greedy) && !get(lock.word) && (arg[1] & FUTEX_CMD_MASK) != FUTEX_WAKE_BITSET)
		sched_yield();
	return ret;
}

static void *poll_hard(void *arg)
{
	(void)arg;
	while (!get(over)) {
		if (!ofi_trylock(&lock))
			continue;
		while (get(greedy) && get(lock.word) != 2)
			sched_yield();
		if (get(greedy)) {
			set(passes, passes + 1);
			set(greedy, passes < MANY);
		}
		ofi_unlock(&lock);
	}
	return NULL;
}

static void test_fair_to_one(void **state)
{
	pthread_t threads[POLLERS];
	int i, worst = 0;

	(void)state;
	ofi_lock_init(&lock);
	for (i = 0; i < POLLERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, poll_hard, NULL), 0);
	for (i = 0; i < WAITS; i++) {
		set(greedy, true);
		while (!get(lock.word))
			sched_yield();
		ofi_lock(&lock);
		worst = passes > worst ? passes : worst;
		passes = 0;
		set(greedy, false);
		ofi_unlock(&lock);
	}
	set(over, true);
	for (i = 0; i < POLLERS; i++)
		pthread_join(threads[i], NULL);
	assert_in_range(worst, 0, FEW);
	assert_int_equal(lock.word, 0);
	assert_int_equal(lock.starved, 0);
}

/* Each of several who sleep gets it, and one at a time. */
static void *count_slowly(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS / 100; i++) {
		ofi_lock(&lock);
		counter++;
		sched_yield();
		ofi_unlock(&lock);
	}
	return NULL;
}

static void test_fair_to_all(void **state)
{
	pthread_t threads[THREADS];
	int i;

	(void)state;
	ofi_lock_init(&lock);
	counter = 0;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, count_slowly, NULL), 0);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, THREADS * (ROUNDS / 100));
	assert_int_equal(lock.word, 0);
	assert_int_equal(lock.starved, 0);
}

/* Threads that sleep for the lock, or come later, exclude each other by the other one. */
static struct ofi_lock_joined joined;
static struct ofi_lock other;
static int inside;

static void *enter_joined(void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS / 100; i++) {
		ofi_lock(&joined.own);
		inside++;
		counter++;
		sched_yield();
		inside--;
		ofi_unlock(&joined.own);
	}
	return NULL;
}

static void test_join(void **state)
{
	struct timespec nap = { .tv_nsec = 20000000 };
	pthread_t threads[THREADS];
	int i;

	(void)state;
	ofi_lock_init(&joined.own);
	ofi_lock_init(&other);
	counter = 0;
	ofi_lock(&joined.own);
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, enter_joined, NULL), 0);
	nanosleep(&nap, NULL);
	ofi_lock(&other);
	ofi_lock_join(&joined, &other);
	assert_false(ofi_trylock(&joined.own));
	nanosleep(&nap, NULL);
	assert_int_equal(counter, 0);
	assert_false(ofi_release(&joined.own));
	ofi_unlock_slow(&joined.own);
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(counter, THREADS * (ROUNDS / 100));
	assert_int_equal(inside, 0);
	assert_int_equal(other.word, 0);
	ofi_lock(&joined.own);
	assert_false(ofi_trylock(&other));
	ofi_unlock(&joined.own);
	assert_true(ofi_trylock(&other));
	ofi_unlock(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exclusion),   cmocka_unit_test(test_trylock),
		cmocka_unit_test(test_mark),	    cmocka_unit_test(test_fair_to_one),
		cmocka_unit_test(test_fair_to_all), cmocka_unit_test(test_join),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
