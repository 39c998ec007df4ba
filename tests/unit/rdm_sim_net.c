/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The simulator's queue pairs, receive buffers and registered memory. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/base/desc.h"
#include "rdm_sim.h"

uint32_t sim_random(uint32_t below)
{
	sim.random ^= sim.random << 13;
	sim.random ^= sim.random >> 7;
	sim.random ^= sim.random << 17;
	return (uint32_t)((sim.random >> 32) * below >> 32);
}

static struct sim_endpoint *endpoint_of(struct ofi_rdm_proto_peer *peer)
{
	return &sim.eps[((struct sim_qp *)peer)->from];
}

struct sim_qp *sim_qp_other(struct sim_qp *qp)
{
	return &sim.eps[qp->to].qps[qp->from];
}

static struct sim_wr *post(struct sim_qp *qp, enum sim_kind kind)
{
	struct sim_wr *wr = &qp->ring[qp->posted % SIM_RING];

	SIM_CHECK(qp->peer.up && qp->peer.flow.credits > 0);
	SIM_CHECK(qp->posted - qp->seen < SIM_RING);
	wr->kind = kind;
	wr->moved = false;
	wr->out = NULL;
	wr->own = NULL;
	wr->in = NULL;
	wr->mr = NULL;
	wr->item = NULL;
	qp->posted++;
	return wr;
}

static int op_send(struct ofi_rdm_proto_peer *peer, const void *hdr, size_t hdr_len,
		   const struct iovec *iov, size_t offset, size_t len,
		   struct ofi_rdm_proto_out *out)
{
	struct sim_qp *qp = (struct sim_qp *)peer;
	size_t chunk, done = 0;
	struct sim_wr *wr;

	if (sim.options.again && !sim_random(4))
		return -FI_EAGAIN;
	wr = post(qp, SIM_SEND);
	wr->out = out;
	wr->len = hdr_len + len;
	SIM_CHECK(hdr_len <= OFI_RDM_WIRE_HEADER_MAX && len <= peer->eager);
	memcpy(wr->bytes, hdr, hdr_len);
	for (; done < len; iov++) {
		if (offset >= iov->iov_len) {
			offset -= iov->iov_len;
			continue;
		}
		chunk = iov->iov_len - offset < len - done ? iov->iov_len - offset : len - done;
		memcpy(wr->bytes + hdr_len + done, (char *)iov->iov_base + offset, chunk);
		done += chunk;
		offset = 0;
	}
	return 0;
}

/* The key's memory, if it is that. */
static const struct sim_mr *find_mr(int owner, uint64_t key, uint64_t addr, size_t len)
{
	const struct sim_mr *mr = &sim.eps[owner].mrs[(uint16_t)key % SIM_MRS];

	return mr->used && mr->use == key >> 16 && addr >= mr->addr &&
			       addr + len <= mr->addr + mr->len
		       ? mr
		       : NULL;
}

static bool is_in_receive(const struct sim_wr *wr)
{
	const uint8_t *at = wr->addr, *first;
	uint8_t i;

	for (i = 0; i < wr->own->count; i++) {
		first = wr->own->iov[i].iov_base;
		if (at >= first && at + wr->len <= first + wr->own->iov[i].iov_len)
			return true;
	}
	return false;
}

/* What the queue pair's own device, or the processor, does there. */
static bool is_local(const struct sim_qp *qp, const struct sim_wr *wr)
{
	const struct sim_mr *mr = find_mr(qp->from, wr->local_key, (uintptr_t)wr->addr, wr->len);

	if (wr->own)
		return is_in_receive(wr);
	if (!mr)
		return false;
	return wr->kind == SIM_READ ? mr->access == OFI_RDM_PROTO_DESTINATION
				    : mr->access == OFI_RDM_PROTO_PEER_READS ||
					      mr->access == OFI_RDM_PROTO_SOURCE;
}

/* What comes by the queue pair from the other end: that right, now, by this queue pair. */
static bool is_granted(const struct sim_qp *qp, const struct sim_wr *wr)
{
	const struct sim_mr *mr = find_mr(qp->from, wr->key, wr->remote, wr->len);

	if (mr && mr->window && mr->epoch != qp->peer.epoch)
		return false;
	return mr && (mr->bound || !mr->window) && mr->qp == qp &&
	       mr->access == (wr->kind == SIM_READ ? OFI_RDM_PROTO_PEER_READS
						   : OFI_RDM_PROTO_PEER_WRITES);
}

static int op_rdma(struct ofi_rdm_proto_peer *peer, enum sim_kind kind, void *addr,
		   const struct ofi_rdm_proto_mr *mr, size_t len, uint64_t remote, uint64_t key,
		   struct sim_wr **wr)
{
	if (sim.options.again && !sim_random(4))
		return -FI_EAGAIN;
	if (sim.options.reg_fails && !sim_random(16))
		return -FI_EINVAL;
	SIM_CHECK(kind == SIM_READ ? peer->proto->xport.props.can_read
				   : peer->proto->xport.props.can_write);
	SIM_CHECK(len > 0 && len <= (kind == SIM_READ ? peer->proto->xport.props.max_read
						      : peer->proto->xport.props.max_write));
	*wr = post((struct sim_qp *)peer, kind);
	(*wr)->addr = addr;
	(*wr)->len = len;
	(*wr)->local_key = mr->rkey;
	(*wr)->remote = remote;
	(*wr)->key = key & ~OFI_RDM_PROTO_COPIED;
	return 0;
}

static int op_read(struct ofi_rdm_proto_in *in, void *addr, const struct ofi_rdm_proto_mr *mr,
		   size_t len, uint64_t remote, uint64_t rkey)
{
	bool copied = rkey & OFI_RDM_PROTO_COPIED;
	struct sim_wr *wr;
	int ret;

	SIM_CHECK(mr->handle || mr->lkey == SIM_LKEY || copied);
	SIM_CHECK(!mr->lkey || (in->peer->proto->config.descriptors && in->recv->desc));
	sim.unregistered += !mr->handle && !mr->lkey;
	if (copied && !sim_random(8)) {
		sim.unread++;
		return -FI_EOPNOTSUPP;
	}
	ret = op_rdma(in->peer, SIM_READ, addr, mr, len, remote, rkey, &wr);
	if (!ret) {
		wr->in = in;
		wr->own = mr->handle ? NULL : in->recv;
		sim.own_reads += mr->lkey == SIM_LKEY;
		sim.copies += copied;
	}
	sim.reads += !ret;
	return ret;
}

static int op_write(struct ofi_rdm_proto_out *out, void *addr, const struct ofi_rdm_proto_mr *mr,
		    size_t len, uint64_t remote, uint64_t rkey)
{
	struct sim_wr *wr;
	int ret = op_rdma(out->peer, SIM_WRITE, addr, mr, len, remote, rkey, &wr);

	if (!ret)
		wr->out = out;
	sim.writes += !ret;
	return ret;
}

static int op_reg(struct ofi_rdm_proto_peer *peer, const struct iovec *iov,
		  enum ofi_rdm_proto_access access, struct ofi_rdm_proto_mr *mr)
{
	struct sim_endpoint *ep = endpoint_of(peer);
	bool copied = access == OFI_RDM_PROTO_PEER_READS && sim.options.copies && sim_random(4);
	struct sim_mr *entry;
	int i;

	/* No right is given that is of no use. */
	SIM_CHECK(access != OFI_RDM_PROTO_PEER_READS || peer->proto->xport.props.can_read);
	SIM_CHECK(access != OFI_RDM_PROTO_PEER_WRITES || peer->proto->xport.props.can_write);
	if (sim.options.reg_fails && !sim_random(6))
		return -FI_ENOMEM;
	for (i = 0; i < SIM_MRS && ep->mrs[i].used; i++)
		;
	SIM_CHECK(i < SIM_MRS);
	entry = &ep->mrs[i];
	entry->used = true;
	entry->access = access;
	entry->window = access >= OFI_RDM_PROTO_PEER_READS && !copied && sim.options.windows &&
			(sim.options.windows > 1 || sim_random(4));
	entry->bound = false;
	entry->qp = (struct sim_qp *)peer;
	entry->epoch = peer->epoch;
	entry->addr = (uintptr_t)iov->iov_base;
	entry->len = iov->iov_len;
	mr->handle = entry;
	mr->lkey = 0;
	mr->window = entry->window;
	mr->rkey = (uint64_t)++entry->use << 16 | (uint64_t)i;
	if (copied)
		mr->rkey |= OFI_RDM_PROTO_COPIED;
	return 0;
}

static void op_dereg(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr)
{
	struct sim_mr *entry = mr->handle;

	(void)peer;
	if (!entry)
		return;
	SIM_CHECK(entry->used && entry->use == (uint16_t)(mr->rkey >> 16));
	/* While there is a connection this is no way to end the peer's right. */
	SIM_CHECK(!entry->bound || !peer->up || sim.hostile);
	entry->used = false;
}

/* Of a message that has begun to be bound all is: the sim's dereg is no way to end a right. */
static bool is_binding(const struct sim_qp *qp)
{
	unsigned int i;

	for (i = 0; i < SIM_MRS; i++)
		if (sim.eps[qp->from].mrs[i].used && sim.eps[qp->from].mrs[i].bound)
			return true;
	for (i = qp->moved; i != qp->posted; i++)
		if (qp->ring[i % SIM_RING].kind == SIM_BIND)
			return true;
	return false;
}

static int op_bind(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr)
{
	struct sim_mr *entry = mr->handle;
	struct sim_wr *wr;

	if (sim.options.again && !sim_random(4))
		return -FI_EAGAIN;
	SIM_CHECK(mr->window && !entry->bound && entry->epoch == peer->epoch);
	if (sim.options.reg_fails && !is_binding((struct sim_qp *)peer) && !sim_random(4)) {
		sim.unbound++;
		return -FI_EINVAL;
	}
	wr = post((struct sim_qp *)peer, SIM_BIND);
	wr->mr = mr->handle;
	wr->key = mr->rkey;
	sim.bound++;
	return 0;
}

static int op_revoke(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr,
		     struct ofi_rdm_proto_item *item)
{
	struct sim_wr *wr;

	if (sim.options.again && !sim_random(4))
		return -FI_EAGAIN;
	SIM_CHECK(mr->window);
	wr = post((struct sim_qp *)peer, SIM_REVOKE);
	wr->mr = mr->handle;
	wr->key = mr->rkey;
	wr->item = item;
	return 0;
}

static struct sim_in *free_buffer(struct sim_endpoint *ep)
{
	int i;

	for (i = 0; i < SIM_INS; i++) {
		if (!ep->ins[i].used)
			return &ep->ins[i];
	}
	return NULL;
}

/* Moves a packet without payload, as a transport does that has few buffers of full size. */
static struct ofi_rdm_proto_in *op_keep(struct ofi_rdm_proto_in *in, bool payload)
{
	struct sim_in *from = (struct sim_in *)in, *to;
	uint32_t index;
	uint16_t use;

	in->cost = 64 + (payload ? (uint32_t)in->packet.payload_len : 0);
	to = payload ? NULL : free_buffer((struct sim_endpoint *)in->peer->proto);
	if (!to)
		return in;
	index = to->in.index;
	use = to->in.use;
	*to = *from;
	to->in.index = index;
	to->in.use = use;
	to->in.packet.payload += to->bytes - from->bytes;
	if (to->in.packet.list)
		to->in.packet.list += to->bytes - from->bytes;
	from->used = false;
	return &to->in;
}

static void op_release(struct ofi_rdm_proto_in *in)
{
	struct sim_in *buffer = (struct sim_in *)in;

	SIM_CHECK(buffer->used);
	SIM_CHECK(in->inflight == 0 || in->state == OFI_RDM_PROTO_IN_FREE);
	buffer->used = false;
	memset(buffer->bytes, 0xdd, 32);
}

static struct ofi_rdm_proto_out *op_out_at(struct ofi_rdm_proto_peer *peer, uint32_t index)
{
	return index < SIM_OUTS ? &((struct sim_endpoint *)peer->proto)->outs[index].out : NULL;
}

static struct ofi_rdm_proto_in *op_in_at(struct ofi_rdm_proto_peer *peer, uint32_t index)
{
	return index < SIM_INS ? &((struct sim_endpoint *)peer->proto)->ins[index].in : NULL;
}

static enum ofi_rdm_wire_error op_other(struct ofi_rdm_proto_peer *peer,
					const struct ofi_rdm_wire_packet *packet)
{
	(void)peer;
	(void)packet;
	return OFI_RDM_WIRE_E_TYPE;
}

static bool op_registered(struct ofi_rdm_proto *proto, const void *desc, const struct iovec *iov)
{
	(void)proto;
	(void)iov;
	return ofi_desc_permits(desc, true);
}

const struct ofi_rdm_proto_ops sim_ops = {
	.registered = op_registered,
	.out_done = sim_out_done,
	.recv_done = sim_recv_done,
	.out_at = op_out_at,
	.other = op_other,
};

const struct ofi_rdm_xport_ops sim_xport = {
	.send = op_send,
	.read = op_read,
	.write = op_write,
	.reg = op_reg,
	.bind = op_bind,
	.revoke = op_revoke,
	.dereg = op_dereg,
	.keep = op_keep,
	.release = op_release,
	.in_at = op_in_at,
};

void sim_qp_arrive(struct sim_qp *qp, const uint8_t *bytes, size_t len)
{
	struct sim_in *buffer = free_buffer(&sim.eps[qp->to]);
	struct ofi_rdm_wire_packet packet;
	bool kept;

	SIM_CHECK(buffer != NULL);
	/* See ofi_rdm_proto_unexpected(). */
	SIM_CHECK(!buffer->in.recv && !buffer->in.err);
	memcpy(buffer->bytes, bytes, len);
	SIM_CHECK(!ofi_rdm_wire_parse(bytes, len, &packet));
	sim.stops += packet.type == OFI_RDM_WIRE_STOP;
	sim.halts += packet.type == OFI_RDM_WIRE_HALT;
	sim.acks += packet.type == OFI_RDM_WIRE_ACK;
	sim.announced += packet.type == OFI_RDM_WIRE_RTS;
	sim.segments += packet.type == OFI_RDM_WIRE_SEG_NEXT;
	sim.asked += packet.type == OFI_RDM_WIRE_SEG_ASKED;
	if (packet.type == OFI_RDM_WIRE_EAGER || packet.type == OFI_RDM_WIRE_SEG_FIRST ||
	    packet.type == OFI_RDM_WIRE_RTS)
		sim_arrived(qp, &packet);
	/* It may be released before the call returns. */
	buffer->used = true;
	SIM_CHECK(!ofi_rdm_proto_packet(&sim_qp_other(qp)->peer, &buffer->in, buffer->bytes, len,
					&kept));
	if (!kept)
		buffer->used = false;
}

static void move_rdma(struct sim_qp *qp, const struct sim_wr *wr)
{
	bool read = wr->kind == SIM_READ;

	SIM_CHECK(is_local(qp, wr) && is_granted(sim_qp_other(qp), wr));
	if (read)
		memcpy(wr->addr, (void *)(uintptr_t)wr->remote, wr->len);
	else
		memcpy((void *)(uintptr_t)wr->remote, wr->addr, wr->len);
}

void sim_qp_execute(struct sim_qp *qp, struct sim_wr *wr)
{
	if (wr->mr)
		wr->mr->bound = wr->kind == SIM_BIND;
	else
		move_rdma(qp, wr);
}

bool sim_qp_move(struct sim_qp *qp)
{
	struct sim_wr *wr = &qp->ring[qp->moved % SIM_RING];

	if (sim_is_lossy())
		return sim_wire_move(qp);
	/* An end that noticed takes nothing any more. */
	if (qp->broken || qp->moved == qp->posted || !sim_qp_other(qp)->peer.up)
		return false;
	qp->moved++;
	wr->moved = true;
	if (wr->kind == SIM_SEND)
		sim_qp_arrive(qp, wr->bytes, wr->len);
	else
		sim_qp_execute(qp, wr);
	return true;
}

bool sim_qp_see(struct sim_qp *qp)
{
	struct sim_wr *wr = &qp->ring[qp->seen % SIM_RING];
	int err = 0;

	if (qp->seen == (qp->broken ? qp->posted : qp->moved))
		return false;
	if (qp->broken && (!wr->moved || !sim_random(3)))
		qp->failing = true;
	if (qp->failing)
		err = FI_EIO;
	qp->seen++;
	/* Whoever sees a connection fail takes the peer's rights away first. */
	if (err && wr->mr && wr->mr->use == wr->key >> 16)
		wr->mr->bound = false;
	if (wr->kind == SIM_SEND)
		ofi_rdm_proto_sent(&qp->peer, wr->out, err);
	else if (wr->kind == SIM_READ)
		ofi_rdm_proto_read_done(wr->in, err);
	else if (wr->kind == SIM_BIND)
		ofi_rdm_proto_bound(&qp->peer);
	else if (wr->kind == SIM_REVOKE)
		ofi_rdm_proto_revoked(&qp->peer, wr->item);
	else
		ofi_rdm_proto_write_done(wr->out, err);
	return true;
}
