/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each call that takes remote CQ data sends it with a datagram; data with too many bits is refused.
 */
#include <string.h>
#include "steps.h"

static void expect(struct pair *pair, uint64_t data, size_t len)
{
	struct fi_cq_tagged_entry entry;

	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.flags, FI_MSG | FI_RECV | FI_REMOTE_CQ_DATA);
	EQUAL(entry.data, data);
	EQUAL(entry.len, len);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct iovec iov = { end->buf, 30 };
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &end->desc,
			      .iov_count = 1,
			      .addr = end->to,
			      .data = 0xffffffff };
	struct fi_cq_tagged_entry entry;
	int i;

	EQUAL(end->info->domain_attr->cq_data_size, 4);
	for (i = 0; i < 5; i++)
		at_part(&pair->server, post_recv, 0, 100, 1);
	OK(fi_senddata(end->ep, end->buf, 10, end->desc, 1, end->to, NULL));
	expect(pair, 1, 10);
	OK(fi_injectdata(end->ep, end->buf, 20, 0x12345678, end->to));
	expect(pair, 0x12345678, 20);
	OK(fi_sendmsg(end->ep, &msg, FI_REMOTE_CQ_DATA));
	expect(pair, 0xffffffff, 30);
	OK(fi_senddata(end->ep, NULL, 0, NULL, 7, end->to, NULL));
	expect(pair, 7, 0);
	RETURNS(fi_senddata(end->ep, end->buf, 10, end->desc, 1ULL << 32, end->to, NULL),
		-FI_EINVAL);
	RETURNS(fi_injectdata(end->ep, end->buf, 10, 1ULL << 32, end->to), -FI_EINVAL);
	/* An entry without data does not have the flag. */
	OK(fi_send(end->ep, end->buf, 10, end->desc, end->to, NULL));
	at(&pair->server, next_recv, &entry, sizeof(entry));
	EQUAL(entry.flags, FI_MSG | FI_RECV);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM };

	return run_pair(argc, argv, &setup, test);
}
