/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints without a completion queue: only counters report completions, and keep the queues from
 * filling up.
 */
#include "steps.h"

enum { COUNT = 300, LEN = 64 };

static void recv_one(struct end *end)
{
	uint64_t limit = deadline();

	while (AGAIN(limit, fi_recv(end->ep, end->buf, LEN, end->desc, 0, NULL)))
		fi_cntr_read(end->cntr[CNTR_RECV]);
}

static void step_begin(struct end *end, void *arg)
{
	int i;

	for (i = 0; i < *(int *)arg; i++)
		recv_one(end);
}

/* Waits for arrivals, and posts as many receives again. Stores the total number of arrivals. */
static void step_take(struct end *end, void *arg)
{
	uint64_t *taken = arg, now = fi_cntr_read(end->cntr[CNTR_RECV]);

	for (; *taken < now; ++*taken)
		recv_one(end);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t limit = deadline(), taken = 0;
	int i, depth = 8;

	at(&pair->server, step_begin, &depth, sizeof(depth));
	for (i = 0; i < COUNT; i++) {
		while (AGAIN(limit, fi_send(end->ep, end->buf, LEN, end->desc, 0, NULL)))
			at(&pair->server, step_take, &taken, sizeof(taken));
		if (i % 4 == 3)
			at(&pair->server, step_take, &taken, sizeof(taken));
	}
	while (taken < COUNT) {
		at(&pair->server, step_take, &taken, sizeof(taken));
		pause_until(limit, "all messages are counted");
	}
	RETURNS(fi_cntr_wait(end->cntr[CNTR_SEND], COUNT, WAIT_MS), 0);
	EQUAL(fi_cntr_read(end->cntr[CNTR_SEND]), COUNT);
	EQUAL(taken, COUNT);
	RETURNS(fi_tx_size_left(end->ep), end->info->tx_attr->size);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.no_cq = true,
		.tx_size = 16,
		.rx_size = 16,
		.cntrs = FI_SEND | FI_RECV | FI_READ | FI_WRITE,
		.cntr_obj = FI_WAIT_FD,
	};

	return run_pair(argc, argv, &setup, test);
}
