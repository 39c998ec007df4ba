/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a device with SRD queue pairs reports of packets, and what becomes of their connections. */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "prov/verbs/provider/err.h"
#include "ud_net.h"

enum { MANY = 40 };

static const struct ud_net_params calm;

/* One connection, between nodes 0 and 1. */
static struct ud_conn *active, *passive;

static int begin(void **state)
{
	const struct ud_net_params srd = { .srd = true };

	(void)state;
	ud_net_begin(7, &srd);
	ud_net_join(0, 1, &active, &passive);
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

/* Versions of libefa have different statuses for some of the device's codes. */
static void gone(enum ibv_wc_status status, uint32_t code, enum ibv_wc_status first, int err)
{
	const struct ud_net_params failing = { .error = status, .vendor_err = code };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	ud_net_exchange(active, passive);
	ud_net_set(&failing);
	ud_net_send(active);
	ud_net_send(active);
	ud_net_watch(1000, counts);
	assert_int_equal(active->endings, 1);
	assert_int_equal(active->err, err);
	assert_int_equal(counts[first], 1);
	assert_int_equal(counts[IBV_WC_WR_FLUSH_ERR], 1);
	assert_int_equal(vrb_wc_err(first, false), err);
	assert_int_equal(active->rc.ud->vendor_err, code);
}

static void a_receiver_that_is_gone_is_told_at_once(void **state)
{
	(void)state;
	gone(IBV_WC_REM_INV_RD_REQ_ERR, 9, IBV_WC_REM_INV_RD_REQ_ERR, FI_ECONNRESET);
}

static void a_receiver_that_aborts_is_gone(void **state)
{
	(void)state;
	gone(IBV_WC_REM_ABORT_ERR, 8, IBV_WC_REM_INV_RD_REQ_ERR, FI_ECONNRESET);
}

static void a_host_that_does_not_answer_is_told_at_once(void **state)
{
	(void)state;
	gone(IBV_WC_RESP_TIMEOUT_ERR, 13, IBV_WC_RESP_TIMEOUT_ERR, FI_ETIMEDOUT);
}

static void a_host_that_has_never_answered_is_told_at_once(void **state)
{
	(void)state;
	gone(IBV_WC_GENERAL_ERR, 15, IBV_WC_RESP_TIMEOUT_ERR, FI_ETIMEDOUT);
}

/* Short packets, too, which the device takes inline. */
static void a_packet_that_fails_locally_is_sent_again(void **state)
{
	const struct ud_net_params failing = { .error = IBV_WC_LOC_QP_OP_ERR };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_exchange(active, passive);
	ud_net_set(&failing);
	ud_net_send(active);
	ud_net_watch(10000, counts);
	ud_net_set(&calm);
	ud_net_watch(1000000, counts);
	assert_int_equal(active->endings, 0);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
}

static void waits_for_a_receiver_are_doubled_and_capped(void **state)
{
	const struct ud_net_params unready = { .unready = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	uint64_t first;

	(void)state;
	ud_net_exchange(active, passive);
	ud_net_set(&unready);
	ud_net_send(active);
	ud_net_watch(1, counts);
	first = active->rc.ud->ready_wait;
	assert_in_range(first, 40, 120);
	ud_net_watch(400, counts);
	assert_in_range(active->rc.ud->ready_wait, 2 * first, 4 * first);
	ud_net_watch(100000, counts);
	assert_int_equal(active->rc.ud->ready_wait, 10000);
	assert_int_equal(active->endings + counts[IBV_WC_SUCCESS], 0);
	ud_net_set(&calm);
	ud_net_watch(11000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
	assert_int_equal(active->rc.ud->ready_wait, 0);
}

/* A timeout sends nothing to a receiver that is not ready, before the wait is over. */
static void a_receiver_that_is_not_ready_gets_nothing(void **state)
{
	const struct ud_net_params unready = { .unready = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct vrb_ud *all;
	uint64_t head;

	(void)state;
	ud_net_exchange(active, passive);
	all = ud_nodes[0].rc.ud;
	ud_net_set(&unready);
	ud_net_send(active);
	ud_net_watch(1, counts);
	active->rc.ud->ready_at += 100000;
	head = all->sq_head;
	ud_net_watch(90000, counts);
	assert_true(active->rc.ud->ack.backoff > 0);
	assert_int_equal(all->sq_head, head);
	ud_net_set(&calm);
	ud_net_watch(20000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 2);
}

/* Its acknowledgment of an earlier packet ends the wait. */
static void a_receiver_that_acknowledges_is_ready(void **state)
{
	const struct ud_net_params unready = { .unready = 1000 };
	unsigned int counts[IBV_WC_GENERAL_ERR] = { 0 };

	(void)state;
	ud_net_exchange(active, passive);
	ud_net_send(active);
	ud_net_set(&unready);
	ud_net_send(active);
	ud_net_poll(0, &(struct ibv_wc){ 0 });
	ud_net_set(&calm);
	active->rc.ud->ready_at += 100000;
	ud_net_watch(2000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], 4);
}

static void write_window(struct ud_conn *conn, unsigned int node)
{
	static uint8_t bytes[10];
	unsigned int i;

	for (i = 0; i < OFI_RDM_SEQ_WINDOW; i++)
		assert_int_equal(ud_net_post(conn, IBV_WR_RDMA_WRITE, bytes, sizeof(bytes),
					     (uintptr_t)ud_nodes[node].region,
					     ud_nodes[node].mr.rkey, 8),
				 0);
}

/* Packets to hosts that are down stay in the device's queue, and leave room for others. */
static void hosts_that_are_down_leave_room(void **state)
{
	const struct ud_net_params down = { .down = 1 };
	unsigned int i, counts[IBV_WC_GENERAL_ERR] = { 0 };
	struct ud_conn *to_down[MANY], *live, *other;

	(void)state;
	for (i = 0; i < MANY; i++)
		ud_net_join(0, 1, &to_down[i], &other);
	ud_net_join(0, 2, &live, &other);
	ud_net_set(&down);
	for (i = 0; i < MANY; i++)
		write_window(to_down[i], 1);
	write_window(live, 2);
	ud_net_watch(60000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], OFI_RDM_SEQ_WINDOW);
	ud_net_set(&calm);
	ud_net_watch(1000000, counts);
	assert_int_equal(counts[IBV_WC_SUCCESS], (MANY + 1) * OFI_RDM_SEQ_WINDOW);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_receiver_that_is_gone_is_told_at_once),
		TEST(a_receiver_that_aborts_is_gone),
		TEST(a_host_that_does_not_answer_is_told_at_once),
		TEST(a_host_that_has_never_answered_is_told_at_once),
		TEST(a_packet_that_fails_locally_is_sent_again),
		TEST(a_receiver_that_is_not_ready_gets_nothing),
		TEST(a_receiver_that_acknowledges_is_ready),
		TEST(hosts_that_are_down_leave_room),
		TEST(waits_for_a_receiver_are_doubled_and_capped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
