/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of the registration cache for the process: registered bytes, watched memory, mappings,
 * and fork.
 */
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "prov/base/maps.h"
#include "prov/base/mr_cache.h"
#include <rdma/fi_errno.h>

enum { PAGE = 4096, SECONDS = 20, READ = 0, WRITE = 1 };

static size_t registered; /* atomic: the monitor's thread deregisters too */
static size_t registrations, bytes;
static char *unmapped_by_dereg;

static int reg(void *arg, void *addr, size_t len, unsigned int *access, void **mr)
{
	(void)arg;
	(void)addr;
	(void)access;
	bytes += len;
	__atomic_add_fetch(&registered, 1, __ATOMIC_RELAXED);
	*mr = (void *)++registrations;
	return 0;
}

/* As a driver that frees what it had of the region. */
static void dereg(void *arg, void *mr)
{
	char *at = __atomic_exchange_n(&unmapped_by_dereg, NULL, __ATOMIC_RELAXED);

	(void)arg;
	(void)mr;
	if (at)
		munmap(at, PAGE);
	__atomic_sub_fetch(&registered, 1, __ATOMIC_RELAXED);
}

static void open_cache(struct ofi_mr_cache *cache, size_t count)
{
	*cache = (struct ofi_mr_cache){ .reg = reg, .dereg = dereg };
	registered = registrations = bytes = 0;
	assert_int_equal(ofi_mr_cache_init(cache, count, SIZE_MAX, true), 0);
	if (!cache->monitored) {
		ofi_mr_cache_fini(cache);
		skip();
	}
}

static void close_cache(struct ofi_mr_cache *cache)
{
	ofi_mr_cache_fini(cache);
	assert_int_equal(registered, 0);
}

static char *map(size_t len, int flags, int fd)
{
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, fd, 0);

	assert_true(at != MAP_FAILED);
	return at;
}

static char *map_private(size_t len)
{
	return map(len, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
}

static void use(struct ofi_mr_cache *cache, const void *addr, size_t len)
{
	struct ofi_mr_region *region;

	assert_int_equal(ofi_mr_cache_get(cache, addr, len, READ, &region), 0);
	ofi_mr_cache_put(cache, region);
}

static bool is_hit(struct ofi_mr_cache *cache, const void *addr, size_t len)
{
	const size_t before = registrations;

	use(cache, addr, len);
	return registrations == before;
}

/* The kernel's word: is the page's mapping registered with a userfaultfd? */
static bool is_watched(const char *page)
{
	FILE *file = fopen("/proc/self/smaps", "r");
	unsigned long start, end, at = (unsigned long)page;
	bool here = false, watched = false;
	char line[512];

	assert_non_null(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = start <= at && at < end;
		else if (here && !strncmp(line, "VmFlags:", 8))
			watched = strstr(line, " uw");
	}
	fclose(file);
	return watched;
}

static bool is_soon(size_t wanted)
{
	int i;

	for (i = 0; i < SECONDS * 1000; i++) {
		if (__atomic_load_n(&registered, __ATOMIC_RELAXED) == wanted)
			return true;
		usleep(1000);
	}
	return false;
}

/* Neighbors share a page. They cost what they are, and are found again. */
static void test_slices(void **state)
{
	const size_t slice = 1 << 20, count = 1024, offset = 16;
	struct ofi_mr_cache cache;
	char *at = map_private((count + 1) * slice) + offset;
	size_t i;

	(void)state;
	open_cache(&cache, 2 * count);
	for (i = 0; i < count; i++)
		use(&cache, at + i * slice, slice);
	assert_true(bytes <= 2 * count * (slice + PAGE));
	assert_true(cache.size <= 2 * count * (slice + PAGE));
	registrations = 0;
	for (i = 0; i < count; i++)
		use(&cache, at + i * slice, slice);
	assert_int_equal(registrations, 0);
	close_cache(&cache);
	munmap(at - offset, (count + 1) * slice);
}

/*
 * Sliding windows: nothing grows beyond what each window requests, and memory that is freed is
 * dropped from all of them.
 */
static void test_windows(void **state)
{
	const size_t window = 64 * PAGE, step = PAGE, count = 500;
	struct ofi_mr_cache cache;
	char *at = map_private(count * step + window);
	size_t i;

	(void)state;
	open_cache(&cache, 1024);
	for (i = 0; i < count; i++)
		use(&cache, at + i * step, window);
	assert_true(bytes <= 2 * count * window);
	for (i = 0; i < count; i++)
		assert_true(is_hit(&cache, at + i * step, window));
	assert_int_equal(madvise(at + 250 * step, PAGE, MADV_DONTNEED), 0);
	assert_true(is_hit(&cache, at, window));
	assert_true(is_hit(&cache, at + 400 * step, window));
	assert_false(is_hit(&cache, at + 250 * step, 1));
	close_cache(&cache);
	munmap(at, count * step + window);
}

/* A region that only reads, over many that write: each is found where it is wanted. */
static void test_access_overlap(void **state)
{
	struct ofi_mr_region *region;
	struct ofi_mr_cache cache;
	char *at = map_private(64 * PAGE);
	int i;

	(void)state;
	open_cache(&cache, 128);
	use(&cache, at, 64 * PAGE);
	for (i = 0; i < 32; i++) {
		assert_int_equal(ofi_mr_cache_get(&cache, at + i * PAGE, PAGE, WRITE, &region), 0);
		assert_int_equal(region->access, WRITE);
		ofi_mr_cache_put(&cache, region);
	}
	assert_true(is_hit(&cache, at, 64 * PAGE));
	assert_true(is_hit(&cache, at + 40 * PAGE, PAGE));
	registrations = 0;
	for (i = 0; i < 32; i++) {
		assert_int_equal(ofi_mr_cache_get(&cache, at + i * PAGE, PAGE, WRITE, &region), 0);
		ofi_mr_cache_put(&cache, region);
	}
	assert_int_equal(registrations, 0);
	close_cache(&cache);
	munmap(at, 64 * PAGE);
}

/* Each buffer is a mapping of its own while it is watched; a process may have some 65,000. */
static void test_many_buffers(void **state)
{
	const size_t count = 40000, kept = 64;
	size_t i, before = ofi_maps_count();
	struct ofi_mr_cache cache;
	char *at = map_private(2 * count * PAGE);

	(void)state;
	assert_true(before && before < ofi_maps_limit());
	at[0] = 1;
	open_cache(&cache, kept);
	for (i = 0; i < count; i++)
		use(&cache, at + 2 * i * PAGE, PAGE);
	assert_true(ofi_maps_count() < before + 1000);
	assert_false(is_watched(at));
	assert_true(is_watched(at + 2 * (count - 1) * PAGE));
	close_cache(&cache);
	assert_false(is_watched(at + 2 * (count - 1) * PAGE));
	munmap(at, 2 * count * PAGE);
}

/*
 * A buffer that is first touched beside a watched buffer stays a separate mapping: then no more are
 * kept.
 */
static void test_touched_apart(void **state)
{
	const size_t count = 36000, kept = 64, limit = ofi_maps_limit();
	struct ofi_mr_cache cache;
	char *at = map_private(count * PAGE);
	size_t i;

	(void)state;
	assert_int_equal(mprotect(at, count * PAGE, PROT_NONE), 0);
	open_cache(&cache, kept);
	for (i = 0; i < count; i++) {
		assert_int_equal(mprotect(at + i * PAGE, PAGE, PROT_READ | PROT_WRITE), 0);
		at[i * PAGE] = 1;
		use(&cache, at + i * PAGE, PAGE);
	}
	assert_true(ofi_maps_count() < limit / 2 + 3000);
	close_cache(&cache);
	munmap(at, count * PAGE);
}

/*
 * Pages that a removed region shares with another region stay watched, in this cache and in another
 * one.
 */
static void test_shared_pages(void **state)
{
	struct ofi_mr_cache a, b;
	char *at = map_private(16 * PAGE);

	(void)state;
	open_cache(&a, 1);
	open_cache(&b, 8);
	use(&a, at, 4 * PAGE);
	use(&b, at + 3 * PAGE, PAGE);
	use(&b, at + PAGE, PAGE);
	use(&a, at + 8 * PAGE, PAGE);
	assert_false(is_watched(at));
	assert_true(is_watched(at + PAGE));
	assert_false(is_watched(at + 2 * PAGE));
	assert_true(is_watched(at + 3 * PAGE));
	assert_true(is_watched(at + 8 * PAGE));
	ofi_mr_cache_fini(&b);
	assert_false(is_watched(at + PAGE));
	assert_true(is_watched(at + 8 * PAGE));
	assert_true(is_hit(&a, at + 8 * PAGE, PAGE));
	madvise(at + 8 * PAGE, PAGE, MADV_DONTNEED);
	assert_false(is_hit(&a, at + 8 * PAGE, PAGE));
	close_cache(&a);
	munmap(at, 16 * PAGE);
}

/* Memory that was moved takes its watch along, which nobody wants there. */
static void test_moved(void **state)
{
	struct ofi_mr_cache cache;
	char *at = map_private(4 * PAGE), *to = map_private(4 * PAGE);
	int i;

	(void)state;
	open_cache(&cache, 8);
	use(&cache, at, 4 * PAGE);
	assert_ptr_equal(mremap(at, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to), to);
	for (i = 0; i < SECONDS * 1000 && is_watched(to); i++)
		usleep(1000);
	assert_false(is_watched(to));
	assert_false(is_hit(&cache, to, PAGE));
	close_cache(&cache);
	munmap(to, 4 * PAGE);
}

/* Without another call of the cache. */
static void test_freed_at_once(void **state)
{
	struct ofi_mr_region *held;
	struct ofi_mr_cache cache;
	char *at = map_private(8 * PAGE);

	(void)state;
	open_cache(&cache, 8);
	use(&cache, at, PAGE);
	use(&cache, at + 2 * PAGE, PAGE);
	assert_int_equal(ofi_mr_cache_get(&cache, at + 4 * PAGE, 2 * PAGE, READ, &held), 0);
	munmap(at, PAGE);
	assert_true(is_soon(2));
	madvise(at + 2 * PAGE, PAGE, MADV_DONTNEED);
	assert_true(is_soon(1));
	/* A hole in what is in use. */
	munmap(at + 4 * PAGE, PAGE);
	usleep(10000);
	assert_true(is_soon(1));
	ofi_mr_cache_put(&cache, held);
	assert_true(is_soon(0));
	assert_false(is_watched(at + 5 * PAGE));
	close_cache(&cache);
	munmap(at, 8 * PAGE);
}

/* The thread that deregisters may wait for an event itself. */
static void test_driver_frees(void **state)
{
	struct ofi_mr_cache cache;
	char *at = map_private(8 * PAGE);

	(void)state;
	open_cache(&cache, 8);
	use(&cache, at, PAGE);
	use(&cache, at + 2 * PAGE, PAGE);
	unmapped_by_dereg = at + 2 * PAGE;
	alarm(SECONDS);
	munmap(at, PAGE);
	assert_true(is_soon(0));
	alarm(0);
	close_cache(&cache);
	munmap(at, 8 * PAGE);
}

static void never_kept(char *at, size_t len)
{
	struct ofi_mr_cache cache;

	open_cache(&cache, 8);
	use(&cache, at, len);
	assert_false(is_hit(&cache, at, len));
	assert_int_equal(cache.count, 0);
	assert_int_equal(registered, 0);
	close_cache(&cache);
}

/* Holes and truncation of a file come without an event, for private mappings of it too. */
static void test_files(void **state)
{
	int fd = (int)syscall(SYS_memfd_create, "test", 1u);
	char *shared, *private, *anonymous, *mixed;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 4 * PAGE), 0);
	shared = map(4 * PAGE, MAP_SHARED, fd);
	private = map(4 * PAGE, MAP_PRIVATE, fd);
	anonymous = map(4 * PAGE, MAP_SHARED | MAP_ANONYMOUS, -1);
	mixed = map_private(9 * PAGE);
	memset(private, 1, 4 * PAGE);
	memset(anonymous, 1, PAGE);
	assert_true(mmap(mixed + 5 * PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
			 0) != MAP_FAILED);
	never_kept(shared, 4 * PAGE);
	never_kept(private, 4 * PAGE);
	never_kept(anonymous, 4 * PAGE);
	never_kept(mixed, 9 * PAGE);
	assert_false(is_watched(shared));
	assert_false(is_watched(mixed));
	assert_false(is_watched(mixed + 5 * PAGE));
	munmap(shared, 4 * PAGE);
	munmap(private, 4 * PAGE);
	munmap(anonymous, 4 * PAGE);
	munmap(mixed, 9 * PAGE);
	close(fd);
}

/* Private anonymous memory is kept also where it is several mappings. */
static void test_pieces(void **state)
{
	struct ofi_mr_cache cache;
	char *at = map_private(13 * PAGE);

	(void)state;
	assert_int_equal(mprotect(at + 3 * PAGE, PAGE, PROT_READ), 0);
	assert_int_equal(mprotect(at + 9 * PAGE, 2 * PAGE, PROT_READ), 0);
	open_cache(&cache, 8);
	use(&cache, at, 13 * PAGE);
	assert_true(is_hit(&cache, at, 13 * PAGE));
	close_cache(&cache);
	munmap(at, 13 * PAGE);
}

/* Where a huge page can be had. */
static void test_huge_pages(void **state)
{
	const size_t huge = 2 << 20;
	char *at = mmap(NULL, huge, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);

	(void)state;
	if (at == MAP_FAILED)
		skip();
	never_kept(at, huge);
	munmap(at, huge);
}

/* Sleeps until it is killed. `plain`: by a call that no library hears of. */
static pid_t start_child(bool plain)
{
	pid_t pid = plain ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();

	while (!pid)
		pause();
	assert_true(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Unmapping must not wait for a reader that is gone, whoever still has the descriptor. */
static void free_after_close(bool plain)
{
	struct ofi_mr_cache cache;
	char *at = map_private(8 * PAGE);
	pid_t pid;

	open_cache(&cache, 8);
	use(&cache, at, PAGE);
	use(&cache, at + 3 * PAGE, 2 * PAGE);
	pid = start_child(plain);
	alarm(SECONDS);
	assert_true(is_hit(&cache, at, PAGE));
	munmap(at, PAGE);
	assert_true(is_soon(1));
	close_cache(&cache);
	madvise(at + 3 * PAGE, PAGE, MADV_DONTNEED);
	munmap(at, 8 * PAGE);
	alarm(0);
	end_child(pid);
}

static void test_free_after_close(void **state)
{
	(void)state;
	free_after_close(false);
	free_after_close(true);
}

/* It leaves the parent's registrations alone, and has a cache of its own. */
static int in_child(struct ofi_mr_cache *inherited, char *at)
{
	struct ofi_mr_cache own;

	alarm(SECONDS);
	munmap(at, PAGE);
	ofi_mr_cache_fini(inherited);
	if (registered != 2)
		return 1;
	open_cache(&own, 8);
	use(&own, at + PAGE, PAGE);
	if (!is_hit(&own, at + PAGE, PAGE))
		return 2;
	munmap(at + PAGE, PAGE);
	if (!is_soon(0))
		return 3;
	close_cache(&own);
	return 0;
}

/* Each process is the first of a PID namespace. */
pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void)
{
	return 1;
}

static void test_child_closes(void **state)
{
	char *at = map_private(8 * PAGE);
	struct ofi_mr_cache cache;
	int status;
	pid_t pid;

	(void)state;
	open_cache(&cache, 8);
	use(&cache, at, PAGE);
	use(&cache, at + 2 * PAGE, PAGE);
	pid = fork();
	if (!pid)
		_exit(in_child(&cache, at));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(is_hit(&cache, at, PAGE));
	munmap(at, PAGE);
	assert_true(is_soon(1));
	close_cache(&cache);
	munmap(at, 8 * PAGE);
}

static bool forks; /* while a descriptor is closed whose number somebody else gets */
static int ends, fds[2];
static pthread_t forkers[2];

/* Returns NULL if the child left the descriptor alone. */
static void *fork_once(void *fd)
{
	int status = -1;
	pid_t pid = fork();

	if (!pid)
		_exit(fcntl(*(int *)fd, F_GETFD) < 0);
	waitpid(pid, &status, 0);
	return status ? fd : NULL;
}

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	int other, ret = __real_close(fd);

	if (!forks || ends == 2)
		return ret;
	other = open("/dev/null", O_RDONLY);
	if (other != fd) {
		dup2(other, fd);
		__real_close(other);
	}
	fds[ends] = fd;
	assert_int_equal(pthread_create(&forkers[ends], NULL, fork_once, &fds[ends]), 0);
	ends++;
	usleep(50000); /* time to fork, if nothing prevents it */
	return ret;
}

static void test_forks_while_it_closes(void **state)
{
	struct ofi_mr_cache cache;
	void *lost;
	int i;

	(void)state;
	open_cache(&cache, 8);
	forks = true;
	close_cache(&cache);
	forks = false;
	assert_int_equal(ends, 2);
	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_join(forkers[i], &lost), 0);
		assert_null(lost);
		__real_close(fds[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slices),	       cmocka_unit_test(test_windows),
		cmocka_unit_test(test_access_overlap), cmocka_unit_test(test_many_buffers),
		cmocka_unit_test(test_touched_apart),

		cmocka_unit_test(test_shared_pages),   cmocka_unit_test(test_moved),
		cmocka_unit_test(test_freed_at_once),  cmocka_unit_test(test_driver_frees),
		cmocka_unit_test(test_files),	       cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_huge_pages),     cmocka_unit_test(test_free_after_close),
		cmocka_unit_test(test_child_closes),   cmocka_unit_test(test_forks_while_it_closes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
