/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Blocking reads with every wait object: a timeout, data that is available, data that arrives, and
 * a threshold.
 */
#include <stdio.h>
#include "steps.h"

static void test_timeout(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entry;
	uint64_t start = now_ms(), took;

	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, 0), -FI_EAGAIN);
	RETURNS(fi_cq_sread(cq, &entry, 1, NULL, 50), -FI_EAGAIN);
	took = now_ms() - start;
	CHECK(took >= 50 && took < 5000);
	RETURNS(fi_cq_sreadfrom(cq, &entry, 1, NULL, NULL, 1), -FI_EAGAIN);
}

/* Sends that many messages some time after the step began. */
static void step_send_late(struct end *end, void *arg)
{
	int i, count = *(int *)arg;

	sleep_ms(100);
	for (i = 0; i < count; i++)
		OK(fi_inject(end->ep, end->buf, 8, 0));
}

static void recvs(struct end *end, int count)
{
	while (count--)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, end));
}

static void test_sleep(struct pair *pair)
{
	struct fid_cq *cq = pair->client.rxcq;
	struct fi_cq_tagged_entry entries[4];
	fi_addr_t from = 0;
	int one = 1;

	recvs(&pair->client, 3);
	at_begin(&pair->server, step_send_late, &one, sizeof(one));
	RETURNS(fi_cq_sread(cq, entries, 4, NULL, WAIT_MS), 1);
	EQUAL(entries[0].op_context, &pair->client);
	at_end(&pair->server, &one, sizeof(one));

	at_begin(&pair->server, step_send_late, &one, sizeof(one));
	RETURNS(fi_cq_sreadfrom(cq, entries, 4, &from, NULL, -1), 1);
	EQUAL(from, FI_ADDR_NOTAVAIL);
	at_end(&pair->server, &one, sizeof(one));

	/* Already available: the call does not sleep. */
	at(&pair->server, step_send_late, &one, sizeof(one));
	RETURNS(fi_cq_sread(cq, entries, 4, NULL, WAIT_MS), 1);
}

static void test(struct pair *pair)
{
	test_timeout(pair->client.rxcq);
	if (two_processes(pair))
		test_sleep(pair);
	test_timeout(pair->client.rxcq);
}

int main(int argc, char **argv)
{
	static const enum fi_wait_obj objs[] = { FI_WAIT_UNSPEC, FI_WAIT_FD, FI_WAIT_POLLFD,
						 FI_WAIT_YIELD };
	struct setup setup = { 0 };
	size_t i;
	int ret = 0;

	for (i = 0; !ret && i < ARRAY_SIZE(objs); i++) {
		printf("wait object %d\n", (int)objs[i]);
		setup.wait_obj = objs[i];
		ret = run_pair(argc, argv, &setup, test);
	}
	return ret;
}
