/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA and atomic operations: their queue, their work requests, their end. */
#include <stdlib.h>
#include <string.h>
#include "prov/base/mr_cache.h"
#include <rdma/fi_errno.h>
#include "objects.h"
#include "coll.h"
#include "conn.h"
#include "fence.h"
#include "rma_event.h"
#include "op.h"
#include "progress.h"

#define ID_BITS 20

/* A packet that waits for a credit. */
struct vrb_rdm_reply {
	STAILQ_ENTRY(vrb_rdm_reply) link;
	size_t hdr_len, len;
	uint8_t bytes[]; /* the header, then the payload */
};

size_t vrb_rdm_local_iov(const struct vrb_rdm_op *op, struct iovec *iov)
{
	uint8_t i;

	for (i = 0; i < op->local_count; i++)
		iov[i] = (struct iovec){ op->local[i].addr, op->local[i].len };
	return op->local_count;
}

static bool grow(struct vrb_rdm *ep)
{
	struct vrb_rdm_op *ops;
	uint32_t i;

	if (ep->op_count >= ep->info->tx_attr->size)
		return false;
	ops = vrb_rdm_add_chunk(&ep->ops, ep->op_count / VRB_RDM_OBJECTS, sizeof(*ops));
	if (!ops)
		return false;
	for (i = 0; i < VRB_RDM_OBJECTS; i++) {
		ops[i].index = ep->op_count + i;
		SLIST_INSERT_HEAD(&ep->free_ops, &ops[i], unused);
	}
	ep->op_count += VRB_RDM_OBJECTS;
	return true;
}

struct vrb_rdm_op *vrb_rdm_op_get(struct vrb_rdm *ep)
{
	struct vrb_rdm_op *op;
	uint32_t index;
	uint16_t use;

	if (SLIST_EMPTY(&ep->free_ops) && !grow(ep))
		return NULL;
	op = SLIST_FIRST(&ep->free_ops);
	SLIST_REMOVE_HEAD(&ep->free_ops, unused);
	index = op->index;
	use = (uint16_t)((op->use + 1) & 0xfff);
	*op = (struct vrb_rdm_op){ .index = index, .use = use };
	op->id = (uint32_t)use << ID_BITS | index;
	return op;
}

static void op_release(struct vrb_rdm_op *op)
{
	struct vrb_rdm *ep = op->peer->ep;
	uint8_t i;

	for (i = 0; i < op->local_count; i++)
		if (op->local[i].region)
			ofi_mr_cache_put(ep->domain->base.cache, op->local[i].region);
	if (op->bounce)
		vrb_rdm_pool_put_share(&ep->tx_bufs, op->bounce, &op->peer->bounces);
	free(op->operands);
	op->local_count = 0;
	op->bounce = NULL;
	op->operands = NULL;
}

void vrb_rdm_op_put(struct vrb_rdm_op *op)
{
	op_release(op);
	SLIST_INSERT_HEAD(&op->peer->ep->free_ops, op, unused);
}

static void op_finish(struct vrb_rdm_op *op)
{
	struct vrb_rdm *ep = op->peer->ep;

	if (op->kind == VRB_RDM_OP_READ && op->bounce && !op->err)
		vrb_rdm_scatter(op->result, op->result_count, op->bounce->data, op->total);
	if (op->waiting)
		TAILQ_REMOVE(&op->peer->answers, op, wait);
	op->waiting = false;
	vrb_rdm_complete_tx(ep, op->context, op->flags, op->err, op->status);
	vrb_rdm_op_put(op);
}

static void fail(struct vrb_rdm_op *op, int err)
{
	if (!op->err)
		op->err = err;
	if (!op->inflight)
		op_finish(op);
}

void vrb_rdm_op_done(struct vrb_rdm_op *op, int err, int status)
{
	op->inflight--;
	if (err && !op->err) {
		op->err = err;
		op->status = status;
	}
	if (op->inflight)
		return;
	if (!op->err && op->posted_all && op->owes && op->kind == VRB_RDM_OP_READ) {
		op->owes = false;
		vrb_rdm_rma_event_read(op);
	}
	if (op->err || (op->posted_all && !op->owes))
		op_finish(op);
}

void vrb_rdm_op_answered(struct vrb_rdm_op *op, int err)
{
	op->err = err;
	op_finish(op);
}

/* The pieces of local and remote memory where the operation is, and what both have left. */
static size_t piece(const struct vrb_rdm_op *op, const struct vrb_rdm_local **local,
		    size_t *local_at, const struct vrb_rdm_remote **remote, size_t *remote_at)
{
	size_t at = op->posted, len;

	*local = op->local;
	*remote = op->remote;
	for (*local_at = at; *local_at >= (*local)->len; (*local)++)
		*local_at -= (*local)->len;
	for (*remote_at = at; *remote_at >= (*remote)->len; (*remote)++)
		*remote_at -= (*remote)->len;
	len = (*local)->len - *local_at;
	if (len > (*remote)->len - *remote_at)
		len = (*remote)->len - *remote_at;
	return len;
}

/* One work request. */
static int post_rdma(struct vrb_rdm_op *op)
{
	struct vrb_rdm_peer *peer = op->peer;
	const struct vrb_rdm_remote *remote = op->remote;
	const struct vrb_rdm_local *local = op->local;
	const struct ofi_rdm_xport_props *props = &peer->ep->proto.xport.props;
	bool is_read = op->kind == VRB_RDM_OP_READ;
	size_t max = is_read ? props->max_read : props->max_write;
	size_t local_at = 0, remote_at = 0, len = 0;
	struct ibv_sge sge = { 0 };
	struct ibv_send_wr wr = {
		.opcode = is_read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
	};

	if (op->total) {
		len = piece(op, &local, &local_at, &remote, &remote_at);
		if (len > max)
			len = max;
		sge = (struct ibv_sge){
			.addr = (uintptr_t)local->addr + local_at,
			.length = (uint32_t)len,
			.lkey = local->lkey,
		};
		wr.num_sge = 1;
	}
	wr.wr.rdma.remote_addr = remote->base + remote->addr + remote_at;
	wr.wr.rdma.rkey = remote->rkey;
	if (vrb_rdm_link_post(peer->link, &wr, (uint64_t)VRB_RDM_OP << VRB_RDM_KIND_SHIFT, op,
			      NULL))
		return -FI_EAGAIN;
	ofi_rdm_flow_take(&peer->proto.flow);
	op->inflight++;
	op->posted += len;
	return 0;
}

static int post_all(struct vrb_rdm_op *op)
{
	int ret;

	do {
		if (!ofi_rdm_flow_has_data_credit(&op->peer->proto.flow))
			return -FI_EAGAIN;
		ret = post_rdma(op);
	} while (!ret && op->posted < op->total);
	op->posted_all = !ret;
	return ret;
}

/* 0 when all of it is posted. */
static int op_post(struct vrb_rdm_op *op)
{
	int ret;

	if (op->kind == VRB_RDM_OP_ATOMIC)
		return vrb_rdm_atomic_post(op);
	if (vrb_rdm_keys_by_target(op))
		return vrb_rdm_keys_post(op);
	ret = vrb_rdm_keys_resolve(op);
	if (ret)
		return ret;
	op->owes = vrb_rdm_rma_event_is_due(op);
	if (!op->posted_all)
		ret = post_all(op);
	if (!ret && op->owes && op->kind != VRB_RDM_OP_READ) {
		ret = vrb_rdm_rma_event_post(op);
		op->owes = ret;
	}
	return ret;
}

/* 0, or -FI_EAGAIN. */
static int send_reply(struct vrb_rdm_peer *peer, const void *hdr, size_t hdr_len,
		      const void *payload, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)payload, len };
	int ret = -FI_EAGAIN;

	if (ofi_rdm_flow_has_control_credit(&peer->proto.flow))
		ret = ofi_rdm_xport(&peer->proto)
			      ->send(&peer->proto, hdr, hdr_len, &iov, 0, len, NULL);
	if (!ret)
		ofi_rdm_flow_take(&peer->proto.flow);
	return ret;
}

static size_t size_of(const struct vrb_rdm_reply *reply)
{
	return sizeof(*reply) + reply->hdr_len + reply->len;
}

static void drop_reply(struct vrb_rdm_peer *peer, struct vrb_rdm_reply *reply)
{
	STAILQ_REMOVE_HEAD(&peer->replies, link);
	peer->reply_bytes -= size_of(reply);
	free(reply);
}

/* A peer that takes no answers can't make us keep any number of them. */
static bool is_too_much(const struct vrb_rdm_peer *peer)
{
	return peer->reply_bytes > peer->ep->proto.budget.most;
}

static bool send_replies(struct vrb_rdm_peer *peer)
{
	struct vrb_rdm_reply *reply;

	while ((reply = STAILQ_FIRST(&peer->replies))) {
		if (send_reply(peer, reply->bytes, reply->hdr_len, reply->bytes + reply->hdr_len,
			       reply->len))
			return false;
		drop_reply(peer, reply);
	}
	return true;
}

bool vrb_rdm_answer(struct vrb_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet,
		    const void *payload, size_t len)
{
	uint8_t hdr[OFI_RDM_WIRE_HEADER_MAX];
	size_t hdr_len = ofi_rdm_wire_build(hdr, packet);
	struct vrb_rdm_reply *reply;

	if (!peer->proto.up)
		return true;
	if (send_replies(peer) && !send_reply(peer, hdr, hdr_len, payload, len))
		return true;
	reply = is_too_much(peer) ? NULL : malloc(sizeof(*reply) + hdr_len + len);
	if (!reply)
		return false;
	reply->hdr_len = hdr_len;
	reply->len = len;
	memcpy(reply->bytes, hdr, hdr_len);
	if (len)
		memcpy(reply->bytes + hdr_len, payload, len);
	STAILQ_INSERT_TAIL(&peer->replies, reply, link);
	peer->reply_bytes += size_of(reply);
	return true;
}

bool vrb_rdm_ops_begun(const struct vrb_rdm_peer *peer)
{
	const struct vrb_rdm_op *op = STAILQ_FIRST(&peer->ops);

	return op && (op->posted || op->posted_all || op->inflight || op->waiting);
}

void vrb_rdm_ops_pump(struct vrb_rdm_peer *peer)
{
	struct vrb_rdm_op *op;
	int ret;

	if (!peer->proto.up || !send_replies(peer))
		return;
	while ((op = STAILQ_FIRST(&peer->ops))) {
		if (peer->proto.held && !vrb_rdm_ops_begun(peer))
			return;
		if (op->kind == VRB_RDM_OP_GATE) {
			if (!vrb_rdm_fence_open(peer))
				return;
			continue;
		}
		ret = op_post(op);
		if (ret == -FI_EAGAIN) {
			/* Neither a credit nor an answer is waited for. */
			if (ofi_rdm_flow_has_data_credit(&peer->proto.flow) && !peer->asked)
				ofi_rdm_xport(&peer->proto)->retry(&peer->proto);
			return;
		}
		STAILQ_REMOVE_HEAD(&peer->ops, link);
		if (ret)
			fail(op, -ret);
		else if (!op->inflight && !op->waiting)
			op_finish(op); /* while it waited to post its note */
	}
}

int vrb_rdm_op_start(struct vrb_rdm_op *op)
{
	struct vrb_rdm_peer *peer = op->peer;
	bool first = STAILQ_EMPTY(&peer->ops);
	int ret = vrb_rdm_conn_ready(peer) ? 0 : ofi_rdm_xport(&peer->proto)->connect(&peer->proto);

	if (ret) {
		vrb_rdm_op_put(op);
		return ret;
	}
	if (ofi_unlikely(op->fenced.fence || peer->marker)) {
		ret = vrb_rdm_fence_op(peer, op);
		if (ret)
			vrb_rdm_op_put(op);
		return ret;
	}
	STAILQ_INSERT_TAIL(&peer->ops, op, link);
	if (first)
		vrb_rdm_ops_pump(peer);
	return 0;
}

void vrb_rdm_ops_fail(struct vrb_rdm_peer *peer, int err)
{
	struct vrb_rdm_reply *reply;
	struct vrb_rdm_op *op;

	while ((op = STAILQ_FIRST(&peer->ops))) {
		STAILQ_REMOVE_HEAD(&peer->ops, link);
		if (op->kind == VRB_RDM_OP_GATE)
			vrb_rdm_fence_fail(peer, err);
		else
			fail(op, err);
	}
	while ((op = TAILQ_FIRST(&peer->answers)))
		vrb_rdm_op_answered(op, err);
	while ((reply = STAILQ_FIRST(&peer->replies)))
		drop_reply(peer, reply);
	vrb_rdm_keys_forget(peer);
	peer->asked = false;
	vrb_rdm_coll_lost(peer, err);
}

void vrb_rdm_ops_fini(struct vrb_rdm *ep)
{
	uint32_t i;

	for (i = 0; i < ep->op_count / VRB_RDM_OBJECTS; i++)
		free(ep->ops[i]);
	free(ep->ops);
}

struct vrb_rdm_op *vrb_rdm_op_at(struct vrb_rdm *ep, uint32_t id)
{
	uint32_t index = id & ((1u << ID_BITS) - 1);
	struct vrb_rdm_op *op;

	if (index >= ep->op_count)
		return NULL;
	op = &ep->ops[index / VRB_RDM_OBJECTS][index % VRB_RDM_OBJECTS];
	return op->id == id && op->waiting ? op : NULL;
}

enum ofi_rdm_wire_error vrb_rdm_op_packet(struct vrb_rdm_peer *peer,
					  const struct ofi_rdm_wire_packet *packet)
{
	switch (packet->type) {
	case OFI_RDM_WIRE_ATOMIC_REQ:
		return vrb_rdm_atomic_request(peer, packet);
	case OFI_RDM_WIRE_ATOMIC_RSP:
		return vrb_rdm_atomic_answer(peer, packet);
	case OFI_RDM_WIRE_KEY_REQ:
		return vrb_rdm_key_request(peer, packet);
	case OFI_RDM_WIRE_KEY_RSP:
		return vrb_rdm_key_answer(peer, packet);
	case OFI_RDM_WIRE_RMA_EVENT:
		return vrb_rdm_rma_event(peer, packet);
	case OFI_RDM_WIRE_BYE:
	case OFI_RDM_WIRE_BYE_RSP:
		ofi_rdm_xport(&peer->proto)->bye(&peer->proto, packet);
		return OFI_RDM_WIRE_OK;
	default:
		return OFI_RDM_WIRE_E_TYPE;
	}
}
