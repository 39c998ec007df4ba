/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several reliable-datagram endpoints of one process that know each other, for collective
 * operations.
 */
#include "rdm_team.h"

#include <string.h>
#include "rdm.h"

bool team_selective;

void member_open(struct team *team, struct member *member)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE };
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_cntr_attr cntr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	OK(fi_endpoint(team->domain, team->info, &member->ep, NULL));
	OK(fi_cq_open(team->domain, &cq, &member->cq, NULL));
	OK(fi_av_open(team->domain, &av, &member->av, NULL));
	OK(fi_eq_open(team->fabric, &eq, &member->eq, NULL));
	OK(fi_cntr_open(team->domain, &cntr, &member->cntr, NULL));
	OK(fi_ep_bind(member->ep, &member->cq->fid,
		      FI_TRANSMIT | FI_RECV | (team_selective ? FI_SELECTIVE_COMPLETION : 0)));
	OK(fi_ep_bind(member->ep, &member->av->fid, 0));
	OK(fi_ep_bind(member->ep, &member->eq->fid, 0));
	OK(fi_ep_bind(member->ep, &member->cntr->fid, FI_WRITE));
	OK(fi_enable(member->ep));
}

struct fid_av_set *empty_set(struct member *member)
{
	struct fi_av_set_attr attr = {
		.start_addr = FI_ADDR_NOTAVAIL,
		.end_addr = FI_ADDR_NOTAVAIL,
	};
	struct fid_av_set *set = NULL;

	OK(fi_av_set(member->av, &attr, &set, NULL));
	return set;
}

static void meet(struct team *team)
{
	char name[MEMBERS][64];
	size_t len, i, k;

	for (i = 0; i < team->count; i++) {
		len = sizeof(name[i]);
		OK(fi_getname(&team->member[i].ep->fid, name[i], &len));
	}
	/* Each knows them under other numbers. */
	for (i = 0; i < team->count; i++)
		for (k = 0; k < team->count; k++)
			RETURNS(fi_av_insert(team->member[i].av, name[(i + k) % team->count], 1,
					     &team->member[i].addr[(i + k) % team->count], 0, NULL),
				1);
	for (i = 0; i < team->count; i++) {
		team->member[i].set = empty_set(&team->member[i]);
		for (k = 0; k < team->count; k++)
			OK(fi_av_set_insert(team->member[i].set, team->member[i].addr[k]));
	}
}

void team_open(struct team *team, size_t count, uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo();
	size_t i;

	CHECK(hints);
	memset(team, 0, sizeof(*team));
	team->count = count;
	rdm_hint_device(hints);
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | caps;
	hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY |
				      (caps & FI_HMEM ? FI_MR_HMEM : 0);
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &team->info));
	fi_freeinfo(hints);
	CHECK((team->info->caps & FI_COLLECTIVE) == (caps & FI_COLLECTIVE));
	OK(fi_fabric(team->info->fabric_attr, &team->fabric, NULL));
	OK(fi_domain(team->fabric, team->info, &team->domain, NULL));
	for (i = 0; i < count; i++)
		member_open(team, &team->member[i]);
	meet(team);
}

static void close_if(struct fid *fid)
{
	if (fid)
		OK(fi_close(fid));
}

void member_close(struct member *member)
{
	close_if((struct fid *)member->mc);
	close_if((struct fid *)member->set);
	close_if((struct fid *)member->ep);
	close_if((struct fid *)member->cq);
	close_if((struct fid *)member->cntr);
	close_if((struct fid *)member->av);
	close_if((struct fid *)member->eq);
	memset(member, 0, sizeof(*member));
}

void team_close(struct team *team)
{
	size_t i;

	for (i = 0; i < MEMBERS; i++)
		member_close(&team->member[i]);
	OK(fi_close(&team->domain->fid));
	OK(fi_close(&team->fabric->fid));
	fi_freeinfo(team->info);
}

void team_join(struct team *team)
{
	struct fi_eq_entry entry;
	struct member *member;
	fi_addr_t addr;
	uint32_t event;
	size_t i;

	for (i = 0; i < team->count; i++) {
		member = &team->member[i];
		OK(fi_av_set_addr(member->set, &addr));
		OK(fi_join_collective(member->ep, addr, member->set, 0, &member->mc, member));
	}
	for (i = 0; i < team->count; i++) {
		member = &team->member[i];
		RETURNS(fi_eq_sread(member->eq, &event, &entry, sizeof(entry), WAIT_MS, 0),
			sizeof(entry));
		EQUAL(event, FI_JOIN_COMPLETE);
		CHECK(entry.fid == &member->mc->fid && entry.context == member);
		member->group = fi_mc_addr(member->mc);
		CHECK(member->group != FI_ADDR_NOTAVAIL);
	}
}

static bool take(struct member *member, const void *context, int *err)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(member->cq, &entry, 1);

	if (ret == -FI_EAGAIN)
		return false;
	if (ret == -FI_EAVAIL) {
		RETURNS(fi_cq_readerr(member->cq, &error, 0), 1);
		CHECK(error.op_context == context && error.flags & FI_COLLECTIVE);
		*err = *err ? *err : error.err;
		return true;
	}
	RETURNS(ret, 1);
	CHECK(entry.op_context == context && entry.flags & FI_COLLECTIVE);
	return true;
}

int team_wait(struct team *team, const void *context)
{
	bool done[MEMBERS] = { false };
	uint64_t end = deadline();
	size_t left = 0, i;
	int err = 0;

	for (i = 0; i < team->count; i++)
		left += !!team->member[i].ep;
	while (left) {
		for (i = 0; i < team->count; i++) {
			if (!team->member[i].ep)
				continue;
			if (done[i])
				fi_cq_read(team->member[i].cq, NULL, 0);
			else if ((done[i] = take(&team->member[i], context, &err)))
				left--;
		}
		pause_until(end, "the end of a collective operation");
	}
	return err;
}
