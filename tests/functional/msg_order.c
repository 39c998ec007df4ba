/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of all sizes and calls, and writes between them, arrive in the order in which they were
 * posted.
 */
#include <stdlib.h>
#include "steps.h"

#define COUNT 400
#define SLOT  128

static void step_post(struct end *end, void *arg)
{
	uint64_t i, limit = deadline();

	(void)arg;
	for (i = 0; i < COUNT; i++)
		while (AGAIN(limit, fi_recv(end->ep, end->buf + i * SLOT, SLOT, end->desc, 0,
					    (void *)(uintptr_t)i)))
			;
}

/* The completions are in the order of the receives; the data shows that of the sends. */
static void step_check(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	uint64_t i;

	(void)arg;
	for (i = 0; i < COUNT; i++) {
		wait_comp(end->rxcq, &entry);
		EQUAL(entry.op_context, i);
		EQUAL(entry.len, i % SLOT);
		EQUAL(entry.data, i % 3 == 1 ? i : 0);
		CHECK_FILLED(end->buf + i * SLOT, i % SLOT, (unsigned int)i);
	}
}

static ssize_t send_one(struct end *end, uint64_t i)
{
	uint8_t *buf = end->buf + i * SLOT;
	size_t len = i % SLOT;

	switch (i % 3) {
	case 0:
		return fi_send(end->ep, buf, len, end->desc, 0, NULL);
	case 1:
		return fi_senddata(end->ep, buf, len, end->desc, i, 0, NULL);
	default:
		return fi_inject(end->ep, buf, len, 0);
	}
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;
	uint64_t i, limit = deadline();

	at(&pair->server, step_post, NULL, 0);
	for (i = 0; i < COUNT; i++) {
		fill(end->buf + i * SLOT, i % SLOT, (unsigned int)i);
		while (AGAIN(limit, send_one(end, i)))
			fi_cq_read(end->cq, &entry, 1);
	}
	at(&pair->server, step_check, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .rx_size = 512 };

	return run_pair(argc, argv, &setup, test);
}
