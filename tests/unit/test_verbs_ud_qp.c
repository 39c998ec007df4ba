/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queue pair for datagrams enters the error state, or does not complete a packet. */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/arrive.h"
#include "ud_net.h"

enum { MESSAGES = 20, SECOND = 1000000 };

static const struct ud_net_params calm, adapter = { .srd = true };

/* Connections of node 1: with node 0, and with node 2. */
static struct ud_conn *active[2], *passive[2];
static uint8_t bytes[UD_BUFFER];

static void join(const struct ud_net_params *params)
{
	unsigned int i;

	ud_net_begin(7, params);
	for (i = 0; i < 2; i++)
		ud_net_join(2 * i, 1, &active[i], &passive[i]);
}

static int begin(void **state)
{
	(void)state;
	join(&calm);
	return 0;
}

static int begin_adapter(void **state)
{
	(void)state;
	join(&adapter);
	return 0;
}

static int end(void **state)
{
	(void)state;
	ud_net_yields = true;
	ud_net_end();
	ud_net_yields = false;
	return 0;
}

/* Posts messages in all directions. */
static void post(unsigned int count, uint32_t len)
{
	unsigned int i, k;

	for (i = 0; i < count; i++) {
		for (k = 0; k < 2; k++) {
			assert_int_equal(ud_net_post(active[k], IBV_WR_SEND, bytes, len, 0, 0, 8),
					 0);
			assert_int_equal(ud_net_post(passive[k], IBV_WR_SEND, bytes, len, 0, 0, 8),
					 0);
		}
	}
}

/* Returns how many completions there are, of sends and receives: all are successes. */
static unsigned int watch(uint64_t us)
{
	unsigned int i, count = 0;
	struct ibv_wc wc;

	for (; us; us -= 200) {
		ud_net_pass(200);
		for (i = 0; i < UD_NODES; i++) {
			while (ud_net_poll(i, &wc)) {
				assert_int_equal(wc.status, IBV_WC_SUCCESS);
				count++;
				if (wc.opcode == IBV_WC_RECV)
					ud_net_repost(i, vrb_rdm_rx_of(&wc));
			}
		}
	}
	return count;
}

/* A stranger only has to know the number of the queue pair. */
static void send_long(void)
{
	static uint8_t packet[UD_MTU + 1];

	ud_net_inject(UD_STRANGER, UD_STRANGER_QPN, 1, packet, sizeof(packet));
}

static void a_long_datagram_costs_nothing_else(void **state)
{
	unsigned int done, flushed;

	(void)state;
	post(1, 10);
	assert_int_equal(watch(SECOND), 8);
	post(MESSAGES, 3000);
	ud_net_pass(6);
	send_long();
	post(1, 10);
	done = watch(SECOND);
	assert_int_equal(done, 8 * (MESSAGES + 1));
	post(1, 10);
	assert_int_equal(watch(SECOND), 8);
	flushed = ud_net_fail(1, IBV_QPS_RTS);
	assert_in_range(flushed, 1, 2 * (VRB_UD_RQ + VRB_UD_SQ));
	assert_int_equal(ud_nodes[1].losses, 0);
	assert_int_equal(ud_nodes[1].rc.ud->kept, 0);
}

static void it_may_come_again(void **state)
{
	unsigned int i;

	(void)state;
	for (i = 0; i < 5; i++) {
		send_long();
		post(1, 3000);
		assert_int_equal(watch(SECOND), 8);
	}
}

/* Only sending has stopped: receives are still to be returned. */
static void the_send_queue_fails(void **state)
{
	(void)state;
	post(1, 10);
	assert_int_equal(watch(SECOND), 8);
	ud_net_fail(1, IBV_QPS_SQE);
	post(1, 10);
	assert_int_equal(watch(SECOND), 8);
	assert_int_equal(ud_nodes[1].losses, 0);
}

static void without_a_reset_the_endpoint_is_lost(void **state)
{
	struct ud_net_params params = { .no_reset = true };
	unsigned int flushed;

	(void)state;
	ud_net_set(&params);
	send_long();
	watch(SECOND);
	assert_int_equal(ud_nodes[1].losses, 1);
	assert_int_equal(ud_nodes[1].loss, FI_EIO);
	flushed = ud_net_fail(1, IBV_QPS_ERR);
	watch(SECOND);
	assert_int_equal(ud_net_fail(1, IBV_QPS_ERR), flushed);
}

static void an_adapter_is_lost(void **state)
{
	unsigned int flushed;

	(void)state;
	post(1, 10);
	assert_int_equal(watch(SECOND), 8);
	flushed = ud_net_fail(1, IBV_QPS_ERR);
	assert_int_equal(flushed, ud_nodes[1].rc.ud->rq_depth);
	watch(SECOND);
	assert_int_equal(ud_nodes[1].losses, 1);
	assert_int_equal(ud_nodes[1].loss, FI_EIO);
	assert_int_equal(ud_net_fail(1, IBV_QPS_ERR), flushed);
}

static void closing_is_no_failure(void **state)
{
	(void)state;
	ud_nodes[1].rc.rdm.closing = true;
	ud_net_fail(1, IBV_QPS_ERR);
	watch(SECOND);
	ud_nodes[1].rc.rdm.closing = false;
	assert_int_equal(ud_nodes[1].losses, 0);
}

static void both_queues_fit_the_completion_queue(void **state)
{
	const struct ud_net_params params = { .max_cqe = 200 };
	const struct vrb_ud *all;

	(void)state;
	join(&params);
	all = ud_nodes[1].rc.ud;
	assert_in_range(all->sq_depth + all->rq_depth, 100, params.max_cqe);
	post(1, 3000);
	assert_int_equal(watch(SECOND), 8);
	ud_net_end();
}

/* The device holds what is sent to a host that is down, and sends everything else. */
static void a_packet_that_stays_stops_nobody(void **state)
{
	const struct ud_net_params down = { .down = 2 };
	unsigned int i;

	(void)state;
	ud_net_set(&down);
	assert_int_equal(ud_net_post(passive[1], IBV_WR_SEND, bytes, 10, 0, 0, 8), 0);
	for (i = 0; i < 2 * VRB_UD_SQ; i++) {
		assert_int_equal(ud_net_post(passive[0], IBV_WR_SEND, bytes, 10, 0, 0, 8), 0);
		assert_int_equal(watch(400), 2);
	}
	ud_net_set(&adapter);
	assert_int_equal(watch(SECOND), 2);
}

static int retries_of(const struct ud_net_params *params)
{
	ud_net_retries = -1;
	join(params);
	ud_net_end();
	return ud_net_retries;
}

/* The device might try for ever, and the packet's sender learn nothing. */
static void a_device_reports_soon_that_a_receiver_is_not_ready(void **state)
{
	const struct ud_net_params takes = { .srd = true, .retries = true };

	(void)state;
	assert_int_equal(retries_of(&takes), 1);
	assert_int_equal(retries_of(&adapter), -1);
	assert_int_equal(retries_of(&calm), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_long_datagram_costs_nothing_else, begin, end),
		cmocka_unit_test_setup_teardown(it_may_come_again, begin, end),
		cmocka_unit_test_setup_teardown(the_send_queue_fails, begin, end),
		cmocka_unit_test_setup_teardown(without_a_reset_the_endpoint_is_lost, begin, end),
		cmocka_unit_test_setup_teardown(an_adapter_is_lost, begin_adapter, end),
		cmocka_unit_test_setup_teardown(closing_is_no_failure, begin, end),
		cmocka_unit_test_setup_teardown(closing_is_no_failure, begin_adapter, end),
		cmocka_unit_test_setup_teardown(a_packet_that_stays_stops_nobody, begin_adapter,
						end),
		cmocka_unit_test(a_device_reports_soon_that_a_receiver_is_not_ready),
		cmocka_unit_test(both_queues_fit_the_completion_queue),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
