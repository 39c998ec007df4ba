/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol's packets and RDMA as work requests, its registrations from the cache, its objects.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "carry.h"
#include "coll.h"
#include "conn.h"
#include "link.h"
#include "mem.h"
#include "op.h"
#include "peer.h"
#include "progress.h"
#include "stats.h"
#include "prov/verbs/provider/prov.h"

#define OBJECTS		    64u /* of a chunk */
#define MATCH_BITS	    12u
#define RDMA_AT_ONCE	    4
#define VENDOR_OF_SOFT_ROCE 0xffffff /* nobody's OUI */
#define SOFT_READ	    (128u << 10)
#define SOFT_READS	    2

static struct vrb_rdm *ep_of(struct ofi_rdm_proto *proto)
{
	return (struct vrb_rdm *)((char *)proto - offsetof(struct vrb_rdm, proto));
}

static uint64_t kind(enum vrb_rdm_kind kind)
{
	return (uint64_t)kind << VRB_RDM_KIND_SHIFT;
}

/* Skips `offset` bytes, takes `len`. Returns the segments. */
static int gather(struct ibv_sge *sge, const struct iovec *iov, size_t offset, size_t len)
{
	size_t take;
	int n = 0;

	for (; len; iov++) {
		if (offset >= iov->iov_len) {
			offset -= iov->iov_len;
			continue;
		}
		take = iov->iov_len - offset < len ? iov->iov_len - offset : len;
		sge[n++] = (struct ibv_sge){
			.addr = (uintptr_t)iov->iov_base + offset,
			.length = (uint32_t)take,
		};
		len -= take;
		offset = 0;
	}
	return n;
}

static uint8_t *pack(uint8_t *to, const struct ibv_sge *sge, int count)
{
	for (; count--; sge++) {
		memcpy(to, (void *)(uintptr_t)sge->addr, sge->length);
		to += sge->length;
	}
	return to;
}

static int again(struct vrb_rdm_peer *peer, int err)
{
	if (!err)
		return 0;
	vrb_rdm_conn_starve(peer);
	return -FI_EAGAIN;
}

/* Inline where it fits, else by a bounce buffer. */
static int carry_send(struct ofi_rdm_proto_peer *proto_peer, const void *hdr, size_t hdr_len,
		      const struct iovec *iov, size_t offset, size_t len,
		      struct ofi_rdm_proto_out *out)
{
	struct vrb_rdm_peer *peer = (struct vrb_rdm_peer *)proto_peer;
	uint64_t flags = kind(VRB_RDM_PACKET) | (out ? 0 : VRB_SILENT);
	struct vrb_rdm *ep = peer->ep;
	struct ibv_sge sge[1 + OFI_RDM_PROTO_IOV] = {
		{ .addr = (uintptr_t)hdr, .length = (uint32_t)hdr_len },
	};
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sge };
	struct vrb_rdm_buf *bounce = NULL;
	int err;

	wr.num_sge = 1 + gather(&sge[1], iov, offset, len);
	if (hdr_len + len <= ep->inline_max + sizeof(struct ofi_rdm_wire_plain)) {
		wr.send_flags = IBV_SEND_INLINE;
	} else {
		bounce = vrb_rdm_pool_get(&ep->tx_bufs);
		if (!bounce)
			return again(peer, ENOMEM);
		pack(bounce->data, sge, wr.num_sge);
		sge[0].addr = (uintptr_t)bounce->data;
		sge[0].length = (uint32_t)(hdr_len + len);
		sge[0].lkey = bounce->lkey;
		wr.num_sge = 1;
	}
	err = vrb_rdm_link_post(peer->link, &wr, flags, out, bounce);
	if (err && bounce)
		vrb_rdm_pool_put(&ep->tx_bufs, bounce);
	return again(peer, err);
}

static int rdma(struct ofi_rdm_proto_peer *proto_peer, enum ibv_wr_opcode opcode, void *addr,
		const struct ofi_rdm_proto_mr *mr, size_t len, uint64_t remote, uint64_t rkey,
		uint64_t flags, void *context)
{
	struct vrb_rdm_peer *peer = (struct vrb_rdm_peer *)proto_peer;
	struct ibv_sge sge = {
		.addr = (uintptr_t)addr,
		.length = (uint32_t)len,
		.lkey = vrb_rdm_mem_mr(mr)->lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = opcode,
		.sg_list = &sge,
		.num_sge = 1,
		.wr.rdma = { .remote_addr = remote, .rkey = (uint32_t)rkey },
	};

	return again(peer, vrb_rdm_link_post(peer->link, &wr, flags, context, NULL));
}

static int carry_read(struct ofi_rdm_proto_in *in, void *addr, const struct ofi_rdm_proto_mr *mr,
		      size_t len, uint64_t remote, uint64_t rkey)
{
	return rdma(in->peer, IBV_WR_RDMA_READ, addr, mr, len, remote, rkey, kind(VRB_RDM_READ),
		    in);
}

static int carry_write(struct ofi_rdm_proto_out *out, void *addr, const struct ofi_rdm_proto_mr *mr,
		       size_t len, uint64_t remote, uint64_t rkey)
{
	return rdma(out->peer, IBV_WR_RDMA_WRITE, addr, mr, len, remote, rkey, kind(VRB_RDM_WRITE),
		    out);
}

static void carry_copy(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}

static void carry_out_done(struct ofi_rdm_proto_out *proto_out, int err)
{
	struct vrb_rdm *ep = ((struct vrb_rdm_peer *)proto_out->peer)->ep;
	struct vrb_rdm_out *out = (struct vrb_rdm_out *)proto_out;

	if (out->proto.flags & OFI_RDM_WIRE_COLLECTIVE) {
		vrb_rdm_coll_out_done(ep, out, err);
		return;
	}
	vrb_rdm_complete_tx(ep, out->proto.context, out->flags, err, 0);
	vrb_rdm_out_put(ep, out);
}

static void carry_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done)
{
	if (done->recv->space == OFI_RDM_PROTO_COLLECTIVE)
		vrb_rdm_coll_recv_done(ep_of(proto), done);
	else
		vrb_rdm_recv_done(proto, done);
}

/* The note goes to its new place; what it has to say of its place stays. */
static void move_note(struct ofi_rdm_proto_in *to, const struct ofi_rdm_proto_in *from,
		      ptrdiff_t by)
{
	uint32_t index = to->index, cost = to->cost;
	uint16_t use = to->use;

	*to = *from;
	to->index = index;
	to->cost = cost;
	to->use = use;
	to->packet.payload += by;
	if (to->packet.list)
		to->packet.list += by;
}

static struct ofi_rdm_proto_in *carry_keep(struct ofi_rdm_proto_in *in, bool payload)
{
	struct vrb_rdm_rx *rx = (struct vrb_rdm_rx *)in, *kept;
	uintptr_t from = rx->sge.addr;
	size_t len = (uintptr_t)in->packet.payload - from;

	if (payload)
		len += in->packet.payload_len;
	kept = vrb_rdm_rx_keep(rx->ring, rx, len);
	if (kept && kept != rx)
		move_note(&kept->in, in, (ptrdiff_t)(kept->sge.addr - from));
	if (kept && payload &&
	    (in->packet.type == OFI_RDM_WIRE_EAGER || in->packet.type == OFI_RDM_WIRE_SEG_FIRST ||
	     in->packet.type == OFI_RDM_WIRE_RTS))
		vrb_rdm_count(ep_of(in->peer->proto), OFI_STATS_UNEXPECTED,
			      OFI_STATS_UNEXPECTED_BYTES, in->total);
	return kept ? &kept->in : NULL;
}

static void carry_release(struct ofi_rdm_proto_in *in)
{
	struct vrb_rdm_rx *rx = (struct vrb_rdm_rx *)in;
	struct vrb_rdm *ep = ep_of(in->peer->proto);

	vrb_rdm_rx_put(&ep->rx, rx);
	if (ep->rx.above < 0 && !ep->closing)
		vrb_rdm_refill(ep);
}

static struct ofi_rdm_proto_out *carry_out_at(struct ofi_rdm_proto *proto, uint32_t index)
{
	struct vrb_rdm *ep = ep_of(proto);

	return index < ep->out_count ? &ep->outs[index / OBJECTS][index % OBJECTS].proto : NULL;
}

static struct ofi_rdm_proto_in *carry_in_at(struct ofi_rdm_proto *proto, uint32_t index)
{
	return (struct ofi_rdm_proto_in *)vrb_rdm_rx_at(&ep_of(proto)->rx, index);
}

static enum ofi_rdm_wire_error carry_other(struct ofi_rdm_proto_peer *peer,
					   const struct ofi_rdm_wire_packet *packet)
{
	return vrb_rdm_op_packet((struct vrb_rdm_peer *)peer, packet);
}

const struct ofi_rdm_proto_ops vrb_rdm_carry_ops = {
	.send = carry_send,
	.read = carry_read,
	.write = carry_write,
	.reg = vrb_rdm_mem_reg,
	.bind = vrb_rdm_mem_bind,
	.revoke = vrb_rdm_mem_revoke,
	.dereg = vrb_rdm_mem_dereg,
	.copy = carry_copy,
	.out_done = carry_out_done,
	.recv_done = carry_recv_done,
	.keep = carry_keep,
	.release = carry_release,
	.out_at = carry_out_at,
	.in_at = carry_in_at,
	.other = carry_other,
};

/*
 * Soft-RoCE answers a read with all its packets at once, and when the network loses some of them it
 * waits for a timeout and repeats what follows. A large message is read there in pieces that fit
 * what a network buffers.
 */
static void limit_reads(const struct vrb_domain *domain, struct ofi_rdm_proto_config *config)
{
	if (domain->attr.vendor_id != VENDOR_OF_SOFT_ROCE)
		return;
	config->max_read = SOFT_READ;
	config->reads = SOFT_READS;
}

int vrb_rdm_proto_open(struct vrb_rdm *ep, const struct fi_info *info)
{
	size_t most = info->ep_attr->max_order_waw_size;
	struct ofi_rdm_proto_config config = {
		.eager = (size_t)vrb_params.rdm_buffer_size - OFI_RDM_WIRE_HEADER_MAX,
		.segmented = (size_t)vrb_params.rdm_segmented_size,
		.max_read = most ? most : 1u << 20,
		.max_write = most ? most : 1u << 20,
		.reads = RDMA_AT_ONCE,
		.writes = RDMA_AT_ONCE,
		.write = vrb_params.rdm_use_write > 0,
		.unexpected = (uint64_t)vrb_params.rdm_unexpected_size,
		.window = OFI_RDM_WIRE_WINDOW,
		.delivers = ep->domain->ctx->device->transport_type != IBV_TRANSPORT_IWARP,
	};
	size_t buckets = (size_t)1 << MATCH_BITS;

	ep->buckets = calloc(4 * buckets, sizeof(*ep->buckets));
	if (!ep->buckets)
		return -FI_ENOMEM;
	limit_reads(ep->domain, &config);
	ofi_rdm_proto_init(&ep->proto, &vrb_rdm_carry_ops, &config);
	ofi_rdm_match_init(&ep->proto.match[0], ep->buckets, ep->buckets + buckets, MATCH_BITS);
	ofi_rdm_match_init(&ep->proto.match[1], ep->buckets + 2 * buckets,
			   ep->buckets + 3 * buckets, MATCH_BITS);
	return 0;
}

/* Appends a chunk of objects to an array of chunks. NULL when out of memory. */
static void *add_chunk(void *array, size_t chunks, size_t size)
{
	void **grown = realloc(*(void **)array, (chunks + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	*(void **)array = grown;
	grown[chunks] = calloc(OBJECTS, size);
	return grown[chunks];
}

static bool more_outs(struct vrb_rdm *ep)
{
	struct vrb_rdm_out *outs;
	uint32_t i;

	if (ep->out_count >= ep->info->tx_attr->size)
		return false;
	outs = add_chunk(&ep->outs, ep->out_count / OBJECTS, sizeof(*outs));
	if (!outs)
		return false;
	for (i = 0; i < OBJECTS; i++) {
		outs[i].proto.index = ep->out_count + i;
		SLIST_INSERT_HEAD(&ep->free_outs, &outs[i], link);
	}
	ep->out_count += OBJECTS;
	return true;
}

struct vrb_rdm_out *vrb_rdm_out_get(struct vrb_rdm *ep)
{
	struct vrb_rdm_out *out;

	if (SLIST_EMPTY(&ep->free_outs) && !more_outs(ep))
		return NULL;
	out = SLIST_FIRST(&ep->free_outs);
	SLIST_REMOVE_HEAD(&ep->free_outs, link);
	return out;
}

void vrb_rdm_out_put(struct vrb_rdm *ep, struct vrb_rdm_out *out)
{
	free(out->copy);
	out->copy = NULL;
	SLIST_INSERT_HEAD(&ep->free_outs, out, link);
}

static bool more_recvs(struct vrb_rdm *ep, bool tagged)
{
	struct vrb_rdm_recv *recvs;
	uint32_t i;

	recvs = add_chunk(&ep->recv_chunks, ep->recv_chunk_count, sizeof(*recvs));
	if (!recvs)
		return false;
	ep->recv_chunk_count++;
	for (i = 0; i < OBJECTS; i++) {
		recvs[i].proto.space = tagged ? OFI_RDM_PROTO_TAGGED : OFI_RDM_PROTO_UNTAGGED;
		vrb_rdm_recv_put(ep, &recvs[i]);
	}
	return true;
}

struct vrb_rdm_recv *vrb_rdm_recv_get(struct vrb_rdm *ep, bool tagged)
{
	struct vrb_rdm_recvs *list = &ep->free_recvs[tagged];
	struct vrb_rdm_recv *recv;

	if (SLIST_EMPTY(list) && !more_recvs(ep, tagged))
		return NULL;
	recv = SLIST_FIRST(list);
	SLIST_REMOVE_HEAD(list, link);
	return recv;
}

void vrb_rdm_recv_put(struct vrb_rdm *ep, struct vrb_rdm_recv *recv)
{
	struct ofi_rdm_proto_recv *proto = &recv->proto;

	proto->match.sticky = proto->closed = proto->canceled = false;
	proto->count = 1;
	proto->used = 0;
	proto->users = 0;
	SLIST_INSERT_HEAD(&ep->free_recvs[proto->space], recv, link);
}

void vrb_rdm_recvs_mark(struct vrb_rdm *ep, uint64_t bits)
{
	uint32_t i, j;

	for (i = 0; i < ep->recv_chunk_count; i++)
		for (j = 0; j < OBJECTS; j++)
			ep->recv_chunks[i][j].flags |= bits;
}

void vrb_rdm_objects_fini(struct vrb_rdm *ep)
{
	uint32_t i;

	for (i = 0; i < ep->out_count / OBJECTS; i++)
		free(ep->outs[i]);
	free(ep->outs);
	for (i = 0; i < ep->recv_chunk_count; i++)
		free(ep->recv_chunks[i]);
	free(ep->recv_chunks);
}
