/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol: the order of sending, control packets, arriving packets, and the end of a
 * connection.
 */
#include <rdma/fi_errno.h>
#include "proto_int.h"
#include "src/ds/compiler.h"

/*
 * Windows that one peer may send beyond two limits while its device has not acknowledged HALT,
 * since fabrics lose packets, too.
 */
#define WINDOWS	 5
#define OVERHEAD 1024 /* allowance for the overhead of a buffered packet in bytes */

int ofi_rdm_proto_init(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_ops *ops,
		       const struct ofi_rdm_xport *xport, const struct ofi_rdm_proto_config *config)
{
	if (!xport->props.ordered || !xport->props.reliable)
		return -FI_EOPNOTSUPP;
	proto->ops = ops;
	proto->xport = *xport;
	proto->config = *config;
	proto->eager = xport->props.max_packet - OFI_RDM_WIRE_HEADER_MAX;
	proto->spaces = OFI_RDM_PROTO_COLLECTIVE;
	ofi_rdm_flow_budget_init(&proto->budget, config->unexpected);
	proto->budget.window =
		xport->props.delivers ? 2 * xport->props.window + xport->props.unread : UINT32_MAX;
	proto->budget.most = 2 * config->unexpected + (uint64_t)WINDOWS * xport->props.window *
							      (xport->props.max_packet + OVERHEAD);
	return 0;
}

void ofi_rdm_proto_peer_init(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_peer *peer,
			     uint32_t src)
{
	*peer = (struct ofi_rdm_proto_peer){ .proto = proto, .src = src };
	ofi_rdm_flow_init(&peer->flow, 0, 0);
	TAILQ_INIT(&peer->outs);
	TAILQ_INIT(&peer->ins);
	TAILQ_INIT(&peer->writers);
	TAILQ_INIT(&peer->readers);
}

int ofi_rdm_proto_control(struct ofi_rdm_proto_peer *peer, const struct ofi_rdm_wire_packet *packet,
			  struct ofi_rdm_proto_out *out)
{
	uint8_t header[OFI_RDM_WIRE_HEADER_MAX];
	size_t len = ofi_rdm_wire_build(header, packet);
	int ret;

	ret = peer->proto->xport.ops->send(peer, header, len, NULL, 0, 0, out);
	if (!ret)
		ofi_rdm_flow_take(&peer->flow);
	return ret;
}

void ofi_rdm_proto_owe(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_item *item,
		       enum ofi_rdm_proto_owes what)
{
	item->owes = (uint8_t)what;
	STAILQ_INSERT_TAIL(&peer->flow.control, &item->node, link);
}

int ofi_rdm_proto_in_reply(struct ofi_rdm_proto_in *in, enum ofi_rdm_wire_type type)
{
	const struct ofi_rdm_wire_packet packet = {
		.type = type,
		.id = in->packet.id,
		.status = (uint32_t)in->err,
	};

	return ofi_rdm_proto_control(in->peer, &packet, NULL);
}

static int send_owed(struct ofi_rdm_proto_item *item)
{
	if (item->owes == OFI_RDM_PROTO_OWES_REVOKE)
		return ofi_rdm_proto_send_revoke(item);
	if (item->is_out)
		return ofi_rdm_proto_rndv_send_fin((struct ofi_rdm_proto_out *)item);
	switch (item->owes) {
	case OFI_RDM_PROTO_OWES_ACK:
		return ofi_rdm_proto_in_reply(ofi_rdm_proto_in_of(item), OFI_RDM_WIRE_ACK);
	case OFI_RDM_PROTO_OWES_SEG_REQ:
		return ofi_rdm_proto_in_reply(ofi_rdm_proto_in_of(item), OFI_RDM_WIRE_SEG_REQ);
	case OFI_RDM_PROTO_OWES_CTS:
		return ofi_rdm_proto_rndv_send_cts(ofi_rdm_proto_in_of(item));
	default:
		return ofi_rdm_proto_in_reply(ofi_rdm_proto_in_of(item), OFI_RDM_WIRE_FIN);
	}
}

/* Marks the work request of a HALT, so that its completion is recognized. */
static struct ofi_rdm_proto_out *halt_of(struct ofi_rdm_proto_peer *peer)
{
	return (struct ofi_rdm_proto_out *)&peer->flow;
}

static int send_flow(struct ofi_rdm_proto_peer *peer)
{
	static const enum ofi_rdm_wire_type types[] = {
		[OFI_RDM_FLOW_STOP] = OFI_RDM_WIRE_STOP,
		[OFI_RDM_FLOW_GO] = OFI_RDM_WIRE_GO,
		[OFI_RDM_FLOW_HALT] = OFI_RDM_WIRE_HALT,
	};
	const struct ofi_rdm_wire_packet packet = { .type = types[peer->flow.owed] };
	bool halt = peer->flow.owed == OFI_RDM_FLOW_HALT;

	return ofi_rdm_proto_control(peer, &packet, halt ? halt_of(peer) : NULL);
}

static bool send_stop_or_go(struct ofi_rdm_proto_peer *peer)
{
	if (peer->flow.owed == OFI_RDM_FLOW_NOTHING)
		return true;
	if (!ofi_rdm_flow_has_control_credit(&peer->flow) || send_flow(peer))
		return false;
	ofi_rdm_flow_settle(&peer->flow);
	return true;
}

/* Dequeues the first item, whose packet has been sent or is no longer owed. */
static void owed_done(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_item *item)
{
	STAILQ_REMOVE_HEAD(&peer->flow.control, link);
	item->owes = OFI_RDM_PROTO_OWES_NOTHING;
	if (!item->is_out && ofi_rdm_proto_in_of(item)->state == OFI_RDM_PROTO_IN_ENDING)
		ofi_rdm_proto_in_end(ofi_rdm_proto_in_of(item));
}

static struct ofi_rdm_proto_item *first_owed(const struct ofi_rdm_proto_peer *peer)
{
	return (struct ofi_rdm_proto_item *)STAILQ_FIRST(&peer->flow.control);
}

/* Returns false if packets are left that must wait. */
static bool send_controls(struct ofi_rdm_proto_peer *peer)
{
	struct ofi_rdm_proto_item *item;

	if (!send_stop_or_go(peer))
		return false;
	while ((item = first_owed(peer))) {
		if (!ofi_rdm_flow_has_control_credit(&peer->flow) || send_owed(item))
			return false;
		owed_done(peer, item);
	}
	/* The end of these messages may allow the peer to go on. */
	return send_stop_or_go(peer);
}

static void send_all(struct ofi_rdm_proto_peer *peer)
{
	if (!peer->up || (ofi_rdm_proto_owes(peer) && !send_controls(peer)))
		return;
	if (!TAILQ_EMPTY(&peer->readers) || !TAILQ_EMPTY(&peer->writers))
		ofi_rdm_proto_rndv_pump(peer);
	if (!STAILQ_EMPTY(&peer->flow.data))
		ofi_rdm_proto_out_pump(peer);
	/* Sending may have completed a rendezvous, which then owes a packet. */
	if (ofi_rdm_proto_owes(peer))
		send_controls(peer);
}

/*
 * Sending may complete messages, which makes room for more peers; this loop handles those as well.
 */
void ofi_rdm_proto_resume(struct ofi_rdm_proto *proto)
{
	struct ofi_rdm_flow_budget *budget = &proto->budget;
	struct ofi_rdm_flow *flow;

	if (budget->resuming)
		return;
	budget->resuming = true;
	while ((flow = ofi_rdm_flow_resume(budget)))
		send_all(ofi_container(flow, struct ofi_rdm_proto_peer, flow));
	budget->resuming = false;
}

void ofi_rdm_proto_go_on(struct ofi_rdm_proto_peer *peer)
{
	send_all(peer);
	if (ofi_unlikely(ofi_rdm_flow_may_resume(&peer->proto->budget)))
		ofi_rdm_proto_resume(peer->proto);
}

enum ofi_rdm_wire_error ofi_rdm_proto_exceeded(struct ofi_rdm_proto_peer *peer)
{
	if (peer->flow.abused)
		return OFI_RDM_WIRE_E_FLOOD;
	ofi_rdm_proto_progress(peer);
	return OFI_RDM_WIRE_OK;
}

static void set_clear(struct ofi_rdm_proto_peer *peer)
{
	peer->clear = peer->up && !peer->held && !peer->fenced && !peer->flow.halted;
}

void ofi_rdm_proto_peer_up(struct ofi_rdm_proto_peer *peer, uint32_t credits, uint32_t reserve,
			   size_t eager)
{
	ofi_rdm_flow_reset(&peer->flow, credits, reserve);
	peer->eager = ofi_min(eager, peer->proto->eager);
	peer->proto->budget.peers += !peer->up;
	peer->up = true;
	peer->held = peer->writes = false;
	set_clear(peer);
}

/*
 * Offers what is announced to the peer in segments. The offer is lost if there is no credit for it;
 * it is made again when the peer is held again.
 */
static void offer_segments(struct ofi_rdm_proto_peer *peer)
{
	const struct ofi_rdm_wire_packet offer = { .type = OFI_RDM_WIRE_SEG_OFFER };
	const struct ofi_rdm_proto_out *out = TAILQ_FIRST(&peer->outs);

	while (out && out->state != OFI_RDM_PROTO_OUT_WAITING)
		out = TAILQ_NEXT(out, link);
	if (out && peer->up && ofi_rdm_flow_has_control_credit(&peer->flow))
		ofi_rdm_proto_control(peer, &offer, NULL);
}

/*
 * Asks for what the peer has announced, so that the connection can end, as long as two limits are
 * enough: beyond them the peer is told to HALT and stays. A message that wants an ACK does not let
 * the connection end before somebody receives it.
 */
static void ask_for_announced(struct ofi_rdm_proto_peer *peer)
{
	const struct ofi_rdm_flow_budget *budget = &peer->proto->budget;
	uint64_t packet = peer->proto->xport.props.max_packet + OVERHEAD, most = 2 * budget->limit;
	struct ofi_rdm_proto_in *in;
	uint64_t packets;

	TAILQ_FOREACH (in, &peer->ins, link) {
		if (in->state != OFI_RDM_PROTO_IN_ANNOUNCED ||
		    in->packet.flags & OFI_RDM_WIRE_WANT_ACK ||
		    peer->flow.level == OFI_RDM_FLOW_NONE)
			continue;
		packets = in->total / peer->eager + 1;
		if (budget->used < most && packets <= (most - budget->used) / packet)
			ofi_rdm_proto_rndv_ask(in, packets * packet);
	}
}

void ofi_rdm_proto_peer_hold(struct ofi_rdm_proto_peer *peer, bool hold)
{
	peer->held = hold;
	set_clear(peer);
	if (hold) {
		offer_segments(peer);
		ask_for_announced(peer);
	}
	ofi_rdm_proto_progress(peer);
}

void ofi_rdm_proto_peer_fence(struct ofi_rdm_proto_peer *peer, bool fence)
{
	peer->fenced = fence;
	set_clear(peer);
}

/*
 * Keeps a message for the next connection. The peer's right ended with this one; it gets a new
 * right on the next one, where packets may have another size.
 */
static void proto_keep(struct ofi_rdm_proto_out *out)
{
	ofi_rdm_proto_dereg(out->peer, out->mr, &out->mr_count);
	out->bound = 0;
	out->segments = false;
	STAILQ_INSERT_TAIL(&out->peer->flow.data, &out->item.node, link);
}

static void items_end(struct ofi_rdm_proto_peer *peer, int err, bool keep_waiting)
{
	struct ofi_rdm_proto_out *out, *next;
	struct ofi_rdm_proto_item *item;

	peer->proto->budget.peers -= peer->up;
	peer->up = peer->clear = false;
	peer->epoch++;
	ofi_rdm_flow_reset(&peer->flow, 0, 0);
	while ((item = first_owed(peer)))
		owed_done(peer, item);
	STAILQ_INIT(&peer->flow.data);
	peer->assembling = NULL;
	for (out = TAILQ_FIRST(&peer->outs); out; out = next) {
		next = TAILQ_NEXT(out, link);
		if (keep_waiting && !ofi_rdm_proto_has_begun(out))
			proto_keep(out);
		else
			ofi_rdm_proto_out_fail(out, err);
	}
	ofi_rdm_proto_in_fail_all(peer, err);
	ofi_rdm_proto_resume(peer->proto);
}

void ofi_rdm_proto_peer_down(struct ofi_rdm_proto_peer *peer, int err)
{
	items_end(peer, err, false);
}

void ofi_rdm_proto_peer_leave(struct ofi_rdm_proto_peer *peer, int err)
{
	items_end(peer, err, true);
}

/* Messages that are queued because the peer is held have not begun. */
static bool is_sending(const struct ofi_rdm_proto_peer *peer)
{
	const struct ofi_rdm_proto_out *out = TAILQ_FIRST(&peer->outs);

	return out && (!peer->held || ofi_rdm_proto_has_begun(out));
}

bool ofi_rdm_proto_peer_idle(const struct ofi_rdm_proto_peer *peer)
{
	return !peer->awaited && ofi_rdm_proto_peer_drained(peer);
}

bool ofi_rdm_proto_peer_drained(const struct ofi_rdm_proto_peer *peer)
{
	const struct ofi_rdm_proto_in *in;

	if (is_sending(peer) || peer->flow.owed || peer->flow.halted ||
	    peer->flow.level == OFI_RDM_FLOW_NONE)
		return false;
	TAILQ_FOREACH (in, &peer->ins, link) {
		if (in->state != OFI_RDM_PROTO_IN_WHOLE)
			return false;
		if (in->epoch == peer->epoch && in->packet.flags & OFI_RDM_WIRE_WANT_ACK)
			return false;
	}
	return true;
}

void ofi_rdm_proto_sent(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_out *out, int err)
{
	ofi_rdm_flow_give(&peer->flow, 1);
	if (out == halt_of(peer)) {
		ofi_rdm_flow_halt_acked(&peer->flow);
	} else if (out) {
		out->inflight--;
		if (err && !out->err)
			out->err = err;
		ofi_rdm_proto_out_check(out);
	}
	ofi_rdm_proto_progress(peer);
}

void ofi_rdm_proto_bound(struct ofi_rdm_proto_peer *peer)
{
	ofi_rdm_flow_give(&peer->flow, 1);
	ofi_rdm_proto_progress(peer);
}

void ofi_rdm_proto_revoked(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_item *item)
{
	struct ofi_rdm_proto_in *in = ofi_rdm_proto_in_of(item);

	ofi_rdm_flow_give(&peer->flow, 1);
	if (item->is_out) {
		((struct ofi_rdm_proto_out *)item)->inflight--;
		ofi_rdm_proto_out_check((struct ofi_rdm_proto_out *)item);
	} else if (!--in->inflight && !item->owes) {
		ofi_rdm_proto_rndv_end_written(in);
	}
	ofi_rdm_proto_progress(peer);
}

/* Handles FIN of a message that was read, and ACK. */
static enum ofi_rdm_wire_error handle_answer(struct ofi_rdm_proto_peer *peer,
					     const struct ofi_rdm_wire_packet *packet)
{
	bool fin = packet->type == OFI_RDM_WIRE_FIN;
	struct ofi_rdm_proto_out *out;

	out = ofi_rdm_proto_out_find(peer, packet->id,
				     fin ? OFI_RDM_PROTO_OUT_WAITING : OFI_RDM_PROTO_OUT_SENT);
	if (!out && !fin)
		out = ofi_rdm_proto_out_find(peer, packet->id, OFI_RDM_PROTO_OUT_WRITING);
	if (!out || out->acked)
		return OFI_RDM_WIRE_E_ID;
	if (!fin && (out->level != OFI_RDM_PROTO_DELIVERY ||
		     (out->state == OFI_RDM_PROTO_OUT_WRITING && !out->fin_sent)))
		return OFI_RDM_WIRE_E_ID;
	out->acked = true;
	if (packet->status)
		out->err = FI_EREMOTEIO;
	ofi_rdm_proto_out_check(out);
	return OFI_RDM_WIRE_OK;
}

static enum ofi_rdm_wire_error dispatch_packet(struct ofi_rdm_proto_peer *peer,
					       struct ofi_rdm_proto_in *in, bool *kept)
{
	switch (in->packet.type) {
	case OFI_RDM_WIRE_EAGER:
	case OFI_RDM_WIRE_SEG_FIRST:
	case OFI_RDM_WIRE_RTS:
		return ofi_rdm_proto_in_message(peer, in, kept);
	case OFI_RDM_WIRE_SEG_NEXT:
	case OFI_RDM_WIRE_SEG_ASKED:
		return ofi_rdm_proto_in_segment(peer, in, kept);
	case OFI_RDM_WIRE_SEG_REQ:
		return ofi_rdm_proto_rndv_asked(peer, in->packet.id);
	case OFI_RDM_WIRE_SEG_OFFER:
		ask_for_announced(peer);
		return OFI_RDM_WIRE_OK;
	case OFI_RDM_WIRE_CTS:
		return ofi_rdm_proto_rndv_cts(peer, in, kept);
	case OFI_RDM_WIRE_FIN:
		return in->packet.flags & OFI_RDM_WIRE_WRITTEN
			       ? ofi_rdm_proto_rndv_written(peer, &in->packet)
			       : handle_answer(peer, &in->packet);
	case OFI_RDM_WIRE_ACK:
		return handle_answer(peer, &in->packet);
	case OFI_RDM_WIRE_STOP:
	case OFI_RDM_WIRE_GO:
	case OFI_RDM_WIRE_HALT:
		peer->flow.stopped = in->packet.type != OFI_RDM_WIRE_GO;
		peer->flow.halted = in->packet.type == OFI_RDM_WIRE_HALT;
		set_clear(peer);
		return OFI_RDM_WIRE_OK;
	default:
		return peer->proto->ops->other(peer, &in->packet);
	}
}

enum ofi_rdm_wire_error ofi_rdm_proto_packet(struct ofi_rdm_proto_peer *peer,
					     struct ofi_rdm_proto_in *in, const void *bytes,
					     size_t len, bool *kept)
{
	enum ofi_rdm_wire_error error;

	*kept = false;
	/* Packets of a queue pair that is not flushed yet may still arrive after the end. */
	if (!peer->up)
		return OFI_RDM_WIRE_OK;
	error = ofi_rdm_wire_parse(bytes, len, &in->packet);
	if (error)
		return error;
	error = dispatch_packet(peer, in, kept);
	ofi_rdm_proto_progress(peer);
	return error;
}

bool ofi_rdm_proto_take_first(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_in *in,
			      const void *bytes, size_t len, bool *kept)
{
	enum ofi_rdm_wire_error error;

	*kept = false;
	if (peer->up || ofi_rdm_wire_parse(bytes, len, &in->packet) ||
	    in->packet.type != OFI_RDM_WIRE_EAGER || in->packet.flags & OFI_RDM_WIRE_WANT_ACK)
		return false;
	/* A peer without a connection can neither be stopped nor halted. */
	if (peer->proto->budget.used >= peer->proto->budget.limit)
		return false;
	error = ofi_rdm_proto_in_message(peer, in, kept);
	/*
	 * The message may have exceeded the limit. The connection begins with no packet owed for
	 * that.
	 */
	ofi_rdm_flow_reset(&peer->flow, 0, 0);
	return !error || *kept;
}
