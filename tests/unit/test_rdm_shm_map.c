/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that is shared with another process: what was created is found, and nothing else is opened
 * or written to, whatever the other side says about it.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "prov/verbs/rdm/shm_map.h"

enum { SIZE = 128 << 10 }; /* at least two pages */

static int shrinks = -1; /* a file that its owner makes smaller, and seals, while it is opened */

static int opened; /* files that were not only found */

int __real_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *file);
int __wrap_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *file);
/* A file system in a process of the other side may never answer. */
int __wrap_statx(int dir, const char *path, int flags, unsigned int mask, struct statx *file)
{
	assert_true(flags & AT_STATX_DONT_SYNC);
	return __real_statx(dir, path, flags, mask, file);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
	int fd = __real_open(path, flags);

	opened += !(flags & O_PATH);
	if (shrinks >= 0 && !(flags & O_PATH)) {
		assert_int_equal(ftruncate(shrinks, 0), 0);
		assert_int_equal(
			fcntl(shrinks, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	}
	return fd;
}

static bool is_strict, no_memory;

bool __wrap_ofi_memory_is_strict(void);
bool __wrap_ofi_memory_is_strict(void)
{
	return is_strict;
}

int __real_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len)
{
	return no_memory ? ENOSPC : __real_posix_fallocate(fd, offset, len);
}

static void test_found(void **state)
{
	struct vrb_shm_place place;
	char *ours = vrb_shm_create(SIZE, &place), *theirs;
	pid_t pid;
	int status;

	(void)state;
	assert_non_null(ours);
	pid = fork();
	if (!pid) {
		theirs = vrb_shm_map(&place, SIZE);
		if (theirs)
			theirs[SIZE - 1] = 7;
		_exit(!theirs);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(ours[SIZE - 1], 7);
	munmap(ours, SIZE);
	close((int)place.fd);
}

/* It cannot become smaller while it is mapped. */
static void test_sealed(void **state)
{
	struct vrb_shm_place place;
	char *ours = vrb_shm_create(SIZE, &place);

	(void)state;
	assert_non_null(ours);
	assert_int_equal(ftruncate((int)place.fd, 0), -1);
	munmap(ours, SIZE);
	close((int)place.fd);
}

static void test_wrong_place(void **state)
{
	struct vrb_shm_place place, wrong;
	char *ours = vrb_shm_create(SIZE, &place);

	(void)state;
	assert_non_null(ours);
	assert_null(vrb_shm_map(&place, SIZE / 2));
	wrong = place;
	wrong.token[1]++;
	assert_null(vrb_shm_map(&wrong, SIZE));
	wrong = place;
	wrong.boot[0]++;
	assert_null(vrb_shm_map(&wrong, SIZE));
	wrong = place;
	wrong.netns++;
	assert_null(vrb_shm_map(&wrong, SIZE));
	wrong = place;
	wrong.fd = 1000;
	assert_null(vrb_shm_map(&wrong, SIZE));
	wrong = place;
	wrong.pid = 1;
	assert_null(vrb_shm_map(&wrong, SIZE));
	munmap(ours, SIZE);
	close((int)place.fd);
}

/* A file of the user, which the other side would like to see damaged. */
static void check_refused(struct vrb_shm_place *place, int fd)
{
	place->fd = (uint32_t)fd;
	assert_null(vrb_shm_map(place, SIZE));
	close(fd);
}

static void test_other_files(void **state)
{
	char path[] = "/tmp/weft-test-XXXXXX", data[SIZE];
	struct vrb_shm_place place;
	char *ours = vrb_shm_create(SIZE, &place);
	int fd = mkstemp(path), own = (int)place.fd;

	(void)state;
	assert_non_null(ours);
	assert_true(fd >= 0);
	memset(data, 0, sizeof(data));
	memcpy(data, place.token, sizeof(place.token));
	assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	place.fd = (uint32_t)fd;
	assert_null(vrb_shm_map(&place, SIZE));
	/* The file still is in a file system when it has no name any more. */
	unlink(path);
	opened = 0;
	check_refused(&place, fd);
	assert_int_equal(opened, 0);
	fd = memfd_create("other", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(write(fd, data, sizeof(data)), sizeof(data));
	check_refused(&place, fd);
	check_refused(&place, open("/dev/null", O_RDWR));
	munmap(ours, SIZE);
	close(own);
}

/* The size counts that the seals hold. */
static void test_shrinks(void **state)
{
	struct vrb_shm_place place;
	char *ours = vrb_shm_create(SIZE, &place);
	int own = (int)place.fd;

	(void)state;
	assert_non_null(ours);
	shrinks = memfd_create("shrinks", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(shrinks, SIZE), 0);
	check_refused(&place, shrinks);
	shrinks = -1;
	munmap(ours, SIZE);
	close(own);
}

/* A file beyond the limit of the process would be its end, by SIGXFSZ. */
static void test_file_limit(void **state)
{
	struct vrb_shm_place place;
	struct rlimit most;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &most), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ SIZE - 1, most.rlim_max }), 0);
	assert_null(vrb_shm_create(SIZE, &place));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
}

/* A store to memory that was not allocated may end the process. */
static void check_allocated(size_t size)
{
	struct vrb_shm_place place;
	void *ours = vrb_shm_create(SIZE, &place);
	struct stat st;

	assert_non_null(ours);
	assert_int_equal(fstat((int)place.fd, &st), 0);
	assert_int_equal(st.st_blocks * 512, size);
	munmap(ours, SIZE);
	close((int)place.fd);
}

static void test_allocated(void **state)
{
	struct vrb_shm_place place;
	int before = dup(0);

	(void)state;
	close(before);
	check_allocated((size_t)sysconf(_SC_PAGESIZE));
	is_strict = true;
	check_allocated(SIZE);
	is_strict = false;
	no_memory = true;
	assert_null(vrb_shm_create(SIZE, &place));
	no_memory = false;
	assert_int_equal(dup(0), before);
	close(before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),	    cmocka_unit_test(test_sealed),
		cmocka_unit_test(test_wrong_place), cmocka_unit_test(test_other_files),
		cmocka_unit_test(test_shrinks),	    cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_allocated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
