/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The owner and the threads that lock it out exclude each other, whichever comes first and however
 * close they are.
 */
#include "unit.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "src/ds/bias.h"
#include "src/ds/lock.h"

#define get(var)	__atomic_load_n(&(var), __ATOMIC_ACQUIRE)
#define set(var, value) __atomic_store_n(&(var), value, __ATOMIC_RELEASE)

static struct ofi_lock lock;
static struct ofi_bias bias;

/* Replaces membarrier(2): it fails, or the owner's store becomes visible at that moment. */
static int refused;
static bool late_store;
static int barriers;

static struct {
	long one, two; /* guarded by the bias; the sum is 0 outside */
	long rounds;
	bool torn;
} data;

static void begin(void)
{
	ofi_lock_init(&lock);
	bias = (struct ofi_bias){ 0 };
	refused = 0;
	late_store = false;
	barriers = 0;
	memset(&data, 0, sizeof(data));
}

static long barrier(long command)
{
	if (command != MEMBARRIER_CMD_PRIVATE_EXPEDITED)
		return 0;
	assert_int_equal(get(bias.shut), OFI_BIAS_SHUT);
	barriers++;
	if (late_store)
		set(bias.inside, 1);
	return 0;
}

long syscall(long number, ...)
{
	static long (*real)(long number, ...);
	long arg[6];
	va_list list;
	int i;

	va_start(list, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_membarrier && refused) {
		errno = refused;
		return -1;
	}
	if (number == SYS_membarrier)
		barrier(arg[0]);
	if (!get(real))
		set(real, (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"));
	return get(real)(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

static void test_enter(void **state)
{
	(void)state;
	begin();
	assert_true(ofi_bias_init());
	assert_true(ofi_bias_enter(&bias));
	assert_int_equal(bias.inside, 1);
	ofi_bias_leave(&bias);
	assert_int_equal(bias.inside, 0);
	assert_int_equal(barriers, 0);
}

static void test_shut(void **state)
{
	(void)state;
	begin();
	ofi_bias_shut(&bias);
	assert_int_equal(barriers, 1);
	assert_false(ofi_bias_enter(&bias));
	assert_int_equal(bias.inside, 0);
	ofi_bias_open(&bias);
	assert_true(ofi_bias_enter(&bias));
}

static void test_refused(void **state)
{
	(void)state;
	begin();
	refused = EPERM;
	errno = EXDEV;
	assert_false(ofi_bias_init());
	assert_int_equal(errno, EXDEV);
	ofi_bias_shut(&bias);
	assert_int_equal(errno, EXDEV);
	assert_false(ofi_bias_enter(&bias));
	ofi_bias_open(&bias);
	assert_true(ofi_bias_enter(&bias));
}

/* Without waiting: an owner that is inside stays shut out behind its call, by one barrier. */
static void test_try_shut(void **state)
{
	(void)state;
	begin();
	assert_true(ofi_bias_enter(&bias));
	ofi_bias_call(&bias);
	assert_int_equal(barriers, 0);
	assert_false(ofi_bias_enter(&bias));
	assert_int_equal(bias.inside, 0);
	ofi_bias_open(&bias);
	assert_true(ofi_bias_enter(&bias));
	assert_false(ofi_bias_try_shut(&bias));
	assert_int_equal(barriers, 1);
	ofi_bias_leave(&bias);
	assert_false(ofi_bias_enter(&bias));
	assert_true(ofi_bias_try_shut(&bias));
	assert_int_equal(barriers, 1);
	ofi_bias_call(&bias);
	assert_true(ofi_bias_try_shut(&bias));
	assert_int_equal(barriers, 1);
	ofi_bias_open(&bias);
}

/* That the owner was called says nothing about where it is. */
static void test_call_then_shut(void **state)
{
	(void)state;
	begin();
	ofi_bias_call(&bias);
	late_store = true;
	assert_false(ofi_bias_try_shut(&bias));
	assert_int_equal(barriers, 1);
}

/* The owner is inside, as is seen behind the barrier only: it is waited for. */
static bool left;

static void *leave_late(void *arg)
{
	int i;

	(void)arg;
	while (!get(bias.inside))
		sched_yield();
	for (i = 0; i < 1000; i++)
		sched_yield();
	set(left, true);
	ofi_bias_leave(&bias);
	return NULL;
}

static void test_waits(void **state)
{
	pthread_t thread;

	(void)state;
	begin();
	late_store = true;
	left = false;
	assert_int_equal(pthread_create(&thread, NULL, leave_late, NULL), 0);
	ofi_bias_shut(&bias);
	assert_true(get(left));
	pthread_join(thread, NULL);
	assert_int_equal(barriers, 1);
}

/*
 * Owners, which a mutex serializes as an application does, and other threads; each leaves the sum
 * of two plain integers unchanged. WEFT_SEED repeats a run, as far as the threads allow.
 */
enum { OWNERS = 2, OTHERS = 2, OWNER_ROUNDS = 4000000, OTHER_ROUNDS = 100000 };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static unsigned int seed;

static void spin(unsigned int count)
{
	while (count--)
		__asm__ volatile("" ::: "memory");
}

static void work(unsigned int *random)
{
	int amount = rand_r(random) % 1000;

	data.torn |= data.one + data.two != 0;
	data.one += amount;
	spin(rand_r(random) % 8);
	data.two -= amount;
	data.rounds++;
}

static void own(unsigned int *random)
{
	bool biased = ofi_bias_enter(&bias);

	if (!biased)
		ofi_lock(&lock);
	work(random);
	if (biased)
		ofi_bias_leave(&bias);
	else
		ofi_unlock(&lock);
}

/* One has it for a while, as long as others don't come. */
static void *owner(void *arg)
{
	unsigned int random = seed + *(unsigned int *)arg;
	int round, burst;

	for (round = 0; round < OWNER_ROUNDS / OWNERS; round += burst) {
		burst = rand_r(&random) % 2000 + 1;
		if (burst > OWNER_ROUNDS / OWNERS - round)
			burst = OWNER_ROUNDS / OWNERS - round;
		pthread_mutex_lock(&turn);
		for (int i = 0; i < burst; i++)
			own(&random);
		pthread_mutex_unlock(&turn);
	}
	return NULL;
}

static void *other(void *arg)
{
	unsigned int random = seed + *(unsigned int *)arg;
	int round;

	for (round = 0; round < OTHER_ROUNDS / OTHERS; round++) {
		ofi_lock(&lock);
		ofi_bias_shut(&bias);
		work(&random);
		ofi_bias_open(&bias);
		ofi_unlock(&lock);
		spin(rand_r(&random) % 32);
	}
	return NULL;
}

static void test_exclusion(void **state)
{
	pthread_t threads[OWNERS + OTHERS];
	unsigned int numbers[OWNERS + OTHERS];
	const char *given = getenv("WEFT_SEED");
	int i;

	(void)state;
	begin();
	seed = given ? (unsigned int)strtoul(given, NULL, 0) : (unsigned int)getpid();
	print_message("WEFT_SEED=%u\n", seed);
	for (i = 0; i < OWNERS + OTHERS; i++) {
		numbers[i] = i + 1;
		assert_int_equal(
			pthread_create(&threads[i], NULL, i < OWNERS ? owner : other, &numbers[i]),
			0);
	}
	for (i = 0; i < OWNERS + OTHERS; i++)
		pthread_join(threads[i], NULL);
	assert_false(data.torn);
	assert_int_equal(data.one + data.two, 0);
	assert_int_equal(data.rounds, OWNER_ROUNDS + OTHER_ROUNDS);
	assert_int_equal(bias.inside, 0);
	assert_int_equal(bias.shut, 0);
	assert_int_equal(lock.word, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_enter),	  cmocka_unit_test(test_shut),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_waits),
		cmocka_unit_test(test_try_shut),  cmocka_unit_test(test_call_then_shut),
		cmocka_unit_test(test_exclusion),
	};

	/* Where the kernel has no membarrier(2) nobody uses a bias. */
	if (!ofi_bias_init())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
