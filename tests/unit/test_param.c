/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parameters: names, types, invalid values, and the list of all. */
#include "unit.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "fake_prov.h"
#include "fork_rig.h"
#include "src/param.h"

static bool elevated;

/* In place of the system's: the program has more privileges than its caller, or not. */
char *secure_getenv(const char *name)
{
	return elevated ? NULL : getenv(name);
}

static struct fi_provider prov = { .name = "ofi_fake" };

static int define(const char *name, enum fi_param_type type)
{
	return fi_param_define(&prov, name, type, "help of %s (default: %d)", name, 1);
}

static void test_names(void **state)
{
	char *value = NULL;

	(void)state;
	assert_int_equal(fi_param_get_str(&prov, "text", &value), -FI_ENOENT);
	assert_int_equal(define("text", FI_PARAM_STRING), 0);
	assert_int_equal(fi_param_get_str(&prov, "text", &value), -FI_ENODATA);
	assert_null(value);
	setenv("FI_OFI_FAKE_TEXT", "hello", 1);
	assert_int_equal(fi_param_get_str(&prov, "text", &value), 0);
	assert_string_equal(value, "hello");
	assert_int_equal(fi_param_get_str(NULL, "text", &value), -FI_ENOENT);
	assert_int_equal(fi_param_define(NULL, "fake_core", FI_PARAM_STRING, "help"), 0);
	setenv("FI_FAKE_CORE", "core", 1);
	assert_int_equal(fi_param_get_str(NULL, "fake_core", &value), 0);
	assert_string_equal(value, "core");
}

static bool short_of_memory;

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

void *__wrap_calloc(size_t count, size_t size)
{
	return short_of_memory ? NULL : __real_calloc(count, size);
}

/* A program may reuse or wipe the memory of its environment, as setproctitle() does. */
static void test_wiped(void **state)
{
	static char text[] = "FI_OFI_FAKE_SECRET=secret", other[] = "FI_OFI_FAKE_SECRET=other";
	char *value, *again;

	(void)state;
	assert_int_equal(define("secret", FI_PARAM_STRING), 0);
	assert_int_equal(putenv(text), 0);
	short_of_memory = true;
	assert_int_equal(fi_param_get_str(&prov, "secret", &value), 0);
	short_of_memory = false;
	assert_ptr_equal(value, strchr(text, '=') + 1);
	assert_int_equal(fi_param_get_str(&prov, "secret", &value), 0);
	assert_int_equal(fi_param_get_str(&prov, "secret", &again), 0);
	assert_ptr_equal(value, again);
	memset(strchr(text, '=') + 1, 'x', strlen("secret"));
	assert_string_equal(value, "secret");
	assert_int_equal(putenv(other), 0);
	assert_int_equal(fi_param_get_str(&prov, "secret", &again), 0);
	assert_string_equal(again, "other");
	assert_string_equal(value, "secret");
}

/* The caller of a setuid program cannot have it read a file of another user. */
static void test_elevated(void **state)
{
	struct fi_param *list;
	int i, count, ret;
	char *value;

	(void)state;
	assert_int_equal(define("key_file", FI_PARAM_STRING), 0);
	assert_int_equal(define("key", FI_PARAM_STRING), 0);
	setenv("FI_OFI_FAKE_KEY_FILE", "/etc/shadow", 1);
	setenv("FI_OFI_FAKE_KEY", "key", 1);
	assert_int_equal(fi_param_get_str(&prov, "key_file", &value), 0);
	assert_string_equal(value, "/etc/shadow");
	elevated = true;
	ret = fi_param_get_str(&prov, "key_file", &value);
	assert_int_equal(fi_param_get_str(&prov, "key", &value), 0);
	assert_int_equal(fi_getparams(&list, &count), 0);
	elevated = false;
	assert_int_equal(ret, -FI_ENODATA);
	for (i = 0; i < count; i++)
		if (!strcmp(list[i].name, "FI_OFI_FAKE_KEY_FILE"))
			assert_null(list[i].value);
	fi_freeparams(list);
}

static void test_bad_definitions(void **state)
{
	char longer[300];

	(void)state;
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(fi_param_define(&prov, NULL, FI_PARAM_INT, "help"), -FI_EINVAL);
	assert_int_equal(define("", FI_PARAM_INT), -FI_EINVAL);
	assert_int_equal(define(longer, FI_PARAM_INT), -FI_EINVAL);
	assert_int_equal(define("bad", (enum fi_param_type)9), -FI_EINVAL);
	assert_int_equal(define("twice", FI_PARAM_INT), 0);
	assert_int_equal(define("twice", FI_PARAM_INT), 0);
	assert_int_equal(define("twice", FI_PARAM_BOOL), -FI_EINVAL);
}

static int get_int(const char *text, int *value)
{
	setenv("FI_OFI_FAKE_INT", text, 1);
	return fi_param_get_int(&prov, "int", value);
}

static void test_int(void **state)
{
	static const char *const bad[] = { "", "x", "1x", "1.5", "99999999999", "1 2" };
	int value = 42;
	size_t i;

	(void)state;
	assert_int_equal(define("int", FI_PARAM_INT), 0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(get_int(bad[i], &value), -FI_EINVAL);
	assert_int_equal(value, 42);
	assert_int_equal(get_int("-5", &value), 0);
	assert_int_equal(value, -5);
	assert_int_equal(get_int("0x10", &value), 0);
	assert_int_equal(value, 16);
	assert_int_equal(get_int("2147483647", &value), 0);
	assert_int_equal(value, INT_MAX);
}

static int get_bool(const char *text, int *value)
{
	setenv("FI_OFI_FAKE_BOOL", text, 1);
	return fi_param_get_bool(&prov, "bool", value);
}

static void test_bool(void **state)
{
	static const char *const on[] = { "1", "yes", "TRUE", "On" };
	static const char *const off[] = { "0", "no", "False", "off" };
	int value = 42;
	size_t i;

	(void)state;
	assert_int_equal(define("bool", FI_PARAM_BOOL), 0);
	assert_int_equal(get_bool("maybe", &value), -FI_EINVAL);
	assert_int_equal(get_bool("2", &value), -FI_EINVAL);
	assert_int_equal(value, 42);
	for (i = 0; i < 4; i++) {
		assert_int_equal(get_bool(on[i], &value), 0);
		assert_int_equal(value, 1);
		assert_int_equal(get_bool(off[i], &value), 0);
		assert_int_equal(value, 0);
	}
}

static int get_size(const char *text, size_t *value)
{
	setenv("FI_OFI_FAKE_SIZE", text, 1);
	return fi_param_get_size_t(&prov, "size", value);
}

static void test_size(void **state)
{
	size_t value = 42;

	(void)state;
	assert_int_equal(define("size", FI_PARAM_SIZE_T), 0);
	assert_int_equal(get_size("-2", &value), -FI_EINVAL);
	assert_int_equal(get_size("4k", &value), -FI_EINVAL);
	assert_int_equal(get_size("99999999999999999999", &value), -FI_EINVAL);
	assert_int_equal(value, 42);
	assert_int_equal(get_size("-1", &value), 0);
	assert_int_equal(value, SIZE_MAX);
	assert_int_equal(get_size("18446744073709551615", &value), 0);
	assert_true(value == SIZE_MAX);
}

static void test_bad_arguments(void **state)
{
	int value;

	(void)state;
	assert_int_equal(fi_param_get(&prov, NULL, &value), -FI_EINVAL);
	assert_int_equal(fi_param_get(&prov, "int", NULL), -FI_EINVAL);
	assert_int_equal(fi_getparams(NULL, NULL), -FI_EINVAL);
}

static const struct fi_param *listed(const struct fi_param *params, int count, const char *name)
{
	int i;

	for (i = 0; i < count; i++) {
		if (!strcmp(params[i].name, name))
			return &params[i];
	}
	return NULL;
}

static void test_list(void **state)
{
	const struct fi_param *param;
	struct fi_param *params;
	int count;

	(void)state;
	ofi_param_init();
	assert_int_equal(define("listed", FI_PARAM_SIZE_T), 0);
	setenv("FI_OFI_FAKE_LISTED", "17", 1);
	assert_int_equal(fi_getparams(&params, &count), 0);
	assert_null(params[count].name);
	param = listed(params, count, "FI_OFI_FAKE_LISTED");
	assert_non_null(param);
	assert_int_equal(param->type, FI_PARAM_SIZE_T);
	assert_string_equal(param->help_string, "help of listed (default: 1)");
	assert_string_equal(param->value, "17");
	param = listed(params, count, "FI_LOG_LEVEL");
	assert_non_null(param);
	assert_non_null(strstr(param->help_string, "(default: warn)"));
	assert_null(param->value);
	assert_non_null(listed(params, count, "FI_PROVIDER_PATH"));
	fi_freeparams(params);
	fi_freeparams(NULL);
}

static int stop(void **state)
{
	(void)state;
	ofi_param_fini();
	return 0;
}

static void use_params(void)
{
	char *value;

	define("forked", FI_PARAM_STRING);
	fi_param_get_str(&prov, "forked", &value);
	ofi_param_defined("FI_OFI_FAKE_FORKED");
}

static void test_fork(void **state)
{
	(void)state;
	fork_amid(use_params);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),	 cmocka_unit_test(test_wiped),
		cmocka_unit_test(test_elevated), cmocka_unit_test(test_bad_definitions),
		cmocka_unit_test(test_int),	 cmocka_unit_test(test_bool),
		cmocka_unit_test(test_size),	 cmocka_unit_test(test_bad_arguments),
		cmocka_unit_test(test_list),	 cmocka_unit_test(test_fork),
	};

	unsetenv("FI_LOG_LEVEL");
	return cmocka_run_group_tests(tests, NULL, stop);
}
