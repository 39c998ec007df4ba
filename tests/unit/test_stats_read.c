/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reading statistics of this process, and memory that only resembles statistics. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "prov/base/stats.h"
#include "src/stats_read.h"
#include <rdma/fi_errno.h>

#define FILE_SIZE OFI_STATS_SIZE
#define SEALS	  (F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE)

static int open_reader(struct fid **fid, struct fi_ops_stats_process **ops)
{
	struct fi_stats_attr attr = { .size = sizeof(attr), .pid = getpid() };
	int ret = ofi_stats_open(&attr, sizeof(attr), 0, fid, NULL);

	return ret ? ret : fi_open_ops(*fid, FI_STATS_PROCESS_OPS, 0, (void **)ops, NULL);
}

static void test_arguments(void **state)
{
	struct fi_stats_attr attr = { .size = sizeof(attr), .pid = getpid() };
	struct fid *fid = NULL;

	(void)state;
	assert_int_equal(ofi_stats_open(&attr, sizeof(attr), 1, &fid, NULL), -FI_EBADFLAGS);
	assert_int_equal(ofi_stats_open(&attr, sizeof(attr) - 1, 0, &fid, NULL), -FI_EINVAL);
	attr.size = 4;
	assert_int_equal(ofi_stats_open(&attr, sizeof(attr), 0, &fid, NULL), -FI_EINVAL);
	attr = (struct fi_stats_attr){ .size = sizeof(attr), .pid = -1 };
	assert_int_equal(ofi_stats_open(&attr, sizeof(attr), 0, &fid, NULL), -FI_EINVAL);
	attr.pid = 0x3fffffff;
	assert_int_equal(ofi_stats_open(&attr, sizeof(attr), 0, &fid, NULL), -FI_ENOENT);
	assert_int_equal(ofi_stats_open(NULL, 0, 0, &fid, NULL), -FI_ENODATA);
	assert_null(fid);
}

static void test_objects(void **state)
{
	struct ofi_stats *a = ofi_stats_alloc(sizeof(*a)), *b = ofi_stats_alloc(sizeof(*b));
	struct fi_stats_object object = { 0 };
	struct fi_ops_stats_process *ops;
	struct fid *fid;

	(void)state;
	assert_int_equal(open_reader(&fid, &ops), 0);
	assert_int_equal(ops->next(fid, 0, &object), 0);
	b->fclass = FI_CLASS_DOMAIN;
	ofi_stats_show(b, "first");
	a->fclass = FI_CLASS_CQ;
	a->domain = b->id;
	ofi_stats_show(a, "second");
	ofi_stats_add(a, OFI_STATS_EVENTS, 42);
	ofi_stats_add_shared(b, OFI_STATS_MRS, 3);

	assert_int_equal(ops->next(fid, 0, &object), 1);
	assert_string_equal(object.name, "first");
	assert_int_equal(object.fclass, FI_CLASS_DOMAIN);
	assert_int_equal(object.id, b->id);
	assert_string_equal(object.items[0].name, "registrations");
	assert_int_equal(object.items[0].value, 3);
	assert_true(object.items[1].level);
	assert_int_equal(ops->next(fid, object.id, &object), 1);
	assert_string_equal(object.name, "second");
	assert_int_equal(object.domain, b->id);
	assert_string_equal(object.items[2].name, "events");
	assert_int_equal(object.items[2].value, 42);
	assert_int_equal(ops->next(fid, object.id, &object), 0);
	assert_int_equal(ops->next(fid, 0, NULL), -FI_EINVAL);

	ofi_stats_hide(&b->id);
	assert_int_equal(ops->next(fid, 0, &object), 1);
	assert_string_equal(object.name, "second");
	fi_close(fid);
	ofi_stats_free(a, a);
	ofi_stats_free(b, b);
}

/* One of several slots, among those of one. */
static void test_wide(void **state)
{
	const size_t size = 2 * OFI_STATS_SLOT;
	struct ofi_stats *a = ofi_stats_alloc(sizeof(*a)), *b;
	char *wide = ofi_stats_alloc(size);
	struct fi_stats_object object = { 0 };
	struct fi_ops_stats_process *ops;
	struct fid *fid;

	(void)state;
	memset(wide, 0xff, size - sizeof(*b));
	b = (struct ofi_stats *)(wide + size) - 1;
	b->fclass = FI_CLASS_EP;
	ofi_stats_add(b, OFI_STATS_SENDS, 7);
	ofi_stats_show(b, "wide");
	ofi_stats_show(a, "small");
	assert_int_equal(open_reader(&fid, &ops), 0);
	assert_int_equal(ops->next(fid, 0, &object), 1);
	assert_string_equal(object.name, "wide");
	assert_string_equal(object.items[0].name, "sends");
	assert_int_equal(object.items[0].value, 7);
	assert_int_equal(ops->next(fid, object.id, &object), 1);
	assert_string_equal(object.name, "small");
	assert_int_equal(ops->next(fid, object.id, &object), 0);
	fi_close(fid);
	ofi_stats_free(wide, b);
	ofi_stats_free(a, a);
}

static void test_object_calls(void **state)
{
	struct ofi_stats *a = ofi_stats_alloc(sizeof(*a));
	struct fi_ops_stats_process *ops;
	struct fid *fid;
	void *other;

	(void)state;
	assert_int_equal(open_reader(&fid, &ops), 0);
	assert_int_equal(fi_open_ops(fid, "other", 0, &other, NULL), -FI_ENOSYS);
	assert_int_equal(fi_open_ops(fid, NULL, 0, &other, NULL), -FI_EINVAL);
	assert_int_equal(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 0, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_open_ops(fid, FI_STATS_PROCESS_OPS, 1, &other, NULL), -FI_EBADFLAGS);
	assert_int_equal(fi_control(fid, FI_GETWAIT, NULL), -FI_ENOSYS);
	assert_int_equal(fid->ops->bind(fid, fid, 0), -FI_ENOSYS);
	assert_int_equal(fi_close(fid), 0);
	ofi_stats_free(a, a);
}

/* A ring of 4: whatever way the head went, the sum is right. */
static void test_ring(void **state)
{
	struct {
		uint64_t head, tail;
		struct ofi_stats stats;
	} *object = ofi_stats_alloc(sizeof(*object));
	struct ofi_stats *stats = &object->stats;
	uint64_t posted, done;

	(void)state;
	stats->entries = 4;
	stats->stride = 48;
	stats->ring = 4800;
	stats->head = (char *)&object->head - (char *)stats;
	stats->tail = (char *)&object->tail - (char *)stats;
	for (posted = 0; posted < 40; posted++) {
		done = posted < 2 ? 0 : posted - 2;
		object->head = stats->ring + posted % 4 * 48;
		object->tail = stats->ring + done % 4 * 48;
		if (posted % 3 == 0)
			stats->mark = posted;
		assert_int_equal(ofi_stats_posted(stats), posted);
		assert_int_equal(ofi_stats_outstanding(stats), posted - done);
	}
	ofi_stats_free(object, stats);
}

/* A file of the right name, as another program may have one. */
static int fake_file(const struct ofi_stats_header *header, off_t size, int seals,
		     const struct ofi_stats *record)
{
	int fd = memfd_create(OFI_STATS_FILE, MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, size), 0);
	assert_int_equal(pwrite(fd, header, sizeof(*header), 0), sizeof(*header));
	if (record)
		assert_int_equal(
			pwrite(fd, record, sizeof(*record), 2 * OFI_STATS_SLOT - sizeof(*record)),
			sizeof(*record));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int read_fake(const struct ofi_stats_header *header, off_t size, int seals,
		     const struct ofi_stats *record)
{
	int fd = fake_file(header, size, seals, record), ret;
	struct fi_stats_object object;
	struct fi_ops_stats_process *ops;
	struct fid *fid;

	ret = open_reader(&fid, &ops);
	if (!ret) {
		ret = ops->next(fid, 0, &object);
		if (ret == 1)
			assert_true(strlen(object.name) < FI_STATS_NAME);
		fi_close(fid);
	}
	close(fd);
	return ret;
}

static void test_hostile(void **state)
{
	struct ofi_stats_header header = {
		.magic = OFI_STATS_MAGIC,
		.version = OFI_STATS_VERSION,
		.slot_size = OFI_STATS_SLOT,
		.record_size = sizeof(struct ofi_stats),
		.used = UINT32_MAX,
	};
	struct ofi_stats record = { .id = 1, .fclass = FI_CLASS_TX_CTX, .entries = 3 };
	int other;

	(void)state;
	memset(record.name, 'x', sizeof(record.name));
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 1);
	record.entries = 0;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 1);
	record.entries = record.stride = 1;
	record.head = INT64_MAX;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 0);
	record.head = INT64_MIN;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 0);
	record.head = 3;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 0);
	record.head = 0;
	record.fclass = 12345;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 1);
	assert_int_equal(read_fake(&header, FILE_SIZE, F_SEAL_FUTURE_WRITE, &record), -FI_EINVAL);
	assert_int_equal(read_fake(&header, FILE_SIZE, F_SEAL_SHRINK, &record), -FI_EINVAL);
	assert_int_equal(read_fake(&header, 4096, SEALS, &record), -FI_EINVAL);
	header.wide_used = UINT32_MAX;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 1);
	header.wide = OFI_STATS_SLOTS - 1;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 1);
	header.wide = UINT32_MAX;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 1);
	header.version++;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), -FI_EPROTO);
	other = fake_file(&header, FILE_SIZE, SEALS, &record);
	header.version--;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), 1);
	close(other);
	header.magic++;
	assert_int_equal(read_fake(&header, FILE_SIZE, SEALS, &record), -FI_EPROTO);
}

/* The seals also keep the owner from taking pages out of the file. */
static void test_holes(void **state)
{
	const struct ofi_stats_header header = { .magic = OFI_STATS_MAGIC };
	int fd = fake_file(&header, FILE_SIZE, SEALS, NULL);

	(void)state;
	assert_int_equal(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	assert_int_equal(errno, EPERM);
	close(fd);
}

/* The descriptor that has the name of statistics though it is something else, or -1. */
static int posing = -1;

static ssize_t fake_link(int dir, const char *name, char *target, size_t len)
{
	static const char text[] = "/memfd:" OFI_STATS_FILE;

	if (posing < 0 || atoi(name) != posing)
		return syscall(SYS_readlinkat, dir, name, target, len);
	assert_true(len >= sizeof(text) - 1);
	memcpy(target, text, sizeof(text) - 1);
	return sizeof(text) - 1;
}

/* They take the place of the C library's. */
ssize_t readlinkat(int dir, const char *name, char *target, size_t len)
{
	return fake_link(dir, name, target, len);
}

ssize_t __readlinkat_chk(int dir, const char *name, char *target, size_t len, size_t room);
ssize_t __readlinkat_chk(int dir, const char *name, char *target, size_t len, size_t room)
{
	assert_true(len <= room);
	return fake_link(dir, name, target, len);
}

static int count_objects(void)
{
	struct fi_stats_object object = { .id = 0 };
	struct fi_ops_stats_process *ops;
	struct fid *fid;
	int count = 0;

	assert_int_equal(open_reader(&fid, &ops), 0);
	while (ops->next(fid, object.id, &object) == 1)
		count++;
	fi_close(fid);
	return count;
}

/*
 * A FIFO without a writer, and a file that looks right but cannot be sealed: they are left out, and
 * the process's own objects are found.
 */
static void test_posing(void **state)
{
	const struct ofi_stats_header header = {
		.magic = OFI_STATS_MAGIC,
		.version = OFI_STATS_VERSION,
		.slot_size = OFI_STATS_SLOT,
		.record_size = sizeof(struct ofi_stats),
		.used = UINT32_MAX,
	};
	const struct ofi_stats record = { .id = 1, .fclass = FI_CLASS_TX_CTX };
	char path[] = "/tmp/weft-fifo-XXXXXX";
	int before = count_objects();
	FILE *file;

	(void)state;
	close(mkstemp(path));
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	posing = open(path, O_RDONLY | O_NONBLOCK);
	unlink(path);
	alarm(20);
	assert_int_equal(count_objects(), before);
	alarm(0);
	close(posing);
	file = tmpfile();
	assert_non_null(file);
	posing = fileno(file);
	assert_int_equal(ftruncate(posing, FILE_SIZE), 0);
	assert_int_equal(pwrite(posing, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(
		pwrite(posing, &record, sizeof(record), 2 * OFI_STATS_SLOT - sizeof(record)),
		sizeof(record));
	assert_int_equal(count_objects(), before);
	posing = -1;
	fclose(file);
}

static int fake_peer(uint32_t id)
{
	const struct ofi_stats_header header = {
		.magic = OFI_STATS_MAGIC,
		.version = OFI_STATS_VERSION,
		.slot_size = OFI_STATS_SLOT,
		.record_size = sizeof(struct ofi_stats),
		.peer_slot = sizeof(struct ofi_stats_peer),
		.peers = 1,
	};
	const struct ofi_stats_peer record = { .id = id };
	int fd = fake_file(&header, FILE_SIZE, 0, NULL);

	assert_int_equal(pwrite(fd, &record, sizeof(record), OFI_STATS_FIRST), sizeof(record));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, SEALS), 0);
	return fd;
}

/* The ids of a list of peers grow, whatever a file says. */
static void test_endless(void **state)
{
	int first = fake_peer(5), second = fake_peer(0xf0000001), count = 0;
	struct fi_stats_peer peer = { 0 };
	struct fi_ops_stats_process *ops;
	struct fid *fid;

	(void)state;
	assert_int_equal(open_reader(&fid, &ops), 0);
	while (count < 10 && ops->next_peer(fid, peer.id, &peer) == 1)
		count++;
	assert_int_equal(count, 1);
	fi_close(fid);
	close(first);
	close(second);
}

static void toggle_wait(void)
{
	int i;

	for (i = 0; i < 10; i++)
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static bool toggle_stop;

/* What another process does to its record while it is read: each state alone is valid, or not. */
static void *toggle(void *arg)
{
	struct ofi_stats *stats = arg;

	while (!__atomic_load_n(&toggle_stop, __ATOMIC_RELAXED)) {
		__atomic_store_n(&stats->head, INT64_C(0x7f0000000000), __ATOMIC_RELAXED);
		toggle_wait();
		__atomic_store_n(&stats->head, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&stats->stride, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&stats->entries, 0, __ATOMIC_RELAXED);
		toggle_wait();
		__atomic_store_n(&stats->stride, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&stats->entries, 1, __ATOMIC_RELAXED);
		toggle_wait();
	}
	return NULL;
}

/* A process that changes its file while it is read cannot make the reader crash. */
static void test_changing(void **state)
{
	struct ofi_stats_header header = {
		.magic = OFI_STATS_MAGIC,
		.version = OFI_STATS_VERSION,
		.slot_size = OFI_STATS_SLOT,
		.record_size = sizeof(struct ofi_stats),
		.used = 1,
	};
	struct ofi_stats record = { .id = 1, .fclass = FI_CLASS_TX_CTX, .name = "x" };
	int fd = fake_file(&header, FILE_SIZE, 0, &record), i;
	struct fi_stats_object object;
	struct fi_ops_stats_process *ops;
	pthread_t thread;
	struct fid *fid;
	char *base;

	(void)state;
	base = mmap(NULL, FILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(base != MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, SEALS), 0);
	assert_int_equal(open_reader(&fid, &ops), 0);
	pthread_create(&thread, NULL, toggle, (struct ofi_stats *)(base + 2 * OFI_STATS_SLOT) - 1);
	for (i = 0; i < 300000; i++)
		assert_in_range(ops->next(fid, 0, &object), 0, 1);
	__atomic_store_n(&toggle_stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	fi_close(fid);
	munmap(base, FILE_SIZE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arguments), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_objects),	  cmocka_unit_test(test_object_calls),
		cmocka_unit_test(test_ring),	  cmocka_unit_test(test_wide),
		cmocka_unit_test(test_changing),  cmocka_unit_test(test_posing),
		cmocka_unit_test(test_endless),	  cmocka_unit_test(test_holes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
