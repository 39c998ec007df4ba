/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each completion level is accepted; after a completion the data is at the target, and with
 * FI_INJECT_COMPLETE the buffer can be reused.
 */
#include <stdio.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define LEN 20000

static void one(struct pair *pair, uint64_t level, unsigned int seed)
{
	struct part part = { .len = LEN, .seed = seed, .context = seed };
	struct end *client = &pair->client;
	struct iovec iov = { client->buf, LEN };
	struct fi_rma_iov target = { client->peer.addr + 32768, LEN, client->peer.key };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &client->desc, .iov_count = 1, .context = client
	};
	struct fi_msg_rma rma = { .msg_iov = &iov,
				  .desc = &client->desc,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = pair };

	printf("level 0x%llx\n", (unsigned long long)level);
	at(&pair->server, post_recv, &part, sizeof(part));
	fill_part(client, &part);
	OK(fi_sendmsg(client->ep, &msg, level | FI_COMPLETION));
	wait_context(client->cq, client);
	memset(client->buf, 0, LEN);
	at(&pair->server, reap_recv, &part, sizeof(part));

	fill_part(client, &part);
	OK(fi_writemsg(client->ep, &rma, level | FI_COMPLETION));
	wait_context(client->cq, pair);
	memset(client->buf, 0, LEN);
	/* An acknowledged write has reached the target, which takes no part in it. */
	at_part(&pair->server, check_part, 32768, LEN, seed);
	if (level)
		return;
	OK(fi_readmsg(client->ep, &rma, FI_COMPLETION));
	wait_context(client->cq, pair);
	CHECK_FILLED(client->buf, LEN, seed);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct iovec iov = { client->buf, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .desc = &client->desc, .iov_count = 1 };

	one(pair, 0, 1);
	one(pair, FI_INJECT_COMPLETE, 2);
	one(pair, FI_TRANSMIT_COMPLETE, 3);
	one(pair, FI_DELIVERY_COMPLETE, 4);
	/* Levels that the device cannot guarantee are refused. */
	RETURNS(fi_sendmsg(client->ep, &msg, FI_COMMIT_COMPLETE), -FI_EBADFLAGS);
	RETURNS(fi_sendmsg(client->ep, &msg, FI_MATCH_COMPLETE), -FI_EBADFLAGS);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
