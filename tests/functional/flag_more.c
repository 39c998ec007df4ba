/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_MORE holds operations back until a call without it, or until the limit is reached; all are
 * then sent in order, with the inline data as it was at the time of the call.
 */
#include <stdio.h>
#include <string.h>
#include <rdma/fi_rma.h>
#include "gpu.h"
#include "steps.h"

#define LEN 32

static ssize_t send_flags(struct end *end, void *buf, uint64_t number, uint64_t flags)
{
	struct iovec iov = { buf, LEN };
	struct fi_msg msg = {
		.msg_iov = &iov,
		.desc = flags & FI_INJECT ? NULL : &end->desc,
		.iov_count = 1,
		.context = (void *)(uintptr_t)number,
	};

	return fi_sendmsg(end->ep, &msg, flags);
}

/* Sends message `number` from memory that is overwritten at once. */
static void send_number(struct end *end, uint64_t number, uint64_t flags)
{
	uint8_t buf[LEN];

	fill(buf, LEN, (unsigned int)number);
	OK(send_flags(end, buf, number, flags | FI_INJECT));
	memset(buf, 0xee, LEN);
}

/* Receives for the messages first, first + 1, ... with the slots of buf in turn. */
struct range {
	unsigned int first, count;
};

static void step_post(struct end *end, void *arg)
{
	const struct range *range = arg;
	unsigned int i;

	for (i = range->first; i < range->first + range->count; i++)
		OK(fi_recv(end->ep, end->buf + i * LEN, LEN, end->desc, 0, (void *)(uintptr_t)i));
}

static void step_check(struct end *end, void *arg)
{
	const struct range *range = arg;
	unsigned int i;

	for (i = range->first; i < range->first + range->count; i++) {
		wait_context(end->rxcq, (void *)(uintptr_t)i);
		CHECK_FILLED(end->buf + i * LEN, LEN, i);
	}
}

static void batch(struct pair *pair, unsigned int first, unsigned int count)
{
	struct range range = { first, count };
	unsigned int i;

	printf("batch of %u\n", count);
	at(&pair->server, step_post, &range, sizeof(range));
	for (i = 0; i < count; i++)
		send_number(&pair->client, first + i, i < count - 1 ? FI_MORE : 0);
	at(&pair->server, step_check, &range, sizeof(range));
	for (i = 0; i < count; i++)
		wait_context(pair->client.cq, (void *)(uintptr_t)(first + i));
}

/* Any other call that posts ends a batch. */
static void ended_by_other(struct pair *pair)
{
	struct range range = { 0, 2 };
	struct end *client = &pair->client;
	uint8_t buf[LEN];

	at(&pair->server, step_post, &range, sizeof(range));
	send_number(client, 0, FI_MORE);
	fill(buf, LEN, 1);
	OK(fi_inject(client->ep, buf, LEN, 0));
	at(&pair->server, step_check, &range, sizeof(range));
	wait_context(client->cq, (void *)0);
}

/* A full queue ends it, too: the operations held back are posted and complete. */
static void ended_by_full_queue(struct pair *pair)
{
	unsigned int i, left = (unsigned int)fi_tx_size_left(pair->client.ep);
	struct range range = { 0, left };
	struct end *client = &pair->client;
	uint8_t buf[LEN] = { 0 };

	at(&pair->server, step_post, &range, sizeof(range));
	for (i = 0; i < left; i++)
		send_number(client, i, FI_MORE);
	RETURNS(send_flags(client, buf, 0, FI_MORE | FI_INJECT), -FI_EAGAIN);
	at(&pair->server, step_check, &range, sizeof(range));
	for (i = 0; i < left; i++)
		wait_context(client->cq, (void *)(uintptr_t)i);
}

/* Writes of a batch arrive before the message that ends it. */
static void mixed(struct pair *pair)
{
	struct end *client = &pair->client;
	struct fi_rma_iov target = { client->peer.addr + 8192, 8, client->peer.key };
	struct range range = { 9, 1 };
	uint64_t i, value;
	struct iovec iov = { &value, sizeof(value) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = gpu ? NULL : &client->desc,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1 };

	at_part(&pair->server, clear_part, 8192, 40, 0);
	at(&pair->server, step_post, &range, sizeof(range));
	fill(client->buf, 40, 77);
	for (i = 0; i < 5; i++, target.addr += 8) {
		mem_get(&value, client->buf + i * 8, 8);
		OK(fi_writemsg(client->ep, &msg, FI_MORE | FI_INJECT));
	}
	send_number(client, 9, 0);
	at(&pair->server, step_check, &range, sizeof(range));
	at_part(&pair->server, check_part, 8192, 40, 77);
	for (i = 0; i < 5; i++)
		wait_context(client->cq, NULL);
	wait_context(client->cq, (void *)9);
}

static void test(struct pair *pair)
{
	batch(pair, 0, 1);
	batch(pair, 1, 2);
	batch(pair, 3, 16);
	batch(pair, 20, 300); /* more than any batch */
	ended_by_other(pair);
	ended_by_full_queue(pair);
	mixed(pair);
	no_comp(pair->client.cq, 10);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	return run_pair(argc, argv, &setup, test);
}
