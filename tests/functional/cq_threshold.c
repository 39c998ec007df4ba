/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_CQ_COND_THRESHOLD: a blocking read returns when that many entries are available, or with fewer
 * at the timeout.
 */
#include "steps.h"

static void send_some(struct end *end, int count)
{
	while (count--)
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, end));
}

static void step_recvs(struct end *end, void *arg)
{
	int count = *(int *)arg;

	while (count--)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entries[16];
	uint64_t start;
	int count = 20;

	at(&pair->server, step_recvs, &count, sizeof(count));
	send_some(end, 8);
	RETURNS(fi_cq_sread(end->cq, entries, 16, (void *)8, WAIT_MS), 8);
	send_some(end, 3);
	start = now_ms();
	RETURNS(fi_cq_sread(end->cq, entries, 16, (void *)8, 100), 3);
	CHECK(now_ms() - start >= 100);
	send_some(end, 3);
	RETURNS(fi_cq_sread(end->cq, entries, 2, (void *)8, WAIT_MS), 2); /* no room for more */
	RETURNS(fi_cq_sread(end->cq, entries, 16, (void *)1, WAIT_MS), 1);
	RETURNS(fi_cq_sread(end->cq, entries, 16, (void *)1, 20), -FI_EAGAIN);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.wait_obj = FI_WAIT_FD,
		.wait_cond = FI_CQ_COND_THRESHOLD,
	};

	return run_pair(argc, argv, &setup, test);
}
