/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters that are opened, bound and closed incorrectly, and what fi_getinfo reports about
 * counters.
 */
#include <string.h>
#include "steps.h"

static void attributes(struct end *end)
{
	struct fi_cntr_attr attr = { .flags = 1 };
	struct fid_cntr *cntr = NULL;

	CHECK(end->info->domain_attr->cntr_cnt > 0);
	CHECK(end->info->domain_attr->max_cntr_value == UINT64_MAX);
	CHECK(end->info->domain_attr->max_err_cntr_value == UINT64_MAX);
	RETURNS(fi_cntr_open(end->domain, &attr, &cntr, NULL), -FI_EBADFLAGS);
	attr = (struct fi_cntr_attr){ .events = FI_CNTR_EVENTS_BYTES };
	RETURNS(fi_cntr_open(end->domain, &attr, &cntr, NULL), -FI_ENOSYS);
	attr = (struct fi_cntr_attr){ .wait_obj = 99 };
	RETURNS(fi_cntr_open(end->domain, &attr, &cntr, NULL), -FI_ENOSYS);
	RETURNS(fi_cntr_open(end->domain, &attr, NULL, NULL), -FI_EINVAL);
	CHECK(!cntr);
}

static void binds(struct end *end)
{
	struct fi_cntr_attr attr = { 0 };
	struct fid_cntr *cntr;
	struct fid_domain *domain;
	struct fid_ep *ep;

	OK(fi_cntr_open(end->domain, &attr, &cntr, end));
	CHECK(cntr->fid.context == end);
	OK(fi_endpoint(end->domain, end->info, &ep, end));
	RETURNS(fi_ep_bind(ep, &cntr->fid, 0), -FI_EBADFLAGS);
	RETURNS(fi_ep_bind(ep, &cntr->fid, FI_SEND | FI_MSG), -FI_EBADFLAGS);
	RETURNS(fi_ep_bind(ep, &cntr->fid, FI_REMOTE_READ), -FI_EOPNOTSUPP);
	RETURNS(fi_ep_bind(ep, &cntr->fid, FI_REMOTE_WRITE), -FI_EOPNOTSUPP);
	RETURNS(fi_mr_bind(end->mr, &cntr->fid, FI_REMOTE_WRITE), -FI_ENOSYS);
	OK(fi_ep_bind(ep, &cntr->fid, FI_SEND | FI_READ));
	RETURNS(fi_ep_bind(ep, &cntr->fid, FI_READ), -FI_EBUSY);
	RETURNS(fi_close(&cntr->fid), -FI_EBUSY);
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	RETURNS(fi_enable(ep), -FI_ENOCQ); /* no counter for what it receives */
	OK(fi_ep_bind(ep, &cntr->fid, FI_RECV));
	OK(fi_enable(ep));
	OK(fi_ep_bind(ep, &cntr->fid, FI_WRITE));
	OK(fi_close(&ep->fid));

	OK(fi_domain(end->fabric, end->info, &domain, NULL));
	OK(fi_endpoint(domain, end->info, &ep, NULL));
	RETURNS(fi_ep_bind(ep, &cntr->fid, FI_SEND), -FI_EINVAL);
	OK(fi_close(&ep->fid));
	OK(fi_close(&domain->fid));
	OK(fi_close(&cntr->fid));
}

static void test(void)
{
	static const struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_MSG };
	struct end end = { .name = "end", .setup = &setup, .sock = -1 };

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	attributes(&end);
	binds(&end);
	end_close(&end);
}

int main(void)
{
	local_addr();
	return run_test(test);
}
