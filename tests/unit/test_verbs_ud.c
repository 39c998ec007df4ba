/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections on unreliable datagrams, in schedules that a seed decides: messages arrive once and
 * in order, writes and reads move the right bytes, work requests complete in order, whatever the
 * network does. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/arrive.h"
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
	struct vrb_rdm_rx *rx = vrb_rdm_rx_of(wc);
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

static void schedules(void **state)
{
	struct ud_net_params params = { 0 };
	uint64_t seed, count = ud_net_seeds();

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
	uint64_t seed, count = ud_net_seeds();

	(void)state;
	for (seed = 1; seed <= count; seed++) {
		params.unready = seed % 3 * 50;
		params.delayed = seed % 4 * 300;
		params.no_inline = seed % 2;
		run_schedule(seed, &params);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(schedules),
		cmocka_unit_test(srd_schedules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
