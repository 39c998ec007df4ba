/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Rendezvous: registering memory, announcing it, moving the data by RDMA, and releasing the memory.
 */
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/desc.h"
#include "proto_int.h"

/* Registers the entries of iov, all or none. Returns 0 or -FI_E*. */
static int reg_all(struct ofi_rdm_proto_peer *peer, const struct iovec *iov, uint8_t count,
		   enum ofi_rdm_proto_access access, struct ofi_rdm_proto_mr *mr)
{
	uint8_t i;
	int ret;

	for (i = 0; i < count; i++) {
		ret = peer->proto->xport.ops->reg(peer, &iov[i], access, &mr[i]);
		if (ret) {
			ofi_rdm_proto_dereg(peer, mr, &i);
			return ret;
		}
	}
	return 0;
}

void ofi_rdm_proto_dereg(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr,
			 uint8_t *count)
{
	for (; *count; --*count)
		peer->proto->xport.ops->dereg(peer, &mr[*count - 1]);
}

/*
 * Finds the offset in the regions of a packet, and shortens *len to what its region has from there.
 * Returns the region's key.
 */
static uint64_t region_at(const struct ofi_rdm_wire_packet *packet, uint64_t offset, uint64_t *addr,
			  size_t *len)
{
	struct ofi_rdm_wire_region region;
	uint8_t i = 0;

	ofi_rdm_wire_get_region(packet->list, i, &region);
	while (i + 1 < packet->count && offset >= region.len) {
		offset -= region.len;
		ofi_rdm_wire_get_region(packet->list, ++i, &region);
	}
	*addr = region.addr + offset;
	if (*len > region.len - offset)
		*len = (size_t)(region.len - offset);
	return region.key;
}

/* Encodes regions for a packet. */
static uint8_t put_regions(uint8_t *list, const struct iovec *iov, uint8_t count,
			   const struct ofi_rdm_proto_mr *mr)
{
	struct ofi_rdm_wire_region region;
	uint8_t i;

	for (i = 0; i < count; i++) {
		region.addr = (uintptr_t)iov[i].iov_base;
		region.len = iov[i].iov_len;
		region.key = mr[i].rkey;
		ofi_rdm_wire_put_region(list, i, &region);
	}
	return count;
}

/* Returns the access that the peer needs: none if the receiver lets the sender write. */
static enum ofi_rdm_proto_access needed(const struct ofi_rdm_proto_out *out)
{
	bool writes = out->peer->writes && !(out->flags & OFI_RDM_WIRE_COLLECTIVE);

	return writes || !out->peer->proto->xport.props.can_read ? OFI_RDM_PROTO_SOURCE
								 : OFI_RDM_PROTO_PEER_READS;
}

int ofi_rdm_proto_rndv_announce(struct ofi_rdm_proto_out *out)
{
	uint8_t list[OFI_RDM_PROTO_IOV * sizeof(struct ofi_rdm_wire_region)];
	struct ofi_rdm_wire_packet rts = {
		.type = OFI_RDM_WIRE_RTS,
		.flags = out->flags,
		.id = out->id,
		.tag = out->tag,
		.data = out->data,
		.total = out->total,
		.list = list,
	};
	const struct ofi_rdm_xport_props *props = &out->peer->proto->xport.props;
	int ret;

	if (!props->can_read && !props->can_write)
		return -FI_EOPNOTSUPP;
	if (!out->mr_count) {
		ret = reg_all(out->peer, out->iov, out->count, needed(out), out->mr);
		if (ret)
			return ret == -FI_EAGAIN ? -FI_ENOMEM : ret;
		out->mr_count = out->count;
	}
	ret = ofi_rdm_proto_grant(out->peer, out->mr, out->mr_count, &out->bound,
				  out->peer->flow.reserve);
	if (ret)
		return ret;
	if (out->level == OFI_RDM_PROTO_DELIVERY)
		rts.flags |= OFI_RDM_WIRE_WANT_ACK;
	rts.count = put_regions(list, out->iov, out->count, out->mr);
	/* The completion shows that the peer has vanished, while nothing else is sent to it. */
	ret = ofi_rdm_proto_control(out->peer, &rts, out);
	if (ret)
		return ret;
	out->inflight++;
	out->state = OFI_RDM_PROTO_OUT_WAITING;
	STAILQ_REMOVE_HEAD(&out->peer->flow.data, link);
	return 0;
}

/* Returns the part of the receive's buffer for the message. */
static uint8_t recv_slice(const struct ofi_rdm_proto_recv *recv, size_t base, size_t len,
			  struct iovec *iov)
{
	uint8_t n = 0;
	size_t left;
	void *addr;

	while (len) {
		ofi_rdm_proto_iov_at(recv->iov, recv->count, base, &addr, &left);
		left = ofi_min(left, len);
		if (left)
			iov[n++] = (struct iovec){ .iov_base = addr, .iov_len = left };
		base += left;
		len -= left;
	}
	return n;
}

void ofi_rdm_proto_rndv_fin(struct ofi_rdm_proto_in *in)
{
	if (!in->peer->up || in->epoch != in->peer->epoch) {
		ofi_rdm_proto_in_end(in);
		return;
	}
	in->state = OFI_RDM_PROTO_IN_ENDING;
	ofi_rdm_proto_owe(in->peer, &in->item, OFI_RDM_PROTO_OWES_FIN);
}

/* Ends a message whose data is in place, or never will be. */
static void end_rndv(struct ofi_rdm_proto_in *in)
{
	ofi_rdm_proto_dereg(in->peer, in->mr, &in->mr_count);
	ofi_rdm_proto_in_finish(in);
	ofi_rdm_proto_rndv_fin(in);
}

/* Returns how many regions of the message are read by the processor. */
static uint8_t copied_regions(const struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_wire_region region;
	uint8_t i, n = 0;

	for (i = 0; i < in->packet.count; i++) {
		ofi_rdm_wire_get_region(in->packet.list, i, &region);
		if (region.key & OFI_RDM_PROTO_COPIED)
			n++;
	}
	return n;
}

/*
 * Registers the receive's part for the device that reads into it. Does nothing if the application
 * has registered it, or if the processor copies everything.
 */
static int reg_destination(struct ofi_rdm_proto_in *in, uint8_t count, uint8_t copied)
{
	if (copied && copied == in->packet.count) {
		memset(in->mr, 0, count * sizeof(*in->mr));
		return 0;
	}
	if (!in->recv->desc || !in->peer->proto->config.descriptors ||
	    !in->peer->proto->ops->registered(in->peer->proto, in->recv->desc, in->iov))
		return reg_all(in->peer, in->iov, count, OFI_RDM_PROTO_DESTINATION, in->mr);
	in->mr[0] = (struct ofi_rdm_proto_mr){ .lkey = ofi_desc_lkey(in->recv->desc) };
	return 0;
}

static void ask_for_segments(struct ofi_rdm_proto_in *in)
{
	in->asked = true;
	in->state = OFI_RDM_PROTO_IN_ASSEMBLING;
	ofi_rdm_proto_owe(in->peer, &in->item, OFI_RDM_PROTO_OWES_SEG_REQ);
}

struct ofi_rdm_proto_in *ofi_rdm_proto_rndv_asked_for(struct ofi_rdm_proto_peer *peer, uint32_t id)
{
	struct ofi_rdm_proto_in *in;

	TAILQ_FOREACH (in, &peer->ins, link)
		if (in->asked && in->state == OFI_RDM_PROTO_IN_ASSEMBLING && !in->item.owes &&
		    in->packet.id == id)
			break;
	return in;
}

void ofi_rdm_proto_rndv_ask(struct ofi_rdm_proto_in *in, uint64_t bytes)
{
	ask_for_segments(in);
	in->promised = bytes;
	in->charged += bytes;
	ofi_rdm_flow_charge(&in->peer->proto->budget, &in->peer->flow, bytes);
}

/*
 * Returns true if the sender is to write. A collective receive must be able to end without the
 * peer's help.
 */
static bool is_to_write(const struct ofi_rdm_proto_in *in, uint8_t copied)
{
	const struct ofi_rdm_proto *proto = in->peer->proto;

	return proto->xport.props.can_write && !copied &&
	       in->recv->space != OFI_RDM_PROTO_COLLECTIVE &&
	       (proto->config.write || !proto->xport.props.can_read);
}

void ofi_rdm_proto_rndv_start(struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_proto_peer *peer = in->peer;
	const struct ofi_rdm_xport_props *props = &peer->proto->xport.props;
	uint8_t count, copied = props->copies ? copied_regions(in) : 0;
	bool write = is_to_write(in, copied);
	int ret;

	count = recv_slice(in->recv, in->base, in->accept, in->iov);
	if (!count) {
		end_rndv(in);
		return;
	}
	if (write)
		ret = reg_all(peer, in->iov, count, OFI_RDM_PROTO_PEER_WRITES, in->mr);
	else
		ret = props->can_read ? reg_destination(in, count, copied) : -FI_EOPNOTSUPP;
	if (ret) {
		ask_for_segments(in);
		return;
	}
	in->mr_count = count;
	if (write) {
		in->state = OFI_RDM_PROTO_IN_WRITTEN;
		ofi_rdm_proto_owe(peer, &in->item, OFI_RDM_PROTO_OWES_CTS);
		return;
	}
	in->state = OFI_RDM_PROTO_IN_READING;
	in->working = true;
	TAILQ_INSERT_TAIL(&peer->readers, in, work);
}

static void stop_reading(struct ofi_rdm_proto_in *in)
{
	if (in->working)
		TAILQ_REMOVE(&in->peer->readers, in, work);
	in->working = false;
}

/* Posts one more RDMA read. Returns false if that is impossible now. */
static bool read_more(struct ofi_rdm_proto_in *in)
{
	const struct ofi_rdm_proto *proto = in->peer->proto;
	uint64_t remote, key;
	size_t len;
	void *addr;
	uint8_t i;
	int ret;

	if (in->inflight >= proto->xport.props.reads ||
	    !ofi_rdm_flow_has_data_credit(&in->peer->flow))
		return false;
	i = ofi_rdm_proto_iov_at(in->iov, in->mr_count, in->got, &addr, &len);
	key = region_at(&in->packet, in->got, &remote, &len);
	len = ofi_min(len, proto->xport.props.max_read);
	if (ofi_unlikely(key & OFI_RDM_PROTO_COPIED))
		len = ofi_min(len, OFI_RDM_PROTO_COPY);
	ret = proto->xport.ops->read(in, addr, &in->mr[i], len, remote, key);
	/* What cannot be read is requested in segments, once no read is in flight. */
	if (ret == -FI_EAGAIN || (ret == -FI_EOPNOTSUPP && in->inflight))
		return false;
	if (ret) {
		in->err = -ret;
		return false;
	}
	ofi_rdm_flow_take(&in->peer->flow);
	in->inflight++;
	in->got += len;
	return true;
}

static void end_reading(struct ofi_rdm_proto_in *in)
{
	if (in->err != FI_EOPNOTSUPP) {
		end_rndv(in);
		return;
	}
	ofi_rdm_proto_dereg(in->peer, in->mr, &in->mr_count);
	in->err = 0;
	in->got = 0;
	ask_for_segments(in);
}

static void pump_reads(struct ofi_rdm_proto_in *in)
{
	while (!in->err && in->got < in->accept && read_more(in))
		;
	if (!in->err && in->got < in->accept)
		return;
	stop_reading(in);
	if (!in->inflight)
		end_reading(in);
}

/* Posts one more RDMA write. Returns false if that is impossible now. */
static bool write_more(struct ofi_rdm_proto_out *out)
{
	const struct ofi_rdm_proto *proto = out->peer->proto;
	uint64_t remote, key;
	size_t len;
	void *addr;
	uint8_t i;
	int ret;

	if (out->inflight >= proto->xport.props.writes ||
	    !ofi_rdm_flow_has_data_credit(&out->peer->flow))
		return false;
	i = ofi_rdm_proto_iov_at(out->iov, out->count, out->sent, &addr, &len);
	key = region_at(&out->cts->packet, out->sent, &remote, &len);
	len = ofi_min(len, proto->xport.props.max_write);
	ret = proto->xport.ops->write(out, addr, &out->mr[i], len, remote, key);
	if (ret == -FI_EAGAIN)
		return false;
	if (ret) {
		out->err = -ret;
		return false;
	}
	ofi_rdm_flow_take(&out->peer->flow);
	out->inflight++;
	out->sent += len;
	return true;
}

static void pump_writes(struct ofi_rdm_proto_out *out)
{
	while (!out->err && out->sent < out->cts->packet.total && write_more(out))
		;
	if (!out->err && out->sent < out->cts->packet.total)
		return;
	TAILQ_REMOVE(&out->peer->writers, out, work);
	out->working = false;
	ofi_rdm_proto_out_check(out);
}

void ofi_rdm_proto_rndv_pump(struct ofi_rdm_proto_peer *peer)
{
	struct ofi_rdm_proto_out *out, *next_out;
	struct ofi_rdm_proto_in *in, *next_in;

	for (in = TAILQ_FIRST(&peer->readers); in; in = next_in) {
		next_in = TAILQ_NEXT(in, work);
		pump_reads(in);
	}
	for (out = TAILQ_FIRST(&peer->writers); out; out = next_out) {
		next_out = TAILQ_NEXT(out, work);
		pump_writes(out);
	}
}

void ofi_rdm_proto_read_done(struct ofi_rdm_proto_in *in, int err)
{
	struct ofi_rdm_proto_peer *peer = in->peer;

	ofi_rdm_flow_give(&peer->flow, 1);
	in->inflight--;
	if (err && !in->err)
		in->err = err;
	if (!in->inflight && (in->err || in->got == in->accept)) {
		stop_reading(in);
		end_rndv(in);
	}
	ofi_rdm_proto_progress(peer);
}

void ofi_rdm_proto_write_done(struct ofi_rdm_proto_out *out, int err)
{
	struct ofi_rdm_proto_peer *peer = out->peer;

	ofi_rdm_flow_give(&peer->flow, 1);
	out->inflight--;
	if (err && !out->err)
		out->err = err;
	ofi_rdm_proto_out_check(out);
	ofi_rdm_proto_progress(peer);
}

enum ofi_rdm_wire_error ofi_rdm_proto_rndv_cts(struct ofi_rdm_proto_peer *peer,
					       struct ofi_rdm_proto_in *in, bool *kept)
{
	struct ofi_rdm_proto_out *out;

	out = ofi_rdm_proto_out_find(peer, in->packet.id, OFI_RDM_PROTO_OUT_WAITING);
	if (!out || out->acked)
		return OFI_RDM_WIRE_E_ID;
	if (!in->packet.total || in->packet.total > out->total)
		return OFI_RDM_WIRE_E_TOTAL;
	peer->writes = true;
	in->peer = peer;
	in = ofi_rdm_proto_in_keep(in, true, kept);
	if (!in)
		return OFI_RDM_WIRE_E_MEMORY;
	in->state = OFI_RDM_PROTO_IN_PART;
	out->cts = in;
	out->sent = 0;
	out->state = OFI_RDM_PROTO_OUT_WRITING;
	out->working = true;
	TAILQ_INSERT_TAIL(&peer->writers, out, work);
	return OFI_RDM_WIRE_OK;
}

enum ofi_rdm_wire_error ofi_rdm_proto_rndv_asked(struct ofi_rdm_proto_peer *peer, uint32_t id)
{
	struct ofi_rdm_proto_out *out = ofi_rdm_proto_out_find(peer, id, OFI_RDM_PROTO_OUT_WAITING);

	if (!out || out->acked)
		return OFI_RDM_WIRE_E_ID;
	ofi_rdm_proto_out_segment(out);
	return OFI_RDM_WIRE_OK;
}

enum ofi_rdm_wire_error ofi_rdm_proto_rndv_written(struct ofi_rdm_proto_peer *peer,
						   const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_proto_in *in;

	in = peer->proto->xport.ops->in_at(peer, ofi_rdm_proto_index(packet->id));
	if (!in || in->peer != peer || in->id != packet->id ||
	    in->state != OFI_RDM_PROTO_IN_WRITTEN || in->item.owes)
		return OFI_RDM_WIRE_E_ID;
	/* A sender that failed does not wait for an ACK. */
	if (packet->status) {
		in->err = FI_EREMOTEIO;
		in->packet.flags &= (uint8_t)~OFI_RDM_WIRE_WANT_ACK;
	}
	in->state = OFI_RDM_PROTO_IN_REVOKING;
	if (ofi_rdm_proto_is_granted(in->mr, in->bound))
		ofi_rdm_proto_owe(peer, &in->item, OFI_RDM_PROTO_OWES_REVOKE);
	else
		ofi_rdm_proto_rndv_end_written(in);
	return OFI_RDM_WIRE_OK;
}

void ofi_rdm_proto_rndv_end_written(struct ofi_rdm_proto_in *in)
{
	ofi_rdm_proto_dereg(in->peer, in->mr, &in->mr_count);
	ofi_rdm_proto_in_finish(in);
	ofi_rdm_proto_in_settle(in);
}

/* Asks for segments instead of sending CTS: the sender cannot be given the right to write. */
static int ask_instead(struct ofi_rdm_proto_in *in)
{
	in->asked = true;
	in->state = OFI_RDM_PROTO_IN_ASSEMBLING;
	in->item.owes = OFI_RDM_PROTO_OWES_SEG_REQ;
	return ofi_rdm_proto_in_reply(in, OFI_RDM_WIRE_SEG_REQ);
}

int ofi_rdm_proto_rndv_send_cts(struct ofi_rdm_proto_in *in)
{
	uint8_t list[OFI_RDM_PROTO_IOV * sizeof(struct ofi_rdm_wire_region)];
	const struct ofi_rdm_wire_packet cts = {
		.type = OFI_RDM_WIRE_CTS,
		.id = in->packet.id,
		.rid = in->id,
		.total = in->accept,
		.count = put_regions(list, in->iov, in->mr_count, in->mr),
		.list = list,
	};
	int ret = ofi_rdm_proto_grant(in->peer, in->mr, in->mr_count, &in->bound, 0);

	if (ret && ret != -FI_EAGAIN)
		return ask_instead(in);
	return ret ? ret : ofi_rdm_proto_control(in->peer, &cts, NULL);
}

int ofi_rdm_proto_rndv_send_fin(struct ofi_rdm_proto_out *out)
{
	const struct ofi_rdm_wire_packet fin = {
		.type = OFI_RDM_WIRE_FIN,
		.flags = OFI_RDM_WIRE_WRITTEN,
		.id = out->cts->packet.rid,
		.status = (uint32_t)out->err,
	};
	int ret;

	ret = ofi_rdm_proto_control(out->peer, &fin, out);
	if (ret)
		return ret;
	out->inflight++;
	out->fin_sent = true;
	return 0;
}
