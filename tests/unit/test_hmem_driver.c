/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library relies on this in CUDA's driver, for each kind of memory that it has. The driver is
 * the fake one of tests/hmem; on a machine with a GPU, HMEM_DRIVER=libcuda.so.1 in the environment
 * checks the real one, so that the fake one behaves alike. Kinds that a driver does not have are
 * left out.
 */
#include "unit.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/hmem.h"

enum { CHUNK = 2 << 20, SIZE = 2 * CHUNK, EDGE = 100 };

static struct {
	int (*device)(int *device, int ordinal);
	int (*retain)(void **context, int device);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*alloc)(uint64_t *addr, size_t len);
	int (*alloc_pooled)(uint64_t *addr, size_t len, void *stream);
	int (*alloc_managed)(uint64_t *addr, size_t len, unsigned int flags);
	int (*alloc_host)(void **addr, size_t len, unsigned int flags);
	int (*create)(uint64_t *handle, size_t len, const void *prop, unsigned long long flags);
	int (*reserve)(uint64_t *addr, size_t len, size_t align, uint64_t at,
		       unsigned long long flags);
	int (*map)(uint64_t addr, size_t len, size_t offset, uint64_t handle,
		   unsigned long long flags);
	int (*permit)(uint64_t addr, size_t len, const void *access, size_t count);
} driver;

static const struct ofi_hmem_symbol symbols[] = {
	{ "cuDeviceGet", &driver.device, false },
	{ "cuDevicePrimaryCtxRetain", &driver.retain, false },
	{ "cuCtxPushCurrent_v2", &driver.push, false },
	{ "cuCtxPopCurrent_v2", &driver.pop, false },
	{ "cuMemAlloc_v2", &driver.alloc, false },
	{ "cuMemAllocAsync", &driver.alloc_pooled, true },
	{ "cuMemAllocManaged", &driver.alloc_managed, true },
	{ "cuMemHostAlloc", &driver.alloc_host, true },
	{ "cuMemCreate", &driver.create, true },
	{ "cuMemAddressReserve", &driver.reserve, true },
	{ "cuMemMap", &driver.map, true },
	{ "cuMemSetAccess", &driver.permit, true },
	{ 0 },
};

/* From CUDA's driver interface. */
struct alloc_prop {
	int type; /* pinned */
	int handle_types;
	int location_type; /* device */
	int location_id;
	void *reserved;
	unsigned char compression, rdma;
	unsigned short usage;
	unsigned char unused[4];
};

struct access {
	int location_type, location_id;
	int flags; /* read and write */
};

static void *context;

static uint64_t get_plain(void)
{
	uint64_t addr = 0;

	assert_int_equal(driver.alloc(&addr, SIZE), 0);
	return addr;
}

/* Not the first of its pool, which the driver exports. */
static uint64_t get_pooled(void)
{
	uint64_t addr = 0;

	if (!driver.alloc_pooled)
		return 0;
	assert_int_equal(driver.alloc_pooled(&addr, SIZE, NULL), 0);
	assert_int_equal(driver.alloc_pooled(&addr, SIZE, NULL), 0);
	return addr;
}

static uint64_t get_managed(void)
{
	uint64_t addr = 0;

	if (driver.alloc_managed)
		assert_int_equal(driver.alloc_managed(&addr, SIZE, 1), 0);
	return addr;
}

/* Two allocations, one mapped behind the other. */
static uint64_t get_mapped(void)
{
	static const struct alloc_prop prop = { .type = 1, .location_type = 1, .rdma = 1 };
	static const struct access access = { .location_type = 1, .flags = 3 };
	uint64_t addr = 0, handle, at;

	if (!driver.create)
		return 0;
	assert_int_equal(driver.reserve(&addr, SIZE, 0, 0, 0), 0);
	for (at = addr; at < addr + SIZE; at += CHUNK) {
		assert_int_equal(driver.create(&handle, CHUNK, &prop, 0), 0);
		assert_int_equal(driver.map(at, CHUNK, 0, handle, 0), 0);
	}
	assert_int_equal(driver.permit(addr, SIZE, &access, 1), 0);
	return addr;
}

static uint64_t get_host(void)
{
	void *addr = NULL;

	if (driver.alloc_host)
		assert_int_equal(driver.alloc_host(&addr, SIZE, 0), 0);
	return (uintptr_t)addr;
}

static uint64_t get_system(void)
{
	return (uintptr_t)calloc(1, SIZE);
}

static const struct kind {
	const char *name;
	uint64_t (*get)(void);
	bool owned;
	int export;
	int sync;
} kinds[] = {
	{ "cuMemAlloc", get_plain, true, 0, 0 },
	{ "cuMemAllocAsync", get_pooled, true, -FI_EINVAL, 0 },
	{ "cuMemCreate", get_mapped, true, 0, -FI_EOPNOTSUPP },
	{ "cuMemAllocManaged", get_managed, true, -FI_EINVAL, 0 },
	{ "cuMemHostAlloc", get_host, false, 0, 0 },
	{ "calloc", get_system, false, 0, 0 },
};

static void check_copy(char *addr)
{
	char text[2 * EDGE] = "there and back", back[2 * EDGE] = "";

	assert_int_equal(ofi_hmem_cuda.copy_to(addr, text, sizeof(text)), 0);
	assert_int_equal(ofi_hmem_cuda.copy_from(back, addr, sizeof(back)), 0);
	assert_memory_equal(text, back, sizeof(text));
}

static void check_export(const struct kind *kind, char *addr, size_t len)
{
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	struct ofi_hmem_export export = { .fd = -1 };

	assert_int_equal(ofi_hmem_cuda.export(addr, len, &export), kind->export);
	if (kind->export)
		return;
	assert_int_equal(export.offset, (uintptr_t)addr % page);
	assert_true(lseek(export.fd, 0, SEEK_END) >= (off_t)(export.offset + len));
	assert_int_equal(close(export.fd), 0);
}

static void check_kind(const struct kind *kind, char *addr)
{
	assert_int_equal(ofi_hmem_cuda.owns(addr), kind->owned);
	assert_int_equal(ofi_hmem_cuda.owns(addr + SIZE - 1), kind->owned);
	if (!kind->owned)
		return;
	check_copy(addr);
	check_copy(addr + CHUNK - EDGE);
	check_copy(addr + SIZE - 2 * (size_t)EDGE);
	check_export(kind, addr, SIZE);
	check_export(kind, addr + CHUNK - EDGE, 2 * (size_t)EDGE);
	check_export(kind, addr + SIZE - EDGE, EDGE);
	assert_int_equal(ofi_hmem_cuda.sync(addr), kind->sync);
}

struct visit {
	const struct kind *kind;
	char *addr;
};

static void *without_context(void *arg)
{
	const struct visit *visit = arg;

	check_kind(visit->kind, visit->addr);
	return NULL;
}

static void test_kinds(void **state)
{
	struct visit visit;
	pthread_t thread;
	void *popped;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		assert_int_equal(driver.push(context), 0);
		visit = (struct visit){ &kinds[i], (char *)(uintptr_t)kinds[i].get() };
		printf("%s: %s\n", kinds[i].name, visit.addr ? "checked" : "not in this driver");
		if (visit.addr)
			check_kind(&kinds[i], visit.addr);
		assert_int_equal(driver.pop(&popped), 0);
		if (visit.addr) {
			assert_int_equal(pthread_create(&thread, NULL, without_context, &visit), 0);
			assert_int_equal(pthread_join(thread, NULL), 0);
		}
		if (kinds[i].get == get_system)
			free(visit.addr);
	}
}

static void test_no_memory(void **state)
{
	struct ofi_hmem_export export;
	char *beyond = (char *)(uintptr_t)4096, byte = 0;

	(void)state;
	assert_false(ofi_hmem_cuda.owns(NULL));
	assert_false(ofi_hmem_cuda.owns(beyond));
	assert_int_equal(ofi_hmem_cuda.copy_to(beyond, &byte, 1), -FI_EFAULT);
	assert_int_equal(ofi_hmem_cuda.copy_from(&byte, beyond, 1), -FI_EFAULT);
	assert_int_equal(ofi_hmem_cuda.export(beyond, 1, &export), -FI_EFAULT);
}

static int open_driver(void **state)
{
	const char *file = getenv("HMEM_DRIVER");
	void *library = dlopen(file ? file : FALSE_CUDA, RTLD_NOW);
	struct ofi_hmem_why why;
	int device;

	(void)state;
	if (!library || ofi_hmem_resolve(library, symbols) ||
	    !ofi_hmem_open(&ofi_hmem_cuda, library, &why))
		return -1;
	return driver.device(&device, 0) || driver.retain(&context, device);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, open_driver, NULL);
}
