/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receives posted before the connection exists take its first messages, at both ends. */
#include "steps.h"

#define COUNT 10
#define LEN   500

/* Before it is connected, an endpoint accepts receives and nothing else. */
static void ready(struct end *end)
{
	struct part part = { .len = LEN };

	for (part.context = 0; part.context < COUNT; part.context++, part.off += LEN)
		post_recv(end, &part);
	RETURNS(fi_send(end->ep, end->buf, 8, end->desc, 0, NULL), -FI_EOPBADSTATE);
	RETURNS(fi_inject(end->ep, end->buf, 8, 0), -FI_EOPBADSTATE);
	EQUAL(fi_tx_size_left(end->ep), 0);
}

static void step_send(struct end *end, void *arg)
{
	struct part part = { .off = 16384, .len = LEN };

	(void)arg;
	for (part.seed = 0; part.seed < COUNT; part.seed++, part.off += LEN) {
		fill_part(end, &part);
		post_send(end, &part);
	}
	for (part.seed = 0; part.seed < COUNT; part.seed++)
		wait_context(end->cq, NULL);
}

static void step_check(struct end *end, void *arg)
{
	struct part part = { .len = LEN };

	(void)arg;
	for (; part.seed < COUNT; part.seed++, part.context++, part.off += LEN)
		reap_recv(end, &part);
}

static void test(struct pair *pair)
{
	step_send(&pair->client, NULL);
	at(&pair->server, step_send, NULL, 0);
	at(&pair->server, step_check, NULL, 0);
	step_check(&pair->client, NULL);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .ready = ready };

	return run_pair(argc, argv, &setup, test);
}
