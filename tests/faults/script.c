/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opens, connects, transfers and closes. Each part returns 0 if it was completed. */
#include "script.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>

enum { WAIT_MS = 4000, LEN = 4096 };

#define ACCESS (FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)

struct script {
	struct outcome *outcome;
	const char *addr;
	struct fi_info *hints, *passive, *active, *request, *refused;
	fid_t pending; /* a connection request that is not answered */
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_pep *pep;
	struct fid_cq *cq;
	struct fid_cntr *cntr, *waited;
	struct fid_wait *waitset;
	struct fid_poll *pollset;
	struct fid_mr *mr;
	struct fid_stx *stx;  /* of the one that accepts */
	struct fid_ep *alias; /* of the one that connects */
	struct fid_ep *srx;   /* of the one that accepts */
	struct fid_ep *ep[4]; /* connects; accepts and counts; is rejected, without CQ; datagrams */
	struct fi_info *dgram;
	struct fid_av *av;
	struct fid_mc *mc;
	struct fid_cq *old_cq; /* of the connections, where there is an own one for datagrams */
	char buf[5 * LEN];
};

/* Records the current step, and the first error. Returns true if there was one. */
static int step(struct script *s, const char *name, ssize_t ret)
{
	if (s->outcome->err)
		return -1;
	snprintf(s->outcome->step, sizeof(s->outcome->step), "%s", name);
	if (ret >= 0)
		return 0;
	s->outcome->err = (int)ret;
	return -1;
}

static int from_event(struct script *s, const char *name, int err)
{
	s->outcome->by_event = true;
	return step(s, name, err ? -err : -FI_EOTHER);
}

static long now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int timed_out(struct script *s, const char *name)
{
	s->outcome->timed_out = true;
	return step(s, name, -FI_ETIMEDOUT);
}

static int make_hints(struct script *s)
{
	s->hints = fi_allocinfo();
	if (step(s, "fi_allocinfo", s->hints ? 0 : -FI_ENOMEM))
		return -1;
	s->hints->caps = FI_MSG | FI_RMA;
	s->hints->ep_attr->type = FI_EP_MSG;
	s->hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	s->hints->fabric_attr->prov_name = strdup("verbs");
	s->hints->tx_attr->size = s->hints->rx_attr->size = 16;
	return 0;
}

static int open_passive(struct script *s)
{
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_FD };

	return step(s, "fi_getinfo",
		    fi_getinfo(FI_VERSION(1, 17), s->addr, NULL, FI_SOURCE, s->hints,
			       &s->passive)) ||
	       step(s, "fi_fabric", fi_fabric(s->passive->fabric_attr, &s->fabric, NULL)) ||
	       step(s, "fi_eq_open", fi_eq_open(s->fabric, &eq_attr, &s->eq, NULL)) ||
	       step(s, "fi_passive_ep", fi_passive_ep(s->fabric, s->passive, &s->pep, NULL)) ||
	       step(s, "fi_pep_bind", fi_pep_bind(s->pep, &s->eq->fid, 0)) ||
	       step(s, "fi_listen", fi_listen(s->pep));
}

static int resolve(struct script *s)
{
	struct sockaddr_in addr;
	size_t len = sizeof(addr);
	char service[8];

	if (step(s, "fi_getname", fi_getname(&s->pep->fid, &addr, &len)))
		return -1;
	snprintf(service, sizeof(service), "%u", ntohs(addr.sin_port));
	return step(s, "fi_getinfo of the peer",
		    fi_getinfo(FI_VERSION(1, 17), s->addr, service, 0, s->hints, &s->active));
}

static int open_domain(struct script *s)
{
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_FD };

	cq_attr.size = 8;
	return step(s, "fi_domain", fi_domain(s->fabric, s->active, &s->domain, NULL)) ||
	       step(s, "fi_domain_bind", fi_domain_bind(s->domain, &s->eq->fid, 0)) ||
	       step(s, "fi_cq_open", fi_cq_open(s->domain, &cq_attr, &s->cq, NULL)) ||
	       step(s, "fi_cntr_open", fi_cntr_open(s->domain, &cntr_attr, &s->cntr, NULL)) ||
	       step(s, "fi_mr_reg",
		    fi_mr_reg(s->domain, s->buf, sizeof(s->buf), ACCESS, 0, 0, 0, &s->mr, NULL));
}

/* What adds nothing to a counter, at once. Hooks do not let it pass. */
static int queue_work(struct script *s)
{
	struct fi_op_cntr op = { .cntr = s->waited };
	struct fi_deferred_work work = { .op_type = FI_OP_CNTR_ADD,
					 .triggering_cntr = s->waited,
					 .op.cntr = &op };

	int ret = fi_control(&s->domain->fid, FI_QUEUE_WORK, &work);

	return ret == -FI_ENOSYS && getenv("FI_HOOK") ? 0 : ret;
}

/* A counter in a wait set and in a poll set: nothing happens to it. */
static int open_sets(struct script *s)
{
	struct fi_wait_attr wait_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_SET };
	void *found;
	int ret;

	if (step(s, "fi_wait_open", fi_wait_open(s->fabric, &wait_attr, &s->waitset)))
		return -1;
	cntr_attr.wait_set = s->waitset;
	if (step(s, "fi_cntr_open in a set", fi_cntr_open(s->domain, &cntr_attr, &s->waited, NULL)))
		return -1;
	ret = fi_wait(s->waitset, 1);
	return step(s, "fi_wait", ret == -FI_ETIMEDOUT ? 0 : ret) ||
	       step(s, "fi_poll_open", fi_poll_open(s->domain, NULL, &s->pollset)) ||
	       step(s, "fi_poll_add", fi_poll_add(s->pollset, &s->waited->fid, 0)) ||
	       step(s, "FI_QUEUE_WORK", queue_work(s)) ||
	       step(s, "fi_poll", fi_poll(s->pollset, &found, 1)) ||
	       step(s, "fi_poll_del", fi_poll_del(s->pollset, &s->waited->fid, 0));
}

static int bind_ep(struct script *s, int i)
{
	if (i < 2 && step(s, "fi_ep_bind of the CQ",
			  fi_ep_bind(s->ep[i], &s->cq->fid, FI_TRANSMIT | FI_RECV)))
		return -1;
	return i < 1 ? 0
		     : step(s, "fi_ep_bind of the counter",
			    fi_ep_bind(s->ep[i], &s->cntr->fid, FI_SEND | FI_RECV));
}

static int set_limit(struct script *s, size_t limit)
{
	return step(s, "fi_setopt",
		    fi_setopt(&s->srx->fid, FI_OPT_ENDPOINT, FI_OPT_VERBS_SRX_LIMIT, &limit,
			      sizeof(limit)));
}

static int open_srx(struct script *s)
{
	struct fi_rx_attr attr = { .size = 4, .iov_limit = 1 };

	return step(s, "fi_stx_context", fi_stx_context(s->domain, NULL, &s->stx, NULL)) ||
	       step(s, "fi_srx_context", fi_srx_context(s->domain, &attr, &s->srx, NULL)) ||
	       step(s, "fi_ep_bind", fi_ep_bind(s->srx, &s->eq->fid, 0)) || set_limit(s, 2) ||
	       set_limit(s, 0);
}

static int open_ep(struct script *s, int i, struct fi_info *info)
{
	char *buf = s->buf + i * LEN;
	bool shared = info == s->request;

	if (shared)
		info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;

	if (step(s, "fi_endpoint", fi_endpoint(s->domain, info, &s->ep[i], NULL)))
		return -1;
	if (info->handle && info->handle == s->pending)
		s->pending = NULL;
	return step(s, "fi_ep_bind", fi_ep_bind(s->ep[i], &s->eq->fid, 0)) || bind_ep(s, i) ||
	       (shared && step(s, "fi_ep_bind", fi_ep_bind(s->ep[i], &s->stx->fid, 0))) ||
	       (shared && step(s, "fi_ep_bind", fi_ep_bind(s->ep[i], &s->srx->fid, 0))) ||
	       step(s, "fi_enable", fi_enable(s->ep[i])) ||
	       step(s, "fi_recv",
		    fi_recv(shared ? s->srx : s->ep[i], buf, LEN, fi_mr_desc(s->mr), 0, NULL));
}

static int event_error(struct script *s, const char *name)
{
	struct fi_eq_err_entry entry = { 0 };
	ssize_t ret = fi_eq_readerr(s->eq, &entry, 0);

	return ret < 0 ? step(s, "fi_eq_readerr", ret) : from_event(s, name, entry.err);
}

static void keep_request(struct script *s, struct fi_info *info)
{
	if (s->request)
		s->refused = info;
	else
		s->request = info;
	s->pending = info->handle;
}

union event {
	struct fi_eq_cm_entry cm;
	char room[sizeof(struct fi_eq_cm_entry) + 64];
};

/* Its length, or -FI_EAGAIN after some time. */
static ssize_t next_event(struct script *s, uint32_t *kind, union event *event)
{
	long end = now_ms() + WAIT_MS;
	ssize_t ret;

	do {
		ret = fi_eq_sread(s->eq, kind, event, sizeof(*event), 500, 0);
	} while (ret == -FI_EAGAIN && now_ms() < end);
	return ret;
}

/* Checks that the next event is this one. Keeps the fi_info of a connection request. */
static int expect(struct script *s, const char *name, uint32_t wanted)
{
	union event event;
	uint32_t kind = 0;
	ssize_t ret = next_event(s, &kind, &event);

	if (ret == -FI_EAVAIL)
		return event_error(s, name);
	if (ret == -FI_EAGAIN)
		return timed_out(s, name);
	if (step(s, name, ret))
		return -1;
	if (kind == FI_CONNREQ)
		keep_request(s, event.cm.info);
	return kind == wanted ? 0 : from_event(s, name, FI_EOTHER);
}

static int connect_eps(struct script *s)
{
	return open_ep(s, 0, s->active) ||
	       step(s, "fi_ep_alias", fi_ep_alias(s->ep[0], &s->alias, FI_TRANSMIT)) ||
	       step(s, "fi_connect", fi_connect(s->ep[0], s->active->dest_addr, "hi", 2)) ||
	       expect(s, "waiting for FI_CONNREQ", FI_CONNREQ) || open_ep(s, 1, s->request) ||
	       step(s, "fi_accept", fi_accept(s->ep[1], "ho", 2)) ||
	       expect(s, "waiting for FI_CONNECTED", FI_CONNECTED) ||
	       expect(s, "waiting for both FI_CONNECTED", FI_CONNECTED);
}

static int completion_error(struct script *s, const char *name)
{
	struct fi_cq_err_entry entry = { 0 };
	ssize_t ret = fi_cq_readerr(s->cq, &entry, 0);

	return ret < 0 ? step(s, "fi_cq_readerr", ret) : from_event(s, name, entry.err);
}

static int complete(struct script *s, const char *name, int count)
{
	long end = now_ms() + WAIT_MS;
	struct fi_cq_msg_entry entry;
	ssize_t ret;

	while (count) {
		ret = fi_cq_sread(s->cq, &entry, 1, NULL, 500);
		if (ret == -FI_EAVAIL)
			return completion_error(s, name);
		if (ret == -FI_EAGAIN && now_ms() < end)
			continue;
		if (ret == -FI_EAGAIN)
			return timed_out(s, name);
		if (step(s, name, ret))
			return -1;
		count--;
	}
	return 0;
}

/* The queue is empty: one sleep that times out, and the descriptor may be waited for. */
static int sleep_once(struct script *s)
{
	struct fi_cq_msg_entry entry;
	struct fid *fid = &s->cq->fid;
	ssize_t ret = fi_cq_sread(s->cq, &entry, 1, NULL, 1);

	return step(s, "fi_cq_sread", ret == -FI_EAGAIN ? 0 : ret) ||
	       step(s, "fi_trywait", fi_trywait(s->fabric, &fid, 1));
}

static int transfer(struct script *s)
{
	void *desc = fi_mr_desc(s->mr);
	char *mine = s->buf + 2 * LEN, *theirs = s->buf + 3 * LEN;
	uint64_t key = fi_mr_key(s->mr);
	struct fi_msg msg = { 0 };

	memset(mine, 'm', LEN);
	if (sleep_once(s) || step(s, "fi_send", fi_send(s->ep[0], mine, LEN, desc, 0, NULL)) ||
	    complete(s, "waiting for a message", 2) ||
	    step(s, "fi_recv", fi_recv(s->ep[0], s->buf, LEN, desc, 0, NULL)) ||
	    step(s, "fi_sendmsg", fi_sendmsg(s->ep[1], &msg, FI_MORE)) ||
	    step(s, "fi_inject", fi_inject(s->ep[1], mine, 8, 0)) ||
	    step(s, "fi_cntr_wait", fi_cntr_wait(s->cntr, 3, WAIT_MS)) ||
	    complete(s, "waiting for an answer", 3))
		return -1;
	return step(s, "fi_write",
		    fi_write(s->alias, mine, LEN, desc, 0, (uintptr_t)theirs, key, NULL)) ||
	       complete(s, "waiting for a write", 1) ||
	       step(s, "fi_read",
		    fi_read(s->ep[1], mine, LEN, desc, 0, (uintptr_t)theirs, key, NULL)) ||
	       complete(s, "waiting for a read", 1);
}

static int disconnect(struct script *s)
{
	return step(s, "fi_shutdown", fi_shutdown(s->ep[0], 0)) ||
	       expect(s, "waiting for FI_SHUTDOWN", FI_SHUTDOWN) ||
	       expect(s, "waiting for both FI_SHUTDOWN", FI_SHUTDOWN);
}

static int reject(struct script *s)
{
	struct fi_eq_err_entry entry = { 0 };
	union event event;
	uint32_t kind;
	fid_t handle;
	ssize_t ret;

	if (open_ep(s, 2, s->active) ||
	    step(s, "fi_connect", fi_connect(s->ep[2], s->active->dest_addr, NULL, 0)) ||
	    expect(s, "waiting for another FI_CONNREQ", FI_CONNREQ))
		return -1;
	handle = s->pending;
	s->pending = NULL;
	if (step(s, "fi_reject", fi_reject(s->pep, handle, "no", 2)))
		return -1;
	ret = next_event(s, &kind, &event);
	if (ret == -FI_EAGAIN)
		return timed_out(s, "waiting to be rejected");
	if (ret != -FI_EAVAIL)
		return step(s, "waiting to be rejected", ret < 0 ? ret : -FI_EOTHER);
	if (step(s, "fi_eq_readerr", fi_eq_readerr(s->eq, &entry, 0)))
		return -1;
	return entry.err == FI_ECONNREFUSED ? 0 : from_event(s, "being rejected", entry.err);
}

static int open_dgram(struct script *s)
{
	struct fi_av_attr attr = { .type = FI_AV_TABLE };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_MSG, .wait_obj = FI_WAIT_FD };

	s->old_cq = s->cq; /* which has what the connections left */
	s->cq = NULL;
	s->hints->caps = FI_MSG | FI_SOURCE | FI_MULTICAST;
	s->hints->addr_format = FI_SOCKADDR_IN; /* that of the domain */
	s->hints->ep_attr->type = FI_EP_DGRAM;
	return step(s, "fi_getinfo of FI_EP_DGRAM",
		    fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, s->hints, &s->dgram)) ||
	       step(s, "fi_cq_open", fi_cq_open(s->domain, &cq_attr, &s->cq, NULL)) ||
	       step(s, "fi_av_open", fi_av_open(s->domain, &attr, &s->av, NULL)) ||
	       step(s, "fi_endpoint of datagrams",
		    fi_endpoint(s->domain, s->dgram, &s->ep[3], NULL)) ||
	       step(s, "fi_ep_bind", fi_ep_bind(s->ep[3], &s->av->fid, 0)) ||
	       step(s, "fi_ep_bind", fi_ep_bind(s->ep[3], &s->cq->fid, FI_TRANSMIT | FI_RECV)) ||
	       step(s, "fi_enable of datagrams", fi_enable(s->ep[3]));
}

/* Sends resolve an address that could not be resolved when it was inserted. */
static ssize_t send_datagram(struct script *s, const void *buf, void *desc, fi_addr_t to)
{
	long end = now_ms() + WAIT_MS;
	ssize_t ret;

	do {
		ret = fi_send(s->ep[3], buf, 1000, desc, to, NULL);
	} while (ret == -FI_EAGAIN && !usleep(1000) && now_ms() < end);
	return ret;
}

/* To itself; what is sent last is on its way when the endpoint closes. */
static int datagrams(struct script *s)
{
	char name[64], *mine = s->buf + 2 * LEN;
	size_t len = sizeof(name);
	void *desc = fi_mr_desc(s->mr);
	fi_addr_t to = 0;
	int ret, err = FI_EOTHER;

	if (open_dgram(s) || step(s, "fi_getname", fi_getname(&s->ep[3]->fid, name, &len)))
		return -1;
	ret = fi_av_insert(s->av, name, 1, &to, FI_SYNC_ERR, &err);
	if (!ret) /* the other side's answer may tell it */
		return from_event(s, "fi_av_insert", err);
	return step(s, "fi_av_insert", ret) ||
	       step(s, "fi_recv", fi_recv(s->ep[3], s->buf, LEN, desc, 0, NULL)) ||
	       step(s, "fi_send", send_datagram(s, mine, desc, to)) ||
	       complete(s, "waiting for a datagram", 2) ||
	       step(s, "fi_inject", fi_inject(s->ep[3], mine, 8, to));
}

static int join(struct script *s)
{
	struct sockaddr_in group = { .sin_family = AF_INET };

	group.sin_addr.s_addr = htonl(0xef4d0001);
	return step(s, "fi_join", fi_join(s->ep[3], &group, 0, &s->mc, NULL)) ||
	       expect(s, "waiting for FI_JOIN_COMPLETE", FI_JOIN_COMPLETE);
}

/* Every object begins with its fid. */
static void close_one(struct script *s, void *object)
{
	int ret = object ? fi_close(object) : 0;

	if (ret && !s->outcome->close_err)
		s->outcome->close_err = ret;
}

static void close_all(struct script *s)
{
	close_one(s, s->ep[0]);
	close_one(s, s->alias);
	close_one(s, s->ep[1]);
	close_one(s, s->ep[2]);
	close_one(s, s->mc);
	close_one(s, s->ep[3]);
	close_one(s, s->av);
	close_one(s, s->srx);
	close_one(s, s->stx);
	if (s->pending)
		fi_reject(s->pep, s->pending, NULL, 0);
	fi_freeinfo(s->request);
	fi_freeinfo(s->refused);
	close_one(s, s->pep);
	close_one(s, s->mr);
	close_one(s, s->cntr);
	if (s->pollset)
		fi_poll_del(s->pollset, &s->waited->fid, 0);
	close_one(s, s->pollset);
	close_one(s, s->waited);
	close_one(s, s->waitset);
	close_one(s, s->cq);
	close_one(s, s->old_cq);
	close_one(s, s->domain);
	close_one(s, s->eq);
	close_one(s, s->fabric);
	fi_freeinfo(s->active);
	fi_freeinfo(s->dgram);
	fi_freeinfo(s->passive);
	fi_freeinfo(s->hints);
}

void script_run(const char *addr, struct outcome *outcome)
{
	static struct script s;

	memset(outcome, 0, sizeof(*outcome));
	memset(&s, 0, sizeof(s));
	s.outcome = outcome;
	script_begins();
	s.addr = addr;
	if (!make_hints(&s) && !open_passive(&s) && !resolve(&s) && !open_domain(&s) &&
	    !open_sets(&s) && !open_srx(&s) && !connect_eps(&s) && !transfer(&s) &&
	    !disconnect(&s) && !reject(&s))
		(void)(datagrams(&s) || join(&s));
	outcome->connecting = s.ep[0];
	close_all(&s);
}
