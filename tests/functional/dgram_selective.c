/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_SELECTIVE_COMPLETION: only operations with FI_COMPLETION give an entry, and silent ones that
 * nobody reads fill no queue.
 */
#include "steps.h"

static ssize_t send_flags(struct end *end, uint64_t flags, void *context)
{
	struct iovec iov = { end->buf, 8 };
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &end->desc,
			      .iov_count = 1,
			      .addr = end->to,
			      .context = context };

	return fi_sendmsg(end->ep, &msg, flags);
}

static void step_recv(struct end *end, void *arg)
{
	uint64_t flags = *(uint64_t *)arg;
	struct iovec iov = { end->buf, 8 };
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &end->desc,
			      .iov_count = 1,
			      .context = (void *)(uintptr_t)(flags ? 1 : 2) };

	OK(fi_recvmsg(end->ep, &msg, flags));
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	uint64_t silent = 0, loud = FI_COMPLETION, limit = deadline();
	struct fi_cq_tagged_entry entry;
	size_t i;

	at(&pair->server, step_recv, &silent, sizeof(silent));
	at(&pair->server, step_recv, &loud, sizeof(loud));
	OK(fi_send(end->ep, end->buf, 8, end->desc, end->to, end));
	OK(send_flags(end, FI_COMPLETION, pair));
	wait_context(end->cq, pair);
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.op_context, 1);
	EQUAL(entry.len, 8);
	no_comp(end->cq, 10);
	/* Meanwhile nobody reads the queue or posts receives. */
	for (i = 0; i < 4 * end->info->tx_attr->size; i++)
		while (AGAIN(limit, fi_send(end->ep, end->buf, 8, end->desc, end->to, end)))
			;
	no_comp(end->cq, 10);
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.type = FI_EP_DGRAM,
		.tx_size = 16,
		.tx_bind = FI_SELECTIVE_COMPLETION,
		.rx_bind = FI_SELECTIVE_COMPLETION,
	};

	return run_pair(argc, argv, &setup, test);
}
