/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An error keeps its position: successes before it are read first, then -FI_EAVAIL repeatedly until
 * it is read, then the entries behind it; each operation appears exactly once.
 */
#include <rdma/fi_rma.h>
#include "steps.h"

#define GOOD 5
#define LOST 7

static void post_write(struct end *end, uint64_t key, uint64_t number)
{
	OK(fi_write(end->ep, end->buf, 8, end->desc, 0, end->peer.addr, key,
		    (void *)(uintptr_t)number));
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entries[GOOD + LOST + 1];
	struct fi_cq_err_entry error;
	uint64_t i, done = 0, limit = deadline();
	ssize_t n;

	for (i = 0; i < GOOD; i++)
		post_write(end, end->peer.key, i);
	post_write(end, 0x7777777, GOOD);
	for (i = 1; i <= LOST; i++)
		post_write(end, end->peer.key, GOOD + i);

	while ((n = fi_cq_read(end->cq, entries, ARRAY_SIZE(entries))) != -FI_EAVAIL) {
		pause_until(limit, "the error");
		for (i = 0; n > 0 && i < (uint64_t)n; i++)
			EQUAL(entries[i].op_context, done++);
	}
	EQUAL(done, GOOD);
	RETURNS(fi_cq_read(end->cq, entries, 1), -FI_EAVAIL);
	RETURNS(fi_cq_read(end->cq, entries, 1), -FI_EAVAIL);
	for (i = GOOD; i <= GOOD + LOST; i++) {
		wait_error(end->cq, &error);
		EQUAL(error.op_context, i);
		EQUAL(error.err, i == GOOD ? FI_EKEYREJECTED : FI_ECANCELED);
	}
	no_comp(end->cq, 20);
	RETURNS(fi_cq_readerr(end->cq, &error, 0), -FI_EAGAIN);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
