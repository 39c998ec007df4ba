/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A receive of a NULL buffer with a length takes a message of length 0. */
#include "steps.h"

static void post_null(struct end *end, void *arg)
{
	(void)arg;
	OK(fi_recv(end_rx(end), NULL, 8, NULL, FI_ADDR_UNSPEC, end));
}

static void take(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;

	(void)arg;
	wait_comp(end->rxcq, &entry);
	CHECK(entry.op_context == end);
	CHECK(entry.flags & FI_RECV);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;

	at(&pair->server, post_null, NULL, 0);
	OK(fi_send(end->ep, NULL, 0, NULL, end->to, end));
	at(&pair->server, take, NULL, 0);
	wait_context(end->cq, end);
}

int main(int argc, char **argv)
{
	static const struct setup setups[] = { { 0 }, { .srx_size = 16 }, { .type = FI_EP_DGRAM } };
	unsigned int i;
	int ret = 0;

	for (i = 0; i < ARRAY_SIZE(setups) && !ret; i++)
		ret = run_pair(argc, argv, &setups[i], test);
	return ret;
}
