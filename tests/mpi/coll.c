/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collective operations with small and large contributions. */
#include "accept.h"

#include <stdlib.h>

static const int counts[] = { 1, 13, 1000, 40000 };

enum { COUNTS = 4 };

static int *numbers(int count)
{
	return alloc((size_t)count * sizeof(int));
}

void part_barrier(void)
{
	int i, turn;

	for (i = 0; i < 50; i++) {
		turn = i;
		MPI(MPI_Barrier(MPI_COMM_WORLD));
		MPI(MPI_Bcast(&turn, 1, MPI_INT, i % size, MPI_COMM_WORLD));
		CHECK(turn == i);
	}
}

/* Broadcast, gather and scatter with each rank as the root. */
void part_rooted(void)
{
	int *one, *all, c, root, i, r;

	for (c = 0; c < COUNTS; c++) {
		int n = counts[c];

		one = numbers(n);
		all = numbers(n * size);
		for (root = 0; root < size; root++) {
			for (i = 0; i < n; i++)
				one[i] = rank == root ? root + i : -1;
			MPI(MPI_Bcast(one, n, MPI_INT, root, MPI_COMM_WORLD));
			for (i = 0; i < n; i++)
				CHECK(one[i] == root + i);
			for (i = 0; i < n; i++)
				one[i] = rank * n + i;
			MPI(MPI_Gather(one, n, MPI_INT, all, n, MPI_INT, root, MPI_COMM_WORLD));
			for (i = 0; rank == root && i < n * size; i++)
				CHECK(all[i] == i);
			for (i = 0; rank == root && i < n * size; i++)
				all[i] = i + root;
			MPI(MPI_Scatter(all, n, MPI_INT, one, n, MPI_INT, root, MPI_COMM_WORLD));
			for (i = 0, r = rank * n + root; i < n; i++)
				CHECK(one[i] == r + i);
		}
		free(one);
		free(all);
	}
}

void part_reduce(void)
{
	double value = rank + 1, product = 0;
	int *in, *out, c, i, root;
	struct {
		double value;
		int rank;
	} mine = { rank == size / 2 ? -1 : rank, rank }, least;

	for (c = 0; c < COUNTS; c++) {
		int n = counts[c];

		in = numbers(n);
		out = numbers(n);
		for (i = 0; i < n; i++)
			in[i] = rank + i;
		MPI(MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		for (i = 0; i < n; i++)
			CHECK(out[i] == size * (size - 1) / 2 + i * size);
		MPI(MPI_Scan(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
		for (i = 0; i < n; i++)
			CHECK(out[i] == rank * (rank + 1) / 2 + i * (rank + 1));
		for (root = 0; root < size; root++) {
			MPI(MPI_Reduce(in, out, n, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD));
			for (i = 0; rank == root && i < n; i++)
				CHECK(out[i] == size - 1 + i);
		}
		free(in);
		free(out);
	}
	MPI(MPI_Allreduce(&value, &product, 1, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD));
	for (i = 1; i <= size; i++)
		product /= i;
	CHECK(product > .999 && product < 1.001);
	MPI(MPI_Allreduce(&mine, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD));
	CHECK(least.value == -1 && least.rank == size / 2);
}

/* Everybody to everybody, with different lengths too. */
void part_all(void)
{
	int *in, *out, *lens = numbers(size), *at = numbers(size), c, i, r, total;

	for (c = 0; c < COUNTS; c++) {
		int n = counts[c];

		in = numbers(n * size);
		out = numbers(n * size);
		for (i = 0; i < n * size; i++)
			in[i] = rank * 100000 + i;
		MPI(MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD));
		for (r = 0; r < size; r++)
			for (i = 0; i < n; i++)
				CHECK(out[r * n + i] == r * 100000 + i);
		MPI(MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD));
		for (r = 0; r < size; r++)
			for (i = 0; i < n; i++)
				CHECK(out[r * n + i] == r * 100000 + rank * n + i);
		for (r = total = 0; r < size; r++) {
			lens[r] = n * (r + 1) / size;
			at[r] = total;
			total += lens[r];
		}
		MPI(MPI_Allgatherv(in, lens[rank], MPI_INT, out, lens, at, MPI_INT,
				   MPI_COMM_WORLD));
		for (r = 0; r < size; r++)
			for (i = 0; i < lens[r]; i++)
				CHECK(out[at[r] + i] == r * 100000 + i);
		free(in);
		free(out);
	}
	free(lens);
	free(at);
}
