/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * 100,000 silent writes require reading completions only when the queue is full, and the one that
 * requests an entry gives exactly that one.
 */
#include <stdio.h>
#include <rdma/fi_rma.h>
#include "steps.h"

#define COUNT 100000

static ssize_t loud_write(struct end *end, uint64_t *value)
{
	struct iovec iov = { value, sizeof(*value) };
	struct fi_rma_iov target = { end->peer.addr, sizeof(*value), end->peer.key };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &end->desc,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = end };

	return fi_writemsg(end->ep, &msg, FI_INJECT | FI_COMPLETION);
}

static void step_value(struct end *end, void *arg)
{
	*(uint64_t *)arg = *(volatile uint64_t *)end->buf;
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;
	size_t reads = 0, size = end->info->tx_attr->size;
	uint64_t i, limit = deadline();
	ssize_t ret;

	for (i = 0; i < COUNT; i++) {
		while ((ret = fi_inject_write(end->ep, &i, sizeof(i), 0, end->peer.addr,
					      end->peer.key)) == -FI_EAGAIN) {
			RETURNS(fi_cq_read(end->cq, &entry, 1), -FI_EAGAIN);
			reads++;
			pause_until(limit, "room in the queue");
		}
		RETURNS(ret, 0);
	}
	printf("%zu reads for %d writes, queue of %zu\n", reads, COUNT, size);
	while (AGAIN(limit, loud_write(end, &i)))
		RETURNS(fi_cq_read(end->cq, &entry, 1), -FI_EAGAIN);
	wait_context(end->cq, end);
	EQUAL(fi_tx_size_left(end->ep), size);
	at(&pair->server, step_value, &i, sizeof(i));
	EQUAL(i, COUNT);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .tx_bind = FI_SELECTIVE_COMPLETION };

	return run_pair(argc, argv, &setup, test);
}
