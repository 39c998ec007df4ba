/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Pools of the send and receive objects of an endpoint, allocated in chunks and found by index. */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "lock.h"
#include "objects.h"
#include "op.h"
#include "src/ds/min.h"

void *ofi_rdm_chunks_grow(struct ofi_rdm_chunks *chunks, size_t size)
{
	uint32_t n = chunks->count / OFI_RDM_OBJECTS;
	void **grown = realloc(chunks->chunk, (n + 1) * sizeof(*grown));

	if (!grown)
		return NULL;
	chunks->chunk = grown;
	grown[n] = calloc(OFI_RDM_OBJECTS, size);
	if (grown[n])
		chunks->count += OFI_RDM_OBJECTS;
	return grown[n];
}

static void chunks_fini(struct ofi_rdm_chunks *chunks)
{
	uint32_t i;

	for (i = 0; i < chunks->count / OFI_RDM_OBJECTS; i++)
		free(chunks->chunk[i]);
	free(chunks->chunk);
}

static bool more_outs(struct ofi_rdm_ep *ep)
{
	uint32_t i, first = ep->objects.outs.count;
	struct ofi_rdm_out *outs;

	if (first >= ep->info->tx_attr->size)
		return false;
	outs = ofi_rdm_chunks_grow(&ep->objects.outs, sizeof(*outs));
	if (!outs)
		return false;
	for (i = 0; i < OFI_RDM_OBJECTS; i++) {
		outs[i].proto.index = first + i;
		outs[i].fenced.is_out = true;
		SLIST_INSERT_HEAD(&ep->objects.free_outs, &outs[i], link);
	}
	return true;
}

struct ofi_rdm_out *ofi_rdm_out_get(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_out *out;

	if (SLIST_EMPTY(&ep->objects.free_outs) && !more_outs(ep))
		return NULL;
	out = SLIST_FIRST(&ep->objects.free_outs);
	SLIST_REMOVE_HEAD(&ep->objects.free_outs, link);
	return out;
}

void ofi_rdm_out_put(struct ofi_rdm_ep *ep, struct ofi_rdm_out *out)
{
	free(out->copy);
	out->copy = NULL;
	SLIST_INSERT_HEAD(&ep->objects.free_outs, out, link);
}

static bool more_recvs(struct ofi_rdm_ep *ep, bool tagged)
{
	struct ofi_rdm_recv *recvs;
	uint32_t i;

	if (ep->dead)
		return false;
	recvs = ofi_rdm_chunks_grow(&ep->objects.recvs, sizeof(*recvs));
	if (!recvs)
		return false;
	for (i = 0; i < OFI_RDM_OBJECTS; i++) {
		recvs[i].proto.space = tagged ? OFI_RDM_PROTO_TAGGED : OFI_RDM_PROTO_UNTAGGED;
		ofi_rdm_recv_put(ep, &recvs[i]);
	}
	return true;
}

struct ofi_rdm_recv *ofi_rdm_recv_get(struct ofi_rdm_ep *ep, bool tagged)
{
	struct ofi_rdm_recvs *list = &ep->free_recvs[tagged];
	struct ofi_rdm_recv *recv;

	if (SLIST_EMPTY(list) && !more_recvs(ep, tagged))
		return NULL;
	recv = SLIST_FIRST(list);
	SLIST_REMOVE_HEAD(list, link);
	return recv;
}

void ofi_rdm_recv_put(struct ofi_rdm_ep *ep, struct ofi_rdm_recv *recv)
{
	struct ofi_rdm_proto_recv *proto = &recv->proto;

	proto->match.sticky = proto->closed = proto->canceled = false;
	proto->count = 1;
	proto->used = 0;
	proto->users = 0;
	SLIST_INSERT_HEAD(&ep->free_recvs[proto->space], recv, link);
}

void ofi_rdm_recvs_mark(struct ofi_rdm_ep *ep, uint64_t bits)
{
	struct ofi_rdm_recv *recv;
	uint32_t i;

	for (i = 0; (recv = ofi_rdm_chunks_at(&ep->objects.recvs, i, sizeof(*recv))); i++)
		recv->flags |= bits;
}

void ofi_rdm_recvs_drop(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_recv *recv;
	uint32_t i;

	for (i = 0; (recv = ofi_rdm_chunks_at(&ep->objects.recvs, i, sizeof(*recv))); i++)
		recv->proto.space = OFI_RDM_PROTO_SPACES;
	SLIST_INIT(&ep->free_recvs[false]);
	SLIST_INIT(&ep->free_recvs[true]);
}

void ofi_rdm_objects_fini(struct ofi_rdm_ep *ep)
{
	chunks_fini(&ep->objects.outs);
	chunks_fini(&ep->objects.recvs);
	chunks_fini(&ep->ops);
}

static size_t outs_used(const struct ofi_rdm_ep *ep)
{
	const struct ofi_rdm_out *out;
	size_t used = ep->objects.outs.count;

	SLIST_FOREACH (out, &ep->objects.free_outs, link)
		used--;
	return used;
}

static size_t ops_used(const struct ofi_rdm_ep *ep)
{
	const struct ofi_rdm_op *op;
	size_t used = ep->ops.count;

	SLIST_FOREACH (op, &ep->free_ops, unused)
		used--;
	return used;
}

static size_t recvs_used(const struct ofi_rdm_ep *ep)
{
	size_t used = ep->objects.recvs.count;
	const struct ofi_rdm_recv *recv;
	int space;

	for (space = 0; space < 2; space++)
		SLIST_FOREACH (recv, &ep->free_recvs[space], link)
			used--;
	return used;
}

ssize_t ofi_rdm_tx_left(struct fid_ep *fid)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);
	size_t size = ep->info->tx_attr->size, left, used;

	if (!(ep->enabled & OFI_RDM_TX))
		return -FI_EOPBADSTATE;
	ofi_rdm_lock(ep);
	used = outs_used(ep);
	if (ops_used(ep) > used)
		used = ops_used(ep);
	left = size - ofi_min(size, used);
	if (ep->info->caps & FI_RMA)
		left = ofi_min(left, ep->proto.xport.ops->bounces_left(ep));
	ofi_rdm_unlock(ep);
	return (ssize_t)left;
}

ssize_t ofi_rdm_rx_left(struct fid_ep *fid)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);
	size_t size = ep->info->rx_attr->size, used;

	if (!(ep->enabled & OFI_RDM_RX) && !ep->is_srx)
		return -FI_EOPBADSTATE;
	ofi_rdm_lock(ep);
	used = recvs_used(ep);
	ofi_rdm_unlock(ep);
	return (ssize_t)(size - ofi_min(size, used));
}
