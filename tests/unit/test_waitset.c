/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wait sets, with event queues and counters as members. */
#include "unit.h"

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>
#include "prov/base/cntr.h"
#include "prov/base/eq.h"
#include "prov/base/waitset.h"

enum { SHORT = 30, LONG = 60000 }; /* ms */

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref fabric, domain;
static int children; /* of fabric and domain when a member left */

int __real_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event);

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
	if (op == EPOLL_CTL_DEL)
		children = fabric.children + domain.children;
	return __real_epoll_ctl(epfd, op, fd, event);
}

static struct fid_wait *open_set(enum fi_wait_obj obj)
{
	struct fi_wait_attr attr = { .wait_obj = obj };
	int before = (int)fabric.children;
	struct fid_wait *set;

	assert_int_equal(ofi_waitset_open(&prov, &fabric, &attr, &set), 0);
	assert_int_equal(set->fid.fclass, FI_CLASS_WAIT);
	assert_int_equal(fabric.children, before + 1);
	return set;
}

static void close_fid(struct fid *fid)
{
	assert_int_equal(fi_close(fid), 0);
}

static struct fid_eq *open_eq(struct fid_wait *set)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_SET, .wait_set = set, .flags = FI_WRITE };
	struct fid_eq *eq;

	assert_int_equal(ofi_eq_open(&prov, 0, &fabric, &attr, NULL, &eq, NULL), 0);
	return eq;
}

static struct fid_cntr *open_cntr(struct fid_wait *set)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_SET, .wait_set = set };
	struct fid_cntr *cntr;

	assert_int_equal(ofi_cntr_open(&prov, &domain, &fabric, NULL, &attr, &cntr, NULL), 0);
	return cntr;
}

static void write_eq(struct fid_eq *eq)
{
	assert_int_equal(fi_eq_write(eq, 7, "event", 5, 0), 5);
}

static void read_eq(struct fid_eq *eq)
{
	uint32_t event;
	char buf[8];

	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), 5);
}

static void test_attr(void **state)
{
	static const enum fi_wait_obj bad[] = { FI_WAIT_NONE, FI_WAIT_SET, FI_WAIT_MUTEX_COND, 77 };
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD, .flags = 1 };
	struct fid_wait *set = NULL;
	unsigned int i;

	(void)state;
	assert_int_equal(ofi_waitset_open(&prov, &fabric, NULL, &set), -FI_EINVAL);
	assert_int_equal(ofi_waitset_open(&prov, &fabric, &attr, &set), -FI_EBADFLAGS);
	attr.flags = 0;
	assert_int_equal(ofi_waitset_open(&prov, &fabric, &attr, NULL), -FI_EINVAL);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		attr.wait_obj = bad[i];
		assert_int_equal(ofi_waitset_open(&prov, &fabric, &attr, &set), -FI_ENOSYS);
	}
	assert_null(set);
	assert_int_equal(fabric.children, 0);
}

static void test_members(void **state)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_SET };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_SET };
	struct fid_wait *set = open_set(FI_WAIT_FD);
	struct fid_cntr *cntr = NULL;
	struct ofi_ref other = { 0 };
	struct fid_eq *eq = NULL;

	(void)state;
	assert_int_equal(ofi_eq_open(&prov, 0, &fabric, &eq_attr, NULL, &eq, NULL), -FI_EINVAL);
	assert_int_equal(ofi_cntr_open(&prov, &domain, &fabric, NULL, &cntr_attr, &cntr, NULL),
			 -FI_EINVAL);
	eq_attr.wait_set = set;
	cntr_attr.wait_set = set;
	assert_int_equal(ofi_eq_open(&prov, 0, &other, &eq_attr, NULL, &eq, NULL), -FI_EINVAL);
	assert_int_equal(ofi_cntr_open(&prov, &domain, &other, NULL, &cntr_attr, &cntr, NULL),
			 -FI_EINVAL);
	assert_int_equal(other.children + domain.children, 0);
	assert_null(eq);
	assert_null(cntr);
	eq = open_eq(set);
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	close_fid(&eq->fid);
	cntr = open_cntr(set);
	assert_int_equal(fi_close(&set->fid), -FI_EBUSY);
	close_fid(&cntr->fid);
	close_fid(&set->fid);
	assert_int_equal(fabric.children + domain.children, 0);
}

/* Members have no wait object of their own, and no call of theirs waits. */
static void test_member_calls(void **state)
{
	struct fid_wait *set = open_set(FI_WAIT_UNSPEC);
	struct fid_cntr *cntr = open_cntr(set);
	struct fid_eq *eq = open_eq(set);
	enum fi_wait_obj obj;
	uint32_t event;
	int fd;

	(void)state;
	assert_int_equal(fi_eq_sread(eq, &event, NULL, 0, 0, 0), -FI_EINVAL);
	assert_int_equal(fi_cntr_wait(cntr, 1, 1), -FI_ETIMEDOUT);
	assert_int_equal(fi_control(&eq->fid, FI_GETWAIT, &fd), -FI_ENODATA);
	assert_int_equal(fi_control(&cntr->fid, FI_GETWAIT, &fd), -FI_ENODATA);
	assert_int_equal(fi_control(&eq->fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_SET);
	assert_int_equal(fi_control(&cntr->fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_SET);
	close_fid(&eq->fid);
	close_fid(&cntr->fid);
	close_fid(&set->fid);
}

static void test_wait(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_POLLFD,
						  FI_WAIT_YIELD };
	struct fid_wait *set;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	uint64_t start;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		set = open_set(kinds[i]);
		assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
		eq = open_eq(set);
		cntr = open_cntr(set);
		start = ofi_now_ms();
		assert_int_equal(fi_wait(set, SHORT), -FI_ETIMEDOUT);
		assert_true(ofi_now_ms() - start >= SHORT - 1);
		write_eq(eq);
		assert_int_equal(fi_wait(set, -1), 0);
		assert_int_equal(fi_wait(set, 0), 0);
		read_eq(eq);
		assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
		fi_cntr_add(cntr, 1);
		assert_int_equal(fi_wait(set, -1), 0);
		assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
		close_fid(&eq->fid);
		assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
		close_fid(&cntr->fid);
		close_fid(&set->fid);
	}
}

static void *write_later(void *arg)
{
	usleep(SHORT * 1000);
	write_eq(arg);
	return NULL;
}

static void *add_later(void *arg)
{
	usleep(SHORT * 1000);
	fi_cntr_add(arg, 1);
	return NULL;
}

static void test_woken(void **state)
{
	struct fid_wait *set = open_set(FI_WAIT_FD);
	struct fid_cntr *cntr = open_cntr(set);
	struct fid_eq *eq = open_eq(set);
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_later, eq), 0);
	assert_int_equal(fi_wait(set, LONG), 0);
	pthread_join(thread, NULL);
	read_eq(eq);
	while (!fi_wait(set, 0))
		;
	assert_int_equal(pthread_create(&thread, NULL, add_later, cntr), 0);
	assert_int_equal(fi_wait(set, LONG), 0);
	pthread_join(thread, NULL);
	assert_int_equal(fi_cntr_read(cntr), 1);
	close_fid(&eq->fid);
	close_fid(&cntr->fid);
	close_fid(&set->fid);
}

/* Something happens after the first check, while the thread gets no processor. */
static int try_and_stop(struct fid *fid)
{
	const uint64_t one = 1;
	struct pollfd pfd = { .fd = (int)(intptr_t)fid->context, .events = POLLIN };

	if (poll(&pfd, 1, 0) == 1)
		return -FI_EAGAIN;
	usleep(2 * SHORT * 1000);
	assert_int_equal(write(pfd.fd, &one, sizeof(one)), sizeof(one));
	return 0;
}

/* What happens after the timeout, but before the call has noticed, is found. */
static void test_looks_before_it_times_out(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_FD, FI_WAIT_YIELD };
	struct ofi_waitset_member member;
	struct fid_wait *set;
	struct fid fid = { 0 };
	int i, fd;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = eventfd(0, EFD_NONBLOCK);
		fid.context = (void *)(intptr_t)fd;
		set = open_set(kinds[i]);
		assert_int_equal(ofi_waitset_join(set, &fabric, &member, &fid, fd, try_and_stop),
				 0);
		assert_int_equal(fi_wait(set, SHORT), 0);
		ofi_waitset_leave(&member);
		close(fd);
		close_fid(&set->fid);
	}
}

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void test_getwait(void **state)
{
	struct fid_wait *set = open_set(FI_WAIT_FD);
	struct ofi_waitset *base = (struct ofi_waitset *)set;
	struct pollfd pfd = { .fd = -1 };
	struct fi_wait_pollfd arg = { .nfds = 1, .fd = &pfd };
	struct fid_eq *eq = open_eq(set);
	enum fi_wait_obj obj;
	int fd = -1;

	(void)state;
	assert_int_equal(fi_control(&set->fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(fi_control(&set->fid, FI_GETWAITOBJ, &obj), 0);
	assert_int_equal(obj, FI_WAIT_FD);
	assert_int_equal(fi_control(&set->fid, FI_ENABLE, &obj), -FI_ENOSYS);
	assert_int_equal(ofi_waitset_trywait(base), 0);
	assert_false(readable(fd));
	write_eq(eq);
	assert_true(readable(fd));
	assert_int_equal(ofi_waitset_trywait(base), -FI_EAGAIN);
	read_eq(eq);
	assert_int_equal(ofi_waitset_trywait(base), 0);
	assert_false(readable(fd));
	close_fid(&eq->fid);
	close_fid(&set->fid);
	set = open_set(FI_WAIT_POLLFD);
	assert_int_equal(fi_control(&set->fid, FI_GETWAIT, &arg), 0);
	assert_true(pfd.fd >= 0);
	close_fid(&set->fid);
	set = open_set(FI_WAIT_YIELD);
	assert_int_equal(fi_control(&set->fid, FI_GETWAIT, &fd), -FI_ENODATA);
	close_fid(&set->fid);
}

/* Until a member has left, the set may ask it for events, for which it may need its parent. */
static void test_parent_of_members(void **state)
{
	struct fid_wait *set = open_set(FI_WAIT_FD);
	struct fid_cntr *cntr = open_cntr(set);
	struct fid_eq *eq = open_eq(set);

	(void)state;
	close_fid(&cntr->fid);
	assert_int_equal(children, 3);
	close_fid(&eq->fid);
	assert_int_equal(children, 2);
	close_fid(&set->fid);
}

/* Waits for one more than the counter's value so far. */
struct waiter {
	struct fid_wait *set, *other;
	struct fid_cntr *cntr;
	pthread_t thread;
	uint64_t want;
	int ready, late; /* atomic */
};

static void *wait_for_value(void *arg)
{
	struct waiter *waiter = arg;

	__atomic_store_n(&waiter->ready, 1, __ATOMIC_SEQ_CST);
	while (fi_cntr_read(waiter->cntr) < waiter->want)
		waiter->late += fi_wait(waiter->set, 2000) == -FI_ETIMEDOUT;
	return NULL;
}

/* Each thread that sleeps finds out about a change, whoever looks first. */
static void test_threads(void **state)
{
	enum { ROUNDS = 100, THREADS = 4 };
	struct fid_wait *set = open_set(FI_WAIT_FD);
	struct waiter waiters[THREADS] = { 0 };
	struct fid_cntr *cntr = open_cntr(set);
	int i, n;

	(void)state;
	for (i = 1; i <= ROUNDS; i++) {
		for (n = 0; n < THREADS; n++) {
			waiters[n] = (struct waiter){ .set = set, .cntr = cntr };
			waiters[n].want = 2 * (uint64_t)i - !n;
			assert_int_equal(pthread_create(&waiters[n].thread, NULL, wait_for_value,
							&waiters[n]),
					 0);
			while (!__atomic_load_n(&waiters[n].ready, __ATOMIC_SEQ_CST))
				usleep(10);
		}
		usleep(300);
		for (n = 0; n < THREADS; n++) {
			if (n < 2)
				fi_cntr_add(cntr, 1);
			pthread_join(waiters[n].thread, NULL);
			assert_int_equal(waiters[n].late, 0);
		}
	}
	close_fid(&cntr->fid);
	close_fid(&set->fid);
}

static void *wait_now(void *arg)
{
	struct waiter *waiter = arg;

	waiter->late = fi_wait(waiter->set, 0);
	if (waiter->other)
		fi_wait(waiter->other, 0);
	__atomic_store_n(&waiter->ready, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&waiter->ready, __ATOMIC_SEQ_CST) == 1)
		usleep(10);
	waiter->late = fi_wait(waiter->set, 0);
	return NULL;
}

static void between_calls(struct fid_wait *second)
{
	struct fid_wait *set = open_set(FI_WAIT_FD);
	struct waiter other = { .set = set, .other = second };
	struct fid_cntr *cntr = open_cntr(set);

	assert_int_equal(pthread_create(&other.thread, NULL, wait_now, &other), 0);
	while (!__atomic_load_n(&other.ready, __ATOMIC_SEQ_CST))
		usleep(10);
	assert_int_equal(other.late, -FI_ETIMEDOUT);
	fi_cntr_add(cntr, 1);
	assert_int_equal(fi_wait(set, 0), 0);
	assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
	__atomic_store_n(&other.ready, 2, __ATOMIC_SEQ_CST);
	pthread_join(other.thread, NULL);
	assert_int_equal(other.late, 0);
	assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
	close_fid(&cntr->fid);
	close_fid(&set->fid);
}

/* A thread that was between two calls finds out, too, even if it has waited for another set. */
static void test_between_calls(void **state)
{
	struct fid_wait *second = open_set(FI_WAIT_FD);

	(void)state;
	between_calls(NULL);
	between_calls(second);
	close_fid(&second->fid);
}

static void *wait_canceled(void *arg)
{
	pthread_cancel(pthread_self());
	fi_wait(arg, -1);
	return NULL;
}

/* The thread takes back the signal of an event that is gone, for which it holds locks. */
static void test_canceled(void **state)
{
	struct fid_wait *set = open_set(FI_WAIT_FD);
	struct fid_eq *eq = open_eq(set);
	pthread_t thread;
	void *ret;

	(void)state;
	ofi_wait_signal(&ofi_eq(eq)->wait);
	assert_int_equal(pthread_create(&thread, NULL, wait_canceled, set), 0);
	assert_int_equal(pthread_join(thread, &ret), 0);
	assert_ptr_equal(ret, PTHREAD_CANCELED);
	alarm(10);
	assert_int_equal(fi_wait(set, 0), -FI_ETIMEDOUT);
	alarm(0);
	close_fid(&eq->fid);
	close_fid(&set->fid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attr),
		cmocka_unit_test(test_members),
		cmocka_unit_test(test_member_calls),
		cmocka_unit_test(test_wait),
		cmocka_unit_test(test_woken),
		cmocka_unit_test(test_looks_before_it_times_out),
		cmocka_unit_test(test_getwait),
		cmocka_unit_test(test_parent_of_members),
		cmocka_unit_test(test_canceled),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_between_calls),
	};

	return cmocka_run_group_tests_name("waitset", tests, NULL, NULL);
}
