/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Well-formed packets that are invalid in the current state are refused, each for its reason, and
 * valid ones are not.
 */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "rdm_sim.h"

static struct sim_endpoint *ep;
static struct ofi_rdm_proto_peer *peer;

static int setup(void **state)
{
	const struct sim_options options = { .endpoints = 2 };

	(void)state;
	memset(&sim, 0, sizeof(sim));
	sim_start(1, &options);
	sim.hostile = true;
	ep = sim_endpoint_at(0);
	peer = &ep->qps[1].peer;
	ep->proto.config.segmented = 400;
	ep->proto.config.unexpected = 1 << 20;
	ep->proto.config.write = false;
	ep->proto.xport.props.max_read = ep->proto.xport.props.max_write = 100;
	ep->proto.xport.props.reads = ep->proto.xport.props.writes = 2;
	ofi_rdm_proto_peer_up(peer, 10, 2, SIM_EAGER);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	sim_end_hostile(&ep->qps[1]);
	return 0;
}

static enum ofi_rdm_wire_error come(struct ofi_rdm_wire_packet packet, size_t payload)
{
	static struct sim_in *buffer;
	uint8_t list[sizeof(struct ofi_rdm_wire_region)];
	enum ofi_rdm_wire_error error;
	bool kept;

	for (buffer = ep->ins; buffer->used; buffer++)
		;
	buffer->used = true;
	packet.list = list;
	ofi_rdm_wire_put_region(list, 0, &(struct ofi_rdm_wire_region){ 0x1000, packet.total, 1 });
	error = ofi_rdm_proto_packet(peer, &buffer->in, buffer->bytes,
				     ofi_rdm_wire_build(buffer->bytes, &packet) + payload, &kept);
	if (!kept)
		buffer->used = false;
	return error;
}

static struct sim_out *send(enum ofi_rdm_proto_level level, size_t len)
{
	struct sim_out *o;

	for (o = ep->outs; o->msg >= 0; o++)
		;
	o->msg = 0;
	o->out.index = (uint32_t)(o - ep->outs);
	o->out.level = (uint8_t)level;
	o->out.flags = 0;
	o->out.count = 1;
	o->out.iov[0] = (struct iovec){ o->bytes, len };
	ofi_rdm_proto_send(peer, &o->out);
	return o;
}

static void post(size_t len)
{
	struct sim_recv *recv = sim_recv_new(ep);

	recv->tagged = recv->sticky = false;
	recv->len = len;
	sim_recv_start(recv);
	ofi_rdm_proto_recv_post(&ep->proto, &recv->recv, 1, 0, 0);
}

/* The packet that the endpoint posted, from the last on. */
static struct ofi_rdm_wire_packet posted(unsigned int back)
{
	struct sim_qp *qp = &ep->qps[1];
	struct sim_wr *wr = &qp->ring[(qp->posted - 1 - back) % SIM_RING];
	struct ofi_rdm_wire_packet packet = { 0 };

	assert_int_equal(wr->kind, SIM_SEND);
	assert_int_equal(ofi_rdm_wire_parse(wr->bytes, wr->len, &packet), OFI_RDM_WIRE_OK);
	return packet;
}

static struct ofi_rdm_wire_packet first(uint64_t total)
{
	return (struct ofi_rdm_wire_packet){ .type = OFI_RDM_WIRE_SEG_FIRST,
					     .id = 5,
					     .total = total };
}

static struct ofi_rdm_wire_packet next(uint32_t id, uint64_t offset)
{
	return (struct ofi_rdm_wire_packet){ .type = OFI_RDM_WIRE_SEG_NEXT,
					     .id = id,
					     .offset = offset };
}

static struct ofi_rdm_wire_packet about(enum ofi_rdm_wire_type type, uint32_t id)
{
	return (struct ofi_rdm_wire_packet){ .type = type, .id = id };
}

static void test_segments(void **state)
{
	(void)state;
	assert_int_equal(come(next(5, 10), 10), OFI_RDM_WIRE_E_SEQUENCE);
	assert_int_equal(come(first(50), 10), OFI_RDM_WIRE_OK);
	assert_int_equal(come(first(50), 10), OFI_RDM_WIRE_E_SEQUENCE);
	assert_int_equal(come(next(6, 10), 10), OFI_RDM_WIRE_E_SEQUENCE);
	assert_int_equal(come(next(5, 11), 10), OFI_RDM_WIRE_E_SEQUENCE);
	assert_int_equal(come(next(5, 9), 10), OFI_RDM_WIRE_E_SEQUENCE);
	assert_int_equal(come(next(5, 10), 41), OFI_RDM_WIRE_E_SEQUENCE);
	assert_int_equal(come(next(5, 10), 20), OFI_RDM_WIRE_OK);
	assert_int_equal(come(next(5, 30), 20), OFI_RDM_WIRE_OK);
	assert_int_equal(come(next(5, 50), 1), OFI_RDM_WIRE_E_SEQUENCE);
	post(50);
	assert_int_equal(sim.eps[0].ins[0].used, false);
}

static void test_acks(void **state)
{
	struct sim_out *o = send(OFI_RDM_PROTO_DELIVERY, 10), *fast;
	uint32_t id = posted(0).id;

	(void)state;
	assert_true(posted(0).flags & OFI_RDM_WIRE_WANT_ACK);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id + 1), 0), OFI_RDM_WIRE_E_ID);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id + (1 << 20)), 0), OFI_RDM_WIRE_E_ID);
	assert_int_equal(come(about(OFI_RDM_WIRE_FIN, id), 0), OFI_RDM_WIRE_E_ID);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id), 0), OFI_RDM_WIRE_OK);
	assert_true(o->msg >= 0);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id), 0), OFI_RDM_WIRE_E_ID);
	sim_complete_all(&ep->qps[1]);
	assert_true(o->msg < 0);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id), 0), OFI_RDM_WIRE_E_ID);
	fast = send(OFI_RDM_PROTO_TRANSMIT, 10);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, fast->out.id), 0), OFI_RDM_WIRE_E_ID);
}

static void test_read(void **state)
{
	struct sim_out *o = send(OFI_RDM_PROTO_TRANSMIT, 1000);
	struct ofi_rdm_wire_packet fin;
	uint32_t id = posted(0).id;

	(void)state;
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_RTS);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id), 0), OFI_RDM_WIRE_E_ID);
	fin = about(OFI_RDM_WIRE_FIN, id);
	fin.flags = OFI_RDM_WIRE_WRITTEN;
	assert_int_equal(come(fin, 0), OFI_RDM_WIRE_E_ID);
	sim_complete_all(&ep->qps[1]);
	assert_true(o->msg >= 0);
	assert_int_equal(come(about(OFI_RDM_WIRE_FIN, id), 0), OFI_RDM_WIRE_OK);
	assert_true(o->msg < 0);
	assert_int_equal(come(about(OFI_RDM_WIRE_FIN, id), 0), OFI_RDM_WIRE_E_ID);
}

static struct ofi_rdm_wire_packet cts(uint32_t id, uint64_t total)
{
	return (struct ofi_rdm_wire_packet){
		.type = OFI_RDM_WIRE_CTS, .id = id, .rid = 9, .total = total, .count = total > 0
	};
}

static void test_write(void **state)
{
	struct sim_out *o = send(OFI_RDM_PROTO_DELIVERY, 1000);
	uint32_t id = posted(0).id;

	(void)state;
	assert_int_equal(come(cts(id, 1001), 0), OFI_RDM_WIRE_E_TOTAL);
	assert_int_equal(come(cts(id, 0), 0), OFI_RDM_WIRE_E_TOTAL);
	assert_int_equal(come(cts(id + 1, 500), 0), OFI_RDM_WIRE_E_ID);
	assert_int_equal(come(cts(id, 500), 0), OFI_RDM_WIRE_OK);
	assert_int_equal(come(cts(id, 500), 0), OFI_RDM_WIRE_E_ID);
	assert_int_equal(come(about(OFI_RDM_WIRE_FIN, id), 0), OFI_RDM_WIRE_E_ID);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id), 0), OFI_RDM_WIRE_E_ID);
	sim_complete_all(&ep->qps[1]);
	assert_int_equal(sim.writes, 5);
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_FIN);
	assert_int_equal(posted(0).flags, OFI_RDM_WIRE_WRITTEN);
	assert_int_equal(posted(0).id, 9);
	assert_true(o->msg >= 0);
	assert_int_equal(come(about(OFI_RDM_WIRE_ACK, id), 0), OFI_RDM_WIRE_OK);
	assert_true(o->msg < 0);
}

/* Returns the place of the only message. */
static struct sim_in *place(void)
{
	struct sim_in *in = ep->ins;

	while (!in->used)
		in++;
	return in;
}

static void test_written(void **state)
{
	struct sim_in *in;
	struct ofi_rdm_wire_packet rts = {
		.type = OFI_RDM_WIRE_RTS, .id = 77, .total = 600, .count = 1
	};
	struct ofi_rdm_wire_packet fin = { .type = OFI_RDM_WIRE_FIN,
					   .flags = OFI_RDM_WIRE_WRITTEN };

	(void)state;
	ep->proto.config.write = true;
	peer->flow.credits = 0;
	post(1000);
	assert_int_equal(come(rts, 0), OFI_RDM_WIRE_OK);
	in = place();
	fin.id = in->in.id;
	assert_int_equal(come(fin, 0), OFI_RDM_WIRE_E_ID);
	ofi_rdm_flow_give(&peer->flow, 10);
	ofi_rdm_proto_progress(peer);
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_CTS);
	assert_int_equal(posted(0).rid, fin.id);
	fin.id++;
	assert_int_equal(come(fin, 0), OFI_RDM_WIRE_E_ID);
	fin.id--;
	assert_int_equal(come(fin, 0), OFI_RDM_WIRE_OK);
	assert_false(in->used);
	assert_int_equal(come(fin, 0), OFI_RDM_WIRE_E_ID);
}

static const struct sim_wr *request(unsigned int back)
{
	return &ep->qps[1].ring[(ep->qps[1].posted - 1 - back) % SIM_RING];
}

static void check_window(const struct sim_wr *wr, enum sim_kind kind, const void *addr, size_t len,
			 enum ofi_rdm_proto_access access)
{
	assert_int_equal(wr->kind, kind);
	assert_ptr_equal(wr->mr->addr, addr);
	assert_int_equal(wr->mr->len, len);
	assert_int_equal(wr->mr->access, access);
}

/*
 * The right to read exists before the peer learns of it, and ends before the sender learns of the
 * end.
 */
static void test_read_right(void **state)
{
	struct sim_out *o;

	(void)state;
	sim.options.windows = 2;
	o = send(OFI_RDM_PROTO_TRANSMIT, 1000);
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_RTS);
	check_window(request(1), SIM_BIND, o->bytes, 1000, OFI_RDM_PROTO_PEER_READS);
	sim_complete_all(&ep->qps[1]);
	assert_int_equal(come(about(OFI_RDM_WIRE_FIN, o->out.id), 0), OFI_RDM_WIRE_OK);
	check_window(request(0), SIM_REVOKE, o->bytes, 1000, OFI_RDM_PROTO_PEER_READS);
	assert_true(o->msg >= 0);
	sim_complete_all(&ep->qps[1]);
	assert_true(o->msg < 0);
}

/* The same of the right to write, and of the receiver. */
static void test_write_right(void **state)
{
	struct ofi_rdm_wire_packet rts = {
		.type = OFI_RDM_WIRE_RTS, .id = 77, .total = 600, .count = 1
	};
	struct ofi_rdm_wire_packet fin = { .type = OFI_RDM_WIRE_FIN,
					   .flags = OFI_RDM_WIRE_WRITTEN };

	(void)state;
	sim.options.windows = 2;
	ep->proto.config.write = true;
	post(1000);
	ep->recvs[0].recv.iov[0] = (struct iovec){ ep->recvs[0].bytes, 1000 };
	ep->recvs[0].recv.count = 1;
	assert_int_equal(come(rts, 0), OFI_RDM_WIRE_OK);
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_CTS);
	check_window(request(1), SIM_BIND, ep->recvs[0].bytes, 600, OFI_RDM_PROTO_PEER_WRITES);
	fin.id = place()->in.id;
	assert_int_equal(come(fin, 0), OFI_RDM_WIRE_OK);
	check_window(request(0), SIM_REVOKE, ep->recvs[0].bytes, 600, OFI_RDM_PROTO_PEER_WRITES);
	assert_true(ep->recvs[0].used);
	sim_complete_all(&ep->qps[1]);
	assert_false(ep->recvs[0].used);
}

/* Whoever writes what it receives is not given the right to read. */
static void test_no_right(void **state)
{
	struct sim_out *o = send(OFI_RDM_PROTO_TRANSMIT, 1000);

	(void)state;
	assert_int_equal(o->out.mr[0].window, false);
	assert_int_equal(come(cts(o->out.id, 1000), 0), OFI_RDM_WIRE_OK);
	sim_complete_all(&ep->qps[1]);
	assert_true(o->msg < 0);
	sim.options.windows = 2;
	o = send(OFI_RDM_PROTO_TRANSMIT, 1000);
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_RTS);
	assert_int_equal(((struct sim_mr *)o->out.mr[0].handle)->access, OFI_RDM_PROTO_SOURCE);
}

/* An empty part of a list is no reason to send in segments. */
static void test_empty_part(void **state)
{
	struct sim_out *o = &ep->outs[0];
	struct ofi_rdm_wire_region region;

	(void)state;
	o->msg = 0;
	o->out.level = OFI_RDM_PROTO_TRANSMIT;
	o->out.count = 3;
	o->out.iov[0] = (struct iovec){ NULL, 0 };
	o->out.iov[1] = (struct iovec){ o->bytes, 1000 };
	o->out.iov[2] = (struct iovec){ o->bytes, 0 };
	ofi_rdm_proto_send(peer, &o->out);
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_RTS);
	assert_int_equal(posted(0).count, 1);
	ofi_rdm_wire_get_region(posted(0).list, 0, &region);
	assert_int_equal(region.len, 1000);
}

/* The way that a message goes by: its size, and whether the peer said STOP. */
static void test_choice(void **state)
{
	static const struct {
		size_t len;
		enum ofi_rdm_wire_type free, stopped;
	} cases[] = {
		{ 0, OFI_RDM_WIRE_EAGER, OFI_RDM_WIRE_EAGER },
		{ OFI_RDM_PROTO_SMALL, OFI_RDM_WIRE_EAGER, OFI_RDM_WIRE_EAGER },
		{ OFI_RDM_PROTO_SMALL + 1, OFI_RDM_WIRE_EAGER, OFI_RDM_WIRE_RTS },
		{ SIM_EAGER, OFI_RDM_WIRE_EAGER, OFI_RDM_WIRE_RTS },
		{ SIM_EAGER + 1, OFI_RDM_WIRE_SEG_NEXT, OFI_RDM_WIRE_RTS },
		{ 400, OFI_RDM_WIRE_SEG_NEXT, OFI_RDM_WIRE_RTS },
		{ 401, OFI_RDM_WIRE_RTS, OFI_RDM_WIRE_RTS },
	};
	size_t i;
	int stop;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		for (stop = 0; stop < 2; stop++) {
			come(about(stop ? OFI_RDM_WIRE_STOP : OFI_RDM_WIRE_GO, 0), 0);
			ofi_rdm_proto_peer_fence(peer, true);
			assert_false(ofi_rdm_proto_may_bypass(peer, cases[i].len));
			ofi_rdm_proto_peer_fence(peer, false);
			assert_int_equal(ofi_rdm_proto_may_bypass(peer, cases[i].len),
					 cases[i].len <= (stop ? OFI_RDM_PROTO_SMALL : SIM_EAGER));
			send(OFI_RDM_PROTO_TRANSMIT, cases[i].len);
			assert_int_equal(posted(0).type, stop ? cases[i].stopped : cases[i].free);
			ofi_rdm_proto_peer_down(peer, FI_ECONNABORTED);
			sim_complete_all(&ep->qps[1]);
			ofi_rdm_proto_peer_up(peer, 10, 2, SIM_EAGER);
		}
	}
}

/* An eager packet for a posted receive is the caller's; one without is kept as any other. */
static void test_bypass(void **state)
{
	struct sim_recv *recv = sim_recv_new(ep);
	struct ofi_rdm_wire_fast fast;
	struct ofi_rdm_proto_in in = { .index = 0 };
	bool unexpected;

	(void)state;
	recv->tagged = true;
	recv->sticky = false;
	recv->len = 10;
	sim_recv_start(recv);
	ofi_rdm_proto_recv_post(&ep->proto, &recv->recv, OFI_RDM_MATCH_ANY, 7, 0);
	assert_null(ofi_rdm_proto_bypass(peer, true, 8, &unexpected));
	assert_true(unexpected);
	assert_null(ofi_rdm_proto_bypass(peer, false, 7, &unexpected));
	assert_ptr_equal(ofi_rdm_proto_bypass(peer, true, 7, &unexpected), &recv->recv);
	assert_false(unexpected);
	assert_null(ofi_rdm_proto_bypass(peer, true, 7, &unexpected));
	recv->used = false;

	ofi_rdm_wire_build_fast(&fast, true, 9);
	ofi_rdm_proto_unexpected(peer, &in, &fast, sizeof(fast), true, 9);
	assert_ptr_equal(ofi_rdm_proto_peek(&ep->proto, true, OFI_RDM_MATCH_ANY, 9, 0), &in);
	assert_int_equal(in.total, 0);
	assert_int_equal(in.packet.tag, 9);
	assert_null(ofi_rdm_proto_peek(&ep->proto, false, OFI_RDM_MATCH_ANY, 0, 0));
	assert_int_equal(peer->in_count, 1);
	ofi_rdm_proto_take_whole(&ep->proto, true, &in);
	assert_int_equal(peer->in_count, 0);
}

static struct ofi_rdm_proto_in *keep_nothing(struct ofi_rdm_proto_in *in, bool payload)
{
	(void)in;
	(void)payload;
	return NULL;
}

/* The error of a message for which there is no memory is not that of the next one in its place. */
static void test_no_memory(void **state)
{
	struct ofi_rdm_xport_ops ops = *ep->proto.xport.ops;

	(void)state;
	ops.keep = keep_nothing;
	ep->proto.xport.ops = &ops;
	post(50);
	assert_int_equal(come(first(50), 10), OFI_RDM_WIRE_E_MEMORY);
	assert_int_equal(ep->ins[0].in.state, OFI_RDM_PROTO_IN_FREE);
	assert_int_equal(ep->ins[0].in.err, 0);
	ep->proto.xport.ops = &sim_xport;
}

/* With the reserve left, control packets go and data wait. */
static void test_reserve(void **state)
{
	struct ofi_rdm_wire_packet eager = { .type = OFI_RDM_WIRE_EAGER,
					     .flags = OFI_RDM_WIRE_WANT_ACK };
	unsigned int before;
	int i;

	(void)state;
	post(100);
	for (i = 0; i < 9; i++)
		send(OFI_RDM_PROTO_TRANSMIT, 8);
	assert_int_equal(ep->qps[1].posted, 8);
	assert_false(ofi_rdm_proto_may_bypass(peer, 8));
	before = ep->qps[1].posted;
	assert_int_equal(come(eager, 8), OFI_RDM_WIRE_OK);
	assert_int_equal(ep->qps[1].posted, before + 1);
	assert_int_equal(posted(0).type, OFI_RDM_WIRE_ACK);
	sim_complete_all(&ep->qps[1]);
	assert_int_equal(ep->qps[1].posted, before + 2);
}

/* A peer that dies with half a message here gives its bytes back: the others may go on. */
static void test_dead_peer_gives_back(void **state)
{
	struct ofi_rdm_proto_peer *other = &ep->qps[0].peer;
	struct ofi_rdm_wire_packet eager = { .type = OFI_RDM_WIRE_EAGER };
	struct ofi_rdm_proto_peer *mine = peer;

	(void)state;
	ep->proto.budget.limit = 300;
	ofi_rdm_proto_peer_up(other, 10, 2, SIM_EAGER);
	assert_int_equal(come(first(500), 90), OFI_RDM_WIRE_OK);
	assert_int_equal(come(next(5, 90), 50), OFI_RDM_WIRE_OK);
	peer = other;
	assert_int_equal(come(eager, 40), OFI_RDM_WIRE_OK);
	peer = mine;
	assert_true(other->flow.level);
	ofi_rdm_proto_peer_down(peer, FI_ECONNABORTED);
	assert_false(other->flow.level);
	ofi_rdm_proto_peer_down(other, FI_ECONNABORTED);
	ep->qps[0].moved = ep->qps[0].posted;
	while (sim_qp_see(&ep->qps[0]))
		;
	ofi_rdm_proto_peer_purge(other);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_read_right), CASE(test_write_right),
		CASE(test_no_right),   CASE(test_empty_part),
		CASE(test_segments),   CASE(test_acks),
		CASE(test_read),       CASE(test_write),
		CASE(test_written),    CASE(test_choice),
		CASE(test_bypass),     CASE(test_no_memory),
		CASE(test_reserve),    CASE(test_dead_peer_gives_back),
	};

	return cmocka_run_group_tests_name("rdm_wrong", tests, NULL, NULL);
}
