/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The first message to a peer, which the request for a connection carries. */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "rdm_sim.h"

enum { ROOM = SIM_PACKET };

/* Messages go from the first endpoint to the second one. */
static struct sim_endpoint *from, *to;
static struct ofi_rdm_proto_peer *peer, *back;
static uint8_t packet[SIM_PACKET];

static int setup(void **state)
{
	const struct sim_options options = { .endpoints = 2 };

	(void)state;
	memset(&sim, 0, sizeof(sim));
	sim_start(1, &options);
	sim.hostile = true;
	from = sim_endpoint_at(0);
	to = sim_endpoint_at(1);
	peer = &from->qps[1].peer;
	back = &to->qps[0].peer;
	from->proto.config.unexpected = to->proto.config.unexpected = 1 << 20;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_end_hostile(&from->qps[1]);
	sim_end_hostile(&to->qps[0]);
	return 0;
}

static struct sim_out *send(enum ofi_rdm_proto_level level, size_t len)
{
	struct sim_out *o;

	for (o = from->outs; o->msg >= 0; o++)
		;
	o->msg = 0;
	o->out.index = (uint32_t)(o - from->outs);
	o->out.level = (uint8_t)level;
	o->out.flags = 0;
	o->out.count = 1;
	o->out.iov[0] = (struct iovec){ o->bytes, len };
	memset(o->bytes, 5, len);
	ofi_rdm_proto_send(peer, &o->out);
	return o;
}

static size_t first(size_t room)
{
	bool again;

	return ofi_rdm_proto_first(peer, packet, room, &again);
}

static bool come(size_t len)
{
	static struct sim_in *buffer;
	bool kept, done;

	for (buffer = to->ins; buffer->used; buffer++)
		;
	buffer->used = true;
	memcpy(buffer->bytes, packet, len);
	done = ofi_rdm_proto_take_first(back, &buffer->in, buffer->bytes, len, &kept);
	if (!kept)
		buffer->used = false;
	return done;
}

static struct sim_recv *post(size_t len)
{
	struct sim_recv *recv = sim_recv_new(to);

	recv->tagged = recv->sticky = false;
	recv->len = len;
	sim_recv_start(recv);
	ofi_rdm_proto_recv_post(&to->proto, &recv->recv, 0, 0, 0);
	return recv;
}

static unsigned int posted(void)
{
	return from->qps[1].posted;
}

/* The message completes when the peer says that it has delivered it, and is not sent again. */
static void it_arrives_without_a_connection(void **state)
{
	struct sim_out *o = send(OFI_RDM_PROTO_TRANSMIT, 50);
	struct sim_recv *recv = post(80);
	size_t len = first(ROOM);
	bool again;

	(void)state;
	assert_true(len > 50);
	assert_true(come(len));
	assert_false(recv->used);
	assert_int_equal(ofi_rdm_proto_first(peer, packet, ROOM, &again), len);
	assert_true(again);
	send(OFI_RDM_PROTO_TRANSMIT, 20);
	ofi_rdm_proto_first_ends(peer, true);
	assert_int_equal(o->msg, -1);
	ofi_rdm_proto_peer_up(peer, 10, 2, SIM_EAGER);
	ofi_rdm_proto_progress(peer);
	assert_int_equal(posted(), 1);
}

static void it_is_kept_without_a_receive(void **state)
{
	struct sim_recv *recv;
	size_t len;

	(void)state;
	send(OFI_RDM_PROTO_TRANSMIT, 50);
	len = first(ROOM);
	assert_true(come(len));
	assert_int_equal(back->in_count, 1);
	ofi_rdm_proto_peer_up(back, 10, 2, SIM_EAGER);
	recv = post(80);
	assert_false(recv->used);
	assert_int_equal(back->in_count, 0);
	/* From now on it has a connection, whose packets are numbered. */
	assert_false(come(len));
}

/* Nobody can stop a peer that has no connection, so its messages do not use more than is left. */
static void a_full_budget_takes_none(void **state)
{
	struct ofi_rdm_flow_budget *budget = &to->proto.budget;
	size_t len, taken = 0;

	(void)state;
	budget->limit = 60;
	send(OFI_RDM_PROTO_TRANSMIT, 50);
	len = first(ROOM);
	while (taken < 10 && come(len))
		taken++;
	assert_in_range(taken, 1, 9);
	assert_int_equal(back->in_count, taken);
	assert_int_equal(back->flow.level, OFI_RDM_FLOW_ALL);
	assert_true(LIST_EMPTY(&budget->stopped) && LIST_EMPTY(&budget->halted));
	assert_null(ofi_rdm_flow_resume(budget));
}

static void it_is_sent_if_it_was_not_delivered(void **state)
{
	struct sim_out *o = send(OFI_RDM_PROTO_TRANSMIT, 50);
	bool again = true;

	(void)state;
	assert_true(ofi_rdm_proto_first(peer, packet, ROOM, &again));
	assert_false(again);
	ofi_rdm_proto_first_ends(peer, false);
	assert_int_equal(o->msg, 0);
	ofi_rdm_proto_peer_up(peer, 10, 2, SIM_EAGER);
	ofi_rdm_proto_progress(peer);
	assert_int_equal(posted(), 1);
}

/* Another message is not taken for the one that was carried. */
static void it_may_fail_meanwhile(void **state)
{
	struct sim_out *o = send(OFI_RDM_PROTO_TRANSMIT, 50);

	(void)state;
	assert_true(first(ROOM));
	ofi_rdm_proto_peer_down(peer, FI_ECONNREFUSED);
	assert_int_equal(o->msg, -1);
	o = send(OFI_RDM_PROTO_TRANSMIT, 30);
	ofi_rdm_proto_first_ends(peer, true);
	assert_int_equal(o->msg, 0);
}

static void not_all_messages_can_be_carried(void **state)
{
	size_t len;

	(void)state;
	assert_int_equal(first(ROOM), 0);
	send(OFI_RDM_PROTO_INJECT, 0);
	len = first(ROOM);
	assert_true(len);
	assert_int_equal(first(len - 1), 0);
	ofi_rdm_proto_peer_down(peer, FI_ECONNREFUSED);
	send(OFI_RDM_PROTO_TRANSMIT, SIM_EAGER + 1);
	assert_int_equal(first(2 * ROOM), 0);
	ofi_rdm_proto_peer_down(peer, FI_ECONNREFUSED);
	/* It needs an answer. */
	send(OFI_RDM_PROTO_DELIVERY, 10);
	assert_int_equal(first(ROOM), 0);
	ofi_rdm_proto_peer_up(peer, 1, 0, SIM_EAGER);
	send(OFI_RDM_PROTO_TRANSMIT, 10);
	assert_int_equal(first(ROOM), 0);
}

static void other_packets_are_not_taken(void **state)
{
	static const struct ofi_rdm_wire_packet others[] = {
		{ .type = OFI_RDM_WIRE_SEG_FIRST, .total = 90, .id = 1 },
		{ .type = OFI_RDM_WIRE_STOP },
		{ .type = OFI_RDM_WIRE_EAGER, .flags = OFI_RDM_WIRE_WANT_ACK, .id = 3 },
		{ .type = OFI_RDM_WIRE_BYE },
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(*others); i++)
		assert_false(come(ofi_rdm_wire_build(packet, &others[i])));
	assert_false(come(1));
	assert_int_equal(back->in_count, 0);
}

static void it_can_be_taken_back(void **state)
{
	struct sim_out *o;

	(void)state;
	send(OFI_RDM_PROTO_TRANSMIT, 10);
	o = send(OFI_RDM_PROTO_TRANSMIT, 20);
	ofi_rdm_proto_unsend(&o->out);
	o->msg = -1;
	assert_int_equal(peer->out_count, 1);
	ofi_rdm_proto_peer_up(peer, 10, 2, SIM_EAGER);
	ofi_rdm_proto_progress(peer);
	assert_int_equal(posted(), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_arrives_without_a_connection, setup, teardown),
		cmocka_unit_test_setup_teardown(it_is_kept_without_a_receive, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_budget_takes_none, setup, teardown),
		cmocka_unit_test_setup_teardown(it_is_sent_if_it_was_not_delivered, setup,
						teardown),
		cmocka_unit_test_setup_teardown(it_may_fail_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(not_all_messages_can_be_carried, setup, teardown),
		cmocka_unit_test_setup_teardown(other_packets_are_not_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(it_can_be_taken_back, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
