/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Fenced operations: they wait until operations before them have completed. */
#include <rdma/fi_errno.h>
#include "objects.h"
#include "fence.h"
#include "order.h"
#include "complete.h"

static struct ofi_rdm_out *out_of(struct ofi_rdm_fenced *item)
{
	return ofi_container(item, struct ofi_rdm_out, fenced);
}

static struct ofi_rdm_op *op_of(struct ofi_rdm_fenced *item)
{
	return ofi_container(item, struct ofi_rdm_op, fenced);
}

static void submit_op(struct ofi_rdm_peer *peer, struct ofi_rdm_op *op)
{
	void *to = op->kind == OFI_RDM_OP_ATOMIC ? op->operands : op->local[0].addr;

	if (op->late && ofi_rdm_proto_load(to, op->late, op->late_count, peer->ep->hmem)) {
		ofi_rdm_op_end(op, FI_EIO);
		return;
	}
	op->late = NULL;
	STAILQ_INSERT_TAIL(&peer->ops, op, link);
}

static void fenced_submit(struct ofi_rdm_peer *peer, struct ofi_rdm_fenced *item)
{
	if (item->is_out)
		ofi_rdm_proto_send(&peer->proto, &out_of(item)->proto);
	else
		submit_op(peer, op_of(item));
}

/*
 * Returns true if only the device may still be working on what an operation waits for: the kinds
 * in `late`, or everything if that is 0. An order does not wait for messages that have been sent:
 * the peer may receive them only after what comes behind this operation.
 */
static bool is_clear(const struct ofi_rdm_peer *peer, unsigned int late)
{
	if (!late && !TAILQ_EMPTY(&peer->proto.outs))
		return false;
	if (late & 1u << OFI_RDM_ORDER_SEND && !STAILQ_EMPTY(&peer->proto.flow.data))
		return false;
	return TAILQ_EMPTY(&peer->answers);
}

static void set_marker(struct ofi_rdm_peer *peer)
{
	peer->marker_set = false;
	STAILQ_INSERT_TAIL(&peer->ops, peer->marker, link);
}

static void remove_marker(struct ofi_rdm_peer *peer)
{
	ofi_rdm_op_put(peer->marker);
	peer->marker = NULL;
	peer->marker_set = false;
	ofi_rdm_proto_peer_fence(&peer->proto, peer->ep->ordered);
}

static bool make_marker(struct ofi_rdm_peer *peer)
{
	peer->marker = ofi_rdm_op_get(peer->ep);
	if (!peer->marker)
		return false;
	peer->marker->kind = OFI_RDM_OP_MARKER;
	peer->marker->peer = peer;
	ofi_rdm_proto_peer_fence(&peer->proto, true);
	set_marker(peer);
	return true;
}

int ofi_rdm_fence_add(struct ofi_rdm_peer *peer, struct ofi_rdm_fenced *item)
{
	if (!peer->marker && STAILQ_EMPTY(&peer->ops) && is_clear(peer, item->late) &&
	    ofi_rdm_xport(&peer->proto)->quiet(&peer->proto)) {
		ofi_rdm_order_fenced(peer, item);
		fenced_submit(peer, item);
		ofi_rdm_ops_pump(peer);
		return 0;
	}
	if (!peer->marker && !make_marker(peer))
		return -FI_EAGAIN;
	ofi_stats_add(&peer->ep->stats, OFI_STATS_FENCED, 1);
	ofi_rdm_order_fenced(peer, item);
	STAILQ_INSERT_TAIL(&peer->fenced, item, link);
	if (STAILQ_FIRST(&peer->ops) == peer->marker)
		ofi_rdm_ops_pump(peer);
	return 0;
}

/* Returns true if the device has completed all that was posted before the marker. */
static bool marker_passed(struct ofi_rdm_peer *peer)
{
	const struct ofi_rdm_xport_ops *xport = ofi_rdm_xport(&peer->proto);

	if (xport->quiet(&peer->proto))
		return true;
	if (!peer->marker_set) {
		peer->marker_set = true;
		peer->marker_at = xport->mark(&peer->proto);
	}
	return xport->passed(&peer->proto, peer->marker_at);
}

bool ofi_rdm_fence_passed(struct ofi_rdm_peer *peer)
{
	return is_clear(peer, 0) && marker_passed(peer);
}

bool ofi_rdm_fence_lift(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_fenced *item = STAILQ_FIRST(&peer->fenced);

	if (!is_clear(peer, item->late) || !marker_passed(peer))
		return false;
	STAILQ_REMOVE_HEAD(&peer->ops, link);
	do {
		STAILQ_REMOVE_HEAD(&peer->fenced, link);
		fenced_submit(peer, item);
		item = STAILQ_FIRST(&peer->fenced);
	} while (item && !item->fence);
	if (item)
		set_marker(peer);
	else
		remove_marker(peer);
	return true;
}

void ofi_rdm_fence_fail(struct ofi_rdm_peer *peer, int err)
{
	struct ofi_rdm_fenced *item;
	struct ofi_rdm_out *out;

	remove_marker(peer);
	while ((item = STAILQ_FIRST(&peer->fenced))) {
		STAILQ_REMOVE_HEAD(&peer->fenced, link);
		if (!item->is_out) {
			STAILQ_INSERT_TAIL(&peer->ops, op_of(item), link);
			continue;
		}
		out = out_of(item);
		ofi_rdm_complete_tx(peer->ep, out->proto.context, out->flags, err, 0);
		ofi_rdm_out_put(peer->ep, out);
	}
}
