/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * FI_RMA_EVENT: counters of the target's endpoint and of its memory region count the operations of
 * peers when they are complete.
 */
#include "rdm.h"

enum { LEN = 100000, ROUNDS = 300 };

static uint8_t target[LEN], other[64], buf[LEN];
static struct fid_cntr *reads, *writes, *region;

static void ask(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_RMA_EVENT;
}

static void bind(struct rdm_pair *pair, int side)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_ep *ep = pair->side[side].ep;

	if (!side)
		return;
	CHECK(pair->info->caps & FI_RMA_EVENT && pair->info->rx_attr->caps & FI_RMA_EVENT);
	OK(fi_cntr_open(pair->domain, &attr, &reads, NULL));
	OK(fi_cntr_open(pair->domain, &attr, &writes, NULL));
	OK(fi_cntr_open(pair->domain, &attr, &region, NULL));
	OK(fi_ep_bind(ep, &reads->fid, FI_REMOTE_READ));
	OK(fi_ep_bind(ep, &writes->fid, FI_REMOTE_WRITE));
	RETURNS(fi_ep_bind(ep, &writes->fid, FI_REMOTE_WRITE), -FI_EBUSY);
}

static void writes_count(struct rdm_pair *pair, struct fid_mr *mr, struct fid_mr *plain)
{
	struct rdm_side *side = &pair->side[0];
	int i;

	for (i = 1; i <= ROUNDS; i++) {
		fill(buf, 8, (unsigned int)i);
		OK(fi_inject_write(side->ep, buf, 8, side->peer, (uintptr_t)target, fi_mr_key(mr)));
		if (i % 100)
			continue;
		rdm_reaches(pair, writes, (uint64_t)i);
		CHECK_FILLED(target, 8, (unsigned int)i);
	}
	fill(buf, LEN, 9);
	OK(fi_write(side->ep, buf, LEN, NULL, side->peer, (uintptr_t)target, fi_mr_key(mr), buf));
	rdm_reaches(pair, writes, ROUNDS + 1);
	CHECK_FILLED(target, LEN, 9);
	rdm_wait(pair, 0);
	rdm_reaches(pair, region, ROUNDS + 1);
	OK(fi_inject_write(side->ep, buf, 8, side->peer, (uintptr_t)other, fi_mr_key(plain)));
	OK(fi_cntr_wait(writes, ROUNDS + 2, 60000));
	EQUAL(fi_cntr_read(region), ROUNDS + 1);
	OK(fi_inject_write(side->ep, buf, 8, side->peer, (uintptr_t)target, fi_mr_key(mr)));
	OK(fi_cntr_wait(region, ROUNDS + 2, 60000));
}

static void others_count(struct rdm_pair *pair, struct fid_mr *mr)
{
	struct rdm_side *side = &pair->side[0];
	uint64_t one = 1, old, key = fi_mr_key(mr);

	OK(fi_read(side->ep, buf, LEN, NULL, side->peer, (uintptr_t)target, key, buf));
	rdm_wait(pair, 0);
	rdm_reaches(pair, reads, 1);
	OK(fi_atomic(side->ep, &one, 1, NULL, side->peer, (uintptr_t)target, key, FI_UINT64, FI_SUM,
		     &one));
	rdm_wait(pair, 0);
	rdm_reaches(pair, writes, ROUNDS + 4);
	rdm_reaches(pair, region, ROUNDS + 3);
	OK(fi_fetch_atomic(side->ep, &one, 1, NULL, &old, NULL, side->peer, (uintptr_t)target, key,
			   FI_UINT64, FI_SUM, &one));
	rdm_wait(pair, 0);
	rdm_reaches(pair, reads, 2);
	rdm_reaches(pair, writes, ROUNDS + 5); /* it changes memory */
	rdm_reaches(pair, region, ROUNDS + 4);
	OK(fi_compare_atomic(side->ep, &one, 1, NULL, &one, NULL, &old, NULL, side->peer,
			     (uintptr_t)target, key, FI_UINT64, FI_CSWAP, &one));
	rdm_wait(pair, 0);
	OK(fi_cntr_wait(writes, ROUNDS + 6, 60000));
	EQUAL(fi_cntr_read(reads), 3);
	OK(fi_fetch_atomic(side->ep, NULL, 1, NULL, &old, NULL, side->peer, (uintptr_t)target, key,
			   FI_UINT64, FI_ATOMIC_READ, &one));
	rdm_wait(pair, 0);
	rdm_reaches(pair, reads, 4);
	EQUAL(fi_cntr_read(writes), ROUNDS + 6);
}

/* An endpoint that has the capability only as a receiver, or not at all. */
static void of_the_receiver(struct rdm_pair *pair)
{
	struct fi_info *info = fi_dupinfo(pair->info);
	struct fid_ep *ep;

	CHECK(info);
	info->caps &= ~FI_RMA_EVENT;
	OK(fi_endpoint(pair->domain, info, &ep, NULL));
	OK(fi_ep_bind(ep, &reads->fid, FI_REMOTE_READ));
	OK(fi_close(&ep->fid));
	info->rx_attr->caps &= ~FI_RMA_EVENT;
	OK(fi_endpoint(pair->domain, info, &ep, NULL));
	RETURNS(fi_ep_bind(ep, &reads->fid, FI_REMOTE_READ), -FI_EOPNOTSUPP);
	OK(fi_close(&ep->fid));
	fi_freeinfo(info);
}

static void test(void)
{
	struct rdm_change change = { .hints = ask, .bind = bind, .wait = FI_WAIT_NONE };
	uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE;
	struct rdm_pair pair;
	struct fid_mr *mr, *plain;

	rdm_open_with(&pair, RDM_PROV_KEYS, &change);
	OK(fi_mr_reg(pair.domain, target, LEN, access, 0, 0, FI_RMA_EVENT, &mr, NULL));
	OK(fi_mr_reg(pair.domain, other, sizeof(other), access, 0, 0, 0, &plain, NULL));
	RETURNS(fi_mr_bind(mr, &region->fid, FI_WRITE), -FI_EBADFLAGS);
	RETURNS(fi_mr_bind(mr, &pair.side[0].cq->fid, FI_REMOTE_WRITE), -FI_EINVAL);
	OK(fi_mr_bind(mr, &region->fid, FI_REMOTE_WRITE));
	RETURNS(fi_mr_bind(mr, &region->fid, FI_REMOTE_WRITE), -FI_EBUSY);
	OK(fi_mr_enable(mr));
	writes_count(&pair, mr, plain);
	others_count(&pair, mr);
	of_the_receiver(&pair);
	RETURNS(fi_close(&region->fid), -FI_EBUSY);
	OK(fi_close(&mr->fid));
	OK(fi_close(&plain->fid));
	OK(fi_close(&region->fid));
	OK(fi_close(&pair.side[1].ep->fid));
	OK(fi_close(&reads->fid));
	OK(fi_close(&writes->fid));
	pair.side[1].ep = NULL;
	rdm_close(&pair);
}

int main(void)
{
	return run_test(test);
}
