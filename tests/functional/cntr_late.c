/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters and a shared transmit context are bound after fi_enable; every later operation is
 * counted.
 */
#include "steps.h"

enum { BEFORE = 3, COUNT = 20, LEN = 64 };

static struct fid_stx *stx;

static void step_recvs(struct end *end, void *arg)
{
	uint64_t limit = deadline();
	int i;

	for (i = 0; i < *(int *)arg; i++)
		while (AGAIN(limit, fi_recv(end->ep, end->buf, LEN + 64, end->desc, 0, NULL)))
			;
}

static void step_bind(struct end *end, void *arg)
{
	static const uint64_t flags[CNTRS] = { FI_SEND, FI_RECV, FI_READ, FI_WRITE };
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_FD };
	int i, kinds = end->setup->type == FI_EP_DGRAM ? 2 : CNTRS;

	(void)arg;
	for (i = 0; i < kinds; i++) {
		OK(fi_cntr_open(end->domain, &attr, &end->cntr[i], NULL));
		OK(fi_ep_bind(end->ep, &end->cntr[i]->fid, flags[i]));
	}
	RETURNS(fi_ep_bind(end->ep, &end->cntr[0]->fid, FI_SEND), -FI_EBUSY);
	RETURNS(fi_ep_bind(end->ep, &end->cq->fid, FI_TRANSMIT), -FI_EOPBADSTATE);
	RETURNS(fi_ep_bind(end->ep, &end->eq->fid, 0), -FI_EOPBADSTATE);
}

static void step_received(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	int i;

	OK(fi_cntr_wait(end->cntr[CNTR_RECV], COUNT, WAIT_MS));
	sleep_ms(20);
	EQUAL(fi_cntr_read(end->cntr[CNTR_RECV]), COUNT);
	for (i = 0; i < *(int *)arg; i++)
		wait_comp(end->rxcq, &entry);
}

static void bind_stx(struct end *end)
{
	OK(fi_stx_context(end->domain, NULL, &stx, NULL));
	OK(fi_ep_bind(end->ep, &stx->fid, 0));
	RETURNS(fi_ep_bind(end->ep, &stx->fid, 0), -FI_EBUSY);
	OK(fi_close(&stx->fid));
}

static void inject(struct end *end)
{
	uint64_t limit = deadline();

	while (AGAIN(limit, fi_inject(end->ep, end->buf, 8, end->to)))
		;
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_tagged_entry entry;
	int i, all = BEFORE + COUNT;

	at(&pair->server, step_recvs, &all, sizeof(all));
	for (i = 0; i < BEFORE; i++) {
		OK(fi_send(end->ep, end->buf, LEN, end->desc, end->to, NULL));
		wait_comp(end->cq, &entry);
	}
	for (i = 0; i < BEFORE; i++)
		at(&pair->server, next_recv, &entry, sizeof(entry));
	step_bind(end, NULL);
	at(&pair->server, step_bind, NULL, 0);
	if (end->setup->type != FI_EP_DGRAM)
		bind_stx(end);
	for (i = 0; i < COUNT; i++)
		inject(end);
	i = COUNT;
	at(&pair->server, step_received, &i, sizeof(i));
	OK(fi_cntr_wait(end->cntr[CNTR_SEND], COUNT, WAIT_MS));
	EQUAL(fi_cntr_read(end->cntr[CNTR_SEND]), COUNT);
	if (end->setup->type == FI_EP_DGRAM)
		return;
	OK(fi_inject_write(end->ep, end->buf, 8, 0, end->peer.addr, end->peer.key));
	OK(fi_cntr_wait(end->cntr[CNTR_WRITE], 1, WAIT_MS));
	OK(fi_read(end->ep, end->buf, 8, end->desc, 0, end->peer.addr, end->peer.key, NULL));
	OK(fi_cntr_wait(end->cntr[CNTR_READ], 1, WAIT_MS));
	wait_comp(end->cq, &entry);
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
}

int main(int argc, char **argv)
{
	static const struct setup msg = { .tx_size = 64, .rx_size = 64 };
	static const struct setup bare = { .tx_size = 64,
					   .rx_size = 64,
					   .threading = FI_THREAD_DOMAIN };
	static const struct setup dgram = { .type = FI_EP_DGRAM, .tx_size = 64, .rx_size = 64 };
	int ret = run_pair(argc, argv, &msg, test);

	if (!ret)
		ret = run_pair(argc, argv, &bare, test);
	return ret ? ret : run_pair(argc, argv, &dgram, test);
}
