/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * CUDA memory, of the fake GPU of tests/hmem: copies with and without a context of the thread, and
 * the errors of the driver.
 */
#include "hmem_runtime.h"

#include <unistd.h>
#include "capture.h"
#include "src/param.h"

static const struct ofi_hmem *const cuda = &ofi_hmem_cuda;

/* The driver, as an application uses it. */
static struct {
	int (*current)(void **context);
	int (*push)(void *context);
	int (*pop)(void **context);
	int (*retain)(void **context, int device);
	int (*let)(int device);
	long (*retained)(void);
} driver;

static int set_up(void **state)
{
	const struct ofi_hmem_symbol symbols[] = {
		{ "cuCtxGetCurrent", &driver.current, false },
		{ "cuCtxPushCurrent_v2", &driver.push, false },
		{ "cuCtxPopCurrent_v2", &driver.pop, false },
		{ "cuDevicePrimaryCtxRetain", &driver.retain, false },
		{ "cuDevicePrimaryCtxRelease_v2", &driver.let, false },
		{ "false_cuda_retained", &driver.retained, false },
		{ 0 },
	};

	(void)state;
	runtime_open(cuda, FALSE_CUDA, symbols);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return runtime_close();
}

/* A call leaves no context and retains none. */
static int end_test(void **state)
{
	void *context;

	runtime_end_test(state);
	assert_int_equal(driver.current(&context), 0);
	assert_null(context);
	assert_int_equal(driver.retained(), 0);
	return 0;
}

/* The thread has a context, or takes that of the memory, or the primary one of the device. */
static void test_contexts(void **state)
{
	void *context;

	(void)state;
	runtime_copy("of the memory");
	setenv("FALSE_GPU_NO_CONTEXT", "1", 1);
	runtime_copy("primary");
	assert_int_equal(driver.retain(&context, 0), 0);
	assert_int_equal(driver.push(context), 0);
	runtime_copy("of the thread");
	assert_int_equal(driver.current(&context), 0);
	assert_non_null(context);
	assert_int_equal(driver.retained(), 1);
	assert_int_equal(driver.pop(&context), 0);
	assert_int_equal(driver.let(0), 0);
}

static void test_copy_fails(void **state)
{
	static const struct runtime_failure failures[] = {
		{ "cuMemcpyHtoD_v2:1", -FI_EINVAL },
		{ "cuMemcpyHtoD_v2:2", -FI_ENOMEM },
		{ "cuMemcpyHtoD_v2:100", -FI_ENODEV },
		{ "cuMemcpyHtoD_v2:801", -FI_EOPNOTSUPP },
		{ "cuMemcpyHtoD_v2:700", -FI_EIO },
		{ "cuCtxPushCurrent_v2:700", -FI_EIO },
		{ 0 },
	};
	static const struct runtime_failure without_context[] = {
		{ "cuMemcpyHtoD_v2:700", -FI_EIO },
		{ "cuCtxPushCurrent_v2:700", -FI_EIO },
		{ "cuDeviceGet:100", -FI_EFAULT },
		{ "cuDevicePrimaryCtxRetain:2", -FI_EFAULT },
		{ 0 },
	};
	char byte;

	(void)state;
	runtime_copy_fails(failures);
	setenv("FALSE_GPU_NO_CONTEXT", "1", 1);
	runtime_copy_fails(without_context);
	setenv("FALSE_GPU_FAIL", "cuMemcpyDtoH_v2:700", 1);
	assert_int_equal(cuda->copy_from(&byte, runtime_memory, 1), -FI_EIO);
	unsetenv("FALSE_GPU_FAIL");
	assert_int_equal(cuda->copy_from(&byte, &byte, 1), -FI_EFAULT);
}

static void test_copies_off(void **state)
{
	struct ofi_hmem_export export;
	struct ofi_hmem_why why;
	const char *log;
	char byte = 'a';

	(void)state;
	runtime_copy("before");
	setenv("FI_HMEM_CUDA_ENABLE_XFER", "0", 1);
	ofi_param_init();
	assert_true(cuda->start(&why));
	capture_start();
	assert_int_equal(cuda->copy_to(runtime_memory + 100, &byte, 1), -FI_EOPNOTSUPP);
	assert_int_equal(cuda->copy_from(&byte, runtime_memory + 100, 1), -FI_EOPNOTSUPP);
	log = capture_stop();
	assert_int_equal(byte, 'a');
	assert_non_null(strstr(log, "FI_HMEM_CUDA_ENABLE_XFER is off"));
	assert_int_equal(cuda->export(runtime_memory, RUNTIME_PAGE, &export), 0);
	assert_int_equal(close(export.fd), 0);
	unsetenv("FI_HMEM_CUDA_ENABLE_XFER");
	ofi_param_fini();
	assert_true(cuda->start(&why));
	runtime_copy("after");
}

static void test_sync(void **state)
{
	(void)state;
	assert_int_equal(cuda->sync(runtime_memory), 0);
	assert_int_equal(cuda->sync(&runtime_memory), -FI_EINVAL);
	setenv("FALSE_GPU_FAIL", "cuPointerSetAttribute:801", 1);
	assert_int_equal(cuda->sync(runtime_memory), -FI_EOPNOTSUPP);
}

/* The descriptor is of whole pages, and the range is somewhere in the first of them. */
static void test_export_offset(void **state)
{
	struct ofi_hmem_export export = { .fd = -1 };

	(void)state;
	assert_int_equal(cuda->export(runtime_memory + RUNTIME_PAGE + 10, RUNTIME_PAGE, &export),
			 0);
	assert_int_equal(export.offset, 10);
	assert_int_equal(close(export.fd), 0);
}

/* Memory may consist of several allocations. */
static void test_export_chunks(void **state)
{
	struct ofi_hmem_export export;

	(void)state;
	setenv("FALSE_GPU_CHUNKS", "1", 1);
	runtime_check_export(RUNTIME_PAGE - 10, 2 * RUNTIME_PAGE);
	runtime_check_export(0, RUNTIME_SIZE);
	assert_int_equal(cuda->export(runtime_memory + 1, RUNTIME_SIZE, &export), -FI_EFAULT);
}

static void test_export_fails(void **state)
{
	struct ofi_hmem_export export;

	(void)state;
	assert_int_equal(cuda->export(runtime_memory + 1, RUNTIME_SIZE, &export), -FI_EFAULT);
	setenv("FALSE_GPU_NO_DMABUF", "1", 1);
	assert_int_equal(cuda->export(runtime_memory, 1, &export), -FI_EOPNOTSUPP);
	unsetenv("FALSE_GPU_NO_DMABUF");
	setenv("FALSE_GPU_FAIL", "cuCtxPushCurrent_v2:700", 1);
	assert_int_equal(cuda->export(runtime_memory, 1, &export), -FI_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(runtime_too_old, end_test),
		cmocka_unit_test_teardown(runtime_owns, end_test),
		cmocka_unit_test_teardown(runtime_copies, end_test),
		cmocka_unit_test_teardown(test_contexts, end_test),
		cmocka_unit_test_teardown(test_copy_fails, end_test),
		cmocka_unit_test_teardown(test_copies_off, end_test),
		cmocka_unit_test_teardown(test_sync, end_test),
		cmocka_unit_test_teardown(runtime_export, end_test),
		cmocka_unit_test_teardown(test_export_offset, end_test),
		cmocka_unit_test_teardown(test_export_chunks, end_test),
		cmocka_unit_test_teardown(test_export_fails, end_test),
	};

	return cmocka_run_group_tests_name("hmem_cuda", tests, set_up, tear_down);
}
