/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_cancel of endpoints and shared receive contexts. An operation that cannot be withdrawn any
 * more is found as long as its completion has not been read.
 */
#include <rdma/fi_errno.h>
#include "cq.h"
#include "lock.h"
#include "msg.h"
#include "objects.h"
#include "op.h"
#include "work.h"

/* Injected messages have no context, so NULL names none. The caller holds the lock. */
static bool cancel_send(struct ofi_rdm_ep *ep, const void *context)
{
	uint32_t i;

	for (i = 0; context && i < ep->peer_count; i++)
		if (ofi_rdm_proto_cancel_out(&ep->peers[i]->proto, context)) {
			/* A fenced operation may have waited for it. */
			ofi_rdm_ops_pump(ep->peers[i]);
			return true;
		}
	return false;
}

static bool is_sending(const struct ofi_rdm_ep *ep, const void *context)
{
	const struct ofi_rdm_proto_out *out;
	const struct ofi_rdm_fenced *item;
	uint32_t i;

	for (i = 0; i < ep->peer_count; i++) {
		TAILQ_FOREACH (out, &ep->peers[i]->proto.outs, link)
			if (out->context == context)
				return true;
		STAILQ_FOREACH (item, &ep->peers[i]->fenced, link)
			if (item->is_out &&
			    ofi_container(item, struct ofi_rdm_out, fenced)->proto.context ==
				    context)
				return true;
	}
	return false;
}

static bool is_receiving(const struct ofi_rdm_ep *ep, const void *context)
{
	const struct ofi_rdm_recv *recv;
	uint32_t i;

	for (i = 0; (recv = ofi_rdm_chunks_at(&ep->objects.recvs, i, sizeof(*recv))); i++)
		if (recv->proto.users && recv->proto.match.context == context)
			return true;
	return false;
}

/* Completions of a queue of another provider are not looked at. */
static bool is_unread(struct ofi_rdm_cq *cq, const void *context)
{
	bool found;

	if (!cq)
		return false;
	ofi_lock(&cq->lock);
	found = ofi_cq_ring_has(&cq->ring, context);
	ofi_unlock(&cq->lock);
	return found;
}

/* The caller holds the lock, which all endpoints of a shared receive context have in common. */
static bool is_outstanding(struct ofi_rdm_ep *ep, const void *context)
{
	const struct ofi_rdm_ep *member;

	LIST_FOREACH (member, &ep->members, srx_link)
		if (is_unread(member->rx_cq, context))
			return true;
	return is_receiving(ep, context) || is_sending(ep, context) ||
	       ofi_rdm_op_has(ep, context) || ofi_rdm_work_has(ep, context) ||
	       (ep->begun && ep->proto.xport.ops->has(ep, context)) ||
	       is_unread(ep->tx_cq, context) ||
	       (ep->rx_cq != ep->tx_cq && is_unread(ep->rx_cq, context));
}

/* No work waits in a shared receive context. */
ssize_t ofi_rdm_cancel(struct fid *fid, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self((struct fid_ep *)fid);
	bool found;

	ofi_rdm_lock(ep);
	found = ofi_rdm_proto_cancel(&ep->proto, true, context) ||
		ofi_rdm_proto_cancel(&ep->proto, false, context) ||
		ofi_rdm_work_cancel(ep, context) || cancel_send(ep, context) ||
		(context && is_outstanding(ep, context));
	ofi_rdm_unlock(ep);
	return found || ofi_rdm_trigger_cancel(ep, context) ? 0 : -FI_ENOENT;
}
