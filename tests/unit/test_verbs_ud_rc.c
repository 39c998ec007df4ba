/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections on unreliable datagrams that get reliable queue pairs: nothing is lost, nothing is
 * overtaken, whatever the network does and however late receives are posted again; and what peers
 * may say about their queue pairs. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/arrive.h"
#include "prov/verbs/rdm/proof.h"
#include "ud_net.h"

enum { MESSAGES = 250, HELD = UD_BUFFERS, LONG = 3000, WINDOW = 50, ALL = 7, QPN = 77 };

struct message {
	uint32_t number, written;
};

/* One end of the connection between nodes 0 and 1, and what goes to it. */
struct flow {
	struct ud_conn *to;
	uint32_t posted, wrote, reads, completed, works, arrived;
	uint32_t got; /* what was read last */
	struct vrb_rdm_rx *held[HELD];
	uint32_t held_count;
};

static const struct ud_net_params calm = { .grows = ALL };
static struct flow flows[2];
static struct ud_conn *conns[2];

static bool is_used(unsigned int at)
{
	return conns[at]->rc.ud->rc && conns[at]->rc.ud->rc->used;
}

static void begin_with(uint64_t seed, const struct ud_net_params *params)
{
	memset(flows, 0, sizeof(flows));
	ud_net_begin(seed, params);
	ud_net_join(0, 1, &conns[0], &conns[1]);
	flows[0].to = conns[1];
	flows[1].to = conns[0];
}

static int begin(void **state)
{
	(void)state;
	begin_with(7, &calm);
	return 0;
}

static int end(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}

/* The slot of a flow: what was written last, and what may be read. */
static uint32_t *slot_of(const struct flow *flow)
{
	return (uint32_t *)(void *)flow->to->node->region + 2 * (flow - flows);
}

static int post_from(unsigned int at, enum ibv_wr_opcode opcode, void *buf, uint32_t len,
		     uint64_t remote)
{
	uint32_t number = flows[at].works;
	int err = ud_net_post(conns[at], opcode, buf, len, remote, flows[at].to->node->mr.rkey,
			      (uint64_t)number << 1);

	assert_true(!err || err == ENOMEM);
	flows[at].works += !err;
	return err;
}

static uint8_t sent[2][WINDOW][LONG];

static void post_message(unsigned int at)
{
	struct message message = { flows[at].posted, flows[at].wrote };
	uint8_t *bytes = sent[at][flows[at].works % WINDOW];
	uint32_t len = ud_net_any(3) ? (uint32_t)sizeof(message) : LONG;

	assert_true(flows[at].works - flows[at].completed < WINDOW);
	memcpy(bytes, &message, sizeof(message));
	flows[at].posted += !post_from(at, IBV_WR_SEND, bytes, len, 0);
}

static void post_write(unsigned int at)
{
	uint32_t next = flows[at].wrote + 1;

	if (!post_from(at, IBV_WR_RDMA_WRITE, &next, sizeof(next), (uintptr_t)slot_of(&flows[at])))
		flows[at].wrote = next;
}

static void post_any(unsigned int at)
{
	struct flow *flow = &flows[at];

	if (flow->posted == MESSAGES || flow->works - flow->completed >= WINDOW)
		return;
	switch (ud_net_any(8)) {
	case 0:
		post_write(at);
		break;
	case 1:
		post_from(at, IBV_WR_RDMA_READ, &flow->got, sizeof(flow->got),
			  (uintptr_t)slot_of(flow));
		break;
	default:
		post_message(at);
		break;
	}
}

static void arrived(struct flow *flow, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx = vrb_rdm_rx_of(wc);
	struct message message;

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->qp_num, flow->to->rc.qp_num);
	assert_true(wc->byte_len == sizeof(message) || wc->byte_len == LONG);
	memcpy(&message, (void *)(uintptr_t)rx->sge.addr, sizeof(message));
	assert_int_equal(message.number, flow->arrived++);
	assert_true(*slot_of(flow) >= message.written);
	assert_true(flow->held_count < HELD);
	flow->held[flow->held_count++] = rx;
}

static void poll_node(unsigned int at)
{
	struct ibv_wc wc;

	while (ud_net_poll(at, &wc)) {
		if (wc.wr_id & VRB_RDM_RX_BIT) {
			arrived(&flows[!at], &wc);
			continue;
		}
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id >> 1, flows[at].completed++);
	}
}

static void repost(struct flow *flow)
{
	uint32_t n = ud_net_any(flow->held_count + 1);

	for (; n; n--)
		ud_net_repost((unsigned int)(flow->to->node - ud_nodes),
			      flow->held[--flow->held_count]);
}

static bool is_done(const struct flow *flow)
{
	return flow->arrived == MESSAGES && flow->completed == flow->works;
}

static void run(void)
{
	unsigned int rounds, at;

	for (rounds = 0; rounds < 400000 && !(is_done(&flows[0]) && is_done(&flows[1])); rounds++) {
		at = ud_net_any(2);
		if (ud_net_any(2))
			post_any(at);
		poll_node(ud_net_any(2));
		if (!ud_net_any(60))
			repost(&flows[ud_net_any(2)]);
		ud_net_pass(ud_net_any(4) ? ud_net_any(20) : ud_net_any(200));
	}
	assert_true(is_done(&flows[0]) && is_done(&flows[1]));
}

static uint64_t seeds(void)
{
	const char *wanted = getenv("WEFT_SEEDS");

	return wanted ? strtoull(wanted, NULL, 10) : 60;
}

static void nothing_overtakes(void **state)
{
	struct ud_net_params params = { .grows = ALL };
	uint64_t seed, count = seeds();

	(void)state;
	for (seed = 1; seed <= count; seed++) {
		params.loss = seed % 3 * 50;
		params.duplicates = seed % 5 * 20;
		params.delayed = seed % 4 * 250;
		params.no_inline = seed % 2;
		begin_with(seed, &params);
		run();
		assert_true(is_used(0) && is_used(1));
		ud_net_end();
	}
}

/* Makes a connection worth a queue pair, from one side. */
static void deserve(unsigned int at)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		post_write(at);
		ud_net_pass(100);
		poll_node(0);
		poll_node(1);
	}
}

static void settle(void)
{
	unsigned int i;

	for (i = 0; i < 300; i++) {
		ud_net_pass(100);
		poll_node(0);
		poll_node(1);
	}
}

/* Posts the receives again, as many as there are. */
static void repost_all(void)
{
	while (flows[0].held_count)
		repost(&flows[0]);
	while (flows[1].held_count)
		repost(&flows[1]);
}

static void both_use_it(void **state)
{
	(void)state;
	deserve(0);
	settle();
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(ud_net_rc_count(1), 1);
	assert_false(is_used(1));
	post_message(1);
	post_message(0);
	settle();
	assert_true(is_used(0) && is_used(1));
	assert_string_equal(conns[0]->rc.peer->stats.transport, "rc");
	assert_int_equal(flows[0].arrived + flows[1].arrived, 2);
	assert_true(vrb_ud_conn_quiet(&conns[0]->rc));
}

/* The peer must know the queue pair, and must have handled everything. */
static void it_is_used_late(void **state)
{
	struct vrb_ud_rc *rc;

	(void)state;
	deserve(0);
	settle();
	rc = conns[0]->rc.ud->rc;
	rc->announced = false;
	post_message(0);
	settle();
	assert_false(rc->used);
	rc->announced = true;
	rc->handled--;
	post_message(0);
	assert_false(rc->used);
	settle();
	post_message(0);
	assert_true(rc->used);
	settle();
	assert_int_equal(flows[0].arrived, 3);
}

/* What a peer that violates the protocol sends through its queue pair is dropped. */
static void violators_are_not_heard(void **state)
{
	(void)state;
	deserve(0);
	settle();
	conns[1]->rc.ud->reason = VRB_UD_BROKEN;
	post_message(0);
	assert_true(is_used(0));
	settle();
	assert_int_equal(flows[0].arrived, 0);
	assert_int_equal(ud_nodes[1].rc.ud->rcs.in_srq, UD_BUFFERS / 2 - 1);
}

static void few_messages_get_none(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 20; i++)
		post_message(0);
	settle();
	assert_int_equal(ud_net_rc_count(0) + ud_net_rc_count(1), 0);
}

static void both_ask_at_once(void **state)
{
	unsigned int i;

	(void)state;
	post_message(0);
	settle();
	post_message(1);
	settle();
	for (i = 0; i < 8; i++) {
		post_write(0);
		post_write(1);
	}
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(ud_net_rc_count(1), 1);
	settle();
	post_message(0);
	post_message(1);
	settle();
	assert_true(is_used(0) && is_used(1));
	assert_int_equal(flows[0].arrived + flows[1].arrived, 4);
}

/* The peer has none, so there is none. */
static void is_refused(const struct ud_net_params *params, unsigned int asking)
{
	begin_with(9, params);
	post_message(0);
	settle();
	deserve(asking);
	settle();
	deserve(!asking);
	settle();
	assert_int_equal(ud_net_rc_count(0) + ud_net_rc_count(1), 0);
	assert_int_equal(conns[0]->endings + conns[1]->endings, 0);
	post_message(0);
	post_message(1);
	settle();
	assert_int_equal(flows[0].arrived + flows[1].arrived, 3);
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
	deserve(0);
	settle();
	assert_int_equal(conns[0]->endings, 1);
	assert_int_equal(conns[0]->err, FI_EIO);
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
	deserve(0);
	assert_int_equal(ud_net_rc_count(0), 4);
	assert_non_null(conns[0]->rc.ud->rc);
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
	deserve(0);
	assert_int_equal(ud_net_rc_count(0), 4);
}

/* The answer waits until the peer has proved that it knows the secret. */
static void proof_comes_first(void **state)
{
	struct vrb_rdm_proof proof = { .shut = true };
	unsigned int i;

	(void)state;
	post_message(0);
	settle();
	conns[0]->rc.proof = &proof;
	deserve(0);
	settle();
	assert_int_equal(ud_net_rc_count(0), 0);
	/* It may not write. */
	for (i = 0; i < 80; i++) {
		post_message(1);
		ud_net_pass(100);
		poll_node(0);
		poll_node(1);
		repost_all();
	}
	settle();
	assert_int_equal(ud_net_rc_count(0), 0);
	assert_int_equal(ud_net_rc_count(1), 1);
	proof.shut = false;
	post_message(0);
	settle();
	post_message(1);
	post_message(0);
	settle();
	assert_true(is_used(0) && is_used(1));
	conns[0]->rc.proof = NULL;
}

/* Node 0 gets a packet about a queue pair as if from its peer. */
static void say(uint32_t ahead, uint32_t number, uint32_t psn, uint32_t reads, uint64_t mtu)
{
	const struct vrb_ud_conn *ud = conns[0]->rc.ud;
	const struct vrb_ud_packet packet = {
		.kind = VRB_UD_QP,
		.to = conns[0]->rc.qp_num,
		.from = conns[1]->rc.qp_num,
		.key = number,
		.id = psn,
		.asked = reads,
		.addr = mtu,
		.words = { .next = ud->ack.out.next },
	};
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	vrb_ud_stamp(bytes, ud->in.next + ahead, 1000, &packet.words, 0);
	ud_net_inject(1, UD_QPN + 1, 0, bytes, len);
	poll_node(0);
}

static void is_violation(uint32_t number, uint32_t psn, uint32_t reads, uint64_t mtu)
{
	begin_with(11, &calm);
	post_message(0);
	settle();
	say(0, number, psn, reads, mtu);
	assert_int_equal(conns[0]->endings, 1);
	assert_int_equal(conns[0]->err, FI_ECONNABORTED);
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
	post_message(0);
	settle();
	say(0, QPN, 0, 1, IBV_MTU_1024);
	assert_int_equal(ud_net_rc_count(0), 1);
	say(0, QPN, 0, 1, IBV_MTU_1024);
	assert_int_equal(conns[0]->endings, 1);
}

static void nobody_gets_one_before_it_is_up(void **state)
{
	(void)state;
	post_message(0);
	settle();
	conns[0]->rc.state = VRB_RC_CONN_ACCEPTED;
	say(0, QPN, 0, 1, IBV_MTU_1024);
	assert_int_equal(ud_net_rc_count(0), 0);
	conns[0]->rc.state = VRB_RC_CONN_UP;
	post_message(0);
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
		assert_int_equal(wc.qp_num, conns[at]->rc.qp_num);
		n++;
	}
	assert_int_equal(n, count);
}

static void all_is_flushed(void **state)
{
	(void)state;
	deserve(0);
	settle();
	post_message(0);
	post_message(0);
	assert_true(is_used(0));
	assert_true(vrb_ud_conn_flush(&conns[0]->rc));
	post_message(0);
	count_flushed(0, 3);
}

/* Queue pairs that are not used yet do not matter. */
static void datagrams_are_flushed(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 8; i++)
		post_write(0);
	assert_non_null(conns[0]->rc.ud->rc);
	assert_true(vrb_ud_conn_flush(&conns[0]->rc));
	post_message(0);
	count_flushed(0, 9);
}

static void a_peer_that_is_gone_is_noticed(void **state)
{
	struct ibv_wc wc;

	(void)state;
	deserve(0);
	settle();
	post_message(0);
	settle();
	assert_true(is_used(0));
	ud_net_forget(conns[1]);
	post_message(0);
	ud_net_pass(100);
	assert_true(ud_net_poll(0, &wc));
	assert_int_equal(wc.status, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc.qp_num, conns[0]->rc.qp_num);
}

static void receives_come_back(void **state)
{
	struct vrb_ud *all = ud_nodes[1].rc.ud;

	(void)state;
	deserve(0);
	settle();
	post_message(0);
	post_message(0);
	ud_net_pass(100);
	conns[1]->rc.let_go = true;
	ud_net_forget(conns[1]);
	poll_node(1);
	assert_int_equal(all->rcs.in_srq + all->recv_head - all->recv_tail, UD_BUFFERS);
}

static void busy_connections_drain(void **state)
{
	unsigned int rounds;

	(void)state;
	for (rounds = 0; rounds < 3000 && !is_used(0); rounds++) {
		while (flows[0].works - flows[0].completed < WINDOW) {
			uint32_t before = flows[0].works;

			post_write(0);
			if (flows[0].works == before)
				break;
		}
		ud_net_pass(10);
		poll_node(0);
		poll_node(1);
	}
	assert_true(is_used(0));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_overtakes),
		TEST(both_use_it),
		TEST(it_is_used_late),
		TEST(violators_are_not_heard),
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
