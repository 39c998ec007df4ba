/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rendezvous: memory is registered and announced, moved by RDMA, and released. */
#include <rdma/fi_errno.h>
#include "proto_int.h"

int vrb_proto_reg(struct vrb_proto_peer *peer, const struct iovec *iov, uint8_t count,
		  enum vrb_proto_access access, struct vrb_proto_mr *mr)
{
	uint8_t i;
	int ret;

	for (i = 0; i < count; i++) {
		ret = peer->proto->ops->reg(peer, &iov[i], access, &mr[i]);
		if (ret) {
			vrb_proto_dereg(peer, mr, &i);
			return ret;
		}
	}
	return 0;
}

void vrb_proto_dereg(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr, uint8_t *count)
{
	for (; *count; --*count)
		peer->proto->ops->dereg(peer, &mr[*count - 1]);
}

uint8_t vrb_proto_iov_at(const struct iovec *iov, uint8_t count, size_t offset, void **addr,
			 size_t *left)
{
	uint8_t i;

	for (i = 0; i + 1 < count && offset >= iov[i].iov_len; i++)
		offset -= iov[i].iov_len;
	*addr = (char *)iov[i].iov_base + offset;
	*left = iov[i].iov_len - offset;
	return i;
}

uint64_t vrb_proto_region_at(const struct vrb_wire_packet *packet, uint64_t offset, uint64_t *addr,
			     uint64_t *left)
{
	struct vrb_wire_region region;
	uint8_t i = 0;

	vrb_wire_get_region(packet->list, i, &region);
	while (i + 1 < packet->count && offset >= region.len) {
		offset -= region.len;
		vrb_wire_get_region(packet->list, ++i, &region);
	}
	*addr = region.addr + offset;
	*left = region.len - offset;
	return region.key;
}

/* Regions for a packet. */
static uint8_t put_regions(uint8_t *list, const struct iovec *iov, uint8_t count,
			   const struct vrb_proto_mr *mr)
{
	struct vrb_wire_region region;
	uint8_t i;

	for (i = 0; i < count; i++) {
		region.addr = (uintptr_t)iov[i].iov_base;
		region.len = iov[i].iov_len;
		region.key = mr[i].rkey;
		vrb_wire_put_region(list, i, &region);
	}
	return count;
}

/* A receiver that has messages written needs no right to read them. */
static enum vrb_proto_access needed(const struct vrb_proto_out *out)
{
	return out->peer->writes && !(out->flags & VRB_WIRE_COLLECTIVE) ? VRB_PROTO_SOURCE
									: VRB_PROTO_PEER_READS;
}

int vrb_proto_rndv_announce(struct vrb_proto_out *out)
{
	uint8_t list[VRB_PROTO_IOV * sizeof(struct vrb_wire_region)];
	struct vrb_wire_packet rts = {
		.type = VRB_WIRE_RTS,
		.flags = out->flags,
		.id = out->id,
		.tag = out->tag,
		.data = out->data,
		.total = out->total,
		.list = list,
	};
	int ret;

	if (!out->mr_count) {
		ret = vrb_proto_reg(out->peer, out->iov, out->count, needed(out), out->mr);
		if (ret)
			return ret == -FI_EAGAIN ? -FI_ENOMEM : ret;
		out->mr_count = out->count;
	}
	ret = vrb_proto_grant(out->peer, out->mr, out->mr_count, &out->bound,
			      out->peer->flow.reserve);
	if (ret)
		return ret;
	if (out->level == VRB_PROTO_DELIVERY)
		rts.flags |= VRB_WIRE_WANT_ACK;
	rts.count = put_regions(list, out->iov, out->count, out->mr);
	ret = vrb_proto_control(out->peer, &rts, out);
	if (ret)
		return ret;
	out->inflight++;
	out->state = VRB_PROTO_OUT_WAITING;
	return 0;
}

/* The part of the receive's buffer that the message goes to. */
static uint8_t slice(const struct vrb_proto_recv *recv, size_t base, size_t len, struct iovec *iov)
{
	uint8_t n = 0;
	size_t left;
	void *addr;

	while (len) {
		vrb_proto_iov_at(recv->iov, recv->count, base, &addr, &left);
		left = vrb_proto_min(left, len);
		if (left)
			iov[n++] = (struct iovec){ .iov_base = addr, .iov_len = left };
		base += left;
		len -= left;
	}
	return n;
}

void vrb_proto_rndv_fin(struct vrb_proto_in *in)
{
	if (!in->peer->up || in->epoch != in->peer->epoch) {
		vrb_proto_in_end(in);
		return;
	}
	in->state = VRB_PROTO_IN_ENDING;
	vrb_proto_owe(in->peer, &in->item, VRB_PROTO_OWES_FIN);
}

/* The data are where they belong, or will never be. */
static void end_rndv(struct vrb_proto_in *in)
{
	vrb_proto_dereg(in->peer, in->mr, &in->mr_count);
	vrb_proto_in_finish(in);
	vrb_proto_rndv_fin(in);
}

static void ask_for_segments(struct vrb_proto_in *in)
{
	in->asked = true;
	in->state = VRB_PROTO_IN_ASSEMBLING;
	vrb_proto_owe(in->peer, &in->item, VRB_PROTO_OWES_SEG_REQ);
}

void vrb_proto_rndv_start(struct vrb_proto_in *in)
{
	struct vrb_proto_peer *peer = in->peer;
	/* A collective receive ends without the peer's help, if it is to. */
	bool write = peer->proto->config.write && in->recv->space != VRB_PROTO_COLLECTIVE;
	enum vrb_proto_access access = write ? VRB_PROTO_PEER_WRITES : VRB_PROTO_DESTINATION;
	uint8_t count;

	count = slice(in->recv, in->base, in->accept, in->iov);
	if (!count) {
		end_rndv(in);
		return;
	}
	if (vrb_proto_reg(peer, in->iov, count, access, in->mr)) {
		ask_for_segments(in);
		return;
	}
	in->mr_count = count;
	if (write) {
		in->state = VRB_PROTO_IN_WRITTEN;
		vrb_proto_owe(peer, &in->item, VRB_PROTO_OWES_CTS);
		return;
	}
	in->state = VRB_PROTO_IN_READING;
	in->working = true;
	TAILQ_INSERT_TAIL(&peer->readers, in, work);
}

static void stop_reading(struct vrb_proto_in *in)
{
	if (in->working)
		TAILQ_REMOVE(&in->peer->readers, in, work);
	in->working = false;
}

/* One RDMA read more. False: not now. */
static bool read_more(struct vrb_proto_in *in)
{
	const struct vrb_proto *proto = in->peer->proto;
	uint64_t remote, key, there;
	size_t len;
	void *addr;
	uint8_t i;
	int ret;

	if (in->inflight >= proto->config.reads || !vrb_flow_has_data_credit(&in->peer->flow))
		return false;
	i = vrb_proto_iov_at(in->iov, in->mr_count, in->got, &addr, &len);
	key = vrb_proto_region_at(&in->packet, in->got, &remote, &there);
	len = vrb_proto_min(len, proto->config.max_read);
	if (len > there)
		len = (size_t)there;
	ret = proto->ops->read(in, addr, &in->mr[i], len, remote, key);
	if (ret == -FI_EAGAIN)
		return false;
	if (ret) {
		in->err = -ret;
		return false;
	}
	vrb_flow_take(&in->peer->flow);
	in->inflight++;
	in->got += len;
	return true;
}

static void pump_reads(struct vrb_proto_in *in)
{
	while (!in->err && in->got < in->accept && read_more(in))
		;
	if (!in->err && in->got < in->accept)
		return;
	stop_reading(in);
	if (!in->inflight)
		end_rndv(in);
}

/* One RDMA write more. False: not now. */
static bool write_more(struct vrb_proto_out *out)
{
	const struct vrb_proto *proto = out->peer->proto;
	uint64_t remote, key, there;
	size_t len;
	void *addr;
	uint8_t i;
	int ret;

	if (out->inflight >= proto->config.writes || !vrb_flow_has_data_credit(&out->peer->flow))
		return false;
	i = vrb_proto_iov_at(out->iov, out->count, out->sent, &addr, &len);
	key = vrb_proto_region_at(&out->cts->packet, out->sent, &remote, &there);
	len = vrb_proto_min(len, proto->config.max_write);
	if (len > there)
		len = (size_t)there;
	ret = proto->ops->write(out, addr, &out->mr[i], len, remote, key);
	if (ret == -FI_EAGAIN)
		return false;
	if (ret) {
		out->err = -ret;
		return false;
	}
	vrb_flow_take(&out->peer->flow);
	out->inflight++;
	out->sent += len;
	return true;
}

static void pump_writes(struct vrb_proto_out *out)
{
	while (!out->err && out->sent < out->cts->packet.total && write_more(out))
		;
	if (!out->err && out->sent < out->cts->packet.total)
		return;
	TAILQ_REMOVE(&out->peer->writers, out, work);
	out->working = false;
	vrb_proto_out_check(out);
}

void vrb_proto_rndv_pump(struct vrb_proto_peer *peer)
{
	struct vrb_proto_out *out, *next_out;
	struct vrb_proto_in *in, *next_in;

	for (in = TAILQ_FIRST(&peer->readers); in; in = next_in) {
		next_in = TAILQ_NEXT(in, work);
		pump_reads(in);
	}
	for (out = TAILQ_FIRST(&peer->writers); out; out = next_out) {
		next_out = TAILQ_NEXT(out, work);
		pump_writes(out);
	}
}

void vrb_proto_read_done(struct vrb_proto_in *in, int err)
{
	struct vrb_proto_peer *peer = in->peer;

	vrb_flow_give(&peer->flow, 1);
	in->inflight--;
	if (err && !in->err)
		in->err = err;
	if (!in->inflight && (in->err || in->got == in->accept)) {
		stop_reading(in);
		end_rndv(in);
	}
	vrb_proto_progress(peer);
}

void vrb_proto_write_done(struct vrb_proto_out *out, int err)
{
	struct vrb_proto_peer *peer = out->peer;

	vrb_flow_give(&peer->flow, 1);
	out->inflight--;
	if (err && !out->err)
		out->err = err;
	vrb_proto_out_check(out);
	vrb_proto_progress(peer);
}

enum vrb_wire_error vrb_proto_rndv_cts(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
				       bool *kept)
{
	struct vrb_proto_out *out;

	out = vrb_proto_out_find(peer, in->packet.id, VRB_PROTO_OUT_WAITING);
	if (!out || out->acked)
		return VRB_WIRE_E_ID;
	if (!in->packet.total || in->packet.total > out->total)
		return VRB_WIRE_E_TOTAL;
	peer->writes = true;
	in->peer = peer;
	in = vrb_proto_in_keep(in, true, kept);
	if (!in)
		return VRB_WIRE_E_MEMORY;
	in->state = VRB_PROTO_IN_PART;
	out->cts = in;
	out->sent = 0;
	out->state = VRB_PROTO_OUT_WRITING;
	out->working = true;
	TAILQ_INSERT_TAIL(&peer->writers, out, work);
	return VRB_WIRE_OK;
}

enum vrb_wire_error vrb_proto_rndv_asked(struct vrb_proto_peer *peer, uint32_t id)
{
	struct vrb_proto_out *out = vrb_proto_out_find(peer, id, VRB_PROTO_OUT_WAITING);

	if (!out || out->acked)
		return VRB_WIRE_E_ID;
	vrb_proto_out_segment(out);
	return VRB_WIRE_OK;
}

enum vrb_wire_error vrb_proto_rndv_written(struct vrb_proto_peer *peer,
					   const struct vrb_wire_packet *packet)
{
	struct vrb_proto_in *in;

	in = peer->proto->ops->in_at(peer->proto, vrb_proto_index(packet->id));
	if (!in || in->peer != peer || in->id != packet->id || in->state != VRB_PROTO_IN_WRITTEN ||
	    in->item.owes)
		return VRB_WIRE_E_ID;
	/* A sender that failed waits for no ACK. */
	if (packet->status) {
		in->err = FI_EREMOTEIO;
		in->packet.flags &= (uint8_t)~VRB_WIRE_WANT_ACK;
	}
	in->state = VRB_PROTO_IN_REVOKING;
	if (vrb_proto_is_granted(in->mr, in->bound))
		vrb_proto_owe(peer, &in->item, VRB_PROTO_OWES_REVOKE);
	else
		vrb_proto_rndv_end_written(in);
	return VRB_WIRE_OK;
}

void vrb_proto_rndv_end_written(struct vrb_proto_in *in)
{
	vrb_proto_dereg(in->peer, in->mr, &in->mr_count);
	vrb_proto_in_finish(in);
	vrb_proto_in_settle(in);
}

/* It can't be let write: what is owed is another packet. */
static int ask_instead(struct vrb_proto_in *in)
{
	const struct vrb_wire_packet ask = { .type = VRB_WIRE_SEG_REQ, .id = in->packet.id };

	in->asked = true;
	in->state = VRB_PROTO_IN_ASSEMBLING;
	in->item.owes = VRB_PROTO_OWES_SEG_REQ;
	return vrb_proto_control(in->peer, &ask, NULL);
}

int vrb_proto_rndv_send_cts(struct vrb_proto_in *in)
{
	uint8_t list[VRB_PROTO_IOV * sizeof(struct vrb_wire_region)];
	const struct vrb_wire_packet cts = {
		.type = VRB_WIRE_CTS,
		.id = in->packet.id,
		.rid = in->id,
		.total = in->accept,
		.count = put_regions(list, in->iov, in->mr_count, in->mr),
		.list = list,
	};
	int ret = vrb_proto_grant(in->peer, in->mr, in->mr_count, &in->bound, 0);

	if (ret && ret != -FI_EAGAIN)
		return ask_instead(in);
	return ret ? ret : vrb_proto_control(in->peer, &cts, NULL);
}

int vrb_proto_rndv_send_fin(struct vrb_proto_out *out)
{
	const struct vrb_wire_packet fin = {
		.type = VRB_WIRE_FIN,
		.flags = VRB_WIRE_WRITTEN,
		.id = out->cts->packet.rid,
		.status = (uint32_t)out->err,
	};
	int ret;

	ret = vrb_proto_control(out->peer, &fin, out);
	if (ret)
		return ret;
	out->inflight++;
	out->fin_sent = true;
	return 0;
}
