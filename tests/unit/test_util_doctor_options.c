/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_doctor, and the form of what it prints. */
#include "unit.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "util/doctor.h"
#include "util/doctor_options.h"

static struct doctor_options opts;

static bool parse(const char *line)
{
	static char copy[256]; /* the options point into it */
	char *args[16] = { "fi_doctor" }, *rest = copy;
	bool good;
	int count = 1;

	snprintf(copy, sizeof(copy), "%s", line);
	while (*copy && (args[count] = strsep(&rest, " ")))
		count++;
	optind = 0;
	capture_start();
	good = doctor_options_parse(&opts, count, args);
	capture_stop();
	return good;
}

static void test_good(void **state)
{
	(void)state;
	assert_true(parse(""));
	assert_null(opts.peer);
	assert_string_equal(opts.root, "");
	assert_true(parse("-jq -r /tmp"));
	assert_true(opts.json && opts.quiet);
	assert_string_equal(opts.root, "/tmp");
	assert_true(parse("host 4711 -t 7"));
	assert_string_equal(opts.peer, "host");
	assert_string_equal(opts.port, "4711");
	assert_int_equal(opts.timeout_ms, 7000);
	assert_true(parse("--listen 4711 -s 10.0.0.1"));
	assert_null(opts.peer);
	assert_string_equal(opts.port, "4711");
	assert_string_equal(opts.source, "10.0.0.1");
	assert_int_equal(opts.listen_ms, -1);
	assert_true(parse("--help bad bad bad") && opts.help);
	assert_true(parse("--version") && opts.version);
}

static void test_bad(void **state)
{
	(void)state;
	assert_false(parse("--nonsense"));
	assert_false(parse("-t"));
	assert_false(parse("-t 0"));
	assert_false(parse("-t 1x"));
	assert_false(parse("-t 99999999999999999999"));
	assert_false(parse("host 0"));
	assert_false(parse("host 65536"));
	assert_false(parse("host http"));
	assert_false(parse("host 1 2"));
	assert_false(parse("--listen 1 2"));
	assert_false(parse("-r /tmp host"));
	assert_false(parse("-r /tmp --listen"));
}

static char *report(bool as_json, bool quiet)
{
	struct doctor doctor = { .root = "", .as_json = as_json, .quiet = quiet };
	char *text = NULL;
	size_t len;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	doctor_start(&doctor, out);
	doctor.topic = "test";
	doctor.usec = 1234;
	doctor_say(&doctor, DOCTOR_OK, "%d", 1);
	doctor_fix(&doctor, "do %s", "this");
	doctor_say(&doctor, DOCTOR_FAIL, "two");
	doctor_end(&doctor);
	assert_int_equal(doctor.counts[DOCTOR_FAIL], 1);
	fclose(out);
	return text;
}

static void expect(char *text, const char *want)
{
	assert_string_equal(text, want);
	free(text);
}

static void test_report(void **state)
{
	(void)state;
	expect(report(false, false), "ok    1  (1.234 ms)\n"
				     "fail  two  -> do this\n"
				     "1 ok, 0 note, 0 warn, 1 fail\n");
	expect(report(false, true), "fail  two  -> do this\n"
				    "1 ok, 0 note, 0 warn, 1 fail\n");
	expect(report(true, false),
	       "{\n  \"findings\": [\n"
	       "    {\n      \"level\": \"ok\",\n      \"topic\": \"test\",\n"
	       "      \"what\": \"1\",\n      \"fix\": null,\n      \"usec\": 1234\n    },\n"
	       "    {\n      \"level\": \"fail\",\n      \"topic\": \"test\",\n"
	       "      \"what\": \"two\",\n      \"fix\": \"do this\"\n    }\n  ],\n"
	       "  \"counts\": {\n    \"ok\": 1,\n    \"note\": 0,\n    \"warn\": 0,\n"
	       "    \"fail\": 1\n  }\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
