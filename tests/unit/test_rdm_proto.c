/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol under many schedules: each message arrives once, in order, complete and in its
 * receive, and each operation completes once. WEFT_SEEDS=N runs N schedules of each kind.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "rdm_sim.h"

static uint64_t seeds(uint64_t count)
{
	const char *wanted = getenv("WEFT_SEEDS");

	return wanted ? strtoull(wanted, NULL, 0) : count;
}

static void run(struct sim_options options, uint64_t count)
{
	uint64_t seed;

	memset(&sim, 0, sizeof(sim));
	for (seed = 0; seed < count; seed++) {
		options.endpoints = 1 + (int)(seed % SIM_ENDPOINTS);
		options.ops = 10 + (int)(seed % 30);
		options.windows = !!(seed % 8);
		sim_run(seed, &options);
	}
	/* Few schedules don't reach all. */
	if (count < 100)
		return;
	assert_true(sim.done_ok && sim.truncated && sim.stops && sim.acks && sim.segments);
	assert_true(!sim.own_reads == options.no_reads);
	assert_true(!sim.reads == options.no_reads && !sim.writes == options.no_writes);
	assert_true(sim.evictions && sim.halts);
	assert_true(sim.bound || (options.no_reads && options.no_writes));
	assert_true((sim.asked && sim.unbound) || !options.reg_fails);
}

static void test_in_order(void **state)
{
	(void)state;
	run((struct sim_options){ 0 }, seeds(2500));
	assert_int_equal(sim.done_err, 0);
}

/* Packets are refused, for want of a buffer, and sent later. */
static void test_again(void **state)
{
	(void)state;
	run((struct sim_options){ .again = true }, seeds(2500));
	assert_int_equal(sim.done_err, 0);
}

static void test_registration(void **state)
{
	(void)state;
	run((struct sim_options){ .reg_fails = true, .again = true }, seeds(2500));
	assert_true(sim.done_err || seeds(100) < 100);
}

/* Memory is read without a registration; what can't be read after all comes in segments. */
static void test_copies(void **state)
{
	(void)state;
	run((struct sim_options){ .copies = true, .again = true }, seeds(2500));
	assert_int_equal(sim.done_err, 0);
	assert_true((sim.copies && sim.unregistered && sim.unread && sim.asked) ||
		    seeds(100) < 100);
	run((struct sim_options){ .copies = true, .failures = true, .reg_fails = true },
	    seeds(2500));
}

/* What the transport can't do is done with what it can. */
static void test_properties(void **state)
{
	(void)state;
	run((struct sim_options){ .no_reads = true, .again = true }, seeds(2500));
	assert_int_equal(sim.done_err, 0);
	/* It is written, not sent again in segments, unless the connection is to end. */
	assert_true(sim.asked < sim.writes / 10);
	run((struct sim_options){ .no_writes = true, .again = true }, seeds(2500));
	assert_int_equal(sim.done_err, 0);
	run((struct sim_options){ .no_reads = true, .no_writes = true }, seeds(2500));
	assert_int_equal(sim.done_err, 0);
	assert_int_equal(sim.announced, 0);
	run((struct sim_options){ .no_reads = true, .failures = true, .reg_fails = true },
	    seeds(2500));
}

/* Checks that the schedules needed seq.h and ack.h. */
static void check_wire(bool lossy, uint64_t count)
{
	if (count < 100)
		return;
	assert_true(sim.early);
	assert_true(!lossy || (sim.lost && sim.resent && sim.doubles));
}

/* Runs all kinds of schedules on a lossy wire, with and without RDMA. */
static void run_on_wire(struct sim_options options)
{
	bool lossy = options.unreliable;

	options.again = true;
	run(options, seeds(1500));
	assert_int_equal(sim.done_err, 0);
	check_wire(lossy, seeds(1500));
	options.no_reads = true;
	run(options, seeds(1500));
	assert_int_equal(sim.done_err, 0);
	options.no_writes = true;
	run(options, seeds(1500));
	assert_int_equal(sim.done_err, 0);
	assert_int_equal(sim.announced, 0);
	check_wire(lossy, seeds(1500));
	options.failures = true;
	run(options, seeds(1500));
	assert_true(sim.breaks || seeds(100) < 100);
	options.no_reads = options.no_writes = false;
	options.reg_fails = true;
	run(options, seeds(1500));
	assert_true((sim.breaks && sim.stale) || seeds(100) < 100);
}

static void test_unordered(void **state)
{
	(void)state;
	run_on_wire((struct sim_options){ .unordered = true });
}

static void test_unreliable(void **state)
{
	(void)state;
	run_on_wire((struct sim_options){ .unordered = true, .unreliable = true });
}

/* Nothing puts packets in order or sends them again: such a transport is refused. */
static void test_too_little(void **state)
{
	static struct ofi_rdm_proto proto;
	const struct ofi_rdm_proto_config config = { .unexpected = 1000 };
	struct ofi_rdm_xport xport = { .ops = &sim_xport,
				       .props = { .reliable = true, .max_packet = SIM_PACKET } };

	(void)state;
	assert_int_equal(ofi_rdm_proto_init(&proto, &sim_ops, &xport, &config), -FI_EOPNOTSUPP);
	xport.props.ordered = true;
	xport.props.reliable = false;
	assert_int_equal(ofi_rdm_proto_init(&proto, &sim_ops, &xport, &config), -FI_EOPNOTSUPP);
	xport.props.reliable = true;
	assert_int_equal(ofi_rdm_proto_init(&proto, &sim_ops, &xport, &config), 0);
}

/* Connections break at any time, processes die and come back. */
static void test_failures(void **state)
{
	(void)state;
	run((struct sim_options){ .failures = true }, seeds(5000));
	assert_true(sim.breaks || seeds(100) < 100);
}

static void test_all(void **state)
{
	(void)state;
	run((struct sim_options){ .failures = true, .reg_fails = true, .again = true },
	    seeds(5000));
}

/* Lets everything happen between the endpoints 0 and 1. */
static void move_all(struct sim_qp *from, struct sim_qp *to)
{
	while (sim_qp_move(from) || sim_qp_move(to) || sim_qp_see(from) || sim_qp_see(to))
		;
}

static void up(struct sim_qp *from, struct sim_qp *to)
{
	ofi_rdm_proto_peer_up(&from->peer, 8, 1, SIM_EAGER);
	ofi_rdm_proto_peer_up(&to->peer, 8, 1, SIM_EAGER);
	ofi_rdm_proto_progress(&from->peer);
	move_all(from, to);
}

/* Sends two long messages from 0 to 1, which are announced and have no receive. */
static void announce(struct sim_qp *from, struct sim_qp *to, uint64_t room)
{
	const struct sim_options options = { .endpoints = 2 };
	struct sim_out *out = sim_endpoint_at(0)->outs;
	uint64_t seed = 0;
	int i;

	memset(&sim, 0, sizeof(sim));
	do {
		sim_start(seed++, &options);
		sim_send(sim_endpoint_at(0), 1);
		sim_send(sim_endpoint_at(0), 1);
	} while (sim.msgs[0].len <= 400 || sim.msgs[1].len <= 400);
	for (i = 0; i < 2; i++)
		sim.msgs[i].level = out[i].out.level = OFI_RDM_PROTO_TRANSMIT;
	sim_endpoint_at(1)->proto.budget.limit = room;
	up(from, to);
	assert_int_equal(to->peer.in_count, 2);
	assert_int_equal(from->peer.out_count, 2);
}

/* Receives everything that has arrived at 1. */
static void receive_both(struct sim_qp *from, struct sim_qp *to)
{
	struct sim_recv *recv;
	int i;

	for (i = 0; i < 2; i++) {
		recv = sim_recv_new(sim_endpoint_at(1));
		recv->tagged = sim.msgs[i].flags & OFI_RDM_WIRE_TAGGED;
		recv->sticky = false;
		recv->src = OFI_RDM_MATCH_ANY;
		recv->ignore = UINT64_MAX;
		recv->len = 1200;
		sim_recv_post(sim_endpoint_at(1), recv);
		move_all(from, to);
	}
	sim_check_quiet(sim_endpoint_at(0));
	sim_check_quiet(sim_endpoint_at(1));
}

/*
 * A connection on which messages are announced that nobody has received can end, whichever side
 * needs the room: they arrive first, as far as the receiver has room for them.
 */
static void test_leave_announced(void **state)
{
	struct sim_qp *from = &sim.eps[0].qps[1], *to = &sim.eps[1].qps[0];
	int side;

	(void)state;
	for (side = 0; side < 2; side++) {
		announce(from, to, 100000);
		ofi_rdm_proto_peer_hold(side ? &from->peer : &to->peer, true);
		move_all(from, to);
		assert_true(ofi_rdm_proto_peer_drained(&from->peer));
		assert_true(ofi_rdm_proto_peer_drained(&to->peer));
		assert_true(sim_endpoint_at(1)->proto.budget.used < 5000);
		ofi_rdm_proto_peer_leave(&from->peer, FI_EOTHER);
		ofi_rdm_proto_peer_leave(&to->peer, FI_EOTHER);
		receive_both(from, to);
	}
}

/* Without room they stay where they are, and so does the connection. */
static void test_stay_announced(void **state)
{
	struct sim_qp *from = &sim.eps[0].qps[1], *to = &sim.eps[1].qps[0];

	(void)state;
	announce(from, to, 500);
	ofi_rdm_proto_peer_hold(&to->peer, true);
	ofi_rdm_proto_peer_hold(&from->peer, true);
	move_all(from, to);
	assert_false(ofi_rdm_proto_peer_drained(&from->peer));
	assert_false(ofi_rdm_proto_peer_drained(&to->peer));
	assert_true(sim_endpoint_at(1)->proto.budget.used < 500);
	ofi_rdm_proto_peer_hold(&to->peer, false);
	ofi_rdm_proto_peer_hold(&from->peer, false);
	receive_both(from, to);
}

static void test_hostile(void **state)
{
	uint64_t seed, count = seeds(5000);

	(void)state;
	memset(&sim, 0, sizeof(sim));
	for (seed = 0; seed < count; seed++)
		sim_run_hostile(seed, sim_malign_packet);
	assert_true(sim.refused || count < 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_registration),
		cmocka_unit_test(test_failures),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_properties),
		cmocka_unit_test(test_too_little),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_unordered),
		cmocka_unit_test(test_unreliable),
		cmocka_unit_test(test_leave_announced),
		cmocka_unit_test(test_stay_announced),
	};

	return cmocka_run_group_tests_name("rdm_proto", tests, NULL, NULL);
}
