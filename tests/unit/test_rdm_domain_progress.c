/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoints of a domain together: which endpoints make progress, the thread, and failures to
 * open.
 */
#include "unit.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "src/ds/bias.h"
#include "prov/base/cntr.h"
#include "capture.h"
#include "prov/rdm/domain_progress.h"
#include "prov/rdm/local.h"
#include "prov/rdm/rdm.h"

enum { EPS = 2 };

static struct fi_provider prov = { .name = "test" };
static bool automatic;

static struct fi_domain_attr attr;
static struct fi_info info = { .domain_attr = &attr };
static struct ofi_domain domain;
static struct ofi_rdm_ep eps[EPS];
static struct ofi_rdm_domain_progress *all;
static unsigned int progressed[EPS], armed[EPS], lost[EPS], unwatched;
__thread bool ofi_bias_outside;
static bool progressed_outside;
static int arm_err, fail_epoll, fail_eventfd, fail_thread, fail_ctl, fail_bias;
static const struct ofi_cntr_source_ops *source;
static void *source_of;
static int source_fd;

int __real_epoll_create1(int flags);
int __wrap_epoll_create1(int flags);
int __real_eventfd(unsigned int count, int flags);
int __wrap_eventfd(unsigned int count, int flags);
int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg);

int __wrap_epoll_create1(int flags)
{
	errno = fail_epoll;
	return fail_epoll ? -1 : __real_epoll_create1(flags);
}

int __wrap_eventfd(unsigned int count, int flags)
{
	errno = fail_eventfd;
	return fail_eventfd ? -1 : __real_eventfd(count, flags);
}

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	errno = fail_ctl;
	return fail_ctl ? -1 : __real_epoll_ctl(epfd, op, fd, event);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*run)(void *arg), void *arg)
{
	return fail_thread ? fail_thread : __real_pthread_create(thread, attributes, run, arg);
}

static struct ofi_rdm_ep *ep_of(struct ofi_rdm_proto *proto)
{
	return ofi_container(proto, struct ofi_rdm_ep, proto);
}

static void ep_progress(struct ofi_rdm_proto *proto)
{
	struct ofi_rdm_ep *ep = ep_of(proto);

	progressed[ep - eps]++;
	progressed_outside = ofi_bias_outside;
}

static int ep_arm(struct ofi_rdm_proto *proto)
{
	struct ofi_rdm_ep *ep = ep_of(proto);

	__atomic_add_fetch(&armed[ep - eps], 1, __ATOMIC_SEQ_CST);
	return arm_err;
}

static void ep_lost(struct ofi_rdm_ep *ep, int err)
{
	assert_int_equal(err, FI_EIO);
	lost[ep - eps]++;
}

void ofi_rdm_region_forget(struct ofi_rdm_ep *ep, const void *desc)
{
	assert_ptr_equal(desc, lost);
	lost[ep - eps]++;
}

static const struct ofi_rdm_xport_ops xport = {
	.progress = ep_progress,
	.arm = ep_arm,
	.lost = ep_lost,
};

int ofi_cntr_watch(struct ofi_cntr *cntr, const struct ofi_cntr_source_ops *ops, void *object,
		   int fd)
{
	(void)cntr;
	source = ops;
	source_of = object;
	source_fd = fd;
	return 0;
}

void ofi_cntr_unwatch(struct ofi_cntr *cntr, void *object)
{
	(void)cntr;
	assert_ptr_equal(object, source_of);
	unwatched++;
}

bool ofi_bias_init(void)
{
	return !fail_bias;
}

void ofi_triggers_run_due(struct ofi_triggers *triggers)
{
	(void)triggers;
}

static int begin(void **state)
{
	int i;

	(void)state;
	domain.info = &info;
	domain.prov = &prov;
	domain.progress = NULL;
	attr.data_progress = FI_PROGRESS_MANUAL;
	automatic = false;
	arm_err = fail_epoll = fail_eventfd = fail_thread = fail_ctl = fail_bias = 0;
	attr.threading = FI_THREAD_SAFE;
	memset(progressed, 0, sizeof(progressed));
	memset(armed, 0, sizeof(armed));
	memset(lost, 0, sizeof(lost));
	for (i = 0; i < EPS; i++) {
		memset(&eps[i], 0, sizeof(eps[i]));
		eps[i].fd = eventfd(0, EFD_NONBLOCK);
		eps[i].proto.xport.ops = &xport;
	}
	all = NULL;
	return 0;
}

static int end(void **state)
{
	int i;

	(void)state;
	ofi_rdm_domain_progress_close(all);
	for (i = 0; i < EPS; i++)
		close(eps[i].fd);
	return 0;
}

static void open_with(int count)
{
	int i;

	assert_int_equal(ofi_rdm_domain_progress_open(&domain, automatic), 0);
	all = domain.progress;
	for (i = 0; i < count; i++) {
		assert_int_equal(ofi_rdm_domain_progress_add(all, &eps[i]), 0);
		assert_true(eps[i].in_all);
	}
}

static void take_all_out(int count)
{
	while (count--) {
		ofi_rdm_domain_progress_remove(all, &eps[count]);
		assert_false(eps[count].in_all);
	}
}

static void a_counter_asks_each(void **state)
{
	struct ofi_cntr cntr;

	(void)state;
	open_with(EPS);
	assert_int_equal(ofi_rdm_domain_progress_watch(all, &cntr), 0);
	assert_true(source_fd >= 0);
	source->progress(source_of);
	assert_int_equal(progressed[0], 1);
	assert_int_equal(progressed[1], 1);
	assert_int_equal(source->arm(source_of), 0);
	arm_err = -FI_EAGAIN;
	assert_int_equal(source->arm(source_of), -FI_EAGAIN);
	assert_int_equal(armed[1], 2);
	ofi_rdm_domain_progress_unwatch(all, &cntr);
	assert_int_equal(unwatched, 1);
	take_all_out(EPS);
	source->progress(source_of);
	assert_int_equal(progressed[0], 1);
	/* One that is not there. */
	ofi_rdm_domain_progress_remove(all, &eps[0]);
}

/* A call on a counter is serialized with those in an endpoint by FI_THREAD_DOMAIN alone. */
static void who_is_not_serialized_is_outside(void **state)
{
	static const enum fi_threading threading[] = { FI_THREAD_COMPLETION, FI_THREAD_DOMAIN };
	struct ofi_cntr cntr;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		attr.threading = threading[i];
		open_with(1);
		assert_int_equal(ofi_rdm_domain_progress_watch(all, &cntr), 0);
		progressed_outside = i;
		source->progress(source_of);
		assert_int_equal(progressed_outside, threading[i] != FI_THREAD_DOMAIN);
		assert_int_equal(domain.triggers.apart, threading[i] != FI_THREAD_DOMAIN);
		assert_false(ofi_bias_outside);
		ofi_rdm_domain_progress_unwatch(all, &cntr);
		take_all_out(1);
		ofi_rdm_domain_progress_close(all);
		all = NULL;
	}
}

static void the_lost_are_told(void **state)
{
	(void)state;
	ofi_rdm_domain_progress_lost(NULL, NULL, FI_EIO);
	open_with(EPS);
	ofi_rdm_domain_progress_lost(all, &eps[1], FI_EIO);
	assert_int_equal(lost[0], 0);
	assert_int_equal(lost[1], 1);
	ofi_rdm_domain_progress_lost(all, NULL, FI_EIO);
	assert_int_equal(lost[0], 1);
	assert_int_equal(lost[1], 2);
	take_all_out(EPS);
	/* Who comes later is told, too. */
	assert_int_equal(ofi_rdm_domain_progress_add(all, &eps[0]), -FI_EIO);
	take_all_out(1);
}

static void regions_are_forgotten(void **state)
{
	(void)state;
	open_with(EPS);
	ofi_rdm_domain_progress_forget(all, lost);
	assert_int_equal(lost[0], 1);
	assert_int_equal(lost[1], 1);
	take_all_out(EPS);
}

static unsigned int times_armed(int which)
{
	return __atomic_load_n(&armed[which], __ATOMIC_SEQ_CST);
}

static void wait_armed(int which, unsigned int more_than)
{
	while (times_armed(which) <= more_than)
		sched_yield();
}

/* Which sleeps until a channel has something. */
static void the_thread_wakes(void **state)
{
	uint64_t one = 1;
	unsigned int before;

	(void)state;
	attr.data_progress = FI_PROGRESS_AUTO;
	open_with(EPS);
	assert_true(times_armed(0) && times_armed(1)); /* by who adds, since the thread may sleep */
	before = times_armed(1);
	assert_int_equal(write(eps[0].fd, &one, sizeof(one)), sizeof(one));
	wait_armed(1, before + 3);
	assert_int_equal(read(eps[0].fd, &one, sizeof(one)), sizeof(one));
	take_all_out(EPS);
}

/* Nothing will wake the thread, which sleeps, for an endpoint without events. */
static void the_thread_polls_who_has_no_events(void **state)
{
	(void)state;
	attr.data_progress = FI_PROGRESS_AUTO;
	open_with(0);
	usleep(20000);
	arm_err = -FI_EAGAIN;
	assert_int_equal(ofi_rdm_domain_progress_add(all, &eps[0]), 0);
	wait_armed(0, 3);
	take_all_out(1);
}

static void the_parameter_has_it_too(void **state)
{
	(void)state;
	automatic = true;
	open_with(1);
	assert_true(times_armed(0));
	take_all_out(1);
}

static void check_biased(enum fi_threading threading, enum fi_progress progress, bool biased)
{
	attr.threading = threading;
	attr.data_progress = progress;
	assert_int_equal(ofi_rdm_domain_progress_open(&domain, automatic), 0);
	all = domain.progress;
	assert_int_equal(ofi_rdm_domain_progress_biased(all), biased);
	eps[0].info = &info;
	info.caps = FI_TAGGED;
	ofi_rdm_domain_progress_bias(all, &eps[0]);
	assert_int_equal(eps[0].biased, biased);
	assert_int_equal(eps[0].with_domain, threading == FI_THREAD_DOMAIN);
	info.caps = FI_TAGGED | FI_TRIGGER;
	ofi_rdm_domain_progress_bias(all, &eps[0]);
	assert_int_equal(eps[0].biased, biased && threading == FI_THREAD_DOMAIN);
	info.caps = FI_TAGGED | FI_COLLECTIVE;
	ofi_rdm_domain_progress_bias(all, &eps[0]);
	assert_int_equal(eps[0].biased, biased && threading == FI_THREAD_DOMAIN);
	ofi_rdm_domain_progress_close(all);
	all = NULL;
}

/* Who serializes, and makes the progress, needs no locks; if the kernel can do without them. */
static void locks_are_as_asked_for(void **state)
{
	(void)state;
	check_biased(FI_THREAD_DOMAIN, FI_PROGRESS_MANUAL, true);
	check_biased(FI_THREAD_COMPLETION, FI_PROGRESS_MANUAL, true);
	check_biased(FI_THREAD_ENDPOINT, FI_PROGRESS_MANUAL, false);
	check_biased(FI_THREAD_FID, FI_PROGRESS_MANUAL, false);
	check_biased(FI_THREAD_SAFE, FI_PROGRESS_MANUAL, false);
	check_biased(FI_THREAD_UNSPEC, FI_PROGRESS_MANUAL, false);
	check_biased(FI_THREAD_DOMAIN, FI_PROGRESS_AUTO, false);
	automatic = true;
	check_biased(FI_THREAD_DOMAIN, FI_PROGRESS_MANUAL, false);
	automatic = false;
	fail_bias = 1;
	check_biased(FI_THREAD_DOMAIN, FI_PROGRESS_MANUAL, false);
	check_biased(FI_THREAD_COMPLETION, FI_PROGRESS_MANUAL, false);
}

static void check_open(int err)
{
	capture_start();
	assert_int_equal(ofi_rdm_domain_progress_open(&domain, automatic), -err);
	assert_non_null(strstr(capture_stop(), strerror(err)));
	assert_null(domain.progress);
}

static void what_fails_is_told(void **state)
{
	(void)state;
	fail_epoll = EMFILE;
	check_open(EMFILE);
	fail_epoll = 0;
	attr.data_progress = FI_PROGRESS_AUTO;
	fail_eventfd = ENFILE;
	check_open(ENFILE);
	fail_eventfd = 0;
	fail_ctl = ENOSPC;
	check_open(ENOSPC);
	fail_ctl = 0;
	fail_thread = EAGAIN;
	check_open(ENOMEM);
	fail_thread = 0;
	attr.data_progress = FI_PROGRESS_MANUAL;
	open_with(0);
	fail_ctl = ENOSPC;
	assert_int_equal(ofi_rdm_domain_progress_add(all, &eps[0]), -ENOSPC);
	assert_false(eps[0].in_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_counter_asks_each, begin, end),
		cmocka_unit_test_setup_teardown(who_is_not_serialized_is_outside, begin, end),
		cmocka_unit_test_setup_teardown(the_lost_are_told, begin, end),
		cmocka_unit_test_setup_teardown(regions_are_forgotten, begin, end),
		cmocka_unit_test_setup_teardown(the_thread_wakes, begin, end),
		cmocka_unit_test_setup_teardown(the_thread_polls_who_has_no_events, begin, end),
		cmocka_unit_test_setup_teardown(the_parameter_has_it_too, begin, end),
		cmocka_unit_test_setup_teardown(locks_are_as_asked_for, begin, end),
		cmocka_unit_test_setup_teardown(what_fails_is_told, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
