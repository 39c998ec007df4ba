/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files in memory, and the limit on the size of files. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/ds/memfd.h"

#define SIZE 10000

static int refusals[2]; /* what the next calls return */
static const char *mode;

int __real_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len)
{
	int err = refusals[0];

	refusals[0] = refusals[1];
	refusals[1] = 0;
	return err ? err : __real_posix_fallocate(fd, offset, len);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	int fds[2];

	if (!mode)
		return __real_open(path, flags);
	assert_string_equal(path, "/proc/sys/vm/overcommit_memory");
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], mode, strlen(mode)), strlen(mode));
	close(fds[1]);
	return fds[0];
}

static void test_file(void **state)
{
	int fd = ofi_memfd("name", SIZE);
	char path[64], name[64] = "";
	struct stat st;

	(void)state;
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, SIZE);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_true(readlink(path, name, sizeof(name) - 1) > 0);
	assert_string_equal(name, "/memfd:name (deleted)");
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	assert_int_equal(ftruncate(fd, SIZE + 1), -1);
	close(fd);
}

/* Otherwise SIGXFSZ ends the process. */
static void test_limit(void **state)
{
	struct rlimit most;
	int fd;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &most), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ SIZE, most.rlim_max }), 0);
	assert_true(ofi_file_may_grow(SIZE));
	assert_false(ofi_file_may_grow(SIZE + 1));
	fd = ofi_memfd("most", SIZE);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(ofi_memfd("more", SIZE + 1), -1);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
}

static void test_no_descriptor_is_left(void **state)
{
	int before = dup(0);

	(void)state;
	close(before);
	assert_int_equal(ofi_memfd("endless", SIZE_MAX), -1);
	assert_int_equal(dup(0), before);
	close(before);
}

/* Only the pages of the part are allocated. */
static void test_reserve(void **state)
{
	int fd = ofi_memfd("part", 10 * SIZE);
	struct stat st;

	(void)state;
	assert_true(ofi_memfd_reserve(fd, 0, 1));
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 10 * SIZE);
	assert_int_equal(st.st_blocks * 512, sysconf(_SC_PAGESIZE));
	refusals[0] = EINTR;
	assert_int_equal(ofi_file_allocate(fd, 0, SIZE), 0);
	refusals[0] = EINTR;
	refusals[1] = ENOSPC;
	assert_false(ofi_memfd_reserve(fd, 0, SIZE));
	refusals[0] = ENOMEM;
	assert_false(ofi_memfd_reserve(fd, 0, SIZE));
	refusals[0] = EPERM;
	assert_true(ofi_memfd_reserve(fd, 0, SIZE));
	refusals[0] = EPERM;
	assert_int_equal(ofi_file_allocate(fd, 0, SIZE), -EPERM);
	close(fd);
}

static void test_strict(void **state)
{
	(void)state;
	mode = "2\n";
	assert_true(ofi_memory_is_strict());
	mode = "0\n";
	assert_false(ofi_memory_is_strict());
	mode = "";
	assert_false(ofi_memory_is_strict());
	mode = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_descriptor_is_left),
		cmocka_unit_test(test_reserve),
		cmocka_unit_test(test_strict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
