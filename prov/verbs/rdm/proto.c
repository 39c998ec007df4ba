/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers: what is sent next, control packets, what comes in, the end of a connection. */
#include <rdma/fi_errno.h>
#include "proto_int.h"

/* What one peer may have beyond two limits while its device does not take the HALT: fabrics lose packets, too. */
#define WINDOWS 4
#define NOTE	1024 /* at least what a packet takes besides its bytes */

void vrb_proto_init(struct vrb_proto *proto, const struct vrb_proto_ops *ops,
		    const struct vrb_proto_config *config)
{
	proto->ops = ops;
	proto->config = *config;
	proto->spaces = VRB_PROTO_COLLECTIVE;
	vrb_flow_budget_init(&proto->budget, config->unexpected);
	proto->budget.window = config->delivers ? config->window : UINT32_MAX;
	proto->budget.most =
		2 * config->unexpected +
		(uint64_t)WINDOWS * config->window * (config->eager + VRB_WIRE_HEADER_MAX + NOTE);
}

void vrb_proto_peer_init(struct vrb_proto *proto, struct vrb_proto_peer *peer, uint32_t src)
{
	*peer = (struct vrb_proto_peer){ .proto = proto, .src = src };
	vrb_flow_init(&peer->flow, 0, 0);
	TAILQ_INIT(&peer->outs);
	TAILQ_INIT(&peer->ins);
	TAILQ_INIT(&peer->writers);
	TAILQ_INIT(&peer->readers);
}

int vrb_proto_control(struct vrb_proto_peer *peer, const struct vrb_wire_packet *packet,
		      struct vrb_proto_out *out)
{
	uint8_t header[VRB_WIRE_HEADER_MAX];
	size_t len = vrb_wire_build(header, packet);
	int ret;

	ret = peer->proto->ops->send(peer, header, len, NULL, 0, 0, out);
	if (!ret)
		vrb_flow_take(&peer->flow);
	return ret;
}

void vrb_proto_owe(struct vrb_proto_peer *peer, struct vrb_proto_item *item,
		   enum vrb_proto_owes what)
{
	item->owes = (uint8_t)what;
	STAILQ_INSERT_TAIL(&peer->flow.control, &item->node, link);
}

static int send_bare(struct vrb_proto_in *in, enum vrb_wire_type type)
{
	const struct vrb_wire_packet packet = { .type = type, .id = in->packet.id };

	return vrb_proto_control(in->peer, &packet, NULL);
}

static int send_fin(struct vrb_proto_in *in)
{
	const struct vrb_wire_packet fin = {
		.type = VRB_WIRE_FIN,
		.id = in->packet.id,
		.status = (uint32_t)in->err,
	};

	return vrb_proto_control(in->peer, &fin, NULL);
}

static int send_owed(struct vrb_proto_item *item)
{
	if (item->owes == VRB_PROTO_OWES_REVOKE)
		return vrb_proto_send_revoke(item);
	if (item->is_out)
		return vrb_proto_rndv_send_fin((struct vrb_proto_out *)item);
	switch (item->owes) {
	case VRB_PROTO_OWES_ACK:
		return send_bare(vrb_proto_in_of(item), VRB_WIRE_ACK);
	case VRB_PROTO_OWES_SEG_REQ:
		return send_bare(vrb_proto_in_of(item), VRB_WIRE_SEG_REQ);
	case VRB_PROTO_OWES_CTS:
		return vrb_proto_rndv_send_cts(vrb_proto_in_of(item));
	default:
		return send_fin(vrb_proto_in_of(item));
	}
}

/* The completion of a HALT is told from those of other packets by this. */
static struct vrb_proto_out *halt_of(struct vrb_proto_peer *peer)
{
	return (struct vrb_proto_out *)&peer->flow;
}

static bool send_stop_or_go(struct vrb_proto_peer *peer)
{
	static const enum vrb_wire_type types[] = {
		[VRB_FLOW_STOP] = VRB_WIRE_STOP,
		[VRB_FLOW_GO] = VRB_WIRE_GO,
		[VRB_FLOW_HALT] = VRB_WIRE_HALT,
	};
	const struct vrb_wire_packet packet = { .type = types[peer->flow.owed] };
	bool halt = peer->flow.owed == VRB_FLOW_HALT;

	if (peer->flow.owed == VRB_FLOW_NOTHING)
		return true;
	if (!vrb_flow_has_control_credit(&peer->flow) ||
	    vrb_proto_control(peer, &packet, halt ? halt_of(peer) : NULL))
		return false;
	vrb_flow_settle(&peer->flow);
	return true;
}

/* False: there are more, that have to wait. */
static bool send_controls(struct vrb_proto_peer *peer)
{
	struct vrb_proto_item *item;

	if (!send_stop_or_go(peer))
		return false;
	while ((item = (struct vrb_proto_item *)STAILQ_FIRST(&peer->flow.control))) {
		if (!vrb_flow_has_control_credit(&peer->flow) || send_owed(item))
			return false;
		STAILQ_REMOVE_HEAD(&peer->flow.control, link);
		item->owes = VRB_PROTO_OWES_NOTHING;
		if (!item->is_out && vrb_proto_in_of(item)->state == VRB_PROTO_IN_ENDING)
			vrb_proto_in_end(vrb_proto_in_of(item));
	}
	/* What has ended may let the peer go on. */
	return send_stop_or_go(peer);
}

static void send_all(struct vrb_proto_peer *peer)
{
	if (!peer->up || !send_controls(peer))
		return;
	vrb_proto_rndv_pump(peer);
	vrb_proto_out_pump(peer);
	/* What was sent may have completed a rendezvous, which owes something then. */
	send_controls(peer);
}

/* What is sent may end messages, which makes room for more peers: they are the same loop's. */
void vrb_proto_resume(struct vrb_proto *proto)
{
	struct vrb_flow_budget *budget = &proto->budget;
	struct vrb_flow *flow;

	if (budget->resuming)
		return;
	budget->resuming = true;
	while ((flow = vrb_flow_resume(budget)))
		send_all((struct vrb_proto_peer *)((char *)flow -
						   offsetof(struct vrb_proto_peer, flow)));
	budget->resuming = false;
}

void vrb_proto_progress(struct vrb_proto_peer *peer)
{
	send_all(peer);
	if (__builtin_expect(vrb_flow_may_resume(&peer->proto->budget), 0))
		vrb_proto_resume(peer->proto);
}

enum vrb_wire_error vrb_proto_exceeded(struct vrb_proto_peer *peer)
{
	if (peer->flow.abused)
		return VRB_WIRE_E_FLOOD;
	vrb_proto_progress(peer);
	return VRB_WIRE_OK;
}

static void set_clear(struct vrb_proto_peer *peer)
{
	peer->clear = peer->up && !peer->held && !peer->fenced && !peer->flow.halted;
}

void vrb_proto_peer_up(struct vrb_proto_peer *peer, uint32_t credits, uint32_t reserve,
		       size_t eager)
{
	vrb_flow_reset(&peer->flow, credits, reserve);
	peer->eager = vrb_proto_min(eager, peer->proto->config.eager);
	peer->proto->budget.peers += !peer->up;
	peer->up = true;
	peer->held = peer->writes = false;
	set_clear(peer);
	vrb_proto_progress(peer);
}

void vrb_proto_peer_hold(struct vrb_proto_peer *peer, bool hold)
{
	peer->held = hold;
	set_clear(peer);
	vrb_proto_progress(peer);
}

void vrb_proto_peer_fence(struct vrb_proto_peer *peer, bool fence)
{
	peer->fenced = fence;
	set_clear(peer);
}

/* Who owes something does not any more. */
static void forgive(struct vrb_proto_peer *peer)
{
	struct vrb_proto_item *item;

	while ((item = (struct vrb_proto_item *)STAILQ_FIRST(&peer->flow.control))) {
		STAILQ_REMOVE_HEAD(&peer->flow.control, link);
		item->owes = VRB_PROTO_OWES_NOTHING;
		if (!item->is_out && vrb_proto_in_of(item)->state == VRB_PROTO_IN_ENDING)
			vrb_proto_in_end(vrb_proto_in_of(item));
	}
}

/* The peer's right ended with the connection; on the next one it gets its own, and packets may be of another size. */
static void keep(struct vrb_proto_out *out)
{
	vrb_proto_dereg(out->peer, out->mr, &out->mr_count);
	out->bound = 0;
	out->segments = false;
	STAILQ_INSERT_TAIL(&out->peer->flow.data, &out->item.node, link);
}

static bool has_begun(const struct vrb_proto_out *out)
{
	return out->state != VRB_PROTO_OUT_QUEUED || out->sent || out->asked;
}

static void end(struct vrb_proto_peer *peer, int err, bool keep_waiting)
{
	struct vrb_proto_out *out, *next;

	peer->proto->budget.peers -= peer->up;
	peer->up = peer->clear = false;
	peer->epoch++;
	vrb_flow_reset(&peer->flow, 0, 0);
	forgive(peer);
	STAILQ_INIT(&peer->flow.data);
	peer->assembling = NULL;
	for (out = TAILQ_FIRST(&peer->outs); out; out = next) {
		next = TAILQ_NEXT(out, link);
		if (keep_waiting && !has_begun(out))
			keep(out);
		else
			vrb_proto_out_fail(out, err);
	}
	vrb_proto_in_fail_all(peer, err);
	vrb_proto_resume(peer->proto);
}

void vrb_proto_peer_down(struct vrb_proto_peer *peer, int err)
{
	end(peer, err, false);
}

void vrb_proto_peer_leave(struct vrb_proto_peer *peer, int err)
{
	end(peer, err, true);
}

/* What waits because the peer is held has not begun. */
static bool is_sending(const struct vrb_proto_peer *peer)
{
	const struct vrb_proto_out *out = TAILQ_FIRST(&peer->outs);

	return out && (!peer->held || has_begun(out));
}

bool vrb_proto_peer_idle(const struct vrb_proto_peer *peer)
{
	return !peer->awaited && vrb_proto_peer_drained(peer);
}

bool vrb_proto_peer_drained(const struct vrb_proto_peer *peer)
{
	const struct vrb_proto_in *in;

	if (is_sending(peer) || peer->flow.owed || peer->flow.stopped || peer->flow.told)
		return false;
	TAILQ_FOREACH (in, &peer->ins, link) {
		if (in->state != VRB_PROTO_IN_WHOLE)
			return false;
		if (in->epoch == peer->epoch && in->packet.flags & VRB_WIRE_WANT_ACK)
			return false;
	}
	return true;
}

void vrb_proto_sent(struct vrb_proto_peer *peer, struct vrb_proto_out *out, int err)
{
	vrb_flow_give(&peer->flow, 1);
	if (out == halt_of(peer)) {
		vrb_flow_heard(&peer->flow);
	} else if (out) {
		out->inflight--;
		if (err && !out->err)
			out->err = err;
		vrb_proto_out_check(out);
	}
	vrb_proto_progress(peer);
}

/* FIN of a message that was read, and ACK. */
static enum vrb_wire_error handle_answer(struct vrb_proto_peer *peer,
					 const struct vrb_wire_packet *packet)
{
	bool fin = packet->type == VRB_WIRE_FIN;
	struct vrb_proto_out *out;

	out = vrb_proto_out_find(peer, packet->id,
				 fin ? VRB_PROTO_OUT_WAITING : VRB_PROTO_OUT_SENT);
	if (!out && !fin)
		out = vrb_proto_out_find(peer, packet->id, VRB_PROTO_OUT_WRITING);
	if (!out || out->acked)
		return VRB_WIRE_E_ID;
	if (!fin && (out->level != VRB_PROTO_DELIVERY ||
		     (out->state == VRB_PROTO_OUT_WRITING && !out->fin_sent)))
		return VRB_WIRE_E_ID;
	out->acked = true;
	if (packet->status)
		out->err = FI_EREMOTEIO;
	vrb_proto_out_check(out);
	return VRB_WIRE_OK;
}

static enum vrb_wire_error handle_fin(struct vrb_proto_peer *peer,
				      const struct vrb_wire_packet *packet)
{
	if (packet->flags & VRB_WIRE_WRITTEN)
		return vrb_proto_rndv_written(peer, packet);
	return handle_answer(peer, packet);
}

static enum vrb_wire_error dispatch(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
				    bool *kept)
{
	switch (in->packet.type) {
	case VRB_WIRE_EAGER:
	case VRB_WIRE_SEG_FIRST:
	case VRB_WIRE_RTS:
		return vrb_proto_in_message(peer, in, kept);
	case VRB_WIRE_SEG_NEXT:
	case VRB_WIRE_SEG_ASKED:
		return vrb_proto_in_segment(peer, in, kept);
	case VRB_WIRE_SEG_REQ:
		return vrb_proto_rndv_asked(peer, in->packet.id);
	case VRB_WIRE_CTS:
		return vrb_proto_rndv_cts(peer, in, kept);
	case VRB_WIRE_FIN:
		return handle_fin(peer, &in->packet);
	case VRB_WIRE_ACK:
		return handle_answer(peer, &in->packet);
	case VRB_WIRE_STOP:
	case VRB_WIRE_GO:
	case VRB_WIRE_HALT:
		peer->flow.stopped = in->packet.type != VRB_WIRE_GO;
		peer->flow.halted = in->packet.type == VRB_WIRE_HALT;
		set_clear(peer);
		return VRB_WIRE_OK;
	default:
		return peer->proto->ops->other(peer, &in->packet);
	}
}

enum vrb_wire_error vrb_proto_packet(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
				     const void *bytes, size_t len, bool *kept)
{
	enum vrb_wire_error error;

	*kept = false;
	/* What comes after the end, of a queue pair that is not flushed yet. */
	if (!peer->up)
		return VRB_WIRE_OK;
	error = vrb_wire_parse(bytes, len, &in->packet);
	if (error)
		return error;
	error = dispatch(peer, in, kept);
	vrb_proto_progress(peer);
	return error;
}
