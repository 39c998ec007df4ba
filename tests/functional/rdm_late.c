/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable datagrams: counters and a shared transmit context bound after fi_enable count every
 * later completion, with and without locks; a completion queue accepts the number of any processor
 * as a hint, and a traffic class is accepted, too.
 */
#include "rdm.h"

enum { COUNT = 40, POSTED = 5 };

static uint8_t target[64], word[8], in[POSTED][8];
static enum fi_threading threading;

static void ask(struct fi_info *hints)
{
	hints->domain_attr->threading = threading;
	hints->tx_attr->tclass = FI_TC_LOW_LATENCY;
	hints->domain_attr->tclass = fi_tc_dscp_set(46);
}

static struct fid_cntr *bind_late(struct rdm_pair *pair, int side, uint64_t flags)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_cntr *cntr;

	OK(fi_cntr_open(pair->domain, &attr, &cntr, NULL));
	OK(fi_ep_bind(pair->side[side].ep, &cntr->fid, flags));
	RETURNS(fi_ep_bind(pair->side[side].ep, &cntr->fid, flags), -FI_EBUSY);
	return cntr;
}

static void reach(struct rdm_pair *pair, struct fid_cntr *cntr, uint64_t value)
{
	uint64_t end = deadline();

	while (fi_cntr_read(cntr) < value) {
		fi_cq_read(pair->side[0].cq, NULL, 0);
		fi_cq_read(pair->side[1].cq, NULL, 0);
		pause_until(end, "a counter");
	}
	EQUAL(fi_cntr_read(cntr), value);
}

/* Any processor, even if the device has fewer vectors. */
static void open_with_affinity(struct rdm_pair *pair)
{
	struct fi_cq_attr attr = { .flags = FI_AFFINITY, .signaling_vector = 100001 };
	struct fid_cq *cq;

	OK(fi_cq_open(pair->domain, &attr, &cq, NULL));
	OK(fi_close(&cq->fid));
	attr.signaling_vector = -1;
	RETURNS(fi_cq_open(pair->domain, &attr, &cq, NULL), -FI_EINVAL);
	EQUAL(pair->info->tx_attr->tclass, FI_TC_LOW_LATENCY);
	EQUAL(pair->info->domain_attr->tclass, fi_tc_dscp_set(46));
}

/* The connection exists, and receives are posted that no counter counts yet. */
static void before(struct rdm_pair *pair)
{
	struct rdm_side *to = &pair->side[1];
	int i;

	OK(fi_trecv(to->ep, in[0], 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
	OK(fi_tsend(pair->side[0].ep, word, 8, NULL, pair->side[0].peer, 1, NULL));
	rdm_wait(pair, 0);
	rdm_wait(pair, 1);
	for (i = 0; i < POSTED; i++)
		OK(fi_trecv(to->ep, in[i], 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
}

static void use(struct rdm_pair *pair, struct fid_cntr *sent, struct fid_cntr *written,
		struct fid_cntr *got)
{
	struct rdm_side *side = &pair->side[0];
	struct fid_mr *mr;
	int i;

	OK(fi_mr_reg(pair->domain, target, sizeof(target), FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 0,
		     0, &mr, NULL));
	for (i = 0; i < POSTED; i++)
		OK(fi_tinject(side->ep, word, 8, side->peer, 1));
	reach(pair, got, POSTED);
	reach(pair, sent, POSTED);
	for (i = 0; i < POSTED; i++)
		rdm_wait(pair, 1);
	OK(fi_inject_write(side->ep, word, 8, side->peer, (uintptr_t)target, fi_mr_key(mr)));
	reach(pair, written, 1);
	for (i = 0; i < COUNT; i++) {
		OK(fi_trecv(pair->side[1].ep, in[0], 8, NULL, FI_ADDR_UNSPEC, 1, 0, NULL));
		OK(fi_tsend(side->ep, word, 8, NULL, side->peer, 1, NULL));
		rdm_wait(pair, 0);
		rdm_wait(pair, 1);
	}
	reach(pair, sent, POSTED + COUNT);
	reach(pair, got, POSTED + COUNT);
	OK(fi_close(&mr->fid));
}

static void test(void)
{
	struct rdm_change change = { .hints = ask };
	struct fid_cntr *sent, *written, *got;
	struct rdm_pair pair;
	struct fid_stx *stx;
	int i;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	open_with_affinity(&pair);
	before(&pair);
	sent = bind_late(&pair, 0, FI_SEND);
	written = bind_late(&pair, 0, FI_READ | FI_WRITE);
	got = bind_late(&pair, 1, FI_RECV);
	OK(fi_stx_context(pair.domain, NULL, &stx, NULL));
	OK(fi_ep_bind(pair.side[0].ep, &stx->fid, 0));
	RETURNS(fi_ep_bind(pair.side[0].ep, &pair.side[0].cq->fid, FI_TRANSMIT), -FI_EOPBADSTATE);
	OK(fi_close(&stx->fid));
	use(&pair, sent, written, got);
	for (i = 0; i < 2; i++) {
		OK(fi_close(&pair.side[i].ep->fid));
		pair.side[i].ep = NULL;
	}
	OK(fi_close(&sent->fid));
	OK(fi_close(&written->fid));
	OK(fi_close(&got->fid));
	rdm_close(&pair);
}

int main(void)
{
	int ret;

	threading = FI_THREAD_SAFE;
	ret = run_test(test);
	threading = FI_THREAD_DOMAIN;
	return ret ? ret : run_test(test);
}
