/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_FENCE: an operation starts only when reads before it are done, so it can send what they fetched. */
#include <string.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define LEN    4000
#define ROUNDS 20

/* The read fetches from the server, the fenced send carries the fetched bytes back. */
static void one(struct pair *pair, unsigned int seed)
{
	struct part part = { .off = 8192, .len = LEN, .seed = seed, .context = seed };
	struct end *client = &pair->client;
	struct iovec iov = { client->buf, LEN };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &client->desc, .iov_count = 1, .context = client
	};

	at_part(&pair->server, fill_part, 0, LEN, seed);
	at(&pair->server, post_recv, &part, sizeof(part));
	memset(client->buf, 0, LEN);
	OK(fi_read(client->ep, client->buf, LEN, client->desc, 0, client->peer.addr,
		   client->peer.key, pair));
	OK(fi_sendmsg(client->ep, &msg, FI_FENCE));
	at(&pair->server, reap_recv, &part, sizeof(part));
	wait_context(client->cq, pair);
	wait_context(client->cq, client);
}

static void test(struct pair *pair)
{
	unsigned int i;

	for (i = 1; i <= ROUNDS; i++)
		one(pair, i);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
