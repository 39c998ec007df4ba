/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared receive queues: completions on any CQ in any order, room in the CQs, closing in any order.
 */
#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <rdma/fi_rma.h>
#include "srx_rig.h"

/* Two CQs, read in the other order than receives were taken; slots are used again and again. */
static void test_any_order(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int round, i;

	srx_open_all(rig);
	other = srx_ep(rig, rig->cq[0]);
	for (round = 0; round < 5; round++) {
		srx_post_all(0, SRX_SIZE);
		for (i = 0; i < SRX_SIZE; i++)
			srx_arrive(i % 2 ? other : rig->ep);
		for (i = 1; i < SRX_SIZE; i += 2)
			assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &srx_mark[i]);
		assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE / 2);
		srx_post_all(0, 1);
		srx_arrive(other);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &srx_mark[0]);
		for (i = 0; i < SRX_SIZE; i += 2)
			assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[i]);
		assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE);
	}
	srx_close_ep(&other);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Each CQ has room for all of the receives, once. */
static void test_room(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other, *third;
	uint32_t tx = (uint32_t)rig->info->tx_attr->size;

	srx_open_all(rig);
	assert_int_equal(vrb_cq(rig->cq[1])->reserved, SRX_SIZE);
	other = srx_ep(rig, rig->cq[1]);
	assert_int_equal(vrb_cq(rig->cq[1])->reserved, SRX_SIZE);
	third = srx_ep(rig, rig->cq[0]);
	assert_int_equal(vrb_cq(rig->cq[0])->reserved, SRX_SIZE + 3 * tx);
	srx_close_ep(&third);
	srx_close_ep(&other);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
	rig_no_entry(rig->cq[0]);
	rig_no_entry(rig->cq[1]);
	assert_int_equal(vrb_cq(rig->cq[0])->reserved, 0);
	assert_int_equal(vrb_cq(rig->cq[1])->reserved, 0);
}

static int enable_shared(struct rig *rig, size_t size, struct fid_ep **ep, struct fid_ep **context)
{
	srx_attr = (struct fi_rx_attr){ .size = size };
	assert_int_equal(fi_srx_context(rig->domain, &srx_attr, &rig_srx, NULL), 0);
	*ep = srx_bound_ep(rig, rig->cq[1]);
	*context = rig_srx;
	return fi_enable(*ep);
}

/*
 * Shared queues take the last quarter of a CQ, too, then of its pool, and are refused if this does
 * not suffice.
 */
static void test_no_room(void **state)
{
	struct fid_ep *ep[3], *context[3];
	struct rig *rig = *state;
	struct vrb_cq *cq;
	int i;

	rig->one_cq = true;
	rig->info->tx_attr->size = 4000;
	rig->info->rx_attr->size = 2100;
	rig_enable(rig);
	cq = vrb_cq(rig->cq[0]);
	rig->info->tx_attr->size = 8;
	assert_int_equal(enable_shared(rig, 2048, &ep[0], &context[0]), 0);
	assert_int_equal(cq->reserved, 4000 + 2100 + 8 + 2048);
	assert_false(cq->shared);
	assert_int_equal(enable_shared(rig, 20, &ep[1], &context[1]), 0);
	assert_true(cq->shared);
	assert_int_equal(cq->pool, (int)cq->capacity - 4000 - 2100 - 8 - 2048 - 20);
	assert_int_equal(enable_shared(rig, 2048, &ep[2], &context[2]), -FI_ENOSPC);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fi_close(&ep[i]->fid), 0);
		assert_int_equal(fi_close(&context[i]->fid), 0);
	}
	srx_close_ep(&rig->ep);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(cq->pool, (int)cq->capacity);
}

/* Receives are not the endpoint's: they outlive it, and what it completed is still told. */
static void test_endpoint_goes(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	srx_open_all(rig);
	other = srx_ep(rig, rig->cq[1]);
	srx_post_all(0, SRX_SIZE);
	srx_arrive(other);
	srx_break(other, IBV_WC_WR_FLUSH_ERR);
	srx_close_ep(&other);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[0]);
	assert_ptr_equal(rig_error(rig->cq[1]).op_context, &srx_mark[1]);
	rig_no_entry(rig->cq[1]);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	rig_no_entry(rig->cq[1]);
	srx_close_ep(&rig->ep);
	rig->ep = srx_ep(rig, rig->cq[1]);
	for (i = 2; i < SRX_SIZE; i++) {
		srx_arrive(rig->ep);
		assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[i]);
	}
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/*
 * The context is closed while completions of it are in two CQs, one of them held behind an error.
 */
static void test_context_goes(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_data_entry entry;
	struct fid_ep *other;

	srx_open_all(rig);
	other = srx_ep(rig, rig->cq[0]);
	srx_post_all(0, SRX_SIZE);
	srx_break(rig->ep, IBV_WC_WR_FLUSH_ERR);
	srx_arrive(rig->ep);
	srx_arrive(other);
	assert_int_equal(fi_cq_read(rig->cq[1], &entry, 1), -FI_EAVAIL);
	srx_close_ep(&other);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
	rig_no_entry(rig->cq[1]);
	rig_no_entry(rig->cq[1]);
	assert_true(LIST_EMPTY(&vrb_cq(rig->cq[1])->closed_shares));
	assert_false(LIST_EMPTY(&vrb_cq(rig->cq[0])->closed_shares));
}

/* A CQ closes with unread completions: their slots are not lost. */
static void test_cq_goes(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	struct fid_cq *cq;

	srx_open_all(rig);
	assert_int_equal(fi_cq_open(rig->domain, &rig->cq_attr, &cq, NULL), 0);
	other = srx_ep(rig, cq);
	srx_post_all(0, SRX_SIZE);
	srx_arrive(other);
	srx_arrive(other);
	srx_close_ep(&other);
	assert_int_equal(fi_close(&cq->fid), 0);
	assert_int_equal(fi_rx_size_left(rig_srx), 2);
	srx_post_all(0, 2);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Silent sends and receives of several kinds on one CQ. */
static void test_mixed(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *plain;
	int i;

	rig->one_cq = true;
	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	srx_open(rig);
	plain = rig_another_ep(rig);
	rig->ep = srx_ep(rig, rig->cq[0]);
	for (i = 0; i < 100; i++) {
		srx_post_all(0, 1);
		assert_int_equal(fi_recv(plain, srx_buf, 4, NULL, 0, &srx_mark[1]), 0);
		assert_int_equal(rig_send(plain, &srx_mark[2]), 0);
		fake_complete_sends(vrb_ep(plain)->qp, 1, IBV_WC_SUCCESS);
		srx_arrive(plain);
		srx_arrive(rig->ep);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &srx_mark[1]);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &srx_mark[0]);
		rig_no_entry(rig->cq[0]);
	}
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE);
	srx_close_ep(&plain);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Data of an RMA write, which consumes a shared receive. */
static void test_data(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_data_entry entry;
	const uint32_t imm = 0x1234;

	srx_open_all(rig);
	srx_post_all(0, 1);
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, 5, &imm);
	entry = rig_entry(rig->cq[1]);
	assert_int_equal(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.data, imm);
	assert_ptr_equal(entry.op_context, &srx_mark[0]);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* The text names the queue pair that took the receive, also once it is gone. */
static void test_text(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error;
	char text[256], want[40];
	struct fid_ep *other;

	srx_open_all(rig);
	other = srx_ep(rig, rig->cq[1]);
	vrb_ep(other)->peer_qp_num = 0x2b1;
	srx_post_all(0, 2);
	srx_break(other, IBV_WC_LOC_LEN_ERR);
	srx_break(other, IBV_WC_WR_FLUSH_ERR);
	error = rig_error(rig->cq[1]);
	assert_int_equal(error.err, FI_ETRUNC);
	assert_int_equal(error.flags, FI_MSG | FI_RECV);
	fi_cq_strerror(rig->cq[1], error.prov_errno, error.err_data, text, sizeof(text));
	snprintf(want, sizeof(want), "QP 0x%x to 0x2b1", vrb_ep(other)->qp_num);
	assert_non_null(strstr(text, want));
	snprintf(want, sizeof(want), "QP 0x%x", vrb_ep(other)->qp_num);
	srx_close_ep(&other);
	error = rig_error(rig->cq[1]);
	fi_cq_strerror(rig->cq[1], error.prov_errno, error.err_data, text, sizeof(text));
	assert_non_null(strstr(text, "receive of 64 B"));
	assert_non_null(strstr(text, want));
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Counters of receives count for the endpoint that took them, even if nobody reads completions. */
static void test_counted(void **state)
{
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct rig *rig = *state;
	struct fid_cntr *cntr;
	struct fid_ep *other;
	int i;

	srx_open_all(rig);
	assert_int_equal(fi_cntr_open(rig->domain, &cntr_attr, &cntr, NULL), 0);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &other, NULL), 0);
	assert_int_equal(fi_ep_bind(other, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(other, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(other, &rig->cq[1]->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(other, &cntr->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(other, &rig_srx->fid, 0), 0);
	assert_int_equal(fi_enable(other), 0);
	srx_post_all(0, SRX_SIZE);
	for (i = 0; i < 3; i++)
		srx_arrive(other);
	srx_arrive(rig->ep);
	srx_break(other, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(fi_cntr_read(cntr), 3);
	assert_int_equal(fi_cntr_readerr(cntr), 1);
	for (i = 0; i < 4; i++)
		assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[i]);
	assert_ptr_equal(rig_error(rig->cq[1]).op_context, &srx_mark[4]);
	srx_close_ep(&other);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &other, NULL), 0);
	assert_int_equal(fi_ep_bind(other, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(other, &cntr->fid, FI_SEND | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(other, &rig_srx->fid, 0), 0);
	assert_int_equal(fi_enable(other), 0);
	srx_arrive(other);
	assert_int_equal(fi_cntr_read(cntr), 4);
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE - 2);
	srx_close_ep(&other);
	assert_int_equal(fi_close(&cntr->fid), 0);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* Shut: nothing is posted, what is outstanding stays. */
static void test_shut(void **state)
{
	struct rig *rig = *state;

	srx_open_all(rig);
	srx_post_all(0, 2);
	vrb_srq_shut(vrb_srx(rig_srx)->srq, -FI_EIO);
	vrb_srq_shut(vrb_srx(rig_srx)->srq, -FI_ENODEV);
	assert_int_equal(srx_post(NULL), -FI_EIO);
	assert_int_equal(fi_rx_size_left(rig_srx), 0);
	srx_arrive(rig->ep);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[0]);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	rig_no_entry(rig->cq[1]);
	srx_close_ep(&rig->ep);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/*
 * Some devices discard the completions of a destroyed queue pair: they are reported anyway, in
 * order.
 */
static void test_forgotten(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	srx_open_all(rig);
	fake.forgets = true;
	other = srx_ep(rig, rig->cq[1]);
	srx_post_all(0, SRX_SIZE);
	for (i = 0; i < 3; i++) {
		srx_arrive(other);
		srx_arrive(rig->ep);
	}
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[0]);
	srx_close_ep(&other);
	srx_arrive(rig->ep);
	srx_close_ep(&rig->ep);
	for (i = 1; i < 7; i++)
		assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[i]);
	rig_no_entry(rig->cq[1]);
	assert_int_equal(fi_rx_size_left(rig_srx), 7);
	assert_true(!(vrb_cq(rig->cq[1])->special & VRB_CQ_SAVED));
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

/* An endpoint that was connected waits until the device releases the shared queue, once in vain. */
static void test_last_wqe(void **state)
{
	struct rig *rig = *state;

	srx_open_all(rig);
	vrb_ep(rig->ep)->peer_qp_num = 1;
	__atomic_store_n(&vrb_ep(rig->ep)->last_wqe, true, __ATOMIC_RELEASE);
	srx_close_ep(&rig->ep);
	assert_false(vrb_domain(rig->domain)->no_last_wqe);
	rig->ep = srx_ep(rig, rig->cq[1]);
	srx_close_ep(&rig->ep);
	assert_false(vrb_domain(rig->domain)->no_last_wqe);
	rig->ep = srx_ep(rig, rig->cq[1]);
	vrb_ep(rig->ep)->peer_qp_num = 1;
	srx_close_ep(&rig->ep);
	assert_true(vrb_domain(rig->domain)->no_last_wqe);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

static bool frozen; /* no time passes; atomic */

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (!__atomic_load_n(&frozen, __ATOMIC_RELAXED))
		return (int)syscall(SYS_clock_gettime, clock, now);
	*now = (struct timespec){ .tv_sec = 1 };
	return 0;
}

/*
 * The device: when the queue pair is in error, the receives that it took complete, and then it
 * reports the last one.
 */
static void *let_go(void *arg)
{
	struct fid_ep *ep = arg;

	while (__atomic_load_n(&fake.ends[0], __ATOMIC_ACQUIRE) != 'e')
		usleep(1000);
	usleep(20000);
	srx_arrive(ep);
	fake_note_end("last");
	__atomic_store_n(&vrb_ep(ep)->last_wqe, true, __ATOMIC_RELEASE);
	return NULL;
}

/*
 * On a device that discards completions: first the error, then its last event, then all completions
 * are taken, and then it is freed. The wait for the event has a limit, which a thread that acts as
 * the device may miss on a busy machine, so the clock stands still.
 */
static void test_order_of_the_end(void **state)
{
	struct rig *rig = *state;
	pthread_t device;

	srx_open_all(rig);
	fake.forgets = true;
	vrb_ep(rig->ep)->peer_qp_num = 1;
	srx_post_all(0, 3);
	srx_arrive(rig->ep);
	memset(fake.ends, 0, sizeof(fake.ends));
	assert_int_equal(pthread_create(&device, NULL, let_go, rig->ep), 0);
	__atomic_store_n(&frozen, true, __ATOMIC_RELAXED);
	srx_close_ep(&rig->ep);
	__atomic_store_n(&frozen, false, __ATOMIC_RELAXED);
	pthread_join(device, NULL);
	assert_string_equal(fake.ends, "error last empty destroy empty ");
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[0]);
	assert_ptr_equal(rig_entry(rig->cq[1]).op_context, &srx_mark[1]);
	rig_no_entry(rig->cq[1]);
	assert_int_equal(fi_rx_size_left(rig_srx), SRX_SIZE - 1);
	assert_int_equal(fi_close(&rig_srx->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_any_order),    RIG_TEST(test_room),
		RIG_TEST(test_no_room),	     RIG_TEST(test_endpoint_goes),
		RIG_TEST(test_context_goes), RIG_TEST(test_cq_goes),
		RIG_TEST(test_mixed),	     RIG_TEST(test_data),
		RIG_TEST(test_counted),	     RIG_TEST(test_text),
		RIG_TEST(test_shut),	     RIG_TEST(test_last_wqe),
		RIG_TEST(test_forgotten),    RIG_TEST(test_order_of_the_end),
	};

	return RIG_RUN("verbs_srq", tests);
}
