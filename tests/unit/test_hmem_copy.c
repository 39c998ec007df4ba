/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies of application data: by the interface that owns the address, where there may be one. */
#include "unit.h"

#include <stdbool.h>
#include <rdma/fi_errno.h>
#include "prov/base/hmem_copy.h"

static char device[8]; /* memory of the interface */
static int asked, copies, result;

static int copy_to(void *to, const void *from, size_t len)
{
	copies++;
	memcpy(to, from, len);
	return result;
}

static const struct ofi_hmem hmem = { .copy_to = copy_to, .copy_from = copy_to };

static const struct ofi_hmem *find(const void *addr)
{
	asked++;
	return addr == device ? &hmem : NULL;
}

static int begin(void **state)
{
	(void)state;
	ofi_hmem_finder = find;
	asked = copies = result = 0;
	return 0;
}

static void check(int asks, int by_interface)
{
	assert_int_equal(asked, asks);
	assert_int_equal(copies, by_interface);
}

/* Endpoints without FI_HMEM ask nobody. */
static void test_without(void **state)
{
	char to[4] = "";

	(void)state;
	assert_null(ofi_hmem_at(false, device));
	assert_int_equal(ofi_hmem_store(false, to, "abc", 4), 0);
	assert_string_equal(to, "abc");
	assert_int_equal(ofi_hmem_load(false, to, "xyz", 4), 0);
	assert_string_equal(to, "xyz");
	check(0, 0);
}

static void test_system(void **state)
{
	char to[4] = "";

	(void)state;
	assert_int_equal(ofi_hmem_store(true, to, "abc", 4), 0);
	assert_string_equal(to, "abc");
	assert_int_equal(ofi_hmem_load(true, to, "xyz", 4), 0);
	assert_string_equal(to, "xyz");
	check(2, 0);
}

static void test_device(void **state)
{
	char to[4] = "";

	(void)state;
	assert_ptr_equal(ofi_hmem_at(true, device), &hmem);
	assert_int_equal(ofi_hmem_store(true, device, "abc", 4), 0);
	assert_int_equal(ofi_hmem_load(true, to, device, 4), 0);
	assert_string_equal(to, "abc");
	check(3, 2);
	result = -FI_EIO;
	assert_int_equal(ofi_hmem_store(true, device, "abc", 4), -FI_EIO);
	assert_int_equal(ofi_hmem_load(true, to, device, 4), -FI_EIO);
}

static void test_nothing(void **state)
{
	(void)state;
	assert_int_equal(ofi_hmem_store(true, device, "", 0), 0);
	assert_int_equal(ofi_hmem_load(true, NULL, device, 0), 0);
	check(0, 0);
}

/* No interface works. */
static void test_no_finder(void **state)
{
	char to[4] = "";

	(void)state;
	ofi_hmem_finder = NULL;
	assert_null(ofi_hmem_at(true, device));
	assert_int_equal(ofi_hmem_store(true, to, "abc", 4), 0);
	assert_string_equal(to, "abc");
	check(0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_without, begin),
		cmocka_unit_test_setup(test_system, begin),
		cmocka_unit_test_setup(test_device, begin),
		cmocka_unit_test_setup(test_nothing, begin),
		cmocka_unit_test_setup(test_no_finder, begin),
	};

	return cmocka_run_group_tests_name("hmem_copy", tests, NULL, NULL);
}
