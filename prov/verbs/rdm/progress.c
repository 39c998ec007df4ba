/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint's CQ: packets that arrived, work requests that are done. */
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "carry.h"
#include "coll.h"
#include "conn.h"
#include "cq.h"
#include "op.h"
#include "peer.h"
#include "progress.h"
#include "prov/verbs/err.h"
#include "prov/verbs/prov.h"

#define BATCH	  16
#define ACK_BATCH 64

static void count(struct vrb_rdm *ep, uint64_t flags, int err)
{
	struct ofi_cntr *cntr = ep->cntrs[flags & FI_RECV		       ? VRB_RDM_RECV
					  : flags & FI_READ		       ? VRB_RDM_RMA_READ
					  : flags & (FI_WRITE | FI_COLLECTIVE) ? VRB_RDM_RMA_WRITE
									       : VRB_RDM_SEND];

	if (!cntr)
		return;
	if (err)
		ofi_cntr_count_error(cntr, 1);
	else
		ofi_cntr_count(cntr, 1);
}

void vrb_rdm_complete_tx(struct vrb_rdm *ep, void *context, uint64_t flags, int err, int wc_status)
{
	struct ofi_cq_item item = {
		.context = context,
		.flags = flags & ~(VRB_SILENT | VRB_RDM_KIND),
		.src = FI_ADDR_NOTAVAIL,
		.err = err,
		.prov_errno = wc_status,
	};

	if (ep->closing)
		return;
	count(ep, flags, err);
	if (!ep->tx_cq || ((flags & VRB_SILENT) && !err))
		return;
	if (err)
		item.olen = 0;
	vrb_rdm_cq_put(ep->tx_cq, &item);
}

static void complete_rx(struct vrb_rdm *ep, const struct vrb_rdm_recv *recv,
			struct ofi_cq_item *item)
{
	if (ep->closing)
		return;
	count(ep, FI_RECV, item->err);
	if (ep->rx_cq && (item->err || !(recv->flags & VRB_SILENT)))
		vrb_rdm_cq_put(ep->rx_cq, item);
}

static void *at_offset(const struct vrb_rdm_recv *recv, size_t base)
{
	return (uint8_t *)recv->proto.iov[0].iov_base + base;
}

void vrb_rdm_recv_done(struct vrb_proto *proto, const struct vrb_proto_done *done)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)((char *)proto - offsetof(struct vrb_rdm, proto));
	struct vrb_rdm_recv *recv = (struct vrb_rdm_recv *)done->recv;
	bool multi = recv->flags & FI_MULTI_RECV;
	struct ofi_cq_item item = {
		.context = recv->proto.match.context,
		.flags = recv->flags & ~(VRB_SILENT | FI_MULTI_RECV),
		.len = done->len,
		.buf = multi && done->message ? at_offset(recv, done->base) : NULL,
		.data = done->data,
		.tag = done->tag,
		.err = done->err,
	};

	if (done->flags & VRB_WIRE_DATA)
		item.flags |= FI_REMOTE_CQ_DATA;
	if (multi && done->last)
		item.flags |= FI_MULTI_RECV;
	if (done->err)
		item.olen = done->lost;
	else
		item.src =
			done->message
				? vrb_rdm_peer_source((struct vrb_rdm_peer *)ep->peers[done->src])
				: FI_ADDR_NOTAVAIL;
	complete_rx(ep, recv, &item);
	if (done->last)
		vrb_rdm_recv_put(ep, recv);
}

static size_t scatter(const struct vrb_proto_recv *recv, const uint8_t *from, size_t len)
{
	size_t done = 0, take;
	uint8_t i;

	for (i = 0; i < recv->count && done < len; i++) {
		take = recv->iov[i].iov_len < len - done ? recv->iov[i].iov_len : len - done;
		memcpy(recv->iov[i].iov_base, from + done, take);
		done += take;
	}
	return done;
}

/* A plain packet straight into the receive that matched it. */
static void deliver_plain(struct vrb_rdm_peer *peer, struct vrb_rdm_recv *recv,
			  const uint8_t *bytes, size_t len)
{
	const struct vrb_wire_plain *plain = (const struct vrb_wire_plain *)bytes;
	size_t payload = len - sizeof(*plain);
	struct ofi_cq_item item = {
		.context = recv->proto.match.context,
		.flags = recv->flags & ~VRB_SILENT,
		.len = scatter(&recv->proto, bytes + sizeof(*plain), payload),
		.tag = le64toh(plain->tag),
		.src = vrb_rdm_peer_source(peer),
	};

	if (item.len < payload) {
		item.err = FI_ETRUNC;
		item.olen = payload - item.len;
	}
	complete_rx(peer->ep, recv, &item);
	vrb_rdm_recv_put(peer->ep, recv);
}

bool vrb_rdm_take_packet(struct vrb_rdm_link *link, struct vrb_rdm_rx *rx, size_t len)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr;
	struct vrb_rdm_peer *peer = link->peer;
	struct vrb_proto_recv *recv;
	enum vrb_wire_error error;
	bool kept = false;

	recv = vrb_proto_bypass(&peer->proto, bytes, len);
	if (recv) {
		deliver_plain(peer, (struct vrb_rdm_recv *)recv, bytes, len);
		return false;
	}
	error = vrb_proto_packet(&peer->proto, &rx->in, bytes, len, &kept);
	if (error)
		vrb_rdm_conn_malformed(link, vrb_wire_strerror(error));
	return kept;
}

static void arrived(struct vrb_rdm *ep, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx =
		(struct vrb_rdm_rx *)(uintptr_t)(wc->wr_id & ~(uint64_t)VRB_RDM_RX_BIT);
	struct vrb_rdm_link *link;
	bool kept = false;

	ep->rx.posted--;
	link = wc->status == IBV_WC_SUCCESS ? vrb_rdm_link_find(ep, wc->qp_num) : NULL;
	if (__builtin_expect(link && link->live, 1)) {
		link->used = true;
		kept = vrb_rdm_take_packet(link, rx, wc->byte_len);
	} else if (link) {
		kept = vrb_rdm_conn_early(link, rx, wc->byte_len);
	}
	if (!kept)
		vrb_rdm_rx_put(&ep->rx, rx);
}

static void done(struct vrb_rdm *ep, struct vrb_rdm_link *link, const struct vrb_rdm_slot *slot,
		 int err, int status)
{
	struct vrb_rdm_peer *peer = link->peer;

	if (slot->bounce)
		vrb_rdm_pool_put(&ep->tx_bufs, slot->bounce);
	switch ((slot->flags & VRB_RDM_KIND) >> VRB_RDM_KIND_SHIFT) {
	case VRB_RDM_PLAIN:
		vrb_rdm_complete_tx(ep, slot->context, slot->flags, err, status);
		vrb_flow_give(&peer->proto.flow, 1);
		break;
	case VRB_RDM_PACKET:
		vrb_proto_sent(&peer->proto, slot->context, err);
		break;
	case VRB_RDM_READ:
		vrb_proto_read_done(slot->context, err);
		break;
	case VRB_RDM_WRITE:
		vrb_proto_write_done(slot->context, err);
		break;
	case VRB_RDM_OP:
		vrb_flow_give(&peer->proto.flow, 1);
		vrb_rdm_op_done(slot->context, err, status);
		break;
	case VRB_RDM_PROBE:
		vrb_flow_give(&peer->proto.flow, 1);
		break;
	default:
		break;
	}
}

/* What else went wrong because the link ended did so for that reason. */
static int reason(struct vrb_rdm_link *link, const struct ibv_wc *wc)
{
	int err = vrb_wc_err(wc->status, false);

	vrb_rdm_conn_failed(link, err, wc);
	return wc->status == IBV_WC_WR_FLUSH_ERR && link->err ? link->err : err;
}

/* A completed work request retires those before it, which did not ask. */
static void retired(struct vrb_rdm *ep, const struct ibv_wc *wc)
{
	struct vrb_rdm_slot *slot = (struct vrb_rdm_slot *)(uintptr_t)wc->wr_id, *at;
	struct vrb_rdm_link *link = slot->link;
	int err = 0;

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
		if (slot == &link->last) {
			vrb_rdm_conn_flushed(link);
			return;
		}
		err = reason(link, wc);
	}
	do {
		at = &link->slots[link->tail++ & link->mask];
		done(ep, link, at, at == slot ? err : 0, at == slot ? (int)wc->status : 0);
	} while (at != slot);
	if (!STAILQ_EMPTY(&link->peer->proto.flow.data))
		vrb_proto_progress(&link->peer->proto);
	if (!STAILQ_EMPTY(&link->peer->ops) || !STAILQ_EMPTY(&link->peer->replies))
		vrb_rdm_ops_pump(link->peer);
}

/* With the lock held. True when there was something. */
static bool poll_cq(struct vrb_rdm *ep)
{
	struct ibv_wc wc[BATCH];
	int i, n = ibv_poll_cq(ep->cq, BATCH, wc);

	for (i = 0; i < n; i++) {
		if (wc[i].wr_id & VRB_RDM_RX_BIT)
			arrived(ep, &wc[i]);
		else
			retired(ep, &wc[i]);
	}
	if (n > 0 && ep->rx.posted <= ep->rx.low)
		vrb_rdm_rx_fill(&ep->rx);
	return n > 0;
}

bool vrb_rdm_poll(struct vrb_rdm *ep)
{
	bool some = poll_cq(ep);

	if (__builtin_expect(!!ep->coll, 0))
		vrb_rdm_coll_run(ep);
	return some;
}

void vrb_rdm_poll_all(struct vrb_rdm *ep)
{
	int rounds = ep->cq->cqe / BATCH + 1;

	while (poll_cq(ep) && --rounds)
		;
}

void vrb_rdm_progress(struct vrb_rdm *ep)
{
	ofi_lock(&ep->lock);
	vrb_rdm_poll(ep);
	ofi_unlock(&ep->lock);
}

static void drain_channel(struct vrb_rdm *ep)
{
	struct ibv_cq *cq;
	void *context;

	while (!ibv_get_cq_event(ep->channel, &cq, &context))
		ep->unacked++;
	if (ep->unacked >= ACK_BATCH) {
		ibv_ack_cq_events(ep->cq, ep->unacked);
		ep->unacked = 0;
	}
}

int vrb_rdm_arm(struct vrb_rdm *ep)
{
	int ret = -FI_EAGAIN;

	ofi_lock(&ep->lock);
	if (ep->channel)
		drain_channel(ep);
	if (!vrb_rdm_poll(ep) && ep->channel && !ibv_req_notify_cq(ep->cq, 0) && !vrb_rdm_poll(ep))
		ret = 0;
	ofi_unlock(&ep->lock);
	return ret;
}

void vrb_rdm_release_all(struct vrb_rdm *ep)
{
	uint32_t i;

	if (!ep->buckets)
		return;
	for (i = 0; i < ep->peer_count; i++) {
		vrb_proto_peer_down(&ep->peers[i]->proto, FI_ECANCELED);
		vrb_proto_peer_purge(&ep->peers[i]->proto);
		vrb_rdm_ops_fail(ep->peers[i], FI_ECANCELED);
	}
	vrb_proto_cancel_all(&ep->proto);
}

void vrb_rdm_flush(struct vrb_rdm_link *link, int err)
{
	while (!vrb_rdm_link_idle(link))
		done(link->ep, link, &link->slots[link->tail++ & link->mask], err,
		     err ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
}
