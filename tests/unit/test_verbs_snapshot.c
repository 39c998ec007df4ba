/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The shared snapshot: kept while a simulated machine does not change, renewed when it does. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "capture.h"
#include "fork_rig.h"
#include "mock_device.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/discovery/snapshot.h"

static const uint8_t mac[6] = { 0x52, 0x54, 0, 0x12, 0x34, 0x56 };

static char top[32]; /* in the place of /sys/class/infiniband */
static struct mock_device *device;
static int messages;  /* waiting in the netlink socket */
static int recv_err;  /* what comes after them */
static long long ago; /* ms that the clock is put forward */

ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	(void)fd;
	(void)buf;
	(void)flags;
	if (messages) {
		messages--;
		return (ssize_t)len;
	}
	errno = recv_err;
	recv_err = EAGAIN;
	return -1;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	long ret = syscall(SYS_clock_gettime, clock, now);

	now->tv_sec += (time_t)(ago / 1000);
	return (int)ret;
}

static void set_state(const char *name, const char *state)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/ports/1/state", top, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(state, file);
	fclose(file);
}

static struct mock_device *add_device(const char *name)
{
	struct mock_device *added = mock_add_device(name);
	char path[128];

	mock_add_gid(added, 1, 0, IBV_GID_TYPE_ROCE_V2, "::ffff:10.0.0.1", 2);
	snprintf(added->dev.ibdev_path, sizeof(added->dev.ibdev_path), "%s/%s", top, name);
	snprintf(path, sizeof(path), "mkdir -p %s/%s/ports/1", top, name);
	assert_int_equal(system(path), 0);
	set_state(name, "4: ACTIVE\n");
	return added;
}

static int setup(void **state)
{
	(void)state;
	mock_reset();
	vrb_params = (struct vrb_params){ .gid_idx = -1 };
	strcpy(top, "/tmp/devices.XXXXXX");
	assert_non_null(mkdtemp(top));
	device = add_device("roce0");
	mock_add_if("eth0", 2, 0, mac, 6);
	mock_add_ip("eth0", "10.0.0.1");
	messages = 0;
	recv_err = EAGAIN;
	ago = 0;
	return 0;
}

static int teardown(void **state)
{
	char command[64];

	(void)state;
	vrb_snapshot_forget();
	snprintf(command, sizeof(command), "rm -rf %s", top);
	return system(command);
}

static void look(bool fresh)
{
	const struct vrb_snapshot *snapshot;

	assert_int_equal(vrb_snapshot_get(fresh, &snapshot), 0);
	vrb_snapshot_put(snapshot);
}

/* Does the next call look at the devices? */
static void expect_look(bool expected)
{
	unsigned int opens = device->opens;

	look(false);
	assert_int_equal(device->opens - opens, expected);
}

static void test_kept(void **state)
{
	const struct vrb_snapshot *first, *second;

	(void)state;
	assert_int_equal(vrb_snapshot_get(false, &first), 0);
	assert_int_equal(vrb_snapshot_get(false, &second), 0);
	assert_ptr_equal(first, second);
	assert_int_equal(device->opens, 1);
	/* What is held stays, whatever comes after it. */
	look(true);
	assert_int_equal(device->opens, 2);
	assert_string_equal(STAILQ_FIRST(first)->name, "roce0");
	vrb_snapshot_put(first);
	vrb_snapshot_put(second);
	expect_look(false);
	vrb_snapshot_forget();
	expect_look(true);
}

static void test_port_state(void **state)
{
	const struct vrb_snapshot *snapshot;

	(void)state;
	look(false);
	set_state("roce0", "1: DOWN\n");
	device->port[0].state = IBV_PORT_DOWN;
	assert_int_equal(vrb_snapshot_get(false, &snapshot), 0);
	assert_int_equal(STAILQ_FIRST(snapshot)->ports[0].attr.state, IBV_PORT_DOWN);
	vrb_snapshot_put(snapshot);
	expect_look(true); /* it may not be over yet */
	ago = 2000;
	expect_look(true);
	expect_look(false);
	set_state("roce0", "");
	expect_look(true);
}

/* Between looking at the device and at sysfs the port went down. */
static void test_state_of_two_minds(void **state)
{
	(void)state;
	set_state("roce0", "1: DOWN\n");
	look(false);
	expect_look(true);
}

static void test_link_news(void **state)
{
	(void)state;
	look(false);
	messages = 3;
	expect_look(true);
	assert_int_equal(messages, 0);
	expect_look(true);
	ago = 2000;
	expect_look(true);
	expect_look(false);
	recv_err = ENOBUFS;
	expect_look(true);
	ago = 4000;
	expect_look(true);
	recv_err = EBADF;
	expect_look(true);
}

static void test_news_while_looking(void **state)
{
	(void)state;
	look(false);
	look(true);
	messages = 1;
	expect_look(true);
	messages = 1;
	look(true);
	expect_look(true);
}

static void test_device_comes(void **state)
{
	const struct vrb_snapshot *snapshot;

	(void)state;
	look(false);
	add_device("roce1");
	assert_int_equal(vrb_snapshot_get(false, &snapshot), 0);
	assert_string_equal(STAILQ_NEXT(STAILQ_FIRST(snapshot), next)->name, "roce1");
	vrb_snapshot_put(snapshot);
}

static void test_device_goes(void **state)
{
	char path[128], other[128];

	(void)state;
	look(false);
	snprintf(path, sizeof(path), "%s/roce0", top);
	snprintf(other, sizeof(other), "%s/roce9", top);
	assert_int_equal(rename(path, other), 0);
	expect_look(true);
	expect_look(true); /* it can't be found, hence not watched */
}

static void test_good_for_a_time(void **state)
{
	(void)state;
	look(false);
	ago = 1000;
	expect_look(true);
	expect_look(false);
}

static void test_failed_device(void **state)
{
	(void)state;
	device->open_errno = EACCES;
	look(false);
	device->open_errno = 0;
	expect_look(true);
	expect_look(false);
	vrb_params.device_name = "mlx";
	vrb_snapshot_forget();
	look(false);
	expect_look(false);
}

static void test_no_memory_of_none(void **state)
{
	const struct vrb_snapshot *snapshot;

	(void)state;
	mock_fail("ibv_get_device_list", EMFILE);
	assert_int_equal(vrb_snapshot_get(false, &snapshot), -EMFILE);
	mock_reset();
	look(false);
	device = add_device("roce0");
	expect_look(true);
}

enum { FDS = 64 };

/* Which of the first descriptors are open. */
static void list_fds(bool *open)
{
	int fd;

	for (fd = 0; fd < FDS; fd++)
		open[fd] = fcntl(fd, F_GETFD) >= 0;
}

/* An application closes all descriptors, as daemons do, and opens its own with the same numbers. */
static void test_closed_by_others(void **state)
{
	bool before[FDS], after[FDS];
	int fd, count = 0;

	(void)state;
	list_fds(before);
	look(false);
	list_fds(after);
	for (fd = 0; fd < FDS; fd++) {
		if (after[fd] && !before[fd])
			count += dup2(0, fd) == fd;
	}
	assert_int_equal(count, 3);
	expect_look(true);
	expect_look(false);
	for (fd = 0; fd < FDS; fd++) {
		if (after[fd] && !before[fd])
			assert_int_equal(close(fd), 0);
	}
	vrb_snapshot_forget();
	list_fds(after);
	assert_memory_equal(before, after, sizeof(before));
}

static void test_no_descriptors(void **state)
{
	struct rlimit limit, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = (rlim_t)dup(0);
	close((int)none.rlim_cur);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	look(false);
	expect_look(true);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	expect_look(true);
	expect_look(false);
}

static void test_child(void **state)
{
	unsigned int opens;
	int status;
	pid_t pid;

	(void)state;
	look(false);
	pid = fork();
	if (!pid) {
		opens = device->opens;
		look(false);
		look(false);
		vrb_snapshot_forget();
		_exit(device->opens != opens + 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	expect_look(false);
}

static void *many_looks(void *arg)
{
	int i;

	for (i = 0; i < 200; i++)
		look(i % 7 == (int)(intptr_t)arg);
	return NULL;
}

static void test_threads(void **state)
{
	pthread_t threads[4];
	intptr_t i;
	int status;
	pid_t pid;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, many_looks, (void *)i), 0);
	/* A child that begins while another thread looks is not locked out. */
	pid = fork();
	if (!pid) {
		alarm(20);
		look(false);
		/* What the other threads hold is nobody's here: not to be looked for as a leak. */
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(device->alive, 0);
}

static void look_fresh(void)
{
	look(true);
}

/* The child is not locked out by what the other thread held, and the locks have an order. */
static void test_fork(void **state)
{
	(void)state;
	fork_amid(look_fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(test_port_state, setup, teardown),
		cmocka_unit_test_setup_teardown(test_state_of_two_minds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_link_news, setup, teardown),
		cmocka_unit_test_setup_teardown(test_news_while_looking, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_comes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_device_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(test_good_for_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failed_device, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_memory_of_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_closed_by_others, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_descriptors, setup, teardown),
		cmocka_unit_test_setup_teardown(test_child, setup, teardown),
		cmocka_unit_test_setup_teardown(test_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
	};

	unsetenv("FI_LOG_LEVEL");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
