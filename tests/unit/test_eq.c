/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Event queues: order, errors, partial buffers, waiting, closing. */
#include "unit.h"
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/eq.h"

static struct fi_provider prov = { .name = "test" };
static struct ofi_ref parent;

static struct fid_eq *open_eq(enum fi_wait_obj obj, uint64_t flags, uint32_t version)
{
	struct fi_eq_attr attr = { .wait_obj = obj, .flags = flags };
	struct fid_eq *eq = NULL;

	assert_int_equal(ofi_eq_open(&prov, version, &parent, &attr, NULL, &eq, NULL), 0);
	return eq;
}

static struct fid_eq *open_plain(void)
{
	return open_eq(FI_WAIT_UNSPEC, 0, FI_VERSION(1, 17));
}

static void close_eq(struct fid_eq *eq)
{
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(parent.children, 0);
}

static void post(struct fid_eq *eq, uint32_t event, struct fid *fid, const char *data)
{
	uint8_t buf[64] = { 0 };
	struct fi_eq_cm_entry *entry = (void *)buf;

	entry->fid = fid;
	memcpy(entry->data, data, strlen(data));
	assert_int_equal(ofi_eq_post(ofi_eq(eq), event, entry, sizeof(*entry) + strlen(data)), 0);
}

static void post_err(struct fid_eq *eq, int err, const char *data)
{
	struct fi_eq_err_entry entry = {
		.err = err,
		.prov_errno = err + 1000,
		.err_data = (void *)data,
		.err_data_size = data ? strlen(data) : 0,
	};

	assert_int_equal(ofi_eq_post_err(ofi_eq(eq), &entry), 0);
}

/* A child closes what it opened itself, and nothing that its parent opened. */
static void a_child_closes_its_own(void **state)
{
	struct fid_eq *eq;

	(void)state;
	parent.owner = ofi_process() + 1;
	close_eq(open_plain());
	eq = open_plain();
	ofi_eq(eq)->ref.owner = ofi_process() + 1;
	assert_int_equal(fi_close(&eq->fid), 0);
	assert_int_equal(parent.children, 1);
	ofi_eq(eq)->ref.owner = ofi_process();
	close_eq(eq);
	parent.owner = 0;
}

static void bad_attributes(void **state)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_SET };
	struct fid_eq *eq = NULL;

	(void)state;
	assert_int_equal(ofi_eq_open(&prov, 0, &parent, &attr, NULL, &eq, NULL), -FI_EINVAL);
	attr.wait_obj = (enum fi_wait_obj)99;
	assert_int_equal(ofi_eq_open(&prov, 0, &parent, &attr, NULL, &eq, NULL), -FI_ENOSYS);
	attr = (struct fi_eq_attr){ .flags = FI_PEEK };
	assert_int_equal(ofi_eq_open(&prov, 0, &parent, &attr, NULL, &eq, NULL), -FI_EINVAL);
	assert_null(eq);
	assert_int_equal(parent.children, 0);
	assert_int_equal(ofi_eq_open(&prov, 0, &parent, NULL, NULL, &eq, NULL), 0);
	close_eq(eq);
}

static void keeps_order(void **state)
{
	struct fid_eq *eq = open_plain();
	uint8_t buf[64];
	uint32_t event;

	(void)state;
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), -FI_EAGAIN);
	post(eq, FI_CONNECTED, NULL, "one");
	post(eq, FI_SHUTDOWN, NULL, "");
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), FI_PEEK), 19);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), 19);
	assert_int_equal(event, FI_CONNECTED);
	assert_memory_equal(buf + 16, "one", 3);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), 16);
	assert_int_equal(event, FI_SHUTDOWN);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), -FI_EAGAIN);
	close_eq(eq);
}

static void a_small_buffer_loses_nothing(void **state)
{
	struct fid_eq *eq = open_plain();
	struct fi_eq_entry entry = { .data = 7 }, out;
	uint8_t buf[64];
	uint32_t event = 99;

	(void)state;
	assert_int_equal(ofi_eq_post(ofi_eq(eq), FI_NOTIFY, &entry, sizeof(entry)), 0);
	assert_int_equal(fi_eq_read(eq, &event, &out, sizeof(out) - 1, 0), -FI_ETOOSMALL);
	assert_int_equal(event, 99);
	assert_int_equal(fi_eq_read(eq, &event, &out, sizeof(out), 0), sizeof(out));
	assert_int_equal(out.data, 7);

	/* The man page: CM data is limited to the space provided, the entry is not. */
	post(eq, FI_CONNECTED, NULL, "hello");
	assert_int_equal(fi_eq_read(eq, &event, buf, 15, 0), -FI_ETOOSMALL);
	assert_int_equal(fi_eq_read(eq, &event, buf, 18, 0), 18);
	assert_memory_equal(buf + 16, "he", 2);
	close_eq(eq);
}

static void bad_calls(void **state)
{
	struct fid_eq *eq = open_eq(FI_WAIT_NONE, 0, FI_VERSION(1, 17));
	uint8_t buf[64];
	uint32_t event;
	void *wait;

	(void)state;
	post(eq, FI_SHUTDOWN, NULL, "");
	assert_int_equal(fi_eq_read(eq, NULL, buf, sizeof(buf), 0), -FI_EINVAL);
	assert_int_equal(fi_eq_read(eq, &event, NULL, sizeof(buf), 0), -FI_EINVAL);
	assert_int_equal(fi_eq_read(eq, &event, buf, 0, 0), -FI_ETOOSMALL);
	assert_int_equal(fi_eq_read(eq, &event, NULL, 0, FI_PEEK), 0);
	assert_int_equal(event, FI_SHUTDOWN);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), FI_SEND), -FI_EINVAL);
	assert_int_equal(fi_eq_readerr(eq, NULL, 0), -FI_EINVAL);
	assert_int_equal(fi_eq_write(eq, FI_NOTIFY, buf, 8, 0), -FI_EINVAL);
	assert_int_equal(fi_control(&eq->fid, FI_GETWAIT, &wait), -FI_ENODATA);
	assert_int_equal(fi_control(&eq->fid, FI_ENABLE, NULL), -FI_EINVAL);
	assert_int_equal(eq->fid.ops->bind(&eq->fid, NULL, 0), -FI_ENOSYS);
	close_eq(eq);
}

static void errors_are_kept_in_order(void **state)
{
	struct fid_eq *eq = open_plain();
	struct fi_eq_err_entry err = { 0 };
	uint8_t buf[64];
	uint32_t event;

	(void)state;
	assert_int_equal(fi_eq_readerr(eq, &err, 0), -FI_EAGAIN);
	post(eq, FI_CONNECTED, NULL, "");
	post_err(eq, FI_EIO, NULL);
	post_err(eq, FI_ENODEV, NULL);
	post(eq, FI_SHUTDOWN, NULL, "");
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), 16);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_sread(eq, &event, buf, sizeof(buf), -1, 0), -FI_EAVAIL);
	assert_int_equal(fi_eq_readerr(eq, &err, FI_PEEK), sizeof(err));
	assert_int_equal(err.err, FI_EIO);
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
	assert_int_equal(err.err, FI_EIO);
	assert_int_equal(err.prov_errno, FI_EIO + 1000);
	assert_int_equal(err.err_data_size, 0);
	assert_null(err.err_data);
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
	assert_int_equal(err.err, FI_ENODEV);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), 16);
	assert_int_equal(event, FI_SHUTDOWN);
	close_eq(eq);
}

static void err_data_is_copied_or_lent(void **state)
{
	struct fid_eq *eq = open_plain();
	char room[4] = "....";
	struct fi_eq_err_entry err = { .err_data = room, .err_data_size = 3 };
	uint8_t buf[64];
	uint32_t event;

	(void)state;
	post_err(eq, FI_ECONNREFUSED, "because");
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
	assert_ptr_equal(err.err_data, room);
	assert_int_equal(err.err_data_size, 3);
	assert_memory_equal(room, "bec.", 4);

	post_err(eq, FI_ECONNREFUSED, "because");
	err = (struct fi_eq_err_entry){ .err_data_size = 0 };
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
	assert_int_equal(err.err_data_size, 7);
	assert_memory_equal(err.err_data, "because", 7);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), -FI_EAGAIN);

	/* Lent and not read on: the queue frees it. */
	post_err(eq, FI_ECONNREFUSED, "because");
	err.err_data_size = 0;
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
	close_eq(eq);
}

/* Before API 1.5 what the entry holds is not read, but it has the same size. */
static void old_callers_get_a_pointer(void **state)
{
	struct fid_eq *eq = open_eq(FI_WAIT_NONE, 0, FI_VERSION(1, 4));
	char unused[8] = "unused";
	struct fi_eq_err_entry err = { .err_data = unused, .err_data_size = 4711 };

	(void)state;
	post_err(eq, FI_ECONNREFUSED, "because");
	assert_int_equal(fi_eq_readerr(eq, &err, FI_PEEK), sizeof(err));
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
	assert_memory_equal(err.err_data, "because", 7);
	assert_int_equal(err.err_data_size, 7);
	assert_string_equal(unused, "unused");
	close_eq(eq);
}

static void writes_come_back(void **state)
{
	struct fid_eq *eq = open_eq(FI_WAIT_FD, FI_WRITE, FI_VERSION(1, 17));
	uint64_t word = 42, out = 0;
	uint32_t event;

	(void)state;
	assert_int_equal(fi_eq_write(eq, 77, &word, sizeof(word), FI_PEEK), -FI_EINVAL);
	assert_int_equal(fi_eq_write(eq, 77, NULL, sizeof(word), 0), -FI_EINVAL);
	assert_int_equal(fi_eq_write(eq, 77, &word, sizeof(word), 0), sizeof(word));
	assert_int_equal(fi_eq_read(eq, &event, &out, 4, 0), -FI_ETOOSMALL);
	assert_int_equal(fi_eq_sread(eq, &event, &out, sizeof(out), -1, 0), sizeof(out));
	assert_int_equal(event, 77);
	assert_int_equal(out, 42);
	/* What looks like a connection request is not ours to free, nor its first word a fid. */
	assert_int_equal(fi_eq_write(eq, FI_CONNREQ, "0123456789abcdef0123", 20, 0), 20);
	ofi_eq_forget(ofi_eq(eq), &eq->fid);
	close_eq(eq);
}

static void a_bound_queue_stays(void **state)
{
	struct fid_eq *eq = open_plain();

	(void)state;
	ofi_ref_get(&ofi_eq(eq)->ref);
	assert_int_equal(fi_close(&eq->fid), -FI_EBUSY);
	ofi_ref_put(&ofi_eq(eq)->ref);
	close_eq(eq);
}

static void waiting_times_out(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_UNSPEC,     FI_WAIT_FD,    FI_WAIT_POLLFD,
						  FI_WAIT_MUTEX_COND, FI_WAIT_YIELD, FI_WAIT_NONE };
	struct fid_eq *eq;
	uint8_t buf[64];
	uint32_t event;
	uint64_t start;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		eq = open_eq(kinds[i], 0, FI_VERSION(1, 17));
		start = ofi_now_ms();
		assert_int_equal(fi_eq_sread(eq, &event, buf, sizeof(buf), 20, 0), -FI_EAGAIN);
		assert_in_range(ofi_now_ms() - start, 19, 5000);
		assert_int_equal(fi_eq_sread(eq, &event, buf, sizeof(buf), 0, 0), -FI_EAGAIN);
		close_eq(eq);
	}
}

static void *post_soon(void *arg)
{
	usleep(20000);
	post(arg, FI_CONNECTED, NULL, "");
	return NULL;
}

static void waiting_wakes(void **state)
{
	static const enum fi_wait_obj kinds[] = { FI_WAIT_UNSPEC, FI_WAIT_MUTEX_COND, FI_WAIT_YIELD,
						  FI_WAIT_NONE };
	struct fid_eq *eq;
	uint8_t buf[64];
	uint32_t event;
	pthread_t thread;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		eq = open_eq(kinds[i], 0, FI_VERSION(1, 17));
		pthread_create(&thread, NULL, post_soon, eq);
		assert_int_equal(fi_eq_sread(eq, &event, buf, sizeof(buf), -1, 0), 16);
		pthread_join(thread, NULL);
		close_eq(eq);
	}
}

/* The application may hold its mutex while it waits in the library. */
static void waiting_takes_no_mutex(void **state)
{
	struct fid_eq *eq = open_eq(FI_WAIT_MUTEX_COND, 0, FI_VERSION(1, 17));
	struct fi_mutex_cond pair;
	pthread_t thread;
	uint32_t event;
	char buf[64];

	(void)state;
	assert_int_equal(fi_control(&eq->fid, FI_GETWAIT, &pair), 0);
	pthread_mutex_lock(pair.mutex);
	alarm(20);
	assert_int_equal(fi_eq_sread(eq, &event, buf, sizeof(buf), 50, 0), -FI_EAGAIN);
	pthread_create(&thread, NULL, post_soon, eq);
	assert_true(fi_eq_sread(eq, &event, buf, sizeof(buf), 10000, 0) >= 0);
	alarm(0);
	pthread_mutex_unlock(pair.mutex);
	pthread_join(thread, NULL);
	close_eq(eq);
}

static void the_descriptor_says_if_there_is_something(void **state)
{
	struct fid_eq *eq = open_eq(FI_WAIT_FD, 0, FI_VERSION(1, 17));
	struct pollfd pfd = { .events = POLLIN };
	struct fi_eq_err_entry err = { 0 };
	uint8_t buf[64];
	uint32_t event;

	(void)state;
	assert_int_equal(fi_control(&eq->fid, FI_GETWAIT, &pfd.fd), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	assert_int_equal(ofi_eq_trywait(&eq->fid), 0);
	post(eq, FI_CONNECTED, NULL, "");
	post_err(eq, FI_EIO, NULL);
	assert_int_equal(ofi_eq_trywait(&eq->fid), -FI_EAGAIN);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), 16);
	assert_int_equal(poll(&pfd, 1, 0), 1);
	assert_int_equal(fi_eq_readerr(eq, &err, 0), sizeof(err));
	assert_int_equal(ofi_eq_trywait(&eq->fid), 0);
	assert_int_equal(poll(&pfd, 1, 0), 0);
	close_eq(eq);
}

#define POSTS 2000

static void *post_many(void *arg)
{
	struct fi_eq_entry entry = { 0 };
	int i;

	for (i = 0; i < POSTS; i++)
		ofi_eq_post(arg, FI_NOTIFY, &entry, sizeof(entry));
	return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
	struct fid_eq *eq = open_eq(FI_WAIT_FD, 0, FI_VERSION(1, 17));
	struct fi_eq_entry entry;
	pthread_t threads[2];
	uint32_t event;
	int i;

	(void)state;
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, post_many, ofi_eq(eq));
	for (i = 0; i < 2 * POSTS; i++)
		assert_int_equal(fi_eq_sread(eq, &event, &entry, sizeof(entry), 10000, 0),
				 sizeof(entry));
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
	close_eq(eq);
}

static void strerror_needs_no_buffer(void **state)
{
	struct fid_eq *eq = open_plain();
	char buf[8];

	(void)state;
	assert_string_equal(fi_eq_strerror(eq, FI_EIO, NULL, NULL, 0), fi_strerror(FI_EIO));
	assert_ptr_equal(fi_eq_strerror(eq, FI_EIO, NULL, buf, sizeof(buf)), buf);
	assert_int_equal(strlen(buf), 7);
	close_eq(eq);
}

/* A source of events: each byte in its pipe is one. */
struct feed {
	struct ofi_source source; /* first */
	struct fid_eq *eq;
	int in;
	int here, elsewhere; /* number of events by the thread that posted them */
	pthread_t reader;
};

static void feed_ready(struct ofi_source *source)
{
	struct feed *feed = (struct feed *)source;
	char byte;
	bool idle = read(source->fd, &byte, 1) != 1;

	__atomic_store_n(&source->idle, idle, __ATOMIC_RELAXED);
	if (idle)
		return;
	if (pthread_equal(pthread_self(), feed->reader))
		feed->here++;
	else
		feed->elsewhere++;
	post(feed->eq, FI_CONNECTED, &feed->eq->fid, "");
}

static void feed_open(struct feed *feed, struct ofi_loop *loop)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	*feed = (struct feed){ .eq = open_plain(), .in = fds[1], .reader = pthread_self() };
	feed->source.fd = fds[0];
	feed->source.ready = feed_ready;
	feed->source.shared = true;
	ofi_lock_init(&feed->source.lock);
	assert_int_equal(ofi_loop_init(loop, &prov), 0);
	assert_int_equal(ofi_loop_add(loop, &feed->source), 0);
	ofi_eq_set_source(ofi_eq(feed->eq), loop, &feed->source);
}

static void feed_close(struct feed *feed, struct ofi_loop *loop)
{
	ofi_loop_remove(loop, &feed->source);
	ofi_loop_fini(loop);
	close(feed->source.fd);
	close(feed->in);
	close_eq(feed->eq);
}

static void feed_read(struct feed *feed, int timeout)
{
	struct fi_eq_cm_entry entry;
	uint32_t event = 0;

	if (timeout)
		assert_int_equal(fi_eq_sread(feed->eq, &event, &entry, sizeof(entry), timeout, 0),
				 sizeof(entry));
	else
		assert_int_equal(fi_eq_read(feed->eq, &event, &entry, sizeof(entry), 0),
				 sizeof(entry));
	assert_int_equal(event, FI_CONNECTED);
}

/* The first events may come from either thread, since the test cannot tell when a streak begins. */
static void a_busy_reader_serves_the_source(void **state)
{
	struct ofi_loop loop;
	struct feed feed;
	struct pollfd fd;
	int i;

	(void)state;
	feed_open(&feed, &loop);
	for (i = 0; i < 10000 && !ofi_loop_claimed(&loop, &feed.source); i++) {
		assert_int_equal(write(feed.in, "x", 1), 1);
		feed_read(&feed, 10000);
	}
	assert_true(ofi_loop_claimed(&loop, &feed.source));
	ofi_loop_claim(&loop, &feed.source, UINT64_MAX / 2);
	feed.here = feed.elsewhere = 0;
	assert_int_equal(write(feed.in, "xx", 2), 2);
	feed_read(&feed, 0);
	/* The descriptor is not readable: nobody was woken for an event that has been read. */
	assert_int_equal(fi_control(&feed.eq->fid, FI_GETWAIT, &fd.fd), 0);
	fd.events = POLLIN;
	assert_int_equal(poll(&fd, 1, 0), 0);
	feed_ready(&feed.source);
	assert_int_equal(poll(&fd, 1, 0), 1);
	feed_read(&feed, 10000);
	assert_int_equal(feed.here, 2);
	assert_int_equal(feed.elsewhere, 0);
	feed_close(&feed, &loop);
}

/* The reader stops reading, and the event thread takes over. */
static void an_idle_reader_leaves_the_source(void **state)
{
	struct ofi_loop loop;
	struct feed feed;
	struct pollfd fd = { .events = POLLIN };

	(void)state;
	feed_open(&feed, &loop);
	ofi_loop_claim(&loop, &feed.source, ofi_now_ms());
	assert_int_equal(write(feed.in, "x", 1), 1);
	assert_int_equal(fi_control(&feed.eq->fid, FI_GETWAIT, &fd.fd), 0);
	assert_int_equal(poll(&fd, 1, 10000), 1);
	feed_read(&feed, 0);
	feed_close(&feed, &loop);
}

static void *read_canceled(void *arg)
{
	uint32_t event;
	char buf[64];

	pthread_cancel(pthread_self());
	fi_eq_sread(arg, &event, buf, sizeof(buf), -1, 0);
	return NULL;
}

/* The thread takes back the signal of the last event, for which it holds a lock. */
static void a_canceled_thread_holds_nothing(void **state)
{
	struct fid_eq *eq = open_plain();
	pthread_t thread;
	uint32_t event;
	char buf[64];

	(void)state;
	post(eq, FI_NOTIFY, NULL, "");
	assert_int_equal(pthread_create(&thread, NULL, read_canceled, eq), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	alarm(10);
	assert_int_equal(fi_eq_read(eq, &event, buf, sizeof(buf), 0), -FI_EAGAIN);
	alarm(0);
	close_eq(eq);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_canceled_thread_holds_nothing),
		cmocka_unit_test(bad_attributes),
		cmocka_unit_test(a_child_closes_its_own),
		cmocka_unit_test(keeps_order),
		cmocka_unit_test(a_small_buffer_loses_nothing),
		cmocka_unit_test(bad_calls),
		cmocka_unit_test(errors_are_kept_in_order),
		cmocka_unit_test(err_data_is_copied_or_lent),
		cmocka_unit_test(old_callers_get_a_pointer),
		cmocka_unit_test(writes_come_back),
		cmocka_unit_test(a_bound_queue_stays),
		cmocka_unit_test(waiting_times_out),
		cmocka_unit_test(waiting_wakes),
		cmocka_unit_test(waiting_takes_no_mutex),
		cmocka_unit_test(the_descriptor_says_if_there_is_something),
		cmocka_unit_test(nothing_is_lost_between_threads),
		cmocka_unit_test(strerror_needs_no_buffer),
		cmocka_unit_test(a_busy_reader_serves_the_source),
		cmocka_unit_test(an_idle_reader_leaves_the_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
