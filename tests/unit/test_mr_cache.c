/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cached registrations: found again, joined, limited, and dropped when the memory changes. */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "prov/base/mr_cache.h"
#include <rdma/fi_errno.h>

enum { PAGE = 4096, ROUNDS = 3000 };

/* Atomic: the monitor's thread deregisters too. */
static size_t registered;
static size_t registrations;
static int reg_failures;     /* of the next registrations */
static size_t reg_most;	     /* as the limit of locked memory has it */
static unsigned int granted; /* to each registration, beside what it asks for */

static int reg(void *arg, void *addr, size_t len, unsigned int *access, void **mr)
{
	if (reg_failures) {
		reg_failures--;
		return -FI_EFAULT;
	}
	if (registered == reg_most && !ofi_mr_cache_shed(arg, len))
		return -FI_ENOMEM;
	__atomic_add_fetch(&registered, 1, __ATOMIC_RELAXED);
	*access |= granted;
	*mr = (void *)(registrations++ + 1);
	assert_int_equal((uintptr_t)addr % PAGE, 0);
	return 0;
}

static void dereg(void *arg, void *mr)
{
	(void)arg;
	assert_non_null(mr);
	__atomic_sub_fetch(&registered, 1, __ATOMIC_RELAXED);
}

static void open_cache(struct ofi_mr_cache *cache, size_t count, size_t size)
{
	*cache = (struct ofi_mr_cache){ .reg = reg, .dereg = dereg, .arg = cache };
	registered = registrations = 0;
	reg_failures = 0;
	reg_most = SIZE_MAX;
	granted = 0;
	assert_int_equal(ofi_mr_cache_init(cache, count, size, true), 0);
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

static char *map(size_t pages)
{
	char *at = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			0);

	assert_true(at != MAP_FAILED);
	memset(at, 1, pages * PAGE);
	return at;
}

static void *use(struct ofi_mr_cache *cache, const void *addr, size_t len)
{
	struct ofi_mr_region *region;
	void *mr;

	assert_int_equal(ofi_mr_cache_get(cache, addr, len, 0, &region), 0);
	assert_true(region->start <= (uintptr_t)addr && region->end >= (uintptr_t)addr + len);
	mr = region->mr;
	ofi_mr_cache_put(cache, region);
	return mr;
}

static void test_found_again(void **state)
{
	struct ofi_mr_cache cache;
	char *at = map(4);
	void *mr;

	(void)state;
	open_cache(&cache, 8, SIZE_MAX);
	mr = use(&cache, at + 100, PAGE);
	assert_ptr_equal(use(&cache, at, 2 * PAGE), mr);
	assert_ptr_equal(use(&cache, at + 5, 1), mr);
	assert_int_equal(registrations, 1);
	assert_ptr_not_equal(use(&cache, at + 2 * PAGE, 1), mr);
	close_cache(&cache);
	munmap(at, 4 * PAGE);
}

/* What overlaps is joined; the old region lives as long as it is in use. */
static void test_joined(void **state)
{
	struct ofi_mr_region *first;
	struct ofi_mr_cache cache;
	char *at = map(8);

	(void)state;
	open_cache(&cache, 8, SIZE_MAX);
	assert_int_equal(ofi_mr_cache_get(&cache, at, 4 * PAGE, 0, &first), 0);
	use(&cache, at + 3 * PAGE, 4 * PAGE);
	assert_int_equal(cache.count, 1);
	assert_int_equal(cache.size, 7 * PAGE);
	assert_int_equal(registered, 2);
	ofi_mr_cache_put(&cache, first);
	assert_int_equal(registered, 1);
	use(&cache, at, 7 * PAGE);
	assert_int_equal(registrations, 2);
	close_cache(&cache);
	munmap(at, 8 * PAGE);
}

static void test_limits(void **state)
{
	struct ofi_mr_region *held[3];
	struct ofi_mr_cache cache;
	char *at = map(16);
	int i;

	(void)state;
	open_cache(&cache, 2, 6 * PAGE);
	for (i = 0; i < 8; i++)
		use(&cache, at + 2 * i * PAGE, PAGE);
	assert_int_equal(cache.count, 2);
	assert_int_equal(registered, 2);
	/* The least recently used one goes first. */
	use(&cache, at + 12 * PAGE, 1);
	use(&cache, at, 1);
	registrations = 0;
	use(&cache, at + 12 * PAGE, 1);
	assert_int_equal(registrations, 0);
	/* With all in use, one more is registered for its one use. */
	for (i = 0; i < 3; i++)
		assert_int_equal(ofi_mr_cache_get(&cache, at + 2 * i * PAGE, 1, 0, &held[i]), 0);
	assert_int_equal(cache.count, 2);
	for (i = 0; i < 3; i++)
		ofi_mr_cache_put(&cache, held[i]);
	assert_int_equal(registered, 2);
	/* Larger than all the cache may hold. */
	use(&cache, at, 7 * PAGE);
	assert_true(cache.size <= 6 * PAGE);
	close_cache(&cache);
	munmap(at, 16 * PAGE);
}

/* A region that allows less than what is wanted is replaced; one that allows more serves. */
static void test_access(void **state)
{
	struct ofi_mr_region *reader, *writer;
	struct ofi_mr_cache cache;
	char *at = map(4);

	(void)state;
	open_cache(&cache, 8, SIZE_MAX);
	assert_int_equal(ofi_mr_cache_get(&cache, at, PAGE, 1, &reader), 0);
	assert_int_equal(reader->access, 1);
	assert_int_equal(ofi_mr_cache_get(&cache, at, PAGE, 2, &writer), 0);
	assert_ptr_not_equal(reader, writer);
	assert_int_equal(writer->access & 2, 2);
	ofi_mr_cache_put(&cache, reader);
	ofi_mr_cache_put(&cache, writer);

	granted = 3;
	use(&cache, at + 2 * PAGE, PAGE);
	registrations = 0;
	assert_int_equal(ofi_mr_cache_get(&cache, at + 2 * PAGE, PAGE, 3, &writer), 0);
	assert_int_equal(registrations, 0);
	ofi_mr_cache_put(&cache, writer);
	close_cache(&cache);
	munmap(at, 4 * PAGE);
}

/* Each kind of change makes the next use register anew, of exactly what changed. */
static void test_changes(void **state)
{
	struct ofi_mr_cache cache;
	char *at = map(8), *other = map(1), *moved;
	void *mr[8], *kept;
	int i;

	(void)state;
	open_cache(&cache, 32, SIZE_MAX);
	kept = use(&cache, other, 1);
	for (i = 0; i < 8; i++)
		mr[i] = use(&cache, at + i * PAGE, 1);

	munmap(at, PAGE);
	madvise(at + PAGE, PAGE, MADV_DONTNEED);
	moved = mremap(at + 2 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE);
	assert_true(moved != MAP_FAILED);
	assert_true(mmap(at + 3 * PAGE, PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at + 3 * PAGE);
	for (i = 0; i < 3; i += 2)
		assert_true(mmap(at + i * PAGE, PAGE, PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at + i * PAGE);
	for (i = 0; i < 4; i++)
		assert_ptr_not_equal(use(&cache, at + i * PAGE, 1), mr[i]);
	for (i = 4; i < 8; i++)
		assert_ptr_equal(use(&cache, at + i * PAGE, 1), mr[i]);
	assert_ptr_equal(use(&cache, other, 1), kept);
	close_cache(&cache);
	munmap(moved, 2 * PAGE);
	munmap(at, 8 * PAGE);
	munmap(other, PAGE);
}

static void test_break(void **state)
{
	struct ofi_mr_cache cache;
	char *end = sbrk(0), *at;
	void *mr;

	(void)state;
	at = (char *)(((uintptr_t)end + PAGE - 1) & ~(uintptr_t)(PAGE - 1));
	open_cache(&cache, 8, SIZE_MAX);
	assert_int_equal(brk(at + 4 * PAGE), 0);
	memset(at, 1, 4 * PAGE);
	mr = use(&cache, at + 2 * PAGE, PAGE);
	assert_int_equal(brk(at), 0);
	assert_int_equal(brk(at + 4 * PAGE), 0);
	assert_ptr_not_equal(use(&cache, at + 2 * PAGE, PAGE), mr);
	close_cache(&cache);
	assert_int_equal(brk(end), 0);
}

/* A region in use outlives the change until it is put back, and is not handed out again. */
static void test_changed_in_use(void **state)
{
	struct ofi_mr_region *region;
	struct ofi_mr_cache cache;
	char *at = map(1);

	(void)state;
	open_cache(&cache, 8, SIZE_MAX);
	assert_int_equal(ofi_mr_cache_get(&cache, at, 1, 0, &region), 0);
	madvise(at, PAGE, MADV_DONTNEED);
	assert_ptr_not_equal(use(&cache, at, 1), region->mr);
	assert_int_equal(registered, 2);
	ofi_mr_cache_put(&cache, region);
	assert_int_equal(registered, 1);
	close_cache(&cache);
	munmap(at, PAGE);
}

/* A mapped file isn't watched, so it is not kept. */
static void test_file(void **state)
{
	FILE *file = tmpfile();
	struct ofi_mr_cache cache;
	void *first;
	char *at;

	(void)state;
	assert_non_null(file);
	assert_int_equal(ftruncate(fileno(file), PAGE), 0);
	at = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	assert_true(at != MAP_FAILED);
	open_cache(&cache, 8, SIZE_MAX);
	first = use(&cache, at, 1);
	if (cache.count)
		assert_ptr_equal(use(&cache, at, 1), first);
	else
		assert_int_equal(registered, 0);
	close_cache(&cache);
	munmap(at, PAGE);
	fclose(file);
}

static void test_failures(void **state)
{
	struct ofi_mr_region *region;
	struct ofi_mr_cache cache;
	char *at = map(4);

	(void)state;
	open_cache(&cache, 8, SIZE_MAX);
	assert_int_equal(ofi_mr_cache_get(&cache, at, 0, 0, &region), -FI_EINVAL);
	assert_int_equal(ofi_mr_cache_get(&cache, at, SIZE_MAX, 0, &region), -FI_EINVAL);
	reg_failures = 2;
	assert_int_equal(ofi_mr_cache_get(&cache, at, 1, 0, &region), -FI_EFAULT);
	assert_int_equal(reg_failures, 0);
	use(&cache, at, 2 * PAGE);
	/* Joined to its neighbour it can't be registered: alone it can, for this use. */
	reg_failures = 1;
	use(&cache, at + PAGE, 2 * PAGE);
	assert_int_equal(cache.count, 1);
	assert_int_equal(cache.size, 2 * PAGE);
	assert_int_equal(registered, 1);
	close_cache(&cache);
	munmap(at, 4 * PAGE);
}

/* Regions without users make room for the next one, and for other registrations. */
static void test_makes_room(void **state)
{
	struct ofi_mr_region *first, *second;
	struct ofi_mr_cache cache;
	char *at = map(8);
	int i;

	(void)state;
	open_cache(&cache, 8, SIZE_MAX);
	reg_most = 2;
	for (i = 0; i < 4; i++)
		use(&cache, at + 2 * i * PAGE, PAGE);
	assert_int_equal(cache.count, 2);
	/* The one that was used last is still there. */
	assert_int_equal(ofi_mr_cache_get(&cache, at + 6 * PAGE, PAGE, 0, &first), 0);
	assert_int_equal(registrations, 4);
	assert_int_equal(ofi_mr_cache_get(&cache, at, PAGE, 0, &second), 0);
	assert_int_equal(ofi_mr_cache_get(&cache, at + 2 * PAGE, PAGE, 0, &second), -FI_ENOMEM);
	assert_false(ofi_mr_cache_shed(&cache, PAGE));
	ofi_mr_cache_put(&cache, first);
	assert_true(ofi_mr_cache_shed(&cache, PAGE));
	assert_int_equal(registered, 1);
	assert_int_equal(ofi_mr_cache_get(&cache, at, PAGE, 0, &second), 0);
	ofi_mr_cache_put(&cache, second);
	ofi_mr_cache_put(&cache, second);
	close_cache(&cache);
	munmap(at, 8 * PAGE);
}

static void test_without_monitor(void **state)
{
	struct ofi_mr_cache cache = { .reg = reg, .dereg = dereg };
	char *at = map(1);

	(void)state;
	registered = registrations = 0;
	assert_int_equal(ofi_mr_cache_init(&cache, 8, SIZE_MAX, false), 0);
	use(&cache, at, 1);
	use(&cache, at, 1);
	assert_int_equal(registrations, 2);
	close_cache(&cache);
	munmap(at, PAGE);
}

/* Two caches hear of a change of the same memory. */
static void test_two_caches(void **state)
{
	struct ofi_mr_cache a, b;
	char *at = map(1);
	void *mr[2];

	(void)state;
	open_cache(&a, 8, SIZE_MAX);
	open_cache(&b, 8, SIZE_MAX);
	mr[0] = use(&a, at, 1);
	mr[1] = use(&b, at, 1);
	assert_ptr_equal(use(&a, at, 1), mr[0]);
	madvise(at, PAGE, MADV_DONTNEED);
	assert_ptr_not_equal(use(&a, at, 1), mr[0]);
	assert_ptr_not_equal(use(&b, at, 1), mr[1]);
	ofi_mr_cache_fini(&a);
	close_cache(&b);
	munmap(at, PAGE);
}

static int stamp_reg(void *arg, void *addr, size_t len, unsigned int *access, void **mr)
{
	(void)arg;
	(void)len;
	(void)access;
	*mr = (void *)(uintptr_t) * (volatile uint64_t *)addr;
	return 0;
}

static void stamp_dereg(void *arg, void *mr)
{
	(void)arg;
	(void)mr;
}

struct attack {
	struct ofi_mr_cache *cache;
	uint64_t first;
};

/*
 * Maps, stamps, uses and changes pages repeatedly; the registration remembers the page's stamp,
 * which detects stale ones.
 */
static void *attack(void *arg)
{
	struct attack *attack = arg;
	struct ofi_mr_region *region;
	uint64_t stamp = attack->first;
	char *at = map(1);
	int i;

	for (i = 0; i < ROUNDS; i++, stamp++) {
		*(volatile uint64_t *)at = stamp;
		if (ofi_mr_cache_get(attack->cache, at, 8, 0, &region))
			return "get failed";
		if ((uintptr_t)region->mr != stamp)
			return "stale";
		ofi_mr_cache_put(attack->cache, region);
		if (i % 3 == 0) {
			madvise(at, PAGE, MADV_DONTNEED);
			continue;
		}
		munmap(at, PAGE);
		at = mmap(i % 3 == 1 ? at : NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		free(malloc((size_t)(i % 64) * PAGE));
	}
	munmap(at, PAGE);
	return NULL;
}

static void test_attack(void **state)
{
	struct ofi_mr_cache cache;
	struct attack attacks[4];
	pthread_t threads[4];
	void *ret;
	int i;

	(void)state;
	open_cache(&cache, 16, SIZE_MAX);
	cache.reg = stamp_reg;
	cache.dereg = stamp_dereg;
	for (i = 0; i < 4; i++) {
		attacks[i] = (struct attack){ &cache, (uint64_t)(i + 1) << 32 };
		assert_int_equal(pthread_create(&threads[i], NULL, attack, &attacks[i]), 0);
	}
	for (i = 0; i < 4; i++) {
		pthread_join(threads[i], &ret);
		if (ret)
			fail_msg("%s", (char *)ret);
	}
	ofi_mr_cache_fini(&cache);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found_again),    cmocka_unit_test(test_joined),
		cmocka_unit_test(test_limits),	       cmocka_unit_test(test_access),
		cmocka_unit_test(test_changes),	       cmocka_unit_test(test_break),
		cmocka_unit_test(test_changed_in_use), cmocka_unit_test(test_file),
		cmocka_unit_test(test_failures),       cmocka_unit_test(test_without_monitor),
		cmocka_unit_test(test_two_caches),     cmocka_unit_test(test_attack),
		cmocka_unit_test(test_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
