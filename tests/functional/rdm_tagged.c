/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Tagged messages of each protocol's size, expected and unexpected, arrive whole with tag and data.
 */
#include "rdm.h"

#include <stdlib.h>

static const size_t lens[] = { 0, 1, 8, 200, 4000, 15000, 20000, 60000, 200000, 9 << 20 };

static void exchange(struct rdm_pair *pair, size_t len, uint64_t tag, bool expected)
{
	uint8_t *out = malloc(len + 1), *in = malloc(len + 1);
	struct fi_cq_tagged_entry entry;

	CHECK(out && in);
	fill(out, len, (unsigned int)tag);
	if (expected)
		OK(fi_trecv(pair->side[1].ep, in, len, NULL, FI_ADDR_UNSPEC, tag, 0, in));
	OK(fi_tsenddata(pair->side[0].ep, out, len, NULL, 0x1122334455667788, pair->side[0].peer,
			tag, out));
	if (!expected) {
		uint64_t end = now_ms() + 20;

		while (now_ms() < end)
			fi_cq_read(pair->side[1].cq, NULL, 0);
		OK(fi_trecv(pair->side[1].ep, in, len, NULL, pair->side[1].peer, tag | 0xff, 0xff,
			    in));
	}
	entry = rdm_wait(pair, 1);
	CHECK(entry.op_context == in);
	EQUAL(entry.len, len);
	EQUAL(entry.tag, tag);
	CHECK(entry.flags & FI_REMOTE_CQ_DATA && entry.flags & FI_TAGGED && entry.flags & FI_RECV);
	CHECK(entry.data == 0x1122334455667788);
	CHECK_FILLED(in, len, (unsigned int)tag);
	entry = rdm_wait(pair, 0);
	CHECK(entry.op_context == out);
	CHECK(entry.flags & FI_SEND);
	free(in);
	free(out);
}

static void post(struct rdm_pair *pair, uint64_t *into, uint64_t tag, uint64_t ignore)
{
	OK(fi_trecv(pair->side[1].ep, into, 8, NULL, FI_ADDR_UNSPEC, tag, ignore, into));
}

static void send_tag(struct rdm_pair *pair, uint64_t tag)
{
	OK(fi_tinject(pair->side[0].ep, &tag, 8, pair->side[0].peer, tag));
}

/* Each receive takes the message with its tag, whatever the order of posting and arrival. */
static void selects(struct rdm_pair *pair, bool expected)
{
	static const uint64_t tags[] = { 7, 5, 1ULL << 63 | 6, 6 };
	struct fi_cq_tagged_entry entry;
	uint64_t in[4] = { 0 }, end = now_ms() + 20;
	int i;

	for (i = 3; i >= 0 && !expected; i--)
		send_tag(pair, tags[i]);
	while (!expected && now_ms() < end)
		fi_cq_read(pair->side[1].cq, NULL, 0);
	/*
	 * Messages with tag 5 and similar ones match only the second receive; the ignored bit does
	 * not make the third one match.
	 */
	for (i = 0; i < 4; i++)
		post(pair, &in[i], tags[i], 0);
	for (i = 3; i >= 0 && expected; i--)
		send_tag(pair, tags[i]);
	for (i = 0; i < 4; i++) {
		entry = rdm_wait(pair, 1);
		CHECK(entry.tag == *(uint64_t *)entry.op_context);
	}
	for (i = 0; i < 4; i++)
		CHECK(in[i] == tags[i]);
	/* Ignored bits, and others. */
	post(pair, &in[0], 0x100, 0xf);
	post(pair, &in[1], 0x200, 0xf0);
	send_tag(pair, 0x2f0);
	send_tag(pair, 0x10f);
	for (i = 0; i < 2; i++)
		rdm_wait(pair, 1);
	CHECK(in[0] == 0x10f && in[1] == 0x2f0);
}

/*
 * A receive from the endpoint itself does not take the other's messages, and one from any source
 * does not take another tag.
 */
static void selects_by_source(struct rdm_pair *pair)
{
	struct rdm_side *side = &pair->side[1];
	uint64_t own = 0, others = 0, any = 0, word = 11;

	post(pair, &any, 8, 0);
	OK(fi_trecv(side->ep, &own, 8, NULL, side->self, 9, 0, &own));
	OK(fi_trecv(side->ep, &others, 8, NULL, side->peer, 9, 0, &others));
	send_tag(pair, 9);
	CHECK(rdm_wait(pair, 1).op_context == &others);
	OK(fi_tinject(side->ep, &word, 8, side->self, 9));
	CHECK(rdm_wait(pair, 1).op_context == &own);
	send_tag(pair, 8);
	CHECK(rdm_wait(pair, 1).op_context == &any);
	CHECK(own == 11 && others == 9 && any == 8);
}

static void directed(struct fi_info *hints)
{
	hints->caps = FI_TAGGED | FI_DIRECTED_RECV;
}

static void test(void)
{
	const struct rdm_change change = { .hints = directed, .wait = FI_WAIT_NONE };
	struct rdm_pair pair;
	size_t i;

	rdm_open(&pair, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		exchange(&pair, lens[i], 0x1000 + i * 0x100, true);
		exchange(&pair, lens[i], 0x2000 + i * 0x100, false);
	}
	selects(&pair, true);
	selects(&pair, false);
	rdm_close(&pair);
	rdm_open_with(&pair, 0, &change);
	/* The first receive takes a message whose sender is not inserted yet. */
	for (i = 0; i < 3; i++)
		selects_by_source(&pair);
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
