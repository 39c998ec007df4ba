/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The event of a join goes to the domain's event queue if the endpoint has none of its own. */
#include "rdm_team.h"

static struct team team;

/* Opens an endpoint without an event queue, and a set with its address only. */
static void open_alone(struct member *alone)
{
	struct member *other = &team.member[0];
	char name[64];
	size_t len = sizeof(name);

	OK(fi_endpoint(team.domain, team.info, &alone->ep, NULL));
	OK(fi_ep_bind(alone->ep, &other->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(alone->ep, &other->av->fid, 0));
	OK(fi_enable(alone->ep));
	OK(fi_getname(&alone->ep->fid, name, &len));
	RETURNS(fi_av_insert(other->av, name, 1, &alone->addr[0], 0, NULL), 1);
	alone->set = empty_set(other);
	OK(fi_av_set_insert(alone->set, alone->addr[0]));
}

static int join(struct member *alone)
{
	return fi_join_collective(alone->ep, FI_ADDR_NOTAVAIL, alone->set, 0, &alone->mc, alone);
}

static void joins(struct member *alone, struct fid_eq *eq)
{
	struct fi_eq_entry entry;
	uint32_t event;

	OK(join(alone));
	RETURNS(fi_eq_sread(eq, &event, &entry, sizeof(entry), WAIT_MS, 0), sizeof(entry));
	EQUAL(event, FI_JOIN_COMPLETE);
	CHECK(entry.fid == &alone->mc->fid && entry.context == alone);
	CHECK(fi_mc_addr(alone->mc) != FI_ADDR_NOTAVAIL);
}

static void is_empty(struct fid_eq *eq)
{
	struct fi_eq_entry entry;
	uint32_t event;

	RETURNS(fi_eq_read(eq, &event, &entry, sizeof(entry), 0), -FI_EAGAIN);
}

static void test(void)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct member alone = { 0 };
	struct fid_eq *eq = NULL;

	team_open(&team, 1, FI_COLLECTIVE);
	open_alone(&alone);
	RETURNS(join(&alone), -FI_ENOEQ);
	OK(fi_eq_open(team.fabric, &attr, &eq, NULL));
	OK(fi_domain_bind(team.domain, &eq->fid, 0));
	joins(&alone, eq);
	team_join(&team);
	is_empty(eq);
	/* An event that was not read goes with its group. */
	OK(fi_close(&alone.mc->fid));
	OK(join(&alone));
	OK(fi_close(&alone.mc->fid));
	is_empty(eq);
	alone.mc = NULL;
	member_close(&alone);
	member_close(&team.member[0]);
	OK(fi_close(&team.domain->fid));
	OK(fi_close(&eq->fid));
	OK(fi_close(&team.fabric->fid));
	fi_freeinfo(team.info);
}

int main(void)
{
	return run_test(test);
}
