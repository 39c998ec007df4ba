/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliable queue pairs that connections on unreliable datagrams give back: nothing is lost or
 * overtaken, whoever leaves when; and the least used ones go. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "ud_flows.h"

enum { ALL = 7, ID = 99 };

static void ask_any(void)
{
	unsigned int at = ud_net_any(2);

	/* So that it happens often. */
	ud_flow_at(at)->rc_again = ud_flow_at(at)->rc_rest = 0;
	if (ud_flow_is_kept(at) && !ud_flow_at(at)->rc->asks && !ud_net_any(8))
		ud_flow_ask(at, ud_net_any(3) ? UINT64_MAX : 0);
}

static void has_none(void)
{
	assert_null(ud_flow_at(0)->rc);
	assert_null(ud_flow_at(1)->rc);
	assert_int_equal(ud_net_rc_count(0) + ud_net_rc_count(1), 0);
	assert_int_equal(ud_nodes[0].rc.ud->rcs.count + ud_nodes[1].rc.ud->rcs.count, 0);
	assert_int_equal(ud_nodes[0].rc.ud->rcs.lost, 0);
	assert_int_equal(ud_flow_conns[0]->endings + ud_flow_conns[1]->endings, 0);
	/* The device has no receive of them. */
	assert_false(ud_flow_conns[0]->rc.takes || ud_flow_conns[1]->rc.takes);
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
	ud_flows_use();
	ud_flow_ask(1, UINT64_MAX);
	ud_flow_send(0);
	ud_flows_settle();
	has_none();
	assert_int_equal(ud_nodes[0].peer.rdm.stats.transport, ofi_stats_text("ud"));
	ofi_stats_free(stats, stats);
	ud_flow_send(0);
	ud_flow_send(1);
	ud_flows_settle();
	assert_int_equal(ud_flows[0].arrived + ud_flows[1].arrived, 5);
	ud_net_pass(100000);
	ud_flows_use();
}

static void both_ask_at_once(void **state)
{
	(void)state;
	ud_flows_use();
	ud_flow_ask(0, UINT64_MAX);
	ud_flow_ask(1, UINT64_MAX);
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
	ud_flow_ask(0, UINT64_MAX);
	ud_flows_settle();
	has_none();
}

static void who_uses_it_keeps_it(void **state)
{
	(void)state;
	ud_flows_use();
	ud_nodes[0].rc.ud->rcs.look = UINT64_MAX;
	ud_flow_ask(0, 1);
	ud_flows_settle();
	assert_true(ud_flow_is_kept(0) && ud_flow_is_kept(1) && ud_flow_is_used(0) &&
		    ud_flow_is_used(1));
	assert_false(ud_flow_at(0)->rc->asked);
	assert_true(ud_flow_at(0)->rc->kept_until > vrb_ud_clock());
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
	ud_flows_use();
	ud_net_join(0, 2, &more[0], &more[1]);
	/* It is kept for a while, and while it is used as much. */
	compete(more[0]);
	pass(30000);
	assert_true(ud_flow_is_kept(0) && !ud_flow_at(0)->rc->asked);
	for (i = 0; i < 10; i++) {
		pass(60000);
		compete(more[0]);
		assert_true(ud_net_rc_count(0) <= 1);
	}
	pass(60000);
	compete(more[0]);
	pass(60000);
	assert_null(ud_flow_at(0)->rc);
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
	ud_flows_use();
	ud_net_join(2, 1, &more[0], &more[1]);
	for (i = 0; i < 20; i++) {
		compete(more[0]);
		pass(60000);
		assert_true(ud_net_rc_count(1) <= 1);
	}
	compete(more[0]);
	assert_null(ud_flow_at(0)->rc);
	assert_true(more[0]->rc.ud->rc && more[0]->rc.ud->rc->used);
	assert_int_equal(ud_net_rc_count(0), 0);
}

/* Even if it is not used. */
static void it_is_kept_for_a_while(void **state)
{
	struct ud_conn *more[2];

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	ud_flows_use();
	ud_flow_at(0)->score = 0;
	ud_net_join(0, 2, &more[0], &more[1]);
	compete(more[0]);
	pass(20000);
	compete(more[0]);
	assert_false(ud_flow_at(0)->rc->asked);
	ud_flow_at(0)->rc->kept_until = 0;
	compete(more[0]);
	pass(20000);
	compete(more[0]);
	assert_true(ud_flow_at(0)->rc->asked);
}

/* Of two that are used alike, none gives way. */
static void nothing_changes_without_need(void **state)
{
	struct ud_conn *more[2];
	unsigned int i;

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	ud_flows_use();
	ud_net_join(0, 2, &more[0], &more[1]);
	for (i = 0; i < 40; i++) {
		compete(more[0]);
		compete(ud_flow_conns[0]);
		pass(50000);
	}
	assert_true(ud_flow_is_kept(0) && !ud_flow_at(0)->rc->asked);
	assert_null(more[0]->rc.ud->rc);
}

static void strangers_push_nobody_out(void **state)
{
	struct ud_conn *more[2];
	struct vrb_rc_peer stranger = { .policy.stranger = true };
	unsigned int i;

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	ud_flows_use();
	ud_net_join(0, 2, &more[0], &more[1]);
	stranger.rdm.ep = &ud_nodes[0].rc.rdm;
	stranger.rdm.addr.sa.sa_family = AF_INET;
	more[0]->rc.peer = &stranger.rdm;
	for (i = 0; i < 20; i++) {
		compete(more[0]);
		pass(60000);
	}
	assert_true(ud_flow_is_kept(0) && !ud_flow_at(0)->rc->asked);
	more[0]->rc.peer = ud_flow_conns[0]->rc.peer;
}

/* A stranger gives its queue pair back and asks for another one again and again. */
static void strangers_get_few(void **state)
{
	unsigned int i;

	(void)state;
	ud_nodes[1].peer.policy.stranger = true;
	ud_nodes[1].rc.conns.admit.rate = 1;
	for (i = 0; i < 20; i++) {
		ud_flows_deserve(0);
		ud_flows_settle();
		if (ud_flow_at(0)->rc)
			ud_flow_ask(0, UINT64_MAX);
		ud_flows_settle();
		pass(100000);
	}
	/* The stranger creates one each time; this end creates four, and one a second. */
	assert_in_range(ud_net_rc_created() - 20, 4, 4 + 4);
	ud_nodes[1].peer.policy.stranger = false;
}

/* An older peer would end the connection. */
static void older_peers_keep_it(void **state)
{
	struct ud_conn *more[2];
	unsigned int i;

	(void)state;
	ud_nodes[0].rc.ud->rcs.most = 1;
	ud_flows_use();
	ud_flow_at(0)->rc_peer.gives = false;
	ud_net_join(0, 2, &more[0], &more[1]);
	for (i = 0; i < 20; i++) {
		compete(more[0]);
		pass(60000);
	}
	assert_true(ud_flow_is_kept(0) && !ud_flow_at(0)->rc->asked);
}

/* Who was refused tries again when it has earned it, later each time. */
static void a_refusal_is_for_now(void **state)
{
	(void)state;
	ud_nodes[1].rc.ud->rcs.most = 0;
	ud_flows_deserve(0);
	assert_int_equal(ud_flow_at(0)->rc_refusals, 1);
	assert_false(ud_flow_at(0)->rc_met || ud_flow_at(0)->rc_closed);
	assert_false(ud_flow_at(1)->rc_met || ud_flow_at(1)->rc_closed);
	ud_flows_deserve(0);
	assert_int_equal(ud_flow_at(0)->rc_refusals, 1);
	ud_flows_settle();
	ud_flow_write(0);
	ud_flows_settle();
	assert_int_equal(ud_flow_at(0)->rc_refusals, 2);
	ud_flow_write(0);
	ud_flows_settle();
	assert_int_equal(ud_flow_at(0)->rc_refusals, 2);
	ud_nodes[1].rc.ud->rcs.most = 1;
	ud_flows_deserve(0);
	ud_flows_settle();
	assert_true(ud_flow_is_kept(0));
	assert_int_equal(ud_flow_at(0)->rc_refusals, 0);
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

#define TEST(name) cmocka_unit_test_setup_teardown(name, ud_flows_setup, ud_flows_teardown)

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
		TEST(strangers_get_few),
		TEST(older_peers_keep_it),
		TEST(it_is_kept_for_a_while),
		TEST(a_refusal_is_for_now),
		TEST(room_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
