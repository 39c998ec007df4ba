/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint that joins with FI_SEND sends to the group and receives nothing from it; one with
 * FI_RECV receives from it.
 */
#include "mc_steps.h"

static void test(struct pair *pair)
{
	struct join send_only = { GROUP, FI_SEND }, receive = { GROUP, FI_RECV };
	struct fi_cq_tagged_entry entry = { 0 };

	step_join(&pair->client, &send_only);
	at(&pair->server, step_join, &receive, sizeof(receive));
	OK(fi_recv(pair->client.ep, pair->client.buf + 4096, 2000, pair->client.desc,
		   FI_ADDR_UNSPEC, NULL));
	at_part(&pair->server, post_recv, 0, 2000, 0);
	send_group(&pair->client, 100);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, 100);
	no_comp(pair->client.rxcq, 300);
	at(&pair->server, step_leave, NULL, 0);
	step_leave(&pair->client, NULL);
}

int main(int argc, char **argv)
{
	return run_pair(argc, argv, &mc_setup, test);
}
