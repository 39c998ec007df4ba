/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many fetch-and-adds in flight, more than the device answers at once, return every number exactly
 * once.
 */
#include <rdma/fi_atomic.h>
#include "steps.h"

#define COUNT 600

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t *operand = (uint64_t *)(end->buf + 1024), *result = operand + 1;
	uint64_t limit = deadline();
	struct fi_cq_tagged_entry entry;
	int i, done = 0;

	at_part(&pair->server, clear_part, 0, 8, 0);
	*operand = 1;
	for (i = 0; i < COUNT; i++)
		while (AGAIN(limit, fi_fetch_atomic(end->ep, operand, 1, end->desc, &result[i],
						    end->desc, 0, end->peer.addr, end->peer.key,
						    FI_UINT64, FI_SUM, &result[i])))
			while (fi_cq_read(end->cq, &entry, 1) == 1)
				EQUAL(entry.op_context, &result[done++]);
	while (done < COUNT)
		wait_context(end->cq, &result[done++]);
	for (i = 0; i < COUNT; i++)
		EQUAL(result[i], i);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
