/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The threads of the library get no signals but those that their own instructions cause. */
#include "unit.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "src/ds/thread.h"

static char *page;
static size_t page_size;

/* A garbage collector that notices writes by protecting pages does the same. */
static void unprotect(int sig)
{
	(void)sig;
	mprotect(page, page_size, PROT_READ | PROT_WRITE);
}

/* Under valgrind, a store after which a handler ran may have stored something else. */
static void *write_page(void *arg)
{
	volatile char *at = page;

	do
		*at = 1;
	while (*at != 1);
	return arg;
}

static void write_in_thread(void)
{
	const struct sigaction action = { .sa_handler = unprotect };
	pthread_t thread;

	sigaction(SIGSEGV, &action, NULL);
	if (ofi_thread_start(&thread, write_page, NULL))
		_exit(2);
	pthread_join(thread, NULL);
	_exit(*page == 1 ? 0 : 1);
}

static void a_fault_is_handled(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	page_size = (size_t)sysconf(_SC_PAGESIZE);
	page = mmap(NULL, page_size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		write_in_thread();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	munmap(page, page_size);
}

static void *get_mask(void *arg)
{
	pthread_sigmask(SIG_SETMASK, NULL, arg);
	return NULL;
}

static void others_are_blocked(void **state)
{
	static const int own[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };
	static const int others[] = { SIGTERM, SIGINT, SIGCHLD, SIGALRM, SIGUSR1, SIGPROF };
	sigset_t before, in_thread, after;
	pthread_t thread;
	size_t i;

	(void)state;
	get_mask(&before);
	assert_int_equal(ofi_thread_start(&thread, get_mask, &in_thread), 0);
	pthread_join(thread, NULL);
	get_mask(&after);
	for (i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		assert_false(sigismember(&in_thread, own[i]));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_true(sigismember(&in_thread, others[i]));
		assert_int_equal(sigismember(&after, others[i]), sigismember(&before, others[i]));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fault_is_handled),
		cmocka_unit_test(others_are_blocked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
