/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs ask for less than they use: a reliable-datagram endpoint opened for messages also
 * performs RMA, with virtual addresses, and one opened for the directions only has messages.
 */
#include "rdm.h"

static uint64_t caps;
static uint64_t target;

static void ask(struct fi_info *hints)
{
	hints->caps = caps;
}

static void transfer(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t value = 7, got = 0;
	struct fid_mr *mr;

	OK(fi_mr_reg(pair->domain, &target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 3,
		     0, &mr, NULL));
	OK(fi_write(side->ep, &value, 8, NULL, side->peer, (uintptr_t)&target, fi_mr_key(mr),
		    NULL));
	rdm_wait(pair, 0);
	OK(fi_read(side->ep, &got, 8, NULL, side->peer, (uintptr_t)&target, fi_mr_key(mr), NULL));
	rdm_wait(pair, 0);
	EQUAL(got, 7);
	rdm_order(pair);
	EQUAL(target, 7);
	OK(fi_close(&mr->fid));
}

static void message(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[0];
	char in = 0;

	OK(fi_recv(pair->side[1].ep, &in, 1, NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(side->ep, "a", 1, NULL, side->peer, NULL));
	rdm_wait(pair, 1);
	rdm_wait(pair, 0);
	EQUAL(in, 'a');
}

static void test_caps(uint64_t asked)
{
	const struct rdm_change change = { .hints = ask };
	struct rdm_pair pair;

	caps = asked;
	target = 0;
	rdm_open_with(&pair, 0, &change);
	message(&pair);
	transfer(&pair);
	rdm_close(&pair);
}

static void test(void)
{
	test_caps(FI_MSG);
	test_caps(FI_SEND | FI_RECV);
}

int main(void)
{
	return run_test(test);
}
