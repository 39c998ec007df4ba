/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages between two ranks: each protocol's sizes, in any order, unexpected, synchronous,
 * scattered.
 */
#include "accept.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 16 << 20, PARTNERS = 64, FLOOD = 2000, FLOOD_LEN = 3000 };

/* Each rank sends to its right, gets from its left. */
static int right(void)
{
	return (rank + 1) % size;
}

static int left(void)
{
	return (rank + size - 1) % size;
}

void part_hello(void)
{
	int got = -1, sum = 0, i;

	MPI(MPI_Sendrecv(&rank, 1, MPI_INT, right(), 1, &got, 1, MPI_INT, left(), 1, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE));
	CHECK(got == left());
	for (i = 0; i < size; i++) {
		got = rank == i ? i + 1 : 0;
		MPI(MPI_Bcast(&got, 1, MPI_INT, i, MPI_COMM_WORLD));
		sum += got;
	}
	CHECK(sum == size * (size + 1) / 2);
}

static void ping_pong(char *buf, size_t len, unsigned int seed)
{
	int peer = rank ^ 1;
	MPI_Status status;
	int count;

	if (peer >= size)
		return;
	if (rank & 1) {
		memset(buf, 0, len);
		MPI(MPI_Recv(buf, (int)len, MPI_BYTE, peer, 7, MPI_COMM_WORLD, &status));
		MPI(MPI_Get_count(&status, MPI_BYTE, &count));
		CHECK(count == (int)len && status.MPI_SOURCE == peer && status.MPI_TAG == 7);
		check_filled("ping", buf, len, seed);
		fill(buf, len, seed + 1);
		MPI(MPI_Send(buf, (int)len, MPI_BYTE, peer, 8, MPI_COMM_WORLD));
	} else {
		fill(buf, len, seed);
		MPI(MPI_Send(buf, (int)len, MPI_BYTE, peer, 7, MPI_COMM_WORLD));
		memset(buf, 0, len);
		MPI(MPI_Recv(buf, (int)len, MPI_BYTE, peer, 8, MPI_COMM_WORLD, &status));
		check_filled("pong", buf, len, seed + 1);
	}
}

/* 0 B to 16 MiB, with the neighbors of each power of two, with and without headers. */
void part_sizes(void)
{
	static const int around[] = { -64, -33, -17, -1, 0, 1, 16 };
	char *buf = alloc(LARGEST + 64);
	size_t base, i;

	ping_pong(buf, 0, 0);
	for (base = 1; base <= LARGEST; base *= 2)
		for (i = 0; i < sizeof(around) / sizeof(around[0]); i++)
			if ((long)base + around[i] > 0 && (base <= 1 << 18 || !around[i]))
				ping_pong(buf, base + around[i], (unsigned int)(base + i));
	free(buf);
}

static size_t partner_len(int i)
{
	static const size_t lens[] = { 0, 8, 200, 1000, 5000, 17000, 70000, 200000 };

	return lens[i % 8] + i;
}

/* Receives and messages are posted in different random orders: tags match them. */
void part_shuffled(void)
{
	char *in[PARTNERS], *out[PARTNERS];
	MPI_Request requests[2 * PARTNERS];
	unsigned int state = 12345 + rank;
	int order[PARTNERS], i, j, k;

	for (i = 0; i < PARTNERS; i++) {
		in[i] = alloc(partner_len(i));
		out[i] = alloc(partner_len(i));
		fill(out[i], partner_len(i), rank * 1000 + i);
		order[i] = i;
	}
	for (k = 0; k < 2; k++) {
		for (i = PARTNERS - 1; i > 0; i--) {
			j = (int)(next_random(&state) % (unsigned int)(i + 1));
			int swap = order[i];
			order[i] = order[j];
			order[j] = swap;
		}
		for (i = 0; i < PARTNERS; i++) {
			j = order[i];
			if (k ^ (rank & 1))
				MPI(MPI_Isend(out[j], (int)partner_len(j), MPI_BYTE, right(), j,
					      MPI_COMM_WORLD, &requests[k * PARTNERS + i]));
			else
				MPI(MPI_Irecv(in[j], (int)partner_len(j), MPI_BYTE, left(), j,
					      MPI_COMM_WORLD, &requests[k * PARTNERS + i]));
		}
	}
	MPI(MPI_Waitall(2 * PARTNERS, requests, MPI_STATUSES_IGNORE));
	for (i = 0; i < PARTNERS; i++) {
		check_filled("shuffled", in[i], partner_len(i), left() * 1000 + i);
		free(in[i]);
		free(out[i]);
	}
}

/* All arrive before any is received, and are received from the last to the first. */
void part_flood(void)
{
	char *out = alloc(FLOOD_LEN), *in = alloc(FLOOD_LEN);
	MPI_Request *requests = alloc(FLOOD * sizeof(*requests));
	int i;

	fill(out, FLOOD_LEN, rank);
	for (i = 0; i < FLOOD; i++)
		MPI(MPI_Isend(out, FLOOD_LEN - i % 3000, MPI_BYTE, right(), i, MPI_COMM_WORLD,
			      &requests[i]));
	MPI(MPI_Barrier(MPI_COMM_WORLD));
	for (i = FLOOD - 1; i >= 0; i--) {
		MPI(MPI_Recv(in, FLOOD_LEN, MPI_BYTE, left(), i, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE));
		check_filled("flood", in, FLOOD_LEN - i % 3000, left());
	}
	MPI(MPI_Waitall(FLOOD, requests, MPI_STATUSES_IGNORE));
	free(requests);
	free(in);
	free(out);
}

/* A synchronous send is not done before the receive began. */
void part_ssend(void)
{
	static const int lens[] = { 0, 8, 4000, 100000, 1 << 20 };
	char *out = alloc(1 << 20), *in = alloc(1 << 20);
	MPI_Request request;
	int i, done;

	for (i = 0; i < 5; i++) {
		fill(out, lens[i], rank + i);
		MPI(MPI_Issend(out, lens[i], MPI_BYTE, right(), i, MPI_COMM_WORLD, &request));
		MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
		CHECK(!done);
		MPI(MPI_Barrier(MPI_COMM_WORLD));
		MPI(MPI_Recv(in, lens[i], MPI_BYTE, left(), i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
		MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
		check_filled("ssend", in, lens[i], left() + i);
	}
	free(in);
	free(out);
}

/* Columns of a matrix, and a structure with holes. */
void part_types(void)
{
	enum { ROWS = 200, COLUMNS = 300 };
	static int out[ROWS][COLUMNS], in[ROWS][COLUMNS];
	struct hole {
		char c;
		double d;
		short s[3];
	} give[10], take[10];
	const int lengths[] = { 1, 1, 3 };
	const MPI_Aint at[] = { offsetof(struct hole, c), offsetof(struct hole, d),
				offsetof(struct hole, s) };
	const MPI_Datatype kinds[] = { MPI_CHAR, MPI_DOUBLE, MPI_SHORT };
	MPI_Datatype column, bare, hole;
	int i, j;

	for (i = 0; i < ROWS; i++)
		for (j = 0; j < COLUMNS; j++)
			out[i][j] = rank * 1000000 + i * 1000 + j;
	MPI(MPI_Type_vector(ROWS, 5, COLUMNS, MPI_INT, &column));
	MPI(MPI_Type_commit(&column));
	MPI(MPI_Sendrecv(&out[0][10], 1, column, right(), 3, &in[0][20], 1, column, left(), 3,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE));
	for (i = 0; i < ROWS; i++)
		for (j = 0; j < 5; j++)
			CHECK(in[i][20 + j] == left() * 1000000 + i * 1000 + 10 + j);
	CHECK(!in[0][25] && !in[0][19]);
	MPI(MPI_Type_free(&column));

	MPI(MPI_Type_create_struct(3, lengths, at, kinds, &bare));
	MPI(MPI_Type_create_resized(bare, 0, sizeof(struct hole), &hole));
	MPI(MPI_Type_commit(&hole));
	memset(take, 0, sizeof(take));
	for (i = 0; i < 10; i++)
		give[i] = (struct hole){ (char)i, rank + i * .5, { (short)i, (short)rank, -1 } };
	MPI(MPI_Sendrecv(give, 10, hole, right(), 4, take, 10, hole, left(), 4, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE));
	for (i = 0; i < 10; i++)
		CHECK(take[i].c == i && take[i].d == left() + i * .5 && take[i].s[1] == left() &&
		      take[i].s[2] == -1);
	MPI(MPI_Type_free(&hole));
	MPI(MPI_Type_free(&bare));
}
