/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Triggered operations and deferred work of reliable datagrams, of every kind. */
#include "rdm.h"

#include <string.h>
#include <rdma/fi_trigger.h>

enum { LEN = 50000, KEY = 9, ROUNDS = 20 };

static struct rdm_pair pair;
static struct fid_mr *mr;
static struct fid_cntr *when, *done;
static uint8_t target[LEN], in[LEN], out[LEN];
static char marker;

static void ask(struct fi_info *hints)
{
	hints->caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_TRIGGER;
}

static struct fid_cntr *new_cntr(void)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_cntr *cntr;

	OK(fi_cntr_open(pair.domain, &attr, &cntr, NULL));
	return cntr;
}

/* Checks that no operation has started, as far as both sides can see. */
static void nothing(void)
{
	int i;

	for (i = 0; i < 20; i++) {
		RETURNS(fi_cq_read(pair.side[0].cq, NULL, 0), -FI_EAGAIN);
		RETURNS(fi_cq_read(pair.side[1].cq, NULL, 0), -FI_EAGAIN);
	}
}

static struct fi_triggered_context at(uint64_t threshold)
{
	return (struct fi_triggered_context){ .event_type = FI_TRIGGER_THRESHOLD,
					      .trigger.threshold = { when, threshold } };
}

static ssize_t tsend(void *buf, uint64_t tag, struct fi_triggered_context *context, uint64_t flags)
{
	struct iovec iov = { buf, 8 };
	struct fi_msg_tagged msg = { .msg_iov = &iov,
				     .iov_count = 1,
				     .addr = pair.side[0].peer,
				     .tag = tag,
				     .context = context };

	return fi_tsendmsg(pair.side[0].ep, &msg, flags | FI_TRIGGER);
}

static ssize_t rma(bool read, struct fi_triggered_context *context)
{
	struct iovec iov = { read ? in : out, LEN };
	struct fi_rma_iov place = { 0, LEN, fi_mr_key(mr) };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .addr = pair.side[0].peer,
				  .rma_iov = &place,
				  .rma_iov_count = 1,
				  .context = context };
	struct fid_ep *ep = pair.side[0].ep;

	return read ? fi_readmsg(ep, &msg, FI_TRIGGER) : fi_writemsg(ep, &msg, FI_TRIGGER);
}

/* In the order of the thresholds; the data of FI_INJECT is that at the time of the call. */
static void messages(void)
{
	struct fi_triggered_context late = at(2), soon = at(1);
	uint64_t first = 1, second = 2, got[2] = { 0 };
	struct rdm_side *to = &pair.side[1];

	OK(fi_cntr_set(when, 0));
	OK(fi_trecv(to->ep, &got[0], 8, NULL, FI_ADDR_UNSPEC, 0, ~0ULL, &got[0]));
	OK(tsend(&second, 2, &late, FI_INJECT));
	OK(tsend(&first, 1, &soon, 0));
	second = 0;
	nothing();
	OK(fi_cntr_add(when, 1));
	CHECK(rdm_wait(&pair, 0).op_context == &soon);
	EQUAL(rdm_wait(&pair, 1).tag, 1);
	EQUAL(got[0], 1);
	nothing();
	OK(fi_cntr_add(when, 5));
	CHECK(rdm_wait(&pair, 0).op_context == &late);
	OK(fi_trecv(to->ep, &got[1], 8, NULL, FI_ADDR_UNSPEC, 2, 0, &got[1]));
	EQUAL(rdm_wait(&pair, 1).tag, 2);
	EQUAL(got[1], 2);
}

/* The receive is posted when a message that it matches has arrived. */
static void receive(void)
{
	struct fi_triggered_context context = at(100);
	struct iovec iov = { in, LEN };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &context
	};

	OK(fi_recvmsg(pair.side[1].ep, &msg, FI_TRIGGER));
	OK(fi_send(pair.side[0].ep, out, 8, NULL, pair.side[0].peer, NULL));
	rdm_wait(&pair, 0);
	nothing();
	OK(fi_cntr_set(when, 100));
	CHECK(rdm_wait(&pair, 1).op_context == &context);
}

static void memory(void)
{
	struct fi_triggered_context write = at(200), read = at(201), add = at(202);
	uint64_t one = 1, old = 0, before;
	struct fi_ioc ioc = { &one, 1 }, result = { &old, 1 };
	struct fi_rma_ioc place = { 0, 1, fi_mr_key(mr) };
	struct fi_msg_atomic msg = { .msg_iov = &ioc,
				     .iov_count = 1,
				     .addr = pair.side[0].peer,
				     .rma_iov = &place,
				     .rma_iov_count = 1,
				     .datatype = FI_UINT64,
				     .op = FI_SUM,
				     .context = &add };

	fill(out, LEN, 3);
	memcpy(&before, out, 8);
	OK(fi_fetch_atomicmsg(pair.side[0].ep, &msg, &result, NULL, 1, FI_TRIGGER));
	OK(rma(true, &read));
	OK(rma(false, &write));
	nothing();
	OK(fi_cntr_set(when, 200));
	CHECK(rdm_wait(&pair, 0).op_context == &write);
	CHECK_FILLED(target, LEN, 3);
	OK(fi_cntr_set(when, 201));
	CHECK(rdm_wait(&pair, 0).op_context == &read);
	CHECK_FILLED(in, LEN, 3);
	OK(fi_cntr_set(when, 202));
	CHECK(rdm_wait(&pair, 0).op_context == &add);
	EQUAL(old, before);
}

static void bad_calls(void)
{
	struct fi_triggered_context context = at(1);
	uint64_t word;

	context.event_type = FI_TRIGGER_XPU;
	RETURNS(tsend(&word, 1, &context, 0), -FI_ENOSYS);
	context = at(1);
	context.trigger.threshold.cntr = NULL;
	RETURNS(tsend(&word, 1, &context, 0), -FI_EINVAL);
	RETURNS(tsend(&word, 1, NULL, 0), -FI_EINVAL);
	context = at(1);
	RETURNS(tsend(NULL, 1, &context, 0), -FI_EINVAL);
	RETURNS(tsend(&word, 1, &context, FI_MULTICAST), -FI_EBADFLAGS);
}

static void queue(struct fi_deferred_work *work, uint64_t threshold)
{
	work->threshold = threshold;
	work->triggering_cntr = when;
	if (work->op_type < FI_OP_CNTR_SET)
		work->completion_cntr = done;
	OK(fi_control(&pair.domain->fid, FI_QUEUE_WORK, work));
}

static void wait_done(uint64_t value)
{
	uint64_t end = deadline();

	for (; fi_cntr_read(done) < value; pause_until(end, "deferred work"))
		fi_cq_read(pair.side[1].cq, NULL, 0);
	EQUAL(fi_cntr_read(done), value);
}

static struct fi_op_tagged tagged(int side, void *buf, struct iovec *iov, uint64_t flags)
{
	*iov = (struct iovec){ buf, 8 };
	return (struct fi_op_tagged){ .ep = pair.side[side].ep,
				      .msg = { .msg_iov = iov,
					       .iov_count = 1,
					       .addr = side ? FI_ADDR_UNSPEC : pair.side[0].peer,
					       .tag = 7,
					       .context = &marker },
				      .flags = flags };
}

/* They count, and have a completion only if one is requested. */
static void deferred(void)
{
	struct iovec send_iov, recv_iov;
	struct fi_op_tagged send = tagged(0, out, &send_iov, 0);
	struct fi_op_tagged recv = tagged(1, in, &recv_iov, FI_COMPLETION);
	struct fi_deferred_work send_work = { .op_type = FI_OP_TSEND, .op.tagged = &send };
	struct fi_deferred_work recv_work = { .op_type = FI_OP_TRECV, .op.tagged = &recv };
	struct fi_op_cntr add = { when, 1 };
	struct fi_deferred_work add_work = { .op_type = FI_OP_CNTR_ADD, .op.cntr = &add };

	OK(fi_cntr_set(when, 0));
	memset(in, 0, 8);
	memset(out, 5, 8);
	queue(&recv_work, 1);
	queue(&send_work, 3);
	queue(&add_work, 2);
	nothing();
	EQUAL(fi_cntr_read(done), 0);
	OK(fi_cntr_add(when, 1));
	nothing();
	OK(fi_cntr_add(when, 1));
	wait_done(2);
	EQUAL(fi_cntr_read(when), 3);
	CHECK(!memcmp(in, out, 8));
	CHECK(rdm_wait(&pair, 1).op_context == &marker);
	nothing();
}

/* The work that counts in it is complete, so the endpoints need not be closed first. */
static void counter_closed(void)
{
	struct fid_cntr *before = done;
	struct iovec send_iov, recv_iov;
	struct fi_op_tagged send = tagged(0, out, &send_iov, 0), recv = tagged(1, in, &recv_iov, 0);
	struct fi_deferred_work send_work = { .op_type = FI_OP_TSEND, .op.tagged = &send };
	struct fi_deferred_work recv_work = { .op_type = FI_OP_TRECV, .op.tagged = &recv };

	OK(fi_cntr_set(when, 1));
	done = new_cntr();
	queue(&recv_work, 1);
	RETURNS(fi_close(&done->fid), -FI_EBUSY);
	queue(&send_work, 1);
	wait_done(2);
	OK(fi_close(&done->fid));
	nothing();
	done = before;
}

static void one_by_one(struct fi_deferred_work *works, uint64_t count, uint64_t *value)
{
	uint64_t before = fi_cntr_read(done), i;

	fill(out, LEN, 6);
	memset(in, 0, LEN);
	OK(fi_cntr_set(when, 0));
	for (i = 0; i < count; i++)
		queue(&works[i], i + 1);
	*value = 41;
	nothing();
	for (i = 0; i < count; i++) {
		OK(fi_cntr_add(when, 1));
		wait_done(before + i + 1);
	}
}

static void refused(struct fi_deferred_work *work)
{
	queue(work, 1);
	EQUAL(rdm_wait_error(&pair, 0).err, FI_EKEYREJECTED);
	EQUAL(fi_cntr_readerr(done), 1);
}

/* Each has one completion; an error is written to the CQ, too. */
static void deferred_memory(void)
{
	uint64_t value = 40, old = 0, compare = 40, key = fi_mr_key(mr);
	struct iovec iov = { out, LEN }, back = { in, LEN };
	struct fi_rma_iov place = { 0, LEN, key };
	struct fi_ioc ioc = { &value, 1 }, cmp = { &compare, 1 }, result = { &old, 1 };
	struct fi_rma_ioc word = { 0, 1, key };
	struct rdm_side *side = &pair.side[0];
	struct fi_op_rma write = { .ep = side->ep,
				   .msg = { .msg_iov = &iov,
					    .iov_count = 1,
					    .addr = side->peer,
					    .rma_iov = &place,
					    .rma_iov_count = 1 } };
	struct fi_op_rma read = write;
	struct fi_op_atomic set = { .ep = side->ep,
				    .msg = { .msg_iov = &ioc,
					     .iov_count = 1,
					     .addr = side->peer,
					     .rma_iov = &word,
					     .rma_iov_count = 1,
					     .datatype = FI_UINT64,
					     .op = FI_ATOMIC_WRITE,
					     .context = &marker },
				    .flags = FI_INJECT };
	struct fi_op_compare_atomic swap = { .ep = side->ep,
					     .msg = set.msg,
					     .fetch = { .msg_iov = &result, .iov_count = 1 },
					     .compare = { .msg_iov = &cmp, .iov_count = 1 } };
	struct fi_deferred_work works[] = {
		{ .op_type = FI_OP_WRITE, .op.rma = &write },
		{ .op_type = FI_OP_READ, .op.rma = &read },
		{ .op_type = FI_OP_ATOMIC, .op.atomic = &set },
		{ .op_type = FI_OP_COMPARE_ATOMIC, .op.compare_atomic = &swap },
		{ .op_type = FI_OP_ATOMIC, .op.atomic = &set },
	};

	read.msg.msg_iov = &back;
	swap.msg.op = FI_CSWAP;
	one_by_one(works, 4, &value);
	CHECK_FILLED(in, LEN, 6);
	EQUAL(old, 40);
	memcpy(&old, target, 8);
	EQUAL(old, 41);
	nothing();
	word.key = 12345;
	refused(&works[4]);
}

/* Work that can no longer run is canceled, also by closing the endpoint. */
static void cancel(void)
{
	struct fid *domain = &pair.domain->fid;
	struct iovec iov;
	struct fi_op_tagged send = tagged(0, out, &iov, 0);
	struct fi_deferred_work work = { .op_type = FI_OP_TSEND, .op.tagged = &send };
	struct fi_triggered_context context = at(1000001);
	struct iovec recv_iov;
	struct fi_op_tagged recv = tagged(1, in, &recv_iov, 0);
	struct fi_deferred_work recv_work = { .op_type = FI_OP_TRECV, .op.tagged = &recv };
	uint64_t word = 0, errors = fi_cntr_readerr(done);

	queue(&recv_work, 0);
	nothing();
	OK(fi_cancel(&pair.side[1].ep->fid, &marker));
	EQUAL(rdm_wait_error(&pair, 1).err, FI_ECANCELED);
	EQUAL(fi_cntr_readerr(done), errors + 1);
	RETURNS(fi_cancel(&pair.side[1].ep->fid, &marker), -FI_ENOENT);
	queue(&work, 1000000);
	OK(fi_control(domain, FI_CANCEL_WORK, &work));
	RETURNS(fi_control(domain, FI_CANCEL_WORK, &work), -FI_ENOENT);
	queue(&work, 1000000);
	OK(fi_control(domain, FI_FLUSH_WORK, NULL));
	OK(fi_cntr_set(when, 1000000));
	nothing();
	queue(&work, 1000001);
	OK(tsend(&word, 1, &context, 0));
	send.ep = NULL;
	RETURNS(fi_control(domain, FI_QUEUE_WORK, &work), -FI_EINVAL);
}

/* Triggered operations that have not begun end with fi_cancel, those of other contexts stay. */
static void taken_back(void)
{
	struct fi_triggered_context contexts[] = { at(2000001), at(2000001), at(2000001) };
	struct iovec iov = { in, LEN };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = FI_ADDR_UNSPEC, .context = &contexts[1]
	};
	uint64_t word = 0, before = fi_cntr_read(when);
	struct fi_cq_err_entry error;

	OK(tsend(&word, 1, &contexts[0], 0));
	OK(fi_recvmsg(pair.side[1].ep, &msg, FI_TRIGGER));
	OK(tsend(&word, 2, &contexts[2], 0));
	RETURNS(fi_cancel(&pair.side[0].ep->fid, &contexts[1]), -FI_ENOENT);
	RETURNS(fi_cancel(&pair.side[0].ep->fid, NULL), -FI_ENOENT);
	OK(fi_cancel(&pair.side[0].ep->fid, &contexts[0]));
	error = rdm_wait_error(&pair, 0);
	EQUAL(error.err, FI_ECANCELED);
	EQUAL(error.flags, FI_TAGGED | FI_SEND);
	CHECK(error.op_context == &contexts[0]);
	RETURNS(fi_cancel(&pair.side[0].ep->fid, &contexts[0]), -FI_ENOENT);
	OK(fi_cancel(&pair.side[1].ep->fid, &contexts[1]));
	error = rdm_wait_error(&pair, 1);
	EQUAL(error.err, FI_ECANCELED);
	CHECK(error.op_context == &contexts[1]);
	OK(fi_cntr_set(when, 2000001));
	OK(fi_trecv(pair.side[1].ep, &word, 8, NULL, FI_ADDR_UNSPEC, 0, ~0ULL, &word));
	CHECK(rdm_wait(&pair, 0).op_context == &contexts[2]);
	EQUAL(rdm_wait(&pair, 1).tag, 2);
	OK(fi_cntr_set(when, before));
}

/* A thread of the library performs it if nobody makes progress. */
static void ask_auto(struct fi_info *hints)
{
	ask(hints);
	hints->domain_attr->data_progress = FI_PROGRESS_AUTO;
}

static void by_itself(void)
{
	struct iovec send_iov, recv_iov;
	struct fi_op_tagged send = tagged(0, out, &send_iov, 0);
	struct fi_op_tagged recv = tagged(1, in, &recv_iov, 0);
	struct fi_deferred_work works[2 * ROUNDS];
	uint64_t i;

	OK(fi_cntr_set(when, 0));
	for (i = 0; i < ROUNDS; i++) {
		works[2 * i] =
			(struct fi_deferred_work){ .op_type = FI_OP_TRECV, .op.tagged = &recv };
		works[2 * i + 1] =
			(struct fi_deferred_work){ .op_type = FI_OP_TSEND, .op.tagged = &send };
	}
	for (i = 0; i < 2 * ROUNDS; i++) {
		works[i].threshold = i;
		works[i].triggering_cntr = works[i].completion_cntr = when;
	}
	/* Each send is triggered by the previous one and its receive, and these by each other. */
	for (i = 0; i < ROUNDS; i++) {
		works[2 * i].threshold = works[2 * i + 1].threshold = 2 * i;
		OK(fi_control(&pair.domain->fid, FI_QUEUE_WORK, &works[2 * i]));
		OK(fi_control(&pair.domain->fid, FI_QUEUE_WORK, &works[2 * i + 1]));
	}
	RETURNS(fi_cntr_wait(when, 2 * ROUNDS, WAIT_MS), 0);
	EQUAL(fi_cntr_readerr(when), 0);
}

static void with(void (*hints)(struct fi_info *hints), void (*part)(void))
{
	struct rdm_change change = { .hints = hints, .wait = FI_WAIT_NONE };

	rdm_open_with(&pair, 0, &change);
	CHECK(pair.info->caps & FI_TRIGGER);
	OK(fi_mr_reg(pair.domain, target, LEN, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &mr,
		     NULL));
	when = new_cntr();
	done = new_cntr();
	part();
	OK(fi_close(&pair.side[0].ep->fid));
	pair.side[0].ep = NULL;
	OK(fi_close(&pair.side[1].ep->fid));
	pair.side[1].ep = NULL;
	OK(fi_close(&when->fid));
	OK(fi_close(&done->fid));
	OK(fi_close(&mr->fid));
	rdm_close(&pair);
}

static void all_parts(void)
{
	messages();
	receive();
	memory();
	bad_calls();
	deferred();
	counter_closed();
	deferred_memory();
	taken_back();
	cancel();
}

static void not_asked_for(void)
{
	struct fi_triggered_context context;
	struct iovec iov;
	struct fi_op_tagged send;
	struct fi_deferred_work work = { .op_type = FI_OP_TSEND, .op.tagged = &send };
	uint64_t word = 0;

	rdm_open(&pair, 0);
	CHECK(!(pair.info->caps & FI_TRIGGER));
	work.triggering_cntr = when = new_cntr();
	context = at(0);
	send = tagged(0, out, &iov, 0);
	RETURNS(tsend(&word, 1, &context, 0), -FI_EBADFLAGS);
	RETURNS(fi_control(&pair.domain->fid, FI_QUEUE_WORK, &work), -FI_EOPNOTSUPP);
	OK(fi_close(&when->fid));
	rdm_close(&pair);
}

static void test(void)
{
	with(ask, all_parts);
	with(ask_auto, by_itself);
	not_asked_for();
}

int main(void)
{
	return run_test(test);
}
