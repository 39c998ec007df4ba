/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints bound to one shared transmit context, at both ends: each transmits independently; they
 * close in every order.
 */
#include "links.h"

#define LINKS 4

static struct setup setup = { .buf_size = 8192 };

static struct fid_ep *open_shared(struct end *end, struct fi_info *info, void *arg)
{
	struct fid_stx *stx = arg;
	struct fid_ep *ep;

	info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	OK(fi_endpoint(end->domain, info, &ep, end));
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT));
	OK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV));
	RETURNS(fi_enable(ep), -FI_EOPBADSTATE);
	OK(fi_ep_bind(ep, &stx->fid, 0));
	RETURNS(fi_ep_bind(ep, &stx->fid, 0), -FI_EBUSY);
	OK(fi_enable(ep));
	return ep;
}

static void test_info(void)
{
	struct fi_info *hints = hints_for(&setup), *info;

	hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	OK(fi_getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &info));
	EQUAL(info->ep_attr->tx_ctx_cnt, FI_SHARED_CONTEXT);
	CHECK(info->domain_attr->max_ep_stx_ctx > 1);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };
	struct link links[LINKS];
	struct fi_tx_attr attr;
	struct fid_stx *stx, *none = NULL;
	struct place place;
	uintptr_t i;

	end_listen(&end, local_addr(), &place);
	test_info();
	attr = *end.info->tx_attr;
	OK(fi_stx_context(end.domain, &attr, &stx, NULL));
	attr.size = SIZE_MAX;
	RETURNS(fi_stx_context(end.domain, &attr, &none, NULL), -FI_EINVAL);
	CHECK(!none);
	for (i = 0; i < LINKS; i++) {
		link_open(&end, &place, &links[i], open_shared, stx);
		OK(fi_recv(links[i].from, end.buf + i * 64, 64, end.desc, 0, (void *)i));
	}
	for (i = 0; i < LINKS; i++) {
		fill(end.buf + 4096, 64, (unsigned int)i);
		OK(fi_send(links[i].to, end.buf + 4096, 64, end.desc, 0, (void *)(i + 10)));
		wait_context(end.cq, (void *)(i + 10));
		wait_context(end.rxcq, (void *)i);
		CHECK_FILLED(end.buf + i * 64, 64, (unsigned int)i);
	}
	OK(fi_close(&stx->fid));
	RETURNS(fi_close(&end.domain->fid), -FI_EBUSY);
	for (i = 0; i < LINKS; i++)
		link_close(&links[i]);
	end_close(&end);
}

int main(void)
{
	setup.format = FI_CQ_FORMAT_TAGGED;
	return run_test(test);
}
