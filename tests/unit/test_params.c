/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Values, ranges and types of parameters, and variables that are not parameters. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include "prov/base/params.h"
#include "capture.h"

struct values {
	int depth, flag;
	size_t bytes;
	const char *name;
};

static const struct ofi_param table[] = {
	{ "depth", FI_PARAM_INT, 12, 0, 31, "A depth", offsetof(struct values, depth), false, NULL,
	  false },
	{ "flag", FI_PARAM_BOOL, 1, 0, 1, "A switch", offsetof(struct values, flag), false, NULL,
	  false },
	{ "bytes", FI_PARAM_SIZE_T, 64, 1, 4096, "A size", offsetof(struct values, bytes), false,
	  NULL, false },
	{ "device_name", FI_PARAM_STRING, 0, 0, 0, "A name", offsetof(struct values, name), false,
	  NULL, false },
	{ "use_odp", FI_PARAM_BOOL, 0, 0, 1, "Paging; no effect", 0, true, NULL, false },
	{ "port", FI_PARAM_INT, 5678, 0, 65535, "A port; no effect", 0, true, NULL, false },
	{ "policy", FI_PARAM_STRING, 0, 0, 0, "A policy; no effect", 0, true, NULL, false },
	{ "room", FI_PARAM_SIZE_T, 7, 0, 65535, "Room; no effect", 0, true, NULL, false },
};

static struct fi_provider prov = { .name = "weird" };
static struct values values;

static const char *load(void)
{
	memset(&values, 0xff, sizeof(values));
	capture_start();
	ofi_params_load(&prov, table, sizeof(table) / sizeof(table[0]), &values);
	return capture_stop();
}

static int clear(void **state)
{
	(void)state;
	unsetenv("FI_WEIRD_DEPTH");
	unsetenv("FI_WEIRD_FLAG");
	unsetenv("FI_WEIRD_BYTES");
	unsetenv("FI_WEIRD_DEVICE_NAME");
	unsetenv("FI_WEIRD_DEVICE_NAM");
	unsetenv("FI_WEIRD_USE_ODP");
	unsetenv("FI_WEIRD_XYZZY");
	return 0;
}

static void test_defaults(void **state)
{
	(void)state;
	assert_string_equal(load(), "");
	assert_int_equal(values.depth, 12);
	assert_int_equal(values.flag, 1);
	assert_int_equal(values.bytes, 64);
	assert_null(values.name);
}

static void test_values(void **state)
{
	(void)state;
	setenv("FI_WEIRD_DEPTH", "31", 1);
	setenv("FI_WEIRD_FLAG", "no", 1);
	setenv("FI_WEIRD_BYTES", "0x100", 1);
	setenv("FI_WEIRD_DEVICE_NAME", "rxe0", 1);
	assert_string_equal(load(), "");
	assert_int_equal(values.depth, 31);
	assert_int_equal(values.flag, 0);
	assert_int_equal(values.bytes, 256);
	assert_string_equal(values.name, "rxe0");
}

static void test_empty_string(void **state)
{
	(void)state;
	setenv("FI_WEIRD_DEVICE_NAME", "", 1);
	load();
	assert_null(values.name);
}

/* A parameter of security has to tell an empty variable from an unset one. */
static void test_strict_string(void **state)
{
	struct ofi_param row = table[3];

	(void)state;
	row.strict = true;
	values.name = NULL;
	setenv("FI_WEIRD_DEVICE_NAME", "", 1);
	ofi_params_load(&prov, &row, 1, &values);
	assert_string_equal(values.name, "");
	unsetenv("FI_WEIRD_DEVICE_NAME");
	ofi_params_load(&prov, &row, 1, &values);
	assert_null(values.name);
}

static void test_range(void **state)
{
	(void)state;
	setenv("FI_WEIRD_DEPTH", "32", 1);
	assert_non_null(strstr(
		load(), "FI_WEIRD_DEPTH=32 is out of range (0 to 31); using the default, 12"));
	assert_int_equal(values.depth, 12);
	setenv("FI_WEIRD_DEPTH", "-1", 1);
	assert_non_null(strstr(load(), "FI_WEIRD_DEPTH=-1"));
	assert_int_equal(values.depth, 12);
	setenv("FI_WEIRD_BYTES", "0", 1);
	assert_non_null(strstr(load(), "FI_WEIRD_BYTES=0 is out of range (1 to 4096)"));
	assert_int_equal(values.bytes, 64);
}

static void test_type(void **state)
{
	(void)state;
	setenv("FI_WEIRD_DEPTH", "deep", 1);
	setenv("FI_WEIRD_FLAG", "maybe", 1);
	assert_non_null(strstr(load(), "FI_WEIRD_DEPTH=deep"));
	assert_int_equal(values.depth, 12);
	assert_int_equal(values.flag, 1);
}

static void test_unknown(void **state)
{
	(void)state;
	setenv("FI_WEIRD_DEVICE_NAM", "rxe0", 1);
	assert_non_null(strstr(
		load(),
		"FI_WEIRD_DEVICE_NAM is not a parameter of weird; did you mean FI_WEIRD_DEVICE_NAME?"));
	unsetenv("FI_WEIRD_DEVICE_NAM");
	setenv("FI_WEIRD_XYZZY", "1", 1);
	assert_non_null(strstr(
		load(), "FI_WEIRD_XYZZY is not a parameter of weird; fi_info -e lists them"));
}

static const char *load_with(const char *name, const char *value)
{
	const char *log;

	setenv(name, value, 1);
	log = load();
	unsetenv(name);
	assert_int_equal(values.depth, 12); /* nothing is stored */
	return log;
}

static void test_unused(void **state)
{
	(void)state;
	assert_string_equal(load_with("FI_WEIRD_USE_ODP", "off"), "");
	assert_string_equal(load_with("FI_WEIRD_PORT", "5678"), "");
	assert_string_equal(load_with("FI_WEIRD_POLICY", ""), "");
	assert_string_equal(load_with("FI_WEIRD_ROOM", "7"), "");
	assert_non_null(strstr(load_with("FI_WEIRD_USE_ODP", "1"),
			       "FI_WEIRD_USE_ODP is set: Paging; no effect"));
	assert_non_null(
		strstr(load_with("FI_WEIRD_PORT", "1"), "FI_WEIRD_PORT is set: A port; no effect"));
	assert_non_null(strstr(load_with("FI_WEIRD_POLICY", "auto"),
			       "FI_WEIRD_POLICY is set: A policy; no effect"));
	assert_non_null(
		strstr(load_with("FI_WEIRD_ROOM", "8"), "FI_WEIRD_ROOM is set: Room; no effect"));
	assert_non_null(strstr(
		load_with("FI_WEIRD_PORT", "70000"),
		"FI_WEIRD_PORT=70000 is out of range (0 to 65535); using the default, 5678"));
	assert_non_null(strstr(load_with("FI_WEIRD_USE_ODP", "perhaps"),
			       "FI_WEIRD_USE_ODP=perhaps is not valid; it takes 0, 1, no"));
}

static void test_listed(void **state)
{
	struct fi_param *list;
	int i, count, found = 0;

	(void)state;
	load();
	assert_int_equal(fi_getparams(&list, &count), 0);
	for (i = 0; i < count; i++) {
		if (strcmp(list[i].name, "FI_WEIRD_DEPTH"))
			continue;
		found++;
		assert_string_equal(list[i].help_string, "A depth (0 to 31, default: 12)");
	}
	fi_freeparams(list);
	assert_int_equal(found, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, clear, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_defaults),	  TEST(test_values), TEST(test_empty_string),
		TEST(test_strict_string), TEST(test_range),  TEST(test_type),
		TEST(test_unknown),	  TEST(test_unused), TEST(test_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
