/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_FENCE: an operation starts only when earlier reads are complete, so it can send the data that
 * they fetched.
 */
#include <string.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define LEN    (128 << 10) /* of a read: many packets */
#define TAIL   4096	   /* of it: the part that is sent */
#define ROUNDS 10

/* The read fetches from the server, and the fenced send returns the fetched bytes. */
static void one(struct pair *pair, unsigned int seed)
{
	struct part part = { .off = LEN, .len = TAIL, .seed = seed, .context = seed };
	struct end *client = &pair->client;
	struct iovec iov = { client->buf, LEN }, tail = { client->buf + LEN - TAIL, TAIL };
	struct fi_rma_iov source = { client->peer.addr, LEN, client->peer.key };
	struct fi_msg_rma read = { .msg_iov = &iov,
				   .desc = &client->desc,
				   .iov_count = 1,
				   .rma_iov = &source,
				   .rma_iov_count = 1,
				   .context = pair };
	struct fi_msg msg = {
		.msg_iov = &tail, .desc = &client->desc, .iov_count = 1, .context = client
	};

	at_part(&pair->server, fill_part, LEN - TAIL, TAIL, seed);
	at(&pair->server, post_recv, &part, sizeof(part));
	memset(client->buf, 0, LEN);
	/* In one batch, so that the device could start the send at once. */
	OK(fi_readmsg(client->ep, &read, FI_MORE));
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
	static const struct setup setup = { .buf_size = 2 * LEN };

	return run_pair(argc, argv, &setup, test);
}
