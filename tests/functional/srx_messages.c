/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of all sizes with shared receive contexts at both ends arrive intact, in order and once.
 */
#include "steps.h"
#include "sizes.h"

#define ROUNDS 60

static void one_way(struct end *from, struct end *to, size_t len, unsigned int seed)
{
	struct part part = { .len = len, .seed = seed, .context = seed };

	at(to, post_recv, &part, sizeof(part));
	at(from, fill_part, &part, sizeof(part));
	at(from, post_send, &part, sizeof(part));
	at(to, reap_recv, &part, sizeof(part));
}

static void step_sent(struct end *end, void *arg)
{
	wait_context(end->cq, (void *)(uintptr_t) * (uint64_t *)arg);
}

static void in_order(struct pair *pair)
{
	struct fi_cq_tagged_entry entry;
	struct part part = { .len = 64 };
	uint64_t i;

	for (i = 0; i < 8; i++) {
		part.off = i * 64;
		part.context = i;
		at(&pair->server, post_recv, &part, sizeof(part));
	}
	for (i = 0; i < ROUNDS; i++) {
		fill(pair->client.buf, 64, (unsigned int)i);
		OK(fi_send(pair->client.ep, pair->client.buf, 64, pair->client.desc, 0,
			   (void *)(uintptr_t)i));
		at(&pair->server, next_recv, &entry, sizeof(entry));
		EQUAL(entry.op_context, i % 8);
		part = (struct part){ .off = i % 8 * 64, .len = 64, .seed = (unsigned int)i };
		at(&pair->server, check_part, &part, sizeof(part));
		wait_context(pair->client.cq, (void *)(uintptr_t)i);
		part.context = i % 8;
		at(&pair->server, post_recv, &part, sizeof(part));
	}
}

static void test(struct pair *pair)
{
	static const size_t lens[] = { 0, 1, 63, 64, 256, 257, 1024, 4096, 4097, 60000 };
	uint64_t i;

	for (i = 1; i <= ARRAY_SIZE(lens); i++) {
		one_way(&pair->client, &pair->server, lens[i - 1], (unsigned int)i);
		step_sent(&pair->client, &i);
		one_way(&pair->server, &pair->client, lens[i - 1], (unsigned int)i);
		at(&pair->server, step_sent, &i, sizeof(i));
	}
	in_order(pair);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .srx_size = 16 };

	return run_pair(argc, argv, &setup, test);
}
