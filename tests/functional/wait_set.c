/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A wait set with completion queues, an event queue and a counter: each of them wakes fi_wait and
 * the set's descriptor, and nothing else does.
 */
#include <poll.h>
#include <unistd.h>
#include "steps.h"

enum { ROUNDS = 20 };

/* Opened in addition to the end's own objects, which are not in the set. */
struct members {
	struct fid_wait *set;
	struct fid_cq *cq, *rxcq;
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_ep *ep;
};

static void open_members(struct end *end, struct members *m, enum fi_wait_obj obj)
{
	struct fi_wait_attr attr = { .wait_obj = obj };
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_TAGGED, .wait_obj = FI_WAIT_SET };
	struct fi_cntr_attr cntr_attr = { .wait_obj = FI_WAIT_SET };
	struct fi_eq_attr eq_attr = { .wait_obj = FI_WAIT_SET, .flags = FI_WRITE };

	OK(fi_wait_open(end->fabric, &attr, &m->set));
	cq_attr.wait_set = cntr_attr.wait_set = eq_attr.wait_set = m->set;
	OK(fi_cq_open(end->domain, &cq_attr, &m->cq, NULL));
	OK(fi_cq_open(end->domain, &cq_attr, &m->rxcq, NULL));
	OK(fi_cntr_open(end->domain, &cntr_attr, &m->cntr, NULL));
	OK(fi_eq_open(end->fabric, &eq_attr, &m->eq, NULL));
}

static void close_members(struct members *m)
{
	RETURNS(fi_close(&m->set->fid), -FI_EBUSY);
	OK(fi_close(&m->eq->fid));
	OK(fi_close(&m->rxcq->fid));
	OK(fi_close(&m->cq->fid));
	OK(fi_close(&m->cntr->fid));
	OK(fi_close(&m->set->fid));
}

/* This is how an application sleeps that waits for several descriptors. */
static void sleep_on_set(struct end *end, struct members *m)
{
	struct fid *fid = &m->set->fid;

	if (fi_trywait(end->fabric, &fid, 1) == 0)
		sleep_on_fd(fid);
}

static void sleep_on(struct end *end, struct members *m, bool fd)
{
	if (fd)
		sleep_on_set(end, m);
	else
		OK(fi_wait(m->set, WAIT_MS));
}

static void next(struct end *end, struct members *m, struct fid_cq *cq, bool fd)
{
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(cq, &entry, 1)) == -FI_EAGAIN) {
		sleep_on(end, m, fd);
		pause_until(limit, "a completion");
	}
	RETURNS(ret, 1);
}

static void event(struct end *end, struct members *m, uint32_t want, bool fd)
{
	uint64_t limit = deadline();
	char buf[256];
	uint32_t found;
	ssize_t ret;

	while ((ret = fi_eq_read(m->eq, &found, buf, sizeof(buf), 0)) == -FI_EAGAIN) {
		sleep_on(end, m, fd);
		pause_until(limit, "an event");
	}
	CHECK(ret >= 0);
	EQUAL(found, want);
}

static void quiet(struct members *m)
{
	uint64_t limit = deadline();

	while (!fi_wait(m->set, 0))
		pause_until(limit, "nothing more to tell");
	RETURNS(fi_wait(m->set, 20), -FI_ETIMEDOUT);
}

static void step_listen(struct end *end, void *arg)
{
	end_listen(end, local_addr(), arg);
}

static void step_accept(struct end *end, void *arg)
{
	struct fi_info *info = end_request(end, NULL, NULL);

	(void)arg;
	end->ep = end_ep(end, info);
	fi_freeinfo(info);
	OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
	OK(fi_accept(end->ep, NULL, 0));
}

static void step_echo(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;

	(void)arg;
	wait_comp(end->rxcq, &entry);
	OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
	wait_comp(end->cq, &entry);
}

static void step_connected(struct end *end, void *arg)
{
	(void)arg;
	wait_event(end->eq, FI_CONNECTED, &end->ep->fid, NULL, 0);
}

static void connect_ep(struct pair *pair, struct members *m, bool fd)
{
	struct end *end = &pair->client;
	struct place place = { 0 };

	at(&pair->server, step_listen, &place, sizeof(place));
	end_open(end, info_for(end->setup, place.node, place.service, 0));
	open_members(end, m, fd ? FI_WAIT_FD : FI_WAIT_UNSPEC);
	OK(fi_endpoint(end->domain, end->info, &m->ep, NULL));
	OK(fi_ep_bind(m->ep, &m->eq->fid, 0));
	OK(fi_ep_bind(m->ep, &m->cq->fid, FI_TRANSMIT));
	OK(fi_ep_bind(m->ep, &m->rxcq->fid, FI_RECV));
	OK(fi_ep_bind(m->ep, &m->cntr->fid, FI_SEND));
	OK(fi_enable(m->ep));
	quiet(m);
	OK(fi_connect(m->ep, end->info->dest_addr, NULL, 0));
	at(&pair->server, step_accept, NULL, 0);
	event(end, m, FI_CONNECTED, fd);
	at(&pair->server, step_connected, NULL, 0);
}

static void talk(struct pair *pair, bool fd)
{
	struct end *end = &pair->client;
	struct members m;
	uint64_t i;

	connect_ep(pair, &m, fd);
	for (i = 1; i <= ROUNDS; i++) {
		OK(fi_recv(m.ep, end->buf, 8, end->desc, 0, NULL));
		if (two_processes(pair))
			at_begin(&pair->server, step_echo, NULL, 0);
		OK(fi_inject(m.ep, end->buf, 8, 0));
		while (fi_cntr_read(m.cntr) < i)
			sleep_on(end, &m, fd);
		if (two_processes(pair)) {
			next(end, &m, m.rxcq, fd);
			at_end(&pair->server, NULL, 0);
		} else {
			step_echo(&pair->server, NULL);
			next(end, &m, m.rxcq, fd);
		}
		OK(fi_send(m.ep, end->buf, 0, NULL, 0, NULL));
		i++;
		next(end, &m, m.cq, fd);
		OK(fi_recv(m.ep, end->buf, 8, end->desc, 0, NULL));
		at(&pair->server, step_echo, NULL, 0);
		next(end, &m, m.rxcq, fd);
		if (i % 5 == 0)
			quiet(&m);
	}
	RETURNS(fi_eq_write(m.eq, FI_NOTIFY, "x", 1, 0), 1);
	OK(fi_wait(m.set, WAIT_MS));
	OK(fi_close(&m.ep->fid));
	close_members(&m);
	end_close(end);
	at(&pair->server, step_end_close, NULL, 0);
}

static void test(struct pair *pair)
{
	talk(pair, false);
	talk(pair, true);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_unconnected(argc, argv, &setup, test);
}
