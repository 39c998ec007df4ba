/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_THREAD_SAFE: any two calls at once on reliable datagrams. */
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include "thread_pairs.h"

/* It is connected when it is closed, or about to be. */
static void call_peer_life(struct stage *stage, struct worker *worker)
{
	struct fid_ep *ep = stage_ep(stage, stage->info, worker->eq);

	MAY(fi_inject(ep, stage->buf, 8, stage->to), 0);
	OK(fi_close(&ep->fid));
}

static void call_av_life(struct stage *stage, struct worker *worker)
{
	fi_addr_t addr;

	(void)worker;
	RETURNS(fi_av_insert(stage->av, stage->name, 1, &addr, 0, NULL), 1);
	MAY(fi_inject(stage->ep[0], stage->buf, 8, addr), 0);
	OK(fi_av_remove(stage->av, &addr, 1, 0));
}

static void call_av_lookup(struct stage *stage, struct worker *worker)
{
	size_t len = 128;
	char name[128];

	(void)worker;
	OK(fi_av_lookup(stage->av, stage->to, name, &len));
}

static void test(void)
{
	static const struct call calls[] = {
		{ "fi_write", call_rma_write },
		{ "fi_fetch_atomic", call_fetch_add },
		{ "an alias", call_alias_life },
		{ "a peer's endpoint", call_peer_life },
		{ "fi_av_insert", call_av_life },
		{ "fi_av_lookup", call_av_lookup },
		{ "fi_setopt", call_options },
		{ "a transmit context", call_stx_life },
		{ "FI_QUEUE_WORK", call_queue_work },
		{ "FI_FLUSH_WORK", call_flush_work },
		{ "a send that waits", call_trigger_send },
		{ "fi_mr_bind", call_mr_bind },
		{ "fi_join_collective", call_join },
		{ "fi_barrier", call_barrier },
		{ "fi_broadcast", call_broadcast },
	};
	struct fi_info *hints = fi_allocinfo();
	struct stage stage = { 0 };
	size_t len = sizeof(stage.name);

	CHECK(hints);
	hints->ep_attr->type = FI_EP_RDM;
	hints->addr_format = FI_SOCKADDR_IN;
	hints->caps = FI_MSG | FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT | FI_COLLECTIVE;
	stage_open(&stage, hints, NULL, 0);
	stage.ep[0] = stage_ep(&stage, stage.info, stage.eq);
	stage.ep[1] = stage_ep(&stage, stage.info, stage.eq);
	OK(fi_getname(&stage.ep[1]->fid, stage.name, &len));
	RETURNS(fi_av_insert(stage.av, stage.name, 1, &stage.to, 0, NULL), 1);
	stage_join(&stage);
	stage_run(&stage, calls, ARRAY_SIZE(calls));
	stage_leave(&stage);
	stage_close(&stage);
}

int main(void)
{
	return run_test(test);
}
