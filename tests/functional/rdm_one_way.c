/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints with capabilities of one direction: messages go from one that only sends to one that
 * only receives, calls of the other direction are not there, and each needs a completion queue or a
 * counter for what it starts.
 */
#include "rdm.h"

#include <string.h>

enum { LEN = 100000 };

static struct fid_fabric *fabric;
static struct fid_domain *domain;
static uint8_t out[LEN], in[LEN];

struct way {
	struct fi_info *info;
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
};

static struct fi_info *info_of(uint64_t caps)
{
	struct fi_info *hints = fi_allocinfo(), *info;

	rdm_hint_device(hints);
	hints->caps = caps;
	if (domain) {
		hints->domain_attr->domain = domain;
		hints->fabric_attr->fabric = fabric;
	}
	OK(fi_getinfo(rdm_version(hints), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	EQUAL(info->caps & (FI_SEND | FI_RECV), caps & (FI_SEND | FI_RECV));
	return info;
}

static void way_open(struct way *way, uint64_t caps)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED };

	way->info = info_of(caps);
	OK(fi_endpoint(domain, way->info, &way->ep, NULL));
	OK(fi_cq_open(domain, &attr, &way->cq, NULL));
	OK(fi_av_open(domain, &(struct fi_av_attr){ .type = FI_AV_TABLE }, &way->av, NULL));
	OK(fi_ep_bind(way->ep, &way->av->fid, 0));
}

static void way_close(struct way *way)
{
	OK(fi_close(&way->ep->fid));
	OK(fi_close(&way->cq->fid));
	OK(fi_close(&way->av->fid));
	fi_freeinfo(way->info);
}

static void no_receives(struct fid_ep *ep)
{
	struct iovec iov = { in, LEN };
	const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	const struct fi_msg_tagged tagged = { .msg_iov = &iov, .iov_count = 1 };

	RETURNS(fi_recv(ep, in, LEN, NULL, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	RETURNS(fi_recvv(ep, &iov, NULL, 1, FI_ADDR_UNSPEC, NULL), -FI_ENOSYS);
	RETURNS(fi_recvmsg(ep, &msg, 0), -FI_ENOSYS);
	RETURNS(fi_trecv(ep, in, LEN, NULL, FI_ADDR_UNSPEC, 0, 0, NULL), -FI_ENOSYS);
	RETURNS(fi_trecvv(ep, &iov, NULL, 1, FI_ADDR_UNSPEC, 0, 0, NULL), -FI_ENOSYS);
	RETURNS(fi_trecvmsg(ep, &tagged, 0), -FI_ENOSYS);
}

static void no_sends(struct fid_ep *ep, fi_addr_t to)
{
	struct iovec iov = { out, LEN };
	const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = to };
	const struct fi_msg_tagged tagged = { .msg_iov = &iov, .iov_count = 1, .addr = to };

	RETURNS(fi_send(ep, out, LEN, NULL, to, NULL), -FI_ENOSYS);
	RETURNS(fi_sendv(ep, &iov, NULL, 1, to, NULL), -FI_ENOSYS);
	RETURNS(fi_sendmsg(ep, &msg, 0), -FI_ENOSYS);
	RETURNS(fi_inject(ep, out, 1, to), -FI_ENOSYS);
	RETURNS(fi_senddata(ep, out, LEN, NULL, 1, to, NULL), -FI_ENOSYS);
	RETURNS(fi_injectdata(ep, out, 1, 1, to), -FI_ENOSYS);
	RETURNS(fi_tsend(ep, out, LEN, NULL, to, 1, NULL), -FI_ENOSYS);
	RETURNS(fi_tsendv(ep, &iov, NULL, 1, to, 1, NULL), -FI_ENOSYS);
	RETURNS(fi_tsendmsg(ep, &tagged, 0), -FI_ENOSYS);
	RETURNS(fi_tinject(ep, out, 1, to, 1), -FI_ENOSYS);
	RETURNS(fi_tsenddata(ep, out, LEN, NULL, 1, to, 1, NULL), -FI_ENOSYS);
	RETURNS(fi_tinjectdata(ep, out, 1, 1, to, 1), -FI_ENOSYS);
}

static fi_addr_t know(const struct way *who, const struct way *whom)
{
	uint8_t name[64];
	size_t len = sizeof(name);
	fi_addr_t addr;

	OK(fi_getname(&whom->ep->fid, name, &len));
	EQUAL(fi_av_insert(who->av, name, 1, &addr, 0, NULL), 1);
	return addr;
}

/* Waits for one completion of each endpoint. */
static void both(const struct way *a, const struct way *b)
{
	uint64_t end = deadline();
	struct fi_cq_tagged_entry entry;
	unsigned int done = 0;

	while (done != 3) {
		done |= fi_cq_read(a->cq, &entry, 1) == 1;
		done |= fi_cq_read(b->cq, &entry, 1) == 1 ? 2 : 0;
		pause_until(end, "the completions of a message");
	}
}

static void messages(void)
{
	struct way sender, receiver;
	struct fi_alias arg = { 0 };
	struct fid_ep *alias;
	fi_addr_t to, back;

	way_open(&sender, FI_MSG | FI_TAGGED | FI_SEND);
	way_open(&receiver, FI_MSG | FI_TAGGED | FI_RECV);
	OK(fi_ep_bind(sender.ep, &sender.cq->fid, FI_TRANSMIT));
	OK(fi_ep_bind(receiver.ep, &receiver.cq->fid, FI_RECV));
	OK(fi_enable(sender.ep));
	OK(fi_enable(receiver.ep));
	to = know(&sender, &receiver);
	back = know(&receiver, &sender);
	no_receives(sender.ep);
	no_sends(receiver.ep, back);
	arg.fid = (struct fid **)&alias;
	arg.flags = FI_TRANSMIT;
	OK(fi_control(&sender.ep->fid, FI_ALIAS, &arg));
	no_receives(alias);
	fill(out, LEN, 3);
	OK(fi_recv(receiver.ep, in, LEN, NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(sender.ep, out, LEN, NULL, to, NULL));
	both(&sender, &receiver);
	CHECK_FILLED(in, LEN, 3);
	fill(out, 8, 4);
	OK(fi_trecv(receiver.ep, in, 8, NULL, FI_ADDR_UNSPEC, 7, 0, NULL));
	OK(fi_tsend(alias, out, 8, NULL, to, 7, NULL));
	both(&sender, &receiver);
	CHECK_FILLED(in, 8, 4);
	OK(fi_close(&alias->fid));
	way_close(&sender);
	way_close(&receiver);
}

/* Errors of RMA and atomics need a place, too, but not those that the endpoint is the target of. */
static void queues(void)
{
	static const uint64_t starts[] = { FI_RMA | FI_WRITE, FI_RMA | FI_READ,
					   FI_ATOMIC | FI_WRITE, FI_ATOMIC | FI_READ };
	struct fid_cntr *cntr;
	struct way way;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		way_open(&way, starts[i]);
		RETURNS(fi_enable(way.ep), -FI_ENOCQ);
		OK(fi_ep_bind(way.ep, &way.cq->fid, FI_RECV));
		RETURNS(fi_enable(way.ep), -FI_ENOCQ);
		OK(fi_ep_bind(way.ep, &way.cq->fid, FI_TRANSMIT));
		OK(fi_enable(way.ep));
		way_close(&way);
		way_open(&way, starts[i]);
		OK(fi_cntr_open(domain, NULL, &cntr, NULL));
		OK(fi_ep_bind(way.ep, &cntr->fid, starts[i] & (FI_READ | FI_WRITE)));
		OK(fi_enable(way.ep));
		way_close(&way);
		OK(fi_close(&cntr->fid));
	}
	way_open(&way, FI_RMA | FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE);
	OK(fi_enable(way.ep));
	way_close(&way);
}

static void test(void)
{
	struct fi_info *info = info_of(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_RECV |
				       FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);

	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	fi_freeinfo(info);
	messages();
	queues();
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
}

int main(void)
{
	return run_test(test);
}
