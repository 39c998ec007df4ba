/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two reliable-datagram endpoints: open, each way that a message goes, RMA, an atomic, a fence, close. */
#include "script.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum { WAIT_MS = 8000, LEN = 200000, KEY = 7 };

struct rdm_script {
	struct outcome *outcome;
	struct fi_info *hints, *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_mr *mr;
	struct fid_cq *cq[2];
	struct fid_av *av[2];
	struct fid_ep *ep[2];
	fi_addr_t to[2]; /* the other */
	char av_name[32];
	char out[LEN], in[LEN], target[LEN];
};

/* Notes where the script is, and the first error. Returns whether there was one. */
static int step(struct rdm_script *s, const char *name, ssize_t ret)
{
	if (s->outcome->err)
		return -1;
	snprintf(s->outcome->step, sizeof(s->outcome->step), "%s", name);
	if (ret >= 0)
		return 0;
	s->outcome->err = (int)ret;
	return -1;
}

/* What was out of memory for a moment is to be tried again. */
#define AGAIN(call)                                          \
	({                                                   \
		ssize_t ret_ = (call);                       \
		ret_ == -FI_EAGAIN ? (ssize_t)(call) : ret_; \
	})

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* What comes before is the same as in script.c. */
static int open_fabric(struct rdm_script *s)
{
	s->hints = fi_allocinfo();
	if (step(s, "fi_allocinfo", s->hints ? 0 : -FI_ENOMEM))
		return -1;
	snprintf(s->av_name, sizeof(s->av_name), "faults %d", (int)getpid());
	s->hints->ep_attr->type = FI_EP_RDM;
	s->hints->addr_format = FI_SOCKADDR_IN;
	s->hints->fabric_attr->prov_name = strdup("verbs");
	return step(s, "fi_getinfo",
		    fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, s->hints, &s->info)) ||
	       step(s, "fi_fabric", fi_fabric(s->info->fabric_attr, &s->fabric, NULL));
}

static int open_domain(struct rdm_script *s)
{
	script_begins();
	return step(s, "fi_domain", fi_domain(s->fabric, s->info, &s->domain, NULL)) ||
	       step(s, "fi_mr_reg",
		    fi_mr_reg(s->domain, s->target, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
			      0, &s->mr, NULL));
}

static int open_ep(struct rdm_script *s, int i)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_FD };
	/* One is shared with nobody. */
	struct fi_av_attr av = { .type = FI_AV_TABLE, .name = i ? s->av_name : NULL };

	return step(s, "fi_cq_open", fi_cq_open(s->domain, &cq, &s->cq[i], NULL)) ||
	       step(s, "fi_av_open", fi_av_open(s->domain, &av, &s->av[i], NULL)) ||
	       step(s, "fi_endpoint", fi_endpoint(s->domain, s->info, &s->ep[i], NULL)) ||
	       step(s, "fi_ep_bind", fi_ep_bind(s->ep[i], &s->cq[i]->fid, FI_TRANSMIT | FI_RECV)) ||
	       step(s, "fi_ep_bind", fi_ep_bind(s->ep[i], &s->av[i]->fid, 0)) ||
	       step(s, "fi_enable", fi_enable(s->ep[i]));
}

static int introduce(struct rdm_script *s, int i)
{
	char name[64];
	size_t len = sizeof(name);
	int ret, err = FI_ENOMEM;

	if (step(s, "fi_getname", fi_getname(&s->ep[!i]->fid, name, &len)))
		return -1;
	ret = fi_av_insert(s->av[i], name, 1, &s->to[i], FI_SYNC_ERR, &err);
	return step(s, "fi_av_insert", ret == 1 ? 0 : ret < 0 ? ret : -err);
}

/* 1: there is an entry, 0: none. */
static int take(struct rdm_script *s, int i, const char *name)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	ssize_t ret = fi_cq_read(s->cq[i], &entry, 1);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret == -FI_EAVAIL) {
		ret = fi_cq_readerr(s->cq[i], &error, 0);
		s->outcome->by_event = ret > 0;
		return step(s, name, ret > 0 ? -error.err : ret);
	}
	return step(s, name, ret) ? -1 : 1;
}

/* So many completions of each. */
static int complete(struct rdm_script *s, const char *name, int first, int second)
{
	long end = now_ms() + WAIT_MS;
	int ret = 0;

	while (first > 0 || second > 0) {
		ret = take(s, 0, name);
		first -= ret > 0;
		if (ret >= 0)
			ret = take(s, 1, name);
		second -= ret > 0;
		if (ret < 0)
			return -1;
		if (now_ms() < end)
			continue;
		s->outcome->timed_out = true;
		return step(s, name, -FI_ETIMEDOUT);
	}
	return step(s, name, 0);
}

static int message(struct rdm_script *s, int from, size_t len)
{
	return step(s, "fi_trecv",
		    AGAIN(fi_trecv(s->ep[!from], s->in, LEN, NULL, FI_ADDR_UNSPEC, len, 0,
				   NULL))) ||
	       step(s, "fi_tsend",
		    AGAIN(fi_tsend(s->ep[from], s->out, len, NULL, s->to[from], len, NULL))) ||
	       complete(s, "waiting for a message", 1, 1);
}

/* More than one packet that nobody waits for. */
static int unexpected(struct rdm_script *s)
{
	return step(s, "fi_tinject", AGAIN(fi_tinject(s->ep[0], s->out, 8, s->to[0], 1))) ||
	       step(s, "fi_tsend",
		    AGAIN(fi_tsend(s->ep[0], s->out, 30000, NULL, s->to[0], 2, NULL))) ||
	       complete(s, "waiting for what is not expected", 1, 0) ||
	       step(s, "fi_trecv",
		    AGAIN(fi_trecv(s->ep[1], s->in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, NULL))) ||
	       step(s, "fi_trecv",
		    AGAIN(fi_trecv(s->ep[1], s->in, LEN, NULL, FI_ADDR_UNSPEC, 2, 0, NULL))) ||
	       complete(s, "waiting for what was not expected", 0, 2);
}

static int sleep_once(struct rdm_script *s)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_sread(s->cq[0], &entry, 1, NULL, 1);

	return step(s, "fi_cq_sread", ret == -FI_EAGAIN ? 0 : ret);
}

static int memory(struct rdm_script *s)
{
	uint64_t one = 1, old;

	return step(s, "fi_write",
		    AGAIN(fi_write(s->ep[0], s->out, LEN, NULL, s->to[0], 0, KEY, NULL))) ||
	       complete(s, "waiting for a write", 1, 0) ||
	       step(s, "fi_read",
		    AGAIN(fi_read(s->ep[0], s->in, 5000, NULL, s->to[0], 8, KEY, NULL))) ||
	       complete(s, "waiting for a read", 1, 0) ||
	       step(s, "fi_fetch_atomic",
		    AGAIN(fi_fetch_atomic(s->ep[0], &one, 1, NULL, &old, NULL, s->to[0], 0, KEY,
					  FI_UINT64, FI_SUM, NULL))) ||
	       complete(s, "waiting for an atomic", 1, 0);
}

/* A message behind a fence, and a write behind that. */
static int fence(struct rdm_script *s)
{
	struct iovec iov = { s->in, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = s->to[0], .tag = 3 };

	return step(s, "fi_trecv",
		    AGAIN(fi_trecv(s->ep[1], s->target, LEN, NULL, FI_ADDR_UNSPEC, 3, 0, NULL))) ||
	       step(s, "fi_read",
		    AGAIN(fi_read(s->ep[0], s->in, LEN, NULL, s->to[0], 0, KEY, NULL))) ||
	       step(s, "fi_tsendmsg", AGAIN(fi_tsendmsg(s->ep[0], &msg, FI_FENCE))) ||
	       step(s, "fi_write",
		    AGAIN(fi_write(s->ep[0], s->out, 8, NULL, s->to[0], 0, KEY, NULL))) ||
	       complete(s, "waiting for what is behind a fence", 3, 1);
}

static int transfer(struct rdm_script *s)
{
	return message(s, 0, 8) || sleep_once(s) || message(s, 1, 4000) || message(s, 0, 30000) ||
	       message(s, 1, LEN) || unexpected(s) || memory(s) || fence(s);
}

static void close_one(struct rdm_script *s, void *object)
{
	int ret = object ? fi_close(object) : 0;

	if (ret && !s->outcome->close_err)
		s->outcome->close_err = ret;
}

static void close_all(struct rdm_script *s)
{
	int i;

	for (i = 0; i < 2; i++) {
		close_one(s, s->ep[i]);
		close_one(s, s->cq[i]);
		close_one(s, s->av[i]);
	}
	close_one(s, s->mr);
	close_one(s, s->domain);
	close_one(s, s->fabric);
	fi_freeinfo(s->info);
	fi_freeinfo(s->hints);
}

void script_rdm(const char *addr, struct outcome *outcome)
{
	static struct rdm_script s;

	(void)addr;
	memset(outcome, 0, sizeof(*outcome));
	memset(&s, 0, sizeof(s));
	s.outcome = outcome;
	if (!open_fabric(&s) && !open_domain(&s) && !open_ep(&s, 0) && !open_ep(&s, 1) &&
	    !introduce(&s, 0) && !introduce(&s, 1))
		(void)transfer(&s);
	close_all(&s);
}
