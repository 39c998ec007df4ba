/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A datagram longer than the receive buffer is lost: the receive fails with FI_ETRUNC and those
 * behind it may be canceled, or the device drops the datagram. The endpoint continues to work, also
 * if it has injected datagrams.
 */
#include "steps.h"

#define INJECTS 3

static void step_outcome(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	uint64_t limit = now_ms() + 500;
	ssize_t ret;

	while ((ret = fi_cq_read(end->rxcq, &entry, 1)) == -FI_EAGAIN && now_ms() < limit)
		sleep_ms(1);
	*(int *)arg = (int)ret;
	if (ret == -FI_EAGAIN)
		return;
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(end->rxcq, &error, 0), 1);
	EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.op_context, 1);
	while (fi_cq_read(end->rxcq, &entry, 1) == -FI_EAVAIL) {
		RETURNS(fi_cq_readerr(end->rxcq, &error, 0), 1);
		EQUAL(error.err, FI_ECANCELED);
	}
}

static void step_inject(struct end *end, void *arg)
{
	int i;

	(void)arg;
	for (i = 0; i < INJECTS; i++)
		OK(fi_inject(end->ep, end->buf, 8, end->to));
}

static void truncate_one(struct pair *pair, bool again)
{
	int outcome = 0;

	at_part(&pair->server, post_recv, 0, 100, 1);
	if (again)
		at_part(&pair->server, post_recv, 100, 200, 3);
	at_part(&pair->client, fill_part, 0, 101, 2);
	at_part(&pair->client, post_send, 0, 101, 2);
	wait_context(pair->client.cq, (void *)2);
	at(&pair->server, step_outcome, &outcome, sizeof(outcome));
	/* If it was dropped, the receive is still posted, and takes the next datagram. */
	if (outcome == -FI_EAVAIL)
		at_part(&pair->server, post_recv, 0, 100, 1);
	at_part(&pair->client, fill_part, 0, 100, 1);
	at_part(&pair->client, post_send, 0, 100, 1);
	at_part(&pair->server, reap_recv, 0, 100, 1);
	wait_context(pair->client.cq, (void *)1);
}

/* Leaves sends without a completion in the queue that no longer are outstanding. */
static void inject_some(struct pair *pair)
{
	int i;

	for (i = 0; i < INJECTS; i++)
		at_part(&pair->client, post_recv, 1000, 100, 1);
	at(&pair->server, step_inject, NULL, 0);
	for (i = 0; i < INJECTS; i++)
		wait_context(pair->client.rxcq, (void *)1);
}

static void test(struct pair *pair)
{
	inject_some(pair);
	truncate_one(pair, false);
	truncate_one(pair, false);
	truncate_one(pair, true);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM };

	return run_pair(argc, argv, &setup, test);
}
