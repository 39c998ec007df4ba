/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Letters that carry a message, and how those who were asked learn that their answers arrived. */
#include "unit.h"

#include <string.h>
#include "prov/verbs/cm/cm_wire.h"
#include "ud_net.h"

enum { MARK = 0x12345678, LEN = 100, MANY = 600 };

/* The last event of each kind, with what it carries. */
static struct rdma_cm_event asked, answered;
static uint8_t asked_bytes[UD_MTU], answered_bytes[UINT8_MAX];
static unsigned int asks, answers;
static struct ud_conn *active, *passive;

static bool take_request(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event)
{
	size_t len = event->param.ud.private_data_len + vrb_ud_carried(event);

	(void)ep;
	asks++;
	asked = *event;
	assert_true(len <= sizeof(asked_bytes));
	memcpy(asked_bytes, event->param.ud.private_data, len);
	asked.param.ud.private_data = asked_bytes;
	return true;
}

static bool take_answer(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	(void)conn;
	answers++;
	answered = *event;
	memcpy(answered_bytes, event->param.ud.private_data, event->param.ud.private_data_len);
	answered.param.ud.private_data = answered_bytes;
	return true;
}

static const struct ud_net_params calm = {
	.srd = true, .named = true, .asked = take_request, .answered = take_answer
};

static int begin(void **state)
{
	unsigned int i;

	(void)state;
	asks = answers = 0;
	ud_net_begin(5, &calm);
	for (i = 0; i < UD_NODES; i++)
		assert_int_equal(vrb_ud_set_name(ud_nodes[i].rc.ud), 0);
	active = ud_net_conn(0);
	ud_nodes[0].peer.rdm.addr = ud_nodes[1].rc.rdm.self;
	ud_nodes[1].peer.rdm.addr = ud_nodes[0].rc.rdm.self;
	return 0;
}

static int end(void **state)
{
	(void)state;
	ud_net_set(&calm);
	ud_net_pass(1);
	ud_net_end();
	return 0;
}

static void watch(uint64_t ms)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_watch(1000 * ms, counts);
}

static uint8_t words_of(const struct ud_conn *conn, uint8_t *wire)
{
	return vrb_ud_say(&conn->rc, wire, vrb_cm_pack(wire, "a", 1));
}

static void ask(size_t len)
{
	struct vrb_ud_first first = { .len = len, .mark = MARK };
	uint8_t wire[UINT8_MAX];

	memset(first.bytes, 7, len);
	assert_int_equal(vrb_ud_ask(&active->rc, wire, words_of(active, wire), &first), 0);
	watch(1);
}

static void accept_it(void)
{
	uint8_t wire[UINT8_MAX];

	assert_false(vrb_ud_was_asked(&ud_nodes[1].rc.rdm, &asked));
	passive = ud_net_conn(1);
	vrb_ud_sender(&ud_nodes[1].rc.rdm, &asked, &ud_nodes[1].peer.rdm.addr);
	assert_int_equal(vrb_ud_hear(&passive->rc, &asked), 0);
	assert_int_equal(vrb_ud_answer(&passive->rc, &asked, wire, words_of(passive, wire)), 0);
	watch(1);
}

static void a_request_carries_a_message(void **state)
{
	static const size_t lens[] = { 1, LEN, 0 };
	const uint8_t *bytes;
	uint32_t mark;
	size_t i, len;

	(void)state;
	for (i = 0; i < 3; i++) {
		ud_net_close(active);
		active = ud_net_conn(0);
		ask(lens[i]);
		assert_int_equal(asks, i + 1);
		assert_int_equal(vrb_ud_number_in(&asked), active->rc.qp_num);
		bytes = vrb_ud_first_in(&asked, &len, &mark);
		if (!lens[i]) {
			assert_null(bytes);
			continue;
		}
		assert_int_equal(len, lens[i]);
		assert_int_equal(mark, MARK);
		assert_int_equal(bytes[0] + bytes[len - 1], 14);
	}
}

/* The longest letter still fits in a packet. */
static void a_request_has_room(void **state)
{
	uint8_t wire[UINT8_MAX], words = words_of(active, wire);
	uint32_t mark;
	size_t len;

	(void)state;
	ask(vrb_ud_room(&ud_nodes[0].rc.rdm, words));
	assert_non_null(vrb_ud_first_in(&asked, &len, &mark));
	assert_int_equal(len, vrb_ud_room(&ud_nodes[0].rc.rdm, words));
	assert_int_equal(VRB_UD_HEAD_MAX + 16 + words + 4 + len, UD_MTU);
}

/* A letter that says that it carries more than it has, or less than a mark. */
static void what_is_carried_is_checked(void **state)
{
	struct vrb_ud_packet packet = { .kind = VRB_UD_ASK, .to = ud_nodes[1].rc.ud->key };
	uint8_t bytes[VRB_UD_HEAD_MAX + 300] __attribute__((aligned(8))) = { 0 };
	static const uint32_t carried[] = { 301, UINT32_MAX, 300, 285, 44, 4, 3 };
	uint32_t mark;
	size_t i, len;

	(void)state;
	for (i = 0; i < sizeof(carried) / sizeof(*carried); i++) {
		packet.asked = carried[i];
		vrb_ud_build(bytes, &packet);
		ud_net_inject(2, ud_net_qpn(2), 1, bytes, sizeof(bytes));
		watch(1);
		/* Words are at most 255 bytes, and at least the GID. */
		assert_int_equal(asks, 0);
	}
	packet.asked = 3;
	vrb_ud_build(bytes, &packet);
	ud_net_inject(2, ud_net_qpn(2), 1, bytes, VRB_UD_HEAD_MAX + 50);
	watch(1);
	assert_int_equal(asks, 1);
	assert_null(vrb_ud_first_in(&asked, &len, &mark));
}

static void both_ends_say_what_was_delivered(void **state)
{
	(void)state;
	ud_nodes[0].peer.delivered = 5;
	ud_nodes[1].peer.delivered = 6;
	ask(LEN);
	accept_it();
	assert_int_equal(answers, 1);
	assert_int_equal(vrb_ud_hear(&active->rc, &answered), 0);
	assert_int_equal(vrb_ud_delivered(&active->rc), 6);
	assert_int_equal(vrb_ud_delivered(&passive->rc), 5);
}

/*
 * Neither letters nor private data of another version are taken for this one's, nor those that name
 * a queue pair they do not come from.
 */
static void another_version_is_recognized(void **state)
{
	struct vrb_ud_packet packet = { .kind = VRB_UD_ASK, .to = ud_nodes[1].rc.ud->key };
	uint8_t bytes[VRB_UD_HEAD_MAX + 50] __attribute__((aligned(8))) = { 0 };
	uint8_t wire[UINT8_MAX];
	struct rdma_cm_event event = { .event = RDMA_CM_EVENT_CONNECT_REQUEST,
				       .param.ud.private_data = wire };

	(void)state;
	event.param.ud.private_data_len = words_of(active, wire);
	event.param.ud.qp_num = ud_net_qpn(0);
	assert_int_equal(vrb_ud_words_check(&event), OFI_RDM_WIRE_OK);
	event.param.ud.qp_num++;
	assert_int_equal(vrb_ud_words_check(&event), OFI_RDM_WIRE_E_ID);
	wire[2]--;
	assert_int_equal(vrb_ud_words_check(&event), OFI_RDM_WIRE_E_VERSION);
	assert_int_equal(vrb_ud_number_in(&event), 0);
	event.param.ud.private_data_len = 5;
	assert_int_equal(vrb_ud_words_check(&event), OFI_RDM_WIRE_E_SHORT);
	event.param.ud.private_data_len = 0;
	assert_int_equal(vrb_ud_words_check(&event), OFI_RDM_WIRE_E_SHORT);
	vrb_ud_build(bytes, &packet);
	bytes[0] = VRB_UD_VERSION - 1;
	ud_net_inject(2, ud_net_qpn(2), 1, bytes, sizeof(bytes));
	watch(1);
	assert_int_equal(asks, 0);
	bytes[0] = VRB_UD_VERSION;
	ud_net_inject(2, ud_net_qpn(2), 1, bytes, sizeof(bytes));
	watch(1);
	assert_int_equal(asks, 1);
}

static void a_buffer_is_taken(void **state)
{
	struct vrb_ud *all = ud_nodes[1].rc.ud;
	uint32_t tail = all->recv_tail;
	struct vrb_rdm_rx *rx;

	(void)state;
	assert_null(vrb_ud_recv_take(&ud_nodes[1].rc.rdm, UD_BUFFER + 1));
	rx = vrb_ud_recv_take(&ud_nodes[1].rc.rdm, UD_BUFFER);
	assert_non_null(rx);
	assert_int_equal(all->recv_tail, tail + 1);
	ud_net_repost(1, rx);
	all->recv_tail += UD_BUFFERS - 1;
	rx = vrb_ud_recv_take(&ud_nodes[1].rc.rdm, 1);
	assert_non_null(rx);
	assert_null(vrb_ud_recv_take(&ud_nodes[1].rc.rdm, 1));
	all->recv_tail = tail;
}

/* Nothing is sent at once, as the next message says the same. */
static void an_answer_is_confirmed_in_the_next_poll(void **state)
{
	struct ibv_wc wc;

	(void)state;
	ask(LEN);
	accept_it();
	assert_int_equal(vrb_ud_hear(&active->rc, &answered), 0);
	assert_int_equal(ud_nodes[0].rc.ud->fresh, 0);
	vrb_ud_conn_confirm(&active->rc);
	ud_net_pass(500);
	assert_false(ud_net_poll(1, &wc));
	assert_int_equal(passive->meetings, 0);
	watch(1);
	assert_int_equal(passive->meetings, 1);
	assert_int_equal(ud_nodes[1].rc.ud->fresh, 0);
	watch(5000);
	assert_int_equal(answers, 1);
	assert_int_equal(passive->meetings, 1);
}

static void lose(uint32_t loss)
{
	struct ud_net_params lossy = calm;

	lossy.unready = loss;
	ud_net_set(&lossy);
}

/* The connection may sleep meanwhile. */
static void an_answer_that_is_repeated_is_confirmed_again(void **state)
{
	(void)state;
	ask(LEN);
	accept_it();
	assert_int_equal(vrb_ud_hear(&active->rc, &answered), 0);
	active->rc.state = VRB_RC_CONN_UP;
	ud_nodes[0].rc.ud->awake_least = 0;
	vrb_ud_rest(&ud_nodes[0].rc.rdm);
	vrb_ud_rest(&ud_nodes[0].rc.rdm);
	assert_true(active->rc.ud->asleep);
	lose(1000);
	watch(80);
	lose(0);
	assert_int_equal(passive->meetings, 0);
	watch(400);
	assert_int_equal(passive->meetings, 1);
	assert_null(passive->rc.ud->letter);
	assert_int_equal(answers, 1);
}

/* The owner learns of messages when they are reported. */
static void a_message_needs_no_confirmation(void **state)
{
	static uint8_t bytes[10];

	(void)state;
	ask(LEN);
	accept_it();
	assert_int_equal(vrb_ud_hear(&active->rc, &answered), 0);
	assert_int_equal(ud_net_post(active, IBV_WR_SEND, bytes, sizeof(bytes), 0, 0, 8), 0);
	vrb_ud_conn_confirm(&active->rc);
	assert_int_equal(active->rc.ud->ack.owes, OFI_RDM_ACK_NEVER);
	watch(1);
	assert_int_equal(passive->meetings, 0);
	assert_null(passive->rc.ud->letter);
}

/* Those to hosts that are down stay in the device's queue: one for each connection, in its half. */
static void letters_leave_room_for_packets(void **state)
{
	const struct vrb_ud *all = ud_nodes[0].rc.ud;
	struct ud_net_params down = calm;
	unsigned int i;

	(void)state;
	down.down = 1;
	ud_net_set(&down);
	ask(0);
	watch(3000);
	assert_int_equal(all->sq_head - all->sq_tail, 1);
	for (i = 1; i < MANY; i++) {
		active = ud_net_conn(0);
		ask(0);
	}
	watch(200);
	assert_int_equal(all->sq_head - all->sq_tail, (all->sq_depth - VRB_UD_RESERVE) / 2);
	ud_net_set(&calm);
	watch(2000);
	assert_in_range(asks, MANY, 5 * MANY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_request_carries_a_message, begin, end),
		cmocka_unit_test_setup_teardown(a_request_has_room, begin, end),
		cmocka_unit_test_setup_teardown(what_is_carried_is_checked, begin, end),
		cmocka_unit_test_setup_teardown(both_ends_say_what_was_delivered, begin, end),
		cmocka_unit_test_setup_teardown(another_version_is_recognized, begin, end),
		cmocka_unit_test_setup_teardown(a_buffer_is_taken, begin, end),
		cmocka_unit_test_setup_teardown(an_answer_is_confirmed_in_the_next_poll, begin,
						end),
		cmocka_unit_test_setup_teardown(an_answer_that_is_repeated_is_confirmed_again,
						begin, end),
		cmocka_unit_test_setup_teardown(a_message_needs_no_confirmation, begin, end),
		cmocka_unit_test_setup_teardown(letters_leave_room_for_packets, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
