/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Triggered operations and deferred work on connected endpoints. */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_trigger.h>
#include "capture.h"
#include "cntr_rig.h"
#include "srx_rig.h"

static struct fid_cntr *when, *done;
static uint64_t word = 7, compare = 8, result;

static void open_trigger(struct rig *rig)
{
	rig->info->caps |= FI_TRIGGER;
	rig_connect(rig);
	when = cnt_open_cntr(rig, FI_WAIT_NONE);
	done = cnt_open_cntr(rig, FI_WAIT_NONE);
}

static void close_trigger(struct rig *rig)
{
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&when->fid), 0);
	assert_int_equal(fi_close(&done->fid), 0);
}

static struct fi_triggered_context at(uint64_t threshold)
{
	return (struct fi_triggered_context){
		.event_type = FI_TRIGGER_THRESHOLD,
		.trigger.threshold = { .cntr = when, .threshold = threshold },
	};
}

static const struct fake_post *sent(struct rig *rig, unsigned long total)
{
	assert_int_equal(fake_qp(rig_qp(rig))->sends.total, total);
	return rig_sent(rig);
}

static void complete_all(struct rig *rig)
{
	fake_complete_sends(rig_qp(rig), fake_qp(rig_qp(rig))->sends.count, IBV_WC_SUCCESS);
}

static void test_messages(void **state)
{
	struct rig *rig = *state;
	struct fi_triggered_context first, second;
	struct iovec iov[2] = { { &word, 8 }, { &compare, 8 } };
	struct fi_msg msg = { .msg_iov = iov, .iov_count = 2, .context = &second };

	open_trigger(rig);
	first = at(1);
	second = at(2);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER | FI_COMPLETION), 0);
	msg.context = &first;
	msg.iov_count = 1;
	assert_int_equal(fi_recvmsg(rig->ep, &msg, FI_TRIGGER | FI_INJECT), 0);
	memset(iov, 0, sizeof(iov)); /* the arrays are the caller's again */
	sent(rig, 0);
	fi_cntr_add(when, 1);
	assert_int_equal(fake_qp(rig_qp(rig))->recvs.total, 1);
	assert_ptr_equal(fake_qp(rig_qp(rig))->recvs.last.sge[0].addr, &word);
	sent(rig, 0);
	fi_cntr_add(when, 1);
	assert_int_equal(sent(rig, 1)->len, 16);
	assert_int_equal(sent(rig, 1)->wr.num_sge, 1); /* its data is inline */
	complete_all(rig);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &second);
	close_trigger(rig);
}

static void test_rma(void **state)
{
	struct rig *rig = *state;
	struct fi_triggered_context context;
	struct iovec iov = { &word, 8 };
	struct fi_rma_iov target = { .addr = 640, .len = 8, .key = 5 };
	struct fi_msg_rma msg = { .msg_iov = &iov,
				  .iov_count = 1,
				  .rma_iov = &target,
				  .rma_iov_count = 1,
				  .context = &context,
				  .data = 3 };

	open_trigger(rig);
	context = at(1);
	assert_int_equal(fi_writemsg(rig->ep, &msg, FI_TRIGGER | FI_REMOTE_CQ_DATA | FI_INJECT), 0);
	assert_int_equal(fi_readmsg(rig->ep, &msg, FI_TRIGGER), 0);
	word = 99; /* was injected */
	fi_cntr_add(when, 1);
	assert_int_equal(sent(rig, 2)->wr.opcode, IBV_WR_RDMA_READ);
	assert_int_equal(rig_sent(rig)->wr.wr.rdma.remote_addr, 640);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.posts[0].wr.opcode,
			 IBV_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(fake_qp(rig_qp(rig))->sends.posts[0].data[0], 7);
	word = 7;
	target.len = 9;
	assert_int_equal(fi_readmsg(rig->ep, &msg, FI_TRIGGER), -FI_EINVAL);
	complete_all(rig);
	rig_entry(rig->cq[0]);
	rig_entry(rig->cq[0]);
	close_trigger(rig);
}

static void test_atomics(void **state)
{
	struct rig *rig = *state;
	struct fi_triggered_context context;
	struct fi_ioc operand = { &word, 1 }, with = { &compare, 1 }, out = { &result, 1 };
	struct fi_rma_ioc target = { .addr = 640, .count = 1, .key = 5 };
	struct fi_msg_atomic msg = { &operand, NULL,	  1,	  0,	    &target,
				     1,	       FI_UINT64, FI_SUM, &context, 0 };

	open_trigger(rig);
	context = at(1);
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, FI_TRIGGER), 0);
	assert_int_equal(fi_fetch_atomicmsg(rig->ep, &msg, &out, NULL, 1, FI_TRIGGER), 0);
	msg.op = FI_CSWAP;
	assert_int_equal(
		fi_compare_atomicmsg(rig->ep, &msg, &with, NULL, 1, &out, NULL, 1, FI_TRIGGER), 0);
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, FI_TRIGGER), -FI_EOPNOTSUPP);
	msg.op = FI_SUM;
	target.count = 2;
	assert_int_equal(fi_atomicmsg(rig->ep, &msg, FI_TRIGGER), -FI_EMSGSIZE);
	fi_cntr_add(when, 1);
	assert_int_equal(sent(rig, 3)->wr.opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_int_equal(rig_sent(rig)->wr.wr.atomic.compare_add, 8);
	assert_int_equal(rig_sent(rig)->wr.wr.atomic.swap, 7);
	assert_ptr_equal(rig_sent(rig)->sge[0].addr, &result);
	complete_all(rig);
	assert_int_equal(rig_entry(rig->cq[0]).flags, FI_ATOMIC | FI_WRITE);
	assert_int_equal(rig_entry(rig->cq[0]).flags, FI_ATOMIC | FI_READ);
	assert_int_equal(rig_entry(rig->cq[0]).flags, FI_ATOMIC | FI_READ);
	close_trigger(rig);
}

static struct fi_deferred_work work_send(struct rig *rig, struct fi_op_msg *op, uint64_t threshold)
{
	*op = (struct fi_op_msg){ .ep = rig->ep, .msg.context = op };
	return (struct fi_deferred_work){ .threshold = threshold,
					  .triggering_cntr = when,
					  .completion_cntr = done,
					  .op_type = FI_OP_SEND,
					  .op.msg = op };
}

static int queue(struct rig *rig, struct fi_deferred_work *work)
{
	return fi_control(&rig->domain->fid, FI_QUEUE_WORK, work);
}

static void queue_send(struct rig *rig, uint64_t threshold)
{
	struct fi_deferred_work work;
	struct fi_op_msg op;

	work = work_send(rig, &op, threshold);
	assert_int_equal(queue(rig, &work), 0);
}

static struct fi_deferred_work work_add(void)
{
	static struct fi_op_cntr op;

	op = (struct fi_op_cntr){ .cntr = done, .value = 1 };
	return (struct fi_deferred_work){
		.threshold = 1, .triggering_cntr = when, .op_type = FI_OP_CNTR_ADD, .op.cntr = &op
	};
}

static void test_deferred(void **state)
{
	struct rig *rig = *state;
	struct fi_deferred_work work[3];
	struct fi_cq_data_entry entry;
	struct fi_op_msg op[3];
	int i;

	open_trigger(rig);
	for (i = 0; i < 3; i++)
		work[i] = work_send(rig, &op[i], (uint64_t)i + 1);
	op[1].flags = FI_COMPLETION;
	for (i = 2; i >= 0; i--)
		assert_int_equal(queue(rig, &work[i]), 0);
	fi_cntr_add(when, 1);
	fi_cntr_adderr(when, 1); /* counts too */
	sent(rig, 2);
	complete_all(rig);
	assert_int_equal(fi_cntr_read(done), 2);
	entry = rig_entry(rig->cq[0]);
	assert_ptr_equal(entry.op_context, &op[1]);
	assert_int_equal(entry.flags, FI_MSG | FI_SEND);
	rig_no_entry(rig->cq[0]);
	fi_cntr_add(when, 1);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_REM_OP_ERR);
	assert_int_equal(fi_cntr_readerr(done), 1);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_EREMOTEIO);
	close_trigger(rig);
}

/* One operation triggers the next by its completion. */
static void test_chain(void **state)
{
	struct rig *rig = *state;
	struct fi_deferred_work work[3], add = { .op_type = FI_OP_CNTR_ADD }, set = add;
	struct fi_op_cntr op_add = { .value = 10 }, op_set = { .value = 3 };
	struct fi_op_msg op[3];
	int i;

	open_trigger(rig);
	for (i = 0; i < 3; i++) {
		work[i] = work_send(rig, &op[i], (uint64_t)i);
		work[i].triggering_cntr = done;
		assert_int_equal(queue(rig, &work[i]), 0);
	}
	for (i = 1; i <= 3; i++) {
		sent(rig, (unsigned long)i);
		fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
		assert_int_equal(fi_cntr_read(done), i);
	}
	op_add.cntr = op_set.cntr = when;
	add.triggering_cntr = set.triggering_cntr = done;
	add.threshold = 4;
	add.op.cntr = &op_add;
	set.threshold = 5;
	set.op_type = FI_OP_CNTR_SET;
	set.op.cntr = &op_set;
	assert_int_equal(queue(rig, &add), 0);
	assert_int_equal(queue(rig, &set), 0);
	fi_cntr_add(done, 1);
	assert_int_equal(fi_cntr_read(when), 10);
	fi_cntr_add(done, 1);
	assert_int_equal(fi_cntr_read(when), 3);
	close_trigger(rig);
}

static void test_cancel(void **state)
{
	struct rig *rig = *state;
	struct fi_deferred_work work[2];
	struct fi_op_msg op[2];
	struct fid *domain;

	open_trigger(rig);
	domain = &rig->domain->fid;
	work[0] = work_send(rig, &op[0], 1);
	work[1] = work_send(rig, &op[1], 1);
	assert_int_equal(queue(rig, &work[0]), 0);
	assert_int_equal(queue(rig, &work[1]), 0);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &work[0]), 0);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, &work[0]), -FI_ENOENT);
	assert_int_equal(fi_control(domain, FI_CANCEL_WORK, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(domain, FI_FLUSH_WORK, &done->fid), 0);
	assert_int_equal(fi_control(domain, FI_FLUSH_WORK, domain), -FI_EINVAL);
	fi_cntr_add(when, 1);
	sent(rig, 1);
	fi_cntr_set(when, 0);
	assert_int_equal(queue(rig, &work[0]), 0);
	assert_int_equal(fi_control(domain, FI_FLUSH_WORK, NULL), 0);
	fi_cntr_add(when, 1);
	sent(rig, 1);
	fi_cntr_set(when, 0);
	assert_int_equal(queue(rig, &work[0]), 0);
	close_trigger(rig); /* goes with its endpoint */
}

/* A full queue: it is posted once there is room, at the next look. */
static void test_full(void **state)
{
	struct rig *rig = *state;
	int i;

	open_trigger(rig);
	for (i = 0; i < 8; i++)
		assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	queue_send(rig, 0);
	fi_cntr_read(when);
	sent(rig, 8);
	complete_all(rig);
	for (i = 0; i < 8; i++)
		rig_entry(rig->cq[0]);
	fi_cntr_read(when);
	sent(rig, 9);
	complete_all(rig);
	assert_int_equal(fi_cntr_read(done), 1);
	close_trigger(rig);
}

/* Where the connection is over it completes in error. */
static void test_down(void **state)
{
	struct rig *rig = *state;
	struct fi_triggered_context context;
	struct fi_msg msg = { .context = &context };

	open_trigger(rig);
	context = at(1);
	queue_send(rig, 1);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER), 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	fi_cntr_add(when, 1);
	assert_int_equal(fi_cntr_readerr(done), 1);
	rig_error(rig->cq[0]);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, &context);
	close_trigger(rig);
}

static void open_sleeper(struct rig *rig)
{
	rig->info->caps |= FI_TRIGGER;
	rig->cq_attr.wait_obj = FI_WAIT_FD;
	rig_connect(rig);
	when = cnt_open_cntr(rig, FI_WAIT_NONE);
	done = cnt_open_cntr(rig, FI_WAIT_FD);
}

static void expect_readable(bool readable)
{
	struct pollfd pfd = { .events = POLLIN };

	assert_int_equal(fi_control(&done->fid, FI_GETWAIT, &pfd.fd), 0);
	assert_int_equal(poll(&pfd, 1, 0), readable);
}

static void expect_woken(struct rig *rig)
{
	expect_readable(true);
	assert_int_equal(fi_cntr_readerr(done), 1);
	close_trigger(rig);
}

/* A thread sleeps on the completion counter of a send that the device has. */
static void sleep_on_send(struct rig *rig)
{
	open_sleeper(rig);
	queue_send(rig, 1);
	fi_cntr_add(when, 1);
	sent(rig, 1);
	assert_int_equal(ofi_cntr_trywait(&done->fid), 0);
	expect_readable(false);
}

/* A thread that sleeps on the completion counter wakes, although nothing completes. */
static void test_lost_device(void **state)
{
	struct rig *rig = *state;

	sleep_on_send(rig);
	fake_qp(rig_qp(rig))->deaf = true;
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	expect_woken(rig);
}

static void test_lost_post(void **state)
{
	struct rig *rig = *state;

	open_sleeper(rig);
	assert_int_equal(ofi_cntr_trywait(&done->fid), 0);
	expect_readable(false);
	queue_send(rig, 1);
	fake_qp(rig_qp(rig))->post_err = ENODEV;
	fi_cntr_add(when, 1);
	expect_woken(rig);
}

/* The device refuses everything while a work request is held back. */
static void lose_batch(struct rig *rig, const struct fi_msg *msg)
{
	sleep_on_send(rig);
	assert_int_equal(fi_sendmsg(rig->ep, msg, FI_MORE), 0);
	fake_qp(rig_qp(rig))->post_err = ENODEV;
	fake_qp(rig_qp(rig))->deaf = true;
}

static void test_lost_batch(void **state)
{
	struct rig *rig = *state;
	struct fi_msg msg = { .addr = FI_ADDR_UNSPEC };

	lose_batch(rig, &msg);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, 0), -FI_ENODEV);
	expect_woken(rig);
}

/* The reader of a counter posts it, because work waits for another counter. */
static void test_lost_batch_read(void **state)
{
	struct rig *rig = *state;
	struct fi_deferred_work work;

	lose_batch(rig, &(struct fi_msg){ .addr = FI_ADDR_UNSPEC });
	work = work_add();
	work.triggering_cntr = done;
	assert_int_equal(queue(rig, &work), 0);
	alarm(10);
	fi_cntr_read(when);
	alarm(0);
	expect_woken(rig);
}

static void test_bad(void **state)
{
	struct rig *rig = *state;
	struct fi_triggered_context context;
	struct fi_deferred_work work;
	struct fi_msg msg = { .context = NULL };
	struct fi_op_msg op;

	open_trigger(rig);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER), -FI_EINVAL);
	context = at(1);
	context.event_type = FI_TRIGGER_XPU;
	msg.context = &context;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER), -FI_ENOSYS);
	context = at(1);
	context.trigger.threshold.cntr = NULL;
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER), -FI_EINVAL);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_MULTICAST), -FI_EBADFLAGS);
	context = at(1);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER | FI_PEEK), -FI_EBADFLAGS);
	assert_int_equal(fi_recvmsg(rig->ep, &msg, FI_TRIGGER | FI_PEEK), -FI_EBADFLAGS);
	work = work_send(rig, &op, 1);
	work.triggering_cntr = NULL;
	assert_int_equal(queue(rig, &work), -FI_EINVAL);
	work = work_send(rig, &op, 1);
	work.op_type = FI_OP_TSEND;
	assert_int_equal(queue(rig, &work), -FI_EOPNOTSUPP);
	work = work_send(rig, &op, 1);
	op.ep = NULL;
	assert_int_equal(queue(rig, &work), -FI_EINVAL);
	assert_int_equal(queue(rig, NULL), -FI_EINVAL);
	close_trigger(rig);
}

/*
 * Endpoints of another type or domain, objects that are not endpoints, invalid work, counters of
 * others.
 */
static void test_strange(void **state)
{
	struct fid_ep other_kind = { .fid = { .fclass = FI_CLASS_EP } };
	struct ofi_cntr foreign = { .fid.fid.fclass = FI_CLASS_CNTR };
	struct fi_deferred_work work;
	struct rig *rig = *state;
	struct vrb_ep elsewhere;
	struct fi_op_msg op;

	open_trigger(rig);
	elsewhere = *vrb_ep(rig->ep);
	elsewhere.domain = NULL;
	other_kind.fid.ops = rig->cq[0]->fid.ops;
	work = work_send(rig, &op, 1);
	op.ep = &elsewhere.fid;
	assert_int_equal(queue(rig, &work), -FI_EINVAL);
	op.ep = (struct fid_ep *)rig->cq[0];
	assert_int_equal(queue(rig, &work), -FI_EINVAL);
	op.ep = &other_kind;
	capture_start();
	assert_int_equal(queue(rig, &work), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "not an endpoint of the domain"));
	work.op_type = FI_OP_CNTR_ADD + 1;
	work.op.msg = (void *)&other_kind.fid.fclass; /* whatever such work has there */
	assert_int_equal(queue(rig, &work), -FI_EOPNOTSUPP);
	work = work_send(rig, &op, 1);
	work.completion_cntr = &foreign.fid;
	assert_int_equal(queue(rig, &work), -FI_EINVAL);
	work = work_send(rig, &op, 1);
	work.triggering_cntr = &foreign.fid;
	capture_start();
	assert_int_equal(queue(rig, &work), -FI_EINVAL);
	assert_non_null(strstr(capture_stop(), "not a counter"));
	close_trigger(rig);
}

/* An endpoint with a completion queue for one direction: the work of the other completes there. */
static void check_one_way(struct rig *rig, uint64_t dir, struct fid_cq *cq, enum fi_op_type other)
{
	struct fi_deferred_work work;
	struct fi_op_msg op;

	rig->info->caps = FI_MSG | FI_TRIGGER | (dir == FI_RECV ? FI_RECV : FI_SEND);
	when = cnt_open_cntr(rig, FI_WAIT_NONE);
	done = cnt_open_cntr(rig, FI_WAIT_NONE);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cq->fid, dir), 0);
	cnt_ready(rig);
	work = work_send(rig, &op, 0);
	work.op_type = other;
	assert_int_equal(queue(rig, &work), 0);
	if (other == FI_OP_RECV)
		cnt_complete_recv(rig, NULL, IBV_WC_RECV);
	else
		complete_all(rig);
	assert_int_equal(fi_cntr_read(done), 1);
	close_trigger(rig);
}

static void test_one_way(void **state)
{
	struct rig *rig = *state;

	rig_open_cqs(rig);
	check_one_way(rig, FI_TRANSMIT, rig->cq[0], FI_OP_RECV);
	check_one_way(rig, FI_RECV, rig->cq[1], FI_OP_SEND);
}

/* The threads of a domain that was opened without the capability may take no locks. */
static void test_domain_without(void **state)
{
	struct rig *rig = *state;
	struct fi_deferred_work work;
	struct fi_op_msg op;
	struct fi_triggered_context context;
	struct fi_msg msg = { .context = &context };

	rig->info->domain_attr->threading = FI_THREAD_COMPLETION;
	rig_open_domain(rig);
	open_trigger(rig);
	context = at(1);
	work = work_send(rig, &op, 1);
	assert_int_equal(queue(rig, &work), -FI_EOPNOTSUPP);
	work = work_add();
	assert_int_equal(queue(rig, &work), -FI_EOPNOTSUPP);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER), -FI_EBADFLAGS);
	close_trigger(rig);
}

/*
 * Receives cannot wait on an endpoint with a shared receive context. Such work would never be
 * posted, and would hold up what waits behind it.
 */
static void test_shared_rx(void **state)
{
	struct rig *rig = *state;
	struct fi_deferred_work recv, send;
	struct fi_op_msg op[2];

	rig->info->caps |= FI_TRIGGER;
	srx_open_all(rig);
	when = cnt_open_cntr(rig, FI_WAIT_NONE);
	done = cnt_open_cntr(rig, FI_WAIT_NONE);
	recv = work_send(rig, &op[0], 0);
	recv.op_type = FI_OP_RECV;
	send = work_send(rig, &op[1], 0);
	assert_int_equal(queue(rig, &recv), -FI_EOPNOTSUPP);
	assert_int_equal(queue(rig, &send), 0);
	sent(rig, 1);
	complete_all(rig);
	assert_int_equal(fi_cntr_read(done), 1);
	close_trigger(rig);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Without the capability nothing can wait. */
static void test_without(void **state)
{
	struct rig *rig = *state;
	struct fi_deferred_work work;
	struct fi_op_msg op;
	struct fi_msg msg = { .context = &op };

	rig_connect(rig);
	when = done = cnt_open_cntr(rig, FI_WAIT_NONE);
	work = work_send(rig, &op, 1);
	assert_int_equal(queue(rig, &work), -FI_EOPNOTSUPP);
	work = work_add();
	assert_int_equal(queue(rig, &work), 0);
	assert_int_equal(fi_cntr_add(when, 1), 0);
	assert_int_equal(fi_cntr_read(done), 2);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER), -FI_EBADFLAGS);
	assert_int_equal(fi_close(&when->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_messages),  RIG_TEST(test_rma),	     RIG_TEST(test_atomics),
		RIG_TEST(test_deferred),  RIG_TEST(test_chain),	     RIG_TEST(test_cancel),
		RIG_TEST(test_full),	  RIG_TEST(test_down),	     RIG_TEST(test_lost_device),
		RIG_TEST(test_lost_post), RIG_TEST(test_lost_batch), RIG_TEST(test_lost_batch_read),
		RIG_TEST(test_bad),	  RIG_TEST(test_without),    RIG_TEST(test_domain_without),
		RIG_TEST(test_strange),	  RIG_TEST(test_one_way),    RIG_TEST(test_shared_rx),
	};

	return RIG_RUN("verbs trigger", tests);
}
