/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_MSG_PREFIX: the application leaves 40 bytes before each message, which count against no limit
 * and are not sent. The length of a received message includes them. Without the mode there is no
 * prefix.
 */
#include <string.h>
#include "steps.h"

#define PREFIX 40

static ssize_t sendv(struct end *end, size_t first, size_t second)
{
	struct iovec iov[2] = { { end->buf + 8192, first }, { end->buf + 8192 + first, second } };
	void *desc[2] = { end->desc, end->desc };

	return fi_sendv(end->ep, iov, desc, 2, end->to, NULL);
}

static void step_recvv(struct end *end, void *arg)
{
	struct iovec iov[2] = { { end->buf, PREFIX }, { end->buf + 4000, 100 } };
	void *desc[2] = { end->desc, end->desc };

	(void)arg;
	memset(end->buf, 0xee, 8192);
	OK(fi_recvv(end->ep, iov, desc, 2, 0, NULL));
}

static void whole(struct pair *pair, size_t len)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;

	at_part(&pair->server, post_recv, 0, PREFIX + len, 1);
	fill(end->buf + 8192 + PREFIX, len, 5);
	OK(fi_send(end->ep, end->buf + 8192, PREFIX + len, end->desc, end->to, NULL));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, PREFIX + len);
	at_part(&pair->server, check_part, PREFIX, len, 5);
}

static void vectors(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;

	fill(end->buf + 8192 + PREFIX, 100, 6);
	at(&pair->server, step_recvv, NULL, 0);
	OK(sendv(end, PREFIX, 100));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, PREFIX + 100);
	at_part(&pair->server, check_part, 4000, 100, 6);
	at(&pair->server, step_recvv, NULL, 0);
	OK(sendv(end, PREFIX + 8, 92));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	at_part(&pair->server, check_part, 4000, 100, 6);
	RETURNS(sendv(end, PREFIX - 1, 100), -FI_EINVAL);
}

static void limits(struct end *end)
{
	size_t max = end->info->ep_attr->max_msg_size, inject = end->info->tx_attr->inject_size;

	EQUAL(end->info->mode & FI_MSG_PREFIX, FI_MSG_PREFIX);
	EQUAL(end->info->ep_attr->msg_prefix_size, PREFIX);
	RETURNS(fi_send(end->ep, end->buf, PREFIX + max + 1, end->desc, end->to, NULL),
		-FI_EMSGSIZE);
	RETURNS(fi_inject(end->ep, end->buf, PREFIX + inject + 1, end->to), -FI_EMSGSIZE);
	RETURNS(fi_send(end->ep, end->buf, PREFIX - 1, end->desc, end->to, NULL), -FI_EINVAL);
	RETURNS(fi_inject(end->ep, end->buf, 0, end->to), -FI_EINVAL);
	RETURNS(fi_recv(end->ep, end->buf, PREFIX - 1, end->desc, 0, NULL), -FI_EINVAL);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;

	limits(end);
	whole(pair, 1);
	whole(pair, 0);
	whole(pair, end->info->ep_attr->max_msg_size);
	vectors(pair);
	at_part(&pair->server, post_recv, 0, 1000, 1);
	OK(fi_inject(end->ep, end->buf + 8192, PREFIX + end->info->tx_attr->inject_size, end->to));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.len, PREFIX + end->info->tx_attr->inject_size);
}

static void test_without(struct pair *pair)
{
	struct end *end = &pair->client;

	EQUAL(end->info->mode & FI_MSG_PREFIX, 0);
	EQUAL(end->info->ep_attr->msg_prefix_size, 0);
	at(&pair->server, step_recvv, NULL, 0);
	fill(end->buf, PREFIX, 7);
	fill(end->buf + PREFIX, 100, 8);
	OK(fi_send(end->ep, end->buf, PREFIX + 100, end->desc, end->to, NULL));
	at(&pair->server, next_recv, &(struct fi_cq_tagged_entry){ 0 },
	   sizeof(struct fi_cq_tagged_entry));
	at_part(&pair->server, check_part, 0, PREFIX, 7);
	at_part(&pair->server, check_part, 4000, 100, 8);
}

int main(int argc, char **argv)
{
	struct setup setup = { .type = FI_EP_DGRAM, .mode = FI_MSG_PREFIX };
	int ret = run_pair(argc, argv, &setup, test);

	setup.mode = 0;
	return ret ? ret : run_pair(argc, argv, &setup, test_without);
}
