/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_HOOK, FI_HOOK_FILE and FI_PERF_CNTR: valid values, and what is logged about invalid ones. */
#include "unit.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fork_rig.h"
#include "src/hook.h"
#include <rdma/fi_trigger.h>
#include "src/hook/hook.h"

static char text[8192];

/*
 * Returns true if hooks are active with these variables, in a separate process; its output is in
 * text.
 */
static bool active(const char *hook, const char *file, const char *cntr, const char *level)
{
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		setenv("FI_HOOK", hook, 1);
		setenv("FI_HOOK_FILE", file, 1);
		setenv("FI_PERF_CNTR", cntr, 1);
		setenv("FI_LOG_LEVEL", level, 1);
		status = ofi_hook_active() ? 10 : 20;
		if (status == 10)
			ofi_hook_out(FI_LOG_INFO, "some output");
		ofi_hook_fini();
		_exit(status);
	}
	close(ends[1]);
	while ((n = read(ends[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(status == 10 << 8 || status == 20 << 8);
	return status == 10 << 8;
}

#define SAYS(what)     assert_non_null(strstr(text, what))
#define SAYS_NOT(what) assert_null(strstr(text, what))

static void test_none(void **state)
{
	(void)state;
	assert_false(active("", "", "", "debug"));
	assert_string_equal(text, "");
	assert_false(active(";;", "", "", "debug"));
	assert_string_equal(text, "");
}

static void test_names(void **state)
{
	(void)state;
	assert_true(active("noop", "", "", "warn"));
	assert_string_equal(text, "");
	assert_true(active("NoOp;trace", "stderr", "", "warn"));
	SAYS_NOT("no hook");
	assert_true(active("ofi_hook_noop;OFI_HOOK_TRACE", "stderr", "", "warn"));
	SAYS_NOT("no hook");
	assert_false(active("prf", "", "", "warn"));
	SAYS("FI_HOOK=prf: no hook has this name, did you mean perf?");
	assert_true(active("trcae;noop", "", "", "warn"));
	SAYS("did you mean trace?");
	assert_false(active("monitor", "", "", "warn"));
	SAYS("FI_HOOK=monitor: no hook has this name; use perf, trace or noop");
}

static void test_unseen(void **state)
{
	(void)state;
	assert_true(active("trace", "", "", "warn"));
	SAYS("set FI_LOG_LEVEL=trace or FI_HOOK_FILE=stderr");
	assert_true(active("trace", "", "", "trace"));
	SAYS_NOT("FI_HOOK_FILE=stderr");
	assert_true(active("trace", "stderr", "", "warn"));
	SAYS_NOT("FI_HOOK_FILE=stderr");
	SAYS("some output\n");
	assert_true(active("perf", "", "", "warn"));
	SAYS("set FI_LOG_LEVEL=info");
}

/* A file that exists, or a link, is not written. */
static void test_file(void **state)
{
	char dir[] = "/tmp/test_hook_start.XXXXXX", path[64], link[64];
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_true(active("noop", path, "", "warn"));
	assert_string_equal(text, "");
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, strlen("some output\n"));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(active("noop", path, "", "warn"));
	SAYS("File exists; it takes stderr, stdout, a directory");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(path, link), 0);
	assert_true(active("noop", link, "", "warn"));
	SAYS("File exists");
	assert_int_equal(stat(path, &st), -1);
	unlink(link);
	rmdir(dir);
	assert_true(active("noop", "/nonexistent/file", "", "warn"));
	SAYS("No such file or directory");
}

/* Writes after the process has closed its descriptors and opened files of its own. */
static int write_after_close(const char *own)
{
	int fd;

	if (!ofi_hook_active())
		return __LINE__;
	for (fd = STDERR_FILENO + 1; fd < 100; fd++)
		close(fd);
	while ((fd = open(own, O_WRONLY | O_CREAT, 0600)) < 20)
		;
	ofi_hook_out(FI_LOG_INFO, "some output");
	ofi_hook_fini();
	for (; fd > STDERR_FILENO; fd--)
		if (fcntl(fd, F_GETFD) < 0)
			return __LINE__;
	return 0;
}

static void test_closed(void **state)
{
	char dir[] = "/tmp/test_hook_start.XXXXXX", path[64], own[64];
	struct stat st;
	int status;
	pid_t pid;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/file", dir);
	snprintf(own, sizeof(own), "%s/own", dir);
	pid = fork();
	if (!pid) {
		setenv("FI_HOOK", "noop", 1);
		setenv("FI_HOOK_FILE", path, 1);
		_exit(write_after_close(own));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(stat(own, &st), 0);
	assert_int_equal(st.st_size, 0);
	unlink(path);
	unlink(own);
	rmdir(dir);
}

/* A program that this process starts and leaves behind does not keep a pipe open. */
static void test_no_heir(void **state)
{
	static const char *const files[] = { "stderr", "stdout" };
	int i, fd, status;
	pid_t pid;

	(void)state;
	for (i = 0; i < 2; i++) {
		pid = fork();
		if (!pid) {
			setenv("FI_HOOK", "noop", 1);
			setenv("FI_HOOK_FILE", files[i], 1);
			fd = dup(STDERR_FILENO); /* tells which number is the next one */
			close(fd);
			_exit(!ofi_hook_active() || fcntl(fd, F_GETFD) != FD_CLOEXEC);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
}

static void test_counter(void **state)
{
	(void)state;
	assert_true(active("perf", "stderr", "cpu_cycls", "warn"));
	SAYS("FI_PERF_CNTR=cpu_cycls: takes cpu_instr or cpu_cycles, did you mean cpu_cycles?");
	assert_true(active("perf", "stderr", "CPU_CYCLES", "warn"));
	SAYS_NOT("takes cpu_instr");
	/* Where there is no such counter, that is said. */
	if (strstr(text, "perf_event_open"))
		SAYS("measuring time in ns instead");
}

/*
 * The counter in a triggered operation's context is replaced by the provider's, once, and only if
 * it is a counter.
 */
static void test_trigger(void **state)
{
	struct fid_cntr real = { 0 };
	struct ofi_hook hook = { .fid.ops = &ofi_hook_fid_ops, .real = &real.fid };
	struct fi_triggered_context context = { .event_type = FI_TRIGGER_THRESHOLD };

	(void)state;
	context.trigger.threshold.cntr = &hook.cntr;
	ofi_hook_trigger(&context, FI_COMPLETION);
	assert_ptr_equal(context.trigger.threshold.cntr, &hook.cntr);
	ofi_hook_trigger(NULL, FI_TRIGGER);
	ofi_hook_trigger(&context, FI_TRIGGER);
	assert_ptr_equal(context.trigger.threshold.cntr, &real);
	ofi_hook_trigger(&context, FI_TRIGGER);
	assert_ptr_equal(context.trigger.threshold.cntr, &real);
}

/* Operations that the provider's tables may lack. */
static void test_optional(void **state)
{
	struct fi_ops_fabric fabric_ops = { .size = sizeof(fabric_ops) };
	struct fi_ops_cntr cntr_ops = { .size = sizeof(cntr_ops) };
	struct fi_ops_cm cm_ops = { .size = sizeof(cm_ops) };
	struct fid_fabric real_fabric = { .ops = &fabric_ops };
	struct fid_cntr real_cntr = { .ops = &cntr_ops };
	struct fid_ep real_ep = { .cm = &cm_ops };
	struct ofi_hook fabric = { .fabric.ops = &ofi_hook_fabric_ops, .real = &real_fabric.fid };
	struct ofi_hook cntr = { .cntr.ops = &ofi_hook_cntr_ops, .real = &real_cntr.fid };
	struct ofi_hook ep = { .ep.cm = &ofi_hook_cm_ops, .real = &real_ep.fid };
	struct fid_mc *mc;

	(void)state;
	assert_int_equal(fi_trywait(&fabric.fabric, NULL, 0), -FI_ENOSYS);
	assert_int_equal(fi_cntr_adderr(&cntr.cntr, 1), -FI_ENOSYS);
	assert_int_equal(fi_cntr_seterr(&cntr.cntr, 1), -FI_ENOSYS);
	assert_int_equal(fi_join(&ep.ep, NULL, 0, &mc, NULL), -FI_ENOSYS);
}

static int no_op(struct fid *fid)
{
	(void)fid;
	return 0;
}

static void wrap_and_close(void)
{
	struct fi_ops ops = { .size = sizeof(ops), .close = no_op };
	struct fid real = { FI_CLASS_MR, NULL, &ops }, *fid = &real;

	ofi_hook_wrap(&fid, NULL);
	ofi_hook_find(&real);
	fi_close(fid);
}

static void test_fork(void **state)
{
	(void)state;
	fork_amid(wrap_and_close);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),	 cmocka_unit_test(test_names),
		cmocka_unit_test(test_unseen),	 cmocka_unit_test(test_file),
		cmocka_unit_test(test_no_heir),	 cmocka_unit_test(test_closed),
		cmocka_unit_test(test_counter),	 cmocka_unit_test(test_trigger),
		cmocka_unit_test(test_optional), cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
