/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections on unreliable datagrams sleep, and wake without anybody noticing. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "ud_net.h"

enum { ROUNDS = 30, BURST = 8, LEN = 900, US = 400000 };

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
static bool short_of_memory;

void *__wrap_calloc(size_t count, size_t size)
{
	return short_of_memory ? NULL : __real_calloc(count, size);
}

static const struct ud_net_params calm;
static struct ud_conn *ends[2]; /* of the connection between nodes 0 and 1 */
static uint32_t sent[2], completed[2], arrived[2];

static void begin_with(uint64_t seed, const struct ud_net_params *params)
{
	int i;

	ud_net_begin(seed, params);
	ud_net_join(0, 1, &ends[0], &ends[1]);
	for (i = 0; i < 2; i++) {
		ends[i]->rc.last.conn = &ends[i]->rc;
		ud_nodes[i].rc.ud->awake_least = 0;
		sent[i] = completed[i] = arrived[i] = 0;
	}
}

static int begin(void **state)
{
	(void)state;
	begin_with(3, &calm);
	return 0;
}

static int end(void **state)
{
	(void)state;
	short_of_memory = false;
	ud_net_end();
	return 0;
}

/* Posts a message that begins with its number. It fits in a packet, so it is copied. */
static int post(int at, uint64_t flags)
{
	static uint32_t bytes[LEN / 4];
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .length = ud_net_any(2) ? LEN : 4 };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	int err;

	bytes[0] = sent[at];
	err = vrb_rc_conn_post(&ends[at]->rc, &wr, flags, NULL, NULL);
	sent[at] += !err;
	return err;
}

static void complete(int at, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx = (struct vrb_rdm_rx *)(uintptr_t)(wc->wr_id & ~(uint64_t)1);
	const struct vrb_rdm_slot *slot = (const struct vrb_rdm_slot *)(uintptr_t)wc->wr_id;

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	if (wc->wr_id & VRB_RDM_RX_BIT) {
		assert_int_equal(*(uint32_t *)(uintptr_t)rx->sge.addr, arrived[at]);
		arrived[at]++;
		ud_net_repost((unsigned int)at, rx);
		return;
	}
	assert_ptr_equal(slot->conn, &ends[at]->rc);
	ends[at]->rc.tail = slot->seq + 1;
	completed[at] = slot->seq + 1;
}

static void watch(uint64_t us)
{
	struct ibv_wc wc;
	uint64_t passed;
	int i;

	for (passed = 0; passed < us; passed += 200) {
		ud_net_pass(200);
		for (i = 0; i < 2; i++)
			while (ud_net_poll((unsigned int)i, &wc))
				complete(i, &wc);
	}
}

/* The second look finds it unused. */
static bool sleeps(int at)
{
	vrb_ud_rest(&ud_nodes[at].rc.rdm);
	vrb_ud_rest(&ud_nodes[at].rc.rdm);
	return ends[at]->rc.ud->asleep;
}

static void talk(void)
{
	assert_int_equal(post(0, 0), 0);
	watch(3000);
	assert_int_equal(post(1, 0), 0);
	watch(US);
	assert_int_equal(arrived[0], sent[1]);
	assert_int_equal(arrived[1], sent[0]);
}

static void both_sleep(void)
{
	assert_true(sleeps(0));
	assert_true(sleeps(1));
	assert_int_equal(ud_nodes[0].rc.ud->awake_count, 0);
	assert_int_equal(ud_nodes[0].rc.ud->spare_count, 0);
}

static void what_is_posted_wakes_both_ends(void **state)
{
	(void)state;
	talk();
	both_sleep();
	assert_true(vrb_ud_conn_quiet(&ends[0]->rc));
	vrb_ud_conn_heard(&ends[0]->rc);
	assert_int_equal(post(1, 0), 0);
	assert_false(ends[1]->rc.ud->asleep);
	assert_true(ends[0]->rc.ud->asleep);
	watch(3000);
	assert_false(ends[0]->rc.ud->asleep);
	talk();
	both_sleep();
	talk();
	assert_int_equal(completed[0], sent[0]);
	assert_int_equal(completed[1], sent[1]);
}

static void whoever_is_busy_stays_awake(void **state)
{
	(void)state;
	assert_false(sleeps(0)); /* nothing has arrived yet */
	talk();
	vrb_ud_rest(&ud_nodes[0].rc.rdm);
	assert_false(ends[0]->rc.ud->asleep); /* it was used */
	assert_int_equal(post(0, 0), 0);
	assert_false(sleeps(0)); /* it waits for an acknowledgment */
	ud_nodes[0].rc.ud->awake_least = 1;
	watch(US);
	assert_false(sleeps(0)); /* so many may stay awake */
	ud_nodes[0].rc.ud->awake_least = 0;
	ends[0]->rc.shm = (struct vrb_shm_conn *)ends;
	assert_false(sleeps(0)); /* shared memory posts to it */
	ends[0]->rc.shm = NULL;
	assert_true(sleeps(0));
}

/* Polling looks at them, the longer the more of them wake. */
static void many_that_wake_let_others_sleep(void **state)
{
	(void)state;
	talk();
	both_sleep();
	assert_int_equal(post(0, 0), 0);
	watch(US);
	assert_int_equal(ud_nodes[0].rc.ud->looks, 0);
	assert_false(ends[0]->rc.ud->asleep);
	ud_nodes[0].rc.ud->looks = 1;
	watch(200);
	ud_nodes[0].rc.ud->looks = 1;
	watch(200);
	assert_true(ends[0]->rc.ud->asleep);
}

static void silent_work_requests_are_reported_first(void **state)
{
	(void)state;
	talk();
	ends[0]->rc.quiet = 31;
	assert_int_equal(post(0, OFI_RDM_SILENT), 0);
	assert_int_equal(post(0, OFI_RDM_SILENT), 0);
	watch(US);
	assert_int_equal(completed[0], sent[0] - 2);
	assert_false(sleeps(0));
	watch(200);
	assert_int_equal(completed[0], sent[0]);
	assert_true(sleeps(0));
}

static void strangers_wake_nobody(void **state)
{
	struct vrb_ud_packet packet = { .kind = VRB_UD_SEND, .last = true };
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len;

	(void)state;
	talk();
	both_sleep();
	packet.to = ends[0]->rc.qp_num;
	packet.from = ends[1]->rc.qp_num + 1;
	packet.number = packet.order = 1;
	len = vrb_ud_build(bytes, &packet);
	vrb_ud_stamp(bytes, 1, 1, &packet.words, 0);
	ud_net_inject(1, ud_net_qpn(1), 0, bytes, len);
	watch(1000);
	assert_true(ends[0]->rc.ud->asleep);
}

static void a_connection_that_sleeps_is_ended(void **state)
{
	(void)state;
	talk();
	both_sleep();
	vrb_ud_conn_end(&ends[0]->rc);
	watch(3000);
	assert_int_equal(ends[1]->endings, 1);
	assert_int_equal(ends[1]->err, FI_ECONNRESET);
}

static void a_peer_that_sleeps_is_lost(void **state)
{
	(void)state;
	talk();
	both_sleep();
	vrb_ud_conn_lost(&ends[0]->rc);
	assert_int_equal(ends[0]->endings, 1);
}

/* Shared memory may be offered on a connection that has fallen asleep: the offer wakes it. */
static void shared_memory_stays(void **state)
{
	struct vrb_rc_conn *conn = &ends[0]->rc;
	struct vrb_shm_conn *shm = (struct vrb_shm_conn *)(uintptr_t)8;
	struct ibv_qp *const ring = (struct ibv_qp *)(uintptr_t)16;

	(void)state;
	talk();
	both_sleep();
	assert_ptr_equal(conn->sq, &ud_nodes[0].rc.ud->sleeper);
	conn->shm = shm;
	conn->sq = ring;
	assert_non_null(vrb_ud_wake(conn->ud));
	assert_ptr_equal(conn->sq, ring);
	assert_ptr_equal(conn->qp, &conn->ud->qp);
	conn->shm = NULL;
	conn->sq = conn->qp;
}

/* What is not posted and what does not arrive is tried again. */
static void waking_needs_memory(void **state)
{
	(void)state;
	talk();
	both_sleep();
	short_of_memory = true;
	assert_int_equal(post(0, 0), ENOMEM);
	assert_true(ends[0]->rc.ud->asleep);
	short_of_memory = false;
	assert_int_equal(post(0, 0), 0);
	short_of_memory = true;
	watch(3000);
	assert_true(ends[1]->rc.ud->asleep);
	short_of_memory = false;
	watch(US);
	talk();
	both_sleep();
	short_of_memory = true;
	vrb_ud_conn_end(&ends[0]->rc);
	assert_true(ends[0]->rc.ud->over);
}

static void run_schedule(uint64_t seed, const struct ud_net_params *params)
{
	unsigned int round, i, naps = 0;

	begin_with(seed, params);
	for (round = 0; round < ROUNDS; round++) {
		for (i = ud_net_any(BURST); i; i--)
			assert_int_equal(post((int)ud_net_any(2), 0), 0);
		watch(ud_net_any(3) ? US : ud_net_any(5000));
		naps += sleeps((int)ud_net_any(2));
	}
	watch(10 * US);
	assert_int_equal(arrived[0], sent[1]);
	assert_int_equal(arrived[1], sent[0]);
	assert_int_equal(completed[0], sent[0]);
	assert_int_equal(completed[1], sent[1]);
	assert_true(naps > 0);
	ud_net_end();
}

static void schedules(void **state)
{
	struct ud_net_params params = { .loss = 0 };
	uint64_t seed;

	(void)state;
	for (seed = 0; seed < ud_net_seeds() / 3; seed++) {
		params.loss = seed % 3 * 50;
		params.duplicates = seed % 4 * 50;
		params.delayed = seed % 5 * 50;
		params.srd = seed % 2;
		run_schedule(seed, &params);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_is_posted_wakes_both_ends, begin, end),
		cmocka_unit_test_setup_teardown(whoever_is_busy_stays_awake, begin, end),
		cmocka_unit_test_setup_teardown(many_that_wake_let_others_sleep, begin, end),
		cmocka_unit_test_setup_teardown(silent_work_requests_are_reported_first, begin,
						end),
		cmocka_unit_test_setup_teardown(strangers_wake_nobody, begin, end),
		cmocka_unit_test_setup_teardown(a_connection_that_sleeps_is_ended, begin, end),
		cmocka_unit_test_setup_teardown(a_peer_that_sleeps_is_lost, begin, end),
		cmocka_unit_test_setup_teardown(shared_memory_stays, begin, end),
		cmocka_unit_test_setup_teardown(waking_needs_memory, begin, end),
		cmocka_unit_test(schedules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
