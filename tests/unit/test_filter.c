/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lists of names and layered provider names. */
#include "unit.h"

#include <string.h>
#include "src/filter.h"

static void test_words(void **state)
{
	const char *list = " a, bb ,,ccc,";
	char word[3];

	(void)state;
	assert_true(ofi_word_next(&list, ",", word, sizeof(word)));
	assert_string_equal(word, "a");
	assert_true(ofi_word_next(&list, ",", word, sizeof(word)));
	assert_string_equal(word, "bb");
	assert_true(ofi_word_next(&list, ",", word, sizeof(word)));
	assert_string_equal(word, "cc");
	assert_false(ofi_word_next(&list, ",", word, sizeof(word)));
	list = NULL;
	assert_false(ofi_word_next(&list, ",", word, sizeof(word)));
}

static void test_filter(void **state)
{
	(void)state;
	assert_true(ofi_filter_pass(NULL, "verbs"));
	assert_true(ofi_filter_pass("", "verbs"));
	assert_true(ofi_filter_pass("tcp,Verbs", "verbs"));
	assert_false(ofi_filter_pass("tcp,verbs2", "verbs"));
	assert_false(ofi_filter_pass("^verbs", "verbs"));
	assert_true(ofi_filter_pass("^tcp,shm", "verbs"));
	assert_true(ofi_filter_pass("^", "verbs"));
}

static void test_layers(void **state)
{
	(void)state;
	assert_true(ofi_prov_name_pass("verbs", "verbs"));
	assert_true(ofi_prov_name_pass("verbs;ofi_rxm", "verbs"));
	assert_true(ofi_prov_name_pass("ofi_rxm;verbs", "verbs"));
	assert_false(ofi_prov_name_pass("tcp;ofi_rxm", "verbs"));
	assert_false(ofi_prov_name_pass("verbs;tcp", "verbs"));
	assert_true(ofi_prov_name_pass("ofi_rxm", "verbs"));
	assert_false(ofi_prov_name_pass("ofi_rxm", "tcp"));
	assert_true(ofi_prov_name_pass("ofi_rxd", "verbs"));
	assert_false(ofi_prov_name_pass("ofi_mrail", "verbs"));
	assert_false(ofi_prov_name_pass("^verbs", "verbs"));
	assert_true(ofi_prov_name_pass("^tcp", "verbs"));
	assert_true(ofi_prov_name_pass("verbs;^ofi_rxm", "verbs"));
	assert_true(ofi_prov_is_utility("ofi_rxd"));
	assert_false(ofi_prov_is_utility("verbs"));
}

static void test_provider_filter(void **state)
{
	(void)state;
	assert_true(ofi_prov_filter_pass("verbs;ofi_rxm", "verbs"));
	assert_true(ofi_prov_filter_pass("tcp, verbs", "verbs"));
	assert_false(ofi_prov_filter_pass("tcp", "verbs"));
	assert_false(ofi_prov_filter_pass("^tcp,verbs", "verbs"));
	assert_true(ofi_prov_filter_pass("^verbs;ofi_rxm", "verbs"));
	assert_true(ofi_prov_filter_pass("^ofi_rxm", "verbs"));
	assert_true(ofi_prov_filter_pass(NULL, "verbs"));
	assert_string_equal(ofi_prov_filter_layer("tcp,verbs;ofi_rxm", "verbs"), "ofi_rxm");
	assert_string_equal(ofi_prov_filter_layer("ofi_rxm", "verbs"), "ofi_rxm");
	assert_string_equal(ofi_prov_filter_layer("verbs;OFI_RXD", "verbs"), "ofi_rxd");
	assert_null(ofi_prov_filter_layer("verbs,verbs;ofi_rxm", "verbs"));
	assert_null(ofi_prov_filter_layer("^verbs;ofi_rxm", "verbs"));
	assert_null(ofi_prov_filter_layer("ofi_rxm", "tcp"));
	assert_null(ofi_prov_filter_layer(NULL, "verbs"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_provider_filter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
