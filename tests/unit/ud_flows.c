/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbered work requests in both directions of a connection. */
#include "unit.h"

#include <errno.h>
#include <string.h>
#include "prov/verbs/rdm/arrive.h"
#include "ud_flows.h"

enum { LONG = 3000, WINDOW = UD_FLOW_WINDOW };

struct message {
	uint32_t number, written;
};

struct ud_flow ud_flows[2];
struct ud_conn *ud_flow_conns[2];

bool ud_flow_is_used(unsigned int at)
{
	return ud_flow_conns[at]->rc.ud->rc && ud_flow_conns[at]->rc.ud->rc->used;
}

void ud_flows_begin(uint64_t seed, const struct ud_net_params *params)
{
	memset(ud_flows, 0, sizeof(ud_flows));
	ud_net_begin(seed, params);
	ud_net_join(0, 1, &ud_flow_conns[0], &ud_flow_conns[1]);
	ud_flows[0].to = ud_flow_conns[1];
	ud_flows[1].to = ud_flow_conns[0];
}

/* The slot of a flow: what was written last, and what may be read. */
static uint32_t *slot_of(const struct ud_flow *flow)
{
	return (uint32_t *)(void *)flow->to->node->region + 2 * (flow - ud_flows);
}

static int post_from(unsigned int at, enum ibv_wr_opcode opcode, void *buf, uint32_t len,
		     uint64_t remote)
{
	uint32_t number = ud_flows[at].works;
	int err = ud_net_post(ud_flow_conns[at], opcode, buf, len, remote, ud_nodes[!at].mr.rkey,
			      (uint64_t)number << 1);

	assert_true(!err || err == ENOMEM);
	ud_flows[at].works += !err;
	return err;
}

static uint8_t sent[2][WINDOW][LONG];

void ud_flow_send(unsigned int at)
{
	struct message message = { ud_flows[at].posted, ud_flows[at].wrote };
	uint8_t *bytes = sent[at][ud_flows[at].works % WINDOW];
	uint32_t len = ud_net_any(3) ? (uint32_t)sizeof(message) : LONG;

	assert_true(ud_flows[at].works - ud_flows[at].completed < WINDOW);
	memcpy(bytes, &message, sizeof(message));
	ud_flows[at].posted += !post_from(at, IBV_WR_SEND, bytes, len, 0);
}

void ud_flow_write(unsigned int at)
{
	uint32_t next = ud_flows[at].wrote + 1;

	if (!post_from(at, IBV_WR_RDMA_WRITE, &next, sizeof(next),
		       (uintptr_t)slot_of(&ud_flows[at])))
		ud_flows[at].wrote = next;
}

void ud_flow_any(unsigned int at)
{
	struct ud_flow *flow = &ud_flows[at];

	if (flow->posted == UD_FLOW_MOST || flow->works - flow->completed >= WINDOW)
		return;
	switch (ud_net_any(8)) {
	case 0:
		ud_flow_write(at);
		break;
	case 1:
		post_from(at, IBV_WR_RDMA_READ, &flow->got, sizeof(flow->got),
			  (uintptr_t)slot_of(flow));
		break;
	default:
		ud_flow_send(at);
		break;
	}
}

static void arrived(struct ud_flow *flow, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx = vrb_rdm_rx_of(wc);
	struct message message;

	assert_int_equal(wc->status, IBV_WC_SUCCESS);
	assert_int_equal(wc->qp_num, flow->to->rc.qp_num);
	assert_true(wc->byte_len == sizeof(message) || wc->byte_len == LONG);
	memcpy(&message, (void *)(uintptr_t)rx->sge.addr, sizeof(message));
	assert_int_equal(message.number, flow->arrived++);
	assert_true(*slot_of(flow) >= message.written);
	assert_true(flow->held_count < UD_BUFFERS);
	flow->held[flow->held_count++] = rx;
}

void ud_flow_poll(unsigned int at)
{
	struct ibv_wc wc;

	while (ud_net_poll(at, &wc)) {
		if (wc.wr_id & VRB_RDM_RX_BIT) {
			arrived(&ud_flows[!at], &wc);
			continue;
		}
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id >> 1, ud_flows[at].completed++);
	}
}

void ud_flow_repost(struct ud_flow *flow)
{
	uint32_t n = ud_net_any(flow->held_count + 1);

	for (; n; n--)
		ud_net_repost((unsigned int)(flow->to->node - ud_nodes),
			      flow->held[--flow->held_count]);
}

void ud_flows_deserve(unsigned int at)
{
	unsigned int i;

	for (i = 0; i < 8; i++) {
		ud_flow_write(at);
		ud_net_pass(100);
		ud_flow_poll(0);
		ud_flow_poll(1);
	}
}

void ud_flows_settle(void)
{
	unsigned int i;

	for (i = 0; i < 300; i++) {
		ud_net_pass(100);
		ud_flow_poll(0);
		ud_flow_poll(1);
	}
}

void ud_flows_repost(void)
{
	while (ud_flows[0].held_count)
		ud_flow_repost(&ud_flows[0]);
	while (ud_flows[1].held_count)
		ud_flow_repost(&ud_flows[1]);
}

static bool is_done(const struct ud_flow *flow)
{
	return flow->arrived == UD_FLOW_MOST && flow->completed == flow->works;
}

void ud_flows_run(void (*also)(void))
{
	unsigned int rounds, at;

	for (rounds = 0; rounds < 400000 && !(is_done(&ud_flows[0]) && is_done(&ud_flows[1]));
	     rounds++) {
		at = ud_net_any(2);
		if (ud_net_any(2))
			ud_flow_any(at);
		ud_flow_poll(ud_net_any(2));
		if (also && !ud_net_any(20))
			also();
		if (!ud_net_any(60))
			ud_flow_repost(&ud_flows[ud_net_any(2)]);
		ud_net_pass(ud_net_any(4) ? ud_net_any(20) : ud_net_any(200));
	}
	assert_true(is_done(&ud_flows[0]) && is_done(&ud_flows[1]));
}

struct vrb_ud_conn *ud_flow_at(unsigned int at)
{
	return ud_flow_conns[at]->rc.ud;
}

bool ud_flow_is_kept(unsigned int at)
{
	return ud_flow_at(at)->rc && ud_flow_at(at)->rc->connected &&
	       ud_flow_at(at)->rc->announced && !ud_flow_at(at)->rc->state;
}

void ud_flow_ask(unsigned int at, uint64_t bound)
{
	struct vrb_ud_conn *ud = ud_flow_at(at);

	assert_true(ud_flow_is_kept(at));
	ud->rc->asks = ud->rc->asked = true;
	ud->rc->bound = bound;
	vrb_ud_send_soon(ud);
}

void ud_flows_use(void)
{
	ud_flows_deserve(0);
	ud_flows_settle();
	ud_flow_send(0);
	ud_flow_send(1);
	ud_flows_settle();
	assert_true(ud_flow_is_used(0) && ud_flow_is_used(1));
}

int ud_flows_setup(void **state)
{
	static const struct ud_net_params calm = { .grows = (1u << UD_NODES) - 1 };

	(void)state;
	ud_flows_begin(7, &calm);
	return 0;
}

int ud_flows_teardown(void **state)
{
	(void)state;
	ud_net_end();
	return 0;
}
