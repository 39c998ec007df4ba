/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_writedata of reliable datagrams: the target gets an entry with the data after the memory is
 * written.
 */
#include "rdm.h"

enum { LEN = 200000 };

static uint8_t target[LEN], out[LEN];

static void expect(struct rdm_pair *pair, uint64_t data, size_t len)
{
	struct fi_cq_tagged_entry entry = rdm_wait(pair, 1);

	EQUAL(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	CHECK(entry.data == data);
	EQUAL(entry.len, len);
	CHECK_FILLED(target, len, (unsigned int)data);
}

static void write_data(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base, size_t len)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t data = 0x1122334400000000 + len;

	fill(out, len, (unsigned int)data);
	OK(fi_writedata(side->ep, out, len, NULL, data, side->peer, base, fi_mr_key(mr), out));
	expect(pair, data, len);
	CHECK(rdm_wait(pair, 0).op_context == out);
}

static void other_calls(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base)
{
	struct rdm_side *side = &pair->side[0];
	struct iovec iov[2] = { { out, 10 }, { out + 10, 20 } };
	struct fi_rma_iov rma[2] = { { base, 15, fi_mr_key(mr) },
				     { base + 15, 15, fi_mr_key(mr) } };
	struct fi_msg_rma msg = { .msg_iov = iov,
				  .iov_count = 2,
				  .addr = side->peer,
				  .rma_iov = rma,
				  .rma_iov_count = 2,
				  .context = iov,
				  .data = 77 };

	fill(out, 30, 77);
	OK(fi_writemsg(side->ep, &msg, FI_REMOTE_CQ_DATA));
	expect(pair, 77, 30);
	CHECK(rdm_wait(pair, 0).op_context == iov);
	fill(out, 50, 78);
	OK(fi_inject_writedata(side->ep, out, 50, 78, side->peer, base, fi_mr_key(mr)));
	expect(pair, 78, 50);
	RETURNS(fi_readmsg(side->ep, &msg, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
}

static void with_mode(int mode)
{
	static const size_t lens[] = { 0, 1, 200, 16384, 20000, LEN };
	struct rdm_pair pair;
	struct fid_mr *mr;
	uint64_t base = mode ? (uintptr_t)target : 0;
	size_t i;

	rdm_open(&pair, mode);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_WRITE, 0, 5, 0, &mr, NULL));
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		write_data(&pair, mr, base, lens[i]);
	other_calls(&pair, mr, base);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

static void test(void)
{
	with_mode(RDM_PROV_KEYS);
	with_mode(0);
}

int main(void)
{
	return run_test(test);
}
