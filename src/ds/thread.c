/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <errno.h>
#include <signal.h>
#include "thread.h"

int ofi_thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	/* The kernel kills a process whose thread causes one of these while it blocks it. */
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	sigset_t others, old;
	size_t i;
	int err;

	sigfillset(&others);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		sigdelset(&others, own[i]);
	pthread_sigmask(SIG_SETMASK, &others, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err == EAGAIN ? ENOMEM : err;
}
