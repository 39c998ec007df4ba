/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What posting has in common for all operations: states, full queues, failed posts, credits. */
#include "unit.h"

#include <errno.h>
#include <rdma/fi_trigger.h>
#include "verbs_rig.h"

#define SIZE 8 /* of the rig's queues */

static ssize_t recv_one(struct fid_ep *ep, void *context)
{
	return fi_recv(ep, NULL, 0, NULL, FI_ADDR_UNSPEC, context);
}

/* Receives may be posted once the endpoint is enabled, sends once it is connected. */
static void test_states(void **state)
{
	struct rig *rig = *state;

	rig_open_ep(rig);
	assert_int_equal(rig_send(rig->ep, NULL), -FI_EOPBADSTATE);
	assert_int_equal(recv_one(rig->ep, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_tx_size_left(rig->ep), -FI_EOPBADSTATE);
	assert_int_equal(fi_rx_size_left(rig->ep), -FI_EOPBADSTATE);

	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(rig_send(rig->ep, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_inject(rig->ep, NULL, 0, 0), -FI_EOPBADSTATE);
	assert_int_equal(recv_one(rig->ep, NULL), 0);
	assert_int_equal(fi_tx_size_left(rig->ep), 0);
	assert_int_equal(fi_rx_size_left(rig->ep), SIZE - 1);

	vrb_ep_ready(vrb_ep(rig->ep));
	assert_int_equal(rig_send(rig->ep, NULL), 0);
	assert_int_equal(fi_tx_size_left(rig->ep), SIZE - 1);
}

/* Operations that wait for a counter are accepted as soon as the endpoint is enabled. */
static void test_states_of_work(void **state)
{
	struct rig *rig = *state;
	struct fi_op_msg op = { .msg = { .context = rig } };
	struct fi_deferred_work work = { .threshold = 1, .op_type = FI_OP_SEND, .op.msg = &op };
	struct fi_triggered_context context = { .event_type = FI_TRIGGER_THRESHOLD };
	struct fi_msg msg = { .context = &context };
	int i, ret = -FI_EOPBADSTATE;

	rig->info->caps |= FI_TRIGGER;
	rig_open_ep(rig);
	assert_int_equal(fi_cntr_open(rig->domain, NULL, &work.triggering_cntr, NULL), 0);
	context.trigger.threshold.cntr = work.triggering_cntr;
	context.trigger.threshold.threshold = 1;
	op.ep = rig->ep;
	for (i = 0; i < 2; i++, ret = 0) {
		assert_int_equal(fi_control(&rig->domain->fid, FI_QUEUE_WORK, &work), ret);
		assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_TRIGGER), ret);
		assert_int_equal(fi_recvmsg(rig->ep, &msg, FI_TRIGGER), ret);
		assert_int_equal(fi_enable(rig->ep), 0);
	}
	assert_int_equal(fi_control(&rig->domain->fid, FI_FLUSH_WORK, NULL), 0);
	assert_int_equal(fi_close(&work.triggering_cntr->fid), 0);
}

/* Afterwards a call says why, and what was outstanding completes once. */
static void test_down(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error;

	rig->info->domain_attr->threading = FI_THREAD_SAFE;
	rig_connect(rig);
	assert_int_equal(rig_send(rig->ep, &error), 0);
	assert_int_equal(recv_one(rig->ep, rig), 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV); /* the first reason stays */
	assert_int_equal(rig_send(rig->ep, NULL), -FI_ENOTCONN);
	assert_int_equal(fi_inject(rig->ep, NULL, 0, 0), -FI_ENOTCONN);
	assert_int_equal(recv_one(rig->ep, NULL), -FI_ENOTCONN);
	assert_int_equal(fi_tx_size_left(rig->ep), 0);

	error = rig_error(rig->cq[0]);
	assert_int_equal(error.err, FI_ECANCELED);
	assert_ptr_equal(rig_error(rig->cq[1]).op_context, rig);
	rig_no_entry(rig->cq[0]);
	rig_no_entry(rig->cq[1]);
}

/* A device that refuses posts in the error state does not hide why. */
static void test_down_refusing(void **state)
{
	struct rig *rig = *state;

	rig->info->domain_attr->threading = FI_THREAD_DOMAIN;
	rig_connect(rig);
	assert_int_equal(rig_send(rig->ep, NULL), 0);
	fake.strict = true;
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	assert_int_equal(rig_send(rig->ep, NULL), -FI_ENOTCONN);
	assert_int_equal(recv_one(rig->ep, NULL), -FI_ENOTCONN);
	rig_error(rig->cq[0]);
}

/* Without locks, posts are accepted and canceled until one takes the slow path. */
static void test_down_without_locks(void **state)
{
	struct rig *rig = *state;
	int i, count = 0;

	rig->info->domain_attr->threading = FI_THREAD_DOMAIN;
	rig_connect(rig);
	assert_int_equal(rig_send(rig->ep, NULL), 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	while (!rig_send(rig->ep, &rig[count]))
		assert_in_range(++count, 1, SIZE - 1);
	assert_int_equal(rig_send(rig->ep, NULL), -FI_ENOTCONN);
	assert_null(rig_error(rig->cq[0]).op_context);
	for (i = 0; i < count; i++)
		assert_ptr_equal(rig_error(rig->cq[0]).op_context, &rig[i]);
	rig_no_entry(rig->cq[0]);
}

static void test_full(void **state)
{
	struct rig *rig = *state;
	int i, round;

	rig_connect(rig);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < SIZE; i++) {
			assert_int_equal(fi_tx_size_left(rig->ep), SIZE - i);
			assert_int_equal(rig_send(rig->ep, &rig[i]), 0);
			assert_int_equal(recv_one(rig->ep, &rig[i]), 0);
		}
		assert_int_equal(rig_send(rig->ep, NULL), -FI_EAGAIN);
		assert_int_equal(fi_inject(rig->ep, NULL, 0, 0), -FI_EAGAIN);
		assert_int_equal(recv_one(rig->ep, NULL), -FI_EAGAIN);
		assert_int_equal(fake_qp(rig_qp(rig))->sends.total, (round + 1) * SIZE);

		/* A completion that was not read frees nothing. */
		fake_complete_sends(rig_qp(rig), SIZE, IBV_WC_SUCCESS);
		assert_int_equal(rig_send(rig->ep, NULL), -FI_EAGAIN);
		for (i = 0; i < SIZE; i++) {
			fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV, 0, NULL);
			assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &rig[i]);
			assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &rig[i]);
		}
	}
}

/* The device's own error, and the slot is free again. */
static void test_failed(void **state)
{
	static const int errors[] = { ENOMEM, EINVAL, EIO, -EFAULT };
	struct rig *rig = *state;
	struct fake_qp *qp;
	unsigned int i;
	int expected;

	rig_connect(rig);
	qp = fake_qp(rig_qp(rig));
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		expected = errors[i] < 0 ? errors[i] : -errors[i];
		qp->post_err = errors[i];
		assert_int_equal(rig_send(rig->ep, NULL), expected);
		qp->post_err = errors[i];
		assert_int_equal(recv_one(rig->ep, NULL), expected);
		assert_int_equal(fi_tx_size_left(rig->ep), SIZE);
		assert_int_equal(fi_rx_size_left(rig->ep), SIZE);
	}
	assert_int_equal(rig_send(rig->ep, qp), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, qp);
	rig_no_entry(rig->cq[0]);
}

/* A reader may have completed what the device refuses when it is removed: it completes once. */
static void test_failed_lost(void **state)
{
	struct rig *rig = *state;
	struct fake_qp *qp;

	rig_connect(rig);
	qp = fake_qp(rig_qp(rig));
	vrb_wq_lose(vrb_ep(rig->ep)->sq);
	qp->post_err = ENODEV;
	assert_int_equal(rig_send(rig->ep, qp), 0);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	rig_no_entry(rig->cq[0]);
}

static void complete_all(struct rig *rig)
{
	fake_complete_sends(rig_qp(rig), fake_qp(rig_qp(rig))->sends.count, IBV_WC_SUCCESS);
}

/*
 * Silent operations request completions often enough, and free their slots on completion, even if
 * nobody reads.
 */
static void test_silent(void **state)
{
	struct rig *rig = *state;
	int n, round;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	rig_connect(rig);
	for (round = 0; round < 20; round++) {
		for (n = 0; !rig_send(rig->ep, NULL); n++)
			;
		assert_in_range(n, round ? SIZE / 2 : SIZE, SIZE);
		complete_all(rig);
		if (round % 2)
			rig_no_entry(rig->cq[0]);
	}
	assert_int_equal(fi_inject(rig->ep, NULL, 0, 0), 0);
	complete_all(rig);
	assert_int_equal(rig_send(rig->ep, rig), 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_RETRY_EXC_ERR);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, rig);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_tx_size_left(rig->ep), SIZE);
}

/* Endpoints whose CQ could not grow for them never get more completions than it holds. */
static void test_pool(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int posted;

	fake.attr.max_cqe = 20;
	rig->one_cq = true;
	rig->cq_attr.size = 10;
	fake.resize_err = ENOMEM;
	rig_connect(rig); /* 8 reserved of 17, the rest is shared */
	other = rig_another_ep(rig);

	for (posted = 0; !recv_one(other, NULL); posted++)
		;
	assert_in_range(posted, 1, SIZE);
	while (!rig_send(other, NULL) || !recv_one(rig->ep, NULL))
		posted++;
	while (!rig_send(rig->ep, NULL))
		posted++;
	assert_int_equal(posted, fake_cq(vrb_cq(rig->cq[0])->ibv)->ibv.cqe);
	assert_int_equal(recv_one(other, NULL), -FI_EAGAIN);

	fake_flush(vrb_ep(other)->qp);
	fake_flush(rig_qp(rig));
	for (; posted; posted--)
		assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(recv_one(other, NULL), 0);

	/* A post that fails takes nothing from the pool. */
	for (posted = 0; posted < 40; posted++) {
		fake_qp(vrb_ep(other)->qp)->post_err = EINVAL;
		assert_int_equal(recv_one(other, NULL), -FI_EINVAL);
	}
	assert_int_equal(recv_one(other, NULL), 0);
	assert_int_equal(fi_close(&other->fid), 0);
}

/*
 * A full queue polls for silent successes itself, but not behind a completion that is not read yet.
 */
static void test_silent_behind(void **state)
{
	int mark, i;
	struct fi_msg msg = { .context = &mark };
	struct rig *rig = *state;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	rig_connect(rig);
	assert_int_equal(fi_sendmsg(rig->ep, &msg, FI_COMPLETION), 0);
	for (i = 0; i < 7; i++)
		assert_int_equal(rig_send(rig->ep, NULL), 0);
	fake_complete_sends(rig_qp(rig), 8, IBV_WC_SUCCESS);
	assert_int_equal(rig_send(rig->ep, NULL), -FI_EAGAIN);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &mark);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_tx_size_left(rig->ep), 8);
	assert_int_equal(rig_send(rig->ep, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_silent_behind),
		RIG_TEST(test_states),
		RIG_TEST(test_states_of_work),
		RIG_TEST(test_down_refusing),
		RIG_TEST(test_down_without_locks),
		RIG_TEST(test_down),
		RIG_TEST(test_full),
		RIG_TEST(test_failed),
		RIG_TEST(test_failed_lost),
		RIG_TEST(test_silent),
		RIG_TEST(test_pool),
	};

	return RIG_RUN("verbs_post", tests);
}
