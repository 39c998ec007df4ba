/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A wait set with the completion queue, the counter and the event queue of a reliable-datagram
 * endpoint: fi_wait sleeps until one of them has something, even if nobody else makes progress.
 */
#include "rdm.h"

#include <unistd.h>
#include <sys/wait.h>
#include <rdma/fi_eq.h>

enum { ROUNDS = 20 };

struct side {
	struct fid_wait *set;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_av *av;
	struct fid_ep *ep;
};

static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static char out[8], in[8];

static void open_side(struct side *s, enum fi_wait_obj obj)
{
	struct fi_wait_attr attr = { .wait_obj = obj };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_SET };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_SET };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_SET, .flags = FI_WRITE };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };

	OK(fi_wait_open(fabric, &attr, &s->set));
	cq_attr.wait_set = cntr_attr.wait_set = eq_attr.wait_set = s->set;
	OK(fi_cq_open(domain, &cq_attr, &s->cq, NULL));
	OK(fi_cntr_open(domain, &cntr_attr, &s->cntr, NULL));
	OK(fi_eq_open(fabric, &eq_attr, &s->eq, NULL));
	OK(fi_av_open(domain, &av_attr, &s->av, NULL));
	OK(fi_endpoint(domain, info, &s->ep, NULL));
	OK(fi_ep_bind(s->ep, &s->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(s->ep, &s->cntr->fid, FI_RECV));
	OK(fi_ep_bind(s->ep, &s->av->fid, 0));
	OK(fi_enable(s->ep));
}

static void close_side(struct side *s)
{
	RETURNS(fi_close(&s->set->fid), -FI_EBUSY);
	OK(fi_close(&s->ep->fid));
	OK(fi_close(&s->av->fid));
	OK(fi_close(&s->eq->fid));
	OK(fi_close(&s->cntr->fid));
	OK(fi_close(&s->cq->fid));
	OK(fi_close(&s->set->fid));
}

static void find(void)
{
	struct fi_info *hints = fi_allocinfo();

	hints->caps = FI_MSG | FI_TAGGED;
	hints->ep_attr->type = FI_EP_RDM;
	hints->addr_format = FI_SOCKADDR_IN;
	OK(fi_getinfo(FI_VERSION(1, 17), need_env("WEFT_ADDR"), NULL, FI_SOURCE, hints, &info));
	fi_freeinfo(hints);
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
}

static fi_addr_t learn(struct side *s, int from, int to)
{
	char name[64];
	size_t len = sizeof(name);
	fi_addr_t addr;

	OK(fi_getname(&s->ep->fid, name, &len));
	EQUAL(write(to, name, sizeof(name)), sizeof(name));
	EQUAL(read(from, name, sizeof(name)), sizeof(name));
	EQUAL(fi_av_insert(s->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* Waits for one completion, asleep meanwhile; only the set makes progress. */
static void next(struct side *s)
{
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(s->cq, &entry, 1)) == -FI_EAGAIN) {
		ret = fi_wait(s->set, WAIT_MS);
		if (ret != -FI_EAGAIN)
			OK(ret);
		pause_until(end, "a completion");
	}
	RETURNS(ret, 1);
}

static void talk(bool first, int from, int to)
{
	struct side s;
	fi_addr_t peer;
	int i;

	find();
	open_side(&s, first ? FI_WAIT_UNSPEC : FI_WAIT_FD);
	peer = learn(&s, from, to);
	for (i = 0; i < ROUNDS; i++) {
		OK(fi_trecv(s.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
		if (!first)
			next(&s);
		OK(fi_tsend(s.ep, out, sizeof(out), NULL, peer, 1, NULL));
		next(&s);
		if (first)
			next(&s);
	}
	EQUAL(fi_cntr_read(s.cntr), ROUNDS);
	while (!fi_wait(s.set, 0))
		;
	EQUAL(fi_eq_write(s.eq, FI_NOTIFY, &(struct fi_eq_entry){ .fid = &s.ep->fid },
			  sizeof(struct fi_eq_entry), 0),
	      sizeof(struct fi_eq_entry));
	OK(fi_wait(s.set, WAIT_MS));
	close_side(&s);
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

static void test(void)
{
	int there[2], back[2], status;
	pid_t pid;

	OK(pipe(there));
	OK(pipe(back));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		talk(false, there[0], back[1]);
		_exit(0);
	}
	talk(true, back[0], there[1]);
	EQUAL(waitpid(pid, &status, 0), pid);
	EQUAL(status, 0);
}

int main(void)
{
	return run_test(test);
}
