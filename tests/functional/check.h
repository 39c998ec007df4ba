/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a test fails, skips and waits. A failure names its file and line and ends the process;
 * whatever waits has a deadline. A test is run in a process of its own, so that what kills it is
 * reported.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WAIT_MS 20000 /* for what happens in milliseconds on an idle machine */
#define TEST_S	140   /* for a whole test */

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

_Noreturn void fail_at(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
void equal_at(const char *file, int line, const char *what, long long got, const char *expected,
	      long long want);
void returns_at(const char *file, int line, const char *call, ssize_t got, ssize_t want);

#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(condition) \
	((condition) ? (void)0 : fail_at(__FILE__, __LINE__, "not true: %s", #condition))
#define EQUAL(got, want) \
	equal_at(__FILE__, __LINE__, #got, (long long)(got), #want, (long long)(want))
/* Of calls that return 0 or -FI_E*: prints what the number means. */
#define RETURNS(call, want) returns_at(__FILE__, __LINE__, #call, (call), (want))
#define OK(call)	    RETURNS(call, 0)

uint64_t now_ms(void);
void sleep_ms(int ms);

/*
 * A point in time, and whether it is over. To be used as: for (t = deadline(); !done;
 * pause_until(t, "..."))
 */
uint64_t deadline(void);
/* Lets others run; fails when the deadline is over. */
void pause_until(uint64_t end, const char *what);

/* Bytes that differ with seed and position. */
void fill(void *buf, size_t len, unsigned int seed);
void check_filled_at(const char *file, int line, const void *buf, size_t len, unsigned int seed);
#define CHECK_FILLED(buf, len, seed) check_filled_at(__FILE__, __LINE__, buf, len, seed)

/*
 * Runs test in a child with a time limit. Returns its exit status; what else may end it is told and
 * gives 1.
 */
int run_apart(const char *name, void (*test)(void *arg), void *arg);
/* This process may end without closing what it has: LeakSanitizer does not look at its end. */
void allow_leaks(void);
/* A test without a peer, as main does it. */
int run_test(void (*test)(void));

/* What a device-specific test needs: an environment variable, or the test is skipped. */
const char *need_env(const char *name);
/* Skips unless this is a virtual machine of tests/vm, which may be broken. */
void need_vm(void);
/* Runs a shell command, which must succeed. */
void shell(const char *command);

#endif
