/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages on unreliable datagrams that begin, and whose rest does not come. */
#include "unit.h"

#include <string.h>
#include "prov/verbs/rdm/arrive.h"
#include "ud_net.h"

enum { LIARS = 2 * UD_BUFFERS, PART = 700, LONG = 3000 };

static const struct ud_net_params calm;

/* Connections of node 1: with node 0, and of liars at node 2. */
static struct ud_conn *active, *passive, *liars[LIARS], *lied_to[LIARS];
static uint32_t parts[LIARS];

static int begin(void **state)
{
	unsigned int i;

	(void)state;
	ud_net_begin(7, &calm);
	ud_net_join(0, 1, &active, &passive);
	for (i = 0; i < LIARS; i++) {
		ud_net_join(2, 1, &liars[i], &lied_to[i]);
		parts[i] = 0;
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}

static void send_part(unsigned int i, bool last)
{
	uint8_t bytes[VRB_UD_HEAD_MAX + PART] __attribute__((aligned(8)));
	const struct vrb_ud_packet packet = {
		.kind = VRB_UD_SEND,
		.last = last,
		.to = lied_to[i]->rc.qp_num,
		.from = liars[i]->rc.qp_num,
		.number = lied_to[i]->rc.ud->in.next,
		.order = parts[i] + 1,
		.words = { .next = liars[i]->rc.ud->in.next },
	};
	size_t len = vrb_ud_build(bytes, &packet);

	vrb_ud_stamp(bytes, packet.number, packet.order, &packet.words, 0);
	memset(bytes + len, (int)(i + parts[i]++), PART);
	ud_net_inject(2, ud_net_qpn(2), 1, bytes, len + PART);
}

static void begin_all(void)
{
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < LIARS; i++) {
		send_part(i, false);
		ud_net_pass(10);
		assert_false(ud_net_poll(1, &wc));
		assert_non_null(lied_to[i]->rc.ud->part);
	}
}

/* Returns true with the next message of node 1, whose buffer is posted again. */
static bool hear(struct ibv_wc *wc, uint8_t *bytes)
{
	struct vrb_rdm_rx *rx;

	if (!ud_net_poll(1, wc))
		return false;
	rx = vrb_rdm_rx_of(wc);
	memcpy(bytes, (void *)(uintptr_t)rx->sge.addr, wc->byte_len);
	ud_net_repost(1, rx);
	return true;
}

static void they_keep_nobody_out(void **state)
{
	static uint8_t bytes[UD_BUFFER];
	unsigned int i, count = 0;
	struct ibv_wc wc, done;

	(void)state;
	begin_all();
	assert_int_equal(ud_net_post(active, IBV_WR_SEND, bytes, LONG, 0, 0, 8), 0);
	for (i = 0; i < 1000; i++) {
		ud_net_pass(100);
		ud_net_poll(0, &done);
		count += hear(&wc, bytes);
	}
	assert_int_equal(count, 1);
	assert_int_equal(wc.byte_len, LONG);
}

static void they_may_still_end(void **state)
{
	static uint8_t bytes[UD_BUFFER];
	struct ibv_wc wc;
	unsigned int i;

	(void)state;
	begin_all();
	for (i = 0; i < LIARS; i++) {
		send_part(i, true);
		ud_net_pass(10);
		assert_true(hear(&wc, bytes));
		assert_int_equal(wc.byte_len, 2 * PART);
		assert_int_equal(wc.qp_num, lied_to[i]->rc.qp_num);
		assert_int_equal(bytes[0], (uint8_t)i);
		assert_int_equal(bytes[PART], (uint8_t)(i + 1));
		assert_null(lied_to[i]->rc.ud->part);
	}
	assert_int_equal(ud_nodes[1].rc.ud->parts, 0);
}

/* Their memory, and their receives, come back with the connections. */
static void they_end_with_their_connections(void **state)
{
	struct vrb_ud *all = ud_nodes[1].rc.ud;
	unsigned int i;

	(void)state;
	begin_all();
	for (i = 0; i < LIARS; i++)
		ud_net_close(lied_to[i]);
	assert_int_equal(all->parts, 0);
	assert_int_equal(all->recv_head - all->recv_tail, UD_BUFFERS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(they_keep_nobody_out, begin, end),
		cmocka_unit_test_setup_teardown(they_may_still_end, begin, end),
		cmocka_unit_test_setup_teardown(they_end_with_their_connections, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
