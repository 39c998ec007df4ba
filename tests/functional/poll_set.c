/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A poll set returns the completion queues that have something to read and the counters that have
 * changed.
 */
#include "steps.h"

static void step_recv(struct end *end, void *arg)
{
	(void)arg;
	OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, end));
}

static void step_send(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;

	(void)arg;
	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, end));
	wait_comp(end->cq, &entry);
}

/* The fixture's contexts are the end: with one object in the set they identify it. */
static struct fid_poll *set_of(struct end *end, struct fid *fid)
{
	struct fid_poll *set;

	OK(fi_poll_open(end->domain, NULL, &set));
	OK(fi_poll_add(set, fid, 0));
	return set;
}

static void wait_for(struct fid_poll *set, struct end *end)
{
	uint64_t limit = deadline();
	void *found = NULL;
	int n;

	while (!(n = fi_poll(set, &found, 1)))
		pause_until(limit, "the poll set has something");
	EQUAL(n, 1);
	CHECK(found == end);
}

static void empty(struct fid_poll *set)
{
	void *found[4];

	EQUAL(fi_poll(set, found, 4), 0);
}

static void close_set(struct fid_poll *set, struct fid *fid)
{
	RETURNS(fi_close(&set->fid), -FI_EBUSY);
	OK(fi_poll_del(set, fid, 0));
	RETURNS(fi_poll_del(set, fid, 0), -FI_ENOENT);
	OK(fi_close(&set->fid));
}

static void transfers(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fid_poll *tx = set_of(end, &end->cq->fid), *rx = set_of(end, &end->rxcq->fid);
	struct fid_poll *sends = set_of(end, &end->cntr[CNTR_SEND]->fid);
	struct fi_cq_tagged_entry entry;
	int i;

	empty(tx);
	empty(rx);
	empty(sends);
	for (i = 0; i < 10; i++) {
		at(&pair->server, step_recv, NULL, 0);
		step_recv(end, NULL);
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, end));
		if (i % 2) {
			wait_for(sends, end);
			empty(sends);
			EQUAL(fi_cntr_read(end->cntr[CNTR_SEND]), i + 1);
		}
		wait_for(tx, end);
		wait_for(tx, end); /* until it is read */
		wait_context(end->cq, end);
		empty(tx);
		at(&pair->server, step_send, NULL, 0);
		wait_for(rx, end);
		wait_context(end->rxcq, end);
		at(&pair->server, next_recv, &entry, sizeof(entry));
		if (!(i % 2))
			wait_for(sends, end);
	}
	close_set(tx, &end->cq->fid);
	close_set(rx, &end->rxcq->fid);
	close_set(sends, &end->cntr[CNTR_SEND]->fid);
}

static void bad(struct end *end)
{
	struct fi_poll_attr attr = { .flags = 1 };
	struct fid_poll *set;
	void *found;

	RETURNS(fi_poll_open(end->domain, &attr, &set), -FI_EBADFLAGS);
	OK(fi_poll_open(end->domain, NULL, &set));
	RETURNS(fi_poll_add(set, &end->eq->fid, 0), -FI_EINVAL);
	RETURNS(fi_poll_add(set, NULL, 0), -FI_EINVAL);
	RETURNS(fi_poll_add(set, &end->cq->fid, 1), -FI_EBADFLAGS);
	RETURNS(fi_poll(set, &found, -1), -FI_EINVAL);
	OK(fi_poll_add(set, &end->cq->fid, 0));
	RETURNS(fi_poll_add(set, &end->cq->fid, 0), -FI_EALREADY);
	close_set(set, &end->cq->fid);
}

static void test(struct pair *pair)
{
	transfers(pair);
	bad(&pair->client);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .cntrs = FI_SEND };

	return run_pair(argc, argv, &setup, test);
}
