/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A connection carries a message in each direction, and both ends get the completions. */
#include "steps.h"

static void test(struct pair *pair)
{
	struct part part = { .len = 1000, .seed = 1, .context = 1 };

	at(&pair->server, post_recv, &part, sizeof(part));
	post_recv(&pair->client, &part);

	part.off = 4096;
	fill_part(&pair->client, &part);
	post_send(&pair->client, &part);
	wait_context(pair->client.cq, (void *)1);
	at(&pair->server, fill_part, &part, sizeof(part));
	at(&pair->server, post_send, &part, sizeof(part));

	part.off = 0;
	at(&pair->server, reap_recv, &part, sizeof(part));
	reap_recv(&pair->client, &part);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
