/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA memory, of the fake GPU of tests/hmem: whose an address is, copies with and without a
 * context of the thread, exports, and the errors of the driver.
 */
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/hmem.h"

enum { PAGE = 4096, SIZE = 4 * PAGE };

static const struct ofi_hmem *const cuda = &ofi_hmem_cuda;

/* The driver, as an application uses it. */
static struct {
	int (*alloc)(uint64_t *addr, size_t len);
	int (*release)(uint64_t addr);
	int (*current)(void **context);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*retain)(void **context, int device);
	int (*let)(int device);
	long (*retained)(void);
} driver;

static char *memory;

static int set_up(void **state)
{
	const struct ofi_hmem_symbol symbols[] = {
		{ "cuMemAlloc_v2", &driver.alloc, false },
		{ "cuMemFree_v2", &driver.release, false },
		{ "cuCtxGetCurrent", &driver.current, false },
		{ "cuCtxPushCurrent_v2", &driver.push, false },
		{ "cuCtxPopCurrent_v2", &driver.pop, false },
		{ "cuDevicePrimaryCtxRetain", &driver.retain, false },
		{ "cuDevicePrimaryCtxRelease_v2", &driver.let, false },
		{ "false_cuda_retained", &driver.retained, false },
	};
	void *library = dlopen(FALSE_CUDA, RTLD_NOW);
	struct ofi_hmem_why why;
	uint64_t addr;

	(void)state;
	assert_non_null(library);
	assert_null(ofi_hmem_resolve(library, symbols, sizeof(symbols) / sizeof(symbols[0])));
	assert_true(cuda->open(library, &why));
	assert_int_equal(driver.alloc(&addr, SIZE), 0);
	memory = (char *)(uintptr_t)addr;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return driver.release((uintptr_t)memory);
}

static int end_test(void **state)
{
	void *context;

	(void)state;
	unsetenv("FALSE_GPU_FAIL");
	unsetenv("FALSE_GPU_NO_CONTEXT");
	unsetenv("FALSE_GPU_NO_DMABUF");
	/* A call leaves no context and retains none. */
	assert_int_equal(driver.current(&context), 0);
	assert_null(context);
	assert_int_equal(driver.retained(), 0);
	return 0;
}

static void test_owns(void **state)
{
	(void)state;
	assert_true(cuda->owns(memory));
	assert_true(cuda->owns(memory + SIZE - 1));
	assert_false(cuda->owns(memory + SIZE));
	assert_false(cuda->owns(&memory));
	assert_false(cuda->owns(NULL));
}

static void check_copies(const char *text)
{
	char back[32] = "";

	assert_int_equal(cuda->copy_to(memory + 100, text, strlen(text) + 1), 0);
	assert_int_equal(cuda->copy_from(back, memory + 100, strlen(text) + 1), 0);
	assert_string_equal(back, text);
}

/* The thread has a context, or takes that of the memory, or the primary one of the device. */
static void test_copies(void **state)
{
	void *context;

	(void)state;
	check_copies("of the memory");
	setenv("FALSE_GPU_NO_CONTEXT", "1", 1);
	check_copies("primary");
	assert_int_equal(driver.retain(&context, 0), 0);
	assert_int_equal(driver.push(context), 0);
	check_copies("of the thread");
	assert_int_equal(driver.current(&context), 0);
	assert_non_null(context);
	assert_int_equal(driver.retained(), 1);
	assert_int_equal(driver.pop(&context), 0);
	assert_int_equal(driver.let(0), 0);
}

static void check_copy_fails(const char *fail, int err)
{
	char byte = 0;

	setenv("FALSE_GPU_FAIL", fail, 1);
	assert_int_equal(cuda->copy_to(memory, &byte, 1), err);
	assert_int_equal(driver.retained(), 0);
}

static void test_copy_fails(void **state)
{
	char byte;

	(void)state;
	check_copy_fails("cuMemcpyHtoD_v2:1", -FI_EINVAL);
	check_copy_fails("cuMemcpyHtoD_v2:2", -FI_ENOMEM);
	check_copy_fails("cuMemcpyHtoD_v2:100", -FI_ENODEV);
	check_copy_fails("cuMemcpyHtoD_v2:801", -FI_EOPNOTSUPP);
	check_copy_fails("cuMemcpyHtoD_v2:700", -FI_EIO);
	check_copy_fails("cuCtxPushCurrent_v2:700", -FI_EIO);
	setenv("FALSE_GPU_NO_CONTEXT", "1", 1);
	check_copy_fails("cuMemcpyHtoD_v2:700", -FI_EIO);
	check_copy_fails("cuCtxPushCurrent_v2:700", -FI_EIO);
	check_copy_fails("cuDeviceGet:100", -FI_EFAULT);
	check_copy_fails("cuDevicePrimaryCtxRetain:2", -FI_EFAULT);
	setenv("FALSE_GPU_FAIL", "cuMemcpyDtoH_v2:700", 1);
	assert_int_equal(cuda->copy_from(&byte, memory, 1), -FI_EIO);
	unsetenv("FALSE_GPU_FAIL");
	assert_int_equal(cuda->copy_from(&byte, &byte, 1), -FI_EFAULT);
}

static void test_sync(void **state)
{
	(void)state;
	assert_int_equal(cuda->sync(memory), 0);
	assert_int_equal(cuda->sync(&memory), -FI_EINVAL);
	setenv("FALSE_GPU_FAIL", "cuPointerSetAttribute:801", 1);
	assert_int_equal(cuda->sync(memory), -FI_EOPNOTSUPP);
}

/* The descriptor is of whole pages, and the range is somewhere in them. */
static void test_export(void **state)
{
	struct ofi_hmem_export export = { .fd = -1 };
	char back[8] = "";

	(void)state;
	assert_int_equal(cuda->copy_to(memory + PAGE + 10, "exported", 8), 0);
	assert_int_equal(cuda->export(memory + PAGE + 10, PAGE, &export), 0);
	assert_int_equal(export.offset, 10);
	assert_int_equal(pread(export.fd, back, 8, PAGE + 10), 8);
	assert_memory_equal(back, "exported", 8);
	assert_int_equal(close(export.fd), 0);
	assert_int_equal(cuda->export(memory, SIZE, &export), 0);
	assert_int_equal(export.offset, 0);
	assert_int_equal(close(export.fd), 0);
}

static void test_export_fails(void **state)
{
	struct ofi_hmem_export export;

	(void)state;
	assert_int_equal(cuda->export(memory + 1, SIZE, &export), -FI_EFAULT);
	assert_int_equal(cuda->export(&memory, 1, &export), -FI_EFAULT);
	setenv("FALSE_GPU_NO_DMABUF", "1", 1);
	assert_int_equal(cuda->export(memory, 1, &export), -FI_EOPNOTSUPP);
	unsetenv("FALSE_GPU_NO_DMABUF");
	setenv("FALSE_GPU_FAIL", "cuCtxPushCurrent_v2:700", 1);
	assert_int_equal(cuda->export(memory, 1, &export), -FI_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_owns, end_test),
		cmocka_unit_test_teardown(test_copies, end_test),
		cmocka_unit_test_teardown(test_copy_fails, end_test),
		cmocka_unit_test_teardown(test_sync, end_test),
		cmocka_unit_test_teardown(test_export, end_test),
		cmocka_unit_test_teardown(test_export_fails, end_test),
	};

	return cmocka_run_group_tests_name("hmem_cuda", tests, set_up, tear_down);
}
