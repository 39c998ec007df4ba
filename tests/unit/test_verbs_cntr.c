/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters on connected endpoints: what is counted and when, binding, waiting. */
#include "unit.h"

#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include "prov/base/cntr.h"
#include "cntr_rig.h"

static void test_kinds(void **state)
{
	struct rig *rig = *state;
	uint32_t imm = 5;
	struct fid_ep *ep;

	cnt_open_all(rig);
	ep = rig->ep;
	assert_int_equal(rig_send(ep, cnt_context), 0);
	assert_int_equal(fi_write(ep, cnt_word, 8, NULL, 0, 64, 1, cnt_context), 0);
	assert_int_equal(fi_atomic(ep, cnt_word, 1, NULL, 0, 64, 1, FI_UINT64, FI_SUM, cnt_context),
			 0);
	assert_int_equal(fi_read(ep, cnt_word, 8, NULL, 0, 64, 1, cnt_context), 0);
	assert_int_equal(fi_fetch_atomic(ep, cnt_word, 1, NULL, cnt_word, NULL, 0, 64, 1, FI_UINT64,
					 FI_SUM, cnt_context),
			 0);
	assert_int_equal(fi_compare_atomic(ep, cnt_word, 1, NULL, cnt_word, NULL, cnt_word, NULL, 0,
					   64, 1, FI_UINT64, FI_CSWAP, cnt_context),
			 0);
	cnt_expect(0, 0, 0, 0);
	cnt_complete(rig, 2);
	cnt_expect(1, 0, 0, 1);
	cnt_complete(rig, 4);
	cnt_expect(1, 0, 3, 2);
	cnt_post_recv(rig, 0);
	cnt_post_recv(rig, 1);
	cnt_complete_recv(rig, NULL, IBV_WC_RECV);
	cnt_complete_recv(rig, &imm, IBV_WC_RECV_RDMA_WITH_IMM);
	cnt_expect(1, 2, 3, 2);
	cnt_close_all(rig);
}

/* Injected and silent ones count as soon as they have completed. */
static void test_silent(void **state)
{
	struct rig *rig = *state;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	cnt_open_all(rig);
	assert_int_equal(fi_inject(rig->ep, cnt_word, 8, 0), 0);
	cnt_complete(rig, 1);
	assert_int_equal(fi_cntr_wait(cnt_cntrs[CNT_TX], 1, 0), 0);
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	cnt_complete(rig, 1);
	cnt_expect(2, 0, 0, 0);
	assert_int_equal(fi_inject_write(rig->ep, cnt_word, 8, 0, 64, 1), 0);
	cnt_complete(rig, 1);
	cnt_expect(2, 0, 0, 1);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_tx_size_left(rig->ep), 8);
	cnt_close_all(rig);
}

static void test_errors(void **state)
{
	struct rig *rig = *state;
	int i;

	cnt_open_all(rig);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fi_inject(rig->ep, cnt_word, 8, 0), 0);
		cnt_post_recv(rig, i);
	}
	cnt_complete(rig, 1);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	assert_int_equal(fi_cntr_wait(cnt_cntrs[CNT_TX], 3, 60000), -FI_EAVAIL);
	cnt_expect(1, 0, 0, 0);
	assert_int_equal(fi_cntr_readerr(cnt_cntrs[CNT_TX]), 2);
	assert_int_equal(fi_cntr_readerr(cnt_cntrs[CNT_RX]), 3);
	for (i = 0; i < 2; i++)
		assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	cnt_close_all(rig);
}

/* The device is gone: each operation that it has not completed is an error, once. */
static void test_lost(void **state)
{
	struct rig *rig = *state;
	int i;

	cnt_open_all(rig);
	for (i = 0; i < 3; i++)
		assert_int_equal(rig_send(rig->ep, &cnt_context[i]), 0);
	cnt_complete(rig, 1);
	cnt_expect(1, 0, 0, 0);
	cnt_complete(rig, 1);
	fake_qp(rig_qp(rig))->deaf = true;
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	cnt_expect(2, 0, 0, 0);
	assert_int_equal(fi_cntr_readerr(cnt_cntrs[CNT_TX]), 1);
	for (i = 0; i < 2; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[i]);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, &cnt_context[2]);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_cntr_readerr(cnt_cntrs[CNT_TX]), 1);
	cnt_expect(2, 0, 0, 0);
	cnt_close_all(rig);
}

/* Without completion queues all is retired as it is counted: the endpoint never fills up. */
static void test_no_cq(void **state)
{
	struct rig *rig = *state;
	int i;

	cnt_open_bare(rig);
	for (i = 0; i < 40; i++) {
		assert_int_equal(rig_send(rig->ep, cnt_context), 0);
		cnt_post_recv(rig, 0);
		cnt_complete(rig, 1);
		cnt_complete_recv(rig, NULL, IBV_WC_RECV);
		if (i % 3)
			cnt_expect(i + 1, i + 1, 0, 0);
	}
	for (i = 0; i < 8; i++)
		assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	assert_int_equal(rig_send(rig->ep, cnt_context), -FI_EAGAIN);
	cnt_complete(rig, 1);
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	cnt_expect(41, 40, 0, 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(fi_cntr_readerr(cnt_cntrs[CNT_TX]), 1);
	cnt_close_all(rig);
}

/* One direction has a completion queue, the other a counter. */
static void test_half(void **state)
{
	struct rig *rig = *state;

	rig_open_cqs(rig);
	cnt_open_cntrs(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_enable(rig->ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(rig->ep, &cnt_cntrs[CNT_RX]->fid, FI_RECV), 0);
	cnt_ready(rig);
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	cnt_post_recv(rig, 0);
	cnt_complete(rig, 1);
	cnt_complete_recv(rig, NULL, IBV_WC_RECV);
	cnt_expect(0, 1, 0, 0);
	rig_entry(rig->cq[0]);
	cnt_close_all(rig);
}

static void test_busy(void **state)
{
	struct rig *rig = *state;
	int i;

	cnt_open_all(rig);
	for (i = 0; i < CNT_KINDS; i++)
		assert_int_equal(fi_close(&cnt_cntrs[i]->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	cnt_close_all(rig);
}

static bool readable(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void test_fd(void **state)
{
	struct rig *rig = *state;
	int fd = -1, cq_fd = -1;

	rig->cq_attr.wait_obj = FI_WAIT_FD;
	cnt_open_all(rig);
	assert_int_equal(fi_control(&cnt_cntrs[CNT_TX]->fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &cq_fd), 0);
	assert_int_equal(ofi_cntr_trywait(&cnt_cntrs[CNT_TX]->fid), 0);
	assert_false(readable(fd));
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	cnt_complete(rig, 1);
	assert_true(readable(fd));
	assert_int_equal(ofi_cntr_trywait(&cnt_cntrs[CNT_TX]->fid), -FI_EAGAIN);
	/* The counter took it from the device: the CQ's own sleepers are told. */
	assert_true(readable(cq_fd));
	assert_int_equal(ofi_cq_trywait(&vrb_cq(rig->cq[0])->base.fid.fid), -FI_EAGAIN);
	rig_entry(rig->cq[0]);
	assert_int_equal(ofi_cq_trywait(&vrb_cq(rig->cq[0])->base.fid.fid), 0);
	assert_false(readable(cq_fd));
	assert_int_equal(ofi_cntr_trywait(&cnt_cntrs[CNT_TX]->fid), 0);
	assert_false(readable(fd));
	/* Somebody else reads the CQ. */
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	cnt_complete(rig, 1);
	rig_entry(rig->cq[0]);
	ofi_cq_trywait(&vrb_cq(rig->cq[0])->base.fid.fid);
	assert_true(readable(fd));
	cnt_close_all(rig);
}

/* A CQ that can't be waited for: the counter is looked at instead. */
static void test_fd_without(void **state)
{
	struct rig *rig = *state;

	cnt_open_all(rig);
	assert_int_equal(ofi_cntr_trywait(&cnt_cntrs[CNT_TX]->fid), -FI_EAGAIN);
	assert_int_equal(ofi_cntr_trywait(&cnt_cntrs[CNT_TX]->fid), -FI_EAGAIN);
	assert_int_equal(fi_cntr_wait(cnt_cntrs[CNT_TX], 1, 10), -FI_ETIMEDOUT);
	cnt_close_all(rig);
}

static void test_bad_binds(void **state)
{
	struct rig *rig = *state, other;
	struct fid_cntr *cntr;

	rig_open_ep(rig);
	cntr = cnt_open_cntr(rig, FI_WAIT_NONE);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND | FI_MSG), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_REMOTE_READ), -FI_EOPNOTSUPP);
	/* A program may bind one counter for all; the device does not report the peers' RMA. */
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_REMOTE_WRITE | FI_SEND), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND | FI_RECV), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_RECV | FI_READ), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_WRITE | FI_READ), -FI_EBUSY);
	assert_int_equal(fi_close(&cntr->fid), -FI_EBUSY);

	other = (struct rig){ .info = rig->info };
	rig_open_domain(&other);
	assert_int_equal(fi_endpoint(other.domain, rig->info, &other.ep, NULL), 0);
	assert_int_equal(fi_ep_bind(other.ep, &cntr->fid, FI_SEND), -FI_EINVAL);
	assert_int_equal(fi_close(&other.ep->fid), 0);
	assert_int_equal(fi_close(&other.domain->fid), 0);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&cntr->fid), 0);
}

/* One counter for all, over several endpoints on the same CQs. */
static void test_shared(void **state)
{
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_ep *other;

	rig_open_ep(rig);
	cntr = cnt_open_cntr(rig, FI_WAIT_YIELD);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND | FI_RECV | FI_READ | FI_WRITE),
			 0);
	cnt_ready(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &other, NULL), 0);
	assert_int_equal(fi_ep_bind(other, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(other, &rig->cq[0]->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(other, &cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_enable(other), 0);
	vrb_ep_ready(vrb_ep(other));
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	assert_int_equal(rig_send(other, cnt_context), 0);
	cnt_complete(rig, 1);
	fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	cnt_post_recv(rig, 0);
	cnt_complete_recv(rig, NULL, IBV_WC_RECV);
	assert_int_equal(fi_cntr_wait(cntr, 3, 1000), 0);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(rig_send(rig->ep, cnt_context), 0);
	cnt_complete(rig, 1);
	assert_int_equal(fi_cntr_read(cntr), 4);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static ssize_t post_more(struct rig *rig, uint64_t flags)
{
	struct fi_msg msg = { .context = cnt_context };

	return fi_sendmsg(rig->ep, &msg, flags);
}

/* Looking at a counter rings the doorbells that FI_MORE left. */
static void test_more(void **state)
{
	struct rig *rig = *state;

	cnt_open_all(rig);
	assert_int_equal(post_more(rig, FI_MORE), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->doorbells, 0);
	cnt_expect(0, 0, 0, 0);
	assert_int_equal(fake_qp(rig_qp(rig))->doorbells, 1);
	cnt_complete(rig, 1);
	cnt_expect(1, 0, 0, 0);
	cnt_close_all(rig);
}

/*
 * Bound to an endpoint in use, a counter counts later completions, and not those that wait to be
 * read.
 */
static void test_late(void **state)
{
	struct rig *rig = *state;
	int i;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	rig_connect(rig);
	cnt_open_cntrs(rig);
	for (i = 0; i < 4; i++)
		assert_int_equal(fi_inject(rig->ep, cnt_word, 8, 0), 0);
	for (i = 0; i < 3; i++)
		cnt_post_recv(rig, i);
	cnt_complete(rig, 2);
	cnt_complete_recv(rig, NULL, IBV_WC_RECV);
	cnt_complete_recv(rig, NULL, IBV_WC_RECV);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &cnt_context[0]);
	cnt_bind_cntrs(rig->ep);
	assert_int_equal(fi_ep_bind(rig->ep, &cnt_cntrs[CNT_TX]->fid, FI_SEND), -FI_EBUSY);
	cnt_complete_recv(rig, NULL, IBV_WC_RECV);
	cnt_complete(rig, 2);
	assert_int_equal(fi_inject(rig->ep, cnt_word, 8, 0), 0);
	assert_int_equal(fi_inject_write(rig->ep, cnt_word, 8, 0, 64, 1), 0);
	cnt_complete(rig, 2);
	cnt_expect(5, 2, 0, 1);
	for (i = 1; i < 3; i++)
		assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &cnt_context[i]);
	rig_no_entry(rig->cq[1]);
	assert_int_equal(fi_tx_size_left(rig->ep), 8);
	cnt_expect(5, 2, 0, 1);
	cnt_close_all(rig);
}

/* An error that was read in part: what is kept behind it was not counted, and is not. */
static void test_late_kept(void **state)
{
	struct fi_cq_data_entry entries[4];
	struct rig *rig = *state;
	int i;

	rig_connect(rig);
	cnt_open_cntrs(rig);
	for (i = 0; i < 4; i++)
		assert_int_equal(rig_send(rig->ep, &cnt_context[i]), 0);
	cnt_complete(rig, 1);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_REM_OP_ERR);
	cnt_complete(rig, 1);
	assert_int_equal(fi_cq_read(rig->cq[0], entries, 4), 1);
	assert_int_equal(vrb_cq(rig->cq[0])->kept, 2);
	cnt_bind_cntrs(rig->ep);
	cnt_complete(rig, 1);
	cnt_expect(1, 0, 0, 0);
	assert_int_equal(fi_cntr_readerr(cnt_cntrs[CNT_TX]), 0);
	assert_ptr_equal(rig_error(rig->cq[0]).op_context, &cnt_context[1]);
	for (i = 2; i < 4; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &cnt_context[i]);
	cnt_expect(1, 0, 0, 0);
	cnt_close_all(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_kinds),	  RIG_TEST(test_silent),    RIG_TEST(test_errors),
		RIG_TEST(test_lost),	  RIG_TEST(test_no_cq),	    RIG_TEST(test_half),
		RIG_TEST(test_busy),	  RIG_TEST(test_fd),	    RIG_TEST(test_fd_without),
		RIG_TEST(test_bad_binds), RIG_TEST(test_shared),    RIG_TEST(test_more),
		RIG_TEST(test_late),	  RIG_TEST(test_late_kept),
	};

	return RIG_RUN("verbs cntr", tests);
}
