/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stopped peer does not block this side: polling returns that there is nothing, and closing is
 * fast.
 */
#include <signal.h>
#include "steps.h"

static void test(struct pair *pair)
{
	struct part part = { .len = 4096 };
	struct end *client = &pair->client;
	uint64_t start;
	int i;

	pair_open(pair);
	CHECK(!kill(pair->server.pid, SIGSTOP));
	for (i = 0; i < 20; i++) {
		post_send(client, &part);
		post_recv(client, &part);
	}
	no_comp(client->cq, 50);
	no_comp(client->rxcq, 0);
	no_event(client->eq, 20);
	start = now_ms();
	end_close(client);
	CHECK(now_ms() - start < 5000);
	CHECK(!kill(pair->server.pid, SIGCONT));
	at(&pair->server, step_end_close, NULL, 0);
}

int main(void)
{
	static const struct setup setup = { 0 };

	return run_two_processes(&setup, test);
}
