/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The timer of an endpoint's connections, and the tasks that the event thread leaves to others. */
#include "unit.h"
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "prov/base/wait.h"
#include "prov/rdm/lock.h"
#include "prov/verbs/rdm/conn_int.h"
#include "prov/verbs/rdm/rc.h"

static struct vrb_rc_ep rc;

static int begin(void **state)
{
	(void)state;
	memset(&rc, 0, sizeof(rc));
	rc.conns.armed = rc.conns.wanted = UINT64_MAX;
	rc.conns.timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	return rc.conns.timer.fd < 0;
}

static int end(void **state)
{
	(void)state;
	return close(rc.conns.timer.fd);
}

static uint64_t timer_ms(void)
{
	struct itimerspec spec;

	assert_int_equal(timerfd_gettime(rc.conns.timer.fd, &spec), 0);
	return (uint64_t)spec.it_value.tv_sec * 1000 + (uint64_t)spec.it_value.tv_nsec / 1000000;
}

/* The timer is set when it has to expire earlier, and not for each wish. */
static void a_timer_that_expires_earlier_stays(void **state)
{
	(void)state;
	vrb_rdm_conn_wake(&rc.rdm, 500000);
	assert_true(timer_ms() > 400000 && timer_ms() <= 500000);
	vrb_rdm_conn_wake(&rc.rdm, 900000);
	assert_true(timer_ms() > 400000 && timer_ms() <= 500000);
	vrb_rdm_conn_wake(&rc.rdm, 100000);
	assert_true(timer_ms() && timer_ms() <= 100000);
}

static void no_task(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task)
{
	(void)ep;
	(void)task;
}

static bool expires(uint64_t *at)
{
	struct pollfd pfd = { .fd = rc.conns.timer.fd, .events = POLLIN };

	assert_int_equal(poll(&pfd, 1, 5000), 1);
	return vrb_rdm_conn_expired(&rc.conns, at);
}

/* A check whether the thread inside has run the tasks comes soon, without a tick. */
static void a_check_of_the_tasks_is_no_tick(void **state)
{
	struct ofi_rdm_task task = { .run = no_task };
	uint64_t at, before = ofi_now_ms();

	(void)state;
	vrb_rdm_conn_wake(&rc.rdm, 500000);
	ofi_lock(&rc.rdm.lock);
	ofi_rdm_task_add(&rc.rdm, &task);
	vrb_rdm_conn_tasks(&rc.rdm);
	assert_in_range(timer_ms(), 0, 20);
	assert_false(expires(&at));
	assert_true(timer_ms() > 400000 && timer_ms() <= 500000);
	ofi_rdm_unlock(&rc.rdm);
	assert_null(rc.rdm.tasks.first);
	vrb_rdm_conn_tasks(&rc.rdm);
	assert_true(timer_ms() > 400000);
	vrb_rdm_conn_wake(&rc.rdm, 0);
	assert_true(expires(&at));
	assert_in_range(at, before, ofi_now_ms());
	assert_false(vrb_rdm_conn_expired(&rc.conns, &at));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_timer_that_expires_earlier_stays, begin, end),
		cmocka_unit_test_setup_teardown(a_check_of_the_tasks_is_no_tick, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
