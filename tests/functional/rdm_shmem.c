/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What an OpenSHMEM library opens for each process: an endpoint that is only the target of RMA and
 * atomics, and one on a shared transmit context that only initiates them, whose completions are
 * counted. Two such processes put, get, add, swap and wait for completion.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include "check.h"
#include "rdm.h"

enum { WORDS = 1024, KEY = 1 };

struct pe {
	struct fid_stx *stx;
	struct fid_ep *target, *ctx;
	struct fid_cq *target_cq, *ctx_cq;
	struct fid_cntr *put, *get;
	struct fid_av *av;
	struct fid_mr *mr;
	fi_addr_t all[2]; /* targets */
	uint64_t puts, gets;
	uint64_t heap[WORDS];
};

static struct pe pes[2];
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;

static struct fi_info *make_hints(void)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->caps = FI_RMA | FI_ATOMIC;
	rdm_hint_device(hints);
	hints->addr_format = FI_FORMAT_UNSPEC;
	hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE;
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->mr_mode = 0; /* application keys, and offsets into regions */
	hints->domain_attr->threading = FI_THREAD_SAFE;
	return hints;
}

static void open_fabric(void)
{
	struct fi_info *hints = make_hints();

	OK(fi_getinfo(FI_VERSION(1, 5), NULL, NULL, 0, hints, &info));
	fi_freeinfo(hints);
	CHECK(info->domain_attr->max_ep_stx_ctx > 0);
	CHECK(info->tx_attr->inject_size >= 192);
	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
}

static void open_target(struct pe *pe)
{
	struct fi_info *own = fi_dupinfo(info);
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT };

	CHECK(own);
	own->ep_attr->tx_ctx_cnt = 0;
	own->caps = FI_RMA | FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE;
	own->tx_attr->op_flags = 0;
	own->tx_attr->caps = own->rx_attr->caps = own->caps;
	OK(fi_endpoint(domain, own, &pe->target, NULL));
	OK(fi_cq_open(domain, &attr, &pe->target_cq, NULL));
	OK(fi_ep_bind(pe->target, &pe->target_cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(pe->target, &pe->av->fid, 0));
	OK(fi_enable(pe->target));
	fi_freeinfo(own);
}

static void open_ctx(struct pe *pe)
{
	struct fi_info *own = fi_dupinfo(info);
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_CONTEXT };
	struct fi_cntr_attr cntr = { .wait_obj = FI_WAIT_UNSPEC };

	CHECK(own);
	own->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	own->caps = FI_RMA | FI_WRITE | FI_READ | FI_ATOMIC;
	own->tx_attr->caps = own->caps;
	own->rx_attr->caps = 0;
	OK(fi_stx_context(domain, NULL, &pe->stx, NULL));
	OK(fi_endpoint(domain, own, &pe->ctx, NULL));
	OK(fi_cq_open(domain, &attr, &pe->ctx_cq, NULL));
	OK(fi_cntr_open(domain, &cntr, &pe->put, NULL));
	OK(fi_cntr_open(domain, &cntr, &pe->get, NULL));
	OK(fi_ep_bind(pe->ctx, &pe->stx->fid, 0));
	OK(fi_ep_bind(pe->ctx, &pe->put->fid, FI_WRITE));
	OK(fi_ep_bind(pe->ctx, &pe->get->fid, FI_READ));
	OK(fi_ep_bind(pe->ctx, &pe->ctx_cq->fid, FI_SELECTIVE_COMPLETION | FI_TRANSMIT));
	OK(fi_ep_bind(pe->ctx, &pe->av->fid, 0));
	OK(fi_enable(pe->ctx));
	fi_freeinfo(own);
}

static void open_pe(struct pe *pe)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };

	OK(fi_av_open(domain, &av, &pe->av, NULL));
	OK(fi_mr_reg(domain, pe->heap, sizeof(pe->heap), FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
		     (uint64_t)(KEY + (pe - pes)), 0, &pe->mr, NULL));
	open_target(pe);
	open_ctx(pe);
}

static void exchange(void)
{
	char names[2][64];
	size_t len;
	int i, k;

	for (i = 0; i < 2; i++) {
		len = sizeof(names[i]);
		OK(fi_getname(&pes[i].target->fid, names[i], &len));
	}
	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++)
			RETURNS(fi_av_insert(pes[i].av, names[k], 1, &pes[i].all[k], 0, NULL), 1);
}

static void quiet(struct pe *pe)
{
	OK(fi_cntr_wait(pe->put, pe->puts, 60000));
	OK(fi_cntr_wait(pe->get, pe->gets, 60000));
	EQUAL(fi_cntr_read(pe->put), pe->puts);
	EQUAL(fi_cntr_readerr(pe->put), 0);
	EQUAL(fi_cntr_readerr(pe->get), 0);
}

/* Returns the address of word `at` of the other process. */
static void put(struct pe *pe, int to, size_t at, const void *from, size_t len)
{
	uint64_t key = (uint64_t)(KEY + to);
	ssize_t ret;

	do {
		ret = len <= 192
			      ? fi_inject_write(pe->ctx, from, len, pe->all[to], at * 8, key)
			      : fi_write(pe->ctx, from, len, NULL, pe->all[to], at * 8, key, NULL);
	} while (ret == -FI_EAGAIN);
	OK(ret);
	pe->puts++;
}

static void get(struct pe *pe, int from, size_t at, void *to, size_t len)
{
	ssize_t ret;

	while ((ret = fi_read(pe->ctx, to, len, NULL, pe->all[from], at * 8, (uint64_t)(KEY + from),
			      NULL)) == -FI_EAGAIN)
		;
	OK(ret);
	pe->gets++;
}

static void atomics(struct pe *pe, int to)
{
	uint64_t one = 1, two = 2, zero = 0, old = 77, key = (uint64_t)(KEY + to);
	size_t count;

	OK(fi_atomicvalid(pe->ctx, FI_UINT64, FI_SUM, &count));
	OK(fi_fetch_atomicvalid(pe->ctx, FI_INT32, FI_ATOMIC_WRITE, &count));
	OK(fi_compare_atomicvalid(pe->ctx, FI_UINT64, FI_CSWAP, &count));
	OK(fi_inject_atomic(pe->ctx, &one, 1, pe->all[to], 0, key, FI_UINT64, FI_SUM));
	pe->puts++;
	quiet(pe);
	OK(fi_fetch_atomic(pe->ctx, &one, 1, NULL, &old, NULL, pe->all[to], 0, key, FI_UINT64,
			   FI_SUM, NULL));
	pe->gets++;
	quiet(pe);
	EQUAL(old, 1);
	OK(fi_compare_atomic(pe->ctx, &zero, 1, NULL, &two, NULL, &old, NULL, pe->all[to], 0, key,
			     FI_UINT64, FI_CSWAP, NULL));
	pe->gets++;
	quiet(pe);
	EQUAL(old, 2);
	EQUAL(pes[to].heap[0], 0);
}

static void talk(struct pe *pe, int to)
{
	static uint64_t data[WORDS], back[WORDS];
	size_t i;

	memset(pes[to].heap, 0, sizeof(pes[to].heap));
	for (i = 0; i < WORDS; i++)
		data[i] = i * 3 + (uint64_t)to;
	atomics(pe, to);
	for (i = 0; i < WORDS; i += 8)
		put(pe, to, i, data + i, 64);
	quiet(pe);
	CHECK(!memcmp(pes[to].heap, data, sizeof(data)));
	memset(pes[to].heap, 0, sizeof(pes[to].heap));
	put(pe, to, 0, data, sizeof(data));
	quiet(pe);
	get(pe, to, 0, back, sizeof(back));
	quiet(pe);
	CHECK(!memcmp(back, data, sizeof(data)));
}

static void close_pe(struct pe *pe)
{
	OK(fi_close(&pe->ctx->fid));
	OK(fi_close(&pe->stx->fid));
	OK(fi_close(&pe->target->fid));
	OK(fi_close(&pe->put->fid));
	OK(fi_close(&pe->get->fid));
	OK(fi_close(&pe->ctx_cq->fid));
	OK(fi_close(&pe->target_cq->fid));
	OK(fi_close(&pe->mr->fid));
	OK(fi_close(&pe->av->fid));
}

static void test(void)
{
	int i;

	open_fabric();
	for (i = 0; i < 2; i++)
		open_pe(&pes[i]);
	exchange();
	talk(&pes[0], 1);
	talk(&pes[1], 0);
	talk(&pes[0], 0);
	for (i = 0; i < 2; i++)
		close_pe(&pes[i]);
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	fi_freeinfo(info);
}

int main(void)
{
	return run_test(test);
}
