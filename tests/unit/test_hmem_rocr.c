/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * ROCm memory, of the fake GPU of tests/hmem: whose an address is, copies, exports, and the errors
 * of the runtime.
 */
#include "unit.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/hmem.h"

enum { PAGE = 4096, SIZE = 4 * PAGE };

static const struct ofi_hmem *const rocr = &ofi_hmem_rocr;

static void *library;
static void *(*alloc_memory)(size_t len);
static bool (*free_memory)(const void *addr);
static int (*running)(void);
static char *memory;

static int set_up(void **state)
{
	const struct ofi_hmem_symbol symbols[] = {
		{ "false_gpu_alloc", &alloc_memory, false },
		{ "false_gpu_free", &free_memory, false },
		{ "false_rocr_running", &running, false },
	};
	struct ofi_hmem_why why;

	(void)state;
	library = dlopen(FALSE_ROCR, RTLD_NOW);
	assert_non_null(library);
	assert_null(ofi_hmem_resolve(library, symbols, sizeof(symbols) / sizeof(symbols[0])));
	assert_true(rocr->open(library, &why));
	assert_int_equal(running(), 1);
	memory = alloc_memory(SIZE);
	assert_non_null(memory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return !free_memory(memory) || dlclose(library);
}

static int end_test(void **state)
{
	(void)state;
	unsetenv("FALSE_GPU_FAIL");
	unsetenv("FALSE_GPU_NO_DEVICE");
	unsetenv("FALSE_GPU_NO_DMABUF");
	unsetenv("FALSE_GPU_ON_HOST");
	return 0;
}

/* What fails does not leave the runtime running. */
static void check_opens_not(const char *name, const char *value, const char *text)
{
	struct ofi_hmem_why why;

	setenv(name, value, 1);
	assert_false(rocr->open(library, &why));
	assert_string_equal(why.text, text);
	assert_int_equal(running(), 1); /* of the first one */
	unsetenv(name);
}

static void test_open_fails(void **state)
{
	void *other = dlopen("libm.so.6", RTLD_NOW);
	struct ofi_hmem_why why;

	(void)state;
	check_opens_not("FALSE_GPU_NO_DEVICE", "1", "the runtime finds no GPU");
	check_opens_not("FALSE_GPU_FAIL", "hsa_agent_get_info:4096", "the runtime finds no GPU");
	check_opens_not("FALSE_GPU_FAIL", "hsa_init:4096",
			"hsa_init returns 0x1000: HSA_STATUS_ERROR: A generic error has occurred.");
	check_opens_not("FALSE_GPU_FAIL", "hsa_iterate_agents:4104",
			"hsa_iterate_agents returns 0x1008: an error without a name");
	assert_non_null(other);
	assert_false(rocr->open(other, &why));
	assert_non_null(strstr(why.text, "too old: it has no hsa_init"));
	dlclose(other);
	assert_true(rocr->open(library, &why));
}

static void test_owns(void **state)
{
	(void)state;
	assert_true(rocr->owns(memory));
	assert_true(rocr->owns(memory + SIZE - 1));
	assert_false(rocr->owns(memory + SIZE));
	assert_false(rocr->owns(&memory));
	assert_false(rocr->owns(NULL));
	setenv("FALSE_GPU_FAIL", "hsa_amd_pointer_info:4096", 1);
	assert_false(rocr->owns(memory));
}

/* The runtime also knows memory of the host that it has allocated. */
static void test_owns_not_host(void **state)
{
	(void)state;
	setenv("FALSE_GPU_ON_HOST", "1", 1);
	assert_false(rocr->owns(memory));
}

static void test_copies(void **state)
{
	char back[8] = "";

	(void)state;
	assert_int_equal(rocr->copy_to(memory + 100, "copied", 7), 0);
	assert_int_equal(rocr->copy_from(back, memory + 100, 7), 0);
	assert_string_equal(back, "copied");
	assert_int_equal(rocr->sync(memory), 0);
}

static void check_copy_fails(const char *fail, int err)
{
	char byte = 0;

	setenv("FALSE_GPU_FAIL", fail, 1);
	assert_int_equal(rocr->copy_to(memory, &byte, 1), err);
	assert_int_equal(rocr->copy_from(&byte, memory, 1), err);
}

static void test_copy_fails(void **state)
{
	(void)state;
	check_copy_fails("hsa_memory_copy:4097", -FI_EINVAL);
	check_copy_fails("hsa_memory_copy:4099", -FI_EFAULT);
	check_copy_fails("hsa_memory_copy:4104", -FI_ENOMEM);
	check_copy_fails("hsa_memory_copy:4096", -FI_EIO);
}

/* The descriptor is of the whole allocation, and the range is somewhere in it. */
static void test_export(void **state)
{
	struct ofi_hmem_export export = { .fd = -1 };
	char back[8] = "";

	(void)state;
	assert_int_equal(rocr->copy_to(memory + PAGE + 10, "exported", 8), 0);
	assert_int_equal(rocr->export(memory + PAGE + 10, PAGE, &export), 0);
	assert_int_equal(export.offset, PAGE + 10);
	assert_int_equal(pread(export.fd, back, 8, (off_t) export.offset), 8);
	assert_memory_equal(back, "exported", 8);
	assert_int_equal(close(export.fd), 0);
}

static void test_export_fails(void **state)
{
	struct ofi_hmem_export export;

	(void)state;
	assert_int_equal(rocr->export(memory + 1, SIZE, &export), -FI_EINVAL);
	assert_int_equal(rocr->export(&memory, 1, &export), -FI_EFAULT);
	setenv("FALSE_GPU_NO_DMABUF", "1", 1);
	assert_int_equal(rocr->export(memory, 1, &export), -FI_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_open_fails, end_test),
		cmocka_unit_test_teardown(test_owns, end_test),
		cmocka_unit_test_teardown(test_owns_not_host, end_test),
		cmocka_unit_test_teardown(test_copies, end_test),
		cmocka_unit_test_teardown(test_copy_fails, end_test),
		cmocka_unit_test_teardown(test_export, end_test),
		cmocka_unit_test_teardown(test_export_fails, end_test),
	};

	return cmocka_run_group_tests_name("hmem_rocr", tests, set_up, tear_down);
}
