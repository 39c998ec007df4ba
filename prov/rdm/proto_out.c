/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages being sent: the queue, the choice of method, packets, completion. */
#include <string.h>
#include <rdma/fi_errno.h>
#include "proto_int.h"

/* Removes empty entries from the list and computes the total. */
static void sum_up(struct ofi_rdm_proto_out *out)
{
	uint8_t i, n = 0;

	for (i = 0; i < out->count; i++) {
		if (!out->iov[i].iov_len)
			continue;
		out->total += out->iov[i].iov_len;
		out->iov[n++] = out->iov[i];
	}
	out->count = n;
}

void ofi_rdm_proto_send(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_out *out)
{
	out->item.is_out = true;
	out->item.owes = OFI_RDM_PROTO_OWES_NOTHING;
	out->state = OFI_RDM_PROTO_OUT_QUEUED;
	out->segments = out->asked = out->acked = out->fin_sent = out->working = false;
	out->decided = out->early = false;
	out->id = ofi_rdm_proto_id(++out->use, out->index);
	out->err = 0;
	out->inflight = 0;
	out->peer = peer;
	out->sent = out->total = 0;
	out->cts = NULL;
	out->mr_count = out->bound = 0;
	sum_up(out);
	peer->out_count++;
	TAILQ_INSERT_TAIL(&peer->outs, out, link);
	STAILQ_INSERT_TAIL(&peer->flow.data, &out->item.node, link);
	if (STAILQ_FIRST(&peer->flow.data) == &out->item.node)
		ofi_rdm_proto_progress(peer);
}

void ofi_rdm_proto_unsend(struct ofi_rdm_proto_out *out)
{
	struct ofi_rdm_proto_peer *peer = out->peer;

	peer->out_count--;
	TAILQ_REMOVE(&peer->outs, out, link);
	STAILQ_REMOVE(&peer->flow.data, &out->item.node, ofi_rdm_flow_node, link);
	out->state = OFI_RDM_PROTO_OUT_FREE;
}

bool ofi_rdm_proto_cancel_out(struct ofi_rdm_proto_peer *peer, const void *context)
{
	struct ofi_rdm_proto_out *out;

	TAILQ_FOREACH (out, &peer->outs, link)
		if (out->context == context && !ofi_rdm_proto_has_begun(out) && !out->early &&
		    !(out->flags & OFI_RDM_WIRE_COLLECTIVE))
			break;
	if (!out)
		return false;
	STAILQ_REMOVE(&peer->flow.data, &out->item.node, ofi_rdm_flow_node, link);
	ofi_rdm_proto_out_fail(out, FI_ECANCELED);
	return true;
}

bool ofi_rdm_proto_send_from(struct ofi_rdm_proto_out *out, void *copy)
{
	if (ofi_rdm_proto_is_granted(out->mr, out->bound))
		return false;
	ofi_rdm_proto_dereg(out->peer, out->mr, &out->mr_count);
	out->bound = 0;
	out->iov[0] = (struct iovec){ copy, out->total };
	out->count = 1;
	return true;
}

static void proto_out_finish(struct ofi_rdm_proto_out *out)
{
	struct ofi_rdm_proto_peer *peer = out->peer;
	const struct ofi_rdm_proto_ops *ops = peer->proto->ops;

	peer->out_count--;
	TAILQ_REMOVE(&peer->outs, out, link);
	if (out->working)
		TAILQ_REMOVE(&peer->writers, out, work);
	ofi_rdm_proto_dereg(peer, out->mr, &out->mr_count);
	if (out->cts) {
		out->cts->state = OFI_RDM_PROTO_IN_FREE;
		peer->proto->xport.ops->release(out->cts);
	}
	out->state = OFI_RDM_PROTO_OUT_FREE;
	ops->out_done(out, out->err);
}

static bool waits_for_ack(const struct ofi_rdm_proto_out *out)
{
	return out->level == OFI_RDM_PROTO_DELIVERY && !out->acked;
}

/* Ends the message once nobody else has access to its memory. Its result is known. */
static void out_end(struct ofi_rdm_proto_out *out)
{
	out->decided = true;
	if (out->peer->up && ofi_rdm_proto_is_granted(out->mr, out->bound))
		ofi_rdm_proto_owe(out->peer, &out->item, OFI_RDM_PROTO_OWES_REVOKE);
	else
		proto_out_finish(out);
}

/* Ends a message that failed. Tells a receiver that waits for RDMA writes that none will come. */
static void out_fail(struct ofi_rdm_proto_out *out)
{
	if (out->state == OFI_RDM_PROTO_OUT_WRITING && !out->fin_sent && out->peer->up)
		ofi_rdm_proto_owe(out->peer, &out->item, OFI_RDM_PROTO_OWES_FIN);
	else
		out_end(out);
}

void ofi_rdm_proto_out_check(struct ofi_rdm_proto_out *out)
{
	if (out->inflight || out->state == OFI_RDM_PROTO_OUT_QUEUED || out->item.owes)
		return;
	if (out->err) {
		out_fail(out);
		return;
	}
	switch (out->state) {
	case OFI_RDM_PROTO_OUT_SENT:
		if (!waits_for_ack(out))
			out_end(out);
		break;
	case OFI_RDM_PROTO_OUT_WAITING:
		if (out->acked)
			out_end(out);
		break;
	case OFI_RDM_PROTO_OUT_WRITING:
		if (out->fin_sent && !waits_for_ack(out))
			out_end(out);
		else if (!out->fin_sent && out->sent == out->cts->packet.total)
			ofi_rdm_proto_owe(out->peer, &out->item, OFI_RDM_PROTO_OWES_FIN);
		break;
	default:
		break;
	}
}

void ofi_rdm_proto_out_fail(struct ofi_rdm_proto_out *out, int err)
{
	if (!out->err && !out->decided)
		out->err = err;
	if (out->state == OFI_RDM_PROTO_OUT_QUEUED)
		out->state = OFI_RDM_PROTO_OUT_SENT;
	ofi_rdm_proto_out_check(out);
}

struct ofi_rdm_proto_out *ofi_rdm_proto_out_find(struct ofi_rdm_proto_peer *peer, uint32_t id,
						 enum ofi_rdm_proto_out_state state)
{
	struct ofi_rdm_proto_out *out;

	out = peer->proto->ops->out_at(peer, ofi_rdm_proto_index(id));
	if (!out || out->peer != peer || out->id != id || out->state != state)
		return NULL;
	return out;
}

/* Builds the header of a single-packet message or of a first segment. */
static struct ofi_rdm_wire_packet out_packet(const struct ofi_rdm_proto_out *out,
					     enum ofi_rdm_wire_type type)
{
	struct ofi_rdm_wire_packet packet = {
		.type = type,
		.flags = out->flags,
		.id = out->level == OFI_RDM_PROTO_DELIVERY || type != OFI_RDM_WIRE_EAGER ? out->id
											 : 0,
		.tag = out->tag,
		.data = out->data,
		.total = out->total,
	};

	if (out->level == OFI_RDM_PROTO_DELIVERY)
		packet.flags |= OFI_RDM_WIRE_WANT_ACK;
	return packet;
}

/*
 * Returns true if the message waits for the completion of its next packet. Packets complete in
 * order, so one that the next follows at once needs no completion of its own.
 */
static bool is_tracked(const struct ofi_rdm_proto_out *out, size_t len)
{
	const struct ofi_rdm_flow *flow = &out->peer->flow;

	return out->level != OFI_RDM_PROTO_INJECT &&
	       (out->sent + len == out->total || flow->credits <= flow->reserve + 1);
}

/*
 * Sends a packet with the next bytes of the message and dequeues the message after the last one.
 * Returns 0 or -FI_EAGAIN.
 */
static int send_bytes(struct ofi_rdm_proto_out *out, const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_proto_peer *peer = out->peer;
	size_t len = ofi_min(out->total - out->sent, peer->eager);
	bool tracked = is_tracked(out, len);
	uint8_t header[OFI_RDM_WIRE_HEADER_MAX];
	int ret;

	ret = peer->proto->xport.ops->send(peer, header, ofi_rdm_wire_build(header, packet),
					   out->iov, out->sent, len, tracked ? out : NULL);
	if (ret)
		return ret;
	ofi_rdm_flow_take(&peer->flow);
	out->inflight += tracked;
	out->sent += len;
	if (out->sent == out->total) {
		STAILQ_REMOVE_HEAD(&peer->flow.data, link);
		out->state = OFI_RDM_PROTO_OUT_SENT;
		ofi_rdm_proto_out_check(out);
	}
	return 0;
}

static int send_segment(struct ofi_rdm_proto_out *out)
{
	struct ofi_rdm_wire_packet packet;

	out->segments = true;
	if (!out->sent && !out->asked)
		packet = out_packet(out, OFI_RDM_WIRE_SEG_FIRST);
	else
		packet = (struct ofi_rdm_wire_packet){
			.type = out->asked ? OFI_RDM_WIRE_SEG_ASKED : OFI_RDM_WIRE_SEG_NEXT,
			.id = out->id,
			.offset = out->sent,
		};
	return send_bytes(out, &packet);
}

static int send_eager(struct ofi_rdm_proto_out *out)
{
	struct ofi_rdm_wire_packet packet = out_packet(out, OFI_RDM_WIRE_EAGER);

	return send_bytes(out, &packet);
}

/* Returns the message whose packet may travel with a request, or NULL. */
static struct ofi_rdm_proto_out *first_out(const struct ofi_rdm_proto_peer *peer)
{
	struct ofi_rdm_flow_node *node = STAILQ_FIRST(&peer->flow.data);

	return node && !peer->up ? ofi_rdm_proto_out_of(node) : NULL;
}

size_t ofi_rdm_proto_first(struct ofi_rdm_proto_peer *peer, uint8_t *bytes, size_t room,
			   bool *again)
{
	struct ofi_rdm_proto_out *out = first_out(peer);
	struct ofi_rdm_wire_packet packet;
	uint8_t header[OFI_RDM_WIRE_HEADER_MAX];
	size_t len;

	if (!out || out->segments || out->sent || out->err || out->level == OFI_RDM_PROTO_DELIVERY)
		return 0;
	packet = out_packet(out, OFI_RDM_WIRE_EAGER);
	len = ofi_rdm_wire_build(header, &packet);
	if (out->total > peer->proto->eager || len + out->total > room ||
	    ofi_rdm_proto_load(bytes + len, out->iov, out->count, peer->proto->config.device))
		return 0;
	memcpy(bytes, header, len);
	*again = out->early;
	out->early = true;
	return len + out->total;
}

void ofi_rdm_proto_first_ends(struct ofi_rdm_proto_peer *peer, bool delivered)
{
	struct ofi_rdm_proto_out *out = first_out(peer);

	/* The message may have failed meanwhile. */
	if (!out || !out->early)
		return;
	out->early = false;
	if (!delivered)
		return;
	STAILQ_REMOVE_HEAD(&peer->flow.data, link);
	out->sent = out->total;
	out->state = OFI_RDM_PROTO_OUT_SENT;
	ofi_rdm_proto_out_check(out);
}

/*
 * Queues the message ahead of those that a HALT may block, but not between the segments of another
 * message.
 */
void ofi_rdm_proto_out_segment(struct ofi_rdm_proto_out *out)
{
	struct ofi_rdm_flow_queue *data = &out->peer->flow.data;
	struct ofi_rdm_flow_node *first = STAILQ_FIRST(data);

	out->segments = out->asked = true;
	out->sent = 0;
	out->state = OFI_RDM_PROTO_OUT_QUEUED;
	if (first && ofi_rdm_proto_out_of(first)->sent)
		STAILQ_INSERT_AFTER(data, first, &out->item.node, link);
	else
		STAILQ_INSERT_HEAD(data, &out->item.node, link);
}

/* Sends the next packet of the first message in the queue. */
static int out_push(struct ofi_rdm_proto_out *out)
{
	const struct ofi_rdm_proto_peer *peer = out->peer;
	bool stopped = peer->flow.stopped && out->total > OFI_RDM_PROTO_SMALL;
	size_t segmented = peer->proto->config.segmented;
	size_t largest = segmented > peer->eager ? segmented : peer->eager;
	int ret;

	if (out->segments)
		return send_segment(out);
	if (stopped || out->total > largest) {
		ret = ofi_rdm_proto_rndv_announce(out);
		if (!ret || ret == -FI_EAGAIN)
			return ret;
	}
	return out->total <= peer->eager ? send_eager(out) : send_segment(out);
}

/*
 * A message that has begun goes on, because a receive may have matched it. Whoever sends HALT
 * accepts one more window of packets.
 */
static bool is_blocked(const struct ofi_rdm_proto_out *out)
{
	const struct ofi_rdm_proto_peer *peer = out->peer;

	if (out->asked)
		return false;
	if (!out->sent)
		return peer->flow.halted || peer->held;
	return peer->flow.halted &&
	       out->total - out->sent > (uint64_t)peer->proto->xport.props.window * peer->eager;
}

void ofi_rdm_proto_out_pump(struct ofi_rdm_proto_peer *peer)
{
	struct ofi_rdm_proto_out *out;

	while (!STAILQ_EMPTY(&peer->flow.data)) {
		out = ofi_rdm_proto_out_of(STAILQ_FIRST(&peer->flow.data));
		if (is_blocked(out))
			return;
		if (out->err) {
			STAILQ_REMOVE_HEAD(&peer->flow.data, link);
			ofi_rdm_proto_out_fail(out, out->err);
			continue;
		}
		if (!ofi_rdm_flow_has_data_credit(&peer->flow) || out_push(out))
			return;
	}
}
