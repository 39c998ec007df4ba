/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Forked children that continue without executing a program. */
#include "forks.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

bool fork_takes_pages(void)
{
	return getenv("RDMAV_FORK_SAFE");
}

pid_t fork_child(void (*child)(void *arg), void *arg)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid)
		return pid;
	alarm(WAIT_MS / 1000);
	allow_leaks();
	child(arg);
	_exit(0);
}

void fork_end(pid_t pid, bool exits)
{
	int status;

	if (!exits) {
		EQUAL(waitpid(pid, &status, WNOHANG), 0);
		kill(pid, SIGKILL);
	}
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(status, exits ? 0 : SIGKILL);
}

int fork_run(void (*test)(void *arg))
{
	int ret = run_apart("plain", test, NULL);

	if (ret)
		return ret;
	setenv("FI_FORK_UNSAFE", "1", 1);
	ret = run_apart("FI_FORK_UNSAFE", test, NULL);
	if (ret)
		return ret;
	unsetenv("FI_FORK_UNSAFE");
	setenv("RDMAV_FORK_SAFE", "1", 1);
	return run_apart("RDMAV_FORK_SAFE", test, NULL);
}
