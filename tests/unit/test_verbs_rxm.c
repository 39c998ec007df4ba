/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_OFI_RXM_*: which of them have an effect here, and when the provider's own take precedence. */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "prov/verbs/provider/prov.h"

static const char *const names[] = {
	"FI_OFI_RXM_BUFFER_SIZE",    "FI_OFI_RXM_EAGER_LIMIT",	      "FI_OFI_RXM_SAR_LIMIT",
	"FI_OFI_RXM_USE_RNDV_WRITE", "FI_OFI_RXM_DATA_AUTO_PROGRESS", "FI_OFI_RXM_MSG_TX_SIZE",
	"FI_VERBS_RDM_BUFFER_SIZE",  "FI_VERBS_RDM_SEGMENTED_SIZE",
};

static int begin(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		unsetenv(names[i]);
	return 0;
}

static const char *load(void)
{
	memset(&vrb_params, 0xff, sizeof(vrb_params));
	capture_start();
	vrb_params_init();
	return capture_stop();
}

static void the_providers_defaults(void **state)
{
	(void)state;
	load();
	assert_int_equal(vrb_params.rdm_buffer_size, 16896);
	assert_int_equal(vrb_params.rdm_segmented_size, 65536);
	assert_int_equal(vrb_params.rdm_use_write, -1);
	assert_int_equal(vrb_params.rdm_auto_progress, 0);
}

/* The layer's sizes are without headers. */
static void the_layers_count(void **state)
{
	(void)state;
	setenv("FI_OFI_RXM_EAGER_LIMIT", "5000", 1);
	setenv("FI_OFI_RXM_SAR_LIMIT", "100000", 1);
	setenv("FI_OFI_RXM_USE_RNDV_WRITE", "1", 1);
	setenv("FI_OFI_RXM_DATA_AUTO_PROGRESS", "1", 1);
	load();
	assert_int_equal(vrb_params.rdm_buffer_size, 5416);
	assert_int_equal(vrb_params.rdm_segmented_size, 100000);
	assert_int_equal(vrb_params.rdm_use_write, 1);
	assert_int_equal(vrb_params.rdm_auto_progress, 1);
	setenv("FI_OFI_RXM_BUFFER_SIZE", "8000", 1);
	load();
	assert_int_equal(vrb_params.rdm_buffer_size, 8416);
}

static void the_providers_own_count_more(void **state)
{
	(void)state;
	setenv("FI_OFI_RXM_BUFFER_SIZE", "8000", 1);
	setenv("FI_VERBS_RDM_BUFFER_SIZE", "4096", 1);
	setenv("FI_OFI_RXM_SAR_LIMIT", "100000", 1);
	setenv("FI_VERBS_RDM_SEGMENTED_SIZE", "0", 1);
	load();
	assert_int_equal(vrb_params.rdm_buffer_size, 4096);
	assert_int_equal(vrb_params.rdm_segmented_size, 0);
}

static void wrong_ones_are_told(void **state)
{
	const char *text;

	(void)state;
	setenv("FI_OFI_RXM_SAR_LIMIT", "many", 1);
	setenv("FI_OFI_RXM_MSG_TX_SIZE", "16", 1);
	text = load();
	assert_non_null(strstr(text, "FI_OFI_RXM_MSG_TX_SIZE"));
	assert_non_null(strstr(text, "many"));
	assert_int_equal(vrb_params.rdm_segmented_size, 65536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_providers_defaults, begin),
		cmocka_unit_test_setup(the_layers_count, begin),
		cmocka_unit_test_setup(the_providers_own_count_more, begin),
		cmocka_unit_test_setup(wrong_ones_are_told, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
