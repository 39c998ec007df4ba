/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory of statistics: slots, corruption by others, forks, and operation without it. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "prov/base/stats.h"

struct object {
	char text[64];
	struct ofi_stats stats;
};

static struct object *new_object(void)
{
	struct object *object = ofi_stats_alloc(sizeof(*object));

	assert_non_null(object);
	assert_int_equal((uintptr_t)object % OFI_STATS_ALIGN, 0);
	return object;
}

/* The descriptor of this process's statistics, -1 when there are none. */
static int find_fd(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	char target[64];
	int fd = -1;

	assert_non_null(dir);
	while (fd < 0 && (entry = readdir(dir))) {
		memset(target, 0, sizeof(target));
		if (readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1) > 0 &&
		    strstr(target, OFI_STATS_FILE))
			sscanf(entry->d_name, "%d", &fd);
	}
	closedir(dir);
	return fd;
}

static int open_again(int fd, int flags)
{
	char path[40];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, flags | O_CLOEXEC);
}

static void test_slots(void **state)
{
	struct object *a = new_object(), *b = new_object(), *c;

	(void)state;
	assert_false(a->stats.heap || b->stats.heap);
	assert_int_equal(labs((char *)a - (char *)b), OFI_STATS_SLOT);
	strcpy(a->text, "something");
	ofi_stats_add(&a->stats, 0, 5);
	ofi_stats_free(a, &a->stats);
	c = new_object();
	assert_ptr_equal(a, c);
	assert_string_equal(c->text, "");
	assert_int_equal(c->stats.value[0], 0);
	ofi_stats_free(b, &b->stats);
	ofi_stats_free(c, &c->stats);
	ofi_stats_free(NULL, NULL);
}

/* A number is never used twice, so a reader can tell that an object was closed. */
static void test_show(void **state)
{
	struct object *a = new_object();
	uint32_t id;

	(void)state;
	assert_int_equal(a->stats.id, 0);
	ofi_stats_show(&a->stats, "a%d and a text that is too long for the record", 1);
	id = a->stats.id;
	assert_true(id > 0);
	assert_int_equal(strlen(a->stats.name), FI_STATS_NAME - 1);
	ofi_stats_hide(&a->stats.id);
	assert_int_equal(a->stats.id, 0);
	ofi_stats_show(&a->stats, "a");
	assert_true(a->stats.id > id);
	assert_true(ofi_stats_number() > a->stats.id);
	ofi_stats_free(a, &a->stats);
}

/* No one can make it smaller or write it, through this descriptor or another. */
static void test_sealed(void **state)
{
	struct object *a = new_object();
	int fd = find_fd(), other;
	void *map;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_ptr_equal(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE), -1);
	other = open_again(fd, O_RDONLY);
	assert_true(other >= 0);
	map = mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0);
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(mprotect(map, 4096, PROT_READ | PROT_WRITE), -1);
	munmap(map, 4096);
	close(other);
	ofi_stats_free(a, &a->stats);
}

static void in_child(void (*test)(struct object *parents), struct object *parents)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid) {
		alarm(30);
		test(parents);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define WANT(condition) ((condition) ? (void)0 : _exit(__LINE__ % 256))

static void child(struct object *parents)
{
	struct object *mine;

	/* It has what its parent had, but that is its own and no one sees it. */
	WANT(find_fd() < 0);
	WANT(!strcmp(parents->text, "parent"));
	WANT(parents->stats.value[3] == 7);
	ofi_stats_add(&parents->stats, 3, 100);
	mine = ofi_stats_alloc(sizeof(*mine));
	WANT(mine && !mine->stats.heap && find_fd() >= 0);
	ofi_stats_free(parents, &parents->stats);
	WANT(ofi_stats_alloc(sizeof(*mine)) != parents);
}

static void test_fork(void **state)
{
	struct object *a = new_object();

	(void)state;
	strcpy(a->text, "parent");
	ofi_stats_add(&a->stats, 3, 7);
	in_child(child, a);
	assert_int_equal(a->stats.value[3], 7);
	assert_true(find_fd() >= 0);
	ofi_stats_free(a, &a->stats);
}

static struct object *closed_at_fork, *opened_in_child;

static void application_forks(void)
{
	if (closed_at_fork)
		ofi_stats_free(closed_at_fork, &closed_at_fork->stats);
}

static void application_begins(void)
{
	if (closed_at_fork)
		opened_in_child = new_object();
}

static void child_of_application(struct object *parents)
{
	(void)parents;
	WANT(opened_in_child);
}

/* The application's handlers close and open objects. They were registered before the first one. */
static void test_handlers(void **state)
{
	(void)state;
	closed_at_fork = new_object();
	alarm(30);
	in_child(child_of_application, NULL);
	alarm(0);
	closed_at_fork = NULL;
}

static bool no_maps;

void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);

void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	return no_maps ? MAP_FAILED : __real_mmap(at, len, prot, flags, fd, offset);
}

static void refused(int signal)
{
	(void)signal;
	_exit(0);
}

static void child_without_memory(struct object *parents)
{
	WANT(find_fd() < 0);
	WANT(!strcmp(parents->text, "parent"));
	no_maps = false;
	WANT(!new_object()->stats.heap && find_fd() >= 0);
	signal(SIGSEGV, refused);
	ofi_stats_add(&parents->stats, 3, 100);
	_exit(1);
}

/* A child that could get no copy does not write to its parent's objects. */
static void test_fork_without_memory(void **state)
{
	struct object *a = new_object();

	(void)state;
	strcpy(a->text, "parent");
	ofi_stats_add(&a->stats, 3, 7);
	no_maps = true;
	in_child(child_without_memory, a);
	no_maps = false;
	assert_int_equal(a->stats.value[3], 7);
	ofi_stats_free(a, &a->stats);
}

static bool no_memory;

int __real_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len);
int __wrap_posix_fallocate(int fd, off_t offset, off_t len)
{
	return no_memory ? ENOSPC : __real_posix_fallocate(fd, offset, len);
}

static void free_heap(struct object *object)
{
	WANT(object->stats.heap);
	ofi_stats_free(object, &object->stats);
}

static void no_more_pages(struct object *parents)
{
	struct object *object = new_object();
	struct stat st;

	(void)parents;
	WANT(!object->stats.heap);
	WANT(!fstat(find_fd(), &st) && st.st_blocks * 512 == sysconf(_SC_PAGESIZE));
	no_memory = true;
	free_heap(new_object());
	WANT(!ofi_stats_text("some text"));
	/* What was allocated is used again. */
	ofi_stats_free(object, &object->stats);
	WANT(new_object() == object);
	no_memory = false;
	WANT(!new_object()->stats.heap);
	WANT(ofi_stats_text("some text"));
}

static void no_first_page(struct object *parents)
{
	(void)parents;
	no_memory = true;
	free_heap(new_object());
	WANT(find_fd() < 0);
}

/* A store to memory that was not allocated may end the process. */
static void test_memory(void **state)
{
	(void)state;
	in_child(no_more_pages, NULL);
	in_child(no_first_page, NULL);
}

static void use_heap(void)
{
	struct object *mine = ofi_stats_alloc(sizeof(*mine));

	WANT(mine && mine->stats.heap && find_fd() < 0);
	ofi_stats_add(&mine->stats, 1, 1);
	WANT(mine->stats.value[1] == 1);
	ofi_stats_free(mine, &mine->stats);
}

/* It would be killed if the file were made. */
static void small_files(struct object *parents)
{
	struct rlimit limit = { 4096, 4096 };

	(void)parents;
	WANT(!setrlimit(RLIMIT_FSIZE, &limit));
	use_heap();
}

static void no_descriptors(struct object *parents)
{
	struct rlimit limit = { 0, 0 };

	(void)parents;
	if (strstr(getenv("LD_PRELOAD") ?: "", "vgpreload"))
		return; /* valgrind lets memfd_create() pass */
	WANT(!setrlimit(RLIMIT_NOFILE, &limit));
	WANT(((struct object *)ofi_stats_alloc(sizeof(struct object)))->stats.heap);
}

static void forbidden(struct object *parents)
{
	(void)parents;
	ofi_stats_forbid();
	use_heap();
}

static void closed_by_application(struct object *parents)
{
	struct object *mine = ofi_stats_alloc(sizeof(*mine));
	int fd = find_fd();

	WANT(mine && fd >= 0);
	WANT(dup2(2, fd) == fd); /* something else has its number */
	ofi_stats_add(&mine->stats, 1, 1);
	ofi_stats_free(mine, &mine->stats);
	in_child(small_files, parents);
	WANT(fcntl(fd, F_GETFD) >= 0);
}

static void test_without(void **state)
{
	(void)state;
	in_child(small_files, NULL);
	in_child(no_descriptors, NULL);
	in_child(forbidden, NULL);
	in_child(closed_by_application, NULL);
}

static void *new_wide(size_t size, struct ofi_stats **stats)
{
	char *object = ofi_stats_alloc(size);

	WANT(object);
	*stats = (struct ofi_stats *)(object + size) - 1;
	return object;
}

static void wide(struct object *parents)
{
	const size_t size = 3 * OFI_STATS_SLOT - OFI_STATS_ALIGN;
	struct ofi_stats *in_a, *in_b, *in_other;
	struct object *small = new_object();
	char *a = new_wide(size, &in_a), *b = new_wide(size, &in_b), *other;

	(void)parents;
	WANT(!in_a->heap && !in_b->heap);
	WANT(a - b == 3 * OFI_STATS_SLOT);
	WANT((char *)small < b);
	other = new_wide(size + OFI_STATS_SLOT, &in_other);
	WANT(in_other->heap);
	ofi_stats_free(other, in_other);
	ofi_stats_free(b, in_b);
	memset(a, 'a', size - sizeof(*in_a));
	ofi_stats_free(a, in_a);
	WANT(new_wide(size, &in_a) == a);
	WANT(!a[0]);
	WANT(new_wide(size, &in_b) == b);
	ofi_stats_free(b, in_b);
	ofi_stats_free(a, in_a);
	ofi_stats_free(small, &small->stats);
}

/* Objects of several slots come from the other end, all of one size. */
static void test_wide(void **state)
{
	(void)state;
	in_child(wide, NULL);
}

/* Those for whom there is no slot do without, and slots that are given back serve again. */
static void test_full(void **state)
{
	static struct object *objects[OFI_STATS_SLOTS + 2];
	size_t i, heap = 0;

	(void)state;
	for (i = 0; i < OFI_STATS_SLOTS + 2; i++) {
		objects[i] = new_object();
		heap += objects[i]->stats.heap;
	}
	assert_int_equal(heap, 2);
	for (i = 0; i < OFI_STATS_SLOTS + 2; i++)
		ofi_stats_free(objects[i], &objects[i]->stats);
	objects[0] = new_object();
	assert_false(objects[0]->stats.heap);
	ofi_stats_free(objects[0], &objects[0]->stats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),	 cmocka_unit_test(test_show),
		cmocka_unit_test(test_sealed),	 cmocka_unit_test(test_fork),
		cmocka_unit_test(test_handlers), cmocka_unit_test(test_fork_without_memory),
		cmocka_unit_test(test_memory),	 cmocka_unit_test(test_without),
		cmocka_unit_test(test_full),	 cmocka_unit_test(test_wide),
	};

	pthread_atfork(application_forks, NULL, application_begins);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
