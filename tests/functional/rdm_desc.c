/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable datagrams without FI_MR_LOCAL take any descriptor: what is none, that of a region which
 * the device may not write to, that of a region elsewhere, and one in place of a list.
 */
#include "rdm.h"

#include <stdint.h>
#include <string.h>

enum { LEN = 300000, SMALL = 8 };

static uint8_t target[LEN], out[LEN], in[LEN];

static void transfer(struct rdm_pair *pair, struct fid_mr *mr, void *desc, size_t len)
{
	struct rdm_side *side = &pair->side[0];

	fill(out, len, (unsigned int)len);
	memset(in, 0, len);
	rdm_order(pair);
	OK(fi_write(side->ep, out, len, desc, side->peer, (uintptr_t)target, fi_mr_key(mr), out));
	CHECK(rdm_wait(pair, 0).op_context == out);
	rdm_order(pair);
	CHECK_FILLED(target, len, (unsigned int)len);
	OK(fi_read(side->ep, in, len, desc, side->peer, (uintptr_t)target, fi_mr_key(mr), in));
	CHECK(rdm_wait(pair, 0).op_context == in);
	CHECK_FILLED(in, len, (unsigned int)len);
}

static void transfer_list(struct rdm_pair *pair, struct fid_mr *mr, void *desc)
{
	struct rdm_side *side = &pair->side[0];
	struct iovec iov[] = { { in, LEN / 2 }, { in + LEN / 2, LEN / 2 } };
	void *descs[] = { desc, desc };

	memset(in, 0, LEN);
	OK(fi_readv(side->ep, iov, descs, 2, side->peer, (uintptr_t)target, fi_mr_key(mr), in));
	CHECK(rdm_wait(pair, 0).op_context == in);
	CHECK_FILLED(in, LEN, LEN);
}

static void message(struct rdm_pair *pair, void *desc)
{
	struct rdm_side *side = pair->side;

	fill(out, LEN, 3);
	memset(in, 0, LEN);
	OK(fi_trecv(side[1].ep, in, LEN, desc, FI_ADDR_UNSPEC, 1, 0, in));
	OK(fi_tsend(side[0].ep, out, LEN, desc, side[0].peer, 1, out));
	CHECK(rdm_wait(pair, 1).op_context == in);
	CHECK(rdm_wait(pair, 0).op_context == out);
	CHECK_FILLED(in, LEN, 3);
}

static void no_list(struct rdm_pair *pair, struct fid_mr *mr, void *desc)
{
	struct rdm_side *side = pair->side;
	struct iovec iov = { in, LEN };
	struct fi_msg msg = { &iov, desc, 1, FI_ADDR_UNSPEC, in, 0 };

	fill(out, LEN, 4);
	OK(fi_recvmsg(side[1].ep, &msg, 0));
	OK(fi_send(side[0].ep, out, LEN, NULL, side[0].peer, out));
	CHECK(rdm_wait(pair, 1).op_context == in);
	CHECK(rdm_wait(pair, 0).op_context == out);
	CHECK_FILLED(in, LEN, 4);
	fill(target, LEN, 5);
	rdm_order(pair);
	OK(fi_readv(side->ep, &iov, desc, 1, side->peer, (uintptr_t)target, fi_mr_key(mr), in));
	CHECK(rdm_wait(pair, 0).op_context == in);
	CHECK_FILLED(in, LEN, 5);
}

/* The region has none of the memory, its end only, all but its end, or all of it. */
static void elsewhere(struct rdm_pair *pair, struct fid_mr *mr)
{
	static const size_t lens[] = { SMALL, 3000, 40000, LEN };
	static uint8_t other[64];
	struct fid_mr *regions[3], *whole;
	size_t i, k;

	OK(fi_mr_reg(pair->domain, other, sizeof(other), FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0,
		     11, 0, &regions[0], NULL));
	OK(fi_mr_reg(pair->domain, in + LEN / 2, LEN / 2, FI_READ | FI_WRITE, 0, 12, 0, &regions[1],
		     NULL));
	OK(fi_mr_reg(pair->domain, out, LEN - 1, FI_READ | FI_WRITE, 0, 13, 0, &regions[2], NULL));
	OK(fi_mr_reg(pair->domain, in, LEN, FI_READ | FI_WRITE, 0, 14, 0, &whole, NULL));
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		for (k = 0; k < 3; k++)
			transfer(pair, mr, fi_mr_desc(regions[k]), lens[i]);
		transfer(pair, mr, fi_mr_desc(whole), lens[i]);
	}
	for (k = 0; k < 3; k++)
		message(pair, fi_mr_desc(regions[k]));
	for (k = 0; k < 3; k++)
		OK(fi_close(&regions[k]->fid));
	OK(fi_close(&whole->fid));
}

/* The descriptor of a region that is closed is that of none, or of the next one. */
static void closed(struct rdm_pair *pair, struct fid_mr *mr)
{
	struct fid_mr *whole, *other;
	void *desc;

	OK(fi_mr_reg(pair->domain, out, LEN, FI_READ | FI_WRITE, 0, 21, 0, &whole, NULL));
	desc = fi_mr_desc(whole);
	transfer(pair, mr, desc, LEN / 2);
	OK(fi_close(&whole->fid));
	transfer(pair, mr, desc, LEN / 2);
	OK(fi_mr_reg(pair->domain, in, LEN, FI_READ | FI_WRITE, 0, 22, 0, &other, NULL));
	transfer(pair, mr, desc, LEN / 2);
	desc = fi_mr_desc(other);
	transfer(pair, mr, desc, LEN / 2);
	OK(fi_close(&other->fid));
	transfer(pair, mr, desc, LEN / 2);
}

static void rdm(void)
{
	uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct fid_mr *mr, *sends;
	struct rdm_pair pair;
	void *desc[4];
	size_t i;

	rdm_open(&pair, RDM_PROV_KEYS);
	OK(fi_mr_reg(pair.domain, target, LEN, access, 0, 0, 0, &mr, NULL));
	OK(fi_mr_reg(pair.domain, in, LEN, FI_SEND, 0, 1, 0, &sends, NULL));
	desc[0] = fi_mr_desc(sends);
	desc[1] = out;
	desc[2] = (void *)1;
	desc[3] = (void *)-1;
	for (i = 0; i < 4; i++) {
		message(&pair, desc[i]);
		fill(target, LEN, LEN);
		rdm_order(&pair);
		transfer_list(&pair, mr, desc[i]);
	}
	for (i = 0; i < 4; i++) {
		transfer(&pair, mr, desc[i], SMALL);
		transfer(&pair, mr, desc[i], LEN);
	}
	elsewhere(&pair, mr);
	closed(&pair, mr);
	no_list(&pair, mr, desc[0]);
	OK(fi_close(&sends->fid));
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(rdm);
}
