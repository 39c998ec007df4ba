/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Room in completion queues: entries that are reserved or shared, and queues that do not grow. */
#include "unit.h"

#include <errno.h>
#include "prov/verbs/provider/prov.h"
#include "verbs_rig.h"

static char context[64];

static void post_sends(struct rig *rig, int first, int count)
{
	int i;

	for (i = first; i < first + count; i++)
		assert_int_equal(rig_send(rig->ep, &context[i]), 0);
}

/* The CQ grows with the queues attached to it, and shrinks its promises when they close. */
static void test_grows(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *eps[8];
	struct vrb_cq *cq;
	int i, round;

	rig->one_cq = true;
	rig->cq_attr.size = 1;
	rig_enable(rig);
	cq = vrb_cq(rig->cq[0]);
	assert_int_equal(cq->reserved, 16);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 8; i++)
			eps[i] = rig_another_ep(rig);
		assert_int_equal(cq->reserved, 9 * 16);
		assert_true(cq->capacity >= cq->reserved);
		assert_int_equal(cq->capacity, cq->ibv->cqe);
		assert_false(cq->shared);
		for (i = 0; i < 8; i++)
			assert_int_equal(fi_close(&eps[i]->fid), 0);
		assert_int_equal(cq->reserved, 16);
	}
	assert_in_range(fake.resizes, 1, 18);
}

/* Opens 8 more endpoints, whose queues do not fit into the completion queue. */
static struct vrb_cq *share_cq(struct rig *rig, struct fid_ep **eps)
{
	struct vrb_cq *cq;
	int i;

	fake.attr.max_cqe = 64;
	rig->one_cq = true;
	rig->cq_attr.size = 8;
	rig_connect(rig);
	cq = vrb_cq(rig->cq[0]);
	for (i = 0; i < 8; i++)
		eps[i] = rig_another_ep(rig);
	assert_true(cq->shared);
	return cq;
}

/*
 * Above three quarters of the device's limit, queues share entries; if not even one entry is left,
 * opening fails.
 */
static void test_max(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *eps[8];
	struct vrb_cq *cq = share_cq(rig, eps);
	int i, total = 0;

	assert_int_equal(cq->capacity, 64);
	for (i = 0; i < 8; i++) {
		while (!rig_send(eps[i], NULL))
			total++;
		while (!fi_recv(eps[i], NULL, 0, NULL, 0, NULL))
			total++;
	}
	assert_int_equal(total, 64 - 16);
	for (i = 0; i < 8; i++)
		assert_int_equal(fi_close(&eps[i]->fid), 0);
	assert_int_equal(fi_tx_size_left(rig->ep), 8);
	while (fake_cq(cq->ibv)->count)
		rig_no_entry(rig->cq[0]);
	assert_int_equal(cq->pool, 64 - 16);
}

/* The work request with which closing waits for the last message takes a credit, too. */
static void test_credits_at_close(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *eps[8];
	struct vrb_cq *cq = share_cq(rig, eps);
	int i;

	for (i = 0; i < 8; i++)
		assert_int_equal(rig_send(eps[i], NULL), 0);
	for (i = 0; i < 8; i++)
		assert_int_equal(fi_close(&eps[i]->fid), 0);
	while (fake_cq(cq->ibv)->count)
		rig_no_entry(rig->cq[0]);
	assert_int_equal(cq->pool, 64 - 16);
}

static void no_room(struct rig *rig, int max_cqe)
{
	struct fid_ep *ep = NULL;

	fake.attr.max_cqe = max_cqe;
	rig->info->tx_attr->size = rig->info->rx_attr->size = 6;
	rig->one_cq = true;
	rig->cq_attr.size = 5; /* the device makes it 12, which is reserved by the first */
	rig_connect(rig);
	assert_int_equal(fake_cq(vrb_cq(rig->cq[0])->ibv)->ibv.cqe, 12);
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &ep, NULL), 0);
	assert_int_equal(fi_ep_bind(ep, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &rig->cq[0]->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_enable(ep), -FI_ENOSPC);
	assert_int_equal(fake.qps, 1);
	assert_int_equal(rig_send(ep, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_enable(ep), -FI_ENOSPC);
	assert_int_equal(fi_close(&ep->fid), 0);
	post_sends(rig, 0, 6);
	fake_complete_sends(rig_qp(rig), 6, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[0]);
}

static void test_no_room(void **state)
{
	fake.resize_err = ENOMEM;
	no_room(*state, 16);
}

static void test_no_room_in_spite_of_success(void **state)
{
	fake.resize_idle = true;
	no_room(*state, 64);
}

/* Room for the transmit queue but none for receives: nothing is left half attached. */
static void test_no_room_rx(void **state)
{
	struct rig *rig = *state;
	struct fid_ep *other;

	fake.attr.max_cqe = 24;
	fake.resize_err = ENOMEM;
	rig->cq_attr.size = 9; /* 16 */
	rig_connect(rig);
	/* The receive CQ is full: 8 + 8 of 16. */
	vrb_cq(rig->cq[1])->reserved = 16;
	assert_int_equal(fi_endpoint(rig->domain, rig->info, &other, NULL), 0);
	assert_int_equal(fi_ep_bind(other, &rig_eq.fid.fid, 0), 0);
	assert_int_equal(fi_ep_bind(other, &rig->cq[0]->fid, FI_TRANSMIT), 0);
	assert_int_equal(fi_ep_bind(other, &rig->cq[1]->fid, FI_RECV), 0);
	assert_int_equal(fi_enable(other), -FI_ENOSPC);
	rig_no_entry(rig->cq[0]);
	vrb_cq(rig->cq[1])->reserved = 8;
	assert_int_equal(fi_enable(other), 0);
	vrb_ep_ready(vrb_ep(other));
	assert_int_equal(rig_send(other, &context[1]), 0);
	fake_complete_sends(vrb_ep(other)->qp, 1, IBV_WC_SUCCESS);
	assert_ptr_equal(rig_entry(rig->cq[0]).op_context, &context[1]);
	assert_int_equal(vrb_cq(rig->cq[0])->reserved, 16);
	assert_int_equal(fi_close(&other->fid), 0);
	assert_int_equal(vrb_cq(rig->cq[0])->reserved, 8);
	assert_int_equal(vrb_cq(rig->cq[1])->reserved, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(test_grows),
		RIG_TEST(test_max),
		RIG_TEST(test_credits_at_close),
		RIG_TEST(test_no_room),
		RIG_TEST(test_no_room_in_spite_of_success),
		RIG_TEST(test_no_room_rx),
	};

	return RIG_RUN("verbs_cq_room", tests);
}
