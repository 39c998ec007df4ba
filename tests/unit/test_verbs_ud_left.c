/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers that lie about reliable queue pairs that are given back, or die meanwhile, and endpoints
 * that close.
 */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/ud_rc.h"
#include "ud_flows.h"

static const struct ud_net_params calm = { .grows = 7 };

/* Node 0 gets a packet as if from its peer. */
static void say_packet(struct vrb_ud_packet packet)
{
	const struct vrb_ud_conn *ud = ud_flow_at(0);
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len;

	packet.to = ud_flow_conns[0]->rc.qp_num;
	packet.from = ud_flow_conns[1]->rc.qp_num;
	packet.words.next = ud->ack.next;
	len = vrb_ud_build(bytes, &packet);
	vrb_ud_stamp(bytes, ud->in.next, ud->ack.echo + 1, &packet.words, 0);
	ud_net_inject(1, ud_net_qpn(1), 0, bytes, len);
	ud_flow_poll(0);
}

static void say(enum vrb_ud_back id, uint32_t key)
{
	say_packet((struct vrb_ud_packet){ .kind = VRB_UD_BACK, .id = id, .key = key });
}

/* It would not ask again, and nobody may ask it. */
static void older_peers_are_refused_for_good(void **state)
{
	(void)state;
	ud_flow_send(0);
	ud_flows_settle();
	ud_nodes[0].rc.ud->rcs.most = 0;
	say_packet((struct vrb_ud_packet){
		.kind = VRB_UD_QP, .key = 77, .asked = 1, .addr = IBV_MTU_1024 });
	assert_true(ud_flow_at(0)->rc_closed && ud_flow_at(0)->rc_met);
}

/* Otherwise a peer could have queue pairs created and destroyed all the time. */
static void there_is_a_rest(void **state)
{
	const struct vrb_ud_packet wants = {
		.kind = VRB_UD_QP, .last = true, .key = 77, .asked = 1, .addr = IBV_MTU_1024
	};
	uint32_t created;

	(void)state;
	ud_flow_send(0);
	ud_flows_settle();
	say_packet(wants);
	assert_int_equal(ud_net_rc_count(0), 1);
	say(VRB_UD_BACK_LEFT, 0);
	ud_net_pass(100);
	ud_net_pass(100);
	assert_int_equal(ud_net_rc_count(0), 0);
	created = ud_net_rc_created();
	say_packet(wants);
	assert_false(ud_flow_at(0)->rc_closed || ud_flow_at(0)->rc_met);
	assert_int_equal(ud_net_rc_created(), created);
	ud_net_pass(100000);
	say_packet(wants);
	assert_int_equal(ud_net_rc_count(0), 1);
}

/* Node 1 leaves its queue pair after a message that never ends. Returns what node 0's SRQ had. */
static uint32_t leave_with_a_part(void)
{
	uint32_t had;

	ud_flows_use();
	ud_flows_repost();
	had = ud_net_srq_count(0);
	ud_net_rc_hold(ud_flow_at(0)->rc->qp);
	ud_flow_ask(0, UINT64_MAX);
	ud_flows_settle();
	assert_null(ud_flow_at(0)->rc);
	ud_flows_repost();
	return had;
}

/* Otherwise peers that do it again would leave no receives for others. */
static void no_receive_goes_with_it(void **state)
{
	const struct vrb_ud_packet wants = {
		.kind = VRB_UD_QP, .last = true, .key = 77, .asked = 1, .addr = IBV_MTU_1024
	};
	const struct vrb_ud_packet refuses = { .kind = VRB_UD_QP, .last = true };
	uint32_t had, created;

	(void)state;
	had = leave_with_a_part();
	assert_int_equal(ud_net_srq_count(0), had);
	assert_int_equal(ud_net_rc_count(0), 0);
	assert_int_equal(ud_nodes[0].rc.ud->rcs.lost, 0);
	assert_true(ud_flow_at(0)->rc_closed);
	assert_false(ud_flow_at(1)->rc_closed);
	ud_net_pass(200000);
	created = ud_net_rc_created();
	say_packet(refuses);
	say_packet(wants);
	assert_int_equal(ud_flow_conns[0]->endings, 0);
	assert_int_equal(ud_net_rc_created(), created);
	assert_true(ud_flow_at(0)->rc_closed && ud_flow_at(0)->rc_met);
}

/* The device is waited for, and then another receive is posted for the one that it may have. */
static void a_silent_device_keeps_one(void **state)
{
	const struct ud_net_params silent = { .grows = 7, .rc_silent = true };
	uint32_t had;

	(void)state;
	ud_net_set(&silent);
	had = leave_with_a_part();
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(ud_net_srq_count(0), had - 1);
	ud_net_pass(50000);
	ud_net_pass(1);
	assert_int_equal(ud_net_rc_count(0), 0);
	assert_int_equal(ud_nodes[0].rc.ud->rcs.lost, 1);
	ud_flow_send(1);
	ud_flows_settle();
	ud_flows_repost();
	assert_int_equal(ud_net_srq_count(0), had);
	assert_false(ud_flow_at(0)->rc_closed);
}

static void is_violation(bool used, uint32_t id, uint32_t key)
{
	ud_flows_begin(11, &calm);
	ud_flow_send(0);
	ud_flows_settle();
	if (used)
		ud_flows_use();
	say(id, key);
	ud_flows_settle();
	ud_net_pass(2000000);
	say(id, key);
	assert_int_equal(ud_flow_conns[0]->endings, 1);
	assert_int_equal(ud_flow_conns[0]->err, FI_ECONNABORTED);
	ud_net_end();
}

static void nonsense_ends_it(void **state)
{
	(void)state;
	is_violation(false, VRB_UD_BACK_ASK, 0);
	is_violation(false, VRB_UD_BACK_NO, 0);
	is_violation(false, VRB_UD_BACK_LEFT, 0);
	is_violation(true, VRB_UD_BACK_LEFT, 7);
	is_violation(true, VRB_UD_BACK_LEFT + 1, 0);
}

/* The connection has ended, and its queue pair may not exist any more. */
static void it_is_too_late(void **state)
{
	const struct vrb_ud_packet packet = { .kind = VRB_UD_BACK,
					      .id = VRB_UD_BACK_LEFT,
					      .key = 1 };
	struct ibv_qp *qp;

	(void)state;
	ud_flows_use();
	qp = ud_flow_at(0)->rc->qp;
	ud_flow_at(0)->over = true;
	ud_flow_at(0)->rc->qp = NULL;
	assert_int_equal(vrb_ud_back_met(ud_flow_at(0), &packet), 0);
	assert_int_equal(ud_flow_at(0)->rc->state, VRB_UD_RC_KEPT);
	ud_flow_at(0)->rc->qp = qp;
}

static void twice_ends_it(void **state)
{
	(void)state;
	ud_flows_use();
	say(VRB_UD_BACK_LEFT, 1);
	assert_int_equal(ud_flow_conns[0]->endings, 0);
	say(VRB_UD_BACK_LEFT, 1);
	assert_int_equal(ud_flow_conns[0]->endings, 1);
}

static void what_was_not_asked_is_not_answered(void **state)
{
	(void)state;
	ud_flows_use();
	say(VRB_UD_BACK_NO, 0);
	assert_int_equal(ud_flow_conns[0]->endings, 0);
	assert_true(ud_flow_is_kept(0));
}

/* Messages may be reported later than the packet that says how many there are. */
static void it_waits_for_messages(void **state)
{
	(void)state;
	ud_flows_use();
	ud_flow_at(1)->rc->taken--;
	ud_flow_ask(1, UINT64_MAX);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flows_settle();
	assert_non_null(ud_flow_at(1)->rc);
	assert_false(ud_flow_at(1)->rc->peer_left);
	assert_int_equal(ud_flows[0].arrived, 1);
	ud_flow_at(1)->rc->taken++;
	ud_flows_settle();
	ud_flows_settle();
	assert_null(ud_flow_at(1)->rc);
	assert_int_equal(ud_flow_conns[1]->endings, 0);
	assert_int_equal(ud_flows[0].arrived, 2);
}

/* What goes by datagrams fails after what went by the queue pair. */
static void a_peer_that_is_gone_is_noticed(void **state)
{
	static const enum ibv_wc_status expected[] = { IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR };
	struct ibv_wc wc;
	unsigned int i;

	(void)state;
	ud_flows_use();
	ud_flow_send(0);
	say(VRB_UD_BACK_ASK, 0);
	assert_true(ud_flow_is_kept(0));
	ud_flow_at(0)->score = 0;
	say(VRB_UD_BACK_LEFT, 1);
	assert_int_equal(ud_flow_at(0)->rc->state, VRB_UD_RC_DRAINING);
	assert_false(vrb_ud_conn_quiet(&ud_flow_conns[0]->rc));
	ud_flow_send(0);
	ud_net_forget(ud_flow_conns[1]);
	assert_false(ud_net_poll(0, &wc));
	ud_net_pass(100);
	for (i = 0; i < 2; i++) {
		assert_true(ud_net_poll(0, &wc));
		assert_int_equal(wc.status, expected[i]);
		assert_int_equal(wc.wr_id >> 1, ud_flows[0].completed++);
	}
	assert_false(ud_net_poll(0, &wc));
}

static void only_the_last_one_fails(void **state)
{
	struct ibv_wc wc;

	(void)state;
	ud_flows_use();
	say(VRB_UD_BACK_LEFT, 1);
	ud_net_forget(ud_flow_conns[1]);
	ud_net_pass(100);
	assert_false(ud_net_poll(0, &wc));
	assert_int_equal(ud_flow_conns[0]->endings, 1);
	assert_int_equal(ud_flow_conns[0]->err, FI_ECONNRESET);
}

static void all_is_flushed_in_order(void **state)
{
	struct ibv_wc wc;

	(void)state;
	ud_flows_use();
	ud_flow_send(0);
	say(VRB_UD_BACK_LEFT, 1);
	ud_flow_send(0);
	assert_true(vrb_ud_conn_flush(&ud_flow_conns[0]->rc));
	ud_flow_send(0);
	while (ud_net_poll(0, &wc)) {
		assert_int_equal(wc.status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc.wr_id >> 1, ud_flows[0].completed++);
	}
	assert_int_equal(ud_flows[0].completed, ud_flows[0].works);
}

/* An endpoint closes at any time; ud_net_end() finds what it leaves behind. */
static void it_is_closed_in_the_middle(void **state)
{
	unsigned int i, k;

	(void)state;
	for (i = 0; i < 40; i++) {
		ud_flows_begin(i + 1, &calm);
		ud_flows_use();
		ud_flow_ask(1, UINT64_MAX);
		for (k = 0; k < i; k++) {
			ud_net_pass(3);
			ud_flow_poll(k % 2);
		}
		ud_net_close(ud_flow_conns[i % 2]);
		ud_net_end();
	}
}

/* Takes completions in order. Returns false once one has failed. */
static bool are_good(unsigned int at)
{
	bool good = true;
	struct ibv_wc wc;

	while (ud_net_poll(at, &wc)) {
		if (wc.wr_id & VRB_RDM_RX_BIT)
			continue;
		assert_int_equal(wc.wr_id >> 1, ud_flows[at].completed++);
		good &= !wc.status;
	}
	return good;
}

/*
 * The peer's process starts anew, and has a path to this host. Whoever is left finds out, and what
 * it has posted completes in order.
 */
static void dies_after(unsigned int steps, unsigned int who)
{
	unsigned int i, left = !who;
	struct ibv_wc wc;
	bool good = true;

	ud_flows_use();
	ud_net_meet_host(who, (uint8_t[16]){ [12] = 0x45, [15] = (uint8_t)left });
	ud_flow_send(left);
	ud_flow_ask(steps / 2 % 2, UINT64_MAX);
	for (i = 0; i < steps; i++) {
		ud_net_pass(3);
		ud_flow_poll(i % 2);
	}
	ud_flow_send(left);
	ud_net_forget(ud_flow_conns[who]);
	ud_flow_send(left);
	for (i = 0; i < 8000 && good && !ud_flow_conns[left]->endings; i++) {
		ud_net_pass(1000);
		while (ud_net_poll(who, &wc))
			;
		good = are_good(left);
		if (i % 100 == 50 && ud_flows[left].works == ud_flows[left].completed)
			ud_flow_write(left);
	}
	assert_true(i < 8000);
	assert_true(vrb_ud_conn_flush(&ud_flow_conns[left]->rc));
	for (i = 0; i < 10; i++) {
		ud_net_pass(1000);
		are_good(left);
	}
	assert_int_equal(ud_flows[left].completed, ud_flows[left].works);
}

static void peers_die_in_the_middle(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 60; i++) {
		ud_flows_begin(i + 1, &calm);
		dies_after(i, i % 2);
		ud_net_end();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, ud_flows_setup, ud_flows_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(older_peers_are_refused_for_good),
		TEST(there_is_a_rest),
		TEST(no_receive_goes_with_it),
		TEST(a_silent_device_keeps_one),
		cmocka_unit_test(nonsense_ends_it),
		TEST(it_is_too_late),
		TEST(twice_ends_it),
		TEST(what_was_not_asked_is_not_answered),
		TEST(it_waits_for_messages),
		TEST(a_peer_that_is_gone_is_noticed),
		TEST(only_the_last_one_fails),
		TEST(all_is_flushed_in_order),
		cmocka_unit_test(it_is_closed_in_the_middle),
		cmocka_unit_test(peers_die_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
