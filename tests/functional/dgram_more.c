/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_MORE: datagrams are held back until one without it is sent, or until the completion queue is
 * read; all arrive, and each reports the completion that it requested. Their buffers and addresses
 * may change afterward.
 */
#include <string.h>
#include "steps.h"

#define COUNT 40 /* more than the provider holds back */

static ssize_t send_flags(struct end *end, const void *buf, uint64_t flags, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, 64 };
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &end->desc,
			      .iov_count = 1,
			      .addr = end->to,
			      .context = context };

	return fi_sendmsg(end->ep, &msg, flags);
}

static void step_recvs(struct end *end, void *arg)
{
	struct part part = { .len = 64 };

	(void)arg;
	for (; part.off < COUNT * 64; part.off += 64)
		post_recv(end, &part);
}

static void batch(struct pair *pair, uint64_t flags, bool last)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;
	struct part part = { .len = 64 };
	uint8_t buf[64];
	uintptr_t i;

	at(&pair->server, step_recvs, NULL, 0);
	for (i = 0; i < COUNT; i++) {
		fill(buf, sizeof(buf), (unsigned int)i);
		OK(send_flags(end, buf, flags | (last && i == COUNT - 1 ? 0 : FI_MORE), (void *)i));
		memset(buf, 0, sizeof(buf));
	}
	for (i = 0; i < COUNT; i++) {
		wait_comp(end->cq, &entry);
		EQUAL(entry.op_context, i);
	}
	for (i = 0; i < COUNT; i++, part.off += 64) {
		part.seed = (unsigned int)i;
		at(&pair->server, reap_recv, &part, sizeof(part));
	}
}

static void test(struct pair *pair)
{
	batch(pair, FI_INJECT, true);
	batch(pair, FI_INJECT, false);
	batch(pair, FI_INJECT | FI_FENCE | FI_TRANSMIT_COMPLETE, true);
	RETURNS(send_flags(&pair->client, pair->client.buf, FI_DELIVERY_COMPLETE, NULL),
		-FI_EBADFLAGS);
	/* Datagrams held back when the endpoint closes arrive, too. */
	at_part(&pair->server, post_recv, 0, 64, 3);
	fill(pair->client.buf, 64, 3);
	OK(send_flags(&pair->client, pair->client.buf, FI_MORE, NULL));
	end_close(&pair->client);
	at_part(&pair->server, reap_recv, 0, 64, 3);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM };

	return run_pair(argc, argv, &setup, test);
}
