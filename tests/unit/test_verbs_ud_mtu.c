/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ends of connections on unreliable datagrams whose ports have different MTUs, and the traffic
 * class of the way back.
 */
#include "unit.h"

#include <string.h>
#include "ud_net.h"

enum { LONG_MTU = 2 * UD_MTU, SECOND = 1000000 };

static const struct ud_net_params params = { .mtu = LONG_MTU };
static const uint32_t lengths[] = { 100, 1550, 3000 };

/* One connection, between nodes 0, whose MTU is longer, and 1. */
static struct ud_conn *active, *passive;
static uint8_t bytes[UD_BUFFER];

static int begin(void **state)
{
	(void)state;
	ud_net_begin(7, &params);
	ud_net_join(0, 1, &active, &passive);
	return 0;
}

static int end(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}

static unsigned int watch(void)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_watch(SECOND, counts);
	return counts[IBV_WC_SUCCESS];
}

static void messages_fit_both_ports(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(ud_net_post(active, IBV_WR_SEND, bytes, lengths[i], 0, 0, 8), 0);
		assert_int_equal(watch(), 2);
		assert_int_equal(ud_net_post(passive, IBV_WR_SEND, bytes, lengths[i], 0, 0, 8), 0);
		assert_int_equal(watch(), 2);
	}
}

static void reads_fit_both_ports(void **state)
{
	uint64_t at = (uintptr_t)ud_nodes[0].region;

	(void)state;
	assert_int_equal(ud_net_post(active, IBV_WR_SEND, bytes, 10, 0, 0, 8), 0);
	assert_int_equal(watch(), 2);
	assert_int_equal(
		ud_net_post(passive, IBV_WR_RDMA_READ, bytes, 3000, at, ud_nodes[0].mr.rkey, 8), 0);
	assert_int_equal(watch(), 1);
}

/* Between long ports, packets are long. */
static void the_shorter_mtu_counts(void **state)
{
	const struct vrb_ud *all = ud_nodes[0].rc.ud;

	(void)state;
	assert_int_equal(active->rc.ud->payload, UD_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(passive->rc.ud->payload, UD_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(vrb_ud_payload(all, LONG_MTU), LONG_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(vrb_ud_payload(all, UINT32_MAX), LONG_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(vrb_ud_payload(all, 1), UD_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(vrb_ud_payload(all, 0), UD_MTU - VRB_UD_HEAD_MAX);
}

static void join(const struct ud_net_params *with)
{
	ud_net_begin(7, with);
	ud_nodes[1].rc.ud->port.mtu = LONG_MTU;
	ud_net_join(0, 1, &active, &passive);
}

/* A link on the way is shorter than both ports; only the active side's connection manager knows. */
static void the_path_counts(void **state)
{
	const struct ud_net_params narrow = { .mtu = LONG_MTU, .path_mtu = IBV_MTU_1024 };
	const struct ud_net_params wide = { .mtu = LONG_MTU, .path_mtu = IBV_MTU_4096 };
	const struct ud_net_params unknown = { .mtu = LONG_MTU, .path_mtu = 6 };

	(void)state;
	join(&narrow);
	assert_int_equal(active->rc.ud->payload, UD_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(passive->rc.ud->payload, UD_MTU - VRB_UD_HEAD_MAX);
	messages_fit_both_ports(state);
	ud_net_end();
	join(&wide);
	assert_int_equal(active->rc.ud->payload, LONG_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(passive->rc.ud->payload, LONG_MTU - VRB_UD_HEAD_MAX);
	ud_net_end();
	join(&unknown);
	assert_int_equal(active->rc.ud->payload, LONG_MTU - VRB_UD_HEAD_MAX);
	assert_int_equal(passive->rc.ud->payload, LONG_MTU - VRB_UD_HEAD_MAX);
	ud_net_end();
}

/* ud_net takes no other MTU of a queue pair. */
static void a_queue_pair_fits_the_path(void **state)
{
	const struct ud_net_params growing = { .mtu = LONG_MTU,
					       .path_mtu = IBV_MTU_1024,
					       .grows = 3 };
	unsigned int i;

	(void)state;
	join(&growing);
	for (i = 0; i < 1000 && !ud_net_rc_count(0); i++) {
		ud_net_send(active);
		watch();
	}
	assert_int_equal(ud_net_rc_count(0), 1);
	assert_int_equal(ud_net_rc_count(1), 1);
	ud_net_end();
}

/* Older peers do not say their MTU, and the connection manager appends zeros. */
static void words_may_lack_the_mtu(void **state)
{
	const struct vrb_ud_words words = { .number = 1, .qpn = 2, .mtu = 4096 };
	uint8_t wire[64] = { 0 };
	struct vrb_ud_words got;

	(void)state;
	vrb_ud_words_build(wire, &words);
	assert_true(vrb_ud_words_parse(wire, VRB_UD_WORDS, &got));
	assert_int_equal(got.mtu, 4096);
	assert_true(vrb_ud_words_parse(wire, VRB_UD_WORDS_MIN, &got));
	assert_int_equal(got.number, 1);
	assert_int_equal(got.mtu, 0);
	assert_false(vrb_ud_words_parse(wire, VRB_UD_WORDS_MIN - 1, &got));
	memset(wire + VRB_UD_WORDS_MIN, 0, sizeof(wire) - VRB_UD_WORDS_MIN);
	assert_true(vrb_ud_words_parse(wire, sizeof(wire), &got));
	assert_int_equal(got.mtu, 0);
}

/* Nothing is known of the peer of a request, which may carry a message. */
static void a_request_fits_every_port(void **state)
{
	const uint8_t len = 50;

	(void)state;
	assert_int_equal(vrb_ud_room(&ud_nodes[0].rc.rdm, len),
			 vrb_ud_room(&ud_nodes[1].rc.rdm, len));
}

static void adapters_have_one_mtu(void **state)
{
	const struct ud_net_params srd = { .srd = true, .named = true };

	(void)state;
	ud_net_begin(7, &srd);
	ud_nodes[0].rc.ud->port.mtu = 4 * VRB_UD_MTU_MIN;
	assert_true(vrb_ud_room(&ud_nodes[0].rc.rdm, 50) > 3 * VRB_UD_MTU_MIN);
	ud_net_end();
}

static uint8_t answered_with(uint8_t tos)
{
	const struct ud_net_params marked = { .tos = tos };
	uint8_t answer;

	ud_net_begin(7, &marked);
	ud_net_join(0, 1, &active, &passive);
	assert_int_equal(ud_net_post(active, IBV_WR_SEND, bytes, 10, 0, 0, 8), 0);
	assert_int_equal(watch(), 2);
	answer = passive->rc.ud->path->attr.grh.traffic_class;
	ud_net_end();
	return answer;
}

/* A packet's mark of congestion says nothing about the way back. */
static void marks_are_not_sent_back(void **state)
{
	enum { DSCP = 26 << 2, ECT1 = 1, ECT0 = 2, CE = 3 };

	(void)state;
	assert_int_equal(answered_with(DSCP), DSCP);
	assert_int_equal(answered_with(DSCP | ECT1), DSCP | ECT1);
	assert_int_equal(answered_with(DSCP | ECT0), DSCP | ECT0);
	assert_int_equal(answered_with(DSCP | CE), DSCP | ECT0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(messages_fit_both_ports, begin, end),
		cmocka_unit_test_setup_teardown(reads_fit_both_ports, begin, end),
		cmocka_unit_test_setup_teardown(the_shorter_mtu_counts, begin, end),
		cmocka_unit_test_setup_teardown(words_may_lack_the_mtu, begin, end),
		cmocka_unit_test_setup_teardown(a_request_fits_every_port, begin, end),
		cmocka_unit_test(the_path_counts),
		cmocka_unit_test(a_queue_pair_fits_the_path),
		cmocka_unit_test(adapters_have_one_mtu),
		cmocka_unit_test(marks_are_not_sent_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
