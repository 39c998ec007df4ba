/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The JSON writer of fi_info: nesting, separators, escapes. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "util/json.h"

static char *buf;
static size_t len;

static struct json open_json(void)
{
	struct json json = { 0 };

	json.out = open_memstream(&buf, &len);
	assert_non_null(json.out);
	return json;
}

static void expect(struct json *json, const char *want)
{
	fclose(json->out);
	assert_string_equal(buf, want);
	free(buf);
}

static void test_nesting(void **state)
{
	struct json json = open_json();

	(void)state;
	json_object(&json, NULL);
	json_uint(&json, "a", UINT64_MAX);
	json_array(&json, "b");
	json_string(&json, NULL, "x");
	json_object(&json, NULL);
	json_int(&json, "c", -61);
	json_object_end(&json);
	json_array_end(&json);
	json_array(&json, "d");
	json_array_end(&json);
	json_string(&json, "e", NULL);
	json_real(&json, "f", 1234567.12345);
	json_real(&json, "g", 1.0 / 0.0);
	json_object_end(&json);
	expect(&json, "{\n  \"a\": 18446744073709551615,\n  \"b\": [\n    \"x\",\n    {\n"
		      "      \"c\": -61\n    }\n  ],\n  \"d\": [],\n  \"e\": null,\n"
		      "  \"f\": 1234567.123,\n  \"g\": null\n}\n");
}

static void test_empty_object(void **state)
{
	struct json json = open_json();

	(void)state;
	json_object(&json, NULL);
	json_object_end(&json);
	expect(&json, "{}\n");
}

static void test_escapes(void **state)
{
	struct json json = open_json();

	(void)state;
	json_array(&json, NULL);
	json_string(&json, NULL, "q\"b\\n\nt\tz\x01");
	json_string(&json, NULL, "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
	json_string(&json, NULL, "\xff|\xc3|\xc0\xaf|\xed\xa0\x80");
	json_array_end(&json);
	expect(&json, "[\n  \"q\\\"b\\\\n\\u000at\\u0009z\\u0001\",\n"
		      "  \"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\",\n"
		      "  \"\\ufffd|\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\\ufffd\"\n]\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nesting),
		cmocka_unit_test(test_empty_object),
		cmocka_unit_test(test_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
