/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters on connected endpoints: what is counted and when, and what the completion queues keep meanwhile. */
#include "unit.h"

#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <ofi/cntr.h>
#include "prov/verbs/cntr.h"
#include "verbs_rig.h"

enum { TX, RX, RD, WR, CNTRS };

static const uint64_t kinds[CNTRS] = { FI_SEND, FI_RECV, FI_READ, FI_WRITE };
static char context[64], word[8];

static struct fid_cntr *cntrs[CNTRS];

static struct fid_cntr *open_cntr(struct rig *rig, enum fi_wait_obj obj)
{
	struct fi_cntr_attr attr = { .wait_obj = obj };
	struct fid_cntr *cntr;

	rig_open_domain(rig);
	assert_int_equal(fi_cntr_open(rig->domain, &attr, &cntr, NULL), 0);
	return cntr;
}

static void open_cntrs(struct rig *rig)
{
	int i;

	for (i = 0; i < CNTRS; i++)
		cntrs[i] = open_cntr(rig, FI_WAIT_FD);
}

static void bind_cntrs(struct fid_ep *ep)
{
	int i;

	for (i = 0; i < CNTRS; i++)
		assert_int_equal(fi_ep_bind(ep, &cntrs[i]->fid, kinds[i]), 0);
}

static void ready(struct rig *rig)
{
	assert_int_equal(fi_enable(rig->ep), 0);
	vrb_ep_ready(vrb_ep(rig->ep));
}

/* An endpoint with both CQs and all counters. */
static void open_all(struct rig *rig)
{
	rig_open_ep(rig);
	open_cntrs(rig);
	bind_cntrs(rig->ep);
	ready(rig);
}

/* The same without completion queues. */
static void open_bare(struct rig *rig)
{
	open_cntrs(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	bind_cntrs(rig->ep);
	ready(rig);
}

static void close_all(struct rig *rig)
{
	int i;

	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	for (i = 0; i < CNTRS; i++)
		assert_int_equal(fi_close(&cntrs[i]->fid), 0);
}

static void expect(uint64_t tx, uint64_t rx, uint64_t rd, uint64_t wr)
{
	assert_int_equal(fi_cntr_read(cntrs[TX]), tx);
	assert_int_equal(fi_cntr_read(cntrs[RX]), rx);
	assert_int_equal(fi_cntr_read(cntrs[RD]), rd);
	assert_int_equal(fi_cntr_read(cntrs[WR]), wr);
}

static void complete(struct rig *rig, unsigned int n)
{
	fake_complete_sends(rig_qp(rig), n, IBV_WC_SUCCESS);
}

static void post_recv(struct rig *rig, int i)
{
	assert_int_equal(fi_recv(rig->ep, word, 8, NULL, 0, &context[i]), 0);
}

static void complete_recv(struct rig *rig, const uint32_t *imm, enum ibv_wc_opcode opcode)
{
	fake_complete_recv(rig_qp(rig), IBV_WC_SUCCESS, opcode, 8, imm);
}

static void test_kinds(void **state)
{
	struct rig *rig = *state;
	uint32_t imm = 5;
	struct fid_ep *ep;

	open_all(rig);
	ep = rig->ep;
	assert_int_equal(rig_send(ep, context), 0);
	assert_int_equal(fi_write(ep, word, 8, NULL, 0, 64, 1, context), 0);
	assert_int_equal(fi_atomic(ep, word, 1, NULL, 0, 64, 1, FI_UINT64, FI_SUM, context), 0);
	assert_int_equal(fi_read(ep, word, 8, NULL, 0, 64, 1, context), 0);
	assert_int_equal(fi_fetch_atomic(ep, word, 1, NULL, word, NULL, 0, 64, 1, FI_UINT64, FI_SUM,
					 context),
			 0);
	assert_int_equal(fi_compare_atomic(ep, word, 1, NULL, word, NULL, word, NULL, 0, 64, 1,
					   FI_UINT64, FI_CSWAP, context),
			 0);
	expect(0, 0, 0, 0);
	complete(rig, 2);
	expect(1, 0, 0, 1);
	complete(rig, 4);
	expect(1, 0, 3, 2);
	post_recv(rig, 0);
	post_recv(rig, 1);
	complete_recv(rig, NULL, IBV_WC_RECV);
	complete_recv(rig, &imm, IBV_WC_RECV_RDMA_WITH_IMM);
	expect(1, 2, 3, 2);
	close_all(rig);
}

/* Injected and silent ones count as soon as they have completed. */
static void test_silent(void **state)
{
	struct rig *rig = *state;

	rig->tx_bind = FI_SELECTIVE_COMPLETION;
	open_all(rig);
	assert_int_equal(fi_inject(rig->ep, word, 8, 0), 0);
	complete(rig, 1);
	assert_int_equal(fi_cntr_wait(cntrs[TX], 1, 0), 0);
	assert_int_equal(rig_send(rig->ep, context), 0);
	complete(rig, 1);
	expect(2, 0, 0, 0);
	assert_int_equal(fi_inject_write(rig->ep, word, 8, 0, 64, 1), 0);
	complete(rig, 1);
	expect(2, 0, 0, 1);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_tx_size_left(rig->ep), 8);
	close_all(rig);
}

/* Counting first, and reading the completion queue later, loses and reorders nothing. */
static void test_kept(void **state)
{
	struct rig *rig = *state;
	struct fi_cq_err_entry error;
	int i, round;

	open_all(rig);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 7; i++)
			assert_int_equal(rig_send(rig->ep, &context[i]), 0);
		complete(rig, 4);
		expect(round * 8 + 4, 0, 0, 0);
		complete(rig, 1);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[0]);
		expect(round * 8 + 5, 0, 0, 0);
		assert_int_equal(rig_send(rig->ep, &context[7]), 0);
		complete(rig, 3);
		for (i = 1; i < 8; i++)
			assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
		rig_no_entry(rig->cq[0]);
		expect(round * 8 + 8, 0, 0, 0);
	}
	assert_int_equal(rig_send(rig->ep, &context[0]), 0);
	assert_int_equal(rig_send(rig->ep, &context[1]), 0);
	complete(rig, 1);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_REM_ACCESS_ERR);
	expect(25, 0, 0, 0);
	assert_int_equal(fi_cntr_readerr(cntrs[TX]), 1);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[0]);
	error = rig_error(rig->cq[0]);
	assert_ptr_equal(error.op_context, &context[1]);
	assert_int_equal(error.err, FI_EKEYREJECTED);
	rig_no_entry(rig->cq[0]);
	close_all(rig);
}

/* What is stored may be as much as the queues hold, and all in one CQ. */
static void test_full(void **state)
{
	struct rig *rig = *state;
	int i;

	rig->one_cq = true;
	rig->cq_attr.size = 1;
	open_all(rig);
	for (i = 0; i < 8; i++) {
		post_recv(rig, 8 + i);
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
	}
	for (i = 0; i < 8; i++) {
		complete(rig, 1);
		complete_recv(rig, NULL, IBV_WC_RECV);
		expect(i + 1, i + 1, 0, 0);
	}
	assert_int_equal(rig_send(rig->ep, context), -FI_EAGAIN);
	for (i = 0; i < 8; i++) {
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[8 + i]);
	}
	rig_no_entry(rig->cq[0]);
	close_all(rig);
}

static void test_errors(void **state)
{
	struct rig *rig = *state;
	int i;

	open_all(rig);
	for (i = 0; i < 3; i++) {
		assert_int_equal(fi_inject(rig->ep, word, 8, 0), 0);
		post_recv(rig, i);
	}
	complete(rig, 1);
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENOTCONN);
	assert_int_equal(fi_cntr_wait(cntrs[TX], 3, 60000), -FI_EAVAIL);
	expect(1, 0, 0, 0);
	assert_int_equal(fi_cntr_readerr(cntrs[TX]), 2);
	assert_int_equal(fi_cntr_readerr(cntrs[RX]), 3);
	for (i = 0; i < 2; i++)
		assert_int_equal(rig_error(rig->cq[0]).err, FI_ECANCELED);
	close_all(rig);
}

/* The device is gone and says nothing: each outstanding operation is an error, once. */
static void test_lost(void **state)
{
	struct rig *rig = *state;
	int i;

	open_all(rig);
	for (i = 0; i < 3; i++)
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
	complete(rig, 1);
	expect(1, 0, 0, 0);
	fake_qp(rig_qp(rig))->deaf = true;
	vrb_ep_down(vrb_ep(rig->ep), -FI_ENODEV);
	assert_int_equal(fi_cntr_readerr(cntrs[TX]), 2);
	rig_entry(rig->cq[0]);
	for (i = 1; i < 3; i++)
		assert_ptr_equal(rig_error(rig->cq[0]).op_context, &context[i]);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_cntr_readerr(cntrs[TX]), 2);
	expect(1, 0, 0, 0);
	close_all(rig);
}

/* Without completion queues all is retired as it is counted: the endpoint never fills up. */
static void test_no_cq(void **state)
{
	struct rig *rig = *state;
	int i;

	open_bare(rig);
	for (i = 0; i < 40; i++) {
		assert_int_equal(rig_send(rig->ep, context), 0);
		post_recv(rig, 0);
		complete(rig, 1);
		complete_recv(rig, NULL, IBV_WC_RECV);
		if (i % 3)
			expect(i + 1, i + 1, 0, 0);
	}
	for (i = 0; i < 8; i++)
		assert_int_equal(rig_send(rig->ep, context), 0);
	assert_int_equal(rig_send(rig->ep, context), -FI_EAGAIN);
	complete(rig, 1);
	assert_int_equal(rig_send(rig->ep, context), 0);
	expect(41, 40, 0, 0);
	fake_complete_sends(rig_qp(rig), 1, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(fi_cntr_readerr(cntrs[TX]), 1);
	close_all(rig);
}

/* One direction has a completion queue, the other a counter. */
static void test_half(void **state)
{
	struct rig *rig = *state;

	rig_open_cqs(rig);
	open_cntrs(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &rig->ep, NULL), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_enable(rig->ep), -FI_ENOCQ);
	assert_int_equal(fi_ep_bind(rig->ep, &cntrs[RX]->fid, FI_RECV), 0);
	ready(rig);
	assert_int_equal(rig_send(rig->ep, context), 0);
	post_recv(rig, 0);
	complete(rig, 1);
	complete_recv(rig, NULL, IBV_WC_RECV);
	expect(0, 1, 0, 0);
	rig_entry(rig->cq[0]);
	close_all(rig);
}

/* Selective receives are retired although nobody reads. */
static void test_selective_recv(void **state)
{
	struct rig *rig = *state;
	uint32_t imm = 1;
	int i;

	rig->rx_bind = FI_SELECTIVE_COMPLETION;
	open_all(rig);
	for (i = 0; i < 20; i++) {
		post_recv(rig, i);
		complete_recv(rig, i % 2 ? &imm : NULL, IBV_WC_RECV);
		expect(0, i + 1, 0, 0);
	}
	rig_no_entry(rig->cq[1]);
	close_all(rig);
}

static void test_close(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	open_all(rig);
	other = rig_another_ep(rig);
	for (i = 0; i < 4; i++) {
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
		assert_int_equal(rig_send(other, &context[10 + i]), 0);
		complete(rig, 1);
		fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	}
	expect(4, 0, 0, 0);
	/* What is stored of it goes with it, the other's stays. */
	close_all(rig);
	for (i = 0; i < 4; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[10 + i]);
	rig_no_entry(rig->cq[0]);
	assert_int_equal(fi_close(&other->fid), 0);
}

static void fill(struct fid_ep *ep, int first)
{
	int i;

	for (i = 0; i < 8; i++) {
		assert_int_equal(fi_recv(ep, word, 8, NULL, 0, &context[first + 8 + i]), 0);
		assert_int_equal(rig_send(ep, &context[first + i]), 0);
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
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[first + i]);
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[first + 8 + i]);
	}
}

/* There is room for all that endpoints without counters complete, and for those that follow a closed one. */
static void test_room(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	rig->one_cq = true;
	rig->cq_attr.size = 1;
	open_all(rig);
	for (i = 0; i < 3; i++) {
		other = rig_another_ep(rig);
		fill(other, 0);
		expect(i * 8, i * 8, 0, 0);
		fill(rig->ep, 16);
		expect(i * 8 + 8, i * 8 + 8, 0, 0);
		if (i)
			expect_filled(rig, 0);
		assert_int_equal(fi_close(&other->fid), 0);
		expect_filled(rig, 16);
		rig_no_entry(rig->cq[0]);
	}
	close_all(rig);
}

/* A closed endpoint's completions take no room from those that come after it. */
static void test_room_after_close(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;
	int i;

	rig->one_cq = true;
	rig->cq_attr.size = 1;
	open_all(rig);
	fill(rig->ep, 16);
	expect(8, 8, 0, 0);
	for (i = 0; i < 3; i++) {
		other = rig_another_ep(rig);
		fill(other, 0);
		expect(8, 8, 0, 0);
		assert_int_equal(fi_close(&other->fid), 0);
	}
	assert_int_equal(vrb_cq(rig->cq[0])->store.count + vrb_cq(rig->cq[0])->kept, 16);
	expect_filled(rig, 16);
	close_all(rig);
}

/* A silent success behind an unread one does not free the unread one's slot. */
static void test_silent_behind(void **state)
{
	struct rig *rig = *state;
	int i;

	open_all(rig);
	for (i = 0; i < 2; i++) {
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
		assert_int_equal(fi_inject(rig->ep, word, 8, 0), 0);
	}
	for (i = 1; i <= 4; i++) {
		complete(rig, 1);
		expect(i, 0, 0, 0);
	}
	for (i = 2; i < 6; i++)
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
	assert_int_equal(rig_send(rig->ep, context), -FI_EAGAIN);
	for (i = 0; i < 2; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
	complete(rig, 4);
	for (i = 2; i < 6; i++)
		assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[i]);
	expect(8, 0, 0, 0);
	close_all(rig);
}

static void test_busy(void **state)
{
	struct rig *rig = *state;
	int i;

	open_all(rig);
	for (i = 0; i < CNTRS; i++)
		assert_int_equal(fi_close(&cntrs[i]->fid), -FI_EBUSY);
	assert_int_equal(fi_close(&rig->domain->fid), -FI_EBUSY);
	close_all(rig);
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
	open_all(rig);
	assert_int_equal(fi_control(&cntrs[TX]->fid, FI_GETWAIT, &fd), 0);
	assert_int_equal(fi_control(&rig->cq[0]->fid, FI_GETWAIT, &cq_fd), 0);
	assert_int_equal(ofi_cntr_trywait(ofi_cntr(cntrs[TX])), 0);
	assert_false(readable(fd));
	assert_int_equal(rig_send(rig->ep, context), 0);
	complete(rig, 1);
	assert_true(readable(fd));
	assert_int_equal(ofi_cntr_trywait(ofi_cntr(cntrs[TX])), -FI_EAGAIN);
	/* The counter took it from the device: the CQ's own sleepers are told. */
	assert_true(readable(cq_fd));
	assert_int_equal(vrb_cq_trywait(vrb_cq(rig->cq[0])), -FI_EAGAIN);
	rig_entry(rig->cq[0]);
	assert_int_equal(vrb_cq_trywait(vrb_cq(rig->cq[0])), 0);
	assert_false(readable(cq_fd));
	assert_int_equal(ofi_cntr_trywait(ofi_cntr(cntrs[TX])), 0);
	assert_false(readable(fd));
	/* Somebody else reads the CQ. */
	assert_int_equal(rig_send(rig->ep, context), 0);
	complete(rig, 1);
	rig_entry(rig->cq[0]);
	vrb_cq_trywait(vrb_cq(rig->cq[0]));
	assert_true(readable(fd));
	close_all(rig);
}

/* A CQ that can't be waited for: the counter is looked at instead. */
static void test_fd_without(void **state)
{
	struct rig *rig = *state;

	open_all(rig);
	assert_int_equal(ofi_cntr_trywait(ofi_cntr(cntrs[TX])), -FI_EAGAIN);
	assert_int_equal(ofi_cntr_trywait(ofi_cntr(cntrs[TX])), -FI_EAGAIN);
	assert_int_equal(fi_cntr_wait(cntrs[TX], 1, 10), -FI_ETIMEDOUT);
	close_all(rig);
}

static void test_bad_binds(void **state)
{
	struct rig *rig = *state, other;
	struct fid_cntr *cntr;

	rig_open_ep(rig);
	cntr = open_cntr(rig, FI_WAIT_NONE);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, 0), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND | FI_MSG), -FI_EBADFLAGS);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_REMOTE_READ), -FI_EOPNOTSUPP);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_REMOTE_WRITE | FI_SEND),
			 -FI_EOPNOTSUPP);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND | FI_RECV), -FI_EBUSY);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_RECV | FI_READ), 0);
	assert_int_equal(fi_enable(rig->ep), 0);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_WRITE), -FI_EOPBADSTATE);
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
	cntr = open_cntr(rig, FI_WAIT_YIELD);
	assert_int_equal(fi_ep_bind(rig->ep, &cntr->fid, FI_SEND | FI_RECV | FI_READ | FI_WRITE),
			 0);
	ready(rig);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &other, NULL), 0);
	assert_int_equal(fi_ep_bind(other, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(other, &rig->cq[0]->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(other, &cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_enable(other), 0);
	vrb_ep_ready(vrb_ep(other));
	assert_int_equal(rig_send(rig->ep, context), 0);
	assert_int_equal(rig_send(other, context), 0);
	complete(rig, 1);
	fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	post_recv(rig, 0);
	complete_recv(rig, NULL, IBV_WC_RECV);
	assert_int_equal(fi_cntr_wait(cntr, 3, 1000), 0);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(rig_send(rig->ep, context), 0);
	complete(rig, 1);
	assert_int_equal(fi_cntr_read(cntr), 4);
	assert_int_equal(fi_close(&rig->ep->fid), 0);
	rig->ep = NULL;
	assert_int_equal(fi_close(&cntr->fid), 0);
}

static ssize_t post_more(struct rig *rig, uint64_t flags)
{
	struct fi_msg msg = { .context = context };

	return fi_sendmsg(rig->ep, &msg, flags);
}

/* Looking at a counter rings the doorbells that FI_MORE left. */
static void test_more(void **state)
{
	struct rig *rig = *state;

	open_all(rig);
	assert_int_equal(post_more(rig, FI_MORE), 0);
	assert_int_equal(fake_qp(rig_qp(rig))->doorbells, 0);
	expect(0, 0, 0, 0);
	assert_int_equal(fake_qp(rig_qp(rig))->doorbells, 1);
	complete(rig, 1);
	expect(1, 0, 0, 0);
	close_all(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_kinds),
		RIG_TEST(test_silent),
		RIG_TEST(test_kept),
		RIG_TEST(test_full),
		RIG_TEST(test_errors),
		RIG_TEST(test_lost),
		RIG_TEST(test_no_cq),
		RIG_TEST(test_half),
		RIG_TEST(test_selective_recv),
		RIG_TEST(test_close),
		RIG_TEST(test_room),
		RIG_TEST(test_room_after_close),
		RIG_TEST(test_silent_behind),
		RIG_TEST(test_busy),
		RIG_TEST(test_fd),
		RIG_TEST(test_fd_without),
		RIG_TEST(test_bad_binds),
		RIG_TEST(test_shared),
		RIG_TEST(test_more),
	};

	return RIG_RUN("verbs cntr", tests);
}
