/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory that is mapped, that is not, and that permits only some accesses. */
#include "unit.h"
#include <sys/mman.h>
#include <unistd.h>
#include "prov/base/mapped.h"

static const char constant[] = "read-only data of the program";
static char variable[100000];
static char *page;
static size_t len;

static int begin(void **state)
{
	(void)state;
	len = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, 3 * len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED;
}

static int end(void **state)
{
	(void)state;
	return munmap(page, 3 * len);
}

static void of_the_program(void **state)
{
	(void)state;
	assert_true(ofi_is_mapped(constant, sizeof(constant), false));
	assert_false(ofi_is_mapped(constant, sizeof(constant), true));
	variable[sizeof(variable) - 1] = 7;
	assert_true(ofi_is_mapped(variable, sizeof(variable), true));
	assert_true(ofi_is_mapped(variable + 1, sizeof(variable) - 1, false));
	assert_int_equal(variable[sizeof(variable) - 1], 7);
}

static void by_protection(void **state)
{
	(void)state;
	assert_false(ofi_is_mapped(page, 1, false));
	assert_false(ofi_is_mapped(page, 1, true));
	assert_int_equal(mprotect(page, len, PROT_READ), 0);
	assert_true(ofi_is_mapped(page, len, false));
	assert_false(ofi_is_mapped(page, len, true));
	assert_int_equal(mprotect(page, len, PROT_READ | PROT_WRITE), 0);
	assert_true(ofi_is_mapped(page, len, true));
	assert_false(ofi_is_mapped(page, len + 1, false));
	assert_false(ofi_is_mapped(page + len - 1, 2, true));
}

static void nowhere(void **state)
{
	(void)state;
	assert_false(ofi_is_mapped(NULL, 1, false));
	assert_false(ofi_is_mapped((void *)(UINTPTR_MAX - 7), 8, false));
	assert_false(ofi_is_mapped((void *)(UINTPTR_MAX - 7), 8, true));
}

/* Memory that the process may not access is a hole; a page that was never touched is not. */
static void holes(void **state)
{
	(void)state;
	assert_false(ofi_has_hole(constant, sizeof(constant), false));
	assert_true(ofi_has_hole(constant, sizeof(constant), true));
	assert_false(ofi_has_hole(variable + 1, sizeof(variable) - 1, true));
	assert_int_equal(mprotect(page, len, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(mprotect(page + len, len, PROT_READ), 0);
	assert_false(ofi_has_hole(page, 2 * len, false));
	assert_false(ofi_has_hole(page, len, true));
	assert_true(ofi_has_hole(page, len + 1, true));
	assert_true(ofi_has_hole(page, 2 * len + 1, false));
	assert_true(ofi_has_hole(NULL, SIZE_MAX, false));
	assert_true(ofi_has_hole((void *)(UINTPTR_MAX - 7), 16, false));
	assert_false(ofi_has_hole(page + 2 * len, 0, true));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_program),
		cmocka_unit_test_setup_teardown(by_protection, begin, end),
		cmocka_unit_test(nowhere),
		cmocka_unit_test_setup_teardown(holes, begin, end),
	};

	return cmocka_run_group_tests_name("mapped", tests, NULL, NULL);
}
