/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_THREAD_SAFE: any two calls at once on connected endpoints with a shared receive context. */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "fixture.h"
#include "thread_pairs.h"

/* Messages that arrived may not have been read when the objects are closed. */
static void call_link_life(struct stage *stage, struct worker *worker)
{
	struct fid_ep *ep[2];

	stage_connect(stage, worker, ep);
	MAY(fi_inject(ep[0], stage->buf, 8, 0), 0);
	OK(fi_close(&ep[0]->fid));
	OK(fi_close(&ep[1]->fid));
}

/* Connects to a port where nobody listens; the answer is not waited for. */
static void call_connect(struct stage *stage, struct worker *worker)
{
	struct fid_ep *ep = stage_ep(stage, worker->aim, stage->eq);
	struct sockaddr_in to = *(const struct sockaddr_in *)worker->aim->dest_addr;

	to.sin_port = htons(9);
	OK(fi_connect(ep, &to, NULL, 0));
	OK(fi_close(&ep->fid));
}

static void call_pep_life(struct stage *stage, struct worker *worker)
{
	struct fid_pep *pep;

	(void)worker;
	OK(fi_passive_ep(stage->fabric, stage->info, &pep, NULL));
	OK(fi_pep_bind(pep, &stage->eq->fid, 0));
	OK(fi_listen(pep));
	OK(fi_close(&pep->fid));
}

static void test(void)
{
	static const struct call calls[] = {
		{ "fi_write", call_rma_write },
		{ "fi_fetch_atomic", call_fetch_add },
		{ "an alias", call_alias_life },
		{ "a connection", call_link_life },
		{ "fi_connect", call_connect },
		{ "a passive endpoint", call_pep_life },
		{ "fi_setopt", call_options },
		{ "a transmit context", call_stx_life },
		{ "FI_QUEUE_WORK", call_queue_work },
		{ "FI_FLUSH_WORK", call_flush_work },
		{ "a send that waits", call_trigger_send },
	};
	struct fi_info *hints = fi_allocinfo();
	struct stage stage = { 0 };
	struct worker worker;

	CHECK(hints);
	hints->ep_attr->type = FI_EP_MSG;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_TRIGGER;
	stage_open(&stage, hints, local_addr(), 64);
	worker_open(&worker, &stage, 0);
	stage_connect(&stage, &worker, stage.ep);
	stage_run(&stage, calls, ARRAY_SIZE(calls));
	OK(fi_close(&stage.ep[0]->fid));
	OK(fi_close(&stage.ep[1]->fid));
	stage.ep[0] = stage.ep[1] = NULL;
	worker_close(&worker);
	stage_close(&stage);
}

int main(void)
{
	return run_test(test);
}
