/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A process is found by its number, and has ended once nothing of it runs. */
#include "unit.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/stat_process.h"

static void test_self(void **state)
{
	struct stat_process process;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "a) (b 1 2"), 0);
	assert_true(stat_process_find(&process, getpid()));
	assert_string_equal(process.name, "a) (b 1 2");
	assert_true(process.started > 0);
	assert_false(stat_process_has_ended(&process));
	/* Another process of the same number began at another time. */
	process.started--;
	assert_true(stat_process_has_ended(&process));
}

static void test_child(void **state)
{
	struct stat_process process;
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	assert_true(pid >= 0);
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_true(stat_process_find(&process, pid));
	assert_false(stat_process_has_ended(&process));
	kill(pid, SIGKILL);
	/* It stays as a zombie. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(stat_process_has_ended(&process));
	assert_false(stat_process_find(&process, pid));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(stat_process_has_ended(&process));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_child),
	};

	return cmocka_run_group_tests_name("util_stat_process", tests, NULL, NULL);
}
