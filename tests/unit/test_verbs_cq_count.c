/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What completion queues keep for their readers while counters take completions from the device. */
#include "unit.h"
#include <poll.h>

#include "cntr_rig.h"

/* Counting first, and reading the completion queue later, loses and reorders nothing. */
static void test_kept(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error;
	int i, round;

	cnt_open_all(rig);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 7; i++)
			assert_int_equal(rig_send(rig->ep, &cnt_context[i]), 0);
		cnt_complete(rig, 4);
		cnt_expect(round * 8 + 4, 0, 0, 0);
		cnt_complete(rig, 1);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[0]);
		cnt_expect(round * 8 + 5, 0, 0, 0);
		assert_int_equal(rig_send(rig->ep, &cnt_context[7]), 0);
		cnt_complete(rig, 3);
		for (i = 1; i < 8; i++)
			assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[i]);
		rig_no_entry(rig->cq[0]);
		cnt_expect(round * 8 + 8, 0, 0, 0);
	}
	assert_int_equal(rig_send(rig->ep, &cnt_context[0]), 0);
	assert_int_equal(rig_send(rig->ep, &cnt_context[1]), 0);
	cnt_complete(rig, 1);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_REM_ACCESS_ERR);
	cnt_expect(25, 0, 0, 0);
	assert_int_equal(fi_cntr_readerr(cnt_cntrs[CNT_TX]), 1);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[0]);
	error = rig_error(rig->cq[0]);
	assert_ptr_equal(error.op_context, &cnt_context[1]);
	assert_int_equal(error.err, FI_EKEYREJECTED);
	rig_no_entry(rig->cq[0]);
	cnt_close_all(rig);
}

/* What is stored may be as much as the queues hold, and all in one CQ. */
static void test_full(void **state)
{
	struct rig *rig = *state;
	int i;

	rig->one_cq = true;
	rig->cq_attr.size = 1;
	cnt_open_all(rig);
	for (i = 0; i < 8; i++) {
		cnt_post_recv(rig, 8 + i);
		assert_int_equal(rig_send(rig->ep, &cnt_context[i]), 0);
	}
	for (i = 0; i < 8; i++) {
		cnt_complete(rig, 1);
		cnt_complete_recv(rig, NULL, IBV_WC_RECV);
		cnt_expect(i + 1, i + 1, 0, 0);
	}
	assert_int_equal(rig_send(rig->ep, cnt_context), -FI_EAGAIN);
	for (i = 0; i < 8; i++) {
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[i]);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[8 + i]);
	}
	rig_no_entry(rig->cq[0]);
	cnt_close_all(rig);
}

/* Selective receives are retired although nobody reads. */
static void test_selective_recv(void **state)
{
	struct rig *rig = *state;
	uint32_t imm = 1;
	int i;

	rig->rx_bind = FI_SELECTIVE_COMPLETION;
	cnt_open_all(rig);
	for (i = 0; i < 20; i++) {
		cnt_post_recv(rig, i);
		cnt_complete_recv(rig, i % 2 ? &imm : NULL, IBV_WC_RECV);
		cnt_expect(0, i + 1, 0, 0);
	}
	rig_no_entry(rig->cq[1]);
	cnt_close_all(rig);
}

static void test_close(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	cnt_open_all(rig);
	other = rig_another_ep(rig);
	for (i = 0; i < 4; i++) {
		assert_int_equal(rig_send(rig->ep, &cnt_context[i]), 0);
		assert_int_equal(rig_send(other, &cnt_context[10 + i]), 0);
		cnt_complete(rig, 1);
		fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	}
	cnt_expect(4, 0, 0, 0);
	/* What is stored of it goes with it, the other's stays. */
	cnt_close_all(rig);
	for (i = 0; i < 4; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[10 + i]);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_close(&other->fid), 0);
}

static void fill(struct fid_ep *ep, int first)
{
	int i;

	for (i = 0; i < 8; i++) {
		assert_int_equal(fi_recv(ep, cnt_word, 8, NULL, 0, &cnt_context[first + 8 + i]), 0);
		assert_int_equal(rig_send(ep, &cnt_context[first + i]), 0);
	}
	for (i = 0; i < 8; i++) {
		fake_complete_sends(vrb_ep(ep)->qp, 1, IBV_WC_SUCCESS);
		fake_complete_recv(vrb_ep(ep)->qp, IBV_WC_SUCCESS, IBV_WC_RECV, 8, NULL);
	}
}

static void expect_filled(struct rig *rig, int first)
{
	int i;

	for (i = 0; i < 8; i++) {
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[first + i]);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[first + 8 + i]);
	}
}

/*
 * There is room for all completions of endpoints without counters, and of those that follow a
 * closed one.
 */
static void test_room(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	rig->one_cq = true;
	rig->cq_attr.size = 1;
	cnt_open_all(rig);
	for (i = 0; i < 3; i++) {
		other = rig_another_ep(rig);
		fill(other, 0);
		cnt_expect(i * 8, i * 8, 0, 0);
		fill(rig->ep, 16);
		cnt_expect(i * 8 + 8, i * 8 + 8, 0, 0);
		if (i)
			expect_filled(rig, 0);
		assert_int_equal(fi_close(&other->fid), 0);
		expect_filled(rig, 16);
		rig_no_entry(rig->cq[0]);
	}
	cnt_close_all(rig);
}

/* A closed endpoint's completions take no room from those that come after it. */
static void test_room_after_close(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	rig->one_cq = true;
	rig->cq_attr.size = 1;
	cnt_open_all(rig);
	fill(rig->ep, 16);
	cnt_expect(8, 8, 0, 0);
	for (i = 0; i < 3; i++) {
		other = rig_another_ep(rig);
		fill(other, 0);
		cnt_expect(8, 8, 0, 0);
		assert_int_equal(fi_close(&other->fid), 0);
	}
	assert_int_equal(vrb_cq(rig->cq[0])->store.count + vrb_cq(rig->cq[0])->kept, 16);
	expect_filled(rig, 16);
	cnt_close_all(rig);
}

/* A silent success behind an unread one does not free the unread one's slot. */
static void test_silent_behind(void **state)
{
	struct rig *rig = *state;
	int i;

	cnt_open_all(rig);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rig_send(rig->ep, &cnt_context[i]), 0);
		assert_int_equal(fi_inject(rig->ep, cnt_word, 8, 0), 0);
	}
	for (i = 1; i <= 4; i++) {
		cnt_complete(rig, 1);
		cnt_expect(i, 0, 0, 0);
	}
	for (i = 2; i < 6; i++)
		assert_int_equal(rig_send(rig->ep, &cnt_context[i]), 0);
	assert_int_equal(rig_send(rig->ep, cnt_context), -FI_EAGAIN);
	for (i = 0; i < 2; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[i]);
	cnt_complete(rig, 4);
	for (i = 2; i < 6; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[i]);
	cnt_expect(8, 0, 0, 0);
	cnt_close_all(rig);
}

/* A descriptor that could not be watched is none: the next attempt opens another one. */
static void test_unwatched(void **state)
{
	struct pollfd ready = { .events = POLLIN };
	struct rig *rig = *state;
	struct vrb_cq *cq;
	int epfd;

	rig->one_cq = true;
	rig->cq_attr.wait_obj = FI_WAIT_FD;
	rig_open_ep(rig);
	cnt_open_cntrs(rig);
	cnt_bind_cntrs(rig->ep);
	cq = vrb_cq(rig->cq[0]);
	epfd = cq->slow.epfd;
	cq->slow.epfd = cq->slow.wait.fd; /* not of epoll */
	assert_int_equal(fi_enable(rig->ep), -FI_EINVAL);
	cq->slow.epfd = epfd;
	cnt_ready(rig);
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	cnt_complete(rig, 1);
	cnt_expect(1, 0, 0, 0);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &ready.fd), 0);
	assert_int_equal(poll(&ready, 1, 0), 1);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, cnt_context);
	cnt_close_all(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_kept),	       RIG_TEST(test_full),
		RIG_TEST(test_selective_recv), RIG_TEST(test_close),
		RIG_TEST(test_room),	       RIG_TEST(test_room_after_close),
		RIG_TEST(test_silent_behind),  RIG_TEST(test_unwatched),
	};

	return RIG_RUN("verbs cq_count", tests);
}
