/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable-datagram endpoints bound to one shared transmit context, and their queues in a poll set.
 */
#include "rdm.h"

static struct fid_stx *stx;

static void ask(struct fi_info *hints)
{
	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
}

static void bind(struct rdm_pair *pair, int side)
{
	struct fid_ep *ep = pair->side[side].ep;

	if (!side) {
		CHECK(pair->info->domain_attr->max_ep_stx_ctx > 1);
		OK(fi_stx_context(pair->domain, pair->info->tx_attr, &stx, NULL));
	}
	RETURNS(fi_enable(ep), -FI_EOPBADSTATE);
	OK(fi_ep_bind(ep, &stx->fid, 0));
	RETURNS(fi_ep_bind(ep, &stx->fid, 0), -FI_EBUSY);
}

/* The contexts of the queues that have entries. */
static void poll_all(struct rdm_pair *pair)
{
	struct fi_cq_tagged_entry entry;
	struct fid_poll *set;
	bool seen[2] = { false };
	uint64_t end = deadline();
	void *ready[2];
	int i, n;

	OK(fi_poll_open(pair->domain, NULL, &set));
	for (i = 0; i < 2; i++) {
		pair->side[i].cq->fid.context = &seen[i];
		OK(fi_poll_add(set, &pair->side[i].cq->fid, 0));
	}
	RETURNS(fi_poll(set, ready, 2), 0);
	OK(fi_recv(pair->side[1].ep, NULL, 0, NULL, FI_ADDR_UNSPEC, NULL));
	OK(fi_send(pair->side[0].ep, NULL, 0, NULL, pair->side[0].peer, NULL));
	while (!seen[0] || !seen[1]) {
		n = fi_poll(set, ready, 2);
		CHECK(n >= 0);
		while (n--)
			*(bool *)ready[n] = true;
		pause_until(end, "both queues");
	}
	for (i = 0; i < 2; i++) {
		RETURNS(fi_cq_read(pair->side[i].cq, &entry, 1), 1);
		OK(fi_poll_del(set, &pair->side[i].cq->fid, 0));
	}
	OK(fi_close(&set->fid));
}

static void test(void)
{
	struct rdm_change change = { .hints = ask, .bind = bind, .wait = FI_WAIT_NONE };
	struct fid_ep *sep = NULL;
	struct rdm_pair pair;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	poll_all(&pair);
	RETURNS(fi_scalable_ep(pair.domain, pair.info, &sep, NULL), -FI_EINVAL);
	OK(fi_close(&stx->fid));
	OK(fi_close(&pair.side[0].ep->fid));
	OK(fi_close(&pair.side[1].ep->fid));
	pair.side[0].ep = pair.side[1].ep = NULL;
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
