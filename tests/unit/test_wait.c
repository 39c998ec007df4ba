/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wait objects: each kind sleeps, wakes and tells what it is. */
#include "unit.h"
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/wait.h"

static void refuses_unknown_kinds(void **state)
{
	struct ofi_wait wait;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, (enum fi_wait_obj)99), -FI_ENOSYS);
	ofi_wait_fini(&wait);
}

static void none_yields(void **state)
{
	struct ofi_wait wait;
	int fd;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_NONE), 0);
	assert_int_equal(ofi_wait_sleep(&wait, -1), 0);
	assert_int_equal(ofi_wait_sleep(&wait, 0), -FI_ETIMEDOUT);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAIT, &fd), -FI_ENODATA);
	ofi_wait_signal(&wait);
	ofi_wait_clear(&wait);
	ofi_wait_fini(&wait);
}

static int readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0);
}

static void descriptor_follows_signals(void **state)
{
	struct ofi_wait wait;
	enum fi_wait_obj obj;
	int fd = -1;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_UNSPEC), 0);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_FD);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAIT, &fd), 0);
	assert_int_equal(readable(fd), 0);
	assert_int_equal(ofi_wait_sleep(&wait, 0), -FI_ETIMEDOUT);
	assert_int_equal(ofi_wait_sleep(&wait, 5), -FI_ETIMEDOUT);
	ofi_wait_signal(&wait);
	ofi_wait_signal(&wait);
	assert_int_equal(readable(fd), 1);
	assert_int_equal(ofi_wait_sleep(&wait, -1), 0);
	ofi_wait_clear(&wait);
	ofi_wait_clear(&wait);
	assert_int_equal(readable(fd), 0);
	ofi_wait_fini(&wait);
}

static void pollfd_says_how_much_room_it_needs(void **state)
{
	struct pollfd pfd;
	struct fi_wait_pollfd arg = { .nfds = 0 };
	struct ofi_wait wait;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_POLLFD), 0);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAIT, &arg), -FI_ETOOSMALL);
	assert_int_equal(arg.nfds, 1);
	/* The descriptor never changes, and this says so. */
	assert_int_equal(arg.change_index, 1);
	arg.fd = &pfd;
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAIT, &arg), 0);
	assert_int_equal(pfd.events, POLLIN);
	ofi_wait_signal(&wait);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	ofi_wait_fini(&wait);
}

static void *signal_soon(void *arg)
{
	usleep(20000);
	ofi_wait_signal(arg);
	return NULL;
}

static void sleepers_wake(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_FD, FI_WAIT_MUTEX_COND };
	struct ofi_wait wait;
	pthread_t thread;
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(ofi_wait_init(&wait, kinds[i]), 0);
		pthread_create(&thread, NULL, signal_soon, &wait);
		assert_int_equal(ofi_wait_sleep(&wait, i ? 10000 : -1), 0);
		pthread_join(thread, NULL);
		ofi_wait_clear(&wait);
		assert_int_equal(ofi_wait_sleep(&wait, 1), -FI_ETIMEDOUT);
		ofi_wait_fini(&wait);
	}
}

static void mutex_and_cond_are_handed_out(void **state)
{
	struct fi_mutex_cond mc = { NULL, NULL };
	struct ofi_wait wait;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_MUTEX_COND), 0);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAIT, &mc), 0);
	assert_ptr_equal(mc.mutex, &wait.mutex);
	assert_ptr_equal(mc.cond, &wait.cond);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAIT, NULL), -FI_EINVAL);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_BACKLOG, &mc), -FI_ENOSYS);
	ofi_wait_fini(&wait);
}

/*
 * Who holds the mutex that was lent signals, and a sleeper on the condition hears of it once the
 * mutex is free.
 */
static void signals_while_the_mutex_is_held(void **state)
{
	struct fi_mutex_cond mc;
	struct timespec until;
	struct ofi_wait wait;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_MUTEX_COND), 0);
	assert_int_equal(ofi_wait_control(NULL, &wait, FI_GETWAIT, &mc), 0);
	pthread_mutex_lock(mc.mutex);
	ofi_wait_signal(&wait);
	ofi_wait_signal(&wait);
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += 20;
	assert_int_equal(pthread_cond_clockwait(mc.cond, mc.mutex, CLOCK_MONOTONIC, &until), 0);
	pthread_mutex_unlock(mc.mutex);
	assert_int_equal(ofi_wait_sleep(&wait, 0), 0);
	assert_true(ofi_wait_clear(&wait));
	assert_false(ofi_wait_clear(&wait));
	ofi_wait_fini(&wait);
}

/* A signal is not taken back before each call that waited for it has looked, or returned. */
static void a_signal_is_for_all_sleepers(void **state)
{
	struct ofi_sleeper a, b, late;
	struct ofi_wait wait;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_FD), 0);
	ofi_sleeper_begin(&a, &wait);
	ofi_sleeper_begin(&b, &wait);
	ofi_sleeper_look(&a);
	ofi_sleeper_look(&b);
	ofi_wait_signal(&wait);
	ofi_wait_signal(&wait);
	ofi_sleeper_look(&a);
	assert_false(ofi_wait_clear(&wait));
	ofi_sleeper_begin(&late, &wait);
	ofi_sleeper_look(&late);
	assert_false(ofi_wait_clear(&wait));
	assert_int_equal(readable(wait.fd), 1);
	ofi_sleeper_look(&b);
	assert_true(ofi_wait_clear(&wait));
	assert_int_equal(readable(wait.fd), 0);
	ofi_wait_signal(&wait);
	ofi_sleeper_leave(&a);
	ofi_sleeper_leave(&b);
	assert_false(ofi_wait_clear(&wait));
	ofi_sleeper_leave(&late);
	ofi_sleeper_leave(&late);
	assert_true(ofi_wait_clear(&wait));
	ofi_wait_fini(&wait);
}

/* All that wait are ended, or the next, and nobody twice. */
static void an_end_is_for_all_sleepers(void **state)
{
	struct ofi_sleeper a, b;
	struct ofi_wait wait;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_YIELD), 0);
	ofi_sleeper_begin(&a, &wait);
	ofi_sleeper_begin(&b, &wait);
	assert_false(ofi_sleeper_ended(&a));
	ofi_wait_end(&wait);
	ofi_wait_end(&wait);
	assert_true(ofi_sleeper_ended(&a));
	assert_true(ofi_sleeper_ended(&b));
	ofi_sleeper_begin(&a, &wait);
	assert_false(ofi_sleeper_ended(&a));
	ofi_wait_end(&wait);
	ofi_sleeper_begin(&b, &wait);
	assert_true(ofi_sleeper_ended(&b));
	ofi_wait_fini(&wait);
}

static void yield_ends_with_the_time(void **state)
{
	struct ofi_wait wait;

	(void)state;
	assert_int_equal(ofi_wait_init(&wait, FI_WAIT_YIELD), 0);
	assert_int_equal(ofi_wait_sleep(&wait, -1), 0);
	assert_int_equal(ofi_wait_sleep(&wait, 1), 0);
	assert_int_equal(ofi_wait_sleep(&wait, 0), -FI_ETIMEDOUT);
	ofi_wait_fini(&wait);
}

static int sleep_on(void *object, int timeout)
{
	int ret;

	do
		ret = ofi_wait_sleep(object, timeout);
	while (!ret);
	return ret;
}

static void *sleep_forever(void *arg)
{
	struct ofi_sleeper sleeper;

	ofi_sleeper_begin(&sleeper, arg);
	ofi_sleeper_look(&sleeper);
	ofi_sleeper_sleep(&sleeper, sleep_on, arg, -1);
	ofi_sleeper_leave(&sleeper);
	return NULL;
}

/* There is always something to check, so it does not sleep. */
static void *look_forever(void *arg)
{
	struct ofi_sleeper sleeper;

	ofi_sleeper_begin(&sleeper, arg);
	for (;;)
		ofi_sleeper_look(&sleeper);
	return NULL;
}

static void cancel_one(enum fi_wait_obj kind, void *(*waits)(void *arg))
{
	struct ofi_wait wait;
	pthread_t thread;
	void *ret;

	assert_int_equal(ofi_wait_init(&wait, kind), 0);
	assert_int_equal(pthread_create(&thread, NULL, waits, &wait), 0);
	usleep(10000);
	assert_int_equal(pthread_cancel(thread), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	assert_int_equal(wait.sleepers, 0);
	ofi_wait_signal(&wait);
	assert_true(ofi_wait_clear(&wait));
	ofi_wait_fini(&wait);
}

/* Not every way to sleep is a cancellation point for the C library. */
static void a_sleeper_can_be_canceled(void **state)
{
	(void)state;
	cancel_one(FI_WAIT_FD, sleep_forever);
	cancel_one(FI_WAIT_YIELD, sleep_forever);
	cancel_one(FI_WAIT_MUTEX_COND, sleep_forever);
	cancel_one(FI_WAIT_FD, look_forever);
}

static void time_left(void **state)
{
	uint64_t now = ofi_now_ms();

	(void)state;
	assert_int_equal(ofi_wait_left(now, -1), -1);
	assert_int_equal(ofi_wait_left(now - 50, 20), 0);
	assert_in_range(ofi_wait_left(now, 10000), 9000, 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refuses_unknown_kinds),
		cmocka_unit_test(none_yields),
		cmocka_unit_test(descriptor_follows_signals),
		cmocka_unit_test(pollfd_says_how_much_room_it_needs),
		cmocka_unit_test(sleepers_wake),
		cmocka_unit_test(mutex_and_cond_are_handed_out),
		cmocka_unit_test(signals_while_the_mutex_is_held),
		cmocka_unit_test(a_signal_is_for_all_sleepers),
		cmocka_unit_test(an_end_is_for_all_sleepers),
		cmocka_unit_test(yield_ends_with_the_time),
		cmocka_unit_test(a_sleeper_can_be_canceled),
		cmocka_unit_test(time_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
