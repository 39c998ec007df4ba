/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Queues accept exactly as many operations as they report, then return -FI_EAGAIN, and accept more
 * once completions are read.
 */
#include <stdlib.h>
#include "steps.h"

#define TX 20
#define RX 24

static void step_fill_recv(struct end *end, void *arg)
{
	size_t i, left = (size_t)fi_rx_size_left(end->ep);

	(void)arg;
	EQUAL(left, RX);
	for (i = 0; i < left; i++) {
		OK(fi_recv(end->ep, end->buf, 8, end->desc, FI_ADDR_UNSPEC, NULL));
		EQUAL(fi_rx_size_left(end->ep), left - i - 1);
	}
	RETURNS(fi_recv(end->ep, end->buf, 8, end->desc, FI_ADDR_UNSPEC, NULL), -FI_EAGAIN);
}

static void step_take(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	int i, count = *(int *)arg;

	for (i = 0; i < count; i++)
		wait_comp(end->rxcq, &entry);
	EQUAL(fi_rx_size_left(end->ep), count);
}

static void fill_send(struct end *end, size_t left)
{
	size_t i;

	for (i = 0; i < left; i++) {
		OK(fi_send(end->ep, end->buf, 8, end->desc, FI_ADDR_UNSPEC, NULL));
		EQUAL(fi_tx_size_left(end->ep), left - i - 1);
	}
	RETURNS(fi_send(end->ep, end->buf, 8, end->desc, FI_ADDR_UNSPEC, NULL), -FI_EAGAIN);
	RETURNS(fi_inject(end->ep, end->buf, 8, FI_ADDR_UNSPEC), -FI_EAGAIN);
	EQUAL(fi_tx_size_left(end->ep), 0);
}

static void test(struct pair *pair)
{
	struct end *client = &pair->client;
	size_t left = (size_t)fi_tx_size_left(client->ep);
	int i, half = (int)left / 2, rest;
	struct fi_cq_tagged_entry entry;

	EQUAL(left, TX);
	EQUAL(left, client->info->tx_attr->size);
	at(&pair->server, step_fill_recv, NULL, 0);
	fill_send(client, left);

	for (i = 0; i < half; i++)
		wait_comp(client->cq, &entry);
	EQUAL(fi_tx_size_left(client->ep), half);
	for (; i < (int)left; i++)
		wait_comp(client->cq, &entry);
	EQUAL(fi_tx_size_left(client->ep), left);
	rest = (int)left;
	at(&pair->server, step_take, &rest, sizeof(rest));
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	setenv("FI_VERBS_TX_SIZE", "20", 1);
	setenv("FI_VERBS_RX_SIZE", "24", 1);
	return run_pair(argc, argv, &setup, test);
}
