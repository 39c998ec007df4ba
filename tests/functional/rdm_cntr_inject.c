/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A counter counts each injected operation, even if no later operation completes. */
#include "rdm.h"

enum { ROUNDS = 3, PATIENCE = 20000 };

static uint8_t target[64], word[8];
static struct fid_cntr *sent, *written;

static void bind(struct rdm_pair *pair, int side)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	if (side)
		return;
	OK(fi_cntr_open(pair->domain, &attr, &sent, NULL));
	OK(fi_cntr_open(pair->domain, &attr, &written, NULL));
	OK(fi_ep_bind(pair->side[0].ep, &sent->fid, FI_SEND));
	OK(fi_ep_bind(pair->side[0].ep, &written->fid, FI_READ | FI_WRITE));
}

static void test(void)
{
	struct rdm_change change = { .bind = bind };
	struct rdm_pair pair;
	struct rdm_side *side = &pair.side[0];
	struct fid_mr *mr;
	uint64_t i;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	OK(fi_mr_reg(pair.domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0, 0,
		     &mr, NULL));
	/* The first operations start when there is a connection, the others at once. */
	for (i = 1; i <= ROUNDS; i++) {
		OK(fi_inject_write(side->ep, word, 8, side->peer, (uintptr_t)target,
				   fi_mr_key(mr)));
		OK(fi_cntr_wait(written, i, PATIENCE));
		OK(fi_inject(side->ep, word, 8, side->peer));
		OK(fi_cntr_wait(sent, 2 * i - 1, PATIENCE));
		OK(fi_tinject(side->ep, word, 8, side->peer, 7));
		OK(fi_cntr_wait(sent, 2 * i, PATIENCE));
	}
	EQUAL(fi_cntr_read(written), ROUNDS);
	EQUAL(fi_cntr_read(sent), 2 * ROUNDS);
	OK(fi_close(&mr->fid));
	OK(fi_close(&side->ep->fid));
	side->ep = NULL;
	OK(fi_close(&sent->fid));
	OK(fi_close(&written->fid));
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
