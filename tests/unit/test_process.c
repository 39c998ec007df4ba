/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A child differs from its parent, whatever their process IDs are. */
#include "unit.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "prov/base/ref.h"
#include "src/ds/process.h"

static bool is_first; /* each process is the first of a PID namespace */

pid_t __real_getpid(void);
pid_t __wrap_getpid(void);
pid_t __wrap_getpid(void)
{
	return is_first ? 1 : __real_getpid();
}

/* Returns true if the child that is made here, or that of the child, is taken for this process. */
static bool is_mistaken(uint64_t process, const struct ofi_ref *ref, bool plain, int depth)
{
	pid_t pid = plain ? (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL) : fork();
	int status;

	assert_true(pid >= 0);
	if (!pid)
		_exit(ofi_process() == process || !ofi_ref_inherited(ref) ||
		      (depth && is_mistaken(process, ref, plain, depth - 1)));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void check_children(bool plain)
{
	struct ofi_ref own = { 0 }, unowned = { 0 };
	uint64_t process = ofi_process();

	ofi_ref_own(&own);
	assert_true(process);
	assert_false(is_mistaken(process, &own, plain, 2));
	assert_int_equal(ofi_process(), process);
	assert_false(ofi_ref_inherited(&own));
	assert_false(ofi_ref_inherited(&unowned));
}

static void test_fork(void **state)
{
	(void)state;
	check_children(false);
}

static void test_namespaces(void **state)
{
	(void)state;
	is_first = true;
	check_children(false);
	is_first = false;
}

/* No handler of pthread_atfork() is called. */
static void test_clone(void **state)
{
	(void)state;
	check_children(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_clone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
