/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters: values, wait objects, sources, and threads that wait. */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/cntr.h"
#include "prov/base/wait.h"

enum { SHORT = 30, LONG = 60000 }; /* ms */

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref parent, fabric;

static struct fid_cntr *open_cntr(enum fi_wait_obj obj)
{
	struct fi_cntr_attr attr = { .wait_obj = obj };
	struct fid_cntr *cntr;

	assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, NULL, &attr, &cntr, &attr), 0);
	assert_ptr_equal(cntr->fid.context, &attr);
	assert_int_equal(cntr->fid.fclass, FI_CLASS_CNTR);
	assert_int_equal(parent.children, 1);
	return cntr;
}

static void close_cntr(struct fid_cntr *cntr)
{
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(parent.children, 0);
}

/* Something that has completions for one counter. */
struct fake_source {
	struct ofi_cntr *cntr;
	unsigned int ready; /* counted when it is looked for; atomic */
	unsigned int looked;
	int fd;
	bool stopped; /* the thread gets no processor after its next look */
};

static bool take(struct fake_source *source)
{
	unsigned int n = __atomic_exchange_n(&source->ready, 0, __ATOMIC_ACQ_REL);

	source->looked++;
	if (n)
		ofi_cntr_count(source->cntr, n);
	return n;
}

static void source_progress(void *object)
{
	struct fake_source *source = object;

	take(source);
	if (!source->stopped)
		return;
	usleep(2 * SHORT * 1000);
	source->ready++;
	source->stopped = false;
}

static int source_arm(void *object)
{
	struct fake_source *source = object;
	uint64_t count;

	(void)!read(source->fd, &count, sizeof(count));
	return take(source) ? -FI_EAGAIN : 0;
}

static const struct ofi_cntr_source_ops source_ops = {
	.progress = source_progress,
	.arm = source_arm,
};

static void complete(struct fake_source *source)
{
	const uint64_t one = 1;

	__atomic_add_fetch(&source->ready, 1, __ATOMIC_ACQ_REL);
	assert_int_equal(write(source->fd, &one, sizeof(one)), sizeof(one));
}

static void watch(struct fid_cntr *cntr, struct fake_source *source, bool fd)
{
	*source = (struct fake_source){ .cntr = ofi_cntr(cntr) };
	source->fd = eventfd(0, EFD_NONBLOCK);
	assert_int_equal(ofi_cntr_watch(ofi_cntr(cntr), &source_ops, source, fd ? source->fd : -1),
			 0);
}

static void unwatch(struct fid_cntr *cntr, struct fake_source *source)
{
	ofi_cntr_unwatch(ofi_cntr(cntr), source);
	close(source->fd);
}

static bool readable(int fd, int ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, ms) == 1;
}

static int get_fd(struct fid_cntr *cntr)
{
	int fd = -1;

	assert_int_equal(fi_control(&cntr->fid, FI_GETWAIT, &fd), 0);
	assert_true(fd >= 0);
	return fd;
}

static void test_attr(void **state)
{
	struct fi_cntr_attr attr = { .flags = 1 };
	struct fid_cntr *cntr = NULL;

	(void)state;
	assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, NULL, &attr, &cntr, NULL),
			 -FI_EBADFLAGS);
	attr = (struct fi_cntr_attr){ .events = FI_CNTR_EVENTS_BYTES };
	assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, NULL, &attr, &cntr, NULL),
			 -FI_ENOSYS);
	attr = (struct fi_cntr_attr){ .wait_obj = 77 };
	assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, NULL, &attr, &cntr, NULL),
			 -FI_ENOSYS);
	attr.wait_obj = FI_WAIT_POLLFD;
	assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, NULL, &attr, &cntr, NULL),
			 -FI_ENOSYS);
	assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, NULL, NULL, NULL, NULL),
			 -FI_EINVAL);
	assert_null(cntr);
	assert_int_equal(ofi_cntr_open(&prov, &parent, &fabric, NULL, NULL, &cntr, NULL), 0);
	close_cntr(cntr);
}

static void test_values(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_NONE);

	(void)state;
	assert_int_equal(fi_cntr_read(cntr), 0);
	assert_int_equal(fi_cntr_readerr(cntr), 0);
	assert_int_equal(fi_cntr_add(cntr, 3), 0);
	assert_int_equal(fi_cntr_adderr(cntr, 2), 0);
	assert_int_equal(fi_cntr_add(cntr, 4), 0);
	assert_int_equal(fi_cntr_read(cntr), 7);
	assert_int_equal(fi_cntr_readerr(cntr), 2);
	assert_int_equal(fi_cntr_set(cntr, UINT64_MAX), 0);
	assert_int_equal(fi_cntr_seterr(cntr, 0), 0);
	assert_true(fi_cntr_read(cntr) == UINT64_MAX);
	assert_int_equal(fi_cntr_readerr(cntr), 0);
	assert_int_equal(fi_cntr_export_xpu(cntr, 0, NULL), -FI_ENOSYS);
	close_cntr(cntr);
}

static void test_close_busy(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_NONE);

	(void)state;
	ofi_ref_get(&ofi_cntr(cntr)->ref);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);
	ofi_ref_put(&ofi_cntr(cntr)->ref);
	close_cntr(cntr);
}

static void test_control(void **state)
{
	static const enum fi_wait_obj none[] = { FI_WAIT_NONE, FI_WAIT_YIELD };
	struct fi_mutex_cond pair = { 0 };
	enum fi_wait_obj obj;
	struct fid_cntr *cntr;
	unsigned int i;
	int fd;

	(void)state;
	for (i = 0; i < 2; i++) {
		cntr = open_cntr(none[i]);
		assert_true(fi_control(&cntr->fid, FI_GETWAIT, &fd) < 0);
		close_cntr(cntr);
	}
	cntr = open_cntr(FI_WAIT_UNSPEC);
	get_fd(cntr);
	assert_int_equal(fi_control(&cntr->fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_FD);
	assert_int_equal(fi_control(&cntr->fid, FI_GETWAIT, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(&cntr->fid, 9999, &fd), -FI_ENOSYS);
	close_cntr(cntr);
	cntr = open_cntr(FI_WAIT_MUTEX_COND);
	assert_int_equal(fi_control(&cntr->fid, FI_GETWAIT, &pair), 0);
	assert_non_null(pair.mutex);
	assert_non_null(pair.cond);
	close_cntr(cntr);
}

static const enum fi_wait_obj kinds[] = { FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_MUTEX_COND,
					  FI_WAIT_YIELD };

static void test_wait(void **state)
{
	struct fid_cntr *cntr;
	uint64_t start;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		cntr = open_cntr(kinds[i]);
		assert_int_equal(fi_cntr_wait(cntr, 0, 0), 0);
		assert_int_equal(fi_cntr_wait(cntr, 1, 0), -FI_ETIMEDOUT);
		start = ofi_now_ms();
		assert_int_equal(fi_cntr_wait(cntr, 1, SHORT), -FI_ETIMEDOUT);
		assert_true(ofi_now_ms() - start >= SHORT - 1);
		fi_cntr_add(cntr, 5);
		assert_int_equal(fi_cntr_wait(cntr, 5, -1), 0);
		assert_int_equal(fi_cntr_wait(cntr, 4, 0), 0);
		/* An error from before the call does not end it. */
		fi_cntr_adderr(cntr, 1);
		assert_int_equal(fi_cntr_wait(cntr, 6, SHORT), -FI_ETIMEDOUT);
		close_cntr(cntr);
	}
	cntr = open_cntr(FI_WAIT_NONE);
	assert_int_equal(fi_cntr_wait(cntr, 1, SHORT), -FI_ETIMEDOUT);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_cntr_wait(cntr, 1, -1), 0);
	assert_int_equal(ofi_cntr_trywait(&cntr->fid), -FI_EINVAL);
	close_cntr(cntr);
}

struct change {
	struct fid_cntr *cntr;
	int (*fn)(struct fid_cntr *cntr, uint64_t value);
	uint64_t value;
	pthread_t thread;
};

static void *change_later(void *arg)
{
	struct change *change = arg;

	usleep(SHORT * 1000);
	change->fn(change->cntr, change->value);
	return NULL;
}

static void begin(struct change *change)
{
	assert_int_equal(pthread_create(&change->thread, NULL, change_later, change), 0);
}

static void test_woken(void **state)
{
	struct change changes[] = {
		{ .fn = fi_cntr_add, .value = 1 },
		{ .fn = fi_cntr_set, .value = 1 },
		{ .fn = fi_cntr_adderr, .value = 1 },
		{ .fn = fi_cntr_seterr, .value = 7 },
	};
	unsigned int i, j;
	int ret;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) * 4; i++) {
		j = i % 4;
		changes[j].cntr = open_cntr(kinds[i / 4]);
		begin(&changes[j]);
		ret = fi_cntr_wait(changes[j].cntr, 1, LONG);
		assert_int_equal(ret, j < 2 ? 0 : -FI_EAVAIL);
		pthread_join(changes[j].thread, NULL);
		close_cntr(changes[j].cntr);
	}
}

enum { WAITERS = 4, STEPS = 200 };

struct waiter {
	struct fid_cntr *cntr;
	int ret;
	pthread_t thread;
};

static void *wait_all(void *arg)
{
	struct waiter *waiter = arg;
	uint64_t i;

	for (i = 1; i <= STEPS && !waiter->ret; i++)
		waiter->ret = fi_cntr_wait(waiter->cntr, i, LONG);
	return NULL;
}

/* Several threads share the wait object: none is left behind. */
static void test_many_waiters(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_FD);
	struct waiter waiters[WAITERS];
	struct fake_source source;
	int i;

	(void)state;
	watch(cntr, &source, true);
	for (i = 0; i < WAITERS; i++) {
		waiters[i] = (struct waiter){ .cntr = cntr };
		assert_int_equal(pthread_create(&waiters[i].thread, NULL, wait_all, &waiters[i]),
				 0);
	}
	for (i = 0; i < STEPS / 2; i++) {
		complete(&source);
		fi_cntr_add(cntr, 1);
		usleep(i % 7 * 100);
	}
	for (i = 0; i < WAITERS; i++) {
		pthread_join(waiters[i].thread, NULL);
		assert_int_equal(waiters[i].ret, 0);
	}
	assert_int_equal(fi_cntr_read(cntr), STEPS);
	unwatch(cntr, &source);
	close_cntr(cntr);
}

static void test_source(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_NONE);
	struct fake_source source;
	unsigned int looked;

	(void)state;
	watch(cntr, &source, true);
	assert_int_equal(ofi_cntr_watch(ofi_cntr(cntr), &source_ops, &source, source.fd), 0);
	complete(&source);
	assert_int_equal(fi_cntr_read(cntr), 1);
	assert_int_equal(source.looked, 1);
	complete(&source);
	assert_int_equal(fi_cntr_readerr(cntr), 0);
	assert_int_equal(source.looked, 2);
	ofi_cntr_unwatch(ofi_cntr(cntr), &source);
	assert_int_equal(fi_cntr_read(cntr), 2);
	looked = source.looked;
	unwatch(cntr, &source);
	fi_cntr_read(cntr);
	assert_int_equal(source.looked, looked);
	close_cntr(cntr);
}

static void *complete_later(void *arg)
{
	usleep(SHORT * 1000);
	complete(arg);
	return NULL;
}

/* With a descriptor and without, a completion ends the wait. */
static void test_source_wakes(void **state)
{
	struct fake_source source;
	struct fid_cntr *cntr;
	pthread_t thread;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) * 2; i++) {
		cntr = open_cntr(kinds[i / 2]);
		watch(cntr, &source, i % 2);
		assert_int_equal(pthread_create(&thread, NULL, complete_later, &source), 0);
		assert_int_equal(fi_cntr_wait(cntr, 1, LONG), 0);
		pthread_join(thread, NULL);
		unwatch(cntr, &source);
		close_cntr(cntr);
	}
}

/* A completion that comes after the timeout, but before the call has noticed, is counted. */
static void test_looks_before_it_times_out(void **state)
{
	struct fake_source source;
	struct fid_cntr *cntr;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) * 2; i++) {
		cntr = open_cntr(kinds[i / 2]);
		watch(cntr, &source, i % 2);
		source.stopped = true;
		assert_int_equal(fi_cntr_wait(cntr, 1, SHORT), 0);
		assert_int_equal(fi_cntr_wait(cntr, 2, SHORT), -FI_ETIMEDOUT);
		unwatch(cntr, &source);
		close_cntr(cntr);
	}
}

static int try(struct fid_cntr *cntr)
{
	return ofi_cntr_trywait(&cntr->fid);
}

static void test_trywait(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_FD);
	struct fake_source source;
	int fd = get_fd(cntr);

	(void)state;
	assert_int_equal(try(cntr), 0);
	assert_false(readable(fd, 0));
	fi_cntr_add(cntr, 1);
	assert_true(readable(fd, LONG));
	assert_int_equal(try(cntr), -FI_EAGAIN);
	assert_int_equal(try(cntr), 0);
	assert_false(readable(fd, 0));
	fi_cntr_set(cntr, 0);
	fi_cntr_set(cntr, 1);
	assert_int_equal(try(cntr), -FI_EAGAIN);
	assert_int_equal(try(cntr), 0);
	fi_cntr_set(cntr, 1);
	assert_int_equal(try(cntr), 0);
	fi_cntr_adderr(cntr, 1);
	assert_true(readable(fd, LONG));

	watch(cntr, &source, true);
	assert_int_equal(try(cntr), -FI_EAGAIN);
	assert_int_equal(try(cntr), 0);
	complete(&source);
	assert_true(readable(fd, LONG));
	assert_int_equal(try(cntr), -FI_EAGAIN);
	assert_int_equal(fi_cntr_read(cntr), 2);
	assert_int_equal(try(cntr), 0);
	unwatch(cntr, &source);
	close_cntr(cntr);
}

/* A thread that waits for more takes no change from one that sleeps on the descriptor. */
static void test_trywait_and_wait(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_FD);
	struct fake_source source;
	int fd = get_fd(cntr);

	(void)state;
	watch(cntr, &source, true);
	assert_int_equal(try(cntr), 0);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_cntr_wait(cntr, 100, 5), -FI_ETIMEDOUT);
	assert_true(readable(fd, 0));
	assert_int_equal(try(cntr), -FI_EAGAIN);
	assert_int_equal(try(cntr), 0);
	assert_false(readable(fd, 0));
	complete(&source);
	assert_int_equal(fi_cntr_wait(cntr, 100, 5), -FI_ETIMEDOUT);
	assert_true(readable(fd, 0));
	assert_int_equal(fi_cntr_read(cntr), 2);
	unwatch(cntr, &source);
	close_cntr(cntr);
}

/* The descriptor that nobody clears does not keep threads from sleeping. */
static void test_wait_sleeps(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_FD);
	struct fake_source source;

	(void)state;
	watch(cntr, &source, true);
	assert_int_equal(try(cntr), 0);
	fi_cntr_add(cntr, 1);
	assert_true(readable(get_fd(cntr), 0));
	assert_int_equal(fi_cntr_wait(cntr, 2, SHORT), -FI_ETIMEDOUT);
	assert_in_range(source.looked, 1, 20);
	unwatch(cntr, &source);
	close_cntr(cntr);
}

/* The application may hold its mutex while it waits in the library. */
static void test_mutex_held(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_MUTEX_COND);
	struct change change = { .cntr = cntr, .fn = fi_cntr_add, .value = 5 };
	struct fi_mutex_cond pair;

	(void)state;
	assert_int_equal(fi_control(&cntr->fid, FI_GETWAIT, &pair), 0);
	pthread_mutex_lock(pair.mutex);
	alarm(20);
	assert_int_equal(fi_cntr_wait(cntr, 5, 50), -FI_ETIMEDOUT);
	begin(&change);
	assert_int_equal(fi_cntr_wait(cntr, 5, LONG), 0);
	alarm(0);
	pthread_mutex_unlock(pair.mutex);
	pthread_join(change.thread, NULL);
	close_cntr(cntr);
}

/* Where nobody would signal, sleeping is never safe. */
static void test_trywait_deaf(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_FD);
	struct fake_source source;
	int i;

	(void)state;
	watch(cntr, &source, false);
	for (i = 0; i < 3; i++)
		assert_int_equal(try(cntr), -FI_EAGAIN);
	unwatch(cntr, &source);
	close_cntr(cntr);
	cntr = open_cntr(FI_WAIT_MUTEX_COND);
	assert_int_equal(try(cntr), 0);
	watch(cntr, &source, true);
	assert_int_equal(try(cntr), -FI_EAGAIN);
	unwatch(cntr, &source);
	close_cntr(cntr);
}

static void *finish_later(void *arg)
{
	struct fid_cntr *cntr = arg;

	ofi_ref_leave(&ofi_cntr(cntr)->ref);
	fi_cntr_add(cntr, 1);
	usleep(200000);
	ofi_ref_left(&ofi_cntr(cntr)->ref);
	return NULL;
}

/* The thread that finishes work counts it before it drops its reference, and may be late. */
static void test_close_finishing(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_UNSPEC);
	pthread_t thread;

	(void)state;
	ofi_ref_get(&ofi_cntr(cntr)->ref);
	assert_int_equal(pthread_create(&thread, NULL, finish_later, cntr), 0);
	assert_int_equal(fi_cntr_wait(cntr, 1, LONG), 0);
	close_cntr(cntr);
	pthread_join(thread, NULL);
}

static void *wait_canceled(void *arg)
{
	pthread_cancel(pthread_self());
	fi_cntr_wait(arg, 1, -1);
	return NULL;
}

static void test_canceled(void **state)
{
	struct fid_cntr *cntr = open_cntr(FI_WAIT_FD);
	pthread_t thread;
	void *ret;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, wait_canceled, cntr), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	assert_int_equal(ofi_cntr(cntr)->own.sleepers, 0);
	close_cntr(cntr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_canceled),
		cmocka_unit_test(test_attr),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_close_busy),
		cmocka_unit_test(test_control),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_woken),
		cmocka_unit_test(test_many_waiters),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_source_wakes),
		cmocka_unit_test(test_looks_before_it_times_out),
		cmocka_unit_test(test_trywait),
		cmocka_unit_test(test_trywait_deaf),
		cmocka_unit_test(test_trywait_and_wait),
		cmocka_unit_test(test_wait_sleeps),
		cmocka_unit_test(test_mutex_held),
		cmocka_unit_test(test_close_finishing),
	};

	return cmocka_run_group_tests_name("cntr", tests, NULL, NULL);
}
