/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sends datagrams of all lengths both ways, with the names of the queue pairs and with IP addresses
 * that are resolved, and with either type of address vector.
 */
#include <stdio.h>
#include "steps.h"

static void pass(struct end *from, struct end *to, size_t len, unsigned int seed)
{
	at_part(to, post_recv, 0, len, seed);
	at_part(from, fill_part, 8192, len, seed);
	at_part(from, post_send, 8192, len, seed);
	at_part(to, reap_recv, 0, len, seed);
}

static void test(struct pair *pair)
{
	size_t max = pair->client.info->ep_attr->max_msg_size, len;
	struct fi_cq_tagged_entry entry;
	unsigned int seed = 1;

	EQUAL(pair->client.info->ep_attr->protocol, FI_PROTO_IB_UD);
	for (len = 1; len; len = len == max ? 0 : len * 3 < max ? len * 3 : max) {
		pass(&pair->client, &pair->server, len, seed);
		wait_comp(pair->client.cq, &entry);
		EQUAL(entry.flags, FI_MSG | FI_SEND);
		pass(&pair->server, &pair->client, len, seed + 1);
		seed += 2;
	}
	/* An empty datagram. */
	at_part(&pair->server, post_recv, 0, 100, 99);
	OK(fi_send(pair->client.ep, NULL, 0, NULL, pair->client.to, NULL));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, 0);
}

static int run(int argc, char **argv, enum fi_av_type type, uint32_t format)
{
	const struct setup setup = { .type = FI_EP_DGRAM, .av_type = type, .addr_format = format };

	printf("AV type %d, address format %u\n", (int)type, format);
	return run_pair(argc, argv, &setup, test);
}

int main(int argc, char **argv)
{
	int ret = run(argc, argv, FI_AV_TABLE, FI_ADDR_IB_UD);

	if (!ret)
		ret = run(argc, argv, FI_AV_MAP, FI_FORMAT_UNSPEC);
	return ret ? ret : run(argc, argv, FI_AV_UNSPEC, FI_SOCKADDR_IN);
}
