/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The command line of fi_stat. */
#include "unit.h"

#include <getopt.h>

#include "util/stat_options.h"

#define ARGS(...) ((char *[]){ "tool", __VA_ARGS__, NULL })

static bool parse(struct stat_options *opts, char **argv)
{
	int argc = 0;

	while (argv[argc])
		argc++;
	optind = 0;
	return stat_options_parse(opts, argc, argv);
}

static void test_once(void **state)
{
	struct stat_options opts;

	(void)state;
	assert_true(parse(&opts, ARGS("-p", "4711", "--all")));
	assert_int_equal(opts.pid, 4711);
	assert_int_equal(opts.watch_ms, 0);
	assert_true(opts.all && !opts.json && !opts.peers);
	assert_true(parse(&opts, ARGS("--peers=12", "-j")));
	assert_int_equal(opts.pid, 12);
	assert_true(opts.peers && opts.json);
}

/* The seconds are joined to the option, the next argument, or left out. */
static void test_watch(void **state)
{
	static const struct {
		char *argv[8];
		int ms;
	} good[] = {
		{ { "tool", "-p", "1", "--watch" }, 1000 },
		{ { "tool", "-w", "-p", "1" }, 1000 },
		{ { "tool", "--watch", "--pid=1", "-c", "3" }, 1000 },
		{ { "tool", "-p", "1", "--watch=0.25" }, 250 },
		{ { "tool", "-p", "1", "--watch", "2" }, 2000 },
		{ { "tool", "-w", "2", "-p", "1" }, 2000 },
		{ { "tool", "-w.5", "-p", "1" }, 500 },
		{ { "tool", "-p", "1", "-jw", "86400" }, 86400000 },
	};
	struct stat_options opts;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_true(parse(&opts, (char **)good[i].argv));
		assert_int_equal(opts.watch_ms, good[i].ms);
		assert_int_equal(opts.pid, 1);
	}
}

static void test_refuses(void **state)
{
	static const char *const bad[][4] = {
		{ "-p", "0" },
		{ "-p", "1x" },
		{ "-j" },
		{ "-p", "1", "-w", "0.001" },
		{ "-p", "1", "-w", "" },
		{ "-p", "1", "-w", "nan" },
		{ "-p", "1", "-w", "86401" },
		{ "-p", "1", "--watch=x" },
		{ "-p", "1", "-c", "3" },
		{ "-p", "1", "stray" },
		{ "--nonsense" },
	};
	struct stat_options opts;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(parse(&opts, ARGS((char *)bad[i][0], (char *)bad[i][1],
					       (char *)bad[i][2], (char *)bad[i][3])));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_once),
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_refuses),
	};

	return cmocka_run_group_tests_name("util_stat_options", tests, NULL, NULL);
}
