/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_av_lookup at one end returns what fi_getname returns at the other. An index that was removed
 * is unknown until the next insertion takes it, as the lowest free index.
 */
#include <string.h>
#include "steps.h"

static void check_lookup(struct end *end, fi_addr_t addr, const struct name *name)
{
	uint8_t bytes[sizeof(name->bytes)];
	char text[256];
	size_t len = sizeof(bytes), room = sizeof(text);

	OK(fi_av_lookup(end->av, addr, bytes, &len));
	EQUAL(len, name->len);
	CHECK(!memcmp(bytes, name->bytes, len));
	CHECK(fi_av_straddr(end->av, bytes, text, &room) == text);
	EQUAL(room, strlen(text) + 1);
	len = 3;
	OK(fi_av_lookup(end->av, addr, bytes, &len));
	EQUAL(len, name->len);
}

static fi_addr_t insert(struct end *end, const struct name *name)
{
	fi_addr_t addr;

	EQUAL(fi_av_insert(end->av, name->bytes, 1, &addr, FI_MORE, NULL), 1);
	return addr;
}

static void step_name(struct end *end, void *arg)
{
	end_name(end, arg);
}

static void ping(struct pair *pair, fi_addr_t addr)
{
	struct end *client = &pair->client;
	struct fi_cq_tagged_entry entry = { 0 };

	at_part(&pair->server, post_recv, 0, 200, 0);
	OK(fi_send(client->ep, client->buf, 100, client->desc, addr, NULL));
	wait_comp(client->cq, &entry);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, 100);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	struct name theirs = { 0 }, ours;
	fi_addr_t second, removed[2];

	at(&pair->server, step_name, &theirs, sizeof(theirs));
	end_name(client, &ours);
	EQUAL(client->to, 0);
	check_lookup(client, 0, &theirs);
	second = insert(client, &ours);
	EQUAL(second, 1);
	EQUAL(insert(client, &theirs), 2);
	ping(pair, 0);
	ping(pair, 2);
	removed[0] = 0;
	removed[1] = 1;
	OK(fi_av_remove(client->av, removed, 2, 0));
	RETURNS(fi_send(client->ep, client->buf, 100, client->desc, 0, NULL), -FI_EINVAL);
	RETURNS(fi_av_remove(client->av, removed, 1, 0), -FI_EINVAL);
	check_lookup(client, 2, &theirs);
	EQUAL(insert(client, &theirs), 0);
	EQUAL(insert(client, &ours), 1);
	ping(pair, 0);
}

int main(int argc, char **argv)
{
	struct setup setup = { .type = FI_EP_DGRAM, .av_type = FI_AV_TABLE };
	int ret = run_pair(argc, argv, &setup, test);

	setup.av_type = FI_AV_MAP;
	return ret ? ret : run_pair(argc, argv, &setup, test);
}
