/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Polls of an endpoint with many connections on unreliable datagrams. */
#include "unit.h"

#include <stdlib.h>
#include "ud_net.h"

enum { FEW = 64, MANY = 4096, APART_US = 10, FIRST_US = 50000, LEN = 60000 };

enum ofi_rdm_ack_due __real_ofi_rdm_ack_due(struct ofi_rdm_ack *ack, uint64_t now,
					    struct ofi_rdm_ack_node **node);
enum ofi_rdm_ack_due __wrap_ofi_rdm_ack_due(struct ofi_rdm_ack *ack, uint64_t now,
					    struct ofi_rdm_ack_node **node);
static unsigned int visits;

enum ofi_rdm_ack_due __wrap_ofi_rdm_ack_due(struct ofi_rdm_ack *ack, uint64_t now,
					    struct ofi_rdm_ack_node **node)
{
	visits++;
	return __real_ofi_rdm_ack_due(ack, now, node);
}

static const struct ud_net_params calm;
static struct ud_conn *from[MANY], *to[MANY];
static uint8_t bytes[LEN];

/* Nothing waits on node 0: what it polls are completions. */
static void poll_once(void)
{
	struct ibv_wc wc;

	while (ud_net_poll(0, &wc))
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

static void join(unsigned int count)
{
	unsigned int i;

	ud_net_begin(7, &calm);
	for (i = 0; i < count; i++)
		ud_net_join(0, 1, &from[i], &to[i]);
}

/*
 * Each connection has a packet in flight, which nobody acknowledges. Returns how many connections a
 * poll visits when the first of their timers has expired.
 */
static unsigned int visits_with(unsigned int count)
{
	unsigned int i;

	join(count);
	for (i = 0; i < count; i++) {
		assert_int_equal(ud_net_post(from[i], IBV_WR_SEND, bytes, 8, 0, 0, 2 * i), 0);
		ud_net_pass(APART_US);
		poll_once();
	}
	ud_net_pass(FIRST_US - count * APART_US + APART_US);
	visits = 0;
	poll_once();
	ud_net_end();
	return visits;
}

static void a_poll_visits_only_what_is_due(void **state)
{
	unsigned int few, many;

	(void)state;
	few = visits_with(FEW);
	many = visits_with(MANY);
	assert_in_range(few, 1, 8);
	assert_in_range(many, 1, 8);
}

/* Many connections wait for room in the send queue, of which each could use all. */
static void room_is_used_in_turn(void **state)
{
	struct ibv_wc wc;
	unsigned int i;

	(void)state;
	join(MANY / 4);
	ud_nodes[0].rc.ud->sq_depth = VRB_UD_RESERVE + 16;
	for (i = 0; i < MANY / 4; i++)
		assert_int_equal(ud_net_post(from[i], IBV_WR_SEND, bytes, LEN, 0, 0, 2 * i), 0);
	for (i = visits = 0; i < MANY && !from[MANY / 4 - 1]->rc.ud->flying; i++)
		assert_false(ud_net_poll(0, &wc));
	for (i = 0; i < MANY / 4; i++)
		assert_true(from[i]->rc.ud->flying > 0);
	assert_in_range(visits, MANY / 4, MANY);
	ud_net_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poll_visits_only_what_is_due),
		cmocka_unit_test(room_is_used_in_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
