/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages of reliable datagrams between buffers in device memory: every size and protocol,
 * expected and unexpected, injected, truncated, several in one buffer, without registration, and
 * without RDMA.
 */
#include <stdlib.h>
#include "hmem_rdm.h"

static const size_t sizes[] = { 1, 8, 64, 1000, 16384, 40000, 65536, 65537, 300000, 1 << 20 };

/* A tagged message whose receive is posted before or after it arrives. */
static void exchange(struct hmem_pair *h, size_t len, unsigned int seed, bool unexpected)
{
	struct rdm_side *from = &h->pair.side[0], *to = &h->pair.side[1];
	struct fi_cq_tagged_entry entry;

	fill(h->buf[0], len, seed);
	mem_set(h->buf[1], 0, len);
	if (!unexpected)
		OK(fi_trecv(to->ep, h->buf[1], len, h->desc[1], FI_ADDR_UNSPEC, seed, 0, NULL));
	OK(fi_tsend(from->ep, h->buf[0], len, h->desc[0], from->peer, seed, NULL));
	if (unexpected) {
		uint64_t end = now_ms() + 20;

		while (now_ms() < end) {
			fi_cq_read(from->cq, NULL, 0);
			fi_cq_read(to->cq, NULL, 0);
		}
		OK(fi_trecv(to->ep, h->buf[1], len, h->desc[1], FI_ADDR_UNSPEC, seed, 0, NULL));
	}
	entry = rdm_wait(&h->pair, 1);
	EQUAL(entry.len, len);
	CHECK_FILLED(h->buf[1], len, seed);
	rdm_wait(&h->pair, 0);
}

static void test_sizes(struct hmem_pair *h)
{
	uint64_t regions = gpu->regions();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		exchange(h, sizes[i], 2 * i + 1, false);
		exchange(h, sizes[i], 2 * i + 2, true);
	}
	/* The three largest were transferred by RDMA. */
	CHECK(gpu->regions() >= regions + 2 * 2 * 3);
}

static void test_untagged(struct hmem_pair *h)
{
	struct rdm_side *from = &h->pair.side[0], *to = &h->pair.side[1];
	uint8_t host[300];
	struct iovec iov[2] = { { h->buf[0] + 50, 200 }, { host, sizeof(host) } };
	void *desc[2] = { h->desc[0], NULL };

	fill(h->buf[0], 300, 1);
	OK(fi_recv(to->ep, h->buf[1], 300, h->desc[1], FI_ADDR_UNSPEC, NULL));
	OK(fi_inject(from->ep, h->buf[0], 300, from->peer));
	mem_set(h->buf[0], 0xee, 300);
	rdm_wait(&h->pair, 1);
	CHECK_FILLED(h->buf[1], 300, 1);
	fill(iov[0].iov_base, 200, 2);
	fill(host, sizeof(host), 3);
	OK(fi_recv(to->ep, h->buf[1], 500, h->desc[1], FI_ADDR_UNSPEC, NULL));
	OK(fi_sendv(from->ep, iov, desc, 2, from->peer, NULL));
	rdm_wait(&h->pair, 1);
	CHECK_FILLED(h->buf[1], 200, 2);
	CHECK_FILLED(h->buf[1] + 200, 300, 3);
	rdm_wait(&h->pair, 0);
}

static void test_truncated(struct hmem_pair *h)
{
	struct rdm_side *from = &h->pair.side[0], *to = &h->pair.side[1];
	struct fi_cq_err_entry error;

	fill(h->buf[0], 1000, 4);
	OK(fi_trecv(to->ep, h->buf[1], 100, h->desc[1], FI_ADDR_UNSPEC, 9, 0, NULL));
	OK(fi_tsend(from->ep, h->buf[0], 1000, h->desc[0], from->peer, 9, NULL));
	error = rdm_wait_error(&h->pair, 1);
	EQUAL(error.err, FI_ETRUNC);
	EQUAL(error.olen, 900);
	CHECK_FILLED(h->buf[1], 100, 4);
	rdm_wait(&h->pair, 0);
}

static void test_multi(struct hmem_pair *h)
{
	struct rdm_side *from = &h->pair.side[0], *to = &h->pair.side[1];
	struct iovec iov = { h->buf[1], 65536 };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &h->desc[1], .iov_count = 1, .addr = FI_ADDR_UNSPEC
	};
	struct fi_cq_tagged_entry entry;
	unsigned int i;

	OK(fi_recvmsg(to->ep, &msg, FI_MULTI_RECV));
	for (i = 1; i <= 3; i++) {
		fill(h->buf[0], 700 * i, i);
		OK(fi_send(from->ep, h->buf[0], 700 * i, h->desc[0], from->peer, NULL));
		entry = rdm_wait(&h->pair, 1);
		EQUAL(entry.len, 700 * i);
		CHECK_FILLED(entry.buf, entry.len, i);
		rdm_wait(&h->pair, 0);
	}
}

static int set_p2p(struct hmem_pair *h, int side, int p2p)
{
	return fi_setopt(&h->pair.side[side].ep->fid, FI_OPT_ENDPOINT, FI_OPT_FI_HMEM_P2P, &p2p,
			 sizeof(p2p));
}

/* RMA goes peer to peer, short messages do not. */
static void test_options(struct hmem_pair *h)
{
	bool permitted = false;

	RETURNS(set_p2p(h, 0, FI_HMEM_P2P_REQUIRED), -FI_EOPNOTSUPP);
	RETURNS(set_p2p(h, 0, FI_HMEM_P2P_DISABLED), -FI_EOPNOTSUPP);
	RETURNS(fi_setopt(&h->pair.side[0].ep->fid, FI_OPT_ENDPOINT, FI_OPT_CUDA_API_PERMITTED,
			  &permitted, sizeof(permitted)),
		-FI_EOPNOTSUPP);
}

static void no_rma_hints(struct fi_info *hints)
{
	hints->caps = FI_TAGGED | FI_HMEM;
}

/* All are sent in packets, which are copied. */
static void test_without_rdma(void)
{
	const struct rdm_change change = { .hints = no_rma_hints };
	struct hmem_pair h;
	uint64_t regions = 0;
	int i;

	hmem_open_with(&h, &change);
	for (i = 1; i >= 0; i--) {
		OK(set_p2p(&h, i, FI_HMEM_P2P_DISABLED));
		regions = gpu->regions();
		exchange(&h, 300000, 77, false);
		exchange(&h, 300000, 78, true);
	}
	EQUAL(gpu->regions(), regions);
	hmem_close(&h);
}

/* Neither a dma-buf nor peer memory: long messages go in packets, too. */
static void test_unregistered(struct hmem_pair *h)
{
	uint64_t regions = gpu->regions();

	setenv("FALSE_GPU_NO_DMABUF", "1", 1);
	exchange(h, 300000, 79, false);
	exchange(h, 1 << 20, 80, true);
	EQUAL(gpu->regions(), regions);
	unsetenv("FALSE_GPU_NO_DMABUF");
	exchange(h, 300000, 81, false);
	CHECK(gpu->regions() > regions);
}

static void test(void)
{
	struct hmem_pair h;

	hmem_open(&h);
	test_sizes(&h);
	test_untagged(&h);
	test_truncated(&h);
	test_unregistered(&h);
	test_options(&h);
	test_multi(&h);
	hmem_close(&h);
	test_without_rdma();
}

int main(void)
{
	return run_test(test);
}
