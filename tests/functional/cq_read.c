/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_cq_read and fi_cq_readfrom on an empty queue, for no entries, and for fewer and more entries
 * than there are, in order.
 */
#include <string.h>
#include "steps.h"

#define COUNT 100

static void post(struct end *end, uint64_t first, uint64_t count)
{
	uint64_t i;

	for (i = first; i < first + count; i++)
		OK(fi_send(end->ep, end->buf, 8, end->desc, 0, (void *)(uintptr_t)i));
}

static void step_recvs(struct end *end, void *arg)
{
	int i, count = *(int *)arg;

	for (i = 0; i < count; i++)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, NULL));
}

static void in_batches(struct end *end)
{
	struct fi_cq_tagged_entry entries[COUNT];
	uint64_t limit = deadline(), next = 0;
	ssize_t i, n;

	while (next < COUNT) {
		n = fi_cq_read(end->cq, entries, next % 13 + 1);
		if (n == -FI_EAGAIN) {
			pause_until(limit, "completions");
			continue;
		}
		CHECK(n > 0 && n <= (ssize_t)(next % 13 + 1));
		for (i = 0; i < n; i++)
			EQUAL(entries[i].op_context, next++);
	}
}

static void all_at_once(struct end *end)
{
	struct fi_cq_tagged_entry entries[COUNT + 1];
	fi_addr_t from[COUNT + 1];
	uint64_t i;
	ssize_t n;

	sleep_ms(200); /* all have completed */
	memset(entries, 0xaa, sizeof(entries));
	memset(from, 0xaa, sizeof(from));
	n = fi_cq_readfrom(end->cq, entries, COUNT + 1, from);
	RETURNS(n, COUNT);
	for (i = 0; i < COUNT; i++) {
		EQUAL(entries[i].op_context, i);
		EQUAL(from[i], FI_ADDR_NOTAVAIL);
	}
	EQUAL(entries[COUNT].flags, 0xaaaaaaaaaaaaaaaaull);
	EQUAL(from[COUNT], 0xaaaaaaaaaaaaaaaaull);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	int count = 2 * COUNT + 1;

	RETURNS(fi_cq_read(end->cq, &entry, 1), -FI_EAGAIN);
	RETURNS(fi_cq_read(end->cq, NULL, 0), -FI_EAGAIN);
	RETURNS(fi_cq_readfrom(end->cq, &entry, 1, NULL), -FI_EAGAIN);
	RETURNS(fi_cq_readerr(end->cq, &error, 0), -FI_EAGAIN);
	RETURNS(fi_cq_readerr(end->cq, NULL, 0), -FI_EINVAL);
	RETURNS(fi_cq_sread(end->cq, &entry, 1, NULL, 0), -FI_ENOSYS); /* FI_WAIT_NONE */

	at(&pair->server, step_recvs, &count, sizeof(count));
	post(end, 0, COUNT);
	in_batches(end);
	post(end, 0, COUNT);
	all_at_once(end);

	/* Reading no entries removes none. */
	post(end, 5, 1);
	sleep_ms(50);
	CHECK(fi_cq_read(end->cq, NULL, 0) <= 0);
	wait_context(end->cq, (void *)5);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
