/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Buffers of the shared receive queue that do not come back, because the device never reports them
 * or because packets are kept in them, are replaced.
 */
#include "unit.h"
#include <errno.h>
#include <string.h>
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/rdm/buf.h"
#include "fake_verbs.h"
#include "src/ds/clock.h"

enum { DEPTH = 128, SIZE = VRB_RDM_HOLD_MIN, RESERVE = 32, CHUNK = 32 };

static struct vrb_domain domain;
static struct vrb_rdm_rx_ring ring;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

/* Registers memory for as many chunks of buffers, or for all if chunks is 0. */
static int begin_with(uint32_t reserve, unsigned int chunks)
{
	struct ibv_srq_init_attr srq = { .attr = { .max_wr = DEPTH, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };

	fake_reset();
	memset(&domain, 0, sizeof(domain));
	domain.ctx = &fake.ctx;
	domain.pd = ibv_alloc_pd(&fake.ctx);
	vrb_rdm_rx_init(&ring, &domain, SIZE, DEPTH, reserve);
	ring.srq = ibv_create_srq(domain.pd, &srq);
	fake_srq(ring.srq)->refuses = true;
	cq = ibv_create_cq(&fake.ctx, DEPTH, NULL, NULL, 0);
	init.send_cq = init.recv_cq = cq;
	init.srq = ring.srq;
	qp = ibv_create_qp(domain.pd, &init);
	fake.fail_at = chunks ? fake.calls + chunks + 1 : 0;
	fake.fail_errno = ENOMEM;
	assert_int_equal(vrb_rdm_rx_fill(&ring), 0);
	return 0;
}

static int begin(void **state)
{
	(void)state;
	return begin_with(0, 0);
}

static int begin_with_reserve(void **state)
{
	(void)state;
	return begin_with(RESERVE, 0);
}

static int begin_with_few(void **state)
{
	(void)state;
	return begin_with(RESERVE, DEPTH / CHUNK);
}

static int begin_with_one(void **state)
{
	(void)state;
	return begin_with(RESERVE, 1);
}

static int end(void **state)
{
	(void)state;
	ibv_destroy_qp(qp);
	ibv_destroy_srq(ring.srq);
	ibv_destroy_cq(cq);
	vrb_rdm_rx_fini(&ring);
	ibv_dealloc_pd(domain.pd);
	fake_all_closed();
	return 0;
}

static uint32_t in_queue(void)
{
	return fake_srq(ring.srq)->recvs.count;
}

static uint32_t believed(void)
{
	return (uint32_t)(ring.above + (int32_t)ring.low);
}

/* The device takes the oldest. */
static struct vrb_rdm_rx *take(void)
{
	struct ibv_wc wc;

	fake_complete_recv(qp, IBV_WC_SUCCESS, IBV_WC_RECV, SIZE, NULL);
	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 1);
	return (struct vrb_rdm_rx *)(uintptr_t)(wc.wr_id & ~(uint64_t)VRB_RDM_RX_BIT);
}

static void tell(struct vrb_rdm_rx *rx)
{
	vrb_rdm_rx_put(&ring, rx);
	if (--ring.above < 0)
		vrb_rdm_rx_fill(&ring);
}

static void traffic(unsigned int messages)
{
	while (messages--) {
		assert_true(in_queue() > 0);
		tell(take());
	}
}

static void what_is_lost_is_replaced(void **state)
{
	unsigned int round, i;

	(void)state;
	/* More in all than the queue has; the memory does not grow without end. */
	for (round = 0; round < 6; round++) {
		for (i = 0; i < 40 && in_queue(); i++)
			take();
		vrb_rdm_rx_doubt(&ring);
		vrb_rdm_rx_doubt(&ring);
		if (round == 3)
			break;
		traffic(3 * DEPTH);
		assert_int_equal(ring.missing, 40 * (round + 1));
		assert_int_equal(in_queue(), believed());
	}
	traffic(3 * DEPTH);
	assert_int_equal(ring.missing, DEPTH);
	assert_int_equal(ring.count, 2 * DEPTH);
}

static void nothing_is_lost(void **state)
{
	uint32_t count = ring.count;

	(void)state;
	traffic(7);
	vrb_rdm_rx_doubt(&ring);
	traffic(3 * DEPTH);
	assert_int_equal(ring.missing, 0);
	assert_int_equal(ring.count, count);
	assert_int_equal(in_queue(), believed());
}

/* A message that takes long, of a connection that lives: it is complete at last. */
static void some_come_late(void **state)
{
	struct vrb_rdm_rx *late = take();

	(void)state;
	take();
	vrb_rdm_rx_doubt(&ring);
	traffic(3 * DEPTH);
	assert_int_equal(ring.missing, 2);
	assert_int_equal(in_queue(), believed());
	tell(late);
	traffic(DEPTH);
	vrb_rdm_rx_doubt(&ring);
	traffic(3 * DEPTH);
	assert_int_equal(ring.missing, 1);
	assert_int_equal(in_queue(), believed());
	assert_int_equal(vrb_rdm_rx_fill(&ring), 0);
}

/* What came while it was in doubt is not missing, however long the application takes. */
static void one_is_held(void **state)
{
	struct vrb_rdm_rx *rx;

	(void)state;
	vrb_rdm_rx_doubt(&ring);
	rx = take();
	assert_ptr_equal(vrb_rdm_rx_keep(&ring, rx, VRB_RDM_HOLD_MIN), rx);
	ring.above--;
	traffic(3 * DEPTH);
	assert_int_equal(ring.missing, 0);
	assert_int_equal(in_queue(), believed());
	/* The buffer that is put back leaves its place to others that may be held. */
	assert_int_equal(ring.held, 1);
	vrb_rdm_rx_put(&ring, rx);
	assert_int_equal(ring.held, 0);
}

/* Kept packets hold all buffers that are not posted, while the queue stays full. */
static void reserve_is_replaced(void **state)
{
	struct vrb_rdm_rx *kept[RESERVE + 1], *rx;
	int i;

	(void)state;
	assert_int_equal(in_queue(), DEPTH);
	for (i = 0; i <= RESERVE; i++) {
		rx = vrb_rdm_rx_take(&ring);
		assert_non_null(rx);
		ring.above--;
		kept[i] = i < RESERVE ? vrb_rdm_rx_keep(&ring, rx, VRB_RDM_HOLD_MIN) : rx;
		assert_ptr_equal(kept[i], rx);
	}
	while (i--)
		vrb_rdm_rx_put(&ring, kept[i]);
	assert_int_equal(in_queue(), DEPTH);
}

/* If there is no memory for more, packets are copied rather than kept in the reserve. */
static void reserve_is_not_used_up(void **state)
{
	struct vrb_rdm_rx *kept[2 * RESERVE], *rx;
	int i;

	(void)state;
	assert_int_equal(ring.count, DEPTH);
	assert_int_equal(in_queue(), DEPTH - RESERVE);
	for (i = 0; i < 2 * RESERVE; i++) {
		rx = vrb_rdm_rx_take(&ring);
		assert_non_null(rx);
		ring.above--;
		kept[i] = vrb_rdm_rx_keep(&ring, rx, VRB_RDM_HOLD_MIN);
		assert_ptr_not_equal(kept[i], rx);
	}
	while (i--)
		vrb_rdm_rx_put(&ring, kept[i]);
}

/* The queue gets most of the only chunk, and the reserve the rest. */
static void one_chunk_will_do(void **state)
{
	(void)state;
	assert_int_equal(ring.count, CHUNK);
	assert_int_equal(in_queue(), CHUNK * 3 / 4);
	assert_non_null(vrb_rdm_rx_take(&ring));
	ring.above--;
}

/* Memory that was refused is asked for again later, but not for each message. */
static void growth_is_tried_again(void **state)
{
	unsigned int calls;

	(void)state;
	take();
	vrb_rdm_rx_doubt(&ring);
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = ENOMEM;
	traffic(3 * DEPTH);
	calls = fake.calls;
	assert_int_equal(calls, fake.fail_at);
	traffic(3 * DEPTH);
	assert_int_equal(fake.calls, calls);
	assert_int_equal(ring.count, DEPTH);
	ring.grow_at = ofi_now_ms();
	traffic(DEPTH);
	assert_int_equal(ring.count, DEPTH + 32);
	assert_int_equal(in_queue(), believed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_lost_is_replaced, begin, end),
		cmocka_unit_test_setup_teardown(nothing_is_lost, begin, end),
		cmocka_unit_test_setup_teardown(some_come_late, begin, end),
		cmocka_unit_test_setup_teardown(one_is_held, begin, end),
		cmocka_unit_test_setup_teardown(reserve_is_replaced, begin_with_reserve, end),
		cmocka_unit_test_setup_teardown(reserve_is_not_used_up, begin_with_few, end),
		cmocka_unit_test_setup_teardown(one_chunk_will_do, begin_with_one, end),
		cmocka_unit_test_setup_teardown(growth_is_tried_again, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
