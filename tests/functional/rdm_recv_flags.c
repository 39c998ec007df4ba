/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Flags of sends have no effect on receives. */
#include "rdm.h"

static struct rdm_pair pair;
static uint8_t in[8], out[8];

static void arrives(uint64_t flags)
{
	struct fi_cq_tagged_entry entry;

	OK(fi_tsend(pair.side[0].ep, out, sizeof(out), NULL, pair.side[0].peer, 5, out));
	entry = rdm_wait(&pair, 1);
	CHECK(entry.op_context == in);
	EQUAL(entry.flags, flags);
	EQUAL(entry.len, sizeof(out));
	CHECK(rdm_wait(&pair, 0).op_context == out);
}

int main(void)
{
	static const uint64_t flags[] = {
		FI_INJECT,	    FI_REMOTE_CQ_DATA,	  FI_FENCE,
		FI_INJECT_COMPLETE, FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE
	};
	struct iovec iov = { in, sizeof(in) };
	struct fi_msg_tagged tagged = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .tag = 5, .context = in
	};
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = in
	};
	size_t i;

	rdm_open(&pair, RDM_PROV_KEYS);
	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		OK(fi_trecvmsg(pair.side[1].ep, &tagged, flags[i]));
		arrives(FI_TAGGED | FI_RECV);
		OK(fi_recvmsg(pair.side[1].ep, &msg, flags[i]));
		OK(fi_cancel(&pair.side[1].ep->fid, in));
		EQUAL(rdm_wait_error(&pair, 1).err, FI_ECANCELED);
	}
	rdm_close(&pair);
	return 0;
}
