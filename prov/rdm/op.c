/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA and atomic operations: queueing, work requests, and completion. */
#include <stdlib.h>
#include <string.h>
#include "prov/base/mr_cache.h"
#include <rdma/fi_errno.h>
#include "objects.h"
#include "coll.h"
#include "fence.h"
#include "rma_event.h"
#include "op.h"
#include "reply.h"
#include "complete.h"

#define ID_BITS 20

size_t ofi_rdm_local_iov(const struct ofi_rdm_op *op, struct iovec *iov)
{
	uint8_t i;

	for (i = 0; i < op->local_count; i++)
		iov[i] = (struct iovec){ op->local[i].addr, op->local[i].len };
	return op->local_count;
}

static bool ops_grow(struct ofi_rdm_ep *ep)
{
	uint32_t i, first = ep->ops.count;
	struct ofi_rdm_op *ops;

	if (first >= ep->info->tx_attr->size)
		return false;
	ops = ofi_rdm_chunks_grow(&ep->ops, sizeof(*ops));
	if (!ops)
		return false;
	for (i = 0; i < OFI_RDM_OBJECTS; i++) {
		ops[i].index = first + i;
		SLIST_INSERT_HEAD(&ep->free_ops, &ops[i], unused);
	}
	return true;
}

struct ofi_rdm_op *ofi_rdm_op_get(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_op *op;
	uint32_t index;
	uint16_t use;

	if (SLIST_EMPTY(&ep->free_ops) && !ops_grow(ep))
		return NULL;
	op = SLIST_FIRST(&ep->free_ops);
	SLIST_REMOVE_HEAD(&ep->free_ops, unused);
	index = op->index;
	use = (uint16_t)((op->use + 1) & 0xfff);
	*op = (struct ofi_rdm_op){ .index = index, .use = use };
	op->id = (uint32_t)use << ID_BITS | index;
	return op;
}

bool ofi_rdm_op_has(const struct ofi_rdm_ep *ep, const void *context)
{
	const struct ofi_rdm_op *op;
	uint32_t i;

	for (i = 0; (op = ofi_rdm_chunks_at(&ep->ops, i, sizeof(*op))); i++)
		if (op->context == context)
			return true;
	return false;
}

void ofi_rdm_op_put(struct ofi_rdm_op *op)
{
	struct ofi_rdm_ep *ep = op->peer->ep;
	uint8_t i;

	for (i = 0; i < op->local_count; i++)
		if (op->local[i].region)
			ofi_mr_cache_put(ep->domain->cache, op->local[i].region);
	if (op->bounce)
		ofi_rdm_xport(&op->peer->proto)->bounce_put(op->peer, op->bounce);
	free(op->operands);
	free(op->split);
	op->context = NULL;
	SLIST_INSERT_HEAD(&ep->free_ops, op, unused);
}

static void op_finish(struct ofi_rdm_op *op)
{
	struct ofi_rdm_ep *ep = op->peer->ep;

	if (op->kind == OFI_RDM_OP_READ && op->bounce && !op->err &&
	    ofi_rdm_proto_store(op->result, op->result_count, 0, op->bounce->data, op->total,
				ep->hmem))
		op->err = FI_EIO;
	if (op->waiting)
		TAILQ_REMOVE(&op->peer->answers, op, wait);
	op->waiting = false;
	ofi_rdm_complete_tx(ep, op->context, op->flags, op->err, op->status);
	ofi_rdm_op_put(op);
}

static void op_fail(struct ofi_rdm_op *op, int err)
{
	if (!op->err)
		op->err = err;
	if (!op->inflight)
		op_finish(op);
}

void ofi_rdm_op_done(struct ofi_rdm_op *op, int err, int status)
{
	op->inflight--;
	if (err && !op->err) {
		op->err = err;
		op->status = status;
	}
	if (op->inflight)
		return;
	if (!op->err && op->posted_all && op->owes && op->kind == OFI_RDM_OP_READ) {
		op->owes = false;
		ofi_rdm_rma_event_read(op);
	}
	if (op->err || (op->posted_all && !op->owes))
		op_finish(op);
}

void ofi_rdm_op_end(struct ofi_rdm_op *op, int err)
{
	op->err = err;
	op_finish(op);
}

/* Finds the local and the remote entry at op->posted. Returns how many bytes are left in both. */
static size_t op_piece(const struct ofi_rdm_op *op, const struct ofi_rdm_local **local,
		       size_t *local_at, const struct ofi_rdm_remote **remote, size_t *remote_at)
{
	size_t at = op->posted, len;

	*local = op->local;
	*remote = op->split ? op->split : op->remote;
	for (*local_at = at; *local_at >= (*local)->len; (*local)++)
		*local_at -= (*local)->len;
	for (*remote_at = at; *remote_at >= (*remote)->len; (*remote)++)
		*remote_at -= (*remote)->len;
	len = (*local)->len - *local_at;
	if (len > (*remote)->len - *remote_at)
		len = (*remote)->len - *remote_at;
	return len;
}

/* Posts one work request. */
static int post_rdma(struct ofi_rdm_op *op)
{
	struct ofi_rdm_peer *peer = op->peer;
	const struct ofi_rdm_remote *remote = op->remote;
	const struct ofi_rdm_local *local = op->local;
	const struct ofi_rdm_xport_props *props = &peer->ep->proto.xport.props;
	bool is_read = op->kind == OFI_RDM_OP_READ;
	size_t max = is_read ? props->max_read : props->max_write;
	size_t local_at = 0, remote_at = 0, len = 0;

	if (op->total) {
		len = op_piece(op, &local, &local_at, &remote, &remote_at);
		if (len > max)
			len = max;
	}
	if (ofi_rdm_xport(&peer->proto)
		    ->rdma(peer, is_read, local->addr + local_at, local->lkey, len,
			   remote->base + remote->addr + remote_at, remote->rkey, op))
		return -FI_EAGAIN;
	ofi_rdm_flow_take(&peer->proto.flow);
	op->inflight++;
	op->posted += len;
	return 0;
}

static int post_all(struct ofi_rdm_op *op)
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

/* Posts the rest of an operation. Returns 0 when all of it is posted. */
static int op_post(struct ofi_rdm_op *op)
{
	int ret;

	if (op->kind == OFI_RDM_OP_ATOMIC)
		return ofi_rdm_atomic_ask(op);
	if (ofi_rdm_keys_by_target(op))
		return ofi_rdm_keys_post(op);
	ret = ofi_rdm_keys_resolve(op);
	if (ret)
		return ret;
	if (op->by_target)
		return ofi_rdm_keys_post(op);
	op->owes = ofi_rdm_rma_event_is_due(op);
	if (!op->posted_all)
		ret = post_all(op);
	if (!ret && op->owes && op->kind != OFI_RDM_OP_READ) {
		ret = ofi_rdm_rma_event_post(op);
		op->owes = ret;
	}
	return ret;
}

bool ofi_rdm_ops_begun(const struct ofi_rdm_peer *peer)
{
	const struct ofi_rdm_op *op = STAILQ_FIRST(&peer->ops);

	return op && (op->posted || op->posted_all || op->inflight || op->waiting);
}

void ofi_rdm_ops_pump(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_op *op;
	int ret;

	if (!peer->proto.up || !ofi_rdm_replies_sent(peer))
		return;
	while ((op = STAILQ_FIRST(&peer->ops))) {
		if (peer->proto.held && !ofi_rdm_ops_begun(peer))
			return;
		if (op->kind == OFI_RDM_OP_MARKER) {
			if (!ofi_rdm_fence_lift(peer))
				return;
			continue;
		}
		ret = op_post(op);
		if (ret == -FI_EAGAIN) {
			/* The operation waits neither for a credit nor for an answer. */
			if (ofi_rdm_flow_has_data_credit(&peer->proto.flow) && !peer->asked &&
			    !peer->parts)
				ofi_rdm_xport(&peer->proto)->retry(&peer->proto);
			return;
		}
		STAILQ_REMOVE_HEAD(&peer->ops, link);
		if (ret)
			op_fail(op, -ret);
		else if (ofi_unlikely(op->by_target && !op->parts && !op->inflight))
			op_finish(op); /* empty */
	}
}

int ofi_rdm_op_start(struct ofi_rdm_op *op)
{
	struct ofi_rdm_peer *peer = op->peer;
	bool first = STAILQ_EMPTY(&peer->ops);
	int ret = ofi_rdm_peer_ready(peer) ? 0 : ofi_rdm_xport(&peer->proto)->connect(&peer->proto);

	if (ret) {
		ofi_rdm_op_put(op);
		return ret;
	}
	if (ofi_unlikely(op->fenced.fence || peer->marker)) {
		ret = ofi_rdm_fence_add(peer, &op->fenced);
		if (ret)
			ofi_rdm_op_put(op);
		return ret;
	}
	STAILQ_INSERT_TAIL(&peer->ops, op, link);
	if (first)
		ofi_rdm_ops_pump(peer);
	return 0;
}

void ofi_rdm_ops_fail(struct ofi_rdm_peer *peer, int err)
{
	struct ofi_rdm_op *op;

	while ((op = STAILQ_FIRST(&peer->ops))) {
		STAILQ_REMOVE_HEAD(&peer->ops, link);
		if (op->kind == OFI_RDM_OP_MARKER)
			ofi_rdm_fence_fail(peer, err);
		else
			op_fail(op, err);
	}
	while ((op = TAILQ_FIRST(&peer->answers)))
		ofi_rdm_op_end(op, err);
	ofi_rdm_replies_drop(peer);
	ofi_rdm_keys_forget(peer);
	peer->asked = false;
	peer->parts = 0;
	ofi_rdm_coll_lost(peer, err);
}

struct ofi_rdm_op *ofi_rdm_op_at(struct ofi_rdm_ep *ep, uint32_t id)
{
	uint32_t index = id & ((1u << ID_BITS) - 1);
	struct ofi_rdm_op *op;

	if (index >= ep->ops.count)
		return NULL;
	op = ofi_rdm_chunks_at(&ep->ops, index, sizeof(*op));
	return op->id == id && op->waiting ? op : NULL;
}
