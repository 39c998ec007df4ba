/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Each collective operation of reliable datagrams on buffers in device memory. */
#include "gpu.h"
#include "rdm_team.h"

enum { COUNT = 300, TEAM = 3, WORDS = COUNT * TEAM };

static struct team team;
static uint64_t *in[TEAM], *out[TEAM], got[WORDS];

#define EACH(m, rank) \
	for (struct member *m = team.member; (rank = (size_t)(m - team.member)) < TEAM; m++)

static uint64_t value(size_t rank, size_t i)
{
	return (rank + 1) * 0x9e3779b97f4a7c15 + i * 77;
}

static uint64_t sum(size_t i)
{
	uint64_t total = 0;

	for (size_t rank = 0; rank < TEAM; rank++)
		total += value(rank, i);
	return total;
}

static void begin(void)
{
	uint64_t words[WORDS];

	for (size_t rank = 0; rank < TEAM; rank++) {
		for (size_t i = 0; i < WORDS; i++)
			words[i] = value(rank, i);
		mem_put(in[rank], words, sizeof(words));
		mem_set(out[rank], 0, sizeof(words));
	}
}

/* Waits for the operation, and fetches the words of a member. */
static void end(void)
{
	OK(team_wait(&team, &team));
}

static void fetch(const uint64_t *from)
{
	mem_get(got, from, sizeof(got));
}

static void test_broadcast(void)
{
	size_t rank;

	begin();
	EACH(m, rank)
	OK(fi_broadcast(m->ep, in[rank], COUNT, NULL, m->group, m->addr[1], FI_UINT64, 0, &team));
	end();
	EACH(m, rank)
	{
		fetch(in[rank]);
		for (size_t i = 0; i < COUNT; i++)
			CHECK(got[i] == value(1, i));
		CHECK(got[COUNT] == value(rank, COUNT));
	}
}

static void test_reductions(void)
{
	size_t rank;

	begin();
	EACH(m, rank)
	OK(fi_allreduce(m->ep, in[rank], COUNT, NULL, out[rank], NULL, m->group, FI_UINT64, FI_SUM,
			0, &team));
	end();
	EACH(m, rank)
	{
		fetch(out[rank]);
		for (size_t i = 0; i < COUNT; i++)
			CHECK(got[i] == sum(i));
		CHECK(!got[COUNT]);
	}
	begin();
	EACH(m, rank)
	OK(fi_reduce_scatter(m->ep, in[rank], COUNT, NULL, out[rank], NULL, m->group, FI_UINT64,
			     FI_SUM, 0, &team));
	end();
	EACH(m, rank)
	{
		fetch(out[rank]);
		for (size_t i = 0; i < COUNT; i++)
			CHECK(got[i] == sum(rank * COUNT + i));
	}
	begin();
	EACH(m, rank)
	OK(fi_reduce(m->ep, in[rank], COUNT, NULL, out[rank], NULL, m->group, m->addr[2], FI_UINT64,
		     FI_SUM, 0, &team));
	end();
	EACH(m, rank)
	{
		fetch(out[rank]);
		for (size_t i = 0; i < COUNT; i++)
			CHECK(got[i] == (rank == 2 ? sum(i) : 0));
	}
}

static void test_gathers(void)
{
	size_t rank;

	for (int all = 0; all < 2; all++) {
		begin();
		EACH(m, rank)
		OK(all ? fi_allgather(m->ep, in[rank], COUNT, NULL, out[rank], NULL, m->group,
				      FI_UINT64, 0, &team)
		       : fi_gather(m->ep, in[rank], COUNT, NULL, out[rank], NULL, m->group,
				   m->addr[0], FI_UINT64, 0, &team));
		end();
		EACH(m, rank)
		{
			fetch(out[rank]);
			for (size_t i = 0; i < WORDS; i++)
				CHECK(got[i] == (all || !rank ? value(i / COUNT, i % COUNT) : 0));
		}
	}
}

static void test_scatters(void)
{
	size_t rank;

	begin();
	EACH(m, rank)
	OK(fi_scatter(m->ep, in[rank], COUNT, NULL, out[rank], NULL, m->group, m->addr[1],
		      FI_UINT64, 0, &team));
	end();
	EACH(m, rank)
	{
		fetch(out[rank]);
		for (size_t i = 0; i < COUNT; i++)
			CHECK(got[i] == value(1, rank * COUNT + i));
		CHECK(!got[COUNT]);
	}
	begin();
	EACH(m, rank)
	OK(fi_alltoall(m->ep, in[rank], COUNT, NULL, out[rank], NULL, m->group, FI_UINT64, 0,
		       &team));
	end();
	EACH(m, rank)
	{
		fetch(out[rank]);
		for (size_t i = 0; i < WORDS; i++)
			CHECK(got[i] == value(i / COUNT, rank * COUNT + i % COUNT));
	}
}

static void test(void)
{
	size_t rank;

	team_open(&team, TEAM, FI_COLLECTIVE | FI_HMEM);
	for (rank = 0; rank < TEAM; rank++) {
		in[rank] = gpu->alloc(sizeof(got));
		out[rank] = gpu->alloc(sizeof(got));
	}
	team_join(&team);
	EACH(m, rank)
	OK(fi_barrier(m->ep, m->group, &team));
	end();
	test_broadcast();
	test_reductions();
	test_gathers();
	test_scatters();
	team_close(&team);
	for (rank = 0; rank < TEAM; rank++) {
		gpu->free(in[rank]);
		gpu->free(out[rank]);
	}
}

int main(void)
{
	return run_test(test);
}
