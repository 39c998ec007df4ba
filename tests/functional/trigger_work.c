/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Deferred work: a token goes back and forth by receives, sends and counters that wait for each
 * other, without a completion that the application sees; work that can no longer run is canceled.
 */
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "steps.h"

enum { ROUNDS = 20, LEN = 8 };

/* The structures of queued work must remain until it is done. */
struct works {
	struct fid_cntr *received, *sent, *sum;
	struct fi_deferred_work recv[ROUNDS], send[ROUNDS], add;
	struct fi_op_msg recv_op[ROUNDS], send_op[ROUNDS];
	struct fi_op_cntr add_op;
	struct iovec iov;
};

static struct works both[2]; /* of the client and of the server */

static void queue(struct end *end, struct fi_deferred_work *work)
{
	OK(fi_control(&end->domain->fid, FI_QUEUE_WORK, work));
}

static void open_counters(struct end *end, struct works *w)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };

	OK(fi_cntr_open(end->domain, &attr, &w->received, NULL));
	OK(fi_cntr_open(end->domain, &attr, &w->sent, NULL));
	OK(fi_cntr_open(end->domain, &attr, &w->sum, NULL));
	w->iov = (struct iovec){ end->buf, LEN };
}

static void queue_msg(struct end *end, struct works *w, int i, bool first)
{
	struct fi_msg msg = { .msg_iov = &w->iov, .desc = &end->desc, .iov_count = 1 };

	w->recv_op[i] = w->send_op[i] = (struct fi_op_msg){ .ep = end->ep, .msg = msg };
	w->recv[i] = (struct fi_deferred_work){ .threshold = (uint64_t)i,
						.triggering_cntr = w->received,
						.completion_cntr = w->received,
						.op_type = FI_OP_RECV,
						.op.msg = &w->recv_op[i] };
	w->send[i] = (struct fi_deferred_work){ .threshold = (uint64_t)i + !first,
						.triggering_cntr = w->received,
						.completion_cntr = w->sent,
						.op_type = FI_OP_SEND,
						.op.msg = &w->send_op[i] };
	queue(end, &w->recv[i]);
	if (i || !first)
		queue(end, &w->send[i]);
}

static void queue_all(struct end *end, struct works *w, bool first)
{
	int i;

	open_counters(end, w);
	for (i = 0; i < ROUNDS; i++)
		queue_msg(end, w, i, first);
	w->add_op = (struct fi_op_cntr){ w->sum, 42 };
	w->add = (struct fi_deferred_work){ .threshold = ROUNDS,
					    .triggering_cntr = w->received,
					    .op_type = FI_OP_CNTR_ADD,
					    .op.cntr = &w->add_op };
	queue(end, &w->add);
}

static void step_queue(struct end *end, void *arg)
{
	(void)arg;
	queue_all(end, &both[1], false);
}

static void step_wait(struct end *end, void *arg)
{
	struct works *w = &both[1];

	(void)arg;
	RETURNS(fi_cntr_wait(w->sum, 42, WAIT_MS), 0);
	RETURNS(fi_cntr_wait(w->sent, ROUNDS, WAIT_MS), 0);
	no_comp(end->cq, 5);
	no_comp(end->rxcq, 5);
	/* The endpoint's own counters do not count it. */
	EQUAL(fi_cntr_read(end->cntr[CNTR_SEND]), 0);
	EQUAL(fi_cntr_read(end->cntr[CNTR_RECV]), 0);
}

/* In one process both make progress in turn. */
static void progress(struct pair *pair)
{
	uint64_t limit = deadline();

	if (two_processes(pair))
		at_begin(&pair->server, step_wait, NULL, 0);
	while (fi_cntr_read(both[0].received) < ROUNDS) {
		if (!two_processes(pair))
			fi_cntr_read(both[1].received);
		pause_until(limit, "the token has come back each time");
	}
	RETURNS(fi_cntr_wait(both[0].sum, 42, WAIT_MS), 0);
	if (two_processes(pair))
		at_end(&pair->server, NULL, 0);
	else
		step_wait(&pair->server, NULL);
}

static void cancelled(struct end *end)
{
	struct works *w = &both[0];
	struct fid *domain = &end->domain->fid;

	w->add.threshold = 1000000;
	queue(end, &w->add);
	RETURNS(fi_close(&w->received->fid), -FI_EBUSY);
	OK(fi_control(domain, FI_CANCEL_WORK, &w->add));
	RETURNS(fi_control(domain, FI_CANCEL_WORK, &w->add), -FI_ENOENT);
	queue(end, &w->add);
	OK(fi_control(domain, FI_FLUSH_WORK, NULL));
	OK(fi_cntr_set(w->received, 1000000));
	EQUAL(fi_cntr_read(w->sum), 42);
	w->add.op_type = FI_OP_TSEND;
	w->add.op.msg = &w->send_op[0];
	RETURNS(fi_control(domain, FI_QUEUE_WORK, &w->add), -FI_EOPNOTSUPP);
	RETURNS(fi_control(domain, FI_QUEUE_WORK, NULL), -FI_EINVAL);
}

static void step_close(struct end *end, void *arg)
{
	struct works *w = &both[*(int *)arg];

	/* The work that counts in it is complete, so the endpoint need not be closed first. */
	RETURNS(fi_cntr_wait(w->sent, ROUNDS, WAIT_MS), 0);
	OK(fi_close(&w->sent->fid));
	OK(fi_close(&end->ep->fid));
	end->ep = NULL;
	OK(fi_close(&w->received->fid));
	OK(fi_close(&w->sum->fid));
}

static void test(struct pair *pair)
{
	struct end *end = &pair->client;
	int mine = 0, theirs = 1;

	at(&pair->server, step_queue, NULL, 0);
	queue_all(end, &both[0], true);
	queue(end, &both[0].send[0]); /* the first one, whose threshold is reached */
	progress(pair);
	cancelled(end);
	step_close(end, &mine);
	at(&pair->server, step_close, &theirs, sizeof(theirs));
}

int main(int argc, char **argv)
{
	static const struct setup setup = {
		.caps = FI_MSG | FI_RMA | FI_TRIGGER,
		.cntrs = FI_SEND | FI_RECV,
	};

	return run_pair(argc, argv, &setup, test);
}
