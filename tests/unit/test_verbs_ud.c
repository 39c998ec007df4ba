/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections on unreliable datagrams, in schedules that a seed decides: messages arrive once and
 * in order, writes and reads move the right bytes, work requests complete in order, whatever the
 * network does. What ends a connection, and what does not. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "ud_net.h"

enum {
	FLOWS = 4, /* both directions of two connections of node 0 */
	OPS = 60,  /* of a flow */
	MOST = 3 * UD_MTU,
	SLOT = 4 * UD_MTU, /* where a flow writes */
	CONSTANT = UD_REGION / 2,
	PATIENCE_US = 20000000,
};

struct op {
	struct flow *flow;
	enum ibv_wr_opcode opcode;
	unsigned int number;
	uint32_t len;
	uint8_t bytes[MOST];
};

struct flow {
	struct ud_conn *from, *to;
	unsigned int posted, completed, sent, arrived;
	uint32_t lens[OPS]; /* of messages */
	unsigned int marks[OPS];
	uint8_t mirror[SLOT]; /* what was written */
};

static struct flow flows[FLOWS];
static struct ud_conn *conns[FLOWS];
static const struct ud_net_params calm;

static uint8_t byte_of(unsigned int mark, size_t i)
{
	return (uint8_t)(mark * 31 + i * 7 + (i >> 8));
}

static void fill(uint8_t *bytes, size_t len, unsigned int mark)
{
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = byte_of(mark, i);
}

static void is_filled(const uint8_t *bytes, size_t len, unsigned int mark)
{
	size_t i;

	for (i = 0; i < len; i++)
		assert_int_equal(bytes[i], byte_of(mark, i));
}

static unsigned int index_of(const struct ud_node *node)
{
	return (unsigned int)(node - ud_nodes);
}

static uint8_t *slot_of(const struct flow *flow)
{
	return flow->to->node->region + (size_t)(flow - flows) * SLOT;
}

static void join_all(void)
{
	size_t i;

	memset(flows, 0, sizeof(flows));
	ud_net_join(0, 1, &conns[0], &conns[1]);
	ud_net_join(2, 0, &conns[2], &conns[3]);
	for (i = 0; i < FLOWS; i++) {
		flows[i].from = conns[i];
		flows[i].to = conns[i ^ 1];
	}
	for (i = 0; i < UD_NODES; i++)
		fill(ud_nodes[i].region + CONSTANT, UD_REGION - CONSTANT, (unsigned int)i);
}

static void close_all(void)
{
	size_t i;

	for (i = 0; i < FLOWS; i++)
		ud_net_close(conns[i]);
}

/* Only the active side may send first: the other one does not know the way yet. */
static bool may_post(const struct flow *flow)
{
	return flow->posted < OPS && flow->posted - flow->completed < 20;
}

static void post(struct flow *flow)
{
	static const enum ibv_wr_opcode kinds[] = { IBV_WR_SEND, IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						    IBV_WR_RDMA_READ };
	struct op *op = calloc(1, sizeof(*op));
	uint64_t remote = (uintptr_t)slot_of(flow);

	assert_non_null(op);
	op->flow = flow;
	op->opcode = kinds[ud_net_any(4)];
	op->number = flow->posted++;
	op->len = ud_net_any(2) ? ud_net_any(100) : ud_net_any(MOST);
	if (op->opcode != IBV_WR_RDMA_READ)
		fill(op->bytes, op->len, op->number);
	else
		remote = (uintptr_t)flow->to->node->region + CONSTANT;
	if (op->opcode == IBV_WR_RDMA_WRITE)
		memcpy(flow->mirror, op->bytes, op->len);
	if (op->opcode == IBV_WR_SEND) {
		flow->marks[flow->sent] = op->number;
		flow->lens[flow->sent++] = op->len;
	}
	assert_int_equal(ud_net_post(flow->from, op->opcode, op->bytes, op->len, remote,
				     flow->to->node->mr.rkey, (uintptr_t)op),
			 0);
}

static struct flow *flow_to(const struct ud_node *node, uint32_t qp_num)
{
	size_t i;

	for (i = 0; i < FLOWS; i++)
		if (flows[i].to->node == node && flows[i].to->rc.qp_num == qp_num)
			return &flows[i];
	fail();
	return NULL;
}

static void arrived(const struct ud_node *node, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx =
		(struct vrb_rdm_rx *)(uintptr_t)(wc->wr_id & ~(uint64_t)VRB_RDM_RX_BIT);
	struct flow *flow = flow_to(node, wc->qp_num);
	unsigned int n = flow->arrived++;

	assert_true(n < flow->sent);
	assert_int_equal(wc->byte_len, flow->lens[n]);
	is_filled((uint8_t *)(uintptr_t)rx->sge.addr, wc->byte_len, flow->marks[n]);
	ud_net_repost(index_of(node), rx);
}

static void completed(const struct ibv_wc *wc)
{
	struct op *op = (struct op *)(uintptr_t)wc->wr_id;
	struct flow *flow = op->flow;

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(op->number, flow->completed++);
	if (op->opcode == IBV_WR_RDMA_READ)
		is_filled(op->bytes, op->len, index_of(flow->to->node));
	free(op);
}

static void poll_node(unsigned int at)
{
	struct ibv_wc wc;

	while (ud_net_poll(at, &wc)) {
		if (wc.wr_id & VRB_RDM_RX_BIT)
			arrived(&ud_nodes[at], &wc);
		else
			completed(&wc);
	}
}

static bool all_done(void)
{
	bool done = true;
	size_t i;

	for (i = 0; i < FLOWS; i++)
		done &= flows[i].completed == OPS && flows[i].arrived == flows[i].sent;
	return done;
}

/* Runs until nothing happens any more, for so long at most. */
static void settle(uint64_t most)
{
	uint64_t passed = 0, step;
	unsigned int i;

	while (passed < most && (step = ud_net_next())) {
		ud_net_pass(step);
		passed += step;
		for (i = 0; i < UD_NODES; i++)
			poll_node(i);
	}
}

static void run_schedule(uint64_t seed, const struct ud_net_params *params)
{
	unsigned int i, rounds;

	ud_net_begin(seed, params);
	join_all();
	for (rounds = 0; !all_done() && rounds < 1000000; rounds++) {
		i = ud_net_any(FLOWS);
		if (may_post(&flows[i]) && !ud_net_any(3))
			post(&flows[i]);
		poll_node(ud_net_any(UD_NODES));
		ud_net_pass(ud_net_any(4) ? ud_net_any(20) : ud_net_any(400));
	}
	assert_true(all_done());
	for (i = 0; i < FLOWS; i++)
		assert_memory_equal(slot_of(&flows[i]), flows[i].mirror, SLOT);
	settle(PATIENCE_US);
	close_all();
	ud_net_end();
}

static uint64_t seeds(void)
{
	const char *wanted = getenv("WEFT_SEEDS");

	return wanted ? strtoull(wanted, NULL, 10) : 60;
}

static void schedules(void **state)
{
	struct ud_net_params params = { 0 };
	uint64_t seed, count = seeds();

	(void)state;
	for (seed = 1; seed <= count; seed++) {
		params.loss = seed % 3 * 50;
		params.duplicates = seed % 5 * 20;
		params.delayed = seed % 4 * 200;
		params.no_inline = seed % 2;
		run_schedule(seed, &params);
	}
}

/* The same on queue pairs that lose nothing, and have no order. */
static void srd_schedules(void **state)
{
	struct ud_net_params params = { .srd = true };
	uint64_t seed, count = seeds();

	(void)state;
	for (seed = 1; seed <= count; seed++) {
		params.unready = seed % 3 * 50;
		params.delayed = seed % 4 * 300;
		params.no_inline = seed % 2;
		run_schedule(seed, &params);
	}
}

/* One connection, between nodes 0 and 1. */
static struct ud_conn *active, *passive;

static int begin(void **state)
{
	(void)state;
	ud_net_begin(7, &calm);
	ud_net_join(0, 1, &active, &passive);
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (active)
		ud_net_close(active);
	if (passive)
		ud_net_close(passive);
	active = passive = NULL;
	ud_net_end();
	return 0;
}

static void send_one(struct ud_conn *conn)
{
	static uint8_t bytes[10];

	assert_int_equal(ud_net_post(conn, IBV_WR_SEND, bytes, sizeof(bytes), 0, 0, 8), 0);
}

/* Polls all nodes for so long. Counts completions by their status. */
static void watch(uint64_t us, unsigned int counts[IBV_WC_GENERAL_ERR])
{
	uint64_t passed;
	unsigned int i;
	struct ibv_wc wc;

	for (passed = 0; passed < us; passed += 200) {
		ud_net_pass(200);
		for (i = 0; i < UD_NODES; i++)
			while (ud_net_poll(i, &wc))
				counts[wc.status]++;
	}
}

static void exchange(void)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	send_one(active);
	watch(3000, counts);
	send_one(passive);
	watch(3000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 4);
}

static void a_peer_that_has_forgotten_says_so(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	exchange();
	ud_net_forget(passive);
	passive = NULL;
	send_one(active);
	watch(2000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, FI_ECONNRESET);
}

/* All copies of the end are lost. */
static void an_end_is_repeated(void **state)
{
	const struct ud_net_params none = { .loss = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	exchange();
	ud_net_set(&none);
	vrb_ud_conn_end(&passive->rc);
	watch(3000, counts);
	ud_net_set(&calm);
	assert_int_equal(active->endings, 0);
	send_one(active);
	watch(2000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, FI_ECONNRESET);
}

/* Returns a refusal that the active end believes while its packet is on its way. */
static struct vrb_ud_packet refusal(void)
{
	const struct vrb_ud_conn *ud = active->rc.ud;

	return (struct vrb_ud_packet){
		.kind = VRB_UD_END,
		.to = active->rc.qp_num,
		.from = passive->rc.qp_num,
		.id = VRB_UD_UNKNOWN,
		.words = { .next = ud->ack.out.oldest, .echo = ud->ack.order - 1 },
	};
}

static void send_refusal(struct vrb_ud_packet packet, uint32_t qpn)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	vrb_ud_stamp(bytes, 0, 0, &packet.words, 0);
	ud_net_inject(UD_STRANGER, qpn, 0, bytes, len);
	watch(1, counts);
}

static void a_refusal_has_to_know_everything(void **state)
{
	const struct ud_net_params none = { .loss = 1000 };
	struct vrb_ud_packet packet;

	(void)state;
	exchange();
	send_refusal(refusal(), UD_QPN + 1); /* nothing is under way */
	ud_net_set(&none);
	send_one(active);
	packet = refusal();
	packet.to++;
	send_refusal(packet, UD_QPN + 1);
	packet = refusal();
	packet.from++;
	send_refusal(packet, UD_QPN + 1);
	packet = refusal();
	packet.words.next++;
	send_refusal(packet, UD_QPN + 1);
	packet = refusal();
	packet.words.echo++;
	send_refusal(packet, UD_QPN + 1);
	packet.words.echo = active->rc.ud->ack.newest;
	send_refusal(packet, UD_QPN + 1);
	send_refusal(refusal(), UD_STRANGER_QPN);
	assert_int_equal(active->endings, 0);
	send_refusal(refusal(), UD_QPN + 1);
	assert_int_equal(active->endings, 1);
}

static void inject(const struct vrb_ud_packet *packet)
{
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, packet);

	vrb_ud_stamp(bytes, packet->number, packet->order, &packet->words, 0);
	ud_net_inject(UD_STRANGER, UD_STRANGER_QPN, 0, bytes, len);
}

static void strangers_are_refused_rarely(void **state)
{
	unsigned int i, heard, counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct vrb_ud_packet packet = { .kind = VRB_UD_SEND, .last = true, .from = 5 }, last;

	(void)state;
	for (i = 0; i < 1000; i++) {
		packet.to = i ? i : active->rc.qp_num;
		packet.number = i;
		packet.order = 2 * i;
		inject(&packet);
	}
	watch(1000, counts);
	heard = ud_net_heard(&last);
	assert_in_range(heard, 1, VRB_UD_REFUSALS);
	assert_int_equal(last.kind, VRB_UD_END);
	assert_int_equal(last.id, VRB_UD_UNKNOWN);
	assert_int_equal(last.to, 5);
	assert_int_equal(last.from, last.words.next ? last.words.next : active->rc.qp_num);
	assert_int_equal(last.words.echo, 2 * last.words.next);
	watch(2 * VRB_UD_REFUSAL_US, counts);
	/* Refusals, and what has no number, are not answered: there is no end to that. */
	packet.kind = VRB_UD_END;
	inject(&packet);
	packet.kind = VRB_UD_ACK;
	inject(&packet);
	watch(1000, counts);
	assert_int_equal(ud_net_heard(&last), heard);
	assert_int_equal(active->endings + passive->endings, 0);
	exchange();
}

/* The refusal of an access is lost, too. */
static void without_the_right(bool lost)
{
	const struct ud_net_params none = { .loss = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct ud_node *node = passive->node;
	uint8_t bytes[16] = { 1 };

	exchange();
	ud_net_post(active, IBV_WR_RDMA_WRITE, bytes, sizeof(bytes),
		    (uintptr_t)node->region + UD_REGION - 8, node->mr.rkey, 2);
	send_one(active);
	ud_net_pass(100);
	if (lost)
		ud_net_set(&none);
	watch(1, counts);
	ud_net_set(&calm);
	watch(1000000, counts);
	assert_int_equal(node->region[UD_REGION - 8], 0);
	assert_int_equal(passive->endings, 1);
	assert_int_equal(passive->err, FI_EKEYREJECTED);
	assert_int_equal(counts[IBV_WC_REM_ACCESS_ERR], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
	assert_int_equal(counts[IBV_WC_SUCCESS], 0);
}

static void an_access_without_the_right(void **state)
{
	(void)state;
	without_the_right(false);
}

static void an_access_without_the_right_whose_refusal_is_lost(void **state)
{
	(void)state;
	without_the_right(true);
}

/* Returns true if the passive end acknowledges a message in the call that returns it. */
static bool is_acknowledged_at_once(void)
{
	unsigned int i, completions = 0;
	struct ibv_wc wc;

	send_one(active);
	ud_net_pass(1000);
	assert_true(ud_net_poll(1, &wc));
	ud_net_repost(1, (struct vrb_rdm_rx *)(uintptr_t)(wc.wr_id & ~(uint64_t)VRB_RDM_RX_BIT));
	ud_net_pass(100);
	for (i = 0; ud_net_poll(0, &wc); i++)
		completions += !(wc.wr_id & VRB_RDM_RX_BIT);
	return completions;
}

static void answer(void)
{
	struct ibv_wc wc;

	send_one(passive);
	ud_net_pass(100);
	while (ud_net_poll(0, &wc))
		if (wc.wr_id & VRB_RDM_RX_BIT)
			ud_net_repost(0,
				      (struct vrb_rdm_rx *)(uintptr_t)(wc.wr_id &
								       ~(uint64_t)VRB_RDM_RX_BIT));
	ud_net_pass(1000);
	while (ud_net_poll(1, &wc))
		;
}

/* A process may stop, or compute, as soon as it has its message. */
static void a_message_is_acknowledged_before_it_is_seen(void **state)
{
	int i;

	(void)state;
	exchange();
	assert_true(is_acknowledged_at_once());
	assert_true(is_acknowledged_at_once());
	/* Peers that answer each message need no acknowledgments of their own. */
	for (i = 0; i < VRB_UD_CHATS; i++) {
		is_acknowledged_at_once();
		answer();
	}
	assert_false(is_acknowledged_at_once());
}

static void nobody_answers(struct ud_conn *conn)
{
	(void)conn;
}

static void a_silent_host_is_given_up(void **state)
{
	const struct ud_net_params gone = { .loss = 1000, .silent = nobody_answers };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	exchange();
	ud_net_set(&gone);
	send_one(active);
	send_one(active);
	watch(4000000, counts);
	assert_int_equal(active->endings, 0);
	assert_true(active->silences > 0);
	watch(3000000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, FI_ETIMEDOUT);
	assert_int_equal(counts[IBV_WC_RETRY_EXC_ERR], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
}

static void a_stopped_peer_is_waited_for(void **state)
{
	const struct ud_net_params stopped = { .loss = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	exchange();
	ud_net_set(&stopped);
	send_one(active);
	watch(30000000, counts);
	assert_int_equal(active->endings, 0);
	ud_net_set(&calm);
	watch(1000000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
}

/* Polls a node's messages, for which it has no buffers any more. */
static unsigned int receive(unsigned int at, struct vrb_rdm_rx **rxs)
{
	unsigned int i, count = 0;
	struct ibv_wc wc;

	for (i = 0; i < 5000; i++) {
		ud_net_pass(200);
		for (; ud_net_poll(at, &wc); count++)
			rxs[count] = (struct vrb_rdm_rx *)(uintptr_t)(wc.wr_id &
								      ~(uint64_t)VRB_RDM_RX_BIT);
		while (ud_net_poll(!at, &wc))
			assert_int_equal(wc.status, IBV_WC_SUCCESS);
	}
	return count;
}

/* Messages that complete a gap are acknowledged, whether or not there are buffers for them. */
static void the_end_comes_after_the_messages(void **state)
{
	enum { LATE = 7 };
	const struct ud_net_params none = { .loss = 1000 };
	struct vrb_rdm_rx *rxs[UD_BUFFERS];
	unsigned int i;

	(void)state;
	for (i = 0; i < UD_BUFFERS - 2; i++)
		send_one(active);
	assert_int_equal(receive(1, rxs), UD_BUFFERS - 2);
	ud_net_set(&none);
	send_one(active);
	ud_net_set(&calm);
	for (i = 0; i < 1 + LATE; i++)
		send_one(active);
	assert_int_equal(receive(1, rxs + UD_BUFFERS - 2), 2);
	ud_net_close(active);
	active = NULL;
	assert_int_equal(receive(1, rxs + UD_BUFFERS), 0);
	assert_int_equal(passive->endings, 0);
	for (i = 0; i < LATE; i++)
		ud_net_repost(1, rxs[i]);
	assert_int_equal(receive(1, rxs), LATE);
	assert_int_equal(passive->endings, 1);
	assert_int_equal(passive->err, FI_ECONNRESET);
}

static int begin_srd(void **state)
{
	const struct ud_net_params srd = { .srd = true };

	(void)state;
	ud_net_begin(7, &srd);
	ud_net_join(0, 1, &active, &passive);
	return 0;
}

static void gone(enum ibv_wc_status status, int err)
{
	const struct ud_net_params failing = { .error = status };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	exchange();
	ud_net_set(&failing);
	send_one(active);
	send_one(active);
	watch(1000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, err);
	assert_int_equal(counts[IBV_WC_RETRY_EXC_ERR], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
}

static void a_receiver_that_is_gone_is_told_at_once(void **state)
{
	(void)state;
	gone(IBV_WC_REM_INV_RD_REQ_ERR, FI_ECONNRESET);
}

static void a_host_that_does_not_answer_is_told_at_once(void **state)
{
	(void)state;
	gone(IBV_WC_RESP_TIMEOUT_ERR, FI_ETIMEDOUT);
}

/* Short packets, too, which the device takes inline. */
static void a_packet_that_fails_locally_is_sent_again(void **state)
{
	const struct ud_net_params failing = { .error = IBV_WC_LOC_QP_OP_ERR };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	exchange();
	ud_net_set(&failing);
	send_one(active);
	watch(10000, counts);
	ud_net_set(&calm);
	watch(1000000, counts);
	assert_int_equal(active->endings, 0);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
}

static void waits_for_a_receiver_are_doubled_and_capped(void **state)
{
	const struct ud_net_params unready = { .unready = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	uint64_t first;

	(void)state;
	exchange();
	ud_net_set(&unready);
	send_one(active);
	watch(1, counts);
	first = active->rc.ud->ready_wait;
	assert_in_range(first, 40, 120);
	watch(400, counts);
	assert_in_range(active->rc.ud->ready_wait, 2 * first, 4 * first);
	watch(100000, counts);
	assert_int_equal(active->rc.ud->ready_wait, 10000);
	assert_int_equal(active->endings + counts[IBV_WC_SUCCESS], 0);
	ud_net_set(&calm);
	watch(11000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
	assert_int_equal(active->rc.ud->ready_wait, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedules),
		cmocka_unit_test(srd_schedules),
		cmocka_unit_test_setup_teardown(a_peer_that_has_forgotten_says_so, begin, end),
		cmocka_unit_test_setup_teardown(an_end_is_repeated, begin, end),
		cmocka_unit_test_setup_teardown(a_refusal_has_to_know_everything, begin, end),
		cmocka_unit_test_setup_teardown(strangers_are_refused_rarely, begin, end),
		cmocka_unit_test_setup_teardown(an_access_without_the_right, begin, end),
		cmocka_unit_test_setup_teardown(an_access_without_the_right_whose_refusal_is_lost,
						begin, end),
		cmocka_unit_test_setup_teardown(a_message_is_acknowledged_before_it_is_seen, begin,
						end),
		cmocka_unit_test_setup_teardown(a_silent_host_is_given_up, begin, end),
		cmocka_unit_test_setup_teardown(a_stopped_peer_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(the_end_comes_after_the_messages, begin, end),
		cmocka_unit_test_setup_teardown(a_receiver_that_is_gone_is_told_at_once, begin_srd,
						end),
		cmocka_unit_test_setup_teardown(a_host_that_does_not_answer_is_told_at_once,
						begin_srd, end),
		cmocka_unit_test_setup_teardown(a_packet_that_fails_locally_is_sent_again,
						begin_srd, end),
		cmocka_unit_test_setup_teardown(waits_for_a_receiver_are_doubled_and_capped,
						begin_srd, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
