/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fi_pingpong prints in each of its modes. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>

#include "util/pp_report.h"

static struct pp_hist hist;

/* 990 times of 1.00 us, 10 of 5.00 us. */
static void fill(void)
{
	int i;

	pp_hist_clear(&hist);
	for (i = 0; i < 1000; i++)
		pp_hist_add(&hist, i < 990 ? 1000 : 5000);
}

static char *reported(const struct pp_options *opts, const struct pp_result *result, int ret)
{
	struct fi_info *info = fi_allocinfo();
	struct pp_report report = { .opts = opts };
	char *text = NULL;
	size_t len;

	assert_non_null(info);
	info->ep_attr->type = FI_EP_RDM;
	info->fabric_attr->prov_name = strdup("verbs");
	info->domain_attr->name = strdup("rxe0");
	report.out = open_memstream(&text, &len);
	assert_non_null(report.out);
	pp_report_begin(&report, info, true);
	if (result)
		pp_report_row(&report, result);
	pp_report_end(&report, ret);
	fclose(report.out);
	fi_freeinfo(info);
	return text;
}

static void expect(const struct pp_options *opts, const struct pp_result *result, int ret,
		   const char *want)
{
	char *text = reported(opts, result, ret);

	assert_string_equal(text, want);
	free(text);
}

/* This is the format of other releases, which scripts read. */
static void test_default(void **state)
{
	const struct pp_options opts = { .caps = FI_MSG };
	const struct pp_result result = { .size = 64, .sent = 10, .acked = 10, .usec = 144 };
	const struct pp_result short_one = { .size = 1024, .sent = 10, .acked = 7, .usec = 2000 };

	(void)state;
	expect(&opts, &result, 0,
	       "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
	       "64      10      =10      1.2k        0.00s      8.89       7.20       0.14\n");
	expect(&opts, &short_one, 0,
	       "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
	       "1k      10      +3       20k         0.00s     10.24     100.00       0.01\n");
}

static void test_percentiles(void **state)
{
	const struct pp_options opts = { .percentiles = true };
	const struct pp_result result = {
		.size = 64, .sent = 1000, .acked = 1000, .usec = 1, .hist = &hist
	};
	char *text;

	(void)state;
	fill();
	text = reported(&opts, &result, 0);
	assert_string_equal(
		text,
		"bytes   #sent    usec:min     mean      50%      90%      99%    99.9%      max\n"
		"64      1k           1.00     1.04     1.00     1.00     1.00     5.00     5.00\n");
	free(text);
	pp_hist_clear(&hist);
	pp_hist_add(&hist, 2000);
	text = reported(&opts, &result, 0);
	assert_non_null(
		strstr(text, "     2.00     2.00        -        -        -        -     2.00\n"));
	free(text);
}

/* Values that are wider than their column keep a space before them. */
static void test_wide(void **state)
{
	struct pp_options opts = { .percentiles = true };
	struct pp_result result = {
		.size = 64, .sent = 1000, .acked = 1000, .window = 100000000, .hist = &hist
	};

	(void)state;
	pp_hist_clear(&hist);
	pp_hist_add(&hist, 1234567890);
	expect(&opts, &result, 0,
	       "bytes   #sent    usec:min     mean      50%      90%      99%    99.9%      max\n"
	       "64      1k       1234567.89 1234567.89        -        -        -        - "
	       "1234567.89\n");
	opts = (struct pp_options){ .rate = true };
	result.usec = 1e-6;
	expect(&opts, &result, 0,
	       "bytes   #sent   window      time       MB/sec   messages/sec\n"
	       "64      1k      100000000    0.00s 64000000000.00 1000000000000000\n");
	opts.rate = false;
	expect(&opts, &result, 0,
	       "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n"
	       "64      1k      =1k      125k        0.00s 128000000000.00       0.00 "
	       "2000000000.00\n");
}

static void test_plot(void **state)
{
	const struct pp_options opts = { .percentiles = true, .plot = true };
	const struct pp_result result = { .size = 64, .sent = 1000, .usec = 1, .hist = &hist };
	char *text, *line;
	int lines = 0;

	(void)state;
	fill();
	text = reported(&opts, &result, 0);
	assert_non_null(strstr(text, "        1.00       990 |########################"
				     "################################\n"));
	assert_non_null(strstr(text, "        10 |#\n"));
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), lines++)
		assert_true(strlen(line) <= 80);
	assert_int_equal(lines, 4);
	free(text);
	/* Times that are spread have twelve lines, and one for the slowest percent. */
	pp_hist_clear(&hist);
	for (lines = 0; lines < 1000; lines++)
		pp_hist_add(&hist, 1000 + (uint64_t)lines * 10);
	text = reported(&opts, &result, 0);
	for (lines = 0, line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		lines++;
	assert_int_equal(lines, 2 + 13);
	free(text);
}

static void test_rate(void **state)
{
	const struct pp_options opts = { .rate = true };
	const struct pp_result result = {
		.size = 4096, .sent = 10000, .acked = 10000, .window = 64, .usec = 5000
	};

	(void)state;
	expect(&opts, &result, 0,
	       "bytes   #sent   window      time       MB/sec   messages/sec\n"
	       "4k      10k     64         0.01s      8192.00        2000000\n");
}

#define HEAD(test)                                                                            \
	"{\n  \"test\": \"" test "\",\n  \"role\": \"client\",\n  \"provider\": \"verbs\",\n" \
	"  \"domain\": \"rxe0\",\n  \"ep_type\": \"FI_EP_RDM\",\n  \"mode\": \"tagged\",\n"

static void test_json(void **state)
{
	struct pp_options opts = { .json = true, .caps = FI_TAGGED, .percentiles = true };
	struct pp_result result = {
		.size = 64, .sent = 1000, .acked = 1000, .usec = 2000, .hist = &hist
	};

	(void)state;
	fill();
	expect(&opts, &result, 0,
	       HEAD("pingpong") "  \"results\": [\n    {\n      \"bytes\": 64,\n"
				"      \"sent\": 1000,\n      \"acknowledged\": 1000,\n"
				"      \"usec\": 2000.000,\n      \"mb_per_sec\": 64.000,\n"
				"      \"usec_per_xfer\": 1.000,\n      \"latency_ns\": {\n"
				"        \"min\": 1000,\n        \"mean\": 1040.000,\n"
				"        \"p50\": 1001,\n        \"p90\": 1001,\n"
				"        \"p99\": 1001,\n        \"p99_9\": 5000,\n"
				"        \"max\": 5000\n      }\n    }\n  ]\n}\n");
	opts.rate = true;
	result.hist = NULL;
	result.window = 8;
	expect(&opts, &result, 0,
	       HEAD("rate") "  \"results\": [\n    {\n      \"bytes\": 64,\n"
			    "      \"sent\": 1000,\n      \"window\": 8,\n"
			    "      \"usec\": 2000.000,\n      \"mb_per_sec\": 32.000,\n"
			    "      \"messages_per_sec\": 500000.000\n    }\n  ]\n}\n");
}

/* JSON is whole, too, if the test fails. */
static void test_json_error(void **state)
{
	struct pp_options opts = { .json = true, .caps = FI_TAGGED };

	(void)state;
	expect(&opts, NULL, -FI_ETIMEDOUT,
	       HEAD("pingpong") "  \"results\": [],\n  \"error\": {\n    \"code\": -110,\n"
				"    \"text\": \"Connection timed out\"\n  }\n}\n");
	opts.cuda = true;
	expect(&opts, NULL, 0, HEAD("pingpong") "  \"memory\": \"cuda\",\n  \"results\": []\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default), cmocka_unit_test(test_percentiles),
		cmocka_unit_test(test_plot),	cmocka_unit_test(test_rate),
		cmocka_unit_test(test_json),	cmocka_unit_test(test_json_error),
		cmocka_unit_test(test_wide),
	};

	return cmocka_run_group_tests_name("util_pp_report", tests, NULL, NULL);
}
