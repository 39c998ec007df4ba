/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA and atomics of reliable datagrams, with keys of the device and with keys of the application.
 */
#include "rdm.h"

#include <stdlib.h>
#include <string.h>

enum { LEN = 300000, KEY = 77 };

static uint8_t target[LEN], out[LEN], in[LEN];

static void transfer(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base, size_t len)
{
	struct rdm_side *side = &pair->side[0];

	fill(out, len, (unsigned int)len);
	memset(in, 0, len);
	rdm_order(pair);
	OK(fi_write(side->ep, out, len, NULL, side->peer, base + 8, fi_mr_key(mr), out));
	CHECK(rdm_wait(pair, 0).op_context == out);
	rdm_order(pair);
	CHECK_FILLED(target + 8, len, (unsigned int)len);
	OK(fi_read(side->ep, in, len, NULL, side->peer, base + 8, fi_mr_key(mr), in));
	CHECK(rdm_wait(pair, 0).op_context == in);
	CHECK_FILLED(in, len, (unsigned int)len);
}

/* The connection was made by a write, of which the target's application learns nothing. */
static void answer(struct rdm_pair *pair)
{
	uint64_t what = 7, got = 0, end = deadline();
	int ret;

	OK(fi_trecv(pair->side[0].ep, &got, 8, NULL, FI_ADDR_UNSPEC, 1, 0, &got));
	while ((ret = (int)fi_tinject(pair->side[1].ep, &what, 8, pair->side[1].peer, 1)) ==
	       -FI_EAGAIN)
		pause_until(end, "room for a message");
	OK(ret);
	CHECK(rdm_wait(pair, 0).op_context == &got);
	EQUAL(got, 7);
}

static void atomics(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t one = 1, old = 0, expected = 6, wanted = 40;
	double half = .5, value = 1;
	uint64_t key = fi_mr_key(mr);

	memcpy(target, &(uint64_t){ 5 }, 8);
	rdm_order(pair);
	OK(fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, base, key, FI_UINT64,
			   FI_SUM, NULL));
	rdm_wait(pair, 0);
	rdm_order(pair);
	EQUAL(old, 5);
	OK(fi_compare_atomic(side->ep, &wanted, 1, NULL, &expected, NULL, &old, NULL, side->peer,
			     base, key, FI_UINT64, FI_CSWAP, NULL));
	rdm_wait(pair, 0);
	rdm_order(pair);
	EQUAL(old, 6);
	EQUAL(*(uint64_t *)(void *)target, 40);
	memcpy(target, &value, 8);
	rdm_order(pair);
	OK(fi_atomic(side->ep, &half, 1, NULL, side->peer, base, key, FI_DOUBLE, FI_PROD, NULL));
	rdm_wait(pair, 0);
	rdm_order(pair);
	memcpy(&value, target, 8);
	CHECK(value == .5);
	rdm_order(pair);
	OK(fi_atomic(side->ep, &value, 1, NULL, side->peer, base, key, FI_DOUBLE, FI_DIFF, NULL));
	rdm_wait(pair, 0);
	rdm_order(pair);
	memcpy(&value, target, 8);
	CHECK(value == 0);
}

/* Operands whose number wraps around to that of the target. */
static void bad_counts(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t one = 1;
	struct fi_ioc many[] = { { &one, SIZE_MAX }, { &one, 2 } };
	struct fi_rma_ioc place = { base, 1, fi_mr_key(mr) };
	struct fi_msg_atomic msg = { .msg_iov = many,
				     .iov_count = 2,
				     .addr = side->peer,
				     .rma_iov = &place,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_SUM };

	RETURNS(fi_atomicmsg(side->ep, &msg, 0), -FI_EINVAL);
	RETURNS(fi_atomicv(side->ep, many, NULL, 2, side->peer, base, fi_mr_key(mr), FI_UINT64,
			   FI_SUM, NULL),
		-FI_EMSGSIZE);
}

/* Empty ranges of elements are refused. */
static void empty_places(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t two = 2, old = 0, *at = (uint64_t *)(void *)target, key = fi_mr_key(mr);
	struct fi_ioc from = { &two, 1 }, into = { &old, 1 };
	struct fi_rma_ioc places[] = { { base, 0, 0x12345 },
				       { base + 8, 1, key },
				       { base, 0, key } };
	struct fi_msg_atomic msg = { .msg_iov = &from,
				     .iov_count = 1,
				     .addr = side->peer,
				     .rma_iov = places,
				     .rma_iov_count = 3,
				     .datatype = FI_UINT64,
				     .op = FI_SUM,
				     .context = &msg };

	at[0] = at[2] = 1;
	at[1] = 10;
	rdm_order(pair);
	OK(fi_fetch_atomicmsg(side->ep, &msg, &into, NULL, 1, 0));
	CHECK(rdm_wait(pair, 0).op_context == &msg);
	rdm_order(pair);
	EQUAL(old, 10);
	CHECK(at[0] == 1 && at[1] == 12 && at[2] == 1);
	msg.rma_iov_count = 1;
	RETURNS(fi_atomicmsg(side->ep, &msg, 0), -FI_EINVAL);
}

/* 100 bytes are neither written to this place nor read from it. */
static void bad_place(struct rdm_side *side, struct fi_rma_iov place)
{
	struct iovec iov = { out, 100 };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = side->peer,
				  .rma_iov = &place,
				  .rma_iov_count = 1 };

	RETURNS(fi_writemsg(side->ep, &msg, 0), -FI_EINVAL);
	RETURNS(fi_readmsg(side->ep, &msg, 0), -FI_EINVAL);
}

/* The local and the remote lengths are equal. */
static void bad_lengths(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base)
{
	bad_place(&pair->side[0], (struct fi_rma_iov){ base, 99, fi_mr_key(mr) });
	bad_place(&pair->side[0], (struct fi_rma_iov){ base, 101, fi_mr_key(mr) });
}

/*
 * Ranges that wrap around are refused by the call: the peer would end the connection. The same
 * holds for operations that belong to another kind of call.
 */
static void refused(struct rdm_pair *pair, struct fid_mr *mr, uint64_t base)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t key = fi_mr_key(mr), one = 1, old;

	bad_place(side, (struct fi_rma_iov){ (uint64_t)-50, 100, key });
	RETURNS(fi_atomic(side->ep, &one, 1, NULL, side->peer, (uint64_t)-4, key, FI_UINT64, FI_SUM,
			  NULL),
		-FI_EINVAL);
	RETURNS(fi_send(side->ep, out, SIZE_MAX, NULL, side->peer, NULL), -FI_EMSGSIZE);
	RETURNS(fi_tsend(side->ep, out, SIZE_MAX, NULL, side->peer, 1, NULL), -FI_EMSGSIZE);
	RETURNS(fi_atomic(side->ep, &one, 1, NULL, side->peer, base, key, FI_UINT64, FI_ATOMIC_READ,
			  NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_atomic(side->ep, &one, 1, NULL, side->peer, base, key, FI_UINT64, FI_CSWAP,
			  NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, base, key,
				FI_UINT64, FI_MSWAP, NULL),
		-FI_EOPNOTSUPP);
	RETURNS(fi_compare_atomic(side->ep, &one, 1, NULL, &one, NULL, &old, NULL, side->peer, base,
				  key, FI_UINT64, FI_SUM, NULL),
		-FI_EOPNOTSUPP);
}

static int fetch_err(struct rdm_pair *pair, uint64_t base, uint64_t key, enum fi_op op)
{
	struct rdm_side *side = &pair->side[0];
	struct fi_cq_tagged_entry entry;
	struct fi_cq_err_entry error = { 0 };
	uint64_t one = 1, old, end = deadline();
	ssize_t ret;

	OK(fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, base, key, FI_UINT64,
			   op, &old));
	while ((ret = fi_cq_read(side->cq, &entry, 1)) == -FI_EAGAIN) {
		fi_cq_read(pair->side[1].cq, NULL, 0);
		pause_until(end, "an answer");
	}
	if (ret == -FI_EAVAIL)
		RETURNS(fi_cq_readerr(side->cq, &error, 0), 1);
	return error.err;
}

/* The memory that is only fetched must be readable, and the memory that is changed writable. */
static void atomic_access(struct rdm_pair *pair, bool addresses)
{
	uint64_t base = addresses ? (uintptr_t)target : 0;
	struct fid_mr *in_mr, *out_mr;

	OK(fi_mr_reg(pair->domain, target, 64, FI_REMOTE_READ, 0, KEY + 1, 0, &in_mr, NULL));
	OK(fi_mr_reg(pair->domain, target, 64, FI_REMOTE_WRITE, 0, KEY + 2, 0, &out_mr, NULL));
	EQUAL(fetch_err(pair, base, fi_mr_key(in_mr), FI_ATOMIC_READ), 0);
	EQUAL(fetch_err(pair, base, fi_mr_key(in_mr), FI_SUM), FI_EKEYREJECTED);
	EQUAL(fetch_err(pair, base, fi_mr_key(out_mr), FI_SUM), 0);
	EQUAL(fetch_err(pair, base, fi_mr_key(out_mr), FI_ATOMIC_READ), FI_EKEYREJECTED);
	OK(fi_close(&in_mr->fid));
	OK(fi_close(&out_mr->fid));
}

static void bad_key(struct rdm_pair *pair, uint64_t base)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t one = 1;

	OK(fi_atomic(side->ep, &one, 1, NULL, side->peer, base, 0x12345, FI_UINT64, FI_SUM, &one));
	EQUAL(rdm_wait_error(pair, 0).err, FI_EKEYREJECTED);
}

static void with_mode(int mode)
{
	static const size_t lens[] = { 1, 8, 300, 5000, 16384, 20000, LEN - 8 };
	struct rdm_pair pair;
	struct fid_mr *mr;
	uint64_t base;
	size_t i;

	rdm_open(&pair, mode);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY,
		     0, &mr, NULL));
	if (!mode)
		EQUAL(fi_mr_key(mr), KEY);
	base = mode ? (uintptr_t)target : 0;
	transfer(&pair, mr, base, 8);
	answer(&pair);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		transfer(&pair, mr, base, lens[i]);
	atomics(&pair, mr, base);
	bad_lengths(&pair, mr, base);
	refused(&pair, mr, base);
	empty_places(&pair, mr, base);
	atomic_access(&pair, mode);
	bad_counts(&pair, mr, base);
	bad_key(&pair, base);
	transfer(&pair, mr, base, 8);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

static void test(void)
{
	with_mode(FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	with_mode(0);
}

int main(void)
{
	return run_test(test);
}
