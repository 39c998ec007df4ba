/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA events: sending them, and the counters and completion queue entries at the target. */
#include "prov/base/cntr.h"
#include <rdma/fi_errno.h>
#include "cq.h"
#include "reply.h"
#include "rma_event.h"
#include "complete.h"

#define EVENT_LIST (OFI_RDM_PROTO_IOV * sizeof(struct ofi_rdm_wire_region))

static struct ofi_rdm_wire_packet event_packet(const struct ofi_rdm_op *op, uint8_t *list)
{
	struct ofi_rdm_wire_packet packet = {
		.type = OFI_RDM_WIRE_RMA_EVENT,
		.flags = (uint8_t)((op->kind == OFI_RDM_OP_READ ? OFI_RDM_WIRE_READ : 0) |
				   (op->has_data ? OFI_RDM_WIRE_DATA : 0)),
		.total = op->total,
		.data = op->data,
		.list = list,
	};
	uint8_t i;

	for (i = 0; i < op->remote_count; i++)
		if (op->remote[i].len)
			ofi_rdm_wire_put_region(list, packet.count++,
						&(struct ofi_rdm_wire_region){ op->remote[i].addr,
									       op->remote[i].len,
									       op->remote[i].key });
	return packet;
}

int ofi_rdm_rma_event_post(struct ofi_rdm_op *op)
{
	uint8_t header[OFI_RDM_WIRE_HEADER_MAX], list[EVENT_LIST];
	struct ofi_rdm_wire_packet packet;
	int ret;

	if (!ofi_rdm_flow_has_data_credit(&op->peer->proto.flow))
		return -FI_EAGAIN;
	packet = event_packet(op, list);
	ret = ofi_rdm_xport(&op->peer->proto)
		      ->send_op(op, header, ofi_rdm_wire_build(header, &packet));
	if (ret)
		return ret;
	ofi_rdm_flow_take(&op->peer->proto.flow);
	op->inflight++;
	return 0;
}

void ofi_rdm_rma_event_read(const struct ofi_rdm_op *op)
{
	uint8_t list[EVENT_LIST];
	struct ofi_rdm_wire_packet packet = event_packet(op, list);

	if (!ofi_rdm_answer(op->peer, &packet, NULL, 0))
		ofi_rdm_xport(&op->peer->proto)->fault(&op->peer->proto, OFI_RDM_WIRE_E_MEMORY);
}

/* The target. */

/*
 * Counts the operation in the endpoint's counters. `what` is FI_REMOTE_READ, FI_REMOTE_WRITE or
 * both.
 */
static void rma_event_count(struct ofi_rdm_ep *ep, uint64_t what)
{
	struct ofi_cntr *read = what & FI_REMOTE_READ ? ep->cntrs[OFI_RDM_REMOTE_READ] : NULL;
	struct ofi_cntr *write = what & FI_REMOTE_WRITE ? ep->cntrs[OFI_RDM_REMOTE_WRITE] : NULL;

	if (!ep->closing)
		ofi_cntr_count_both(read, write);
}

/* Returns the key of an entry of the list, a region or a target, that has it at this offset. */
static uint64_t named_key(const struct ofi_rdm_wire_packet *packet, uint8_t i, size_t key_at)
{
	const uint8_t *at = packet->list + i * sizeof(struct ofi_rdm_wire_region) + key_at;

	return ofi_rdm_wire_take64(&at);
}

/* Counts the operation once in the counters of each region that it names. */
static void count_regions(struct ofi_domain *domain, const struct ofi_rdm_wire_packet *packet,
			  size_t key_at, uint64_t what)
{
	uint64_t key;
	uint8_t i, j;

	for (i = 0; i < packet->count; i++) {
		key = named_key(packet, i, key_at);
		for (j = 0; named_key(packet, j, key_at) != key; j++)
			;
		if (j == i)
			domain->ops->mr_count(domain, key, what);
	}
}

/*
 * Returns true if the application leaves too many entries unread. These entries consume no receive,
 * so nothing else limits their number.
 */
static bool is_unread(const struct ofi_rdm_ep *ep)
{
	size_t unread;

	ofi_lock(&ep->rx_cq->lock);
	unread = ofi_cq_ring_used(&ep->rx_cq->ring);
	ofi_unlock(&ep->rx_cq->lock);
	return unread * sizeof(struct ofi_cq_item) > ep->proto.budget.most;
}

enum ofi_rdm_wire_error ofi_rdm_rma_event(struct ofi_rdm_peer *peer,
					  const struct ofi_rdm_wire_packet *packet)
{
	uint64_t what = packet->flags & OFI_RDM_WIRE_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
	struct ofi_rdm_ep *ep = peer->ep;
	struct ofi_cq_item item = {
		.flags = FI_RMA | FI_REMOTE_CQ_DATA | what,
		.len = packet->total,
		.data = packet->data,
	};

	/* A program without FI_RMA does not expect completions that have no context. */
	if (packet->flags & OFI_RDM_WIRE_DATA && !(ep->info->caps & FI_RMA))
		return OFI_RDM_WIRE_E_RMA;
	if (ep->info->caps & FI_RMA_EVENT) {
		count_regions(ep->domain, packet, offsetof(struct ofi_rdm_wire_region, key), what);
		rma_event_count(ep, what);
	}
	if ((packet->flags & OFI_RDM_WIRE_DATA) && ep->rx_cq && !ep->closing) {
		if (is_unread(ep))
			return OFI_RDM_WIRE_E_MEMORY;
		item.src = ofi_rdm_peer_source(peer);
		ofi_rdm_put(ep, ep->rx_cq, &item);
	}
	return OFI_RDM_WIRE_OK;
}

/* Returns what counters count of an atomic operation of this kind. */
static uint64_t counted_of_atomic(uint8_t kind)
{
	if (kind == OFI_RDM_WIRE_ATOMIC_READ)
		return FI_REMOTE_READ;
	return kind == OFI_RDM_WIRE_ATOMIC_WRITE ? FI_REMOTE_WRITE
						 : FI_REMOTE_READ | FI_REMOTE_WRITE;
}

void ofi_rdm_rma_event_atomic(struct ofi_rdm_ep *ep, const struct ofi_rdm_wire_packet *packet)
{
	uint64_t what = counted_of_atomic(packet->atomic.kind);

	if (!(ep->info->caps & FI_RMA_EVENT))
		return;
	count_regions(ep->domain, packet, offsetof(struct ofi_rdm_wire_target, key), what);
	rma_event_count(ep, what);
}
