/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Tagged messages of each protocol's size, expected and unexpected, arrive whole with tag and data. */
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

static void test(void)
{
	struct rdm_pair pair;
	size_t i;

	rdm_open(&pair, FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY);
	for (i = 0; i < ARRAY_SIZE(lens); i++) {
		exchange(&pair, lens[i], 0x1000 + i * 0x100, true);
		exchange(&pair, lens[i], 0x2000 + i * 0x100, false);
	}
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
