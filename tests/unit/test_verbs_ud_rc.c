/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections on unreliable datagrams that get reliable queue pairs: nothing is lost, nothing is
 * overtaken, whatever the network does and however late receives are posted again; and what peers
 * may say about their queue pairs. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/proof.h"
#include "prov/verbs/rdm/shm.h"
#include "ud_flows.h"

enum { ALL = 7, QPN = 77 };

static const struct ud_net_params calm = { .grows = ALL };

static void nothing_overtakes(void **state)
{
	struct ud_net_params params = { .grows = ALL };
	uint64_t seed, count = ud_net_seeds();

	(void)state;
	for (seed = 1; seed <= count; seed++) {
		params.loss = seed % 3 * 50;
		params.duplicates = seed % 5 * 20;
		params.delayed = seed % 4 * 250;
		params.no_inline = seed % 2;
		ud_flows_begin(seed, &params);
		ud_flows_run(NULL);
		assert_true(ud_flow_is_used(0) && ud_flow_is_used(1));
		ud_net_end();
	}
}

static void both_use_it(void **state)
{
	struct ofi_stats *stats = ofi_stats_alloc(sizeof(*stats)); /* now there are texts, too */

	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(ud_net_rc_count(1), 1);
	assert_false(ud_flow_is_used(1));
	ud_flow_send(1);
	ud_flow_send(0);
	ud_flows_settle();
	assert_true(ud_flow_is_used(0) && ud_flow_is_used(1));
	assert_int_equal(ud_flow_conns[0]->rc.peer->stats.transport, ofi_stats_text("rc"));
	ofi_stats_free(stats, stats);
	assert_int_equal(ud_flows[0].arrived + ud_flows[1].arrived, 2);
	assert_true(vrb_ud_conn_quiet(&ud_flow_conns[0]->rc));
}

/* The device offers nothing that the peer could read by. */
static void a_device_without_reads_gets_none(void **state)
{
	const struct ud_net_params params = { .grows = ALL, .no_rd_atom = true };

	(void)state;
	ud_flows_begin(7, &params);
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_int_equal(ud_net_rc_created(), 0);
	assert_int_equal(ud_flow_conns[0]->endings + ud_flow_conns[1]->endings, 0);
	ud_flow_send(0);
	ud_flows_settle();
	assert_int_equal(ud_flows[0].arrived, 1);
	ud_net_end();
}

static uint32_t room_taken(void)
{
	return ud_nodes[0].rc.ud->rcs.cq_size - ud_nodes[0].rc.ud->rcs.room;
}

/* The packets that wake a peer on the same host go through it besides the ring. */
static void there_is_room_to_wake_the_peer(void **state)
{
	uint32_t before = room_taken() + 2 * ud_nodes[0].rc.ud->rcs.share;

	(void)state;
	ud_nodes[0].domain.shares = true;
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(room_taken() - before, ud_flow_conns[0]->rc.size + 2 + VRB_SHM_WAKES);
}

/* The peer must know the queue pair, and must have handled everything. */
static void it_is_used_late(void **state)
{
	struct vrb_ud_rc *rc;

	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	rc = ud_flow_conns[0]->rc.ud->rc;
	rc->announced = false;
	ud_flow_send(0);
	ud_flows_settle();
	assert_false(rc->used);
	rc->announced = true;
	ud_flow_conns[0]->rc.ud->handled--;
	ud_flow_send(0);
	assert_false(rc->used);
	ud_flows_settle();
	ud_flow_send(0);
	assert_true(rc->used);
	ud_flows_settle();
	assert_int_equal(ud_flows[0].arrived, 3);
}

/*
 * What a peer that violates the protocol sends through its queue pair is dropped. However much it
 * is, other peers keep their receives.
 */
static void violators_are_not_heard(void **state)
{
	unsigned int i;

	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_conns[1]->rc.ud->reason = VRB_UD_BROKEN;
	for (i = 0; i < UD_BUFFERS; i++) {
		ud_flow_send(0);
		ud_net_pass(100);
		ud_flow_poll(0);
		ud_flow_poll(1);
	}
	assert_true(ud_flow_is_used(0));
	assert_int_equal(ud_flows[0].arrived, 0);
	assert_int_equal(ud_nodes[1].rc.ud->rcs.in_srq, UD_BUFFERS / 2);
}

/* Posts a read of the other node's memory, unless there are four. */
static void read_other(unsigned int at, unsigned int *posted, const unsigned int *done)
{
	static uint8_t bytes[2][4][4000];
	const struct ud_node *other = ud_flow_conns[!at]->node;

	while (*posted - *done < 4 &&
	       !ud_net_post(ud_flow_conns[at], IBV_WR_RDMA_READ, bytes[at][*posted % 4],
			    sizeof(bytes[at][0]), (uintptr_t)other->region, other->mr.rkey,
			    (uint64_t)*posted << 1))
		++*posted;
}

/* The answers to the peer's reads, which never end, have no order with what is posted. */
static void reads_in_both_directions_end_on_queue_pairs(void **state)
{
	unsigned int at, rounds, posted[2] = { 0 }, done[2] = { 0 };
	struct ibv_wc wc;

	(void)state;
	for (rounds = 0; rounds < 2000 && !(ud_flow_is_used(0) && ud_flow_is_used(1)); rounds++) {
		for (at = 0; at < 2; at++) {
			while (ud_net_poll(at, &wc))
				done[at]++;
			read_other(at, &posted[at], &done[at]);
		}
		ud_net_pass(20);
	}
	assert_true(ud_flow_is_used(0) && ud_flow_is_used(1));
}

/* A target of writes posts nothing itself. */
static void targets_answer_once_they_are_up(void **state)
{
	(void)state;
	ud_flow_conns[1]->rc.state = VRB_RC_CONN_ACCEPTED;
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_true(ud_flow_conns[1]->rc.ud->rc_met);
	assert_int_equal(ud_net_rc_count(1), 0);
	ud_flow_conns[1]->rc.state = VRB_RC_CONN_UP;
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_write(0);
	assert_true(ud_flow_is_used(0));
}

/* A silent work request may have reached a peer that has ended since: somebody has to ask. */
static void silent_work_requests_are_quiet(void **state)
{
	struct vrb_rc_conn *conn = &ud_flow_conns[0]->rc;
	static struct vrb_rdm_slot slots[2];

	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_write(0);
	ud_flows_settle();
	assert_true(ud_flow_is_used(0));
	conn->slots = slots;
	conn->mask = 1;
	conn->head = conn->tail = 0;
	assert_true(vrb_ud_conn_quiet(conn));
	conn->head = 1;
	assert_false(vrb_ud_conn_quiet(conn));
	slots[0].flags = OFI_RDM_SILENT;
	assert_true(vrb_ud_conn_quiet(conn));
	conn->head = 0;
	conn->slots = NULL;
}

static void few_messages_get_none(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++)
		ud_flow_send(0);
	ud_flows_settle();
	assert_int_equal(ud_net_rc_count(0) + ud_net_rc_count(1), 0);
}

static void both_ask_at_once(void **state)
{
	unsigned int i;

	(void)state;
	ud_flow_send(0);
	ud_flows_settle();
	ud_flow_send(1);
	ud_flows_settle();
	for (i = 0; i < 8; i++) {
		ud_flow_write(0);
		ud_flow_write(1);
	}
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(ud_net_rc_count(1), 1);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flow_send(1);
	ud_flows_settle();
	assert_true(ud_flow_is_used(0) && ud_flow_is_used(1));
	assert_int_equal(ud_flows[0].arrived + ud_flows[1].arrived, 4);
}

/* The peer has none, so there is none. */
static void is_refused(const struct ud_net_params *params, unsigned int asking)
{
	ud_flows_begin(9, params);
	ud_flow_send(0);
	ud_flows_settle();
	ud_flows_deserve(asking);
	ud_flows_settle();
	ud_flows_deserve(!asking);
	ud_flows_settle();
	assert_int_equal(ud_net_rc_count(0) + ud_net_rc_count(1), 0);
	assert_int_equal(ud_flow_conns[0]->endings + ud_flow_conns[1]->endings, 0);
	ud_flow_send(0);
	ud_flow_send(1);
	ud_flows_settle();
	assert_int_equal(ud_flows[0].arrived + ud_flows[1].arrived, 3);
	ud_net_end();
}

static void a_peer_may_have_none(void **state)
{
	static const enum ibv_qp_state steps[] = { IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR,
						   IBV_QPS_RTS };
	struct ud_net_params params = { .grows = 1 };
	size_t i;

	(void)state;
	is_refused(&params, 0);
	params.grows = 2;
	is_refused(&params, 1);
	params.grows = ALL;
	params.rc_failing = 2;
	for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		params.rc_fails = steps[i];
		is_refused(&params, 0);
	}
}

/* The peer relies on the queue pair of whoever has asked. */
static void failing_after_asking_ends_it(void **state)
{
	struct ud_net_params params = calm;

	(void)state;
	params.rc_failing = 1;
	params.rc_fails = IBV_QPS_RTR;
	ud_net_set(&params);
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_int_equal(ud_flow_conns[0]->endings, 1);
	assert_int_equal(ud_flow_conns[0]->err, FI_EIO);
}

static void there_is_a_limit(void **state)
{
	struct ud_conn *more[6][2];
	unsigned int i, k;

	(void)state;
	for (i = 0; i < 6; i++) {
		ud_net_join(0, 2, &more[i][0], &more[i][1]);
		for (k = 0; k < 8; k++)
			ud_net_post(more[i][0], IBV_WR_RDMA_WRITE, NULL, 0, 0, 0, 0);
	}
	assert_int_equal(ud_net_rc_count(0), 4);
	ud_net_close(more[0][0]);
	ud_flows_deserve(0);
	assert_int_equal(ud_net_rc_count(0), 4);
	assert_non_null(ud_flow_conns[0]->rc.ud->rc);
}

static void strangers_get_less(void **state)
{
	struct ud_conn *more[4][2];
	unsigned int i, k;

	(void)state;
	ud_nodes[0].peer.policy.stranger = true;
	for (i = 0; i < 4; i++) {
		ud_net_join(0, 2, &more[i][0], &more[i][1]);
		for (k = 0; k < 8; k++)
			ud_net_post(more[i][0], IBV_WR_RDMA_WRITE, NULL, 0, 0, 0, 0);
	}
	assert_int_equal(ud_net_rc_count(0), 3);
	ud_nodes[0].peer.policy.stranger = false;
	ud_flows_deserve(0);
	assert_int_equal(ud_net_rc_count(0), 4);
}

/* The answer waits until the peer has proved that it knows the secret. */
static void proof_comes_first(void **state)
{
	struct vrb_rdm_proof proof = { .shut = true };
	unsigned int i;

	(void)state;
	ud_flow_send(0);
	ud_flows_settle();
	ud_flow_conns[0]->rc.proof = &proof;
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_int_equal(ud_net_rc_count(0), 0);
	/* It may not write. */
	for (i = 0; i < 80; i++) {
		ud_flow_send(1);
		ud_net_pass(100);
		ud_flow_poll(0);
		ud_flow_poll(1);
		ud_flows_repost();
	}
	ud_flows_settle();
	assert_int_equal(ud_net_rc_count(0), 0);
	assert_int_equal(ud_net_rc_count(1), 1);
	proof.shut = false;
	ud_flow_send(0);
	ud_flows_settle();
	ud_flow_send(1);
	ud_flow_send(0);
	ud_flows_settle();
	assert_true(ud_flow_is_used(0) && ud_flow_is_used(1));
	ud_flow_conns[0]->rc.proof = NULL;
}

/* Node 0 gets a packet about a queue pair as if from its peer. */
static void say(uint32_t ahead, uint32_t number, uint32_t psn, uint32_t reads, uint64_t mtu)
{
	const struct vrb_ud_conn *ud = ud_flow_conns[0]->rc.ud;
	const struct vrb_ud_packet packet = {
		.kind = VRB_UD_QP,
		.to = ud_flow_conns[0]->rc.qp_num,
		.from = ud_flow_conns[1]->rc.qp_num,
		.key = number,
		.id = psn,
		.asked = reads,
		.addr = mtu,
		.words = { .next = ud->ack.next },
	};
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	vrb_ud_stamp(bytes, ud->in.next + ahead, 1000, &packet.words, 0);
	ud_net_inject(1, ud_net_qpn(1), 0, bytes, len);
	ud_flow_poll(0);
}

static void is_violation(uint32_t number, uint32_t psn, uint32_t reads, uint64_t mtu)
{
	ud_flows_begin(11, &calm);
	ud_flow_send(0);
	ud_flows_settle();
	say(0, number, psn, reads, mtu);
	assert_int_equal(ud_flow_conns[0]->endings, 1);
	assert_int_equal(ud_flow_conns[0]->err, FI_ECONNABORTED);
	assert_int_equal(ud_net_rc_count(0), 0);
	ud_net_end();
}

static void nonsense_ends_it(void **state)
{
	(void)state;
	is_violation(1 << 24, 0, 1, IBV_MTU_1024);
	is_violation(QPN, 1 << 24, 1, IBV_MTU_1024);
	is_violation(QPN, 0, 0, IBV_MTU_1024);
	is_violation(QPN, 0, 256, IBV_MTU_1024);
	is_violation(QPN, 0, 1, 0);
	is_violation(QPN, 0, 1, IBV_MTU_4096 + 1);
}

static void twice_ends_it(void **state)
{
	(void)state;
	ud_flow_send(0);
	ud_flows_settle();
	say(0, QPN, 0, 1, IBV_MTU_1024);
	assert_int_equal(ud_net_rc_count(0), 1);
	say(0, QPN, 0, 1, IBV_MTU_1024);
	assert_int_equal(ud_flow_conns[0]->endings, 1);
}

static void nobody_gets_one_before_it_is_up(void **state)
{
	(void)state;
	ud_flow_send(0);
	ud_flows_settle();
	ud_flow_conns[0]->rc.state = VRB_RC_CONN_ACCEPTED;
	say(0, QPN, 0, 1, IBV_MTU_1024);
	assert_int_equal(ud_net_rc_count(0), 0);
	ud_flow_conns[0]->rc.state = VRB_RC_CONN_UP;
	ud_flow_send(0);
	assert_int_equal(ud_net_rc_count(0), 1);
}

static void count_flushed(unsigned int at, unsigned int count)
{
	struct ibv_wc wc;
	unsigned int n = 0;

	while (ud_net_poll(at, &wc)) {
		if (wc.wr_id & VRB_RDM_RX_BIT)
			continue;
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.qp_num, ud_flow_conns[at]->rc.qp_num);
		n++;
	}
	assert_int_equal(n, count);
}

static void all_is_flushed(void **state)
{
	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flow_send(0);
	assert_true(ud_flow_is_used(0));
	assert_true(vrb_ud_conn_flush(&ud_flow_conns[0]->rc));
	ud_flow_send(0);
	count_flushed(0, 3);
}

/* Queue pairs that are not used yet do not matter. */
static void datagrams_are_flushed(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++)
		ud_flow_write(0);
	assert_non_null(ud_flow_conns[0]->rc.ud->rc);
	assert_true(vrb_ud_conn_flush(&ud_flow_conns[0]->rc));
	ud_flow_send(0);
	count_flushed(0, 9);
}

static void a_peer_that_is_gone_is_noticed(void **state)
{
	struct ibv_wc wc;

	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flows_settle();
	assert_true(ud_flow_is_used(0));
	ud_net_forget(ud_flow_conns[1]);
	ud_flow_send(0);
	ud_net_pass(100);
	assert_true(ud_net_poll(0, &wc));
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc.qp_num, ud_flow_conns[0]->rc.qp_num);
}

static void receives_come_back(void **state)
{
	struct vrb_ud *all = ud_nodes[1].rc.ud;

	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flow_send(0);
	ud_net_pass(100);
	ud_flow_conns[1]->rc.let_go = true;
	ud_net_forget(ud_flow_conns[1]);
	ud_flow_poll(1);
	assert_int_equal(all->rcs.in_srq + all->recv_head - all->recv_tail, UD_BUFFERS);
}

static void busy_connections_drain(void **state)
{
	unsigned int rounds;

	(void)state;
	for (rounds = 0; rounds < 3000 && !ud_flow_is_used(0); rounds++) {
		while (ud_flows[0].works - ud_flows[0].completed < UD_FLOW_WINDOW) {
			uint32_t before = ud_flows[0].works;

			ud_flow_write(0);
			if (ud_flows[0].works == before)
				break;
		}
		ud_net_pass(10);
		ud_flow_poll(0);
		ud_flow_poll(1);
	}
	assert_true(ud_flow_is_used(0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ud_flows_setup, ud_flows_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_device_without_reads_gets_none),
		cmocka_unit_test(nothing_overtakes),
		TEST(both_use_it),
		TEST(there_is_room_to_wake_the_peer),
		TEST(it_is_used_late),
		TEST(violators_are_not_heard),
		TEST(reads_in_both_directions_end_on_queue_pairs),
		TEST(targets_answer_once_they_are_up),
		TEST(silent_work_requests_are_quiet),
		TEST(few_messages_get_none),
		TEST(both_ask_at_once),
		cmocka_unit_test(a_peer_may_have_none),
		TEST(failing_after_asking_ends_it),
		TEST(there_is_a_limit),
		TEST(strangers_get_less),
		TEST(proof_comes_first),
		cmocka_unit_test(nonsense_ends_it),
		TEST(twice_ends_it),
		TEST(nobody_gets_one_before_it_is_up),
		TEST(all_is_flushed),
		TEST(datagrams_are_flushed),
		TEST(a_peer_that_is_gone_is_noticed),
		TEST(receives_come_back),
		TEST(busy_connections_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
