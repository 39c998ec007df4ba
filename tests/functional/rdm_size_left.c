/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable datagrams accept as many operations as fi_tx_size_left and fi_rx_size_left report before
 * one returns -FI_EAGAIN, and report the full size again when all are complete.
 */
#include "rdm.h"

enum { RECEIVES = 10, MOST = 100000, LEN = 8 };

static uint8_t out[LEN], in[LEN];
static struct fid_mr *mr;

static void no_room_before_enable(struct rdm_pair *pair, int side)
{
	RETURNS(fi_tx_size_left(pair->side[side].ep), -FI_EOPBADSTATE);
	RETURNS(fi_rx_size_left(pair->side[side].ep), -FI_EOPBADSTATE);
}

static void receives(struct rdm_pair *pair)
{
	struct fid_ep *ep = pair->side[1].ep;
	ssize_t size = (ssize_t)pair->info->rx_attr->size;
	int i;

	for (i = 0; i < RECEIVES; i++) {
		EQUAL(fi_rx_size_left(ep), size - i);
		OK(fi_trecv(ep, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	}
	for (i = 0; i < RECEIVES; i++) {
		OK(fi_tsend(pair->side[0].ep, out, LEN, NULL, pair->side[0].peer, 1, NULL));
		rdm_wait(pair, 1);
		rdm_wait(pair, 0);
	}
	EQUAL(fi_rx_size_left(ep), size);
}

static ssize_t message(struct rdm_side *side)
{
	return fi_tsend(side->ep, out, LEN, NULL, side->peer, 2, NULL);
}

static ssize_t write_small(struct rdm_side *side)
{
	return fi_write(side->ep, out, LEN, NULL, side->peer, 0, fi_mr_key(mr), NULL);
}

/* Posts until there is no room, and returns the number. */
static int fill_up(struct rdm_side *side, ssize_t (*post)(struct rdm_side *side))
{
	ssize_t ret, left;
	int posted;

	for (posted = 0; posted < MOST; posted++) {
		left = fi_tx_size_left(side->ep);
		CHECK(left >= 0);
		ret = post(side);
		if (ret == -FI_EAGAIN) {
			EQUAL(left, 0);
			return posted;
		}
		OK(ret);
	}
	FAIL("%d operations, and none gave -FI_EAGAIN", posted);
}

static void transmits(struct rdm_pair *pair, ssize_t (*post)(struct rdm_side *side))
{
	ssize_t left = fi_tx_size_left(pair->side[0].ep);
	int posted;

	CHECK(left > 0 && left <= (ssize_t)pair->info->tx_attr->size);
	posted = fill_up(&pair->side[0], post);
	CHECK(posted >= left);
	for (; posted; posted--) {
		if (post == message)
			OK(fi_trecv(pair->side[1].ep, in, LEN, NULL, FI_ADDR_UNSPEC, 2, 0, NULL));
		if (post == message)
			rdm_wait(pair, 1);
		rdm_wait(pair, 0);
	}
	EQUAL(fi_tx_size_left(pair->side[0].ep), left);
}

static void test(void)
{
	const struct rdm_change change = { .bind = no_room_before_enable };
	struct rdm_pair pair;

	rdm_open_with(&pair, 0, &change);
	OK(fi_mr_reg(pair.domain, in, LEN, FI_REMOTE_WRITE, 0, 7, 0, &mr, NULL));
	receives(&pair);
	/* Few objects exist yet: writes are posted faster than a device carries them out. */
	transmits(&pair, write_small);
	transmits(&pair, message);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
