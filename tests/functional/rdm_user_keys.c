/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Application keys on reliable datagrams: large transfers, which the device performs, and small
 * ones, which the target performs, keep their order; a key that is used again refers to the new
 * region at once.
 */
#include "rdm.h"

#include <string.h>

enum { LEN = 200000, SMALL = 100, ROUNDS = 20, KEY = 77, OTHER = 78 };
/* Lengths that are sent inline and that are not, and a number that is more than can be pending. */
enum { TINY = 8, MIDDLE = 1000, TINIES = 1000, CROWD = 3000, TURNS = 100 };

static uint8_t region[2][LEN], other[LEN], out[3][LEN], in[LEN];

static struct fid_mr *reg(struct rdm_pair *pair, void *at, uint64_t key)
{
	struct fid_mr *mr;

	OK(fi_mr_reg(pair->domain, at, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, 0, &mr,
		     NULL));
	return mr;
}

static void put(struct rdm_pair *pair, const void *from, size_t len, uint64_t offset, uint64_t key)
{
	struct rdm_side *side = &pair->side[0];

	rdm_order(pair);
	OK(fi_write(side->ep, from, len, NULL, side->peer, offset, key, (void *)(uintptr_t)key));
}

static void get(struct rdm_pair *pair, size_t len, uint64_t offset, uint64_t key)
{
	struct rdm_side *side = &pair->side[0];

	OK(fi_read(side->ep, in, len, NULL, side->peer, offset, key, (void *)(uintptr_t)key));
}

/* Returns how many of other keys arrived meanwhile. */
static int wait_for(struct rdm_pair *pair, uint64_t key, int count)
{
	int others = 0;

	while (count) {
		if (rdm_wait(pair, 0).op_context == (void *)(uintptr_t)key)
			count--;
		else
			others++;
	}
	rdm_order(pair);
	return others;
}

/*
 * A small transfer between two large ones, and one behind them; a read behind these returns all of
 * it.
 */
static void order(struct rdm_pair *pair)
{
	struct fid_mr *mr = reg(pair, region[0], KEY);
	int i;

	for (i = 0; i < 3; i++)
		memset(out[i], 'a' + i, LEN);
	put(pair, out[0], LEN, 0, KEY);
	put(pair, out[1], SMALL, 0, KEY);
	put(pair, out[1], SMALL, LEN / 2, KEY);
	put(pair, out[2], LEN / 2, 0, KEY);
	put(pair, out[1], SMALL, 8, KEY);
	get(pair, LEN, 0, KEY);
	wait_for(pair, KEY, 6);
	memset(out[0], 'c', LEN / 2);
	memset(out[0] + 8, 'b', SMALL);
	memset(out[0] + LEN / 2, 'b', SMALL);
	CHECK(!memcmp(in, out[0], LEN));
	CHECK(!memcmp(region[0], out[0], LEN));
	get(pair, SMALL, 8, KEY);
	wait_for(pair, KEY, 1);
	CHECK(!memcmp(in, out[1], SMALL));
	OK(fi_close(&mr->fid));
}

/* The key moves from region to region while the peer writes to another one. */
static void reuse(struct rdm_pair *pair)
{
	struct fid_mr *still = reg(pair, other, OTHER), *mr;
	int i, done = 0;

	memset(out[1], 'o', LEN);
	for (i = 0; i < ROUNDS; i++) {
		mr = reg(pair, region[i % 2], KEY);
		memset(region, 0, sizeof(region));
		memset(out[0], i + 1, LEN);
		put(pair, out[0], LEN / 2, 0, KEY);
		put(pair, out[0], SMALL, LEN - SMALL, KEY);
		done += wait_for(pair, KEY, 2);
		CHECK(!memcmp(region[i % 2], out[0], LEN / 2));
		CHECK(!memcmp(region[i % 2] + LEN - SMALL, out[0], SMALL));
		CHECK(!region[!(i % 2)][0] && !region[!(i % 2)][LEN - 1]);
		put(pair, out[1], LEN, 0, OTHER);
		put(pair, out[1], SMALL, 0, OTHER);
		OK(fi_close(&mr->fid));
	}
	wait_for(pair, OTHER, 2 * ROUNDS - done);
	CHECK(!memcmp(other, out[1], LEN));
	OK(fi_close(&still->fid));
}

static int take(struct fid_cq *cq)
{
	struct fi_cq_tagged_entry entries[16];
	ssize_t ret = fi_cq_read(cq, entries, ARRAY_SIZE(entries));

	if (ret == -FI_EAGAIN)
		return 0;
	CHECK(ret > 0);
	return (int)ret;
}

/*
 * Pending operations do not hold the memory that is needed to send them, however many the
 * application posts.
 */
static void crowd(struct rdm_pair *pair)
{
	struct fid_mr *mr = reg(pair, region[0], KEY);
	struct rdm_side *side = &pair->side[0];
	int posted = 0, done = 0, i;
	uint64_t end = deadline();
	ssize_t ret = 0;

	memset(out[0], 'q', MIDDLE);
	while (done < CROWD) {
		/* All of a round is sent before the first answer arrives. */
		for (i = 0; i < TURNS; i++) {
			for (ret = 0; posted < CROWD && !ret; posted += !ret)
				ret = fi_write(side->ep, out[0], posted < TINIES ? TINY : MIDDLE,
					       NULL, side->peer, 0, KEY, NULL);
			CHECK(!ret || ret == -FI_EAGAIN);
			done += take(side->cq);
			pause_until(end, "the last");
		}
		for (i = 0; i < TURNS; i++)
			take(pair->side[1].cq);
	}
	rdm_order(pair);
	CHECK(!memcmp(region[0], out[0], MIDDLE));
	OK(fi_close(&mr->fid));
}

/* A small transfer to an address without a region fails alone. */
static void nowhere(struct rdm_pair *pair)
{
	struct fid_mr *mr = reg(pair, region[0], KEY);

	put(pair, out[0], SMALL, LEN - SMALL + 1, KEY);
	EQUAL(rdm_wait_error(pair, 0).err, FI_EKEYREJECTED);
	put(pair, out[0], SMALL, 0, OTHER);
	EQUAL(rdm_wait_error(pair, 0).err, FI_EKEYREJECTED);
	put(pair, out[0], LEN, 0, OTHER);
	EQUAL(rdm_wait_error(pair, 0).err, FI_EKEYREJECTED);
	put(pair, out[0], SMALL, LEN - SMALL, KEY);
	wait_for(pair, KEY, 1);
	OK(fi_close(&mr->fid));
}

/* Only regions that peers can access need a key of their own. */
static void unique(struct rdm_pair *pair)
{
	struct fid_mr *mr = reg(pair, region[0], KEY), *local[2], *none;
	int i;

	for (i = 0; i < 2; i++)
		OK(fi_mr_reg(pair->domain, other, LEN, FI_SEND | FI_RECV | FI_READ | FI_WRITE, 0,
			     KEY, 0, &local[i], NULL));
	RETURNS(fi_mr_reg(pair->domain, other, LEN, FI_REMOTE_READ, 0, KEY, 0, &none, NULL),
		-FI_ENOKEY);
	for (i = 0; i < 2; i++)
		OK(fi_close(&local[i]->fid));
	put(pair, out[1], SMALL, 0, KEY);
	wait_for(pair, KEY, 1);
	CHECK(!memcmp(region[0], out[1], SMALL));
	OK(fi_close(&mr->fid));
}

static void test(void)
{
	struct rdm_pair pair;

	rdm_open(&pair, 0);
	crowd(&pair);
	order(&pair);
	reuse(&pair);
	nowhere(&pair);
	unique(&pair);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
