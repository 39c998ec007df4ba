/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A member of a collective group disappears: operations that wait for it fail, and so do those that
 * wait for these.
 */
#include "rdm_team.h"

#include <stdlib.h>

static struct team team;
static uint64_t buf[MEMBERS], all[MEMBERS];

static void all_but_the_last(void)
{
	for (size_t rank = 0; rank + 1 < team.count; rank++) {
		struct member *m = &team.member[rank];

		OK(fi_allreduce(m->ep, &buf[rank], 1, NULL, &all[rank], NULL, m->group, FI_UINT64,
				FI_SUM, 0, &team));
	}
}

/* Some of them have no connection to it, and only wait. */
static void root_goes(void)
{
	for (size_t rank = 0; rank + 1 < team.count; rank++) {
		struct member *m = &team.member[rank];

		OK(fi_broadcast(m->ep, &buf[rank], 1, NULL, m->group, m->addr[team.count - 1],
				FI_UINT64, 0, &team));
	}
}

static void goes(void (*during)(void))
{
	struct member *last;

	team_open(&team, MEMBERS, FI_COLLECTIVE);
	team_join(&team);
	during();
	last = &team.member[MEMBERS - 1];
	member_close(last);
	CHECK(team_wait(&team, &team) != 0);
	/* The group stays in this state; a later operation fails, too, and ends. */
	all_but_the_last();
	CHECK(team_wait(&team, &team) != 0);
	team_close(&team);
}

/* A member that has completed a barrier may close at once. */
static void after_a_barrier(void)
{
	struct fi_cq_tagged_entry entry;

	team_open(&team, 2, FI_COLLECTIVE);
	team_join(&team);
	for (int side = 0; side < 2; side++)
		OK(fi_barrier(team.member[side].ep, team.member[side].group, &team));
	for (uint64_t end = deadline(); fi_cq_read(team.member[1].cq, &entry, 1) == -FI_EAGAIN;
	     pause_until(end, "a barrier"))
		;
	member_close(&team.member[1]);
	sleep_ms(50); /* for the event of the end; if it arrives later, nothing is tested */
	OK(team_wait(&team, &team));
	team_close(&team);
}

static void test(void)
{
	setenv("FI_VERBS_RDM_CONNECT_TIMEOUT", "3000", 1);
	goes(all_but_the_last);
	goes(root_goes);
	after_a_barrier();
}

int main(void)
{
	return run_test(test);
}
