/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fenced write waits for a message that the peer, which has buffered enough, does not let begin.
 * fi_cancel of the message lets the write go on.
 */
#include <stdlib.h>
#include "rdm.h"

enum { MESSAGES = 5000, QUIET_MS = 1000 };

static struct rdm_pair pair;
static uint64_t target, value = 7;

static bool completes(void)
{
	struct fi_cq_tagged_entry entry;
	ssize_t ret;

	for (uint64_t end = now_ms() + QUIET_MS; now_ms() < end;) {
		RETURNS(fi_cq_read(pair.side[1].cq, &entry, 1), -FI_EAGAIN);
		ret = fi_cq_read(pair.side[0].cq, &entry, 1);
		if (ret == 1)
			return true;
		RETURNS(ret, -FI_EAGAIN);
	}
	return false;
}

static void send_until_halted(void *context)
{
	for (int i = 0; i < MESSAGES; i++) {
		OK(fi_send(pair.side[0].ep, &value, 8, NULL, pair.side[0].peer, context));
		if (!completes())
			return;
	}
	CHECK(!"halted");
}

static void test(void)
{
	struct fi_cq_err_entry error = { 0 };
	struct fid_mr *mr;

	setenv("FI_VERBS_RDM_UNEXPECTED_SIZE", "65536", 1);
	rdm_open(&pair, RDM_PROV_KEYS);
	OK(fi_mr_reg(pair.domain, &target, 8, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	send_until_halted(&value);
	rdm_write_fenced(&pair, &value,
			 (struct fi_rma_iov){ (uintptr_t)&target, 8, fi_mr_key(mr) });
	CHECK(!completes());
	EQUAL(target, 0);
	OK(fi_cancel(&pair.side[0].ep->fid, &value));
	RETURNS(fi_cq_readerr(pair.side[0].cq, &error, 0), 1);
	CHECK(error.err == FI_ECANCELED && error.op_context == &value);
	CHECK(completes());
	rdm_order(&pair);
	EQUAL(target, 7);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
