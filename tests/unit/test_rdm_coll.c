/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Support of the protocol for collective operations: messages separate from the application's, and
 * receives that are withdrawn. Claimed messages whose sender is gone.
 */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "rdm_sim.h"

enum { TAG = 7 };

static struct sim_endpoint *ep;
static struct ofi_rdm_proto_peer *peer;
static struct ofi_rdm_match_node *buckets[2][4];
static uint8_t flags; /* of the messages that come */

static int setup(void **state)
{
	const struct sim_options options = { .endpoints = 2 };

	(void)state;
	memset(&sim, 0, sizeof(sim));
	memset(buckets, 0, sizeof(buckets));
	flags = OFI_RDM_WIRE_TAGGED | OFI_RDM_WIRE_COLLECTIVE;
	sim_start(1, &options);
	sim.hostile = true;
	ep = sim_endpoint_at(0);
	peer = &ep->qps[1].peer;
	ofi_rdm_match_init(&ep->proto.match[OFI_RDM_PROTO_COLLECTIVE], buckets[0], buckets[1], 2);
	ep->proto.spaces = OFI_RDM_PROTO_SPACES;
	ep->proto.config.unexpected = 1 << 20;
	ep->proto.config.write = true;
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

static enum ofi_rdm_wire_error come(enum ofi_rdm_wire_type type, uint64_t total, uint64_t offset,
				    size_t payload)
{
	struct ofi_rdm_wire_packet packet = {
		.type = type,
		.flags = type == OFI_RDM_WIRE_SEG_NEXT ? 0 : flags,
		.id = 5,
		.tag = TAG,
		.total = total,
		.offset = offset,
		.count = type == OFI_RDM_WIRE_RTS,
	};
	uint8_t list[sizeof(struct ofi_rdm_wire_region)];
	enum ofi_rdm_wire_error error;
	struct sim_in *in = ep->ins;
	bool kept;

	while (in->used)
		in++;
	in->used = true;
	packet.list = list;
	ofi_rdm_wire_put_region(list, 0, &(struct ofi_rdm_wire_region){ 0x1000, total, 1 });
	error = ofi_rdm_proto_packet(peer, &in->in, in->bytes,
				     ofi_rdm_wire_build(in->bytes, &packet) + payload, &kept);
	if (!kept)
		in->used = false;
	return error;
}

static struct sim_recv *post(uint8_t space, size_t len)
{
	struct sim_recv *recv = sim_recv_new(ep);

	recv->tagged = true;
	recv->sticky = false;
	recv->len = len;
	sim_recv_start(recv);
	recv->recv.space = space;
	ofi_rdm_proto_recv_post(&ep->proto, &recv->recv,
				space == OFI_RDM_PROTO_COLLECTIVE ? 1 : OFI_RDM_MATCH_ANY, TAG,
				space == OFI_RDM_PROTO_COLLECTIVE ? 0 : UINT64_MAX);
	return recv;
}

/* A receive for anything does not get it; nor does an endpoint that has no collectives. */
static void test_apart(void **state)
{
	struct sim_recv *any = post(OFI_RDM_PROTO_TAGGED, 50), *recv;

	(void)state;
	assert_int_equal(come(OFI_RDM_WIRE_EAGER, 0, 0, 10), OFI_RDM_WIRE_OK);
	assert_true(any->used);
	assert_null(ofi_rdm_proto_peek(&ep->proto, OFI_RDM_PROTO_TAGGED, 1, TAG, 0));
	assert_non_null(ofi_rdm_proto_peek(&ep->proto, OFI_RDM_PROTO_COLLECTIVE, 1, TAG, 0));
	recv = post(OFI_RDM_PROTO_COLLECTIVE, 50);
	assert_false(recv->used);
	assert_null(ofi_rdm_proto_peek(&ep->proto, OFI_RDM_PROTO_COLLECTIVE, 1, TAG, 0));
	recv = post(OFI_RDM_PROTO_COLLECTIVE, 50);
	assert_true(recv->used);
	assert_int_equal(come(OFI_RDM_WIRE_EAGER, 0, 0, 10), OFI_RDM_WIRE_OK);
	assert_false(recv->used);
	assert_false(ofi_rdm_proto_cancel(&ep->proto, OFI_RDM_PROTO_UNTAGGED, any));
	ep->proto.spaces = OFI_RDM_PROTO_COLLECTIVE;
	assert_int_equal(come(OFI_RDM_WIRE_EAGER, 0, 0, 10), OFI_RDM_WIRE_E_COLLECTIVE);
	assert_int_equal(come(OFI_RDM_WIRE_SEG_FIRST, 50, 0, 10), OFI_RDM_WIRE_E_COLLECTIVE);
	ep->proto.spaces = OFI_RDM_PROTO_SPACES;
}

static void test_withdraw(void **state)
{
	struct sim_recv *recv = post(OFI_RDM_PROTO_COLLECTIVE, 50);
	uint8_t before[50];

	(void)state;
	assert_true(ofi_rdm_proto_recv_withdraw(peer, &recv->recv));
	recv->used = false;
	assert_int_equal(come(OFI_RDM_WIRE_EAGER, 0, 0, 10), OFI_RDM_WIRE_OK);
	assert_non_null(ofi_rdm_proto_peek(&ep->proto, OFI_RDM_PROTO_COLLECTIVE, 1, TAG, 0));
	recv = post(OFI_RDM_PROTO_COLLECTIVE, 50);
	assert_false(recv->used);

	recv = post(OFI_RDM_PROTO_COLLECTIVE, 50);
	assert_int_equal(come(OFI_RDM_WIRE_SEG_FIRST, 50, 0, 10), OFI_RDM_WIRE_OK);
	assert_true(ofi_rdm_proto_recv_withdraw(peer, &recv->recv));
	memcpy(before, recv->bytes, sizeof(before));
	memset(&recv->recv, 0xcc, sizeof(recv->recv));
	recv->used = false;
	assert_int_equal(come(OFI_RDM_WIRE_SEG_NEXT, 0, 10, 40), OFI_RDM_WIRE_OK);
	assert_memory_equal(recv->bytes, before, sizeof(before));
	assert_int_equal(come(OFI_RDM_WIRE_SEG_FIRST, 50, 0, 10), OFI_RDM_WIRE_OK);
	assert_int_equal(come(OFI_RDM_WIRE_SEG_NEXT, 0, 10, 40), OFI_RDM_WIRE_OK);
}

/* A message that arrives in segments lets go of its receive; one that is read does not. */
static void test_withdraw_all(void **state)
{
	struct sim_recv *recv = post(OFI_RDM_PROTO_COLLECTIVE, 50), *read;
	uint8_t before[50];

	(void)state;
	assert_int_equal(come(OFI_RDM_WIRE_SEG_FIRST, 50, 0, 10), OFI_RDM_WIRE_OK);
	assert_true(ofi_rdm_proto_recvs_withdraw(peer));
	assert_false(recv->used);
	memcpy(before, recv->bytes, sizeof(before));
	assert_int_equal(come(OFI_RDM_WIRE_SEG_NEXT, 0, 10, 40), OFI_RDM_WIRE_OK);
	assert_memory_equal(recv->bytes, before, sizeof(before));
	assert_true(TAILQ_EMPTY(&peer->ins));
	read = post(OFI_RDM_PROTO_COLLECTIVE, 1000);
	assert_int_equal(come(OFI_RDM_WIRE_RTS, 1000, 0, 0), OFI_RDM_WIRE_OK);
	assert_false(ofi_rdm_proto_recvs_withdraw(peer));
	sim_complete_all(&ep->qps[1]);
	assert_false(read->used);
	assert_true(ofi_rdm_proto_recvs_withdraw(peer));
}

/* It is read, whatever the endpoint prefers, and ends by itself. */
static void test_withdraw_read(void **state)
{
	struct sim_recv *recv = post(OFI_RDM_PROTO_COLLECTIVE, 1000);
	struct sim_qp *qp = &ep->qps[1];
	unsigned int reads;

	(void)state;
	assert_int_equal(come(OFI_RDM_WIRE_RTS, 1000, 0, 0), OFI_RDM_WIRE_OK);
	assert_int_equal(qp->posted, 2);
	assert_int_equal(qp->ring[0].kind, SIM_READ);
	reads = qp->posted;
	assert_false(ofi_rdm_proto_recv_withdraw(peer, &recv->recv));
	assert_false(ofi_rdm_proto_recv_withdraw(peer, &recv->recv));
	assert_true(recv->used);
	sim_complete_all(&ep->qps[1]);
	assert_false(recv->used);
	/* The last is what tells the sender. */
	assert_int_equal(qp->posted, reads + 1);
	assert_int_equal(qp->ring[reads % SIM_RING].kind, SIM_SEND);
}

/*
 * If nothing can be read, segments are requested: the sender does not write, because a write ends
 * without the receiver.
 */
static void test_without_reads(void **state)
{
	struct sim_recv *recv = post(OFI_RDM_PROTO_COLLECTIVE, 1000);
	struct sim_qp *qp = &ep->qps[1];
	struct ofi_rdm_wire_packet packet;

	(void)state;
	ep->proto.xport.props.can_read = false;
	assert_int_equal(come(OFI_RDM_WIRE_RTS, 1000, 0, 0), OFI_RDM_WIRE_OK);
	assert_int_equal(qp->posted, 1);
	assert_int_equal(ofi_rdm_wire_parse(qp->ring[0].bytes, qp->ring[0].len, &packet), 0);
	assert_int_equal(packet.type, OFI_RDM_WIRE_SEG_REQ);
	assert_true(ofi_rdm_proto_recv_withdraw(peer, &recv->recv));
	recv->used = false;
}

/* A message that waits goes on from a copy. */
static void test_send_from(void **state)
{
	struct sim_out *o = ep->outs;
	struct sim_qp *qp = &ep->qps[1];
	static uint8_t copy[3 * SIM_EAGER];

	(void)state;
	ofi_rdm_proto_peer_hold(peer, true);
	o->msg = 0;
	o->out.index = 0;
	o->out.level = OFI_RDM_PROTO_TRANSMIT;
	o->out.flags = OFI_RDM_WIRE_TAGGED | OFI_RDM_WIRE_COLLECTIVE;
	o->out.count = 1;
	o->out.iov[0] = (struct iovec){ o->bytes, 20 };
	memset(o->bytes, 1, 20);
	memset(copy, 2, sizeof(copy));
	ofi_rdm_proto_send(peer, &o->out);
	ofi_rdm_proto_send_from(&o->out, copy);
	ofi_rdm_proto_peer_hold(peer, false);
	assert_int_equal(qp->posted, 1);
	assert_int_equal(qp->ring[0].bytes[qp->ring[0].len - 1], 2);
	sim_complete_all(&ep->qps[1]);
}

static int last_err;

static void note_recv(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done)
{
	last_err = done->err;
	sim_recv_done(proto, done);
}

static void claim(void *context)
{
	struct ofi_rdm_proto_in *in = ofi_rdm_proto_peek(&ep->proto, true, 1, TAG, 0);

	assert_non_null(in);
	ofi_rdm_match_claim(&ep->proto.match[true], &in->match, context);
}

/* The receive of the claim tells that the sender is gone, and nothing else remains of it. */
static void test_claimed(void **state)
{
	struct ofi_rdm_proto_ops ops = sim_ops;
	struct sim_recv *recv = sim_recv_new(ep);
	uint64_t tag, used;

	(void)state;
	ops.recv_done = note_recv;
	ep->proto.ops = &ops;
	flags = OFI_RDM_WIRE_TAGGED;
	assert_int_equal(come(OFI_RDM_WIRE_RTS, 1000, 0, 0), OFI_RDM_WIRE_OK);
	claim(&flags);
	assert_int_equal(come(OFI_RDM_WIRE_SEG_FIRST, 50, 0, 10), OFI_RDM_WIRE_OK);
	claim(recv);
	used = ep->proto.budget.used;
	assert_int_equal(come(OFI_RDM_WIRE_SEG_NEXT, 0, 10, 20), OFI_RDM_WIRE_OK);
	ofi_rdm_proto_peer_down(peer, FI_ECONNRESET);
	assert_int_equal(ep->proto.budget.used, used);
	recv->tagged = true;
	recv->len = 50;
	sim_recv_start(recv);
	assert_true(ofi_rdm_proto_recv_claimed(&ep->proto, &recv->recv, recv));
	assert_false(recv->used);
	assert_int_equal(last_err, FI_ECONNRESET);
	assert_true(ofi_rdm_proto_discard_claimed(&ep->proto, true, &flags, &tag));
	assert_int_equal(tag, TAG);
	assert_true(TAILQ_EMPTY(&peer->ins));
	ep->proto.ops = &sim_ops;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_apart),	  CASE(test_withdraw),	    CASE(test_withdraw_all),
		CASE(test_withdraw_read), CASE(test_without_reads), CASE(test_send_from),
		CASE(test_claimed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
