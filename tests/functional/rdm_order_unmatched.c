/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * With orders between kinds, an operation does not wait for a message that the peer does not
 * receive yet: the peer may wait for what comes behind this operation.
 */
#include "rdm.h"

enum { LEN = 1 << 20 };

static struct rdm_pair pair;
static uint8_t out[LEN], in[LEN];
static uint64_t target, value, got;
static struct fid_mr *mr;

static void ask(struct fi_info *hints)
{
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = FI_ORDER_SAS | FI_ORDER_RAR |
								FI_ORDER_RAW | FI_ORDER_WAR |
								FI_ORDER_WAW | FI_ORDER_SAR;
}

static void read_word(void)
{
	struct rdm_side *side = &pair.side[0];

	OK(fi_read(side->ep, &got, 8, NULL, side->peer, (uintptr_t)&target, fi_mr_key(mr), NULL));
}

static void round_of(bool complete, unsigned int seed)
{
	struct rdm_side *side = &pair.side[0];
	char small = 0;
	int left = 3;

	fill(out, LEN, seed);
	OK(fi_tsend(side->ep, out, LEN, NULL, side->peer, 1, NULL));
	read_word();
	if (complete) {
		rdm_wait(&pair, 0);
		left--;
	}
	value = seed;
	OK(fi_write(side->ep, &value, 8, NULL, side->peer, (uintptr_t)&target, fi_mr_key(mr),
		    NULL));
	OK(fi_tinject(side->ep, "a", 1, side->peer, 2));
	OK(fi_trecv(pair.side[1].ep, &small, 1, NULL, FI_ADDR_UNSPEC, 2, 0, NULL));
	rdm_wait(&pair, 1);
	EQUAL(small, 'a');
	OK(fi_trecv(pair.side[1].ep, in, LEN, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	rdm_wait(&pair, 1);
	CHECK_FILLED(in, LEN, seed);
	while (left--)
		rdm_wait(&pair, 0);
	rdm_order(&pair);
	EQUAL(target, seed);
}

static void test(void)
{
	const struct rdm_change change = { .hints = ask };

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	OK(fi_mr_reg(pair.domain, &target, 8, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0, &mr,
		     NULL));
	round_of(true, 1);
	round_of(true, 2);
	round_of(false, 3);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
