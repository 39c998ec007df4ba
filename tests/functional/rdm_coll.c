/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each collective operation on groups of two to five reliable-datagram endpoints, with sizes for
 * each protocol.
 */
#include "rdm_team.h"

#include <stdlib.h>
#include <string.h>

enum { LARGEST = 9000 };

static uint64_t in[MEMBERS][MEMBERS * LARGEST], out[MEMBERS][MEMBERS * LARGEST];
static struct team team;
static size_t ops;

static uint64_t value(size_t rank, size_t i)
{
	return (rank + 1) * 0x9e3779b97f4a7c15 + i * 77;
}

static uint64_t sum(size_t i)
{
	uint64_t total = 0;

	for (size_t rank = 0; rank < team.count; rank++)
		total += value(rank, i);
	return total;
}

static void fresh(size_t count)
{
	for (size_t rank = 0; rank < team.count; rank++)
		for (size_t i = 0; i < count; i++) {
			in[rank][i] = value(rank, i);
			out[rank][i] = 0;
		}
}

static void finish(void)
{
	OK(team_wait(&team, &team));
	ops++;
}

#define EACH_MEMBER(m, rank)                                                    \
	for (struct member *m = team.member; m < team.member + team.count; m++) \
		for (size_t rank = (size_t)(m - team.member), once_##m = 1; once_##m; once_##m = 0)

static void barrier(void)
{
	EACH_MEMBER(m, rank)
	OK(rank % 2 ? fi_barrier(m->ep, m->group, &team)
		    : fi_barrier2(m->ep, m->group, FI_COMPLETION, &team));
	finish();
}

static void broadcast(size_t count, size_t root)
{
	fresh(count);
	EACH_MEMBER(m, rank)
	OK(fi_broadcast(m->ep, in[rank], count, NULL, m->group, m->addr[root], FI_UINT64, 0,
			&team));
	finish();
	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < count; i++)
		CHECK(in[rank][i] == value(root, i));
}

static void allreduce(size_t count)
{
	fresh(count);
	EACH_MEMBER(m, rank)
	OK(fi_allreduce(m->ep, in[rank], count, NULL, out[rank], NULL, m->group, FI_UINT64, FI_SUM,
			0, &team));
	finish();
	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < count; i++)
		CHECK(out[rank][i] == sum(i));
}

static void allgather(size_t count)
{
	fresh(team.count * count);
	EACH_MEMBER(m, rank)
	OK(fi_allgather(m->ep, in[rank], count, NULL, out[rank], NULL, m->group, FI_UINT64, 0,
			&team));
	finish();
	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < team.count * count; i++)
		CHECK(out[rank][i] == value(i / count, i % count));
}

static void scatter(size_t count, size_t root)
{
	fresh(team.count * count);
	EACH_MEMBER(m, rank)
	OK(fi_scatter(m->ep, rank == root ? in[rank] : NULL, count, NULL, out[rank], NULL, m->group,
		      m->addr[root], FI_UINT64, 0, &team));
	finish();
	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < count; i++)
		CHECK(out[rank][i] == value(root, rank * count + i));
}

static void gather(size_t count, size_t root)
{
	fresh(team.count * count);
	EACH_MEMBER(m, rank)
	OK(fi_gather(m->ep, in[rank], count, NULL, rank == root ? out[rank] : NULL, NULL, m->group,
		     m->addr[root], FI_UINT64, 0, &team));
	finish();
	for (size_t i = 0; i < team.count * count; i++)
		CHECK(out[root][i] == value(i / count, i % count));
}

static void alltoall(size_t count)
{
	fresh(team.count * count);
	EACH_MEMBER(m, rank)
	OK(fi_alltoall(m->ep, in[rank], count, NULL, out[rank], NULL, m->group, FI_UINT64, 0,
		       &team));
	finish();
	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < team.count * count; i++)
		CHECK(out[rank][i] == value(i / count, rank * count + i % count));
}

static void reduce(size_t count, size_t root)
{
	fresh(count);
	EACH_MEMBER(m, rank)
	OK(fi_reduce(m->ep, in[rank], count, NULL, rank == root ? out[rank] : NULL, NULL, m->group,
		     m->addr[root], FI_UINT64, FI_SUM, 0, &team));
	finish();
	for (size_t i = 0; i < count; i++)
		CHECK(out[root][i] == sum(i));
}

static void reduce_scatter(size_t count)
{
	fresh(team.count * count);
	EACH_MEMBER(m, rank)
	OK(fi_reduce_scatter(m->ep, in[rank], count, NULL, out[rank], NULL, m->group, FI_UINT64,
			     FI_SUM, 0, &team));
	finish();
	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < count; i++)
		CHECK(out[rank][i] == sum(rank * count + i));
}

/* Receives that would match anything. */
static void post_receives(void)
{
	static uint64_t room[MEMBERS][2];

	EACH_MEMBER(m, rank)
	{
		OK(fi_recv(m->ep, &room[rank][0], 8, NULL, FI_ADDR_UNSPEC, NULL));
		OK(fi_trecv(m->ep, &room[rank][1], 8, NULL, FI_ADDR_UNSPEC, 0, UINT64_MAX, NULL));
	}
}

/* They are still posted, and nothing else is. */
static void cancel_receives(void)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error;

	EACH_MEMBER(m, rank)
	{
		(void)rank;
		RETURNS(fi_cq_read(m->cq, &entry, 1), -FI_EAGAIN);
		OK(fi_cancel(&m->ep->fid, NULL));
		OK(fi_cancel(&m->ep->fid, NULL));
		for (int i = 0; i < 2; i++) {
			RETURNS(fi_cq_read(m->cq, &entry, 1), -FI_EAVAIL);
			memset(&error, 0, sizeof(error));
			RETURNS(fi_cq_readerr(m->cq, &error, 0), 1);
			EQUAL(error.err, FI_ECANCELED);
		}
		EQUAL(fi_cntr_read(m->cntr), ops);
	}
}

/* The last members of one operation arrive after the first ones of the next. */
static void many_at_once(void)
{
	enum { DEPTH = 10 };
	static uint64_t one[MEMBERS][DEPTH], all[MEMBERS][DEPTH];

	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < DEPTH; i++) {
		one[rank][i] = rank + i;
		OK(fi_allreduce(m->ep, &one[rank][i], 1, NULL, &all[rank][i], NULL, m->group,
				FI_UINT64, FI_MAX, 0, &team));
	}
	for (size_t i = 0; i < DEPTH; i++)
		finish();
	EACH_MEMBER(m, rank)
	for (size_t i = 0; i < DEPTH; i++)
		CHECK(all[rank][i] == team.count - 1 + i);
}

static void of_members(size_t members)
{
	static const size_t counts[] = { 1, 300, LARGEST };

	ops = 0;
	team_open(&team, members, FI_COLLECTIVE);
	team_join(&team);
	post_receives();
	barrier();
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		broadcast(counts[i], i % members);
		allreduce(counts[i]);
		allgather(counts[i]);
		scatter(counts[i], (i + 1) % members);
		gather(counts[i], (i + 1) % members);
		alltoall(counts[i]);
		reduce(counts[i], i % members);
		reduce_scatter(counts[i]);
	}
	many_at_once();
	cancel_receives();
	team_close(&team);
}

static void test(void)
{
	for (size_t members = 2; members <= MEMBERS; members++) {
		team_selective = members == MEMBERS;
		of_members(members);
	}
}

int main(void)
{
	return run_test(test);
}
