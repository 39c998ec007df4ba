/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory by name: who creates and removes it, users that were killed, locks, and every call
 * failing.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/shm.h"

enum { HEAD = 4096, SIZE = 1 << 20 };

static int fail_in; /* the so many-th call fails, 0 is none */
static const char *failed;
static bool hurry;    /* pauses take no time */
static bool vanishes; /* the next name that is opened is taken away by another process */
static int other_fd;  /* of a process that locks the next file as soon as it exists; or 0 */

static int fails(const char *call)
{
	if (!fail_in || --fail_in)
		return 0;
	failed = call;
	errno = ENOMEM;
	return 1;
}

#define WRAP(type, name, args, call, error)                         \
	type __real_##name args;                                    \
	type __wrap_##name args;                                    \
	type __wrap_##name args                                     \
	{                                                           \
		return fails(#name) ? (error) : __real_##name call; \
	}

int __real_shm_open(const char *path, int flags, mode_t mode);

static void lock_first(const char *path)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };

	other_fd = __real_shm_open(path, O_RDWR, 0);
	assert_true(other_fd > 0);
	assert_int_equal(fcntl(other_fd, F_OFD_SETLK, &lock), 0);
}

/* The name is still that of its file: nobody else may have taken it away. */
static void let_go(const char *path)
{
	struct stat st;

	assert_int_equal(fstat(other_fd, &st), 0);
	assert_int_equal(st.st_nlink, 1);
	close(other_fd);
	other_fd = 0;
	shm_unlink(path);
}

int __wrap_shm_open(const char *path, int flags, mode_t mode);
int __wrap_shm_open(const char *path, int flags, mode_t mode)
{
	int fd = fails("shm_open") ? -1 : __real_shm_open(path, flags, mode);

	if (vanishes && fd >= 0 && !(vanishes = false))
		shm_unlink(path);
	if (other_fd > 0)
		let_go(path);
	else if (other_fd < 0 && fd >= 0)
		lock_first(path);
	return fd;
}

WRAP(int, ftruncate, (int fd, off_t size), (fd, size), -1)
WRAP(int, fstat, (int fd, struct stat *st), (fd, st), -1)
WRAP(int, posix_fallocate, (int fd, off_t at, off_t len), (fd, at, len), ENOMEM)
WRAP(void *, mmap, (void *at, size_t len, int prot, int flags, int fd, off_t offset),
     (at, len, prot, flags, fd, offset), MAP_FAILED)

int __real_fcntl(int fd, int call, void *arg);
int __wrap_fcntl(int fd, int call, void *arg);
int __wrap_fcntl(int fd, int call, void *arg)
{
	return fails("fcntl") ? -1 : __real_fcntl(fd, call, arg);
}

int __real_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	return hurry ? 0 : __real_nanosleep(time, left);
}

static char path[64], file[80];

static void init(void *base, void *arg)
{
	strcpy(base, arg);
}

static int open_with(struct ofi_shm *shm, bool read_only, const char *text)
{
	const struct ofi_shm_ask ask = {
		.path = path,
		.read_only = read_only,
		.head = HEAD,
		.size = SIZE,
		.init = init,
		.arg = (void *)text,
	};
	const char *what = NULL;
	int ret = ofi_shm_open(shm, &ask, &what);

	assert_true(!ret || ret == -FI_EINVAL || what);
	return ret;
}

static bool there(void)
{
	struct stat st;

	return !stat(file, &st);
}

static int fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static int setup(void **state)
{
	(void)state;
	fail_in = 0;
	hurry = vanishes = false;
	other_fd = 0;
	snprintf(path, sizeof(path), "/weft_test_shm.%d", (int)getpid());
	snprintf(file, sizeof(file), "/dev/shm%s", path);
	shm_unlink(path);
	return 0;
}

static void test_two(void **state)
{
	struct ofi_shm one, two, reader;
	int before = fds();

	(void)state;
	assert_int_equal(open_with(&reader, true, NULL), -FI_ENOENT);
	assert_int_equal(open_with(&one, false, "first"), 0);
	assert_int_equal(open_with(&two, false, "second"), 0);
	assert_int_equal(open_with(&reader, true, NULL), 0);
	assert_int_equal(one.size, SIZE);
	assert_int_equal(two.size, SIZE);
	assert_string_equal(two.base, "first");
	assert_int_equal(ofi_shm_allocate(&two, HEAD, HEAD), 0);
	((char *)two.base)[HEAD] = 'x';
	assert_int_equal(((char *)reader.base)[HEAD], 'x');
	ofi_shm_close(&one);
	ofi_shm_close(&two);
	assert_true(there());
	ofi_shm_close(&reader);
	assert_false(there());
	assert_int_equal(open_with(&one, false, "again"), 0);
	assert_string_equal(one.base, "again");
	ofi_shm_close(&one);
	assert_int_equal(fds(), before);
}

/* Starts a process that calls use() and then waits to be killed. */
static pid_t start_process(bool (*use)(void))
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (!use() || write(ready[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static struct ofi_shm childs;

static bool use_it(void)
{
	return !open_with(&childs, false, "child");
}

static bool lock_it(void)
{
	return use_it() && !ofi_shm_lock(&childs);
}

static bool do_nothing(void)
{
	return true;
}

static void end_user(pid_t pid)
{
	int status;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* A child that lives on does not count as a user beside the last one. */
static void test_child_of_user(void **state)
{
	struct ofi_shm shm, last;
	pid_t pid;

	(void)state;
	assert_int_equal(open_with(&shm, false, "parent"), 0);
	assert_int_equal(open_with(&last, false, "another"), 0);
	pid = start_process(do_nothing);
	ofi_shm_close(&shm);
	assert_true(there());
	ofi_shm_close(&last);
	assert_false(there());
	end_user(pid);
}

/* What users left behind that were killed is not read, and makes room for a new one. */
static void test_left_behind(void **state)
{
	struct ofi_shm shm;

	(void)state;
	end_user(start_process(use_it));
	assert_true(there());
	assert_int_equal(open_with(&shm, true, NULL), -FI_ENOENT);
	assert_false(there());
	end_user(start_process(lock_it));
	assert_int_equal(open_with(&shm, false, "new"), 0);
	assert_string_equal(shm.base, "new");
	assert_int_equal(ofi_shm_lock(&shm), 0);
	ofi_shm_close(&shm);
	assert_false(there());
}

static void test_creator_killed(void **state)
{
	pid_t pid = start_process(lock_it);
	struct ofi_shm shm, other;

	(void)state;
	assert_int_equal(open_with(&shm, true, NULL), 0);
	end_user(pid);
	assert_int_equal(open_with(&other, false, "new"), 0);
	assert_string_equal(other.base, "child");
	assert_int_equal(ofi_shm_lock(&other), 0);
	ofi_shm_unlock(&other);
	ofi_shm_close(&shm);
	ofi_shm_close(&other);
	assert_false(there());
}

static void test_lock(void **state)
{
	struct ofi_shm one, two;

	(void)state;
	hurry = true;
	assert_int_equal(open_with(&one, false, "a"), 0);
	assert_int_equal(open_with(&two, false, "a"), 0);
	assert_int_equal(ofi_shm_lock(&one), 0);
	assert_int_equal(ofi_shm_lock(&two), -FI_ETIMEDOUT);
	ofi_shm_unlock(&one);
	assert_int_equal(ofi_shm_lock(&two), 0);
	ofi_shm_close(&two);
	assert_int_equal(ofi_shm_lock(&one), 0);
	ofi_shm_close(&one);
}

/* The last one closes it while another opens it, or makes it. */
static void test_vanishes(void **state)
{
	struct ofi_shm one, two;

	(void)state;
	vanishes = true;
	assert_int_equal(open_with(&one, false, "made"), 0);
	assert_true(there());
	vanishes = true;
	assert_int_equal(open_with(&two, true, NULL), -FI_ENOENT);
	assert_int_equal(open_with(&two, false, "again"), 0);
	ofi_shm_close(&one);
	assert_true(there());
	ofi_shm_close(&two);
	assert_false(there());
}

/* Another process is the first to lock the file that this one makes. */
static void test_overtaken(void **state)
{
	struct ofi_shm one;

	(void)state;
	other_fd = -1;
	assert_int_equal(open_with(&one, false, "made"), 0);
	assert_int_equal(other_fd, 0);
	assert_true(there());
	ofi_shm_close(&one);
	assert_false(there());
}

/* A process that stops while it has it for itself. */
static void test_stopped(void **state)
{
	struct flock all = { .l_type = F_WRLCK, .l_len = 1 };
	struct ofi_shm shm;
	int fd;

	(void)state;
	hurry = true;
	fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &all), 0);
	assert_int_equal(open_with(&shm, false, "a"), -FI_ETIMEDOUT);
	assert_int_equal(open_with(&shm, true, NULL), -FI_ETIMEDOUT);
	close(fd);
	assert_int_equal(open_with(&shm, false, "a"), 0);
	ofi_shm_close(&shm);
}

/* Of a file that somebody else made, with a lock on it. */
static void test_not_ours(void **state)
{
	struct flock used = { .l_type = F_RDLCK, .l_len = 1 };
	struct ofi_shm shm;
	int fd;

	(void)state;
	fd = shm_open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &used), 0);
	assert_int_equal(open_with(&shm, false, "a"), -FI_EINVAL);
	assert_int_equal(ftruncate(fd, HEAD - 1), 0);
	assert_int_equal(open_with(&shm, true, NULL), -FI_EINVAL);
	assert_int_equal(ftruncate(fd, HEAD), 0);
	assert_int_equal(open_with(&shm, true, NULL), 0);
	ofi_shm_close(&shm);
	assert_int_equal(fchmod(fd, 0644), 0);
	used.l_type = F_WRLCK;
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &used), 0);
	alarm(2);
	assert_int_equal(open_with(&shm, true, NULL), -FI_EACCES);
	alarm(0);
	assert_int_equal(open_with(&shm, false, "a"), -FI_EACCES);
	assert_true(there());
	close(fd);
	shm_unlink(path);
}

static void test_file_limit(void **state)
{
	struct rlimit old, low;
	struct ofi_shm shm;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	low = old;
	low.rlim_cur = SIZE - 1;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(open_with(&shm, false, "a"), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_false(there());
}

/* Each call in turn; nothing stays. */
static void each_fails(bool first, int least)
{
	struct ofi_shm other, shm;
	int at, before, ret;

	if (!first)
		assert_int_equal(open_with(&other, false, "a"), 0);
	before = fds();
	for (at = 1;; at++) {
		fail_in = at;
		ret = open_with(&shm, false, "a");
		if (!ret)
			break;
		assert_int_equal(ret, -FI_ENOMEM);
		assert_int_equal(fds(), before);
		assert_int_equal(there(), !first);
	}
	fail_in = 0;
	assert_true(at > least);
	ofi_shm_close(&shm);
	if (!first)
		ofi_shm_close(&other);
	assert_false(there());
}

static void test_each_fails(void **state)
{
	(void)state;
	each_fails(true, 8);
	assert_string_equal(failed, "fcntl");
	each_fails(false, 4);
	assert_string_equal(failed, "mmap");
}

/* The name may stay, which the next to open it takes for what it is. */
static void test_close_fails(void **state)
{
	struct ofi_shm shm;
	int at, before = fds();

	(void)state;
	for (at = 1; at <= 2; at++) {
		assert_int_equal(open_with(&shm, false, "a"), 0);
		fail_in = at;
		ofi_shm_close(&shm);
		assert_int_equal(fail_in, 0);
		assert_true(there());
		assert_int_equal(fds(), before);
	}
	assert_int_equal(open_with(&shm, false, "b"), 0);
	assert_string_equal(shm.base, "b");
	ofi_shm_close(&shm);
	assert_false(there());
}

/* Many begin and end at once: whoever opens it finds it whole, and at the end it is gone. */
static void test_crowd(void **state)
{
	enum { PROCESSES = 6, ROUNDS = 100 };
	struct ofi_shm shm;
	pid_t pid[PROCESSES];
	int i, round, status;

	(void)state;
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		for (round = 0; !pid[i] && round < ROUNDS; round++) {
			if (open_with(&shm, false, "whole") || strcmp(shm.base, "whole"))
				_exit(1);
			if (i != PROCESSES - 1 || round != ROUNDS / 2) /* else as if killed */
				ofi_shm_close(&shm);
			else
				_exit(0);
		}
		if (!pid[i])
			_exit(0);
	}
	for (i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(open_with(&shm, false, "whole"), 0);
	ofi_shm_close(&shm);
	assert_false(there());
}

#define TEST(test) cmocka_unit_test_setup(test, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_two),		TEST(test_child_of_user),
		TEST(test_left_behind), TEST(test_creator_killed),
		TEST(test_lock),	TEST(test_stopped),
		TEST(test_not_ours),	TEST(test_file_limit),
		TEST(test_each_fails),	TEST(test_close_fails),
		TEST(test_crowd),	TEST(test_vanishes),
		TEST(test_overtaken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
