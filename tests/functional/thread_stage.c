/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The objects that threads share. */
#include "thread_pairs.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>

enum { RECVS = 32 };

static void open_queues(struct stage *stage)
{
	struct fi_eq_attr eq = { .wait_obj = FI_WAIT_FD, .flags = FI_WRITE };
	struct fi_cq_attr cq = { .format = FI_CQ_FORMAT_DATA, .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr = { .wait_obj = FI_WAIT_FD };
	struct fi_wait_attr wait = { .wait_obj = FI_WAIT_FD };

	OK(fi_eq_open(stage->fabric, &eq, &stage->eq, NULL));
	OK(fi_cq_open(stage->domain, &cq, &stage->cq, NULL));
	OK(fi_cntr_open(stage->domain, &cntr, &stage->cntr, NULL));
	OK(fi_poll_open(stage->domain, NULL, &stage->poll));
	OK(fi_poll_add(stage->poll, &stage->cq->fid, 0));
	OK(fi_poll_add(stage->poll, &stage->cntr->fid, 0));
	OK(fi_wait_open(stage->fabric, &wait, &stage->wait));
	cntr = (struct fi_cntr_attr){ .wait_obj = FI_WAIT_SET, .wait_set = stage->wait };
	OK(fi_cntr_open(stage->domain, &cntr, &stage->wait_cntr, NULL));
}

static void open_buf(struct stage *stage)
{
	uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

	if (!(stage->info->caps & FI_RMA))
		access = FI_SEND | FI_RECV;
	stage->buf = aligned_alloc(4096, STAGE_BUF);
	CHECK(stage->buf);
	memset(stage->buf, 0, STAGE_BUF);
	OK(fi_mr_reg(stage->domain, stage->buf, STAGE_BUF, access, 0, 7, 0, &stage->mr, NULL));
	stage->desc = fi_mr_desc(stage->mr);
	stage->key = fi_mr_key(stage->mr);
	stage->addr = (uintptr_t)stage->buf;
}

static void open_srx(struct stage *stage, size_t size)
{
	struct fi_rx_attr attr = *stage->info->rx_attr;
	int i;

	attr.size = size;
	OK(fi_srx_context(stage->domain, &attr, &stage->srx, NULL));
	for (i = 0; i < RECVS; i++)
		OK(fi_recv(stage->srx, stage->buf + i * 64, 64, stage->desc, 0, NULL));
}

void stage_open(struct stage *stage, struct fi_info *hints, const char *node, size_t srx_size)
{
	struct fi_av_attr av = { .type = FI_AV_TABLE };
	int ret;

	hints->domain_attr->threading = FI_THREAD_SAFE;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->fabric_attr->prov_name = strdup("verbs");
	hints->domain_attr->name = strdup(need_env("WEFT_DEVICE"));
	ret = fi_getinfo(FI_VERSION(2, 0), node, NULL, node ? FI_SOURCE : 0, hints, &stage->info);
	RETURNS(ret, 0);
	if (srx_size)
		stage->info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	OK(fi_fabric(stage->info->fabric_attr, &stage->fabric, NULL));
	OK(fi_domain(stage->fabric, stage->info, &stage->domain, NULL));
	open_queues(stage);
	open_buf(stage);
	if (srx_size)
		open_srx(stage, srx_size);
	else
		OK(fi_av_open(stage->domain, &av, &stage->av, NULL));
	if (stage->info->ep_attr->type != FI_EP_DGRAM)
		OK(fi_stx_context(stage->domain, NULL, &stage->stx, NULL));
	fi_freeinfo(hints);
}

/* Every object begins with its fid. */
static void closed(void *object)
{
	if (object)
		OK(fi_close(object));
}

void stage_close(struct stage *stage)
{
	closed(stage->ep[0]);
	closed(stage->ep[1]);
	closed(stage->srx);
	closed(stage->stx);
	closed(stage->av);
	closed(stage->mr);
	OK(fi_poll_del(stage->poll, &stage->cntr->fid, 0));
	OK(fi_poll_del(stage->poll, &stage->cq->fid, 0));
	closed(stage->poll);
	closed(stage->wait_cntr);
	closed(stage->wait);
	closed(stage->cntr);
	closed(stage->cq);
	closed(stage->eq);
	closed(stage->domain);
	closed(stage->fabric);
	fi_freeinfo(stage->info);
	free(stage->buf);
}

struct fid_ep *stage_ep(struct stage *stage, struct fi_info *info, struct fid_eq *eq)
{
	struct fid_ep *ep;

	OK(fi_endpoint(stage->domain, info, &ep, NULL));
	OK(fi_ep_bind(ep, &eq->fid, 0));
	OK(fi_ep_bind(ep, &stage->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(ep, &stage->cntr->fid, FI_SEND | FI_RECV));
	if (stage->av)
		OK(fi_ep_bind(ep, &stage->av->fid, 0));
	if (stage->srx)
		OK(fi_ep_bind(ep, &stage->srx->fid, 0));
	OK(fi_enable(ep));
	return ep;
}

static void listen_at(struct worker *worker, struct stage *stage)
{
	char name[128];
	size_t len = sizeof(name);

	OK(fi_passive_ep(stage->fabric, stage->info, &worker->pep, NULL));
	OK(fi_pep_bind(worker->pep, &worker->eq->fid, 0));
	OK(fi_listen(worker->pep));
	OK(fi_getname(&worker->pep->fid, name, &len));
	worker->aim = fi_dupinfo(stage->info);
	CHECK(worker->aim);
	free(worker->aim->dest_addr);
	worker->aim->dest_addr = malloc(len);
	CHECK(worker->aim->dest_addr);
	memcpy(worker->aim->dest_addr, name, len);
	worker->aim->dest_addrlen = len;
	/* A source with no port. */
	free(worker->aim->src_addr);
	worker->aim->src_addr = NULL;
	worker->aim->src_addrlen = 0;
}

void worker_open(struct worker *worker, struct stage *stage, unsigned int number)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };

	*worker = (struct worker){ .stage = stage, .number = number };
	OK(fi_eq_open(stage->fabric, &attr, &worker->eq, NULL));
	if (stage->info->ep_attr->type == FI_EP_MSG)
		listen_at(worker, stage);
}

void worker_close(struct worker *worker)
{
	if (worker->pep)
		OK(fi_close(&worker->pep->fid));
	OK(fi_close(&worker->eq->fid));
	fi_freeinfo(worker->aim);
}

/* Others may have left. */
static struct fi_info *wait_for(struct fid_eq *eq, uint32_t wanted)
{
	uint64_t limit = deadline();
	struct fi_eq_cm_entry entry;
	uint32_t event;

	for (;;) {
		pause_until(limit, "an event of a connection");
		if (fi_eq_sread(eq, &event, &entry, sizeof(entry), 100, 0) < 0)
			continue;
		if (event == wanted)
			return entry.info;
	}
}

struct fi_info *stage_request(struct stage *stage, struct worker *worker, struct fid_ep **ep)
{
	*ep = stage_ep(stage, worker->aim, worker->eq);
	OK(fi_connect(*ep, worker->aim->dest_addr, NULL, 0));
	return wait_for(worker->eq, FI_CONNREQ);
}

struct fid_ep *stage_answer(struct stage *stage, struct worker *worker, struct fi_info *request)
{
	struct fid_ep *ep;

	request->ep_attr->rx_ctx_cnt = stage->info->ep_attr->rx_ctx_cnt;
	ep = stage_ep(stage, request, worker->eq);
	OK(fi_accept(ep, NULL, 0));
	wait_for(worker->eq, FI_CONNECTED);
	wait_for(worker->eq, FI_CONNECTED);
	fi_freeinfo(request);
	return ep;
}

void stage_connect(struct stage *stage, struct worker *worker, struct fid_ep *ep[2])
{
	struct fi_info *request = stage_request(stage, worker, &ep[0]);

	ep[1] = stage_answer(stage, worker, request);
}
