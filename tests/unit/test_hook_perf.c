/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The counters of FI_HOOK=perf in a forked child, and in threads that outlive the library. */
#include "unit.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "src/hook.h"
#include "src/hook/hook.h"

static char path[] = "/tmp/test_hook_perf.XXXXXX/out";
static int fake = -1; /* stands for a counter if the kernel gives none */
static int last;      /* the counter that was opened last */
static int opens;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
void *__real_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset);

/* A clock of the kernel counts, because the machine may have no counters. */
static long open_event(struct perf_event_attr *attr)
{
	opens++;
	attr->type = PERF_TYPE_SOFTWARE;
	attr->config = PERF_COUNT_SW_TASK_CLOCK;
	last = (int)__real_syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (last < 0)
		last = fake = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	return last;
}

long __wrap_syscall(long number, ...)
{
	long arg[6];
	va_list args;
	size_t i;

	va_start(args, number);
	for (i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_perf_event_open)
		return open_event((struct perf_event_attr *)arg[0]);
	return __real_syscall(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}

/* The kernel gives a child no copy of the page of a counter. */
void *__wrap_mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *page = __real_mmap(addr, len, prot, flags, fd, offset);

	if (fd >= 0 && fd == fake)
		madvise(page, len, MADV_DONTFORK);
	return page;
}

static int no_op(struct fid *fid)
{
	(void)fid;
	return 0;
}

static struct fi_ops ops = { .size = sizeof(ops), .close = no_op };
static struct fid real[2] = { { .fclass = FI_CLASS_MR, .ops = &ops },
			      { .fclass = FI_CLASS_MR, .ops = &ops } };

static struct fid *wrapped(struct fid *fid)
{
	assert_int_equal(ofi_hook_wrap(&fid, NULL), 0);
	return fid;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static off_t size_of_output(void)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

static int start(void **state)
{
	(void)state;
	path[strlen(path) - 4] = '\0';
	assert_non_null(mkdtemp(path));
	path[strlen(path)] = '/';
	setenv("FI_HOOK", "perf", 1);
	setenv("FI_HOOK_FILE", path, 1);
	assert_true(ofi_hook_active());
	assert_int_equal(opens, 1);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	unlink(path);
	path[strlen(path) - 4] = '\0';
	return rmdir(path);
}

/* Returns 0, or the number of the line that is not true. */
static int child(struct fid *inherited)
{
	if (is_open(last))
		return __LINE__;
	ofi_hook_perf_report("the beginning");
	if (size_of_output())
		return __LINE__;
	if (fi_close(inherited) || opens != 2 || !is_open(last))
		return __LINE__;
	ofi_hook_fini();
	return !is_open(last) && size_of_output() ? 0 : __LINE__;
}

/* A child has a counter of its own, and its calls are counted from zero. */
static void test_fork(void **state)
{
	struct fid *fid = wrapped(&real[0]);
	int status;
	pid_t pid;

	(void)state;
	assert_int_equal(fi_close(wrapped(&real[1])), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		_exit(child(fid));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(is_open(last));
	assert_int_equal(fi_close(fid), 0);
	assert_int_equal(opens, 1);
}

static sem_t called, ended;

static void *call(void *arg)
{
	fi_close(wrapped(&real[0]));
	sem_post(&called);
	sem_wait(&ended);
	return arg;
}

/* Once the library has ended, nothing of it runs in a thread that ends. */
static void test_end(void **state)
{
	const int own = last;
	pthread_t thread;

	(void)state;
	assert_int_equal(sem_init(&called, 0, 0), 0);
	assert_int_equal(sem_init(&ended, 0, 0), 0);
	assert_int_equal(pthread_create(&thread, NULL, call, NULL), 0);
	sem_wait(&called);
	assert_int_equal(opens, 2);
	ofi_hook_fini();
	assert_false(is_open(own));
	sem_post(&ended);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(is_open(last));
	close(last);
	/* A call still works. */
	assert_int_equal(fi_close(wrapped(&real[0])), 0);
	assert_int_equal(opens, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_fork),
					    cmocka_unit_test(test_end) };

	return cmocka_run_group_tests(tests, start, stop);
}
