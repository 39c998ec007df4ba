/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that were sent before a write with a wrong key arrive, although the write may end the
 * connection before they are received.
 */
#include "rdm.h"

#include <string.h>

enum { MESSAGES = 10, TAG = 100 };

static uint64_t out[MESSAGES + 1], in[MESSAGES + 1];

/* Takes a completion of this side, if there is one. Returns 1, -1 for an error, or 0. */
static int take(struct rdm_side *side)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t ret = fi_cq_read(side->cq, &entry, 1);

	if (ret == -FI_EAGAIN)
		return 0;
	if (ret == 1)
		return 1;
	RETURNS(ret, -FI_EAVAIL);
	RETURNS(fi_cq_readerr(side->cq, &error, 0), 1);
	return -1;
}

/* With queue pairs the peer's device acknowledges the messages, and its process does nothing. */
static void send_all(struct rdm_pair *pair, uint64_t addr, uint64_t key)
{
	bool alone = !strcmp(rdm_transport(), "rc");
	struct rdm_side *side = &pair->side[0];
	unsigned int i, sent = 0, failed = 0;
	uint64_t end = deadline();
	int ret;

	for (i = 0; i < MESSAGES; i++) {
		out[i] = i + 1;
		OK(fi_tsend(side->ep, &out[i], sizeof(out[i]), NULL, side->peer, TAG + i, NULL));
	}
	OK(fi_write(side->ep, out, sizeof(out[0]), NULL, side->peer, addr, key, NULL));
	while (sent + failed <= MESSAGES) {
		ret = take(side);
		sent += ret > 0;
		failed += ret < 0;
		if (!alone)
			EQUAL(take(&pair->side[1]), 0);
		pause_until(end, "the completion of every operation");
	}
	EQUAL(sent, MESSAGES);
	EQUAL(failed, 1);
}

static void test(void)
{
	static uint8_t first_out[8], first_in[8];
	struct rdm_pair pair;
	struct fid_mr *mr;
	unsigned int i;

	rdm_open(&pair, RDM_PROV_KEYS);
	OK(fi_mr_reg(pair.domain, in, sizeof(in), FI_REMOTE_WRITE, 0, 0, 0, &mr, NULL));
	rdm_exchange(&pair, first_out, first_in, sizeof(first_out), 1);
	send_all(&pair, (uintptr_t)&in[MESSAGES], fi_mr_key(mr) ^ 0xff00);
	/* The end of the connection is noticed by the event thread. */
	sleep_ms(100);
	for (i = 0; i < MESSAGES; i++) {
		OK(fi_trecv(pair.side[1].ep, &in[i], sizeof(in[i]), NULL, FI_ADDR_UNSPEC, TAG + i,
			    0, NULL));
		rdm_wait(&pair, 1);
		EQUAL(in[i], i + 1);
	}
	EQUAL(in[MESSAGES], 0);
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
