/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lines of the trace hook name the thread that calls, in a child of fork(), too. */
#include "unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ofi_hook_out fake_out
#include "src/hook/trace.c"

static char line[200];

void ofi_hook_out(enum fi_log_level level, const char *fmt, ...)
{
	va_list args;

	assert_int_equal(level, FI_LOG_TRACE);
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
}

/* Returns true if the line of a call begins with the number of this process, its only thread. */
static bool names_us(void)
{
	const struct ofi_hook_site site = { .name = "fi_close" };
	char begin[20];

	snprintf(begin, sizeof(begin), "%d fi_close(", (int)getpid());
	ofi_hook_trace(&site, NULL, 0, "");
	return !strncmp(line, begin, strlen(begin));
}

static void a_child_is_another_thread(void **state)
{
	pid_t child;
	int status;

	(void)state;
	assert_true(names_us());
	child = fork();
	assert_true(child >= 0);
	if (!child)
		_exit(!names_us());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_is_another_thread),
	};

	return cmocka_run_group_tests_name("hook_trace", tests, NULL, NULL);
}
