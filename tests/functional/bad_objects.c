/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and binding with invalid arguments: each gives an error without a crash, and outputs stay
 * unchanged.
 */
#include <string.h>
#include <rdma/fi_atomic.h>
#include "steps.h"

static struct setup setup = { .buf_size = 4096, .format = FI_CQ_FORMAT_TAGGED };

static void test_fabric(const struct end *end)
{
	struct fi_fabric_attr attr = *end->info->fabric_attr;
	struct fid_fabric *fabric = NULL;

	CHECK(fi_fabric(NULL, &fabric, NULL) < 0);
	CHECK(fi_fabric(&attr, NULL, NULL) < 0);
	attr.name = "no such fabric";
	CHECK(fi_fabric(&attr, &fabric, NULL) < 0);
	attr = *end->info->fabric_attr;
	attr.prov_name = "no such provider";
	CHECK(fi_fabric(&attr, &fabric, NULL) < 0);
	CHECK(!fabric);
}

static void test_domain(struct end *end)
{
	struct fi_info *info = fi_dupinfo(end->info);
	struct fid_domain *domain = NULL;

	RETURNS(fi_domain(end->fabric, NULL, &domain, NULL), -FI_EINVAL);
	RETURNS(fi_domain(end->fabric, info, NULL, NULL), -FI_EINVAL);
	strcpy(info->domain_attr->name, "xx0");
	CHECK(fi_domain(end->fabric, info, &domain, NULL) < 0);
	CHECK(!domain);
	RETURNS(fi_domain_bind(end->domain, NULL, 0), -FI_EINVAL);
	RETURNS(fi_domain_bind(end->domain, &end->cq->fid, 0), -FI_EINVAL);
	CHECK(fi_domain_bind(end->domain, &end->eq->fid, 1ULL << 60) < 0);
	fi_freeinfo(info);
}

/* What only the device can detect may be refused as late as in fi_enable. */
static int open_enable(struct end *end, struct fi_info *info)
{
	struct fid_ep *ep;
	int ret = fi_endpoint(end->domain, info, &ep, NULL);

	if (ret)
		return ret;
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT | FI_RECV));
	ret = fi_enable(ep);
	OK(fi_close(&ep->fid));
	return ret;
}

static void test_endpoint(struct end *end)
{
	struct fi_info *info = fi_dupinfo(end->info);
	struct fid_ep *ep = NULL;
	struct fid_pep *pep = NULL;

	RETURNS(fi_endpoint(end->domain, NULL, &ep, NULL), -FI_EINVAL);
	RETURNS(fi_endpoint(end->domain, info, NULL, NULL), -FI_EINVAL);
	info->ep_attr->type = FI_EP_RDM;
	CHECK(fi_endpoint(end->domain, info, &ep, NULL) < 0);
	info->ep_attr->type = FI_EP_MSG;
	info->tx_attr->size = SIZE_MAX;
	CHECK(fi_endpoint(end->domain, info, &ep, NULL) < 0);
	info->tx_attr->size = 16;
	info->tx_attr->iov_limit = 1 << 20;
	CHECK(fi_endpoint(end->domain, info, &ep, NULL) < 0);
	info->tx_attr->iov_limit = 1;
	info->tx_attr->inject_size = 1 << 20;
	CHECK(open_enable(end, info) < 0);
	info->tx_attr->inject_size = 0;
	info->handle = &end->cq->fid;
	CHECK(fi_endpoint(end->domain, info, &ep, NULL) < 0);
	info->handle = NULL;
	CHECK(!ep);
	RETURNS(fi_passive_ep(end->fabric, NULL, &pep, NULL), -FI_EINVAL);
	RETURNS(fi_passive_ep(end->fabric, info, NULL, NULL), -FI_EINVAL);
	CHECK(!pep);
	fi_freeinfo(info);
}

static void test_bind(struct end *end)
{
	struct fid_ep *ep;
	struct fid_pep *pep;

	OK(fi_endpoint(end->domain, end->info, &ep, NULL));
	RETURNS(fi_enable(ep), -FI_ENOEQ);
	RETURNS(fi_ep_bind(ep, NULL, 0), -FI_EINVAL);
	RETURNS(fi_ep_bind(ep, &end->mr->fid, 0), -FI_EINVAL);
	RETURNS(fi_ep_bind(ep, &end->domain->fid, 0), -FI_EINVAL);
	CHECK(fi_ep_bind(ep, &end->eq->fid, FI_TRANSMIT) < 0);
	OK(fi_ep_bind(ep, &end->eq->fid, 0));
	CHECK(fi_ep_bind(ep, &end->eq->fid, 0) < 0);
	RETURNS(fi_enable(ep), -FI_ENOCQ);
	CHECK(fi_ep_bind(ep, &end->cq->fid, 0) < 0);
	CHECK(fi_ep_bind(ep, &end->cq->fid, FI_RECV | 1ULL << 61) < 0);
	OK(fi_ep_bind(ep, &end->cq->fid, FI_TRANSMIT));
	CHECK(fi_ep_bind(ep, &end->rxcq->fid, FI_TRANSMIT) < 0);
	RETURNS(fi_enable(ep), -FI_ENOCQ);
	OK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV));
	OK(fi_enable(ep));
	CHECK(fi_ep_bind(ep, &end->rxcq->fid, FI_RECV) < 0);
	CHECK(fi_control(&ep->fid, 9999, NULL) < 0);
	OK(fi_close(&ep->fid));

	OK(fi_passive_ep(end->fabric, end->info, &pep, NULL));
	RETURNS(fi_pep_bind(pep, NULL, 0), -FI_EINVAL);
	CHECK(fi_pep_bind(pep, &end->cq->fid, 0) < 0);
	CHECK(fi_reject(pep, NULL, NULL, 0) < 0);
	CHECK(fi_reject(pep, &end->cq->fid, NULL, 0) < 0);
	OK(fi_close(&pep->fid));
}

static void test_options(struct end *end)
{
	struct fid_ep *ep = end_ep(end, end->info);
	size_t value = 0, len = sizeof(value);
	uint64_t flags = 0;

	OK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, &len));
	EQUAL(value, end->info->tx_attr->size);
	CHECK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, 9999, &value, &len) < 0);
	CHECK(fi_getopt(&ep->fid, 7, FI_OPT_TX_SIZE, &value, &len) < 0);
	CHECK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, NULL, &len) < 0);
	CHECK(fi_getopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_TX_SIZE, &value, NULL) < 0);
	CHECK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, FI_OPT_CM_DATA_SIZE, &value, len) < 0);
	CHECK(fi_setopt(&ep->fid, FI_OPT_ENDPOINT, 9999, &value, len) < 0);
	CHECK(fi_control(&ep->fid, FI_GETOPSFLAG, &flags) < 0); /* no queue is specified */
	flags = FI_TRANSMIT | 1ULL << 62;
	CHECK(fi_control(&ep->fid, FI_SETOPSFLAG, &flags) < 0);
	CHECK(fi_control(&ep->fid, FI_SETOPSFLAG, NULL) < 0);
	OK(fi_close(&ep->fid));
}

/* In each class of call, what the provider does not support is refused as such. */
static void test_unsupported(struct end *end)
{
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fid_ep *ep = end_ep(end, end->info), *other = NULL;
	struct fid_av *av = NULL;
	struct fid_mc *mc = NULL;

	/* Connected endpoints do not support it. */
	OK(fi_av_open(end->domain, &av_attr, &av, NULL));
	CHECK(fi_ep_bind(ep, &av->fid, 0) < 0);
	OK(fi_close(&av->fid));
	CHECK(fi_scalable_ep(end->domain, end->info, &other, NULL) < 0);
	CHECK(fi_tx_context(ep, 0, NULL, &other, NULL) < 0);
	CHECK(fi_rx_context(ep, 0, NULL, &other, NULL) < 0);
	CHECK(fi_ep_alias(ep, &other, 0) < 0);
	CHECK(fi_cancel(&ep->fid, NULL) < 0);
	CHECK(fi_join(ep, end->info->src_addr, 0, &mc, NULL) < 0);
	CHECK(!other && !mc);
	OK(fi_close(&ep->fid));
}

static void test(void)
{
	struct end end = { .setup = &setup, .sock = -1 };

	end_open(&end, info_for(&setup, local_addr(), NULL, FI_SOURCE));
	test_fabric(&end);
	test_domain(&end);
	test_endpoint(&end);
	test_bind(&end);
	test_options(&end);
	test_unsupported(&end);
	end_close(&end);
}

int main(void)
{
	return run_test(test);
}
