/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Statistics count the calls that found no room, and the operations that failed because the peer
 * had no receive.
 */
#include <stdlib.h>
#include "stats.h"
#include "steps.h"

#define TX 16

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	struct fi_cq_err_entry error;
	ssize_t ret;
	int i;

	for (i = 0; i < TX; i++)
		OK(fi_send(end->ep, end->buf, 8, end->desc, FI_ADDR_UNSPEC, NULL));
	for (i = 0; i < 5; i++) {
		ret = fi_send(end->ep, end->buf, 8, end->desc, FI_ADDR_UNSPEC, NULL);
		RETURNS(ret, -FI_EAGAIN);
	}
	EQUAL(stats_of(&end->ep->fid, "tx_eagain"), 5);
	EQUAL(stats_of(&end->ep->fid, "sends"), TX);
	EQUAL(stats_of(&end->ep->fid, "tx_outstanding"), TX);
	for (i = 0; i < TX; i++)
		wait_error(end->cq, &error);
	EQUAL(stats_of(&end->ep->fid, "rnr_exceeded"), 1);
	EQUAL(stats_of(&end->ep->fid, "tx_errors"), TX);
	EQUAL(stats_of(&end->cq->fid, "errors"), TX);
	EQUAL(stats_of(&end->ep->fid, "tx_outstanding"), 0);
}

int main(int argc, char **argv)
{
	static const struct setup setup = { 0 };

	setenv("FI_VERBS_TX_SIZE", "16", 1);
	setenv("FI_VERBS_RNR_RETRY_COUNT", "1", 1);
	return run_pair(argc, argv, &setup, test);
}
