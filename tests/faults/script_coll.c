/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Open reliable-datagram endpoints join a group, and perform collective operations. */
#include "script.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

enum { WAIT_MS = 8000, MEMBERS = 3, COUNT = 700 };

struct member {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_eq *eq;
	struct fid_av_set *set;
	struct fid_mc *mc;
	char name[64];
	uint64_t in[COUNT], out[COUNT];
};

struct coll_script {
	struct outcome *outcome;
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct member member[MEMBERS];
};

static struct coll_script s;

/* Records the current step, and the first error. Returns true if there was one. */
static int step(const char *name, ssize_t ret)
{
	if (s.outcome->err)
		return -1;
	snprintf(s.outcome->step, sizeof(s.outcome->step), "%s", name);
	if (ret >= 0)
		return 0;
	s.outcome->err = (int)ret;
	return -1;
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int open_domain(void)
{
	struct fi_info *hints = fi_allocinfo();
	int ret;

	if (step("fi_allocinfo", hints ? 0 : -FI_ENOMEM))
		return -1;
	hints->caps = FI_MSG | FI_TAGGED | FI_COLLECTIVE;
	hints->ep_attr->type = FI_EP_RDM;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->fabric_attr->prov_name = strdup("verbs");
	ret = step("fi_getinfo", fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &s.info));
	fi_freeinfo(hints);
	return ret || step("fi_fabric", fi_fabric(s.info->fabric_attr, &s.fabric, NULL)) ||
	       step("fi_domain", fi_domain(s.fabric, s.info, &s.domain, NULL));
}

static int open_member(struct member *m)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_NONE };
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_UNSPEC };
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	size_t len = sizeof(m->name);

	return step("fi_cq_open", fi_cq_open(s.domain, &cq, &m->cq, NULL)) ||
	       step("fi_av_open", fi_av_open(s.domain, &av, &m->av, NULL)) ||
	       step("fi_eq_open", fi_eq_open(s.fabric, &eq, &m->eq, NULL)) ||
	       step("fi_endpoint", fi_endpoint(s.domain, s.info, &m->ep, NULL)) ||
	       step("fi_ep_bind", fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT | FI_RECV)) ||
	       step("fi_ep_bind", fi_ep_bind(m->ep, &m->av->fid, 0)) ||
	       step("fi_ep_bind", fi_ep_bind(m->ep, &m->eq->fid, 0)) ||
	       step("fi_enable", fi_enable(m->ep)) ||
	       step("fi_getname", fi_getname(&m->ep->fid, m->name, &len));
}

static int introduce(struct member *m)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
				       .end_addr = FI_ADDR_NOTAVAIL };
	fi_addr_t addr;
	int i, ret = step("fi_av_set", fi_av_set(m->av, &attr, &m->set, NULL));

	for (i = 0; i < MEMBERS && !ret; i++) {
		ret = fi_av_insert(m->av, s.member[i].name, 1, &addr, 0, NULL);
		ret = step("fi_av_insert", ret == 1  ? 0
					   : ret < 0 ? ret
						     : -FI_ENOMEM) ||
		      step("fi_av_set_insert", fi_av_set_insert(m->set, addr));
	}
	return ret;
}

static int begin_join(struct member *m)
{
	fi_addr_t addr = 0;

	return step("fi_av_set_addr", fi_av_set_addr(m->set, &addr)) ||
	       step("fi_join_collective", fi_join_collective(m->ep, addr, m->set, 0, &m->mc, NULL));
}

/* 1: it has joined, 0: not yet. */
static int has_joined(struct member *m)
{
	struct fi_eq_err_entry error = { 0 };
	struct fi_eq_entry entry;
	uint32_t event = 0;
	ssize_t ret = fi_eq_read(m->eq, &event, &entry, sizeof(entry), 0);

	fi_cq_read(m->cq, NULL, 0);
	if (ret == -FI_EAGAIN)
		return 0;
	if (ret == -FI_EAVAIL) {
		ret = fi_eq_readerr(m->eq, &error, 0);
		s.outcome->by_event = ret > 0;
		ret = ret > 0 ? -error.err : ret;
	}
	return step("waiting for a group", ret) ? -1 : event == FI_JOIN_COMPLETE;
}

/* 1: an operation is done, 0: not yet. */
static int has_completed(struct member *m)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t ret = fi_cq_read(m->cq, &entry, 1);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret == -FI_EAVAIL) {
		ret = fi_cq_readerr(m->cq, &error, 0);
		s.outcome->by_event = ret > 0;
		ret = ret > 0 ? -error.err : ret;
	}
	return step("waiting for an operation", ret) ? -1 : ret == 1;
}

/* Each of them once; the first error ends it. */
static int all_of(int (*has)(struct member *m))
{
	long end = now_ms() + WAIT_MS;
	int i, ret, left = MEMBERS, done[MEMBERS] = { 0 };

	while (left) {
		for (i = 0; i < MEMBERS; i++) {
			if (done[i]) {
				fi_cq_read(s.member[i].cq, NULL, 0);
				continue;
			}
			ret = has(&s.member[i]);
			if (ret < 0)
				return -1;
			done[i] = ret;
			left -= ret;
		}
		if (now_ms() < end)
			continue;
		s.outcome->timed_out = true;
		return step("waiting", -FI_ETIMEDOUT);
	}
	return 0;
}

static int barrier(struct member *m)
{
	ssize_t ret = fi_barrier(m->ep, fi_mc_addr(m->mc), NULL);

	if (ret == -FI_EAGAIN)
		ret = fi_barrier(m->ep, fi_mc_addr(m->mc), NULL);
	return step("fi_barrier", ret);
}

static int allreduce(struct member *m)
{
	ssize_t ret = -FI_EAGAIN;
	int i;

	for (i = 0; i < 2 && ret == -FI_EAGAIN; i++)
		ret = fi_allreduce(m->ep, m->in, COUNT, NULL, m->out, NULL, fi_mc_addr(m->mc),
				   FI_UINT64, FI_SUM, 0, NULL);
	return step("fi_allreduce", ret);
}

static int each(int (*call)(struct member *m))
{
	int i, ret = 0;

	for (i = 0; i < MEMBERS && !ret; i++)
		ret = call(&s.member[i]);
	return ret;
}

static void close_one(void *object)
{
	int ret = object ? fi_close(object) : 0;

	if (ret && !s.outcome->close_err)
		s.outcome->close_err = ret;
}

static void close_all(void)
{
	struct member *m;

	for (m = s.member; m < s.member + MEMBERS; m++) {
		close_one(m->mc);
		close_one(m->set);
		close_one(m->ep);
		close_one(m->cq);
		close_one(m->av);
		close_one(m->eq);
	}
	close_one(s.domain);
	close_one(s.fabric);
	fi_freeinfo(s.info);
}

void script_coll(const char *addr, struct outcome *outcome)
{
	int ret;

	(void)addr;
	memset(outcome, 0, sizeof(*outcome));
	memset(&s, 0, sizeof(s));
	s.outcome = outcome;
	ret = open_domain() || each(open_member);
	if (!ret) {
		script_begins();
		outcome->connecting = true;
		(void)(each(introduce) || each(begin_join) || all_of(has_joined) || each(barrier) ||
		       all_of(has_completed) || each(allreduce) || all_of(has_completed));
	}
	close_all();
}
