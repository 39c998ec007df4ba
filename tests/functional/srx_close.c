/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Closing in any order: a shared context with endpoints is busy; its receives remain when an
 * endpoint closes, and serve the next one; completions that were not read are discarded with the
 * context.
 */
#include "links.h"

#define RECVS 8
#define LEN   64

static struct setup setup = { .buf_size = 16384, .srx_size = RECVS };

static void send_one(const struct end *end, const struct link *link, unsigned int seed)
{
	fill(end->buf + 8192, LEN, seed);
	OK(fi_inject(link->from, end->buf + 8192, LEN, 0));
}

static void arrives(struct end *end, uint64_t context, unsigned int seed)
{
	wait_context(end->rxcq, (void *)(uintptr_t)context);
	CHECK_FILLED(end->buf + context * LEN, LEN, seed);
}

/* With outstanding receives, and with a message that was not read. */
static void endpoints_go(struct end *end, struct place *place)
{
	struct fi_cq_tagged_entry entry;
	struct link a, b;
	uint64_t i;

	link_open(end, place, &a, NULL, NULL);
	link_open(end, place, &b, NULL, NULL);
	RETURNS(fi_close(&end->srx->fid), -FI_EBUSY);
	RETURNS(fi_close(&end->domain->fid), -FI_EBUSY);
	for (i = 0; i < RECVS; i++)
		OK(fi_recv(end->srx, end->buf + i * LEN, LEN, end->desc, 0, (void *)(uintptr_t)i));
	send_one(end, &a, 1);
	arrives(end, 0, 1);
	/* With eight outstanding receives one endpoint closes, and all eight remain. */
	link_close(&a);
	no_comp(end->rxcq, 20);
	send_one(end, &b, 2);
	arrives(end, 1, 2);
	/*
	 * A message arrives, is not read, and its endpoint closes: the buffer is released anyway.
	 */
	send_one(end, &b, 3);
	link_close(&b);
	arrives(end, 2, 3);
	while (fi_eq_read(end->eq, &(uint32_t){ 0 }, &entry, sizeof(entry), 0) >= 0)
		;
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct place place;
	struct fid_ep *srx;
	struct link c;

	end_listen(&end, local_addr(), &place);
	endpoints_go(&end, &place);
	link_open(&end, &place, &c, NULL, NULL);
	send_one(&end, &c, 4);
	arrives(&end, 3, 4);
	EQUAL(fi_rx_size_left(end.srx), 4);
	RETURNS(fi_close(&end.srx->fid), -FI_EBUSY);
	/* Two messages arrive and are not read; the context closes with its receives. */
	send_one(&end, &c, 5);
	send_one(&end, &c, 6);
	link_close(&c);
	srx = end.srx;
	end.srx = NULL;
	OK(fi_close(&srx->fid));
	no_comp(end.rxcq, 20);
	/* Another one replaces it. */
	end.srx = end_srx(&end, RECVS);
	link_open(&end, &place, &c, NULL, NULL);
	OK(fi_recv(end.srx, end.buf, LEN, end.desc, 0, NULL));
	send_one(&end, &c, 7);
	arrives(&end, 0, 7);
	link_close(&c);
	end_close(&end);
}

int main(void)
{
	setup.format = FI_CQ_FORMAT_TAGGED;
	return run_test(test);
}
