/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint closes with operations of all kinds in flight, in bounded time and without leaks. The
 * peer's operations to it fail, and the peer continues to work with others.
 */
#include <stdio.h>
#include "rdm.h"

enum { LEN = 300000, COUNT = 6, LIMIT_MS = 6000 };

static char bufs[2][LEN];

static void post(struct rdm_side *side, char *buf)
{
	int i;

	for (i = 0; i < COUNT; i++) {
		OK(fi_tsend(side->ep, buf, LEN, NULL, side->peer, 1, NULL));
		OK(fi_tinject(side->ep, buf, 8, side->peer, 2));
		OK(fi_trecv(side->ep, buf, LEN, NULL, side->peer, 3, 0, NULL));
		OK(fi_write(side->ep, buf, 8, NULL, side->peer, 0, 0, NULL));
	}
}

static void close_one(bool connected)
{
	struct fi_cq_err_entry error;
	struct rdm_pair pair;
	uint64_t start;
	char word[8];
	int i;

	rdm_open(&pair, 0);
	if (connected) {
		OK(fi_trecv(pair.side[1].ep, word, 8, NULL, FI_ADDR_UNSPEC, 9, 0, NULL));
		OK(fi_tsend(pair.side[0].ep, "12345678", 8, NULL, pair.side[0].peer, 9, NULL));
		rdm_wait(&pair, 0);
		rdm_wait(&pair, 1);
	}
	post(&pair.side[0], bufs[0]);
	for (i = 0; i < COUNT && connected; i++)
		OK(fi_tsend(pair.side[1].ep, bufs[1], LEN, NULL, pair.side[1].peer, 1, NULL));
	start = now_ms();
	OK(fi_close(&pair.side[0].ep->fid));
	printf("closed after %llu ms\n", (unsigned long long)(now_ms() - start));
	CHECK(now_ms() - start < LIMIT_MS);
	for (i = 0; i < COUNT && connected; i++) {
		error = rdm_wait_error(&pair, 1);
		CHECK(error.err && error.flags & FI_SEND);
	}
	/* To itself. */
	OK(fi_trecv(pair.side[1].ep, word, 8, NULL, pair.side[1].self, 9, 0, NULL));
	OK(fi_tsend(pair.side[1].ep, "12345678", 8, NULL, pair.side[1].self, 9, NULL));
	rdm_wait(&pair, 1);
	rdm_wait(&pair, 1);
	for (i = 0; i < 2; i++) {
		if (i)
			OK(fi_close(&pair.side[i].ep->fid));
		OK(fi_close(&pair.side[i].cq->fid));
		OK(fi_close(&pair.side[i].av->fid));
	}
	OK(fi_close(&pair.domain->fid));
	OK(fi_close(&pair.fabric->fid));
	fi_freeinfo(pair.info);
}

static void test(void)
{
	close_one(true);
	close_one(false);
}

int main(void)
{
	return run_test(test);
}
