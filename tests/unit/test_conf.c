/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* libfabric.conf: its lines, which of several values takes effect, and what is logged. */
#include "unit.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "capture.h"
#include "src/conf.h"
#include "src/param.h"
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

static char path[] = "/tmp/conf.XXXXXX";

static bool elevated;

/* In place of the system's: the program has more privileges than its caller, or not. */
char *secure_getenv(const char *name)
{
	return elevated ? NULL : getenv(name);
}

static void load(const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(text, file);
	fclose(file);
	ofi_conf_load(path);
}

static int setup(void **state)
{
	(void)state;
	strcpy(path, "/tmp/conf.XXXXXX");
	close(mkstemp(path));
	unsetenv("FI_ONE");
	unsetenv("FI_PREFER_SYSCONFIG");
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	ofi_conf_load("/nonexistent");
	return 0;
}

static void test_lines(void **state)
{
	(void)state;
	load("# a comment\n"
	     "\n"
	     "FI_ONE=1\n"
	     "  FI_TWO =  a b  \n"
	     "FI_THREE=\"quoted = # \"\n"
	     "FI_FOUR=\n"
	     "FI_ONE=11\n"
	     "FI_LAST=no newline");
	assert_string_equal(ofi_conf_get("FI_ONE"), "11");
	assert_string_equal(ofi_conf_get("FI_TWO"), "a b");
	assert_string_equal(ofi_conf_get("FI_THREE"), "quoted = # ");
	assert_string_equal(ofi_conf_get("FI_FOUR"), "");
	assert_string_equal(ofi_conf_get("FI_LAST"), "no newline");
	assert_null(ofi_conf_get("FI_FIVE"));
	capture_start();
	ofi_conf_report();
	assert_string_equal(capture_stop(), "");
}

static void test_bad_lines(void **state)
{
	static const char *const bad[] = { "FI_ONE", "=1",	 "PATH=/bin",
					   "FI_=1",  "FI_one=1", "export FI_ONE=1" };
	char text[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "FI_TWO=2\n%s\nFI_THREE=3\n", bad[i]);
		load(text);
		assert_string_equal(ofi_conf_get("FI_THREE"), "3");
		assert_null(ofi_conf_get("FI_ONE"));
		capture_start();
		ofi_conf_report();
		assert_non_null(strstr(capture_stop(), ", line 2: not in the form FI_NAME=VALUE"));
	}
	load("\xff\xfe=\n");
	assert_null(ofi_conf_name(0));
}

static void test_unreadable(void **state)
{
	(void)state;
	ofi_conf_load("/");
	capture_start();
	ofi_conf_report();
	assert_non_null(strstr(capture_stop(), "/ cannot be read: "));
	ofi_conf_load("/nonexistent/libfabric.conf");
	capture_start();
	ofi_conf_report();
	assert_string_equal(capture_stop(), "");
}

/* The process does not know then what the file demands, such as a job secret. */
static void test_no_descriptors(void **state)
{
	struct rlimit limit, none;
	struct fi_info *list;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ofi_conf_load(path);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &list), -FI_EMFILE);
	capture_start();
	ofi_conf_report();
	assert_non_null(strstr(capture_stop(), "fi_getinfo fails in this process"));
	ofi_conf_load(path);
	assert_int_not_equal(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, NULL, &list), -FI_EMFILE);
	/* Most systems have no such file. */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	ofi_conf_load("/nowhere/libfabric.conf");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(ofi_conf_error(), 0);
}

static void test_withheld(void **state)
{
	const char *text;

	(void)state;
	load("FI_HOOK_FILE=stderr\n");
	setenv("FI_HOOK_FILE", "stdout", 1);
	setenv("FI_PROVIDER_PATH", "/home/user", 1);
	capture_start();
	ofi_conf_report();
	assert_string_equal(capture_stop(), "");
	elevated = true;
	capture_start();
	ofi_conf_report();
	text = capture_stop();
	elevated = false;
	assert_non_null(strstr(text, "FI_PROVIDER_PATH is ignored"));
	assert_null(strstr(text, "FI_HOOK_FILE"));
	unsetenv("FI_HOOK_FILE");
	unsetenv("FI_PROVIDER_PATH");
}

static void test_who_wins(void **state)
{
	(void)state;
	load("FI_ONE=file\n");
	setenv("FI_ONE", "environment", 1);
	assert_string_equal(ofi_conf_get("FI_ONE"), "environment");
	assert_string_equal(ofi_conf_get_secure("FI_ONE"), "environment");
	setenv("FI_PREFER_SYSCONFIG", "yes", 1);
	load("FI_ONE=file\n");
	assert_string_equal(ofi_conf_get("FI_ONE"), "file");
	load("FI_TWO=file\n");
	assert_string_equal(ofi_conf_get("FI_ONE"), "environment");
	elevated = true;
	load("FI_ONE=file\n");
	assert_string_equal(ofi_conf_get("FI_ONE"), "environment");
	assert_string_equal(ofi_conf_get_secure("FI_ONE"), "file");
	load("FI_TWO=file\n");
	assert_null(ofi_conf_get_secure("FI_ONE"));
	elevated = false;
	unsetenv("FI_PREFER_SYSCONFIG");
	load("FI_ONE=file\nFI_PREFER_SYSCONFIG=1\n");
	assert_string_equal(ofi_conf_get("FI_ONE"), "file");
	setenv("FI_PREFER_SYSCONFIG", "0", 1);
	load("FI_ONE=file\nFI_PREFER_SYSCONFIG=1\n");
	assert_string_equal(ofi_conf_get("FI_ONE"), "environment");
}

static void test_parameters(void **state)
{
	static struct fi_provider prov = { .name = "conf" };
	struct fi_param *list;
	int value = 0, count, i, found = 0;

	(void)state;
	load("FI_CONF_DEPTH=7\n");
	assert_int_equal(fi_param_define(&prov, "depth", FI_PARAM_INT, "A depth"), 0);
	assert_int_equal(fi_param_get_int(&prov, "depth", &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(fi_getparams(&list, &count), 0);
	for (i = 0; i < count; i++)
		found += !strcmp(list[i].name, "FI_CONF_DEPTH") && !strcmp(list[i].value, "7");
	fi_freeparams(list);
	assert_int_equal(found, 1);
}

static void test_unknown(void **state)
{
	(void)state;
	load("FI_CONF_DETPH=7\nFI_CONFUSED=1\n");
	capture_start();
	ofi_param_check_file("conf");
	assert_non_null(
		strstr(capture_stop(), "libfabric.conf: FI_CONF_DETPH is not a parameter of conf"));
	load("FI_PROVIDR=verbs\nFI_PSM3_X=1\n");
	capture_start();
	ofi_param_init();
	assert_non_null(
		strstr(capture_stop(),
		       "FI_PROVIDR is set but is not a parameter; did you mean FI_PROVIDER?"));
}

/* What the core takes for other releases' sake. */
static void test_no_effect(void **state)
{
	(void)state;
	load("FI_MR_CACHE_MAX_COUNT=10\nFI_MR_CACHE_MONITOR=disabled\nFI_HMEM=system\n"
	     "FI_HMEM_DISABLE_P2P=1\nFI_MR_ZE_CACHE_MONITOR_ENABLED=0\nFI_UNIVERSE_SIZE=64\n"
	     "FI_AV_REMOVE_CLEANUP=1\n");
	capture_start();
	ofi_param_init();
	assert_string_equal(capture_stop(), "");
	assert_true(ofi_param_defined("FI_FORK_UNSAFE"));
	load("FI_HMEM_NEURON_USE_DMABUF=on\n");
	capture_start();
	ofi_param_init();
	assert_non_null(strstr(capture_stop(), "FI_HMEM_NEURON_USE_DMABUF=on: Register memory"));
	load("FI_OFFLOAD_COLL_PROVIDER=sharp\n");
	capture_start();
	ofi_param_init();
	assert_non_null(strstr(capture_stop(), "FI_OFFLOAD_COLL_PROVIDER=sharp: Provider"));
	load("FI_ADDR_FORMAT=FI_SOCKADDR_IPX\n");
	capture_start();
	ofi_param_init();
	assert_non_null(
		strstr(capture_stop(), "FI_ADDR_FORMAT=FI_SOCKADDR_IPX is not an address format"));
	assert_null(ofi_param_addr_format());
	load("FI_ADDR_FORMAT=fi_sockaddr_in6\n");
	ofi_param_init();
	assert_string_equal(ofi_param_addr_format(), "FI_SOCKADDR_IN6");
	load("FI_UNIVERSE_SIZE=many\n");
	capture_start();
	ofi_param_init();
	assert_non_null(strstr(capture_stop(), "FI_UNIVERSE_SIZE=many is not valid; it takes a"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_lines),     TEST(test_bad_lines),	 TEST(test_unreadable),
		TEST(test_who_wins),  TEST(test_parameters),	 TEST(test_unknown),
		TEST(test_no_effect), TEST(test_no_descriptors), TEST(test_withheld),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
