/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* fi_info --why: order, table and JSON of the reasons. */
#include "unit.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "util/info_why.h"

static const struct fi_explain_entry entries[] = {
	{ .prov_name = "verbs",
	  .attr = "fabric_attr->prov_name",
	  .misses = 1,
	  .asked = "tcp",
	  .has = "verbs" },
	{ .prov_name = "verbs",
	  .domain_name = "rxe0",
	  .port = 1,
	  .ep_type = FI_EP_MSG,
	  .misses = 2,
	  .attr = "ep_attr->type",
	  .asked = "FI_EP_RDM",
	  .has = "FI_EP_MSG" },
	{ .prov_name = "verbs",
	  .domain_name = "mlx5_0",
	  .port = 2,
	  .ep_type = FI_EP_RDM,
	  .misses = 1,
	  .attr = "caps",
	  .asked = "FI_MULTICAST",
	  .has = NULL },
	{ .prov_name = "verbs",
	  .domain_name = "mlx5_1",
	  .ep_type = FI_EP_RDM,
	  .misses = 1,
	  .attr = "caps",
	  .asked = "FI_MULTICAST",
	  .has = "" },
};

static void fill(struct info_why *why, size_t count)
{
	size_t i;

	memset(why, 0, sizeof(*why));
	for (i = 0; i < count; i++)
		info_why_add(why, &entries[i]);
	info_why_sort(why);
}

static char *table(const struct info_why *why)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	info_why_text(why, out);
	fclose(out);
	return text;
}

static void test_nearest_first(void **state)
{
	struct info_why why;

	(void)state;
	fill(&why, 4);
	assert_int_equal(why.count, 4);
	assert_string_equal(why.rejects[0].domain, "mlx5_0");
	assert_string_equal(why.rejects[1].domain, "mlx5_1");
	assert_string_equal(why.rejects[2].domain, "rxe0");
	assert_null(why.rejects[3].domain);
	assert_false(why.failed);
	info_why_release(&why);
}

static void test_table(void **state)
{
	struct info_why why;
	char *text;

	(void)state;
	fill(&why, 3);
	text = table(&why);
	assert_string_equal(
		text,
		"PROVIDER  DEVICE  PORT  TYPE       ATTRIBUTE               MISSES  ASKED         HAS\n"
		"verbs     mlx5_0  2     FI_EP_RDM  caps                    1       FI_MULTICAST  -\n"
		"verbs     rxe0    1     FI_EP_MSG  ep_attr->type           2       FI_EP_RDM     FI_EP_MSG\n"
		"verbs     -       -     -          fabric_attr->prov_name  1       tcp           verbs\n");
	free(text);
	info_why_release(&why);
}

static void test_many(void **state)
{
	struct info_why why = { 0 };
	int i;

	(void)state;
	for (i = 0; i < 1000; i++)
		info_why_add(&why, &entries[i % 4]);
	info_why_sort(&why);
	assert_int_equal(why.count, 1000);
	assert_int_equal(why.rejects[0].order, 2);
	assert_int_equal(why.rejects[1].order, 3);
	assert_int_equal(why.rejects[999].order, 996);
	info_why_release(&why);
	assert_null(why.rejects);
}

static void test_reached(void **state)
{
	struct info_why why;

	(void)state;
	fill(&why, 1);
	assert_false(info_why_reached_device(&why));
	info_why_release(&why);
	fill(&why, 2);
	assert_true(info_why_reached_device(&why));
	info_why_release(&why);
	fill(&why, 0);
	assert_false(info_why_reached_device(&why));
	info_why_release(&why);
}

/* An address that does not resolve says all; so does a device that was looked at. */
static void test_plain(void **state)
{
	struct fi_explain_entry entry = {
		.prov_name = "verbs", .attr = "node", .asked = "nohost", .has = "unknown"
	};
	struct info_why why = { 0 };

	(void)state;
	assert_false(info_why_is_plain(&why));
	info_why_add(&why, &entry);
	assert_true(info_why_is_plain(&why));
	info_why_release(&why);
	entry.attr = "device";
	info_why_add(&why, &entry);
	assert_false(info_why_is_plain(&why));
	info_why_release(&why);
	entry.domain_name = "rxe0";
	info_why_add(&why, &entry);
	assert_true(info_why_is_plain(&why));
	info_why_release(&why);
}

/* Of a set of flags what is missing is told, not what else there is. */
static void test_missing(void **state)
{
	struct fi_explain_entry entry = { .prov_name = "verbs",
					  .domain_name = "rxe0",
					  .attr = "tx_attr->caps",
					  .asked = "FI_HMEM",
					  .has = "FI_MSG, FI_RMA" };
	struct info_why why = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	(void)state;
	info_why_add(&why, &entry);
	info_why_text(&why, out);
	fclose(out);
	assert_non_null(strstr(text, "FI_HMEM  not offered\n"));
	assert_null(strstr(text, "FI_RMA"));
	free(text);
	info_why_release(&why);
}

static void test_json(void **state)
{
	struct json json = { 0 };
	struct info_why why;
	char *text = NULL;
	size_t len = 0;

	(void)state;
	fill(&why, 1);
	json.out = open_memstream(&text, &len);
	info_why_json(&why, &json, NULL);
	fclose(json.out);
	assert_string_equal(text, "[\n  {\n    \"provider\": \"verbs\",\n    \"device\": null,\n"
				  "    \"port\": 0,\n    \"type\": null,\n"
				  "    \"attribute\": \"fabric_attr->prov_name\",\n"
				  "    \"misses\": 1,\n    \"asked\": \"tcp\",\n"
				  "    \"has\": \"verbs\"\n  }\n]\n");
	free(text);
	why.rejects[0].misses = UINT_MAX; /* it was not compared */
	json.out = open_memstream(&text, &len);
	info_why_json(&why, &json, NULL);
	fclose(json.out);
	assert_non_null(strstr(text, "    \"misses\": null,\n"));
	free(text);
	info_why_release(&why);
}

static void test_library(void **state)
{
	struct info_why why;

	(void)state;
	assert_int_equal(info_why_start(&why, fi_version()), 0);
	info_why_stop(&why);
	assert_null(why.fid);
	info_why_release(&why);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nearest_first), cmocka_unit_test(test_table),
		cmocka_unit_test(test_many),	      cmocka_unit_test(test_reached),
		cmocka_unit_test(test_plain),	      cmocka_unit_test(test_missing),
		cmocka_unit_test(test_json),	      cmocka_unit_test(test_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
