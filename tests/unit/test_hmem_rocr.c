/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* ROCm memory, of the fake GPU of tests/hmem, and what is peculiar to the HSA runtime. */
#include "hmem_runtime.h"

static const struct ofi_hmem *const rocr = &ofi_hmem_rocr;

static int (*running)(void);

static int set_up(void **state)
{
	const struct ofi_hmem_symbol symbols[] = {
		{ "false_rocr_running", &running, false },
		{ 0 },
	};

	(void)state;
	runtime_open(rocr, FALSE_ROCR, symbols);
	assert_int_equal(running(), 1);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return runtime_close();
}

/* What fails does not leave the runtime running. */
static void test_open_fails(void **state)
{
	int before = running();

	(void)state;
	runtime_starts_not("FALSE_GPU_NO_DEVICE", "1", "the runtime finds no GPU");
	runtime_starts_not("FALSE_GPU_FAIL", "hsa_agent_get_info:4096", "the runtime finds no GPU");
	runtime_starts_not(
		"FALSE_GPU_FAIL", "hsa_init:4096",
		"hsa_init returns 0x1000: HSA_STATUS_ERROR: A generic error has occurred.");
	runtime_starts_not("FALSE_GPU_FAIL", "hsa_iterate_agents:4104",
			   "hsa_iterate_agents returns 0x1008: an error without a name");
	assert_int_equal(running(), before);
}

static void test_owns_fails(void **state)
{
	(void)state;
	setenv("FALSE_GPU_FAIL", "hsa_amd_pointer_info:4096", 1);
	assert_false(rocr->owns(runtime_memory));
}

/* The runtime also knows memory of the host that it has allocated. */
static void test_owns_not_host(void **state)
{
	(void)state;
	setenv("FALSE_GPU_ON_HOST", "1", 1);
	assert_false(rocr->owns(runtime_memory));
}

static void test_copy_fails(void **state)
{
	static const struct runtime_failure failures[] = {
		{ "hsa_memory_copy:4097", -FI_EINVAL },
		{ "hsa_memory_copy:4099", -FI_EFAULT },
		{ "hsa_memory_copy:4104", -FI_ENOMEM },
		{ "hsa_memory_copy:4096", -FI_EIO },
		{ 0 },
	};
	char byte;

	(void)state;
	runtime_copy_fails(failures);
	setenv("FALSE_GPU_FAIL", "hsa_memory_copy:4097", 1);
	assert_int_equal(rocr->copy_from(&byte, runtime_memory, 1), -FI_EINVAL);
}

static void test_export_fails(void **state)
{
	struct ofi_hmem_export export;

	(void)state;
	assert_int_equal(rocr->export(runtime_memory + 1, RUNTIME_SIZE, &export), -FI_EINVAL);
	setenv("FALSE_GPU_NO_DMABUF", "1", 1);
	assert_int_equal(rocr->export(runtime_memory, 1, &export), -FI_EIO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_open_fails, runtime_end_test),
		cmocka_unit_test_teardown(runtime_too_old, runtime_end_test),
		cmocka_unit_test_teardown(runtime_owns, runtime_end_test),
		cmocka_unit_test_teardown(test_owns_fails, runtime_end_test),
		cmocka_unit_test_teardown(test_owns_not_host, runtime_end_test),
		cmocka_unit_test_teardown(runtime_copies, runtime_end_test),
		cmocka_unit_test_teardown(test_copy_fails, runtime_end_test),
		cmocka_unit_test_teardown(runtime_export, runtime_end_test),
		cmocka_unit_test_teardown(test_export_fails, runtime_end_test),
	};

	return cmocka_run_group_tests_name("hmem_rocr", tests, set_up, tear_down);
}
