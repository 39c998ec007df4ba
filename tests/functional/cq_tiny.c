/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A CQ opened with one entry, for both directions of an endpoint, never overruns: it grows, or
 * posting returns -FI_EAGAIN.
 */
#include "steps.h"

static int post_all(struct end *end)
{
	uint64_t count = 0;
	ssize_t ret;

	while ((ret = fi_send(end->ep, end->buf, 8, end->desc, 0, (void *)(uintptr_t)count)) == 0)
		count++;
	RETURNS(ret, -FI_EAGAIN);
	return (int)count;
}

static void step_recvs(struct end *end, void *arg)
{
	int i, count = *(int *)arg;

	for (i = 0; i < count; i++)
		OK(fi_recv(end->ep, end->buf, 8, end->desc, 0, (void *)(uintptr_t)i));
}

static void step_take(struct end *end, void *arg)
{
	int i, count = *(int *)arg;

	for (i = 0; i < count; i++)
		wait_context(end->rxcq, (void *)(uintptr_t)i);
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	int i, count = (int)end->info->rx_attr->size, sent;

	at(&pair->server, step_recvs, &count, sizeof(count));
	sent = post_all(end);
	CHECK(sent > 1 && sent <= count);
	sleep_ms(100); /* all complete while nobody reads */
	at(&pair->server, step_take, &sent, sizeof(sent));
	for (i = 0; i < sent; i++)
		wait_context(end->cq, (void *)(uintptr_t)i);
	no_comp(end->cq, 10);
	no_event(end->eq, 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { .cq_size = 1, .one_cq = true };

	return run_pair(argc, argv, &setup, test);
}
