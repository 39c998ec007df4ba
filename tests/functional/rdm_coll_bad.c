/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collective calls with wrong arguments, or on endpoints and objects in the wrong state. */
#include "rdm_team.h"

#include <string.h>

static struct team team;
static uint64_t buf[4], result[4];

static void wrong_operations(void)
{
	struct member *m = &team.member[0];

	RETURNS(fi_barrier(m->ep, 0, NULL), -FI_EINVAL);
	RETURNS(fi_barrier(m->ep, FI_ADDR_NOTAVAIL, NULL), -FI_EINVAL);
	RETURNS(fi_barrier2(m->ep, m->group, FI_REMOTE_CQ_DATA, NULL), -FI_EBADFLAGS);
	RETURNS(fi_broadcast(m->ep, NULL, 1, NULL, m->group, m->addr[0], FI_UINT64, 0, NULL),
		-FI_EINVAL);
	RETURNS(fi_broadcast(m->ep, buf, 1, NULL, m->group, 77, FI_UINT64, 0, NULL), -FI_EINVAL);
	RETURNS(fi_broadcast(m->ep, buf, 1, NULL, m->group, m->addr[0], FI_VOID, 0, NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_allreduce(m->ep, buf, 1, NULL, result, NULL, m->group, FI_DOUBLE, FI_BOR, 0,
			     NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_allreduce(m->ep, buf, SIZE_MAX / 8, NULL, result, NULL, m->group, FI_UINT64,
			     FI_SUM, 0, NULL),
		-FI_EMSGSIZE);
	RETURNS(fi_gather(m->ep, buf, 1, NULL, NULL, NULL, m->group, m->addr[0], FI_UINT64, 0,
			  NULL),
		-FI_EINVAL);
	RETURNS(fi_cq_read(m->cq, NULL, 0), -FI_EAGAIN);
}

static void wrong_joins(void)
{
	struct member *m = &team.member[0], *other = &team.member[1];
	struct fid_av_set *set = empty_set(m);
	struct fid_mc *mc = NULL;

	RETURNS(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, NULL, 0, &mc, NULL), -FI_EINVAL);
	RETURNS(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL), -FI_EINVAL);
	RETURNS(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, other->set, 0, &mc, NULL), -FI_EINVAL);
	OK(fi_av_set_insert(set, m->addr[1]));
	RETURNS(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, set, 0, &mc, NULL), -FI_EINVAL);
	OK(fi_av_set_insert(set, m->addr[0]));
	RETURNS(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, set, FI_MORE, &mc, NULL),
		-FI_EBADFLAGS);
	RETURNS(fi_join_collective(m->ep, 5, set, 0, &mc, NULL), -FI_EINVAL);
	RETURNS(fi_join(m->ep, buf, 0, &mc, NULL), -FI_ENOSYS);
	CHECK(!mc);
	RETURNS(fi_av_set_insert(set, m->addr[0]), -FI_EINVAL);
	RETURNS(fi_av_set_insert(set, 77), -FI_EINVAL);
	RETURNS(fi_av_set_union(set, other->set), -FI_EINVAL);
	OK(fi_close(&set->fid));
}

static void sets(void)
{
	struct member *m = &team.member[0];
	struct fi_av_set_attr attr = { .flags = FI_UNIVERSE };
	struct fid_av_set *all = NULL, *one = empty_set(m), *none = NULL;

	RETURNS(fi_av_set(m->av, NULL, &none, NULL), -FI_EINVAL);
	RETURNS(fi_av_set(m->av, &attr, NULL, NULL), -FI_EINVAL);
	OK(fi_av_set(m->av, &attr, &all, NULL));
	OK(fi_av_set_insert(one, m->addr[1]));
	OK(fi_av_set_intersect(all, one));
	RETURNS(fi_av_set_remove(all, m->addr[0]), -FI_EINVAL);
	OK(fi_av_set_remove(all, m->addr[1]));
	OK(fi_av_set_union(all, one));
	OK(fi_av_set_diff(all, one));
	RETURNS(fi_av_set_remove(all, m->addr[1]), -FI_EINVAL);
	RETURNS(fi_close(&m->av->fid), -FI_EBUSY);
	OK(fi_close(&all->fid));
	OK(fi_close(&one->fid));
}

static void queries(void)
{
	struct fi_collective_attr attr = { .op = FI_SUM, .datatype = FI_DOUBLE };

	OK(fi_query_collective(team.domain, FI_ALLREDUCE, &attr, 0));
	EQUAL(attr.datatype_attr.size, 8);
	CHECK(attr.datatype_attr.count >= 1 << 30 && attr.max_members >= 1024);
	RETURNS(fi_query_collective(team.domain, FI_ALLREDUCE, NULL, 0), -FI_EINVAL);
	RETURNS(fi_query_collective(team.domain, FI_ALLREDUCE, &attr, FI_MORE), -FI_EBADFLAGS);
	attr.op = FI_BAND;
	RETURNS(fi_query_collective(team.domain, FI_ALLREDUCE, &attr, 0), -FI_EOPNOTSUPP);
	RETURNS(fi_query_collective(team.domain, (enum fi_collective_op)99, &attr, 0),
		-FI_EOPNOTSUPP);
	attr = (struct fi_collective_attr){ .op = FI_NOOP, .datatype = FI_VOID };
	OK(fi_query_collective(team.domain, FI_BARRIER, &attr, 0));
}

/* A group is closed during an operation, which does not complete. */
static void given_up(void)
{
	struct member *m = &team.member[0];

	RETURNS(fi_close(&m->ep->fid), -FI_EBUSY);
	OK(fi_barrier(m->ep, m->group, NULL));
	OK(fi_allreduce(m->ep, buf, 4, NULL, result, NULL, m->group, FI_UINT64, FI_SUM, 0, NULL));
	OK(fi_close(&m->mc->fid));
	m->mc = NULL;
	RETURNS(fi_cq_read(m->cq, NULL, 0), -FI_EAGAIN);
	RETURNS(fi_barrier(m->ep, m->group, NULL), -FI_EINVAL);
}

static void without_the_capability(void)
{
	struct fid_mc *mc;
	struct member *m;

	team_open(&team, 2, 0);
	m = &team.member[0];
	RETURNS(fi_join_collective(m->ep, FI_ADDR_NOTAVAIL, m->set, 0, &mc, NULL), -FI_EOPNOTSUPP);
	RETURNS(fi_barrier(m->ep, 0, NULL), -FI_ENOSYS);
	team_close(&team);
}

static void test(void)
{
	team_open(&team, 2, FI_COLLECTIVE);
	wrong_joins();
	sets();
	queries();
	team_join(&team);
	wrong_operations();
	given_up();
	team_close(&team);
	without_the_capability();
}

int main(void)
{
	return run_test(test);
}
