/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Common parts of the rows of tests/bench/instructions. */
#ifndef BENCH_INSTRUCTIONS_H
#define BENCH_INSTRUCTIONS_H

#include "pair.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else /* the rows run, but nothing is counted */
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_TOGGLE_COLLECT
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

#define REPEAT 64
#define BATCH  16
#define SIZE   8

struct row {
	const char *name;
	bool selective;
	int operations;
	void (*prepare)(struct pair *pair);
	/* The counted part. Returns false if completions are missing. */
	bool (*measure)(struct pair *pair);
	void (*finish)(struct pair *pair);
};

/* The last row of each has no name. */
extern const struct row rdm_rows[], rdm_window_rows[];

/* Lets the device finish asynchronous work. */
void settle(void);
void nothing(struct pair *pair);
/* Calls fi_send REPEAT times. */
bool post_sends(struct pair *pair);

#endif
