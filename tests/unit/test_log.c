/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages selected by FI_LOG_*, their form, and an application's own log. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "src/log.h"
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_prov.h>

static const struct fi_provider verbs = { .name = "verbs" };
static const struct fi_provider tcp = { .name = "tcp" };

/* Runs fn in a child whose log reads only this environment; returns what it wrote to stderr. */
static const char *output(const char *env, const char *value, void (*fn)(void))
{
	static char text[8192];
	int pipefd[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(pipefd), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (env)
			setenv(env, value, 1);
		dup2(pipefd[1], STDERR_FILENO);
		fn();
		ofi_log_fini();
		_exit(0);
	}
	close(pipefd[1]);
	while ((n = read(pipefd[0], text + len, sizeof(text) - 1 - len)) > 0)
		len += (size_t)n;
	text[len] = '\0';
	close(pipefd[0]);
	waitpid(pid, &status, 0);
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	return text;
}

/* One letter for each message that passes. */
static void say_all(void)
{
	static const enum fi_log_subsys subsys[] = { FI_LOG_CORE, FI_LOG_MR };
	const struct fi_provider *provs[] = { &verbs, &tcp, NULL };
	int level, i, j;

	for (level = FI_LOG_WARN; level <= FI_LOG_DEBUG; level++) {
		for (i = 0; i < 2; i++) {
			for (j = 0; j < 3; j++) {
				if (fi_log_enabled(provs[j], level, subsys[i]))
					dprintf(STDERR_FILENO, "%c%c%c ", "wtid"[level], "cm"[i],
						"vt0"[j]);
			}
		}
	}
}

static void test_levels(void **state)
{
	(void)state;
	assert_string_equal(output(NULL, NULL, say_all), "wcv wct wc0 wmv wmt wm0 ");
	assert_string_equal(output("FI_LOG_LEVEL", "trace", say_all),
			    "wcv wct wc0 wmv wmt wm0 tcv tct tc0 tmv tmt tm0 ");
	assert_int_equal(strlen(output("FI_LOG_LEVEL", "DEBUG", say_all)), 4 * 6 * 4);
	assert_string_equal(output("FI_LOG_LEVEL", "none", say_all), "");
	/* Errors are logged at warn, the lowest level that there is. */
	assert_string_equal(output("FI_LOG_LEVEL", "error", say_all), "wcv wct wc0 wmv wmt wm0 ");
	assert_string_equal(output("FI_LOG_LEVEL", "Warn", say_all), "wcv wct wc0 wmv wmt wm0 ");
	assert_int_equal(strlen(output("FI_LOG_LEVEL", "info", say_all)), 4 * 6 * 3);
}

static void test_bad_level(void **state)
{
	const char *text = output("FI_LOG_LEVEL", "wran", say_all);

	(void)state;
	assert_non_null(strstr(text, "FI_LOG_LEVEL=wran: takes "));
	assert_non_null(strstr(text, "did you mean warn?\n"));
	assert_non_null(strstr(text, "\nwcv wct wc0 wmv wmt wm0 "));
}

static void test_filters(void **state)
{
	const char *text;

	(void)state;
	assert_string_equal(output("FI_LOG_PROV", "verbs", say_all), "wcv wmv ");
	assert_string_equal(output("FI_LOG_PROV", "^verbs", say_all), "wct wc0 wmt wm0 ");
	assert_string_equal(output("FI_LOG_SUBSYS", "mr,cq", say_all), "wmv wmt wm0 ");
	assert_string_equal(output("FI_LOG_SUBSYS", "^mr", say_all), "wcv wct wc0 ");
	text = output("FI_LOG_SUBSYS", "cor", say_all);
	assert_non_null(strstr(text, "FI_LOG_SUBSYS=cor: no such subsystem, did you mean core?"));
}

static void say_lines(void)
{
	char longer[5000];

	FI_WARN(&verbs, FI_LOG_EP_CTRL, "one %d\n", 1);
	FI_WARN(NULL, FI_LOG_CORE, "two\nparts\n");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	FI_WARN(&verbs, FI_LOG_CQ, "%s", longer);
	FI_INFO(&verbs, FI_LOG_CQ, "not shown\n");
}

static void test_form(void **state)
{
	const char *text = output(NULL, NULL, say_lines);
	char prov[16], subsys[16], func[32], level[16];
	int pid, line, lines = 0;
	long long when;

	(void)state;
	assert_int_equal(sscanf(text,
				"libfabric:%d:%lld:%15[^:]:%15[^:]:%31[^(]():%d<%15[^>]> one 1",
				&pid, &when, prov, subsys, func, &line, level),
			 7);
	assert_string_equal(prov, "verbs");
	assert_string_equal(subsys, "ep_ctrl");
	assert_string_equal(func, "say_lines");
	assert_string_equal(level, "warn");
	assert_non_null(strstr(text, ":core:core:say_lines():"));
	assert_non_null(strstr(text, "> two parts\n"));
	assert_non_null(strstr(text, "xxx...\n"));
	for (; *text; text++)
		lines += *text == '\n';
	assert_int_equal(lines, 3);
}

static void say_repeated(void)
{
	uint64_t showtime = 0;
	int i;

	for (i = 0; i < 3; i++) {
		if (fi_log_ready(&verbs, FI_LOG_WARN, FI_LOG_CQ, &showtime))
			dprintf(STDERR_FILENO, "now ");
		if (fi_log_ready(&verbs, FI_LOG_INFO, FI_LOG_CQ, &showtime))
			dprintf(STDERR_FILENO, "never ");
	}
}

static void test_interval(void **state)
{
	(void)state;
	assert_string_equal(output(NULL, NULL, say_repeated), "now ");
	assert_string_equal(output("FI_LOG_INTERVAL", "0", say_repeated), "now now now ");
	assert_non_null(
		strstr(output("FI_LOG_INTERVAL", "-3", say_repeated), "takes milliseconds"));
	assert_non_null(strstr(output("FI_LOG_INTERVAL", "18446744073709551615", say_repeated),
			       "takes milliseconds"));
	assert_string_equal(output("FI_LOG_INTERVAL", "9223372036854775807", say_repeated), "now ");
}

static void say_in_file(void)
{
	fi_log(&verbs, FI_LOG_WARN, FI_LOG_CQ, "f", 1, "in a file");
}

static void test_location(void **state)
{
	char path[] = "/tmp/test_log_XXXXXX", file[64], text[256] = "";
	struct stat st;
	int fd;

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/log", path);
	assert_string_equal(output("FI_LOG_LOCATION", file, say_in_file), "");
	fd = open(file, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	assert_non_null(strstr(text, "in a file\n"));
	assert_non_null(strstr(output("FI_LOG_LOCATION", file, say_in_file), "exists already"));
	unlink(file);
	rmdir(path);
}

/* As daemons do, which then open files of their own. */
static void say_after_close(void)
{
	const char *path = getenv("OTHER_FILE");
	int fd;

	say_in_file();
	for (fd = STDERR_FILENO + 1; fd < 100; fd++)
		close(fd);
	while ((fd = open(path, O_WRONLY | O_CREAT, 0600)) < 20)
		;
	say_in_file();
	ofi_log_fini();
	for (; fd > STDERR_FILENO; fd--)
		if (fcntl(fd, F_GETFD) < 0)
			dprintf(STDERR_FILENO, "closed");
}

/* Once the log's descriptor is closed, its number may be that of another file. */
static void test_closed(void **state)
{
	char path[] = "/tmp/test_log_XXXXXX", file[64], other[64];
	const char *text;
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(file, sizeof(file), "%s/log", path);
	snprintf(other, sizeof(other), "%s/other", path);
	setenv("OTHER_FILE", other, 1);
	text = output("FI_LOG_LOCATION", file, say_after_close);
	assert_non_null(strstr(text, "in a file\n"));
	assert_null(strstr(text, "closed"));
	assert_int_equal(stat(other, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(stat(file, &st), 0);
	assert_int_equal(st.st_size, strlen(text));
	unlink(file);
	unlink(other);
	rmdir(path);
}

static char last[128];
static uint64_t last_flags;

static int own_enabled(const struct fi_provider *prov, enum fi_log_level level,
		       enum fi_log_subsys subsys, uint64_t flags)
{
	(void)prov;
	(void)subsys;
	last_flags = flags;
	return level <= FI_LOG_INFO;
}

static int own_ready(const struct fi_provider *prov, enum fi_log_level level,
		     enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	(void)prov;
	(void)level;
	(void)subsys;
	last_flags = flags;
	(*showtime)++;
	return 7;
}

static void own_log(const struct fi_provider *prov, enum fi_log_level level,
		    enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	(void)level;
	(void)subsys;
	(void)func;
	(void)line;
	snprintf(last, sizeof(last), "%s %s", prov->name, msg);
}

static void test_import(void **state)
{
	struct fi_ops_log ops = { sizeof(ops), own_enabled, own_ready, own_log };
	struct fid_logging log = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	uint64_t showtime = 0;

	(void)state;
	assert_int_equal(fi_import_log(FI_VERSION(1, 13), 0, &log), 0);
	FI_INFO(&verbs, FI_LOG_CQ, "mine");
	assert_string_equal(last, "verbs mine");
	assert_int_equal(last_flags, 0);
	assert_int_equal(fi_log_enabled(&verbs, FI_LOG_DEBUG, FI_LOG_CQ), 0);
	assert_int_equal(fi_log_ready(&verbs, FI_LOG_WARN, FI_LOG_CQ, &showtime), 7);
	assert_int_equal(showtime, 1);
	assert_int_equal(fi_close(&log.fid), 0);
	assert_int_equal(fi_log_enabled(&verbs, FI_LOG_INFO, FI_LOG_CQ), 0);
}

/* The first message of a process is filtered, too. */
static void ready_first(void)
{
	struct fi_ops_log ops = { .size = sizeof(ops), .ready = own_ready };
	struct fid_logging log = { .fid.fclass = FI_CLASS_LOG, .ops = &ops };
	uint64_t showtime = 0;

	fi_import_log(FI_VERSION(1, 13), 0, &log);
	fi_log_ready(&verbs, FI_LOG_WARN, FI_LOG_CQ, &showtime);
	dprintf(STDERR_FILENO, "%s", last_flags == FI_LOG_PROV_FILTERED ? "filtered" : "not");
	fi_close(&log.fid);
}

static void test_import_first(void **state)
{
	(void)state;
	assert_string_equal(output("FI_LOG_PROV", "tcp", ready_first), "filtered");
	assert_string_equal(output("FI_LOG_PROV", "verbs", ready_first), "not");
}

static void test_import_errors(void **state)
{
	struct fid_logging log = { .fid.fclass = FI_CLASS_CQ };
	struct fid *fid, *second;

	(void)state;
	assert_int_equal(ofi_log_open(NULL, 0, 1, &fid, NULL), -FI_EBADFLAGS);
	assert_int_equal(ofi_log_open(&log, 1, 0, &fid, NULL), -FI_EINVAL);
	assert_int_equal(ofi_log_open(NULL, 0, 0, &fid, NULL), 0);
	assert_int_equal(ofi_log_open(NULL, 0, 0, &second, NULL), -FI_EALREADY);
	assert_int_equal(fi_import_fid(fid, &log.fid, 0), -FI_EINVAL);
	log.fid.fclass = FI_CLASS_LOG;
	assert_int_equal(fi_import_fid(fid, &log.fid, 0), -FI_EINVAL);
	assert_int_equal(fi_close(fid), 0);
	assert_int_equal(ofi_log_open(NULL, 0, 0, &fid, NULL), 0);
	assert_int_equal(fi_close(fid), 0);
}

int main(void)
{
	/* First those whose children read the environment: this process must not have done so. */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),	 cmocka_unit_test(test_bad_level),
		cmocka_unit_test(test_filters),	 cmocka_unit_test(test_form),
		cmocka_unit_test(test_interval), cmocka_unit_test(test_location),
		cmocka_unit_test(test_closed),	 cmocka_unit_test(test_import_first),
		cmocka_unit_test(test_import),	 cmocka_unit_test(test_import_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
