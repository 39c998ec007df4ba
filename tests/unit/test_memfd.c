/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Files in memory, and the limit on the size of files. */
#include "unit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/ds/memfd.h"

#define SIZE 10000

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_no_descriptor_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
