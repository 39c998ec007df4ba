/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA and atomics of reliable datagrams access device memory. */
#include <stdlib.h>
#include "hmem_rdm.h"

static void test_rma(struct hmem_pair *h, size_t len, unsigned int seed)
{
	struct rdm_side *side = &h->pair.side[0];
	uint64_t to = (uintptr_t)h->buf[1], key = fi_mr_key(h->mr[1]);

	fill(h->buf[0], len, seed);
	OK(fi_write(side->ep, h->buf[0], len, h->desc[0], side->peer, to, key, NULL));
	rdm_wait(&h->pair, 0);
	CHECK_FILLED(h->buf[1], len, seed);
	mem_set(h->buf[0], 0, len);
	OK(fi_read(side->ep, h->buf[0], len, h->desc[0], side->peer, to, key, NULL));
	rdm_wait(&h->pair, 0);
	CHECK_FILLED(h->buf[0], len, seed);
}

static void test_inject(struct hmem_pair *h)
{
	struct rdm_side *side = &h->pair.side[0];
	uint64_t to = (uintptr_t)h->buf[1], key = fi_mr_key(h->mr[1]);

	fill(h->buf[0], 100, 50);
	OK(fi_inject_write(side->ep, h->buf[0], 100, side->peer, to, key));
	mem_set(h->buf[0], 0xee, 100);
	test_rma(h, 8, 51); /* behind it */
	CHECK_FILLED(h->buf[1], 8, 51);
}

static uint64_t word_at(const uint8_t *at)
{
	uint64_t word;

	mem_get(&word, at, sizeof(word));
	return word;
}

static void set_word(uint8_t *at, uint64_t word)
{
	mem_put(at, &word, sizeof(word));
}

static void test_atomics(struct hmem_pair *h)
{
	struct rdm_side *side = &h->pair.side[0];
	uint64_t to = (uintptr_t)h->buf[1], key = fi_mr_key(h->mr[1]);
	uint8_t *operand = h->buf[0], *compare = operand + 64, *result = operand + 128;

	set_word(h->buf[1], 5);
	set_word(operand, 37);
	OK(fi_atomic(side->ep, operand, 1, h->desc[0], side->peer, to, key, FI_UINT64, FI_SUM,
		     NULL));
	rdm_wait(&h->pair, 0);
	EQUAL(word_at(h->buf[1]), 42);
	OK(fi_fetch_atomic(side->ep, operand, 1, h->desc[0], result, h->desc[0], side->peer, to,
			   key, FI_UINT64, FI_MAX, NULL));
	rdm_wait(&h->pair, 0);
	EQUAL(word_at(result), 42);
	EQUAL(word_at(h->buf[1]), 42);
	set_word(compare, 42);
	OK(fi_compare_atomic(side->ep, operand, 1, h->desc[0], compare, h->desc[0], result,
			     h->desc[0], side->peer, to, key, FI_UINT64, FI_CSWAP, NULL));
	rdm_wait(&h->pair, 0);
	EQUAL(word_at(result), 42);
	EQUAL(word_at(h->buf[1]), 37);
}

/* Without its descriptor, device memory cannot be used for large transfers. */
static void test_no_desc(struct hmem_pair *h)
{
	struct rdm_side *side = &h->pair.side[0];

	RETURNS(fi_write(side->ep, h->buf[0], 1 << 20, NULL, side->peer, (uintptr_t)h->buf[1],
			 fi_mr_key(h->mr[1]), NULL),
		-FI_EINVAL);
}

/* What the GPU does not give now is not sent, and to try again makes no sense. */
static void test_unreadable(struct hmem_pair *h)
{
	struct rdm_side *side = &h->pair.side[0];
	uint64_t to = (uintptr_t)h->buf[1], key = fi_mr_key(h->mr[1]);

	if (gpu->iface() != FI_HMEM_CUDA)
		return;
	setenv("FALSE_GPU_FAIL", "cuMemcpyDtoH_v2:700", 1);
	RETURNS(fi_inject(side->ep, h->buf[0], 100, side->peer), -FI_EIO);
	RETURNS(fi_inject_write(side->ep, h->buf[0], 100, side->peer, to, key), -FI_EIO);
	RETURNS(fi_inject_atomic(side->ep, h->buf[0], 1, side->peer, to, key, FI_UINT64, FI_SUM),
		-FI_EIO);
	unsetenv("FALSE_GPU_FAIL");
	test_inject(h);
}

static void test(void)
{
	struct hmem_pair h;

	hmem_open(&h);
	test_rma(&h, 8, 1);
	test_rma(&h, 5000, 2);
	test_rma(&h, 1 << 20, 3);
	test_inject(&h);
	test_atomics(&h);
	test_no_desc(&h);
	test_unreadable(&h);
	hmem_close(&h);
}

int main(void)
{
	return run_test(test);
}
