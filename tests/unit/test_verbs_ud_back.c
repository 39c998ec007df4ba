/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable queue pairs that connections on unreliable datagrams give back: nothing is lost or
 * overtaken, whoever leaves when; the least used ones go; and what peers may say about it.
 * WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "ud_flows.h"

enum { ALL = 7, ID = 99 };

static const struct ud_net_params calm = { .grows = ALL };

static int begin(void **state)
{
	(void)state;
	ud_flows_begin(7, &calm);
	return 0;
}

static int end(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}

static struct vrb_ud_conn *ud_at(unsigned int at)
{
	return ud_flow_conns[at]->rc.ud;
}

static bool is_kept(unsigned int at)
{
	return ud_at(at)->rc && ud_at(at)->rc->connected && ud_at(at)->rc->announced &&
	       !ud_at(at)->rc->state;
}

/* Has a node ask its peer, who agrees if it uses the queue pair less than that. */
static void ask(unsigned int at, uint64_t bound)
{
	struct vrb_ud_conn *ud = ud_at(at);

	assert_true(is_kept(at));
	ud->rc->asks = ud->rc->asked = true;
	ud->rc->bound = bound;
	vrb_ud_send_soon(ud);
}

static void ask_any(void)
{
	unsigned int at = ud_net_any(2);

	if (is_kept(at) && !ud_at(at)->rc->asks && !ud_net_any(8))
		ask(at, ud_net_any(3) ? UINT64_MAX : 0);
}

/* Both ends post to a queue pair. */
static void use(void)
{
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flow_send(1);
	ud_flows_settle();
	assert_true(ud_flow_is_used(0) && ud_flow_is_used(1));
}

static void has_none(void)
{
	assert_null(ud_at(0)->rc);
	assert_null(ud_at(1)->rc);
	assert_int_equal(ud_net_rc_count(0) + ud_net_rc_count(1), 0);
	assert_int_equal(ud_nodes[0].rc.ud->rcs.count + ud_nodes[1].rc.ud->rcs.count, 0);
	assert_int_equal(ud_nodes[0].rc.ud->rcs.lost, 0);
	assert_int_equal(ud_flow_conns[0]->endings + ud_flow_conns[1]->endings, 0);
}

static void nothing_is_lost(void **state)
{
	struct ud_net_params params = { .grows = ALL };
	uint64_t seed, count = ud_net_seeds();
	uint32_t most = 0;

	(void)state;
	for (seed = 1; seed <= count; seed++) {
		params.loss = seed % 3 * 50;
		params.duplicates = seed % 5 * 20;
		params.delayed = seed % 4 * 250;
		params.no_inline = seed % 2;
		ud_flows_begin(seed, &params);
		ud_flows_run(ask_any);
		if (ud_net_rc_created() > most)
			most = ud_net_rc_created();
		ud_net_end();
	}
	/* Several times in one schedule, at two nodes. */
	assert_true(most >= 6);
}

static void both_go_back(void **state)
{
	struct ofi_stats *stats = ofi_stats_alloc(sizeof(*stats)); /* now there are texts, too */

	(void)state;
	use();
	ask(1, UINT64_MAX);
	ud_flow_send(0);
	ud_flows_settle();
	has_none();
	assert_int_equal(ud_nodes[0].peer.rdm.stats.transport, ofi_stats_text("ud"));
	ofi_stats_free(stats, stats);
	ud_flow_send(0);
	ud_flow_send(1);
	ud_flows_settle();
	assert_int_equal(ud_flows[0].arrived + ud_flows[1].arrived, 5);
	use();
}

static void both_ask_at_once(void **state)
{
	(void)state;
	use();
	ask(0, UINT64_MAX);
	ask(1, UINT64_MAX);
	ud_flow_send(0);
	ud_flow_send(1);
	ud_flows_settle();
	has_none();
	assert_int_equal(ud_flows[0].arrived + ud_flows[1].arrived, 4);
}

/* Nobody has posted to it yet. */
static void unused_ones_go_back(void **state)
{
	(void)state;
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_false(ud_flow_is_used(0) || ud_flow_is_used(1));
	ask(0, UINT64_MAX);
	ud_flows_settle();
	has_none();
}

static void who_uses_it_keeps_it(void **state)
{
	(void)state;
	use();
	ud_nodes[0].rc.ud->rcs.look = UINT64_MAX;
	ask(0, 1);
	ud_flows_settle();
	assert_true(is_kept(0) && is_kept(1) && ud_flow_is_used(0) && ud_flow_is_used(1));
	assert_false(ud_at(0)->rc->asked);
	assert_true(ud_at(0)->rc->kept_until > vrb_ud_clock());
	assert_int_equal(ud_nodes[0].rc.ud->rcs.look, 0);
}

/* Posts at node 0 to node 2 until that is worth a queue pair. */
static void compete(struct ud_conn *conn)
{
	unsigned int i;

	for (i = 0; i < 12; i++) {
		ud_net_post(conn, IBV_WR_RDMA_WRITE, NULL, 0, 0, 0, ID);
		ud_net_pass(100);
	}
}

/* Takes what completes at any node. */
static void pass(uint64_t us)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_watch(us, counts);
}

static void the_least_used_goes(void **state)
{
	struct ud_conn *more[2];
	unsigned int i;

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	use();
	ud_net_join(0, 2, &more[0], &more[1]);
	/* It is kept for a while, and while it is used as much. */
	compete(more[0]);
	pass(30000);
	assert_true(is_kept(0) && !ud_at(0)->rc->asked);
	for (i = 0; i < 10; i++) {
		pass(60000);
		compete(more[0]);
		assert_true(ud_net_rc_count(0) <= 1);
	}
	pass(60000);
	compete(more[0]);
	pass(60000);
	assert_null(ud_at(0)->rc);
	assert_non_null(more[0]->rc.ud->rc);
	assert_true(more[0]->rc.ud->rc->used);
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(ud_net_rc_count(1), 0);
	assert_int_equal(ud_net_rc_count(2), 1);
}

/* Node 1, whom others ask for queue pairs, has room for one. */
static void the_passive_end_makes_room(void **state)
{
	struct ud_conn *more[2];
	unsigned int i;

	(void)state;
	ud_nodes[1].rc.ud->rcs.most = 1;
	use();
	ud_net_join(2, 1, &more[0], &more[1]);
	for (i = 0; i < 20; i++) {
		compete(more[0]);
		pass(60000);
		assert_true(ud_net_rc_count(1) <= 1);
	}
	compete(more[0]);
	assert_null(ud_at(0)->rc);
	assert_true(more[0]->rc.ud->rc && more[0]->rc.ud->rc->used);
	assert_int_equal(ud_net_rc_count(0), 0);
}

/* Of two that are used alike, none gives way. */
static void nothing_changes_without_need(void **state)
{
	struct ud_conn *more[2];
	unsigned int i;

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	use();
	ud_net_join(0, 2, &more[0], &more[1]);
	for (i = 0; i < 40; i++) {
		compete(more[0]);
		compete(ud_flow_conns[0]);
		pass(50000);
	}
	assert_true(is_kept(0) && !ud_at(0)->rc->asked);
	assert_null(more[0]->rc.ud->rc);
}

static void strangers_push_nobody_out(void **state)
{
	struct ud_conn *more[2];
	struct vrb_rc_peer stranger = { .policy.stranger = true };
	unsigned int i;

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	use();
	ud_net_join(0, 2, &more[0], &more[1]);
	stranger.rdm.ep = &ud_nodes[0].rc.rdm;
	stranger.rdm.addr.sa.sa_family = AF_INET;
	more[0]->rc.peer = &stranger.rdm;
	for (i = 0; i < 20; i++) {
		compete(more[0]);
		pass(60000);
	}
	assert_true(is_kept(0) && !ud_at(0)->rc->asked);
	more[0]->rc.peer = ud_flow_conns[0]->rc.peer;
}

/* An older peer would end the connection. */
static void older_peers_keep_it(void **state)
{
	struct ud_conn *more[2];
	unsigned int i;

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	use();
	ud_at(0)->rc_peer.gives = false;
	ud_net_join(0, 2, &more[0], &more[1]);
	for (i = 0; i < 20; i++) {
		compete(more[0]);
		pass(60000);
	}
	assert_true(is_kept(0) && !ud_at(0)->rc->asked);
}

/* Who was refused tries again when it has earned it, later each time. */
static void a_refusal_is_for_now(void **state)
{
	(void)state;
	ud_nodes[1].rc.ud->rcs.most = 0;
	ud_flows_deserve(0);
	assert_int_equal(ud_at(0)->rc_refusals, 1);
	assert_false(ud_at(0)->rc_met || ud_at(0)->rc_closed);
	assert_false(ud_at(1)->rc_met || ud_at(1)->rc_closed);
	ud_flows_deserve(0);
	assert_int_equal(ud_at(0)->rc_refusals, 1);
	ud_flows_settle();
	ud_flow_write(0);
	ud_flows_settle();
	assert_int_equal(ud_at(0)->rc_refusals, 2);
	ud_flow_write(0);
	ud_flows_settle();
	assert_int_equal(ud_at(0)->rc_refusals, 2);
	ud_nodes[1].rc.ud->rcs.most = 1;
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_true(is_kept(0));
	assert_int_equal(ud_at(0)->rc_refusals, 0);
}

/* Room that was made for a connection is not for others, which are used less. */
static void room_is_kept(void **state)
{
	struct vrb_ud *all = ud_nodes[0].rc.ud;

	(void)state;
	all->rcs.most = 1;
	all->rcs.score = 1 << 30;
	all->rcs.until = vrb_ud_clock() + 100000;
	ud_flows_deserve(0);
	assert_int_equal(ud_net_rc_count(0), 0);
	all->rcs.score = 1000;
	ud_flow_write(0);
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(all->rcs.until, 0);
}

/* Node 0 gets a packet as if from its peer. */
static void say(enum vrb_ud_kind kind, uint32_t id, uint32_t key)
{
	const struct vrb_ud_conn *ud = ud_at(0);
	const struct vrb_ud_packet packet = {
		.kind = kind,
		.to = ud_flow_conns[0]->rc.qp_num,
		.from = ud_flow_conns[1]->rc.qp_num,
		.key = key,
		.id = id,
		.words = { .next = ud->ack.out.next },
	};
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	vrb_ud_stamp(bytes, ud->in.next, ud->ack.echo + 1, &packet.words, 0);
	ud_net_inject(1, UD_QPN + 1, 0, bytes, len);
	ud_flow_poll(0);
}

static void is_violation(bool used, uint32_t id, uint32_t key)
{
	ud_flows_begin(11, &calm);
	ud_flow_send(0);
	ud_flows_settle();
	if (used)
		use();
	say(VRB_UD_BACK, id, key);
	ud_flows_settle();
	ud_net_pass(2000000);
	say(VRB_UD_BACK, id, key);
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

static void twice_ends_it(void **state)
{
	(void)state;
	use();
	say(VRB_UD_BACK, VRB_UD_BACK_LEFT, 1);
	assert_int_equal(ud_flow_conns[0]->endings, 0);
	say(VRB_UD_BACK, VRB_UD_BACK_LEFT, 1);
	assert_int_equal(ud_flow_conns[0]->endings, 1);
}

static void what_was_not_asked_is_not_answered(void **state)
{
	(void)state;
	use();
	say(VRB_UD_BACK, VRB_UD_BACK_NO, 0);
	assert_int_equal(ud_flow_conns[0]->endings, 0);
	assert_true(is_kept(0));
}

/* Messages may be reported later than the packet that says how many there are. */
static void it_waits_for_messages(void **state)
{
	(void)state;
	use();
	ud_at(1)->rc->taken--;
	ask(1, UINT64_MAX);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flows_settle();
	assert_non_null(ud_at(1)->rc);
	assert_false(ud_at(1)->rc->peer_left);
	assert_int_equal(ud_flows[0].arrived, 1);
	ud_at(1)->rc->taken++;
	ud_flows_settle();
	ud_flows_settle();
	has_none();
	assert_int_equal(ud_flows[0].arrived, 2);
}

/* What goes by datagrams fails after what went by the queue pair. */
static void a_peer_that_is_gone_is_noticed(void **state)
{
	static const enum ibv_wc_status expected[] = { IBV_WC_RETRY_EXC_ERR, IBV_WC_WR_FLUSH_ERR };
	struct ibv_wc wc;
	unsigned int i;

	(void)state;
	use();
	ud_flow_send(0);
	say(VRB_UD_BACK, VRB_UD_BACK_ASK, 0);
	assert_true(is_kept(0));
	ud_at(0)->score = 0;
	say(VRB_UD_BACK, VRB_UD_BACK_LEFT, 1);
	assert_int_equal(ud_at(0)->rc->state, VRB_UD_RC_DRAINING);
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
	use();
	say(VRB_UD_BACK, VRB_UD_BACK_LEFT, 1);
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
	use();
	ud_flow_send(0);
	say(VRB_UD_BACK, VRB_UD_BACK_LEFT, 1);
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
		use();
		ask(1, UINT64_MAX);
		for (k = 0; k < i; k++) {
			ud_net_pass(3);
			ud_flow_poll(k % 2);
		}
		ud_net_close(ud_flow_conns[i % 2]);
		ud_net_end();
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_lost),
		TEST(both_go_back),
		TEST(both_ask_at_once),
		TEST(unused_ones_go_back),
		TEST(who_uses_it_keeps_it),
		TEST(the_least_used_goes),
		TEST(the_passive_end_makes_room),
		TEST(nothing_changes_without_need),
		TEST(strangers_push_nobody_out),
		TEST(older_peers_keep_it),
		TEST(a_refusal_is_for_now),
		TEST(room_is_kept),
		cmocka_unit_test(nonsense_ends_it),
		TEST(twice_ends_it),
		TEST(what_was_not_asked_is_not_answered),
		TEST(it_waits_for_messages),
		TEST(a_peer_that_is_gone_is_noticed),
		TEST(only_the_last_one_fails),
		TEST(all_is_flushed_in_order),
		cmocka_unit_test(it_is_closed_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
