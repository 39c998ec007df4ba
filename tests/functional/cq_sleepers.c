/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Several threads sleep on one completion queue or counter of connected endpoints: simultaneous
 * completions, and fi_cq_signal, wake each of them, whichever thread took the device's event.
 */
#include <poll.h>
#include "sleepers.h"
#include "steps.h"

enum { ROUNDS = 12 };

static struct setup setup = { .buf_size = 4096,
			      .format = FI_CQ_FORMAT_TAGGED,
			      .wait_obj = FI_WAIT_FD,
			      .threading = FI_THREAD_SAFE };

static void step_recvs(struct end *end, void *arg)
{
	int i;

	for (i = 0; i < *(int *)arg; i++)
		OK(fi_recv(end->ep, end->buf + i * 64, 64, end->desc, 0, NULL));
}

static void step_reap(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	int i;

	for (i = 0; i < *(int *)arg; i++)
		RETURNS(fi_cq_sread(end->rxcq, &entry, 1, NULL, WAIT_MS), 1);
}

static void entries(struct pair *pair, int count)
{
	struct end *end = &pair->client;
	struct sleepers *sleepers;
	int i;

	at(&pair->server, step_recvs, &count, sizeof(count));
	sleepers = sleepers_start((unsigned int)count, sleep_for_entry, end->cq);
	for (i = 0; i < count; i++)
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
	sleepers_join(sleepers);
	at(&pair->server, step_reap, &count, sizeof(count));
}

/*
 * An application sleeps on the descriptor itself and takes the event; a thread that sleeps in the
 * library takes the remaining entries.
 */
static void entry_left(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	struct end *end = &pair->client;
	struct sleepers *sleepers;
	struct fid *fid = &end->cq->fid;
	uint64_t limit = deadline();
	int count = 2, ret;

	at(&pair->server, step_recvs, &count, sizeof(count));
	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
	OK(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL));
	at(&pair->server, step_reap, &count, sizeof(count));
	while ((ret = fi_trywait(end->fabric, &fid, 1)) == 0)
		pause_until(limit, "the completions");
	RETURNS(ret, -FI_EAGAIN);
	sleepers = sleepers_start(1, sleep_for_entry, end->cq);
	sleepers_join(sleepers);
	RETURNS(fi_cq_sread(end->cq, &entry, 1, NULL, WAIT_MS), 1);
}

static void signals(struct fid_cq *cq, int count)
{
	struct sleepers *sleepers = sleepers_start((unsigned int)count, sleep_for_signal, cq);
	struct fi_cq_tagged_entry entry;

	OK(fi_cq_signal(cq));
	sleepers_join(sleepers);
	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, 5), -FI_EAGAIN);
}

static void values(struct end *end, int count)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_FD };
	struct sleepers *sleepers;
	struct fid_cntr *cntr;
	int i;

	OK(fi_cntr_open(end->domain, &attr, &cntr, NULL));
	sleepers = sleepers_start((unsigned int)count, sleep_for_value, cntr);
	for (i = 0; i < count; i++)
		OK(fi_cntr_add(cntr, 1));
	sleepers_join(sleepers);
	OK(fi_close(&cntr->fid));
}

static void test(struct pair *pair)
{
	int i, count;

	for (i = 0; i < ROUNDS; i++) {
		count = 2 + i % (SLEEPERS_MAX - 1);
		entries(pair, count);
		signals(pair->client.cq, count);
		values(&pair->client, count);
	}
	entry_left(pair);
}

int main(int argc, char **argv)
{
	return run_pair(argc, argv, &setup, test);
}
