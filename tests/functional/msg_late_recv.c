/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A send waits for a receive that is posted later; it is neither lost nor slow. */
#include "steps.h"

static void test(struct pair *pair)
{
	struct part part = { .len = 300, .seed = 3, .context = 3 };
	uint64_t start;

	fill_part(&pair->client, &part);
	post_send(&pair->client, &part);
	no_comp(pair->client.cq, 100);
	start = now_ms();
	at(&pair->server, post_recv, &part, sizeof(part));
	at(&pair->server, reap_recv, &part, sizeof(part));
	wait_context(pair->client.cq, (void *)3);
	/* The default timer is 0.64 ms; the connection manager's default is 655 ms. */
	CHECK(now_ms() - start < 500);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
