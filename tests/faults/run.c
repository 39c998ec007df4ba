/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The runs and their requirements: no crash, no hang, no leak, the right error, and a working
 * library afterward.
 */
#include "run.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "inject.h"
#include "script.h"

enum { RUN_SECONDS = 40, MOST = 5000 };

/*
 * With AddressSanitizer a run takes ten times as long: then, after the first few calls, not every
 * one fails.
 */
#ifdef __SANITIZE_ADDRESS__
enum { ALL = 6, STRIDE = 16 };
#else
enum { ALL = MOST, STRIDE = 1 };
#endif

/* In memory shared with the process of the run. */
struct report {
	struct outcome faulty,
		clean; /* with the failing call; again without, where that came early */
	bool happened;
	long live[2][INJECT_OBJECTS]; /* after each */
	long leaks[2];
	int fds[2];
};

static script_fn *script;
static struct report *report;
static struct report baseline;
static char log_name[] = "/tmp/faults.XXXXXX";

static int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

static void take_account(int i)
{
	enum inject_object object;

	for (object = 0; object < INJECT_OBJECTS; object++)
		report->live[i][object] = inject_live(object);
	report->leaks[i] = inject_leaks();
	report->fds[i] = count_fds();
}

static const char *to_arm; /* a function, and its call */
static unsigned int to_fail;

void script_begins(void)
{
	if (to_arm)
		inject_arm(to_arm, to_fail);
	to_arm = NULL;
}

static void run_in_child(const char *addr, const char *function, unsigned int n)
{
	if (!freopen(log_name, "w", stderr))
		_exit(9);
	alarm(RUN_SECONDS);
	to_arm = function;
	to_fail = n;
	script(addr, &report->faulty);
	report->happened = inject_happened();
	inject_disarm();
	take_account(0);
	/* A later failure has left nothing behind that affects another run. */
	if (function && report->faulty.connecting)
		_exit(0);
	script(addr, &report->clean);
	take_account(1);
	_exit(0);
}

/* Its wait status. */
static int run_once(const char *addr, const char *function, unsigned int n)
{
	int status = 0;
	pid_t pid;

	memset(report, 0, sizeof(*report));
	fflush(NULL);
	pid = fork();
	if (pid < 0) {
		perror("fork");
		exit(1);
	}
	if (!pid)
		run_in_child(addr, function, n);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Programs repeat a call that returns EAGAIN, so a shortage that does not pass is ENOMEM. */
static int reported(int injected)
{
	return injected == EAGAIN ? FI_ENOMEM : injected;
}

/*
 * An error that a call returns is the injected one. An event may also report what the other side
 * makes of it, or that an event was lost for lack of memory.
 */
static bool right_error(const struct outcome *outcome, int injected)
{
	if (!outcome->err || outcome->err == -reported(injected))
		return true;
	if (!outcome->by_event)
		return false;
	switch (-outcome->err) {
	case FI_ECONNREFUSED:
	case FI_ECONNABORTED:
	case FI_ECANCELED:
	case FI_ECONNRESET:
	case FI_EREMOTEIO:
		return true;
	case FI_EOVERRUN:
		return injected == ENOMEM;
	default:
		return false;
	}
}

static int complaints;

static void complain(const char *function, unsigned int n, const char *what, const char *detail,
		     long number)
{
	printf("  %s, call %u: %s %s (%ld)\n", function, n, what, detail, number);
	complaints++;
}

static void check_outcomes(const char *function, unsigned int n)
{
	const struct outcome *faulty = &report->faulty, *clean = &report->clean;

	if (faulty->timed_out)
		complain(function, n, "no word of the failure,", faulty->step, 0);
	else if (!right_error(faulty, inject_errno(function)))
		complain(function, n, fi_strerror(-faulty->err), faulty->step, faulty->err);
	if (faulty->close_err)
		complain(function, n, "fi_close:", fi_strerror(-faulty->close_err),
			 faulty->close_err);
	if (clean->err)
		complain(function, n, "afterwards:", clean->step, clean->err);
	if (clean->close_err)
		complain(function, n, "fi_close afterwards:", fi_strerror(-clean->close_err),
			 clean->close_err);
}

/* Descriptors opened at first use may stay. */
static void check_leaks(const char *function, unsigned int n)
{
	enum inject_object object;
	int i;

	for (i = 0; i < 2; i++)
		if (report->leaks[i])
			complain(function, n, "leak of memory,", report->faulty.step,
				 report->leaks[i]);
	for (i = 0; i < 2; i++)
		if (report->fds[i] > baseline.fds[i])
			complain(function, n, "leak of descriptors,", report->faulty.step,
				 report->fds[i] - baseline.fds[i]);
	for (object = INJECT_DEVICE_LIST; object < INJECT_OBJECTS; object++)
		for (i = 0; i < 2; i++)
			if (report->live[i][object])
				complain(function, n, "left:", inject_object_names[object],
					 report->live[i][object]);
}

static void check(const char *function, unsigned int n, int status)
{
	if (WIFSIGNALED(status)) {
		complain(function, n,
			 WTERMSIG(status) == SIGALRM ? "hangs, last step:" : "killed by a signal,",
			 report->clean.step[0] ? report->clean.step : report->faulty.step,
			 WTERMSIG(status));
	} else if (status) {
		complain(function, n, "ends,", report->faulty.step, WEXITSTATUS(status));
	} else {
		check_outcomes(function, n);
		check_leaks(function, n);
	}
}

static void show_log(void)
{
	FILE *file = fopen(log_name, "r");
	char line[512];
	int lines = 0;

	while (file && fgets(line, sizeof(line), file) && lines++ < 60)
		printf("    | %s", line);
	if (file)
		fclose(file);
}

/* Returns whether there was such a call. */
static bool try_point(const char *addr, const char *function, unsigned int n, bool verbose)
{
	int before = complaints, status = run_once(addr, function, n);

	check(function, n, status);
	if (complaints > before || verbose)
		show_log();
	if (verbose)
		printf("  %s, call %u: %s; %s, %s\n", function, n,
		       report->happened ? "failed" : "did not come", report->faulty.step,
		       report->faulty.err ? fi_strerror(-report->faulty.err) : "no error");
	return report->happened || status;
}

static int try_function(const char *addr, const char *function)
{
	unsigned int n, tried = 0, clean = 0;
	int before;

	for (n = 1; n < MOST; n += n < ALL ? 1 : STRIDE) {
		before = complaints;
		if (!try_point(addr, function, n, false))
			break;
		tried++;
		clean += complaints == before;
	}
	printf("%s: %u points, %u clean\n", function, tried, clean);
	fflush(stdout);
	return clean < tried || n >= MOST;
}

static int measure_baseline(const char *addr)
{
	int status = run_once(addr, NULL, 0);

	baseline = *report;
	if (!status && baseline.faulty.err == -FI_ENODATA && !getenv("WEFT_DEVICE")) {
		puts("no verbs device: run this with tests/vm/run");
		return 77;
	}
	check("nothing", 0, status);
	if (!status && baseline.faulty.err)
		complain("nothing", 0, fi_strerror(-baseline.faulty.err), baseline.faulty.step,
			 baseline.faulty.err);
	if (complaints)
		show_log();
	return complaints ? 1 : 0;
}

int run_faults(int argc, char **argv, const char *const *functions)
{
	return run_faults_of(argc, argv, functions, script_run);
}

int run_faults_of(int argc, char **argv, const char *const *functions, script_fn *of)
{
	const char *addr = getenv("WEFT_ADDR");
	int fd = mkstemp(log_name), ret;

	script = of;
	report = mmap(NULL, sizeof(*report), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (fd < 0 || report == MAP_FAILED)
		return 1;
	if (!addr || !inject_install()) {
		puts(addr ? "libfabric is no shared library here"
			  : "WEFT_ADDR is not set: run this with tests/vm/run");
		unlink(log_name);
		return 77;
	}
	ret = measure_baseline(addr);
	if (!ret && argc > 2)
		ret = !try_point(addr, argv[1], (unsigned int)atoi(argv[2]), true);
	else if (!ret && argc > 1)
		ret = try_function(addr, argv[1]);
	for (; !ret && argc < 2 && *functions; functions++)
		try_function(addr, *functions);
	unlink(log_name);
	return ret ? ret : complaints > 0;
}
