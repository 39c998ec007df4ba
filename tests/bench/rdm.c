/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The pure modules of reliable datagrams under callgrind, one operation per call of a function that
 * is not inlined; tests/bench/count-rdm runs it. Argument: how many other receives or messages are
 * queued.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/proto.h"

#if __has_attribute(noipa)
#define ROW __attribute__((noinline, noipa))
#else
#define ROW __attribute__((noinline))
#endif

enum { ROUNDS = 1000, BITS = 13, DEEPEST = 100000 };

static struct ofi_rdm_match_node *buckets[4][1 << BITS];
static struct ofi_rdm_match_recv *recvs;
static struct ofi_rdm_match_msg *msgs;
static struct ofi_rdm_proto proto;
static struct ofi_rdm_proto_peer peer;

ROW void *row_post(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv, uint64_t tag);
ROW void *row_post(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv, uint64_t tag)
{
	return ofi_rdm_match_post(m, recv, 3, tag, 0);
}

ROW void *row_post_any(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv, uint64_t tag);
ROW void *row_post_any(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv, uint64_t tag)
{
	return ofi_rdm_match_post(m, recv, OFI_RDM_MATCH_ANY, tag, 0xff);
}

ROW void *row_arrive(struct ofi_rdm_match *m, uint64_t tag);
ROW void *row_arrive(struct ofi_rdm_match *m, uint64_t tag)
{
	return ofi_rdm_match_arrive(m, 3, tag);
}

/* Receives of two classes are posted. */
ROW void *row_arrive_2(struct ofi_rdm_match *m, uint64_t tag);
ROW void *row_arrive_2(struct ofi_rdm_match *m, uint64_t tag)
{
	return ofi_rdm_match_arrive(m, 3, tag);
}

ROW void row_queue(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg);
ROW void row_queue(struct ofi_rdm_match *m, struct ofi_rdm_match_msg *msg)
{
	ofi_rdm_match_queue(m, msg);
}

/* A receive finds its message among the unexpected ones. */
ROW void *row_post_hit(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv, uint64_t tag);
ROW void *row_post_hit(struct ofi_rdm_match *m, struct ofi_rdm_match_recv *recv, uint64_t tag)
{
	return ofi_rdm_match_post(m, recv, 3, tag, 0);
}

ROW size_t row_build(struct ofi_rdm_wire_fast *fast, uint64_t tag);
ROW size_t row_build(struct ofi_rdm_wire_fast *fast, uint64_t tag)
{
	return ofi_rdm_wire_build_fast(fast, true, tag);
}

/* The check of an eager packet and the lookup of its peer; the caller's own code is not counted. */
ROW void *row_bypass(const void *bytes, size_t len);
ROW void *row_bypass(const void *bytes, size_t len)
{
	bool unexpected;

	if (!ofi_rdm_wire_is_fast(bytes, len, true))
		return NULL;
	return ofi_rdm_proto_bypass(&peer, true, ofi_rdm_wire_fast_tag(bytes), &unexpected);
}

ROW enum ofi_rdm_wire_error row_parse(const void *bytes, size_t len,
				      struct ofi_rdm_wire_packet *packet);
ROW enum ofi_rdm_wire_error row_parse(const void *bytes, size_t len,
				      struct ofi_rdm_wire_packet *packet)
{
	return ofi_rdm_wire_parse(bytes, len, packet);
}

static void need(bool truth)
{
	if (!truth)
		abort();
}

static void start(struct ofi_rdm_match *m, int pair)
{
	memset(buckets, 0, sizeof(buckets));
	ofi_rdm_match_init(m, buckets[2 * pair], buckets[2 * pair + 1], BITS);
}

static uint64_t tag_of(int i)
{
	return (uint64_t)i << 8;
}

static void run_posted(struct ofi_rdm_match *m, int depth)
{
	int i;

	start(m, 1);
	for (i = 0; i < depth; i++)
		need(!ofi_rdm_match_post(m, &recvs[i], 3, tag_of(i), 0));
	for (i = depth; i < depth + ROUNDS; i++) {
		need(!row_post(m, &recvs[i], tag_of(i)));
		need(row_arrive(m, tag_of(i)) == &recvs[i]);
	}
	/* One receive of the first class stays in any case. */
	start(m, 1);
	for (i = 0; i <= depth; i++)
		need(!ofi_rdm_match_post(m, &recvs[i], 3, tag_of(i), 0));
	for (; i <= 2 * depth; i++)
		need(!ofi_rdm_match_post(m, &recvs[i], OFI_RDM_MATCH_ANY, tag_of(i), 0xff));
	for (; i <= 2 * depth + ROUNDS; i++) {
		need(!row_post_any(m, &recvs[i], tag_of(i)));
		need(row_arrive_2(m, tag_of(i)) == &recvs[i]);
	}
}

static void run_unexpected(struct ofi_rdm_match *m, int depth)
{
	int i;

	start(m, 1);
	for (i = 0; i < depth + ROUNDS; i++) {
		msgs[i].src = 3;
		msgs[i].tag = tag_of(i);
	}
	for (i = 0; i < depth; i++)
		ofi_rdm_match_queue(m, &msgs[i]);
	/* The first search makes the index. */
	need(!ofi_rdm_match_peek(m, 3, 1, 0));
	for (i = depth; i < depth + ROUNDS; i++) {
		row_queue(m, &msgs[i]);
		need(row_post_hit(m, &recvs[0], tag_of(i)) == &msgs[i]);
	}
}

static void run_packets(struct ofi_rdm_match *m)
{
	struct ofi_rdm_wire_packet packet;
	struct ofi_rdm_wire_fast fast;
	int i;

	start(m, 1);
	ofi_rdm_proto_peer_init(&proto, &peer, 3);
	for (i = 0; i < ROUNDS; i++) {
		need(!ofi_rdm_match_post(m, &recvs[0], 3, tag_of(i), 0));
		need(row_build(&fast, tag_of(i)) == sizeof(fast));
		need(!row_parse(&fast, sizeof(fast), &packet));
		need(row_bypass(&fast, sizeof(fast)));
	}
}

int main(int argc, char **argv)
{
	int depth = argc > 1 ? atoi(argv[1]) : 0;

	if (depth < 0 || depth > DEEPEST)
		return 2;
	recvs = calloc(2 * (size_t)depth + ROUNDS + 1, sizeof(*recvs));
	msgs = calloc((size_t)depth + ROUNDS, sizeof(*msgs));
	need(recvs && msgs);
	run_posted(&proto.match[1], depth);
	run_unexpected(&proto.match[1], depth);
	run_packets(&proto.match[1]);
	free(recvs);
	free(msgs);
	return 0;
}
