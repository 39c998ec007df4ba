/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that are late on unreliable datagrams, or gone: what has arrived before they look, and
 * what they have not handled yet.
 */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/arrive.h"
#include "ud_net.h"
#include "ud_net_int.h"

static const struct ud_net_params calm;

/* One connection, between nodes 0 and 1. */
static struct ud_conn *active, *passive;

static int begin(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_begin(7, &calm);
	ud_net_join(0, 1, &active, &passive);
	ud_net_send(active);
	ud_net_watch(3000, counts);
	ud_net_send(passive);
	ud_net_watch(3000, counts);
	return counts[IBV_WC_SUCCESS] != 4;
}

static int end(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}

/* Sends a packet to node 0. */
static void inject(unsigned int from, uint32_t qpn, const struct vrb_ud_packet *packet)
{
	uint8_t bytes[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	size_t len = vrb_ud_build(bytes, packet);

	vrb_ud_stamp(bytes, packet->number, packet->order, &packet->words, 0);
	ud_net_inject(from, qpn, 0, bytes, len);
}

/* A read of which the peer knows, and that nothing in flight belongs to. */
static void start_reading(uint8_t *to, uint32_t len)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 }, i;

	assert_int_equal(ud_net_post(active, IBV_WR_RDMA_READ, to, len,
				     (uintptr_t)ud_nodes[1].region, ud_nodes[1].mr.rkey, 9),
			 0);
	for (i = 0; i < 1000 && active->rc.ud->flying; i++)
		ud_net_watch(10, counts);
	assert_int_equal(active->rc.ud->flying, 0);
	assert_int_equal(counts[IBV_WC_SUCCESS], 0);
}

/* Nothing is owed by a peer of which nothing is read. */
static void a_reader_learns_of_the_end(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	static uint8_t to[60000];

	(void)state;
	assert_false(vrb_ud_conn_is_owed(&active->rc));
	start_reading(to, sizeof(to));
	ud_net_forget(passive);
	assert_true(vrb_ud_conn_is_owed(&active->rc));
	vrb_ud_touch(&active->rc);
	assert_false(vrb_ud_conn_is_owed(&active->rc));
	ud_net_watch(2000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, FI_ECONNRESET);
}

/* The peer is there: it acknowledges, and the read goes on. */
static void a_reader_that_asks_goes_on(void **state)
{
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	static uint8_t to[60000];

	(void)state;
	start_reading(to, sizeof(to));
	vrb_ud_touch(&active->rc);
	ud_net_watch(100000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 1);
	assert_false(vrb_ud_conn_is_owed(&active->rc));
	assert_int_equal(active->endings, 0);
}

/* A process that was away finds a full CQ: the acknowledgment is somewhere in it. */
static void what_has_arrived_comes_before_timers(void **state)
{
	const struct vrb_ud_packet other = { .kind = VRB_UD_ACK, .from = 5 };
	unsigned int i, counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct ibv_wc wc;

	(void)state;
	ud_net_send(active);
	for (i = 0; i < 40; i++)
		inject(UD_STRANGER, UD_STRANGER_QPN, &other);
	ud_net_pass(100);
	assert_true(ud_net_poll(1, &wc));
	ud_net_repost(1, vrb_rdm_rx_of(&wc));
	ud_net_pass(500000);
	assert_true(ud_net_poll(0, &wc));
	ud_net_watch(1000, counts);
	assert_int_equal(passive->rc.ud->ack.doubles, 0);
}

/* All that waited while the process was away has waited because of that, not in the network. */
static void all_of_a_full_cq_has_waited(void **state)
{
	const struct vrb_ud_packet other = { .kind = VRB_UD_ACK, .from = 5 };
	struct ibv_wc wc;
	uint64_t away;
	unsigned int i;

	(void)state;
	for (i = 0; i < 40; i++)
		inject(UD_STRANGER, UD_STRANGER_QPN, &other);
	ud_net_send(passive);
	ud_net_pass(100);
	away = ud_net_now();
	ud_net_pass(300000);
	assert_true(ud_net_poll(0, &wc));
	ud_net_repost(0, vrb_rdm_rx_of(&wc));
	assert_true(active->rc.ud->arrived <= away);
}

/* A packet does not count as late because nothing had arrived for long before. */
static void waiting_for_packets_is_not_late(void **state)
{
	struct ibv_wc wc;
	int i;

	(void)state;
	for (i = 0; i < 2000; i++) {
		ud_net_pass(10);
		assert_false(ud_net_poll(0, &wc));
	}
	ud_net_send(passive);
	ud_net_pass(10);
	assert_true(ud_net_poll(0, &wc));
	ud_net_repost(0, vrb_rdm_rx_of(&wc));
	assert_in_range(ud_net_now() - active->rc.ud->arrived, 0, 200);
}

/* Counts the successes of the active end. */
static unsigned int count_done(uint64_t us)
{
	unsigned int done = 0;
	struct ibv_wc wc;
	uint64_t passed;

	for (passed = 0; passed < us; passed += 100) {
		ud_net_pass(100);
		while (ud_net_poll(0, &wc))
			done += wc.status == IBV_WC_SUCCESS;
		while (ud_net_poll(1, &wc))
			ud_net_repost(1, vrb_rdm_rx_of(&wc));
	}
	return done;
}

static void post_write(uint8_t *byte, unsigned int at)
{
	struct ud_node *node = &ud_nodes[1];

	assert_int_equal(ud_net_post(active, IBV_WR_RDMA_WRITE, byte, 1,
				     (uintptr_t)node->region + at, node->mr.rkey, 2 * at + 8),
			 0);
}

/*
 * A write whose packet has arrived, but waits behind a message that has no receive, is complete
 * once the data are there, also if the packet that says so is lost.
 */
static void write_waits_for_its_data(bool lose)
{
	const struct ud_net_params lost = { .loss = 1000 };
	struct vrb_ud *all;
	uint8_t byte = 7;
	uint32_t tail;

	all = ud_nodes[1].rc.ud;
	tail = all->recv_tail;
	all->recv_tail = all->recv_head;
	ud_net_set(&lost);
	post_write(&byte, 0);
	ud_net_set(&calm);
	ud_net_send(active);
	post_write(&byte, 1);
	/* What follows the lost packet is kept; then it comes, and all are in order. */
	assert_int_equal(count_done(300000), 2);
	assert_true(vrb_ud_is_listed(passive->rc.ud, VRB_UD_STALLED));
	assert_int_equal(ud_nodes[1].region[1], 0);
	all->recv_tail = tail;
	if (lose)
		ud_net_set(&lost);
	count_done(200);
	assert_int_equal(ud_nodes[1].region[1], 7);
	ud_net_set(&calm);
	assert_int_equal(active->rc.ud->unhandled, lose);
	count_done(1000000);
	assert_int_equal(active->rc.ud->unhandled, 0);
	assert_true(STAILQ_EMPTY(&active->rc.ud->wrs));
}

static void a_write_completes_with_its_data(void **state)
{
	(void)state;
	write_waits_for_its_data(false);
}

static void a_write_completes_although_nobody_says_so(void **state)
{
	(void)state;
	write_waits_for_its_data(true);
}

/* The peer ends the connection before the event with its answer is handled. */
static void an_end_follows_the_answer(void **state)
{
	struct ud_conn *asking = ud_net_conn(0);
	const struct vrb_ud_packet packet = { .kind = VRB_UD_END,
					      .to = asking->rc.qp_num,
					      .from = 5 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	asking->rc.ud->qpn = ud_net_qpn(1);
	inject(2, ud_net_qpn(2), &packet);
	ud_net_watch(1000, counts);
	assert_int_equal(asking->endings, 0);
	inject(1, ud_net_qpn(1), &packet);
	ud_net_watch(1000, counts);
	assert_int_equal(asking->endings, 1);
	assert_int_equal(asking->err, FI_ECONNRESET);
	assert_int_equal(active->endings, 0);
}

static int begin_alone(void **state)
{
	(void)state;
	ud_net_begin(7, &calm);
	return 0;
}

/* To find out that there is no path can take a second, which a burst of packets must not cost. */
static void who_cannot_be_answered_costs_once(void **state)
{
	const struct ud_net_params params = { .no_paths = true };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	int i, before;

	(void)state;
	ud_net_join(0, 1, &active, &passive);
	assert_null(passive->rc.ud->path);
	ud_net_set(&params);
	before = ud_net_paths;
	for (i = 0; i < 10; i++)
		ud_net_send(active);
	ud_net_watch(3000, counts);
	assert_int_equal(ud_net_paths, before + 1);
	assert_int_equal(passive->endings, 1);
	assert_int_equal(passive->err, FI_EHOSTUNREACH);
}

/* It does not lose what it delivers late, whatever was late before. */
static void an_unordered_device_may_deliver_late(void **state)
{
	const struct ud_net_params srd = { .srd = true }, stopped = { .loss = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_begin(7, &srd);
	ud_net_join(0, 1, &active, &passive);
	ud_net_set(&stopped);
	ud_net_send(active);
	ud_net_watch(200000, counts);
	assert_in_range(active->rc.ud->ack.backoff, 1, 10);
	assert_int_equal(active->rc.ud->ack.reorder, OFI_RDM_SEQ_WINDOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_reader_learns_of_the_end, begin, end),
		cmocka_unit_test_setup_teardown(a_reader_that_asks_goes_on, begin, end),
		cmocka_unit_test_setup_teardown(who_cannot_be_answered_costs_once, begin_alone,
						end),
		cmocka_unit_test_setup_teardown(what_has_arrived_comes_before_timers, begin, end),
		cmocka_unit_test_setup_teardown(all_of_a_full_cq_has_waited, begin, end),
		cmocka_unit_test_setup_teardown(waiting_for_packets_is_not_late, begin, end),
		cmocka_unit_test_setup_teardown(an_end_follows_the_answer, begin, end),
		cmocka_unit_test_setup_teardown(a_write_completes_with_its_data, begin, end),
		cmocka_unit_test_setup_teardown(a_write_completes_although_nobody_says_so, begin,
						end),
		cmocka_unit_test_teardown(an_unordered_device_may_deliver_late, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
