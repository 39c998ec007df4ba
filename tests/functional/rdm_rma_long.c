/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RMA of more segments than one work request of the device can have, and between lists with
 * different borders.
 */
#include "rdm.h"

#include <stdlib.h>
#include <string.h>

enum { KEY = 77, GUARD = 64 };

static const size_t longest = 17 << 20;
static uint8_t *target, *out, *in;

struct place {
	struct rdm_pair *pair;
	uint64_t base, key;
};

static void expect_guards(size_t at, size_t len)
{
	size_t i;

	for (i = 0; i < GUARD; i++)
		CHECK(target[at - GUARD + i] == 0xee && target[at + len + i] == 0xee);
}

static void one_part(const struct place *place, size_t len)
{
	struct rdm_side *side = &place->pair->side[0];
	uint64_t at = place->base + GUARD;

	memset(target, 0xee, len + 2 * GUARD);
	fill(out, len, (unsigned int)len);
	memset(in, 0, len);
	OK(fi_write(side->ep, out, len, NULL, side->peer, at, place->key, out));
	CHECK(rdm_wait(place->pair, 0).op_context == out);
	CHECK_FILLED(target + GUARD, len, (unsigned int)len);
	expect_guards(GUARD, len);
	OK(fi_read(side->ep, in, len, NULL, side->peer, at, place->key, in));
	CHECK(rdm_wait(place->pair, 0).op_context == in);
	CHECK_FILLED(in, len, (unsigned int)len);
}

/*
 * The target's parts are in the order 2, 1, 3, each behind a gap; the borders of local memory are
 * elsewhere.
 */
static void lists(const struct place *place, size_t len)
{
	struct rdm_side *side = &place->pair->side[0];
	size_t a = len / 5, b = len / 2, c = len - a - b, first = len / 3;
	size_t at_b = GUARD, at_a = at_b + b + GUARD, at_c = at_a + a + GUARD;
	struct fi_rma_iov remote[] = { { place->base + at_a, a, place->key },
				       { place->base + at_b, b, place->key },
				       { place->base + at_c, c, place->key } };
	struct iovec from[] = { { out, first }, { out + first, len - first } };
	struct iovec to[] = { { in, len - first }, { in + len - first, first } };
	struct fi_msg_rma msg = { .msg_iov = from,
				  .iov_count = 2,
				  .addr = side->peer,
				  .rma_iov = remote,
				  .rma_iov_count = 3,
				  .context = out };

	memset(target, 0xee, len + 4 * GUARD);
	fill(out, len, 3);
	memset(in, 0, len);
	OK(fi_writemsg(side->ep, &msg, FI_COMPLETION));
	CHECK(rdm_wait(place->pair, 0).op_context == out);
	CHECK(!memcmp(target + at_a, out, a) && !memcmp(target + at_b, out + a, b));
	CHECK(!memcmp(target + at_c, out + a + b, c));
	expect_guards(at_a, a);
	expect_guards(at_b, b);
	expect_guards(at_c, c);
	msg.msg_iov = to;
	msg.context = in;
	OK(fi_readmsg(side->ep, &msg, FI_COMPLETION));
	CHECK(rdm_wait(place->pair, 0).op_context == in);
	CHECK_FILLED(in, len, 3);
}

static void with_mode(int mode)
{
	static const size_t lens[] = { (8 << 20) - 1, 8 << 20, (8 << 20) + 1, (17 << 20) - 3 };
	const size_t size = longest + 8 * GUARD;
	struct rdm_pair pair;
	struct place place = { .pair = &pair };
	struct fid_mr *mr;
	size_t i;

	rdm_open(&pair, mode);
	OK(fi_mr_reg(pair.domain, target, size, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
		     NULL));
	place.base = mode ? (uintptr_t)target : 0;
	place.key = fi_mr_key(mr);
	for (i = 0; i < ARRAY_SIZE(lens); i++)
		one_part(&place, lens[i]);
	lists(&place, 1000);
	lists(&place, 70001);
	lists(&place, longest);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

static void test(void)
{
	target = malloc(longest + 8 * GUARD);
	out = malloc(longest);
	in = malloc(longest);
	CHECK(target && out && in);
	with_mode(RDM_PROV_KEYS);
	with_mode(0);
	free(target);
	free(out);
	free(in);
}

int main(void)
{
	return run_test(test);
}
