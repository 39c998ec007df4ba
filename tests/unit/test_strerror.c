/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Every error number has its own text. */
#include "unit.h"

#include <limits.h>
#include <string.h>
#include <rdma/fi_errno.h>

static void test_fabric(void **state)
{
	int a, b;

	(void)state;
	for (a = FI_ERRNO_OFFSET; a < FI_ERRNO_MAX; a++) {
		assert_non_null(fi_strerror(a));
		assert_string_not_equal(fi_strerror(a), "Unknown error");
		assert_ptr_equal(fi_strerror(a), fi_strerror(-a));
		for (b = FI_ERRNO_OFFSET; b < a; b++)
			assert_string_not_equal(fi_strerror(a), fi_strerror(b));
	}
}

static void test_system(void **state)
{
	(void)state;
	assert_string_equal(fi_strerror(FI_SUCCESS), "Success");
	assert_string_equal(fi_strerror(FI_ENOMEM), strerror(ENOMEM));
	assert_string_equal(fi_strerror(-FI_ENODATA), strerror(ENODATA));
	assert_string_equal(fi_strerror(FI_EKEYREJECTED), strerror(EKEYREJECTED));
}

static void test_unknown(void **state)
{
	(void)state;
	assert_string_equal(fi_strerror(FI_ERRNO_OFFSET - 1), "Unspecified error");
	assert_string_equal(fi_strerror(-200), "Unspecified error");
	assert_string_equal(fi_strerror(FI_ERRNO_MAX), "Unspecified error");
	assert_string_equal(fi_strerror(-FI_ERRNO_MAX), "Unspecified error");
	assert_string_equal(fi_strerror(INT_MIN), "Unspecified error");
	assert_string_equal(fi_strerror(INT_MAX), "Unspecified error");
}

/* A text stays valid, whatever is asked for afterward. */
static void test_constant(void **state)
{
	const char *text = fi_strerror(200);
	int i;

	(void)state;
	for (i = -FI_ERRNO_MAX - 1; i <= FI_ERRNO_MAX + 1; i++) {
		assert_ptr_equal(fi_strerror(i), fi_strerror(i));
		assert_ptr_equal(fi_strerror(200), text);
		assert_string_equal(text, "Unspecified error");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fabric),
		cmocka_unit_test(test_system),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_constant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
