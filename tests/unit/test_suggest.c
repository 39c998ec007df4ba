/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Suggests the intended name, and none if no name is similar. */
#include "unit.h"

#include <string.h>
#include "src/ds/suggest.h"

static const char *const names[] = { "verbs", "tcp", "shm", "FI_VERBS_TX_SIZE",
				     "FI_VERBS_RX_SIZE" };

static const char *nearest(const char *word)
{
	return ofi_suggest(word, names, sizeof(names) / sizeof(names[0]));
}

static void test_near(void **state)
{
	(void)state;
	assert_string_equal(nearest("verbs"), "verbs");
	assert_string_equal(nearest("verb"), "verbs");
	assert_string_equal(nearest("VREBS"), "verbs");
	assert_string_equal(nearest("tpc"), "tcp");
	assert_string_equal(nearest("FI_VERBS_RXSIZE"), "FI_VERBS_RX_SIZE");
	assert_string_equal(nearest("fi_verbs_tx_sise"), "FI_VERBS_TX_SIZE");
}

static void test_far(void **state)
{
	char longer[200];

	(void)state;
	memset(longer, 'v', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_null(nearest("efa"));
	assert_null(nearest("sockets"));
	assert_null(nearest(""));
	assert_null(nearest(NULL));
	assert_null(nearest(longer));
	assert_null(ofi_suggest("verbs", NULL, 0));
	assert_null(ofi_suggest("verbs", names, 0));
}

static void test_within(void **state)
{
	(void)state;
	assert_null(ofi_suggest_within("verb", names, 1, 0));
	assert_string_equal(ofi_suggest_within("verb", names, 1, 1), "verbs");
	assert_null(ofi_suggest_within("vexxs", names, 1, 1));
}

static void test_hint(void **state)
{
	(void)state;
	assert_string_equal(ofi_did_you_mean("verb", names, 2).text, ", did you mean verbs?");
	assert_string_equal(ofi_did_you_mean("efa", names, 2).text, "");
	assert_string_equal(ofi_did_you_mean(NULL, names, 2).text, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_within),
		cmocka_unit_test(test_hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
