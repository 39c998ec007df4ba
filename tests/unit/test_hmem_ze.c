/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Level Zero memory, of the fake GPU of tests/hmem: contexts, the command list that copies,
 * dma-bufs that are not of the allocation alone, the errors of the runtime, and the layout of
 * structures.
 */
#include "hmem_runtime.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>
#include "prov/base/hmem_ze.h"

static const struct ofi_hmem *const ze = &ofi_hmem_ze;

static int (*contexts)(void);
static int (*lists)(void);

static int set_up(void **state)
{
	const struct ofi_hmem_symbol symbols[] = {
		{ "false_ze_contexts", &contexts, false },
		{ "false_ze_lists", &lists, false },
		{ 0 },
	};

	(void)state;
	runtime_open(ze, FALSE_ZE, symbols);
	assert_int_equal(contexts(), 1);
	assert_int_equal(lists(), 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return runtime_close();
}

/* Opens it again without what the test asked. */
static int end_start(void **state)
{
	runtime_end_test(state);
	runtime_too_old(state);
	return 0;
}

static void test_start_fails(void **state)
{
	(void)state;
	runtime_starts_not("FALSE_GPU_NO_DEVICE", "1", "the drivers find no GPU");
	runtime_starts_not("FALSE_GPU_FAIL", "zeDeviceGet:1", "the drivers find no GPU");
	runtime_starts_not("FALSE_GPU_FAIL", "zeDeviceGetProperties:1", "the drivers find no GPU");
	/* 0x78000001 and 0x70000002 */
	runtime_starts_not("FALSE_GPU_FAIL", "zeInit:2013265921",
			   "zeInit returns 0x78000001: no driver is installed that works");
	runtime_starts_not("FALSE_GPU_FAIL", "zeDriverGet:1879048194",
			   "zeDriverGet returns 0x70000002");
	runtime_starts_not("FALSE_GPU_FAIL", "zeContextCreate:1879048194",
			   "zeContextCreate returns 0x70000002");
	assert_false(ze->owns(runtime_memory));
}

/* A driver's default context spares one of the library's own. */
static void test_default_context(void **state)
{
	int before = contexts();

	setenv("FALSE_GPU_DEFAULT_CONTEXT", "1", 1);
	runtime_too_old(state);
	assert_int_equal(contexts(), before);
	assert_true(ze->owns(runtime_memory));
}

/* Before any copy has worked. What fails is tried again. */
static void test_no_list(void **state)
{
	static const struct runtime_failure failures[] = {
		{ "zeDeviceGetCommandQueueGroupProperties:2013265923", -FI_EOPNOTSUPP },
		{ "zeCommandListCreateImmediate:1879048195", -FI_ENOMEM },
		{ "zeCommandListCreateImmediate:1", -FI_EIO },
		{ 0 },
	};
	char byte = 0;

	(void)state;
	runtime_copy_fails(failures);
	setenv("FALSE_GPU_NO_COPY", "1", 1);
	assert_int_equal(ze->copy_to(runtime_memory, &byte, 1), -FI_EOPNOTSUPP);
	assert_int_equal(lists(), 0);
}

/* All copies share one list. */
static void test_list(void **state)
{
	(void)state;
	runtime_copy("the first");
	runtime_copy("the second");
	assert_int_equal(lists(), 1);
}

static void test_copy_fails(void **state)
{
	static const struct runtime_failure failures[] = {
		{ "zeCommandListAppendMemoryCopy:1879048194", -FI_ENOMEM },
		{ "zeCommandListAppendMemoryCopy:2013265924", -FI_EINVAL },
		{ "zeCommandListAppendMemoryCopy:1879048193", -FI_EIO }, /* the device is lost */
		{ "zeMemGetAllocProperties:1", -FI_EFAULT },
		{ 0 },
	};
	char byte;

	(void)state;
	runtime_copy_fails(failures);
	setenv("FALSE_GPU_FAIL", "zeCommandListAppendMemoryCopy:1", 1);
	assert_int_equal(ze->copy_from(&byte, runtime_memory, 1), -FI_EIO);
	unsetenv("FALSE_GPU_FAIL");
	assert_int_equal(ze->copy_from(&byte, &byte, 1), -FI_EFAULT);
	runtime_copy("afterwards");
}

enum { THREADS = 4, COPIES = 500 };

static void *copy_often(void *arg)
{
	char byte = 0, *at = arg;
	long i, failed = 0;

	for (i = 0; i < COPIES; i++)
		failed += ze->copy_to(at, &byte, 1) != 0;
	return (void *)failed;
}

/* The fake list refuses a copy while there is another one. */
static void test_threads(void **state)
{
	pthread_t threads[THREADS];
	void *failed;
	int i;

	(void)state;
	for (i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, copy_often, runtime_memory + i),
				 0);
	for (i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
}

/* The types of memory: unknown, the host's, shared. */
static void test_owns_not(void **state)
{
	static const char *const types[] = { "0", "1", "3" };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		setenv("FALSE_GPU_TYPE", types[i], 1);
		assert_false(ze->owns(runtime_memory));
	}
	unsetenv("FALSE_GPU_TYPE");
	assert_true(ze->owns(runtime_memory));
}

/* A driver may keep to the specification: the memory of another context is unknown. */
static void test_other_context(void **state)
{
	struct ofi_hmem_export export;
	char byte = 0;

	(void)state;
	setenv("FALSE_GPU_OTHER_CONTEXT", "1", 1);
	assert_false(ze->owns(runtime_memory));
	assert_int_equal(ze->copy_to(runtime_memory, &byte, 1), -FI_EFAULT);
	assert_int_equal(ze->export(runtime_memory, 1, &export), -FI_EFAULT);
}

/* Closing the descriptor leaves that of the driver open. */
static void test_export_again(void **state)
{
	struct ofi_hmem_export first, second;

	(void)state;
	assert_int_equal(ze->export(runtime_memory, 1, &first), 0);
	assert_int_equal(close(first.fd), 0);
	assert_int_equal(ze->export(runtime_memory + RUNTIME_PAGE, 1, &second), 0);
	assert_int_equal(second.offset, RUNTIME_PAGE);
	assert_int_equal(fcntl(second.fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(close(second.fd), 0);
}

static void test_export_fails(void **state)
{
	struct ofi_hmem_export export;

	(void)state;
	assert_int_equal(ze->export(runtime_memory + 1, RUNTIME_SIZE, &export), -FI_EFAULT);
	setenv("FALSE_GPU_FAIL", "zeMemGetAddressRange:1", 1);
	assert_int_equal(ze->export(runtime_memory, 1, &export), -FI_EFAULT);
	unsetenv("FALSE_GPU_FAIL");
	setenv("FALSE_GPU_NO_DMABUF", "1", 1);
	assert_int_equal(ze->export(runtime_memory, 1, &export), -FI_EOPNOTSUPP);
	unsetenv("FALSE_GPU_NO_DMABUF");
	setenv("FALSE_GPU_POOLED", "1", 1);
	assert_int_equal(ze->export(runtime_memory, 1, &export), -FI_EOPNOTSUPP);
}

#if __has_include(<level_zero/ze_api.h>)
#include <level_zero/ze_api.h>

#define SAME(ours, theirs) _Static_assert((long)(ours) == (long)(theirs), #ours)
#define SAME_SIZE(ours, theirs)                           \
	SAME(sizeof(struct ours), sizeof(struct theirs)); \
	SAME(offsetof(struct ours, next), offsetof(struct theirs, pNext))
#define SAME_PLACE(ours, field, theirs, their_field) \
	SAME(offsetof(struct ours, field), offsetof(struct theirs, their_field))

SAME(OFI_ZE_OUT_OF_HOST_MEMORY, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
SAME(OFI_ZE_OUT_OF_DEVICE_MEMORY, ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
SAME(OFI_ZE_UNINITIALIZED, ZE_RESULT_ERROR_UNINITIALIZED);
SAME(OFI_ZE_UNSUPPORTED_FEATURE, ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
SAME(OFI_ZE_INVALID_ARGUMENT, ZE_RESULT_ERROR_INVALID_ARGUMENT);
SAME(OFI_ZE_INVALID_ENUMERATION, ZE_RESULT_ERROR_INVALID_ENUMERATION);
SAME(OFI_ZE_UNSUPPORTED_ENUMERATION, ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION);
SAME(OFI_ZE_STYPE_DEVICE_PROPERTIES, ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
SAME(OFI_ZE_STYPE_GROUP_PROPERTIES, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES);
SAME(OFI_ZE_STYPE_CONTEXT_DESC, ZE_STRUCTURE_TYPE_CONTEXT_DESC);
SAME(OFI_ZE_STYPE_QUEUE_DESC, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
SAME(OFI_ZE_STYPE_MEMORY_PROPERTIES, ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
SAME(OFI_ZE_STYPE_EXPORT_FD, ZE_STRUCTURE_TYPE_EXTERNAL_MEMORY_EXPORT_FD);
SAME(OFI_ZE_DEVICE_GPU, ZE_DEVICE_TYPE_GPU);
SAME(OFI_ZE_GROUP_COPY, ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY);
SAME(OFI_ZE_QUEUE_SYNCHRONOUS, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
SAME(OFI_ZE_MEMORY_DEVICE, ZE_MEMORY_TYPE_DEVICE);
SAME(OFI_ZE_EXTERNAL_DMA_BUF, ZE_EXTERNAL_MEMORY_TYPE_FLAG_DMA_BUF);
SAME_SIZE(ofi_ze_device_properties, _ze_device_properties_t);
SAME_PLACE(ofi_ze_device_properties, type, _ze_device_properties_t, type);
SAME_SIZE(ofi_ze_group_properties, _ze_command_queue_group_properties_t);
SAME_PLACE(ofi_ze_group_properties, flags, _ze_command_queue_group_properties_t, flags);
SAME_SIZE(ofi_ze_context_desc, _ze_context_desc_t);
SAME_PLACE(ofi_ze_context_desc, flags, _ze_context_desc_t, flags);
SAME_SIZE(ofi_ze_queue_desc, _ze_command_queue_desc_t);
SAME_PLACE(ofi_ze_queue_desc, ordinal, _ze_command_queue_desc_t, ordinal);
SAME_PLACE(ofi_ze_queue_desc, mode, _ze_command_queue_desc_t, mode);
SAME_SIZE(ofi_ze_memory_properties, _ze_memory_allocation_properties_t);
SAME_PLACE(ofi_ze_memory_properties, type, _ze_memory_allocation_properties_t, type);
SAME_PLACE(ofi_ze_memory_properties, page, _ze_memory_allocation_properties_t, pageSize);
SAME_SIZE(ofi_ze_export_fd, _ze_external_memory_export_fd_t);
SAME_PLACE(ofi_ze_export_fd, flags, _ze_external_memory_export_fd_t, flags);
SAME_PLACE(ofi_ze_export_fd, fd, _ze_external_memory_export_fd_t, fd);
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_no_list, runtime_end_test),
		cmocka_unit_test_teardown(test_list, runtime_end_test),
		cmocka_unit_test_teardown(test_start_fails, end_start),
		cmocka_unit_test_teardown(test_default_context, end_start),
		cmocka_unit_test_teardown(runtime_owns, runtime_end_test),
		cmocka_unit_test_teardown(test_owns_not, runtime_end_test),
		cmocka_unit_test_teardown(test_other_context, runtime_end_test),
		cmocka_unit_test_teardown(runtime_copies, runtime_end_test),
		cmocka_unit_test_teardown(test_copy_fails, runtime_end_test),
		cmocka_unit_test_teardown(test_threads, runtime_end_test),
		cmocka_unit_test_teardown(runtime_export, runtime_end_test),
		cmocka_unit_test_teardown(test_export_again, runtime_end_test),
		cmocka_unit_test_teardown(test_export_fails, runtime_end_test),
	};

	return cmocka_run_group_tests_name("hmem_ze", tests, set_up, tear_down);
}
