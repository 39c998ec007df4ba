/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The buffer of an injected datagram is free when the call returns, no completion is reported, and
 * the last datagram arrives.
 */
#include <string.h>
#include "steps.h"

static void inject(struct end *end, size_t len, unsigned int seed)
{
	uint64_t limit = deadline();
	uint8_t buf[4096];

	CHECK(len <= sizeof(buf));
	fill(buf, len, seed);
	while (AGAIN(limit, fi_inject(end->ep, buf, len, end->to)))
		;
	memset(buf, 0, sizeof(buf));
}

static void step_recvs(struct end *end, void *arg)
{
	struct part part = { .len = 1000 };

	for (; part.off < 8000; part.off += 1000) {
		part.context = part.off;
		post_recv(end, &part);
	}
	(void)arg;
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct iovec iov;
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1 };
	struct part part;
	size_t max;
	int i;

	pair_open(pair);
	max = end->info->tx_attr->inject_size;
	CHECK(max >= 32);
	msg.addr = end->to;
	at(&pair->server, step_recvs, NULL, 0);
	for (i = 0; i < 7; i++)
		inject(end, max - i, i);
	RETURNS(fi_inject(end->ep, end->buf, max + 1, end->to), -FI_EMSGSIZE);
	RETURNS(fi_inject(end->ep, NULL, 1, end->to), -FI_EINVAL);
	iov = (struct iovec){ end->buf, max + 1 };
	RETURNS(fi_sendmsg(end->ep, &msg, FI_INJECT), -FI_EMSGSIZE);
	for (i = 0; i < 7; i++) {
		part = (struct part){ i * 1000, max - i, i, i * 1000 };
		at(&pair->server, reap_recv, &part, sizeof(part));
	}
	no_comp(end->cq, 10);
	/* The last one is not lost when the endpoint closes. */
	inject(end, 8, 42);
	end_close(end);
	part = (struct part){ 7000, 8, 42, 7000 };
	at(&pair->server, reap_recv, &part, sizeof(part));
	at(&pair->server, step_end_close, NULL, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM };

	return run_unconnected(argc, argv, &setup, test);
}
