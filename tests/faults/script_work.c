/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connected reliable-datagram endpoints: counters, statistics, aliases, triggered operations,
 * deferred work, fences, and each kind of RMA with application keys.
 */
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_stats.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include "ends.h"

enum { WAIT_MS = 8000, KINDS = 7, PART = 5000 };

struct work_script {
	struct ends ends;
	struct fid_cntr *when, *done, *hits; /* what is waited for, completions, writes to mr */
	struct fid_poll *poll;
	struct fid_mr *mr; /* of ends.in */
	struct fid_ep *alias;
	struct fi_triggered_context context[6];
	struct fi_deferred_work work[KINDS + 1];
	struct fi_op_tagged tagged[3];
	struct fi_op_rma rma[2];
	struct fi_op_fetch_atomic fetch;
	struct fi_op_compare_atomic swap;
	struct fi_op_atomic add;
	uint64_t one, old;
};

static int open_cntr(struct work_script *w, struct fid_cntr **cntr)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_FD };

	return ends_step(&w->ends, "fi_cntr_open", fi_cntr_open(w->ends.domain, &attr, cntr, NULL));
}

static int open_more(struct work_script *w)
{
	struct ends *s = &w->ends;
	struct fi_ops_stats *stats = NULL;
	struct fi_stats_item items[FI_STATS_MAX];
	void *found;

	return ends_step(s, "fi_open_ops",
			 fi_open_ops(&s->ep[0]->fid, FI_STATS_OPS, 0, (void **)&stats, NULL)) ||
	       ends_step(s, "reading statistics",
			 stats->read(&s->ep[0]->fid, items, FI_STATS_MAX)) ||
	       open_cntr(w, &w->when) || open_cntr(w, &w->done) || open_cntr(w, &w->hits) ||
	       ends_step(s, "fi_mr_reg",
			 fi_mr_reg(s->domain, s->in, ENDS_LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
				   ENDS_KEY + 1, 0, &w->mr, NULL)) ||
	       ends_step(s, "fi_mr_bind", fi_mr_bind(w->mr, &w->hits->fid, FI_REMOTE_WRITE)) ||
	       ends_step(s, "fi_poll_open", fi_poll_open(s->domain, NULL, &w->poll)) ||
	       ends_step(s, "fi_poll_add", fi_poll_add(w->poll, &w->hits->fid, 0)) ||
	       ends_step(s, "fi_poll_add", fi_poll_add(w->poll, &s->cq[0]->fid, 0)) ||
	       ends_step(s, "fi_poll", fi_poll(w->poll, &found, 1)) ||
	       ends_step(s, "fi_ep_alias", fi_ep_alias(s->ep[0], &w->alias, FI_TRANSMIT));
}

static int receive(struct ends *s, uint64_t tag)
{
	return ends_step(
		s, "fi_trecv",
		AGAIN(fi_trecv(s->ep[1], s->target, ENDS_LEN, NULL, FI_ADDR_UNSPEC, tag, 0, NULL)));
}

static int by_alias(struct work_script *w)
{
	struct ends *s = &w->ends;

	return receive(s, 1) ||
	       ends_step(s, "fi_tsend of an alias",
			 AGAIN(fi_tsend(w->alias, s->out, PART, NULL, s->to[0], 1, NULL))) ||
	       ends_step(s, "fi_write of an alias",
			 AGAIN(fi_write(w->alias, s->out, PART, NULL, s->to[0], 0, ENDS_KEY + 1,
					NULL))) ||
	       ends_step(s, "fi_fetch_atomic of an alias",
			 AGAIN(fi_fetch_atomic(w->alias, &w->one, 1, NULL, &w->old, NULL, s->to[0],
					       0, ENDS_KEY, FI_UINT64, FI_SUM, NULL))) ||
	       ends_complete(s, "waiting for what an alias did", 3, 1);
}

/* Vectors, injected, with data, one that needs several rounds, and a read in segments. */
static int transfer(struct work_script *w)
{
	struct ends *s = &w->ends;
	struct iovec iov[2] = { { s->out, 3000 }, { s->out + PART, PART } };
	struct fi_rma_iov remote[2] = { { 0, 3000, ENDS_KEY }, { 9000, PART, ENDS_KEY + 1 } };
	struct fi_msg_rma msg = { .msg_iov = iov,
				  .iov_count = 2,
				  .addr = s->to[0],
				  .rma_iov = remote,
				  .rma_iov_count = 2 };
	struct fi_msg_rma small = msg;
	struct iovec word = { s->out, 8 };
	struct fi_rma_iov at = { 8, 8, ENDS_KEY };

	small.msg_iov = &word;
	small.rma_iov = &at;
	small.iov_count = small.rma_iov_count = 1;
	return ends_step(s, "fi_writemsg", AGAIN(fi_writemsg(s->ep[0], &msg, 0))) ||
	       ends_step(s, "fi_readmsg", AGAIN(fi_readmsg(s->ep[0], &msg, 0))) ||
	       ends_step(s, "fi_writemsg with FI_INJECT",
			 AGAIN(fi_writemsg(s->ep[0], &small, FI_INJECT | FI_COMPLETION))) ||
	       ends_step(s, "fi_writedata",
			 AGAIN(fi_writedata(s->ep[0], s->out, 8, NULL, 5, s->to[0], 0, ENDS_KEY,
					    NULL))) ||
	       ends_step(s, "fi_inject_write",
			 AGAIN(fi_inject_write(s->ep[0], s->out, 8, s->to[0], 0, ENDS_KEY))) ||
	       ends_complete(s, "waiting for transfers", 4, 1);
}

/* What is behind a fence, of each kind. */
static int fences(struct work_script *w)
{
	struct ends *s = &w->ends;
	struct iovec iov = { s->out, 64 };
	struct fi_rma_iov at = { 0, 64, ENDS_KEY };
	struct fi_ioc ioc = { &w->one, 1 };
	struct fi_rma_ioc word = { 0, 1, ENDS_KEY };
	struct fi_msg_rma rma = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = s->to[0],
				  .rma_iov = &at,
				  .rma_iov_count = 1 };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = s->to[0], .tag = 2 };
	struct fi_msg_atomic atomic = { .msg_iov = &ioc,
					.iov_count = 1,
					.addr = s->to[0],
					.rma_iov = &word,
					.rma_iov_count = 1,
					.datatype = FI_UINT64,
					.op = FI_SUM };

	return receive(s, 2) ||
	       ends_step(s, "fi_read",
			 AGAIN(fi_read(s->ep[0], s->target, ENDS_LEN, NULL, s->to[0], 0,
				       ENDS_KEY + 1, NULL))) ||
	       ends_step(s, "fi_tsendmsg with FI_FENCE",
			 AGAIN(fi_tsendmsg(s->ep[0], &msg, FI_FENCE))) ||
	       ends_step(s, "fi_writemsg with FI_FENCE",
			 AGAIN(fi_writemsg(s->ep[0], &rma, FI_FENCE))) ||
	       ends_step(s, "fi_atomicmsg with FI_FENCE",
			 AGAIN(fi_atomicmsg(s->ep[0], &atomic, FI_FENCE))) ||
	       ends_complete(s, "waiting for what is behind fences", 4, 1);
}

static void *at_one(struct work_script *w, int i)
{
	w->context[i] = (struct fi_triggered_context){ .event_type = FI_TRIGGER_THRESHOLD,
						       .trigger.threshold = { w->when, 1 } };
	return &w->context[i];
}

static int triggered(struct work_script *w)
{
	struct ends *s = &w->ends;
	struct iovec iov = { s->out, PART }, to = { s->target, PART };
	struct fi_rma_iov at = { 0, PART, ENDS_KEY + 1 };
	struct fi_ioc ioc = { &w->one, 1 };
	struct fi_rma_ioc word = { 0, 1, ENDS_KEY };
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = s->to[0], .tag = 3 };
	struct fi_msg_tagged recv = { .msg_iov = &to, .iov_count = 1, .addr = s->to[1], .tag = 3 };
	struct fi_msg_rma rma = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = s->to[0],
				  .rma_iov = &at,
				  .rma_iov_count = 1 };
	struct fi_msg_atomic atomic = { .msg_iov = &ioc,
					.iov_count = 1,
					.addr = s->to[0],
					.rma_iov = &word,
					.rma_iov_count = 1,
					.datatype = FI_UINT64,
					.op = FI_SUM };

	recv.context = at_one(w, 0);
	msg.context = at_one(w, 1);
	rma.context = at_one(w, 2);
	atomic.context = at_one(w, 3);
	return ends_step(s, "a triggered receive", fi_trecvmsg(s->ep[1], &recv, FI_TRIGGER)) ||
	       ends_step(s, "a triggered message", fi_tsendmsg(s->ep[0], &msg, FI_TRIGGER)) ||
	       ends_step(s, "a triggered write", fi_writemsg(s->ep[0], &rma, FI_TRIGGER)) ||
	       ends_step(s, "a triggered atomic",
			 fi_atomicmsg(s->ep[0], &atomic, FI_TRIGGER | FI_INJECT)) ||
	       ends_step(s, "fi_cntr_add", fi_cntr_add(w->when, 1)) ||
	       ends_complete(s, "waiting for what was triggered", 3, 1);
}

static void set_ops(struct work_script *w)
{
	static struct iovec iov, in;
	static struct fi_rma_iov at = { 0, PART, ENDS_KEY };
	static struct fi_ioc one, old;
	static struct fi_rma_ioc word = { 0, 1, ENDS_KEY };
	struct ends *s = &w->ends;
	struct fi_msg_tagged msg = { .msg_iov = &iov, .iov_count = 1, .addr = s->to[0], .tag = 4 };
	struct fi_msg_rma rma = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = s->to[0],
				  .rma_iov = &at,
				  .rma_iov_count = 1 };
	struct fi_msg_atomic atomic = { .msg_iov = &one,
					.iov_count = 1,
					.addr = s->to[0],
					.rma_iov = &word,
					.rma_iov_count = 1,
					.datatype = FI_UINT64,
					.op = FI_SUM };
	struct fi_msg_fetch fetch = { .msg_iov = &old, .iov_count = 1 };
	struct fi_msg_compare compare = { .msg_iov = &one, .iov_count = 1 };

	iov = (struct iovec){ s->out, PART };
	in = (struct iovec){ s->target, PART };
	one = (struct fi_ioc){ &w->one, 1 };
	old = (struct fi_ioc){ &w->old, 1 };
	w->tagged[0] = (struct fi_op_tagged){ .ep = s->ep[0], .msg = msg };
	msg.msg_iov = &in;
	msg.addr = FI_ADDR_UNSPEC;
	w->tagged[1] = (struct fi_op_tagged){ .ep = s->ep[1], .msg = msg };
	w->tagged[2] = (struct fi_op_tagged){ .ep = w->alias, .msg = w->tagged[0].msg };
	w->rma[0] = (struct fi_op_rma){ .ep = s->ep[0], .msg = rma };
	w->rma[1] = (struct fi_op_rma){ .ep = s->ep[0], .msg = rma };
	w->add = (struct fi_op_atomic){ .ep = s->ep[0], .msg = atomic, .flags = FI_INJECT };
	w->fetch = (struct fi_op_fetch_atomic){ .ep = s->ep[0], .msg = atomic, .fetch = fetch };
	atomic.op = FI_CSWAP;
	w->swap = (struct fi_op_compare_atomic){
		.ep = s->ep[0], .msg = atomic, .fetch = fetch, .compare = compare
	};
}

static int queue(struct work_script *w, int i, enum fi_op_type type, void *op, uint64_t threshold)
{
	w->work[i] = (struct fi_deferred_work){ .threshold = threshold,
						.triggering_cntr = w->when,
						.completion_cntr = w->done,
						.op_type = type };
	memcpy(&w->work[i].op, &op, sizeof(op)); /* whatever it points to */
	return ends_step(&w->ends, "FI_QUEUE_WORK",
			 fi_control(&w->ends.domain->fid, FI_QUEUE_WORK, &w->work[i]));
}

/* The counter counts all of them; a failure is also written to a completion queue. */
static int all_done(struct work_script *w)
{
	long end = ends_now_ms() + WAIT_MS;
	struct ends *s = &w->ends;

	while (fi_cntr_read(w->done) < KINDS) {
		if (ends_take(s, 0, "waiting for deferred work") < 0 ||
		    ends_take(s, 1, "waiting for deferred work") < 0)
			return -1;
		if (ends_now_ms() >= end)
			return ends_time_out(s, "waiting for deferred work");
	}
	return ends_step(s, "waiting for deferred work", 0);
}

/* All at once; one more is canceled, and another is discarded with its endpoint. */
static int deferred(struct work_script *w)
{
	struct ends *s = &w->ends;

	set_ops(w);
	return queue(w, 0, FI_OP_TRECV, &w->tagged[1], 2) ||
	       queue(w, 1, FI_OP_TSEND, &w->tagged[0], 2) ||
	       queue(w, 2, FI_OP_WRITE, &w->rma[0], 2) || queue(w, 3, FI_OP_READ, &w->rma[1], 2) ||
	       queue(w, 4, FI_OP_ATOMIC, &w->add, 2) ||
	       queue(w, 5, FI_OP_FETCH_ATOMIC, &w->fetch, 2) ||
	       queue(w, 6, FI_OP_COMPARE_ATOMIC, &w->swap, 2) ||
	       queue(w, 7, FI_OP_TSEND, &w->tagged[2], 1000) ||
	       ends_step(s, "FI_CANCEL_WORK",
			 fi_control(&s->domain->fid, FI_CANCEL_WORK, &w->work[7])) ||
	       queue(w, 7, FI_OP_TSEND, &w->tagged[2], 1000) ||
	       ends_step(s, "fi_cntr_add", fi_cntr_add(w->when, 1)) || all_done(w);
}

static void close_more(struct work_script *w)
{
	struct ends *s = &w->ends;
	int i;

	ends_close_one(s, w->alias);
	for (i = 0; i < 2; i++) {
		ends_close_one(s, s->ep[i]);
		s->ep[i] = NULL;
	}
	if (w->poll && s->cq[0]) {
		fi_poll_del(w->poll, &w->hits->fid, 0);
		fi_poll_del(w->poll, &s->cq[0]->fid, 0);
	}
	ends_close_one(s, w->poll);
	ends_close_one(s, w->mr);
	ends_close_one(s, w->hits);
	ends_close_one(s, w->done);
	ends_close_one(s, w->when);
}

/* They know each other, and have a connection. */
static int begin(struct work_script *w)
{
	struct ends *s = &w->ends;
	uint64_t caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER | FI_RMA_EVENT;

	return ends_open_fabric(s, caps) || ends_open_domain(s) || ends_open(s, 0) ||
	       ends_open(s, 1) || ends_introduce(s, 0) || ends_introduce(s, 1) || receive(s, 9) ||
	       ends_step(s, "fi_tsend", fi_tsend(s->ep[0], s->out, 8, NULL, s->to[0], 9, NULL)) ||
	       ends_complete(s, "waiting for a connection", 1, 1);
}

void script_work(const char *addr, struct outcome *outcome)
{
	static struct work_script w;

	(void)addr;
	memset(outcome, 0, sizeof(*outcome));
	memset(&w, 0, sizeof(w));
	w.ends.outcome = outcome;
	if (!begin(&w)) {
		script_begins();
		outcome->connecting = true;
		(void)(open_more(&w) || by_alias(&w) || transfer(&w) || fences(&w) ||
		       triggered(&w) || deferred(&w));
	}
	close_more(&w);
	ends_close(&w.ends);
}
