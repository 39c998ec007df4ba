/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which receive a message matches: wildcards, order, probes, canceled and too short receives,
 * communicators.
 */
#include "accept.h"

#include <stdlib.h>
#include <string.h>

enum { MANY = 300 };

/*
 * The first rank receives from all with MPI_ANY_SOURCE and MPI_ANY_TAG; the messages of each rank
 * keep their order.
 */
void part_wildcards(void)
{
	int *next = alloc(size * sizeof(*next)), i, value;
	MPI_Status status;

	if (rank) {
		for (i = 0; i < MANY; i++) {
			value = rank * 10000 + i;
			MPI(MPI_Send(&value, 1, MPI_INT, 0, i % 5, MPI_COMM_WORLD));
		}
		free(next);
		return;
	}
	for (i = 0; i < size; i++)
		next[i] = 0;
	for (i = 0; i < MANY * (size - 1); i++) {
		MPI(MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			     &status));
		CHECK(value == status.MPI_SOURCE * 10000 + next[status.MPI_SOURCE]);
		CHECK(status.MPI_TAG == next[status.MPI_SOURCE] % 5);
		next[status.MPI_SOURCE]++;
	}
	free(next);
}

/* Small and large messages with one tag arrive in the order in which they were sent. */
void part_order(void)
{
	static const int lens[] = { 4, 100000, 16, 20000, 1000, 300000, 4, 64 };
	int peer = rank ^ 1, i;
	MPI_Request requests[64];
	char *out[64], *in;

	if (peer >= size)
		return;
	in = alloc(300000);
	for (i = 0; i < 64; i++) {
		out[i] = alloc(lens[i % 8]);
		fill(out[i], lens[i % 8], rank * 64 + i);
		MPI(MPI_Isend(out[i], lens[i % 8], MPI_BYTE, peer, 5, MPI_COMM_WORLD,
			      &requests[i]));
	}
	for (i = 0; i < 64; i++) {
		MPI(MPI_Recv(in, 300000, MPI_BYTE, i % 2 ? peer : MPI_ANY_SOURCE,
			     i % 3 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		check_filled("order", in, lens[i % 8], peer * 64 + i);
	}
	MPI(MPI_Waitall(64, requests, MPI_STATUSES_IGNORE));
	for (i = 0; i < 64; i++)
		free(out[i]);
	free(in);
}

void part_probe(void)
{
	static const int lens[] = { 0, 40, 9000, 150000 };
	int peer = rank ^ 1, i, count, there;
	MPI_Request requests[4];
	MPI_Status status;
	char *out, *in;

	if (peer >= size)
		return;
	MPI(MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &there, &status));
	CHECK(!there);
	out = alloc(150000);
	fill(out, 150000, rank);
	for (i = 0; i < 4; i++)
		MPI(MPI_Isend(out, lens[i], MPI_BYTE, peer, 10 + i, MPI_COMM_WORLD, &requests[i]));
	for (i = 3; i >= 0; i--) {
		MPI(MPI_Probe(MPI_ANY_SOURCE, 10 + i, MPI_COMM_WORLD, &status));
		MPI(MPI_Get_count(&status, MPI_BYTE, &count));
		CHECK(count == lens[i] && status.MPI_SOURCE == peer);
		in = alloc(count);
		MPI(MPI_Recv(in, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
			     &status));
		check_filled("probe", in, count, peer);
		free(in);
	}
	MPI(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE));
	free(out);
}

/* A message found by a probe belongs to the prober: a matching receive does not get it. */
void part_mprobe(void)
{
	int peer = rank ^ 1, first = 1, second = 2, got = 0, count, there;
	MPI_Message message;
	MPI_Status status;
	char *big, *in;

	if (peer >= size)
		return;
	big = alloc(200000);
	fill(big, 200000, rank);
	if (rank & 1) {
		MPI(MPI_Send(&first, 1, MPI_INT, peer, 6, MPI_COMM_WORLD));
		MPI(MPI_Send(&second, 1, MPI_INT, peer, 6, MPI_COMM_WORLD));
		MPI(MPI_Send(big, 200000, MPI_BYTE, peer, 6, MPI_COMM_WORLD));
	} else {
		MPI(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status));
		MPI(MPI_Recv(&got, 1, MPI_INT, peer, 6, MPI_COMM_WORLD, &status));
		CHECK(got == second);
		MPI(MPI_Mrecv(&got, 1, MPI_INT, &message, &status));
		CHECK(got == first);
		do {
			MPI(MPI_Improbe(peer, 6, MPI_COMM_WORLD, &there, &message, &status));
		} while (!there);
		MPI(MPI_Get_count(&status, MPI_BYTE, &count));
		CHECK(count == 200000);
		in = alloc(count);
		MPI(MPI_Mrecv(in, count, MPI_BYTE, &message, &status));
		check_filled("mprobe", in, count, peer);
		free(in);
	}
	free(big);
}

/* A cancelled receive takes no message; the next one does. */
void part_cancel(void)
{
	int peer = rank ^ 1, value = rank, got[2] = { -1, -1 }, cancelled;
	MPI_Request request;
	MPI_Status status;

	if (peer >= size)
		return;
	MPI(MPI_Irecv(&got[0], 1, MPI_INT, peer, 20, MPI_COMM_WORLD, &request));
	MPI(MPI_Cancel(&request));
	MPI(MPI_Wait(&request, &status));
	MPI(MPI_Test_cancelled(&status, &cancelled));
	CHECK(cancelled);
	MPI(MPI_Sendrecv(&value, 1, MPI_INT, peer, 21, &got[1], 1, MPI_INT, peer, 21,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	MPI(MPI_Sendrecv(&value, 1, MPI_INT, peer, 20, &got[1], 1, MPI_INT, peer, 20,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	CHECK(got[0] == -1 && got[1] == peer);
}

/* A message longer than the receive is an error of that receive alone. */
void part_truncate(void)
{
	static const int lens[] = { 100, 20000, 200000 };
	int peer = rank ^ 1, i, ret, class;
	MPI_Request request;
	char *out, *in;

	if (peer >= size)
		return;
	MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
	out = alloc(200000);
	in = alloc(200000);
	for (i = 0; i < 3; i++) {
		fill(out, lens[i], rank);
		memset(in, 0x5a, 200000);
		MPI(MPI_Isend(out, lens[i], MPI_BYTE, peer, 30, MPI_COMM_WORLD, &request));
		ret = MPI_Recv(in, lens[i] / 2, MPI_BYTE, peer, 30, MPI_COMM_WORLD,
			       MPI_STATUS_IGNORE);
		MPI_Error_class(ret, &class);
		CHECK(ret != MPI_SUCCESS && class == MPI_ERR_TRUNCATE);
		CHECK(in[lens[i] / 2] == 0x5a && in[lens[i] - 1] == 0x5a);
		MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
	}
	MPI(MPI_Sendrecv(out, 100, MPI_BYTE, peer, 31, in, 100, MPI_BYTE, peer, 31, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE));
	check_filled("after truncation", in, 100, peer);
	MPI(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
	free(in);
	free(out);
}

/* The same source and tag in two communicators are two messages. */
void part_split(void)
{
	int other = 0, mine, half_rank, half_size, sum = 0, got[2];
	MPI_Request requests[2];
	MPI_Comm copy, half;

	MPI(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
	mine = rank * 2;
	MPI(MPI_Irecv(&got[0], 1, MPI_INT, rank, 1, copy, &requests[0]));
	MPI(MPI_Irecv(&got[1], 1, MPI_INT, rank, 1, MPI_COMM_WORLD, &requests[1]));
	MPI(MPI_Send(&mine, 1, MPI_INT, rank, 1, MPI_COMM_WORLD));
	MPI(MPI_Send(&other, 1, MPI_INT, rank, 1, copy));
	MPI(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
	CHECK(got[0] == 0 && got[1] == mine);

	MPI(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half));
	MPI(MPI_Comm_rank(half, &half_rank));
	MPI(MPI_Comm_size(half, &half_size));
	MPI(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, half));
	CHECK(half_size == (size + 1 - rank % 2) / 2);
	CHECK(sum == half_size * (half_size - 1) + half_size * (rank % 2));
	CHECK(half_rank == half_size - 1 - rank / 2);
	MPI(MPI_Comm_free(&half));
	MPI(MPI_Comm_free(&copy));
}
