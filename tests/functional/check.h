/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failing, skipping and waiting in tests. A failure prints its file and line and ends the process;
 * everything that waits has a deadline. A test runs in a separate process, so that its death by a
 * signal is reported.
 */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WAIT_MS 20000 /* limit for events that take milliseconds on an idle machine */
#define TEST_S	140   /* limit for a whole test */

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
/* For calls that return 0 or -FI_E*: prints the meaning of the number. */
#define RETURNS(call, want) returns_at(__FILE__, __LINE__, #call, (call), (want))
#define OK(call)	    RETURNS(call, 0)

uint64_t now_ms(void);
void sleep_ms(int ms);

/* Returns a deadline, for use as in for (t = deadline(); !done; pause_until(t, "...")) */
uint64_t deadline(void);
/* Lets other threads run; fails after the deadline. */
void pause_until(uint64_t end, const char *what);
struct fid;
/* Sleeps on the descriptor of FI_GETWAIT until it is readable. */
void sleep_on_fd(struct fid *fid);

/* Fills a buffer with bytes that depend on seed and position. */
void fill(void *buf, size_t len, unsigned int seed);
void check_filled_at(const char *file, int line, const void *buf, size_t len, unsigned int seed);
#define CHECK_FILLED(buf, len, seed) check_filled_at(__FILE__, __LINE__, buf, len, seed)

/*
 * Runs a test in a child with a time limit. Returns its exit status; prints any other end and
 * returns 1.
 */
int run_apart(const char *name, void (*test)(void *arg), void *arg);
/* Allows this process to end without closing everything: LeakSanitizer ignores its exit. */
void allow_leaks(void);
/* Runs a test without a peer, for use in main(). */
int run_test(void (*test)(void));

/* Returns an environment variable that describes the device; skips the test if it is unset. */
const char *need_env(const char *name);
/* Returns the number of this process's mappings whose lines in /proc have this text. */
int count_maps(const char *text);
/* Skips the test except in a tests/vm virtual machine, which may be broken. */
void need_vm(void);
/* Runs a shell command, which must succeed. */
void shell(const char *command);

#endif
