/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A receive of a NULL buffer with a length has no room: it takes a message of length 0, and any
 * other message is truncated.
 */
#include "rdm.h"

static struct rdm_pair pair;
static uint8_t out[8];

static void post(bool iov)
{
	const struct iovec none = { NULL, 8 };
	struct fid_ep *ep = pair.side[1].ep;

	if (iov)
		OK(fi_trecvv(ep, &none, NULL, 1, FI_ADDR_UNSPEC, 1, 0, NULL));
	else
		OK(fi_trecv(ep, NULL, 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
}

static void send(size_t len)
{
	OK(fi_tsend(pair.side[0].ep, out, len, NULL, pair.side[0].peer, 1, NULL));
}

static void test(void)
{
	struct fi_cq_err_entry error;
	int i;

	rdm_open(&pair, 0);
	for (i = 0; i < 2; i++) {
		post(i);
		send(0);
		EQUAL(rdm_wait(&pair, 1).len, 0);
		rdm_wait(&pair, 0);
		post(i);
		send(8);
		error = rdm_wait_error(&pair, 1);
		EQUAL(error.err, FI_ETRUNC);
		EQUAL(error.olen, 8);
		rdm_wait(&pair, 0);
	}
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
