/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_cq_readfrom returns the source of a datagram: its address in the receiver's vector, or
 * FI_ADDR_NOTAVAIL if it is not inserted (yet, or any more), also with a prefix and by the blocking
 * call. Transmissions have no source.
 */
#include "steps.h"

static void step_next(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();
	fi_addr_t src = 12345;
	ssize_t ret;

	while ((ret = fi_cq_readfrom(end->rxcq, &entry, 1, &src)) == -FI_EAGAIN)
		pause_until(limit, "a datagram");
	EQUAL(ret, 1);
	EQUAL(entry.flags, FI_MSG | FI_RECV);
	*(fi_addr_t *)arg = src;
}

static void step_wait(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	uint64_t limit = deadline();
	ssize_t ret;

	while ((ret = fi_cq_sreadfrom(end->rxcq, &entry, 1, arg, NULL, 500)) == -FI_EAGAIN)
		pause_until(limit, "a datagram");
	EQUAL(ret, 1);
}

static void step_to(struct end *end, void *arg)
{
	*(fi_addr_t *)arg = end->to;
}

static void step_remove(struct end *end, void *arg)
{
	OK(fi_av_remove(end->av, &end->to, 1, 0));
	(void)arg;
}

static fi_addr_t send_one(struct pair *pair, step_fn *next)
{
	size_t prefix = pair->client.info->ep_attr->msg_prefix_size;
	struct fi_cq_tagged_entry entry;
	fi_addr_t src = 0, none = 1;

	at_part(&pair->server, post_recv, 0, 1000, 1);
	OK(fi_send(pair->client.ep, pair->client.buf, 10 + prefix, pair->client.desc,
		   pair->client.to, NULL));
	at(&pair->server, next, &src, sizeof(src));
	for (uint64_t limit = deadline();
	     fi_cq_readfrom(pair->client.cq, &entry, 1, &none) == -FI_EAGAIN;)
		pause_until(limit, "the send");
	EQUAL(none, FI_ADDR_NOTAVAIL);
	return src;
}

static void test(struct pair *pair)
{
	fi_addr_t to = 0;
	struct name name;

	at(&pair->server, step_to, &to, sizeof(to));
	EQUAL(send_one(pair, step_next), to);
	EQUAL(send_one(pair, step_wait), to);
	at(&pair->server, step_remove, NULL, 0);
	EQUAL(send_one(pair, step_next), FI_ADDR_NOTAVAIL);
	end_name(&pair->client, &name);
	at(&pair->server, step_insert, &name, sizeof(name));
	at(&pair->server, step_to, &to, sizeof(to));
	EQUAL(send_one(pair, step_next), to);
}

int main(int argc, char **argv)
{
	struct setup setup = { .type = FI_EP_DGRAM, .wait_obj = FI_WAIT_FD };
	int ret = run_pair(argc, argv, &setup, test);

	setup.mode = FI_MSG_PREFIX;
	return ret ? ret : run_pair(argc, argv, &setup, test);
}
