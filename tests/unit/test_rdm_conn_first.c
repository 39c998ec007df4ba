/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The message that travels in a request: when it counts, and that it is delivered once. */
#include "unit.h"
#include <string.h>

/* What the file calls of the endpoint, the address vector, the protocol and the letters. */
#define ofi_rdm_av_find		 fake_av_find
#define ofi_rdm_av_get		 fake_av_get
#define ofi_rdm_proto_first	 fake_first
#define ofi_rdm_proto_first_ends fake_first_ends
#define ofi_rdm_proto_take_first fake_take_first
#define vrb_rdm_rx_put		 fake_rx_put
#define vrb_rdm_refill		 fake_refill
#define vrb_ud_room		 fake_room
#define vrb_ud_first_in		 fake_first_in
#define vrb_ud_recv_take	 fake_recv_take
#define vrb_ud_delivered	 fake_delivered
#include "prov/verbs/rdm/conn_first.c"
#include "prov/rdm/op.h"
#include "prov/verbs/rdm/proof.h"

enum { NUMBER = 77, OTHER = 78, QPN = 5, KEY = 6, LEN = 40 };

static struct vrb_rc_ep rc;
static struct vrb_rc_peer peer;
static struct vrb_rc_conn conn;
static struct vrb_rdm_proof proof;
static struct vrb_rdm_rx rx;
static struct rdma_cm_event event;
static struct ofi_rdm_addr known;
static uint8_t buffer[LEN];
static size_t waiting, room_for, expected_room;
static bool again, is_known, no_buffer, refused, keeps;
static unsigned int taken, put, refills, ends;
static uint32_t said, mark_in;
static bool ended_delivered;

fi_addr_t ofi_rdm_av_find(struct ofi_rdm_av *av, const struct ofi_rdm_addr *addr)
{
	(void)av;
	assert_ptr_equal(addr, &peer.rdm.addr);
	return is_known ? 3 : FI_ADDR_NOTAVAIL;
}

bool ofi_rdm_av_get(struct ofi_rdm_av *av, fi_addr_t fi_addr, struct ofi_rdm_addr *addr)
{
	(void)av;
	assert_int_equal(fi_addr, 3);
	*addr = known;
	return true;
}

size_t ofi_rdm_proto_first(struct ofi_rdm_proto_peer *of, uint8_t *bytes, size_t room, bool *came)
{
	assert_ptr_equal(of, &peer.rdm.proto);
	assert_int_equal(room, expected_room);
	bytes[0] = 1;
	*came = again;
	return waiting;
}

void ofi_rdm_proto_first_ends(struct ofi_rdm_proto_peer *of, bool delivered)
{
	(void)of;
	ends++;
	ended_delivered = delivered;
}

bool ofi_rdm_proto_take_first(struct ofi_rdm_proto_peer *of, struct ofi_rdm_proto_in *in,
			      const void *bytes, size_t len, bool *kept)
{
	assert_ptr_equal(of, &peer.rdm.proto);
	assert_ptr_equal(in, &rx.in);
	assert_ptr_equal(bytes, buffer);
	assert_int_equal(len, LEN);
	assert_int_equal(buffer[LEN - 1], 9);
	*kept = keeps;
	taken++;
	return !refused;
}

void vrb_rdm_rx_put(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *from)
{
	assert_ptr_equal(ring, &rc.rx);
	assert_ptr_equal(from, &rx);
	put++;
}

void vrb_rdm_refill(struct ofi_rdm_ep *ep)
{
	assert_ptr_equal(ep, &rc.rdm);
	refills++;
}

size_t vrb_ud_room(const struct ofi_rdm_ep *ep, uint8_t len)
{
	(void)ep;
	return room_for + len;
}

const uint8_t *vrb_ud_first_in(const struct rdma_cm_event *from, size_t *len, uint32_t *mark)
{
	static uint8_t bytes[LEN];

	assert_ptr_equal(from, &event);
	bytes[LEN - 1] = 9;
	*len = LEN;
	*mark = mark_in;
	return mark_in ? bytes : NULL;
}

struct vrb_rdm_rx *vrb_ud_recv_take(struct ofi_rdm_ep *ep, size_t len)
{
	(void)ep;
	assert_int_equal(len, LEN);
	return no_buffer ? NULL : &rx;
}

uint32_t vrb_ud_delivered(const struct vrb_rc_conn *of)
{
	assert_ptr_equal(of, &conn);
	return said;
}

static int begin(void **state)
{
	(void)state;
	memset(&rc, 0, sizeof(rc));
	memset(&peer, 0, sizeof(peer));
	memset(&conn, 0, sizeof(conn));
	memset(&rx, 0, sizeof(rx));
	memset(&event, 0, sizeof(event));
	memset(&known, 0, sizeof(known));
	again = no_buffer = refused = keeps = false;
	is_known = true;
	taken = put = refills = ends = 0;
	waiting = LEN;
	room_for = 490;
	expected_room = 500;
	mark_in = NUMBER;
	conn.ep = peer.rdm.ep = &rc.rdm;
	STAILQ_INIT(&peer.rdm.ops);
	conn.peer = &peer.rdm;
	conn.qp_num = NUMBER;
	rc.conns.set.params.incarnation = 1;
	peer.policy.order = 1;
	rc.rx.above = 10;
	rx.sge.addr = (uintptr_t)buffer;
	event.param.ud.qp_num = QPN;
	event.param.ud.qkey = KEY;
	known.in.sin_family = AF_INET;
	ofi_rdm_addr_set_hint(&known, (struct ofi_rdm_addr_hint){ QPN, KEY });
	return 0;
}

/* Returns the mark of what the next request carries. */
static uint32_t next_mark(void)
{
	struct vrb_ud_first first;

	rc.conns.set.serial++;
	vrb_rdm_first_put(&conn, 10, &first);
	assert_int_equal(first.len, LEN);
	assert_int_equal(first.mark, peer.doubt);
	return first.mark;
}

static void a_message_keeps_its_mark(void **state)
{
	uint32_t mark = next_mark();

	(void)state;
	again = true;
	assert_int_equal(next_mark(), mark);
	again = false;
	assert_int_not_equal(next_mark(), mark);
}

/* The numbers of connections are random, so they may repeat. */
static void two_messages_have_different_marks(void **state)
{
	uint32_t marks[4];
	int i, j;

	(void)state;
	rc.conns.set.params.incarnation = UINT32_MAX - 2;
	for (i = 0; i < 4; i++) {
		marks[i] = next_mark();
		assert_int_not_equal(marks[i], 0);
		for (j = 0; j < i; j++)
			assert_int_not_equal(marks[i], marks[j]);
		vrb_rdm_first_end(&conn);
		assert_int_equal(peer.doubt, 0);
	}
}

/* The message may announce what a write that waits for the connection writes. */
static void it_does_not_overtake_a_write(void **state)
{
	struct vrb_ud_first first;
	struct ofi_rdm_op op;

	(void)state;
	STAILQ_INSERT_TAIL(&peer.rdm.ops, &op, link);
	vrb_rdm_first_put(&conn, 10, &first);
	assert_int_equal(first.len, 0);
	STAILQ_REMOVE_HEAD(&peer.rdm.ops, link);
	vrb_rdm_first_put(&conn, 10, &first);
	assert_int_equal(first.len, LEN);
}

/* A packet of an Elastic Fabric Adapter has more room. */
static void a_message_is_not_longer_than_its_place(void **state)
{
	struct vrb_ud_first first;

	(void)state;
	room_for = 8700;
	expected_room = sizeof(first.bytes);
	vrb_rdm_first_put(&conn, 10, &first);
	assert_int_equal(first.len, LEN);
}

/* Neither does anything travel to the endpoint itself. */
static void nothing_travels_with_a_secret(void **state)
{
	struct vrb_ud_first first;

	(void)state;
	conn.proof = &proof;
	vrb_rdm_first_put(&conn, 10, &first);
	assert_int_equal(first.len, 0);
	conn.proof = NULL;
	peer.policy.order = 0;
	vrb_rdm_first_put(&conn, 10, &first);
	assert_int_equal(first.len, 0);
	assert_int_equal(peer.doubt, 0);
}

static void a_message_is_delivered_once(void **state)
{
	(void)state;
	vrb_rdm_first_take(&conn, &event);
	assert_int_equal(taken, 1);
	assert_int_equal(put, 1);
	assert_int_equal(peer.delivered, NUMBER);
	assert_int_equal(rc.rx.above, 9);
	vrb_rdm_first_take(&conn, &event);
	assert_int_equal(taken, 1);
	mark_in = OTHER;
	keeps = true;
	rc.rx.above = 0;
	vrb_rdm_first_take(&conn, &event);
	assert_int_equal(taken, 2);
	assert_int_equal(put, 1);
	assert_int_equal(refills, 1);
	assert_int_equal(peer.delivered, OTHER);
}

static void expect_not_taken(void)
{
	vrb_rdm_first_take(&conn, &event);
	assert_int_equal(taken, 0);
	assert_int_equal(peer.delivered, 0);
}

static void messages_of_strangers_do_not_count(void **state)
{
	(void)state;
	is_known = false;
	expect_not_taken();
	is_known = true;
	event.param.ud.qkey++;
	expect_not_taken();
	event.param.ud.qkey--;
	event.param.ud.qp_num++;
	expect_not_taken();
	event.param.ud.qp_num--;
	ofi_rdm_addr_set_hint(&known, (struct ofi_rdm_addr_hint){ 0 });
	expect_not_taken();
	/* Then the key is a part of the address. */
	known.sa.sa_family = OFI_AF_QP;
	vrb_rdm_first_take(&conn, &event);
	assert_int_equal(taken, 1);
}

static void a_message_without_a_proof_does_not_count(void **state)
{
	(void)state;
	conn.proof = &proof;
	expect_not_taken();
	conn.proof = NULL;
	conn.mirror = true;
	expect_not_taken();
}

static void a_message_that_is_not_delivered_may_come_again(void **state)
{
	(void)state;
	no_buffer = true;
	expect_not_taken();
	no_buffer = false;
	mark_in = 0;
	expect_not_taken();
	mark_in = NUMBER;
	refused = true;
	vrb_rdm_first_take(&conn, &event);
	assert_int_equal(taken, 1);
	assert_int_equal(put, 1);
	assert_int_equal(peer.delivered, 0);
}

static void the_peer_says_whether_it_was_delivered(void **state)
{
	(void)state;
	said = NUMBER;
	vrb_rdm_first_end(&conn);
	assert_int_equal(ends, 0);
	peer.doubt = NUMBER;
	vrb_rdm_first_end(&conn);
	assert_int_equal(ends, 1);
	assert_true(ended_delivered);
	assert_int_equal(peer.doubt, 0);
	peer.doubt = OTHER;
	vrb_rdm_first_end(&conn);
	assert_int_equal(ends, 2);
	assert_false(ended_delivered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_message_keeps_its_mark, begin),
		cmocka_unit_test_setup(two_messages_have_different_marks, begin),
		cmocka_unit_test_setup(it_does_not_overtake_a_write, begin),
		cmocka_unit_test_setup(a_message_is_not_longer_than_its_place, begin),
		cmocka_unit_test_setup(nothing_travels_with_a_secret, begin),
		cmocka_unit_test_setup(a_message_is_delivered_once, begin),
		cmocka_unit_test_setup(messages_of_strangers_do_not_count, begin),
		cmocka_unit_test_setup(a_message_without_a_proof_does_not_count, begin),
		cmocka_unit_test_setup(a_message_that_is_not_delivered_may_come_again, begin),
		cmocka_unit_test_setup(the_peer_says_whether_it_was_delivered, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
