/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One-sided communication in each kind of epoch. */
#include "accept.h"

#include <stdlib.h>

enum { WORDS = 50000, ADDS = 100 };

static int right(void)
{
	return (rank + 1) % size;
}

static int left(void)
{
	return (rank + size - 1) % size;
}

static long *open_window(size_t words, MPI_Win *win)
{
	long *base;
	size_t i;

	MPI(MPI_Win_allocate((MPI_Aint)(words * sizeof(long)), sizeof(long), MPI_INFO_NULL,
			     MPI_COMM_WORLD, &base, win));
	MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, *win));
	for (i = 0; i < words; i++)
		base[i] = 0;
	MPI(MPI_Win_unlock(rank, *win));
	MPI(MPI_Barrier(MPI_COMM_WORLD));
	return base;
}

/* Puts to the right and gets from the left between fences, small and large. */
void part_fence(void)
{
	static const int counts[] = { 1, 500, WORDS };
	long *base, *out = alloc(WORDS * sizeof(long)), *in = alloc(WORDS * sizeof(long));
	MPI_Win win;
	int c, i;

	base = open_window(WORDS, &win);
	for (c = 0; c < 3; c++) {
		for (i = 0; i < counts[c]; i++)
			out[i] = rank * 1000000L + i + c;
		MPI(MPI_Win_fence(0, win));
		MPI(MPI_Put(out, counts[c], MPI_LONG, right(), 0, counts[c], MPI_LONG, win));
		MPI(MPI_Win_fence(0, win));
		for (i = 0; i < counts[c]; i++)
			CHECK(base[i] == left() * 1000000L + i + c);
		MPI(MPI_Get(in, counts[c], MPI_LONG, right(), 0, counts[c], MPI_LONG, win));
		MPI(MPI_Win_fence(0, win));
		for (i = 0; i < counts[c]; i++)
			CHECK(in[i] == rank * 1000000L + i + c);
	}
	MPI(MPI_Win_free(&win));
	free(in);
	free(out);
}

/* Under an exclusive lock a read, an addition and a write are one step. */
void part_lock(void)
{
	long *base, value;
	MPI_Win win;
	int i;

	base = open_window(4, &win);
	for (i = 0; i < ADDS; i++) {
		MPI(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
		MPI(MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
		MPI(MPI_Win_flush(0, win));
		value++;
		MPI(MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
		MPI(MPI_Win_unlock(0, win));
	}
	MPI(MPI_Barrier(MPI_COMM_WORLD));
	if (!rank) {
		MPI(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
		CHECK(base[0] == (long)ADDS * size);
		MPI(MPI_Win_unlock(0, win));
	}
	MPI(MPI_Win_free(&win));
}

/* Post, start, complete, wait. */
void part_pscw(void)
{
	int to = right(), from = left(), i;
	MPI_Group world, origin, target;
	long *base, value;
	MPI_Win win;

	base = open_window(8, &win);
	MPI(MPI_Comm_group(MPI_COMM_WORLD, &world));
	MPI(MPI_Group_incl(world, 1, &from, &origin));
	MPI(MPI_Group_incl(world, 1, &to, &target));
	for (i = 0; i < 20; i++) {
		value = rank * 100 + i;
		MPI(MPI_Win_post(origin, 0, win));
		MPI(MPI_Win_start(target, 0, win));
		MPI(MPI_Put(&value, 1, MPI_LONG, to, i % 8, 1, MPI_LONG, win));
		MPI(MPI_Win_complete(win));
		MPI(MPI_Win_wait(win));
		CHECK(base[i % 8] == from * 100 + i);
	}
	MPI(MPI_Group_free(&origin));
	MPI(MPI_Group_free(&target));
	MPI(MPI_Group_free(&world));
	MPI(MPI_Win_free(&win));
}

void part_accumulate(void)
{
	long *base, ones[64], i;
	MPI_Win win;

	base = open_window(64, &win);
	for (i = 0; i < 64; i++)
		ones[i] = i;
	MPI(MPI_Win_fence(0, win));
	for (i = 0; i < ADDS; i++)
		MPI(MPI_Accumulate(ones, 64, MPI_LONG, (int)(i % size), 0, 64, MPI_LONG, MPI_SUM,
				   win));
	MPI(MPI_Win_fence(0, win));
	for (i = 0; i < 64; i++)
		CHECK(base[i] == i * size * (ADDS / size + (rank < ADDS % size)));
	MPI(MPI_Win_free(&win));
}

/* Tickets are given out once each. */
void part_fetch(void)
{
	long *base, one = 1, ticket, previous = -1;
	MPI_Win win;
	int i;

	base = open_window(1, &win);
	MPI(MPI_Win_lock_all(0, win));
	for (i = 0; i < ADDS; i++) {
		MPI(MPI_Fetch_and_op(&one, &ticket, MPI_LONG, 0, 0, MPI_SUM, win));
		MPI(MPI_Win_flush(0, win));
		CHECK(ticket > previous && ticket < (long)ADDS * size);
		previous = ticket;
	}
	MPI(MPI_Win_unlock_all(win));
	MPI(MPI_Barrier(MPI_COMM_WORLD));
	MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
	if (!rank)
		CHECK(base[0] == (long)ADDS * size);
	MPI(MPI_Win_unlock(rank, win));
	MPI(MPI_Win_free(&win));
}

/* Compare-and-swap loops count as far as all together try. */
void part_swap(void)
{
	long *base, seen = 0, expected, wanted;
	MPI_Win win;
	int i;

	base = open_window(1, &win);
	MPI(MPI_Win_lock_all(0, win));
	for (i = 0; i < ADDS;) {
		expected = seen;
		wanted = expected + 1;
		MPI(MPI_Compare_and_swap(&wanted, &expected, &seen, MPI_LONG, 0, 0, win));
		MPI(MPI_Win_flush(0, win));
		i += seen == expected;
		seen = seen == expected ? wanted : seen;
	}
	MPI(MPI_Win_unlock_all(win));
	MPI(MPI_Barrier(MPI_COMM_WORLD));
	MPI(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win));
	if (!rank)
		CHECK(base[0] == (long)ADDS * size);
	MPI(MPI_Win_unlock(rank, win));
	MPI(MPI_Win_free(&win));
}
