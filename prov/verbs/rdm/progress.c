/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint's CQ: packets that arrived, work requests that are done. */
#include <string.h>
#include <ofi/cq.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "arrive.h"
#include "carry.h"
#include "coll.h"
#include "conn.h"
#include "cq.h"
#include "op.h"
#include "peer.h"
#include "progress.h"
#include "sink.h"
#include "stats.h"
#include "work.h"
#include "prov/verbs/err.h"
#include "prov/verbs/prov.h"

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

void vrb_rdm_put(struct vrb_rdm *ep, struct vrb_rdm_cq *cq, const struct ofi_cq_item *item)
{
	/* What comes now has to stay behind it. */
	if (ep->sink.cq == cq)
		ep->sink.cq = VRB_RDM_NO_SINK;
	vrb_rdm_cq_put(cq, item);
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
	if (__builtin_expect(err, 0))
		ofi_stats_add(&ep->stats, OFI_STATS_ERRORS, 1);
	if (ep->counts) {
		if (flags & VRB_RDM_DEFERRED) {
			vrb_rdm_work_done(ep, ep->tx_cq, &item);
			return;
		}
		count(ep, flags, err);
	}
	if (!ep->tx_cq || ((flags & VRB_SILENT) && !err))
		return;
	if (err)
		item.olen = 0;
	vrb_rdm_put(ep, ep->tx_cq, &item);
}

void vrb_rdm_complete_rx(struct vrb_rdm *ep, const struct vrb_rdm_recv *recv,
			 struct ofi_cq_item *item, struct vrb_rdm_peer *from)
{
	if (ep->closing)
		return;
	if (__builtin_expect(item->err, 0))
		ofi_stats_add(&ep->stats, OFI_STATS_RX_ERRORS, 1);
	if (from)
		vrb_rdm_count(ep, OFI_STATS_RECEIVES, OFI_STATS_RECEIVE_BYTES, item->len);
	if (ep->counts) {
		if (recv->flags & VRB_RDM_DEFERRED) {
			vrb_rdm_work_done(ep, ep->rx_cq, item);
			return;
		}
		count(ep, FI_RECV, item->err);
	}
	if (!ep->rx_cq || (!item->err && (recv->flags & VRB_RDM_RECV_SILENT)))
		return;
	if (!item->err)
		item->src = from ? vrb_rdm_peer_source(from) : FI_ADDR_NOTAVAIL;
	vrb_rdm_put(ep, ep->rx_cq, item);
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

/* Messages and operations that wait for credits, or for what is complete now. */
static inline void pump(struct vrb_rdm_peer *peer)
{
	if (__builtin_expect(!STAILQ_EMPTY(&peer->proto.flow.data), 0))
		vrb_proto_progress(&peer->proto);
	if (__builtin_expect(!STAILQ_EMPTY(&peer->ops) || !STAILQ_EMPTY(&peer->replies), 0))
		vrb_rdm_ops_pump(peer);
}

/* What else went wrong because the link ended did so for that reason. */
static int reason(struct vrb_rdm_link *link, const struct ibv_wc *wc)
{
	int err = vrb_wc_err(wc->status, false);

	vrb_rdm_conn_failed(link, err, wc);
	return wc->status == IBV_WC_WR_FLUSH_ERR && link->err ? link->err : err;
}

/* A completed work request retires those before it, which did not ask. */
static __attribute__((noinline)) void retired_any(struct vrb_rdm *ep, const struct ibv_wc *wc)
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
	pump(link->peer);
}

/* The one that is due, of a plain message, of a link that is well: in line. */
static inline __attribute__((always_inline)) bool retired(struct vrb_rdm *ep,
							  const struct ibv_wc *wc, bool single)
{
	struct vrb_rdm_slot *slot = (struct vrb_rdm_slot *)(uintptr_t)wc->wr_id;
	struct vrb_rdm_link *link = slot->link;

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS || slot->flags >> VRB_RDM_KIND_SHIFT ||
				     slot->seq != link->tail,
			     0)) {
		retired_any(ep, wc);
		return false;
	}
	link->tail++;
	vrb_flow_give(&link->peer->proto.flow, 1);
	pump(link->peer);
	if (__builtin_expect(!ep->counts && vrb_rdm_sink_take(ep, ep->tx_cq, slot->context,
							      slot->flags, 0, 0, NULL, single),
			     1))
		return true;
	vrb_rdm_complete_tx(ep, slot->context, slot->flags, 0, 0);
	return false;
}

/* A packet whose completion goes to the sink; else false, and nothing was done. */
static inline __attribute__((always_inline)) bool sink_matched(struct vrb_rdm *ep,
							       const struct ibv_wc *wc)
{
	struct vrb_rdm_sink *sink = &ep->sink;
	struct vrb_rdm_arrival a;

	if (__builtin_expect(sink->cq != ep->rx_tagged || !sink->left, 0) ||
	    __builtin_expect(vrb_rdm_meet(ep, wc, &a) != VRB_RDM_MATCHED, 0))
		return false;
	if (__builtin_expect(vrb_rdm_copies_now(a.len), 1))
		vrb_rdm_copy_now(a.recv->proto.iov[0].iov_base, a.payload, a.len);
	else if (a.len) /* else the buffer may be NULL */
		memcpy(a.recv->proto.iov[0].iov_base, a.payload, a.len);
	vrb_rdm_take_matched(ep, wc, &a, sink->at);
	sink->at = (struct fi_cq_tagged_entry *)sink->at + 1;
	sink->left--;
	if (__builtin_expect(!!sink->src, 0))
		*sink->src++ = vrb_rdm_peer_source(ep->peers[ep->recent_src]);
	if (__builtin_expect(--ep->rx.above < 0, 0))
		vrb_rdm_rx_fill(&ep->rx);
	return true;
}

void vrb_rdm_polled(struct vrb_rdm *ep, int n)
{
	const struct ibv_wc *wc = ep->wc, *end = wc + n;

	do {
		if (!(wc->wr_id & VRB_RDM_RX_BIT))
			retired(ep, wc, false);
		else if (__builtin_expect(!sink_matched(ep, wc), 0))
			vrb_rdm_arrived(ep, wc);
	} while (++wc != end);
}

static __attribute__((noinline)) ssize_t read_rest(struct vrb_rdm_cq *cq, struct vrb_rdm *ep,
						   size_t done)
{
	struct vrb_rdm_sink *sink = &ep->sink;
	size_t count = sink->left;
	fi_addr_t *src = sink->src;
	void *buf = sink->at;

	sink->src = NULL;
	ofi_unlock(&ep->lock);
	ofi_unlock(&cq->eps_lock);
	return done ? (ssize_t)done : vrb_rdm_cq_read_ring(cq, buf, count, src);
}

/* The one that was polled had a completion. */
static inline __attribute__((always_inline)) ssize_t read_it(struct vrb_rdm_cq *cq,
							     struct vrb_rdm *ep)
{
	ofi_unlock(&ep->lock);
	ofi_unlock(&cq->eps_lock);
	return 1;
}

static __attribute__((noinline)) ssize_t read_retired(struct vrb_rdm_cq *cq, struct vrb_rdm *ep)
{
	return __builtin_expect(retired(ep, ep->wc, true), 1) ? read_it(cq, ep)
							      : read_rest(cq, ep, 0);
}

__attribute__((noinline)) ssize_t vrb_rdm_read_several(struct vrb_rdm_cq *cq, struct vrb_rdm *ep,
						       int n)
{
	size_t count = ep->sink.left;

	if (!ep->sink.at)
		ep->sink.cq = VRB_RDM_NO_SINK;
	vrb_rdm_polled(ep, n);
	return read_rest(cq, ep, count - ep->sink.left);
}

static __attribute__((noinline)) ssize_t read_filled(struct vrb_rdm_cq *cq, struct vrb_rdm *ep,
						     ssize_t ret)
{
	vrb_rdm_rx_fill(&ep->rx);
	ofi_unlock(&ep->lock);
	ofi_unlock(&cq->eps_lock);
	return ret;
}

static __attribute__((noinline)) ssize_t wake_both(struct vrb_rdm_cq *cq, struct vrb_rdm *ep,
						   ssize_t ret)
{
	ofi_unlock_slow(&ep->lock);
	ofi_unlock(&cq->eps_lock);
	return ret;
}

static __attribute__((noinline)) ssize_t wake_one(struct vrb_rdm_cq *cq, ssize_t ret)
{
	ofi_unlock_slow(&cq->eps_lock);
	return ret;
}

/* Lets go of the locks, whose addresses are computed again, not kept. */
static inline __attribute__((always_inline)) ssize_t leave(struct vrb_rdm_cq *cq,
							   struct vrb_rdm *ep, ssize_t ret)
{
	__asm__("" : "+r"(cq), "+r"(ep));
	if (__builtin_expect(!ofi_release(&ep->lock), 0))
		return wake_both(cq, ep, ret);
	if (__builtin_expect(!ofi_release(&cq->eps_lock), 0))
		return wake_one(cq, ret);
	return ret;
}

/* The one that was polled was a packet, whose buffer is free or kept. */
static inline __attribute__((always_inline)) ssize_t read_packet(struct vrb_rdm_cq *cq,
								 struct vrb_rdm *ep, ssize_t ret)
{
	if (__builtin_expect(--ep->rx.above < 0, 0))
		return read_filled(cq, ep, ret);
	return leave(cq, ep, ret);
}

static __attribute__((noinline)) ssize_t read_long(struct vrb_rdm *ep, struct vrb_match_node **at)
{
	struct vrb_rdm_arrival a;

	vrb_rdm_matched_at(ep, ep->wc, at, &a);
	if (a.len)
		memcpy(a.recv->proto.iov[0].iov_base, a.payload, a.len);
	vrb_rdm_take_matched(ep, ep->wc, &a, ep->sink.at);
	return read_packet(ep->sink.cq, ep, 1);
}

static __attribute__((noinline)) ssize_t read_unexpected(struct vrb_rdm *ep)
{
	struct vrb_rdm_rx *rx = vrb_rdm_rx_of(ep->wc);
	uint64_t tag = vrb_wire_plain_tag((const void *)(uintptr_t)rx->sge.addr);

	vrb_rdm_keep_plain(ep->peers[ep->recent_src], rx, ep->wc->byte_len, true, tag);
	return read_packet(ep->sink.cq, ep, -FI_EAGAIN);
}

/* A packet alone. What is called is called last, so that everything is in registers. */
static inline __attribute__((always_inline)) ssize_t read_arrived(struct vrb_rdm_cq *cq,
								  struct vrb_rdm *ep)
{
	struct vrb_rdm_arrival a;

	if (__builtin_expect(cq != ep->rx_tagged, 0))
		return vrb_rdm_read_several(cq, ep, 1);
	switch (vrb_rdm_meet(ep, ep->wc, &a)) {
	case VRB_RDM_MATCHED:
		break;
	case VRB_RDM_UNEXPECTED:
		return read_unexpected(ep);
	default:
		return vrb_rdm_read_several(ep->sink.cq, ep, 1);
	}
	if (__builtin_expect(!vrb_rdm_copies_now(a.len), 0))
		return read_long(ep, a.at);
	vrb_rdm_copy_now(a.recv->proto.iov[0].iov_base, a.payload, a.len);
	vrb_rdm_take_matched(ep, ep->wc, &a, ep->sink.at);
	return read_packet(ep->sink.cq, ep, 1);
}

/* It calls last what it calls, so that nothing is to be kept in registers. */
ssize_t vrb_rdm_read_polled(struct vrb_rdm_cq *cq, struct vrb_rdm *ep, int n)
{
	if (__builtin_expect(n != 1 || !ep->sink.at || !ep->sink.left, 0))
		return vrb_rdm_read_several(cq, ep, n);
	if (!(ep->wc->wr_id & VRB_RDM_RX_BIT))
		return read_retired(cq, ep);
	return read_arrived(cq, ep);
}

/* With the lock held. True when there was something. */
static bool poll_cq(struct vrb_rdm *ep)
{
	int n = ibv_poll_cq(ep->cq, VRB_RDM_BATCH, ep->wc);

	ep->sink.cq = VRB_RDM_NO_SINK;
	if (n > 0)
		vrb_rdm_polled(ep, n);
	return n > 0;
}

bool vrb_rdm_poll(struct vrb_rdm *ep)
{
	bool some = poll_cq(ep);

	if (__builtin_expect(ep->collects, 0))
		vrb_rdm_coll_run(ep);
	return some;
}

void vrb_rdm_poll_all(struct vrb_rdm *ep)
{
	int rounds = ep->cq->cqe / VRB_RDM_BATCH + 1;

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
	ep->recent_qp = VRB_RDM_NO_QP;
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
