/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One key for several buffers (fi_mr_regv): reads, writes and atomics of every size reach the bytes
 * of the right buffer, also across buffers, and nothing before, between or behind them.
 */
#include "rdm.h"

#include <string.h>

enum { BUFFERS = 16, GAP = 64, MOST = 40000, KEY = 5 };

static const size_t lengths[BUFFERS] = { 40000, 8,   4096, 64, 30000, 16, 72,	8000,
					 24,	200, 8,	   8,  12000, 40, 1000, 20000 };

/* The buffers lie here in reverse order, each between guards. */
static uint8_t memory[BUFFERS][GAP + MOST + GAP] __attribute__((aligned(64)));
static uint8_t out[BUFFERS * MOST], in[BUFFERS * MOST], want[BUFFERS * MOST];
static struct iovec iov[BUFFERS];
static size_t total;

static struct fid_mr *reg(struct rdm_pair *pair)
{
	struct fi_mr_attr attr = { .mr_iov = iov,
				   .iov_count = BUFFERS,
				   .access = FI_REMOTE_READ | FI_REMOTE_WRITE,
				   .requested_key = KEY };
	struct fid_mr *mr;
	int i;

	memset(memory, 'g', sizeof(memory));
	for (i = 0; i < BUFFERS; i++) {
		iov[i].iov_base = memory[BUFFERS - 1 - i] + GAP;
		iov[i].iov_len = lengths[i];
		total += lengths[i];
		memset(iov[i].iov_base, 0, lengths[i]);
	}
	CHECK(pair->info->domain_attr->mr_iov_limit >= BUFFERS);
	OK(fi_mr_regattr(pair->domain, &attr, 0, &mr));
	EQUAL(fi_mr_key(mr), KEY);
	return mr;
}

/* Compares the buffers and the guards with their expected content. */
static void check_memory(void)
{
	const uint8_t *at = want;
	int i, j;

	for (i = 0; i < BUFFERS; at += lengths[i++]) {
		const uint8_t *row = memory[BUFFERS - 1 - i];

		CHECK(!memcmp(row + GAP, at, lengths[i]));
		for (j = 0; j < GAP; j++)
			CHECK(row[j] == 'g' && row[GAP + lengths[i] + (size_t)j] == 'g');
	}
}

static void write_and_read(struct rdm_pair *pair, uint64_t at, size_t len)
{
	static unsigned int seed;
	struct rdm_side *side = &pair->side[0];

	fill(out, len, ++seed);
	memcpy(want + at, out, len);
	OK(fi_write(side->ep, out, len, NULL, side->peer, at, KEY, NULL));
	rdm_wait(pair, 0);
	check_memory();
	memset(in, 0, len);
	OK(fi_read(side->ep, in, len, NULL, side->peer, at, KEY, NULL));
	rdm_wait(pair, 0);
	CHECK(!memcmp(in, out, len));
}

/* Several remote and several local ranges, with different borders. */
static void vectors(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[0];
	struct fi_rma_iov remote[3] = { { 39000, 6000, KEY },
					{ 60000, 30000, KEY },
					{ 7, 1, KEY } };
	struct iovec local[2] = { { out, 20000 }, { out + 50000, 16001 } };
	struct fi_msg_rma msg = {
		.msg_iov = local,
		.iov_count = 2,
		.addr = side->peer,
		.rma_iov = remote,
		.rma_iov_count = 3,
	};

	fill(out, sizeof(out), 999);
	memcpy(want + 39000, out, 6000);
	memcpy(want + 60000, out + 6000, 14000);
	memcpy(want + 74000, out + 50000, 16000);
	want[7] = out[66000];
	OK(fi_writemsg(side->ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE));
	rdm_wait(pair, 0);
	check_memory();
}

/* Elements on both sides of a border are changed; an element that crosses a border is refused. */
static void atomics(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t add[4] = { 1, 2, 3, 4 }, old[4], sum[4];

	memcpy(sum, want + 39992, sizeof(sum));
	OK(fi_fetch_atomic(side->ep, add, 4, NULL, old, NULL, side->peer, 39992, KEY, FI_UINT64,
			   FI_SUM, NULL));
	rdm_wait(pair, 0);
	CHECK(!memcmp(old, sum, sizeof(sum)));
	sum[0] += 1, sum[1] += 2, sum[2] += 3, sum[3] += 4;
	memcpy(want + 39992, sum, sizeof(sum));
	check_memory();
	OK(fi_atomic(side->ep, add, 2, NULL, side->peer, 39988, KEY, FI_UINT64, FI_SUM, NULL));
	EQUAL(rdm_wait_error(pair, 0).err, FI_EKEYREJECTED);
	check_memory();
}

/* A transfer beyond the last buffer changes nothing. */
static void behind(struct rdm_pair *pair, size_t len)
{
	struct rdm_side *side = &pair->side[0];

	OK(fi_write(side->ep, out, len, NULL, side->peer, total - len + 1, KEY, NULL));
	EQUAL(rdm_wait_error(pair, 0).err, FI_EKEYREJECTED);
	check_memory();
}

static void test(void)
{
	struct rdm_pair pair;
	struct fid_mr *mr;

	rdm_open(&pair, 0);
	mr = reg(&pair);
	write_and_read(&pair, 0, 1);
	write_and_read(&pair, 39999, 2);
	write_and_read(&pair, 39000, 2000);
	write_and_read(&pair, 39990, 30);
	write_and_read(&pair, 100, 39000);
	write_and_read(&pair, 39000, 70000);
	write_and_read(&pair, total - 1, 1);
	write_and_read(&pair, 0, total);
	vectors(&pair);
	atomics(&pair);
	behind(&pair, 100);
	behind(&pair, 50000);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
