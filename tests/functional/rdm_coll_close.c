/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A collective group is closed while a large message of it is announced: the operation ends with
 * FI_ECANCELED, members that close at the same time do not wait for each other, and one that has
 * not read the message fails instead of reading memory that the application may reuse.
 */
#include "rdm_team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LEN = 1 << 20, PATIENCE_MS = 2000 };

static struct team team;
static uint8_t *buf[2];

static void broadcast(size_t rank, size_t root)
{
	struct member *m = &team.member[rank];

	OK(fi_broadcast(m->ep, buf[rank], LEN, NULL, m->group, m->addr[root], FI_UINT8, 0, &team));
}

/* Time for the announcement to arrive. */
static void poll_both(void)
{
	struct fi_cq_tagged_entry entry;

	for (uint64_t end = now_ms() + 100; now_ms() < end;)
		for (int side = 0; side < 2; side++)
			RETURNS(fi_cq_read(team.member[side].cq, &entry, 1), -FI_EAGAIN);
}

static void *close_group(void *member)
{
	struct member *m = member;

	OK(fi_close(&m->mc->fid));
	m->mc = NULL;
	return NULL;
}

/* Returns the error of a member's next completion. */
static int next_error(struct member *m)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry err = { 0 };
	ssize_t ret;

	for (uint64_t end = deadline(); (ret = fi_cq_read(m->cq, &entry, 1)) == -FI_EAGAIN;
	     pause_until(end, "a broadcast that fails"))
		;
	EQUAL(ret, -FI_EAVAIL);
	EQUAL(fi_cq_readerr(m->cq, &err, 0), 1);
	CHECK(err.op_context == &team && err.flags & FI_COLLECTIVE);
	return err.err;
}

static void begin(void)
{
	team_open(&team, 2, FI_COLLECTIVE);
	team_join(&team);
	for (int side = 0; side < 2; side++)
		memset(buf[side], 1, LEN);
}

static void both_close(void)
{
	uint64_t start;
	pthread_t thread;

	begin();
	broadcast(0, 0);
	broadcast(1, 1);
	poll_both();
	start = now_ms();
	OK(pthread_create(&thread, NULL, close_group, &team.member[1]));
	close_group(&team.member[0]);
	OK(pthread_join(thread, NULL));
	CHECK(now_ms() - start < PATIENCE_MS);
	for (int side = 0; side < 2; side++)
		EQUAL(next_error(&team.member[side]), FI_ECANCELED);
	team_close(&team);
}

static void one_closes(void)
{
	begin();
	broadcast(0, 0);
	poll_both();
	close_group(&team.member[0]);
	EQUAL(next_error(&team.member[0]), FI_ECANCELED);
	memset(buf[0], 2, LEN);
	broadcast(1, 0);
	CHECK(next_error(&team.member[1]));
	CHECK(!memchr(buf[1], 2, LEN));
	team_close(&team);
}

static void test(void)
{
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "3000", 1);
	for (int side = 0; side < 2; side++)
		buf[side] = malloc(LEN);
	both_close();
	one_closes();
	for (int side = 0; side < 2; side++)
		free(buf[side]);
}

int main(void)
{
	return run_test(test);
}
