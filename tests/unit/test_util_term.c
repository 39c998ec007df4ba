/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A terminal is told from a file, and colors are for a terminal that wants them. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util/term.h"

static int master = -1;
static FILE *terminal, *file;

static int setup(void **state)
{
	(void)state;
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) || unlockpt(master))
		return -1;
	terminal = fopen(ptsname(master), "w");
	file = tmpfile();
	return terminal && file ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	fclose(terminal);
	fclose(file);
	return close(master);
}

static void test_is(void **state)
{
	(void)state;
	assert_true(term_is(terminal));
	assert_false(term_is(file));
}

static void test_colors(void **state)
{
	(void)state;
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	assert_true(term_has_colors(terminal));
	assert_false(term_has_colors(file));
	setenv("NO_COLOR", "1", 1);
	assert_false(term_has_colors(terminal));
	assert_true(term_is_screen(terminal));
	assert_false(term_is_screen(file));
	setenv("NO_COLOR", "", 1);
	assert_true(term_has_colors(terminal));
	setenv("TERM", "dumb", 1);
	assert_false(term_has_colors(terminal));
	assert_false(term_is_screen(terminal));
	unsetenv("TERM");
	assert_false(term_has_colors(terminal));
}

static void test_size(void **state)
{
	struct winsize size = { .ws_row = 50, .ws_col = 132 };
	unsigned int lines, columns;

	(void)state;
	term_size(terminal, &lines, &columns);
	assert_int_equal(lines, 24);
	assert_int_equal(columns, 80);
	assert_int_equal(ioctl(master, TIOCSWINSZ, &size), 0);
	term_size(terminal, &lines, &columns);
	assert_int_equal(lines, 50);
	assert_int_equal(columns, 132);
	term_size(file, &lines, &columns);
	assert_int_equal(columns, 80);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is),
		cmocka_unit_test(test_colors),
		cmocka_unit_test(test_size),
	};

	return cmocka_run_group_tests_name("util_term", tests, setup, teardown);
}
