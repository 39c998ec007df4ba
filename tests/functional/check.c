/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Failing, skipping and waiting. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include "check.h"
#include "gpu.h"

_Noreturn void fail_at(const char *file, int line, const char *format, ...)
{
	const char *base = strrchr(file, '/');
	va_list args;

	fflush(stdout);
	fprintf(stderr, "%s:%d: ", base ? base + 1 : file, line);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

_Noreturn void skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	fflush(stdout);
	_exit(77);
}

void equal_at(const char *file, int line, const char *what, long long got, const char *expected,
	      long long want)
{
	if (got != want)
		fail_at(file, line, "%s is %lld (0x%llx), not %s = %lld (0x%llx)", what, got, got,
			expected, want, want);
}

static const char *result(ssize_t ret)
{
	return ret < 0 ? fi_strerror((int)-ret) : "no error";
}

void returns_at(const char *file, int line, const char *call, ssize_t got, ssize_t want)
{
	if (got != want)
		fail_at(file, line, "%s gives %zd (%s), not %zd (%s)", call, got, result(got), want,
			result(want));
}

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void sleep_ms(int ms)
{
	struct timespec time = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L };

	while (nanosleep(&time, &time) && errno == EINTR)
		;
}

uint64_t deadline(void)
{
	return now_ms() + WAIT_MS;
}

void sleep_on_fd(struct fid *fid)
{
	struct pollfd fds = { .events = POLLIN };

	OK(fi_control(fid, FI_GETWAIT, &fds.fd));
	if (poll(&fds, 1, WAIT_MS) != 1)
		FAIL("a wakeup is lost");
}

void pause_until(uint64_t end, const char *what)
{
	if (now_ms() > end)
		FAIL("%s: did not happen within the time", what);
	sched_yield();
}

/* A multiplicative sequence: no two nearby positions or seeds look alike. */
static uint32_t pattern(size_t word, unsigned int seed)
{
	return ((uint32_t)word * 2654435761u) ^ (seed * 2246822519u);
}

static void fill_here(void *buf, size_t len, unsigned int seed)
{
	uint8_t *bytes = buf;
	uint32_t word;
	size_t i;

	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		word = pattern(i, seed);
		memcpy(bytes + i, &word, sizeof(word));
	}
	word = pattern(i, seed);
	memcpy(bytes + i, &word, len - i);
}

void fill(void *buf, size_t len, unsigned int seed)
{
	void *bytes;

	if (!gpu) {
		fill_here(buf, len, seed);
		return;
	}
	bytes = malloc(len + 1);
	CHECK(bytes);
	fill_here(bytes, len, seed);
	mem_put(buf, bytes, len);
	free(bytes);
}

static void check_here(const char *file, int line, const void *buf, size_t len, unsigned int seed)
{
	const uint8_t *bytes = buf;
	uint32_t want;
	size_t i, n;

	for (i = 0; i < len; i += n) {
		n = len - i < sizeof(want) ? len - i : sizeof(want);
		want = pattern(i, seed);
		if (memcmp(bytes + i, &want, n))
			fail_at(file, line, "of %zu bytes those from %zu on are wrong (seed %u)",
				len, i, seed);
	}
}

void check_filled_at(const char *file, int line, const void *buf, size_t len, unsigned int seed)
{
	void *bytes;

	if (!gpu) {
		check_here(file, line, buf, len, seed);
		return;
	}
	bytes = malloc(len + 1);
	CHECK(bytes);
	mem_get(bytes, buf, len);
	check_here(file, line, bytes, len, seed);
	free(bytes);
}

int run_apart(const char *name, void (*test)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	setvbuf(stdout, NULL, _IOLBF, 0); /* the output of a killed test is useful */
	pid = fork();
	if (pid < 0)
		FAIL("fork: %s", strerror(errno));
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(TEST_S);
		test(arg);
		exit(0);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			FAIL("waitpid: %s", strerror(errno));
	if (WIFEXITED(status) && (!WEXITSTATUS(status) || WEXITSTATUS(status) == 77))
		return WEXITSTATUS(status);
	if (WIFEXITED(status))
		fprintf(stderr, "%s: exit status %d\n", name, WEXITSTATUS(status));
	else if (WTERMSIG(status) == SIGALRM)
		fprintf(stderr, "%s: not done after %d s\n", name, TEST_S);
	else
		fprintf(stderr, "%s: killed by SIG%s\n", name, sigabbrev_np(WTERMSIG(status)));
	return 1;
}

static void call_test(void *arg)
{
	void (**test)(void) = arg;

	(*test)();
}

int run_test(void (*test)(void))
{
	return run_apart("test", call_test, &test);
}

const char *need_env(const char *name)
{
	const char *value = getenv(name);

	if (!value || !*value)
		skip("%s is not set: run this with tests/vm/run", name);
	return value;
}

int count_maps(const char *text)
{
	FILE *file = fopen("/proc/self/maps", "r");
	char line[512];
	int count = 0;

	CHECK(file);
	while (fgets(line, sizeof(line), file))
		count += strstr(line, text) != NULL;
	fclose(file);
	return count;
}

void need_vm(void)
{
	char line[4096] = "";
	FILE *file = fopen("/proc/cmdline", "r");

	if (file && !fgets(line, sizeof(line), file))
		line[0] = 0;
	if (file)
		fclose(file);
	if (!strstr(line, "weft.guest="))
		skip("breaks the machine's network: only in a virtual machine of tests/vm/run");
}

void shell(const char *command)
{
	int status = system(command);

	if (status)
		FAIL("`%s`: status 0x%x", command, status);
}

static bool leaks_allowed;

void allow_leaks(void)
{
	leaks_allowed = true;
}

/* LeakSanitizer calls this at the end. */
__attribute__((visibility("default"))) int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void)
{
	return leaks_allowed;
}
