/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The hints of well-known users of fi_getinfo are matched and work: with each set of hints two
 * endpoints are opened, and do one transfer of each kind that the set is for. Sets that need
 * device memory may be refused. On the false GPU only the sets for device
 * memory are asked for, and none is refused.
 */
#include "hint_sets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include "check.h"
#include "gpu.h"

enum { LEN = 3000, MULTI_LEN = 16384, TAG = 7, DATA = 0x1234 };

struct side {
	struct fid_ep *ep;
	struct fid_cq *cq;
	struct fid_av *av;
	struct fid_stx *stx;
	fi_addr_t peer;
};

static const struct hint_set *set;
static struct fi_info *info;
static struct fid_fabric *fabric;
static struct fid_domain *domain;
static struct side side[2];
static struct fid_mr *mr;
static void *desc;
static struct fi_context2 contexts[4]; /* of operations, as some modes require */

struct memory {
	uint8_t out[LEN], in[MULTI_LEN];
	uint64_t cell, operand, result;
};

static struct memory host, *mem;

static struct fi_info *hints_of_set(void)
{
	struct fi_info *hints = fi_allocinfo();

	CHECK(hints);
	hints->caps = set->caps;
	hints->mode = set->mode;
	hints->addr_format = set->addr_format;
	hints->ep_attr->type = FI_EP_RDM;
	hints->ep_attr->protocol = set->protocol;
	hints->ep_attr->tx_ctx_cnt = set->tx_contexts;
	hints->ep_attr->rx_ctx_cnt = set->rx_contexts;
	hints->domain_attr->mr_mode = set->mr_mode;
	hints->domain_attr->threading = set->threading;
	hints->domain_attr->control_progress = set->control;
	hints->domain_attr->data_progress = set->data;
	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	hints->domain_attr->av_type = set->av_type;
	hints->domain_attr->cq_data_size = set->cq_data_size;
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	hints->tx_attr->msg_order = hints->rx_attr->msg_order = set->order;
	hints->tx_attr->op_flags = set->op_flags;
	hints->tx_attr->inject_size = set->inject_size;
	hints->tx_attr->tclass = set->tclass;
	hints->fabric_attr->prov_name = strdup(set->prov_name ? set->prov_name : "verbs");
	return hints;
}

static void open_side(struct side *one)
{
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_TAGGED };
	struct fi_av_attr av = { .type = info->domain_attr->av_type };

	OK(fi_endpoint(domain, info, &one->ep, NULL));
	OK(fi_cq_open(domain, &cq, &one->cq, NULL));
	OK(fi_av_open(domain, &av, &one->av, NULL));
	one->stx = NULL;
	if (set->tx_contexts == FI_SHARED_CONTEXT) {
		OK(fi_stx_context(domain, info->tx_attr, &one->stx, NULL));
		OK(fi_ep_bind(one->ep, &one->stx->fid, 0));
	}
	OK(fi_ep_bind(one->ep, &one->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(one->ep, &one->av->fid, 0));
	OK(fi_enable(one->ep));
}

static void insert(struct side *into, struct side *of)
{
	char name[128];
	size_t len = sizeof(name);

	OK(fi_getname(&of->ep->fid, name, &len));
	RETURNS(fi_av_insert(into->av, name, 1, &into->peer, 0, NULL), 1);
}

static void open_all(void)
{
	uint64_t access = FI_SEND | FI_RECV;

	OK(fi_fabric(info->fabric_attr, &fabric, NULL));
	OK(fi_domain(fabric, info, &domain, NULL));
	open_side(&side[0]);
	open_side(&side[1]);
	insert(&side[0], &side[1]);
	insert(&side[1], &side[0]);
	if (set->caps & (FI_RMA | FI_ATOMIC))
		access |= FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
	mem = gpu ? gpu->alloc(sizeof(*mem)) : &host;
	mem_set(mem, 0, sizeof(*mem));
	if (gpu)
		gpu_reg(domain, mem, sizeof(*mem), access, &mr);
	else
		OK(fi_mr_reg(domain, mem, sizeof(*mem), access, 0, 5, 0, &mr, NULL));
	if (info->domain_attr->mr_mode & (FI_MR_ENDPOINT | FI_MR_RMA_EVENT)) {
		OK(fi_mr_bind(mr, &side[1].ep->fid, 0));
		OK(fi_mr_enable(mr));
	}
	desc = fi_mr_desc(mr);
}

static void close_all(void)
{
	int i;

	OK(fi_close(&mr->fid));
	for (i = 0; i < 2; i++) {
		OK(fi_close(&side[i].ep->fid));
		if (side[i].stx)
			OK(fi_close(&side[i].stx->fid));
		OK(fi_close(&side[i].cq->fid));
		OK(fi_close(&side[i].av->fid));
	}
	OK(fi_close(&domain->fid));
	OK(fi_close(&fabric->fid));
	if (gpu)
		gpu->free(mem);
}

/* Waits for the next completion of a side, while the other side makes progress. */
static struct fi_cq_tagged_entry comp(int at)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_tagged_entry entry;
	uint64_t end = deadline();
	ssize_t ret;

	while ((ret = fi_cq_read(side[at].cq, &entry, 1)) == -FI_EAGAIN) {
		fi_cq_read(side[!at].cq, NULL, 0);
		pause_until(end, "a completion");
	}
	if (ret == -FI_EAVAIL) {
		fi_cq_readerr(side[at].cq, &error, 0);
		FAIL("%s: a failure: %s", set->user, fi_strerror(error.err));
	}
	RETURNS(ret, 1);
	return entry;
}

static void tagged(void)
{
	bool directed = set->caps & FI_DIRECTED_RECV;

	fill(mem->out, LEN, 1);
	OK(fi_trecv(side[1].ep, mem->in, LEN, desc, directed ? side[1].peer : FI_ADDR_UNSPEC, TAG,
		    0, &contexts[1]));
	if (set->cq_data_size)
		OK(fi_tsenddata(side[0].ep, mem->out, LEN, desc, DATA, side[0].peer, TAG,
				&contexts[0]));
	else
		OK(fi_tsend(side[0].ep, mem->out, LEN, desc, side[0].peer, TAG, &contexts[0]));
	EQUAL(comp(1).len, LEN);
	CHECK_FILLED(mem->in, LEN, 1);
	CHECK(comp(0).op_context == &contexts[0]);
}

static void message(void)
{
	struct iovec iov = { mem->in, set->caps & FI_MULTI_RECV ? MULTI_LEN : LEN };
	struct fi_msg msg = { .msg_iov = &iov,
			      .desc = &desc,
			      .iov_count = 1,
			      .addr = FI_ADDR_UNSPEC,
			      .context = &contexts[1] };

	fill(mem->out, LEN, 2);
	OK(fi_recvmsg(side[1].ep, &msg,
		      FI_COMPLETION | (set->caps & FI_MULTI_RECV ? FI_MULTI_RECV : 0)));
	OK(fi_send(side[0].ep, mem->out, LEN, desc, side[0].peer, &contexts[0]));
	EQUAL(comp(1).len, LEN);
	CHECK_FILLED(mem->in, LEN, 2);
	comp(0);
}

static uint64_t remote(const void *at)
{
	return info->domain_attr->mr_mode & (FI_MR_BASIC | FI_MR_VIRT_ADDR)
		       ? (uint64_t)(uintptr_t)at
		       : (uint64_t)((const uint8_t *)at - (const uint8_t *)mem);
}

/*
 * A write may complete before its data is there: the read that follows the completion sees the
 * data.
 */
static void rma(void)
{
	uint64_t key = fi_mr_key(mr);

	fill(mem->out, LEN, 3);
	mem_set(mem->in, 0, LEN);
	if (set->cq_data_size) {
		OK(fi_writedata(side[0].ep, mem->out, LEN, desc, DATA, side[0].peer,
				remote(mem->in), key, &contexts[0]));
		EQUAL(comp(1).data, DATA);
	} else {
		OK(fi_write(side[0].ep, mem->out, LEN, desc, side[0].peer, remote(mem->in), key,
			    &contexts[0]));
	}
	comp(0);
	mem_set(mem->out, 0, LEN);
	OK(fi_read(side[0].ep, mem->out, LEN, desc, side[0].peer, remote(mem->in), key,
		   &contexts[0]));
	comp(0);
	CHECK_FILLED(mem->out, LEN, 3);
	CHECK_FILLED(mem->in, LEN, 3);
}

static void fenced(void)
{
	struct iovec iov = { mem->out, LEN };
	struct fi_rma_iov target = { remote(mem->in), LEN, fi_mr_key(mr) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .desc = &desc,
				  .iov_count = 1,
				  .addr = side[0].peer,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = &contexts[0] };

	OK(fi_writemsg(side[0].ep, &msg, FI_FENCE | FI_DELIVERY_COMPLETE | FI_COMPLETION));
	comp(0);
}

static void atomics(void)
{
	const uint64_t forty = 40, two = 2;
	uint64_t key = fi_mr_key(mr), word;

	mem_put(&mem->cell, &forty, sizeof(forty));
	mem_put(&mem->operand, &two, sizeof(two));
	OK(fi_atomic(side[0].ep, &mem->operand, 1, desc, side[0].peer, remote(&mem->cell), key,
		     FI_UINT64, FI_SUM, &contexts[0]));
	comp(0);
	OK(fi_fetch_atomic(side[0].ep, &mem->operand, 1, desc, &mem->result, desc, side[0].peer,
			   remote(&mem->cell), key, FI_UINT64, FI_SUM, &contexts[0]));
	comp(0);
	mem_get(&word, &mem->result, sizeof(word));
	EQUAL(word, 42);
	mem_get(&word, &mem->cell, sizeof(word));
	EQUAL(word, 44);
}

static void use(void)
{
	CHECK(!(info->mode & ~set->mode & ~FI_LOCAL_MR));
	CHECK(!(set->caps & ~info->caps));
	open_all();
	if (set->caps & FI_TAGGED)
		tagged();
	if (set->caps & FI_RMA)
		rma();
	if (set->caps & FI_FENCE)
		fenced();
	if (set->caps & FI_ATOMIC)
		atomics();
	if (set->caps & FI_MSG)
		message();
	close_all();
}

static void test(void)
{
	size_t i;

	for (i = 0; i < hint_set_count; i++) {
		struct fi_info *hints;
		int ret;

		info = NULL;
		set = &hint_sets[i];
		if (gpu && !(set->caps & FI_HMEM))
			continue;
		hints = hints_of_set();
		ret = fi_getinfo(set->version ? set->version : FI_VERSION(1, 9), NULL, NULL, 0,
				 hints, &info);
		fi_freeinfo(hints);
		printf("%s: %s\n", set->user, ret ? fi_strerror(-ret) : "offered");
		RETURNS(ret, set->optional && !gpu && ret ? -FI_ENODATA : 0);
		if (!ret && set->rx_contexts < 2)
			use();
		fi_freeinfo(info);
	}
}

int main(void)
{
	setenv("FI_LOG_LEVEL", "none", 0);
	return run_test(test);
}
