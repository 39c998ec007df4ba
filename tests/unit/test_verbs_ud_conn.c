/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * These tests end connections on unreliable datagrams, or do not; they look at when messages are
 * acknowledged.
 */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/rdm/arrive.h"
#include "ud_net.h"

static const struct ud_net_params calm;

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
	ud_net_end();
	return 0;
}

static void a_peer_that_has_forgotten_says_so(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_exchange(active, passive);
	ud_net_forget(passive);
	ud_net_send(active);
	ud_net_watch(2000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, FI_ECONNRESET);
}

/* Otherwise FI_FENCE would not wait for a packet that may have been lost. */
static void what_flies_is_not_quiet(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_exchange(active, passive);
	assert_true(vrb_ud_conn_quiet(&active->rc));
	ud_net_send(active);
	assert_false(vrb_ud_conn_quiet(&active->rc));
	ud_net_watch(5000, counts);
	assert_true(vrb_ud_conn_quiet(&active->rc));
}

/* All copies of the end are lost. */
static void an_end_is_repeated(void **state)
{
	const struct ud_net_params none = { .loss = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_exchange(active, passive);
	ud_net_set(&none);
	vrb_ud_conn_end(&passive->rc);
	ud_net_watch(3000, counts);
	ud_net_set(&calm);
	assert_int_equal(active->endings, 0);
	ud_net_send(active);
	ud_net_watch(2000, counts);
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
		.words = { .next = ud->ack.oldest, .echo = ud->ack.order - 1 },
	};
}

static void send_refusal(struct vrb_ud_packet packet, uint32_t qpn)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	vrb_ud_stamp(bytes, 0, 0, &packet.words, 0);
	ud_net_inject(UD_STRANGER, qpn, 0, bytes, len);
	ud_net_watch(1, counts);
}

static void a_refusal_has_to_know_everything(void **state)
{
	const struct ud_net_params none = { .loss = 1000 };
	struct vrb_ud_packet packet;

	(void)state;
	ud_net_exchange(active, passive);
	send_refusal(refusal(), ud_net_qpn(1)); /* nothing is under way */
	ud_net_set(&none);
	ud_net_send(active);
	packet = refusal();
	packet.to++;
	send_refusal(packet, ud_net_qpn(1));
	packet = refusal();
	packet.from++;
	send_refusal(packet, ud_net_qpn(1));
	packet = refusal();
	packet.words.next++;
	send_refusal(packet, ud_net_qpn(1));
	packet = refusal();
	packet.words.echo++;
	send_refusal(packet, ud_net_qpn(1));
	packet.words.echo = active->rc.ud->ack.newest;
	send_refusal(packet, ud_net_qpn(1));
	send_refusal(refusal(), UD_STRANGER_QPN);
	assert_int_equal(active->endings, 0);
	send_refusal(refusal(), ud_net_qpn(1));
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
	/* What the fake device takes for the GID has bytes of the IPv4 header. */
	ud_net_meet_host(0, (uint8_t[16]){ [12] = 0x45, [15] = UD_STRANGER });
	for (i = 0; i < 1000; i++) {
		packet.to = i ? i : active->rc.qp_num;
		packet.number = i;
		packet.order = 2 * i;
		inject(&packet);
	}
	ud_net_watch(1000, counts);
	heard = ud_net_heard(&last);
	assert_in_range(heard, 1, VRB_UD_REFUSALS);
	assert_int_equal(last.kind, VRB_UD_END);
	assert_int_equal(last.id, VRB_UD_UNKNOWN);
	assert_int_equal(last.to, 5);
	assert_int_equal(last.from, last.words.next ? last.words.next : active->rc.qp_num);
	assert_int_equal(last.words.echo, 2 * last.words.next);
	ud_net_watch(2 * VRB_UD_REFUSAL_US, counts);
	/* Refusals, and what has no number, are not answered: there is no end to that. */
	packet.kind = VRB_UD_END;
	inject(&packet);
	packet.kind = VRB_UD_ACK;
	inject(&packet);
	ud_net_watch(1000, counts);
	assert_int_equal(ud_net_heard(&last), heard);
	assert_int_equal(active->endings + passive->endings, 0);
	ud_net_exchange(active, passive);
}

/* Whoever asked for a connection takes no packet of it until the answer tells its first number. */
static void no_packet_precedes_the_answer(void **state)
{
	struct vrb_ud_packet packet = { .kind = VRB_UD_SEND, .last = true, .order = 1 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct ud_conn *asking = ud_net_conn(0);

	(void)state;
	asking->rc.ud->qpn = UD_STRANGER_QPN;
	packet.to = asking->rc.qp_num;
	packet.words.next = asking->rc.ud->ack.next;
	inject(&packet);
	ud_net_watch(1000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 0);
	assert_int_equal(asking->rc.ud->in.next, 0);
	assert_int_equal(asking->endings, 0);
}

/* The refusal of an access is lost, too. */
static void without_the_right(bool lost)
{
	const struct ud_net_params none = { .loss = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct ud_node *node = passive->node;
	uint8_t bytes[16] = { 1 };

	ud_net_exchange(active, passive);
	ud_net_post(active, IBV_WR_RDMA_WRITE, bytes, sizeof(bytes),
		    (uintptr_t)node->region + UD_REGION - 8, node->mr.rkey, 2);
	ud_net_send(active);
	ud_net_pass(100);
	if (lost)
		ud_net_set(&none);
	ud_net_watch(1, counts);
	ud_net_set(&calm);
	ud_net_watch(1000000, counts);
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

/* What was posted before it, and is permitted, is complete, although it takes longer. */
static void an_access_without_the_right_after_a_read(void **state)
{
	static uint8_t bytes[UD_REGION / 2];
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct ud_node *node = passive->node;

	(void)state;
	ud_net_exchange(active, passive);
	memset(node->region, 5, sizeof(bytes));
	ud_net_post(active, IBV_WR_RDMA_READ, bytes, sizeof(bytes), (uintptr_t)node->region,
		    node->mr.rkey, 2);
	ud_net_post(active, IBV_WR_RDMA_WRITE, bytes, 16, (uintptr_t)node->region + UD_REGION - 8,
		    node->mr.rkey, 2);
	ud_net_watch(1000000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 1);
	assert_int_equal(counts[IBV_WC_REM_ACCESS_ERR], 1);
	assert_memory_equal(bytes, node->region, sizeof(bytes));
	assert_int_equal(passive->err, FI_EKEYREJECTED);
}

/* Returns true if the passive end acknowledges a message in the call that returns it. */
static bool is_acknowledged_at_once(void)
{
	unsigned int i, completions = 0;
	struct ibv_wc wc;

	ud_net_send(active);
	ud_net_pass(1000);
	assert_true(ud_net_poll(1, &wc));
	ud_net_repost(1, vrb_rdm_rx_of(&wc));
	ud_net_pass(100);
	for (i = 0; ud_net_poll(0, &wc); i++)
		completions += !(wc.wr_id & VRB_RDM_RX_BIT);
	return completions;
}

static void answer(void)
{
	struct ibv_wc wc;

	ud_net_send(passive);
	ud_net_pass(100);
	while (ud_net_poll(0, &wc))
		if (wc.wr_id & VRB_RDM_RX_BIT)
			ud_net_repost(0, vrb_rdm_rx_of(&wc));
	ud_net_pass(1000);
	while (ud_net_poll(1, &wc))
		;
}

static void talk(unsigned int messages)
{
	while (messages--) {
		is_acknowledged_at_once();
		answer();
	}
}

/* A process may stop, or compute, as soon as it has its message. */
static void a_message_is_acknowledged_before_it_is_seen(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_exchange(active, passive);
	assert_true(is_acknowledged_at_once());
	assert_true(is_acknowledged_at_once());
	/* Peers that answer each message need no acknowledgments of their own. */
	talk(VRB_UD_CHATS);
	assert_false(is_acknowledged_at_once());
	/* The answer that did not come is expected less soon. */
	ud_net_watch(1000, counts);
	talk(VRB_UD_CHATS);
	assert_true(is_acknowledged_at_once());
	talk(VRB_UD_CHATS);
	assert_false(is_acknowledged_at_once());
}

/* Whoever waits for each write has its completion at once, however many there are. */
static void a_write_alone_is_acknowledged_at_once(void **state)
{
	struct ud_node *node = &ud_nodes[1];
	uint8_t bytes[16] = { 1 };
	struct ibv_wc wc;
	uint64_t id;

	(void)state;
	ud_net_exchange(active, passive);
	talk(VRB_UD_CHATS);
	for (id = 8; id < 32; id += 2) {
		ud_net_post(active, IBV_WR_RDMA_WRITE, bytes, sizeof(bytes),
			    (uintptr_t)node->region, node->mr.rkey, id);
		ud_net_pass(20);
		assert_false(ud_net_poll(1, &wc));
		ud_net_pass(20);
		assert_true(ud_net_poll(0, &wc));
		assert_int_equal(wc.wr_id, id);
	}
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
	ud_net_exchange(active, passive);
	ud_net_set(&gone);
	ud_net_send(active);
	ud_net_send(active);
	ud_net_watch(4000000, counts);
	assert_int_equal(active->endings, 0);
	assert_true(active->silences > 0);
	ud_net_watch(3000000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, FI_ETIMEDOUT);
	assert_int_equal(counts[IBV_WC_RETRY_EXC_ERR], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
}

static void a_silence_of_hours_is_not_cut(void **state)
{
	const int hours = 2 * 3600 * 1000, before = vrb_params.rdm_connect_timeout;

	(void)state;
	ud_net_end();
	vrb_params.rdm_connect_timeout = hours;
	ud_net_begin(7, &calm);
	ud_net_join(0, 1, &active, &passive);
	vrb_params.rdm_connect_timeout = before;
	assert_true(vrb_rc(active->rc.ep)->ud->ack_params.silence == hours * 1000ull);
}

static void waited_for(const struct ud_net_params *stopped)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_exchange(active, passive);
	ud_net_set(stopped);
	ud_net_send(active);
	ud_net_watch(30000000, counts);
	assert_int_equal(active->endings, 0);
	ud_net_set(&calm);
	ud_net_watch(1000000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
}

static void a_stopped_peer_is_waited_for(void **state)
{
	const struct ud_net_params stopped = { .loss = 1000 };

	(void)state;
	waited_for(&stopped);
}

static void moves(unsigned int node, const struct ud_net_params *params)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_exchange(active, passive);
	ud_net_set(params);
	ud_net_move(node);
	ud_net_send(active);
	ud_net_watch(10000000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
}

static void is_asked(struct ud_conn *conn)
{
	vrb_ud_conn_heard(&conn->rc);
	vrb_ud_conn_renew(&passive->rc);
}

/* A peer that has nothing to send learns that it is not heard when it is asked. */
static void a_host_that_moves_is_found(void **state)
{
	const struct ud_net_params asked = { .silent = is_asked };

	(void)state;
	moves(1, &calm);
	moves(0, &asked);
}

/* Polls a node's messages, for which it has no buffers any more. */
static unsigned int receive(unsigned int at, struct vrb_rdm_rx **rxs)
{
	unsigned int i, count = 0;
	struct ibv_wc wc;

	for (i = 0; i < 5000; i++) {
		ud_net_pass(200);
		for (; ud_net_poll(at, &wc); count++)
			rxs[count] = vrb_rdm_rx_of(&wc);
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
		ud_net_send(active);
	assert_int_equal(receive(1, rxs), UD_BUFFERS - 2);
	ud_net_set(&none);
	ud_net_send(active);
	ud_net_set(&calm);
	for (i = 0; i < 1 + LATE; i++)
		ud_net_send(active);
	assert_int_equal(receive(1, rxs + UD_BUFFERS - 2), 2);
	ud_net_close(active);
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

/* Its device takes packets, and its process says nothing. */
static void a_receiver_that_exists_is_waited_for(void **state)
{
	const struct ud_net_params stopped = { .loss = 1000, .silent = nobody_answers };

	(void)state;
	waited_for(&stopped);
}

/* The passive end gets a message in a packet that is so much later than the next one. */
static void inject_early(uint32_t by)
{
	const struct vrb_ud_packet packet = {
		.kind = VRB_UD_SEND,
		.last = true,
		.to = passive->rc.qp_num,
		.from = active->rc.qp_num,
		.number = passive->rc.ud->in.next + by,
		.order = active->rc.ud->ack.order + by,
		.words = { .next = active->rc.ud->in.next, .echo = active->rc.ud->ack.echo },
	};
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, &packet);

	vrb_ud_stamp(bytes, packet.number, packet.order, &packet.words, 0);
	ud_net_inject(0, ud_net_qpn(0), 1, bytes, len);
}

/* Only the packets of the window stay until those before them arrive. */
static void a_packet_beyond_the_window_is_dropped(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	uint32_t echo;

	(void)state;
	ud_net_exchange(active, passive);
	echo = passive->rc.ud->ack.echo;
	inject_early(OFI_RDM_SEQ_WINDOW);
	ud_net_watch(1, counts);
	assert_int_equal(ud_nodes[1].rc.ud->kept, 0);
	assert_int_equal(passive->rc.ud->ack.echo, echo);
	inject_early(OFI_RDM_SEQ_WINDOW - 1);
	ud_net_watch(1, counts);
	assert_int_equal(ud_nodes[1].rc.ud->kept, 1);
	assert_int_equal(passive->endings, 0);
}

/*
 * Packets that came before an earlier one leave receives for that one, also if they are from peers
 * that wait for buffers.
 */
static void early_packets_leave_receives(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct vrb_ud *all;
	uint32_t i, next;

	(void)state;
	ud_net_exchange(active, passive);
	all = ud_nodes[1].rc.ud;
	next = passive->rc.ud->in.next;
	all->rq_depth = 16;
	for (i = 1; i <= 20; i++)
		inject_early(i);
	ud_net_pass(10);
	ud_net_watch(1, counts);
	assert_int_equal(all->kept, 8);
	assert_int_equal(passive->rc.ud->in.next, next);
	all->rq_depth = VRB_UD_RQ;
	assert_int_equal(passive->endings, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(early_packets_leave_receives, begin, end),
		cmocka_unit_test_setup_teardown(a_packet_beyond_the_window_is_dropped, begin, end),
		cmocka_unit_test_setup_teardown(a_peer_that_has_forgotten_says_so, begin, end),
		cmocka_unit_test_setup_teardown(what_flies_is_not_quiet, begin, end),
		cmocka_unit_test_setup_teardown(an_end_is_repeated, begin, end),
		cmocka_unit_test_setup_teardown(a_refusal_has_to_know_everything, begin, end),
		cmocka_unit_test_setup_teardown(strangers_are_refused_rarely, begin, end),
		cmocka_unit_test_setup_teardown(no_packet_precedes_the_answer, begin, end),
		cmocka_unit_test_setup_teardown(an_access_without_the_right, begin, end),
		cmocka_unit_test_setup_teardown(an_access_without_the_right_whose_refusal_is_lost,
						begin, end),
		cmocka_unit_test_setup_teardown(an_access_without_the_right_after_a_read, begin,
						end),
		cmocka_unit_test_setup_teardown(a_write_alone_is_acknowledged_at_once, begin, end),
		cmocka_unit_test_setup_teardown(a_message_is_acknowledged_before_it_is_seen, begin,
						end),
		cmocka_unit_test_setup_teardown(a_silent_host_is_given_up, begin, end),
		cmocka_unit_test_setup_teardown(a_silence_of_hours_is_not_cut, begin, end),
		cmocka_unit_test_setup_teardown(a_stopped_peer_is_waited_for, begin, end),
		cmocka_unit_test_setup_teardown(a_host_that_moves_is_found, begin, end),
		cmocka_unit_test_setup_teardown(the_end_comes_after_the_messages, begin, end),
		cmocka_unit_test_setup_teardown(a_receiver_that_exists_is_waited_for, begin_srd,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
