/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A datagram that is too long, or whose address is invalid, is refused before anything is sent, and
 * the endpoint continues to work.
 */
#include "steps.h"

static void refused(struct end *end, size_t len, fi_addr_t to, ssize_t want)
{
	struct iovec iov[2] = { { end->buf, len - 1 }, { end->buf, 1 } };
	void *desc[2] = { end->desc, end->desc };
	struct fi_msg msg = { .msg_iov = iov, .desc = desc, .iov_count = 2, .addr = to };

	RETURNS(fi_send(end->ep, end->buf, len, end->desc, to, NULL), want);
	RETURNS(fi_sendv(end->ep, iov, desc, 2, to, NULL), want);
	RETURNS(fi_sendmsg(end->ep, &msg, 0), want);
	RETURNS(fi_sendmsg(end->ep, &msg, FI_MORE), want);
	RETURNS(fi_senddata(end->ep, end->buf, len, end->desc, 1, to, NULL), want);
	RETURNS(fi_inject(end->ep, end->buf, len, to), want);
	RETURNS(fi_injectdata(end->ep, end->buf, len, 1, to), want);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	size_t max = end->info->ep_attr->max_msg_size, size = sizeof(max), found = 0;
	static const uint64_t wrong[] = { 1,	      2,	  1000,	      1ULL << 20,
					  1ULL << 32, 1ULL << 61, 1ULL << 62, 1ULL << 63,
					  ~1ULL,      ~0ULL };
	size_t i, free_slots = fi_tx_size_left(end->ep);

	OK(fi_getopt(&end->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MAX_MSG_SIZE, &found, &size));
	EQUAL(found, max);
	RETURNS(fi_getopt(&end->ep->fid, FI_OPT_ENDPOINT, FI_OPT_MAX_RMA_SIZE, &found, &size),
		-FI_ENOPROTOOPT);
	refused(end, max + 1, end->to, -FI_EMSGSIZE);
	refused(end, 1ULL << 33, end->to, -FI_EMSGSIZE);
	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		refused(end, 8, wrong[i], -FI_EINVAL);
	RETURNS(fi_send(end->ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL), -FI_EINVAL);
	RETURNS(fi_send(end->ep, NULL, 8, NULL, end->to, NULL), -FI_EINVAL);
	RETURNS(fi_sendmsg(end->ep, NULL, 0), -FI_EINVAL);
	RETURNS(fi_recvmsg(end->ep, NULL, 0), -FI_EINVAL);
	RETURNS(fi_recv(end->ep, end->buf, 1ULL << 33, end->desc, 0, NULL), -FI_EMSGSIZE);
	EQUAL(fi_tx_size_left(end->ep), free_slots);

	at_part(&pair->server, post_recv, 0, max, 1);
	at_part(end, fill_part, 0, max, 1);
	at_part(end, post_send, 0, max, 1);
	at_part(&pair->server, reap_recv, 0, max, 1);
	wait_context(end->cq, (void *)1);
	no_comp(end->cq, 10);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .type = FI_EP_DGRAM };

	return run_pair(argc, argv, &setup, test);
}
