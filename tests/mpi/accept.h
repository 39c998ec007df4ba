/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The uses of an MPI library over libfabric: parts of one program, each for all ranks. */
#ifndef ACCEPT_H
#define ACCEPT_H

#include <stddef.h>
#include <mpi.h>

extern int rank, size;

_Noreturn void fail_at(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define FAIL(...) fail_at(__FILE__, __LINE__, __VA_ARGS__)
#define CHECK(condition) \
	((condition) ? (void)0 : fail_at(__FILE__, __LINE__, "not true: %s", #condition))
#define MPI(call) \
	((call) == MPI_SUCCESS ? (void)0 : fail_at(__FILE__, __LINE__, "failed: %s", #call))

/* Fills a buffer with bytes that depend on seed and position. */
void fill(void *buf, size_t len, unsigned int seed);
void check_filled(const char *what, const void *buf, size_t len, unsigned int seed);
void *alloc(size_t len);
/* Returns the same sequence on all ranks. */
unsigned int next_random(unsigned int *state);

/* Point to point (p2p.c). */
void part_hello(void);
void part_sizes(void);
void part_shuffled(void);
void part_flood(void);
void part_ssend(void);
void part_types(void);
/* Matching (match.c). */
void part_wildcards(void);
void part_order(void);
void part_probe(void);
void part_mprobe(void);
void part_cancel(void);
void part_truncate(void);
void part_split(void);
/* Collectives (coll.c). */
void part_barrier(void);
void part_rooted(void);
void part_reduce(void);
void part_all(void);
/* One-sided (rma.c). */
void part_fence(void);
void part_lock(void);
void part_pscw(void);
void part_accumulate(void);
void part_fetch(void);
void part_swap(void);

#endif
