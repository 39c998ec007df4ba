/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fenced operation behind the first message to a peer, which has no completion that would show
 * its end.
 */
#include "rdm.h"

static struct rdm_pair pair;
static uint64_t target, value = 7;

static void send_silent(void)
{
	struct iovec iov = { &value, 8 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .addr = pair.side[0].peer };

	OK(fi_sendmsg(pair.side[0].ep, &msg, FI_INJECT_COMPLETE));
}

static void test(void)
{
	struct fid_mr *mr;
	uint64_t in = 0;

	rdm_open(&pair, RDM_PROV_KEYS);
	rdm_reopen_selective(&pair, 0);
	OK(fi_mr_reg(pair.domain, &target, 8, FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	OK(fi_recv(pair.side[1].ep, &in, 8, NULL, FI_ADDR_UNSPEC, NULL));
	send_silent();
	rdm_write_fenced(&pair, &value,
			 (struct fi_rma_iov){ (uintptr_t)&target, 8, fi_mr_key(mr) });
	rdm_wait(&pair, 0);
	rdm_order(&pair);
	EQUAL(target, 7);
	rdm_wait(&pair, 1);
	EQUAL(in, 7);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
