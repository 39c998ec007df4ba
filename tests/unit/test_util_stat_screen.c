/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What fi_stat --watch writes to a terminal. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "util/stat_screen.h"

#define K "\033[K\n"
#define J "\033[J"

static void expect(struct stat_screen *screen, const char *text, const char *want)
{
	char *got = NULL;
	size_t len;

	screen->out = open_memstream(&got, &len);
	assert_non_null(screen->out);
	stat_screen_draw(screen, text);
	fclose(screen->out);
	assert_string_equal(got, want);
	free(got);
}

/* The first text clears the screen, the others do not, so that it does not flicker. */
static void test_again(void **state)
{
	struct stat_screen screen = { .lines = 24, .columns = 80 };

	(void)state;
	expect(&screen, "one\n\ntwo\n",
	       "\033[H\033[2J"
	       "one" K K "two" K J);
	expect(&screen, "three\n",
	       "\033[H"
	       "three" K J);
	expect(&screen, "", "\033[H" J);
}

/* The last column stays free, and the rest of a line is indented. */
static void test_fold(void **state)
{
	struct stat_screen screen = { .lines = 24, .columns = 16, .drawn = true };

	(void)state;
	expect(&screen, "123456789 12345\n", "\033[H123456789 12345" K J);
	expect(&screen, "123456789 123456 78\nnext\n",
	       "\033[H123456789" K "       123456" K "       78" K "next" K J);
	expect(&screen, "123456789012345678901234",
	       "\033[H123456789012345" K "       67890123" K "       4" K J);
}

static void test_lines(void **state)
{
	struct stat_screen screen = { .lines = 4, .columns = 80, .drawn = true };

	(void)state;
	expect(&screen, "1\n2\n3\n", "\033[H1" K "2" K "3" K J);
	expect(&screen, "1\n2\n3\n4\n5\n", "\033[H1" K "2" K "... 3 more lines" K J);
	screen.lines = 0;
	expect(&screen, "1\n2\n3\n", "\033[H1" K "... 2 more lines" K J);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_fold),
		cmocka_unit_test(test_lines),
	};

	return cmocka_run_group_tests_name("util_stat_screen", tests, NULL, NULL);
}
