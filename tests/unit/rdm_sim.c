/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulator's applications and oracles. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/desc.h"
#include "rdm_sim.h"

struct sim sim;

void sim_check(bool truth, const char *what, int line)
{
	if (truth)
		return;
	fprintf(stderr, "seed %" PRIu64 ": line %d: not true: %s\n", sim.seed, line, what);
	abort();
}

static uint8_t pattern(int msg, size_t offset)
{
	return (uint8_t)((unsigned int)msg * 37 + offset * 11 + (offset >> 7));
}

struct sim_endpoint *sim_endpoint_at(int i)
{
	return &sim.eps[i];
}

static bool fits(const struct sim_recv *recv, const struct sim_msg *msg)
{
	return recv->tagged == !!(msg->flags & OFI_RDM_WIRE_TAGGED) &&
	       (recv->src == OFI_RDM_MATCH_ANY || recv->src == (uint32_t)msg->from) &&
	       !((recv->tag ^ msg->tag) & ~recv->ignore);
}

static void unpost(struct sim_endpoint *ep, struct sim_recv *recv)
{
	struct sim_recv **link = &ep->posted;

	while (*link && *link != recv)
		link = &(*link)->next;
	if (*link)
		*link = recv->next;
}

/* The oracle's part of giving a message to a receive. True if the receive takes no more. */
static bool expect(struct sim_recv *recv, int msg)
{
	size_t room = recv->len - recv->filled;
	size_t len = sim.msgs[msg].len;

	SIM_CHECK(!sim.of_msg[msg]);
	sim.of_msg[msg] = recv;
	recv->expects++;
	recv->filled += len < room ? len : room;
	return !recv->sticky || recv->len - recv->filled < recv->recv.min_free ||
	       recv->filled == recv->len;
}

static void forget_unexpected(struct sim_endpoint *ep, int at)
{
	ep->unexpected_count--;
	memmove(ep->unexpected + at, ep->unexpected + at + 1,
		(size_t)(ep->unexpected_count - at) * sizeof(int));
}

static int find_unexpected(const struct sim_endpoint *ep, const struct sim_recv *recv)
{
	int i;

	for (i = 0; i < ep->unexpected_count; i++) {
		if (fits(recv, &sim.msgs[ep->unexpected[i]]))
			return i;
	}
	return -1;
}

/*
 * The first packet of a message arrives: messages of a queue pair arrive in the order of their
 * sends.
 */
void sim_arrived(struct sim_qp *qp, const struct ofi_rdm_wire_packet *packet)
{
	struct sim_endpoint *ep = sim_endpoint_at(qp->to);
	struct sim_recv *recv;
	struct sim_msg *msg;
	int n;

	SIM_CHECK(qp->first != qp->last);
	n = qp->sent[qp->first++];
	msg = &sim.msgs[n];
	SIM_CHECK(!msg->arrived && msg->from == qp->from && msg->to == qp->to);
	SIM_CHECK(packet->tag == msg->tag);
	SIM_CHECK(msg->len == (packet->total ? packet->total : packet->payload_len));
	msg->arrived = true;
	for (recv = ep->posted; recv && !fits(recv, msg); recv = recv->next)
		;
	if (!recv)
		ep->unexpected[ep->unexpected_count++] = n;
	else if (expect(recv, n))
		unpost(ep, recv);
}

static int msg_of(const struct ofi_rdm_proto_done *done, struct sim_recv *recv)
{
	int n;

	/*
	 * CQ data carries the number; without it, it is the first that the receive still waits for.
	 */
	if (done->flags & OFI_RDM_WIRE_DATA)
		return (int)done->data;
	for (n = 0; n < sim.msg_count; n++) {
		if (sim.of_msg[n] == recv && !sim.msgs[n].delivered)
			return n;
	}
	return -1;
}

static void check_bytes(const struct ofi_rdm_proto_done *done, const struct sim_recv *recv, int n)
{
	size_t i, at = done->base;

	for (i = 0; i < done->len; i++)
		SIM_CHECK(recv->bytes[at + i] == pattern(n, i));
	if (!recv->sticky && at + done->len < recv->len)
		SIM_CHECK(recv->bytes[at + done->len] == 0xee);
}

static void check_message(const struct ofi_rdm_proto_done *done, struct sim_recv *recv)
{
	int n = msg_of(done, recv);
	struct sim_msg *msg;

	SIM_CHECK(n >= 0 && n < sim.msg_count && sim.of_msg[n] == recv);
	msg = &sim.msgs[n];
	SIM_CHECK(!msg->delivered && msg->from == (int)done->peer->src && msg->tag == done->tag);
	msg->delivered = true;
	recv->expects--;
	if (done->err && done->err != FI_ETRUNC) {
		SIM_CHECK(sim.options.failures || sim.options.reg_fails);
		SIM_CHECK(!done->len);
		sim.done_err++;
		return;
	}
	SIM_CHECK(done->len + done->lost == msg->len);
	SIM_CHECK(!done->lost == !done->err);
	sim.truncated += done->err == FI_ETRUNC;
	sim.done_ok++;
	check_bytes(done, recv, n);
}

void sim_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done)
{
	struct sim_recv *recv = (struct sim_recv *)done->recv;

	(void)proto;
	SIM_CHECK(recv->used);
	if (done->peer && !sim.hostile)
		check_message(done, recv);
	else if (!done->peer)
		SIM_CHECK(done->err == FI_ECANCELED && done->last);
	if (!done->last)
		return;
	SIM_CHECK(recv->expects == 0);
	recv->used = false;
	/* Nobody looks at it again. */
	memset(&recv->recv, 0xcc, sizeof(recv->recv));
}

void sim_out_done(struct ofi_rdm_proto_out *out, int err)
{
	struct sim_out *o = (struct sim_out *)out;
	struct sim_msg *msg;

	SIM_CHECK(o->msg >= 0);
	msg = &sim.msgs[o->msg];
	o->msg = -1;
	msg->done = true;
	if (sim.hostile)
		return;
	if (err) {
		SIM_CHECK(sim.options.failures || sim.options.reg_fails);
		sim.done_err++;
		return;
	}
	if (out->level >= OFI_RDM_PROTO_TRANSMIT)
		SIM_CHECK(msg->arrived);
	if (out->level == OFI_RDM_PROTO_DELIVERY)
		SIM_CHECK(msg->delivered);
	memset(o->bytes, 0xbb, sizeof(o->bytes));
}

/* In up to three pieces, one of which may be empty. */
static uint8_t split(struct iovec *iov, uint8_t *bytes, size_t len)
{
	size_t a = sim_random((uint32_t)len + 1), b;

	if (sim_random(2)) {
		iov[0] = (struct iovec){ bytes, len };
		return 1;
	}
	b = a + sim_random((uint32_t)(len - a) + 1);
	iov[0] = (struct iovec){ bytes, a };
	iov[1] = (struct iovec){ bytes + a, b - a };
	iov[2] = (struct iovec){ bytes + b, len - b };
	return 3;
}

static size_t some_length(void)
{
	switch (sim_random(4)) {
	case 0:
		return sim_random(SIM_EAGER + 1);
	case 1:
		return SIM_EAGER - 1 + sim_random(3);
	case 2:
		return sim_random(400);
	default:
		return sim_random(1200);
	}
}

uint64_t sim_tag(void)
{
	return sim_random(3) | (uint64_t)sim_random(2) << 40;
}

void sim_send(struct sim_endpoint *ep, int to)
{
	struct sim_qp *qp = &ep->qps[to];
	struct sim_msg *msg = &sim.msgs[sim.msg_count];
	struct sim_out *o;
	size_t i;

	for (o = ep->outs; o < ep->outs + SIM_OUTS && o->msg >= 0; o++)
		;
	if (o == ep->outs + SIM_OUTS || sim.msg_count == SIM_MSGS)
		return;
	*msg = (struct sim_msg){
		.from = (int)(ep - sim.eps),
		.to = to,
		.level = (uint8_t)sim_random(3),
		.flags = (uint8_t)sim_random(4),
		.len = some_length(),
	};
	/* A receive for several messages needs to tell them apart. */
	if (!(msg->flags & OFI_RDM_WIRE_TAGGED))
		msg->flags |= OFI_RDM_WIRE_DATA;
	msg->tag = msg->flags & OFI_RDM_WIRE_TAGGED ? sim_tag() : 0;
	o->msg = sim.msg_count++;
	for (i = 0; i < msg->len; i++)
		o->bytes[i] = pattern(o->msg, i);
	o->out.index = (uint32_t)(o - ep->outs);
	o->out.flags = msg->flags;
	o->out.level = msg->level;
	o->out.tag = msg->tag;
	o->out.data = (uint64_t)o->msg;
	o->out.count = split(o->out.iov, o->bytes, msg->len);
	qp->sent[qp->last++] = o->msg;
	ofi_rdm_proto_send(&qp->peer, &o->out);
}

struct sim_recv *sim_recv_new(struct sim_endpoint *ep)
{
	struct sim_recv *recv;

	for (recv = ep->recvs; recv < ep->recvs + SIM_RECVS && recv->used; recv++)
		;
	if (recv == ep->recvs + SIM_RECVS)
		return NULL;
	recv->tagged = sim_random(2);
	recv->sticky = !recv->tagged && !sim_random(3);
	recv->src = sim_random(3) ? sim_random((uint32_t)sim.options.endpoints) : OFI_RDM_MATCH_ANY;
	recv->tag = recv->tagged ? sim_tag() : 0;
	recv->ignore = !recv->tagged || sim_random(2) ? 0 : sim_random(2) ? UINT64_MAX : 3ULL << 40;
	recv->len = sim_random(3) ? 1200 : some_length();
	recv->filled = 0;
	recv->expects = 0;
	return recv;
}

void sim_recv_start(struct sim_recv *recv)
{
	recv->used = true;
	memset(&recv->recv, 0, sizeof(recv->recv));
	memset(recv->bytes, 0xee, recv->len + 1);
	recv->recv.count = split(recv->recv.iov, recv->bytes, recv->len);
	if (recv->recv.count == 1 && sim_random(2))
		recv->recv.desc = ofi_desc(SIM_LKEY, FI_HMEM_SYSTEM, true);
	recv->recv.space = recv->tagged ? OFI_RDM_PROTO_TAGGED : OFI_RDM_PROTO_UNTAGGED;
	recv->recv.match.sticky = recv->sticky;
	recv->recv.match.context = recv;
	recv->recv.min_free = recv->sticky ? sim_random(100) : 0;
}

void sim_recv_post(struct sim_endpoint *ep, struct sim_recv *recv)
{
	struct sim_recv **tail = &ep->posted;
	bool full = false;
	int at;

	sim_recv_start(recv);
	while (!full && (at = find_unexpected(ep, recv)) >= 0) {
		full = expect(recv, ep->unexpected[at]);
		forget_unexpected(ep, at);
	}
	if (!full) {
		while (*tail)
			tail = &(*tail)->next;
		recv->next = NULL;
		*tail = recv;
	}
	ofi_rdm_proto_recv_post(&ep->proto, &recv->recv, recv->src, recv->tag, recv->ignore);
}

/* FI_PEEK, alone or with FI_DISCARD, or with FI_CLAIM and then the receive or FI_DISCARD. */
void sim_peek(struct sim_endpoint *ep, struct sim_recv *want)
{
	int at = find_unexpected(ep, want), what = (int)sim_random(4), n;
	struct ofi_rdm_match *m = &ep->proto.match[want->tagged];
	struct ofi_rdm_proto_in *in;
	uint64_t tag = 0;

	in = ofi_rdm_proto_peek(&ep->proto, want->tagged, want->src, want->tag, want->ignore);
	SIM_CHECK(!in == (at < 0));
	if (!in)
		return;
	n = ep->unexpected[at];
	SIM_CHECK(in->total == sim.msgs[n].len && in->packet.tag == sim.msgs[n].tag);
	if (!what)
		return;
	forget_unexpected(ep, at);
	if (what == 1) {
		sim.msgs[n].delivered = true;
		ofi_rdm_proto_discard(in);
		return;
	}
	ofi_rdm_match_claim(m, &in->match, want);
	if (what == 2) {
		sim.msgs[n].delivered = true;
		SIM_CHECK(ofi_rdm_proto_discard_claimed(&ep->proto, want->tagged, want, &tag));
		SIM_CHECK(tag == sim.msgs[n].tag);
		return;
	}
	want->sticky = false;
	sim_recv_start(want);
	expect(want, n);
	SIM_CHECK(ofi_rdm_proto_recv_claimed(&ep->proto, &want->recv, want));
}

void sim_cancel(struct sim_endpoint *ep)
{
	struct sim_recv *recv = ep->posted;

	if (!recv) {
		SIM_CHECK(!ofi_rdm_proto_cancel(&ep->proto, true, ep));
		return;
	}
	unpost(ep, recv);
	SIM_CHECK(ofi_rdm_proto_cancel(&ep->proto, recv->tagged, recv));
}

/*
 * The unexpected messages of a peer that an endpoint keeps: the oracle records them before, by
 * state.
 */
void sim_forget_partial(struct sim_endpoint *ep, int from)
{
	bool partial[SIM_MSGS] = { false };
	struct ofi_rdm_match_msg *msg;
	int i, t, at, kept = 0;

	for (t = 0; t < 2; t++) {
		at = 0;
		TAILQ_FOREACH (msg, &ep->proto.match[t].msgs, order) {
			while (!!(sim.msgs[ep->unexpected[at]].flags & OFI_RDM_WIRE_TAGGED) != t)
				at++;
			partial[at++] =
				msg->src == (uint32_t)from &&
				((struct ofi_rdm_proto_in *)msg)->state != OFI_RDM_PROTO_IN_WHOLE;
		}
	}
	for (i = 0; i < ep->unexpected_count; i++) {
		if (!partial[i])
			ep->unexpected[kept++] = ep->unexpected[i];
	}
	ep->unexpected_count = kept;
}
