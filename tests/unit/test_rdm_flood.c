/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many peers send what nobody receives: what the endpoint keeps stays within the limit, everything
 * sent is received in the end, and a peer that ignores HALT is detected.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/proto.h"
#include "src/ds/clock.h"

enum { PEERS = 100, WINDOW = 8, LIMIT = 100000, COST = 600, LEN = 8, BITS = 6, PACKET = 128 };

/* A peer of the endpoint; its application sends whenever it may, and takes completions later. */
struct far {
	struct ofi_rdm_proto_peer peer; /* first */
	enum ofi_rdm_wire_type heard;	/* STOP, GO or HALT that it has taken; 0 */
	enum ofi_rdm_wire_type coming;	/* that its device has */
	struct ofi_rdm_proto_out *wr;	/* of ours, that is not complete */
	bool pending;
	unsigned int posted; /* packets since it took completions */
	unsigned int sent, received;
	size_t bytes; /* that we sent to it */
};

struct kept {
	struct ofi_rdm_proto_in in; /* first */
	uint8_t bytes[PACKET];
};

static struct ofi_rdm_proto proto;
static struct ofi_rdm_match_node *buckets[4][1 << BITS];
static struct far *fars;
static uint64_t most;

static int op_send(struct ofi_rdm_proto_peer *peer, const void *hdr, size_t hdr_len,
		   const struct iovec *iov, size_t offset, size_t len,
		   struct ofi_rdm_proto_out *out)
{
	struct far *far = (struct far *)peer;
	struct ofi_rdm_wire_packet packet;

	(void)iov;
	(void)offset;
	far->bytes += len;
	if (len)
		return 0;
	assert_int_equal(ofi_rdm_wire_parse(hdr, hdr_len, &packet), OFI_RDM_WIRE_OK);
	far->coming = packet.type;
	far->wr = out;
	far->pending = true;
	return 0;
}

static struct ofi_rdm_proto_in *op_keep(struct ofi_rdm_proto_in *in, bool payload)
{
	struct kept *kept = calloc(1, sizeof(*kept));

	(void)payload;
	assert_non_null(kept);
	kept->in = *in;
	kept->in.cost = COST;
	memcpy(kept->bytes, in->packet.payload, in->packet.payload_len);
	kept->in.packet.payload = kept->bytes;
	return &kept->in;
}

static void op_release(struct ofi_rdm_proto_in *in)
{
	free(in);
}

static void op_recv_done(struct ofi_rdm_proto *of, const struct ofi_rdm_proto_done *done)
{
	struct far *far = &fars[done->peer->src];
	unsigned int number;

	(void)of;
	assert_int_equal(done->err, 0);
	memcpy(&number, done->recv->iov[0].iov_base, sizeof(number));
	assert_int_equal(number, far->received++);
}

static void op_out_done(struct ofi_rdm_proto_out *out, int err)
{
	(void)out;
	assert_int_equal(err, 0);
}

static const struct ofi_rdm_proto_ops ops = { .recv_done = op_recv_done, .out_done = op_out_done };
static const struct ofi_rdm_xport_ops xport_ops = {
	.send = op_send,
	.keep = op_keep,
	.release = op_release,
};

/* What was posted to it has come, and our completion too. */
static void deliver(struct far *far)
{
	if (!far->pending)
		return;
	far->pending = false;
	ofi_rdm_proto_sent(&far->peer, far->wr, 0);
}

static enum ofi_rdm_wire_error come(struct far *far)
{
	struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_EAGER,
					      .flags = OFI_RDM_WIRE_TAGGED };
	uint8_t bytes[PACKET] = { 0 };
	struct ofi_rdm_proto_in in = { 0 };
	size_t header = ofi_rdm_wire_build(bytes, &packet);
	enum ofi_rdm_wire_error error;
	bool kept;

	memcpy(bytes + header, &far->sent, sizeof(far->sent));
	far->sent++;
	error = ofi_rdm_proto_packet(&far->peer, &in, bytes, header + LEN, &kept);
	if (proto.budget.used > most)
		most = proto.budget.used;
	return error;
}

/* One that keeps to the rules, at their worst: it sends all that it may before it looks. */
static unsigned int send_all(struct far *far, unsigned int want)
{
	unsigned int before = far->sent;

	while (far->sent - before < want) {
		if (far->posted == WINDOW) {
			deliver(far);
			far->heard = far->coming;
			far->posted = 0;
		}
		if (far->heard == OFI_RDM_WIRE_HALT)
			break;
		far->posted++;
		assert_int_equal(come(far), OFI_RDM_WIRE_OK);
	}
	return far->sent - before;
}

static void receive(unsigned int count)
{
	static struct ofi_rdm_proto_recv recv;
	static uint64_t buffer;

	while (count--) {
		recv = (struct ofi_rdm_proto_recv){ .count = 1, .space = OFI_RDM_PROTO_TAGGED };
		recv.iov[0] = (struct iovec){ &buffer, sizeof(buffer) };
		ofi_rdm_proto_recv_post(&proto, &recv, OFI_RDM_MATCH_ANY, 0, UINT64_MAX);
	}
}

static int begin(void **state)
{
	const struct ofi_rdm_proto_config config = { .unexpected = LIMIT };
	const struct ofi_rdm_xport xport = {
		.ops = &xport_ops,
		.props = {
			.ordered = true,
			.reliable = true,
			.delivers = true,
			.window = WINDOW,
			.max_packet = OFI_RDM_WIRE_HEADER_MAX + 512,
		},
	};
	uint32_t i;

	(void)state;
	memset(buckets, 0, sizeof(buckets));
	assert_int_equal(ofi_rdm_proto_init(&proto, &ops, &xport, &config), 0);
	ofi_rdm_match_init(&proto.match[0], buckets[0], buckets[1], BITS);
	ofi_rdm_match_init(&proto.match[1], buckets[2], buckets[3], BITS);
	fars = calloc(PEERS, sizeof(*fars));
	assert_non_null(fars);
	for (i = 0; i < PEERS; i++) {
		ofi_rdm_proto_peer_init(&proto, &fars[i].peer, i);
		ofi_rdm_proto_peer_up(&fars[i].peer, 16, 4, 512);
	}
	most = 0;
	return 0;
}

static int end(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < PEERS; i++) {
		ofi_rdm_proto_peer_down(&fars[i].peer, FI_ECONNABORTED);
		ofi_rdm_proto_peer_purge(&fars[i].peer);
	}
	assert_int_equal(proto.budget.used, 0);
	assert_int_equal(proto.budget.peers, 0);
	free(fars);
	return 0;
}

/* Each wants to send 2,000, in turns; nobody receives, and then somebody does. */
static void many_are_bounded(void **state)
{
	enum { EACH = 2000 };
	unsigned int i, left, kept = 0;

	(void)state;
	for (i = 0; i < EACH; i++)
		kept += send_all(&fars[i % PEERS], EACH / 10);
	assert_true(kept < PEERS * EACH / 10);
	assert_true(most > 2 * LIMIT);
	assert_true(most <= 3 * LIMIT + PEERS * WINDOW * COST);
	do {
		receive(proto.match[1].msg_count ? 1 : 0);
		for (i = 0, left = 0; i < PEERS; i++) {
			deliver(&fars[i]);
			fars[i].heard = fars[i].coming;
			if (fars[i].sent < EACH / 10)
				send_all(&fars[i], 1);
			left += EACH / 10 > fars[i].received;
		}
		assert_true(most <= 3 * LIMIT + PEERS * WINDOW * COST);
	} while (left && proto.match[1].msg_count);
	assert_int_equal(left, 0);
	for (i = 0; i < PEERS; i++)
		assert_true(fars[i].received >= EACH / 10);
}

/* One floods, and what it has is all there may be; another one has its share nevertheless. */
static void one_leaves_room_for_others(void **state)
{
	(void)state;
	send_all(&fars[0], 10000);
	assert_int_equal(fars[0].heard, OFI_RDM_WIRE_HALT);
	assert_true(proto.budget.used > 2 * LIMIT);
	assert_int_equal(send_all(&fars[1], 1), 1);
	deliver(&fars[1]);
	assert_int_not_equal(fars[1].coming, OFI_RDM_WIRE_HALT);
	receive(fars[0].sent - 1);
	deliver(&fars[0]);
	assert_int_equal(fars[0].coming, OFI_RDM_WIRE_GO);
}

/* As many as were on their way are accepted, and no more. */
static void who_does_not_heed_is_found_out(void **state)
{
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_OK;
	unsigned int after;

	(void)state;
	send_all(&fars[0], 10000);
	assert_int_equal(fars[0].coming, OFI_RDM_WIRE_HALT);
	for (after = 0; !error; after++)
		error = come(&fars[0]);
	assert_int_equal(error, OFI_RDM_WIRE_E_FLOOD);
	assert_int_equal(after, 2 * WINDOW + 1);
}

/* Its device takes nothing: there is no completion that tells whether it has the HALT. */
static void who_takes_nothing_is_bounded(void **state)
{
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_OK;
	unsigned int i;

	(void)state;
	for (i = 0; !error && i < 100000; i++)
		error = come(&fars[0]);
	assert_int_equal(error, OFI_RDM_WIRE_E_FLOOD);
	assert_true(most <= proto.budget.most + COST);
	assert_true(most > 2 * LIMIT + 2 * WINDOW * COST);
}

/* A HALT that comes late is not one that was taken back and said again. */
static void only_the_last_halt_counts(void **state)
{
	struct ofi_rdm_proto_out *first;
	struct far *far = &fars[0];
	unsigned int i;

	(void)state;
	while (far->coming != OFI_RDM_WIRE_HALT)
		assert_int_equal(come(far), OFI_RDM_WIRE_OK);
	first = far->wr;
	receive(far->sent);
	assert_int_equal(far->coming, OFI_RDM_WIRE_GO);
	while (far->coming != OFI_RDM_WIRE_HALT)
		assert_int_equal(come(far), OFI_RDM_WIRE_OK);
	ofi_rdm_proto_sent(&far->peer, first, 0);
	for (i = 0; i < 2 * WINDOW; i++)
		assert_int_equal(come(far), OFI_RDM_WIRE_OK);
	deliver(far);
	for (i = 0; i < 2 * WINDOW; i++)
		assert_int_equal(come(far), OFI_RDM_WIRE_OK);
	assert_int_equal(come(far), OFI_RDM_WIRE_E_FLOOD);
}

static void packet_comes(struct far *far, struct ofi_rdm_wire_packet packet, size_t len)
{
	static struct ofi_rdm_proto_in in;
	static uint8_t bytes[PACKET];
	bool kept;

	in = (struct ofi_rdm_proto_in){ 0 };
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(ofi_rdm_proto_packet(&far->peer, &in, bytes,
					      ofi_rdm_wire_build(bytes, &packet) + len, &kept),
			 OFI_RDM_WIRE_OK);
}

/* Sends a message in packets, of which a HALT comes after the first. Returns what goes on. */
static size_t sent_after_halt(struct far *far, size_t total)
{
	static uint8_t bytes[4 * WINDOW * 512];
	struct ofi_rdm_proto_out out = { .level = OFI_RDM_PROTO_TRANSMIT, .count = 1 };
	size_t sent;

	proto.config.segmented = sizeof(bytes);
	out.iov[0] = (struct iovec){ bytes, total };
	far->bytes = 0;
	far->peer.flow.credits = 5;
	ofi_rdm_proto_send(&far->peer, &out);
	assert_int_equal(far->bytes, 512);
	packet_comes(far, (struct ofi_rdm_wire_packet){ .type = OFI_RDM_WIRE_HALT }, 0);
	far->peer.flow.credits = 40;
	ofi_rdm_proto_progress(&far->peer);
	sent = far->bytes;
	packet_comes(far, (struct ofi_rdm_wire_packet){ .type = OFI_RDM_WIRE_GO }, 0);
	assert_int_equal(far->bytes, total);
	while (out.state != OFI_RDM_PROTO_OUT_FREE)
		ofi_rdm_proto_sent(&far->peer, &out, 0);
	return sent;
}

static void what_has_begun_goes_on(void **state)
{
	(void)state;
	assert_int_equal(sent_after_halt(&fars[0], 4 * 512), 4 * 512);
	assert_int_equal(sent_after_halt(&fars[1], (WINDOW + 1) * 512), (WINDOW + 1) * 512);
	assert_int_equal(sent_after_halt(&fars[2], (WINDOW + 2) * 512), 512);
}

/*
 * Peers connect, leave unexpected messages, and disconnect: the next ones are limited at once,
 * whatever their share.
 */
static void those_who_are_gone_count(void **state)
{
	unsigned int i, first;

	(void)state;
	for (i = 1; i < PEERS; i++)
		ofi_rdm_proto_peer_down(&fars[i].peer, FI_ECONNABORTED);
	for (i = 0; i < PEERS; i++) {
		if (i)
			ofi_rdm_proto_peer_up(&fars[i].peer, 16, 4, 512);
		first = fars[i].sent;
		send_all(&fars[i], 10000);
		assert_true(fars[i].sent > first);
		ofi_rdm_proto_peer_down(&fars[i].peer, FI_ECONNABORTED);
	}
	assert_true(most > 4 * LIMIT);
	assert_true(most <= 4 * LIMIT + PEERS * (WINDOW + 1) * COST);
}

/* The end of a peer does not search what others have sent. */
static void the_end_of_a_peer_is_quick(void **state)
{
	enum { MANY = 100000, TIMES = 5 };
	struct ofi_rdm_match_msg *msgs = calloc(MANY, sizeof(*msgs));
	uint64_t start;
	unsigned int i;

	(void)state;
	assert_non_null(msgs);
	for (i = 0; i < MANY; i++)
		ofi_rdm_match_queue(&proto.match[0], &msgs[i]);
	start = ofi_now_ms();
	for (i = 0; i < TIMES * PEERS; i++)
		if (i % PEERS)
			ofi_rdm_proto_peer_purge(&fars[i % PEERS].peer);
	assert_in_range(ofi_now_ms() - start, 0, 500);
	for (i = 0; i < MANY; i++)
		ofi_rdm_match_drop(&proto.match[0], &msgs[i]);
	free(msgs);
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(many_are_bounded),
		CASE(one_leaves_room_for_others),
		CASE(who_does_not_heed_is_found_out),
		CASE(who_takes_nothing_is_bounded),
		CASE(only_the_last_halt_counts),
		CASE(what_has_begun_goes_on),
		CASE(those_who_are_gone_count),
		CASE(the_end_of_a_peer_is_quick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
