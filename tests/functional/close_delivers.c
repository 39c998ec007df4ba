/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What was injected right before fi_close has no completion to wait for, but arrives, even if the
 * peer posts its receives a little later.
 */
#include <unistd.h>
#include "steps.h"

#define MESSAGES 50
#define LEN	 32

static void step_receive(struct end *end, void *arg)
{
	struct fi_cq_tagged_entry entry;
	int i;

	(void)arg;
	usleep(30000);
	for (i = 0; i < MESSAGES; i++)
		OK(fi_recv(end->ep, end->buf + i * LEN, LEN, end->desc, 0, NULL));
	for (i = 0; i < MESSAGES; i++) {
		wait_comp(end->rxcq, &entry);
		EQUAL(entry.len, LEN);
		EQUAL(end->buf[i * LEN], i);
	}
}

static void test(struct pair *pair)
{
	uint8_t message[LEN] = { 0 };

	pair_open(pair);
	at_begin(&pair->server, step_receive, NULL, 0);
	for (message[0] = 0; message[0] < MESSAGES; message[0]++)
		OK(fi_inject(pair->client.ep, message, sizeof(message), 0));
	OK(fi_close(&pair->client.ep->fid));
	pair->client.ep = NULL;
	at_end(&pair->server, NULL, 0);
	pair_close(pair);
}

int main(void)
{
	static const struct setup setup = { 0 };

	return run_two_processes(&setup, test);
}
