/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Contexts of scalable endpoints with device memory: messages of each protocol between different
 * contexts, injected and truncated ones, RMA, atomics, and FI_OPT_FI_HMEM_P2P of a context.
 */
#include <string.h>
#include "gpu.h"
#include "sep.h"

enum { SIZE = 1 << 20 };

struct hmem_sep {
	struct sep_pair pair;
	uint8_t *buf[2];
	struct fid_mr *mr[2];
	void *desc[2];
};

static void hmem_sep_open(struct hmem_sep *h, uint64_t caps)
{
	int i;

	sep_open_caps(&h->pair, FI_THREAD_SAFE, caps | FI_TAGGED | FI_NAMED_RX_CTX | FI_HMEM);
	CHECK(h->pair.info->caps & FI_HMEM);
	for (i = 0; i < 2; i++) {
		h->buf[i] = gpu->alloc(SIZE);
		gpu_reg(h->pair.domain, h->buf[i], SIZE,
			FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE,
			&h->mr[i]);
		h->desc[i] = fi_mr_desc(h->mr[i]);
	}
}

static void hmem_sep_close(struct hmem_sep *h)
{
	int i;

	for (i = 0; i < 2; i++) {
		OK(fi_close(&h->mr[i]->fid));
		gpu->free(h->buf[i]);
	}
	sep_close(&h->pair);
}

static void wait_for(struct hmem_sep *h, int side, int index)
{
	fi_addr_t source;

	sep_wait(&h->pair, side, index, &source);
}

/* From a transmit context of side 0 to a receive context of side 1. */
static void message(struct hmem_sep *h, int tx, int rx, size_t len)
{
	struct sep_side *from = &h->pair.side[0], *to = &h->pair.side[1];
	unsigned int seed = (unsigned int)(tx * SEP_MANY + rx + 1);

	fill(h->buf[0], len, seed);
	mem_set(h->buf[1], 0, len);
	OK(fi_trecv(to->rx[rx], h->buf[1], len, h->desc[1], FI_ADDR_UNSPEC, len, 0, NULL));
	OK(fi_tsend(from->tx[tx], h->buf[0], len, h->desc[0], sep_addr(&h->pair, 0, rx), len,
		    NULL));
	wait_for(h, 1, rx);
	CHECK_FILLED(h->buf[1], len, seed);
	wait_for(h, 0, tx);
}

/* In a packet, in several, by RDMA. */
static void test_messages(struct hmem_sep *h)
{
	static const size_t sizes[] = { 8, 1000, 40000, 300000 };
	uint64_t regions;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		message(h, 0, 0, sizes[i]);
		message(h, 1, 3, sizes[i]);
	}
	regions = gpu->regions();
	message(h, 3, 2, 300000);
	CHECK(gpu->regions() > regions);
}

static void test_injected(struct hmem_sep *h)
{
	struct sep_side *from = &h->pair.side[0], *to = &h->pair.side[1];

	fill(h->buf[0], 300, 9);
	OK(fi_recv(to->rx[2], h->buf[1], 300, h->desc[1], FI_ADDR_UNSPEC, NULL));
	OK(fi_inject(from->tx[1], h->buf[0], 300, sep_addr(&h->pair, 0, 2)));
	mem_set(h->buf[0], 0xee, 300);
	wait_for(h, 1, 2);
	CHECK_FILLED(h->buf[1], 300, 9);
}

static void test_rma(struct hmem_sep *h)
{
	struct fid_ep *tx = h->pair.side[0].tx[2];
	uint64_t key = fi_mr_key(h->mr[1]), at = (uintptr_t)h->buf[1];
	fi_addr_t to = sep_addr(&h->pair, 0, 1);

	fill(h->buf[0], 200000, 5);
	OK(fi_write(tx, h->buf[0], 200000, h->desc[0], to, at, key, NULL));
	wait_for(h, 0, 2);
	CHECK_FILLED(h->buf[1], 200000, 5);
	mem_set(h->buf[0], 0, 200000);
	OK(fi_read(tx, h->buf[0], 200000, h->desc[0], to, at, key, NULL));
	wait_for(h, 0, 2);
	CHECK_FILLED(h->buf[0], 200000, 5);
}

static void test_atomic(struct hmem_sep *h)
{
	struct fid_ep *tx = h->pair.side[0].tx[1];
	uint64_t three = 3, four = 4, old = 0;

	mem_put(h->buf[0], &three, sizeof(three));
	mem_put(h->buf[1], &four, sizeof(four));
	OK(fi_fetch_atomic(tx, h->buf[0], 1, h->desc[0], h->buf[0] + 64, h->desc[0],
			   sep_addr(&h->pair, 0, 3), (uintptr_t)h->buf[1], fi_mr_key(h->mr[1]),
			   FI_UINT64, FI_SUM, NULL));
	wait_for(h, 0, 1);
	mem_get(&old, h->buf[0] + 64, sizeof(old));
	EQUAL(old, 4);
	mem_get(&old, h->buf[1], sizeof(old));
	EQUAL(old, 7);
}

/* The option of one context leaves the others as they are. */
static void test_option(struct hmem_sep *h)
{
	struct sep_side *from = &h->pair.side[0];
	int p2p = FI_HMEM_P2P_DISABLED;
	size_t len = sizeof(p2p);
	uint64_t regions;

	OK(fi_setopt(&from->tx[0]->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, len));
	OK(fi_setopt(&h->pair.side[1].rx[0]->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, len));
	p2p = -1;
	OK(fi_getopt(&from->tx[1]->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p, &len));
	EQUAL(p2p, FI_HMEM_P2P_ENABLED);
	regions = gpu->regions();
	message(h, 0, 0, 300000);
	EQUAL(gpu->regions(), regions);
	message(h, 1, 1, 300000);
	CHECK(gpu->regions() > regions);
}

static void test(void)
{
	struct hmem_sep h;

	hmem_sep_open(&h, FI_MSG | FI_RMA | FI_ATOMIC);
	test_messages(&h);
	test_injected(&h);
	test_rma(&h);
	test_atomic(&h);
	hmem_sep_close(&h);
	hmem_sep_open(&h, 0);
	test_option(&h);
	hmem_sep_close(&h);
}

int main(void)
{
	return run_test(test);
}
