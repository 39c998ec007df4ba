/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls that threads make at once on an endpoint's options, on deferred work, and on collective
 * groups.
 */
#include <rdma/fi_collective.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "thread_pairs.h"

void call_options(struct stage *stage, struct worker *worker)
{
	static const int names[] = { FI_OPT_MIN_MULTI_RECV, FI_OPT_TX_SIZE, FI_OPT_MAX_MSG_SIZE };
	struct fid *fid = &stage->ep[worker->number % 2]->fid;
	size_t value = 64 + worker->number, len, i;

	MAY(fi_setopt(fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &value, sizeof(value)),
	    FI_ENOPROTOOPT);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		len = sizeof(value);
		MAY(fi_getopt(fid, FI_OPT_ENDPOINT, names[i], &value, &len), FI_ENOPROTOOPT);
	}
}

/*
 * Counters that are bound when an endpoint is in use. Except for the first time, the shared
 * endpoint has them already.
 */
static void bind_late(struct stage *stage, struct fid_ep *ep)
{
	if (stage->av)
		MAY(fi_inject(ep, stage->buf, 8, stage->to), 0);
	MAY(fi_ep_bind(ep, &stage->cntr->fid, FI_SEND), FI_EBUSY);
	MAY(fi_ep_bind(stage->ep[0], &stage->cntr->fid, FI_SEND), FI_EBUSY);
	if (stage->info->caps & FI_RMA)
		MAY(fi_ep_bind(stage->ep[0], &stage->cntr->fid, FI_READ), FI_EBUSY);
}

void call_late_cntr(struct stage *stage, struct worker *worker)
{
	struct fid_ep *ep = stage_ep(stage, stage->info, worker->eq);

	bind_late(stage, ep);
	OK(fi_close(&ep->fid));
}

/* An endpoint with the shared context, then a context that nobody shares. */
void call_stx_life(struct stage *stage, struct worker *worker)
{
	struct fi_info *info = fi_dupinfo(worker->aim ? worker->aim : stage->info);
	struct fid_stx *stx;
	struct fid_ep *ep;

	CHECK(info);
	info->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
	OK(fi_stx_context(stage->domain, info->tx_attr, &stx, NULL));
	OK(fi_endpoint(stage->domain, info, &ep, NULL));
	OK(fi_ep_bind(ep, &stage->stx->fid, 0));
	RETURNS(fi_ep_bind(ep, &stx->fid, 0), -FI_EBUSY);
	OK(fi_ep_bind(ep, &stage->cq->fid, FI_TRANSMIT | FI_RECV));
	OK(fi_ep_bind(ep, &worker->eq->fid, 0));
	if (stage->av)
		OK(fi_ep_bind(ep, &stage->av->fid, 0));
	if (stage->srx)
		OK(fi_ep_bind(ep, &stage->srx->fid, 0));
	OK(fi_enable(ep));
	bind_late(stage, ep);
	OK(fi_close(&ep->fid));
	OK(fi_close(&stx->fid));
	fi_freeinfo(info);
}

/* Adds to the counter that the work waits for; another thread may perform or cancel the work. */
void call_queue_work(struct stage *stage, struct worker *worker)
{
	worker->op = (struct fi_op_cntr){ stage->wait_cntr, 1 };
	worker->work = (struct fi_deferred_work){ .threshold = fi_cntr_read(stage->cntr) + 1,
						  .triggering_cntr = stage->cntr,
						  .op_type = FI_OP_CNTR_ADD,
						  .op.cntr = &worker->op };
	OK(fi_control(&stage->domain->fid, FI_QUEUE_WORK, &worker->work));
	OK(fi_cntr_add(stage->cntr, 1));
	fi_cntr_read(stage->cntr);
	MAY(fi_control(&stage->domain->fid, FI_CANCEL_WORK, &worker->work), FI_ENOENT);
}

void call_flush_work(struct stage *stage, struct worker *worker)
{
	(void)worker;
	OK(fi_control(&stage->domain->fid, FI_FLUSH_WORK, NULL));
}

/*
 * A message that is sent when a counter reaches a threshold, which happens soon, never, or when the
 * work is flushed.
 */
void call_trigger_send(struct stage *stage, struct worker *worker)
{
	struct iovec iov = { stage->buf, 8 };
	struct fi_msg msg = {
		.msg_iov = &iov, .desc = &stage->desc, .iov_count = 1, .addr = stage->to
	};

	worker->send = (struct fi_op_msg){ .ep = stage->ep[0], .msg = msg };
	worker->work = (struct fi_deferred_work){ .threshold = fi_cntr_read(stage->cntr) +
							       worker->number % 2,
						  .triggering_cntr = stage->cntr,
						  .completion_cntr = stage->wait_cntr,
						  .op_type = FI_OP_SEND,
						  .op.msg = &worker->send };
	OK(fi_control(&stage->domain->fid, FI_QUEUE_WORK, &worker->work));
	MAY(fi_control(&stage->domain->fid, FI_CANCEL_WORK, &worker->work), FI_ENOENT);
}

/* A separate region, and the one that the peer writes to. */
void call_mr_bind(struct stage *stage, struct worker *worker)
{
	uint8_t *at = stage->buf + worker->number * 8192;
	struct fid_mr *mr;

	OK(fi_mr_reg(stage->domain, at, 8192, FI_REMOTE_WRITE | FI_REMOTE_READ, 0,
		     200 + worker->number, 0, &mr, NULL));
	OK(fi_mr_bind(mr, &stage->cntr->fid, FI_REMOTE_WRITE));
	MAY(fi_mr_bind(stage->mr, &stage->cntr->fid, FI_REMOTE_WRITE), FI_EBUSY);
	MAY(fi_mr_refresh(stage->mr, NULL, 0, 0), FI_EOPNOTSUPP);
	OK(fi_close(&mr->fid));
}

static struct fid_av_set *new_set(struct stage *stage, const fi_addr_t *members, size_t count)
{
	struct fi_av_set_attr attr = { .start_addr = FI_ADDR_NOTAVAIL,
				       .end_addr = FI_ADDR_NOTAVAIL };
	struct fid_av_set *set = NULL;
	size_t i;

	OK(fi_av_set(stage->av, &attr, &set, NULL));
	for (i = 0; i < count; i++)
		OK(fi_av_set_insert(set, members[i]));
	return set;
}

/* The thread that reads the event may find the group closed. */
void call_join(struct stage *stage, struct worker *worker)
{
	struct fid_av_set *set = new_set(stage, &stage->to, 1);
	struct fid_mc *mc = NULL;

	(void)worker;
	OK(fi_join_collective(stage->ep[1], FI_ADDR_NOTAVAIL, set, 0, &mc, NULL));
	OK(fi_close(&mc->fid));
	OK(fi_close(&set->fid));
}

void call_barrier(struct stage *stage, struct worker *worker)
{
	(void)worker;
	MAY(fi_barrier(stage->ep[1], fi_mc_addr(stage->alone), NULL), 0);
}

/* The same at both members; each of them has its own count. */
void call_broadcast(struct stage *stage, struct worker *worker)
{
	uint8_t *at = stage->buf + 20480 + worker->number * 64;
	uint64_t limit = deadline();
	struct fi_cq_data_entry entry;
	int i;

	for (i = 0; i < 2; i++)
		while (fi_broadcast(stage->ep[i], at + i * 32, 4, stage->desc,
				    fi_mc_addr(stage->both[i]), stage->to, FI_UINT64, 0,
				    NULL) == -FI_EAGAIN) {
			if (!i)
				return;
			MAY(fi_cq_read(stage->cq, &entry, 1), FI_EAVAIL);
			pause_until(limit, "room for a broadcast");
		}
}

static void wait_joined(struct stage *stage)
{
	struct fi_eq_entry entry;
	uint32_t event;

	RETURNS(fi_eq_sread(stage->eq, &event, &entry, sizeof(entry), WAIT_MS, 0), sizeof(entry));
	EQUAL(event, FI_JOIN_COMPLETE);
}

void stage_join(struct stage *stage)
{
	size_t len = sizeof(stage->name), i;
	char name[sizeof(stage->name)];
	fi_addr_t members[2] = { stage->to };
	struct fid_av_set *set;

	OK(fi_getname(&stage->ep[0]->fid, name, &len));
	RETURNS(fi_av_insert(stage->av, name, 1, &members[1], 0, NULL), 1);
	set = new_set(stage, members, 1);
	OK(fi_join_collective(stage->ep[1], FI_ADDR_NOTAVAIL, set, 0, &stage->alone, NULL));
	wait_joined(stage);
	OK(fi_close(&set->fid));
	set = new_set(stage, members, 2);
	for (i = 0; i < 2; i++)
		OK(fi_join_collective(stage->ep[i], FI_ADDR_NOTAVAIL, set, 0, &stage->both[i],
				      NULL));
	for (i = 0; i < 2; i++)
		wait_joined(stage);
	OK(fi_close(&set->fid));
}

void stage_leave(struct stage *stage)
{
	OK(fi_close(&stage->both[0]->fid));
	OK(fi_close(&stage->both[1]->fid));
	OK(fi_close(&stage->alone->fid));
}
