/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Transfers that the target performs packet by packet, because its device has no key for the
 * memory.
 */
#include "unit.h"

#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/objects.h"
#include "prov/rdm/op.h"
#include "prov/rdm/peer.h"
#include "prov/rdm/xport.h"

enum { EAGER = 100, PARTS = 16, CREDITS = 1000 };

static struct ofi_rdm_ep ep;
static struct ofi_rdm_peer peer;
static struct ofi_rdm_op op, other;
static struct fi_info info;
static struct ofi_domain domain;
static uint8_t local[40 * EAGER], remote[40 * EAGER];
static struct ofi_rdm_wire_packet sent;
static int requests, events, retries;
static bool full;

/* Keeps the packet, and stores what is written. */
static int fake_send(struct ofi_rdm_proto_peer *to, const void *hdr, size_t hdr_len,
		     const struct iovec *iov, size_t offset, size_t len,
		     struct ofi_rdm_proto_out *out)
{
	uint8_t bytes[OFI_RDM_WIRE_HEADER_MAX + EAGER];
	struct ofi_rdm_wire_target target;
	size_t at = offset;
	uint8_t i;

	(void)to;
	assert_null(out);
	if (full)
		return -FI_EAGAIN;
	memcpy(bytes, hdr, hdr_len);
	assert_int_equal(ofi_rdm_wire_parse(bytes, hdr_len + len, &sent), OFI_RDM_WIRE_OK);
	if (sent.type == OFI_RDM_WIRE_KEY_REQ)
		return 0;
	assert_int_equal(sent.type, OFI_RDM_WIRE_ATOMIC_REQ);
	for (i = 0; i < sent.count; i++) {
		ofi_rdm_wire_get_target(sent.list, i, &target);
		if (len)
			memcpy(remote + target.addr, (uint8_t *)iov->iov_base + at, target.count);
		at += target.count;
	}
	assert_true(sent.atomic.count <= EAGER);
	requests++;
	return 0;
}

static int fake_send_op(struct ofi_rdm_op *of, const void *hdr, size_t hdr_len)
{
	assert_ptr_equal(of, &op);
	assert_int_equal(ofi_rdm_wire_parse(hdr, hdr_len, &sent), OFI_RDM_WIRE_OK);
	assert_int_equal(sent.type, OFI_RDM_WIRE_RMA_EVENT);
	events++;
	return 0;
}

static void fake_retry(struct ofi_rdm_proto_peer *of)
{
	(void)of;
	assert_true(full);
	retries++;
}

static int begin(void **state)
{
	static const struct ofi_rdm_xport_ops ops = {
		.send = fake_send,
		.send_op = fake_send_op,
		.retry = fake_retry,
	};

	(void)state;
	memset(&ep, 0, sizeof(ep));
	memset(&peer, 0, sizeof(peer));
	memset(remote, 0, sizeof(remote));
	requests = events = retries = 0;
	full = false;
	domain.info = &info;
	ep.domain = &domain;
	ep.info = &info;
	ep.proto.xport.ops = &ops;
	peer.ep = &ep;
	peer.proto.proto = &ep.proto;
	peer.proto.up = true;
	peer.proto.eager = EAGER;
	peer.proto.flow.credits = CREDITS;
	STAILQ_INIT(&peer.ops);
	TAILQ_INIT(&peer.answers);
	STAILQ_INIT(&peer.replies);
	STAILQ_INIT(&peer.fenced);
	return 0;
}

/* The target says that there is no key. */
static void say_no_key(uint64_t key)
{
	const struct ofi_rdm_wire_packet packet = {
		.type = OFI_RDM_WIRE_KEY_RSP,
		.id = sent.id,
		.status = FI_EOPNOTSUPP,
	};

	assert_int_equal(sent.type, OFI_RDM_WIRE_KEY_REQ);
	assert_int_equal(sent.key, key);
	assert_int_equal(ofi_rdm_key_answer(&peer, &packet), OFI_RDM_WIRE_OK);
}

static void start(enum ofi_rdm_op_kind kind, size_t total, bool has_data)
{
	size_t first = total / 3, i;

	for (i = 0; i < sizeof(local); i++)
		local[i] = (uint8_t)(i * 7 + i / 100);
	op = (struct ofi_rdm_op){
		.kind = (uint8_t)kind,
		.id = 77,
		.peer = &peer,
		.total = total,
		.has_data = has_data,
		.flags = OFI_RDM_SILENT,
		.local_count = 1,
		.local = { { .addr = local, .len = total } },
		.remote_count = 2,
		.remote = { { .addr = total - first, .len = first, .key = 5 },
			    { .addr = 0, .len = total - first, .key = 5 } },
	};
	STAILQ_INSERT_TAIL(&peer.ops, &op, link);
	ofi_rdm_ops_pump(&peer);
}

static bool is_done(void)
{
	return SLIST_FIRST(&ep.free_ops) == &op;
}

/* One response, with the bytes that were asked for in the order of requests. */
static void respond(size_t at, size_t len, uint32_t status)
{
	uint8_t bytes[EAGER];
	const struct ofi_rdm_wire_packet packet = {
		.type = OFI_RDM_WIRE_ATOMIC_RSP,
		.id = 77,
		.status = status,
		.payload = bytes,
		.payload_len = status || op.kind == OFI_RDM_OP_WRITE ? 0 : len,
	};
	size_t i;

	for (i = 0; i < len; i++)
		bytes[i] = (uint8_t)(at + i);
	assert_int_equal(ofi_rdm_keys_answered(&op, &packet), OFI_RDM_WIRE_OK);
}

static void written_in_parts(void **state)
{
	const size_t total = 20 * EAGER + 7, first = total / 3;
	int i;

	(void)state;
	start(OFI_RDM_OP_WRITE, total, false);
	say_no_key(5);
	assert_int_equal(requests, PARTS);
	assert_int_equal(sent.flags, 0);
	for (i = 0; i <= 20; i++) {
		assert_false(is_done());
		respond(0, 0, 0);
	}
	assert_true(is_done());
	assert_int_equal(requests, 21);
	assert_int_equal(events, 0);
	assert_memory_equal(remote + total - first, local, first);
	assert_memory_equal(remote, local + first, total - first);
	assert_true(TAILQ_EMPTY(&peer.answers) && STAILQ_EMPTY(&peer.ops));
}

static void read_in_parts(void **state)
{
	const size_t total = 30 * EAGER + 1;
	size_t at;

	(void)state;
	start(OFI_RDM_OP_READ, total, false);
	say_no_key(5);
	for (at = 0; at < total; at += EAGER)
		respond(at, total - at < EAGER ? total - at : EAGER, 0);
	assert_true(is_done());
	for (at = 0; at < total; at++)
		assert_int_equal(local[at], (uint8_t)at);
}

/* A response without what was asked for, or with more, breaks the protocol. */
static void of_wrong_length(void **state)
{
	struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_ATOMIC_RSP,
					      .payload = local,
					      .payload_len = EAGER - 1 };

	(void)state;
	start(OFI_RDM_OP_READ, 2 * EAGER, false);
	say_no_key(5);
	assert_int_equal(ofi_rdm_keys_answered(&op, &packet), OFI_RDM_WIRE_E_SHORT);
	packet.payload_len = EAGER + 1;
	assert_int_equal(ofi_rdm_keys_answered(&op, &packet), OFI_RDM_WIRE_E_SHORT);
	ofi_rdm_ops_fail(&peer, FI_ECONNABORTED);
	assert_true(is_done());
}

/* Data follows when all of the write has arrived; the target counts that, not the parts. */
static void data_comes_last(void **state)
{
	(void)state;
	start(OFI_RDM_OP_WRITE, 2 * EAGER, true);
	say_no_key(5);
	assert_int_equal(requests, 2);
	assert_int_equal(sent.flags, OFI_RDM_WIRE_PART);
	respond(0, 0, 0);
	assert_int_equal(events, 0);
	respond(0, 0, 0);
	assert_int_equal(events, 1);
	assert_false(is_done());
	ofi_rdm_op_done(&op, 0, 0);
	assert_true(is_done());
}

/* An empty operation has no parts. */
static void empty(void **state)
{
	(void)state;
	start(OFI_RDM_OP_WRITE, 0, true);
	say_no_key(5);
	assert_int_equal(requests, 0);
	assert_int_equal(events, 1);
	ofi_rdm_op_done(&op, 0, 0);
	assert_true(is_done());
	SLIST_INIT(&ep.free_ops);
	start(OFI_RDM_OP_READ, 0, false);
	say_no_key(5);
	assert_int_equal(events, 1);
	assert_true(is_done());
}

/* No part follows an error, and no event; the operation ends with the last response. */
static void an_error(void **state)
{
	int i;

	(void)state;
	start(OFI_RDM_OP_WRITE, 20 * EAGER, true);
	say_no_key(5);
	respond(0, 0, FI_EFAULT);
	for (i = 1; i < PARTS; i++) {
		assert_false(is_done());
		respond(0, 0, 0);
	}
	assert_true(is_done());
	assert_int_equal(op.err, FI_EFAULT);
	assert_int_equal(requests, PARTS);
	assert_int_equal(events, 0);
}

/* The device's queue is full, or there are no credits. */
static void waits_for_room(void **state)
{
	(void)state;
	start(OFI_RDM_OP_WRITE, 3 * EAGER, false);
	full = true;
	say_no_key(5);
	assert_int_equal(requests, 0);
	/* No completion and no answer would post it again. */
	assert_int_equal(retries, 1);
	full = false;
	peer.proto.flow.credits = 2;
	ofi_rdm_ops_pump(&peer);
	assert_int_equal(requests, 2);
	peer.proto.flow.credits = 1;
	ofi_rdm_ops_pump(&peer);
	assert_int_equal(requests, 3);
	ofi_rdm_ops_fail(&peer, FI_ECONNABORTED);
	assert_true(is_done());
	assert_int_equal(op.err, FI_ECONNABORTED);
}

/* The connection ends before the peer has said whether there is a key. */
static void a_connection_lost_before(void **state)
{
	(void)state;
	start(OFI_RDM_OP_WRITE, 3 * EAGER, false);
	assert_true(peer.asked);
	ofi_rdm_ops_fail(&peer, FI_ECONNABORTED);
	assert_true(is_done());
	assert_int_equal(op.err, FI_ECONNABORTED);
	assert_false(peer.asked);
}

/* The connection ends in the middle: the operation ends once. */
static void a_lost_connection(void **state)
{
	(void)state;
	start(OFI_RDM_OP_READ, 30 * EAGER, false);
	say_no_key(5);
	ofi_rdm_ops_fail(&peer, FI_ECONNABORTED);
	assert_true(is_done());
	assert_null(SLIST_NEXT(SLIST_FIRST(&ep.free_ops), unused));
	assert_true(TAILQ_EMPTY(&peer.answers) && STAILQ_EMPTY(&peer.ops));
}

/* The limit is that of the peer, and the next operation begins when there is room again. */
static void two_at_once(void **state)
{
	(void)state;
	start(OFI_RDM_OP_READ, 20 * EAGER, false);
	say_no_key(5);
	respond(0, EAGER, 0);
	respond(EAGER, EAGER, 0);
	respond(2 * EAGER, EAGER, 0);
	respond(3 * EAGER, EAGER, 0);
	assert_int_equal(requests, 20);
	other = (struct ofi_rdm_op){
		.kind = OFI_RDM_OP_READ,
		.id = 78,
		.peer = &peer,
		.total = EAGER,
		.flags = OFI_RDM_SILENT,
		.by_target = true,
		.local_count = 1,
		.local = { { .addr = local, .len = EAGER } },
		.remote_count = 1,
		.remote = { { .len = EAGER, .key = 5, .resolved = true } },
	};
	STAILQ_INSERT_TAIL(&peer.ops, &other, link);
	ofi_rdm_ops_pump(&peer);
	assert_int_equal(requests, 20);
	respond(4 * EAGER, EAGER, 0);
	assert_int_equal(requests, 21);
	ofi_rdm_ops_fail(&peer, FI_ECONNABORTED);
	assert_int_equal(peer.parts, 0);
}

/* Once one place is known to have no key, the keys of the others are not asked for. */
static void asks_once(void **state)
{
	(void)state;
	start(OFI_RDM_OP_READ, 3 * EAGER, false);
	op.remote[1].key = 6;
	say_no_key(5);
	assert_false(peer.asked);
	assert_int_equal(requests, 3);
	ofi_rdm_ops_fail(&peer, FI_ECONNABORTED);
}

#define CASE(test) cmocka_unit_test_setup(test, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(written_in_parts),
		CASE(read_in_parts),
		CASE(of_wrong_length),
		CASE(data_comes_last),
		CASE(empty),
		CASE(an_error),
		CASE(waits_for_room),
		CASE(a_connection_lost_before),
		CASE(a_lost_connection),
		CASE(two_at_once),
		CASE(asks_once),
	};

	return cmocka_run_group_tests_name("rdm_parts", tests, NULL, NULL);
}
