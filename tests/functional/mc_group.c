/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What is sent to a group arrives at each endpoint that has joined it, and no longer at one that
 * has left. The source is known, and datagrams to a single endpoint arrive as before. An endpoint
 * that has joined twice leaves with the second handle that it closes.
 */
#include "mc_steps.h"

static void expect(struct pair *pair, size_t len, unsigned int seed)
{
	struct fi_cq_tagged_entry entry = { 0 };

	fill(pair->client.buf, len, seed);
	at_part(&pair->server, post_recv, 0, 2000, 0);
	send_group(&pair->client, len);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, len);
	CHECK(entry.flags & FI_MULTICAST);
	at_part(&pair->server, check_part, 0, len, seed);
}

static void expect_none(struct pair *pair)
{
	int ms = 300;

	at_part(&pair->server, post_recv, 0, 2000, 0);
	send_group(&pair->client, 100);
	at(&pair->server, no_recv, &ms, sizeof(ms));
}

static struct fid_mc *first; /* the server's */

static void step_join_again(struct end *end, void *arg)
{
	first = group_of(end);
	step_join(end, arg);
}

static void step_leave_first(struct end *end, void *arg)
{
	(void)end;
	(void)arg;
	OK(fi_close(&first->fid));
}

static void twice(struct pair *pair)
{
	struct join join = { .group = GROUP };

	join_both(pair, GROUP);
	at(&pair->server, step_join_again, &join, sizeof(join));
	expect(pair, 300, 4);
	at(&pair->server, step_leave_first, NULL, 0);
	expect(pair, 400, 5);
	at(&pair->server, step_leave, NULL, 0);
	expect_none(pair);
	step_leave(&pair->client, NULL);
}

static void test(struct pair *pair)
{
	struct fi_cq_tagged_entry entry = { 0 };

	join_both(pair, GROUP);
	expect(pair, 1000, 1);
	expect(pair, 1, 2);
	at(&pair->server, step_leave, NULL, 0);
	expect_none(pair);
	OK(fi_send(pair->client.ep, pair->client.buf, 64, pair->client.desc, pair->client.to,
		   NULL));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, 64);
	CHECK(!(entry.flags & FI_MULTICAST));
	step_leave(&pair->client, NULL);
	/* Repeats it with another group. */
	join_both(pair, OTHER_GROUP);
	expect(pair, 500, 3);
	at(&pair->server, step_leave, NULL, 0);
	step_leave(&pair->client, NULL);
	twice(pair);
}

int main(int argc, char **argv)
{
	return run_pair(argc, argv, &mc_setup, test);
}
