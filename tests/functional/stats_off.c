/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* With FI_STATS=0 no other process sees statistics; the application itself still does. */
#include <stdlib.h>
#include "stats.h"
#include "steps.h"

static void test(struct pair *pair)
{
	struct part part = { .len = 100, .context = 1 };
	struct fid *fid;

	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(&pair->client, &part);
	post_send(&pair->client, &part);
	wait_context(pair->client.cq, (void *)1);
	at(&pair->server, reap_recv, &part, sizeof(part));
	RETURNS(fi_open(FI_VERSION(2, 6), "stats", NULL, 0, 0, &fid, NULL), -FI_ENODATA);
	EQUAL(stats_of(&pair->client.ep->fid, "sends"), 1);
	EQUAL(stats_of(&pair->client.ep->fid, "send_bytes"), 100);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	setenv("FI_STATS", "0", 1);
	return run_pair(argc, argv, &setup, test);
}
