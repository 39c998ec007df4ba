/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arriving messages: delivered at once, kept until a receive is posted, or assembled from segments.
 */
#include <rdma/fi_errno.h>
#include "proto_int.h"
#include "prov/base/hmem_copy.h"

static struct ofi_rdm_match *match_of(struct ofi_rdm_proto_in *in)
{
	uint8_t flags = in->packet.flags;

	return &in->peer->proto->match[flags & OFI_RDM_WIRE_COLLECTIVE ? OFI_RDM_PROTO_COLLECTIVE
				       : flags & OFI_RDM_WIRE_TAGGED   ? OFI_RDM_PROTO_TAGGED
								       : OFI_RDM_PROTO_UNTAGGED];
}

OFI_OUTLINE int ofi_rdm_proto_store(const struct iovec *iov, uint8_t count, size_t offset,
				    const uint8_t *from, size_t len, bool device)
{
	size_t left, chunk;
	int err = 0;
	void *to;

	for (; len; len -= chunk, from += chunk, offset += chunk) {
		ofi_rdm_proto_iov_at(iov, count, offset, &to, &left);
		chunk = ofi_min(len, left);
		err |= ofi_hmem_store(device, to, from, chunk);
	}
	return err ? -FI_EIO : 0;
}

int ofi_rdm_proto_load(void *to, const struct iovec *iov, size_t count, bool device)
{
	uint8_t *bytes = to;
	int err = 0;

	for (; count--; iov++) {
		err |= ofi_hmem_load(device, bytes, iov->iov_base, iov->iov_len);
		bytes += iov->iov_len;
	}
	return err ? -FI_EIO : 0;
}

static void copy_in(struct ofi_rdm_proto_in *in, size_t offset, const uint8_t *from, size_t len)
{
	const struct ofi_rdm_proto_recv *recv = in->recv;
	bool device = in->peer->proto->config.device;
	int err;

	if (offset >= in->accept)
		return;
	len = ofi_min(len, in->accept - offset);
	offset += in->base;
	if (recv->count > 1)
		err = ofi_rdm_proto_store(recv->iov, recv->count, offset, from, len, device);
	else
		err = ofi_hmem_store(device, (uint8_t *)recv->iov[0].iov_base + offset, from, len);
	if (err && !in->err)
		in->err = FI_EIO;
}

static void in_attach(struct ofi_rdm_proto_in *in, struct ofi_rdm_proto_recv *recv)
{
	in->recv = recv;
	in->base = recv->used;
	in->accept = ofi_min(in->total, recv->len - recv->used);
	recv->users++;
	recv->used += in->accept;
	if (!recv->match.sticky || recv->len - recv->used < recv->min_free ||
	    recv->used == recv->len)
		recv->closed = true;
}

/*
 * Initializes a receive before its first message: one that the fast path has posted has no len yet.
 */
static void recv_begin(struct ofi_rdm_proto_recv *recv)
{
	uint8_t i;

	recv->len = recv->used = 0;
	recv->users = 0;
	recv->closed = recv->canceled = false;
	for (i = 0; i < recv->count; i++)
		recv->len += recv->iov[i].iov_len;
}

/*
 * Finds the posted receive for a message that has just arrived, and attaches it. Returns NULL if
 * there is none.
 */
static struct ofi_rdm_proto_recv *find_recv(struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_match *m = match_of(in);
	struct ofi_rdm_proto_recv *recv;

	recv = (struct ofi_rdm_proto_recv *)ofi_rdm_match_arrive(m, in->peer->src, in->packet.tag);
	if (!recv)
		return NULL;
	if (!recv->match.sticky)
		recv_begin(recv);
	in_attach(in, recv);
	if (recv->match.sticky && recv->closed)
		ofi_rdm_match_remove(m, &recv->match);
	return recv;
}

static void end_canceled(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv)
{
	const struct ofi_rdm_proto_done done = { .recv = recv, .last = true, .err = FI_ECANCELED };

	proto->ops->recv_done(proto, &done);
}

void ofi_rdm_proto_in_finish(struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_proto *proto = in->peer->proto;
	struct ofi_rdm_proto_recv *recv = in->recv;
	struct ofi_rdm_proto_done done = {
		.recv = recv,
		.peer = in->peer,
		.flags = in->packet.flags & (OFI_RDM_WIRE_TAGGED | OFI_RDM_WIRE_DATA),
		.tag = in->packet.tag,
		.data = in->packet.data,
		.base = in->base,
		.len = in->err ? 0 : in->accept,
		.lost = in->total - in->accept,
		.err = in->err,
	};
	bool ends;

	recv->users--;
	ends = recv->canceled && !recv->users;
	if (!done.err && done.lost)
		done.err = FI_ETRUNC;
	done.last = recv->closed && !recv->users && !recv->canceled;
	in->recv = NULL;
	/* This may free the receive, unless `ends` is set. */
	proto->ops->recv_done(proto, &done);
	if (ends)
		end_canceled(proto, recv);
}

static void release_parts(struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_proto_in *part;

	while ((part = STAILQ_FIRST(&in->parts))) {
		STAILQ_REMOVE_HEAD(&in->parts, part);
		part->state = OFI_RDM_PROTO_IN_FREE;
		in->peer->proto->xport.ops->release(part);
	}
}

/* Gives the charged bytes back to the budget, except `left`, which are still used. */
static void in_refund(struct ofi_rdm_proto_in *in, uint64_t left)
{
	ofi_rdm_flow_return(&in->peer->proto->budget, &in->peer->flow, in->charged - left);
	in->charged = left;
	in->promised = 0;
}

void ofi_rdm_proto_in_end(struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_proto_peer *peer = in->peer;

	if (in->working)
		TAILQ_REMOVE(&peer->readers, in, work);
	in->working = false;
	peer->in_count--;
	TAILQ_REMOVE(&peer->ins, in, link);
	ofi_rdm_proto_dereg(peer, in->mr, &in->mr_count);
	release_parts(in);
	in_refund(in, 0);
	in->discard = in->asked = false;
	in->err = 0;
	in->recv = NULL;
	in->state = OFI_RDM_PROTO_IN_FREE;
	peer->proto->xport.ops->release(in);
}

static bool wants_ack(const struct ofi_rdm_proto_in *in)
{
	return in->packet.flags & OFI_RDM_WIRE_WANT_ACK && in->peer->up &&
	       in->epoch == in->peer->epoch;
}

void ofi_rdm_proto_in_settle(struct ofi_rdm_proto_in *in)
{
	if (!wants_ack(in)) {
		ofi_rdm_proto_in_end(in);
		return;
	}
	in->state = OFI_RDM_PROTO_IN_ENDING;
	ofi_rdm_proto_owe(in->peer, &in->item, OFI_RDM_PROTO_OWES_ACK);
}

/* Sets all fields for a message whose first packet is parsed; its payload counts as arrived. */
static void in_begin(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_in *in)
{
	static const uint8_t states[] = {
		[OFI_RDM_WIRE_EAGER] = OFI_RDM_PROTO_IN_WHOLE,
		[OFI_RDM_WIRE_SEG_FIRST] = OFI_RDM_PROTO_IN_ASSEMBLING,
		[OFI_RDM_WIRE_RTS] = OFI_RDM_PROTO_IN_ANNOUNCED,
	};

	in->match.tag = in->packet.tag;
	in->match.src = peer->src;
	in->item.is_out = false;
	in->item.owes = OFI_RDM_PROTO_OWES_NOTHING;
	in->discard = in->working = in->asked = false;
	in->id = ofi_rdm_proto_id(++in->use, in->index);
	in->err = 0;
	in->epoch = peer->epoch;
	in->inflight = 0;
	in->peer = peer;
	in->recv = NULL;
	in->base = in->accept = 0;
	in->state = states[in->packet.type];
	in->got = in->packet.payload_len;
	in->total =
		in->packet.type == OFI_RDM_WIRE_EAGER ? in->packet.payload_len : in->packet.total;
	in->charged = in->promised = 0;
	in->mr_count = in->bound = 0;
	STAILQ_INIT(&in->parts);
}

struct ofi_rdm_proto_in *ofi_rdm_proto_in_keep(struct ofi_rdm_proto_in *in, bool payload,
					       bool *kept)
{
	struct ofi_rdm_proto_in *place = in->peer->proto->xport.ops->keep(in, payload);

	if (!place)
		return NULL;
	if (place != in) {
		place->id = ofi_rdm_proto_id(++place->use, place->index);
		in->state = OFI_RDM_PROTO_IN_FREE;
		in->recv = NULL;
		in->err = 0;
	}
	STAILQ_INIT(&place->parts);
	*kept = true;
	return place;
}

/* Charges the bytes of a message that is kept. */
static enum ofi_rdm_wire_error in_charge(struct ofi_rdm_proto_in *in, uint64_t bytes)
{
	struct ofi_rdm_proto_peer *peer = in->peer;

	if (in->promised >= bytes) {
		in->promised -= bytes;
		return OFI_RDM_WIRE_OK;
	}
	in->charged += bytes;
	return ofi_rdm_flow_charge(&peer->proto->budget, &peer->flow, bytes)
		       ? ofi_rdm_proto_exceeded(peer)
		       : OFI_RDM_WIRE_OK;
}

/* Keeps a message that waits for a receive, for more segments, or to send what it owes. */
static enum ofi_rdm_wire_error in_keep(struct ofi_rdm_proto_in *message, bool matched, bool *kept)
{
	struct ofi_rdm_proto_in *in = ofi_rdm_proto_in_keep(message, !matched, kept);

	if (!in) {
		message->err = FI_ENOMEM;
		if (matched && message->state != OFI_RDM_PROTO_IN_WHOLE)
			ofi_rdm_proto_in_finish(message);
		message->err = 0;
		message->state = OFI_RDM_PROTO_IN_FREE;
		return OFI_RDM_WIRE_E_MEMORY;
	}
	in->peer->in_count++;
	TAILQ_INSERT_TAIL(&in->peer->ins, in, link);
	if (in->state == OFI_RDM_PROTO_IN_ASSEMBLING)
		in->peer->assembling = in;
	if (!matched)
		ofi_rdm_match_queue(match_of(in), &in->match);
	else if (in->state == OFI_RDM_PROTO_IN_WHOLE)
		ofi_rdm_proto_in_settle(in);
	else if (in->state == OFI_RDM_PROTO_IN_ANNOUNCED)
		ofi_rdm_proto_rndv_start(in);
	return in_charge(in, in->cost);
}

enum ofi_rdm_wire_error ofi_rdm_proto_in_message(struct ofi_rdm_proto_peer *peer,
						 struct ofi_rdm_proto_in *in, bool *kept)
{
	struct ofi_rdm_proto_recv *recv;

	if (in->packet.type == OFI_RDM_WIRE_SEG_FIRST && peer->assembling)
		return OFI_RDM_WIRE_E_SEQUENCE;
	if (in->packet.flags & OFI_RDM_WIRE_COLLECTIVE &&
	    peer->proto->spaces < OFI_RDM_PROTO_SPACES)
		return OFI_RDM_WIRE_E_COLLECTIVE;
	in_begin(peer, in);
	recv = find_recv(in);
	if (recv && in->packet.payload_len)
		copy_in(in, 0, in->packet.payload, in->packet.payload_len);
	if (recv && in->state == OFI_RDM_PROTO_IN_WHOLE) {
		ofi_rdm_proto_in_finish(in);
		if (!wants_ack(in)) {
			in->err = 0;
			in->state = OFI_RDM_PROTO_IN_FREE;
			return OFI_RDM_WIRE_OK;
		}
	}
	return in_keep(in, recv, kept);
}

/* Ends a message whose bytes have all arrived, and its receive if it has one. */
static void complete_segments(struct ofi_rdm_proto_in *in)
{
	if (in->recv)
		ofi_rdm_proto_in_finish(in);
	ofi_rdm_proto_in_settle(in);
}

static enum ofi_rdm_wire_error keep_part(struct ofi_rdm_proto_in *message,
					 struct ofi_rdm_proto_in *packet, bool *kept)
{
	struct ofi_rdm_proto_in *part;

	packet->peer = message->peer;
	part = ofi_rdm_proto_in_keep(packet, true, kept);
	if (!part)
		return OFI_RDM_WIRE_E_MEMORY;
	part->state = OFI_RDM_PROTO_IN_PART;
	STAILQ_INSERT_TAIL(&message->parts, part, part);
	return in_charge(message, part->cost);
}

enum ofi_rdm_wire_error ofi_rdm_proto_in_segment(struct ofi_rdm_proto_peer *peer,
						 struct ofi_rdm_proto_in *in, bool *kept)
{
	const struct ofi_rdm_wire_packet *packet = &in->packet;
	struct ofi_rdm_proto_in *message = peer->assembling;
	enum ofi_rdm_wire_error error = OFI_RDM_WIRE_OK;

	if (!message && packet->type == OFI_RDM_WIRE_SEG_ASKED)
		message = peer->assembling = ofi_rdm_proto_rndv_asked_for(peer, packet->id);
	if (!message || message->packet.id != packet->id || message->got != packet->offset ||
	    packet->payload_len > message->total - message->got)
		return OFI_RDM_WIRE_E_SEQUENCE;
	if (message->recv) {
		copy_in(message, packet->offset, packet->payload, packet->payload_len);
	} else if (!message->discard) {
		error = keep_part(message, in, kept);
	}
	message->got += packet->payload_len;
	if (error || message->got < message->total)
		return error;
	peer->assembling = NULL;
	in_refund(message, message->charged - message->promised);
	message->state = OFI_RDM_PROTO_IN_WHOLE;
	if (message->recv || message->discard)
		complete_segments(message);
	return OFI_RDM_WIRE_OK;
}

/*
 * Delivers a message that has been removed from the unexpected queue. Returns true if the receive
 * takes no more messages; it may be freed then.
 */
static bool in_deliver(struct ofi_rdm_proto_in *in, struct ofi_rdm_proto_recv *recv)
{
	struct ofi_rdm_proto_peer *peer = in->peer;
	struct ofi_rdm_proto *proto = peer->proto;
	struct ofi_rdm_proto_in *part;
	bool closed;

	in_attach(in, recv);
	closed = recv->closed;
	copy_in(in, 0, in->packet.payload, in->packet.payload_len);
	STAILQ_FOREACH (part, &in->parts, part)
		copy_in(in, part->packet.offset, part->packet.payload, part->packet.payload_len);
	release_parts(in);
	in_refund(in, in->cost);
	if (in->state == OFI_RDM_PROTO_IN_ANNOUNCED)
		ofi_rdm_proto_rndv_start(in);
	else if (in->state == OFI_RDM_PROTO_IN_WHOLE)
		complete_segments(in);
	ofi_rdm_proto_progress(peer);
	ofi_rdm_proto_resume(proto);
	return closed;
}

void ofi_rdm_proto_recv_post(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv,
			     uint32_t src, uint64_t tag, uint64_t ignore)
{
	struct ofi_rdm_match *m = &proto->match[recv->space];
	struct ofi_rdm_match_msg *msg;

	recv_begin(recv);
	do {
		msg = ofi_rdm_match_post(m, &recv->match, src, tag, ignore);
	} while (msg && !in_deliver((struct ofi_rdm_proto_in *)msg, recv));
}

bool ofi_rdm_proto_recv_claimed(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv,
				const void *context)
{
	struct ofi_rdm_match_msg *msg =
		ofi_rdm_match_take_claim(&proto->match[recv->space], context);

	if (!msg)
		return false;
	recv_begin(recv);
	recv->match.sticky = false;
	in_deliver((struct ofi_rdm_proto_in *)msg, recv);
	return true;
}

struct ofi_rdm_proto_in *ofi_rdm_proto_peek(struct ofi_rdm_proto *proto, uint8_t space,
					    uint32_t src, uint64_t tag, uint64_t ignore)
{
	return (struct ofi_rdm_proto_in *)ofi_rdm_match_peek(&proto->match[space], src, tag,
							     ignore);
}

static void in_discard(struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_proto_peer *peer = in->peer;
	struct ofi_rdm_proto *proto = peer->proto;

	release_parts(in);
	in_refund(in, in->cost);
	in->discard = true;
	if (in->state == OFI_RDM_PROTO_IN_ANNOUNCED)
		ofi_rdm_proto_rndv_fin(in);
	else if (in->state == OFI_RDM_PROTO_IN_WHOLE)
		ofi_rdm_proto_in_settle(in);
	ofi_rdm_proto_progress(peer);
	ofi_rdm_proto_resume(proto);
}

void ofi_rdm_proto_discard(struct ofi_rdm_proto_in *in)
{
	ofi_rdm_match_drop(match_of(in), &in->match);
	in_discard(in);
}

bool ofi_rdm_proto_discard_claimed(struct ofi_rdm_proto *proto, bool tagged, const void *context,
				   uint64_t *tag)
{
	struct ofi_rdm_proto_in *in =
		(struct ofi_rdm_proto_in *)ofi_rdm_match_take_claim(&proto->match[tagged], context);

	if (!in)
		return false;
	*tag = in->packet.tag;
	in_discard(in);
	return true;
}

static void recv_cancel(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv)
{
	recv->closed = recv->canceled = true;
	if (!recv->users)
		end_canceled(proto, recv);
}

bool ofi_rdm_proto_cancel(struct ofi_rdm_proto *proto, bool tagged, const void *context)
{
	struct ofi_rdm_match_recv *recv = ofi_rdm_match_cancel(&proto->match[tagged], context);

	if (recv)
		recv_cancel(proto, (struct ofi_rdm_proto_recv *)recv);
	return recv;
}

/* Drops the rest of a message that arrives in segments. Returns false for other messages. */
static bool in_let_go(struct ofi_rdm_proto_in *in)
{
	if (in->state != OFI_RDM_PROTO_IN_ASSEMBLING)
		return false;
	in->recv = NULL;
	in->discard = true;
	return true;
}

bool ofi_rdm_proto_recv_withdraw(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_recv *recv)
{
	struct ofi_rdm_proto_in *in;

	if (!recv->users) {
		ofi_rdm_match_remove(&peer->proto->match[recv->space], &recv->match);
		return true;
	}
	TAILQ_FOREACH (in, &peer->ins, link)
		if (in->recv == recv)
			break;
	if (!in || in_let_go(in))
		return true;
	if (!in->err)
		in->err = FI_ECANCELED;
	ofi_rdm_proto_progress(peer);
	return false;
}

bool ofi_rdm_proto_recvs_withdraw(struct ofi_rdm_proto_peer *peer)
{
	struct ofi_rdm_proto_recv *recv;
	struct ofi_rdm_proto_in *in;
	bool left = false;

	TAILQ_FOREACH (in, &peer->ins, link) {
		recv = in->recv;
		if (recv && in_let_go(in) && !--recv->users)
			end_canceled(peer->proto, recv);
		left = left || in->recv;
	}
	return !left;
}

void ofi_rdm_proto_cancel_all(struct ofi_rdm_proto *proto)
{
	struct ofi_rdm_match_recv *recv;
	int space;

	for (space = 0; space < proto->spaces; space++) {
		while ((recv = ofi_rdm_match_first_recv(&proto->match[space]))) {
			ofi_rdm_match_remove(&proto->match[space], recv);
			recv_cancel(proto, (struct ofi_rdm_proto_recv *)recv);
		}
	}
}

static void drop_unexpected(struct ofi_rdm_proto_peer *peer, bool whole)
{
	struct ofi_rdm_proto_in *in, *next;

	for (in = TAILQ_FIRST(&peer->ins); in; in = next) {
		next = TAILQ_NEXT(in, link);
		if ((whole || in->state != OFI_RDM_PROTO_IN_WHOLE) &&
		    ofi_rdm_match_forget(match_of(in), &in->match))
			ofi_rdm_proto_in_end(in);
	}
}

/* The rest of what is claimed will not come. The receive of the claim completes with err. */
static void fail_claimed(struct ofi_rdm_proto_peer *peer, int err)
{
	struct ofi_rdm_proto_in *in;

	TAILQ_FOREACH (in, &peer->ins, link) {
		if (!in->match.claimed || in->state == OFI_RDM_PROTO_IN_WHOLE)
			continue;
		release_parts(in);
		in_refund(in, in->cost);
		in->err = err;
		in->state = OFI_RDM_PROTO_IN_WHOLE;
	}
}

void ofi_rdm_proto_in_fail_all(struct ofi_rdm_proto_peer *peer, int err)
{
	struct ofi_rdm_proto_in *in, *next;

	fail_claimed(peer, err);
	drop_unexpected(peer, false);
	for (in = TAILQ_FIRST(&peer->ins); in; in = next) {
		next = TAILQ_NEXT(in, link);
		if (in->state == OFI_RDM_PROTO_IN_WHOLE)
			continue;
		if (!in->err && in->state != OFI_RDM_PROTO_IN_REVOKING)
			in->err = err;
		/* The device may still be writing to the buffer. */
		if (in->inflight)
			continue;
		ofi_rdm_proto_dereg(peer, in->mr, &in->mr_count);
		if (in->recv)
			ofi_rdm_proto_in_finish(in);
		ofi_rdm_proto_in_end(in);
	}
}

void ofi_rdm_proto_peer_purge(struct ofi_rdm_proto_peer *peer)
{
	drop_unexpected(peer, true);
	ofi_rdm_proto_resume(peer->proto);
}
