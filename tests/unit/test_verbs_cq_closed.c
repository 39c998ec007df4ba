/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues of endpoints that are closed, whose completions are dropped, and nothing is
 * kept for long; or lost.
 */
#include "unit.h"

#include "prov/verbs/provider/prov.h"
#include "verbs_rig.h"

static char context[64];

static void post_sends(struct rig *rig, int first, int count)
{
	int i;

	for (i = first; i < first + count; i++)
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
}

static void post_recv(struct fid_ep *ep, void *to)
{
	assert_int_equal(fi_recv(ep, NULL, 0, NULL, 0, to), 0);
}

/* Closing an endpoint leaves completions of it in the CQ: they are dropped, with no word. */
static void test_closed(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	rig->one_cq = true;
	rig_connect(rig);
	other = rig_another_ep(rig);
	post_sends(rig, 0, 4);
	for (i = 0; i < 8; i++)
		post_recv(other, &context[20]);
	assert_int_equal(rig_send(other, &context[21]), 0);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	fake_flush(vrb_ep(other)->qp);
	assert_int_equal(fi_close(&other->fid), 0);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	for (i = 0; i < 4; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
	rig_no_entry(rig->cq[0]);
	assert_true(LIST_EMPTY(&vrb_cq(rig->cq[0])->closed));
}

/* Closing waits for what was sent, even behind completions that nobody reads. */
static void test_drain(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	struct vrb_cq *cq;
	int i;

	rig->one_cq = true;
	rig_connect(rig);
	cq = vrb_cq(rig->cq[0]);
	other = rig_another_ep(rig);
	post_sends(rig, 0, 2);
	for (i = 0; i < 2; i++)
		assert_int_equal(rig_send(other, &context[20]), 0);
	fake_complete_sends(rig_qp(rig), 2, IBV_WC_SUCCESS);
	for (i = 0; i < 2; i++) {
		assert_true(vrb_cq_drain(cq, vrb_ep(other)->sq));
		fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	}
	assert_false(vrb_cq_drain(cq, vrb_ep(other)->sq));
	assert_int_equal(fi_close(&other->fid), 0);
	for (i = 0; i < 2; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
	rig_no_entry(rig->cq[0]);
}

/*
 * Nobody reads: the completions of a closed endpoint, more than one poll takes, are gone when it is
 * closed.
 */
static void test_closed_idle(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i, round;

	rig->one_cq = true;
	rig->info->rx_attr->size = 64;
	rig_connect(rig);
	for (round = 0; round < 3; round++) {
		other = rig_another_ep(rig);
		for (i = 0; i < 60; i++)
			post_recv(other, &context[20]);
		fake_flush(vrb_ep(other)->qp);
		assert_int_equal(fi_close(&other->fid), 0);
		assert_true(LIST_EMPTY(&vrb_cq(rig->cq[0])->closed));
		assert_int_equal(fake_cq(vrb_cq(rig->cq[0])->ibv)->count, 0);
	}
	/* Behind what is to be read it waits. */
	post_sends(rig, 0, 1);
	other = rig_another_ep(rig);
	post_recv(other, &context[20]);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	fake_flush(vrb_ep(other)->qp);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_false(LIST_EMPTY(&vrb_cq(rig->cq[0])->closed));
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[0]);
	rig_no_entry(rig->cq[0]);
	assert_true(LIST_EMPTY(&vrb_cq(rig->cq[0])->closed));
}

/* The same where an error was found and not read when the endpoint closed. */
static void test_closed_unread(void **state)
{
	struct fi_cq_data_entry entry;
	struct rig *rig = *state;
	struct fid_ep *other;

	rig->one_cq = true;
	rig_connect(rig);
	other = rig_another_ep(rig);
	post_recv(other, &context[20]);
	post_recv(other, &context[21]);
	fake_flush(vrb_ep(other)->qp);
	post_sends(rig, 0, 1);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_int_equal(fi_cq_read(rig->cq[0], &entry, 1), -FI_EAVAIL);
	assert_int_equal(rig_send(other, &context[22]), 0);
	fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[0]);
	rig_no_entry(rig->cq[0]);
}

/* Its memory and its room stay for as long as the device may speak of it. */
static void test_closed_kept(void **state)
{
	struct fi_cq_err_entry error = { 0 };
	struct fi_cq_data_entry entries[8];
	struct rig *rig = *state;
	struct fid_ep *other;
	uint32_t reserved;
	int i;

	rig->one_cq = true;
	vrb_params.cqread_bunch_size = 4;
	rig_connect(rig);
	other = rig_another_ep(rig);
	for (i = 0; i < 8; i++)
		post_recv(other, &context[20]);
	post_sends(rig, 0, 4);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_REM_OP_ERR);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	fake_flush(vrb_ep(other)->qp);
	assert_int_equal(fi_cq_read(rig->cq[0], entries, 8), 1);
	reserved = vrb_cq(rig->cq[0])->reserved;
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(vrb_cq(rig->cq[0])->reserved, reserved);
	assert_int_equal(fi_cq_readerr(rig->cq[0], &error, 0), 1);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[2]);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[3]);
	rig_no_entry(rig->cq[0]);
	assert_true(vrb_cq(rig->cq[0])->reserved < reserved);
}

/* What only makes room for posts finds completions of a closed endpoint: they are not counted. */
static void test_closed_stats(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_data_entry entries[4];
	struct fid_ep *other;
	struct vrb_wq *rq;
	int i;

	rig->one_cq = true;
	vrb_params.cqread_bunch_size = 4;
	rig_connect(rig);
	other = rig_another_ep(rig);
	rq = vrb_ep(other)->rq;
	post_sends(rig, 0, 4);
	for (i = 0; i < 2; i++)
		post_recv(other, &context[20]);
	fake_complete_sends(rig_qp(rig), 4, IBV_WC_SUCCESS);
	for (i = 0; i < 2; i++)
		fake_complete_recv(vrb_ep(other)->qp, IBV_WC_SUCCESS, IBV_WC_RECV, 10, NULL);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(fi_cq_read(rig->cq[0], entries, 4), 4);
	assert_int_equal(fake_cq(vrb_cq(rig->cq[0])->ibv)->count, 2);
	vrb_cq_reclaim(vrb_cq(rig->cq[0]));
	assert_int_equal(fake_cq(vrb_cq(rig->cq[0])->ibv)->count, 0);
	assert_int_equal(ofi_stats_value(&rq->stats, OFI_STATS_RECEIVE_BYTES), 0);
	rig_no_entry(rig->cq[0]);
	assert_true(LIST_EMPTY(&vrb_cq(rig->cq[0])->closed));
}

static int (*poll_cq)(struct ibv_cq *cq, int n, struct ibv_wc *wc);
static struct fid_ep *lost_meanwhile;

static int polled_empty(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct fid_ep *ep = lost_meanwhile;

	lost_meanwhile = NULL;
	if (!ep)
		return poll_cq(cq, n, wc);
	fake_complete_sends(vrb_ep(ep)->qp, 1, IBV_WC_SUCCESS);
	vrb_ep_down(vrb_ep(ep), -FI_ENODEV);
	return 0;
}

/* The application gets the completions that arrive between a poll and the loss of their queue. */
static void test_lost_after_the_poll(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;

	rig->one_cq = true;
	rig_connect(rig);
	other = rig_another_ep(rig);
	fake_qp(rig_qp(rig))->deaf = true;
	fake_qp(vrb_ep(other)->qp)->deaf = true;
	post_sends(rig, 0, 1);
	assert_int_equal(rig_send(other, &context[1]), 0);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	poll_cq = fake.ctx.ops.poll_cq;
	lost_meanwhile = other;
	fake.ctx.ops.poll_cq = polled_empty;
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[1]);
	fake.ctx.ops.poll_cq = poll_cq;
	assert_int_equal(fi_close(&other->fid), 0);
}

/* Polls look at queues that are lost, and at no others. They end that when these are closed. */
static void test_lost_and_closed(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	struct vrb_wq *first;
	struct vrb_cq *cq;

	rig->one_cq = true;
	rig_connect(rig);
	cq = vrb_cq(rig->cq[0]);
	other = rig_another_ep(rig);
	fake_qp(vrb_ep(other)->qp)->deaf = true;
	assert_int_equal(rig_send(other, &context[1]), 0);
	vrb_ep_down(vrb_ep(other), -FI_ENODEV);
	vrb_ep_down(vrb_ep(other), -FI_ENODEV);
	first = LIST_FIRST(&cq->wqs);
	LIST_INIT(&cq->wqs);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	rig_no_entry(rig->cq[0]);
	assert_true(cq->special & VRB_CQ_LOST);
	LIST_FIRST(&cq->wqs) = first;
	assert_int_equal(fi_close(&other->fid), 0);
	assert_false(cq->special & VRB_CQ_LOST);
	post_sends(rig, 0, 1);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[0]);
}

/* An endpoint that closes at once is forgotten, too. */
static void test_closed_before_a_poll(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;

	rig->one_cq = true;
	rig_connect(rig);
	other = rig_another_ep(rig);
	fake_qp(rig_qp(rig))->deaf = true;
	post_sends(rig, 0, 1);
	vrb_ep_down(vrb_ep(other), -FI_ENODEV);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	rig_no_entry(rig->cq[0]);
	assert_true(vrb_cq(rig->cq[0])->special & VRB_CQ_LOST);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	rig_no_entry(rig->cq[0]);
	assert_false(vrb_cq(rig->cq[0])->special & VRB_CQ_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_closed),
		RIG_TEST(test_drain),
		RIG_TEST(test_closed_idle),
		RIG_TEST(test_closed_unread),
		RIG_TEST(test_closed_kept),
		RIG_TEST(test_closed_stats),
		RIG_TEST(test_lost_after_the_poll),
		RIG_TEST(test_lost_and_closed),
		RIG_TEST(test_closed_before_a_poll),
	};

	return RIG_RUN("verbs_cq_closed", tests);
}
