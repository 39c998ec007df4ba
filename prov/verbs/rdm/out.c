/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages being sent: the queue, the choice of protocol, packets, completion. */
#include <rdma/fi_errno.h>
#include "proto_int.h"

/* Leaves out the empty parts of the list. */
static void sum_up(struct vrb_proto_out *out)
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

void vrb_proto_send(struct vrb_proto_peer *peer, struct vrb_proto_out *out)
{
	out->item.is_out = true;
	out->item.owes = VRB_PROTO_OWES_NOTHING;
	out->state = VRB_PROTO_OUT_QUEUED;
	out->segments = out->asked = out->acked = out->fin_sent = out->working = false;
	out->decided = false;
	out->id = vrb_proto_id(++out->use, out->index);
	out->err = 0;
	out->inflight = 0;
	out->peer = peer;
	out->sent = out->total = 0;
	out->cts = NULL;
	out->mr_count = out->bound = 0;
	sum_up(out);
	TAILQ_INSERT_TAIL(&peer->outs, out, link);
	STAILQ_INSERT_TAIL(&peer->flow.data, &out->item.node, link);
	if (STAILQ_FIRST(&peer->flow.data) == &out->item.node)
		vrb_proto_progress(peer);
}

bool vrb_proto_send_from(struct vrb_proto_out *out, void *copy)
{
	if (vrb_proto_is_granted(out->mr, out->bound))
		return false;
	vrb_proto_dereg(out->peer, out->mr, &out->mr_count);
	out->bound = 0;
	out->iov[0] = (struct iovec){ copy, out->total };
	out->count = 1;
	return true;
}

static void finish(struct vrb_proto_out *out)
{
	struct vrb_proto_peer *peer = out->peer;
	const struct vrb_proto_ops *ops = peer->proto->ops;

	TAILQ_REMOVE(&peer->outs, out, link);
	if (out->working)
		TAILQ_REMOVE(&peer->writers, out, work);
	vrb_proto_dereg(peer, out->mr, &out->mr_count);
	if (out->cts) {
		out->cts->state = VRB_PROTO_IN_FREE;
		ops->release(out->cts);
	}
	out->state = VRB_PROTO_OUT_FREE;
	ops->out_done(out, out->err);
}

static bool waits_for_ack(const struct vrb_proto_out *out)
{
	return out->level == VRB_PROTO_DELIVERY && !out->acked;
}

/* It is decided how it ends, and it does when nobody else has access to its memory. */
static void end(struct vrb_proto_out *out)
{
	out->decided = true;
	if (out->peer->up && vrb_proto_is_granted(out->mr, out->bound))
		vrb_proto_owe(out->peer, &out->item, VRB_PROTO_OWES_REVOKE);
	else
		finish(out);
}

/* A receiver that waits for writes is told that there will be none. */
static void fail(struct vrb_proto_out *out)
{
	if (out->state == VRB_PROTO_OUT_WRITING && !out->fin_sent && out->peer->up)
		vrb_proto_owe(out->peer, &out->item, VRB_PROTO_OWES_FIN);
	else
		end(out);
}

void vrb_proto_out_check(struct vrb_proto_out *out)
{
	if (out->inflight || out->state == VRB_PROTO_OUT_QUEUED || out->item.owes)
		return;
	if (out->err) {
		fail(out);
		return;
	}
	switch (out->state) {
	case VRB_PROTO_OUT_SENT:
		if (!waits_for_ack(out))
			end(out);
		break;
	case VRB_PROTO_OUT_WAITING:
		if (out->acked)
			end(out);
		break;
	case VRB_PROTO_OUT_WRITING:
		if (out->fin_sent && !waits_for_ack(out))
			end(out);
		else if (!out->fin_sent && out->sent == out->cts->packet.total)
			vrb_proto_owe(out->peer, &out->item, VRB_PROTO_OWES_FIN);
		break;
	default:
		break;
	}
}

void vrb_proto_out_fail(struct vrb_proto_out *out, int err)
{
	if (!out->err && !out->decided)
		out->err = err;
	if (out->state == VRB_PROTO_OUT_QUEUED)
		out->state = VRB_PROTO_OUT_SENT;
	vrb_proto_out_check(out);
}

struct vrb_proto_out *vrb_proto_out_find(struct vrb_proto_peer *peer, uint32_t id,
					 enum vrb_proto_out_state state)
{
	struct vrb_proto_out *out;

	out = peer->proto->ops->out_at(peer->proto, vrb_proto_index(id));
	if (!out || out->peer != peer || out->id != id || out->state != state)
		return NULL;
	return out;
}

/* Of a message of one packet or of a first segment. */
static struct vrb_wire_packet describe(const struct vrb_proto_out *out, enum vrb_wire_type type)
{
	struct vrb_wire_packet packet = {
		.type = type,
		.flags = out->flags,
		.id = out->level == VRB_PROTO_DELIVERY || type != VRB_WIRE_EAGER ? out->id : 0,
		.tag = out->tag,
		.data = out->data,
		.total = out->total,
	};

	if (out->level == VRB_PROTO_DELIVERY)
		packet.flags |= VRB_WIRE_WANT_ACK;
	return packet;
}

/* A packet with the next bytes of the message; the last takes it out of the queue. 0 or -FI_EAGAIN. */
static int send_bytes(struct vrb_proto_out *out, const struct vrb_wire_packet *packet)
{
	struct vrb_proto_peer *peer = out->peer;
	bool tracked = out->level != VRB_PROTO_INJECT;
	size_t len = vrb_proto_min(out->total - out->sent, peer->eager);
	uint8_t header[VRB_WIRE_HEADER_MAX];
	int ret;

	ret = peer->proto->ops->send(peer, header, vrb_wire_build(header, packet), out->iov,
				     out->sent, len, tracked ? out : NULL);
	if (ret)
		return ret;
	vrb_flow_take(&peer->flow);
	out->inflight += tracked;
	out->sent += len;
	if (out->sent == out->total) {
		STAILQ_REMOVE_HEAD(&peer->flow.data, link);
		out->state = VRB_PROTO_OUT_SENT;
		vrb_proto_out_check(out);
	}
	return 0;
}

static int send_segment(struct vrb_proto_out *out)
{
	struct vrb_wire_packet packet = { .type = VRB_WIRE_SEG_NEXT };

	out->segments = true;
	if (!out->sent && !out->asked) {
		packet = describe(out, VRB_WIRE_SEG_FIRST);
	} else {
		packet.type = out->asked ? VRB_WIRE_SEG_ASKED : VRB_WIRE_SEG_NEXT;
		packet.id = out->id;
		packet.offset = out->sent;
	}
	return send_bytes(out, &packet);
}

static int send_eager(struct vrb_proto_out *out)
{
	struct vrb_wire_packet packet = describe(out, VRB_WIRE_EAGER);

	packet.total = 0;
	return send_bytes(out, &packet);
}

/* Before what waits, which a HALT may keep back; but segments of two messages don't mix. */
void vrb_proto_out_segment(struct vrb_proto_out *out)
{
	struct vrb_flow_queue *data = &out->peer->flow.data;
	struct vrb_flow_node *first = STAILQ_FIRST(data);

	out->segments = out->asked = true;
	out->sent = 0;
	out->state = VRB_PROTO_OUT_QUEUED;
	if (first && vrb_proto_out_of(first)->sent)
		STAILQ_INSERT_AFTER(data, first, &out->item.node, link);
	else
		STAILQ_INSERT_HEAD(data, &out->item.node, link);
}

static int announce(struct vrb_proto_out *out)
{
	int ret = vrb_proto_rndv_announce(out);

	if (!ret)
		STAILQ_REMOVE_HEAD(&out->peer->flow.data, link);
	return ret;
}

/* The next packet of the first in the queue. */
static int push(struct vrb_proto_out *out)
{
	const struct vrb_proto_peer *peer = out->peer;
	bool stopped = peer->flow.stopped && out->total > VRB_PROTO_SMALL;
	size_t segmented = peer->proto->config.segmented;
	size_t largest = segmented > peer->eager ? segmented : peer->eager;
	int ret;

	if (out->segments)
		return send_segment(out);
	if (stopped || out->total > largest) {
		ret = announce(out);
		if (!ret || ret == -FI_EAGAIN)
			return ret;
	}
	return out->total <= peer->eager ? send_eager(out) : send_segment(out);
}

void vrb_proto_out_pump(struct vrb_proto_peer *peer)
{
	struct vrb_proto_out *out;

	while (!STAILQ_EMPTY(&peer->flow.data)) {
		out = vrb_proto_out_of(STAILQ_FIRST(&peer->flow.data));
		if (!out->asked && (peer->flow.halted || (peer->held && !out->sent)))
			return;
		if (out->err) {
			STAILQ_REMOVE_HEAD(&peer->flow.data, link);
			vrb_proto_out_fail(out, out->err);
			continue;
		}
		if (!vrb_flow_has_data_credit(&peer->flow) || push(out))
			return;
	}
}
