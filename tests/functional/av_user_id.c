/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The source of a datagram is the id that the application gave the address, at its insertion or
 * later; sending still uses the address.
 */
#include "steps.h"

enum { FIRST_ID = 1000, OTHER_ID = 2000 };

static fi_addr_t source_of_next(struct pair *pair)
{
	struct end *client = &pair->client;
	struct part part = { .len = 100 };
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();
	fi_addr_t src = 0;
	ssize_t ret;

	OK(fi_recv(client->ep, client->buf, 200, client->desc, FI_ADDR_UNSPEC, NULL));
	at(&pair->server, post_send, &part, sizeof(part));
	while ((ret = fi_cq_readfrom(client->rxcq, &entry, 1, &src)) == -FI_EAGAIN)
		pause_until(limit, "a datagram");
	EQUAL(ret, 1);
	return src;
}

static void step_name(struct end *end, void *arg)
{
	end_name(end, arg);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct name name = { 0 };
	fi_addr_t addr = FIRST_ID;

	at(&pair->server, step_name, &name, sizeof(name));
	EQUAL(source_of_next(pair), client->to);
	OK(fi_av_remove(client->av, &client->to, 1, 0));
	EQUAL(fi_av_insert(client->av, name.bytes, 1, &addr, FI_AV_USER_ID, NULL), 1);
	EQUAL(addr, client->to);
	EQUAL(source_of_next(pair), FIRST_ID);
	OK(fi_av_set_user_id(client->av, addr, OTHER_ID, 0));
	EQUAL(source_of_next(pair), OTHER_ID);
	at_part(&pair->server, post_recv, 0, 100, 0);
	at_part(client, post_send, 0, 100, 0);
}

int main(int argc, char **argv)
{
	const struct setup setup = { .type = FI_EP_DGRAM,
				     .caps = FI_MSG | FI_SOURCE | FI_AV_USER_ID };

	return run_pair(argc, argv, &setup, test);
}
