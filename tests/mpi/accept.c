/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Runs the parts named as arguments, or all; the first rank prints the result of each. */
#include "accept.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rank, size;

static const char *current;

static const struct part {
	const char *name;
	void (*run)(void);
} parts[] = {
	{ "hello", part_hello },
	{ "sizes", part_sizes },
	{ "shuffled", part_shuffled },
	{ "flood", part_flood },
	{ "ssend", part_ssend },
	{ "types", part_types },
	{ "wildcards", part_wildcards },
	{ "order", part_order },
	{ "probe", part_probe },
	{ "mprobe", part_mprobe },
	{ "cancel", part_cancel },
	{ "truncate", part_truncate },
	{ "split", part_split },
	{ "barrier", part_barrier },
	{ "rooted", part_rooted },
	{ "reduce", part_reduce },
	{ "all", part_all },
	{ "fence", part_fence },
	{ "lock", part_lock },
	{ "pscw", part_pscw },
	{ "accumulate", part_accumulate },
	{ "fetch", part_fetch },
	{ "swap", part_swap },
};

void fail_at(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: rank %d: %s:%d: ", current, rank, file, line);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	MPI_Abort(MPI_COMM_WORLD, 1);
	abort();
}

void fill(void *buf, size_t len, unsigned int seed)
{
	unsigned char *bytes = buf;
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (unsigned char)((i * 2654435761u + seed * 40503u) >> 11);
}

void check_filled(const char *what, const void *buf, size_t len, unsigned int seed)
{
	const unsigned char *bytes = buf;
	size_t i;

	for (i = 0; i < len; i++)
		if (bytes[i] != (unsigned char)((i * 2654435761u + seed * 40503u) >> 11))
			FAIL("%s: byte %zu of %zu is wrong", what, i, len);
}

void *alloc(size_t len)
{
	void *buf = malloc(len ? len : 1);

	if (!buf)
		FAIL("out of memory: %zu B", len);
	memset(buf, 0x5a, len);
	return buf;
}

unsigned int next_random(unsigned int *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void run(const struct part *part)
{
	double start = MPI_Wtime();

	current = part->name;
	part->run();
	MPI(MPI_Barrier(MPI_COMM_WORLD));
	if (!rank) {
		printf("ok mpi_%s (%d ranks, %.1f s)\n", part->name, size, MPI_Wtime() - start);
		fflush(stdout);
	}
}

static int is_asked(const char *name, int count, char **names)
{
	int i;

	for (i = 0; i < count; i++)
		if (!strcmp(names[i], name))
			return 1;
	return !count;
}

/* A program that was built for another MPI starts as that many programs of one rank. */
static void check_size(void)
{
	const char *asked = getenv("WEFT_RANKS");

	current = "start";
	if (asked && size != atoi(asked))
		FAIL("%d ranks instead of %s: built for another MPI?", size, asked);
}

int main(int argc, char **argv)
{
	size_t i;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	check_size();
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (is_asked(parts[i].name, argc - 1, argv + 1))
			run(&parts[i]);
	current = "finalize";
	MPI_Finalize();
	return 0;
}
