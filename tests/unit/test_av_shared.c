/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Addresses in shared memory: indices, removal, invalid headers and entries, threads and processes.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/av_shared.h"
#include "capture.h"

/* As prov/base/av_shared.c has it. */
struct header {
	uint64_t magic;
	uint32_t version, addr_format, entry_size, type;
	uint64_t capacity, map_addr;
	uint64_t count;
};

enum { SLOTS = 4096, STRIDE = 8 + 16, FORMAT = 7 };

struct entry {
	uint32_t number, extra[2];
};

static struct fi_provider prov = { .name = "test" };
static char name[32], file[96];
static int fail_in;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
	return fail_in && !--fail_in ? NULL : __real_calloc(count, size);
}

int __real_posix_fallocate(int fd, off_t at, off_t len);
int __wrap_posix_fallocate(int fd, off_t at, off_t len);
int __wrap_posix_fallocate(int fd, off_t at, off_t len)
{
	return fail_in && !--fail_in ? ENOSPC : __real_posix_fallocate(fd, at, len);
}

static bool valid(const void *entry)
{
	const struct entry *e = entry;

	return e->number && e->extra[0] == e->number && e->extra[1] == e->number;
}

static int compare(const void *a, const void *b)
{
	uint32_t x = ((const struct entry *)a)->number, y = ((const struct entry *)b)->number;

	return x < y ? -1 : x > y;
}

static const struct ofi_av_shared_class cls = {
	.entry_size = sizeof(struct entry),
	.valid = valid,
	.compare = compare,
};

static int open_attr(struct fi_av_attr *attr, struct ofi_av_shared **shared)
{
	attr->name = name;
	return ofi_av_shared_open(&prov, &cls, "dom/0", FORMAT, attr, shared);
}

static struct ofi_av_shared *open_av(uint64_t flags)
{
	struct fi_av_attr attr = { .flags = flags };
	struct ofi_av_shared *shared = NULL;

	assert_int_equal(open_attr(&attr, &shared), 0);
	assert_int_equal(attr.type, FI_AV_TABLE);
	return shared;
}

static int add_from(struct ofi_av_shared *shared, uint32_t number, size_t *index)
{
	const struct entry entry = { number, { number, number } };
	int ret = ofi_av_shared_begin(shared);

	if (ret)
		return ret;
	ret = ofi_av_shared_add(shared, &entry, index);
	ofi_av_shared_end(shared);
	return ret;
}

static size_t add(struct ofi_av_shared *shared, uint32_t number)
{
	size_t index = 0;

	assert_int_equal(add_from(shared, number, &index), 0);
	return index;
}

/* The number at an index, 0 when there is none. */
static uint32_t get(struct ofi_av_shared *shared, size_t index)
{
	struct entry entry = { 0 };

	return ofi_av_shared_get(shared, index, &entry) ? entry.number : 0;
}

static size_t find(struct ofi_av_shared *shared, uint32_t number)
{
	const struct entry entry = { number, { 0 } };

	return ofi_av_shared_find(shared, &entry);
}

static struct header *map_file(void)
{
	int fd = open(file, O_RDWR);
	void *base;

	assert_true(fd >= 0);
	base = mmap(NULL, SLOTS + 16 * STRIDE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	close(fd);
	return base;
}

static void unmap_file(struct header *header)
{
	munmap(header, SLOTS + 16 * STRIDE);
}

static int setup(void **state)
{
	(void)state;
	fail_in = 0;
	snprintf(name, sizeof(name), "av/%d", (int)getpid());
	snprintf(file, sizeof(file), "/dev/shm/weft_av.%u.dom%%2f0.av%%2f%d", geteuid(),
		 (int)getpid());
	unlink(file);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return access(file, F_OK) ? 0 : -1; /* it is gone */
}

static void test_two(void **state)
{
	struct ofi_av_shared *a = open_av(0), *b = open_av(0);

	(void)state;
	assert_int_equal(add(a, 70), 0);
	assert_int_equal(add(b, 71), 1);
	assert_int_equal(add(a, 72), 2);
	assert_int_equal(get(b, 0), 70);
	assert_int_equal(get(b, 2), 72);
	assert_int_equal(get(a, 1), 71);
	assert_int_equal(get(a, 3), 0);
	assert_int_equal(get(a, SIZE_MAX), 0);
	assert_int_equal(find(b, 72), 2);
	assert_int_equal(find(a, 71), 1);
	assert_int_equal(find(a, 73), OFI_AV_SHARED_NONE);
	assert_int_equal(ofi_av_shared_limit(b), 3);
	assert_int_equal(add(b, 70), 0);
	ofi_av_shared_close(a);
	assert_int_equal(get(b, 2), 72);
	ofi_av_shared_close(b);
	a = open_av(0);
	assert_int_equal(ofi_av_shared_limit(a), 0);
	ofi_av_shared_close(a);
	ofi_av_shared_close(NULL);
}

/* An address keeps its index, whoever removes and inserts it. */
static void test_remove(void **state)
{
	struct ofi_av_shared *a = open_av(0), *b = open_av(0);

	(void)state;
	add(a, 70);
	add(a, 71);
	assert_true(ofi_av_shared_remove(b, 0));
	assert_false(ofi_av_shared_remove(b, 0));
	assert_false(ofi_av_shared_remove(b, 2));
	assert_false(ofi_av_shared_remove(b, SIZE_MAX));
	assert_int_equal(get(a, 0), 0);
	assert_int_equal(find(a, 70), OFI_AV_SHARED_NONE);
	assert_int_equal(find(a, 71), 1);
	assert_int_equal(add(a, 72), 2);
	assert_int_equal(add(a, 70), 0);
	assert_int_equal(get(b, 0), 70);
	assert_int_equal(find(b, 70), 0);
	ofi_av_shared_close(b);
	ofi_av_shared_close(a);
}

/* Slots that are passed over stay empty, whatever a killed process left there. */
static void test_gap(void **state)
{
	struct ofi_av_shared *a = open_av(0), *b = open_av(0);
	struct header *header = map_file();
	uint32_t live = 1;
	size_t index = 2;

	(void)state;
	add(a, 70);
	memset((uint8_t *)header + SLOTS + STRIDE, 1, STRIDE);
	memcpy((uint8_t *)header + SLOTS + STRIDE, &live, sizeof(live));
	assert_int_equal(add_from(a, 71, &index), 0);
	assert_int_equal(index, 2);
	assert_int_equal(get(b, 1), 0);
	assert_int_equal(get(b, 2), 71);
	assert_int_equal(find(b, 71), 2);
	assert_int_equal(add(b, 72), 3);
	unmap_file(header);
	ofi_av_shared_close(a);
	ofi_av_shared_close(b);
}

static void test_attributes(void **state)
{
	struct fi_av_attr map = { .type = FI_AV_MAP, .map_addr = (void *)0x1000 };
	struct fi_av_attr any = { 0 }, table = { .type = FI_AV_TABLE };
	struct ofi_av_shared *a, *b, *c;

	(void)state;
	assert_int_equal(open_attr(&map, &a), 0);
	assert_int_equal(open_attr(&any, &b), 0);
	assert_int_equal(any.type, FI_AV_MAP);
	assert_ptr_equal(any.map_addr, (void *)0x1000);
	assert_int_equal(open_attr(&table, &c), -FI_EINVAL);
	any.name = name;
	assert_int_equal(ofi_av_shared_open(&prov, &cls, "dom/0", FORMAT + 1, &any, &c),
			 -FI_EINVAL);
	assert_int_equal(ofi_av_shared_open(&prov, &cls, "dom/1", FORMAT + 1, &any, &c), 0);
	ofi_av_shared_close(c);
	ofi_av_shared_close(b);
	ofi_av_shared_close(a);
	table.map_addr = NULL;
	assert_int_equal(open_attr(&table, &a), 0);
	assert_non_null(table.map_addr);
	ofi_av_shared_close(a);
}

/* What map_addr means to programs: an array with the fi_addr_t of each address. */
static void test_map(void **state)
{
	struct fi_av_attr writer = { 0 }, reader = { .flags = FI_READ };
	struct ofi_av_shared *a, *b;
	static const fi_addr_t want[] = { 0, FI_ADDR_NOTAVAIL, 2 };
	size_t index = 2;

	(void)state;
	assert_int_equal(open_attr(&writer, &a), 0);
	assert_int_equal(open_attr(&reader, &b), 0);
	assert_int_equal(add(a, 70), 0);
	assert_int_equal(add_from(a, 71, &index), 0);
	assert_memory_equal(reader.map_addr, want, sizeof(want));
	assert_memory_equal(writer.map_addr, want, sizeof(want));
	ofi_av_shared_close(b);
	ofi_av_shared_close(a);
}

static void test_names(void **state)
{
	char long_name[300];
	struct fi_av_attr attr = { .name = long_name };
	struct ofi_av_shared *a;

	(void)state;
	memset(long_name, '/', sizeof(long_name));
	long_name[0] = '\0';
	assert_int_equal(ofi_av_shared_open(&prov, &cls, "d", FORMAT, &attr, &a), -FI_EINVAL);
	memset(long_name, '/', sizeof(long_name) - 1);
	long_name[sizeof(long_name) - 1] = '\0';
	assert_int_equal(ofi_av_shared_open(&prov, &cls, "d", FORMAT, &attr, &a), -FI_EINVAL);
	long_name[70] = '\0';
	assert_int_equal(ofi_av_shared_open(&prov, &cls, "d", FORMAT, &attr, &a), 0);
	ofi_av_shared_close(a);
	memset(long_name, 'x', 240);
	for (long_name[240] = '\0'; long_name[0]; long_name[strlen(long_name) - 1] = '\0')
		if (!ofi_av_shared_open(&prov, &cls, "d", FORMAT, &attr, &a))
			break;
	assert_true(strlen(long_name) > 200);
	ofi_av_shared_close(a);
}

/* That nobody has it open is no failure. */
static void test_read_none(void **state)
{
	struct fi_av_attr attr = { .flags = FI_READ };
	struct ofi_av_shared *a = NULL;
	int ret;

	(void)state;
	capture_start();
	ret = open_attr(&attr, &a);
	assert_string_equal(capture_stop(), "");
	assert_int_equal(ret, -FI_ENOENT);
}

static void test_read_only(void **state)
{
	struct ofi_av_shared *a = open_av(0), *b = open_av(FI_READ);

	(void)state;
	add(a, 70);
	assert_false(ofi_av_shared_read_only(a));
	assert_true(ofi_av_shared_read_only(b));
	assert_int_equal(get(b, 0), 70);
	assert_int_equal(find(b, 70), 0);
	ofi_av_shared_close(a);
	ofi_av_shared_close(b);
}

static int open_with(const struct header *wrong)
{
	struct header *header = map_file(), right = *header;
	struct fi_av_attr attr = { 0 };
	struct ofi_av_shared *b;
	int ret;

	*header = *wrong;
	ret = open_attr(&attr, &b);
	*header = right;
	unmap_file(header);
	if (!ret)
		ofi_av_shared_close(b);
	return ret;
}

static void test_wrong_header(void **state)
{
	struct ofi_av_shared *a = open_av(0);
	struct header *mapped = map_file(), right = *mapped, wrong = right;
	unsigned int seed = 1, i, round;

	(void)state;
	assert_int_equal(open_with(&right), 0);
	wrong.magic = 0;
	assert_int_equal(open_with(&wrong), -FI_EINVAL);
	wrong = right;
	wrong.version++;
	assert_int_equal(open_with(&wrong), -FI_EINVAL);
	wrong = right;
	wrong.entry_size = 16;
	assert_int_equal(open_with(&wrong), -FI_EINVAL);
	wrong = right;
	wrong.type = 99;
	assert_int_equal(open_with(&wrong), -FI_EINVAL);
	wrong = right;
	wrong.capacity++;
	assert_int_equal(open_with(&wrong), -FI_EINVAL);
	wrong.capacity = 0;
	assert_int_equal(open_with(&wrong), -FI_EINVAL);
	wrong.capacity = UINT64_MAX;
	assert_int_equal(open_with(&wrong), -FI_EINVAL);
	capture_start();
	for (round = 0; round < 2000; round++) {
		wrong = right;
		for (i = 0; i < 4; i++)
			((uint8_t *)&wrong)[(size_t)rand_r(&seed) % sizeof(wrong)] =
				(uint8_t)rand_r(&seed);
		open_with(&wrong);
	}
	capture_stop();
	unmap_file(mapped);
	assert_int_equal(add(a, 70), 0);
	ofi_av_shared_close(a);
}

/* Counts and entries that a process with a right to write has no right to. */
static void test_wrong_entries(void **state)
{
	struct ofi_av_shared *a = open_av(0), *b = open_av(0);
	struct header *header = map_file();
	uint8_t *slots = (uint8_t *)header + SLOTS;
	size_t index = 0;

	(void)state;
	add(a, 70);
	add(a, 71);
	memset(slots + 8, 0xff, 4);
	assert_int_equal(get(b, 0), 0);
	assert_int_equal(find(b, 70), OFI_AV_SHARED_NONE);
	assert_int_equal(find(b, 71), 1);
	memset(slots, 0xff, 4);
	assert_int_equal(get(b, 0), 0);
	memcpy(slots + 2 * STRIDE, slots + STRIDE, STRIDE); /* the same address twice */
	header->count = 3;
	assert_int_equal(find(b, 71), 1);
	assert_int_equal(get(b, 2), 71);
	header->count = UINT64_MAX;
	assert_int_equal(ofi_av_shared_limit(b), 1 << 20);
	assert_int_equal(get(b, (1 << 20) - 1), 0);
	assert_int_equal(get(b, 1 << 20), 0);
	assert_int_equal(add_from(b, 72, &index), -FI_ENOSPC);
	assert_int_equal(add(b, 71), 1);
	header->count = 1;
	assert_int_equal(get(b, 1), 0);
	unmap_file(header);
	ofi_av_shared_close(a);
	ofi_av_shared_close(b);
}

static void test_full(void **state)
{
	struct ofi_av_shared *a = open_av(0), *b;
	struct header *header = map_file();
	size_t index = 0;

	(void)state;
	header->capacity = 2;
	b = open_av(0);
	add(b, 70);
	add(b, 71);
	assert_int_equal(add_from(b, 72, &index), -FI_ENOSPC);
	index = SIZE_MAX - 5;
	assert_int_equal(add_from(a, 72, &index), -FI_ENOSPC);
	assert_true(ofi_av_shared_remove(b, 1));
	assert_int_equal(add_from(b, 72, &index), -FI_ENOSPC);
	assert_int_equal(add(b, 71), 1);
	unmap_file(header);
	ofi_av_shared_close(a);
	ofi_av_shared_close(b);
}

/* Whatever fails in an insertion leaves the vector as it was. */
static void test_no_memory(void **state)
{
	struct fi_av_attr attr = { 0 };
	struct ofi_av_shared *a, *b;
	size_t index = 0;
	int at, ret;

	(void)state;
	for (at = 1; at <= 2; at++) { /* calloc, posix_fallocate */
		fail_in = at;
		ret = open_attr(&attr, &a);
		assert_int_equal(ret, at == 1 ? -FI_ENOMEM : -FI_ENOSPC);
		assert_true(access(file, F_OK));
	}
	a = open_av(0);
	b = open_av(0);
	fail_in = 1;
	assert_int_equal(add_from(a, 70, &index), -FI_ENOSPC);
	assert_int_equal(ofi_av_shared_limit(a), 0);
	assert_int_equal(add(a, 70), 0);
	fail_in = 1;
	assert_int_equal(find(b, 70), OFI_AV_SHARED_NONE);
	assert_int_equal(find(b, 70), 0);
	add(a, 71);
	fail_in = 1;
	assert_int_equal(add_from(b, 72, &index), -FI_ENOMEM);
	assert_int_equal(add(b, 72), 2);
	ofi_av_shared_close(a);
	ofi_av_shared_close(b);
}

enum { NUMBERS = 3000, PROCESSES = 4 };

static void insert_shuffled(struct ofi_av_shared *shared, unsigned int seed)
{
	static uint32_t order[PROCESSES][NUMBERS];
	uint32_t *mine = order[seed % PROCESSES], i, at, swap;

	for (i = 0; i < NUMBERS; i++)
		mine[i] = i + 1;
	for (i = NUMBERS - 1; i; i--) {
		at = (uint32_t)rand_r(&seed) % (i + 1);
		swap = mine[i];
		mine[i] = mine[at];
		mine[at] = swap;
	}
	for (i = 0; i < NUMBERS; i++)
		add(shared, mine[i]);
}

/* Every number has one index, the same from wherever one looks. */
static void check_all(struct ofi_av_shared *a, struct ofi_av_shared *b)
{
	uint32_t number;

	assert_int_equal(ofi_av_shared_limit(a), NUMBERS);
	for (number = 1; number <= NUMBERS; number++) {
		assert_true(find(a, number) < NUMBERS);
		assert_int_equal(find(a, number), find(b, number));
		assert_int_equal(get(b, find(a, number)), number);
	}
}

static void *writer(void *seed)
{
	struct ofi_av_shared *shared = open_av(0);

	insert_shuffled(shared, *(unsigned int *)seed);
	ofi_av_shared_close(shared);
	return NULL;
}

/* Whatever is seen of an index stays. */
static void *reader(void *arg)
{
	static uint32_t seen[2][NUMBERS];
	static unsigned int readers;
	uint32_t *mine = seen[__atomic_fetch_add(&readers, 1, __ATOMIC_RELAXED) % 2], number;
	struct ofi_av_shared *shared = arg;
	size_t i, limit;

	memset(mine, 0, sizeof(seen[0]));
	do {
		limit = ofi_av_shared_limit(shared);
		for (i = 0; i < limit; i++) {
			number = get(shared, i);
			assert_true(number);
			assert_true(!mine[i] || mine[i] == number);
			mine[i] = number;
		}
		if (limit)
			assert_int_equal(find(shared, mine[limit - 1]), limit - 1);
	} while (limit < NUMBERS);
	return NULL;
}

static void test_threads(void **state)
{
	unsigned int seeds[] = { 12, 13 };
	struct ofi_av_shared *a = open_av(0), *b = open_av(FI_READ);
	pthread_t threads[4];
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, writer, &seeds[i]), 0);
		assert_int_equal(pthread_create(&threads[2 + i], NULL, reader, i ? a : b), 0);
	}
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	check_all(a, b);
	ofi_av_shared_close(a);
	ofi_av_shared_close(b);
}

/* The last of the processes is gone without closing it. */
static void test_processes(void **state)
{
	static struct ofi_av_shared *a,
		*b; /* static: a child that leaves them open has lost nothing */
	pid_t pid[PROCESSES];
	int i, status;

	(void)state;
	a = open_av(0);
	for (i = 0; i < PROCESSES; i++) {
		pid[i] = fork();
		assert_true(pid[i] >= 0);
		if (!pid[i]) {
			b = open_av(0);
			insert_shuffled(b, (unsigned int)i);
			if (i != PROCESSES - 1)
				ofi_av_shared_close(b);
			_exit(0);
		}
	}
	for (i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	b = open_av(FI_READ);
	check_all(a, b);
	ofi_av_shared_close(a);
	ofi_av_shared_close(b);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_two),		  TEST(test_remove),	TEST(test_gap),
		TEST(test_attributes),	  TEST(test_map),	TEST(test_names),
		TEST(test_read_none),	  TEST(test_read_only), TEST(test_wrong_header),
		TEST(test_wrong_entries), TEST(test_full),	TEST(test_no_memory),
		TEST(test_threads),	  TEST(test_processes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
