/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages that arrive: delivered, kept until a receive is posted, put together from segments. */
#include <rdma/fi_errno.h>
#include "proto_int.h"

static struct vrb_match *match_of(struct vrb_proto_in *in)
{
	uint8_t flags = in->packet.flags;

	return &in->peer->proto->match[flags & VRB_WIRE_COLLECTIVE ? VRB_PROTO_COLLECTIVE
				       : flags & VRB_WIRE_TAGGED   ? VRB_PROTO_TAGGED
								   : VRB_PROTO_UNTAGGED];
}

static void copy_in(struct vrb_proto_in *in, size_t offset, const uint8_t *from, size_t len)
{
	const struct vrb_proto_recv *recv = in->recv;
	size_t left, chunk;
	void *to;

	if (offset >= in->accept)
		return;
	len = vrb_proto_min(len, in->accept - offset);
	for (; len; len -= chunk, from += chunk, offset += chunk) {
		vrb_proto_iov_at(recv->iov, recv->count, in->base + offset, &to, &left);
		chunk = vrb_proto_min(len, left);
		in->peer->proto->ops->copy(to, from, chunk);
	}
}

void vrb_proto_in_attach(struct vrb_proto_in *in, struct vrb_proto_recv *recv)
{
	in->recv = recv;
	in->base = recv->used;
	in->accept = vrb_proto_min(in->total, recv->len - recv->used);
	recv->users++;
	recv->used += in->accept;
	if (!recv->match.sticky || recv->len - recv->used < recv->min_free ||
	    recv->used == recv->len)
		recv->closed = true;
}

/* Before the first message; receives that are posted past the protocol have no len before. */
static void recv_begin(struct vrb_proto_recv *recv)
{
	uint8_t i;

	recv->len = recv->used = 0;
	recv->users = 0;
	recv->closed = recv->canceled = false;
	for (i = 0; i < recv->count; i++)
		recv->len += recv->iov[i].iov_len;
}

/* The posted receive for a message that just came; NULL if there is none. */
static struct vrb_proto_recv *find_recv(struct vrb_proto_in *in)
{
	struct vrb_match *m = match_of(in);
	struct vrb_proto_recv *recv;

	recv = (struct vrb_proto_recv *)vrb_match_arrive(m, in->peer->src, in->packet.tag);
	if (!recv)
		return NULL;
	if (!recv->match.sticky)
		recv_begin(recv);
	vrb_proto_in_attach(in, recv);
	if (recv->match.sticky && recv->closed)
		vrb_match_remove(m, &recv->match);
	return recv;
}

static void end_canceled(struct vrb_proto *proto, struct vrb_proto_recv *recv)
{
	const struct vrb_proto_done done = { .recv = recv, .last = true, .err = FI_ECANCELED };

	proto->ops->recv_done(proto, &done);
}

void vrb_proto_in_finish(struct vrb_proto_in *in)
{
	struct vrb_proto *proto = in->peer->proto;
	struct vrb_proto_recv *recv = in->recv;
	struct vrb_proto_done done = {
		.recv = recv,
		.src = in->peer->src,
		.flags = in->packet.flags & (VRB_WIRE_TAGGED | VRB_WIRE_DATA),
		.message = true,
		.tag = in->packet.tag,
		.data = in->packet.data,
		.base = in->base,
		.len = in->accept,
		.lost = in->total - in->accept,
		.err = in->err,
	};
	bool canceled = recv->canceled;

	recv->users--;
	if (!done.err && done.lost)
		done.err = FI_ETRUNC;
	done.last = recv->closed && !recv->users && !canceled;
	in->recv = NULL;
	/* The receive may be gone after. */
	if (canceled && !recv->users) {
		proto->ops->recv_done(proto, &done);
		end_canceled(proto, recv);
	} else {
		proto->ops->recv_done(proto, &done);
	}
}

static void release_parts(struct vrb_proto_in *in)
{
	struct vrb_proto_in *part;

	while ((part = STAILQ_FIRST(&in->parts))) {
		STAILQ_REMOVE_HEAD(&in->parts, part);
		part->state = VRB_PROTO_IN_FREE;
		in->peer->proto->ops->release(part);
	}
}

/* Of what it was charged with only so much is still there. */
static void refund(struct vrb_proto_in *in, uint64_t left)
{
	vrb_flow_return(&in->peer->proto->budget, &in->peer->flow, in->charged - left);
	in->charged = left;
}

void vrb_proto_in_end(struct vrb_proto_in *in)
{
	struct vrb_proto_peer *peer = in->peer;

	if (in->working)
		TAILQ_REMOVE(&peer->readers, in, work);
	in->working = false;
	TAILQ_REMOVE(&peer->ins, in, link);
	vrb_proto_dereg(peer, in->mr, &in->mr_count);
	release_parts(in);
	refund(in, 0);
	in->sink = in->asked = false;
	in->err = 0;
	in->recv = NULL;
	in->state = VRB_PROTO_IN_FREE;
	peer->proto->ops->release(in);
}

static bool wants_ack(const struct vrb_proto_in *in)
{
	return in->packet.flags & VRB_WIRE_WANT_ACK && in->peer->up && in->epoch == in->peer->epoch;
}

void vrb_proto_in_settle(struct vrb_proto_in *in)
{
	if (!wants_ack(in)) {
		vrb_proto_in_end(in);
		return;
	}
	in->state = VRB_PROTO_IN_ENDING;
	vrb_proto_owe(in->peer, &in->item, VRB_PROTO_OWES_ACK);
}

static void begin(struct vrb_proto_peer *peer, struct vrb_proto_in *in)
{
	in->match.tag = in->packet.tag;
	in->match.src = peer->src;
	in->item.is_out = false;
	in->item.owes = VRB_PROTO_OWES_NOTHING;
	in->sink = in->working = in->asked = false;
	in->id = vrb_proto_id(++in->use, in->index);
	in->err = 0;
	in->epoch = peer->epoch;
	in->inflight = 0;
	in->peer = peer;
	in->recv = NULL;
	in->base = in->accept = in->got = 0;
	in->total = in->packet.type == VRB_WIRE_EAGER ? in->packet.payload_len : in->packet.total;
	in->charged = 0;
	in->mr_count = in->bound = 0;
	STAILQ_INIT(&in->parts);
}

struct vrb_proto_in *vrb_proto_in_keep(struct vrb_proto_in *in, bool payload, bool *kept)
{
	struct vrb_proto_in *place = in->peer->proto->ops->keep(in, payload);

	if (!place)
		return NULL;
	if (place != in) {
		place->id = vrb_proto_id(++place->use, place->index);
		in->state = VRB_PROTO_IN_FREE;
	}
	STAILQ_INIT(&place->parts);
	*kept = true;
	return place;
}

/* Bytes of a message that is kept. */
static enum vrb_wire_error charge(struct vrb_proto_in *in, uint64_t bytes)
{
	struct vrb_proto_peer *peer = in->peer;

	in->charged += bytes;
	return vrb_flow_charge(&peer->proto->budget, &peer->flow, bytes) ? vrb_proto_exceeded(peer)
									 : VRB_WIRE_OK;
}

static void take_first(struct vrb_proto_in *in)
{
	switch (in->packet.type) {
	case VRB_WIRE_EAGER:
		in->state = VRB_PROTO_IN_WHOLE;
		in->got = in->total;
		break;
	case VRB_WIRE_SEG_FIRST:
		in->state = VRB_PROTO_IN_ASSEMBLING;
		in->got = in->packet.payload_len;
		break;
	default:
		in->state = VRB_PROTO_IN_ANNOUNCED;
		break;
	}
}

/* A message that waits for a receive, for more of it, or for what it owes. */
static enum vrb_wire_error stay(struct vrb_proto_in *message, bool matched, bool *kept)
{
	struct vrb_proto_in *in = vrb_proto_in_keep(message, !matched, kept);

	if (!in) {
		message->err = FI_ENOMEM;
		if (matched && message->state != VRB_PROTO_IN_WHOLE)
			vrb_proto_in_finish(message);
		message->state = VRB_PROTO_IN_FREE;
		return VRB_WIRE_E_MEMORY;
	}
	TAILQ_INSERT_TAIL(&in->peer->ins, in, link);
	if (in->state == VRB_PROTO_IN_ASSEMBLING)
		in->peer->assembling = in;
	if (!matched)
		vrb_match_queue(match_of(in), &in->match);
	else if (in->state == VRB_PROTO_IN_WHOLE)
		vrb_proto_in_settle(in);
	else if (in->state == VRB_PROTO_IN_ANNOUNCED)
		vrb_proto_rndv_start(in);
	return charge(in, in->cost);
}

enum vrb_wire_error vrb_proto_in_message(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
					 bool *kept)
{
	struct vrb_proto_recv *recv;

	if (in->packet.type == VRB_WIRE_SEG_FIRST && peer->assembling)
		return VRB_WIRE_E_SEQUENCE;
	if (in->packet.flags & VRB_WIRE_COLLECTIVE && peer->proto->spaces < VRB_PROTO_SPACES)
		return VRB_WIRE_E_COLLECTIVE;
	begin(peer, in);
	take_first(in);
	recv = find_recv(in);
	if (recv)
		copy_in(in, 0, in->packet.payload, in->packet.payload_len);
	if (recv && in->state == VRB_PROTO_IN_WHOLE) {
		vrb_proto_in_finish(in);
		if (!wants_ack(in)) {
			in->state = VRB_PROTO_IN_FREE;
			return VRB_WIRE_OK;
		}
	}
	return stay(in, recv, kept);
}

/* The last segment came, or all had come when the receive was posted. */
static void complete_segments(struct vrb_proto_in *in)
{
	if (in->recv)
		vrb_proto_in_finish(in);
	vrb_proto_in_settle(in);
}

static enum vrb_wire_error keep_part(struct vrb_proto_in *message, struct vrb_proto_in *packet,
				     bool *kept)
{
	struct vrb_proto_in *part;

	packet->peer = message->peer;
	part = vrb_proto_in_keep(packet, true, kept);
	if (!part)
		return VRB_WIRE_E_MEMORY;
	part->state = VRB_PROTO_IN_PART;
	STAILQ_INSERT_TAIL(&message->parts, part, part);
	return charge(message, part->cost);
}

static struct vrb_proto_in *find_asked(struct vrb_proto_peer *peer, uint32_t id)
{
	struct vrb_proto_in *in;

	TAILQ_FOREACH (in, &peer->ins, link)
		if (in->asked && in->state == VRB_PROTO_IN_ASSEMBLING && !in->item.owes &&
		    in->packet.id == id)
			break;
	return in;
}

enum vrb_wire_error vrb_proto_in_segment(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
					 bool *kept)
{
	const struct vrb_wire_packet *packet = &in->packet;
	struct vrb_proto_in *message = peer->assembling;
	enum vrb_wire_error error = VRB_WIRE_OK;

	if (!message && packet->type == VRB_WIRE_SEG_ASKED)
		message = peer->assembling = find_asked(peer, packet->id);
	if (!message || message->packet.id != packet->id || message->got != packet->offset ||
	    packet->payload_len > message->total - message->got)
		return VRB_WIRE_E_SEQUENCE;
	if (message->recv) {
		copy_in(message, packet->offset, packet->payload, packet->payload_len);
	} else if (!message->sink) {
		error = keep_part(message, in, kept);
	}
	message->got += packet->payload_len;
	if (error || message->got < message->total)
		return error;
	peer->assembling = NULL;
	message->state = VRB_PROTO_IN_WHOLE;
	if (message->recv || message->sink)
		complete_segments(message);
	return VRB_WIRE_OK;
}

/*
 * A message that was unexpected, and is queued no more, to its receive. True if that takes no more
 * messages; it may be gone then.
 */
static bool deliver(struct vrb_proto_in *in, struct vrb_proto_recv *recv)
{
	struct vrb_proto_peer *peer = in->peer;
	struct vrb_proto *proto = peer->proto;
	struct vrb_proto_in *part;
	bool closed;

	vrb_proto_in_attach(in, recv);
	closed = recv->closed;
	copy_in(in, 0, in->packet.payload, in->packet.payload_len);
	STAILQ_FOREACH (part, &in->parts, part)
		copy_in(in, part->packet.offset, part->packet.payload, part->packet.payload_len);
	release_parts(in);
	refund(in, in->cost);
	if (in->state == VRB_PROTO_IN_ANNOUNCED)
		vrb_proto_rndv_start(in);
	else if (in->state == VRB_PROTO_IN_WHOLE)
		complete_segments(in);
	vrb_proto_progress(peer);
	vrb_proto_resume(proto);
	return closed;
}

void vrb_proto_recv_post(struct vrb_proto *proto, struct vrb_proto_recv *recv, uint32_t src,
			 uint64_t tag, uint64_t ignore)
{
	struct vrb_match *m = &proto->match[recv->space];
	struct vrb_match_msg *msg;

	recv_begin(recv);
	do {
		msg = vrb_match_post(m, &recv->match, src, tag, ignore);
	} while (msg && !deliver((struct vrb_proto_in *)msg, recv));
}

bool vrb_proto_recv_claimed(struct vrb_proto *proto, struct vrb_proto_recv *recv,
			    const void *context)
{
	struct vrb_match_msg *msg = vrb_match_take_claim(&proto->match[recv->space], context);

	if (!msg)
		return false;
	recv_begin(recv);
	recv->match.sticky = false;
	deliver((struct vrb_proto_in *)msg, recv);
	return true;
}

struct vrb_proto_in *vrb_proto_peek(struct vrb_proto *proto, uint8_t space, uint32_t src,
				    uint64_t tag, uint64_t ignore)
{
	return (struct vrb_proto_in *)vrb_match_peek(&proto->match[space], src, tag, ignore);
}

static void discard(struct vrb_proto_in *in)
{
	struct vrb_proto_peer *peer = in->peer;
	struct vrb_proto *proto = peer->proto;

	release_parts(in);
	refund(in, in->cost);
	in->sink = true;
	if (in->state == VRB_PROTO_IN_ANNOUNCED)
		vrb_proto_rndv_fin(in);
	else if (in->state == VRB_PROTO_IN_WHOLE)
		vrb_proto_in_settle(in);
	vrb_proto_progress(peer);
	vrb_proto_resume(proto);
}

void vrb_proto_discard(struct vrb_proto_in *in)
{
	vrb_match_drop(match_of(in), &in->match);
	discard(in);
}

bool vrb_proto_discard_claimed(struct vrb_proto *proto, bool tagged, const void *context)
{
	struct vrb_match_msg *msg = vrb_match_take_claim(&proto->match[tagged], context);

	if (msg)
		discard((struct vrb_proto_in *)msg);
	return msg;
}

static void cancel(struct vrb_proto *proto, struct vrb_proto_recv *recv)
{
	recv->closed = recv->canceled = true;
	if (!recv->users)
		end_canceled(proto, recv);
}

bool vrb_proto_cancel(struct vrb_proto *proto, bool tagged, const void *context)
{
	struct vrb_match_recv *recv = vrb_match_cancel(&proto->match[tagged], context);

	if (recv)
		cancel(proto, (struct vrb_proto_recv *)recv);
	return recv;
}

bool vrb_proto_recv_withdraw(struct vrb_proto_peer *peer, struct vrb_proto_recv *recv)
{
	struct vrb_proto_in *in;

	if (!recv->users) {
		vrb_match_remove(&peer->proto->match[recv->space], &recv->match);
		return true;
	}
	TAILQ_FOREACH (in, &peer->ins, link)
		if (in->recv == recv)
			break;
	if (!in)
		return true;
	if (in->state == VRB_PROTO_IN_ASSEMBLING) {
		in->recv = NULL;
		in->sink = true;
		return true;
	}
	if (!in->err)
		in->err = FI_ECANCELED;
	vrb_proto_progress(peer);
	return false;
}

void vrb_proto_cancel_all(struct vrb_proto *proto)
{
	struct vrb_match_recv *recv;
	int space;

	for (space = 0; space < proto->spaces; space++) {
		while ((recv = vrb_match_first_recv(&proto->match[space]))) {
			vrb_match_remove(&proto->match[space], recv);
			cancel(proto, (struct vrb_proto_recv *)recv);
		}
	}
}

static bool is_incomplete(const struct vrb_match_msg *msg)
{
	return ((const struct vrb_proto_in *)msg)->state != VRB_PROTO_IN_WHOLE;
}

static void drop_unexpected(struct vrb_proto_peer *peer,
			    bool (*want)(const struct vrb_match_msg *msg))
{
	struct vrb_match_msgs out = TAILQ_HEAD_INITIALIZER(out);
	struct vrb_match_msg *msg;
	int space;

	for (space = 0; space < peer->proto->spaces; space++)
		vrb_match_take_peer(&peer->proto->match[space], peer->src, want, &out);
	while ((msg = TAILQ_FIRST(&out))) {
		TAILQ_REMOVE(&out, msg, order);
		vrb_proto_in_end((struct vrb_proto_in *)msg);
	}
}

void vrb_proto_in_fail_all(struct vrb_proto_peer *peer, int err)
{
	struct vrb_proto_in *in, *next;

	drop_unexpected(peer, is_incomplete);
	for (in = TAILQ_FIRST(&peer->ins); in; in = next) {
		next = TAILQ_NEXT(in, link);
		if (in->state == VRB_PROTO_IN_WHOLE)
			continue;
		if (!in->err && in->state != VRB_PROTO_IN_REVOKING)
			in->err = err;
		/* The device may still write to the buffer. */
		if (in->inflight)
			continue;
		vrb_proto_dereg(peer, in->mr, &in->mr_count);
		if (in->recv)
			vrb_proto_in_finish(in);
		vrb_proto_in_end(in);
	}
}

void vrb_proto_peer_purge(struct vrb_proto_peer *peer)
{
	drop_unexpected(peer, NULL);
	vrb_proto_resume(peer->proto);
}
