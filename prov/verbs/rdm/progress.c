/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint's CQ: packets that arrived, work requests that are done. */
#include <string.h>
#include <ofi/cq.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "carry.h"
#include "coll.h"
#include "conn.h"
#include "cq.h"
#include "op.h"
#include "peer.h"
#include "progress.h"
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

static __attribute__((noinline)) void sink_other_format(struct vrb_rdm_sink *sink, void *context,
							uint64_t flags, size_t len, uint64_t tag)
{
	struct ofi_cq_item item = { .context = context, .flags = flags, .len = len, .tag = tag };

	ofi_cq_put_entry(sink->cq->format, sink->at, 0, &item);
	sink->at = (uint8_t *)sink->at + ofi_cq_entry_size(sink->cq->format);
}

/*
 * Completes an operation to the reader that waits for it. Only scalars are passed on, so that in the common
 * case nothing but the entry is written. single: the sink is of no use after it, and has no src. False: it is
 * to go to the ring of the CQ.
 */
static inline __attribute__((always_inline)) bool
sink_take(struct vrb_rdm *ep, const struct vrb_rdm_cq *cq, void *context, uint64_t flags,
	  size_t len, uint64_t tag, struct vrb_rdm_peer *from, bool single)
{
	struct vrb_rdm_sink *sink = &ep->sink;
	struct fi_cq_tagged_entry *entry = sink->at;

	if (__builtin_expect(sink->cq != cq || !sink->left, 0))
		return false;
	if (__builtin_expect(cq->format == FI_CQ_FORMAT_TAGGED, 1)) {
		*entry = (struct fi_cq_tagged_entry){ context, flags, len, NULL, 0, tag };
		if (!single)
			sink->at = entry + 1;
	} else {
		sink_other_format(sink, context, flags, len, tag);
	}
	if (single)
		return true;
	if (__builtin_expect(!!sink->src, 0))
		*sink->src++ = from ? vrb_rdm_peer_source(from) : FI_ADDR_NOTAVAIL;
	sink->left--;
	return true;
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

/* item->src is set here; item->olen, of a failure, is the caller's. */
static void complete_rx(struct vrb_rdm *ep, const struct vrb_rdm_recv *recv,
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
	if (!ep->rx_cq || (!item->err && (recv->flags & VRB_SILENT)))
		return;
	if (!item->err)
		item->src = from ? vrb_rdm_peer_source(from) : FI_ADDR_NOTAVAIL;
	vrb_rdm_put(ep, ep->rx_cq, item);
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
	complete_rx(ep, recv, &item, done->message ? ep->peers[done->src] : NULL);
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

static inline void copy_some(void *to, const uint8_t *from, size_t len)
{
	uint64_t head, tail;

	if (len < sizeof(head) || len > 2 * sizeof(head)) {
		memcpy(to, from, len);
		return;
	}
	memcpy(&head, from, sizeof(head));
	memcpy(&tail, from + len - sizeof(tail), sizeof(tail));
	memcpy(to, &head, sizeof(head));
	memcpy((uint8_t *)to + len - sizeof(tail), &tail, sizeof(tail));
}

/* A plain packet into the receive that matched it. */
static __attribute__((noinline)) void deliver_any(struct vrb_rdm_peer *peer,
						  struct vrb_rdm_recv *recv, const uint8_t *payload,
						  size_t len, uint64_t tag)
{
	struct ofi_cq_item item = {
		.context = recv->proto.match.context,
		.flags = recv->flags & ~VRB_SILENT,
		.len = scatter(&recv->proto, payload, len),
		.tag = tag,
	};

	if (item.len < len) {
		item.err = FI_ETRUNC;
		item.olen = len - item.len;
	}
	complete_rx(peer->ep, recv, &item, peer);
	vrb_rdm_recv_put(peer->ep, recv);
}

/* True if the completion went to the sink. */
static inline __attribute__((always_inline)) bool deliver_plain(struct vrb_rdm_peer *peer,
								struct vrb_rdm_recv *recv,
								const uint8_t *payload, size_t len,
								uint64_t tag, bool single)
{
	struct vrb_rdm *ep = peer->ep;

	if (__builtin_expect(recv->proto.count != 1 || len > recv->proto.iov[0].iov_len ||
				     ep->counts || recv->flags & VRB_SILENT ||
				     !sink_take(ep, ep->rx_cq, recv->proto.match.context,
						recv->flags, len, tag, peer, single),
			     0)) {
		deliver_any(peer, recv, payload, len, tag);
		return false;
	}
	vrb_rdm_count(ep, OFI_STATS_RECEIVES, OFI_STATS_RECEIVE_BYTES, len);
	copy_some(recv->proto.iov[0].iov_base, payload, len);
	SLIST_INSERT_HEAD(&ep->free_recvs[recv->proto.space], recv, link);
	return true;
}

/* Any packet but those that bypass the protocol. A small one is moved, so that its buffer is free. */
static __attribute__((noinline)) void take_packet(struct vrb_rdm_link *link, struct vrb_rdm_rx *rx,
						  size_t len)
{
	struct vrb_rdm *ep = link->ep;
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr;
	struct vrb_rdm_small *small;
	enum vrb_wire_error error;
	bool kept = false;

	if (len <= VRB_RDM_SMALL_SIZE && (small = vrb_rdm_small_get(&ep->rx))) {
		memcpy(small->bytes, bytes, len);
		vrb_rdm_rx_put(&ep->rx, rx);
		rx = &small->rx;
		bytes = small->bytes;
	}
	error = vrb_proto_packet(&link->peer->proto, &rx->in, bytes, len, &kept);
	if (error)
		vrb_rdm_conn_malformed(link, vrb_wire_strerror(error));
	if (!kept)
		vrb_rdm_rx_put(&ep->rx, rx);
	else if (rx->in.charged)
		vrb_rdm_count(ep, OFI_STATS_UNEXPECTED, OFI_STATS_UNEXPECTED_BYTES, rx->in.total);
	/* It may be the answer that a fence waits for. */
	if (__builtin_expect(!STAILQ_EMPTY(&link->peer->ops), 0))
		vrb_rdm_ops_pump(link->peer);
}

bool vrb_rdm_take_packet(struct vrb_rdm_link *link, struct vrb_rdm_rx *rx, size_t len)
{
	take_packet(link, rx, len);
	return true;
}

static void keep_plain(struct vrb_rdm *ep, struct vrb_rdm_peer *peer, struct vrb_rdm_rx *rx,
		       size_t len, bool tagged, uint64_t tag)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr;
	struct vrb_rdm_small *small;

	if (len <= VRB_RDM_SMALL_SIZE && (small = vrb_rdm_small_get(&ep->rx))) {
		memcpy(small->bytes, bytes, len);
		vrb_rdm_rx_put(&ep->rx, rx);
		rx = &small->rx;
		bytes = small->bytes;
	}
	vrb_proto_unexpected(&peer->proto, &rx->in, bytes, len, tagged, tag);
	vrb_rdm_count(ep, OFI_STATS_UNEXPECTED, OFI_STATS_UNEXPECTED_BYTES, rx->in.total);
}

/* A plain packet. True if its completion went to the sink. */
static inline __attribute__((always_inline)) bool
take_plain(struct vrb_rdm_link *link, struct vrb_rdm_rx *rx, size_t len, bool tagged, bool single)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr;
	size_t header = vrb_wire_plain_header(tagged);
	uint64_t tag = tagged ? vrb_wire_plain_tag(bytes) : 0;
	struct vrb_rdm_peer *peer = link->peer;
	struct vrb_proto_recv *recv;
	bool unexpected, taken;

	recv = vrb_proto_bypass(&peer->proto, tagged, tag, &unexpected);
	if (__builtin_expect(!!recv, 1)) {
		taken = deliver_plain(peer, (struct vrb_rdm_recv *)recv, bytes + header,
				      len - header, tag, single);
		vrb_rdm_rx_put(&peer->ep->rx, rx);
		return taken;
	}
	if (unexpected)
		keep_plain(peer->ep, peer, rx, len, tagged, tag);
	else
		take_packet(link, rx, len);
	return false;
}

static __attribute__((noinline)) bool take_untagged(struct vrb_rdm_link *link,
						    struct vrb_rdm_rx *rx, size_t len)
{
	return take_plain(link, rx, len, false, false);
}

/* True if there is a completion, and it went to the sink. */
static inline __attribute__((always_inline)) bool arrived(struct vrb_rdm *ep,
							  const struct ibv_wc *wc, bool single)
{
	struct vrb_rdm_rx *rx =
		(struct vrb_rdm_rx *)(uintptr_t)(wc->wr_id & ~(uint64_t)VRB_RDM_RX_BIT);
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr;
	struct vrb_rdm_link *link;

	if (__builtin_expect(--ep->rx.posted <= ep->rx.low, 0))
		vrb_rdm_rx_fill(&ep->rx);
	link = wc->status == IBV_WC_SUCCESS ? vrb_rdm_link_find(ep, wc->qp_num) : NULL;
	if (__builtin_expect(!link || !link->live, 0)) {
		if (!link || !vrb_rdm_conn_early(link, rx, wc->byte_len))
			vrb_rdm_rx_put(&ep->rx, rx);
		return false;
	}
	link->used = true;
	if (__builtin_expect(link->peer->proto.up, 1)) {
		if (__builtin_expect(vrb_wire_is_plain(bytes, wc->byte_len, true), 1))
			return take_plain(link, rx, wc->byte_len, true, single);
		if (vrb_wire_is_plain(bytes, wc->byte_len, false))
			return take_untagged(link, rx, wc->byte_len);
	}
	take_packet(link, rx, wc->byte_len);
	return false;
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
	if (__builtin_expect(!ep->counts && sink_take(ep, ep->tx_cq, slot->context, slot->flags, 0,
						      0, NULL, single),
			     1))
		return true;
	vrb_rdm_complete_tx(ep, slot->context, slot->flags, 0, 0);
	return false;
}

void vrb_rdm_polled(struct vrb_rdm *ep, int n)
{
	const struct ibv_wc *wc = ep->wc, *end = wc + n;

	do {
		if (wc->wr_id & VRB_RDM_RX_BIT)
			arrived(ep, wc, false);
		else
			retired(ep, wc, false);
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

static __attribute__((noinline)) ssize_t read_arrived(struct vrb_rdm_cq *cq, struct vrb_rdm *ep)
{
	return __builtin_expect(arrived(ep, ep->wc, true), 1) ? read_it(cq, ep)
							      : read_rest(cq, ep, 0);
}

static __attribute__((noinline)) ssize_t read_several(struct vrb_rdm_cq *cq, struct vrb_rdm *ep,
						      int n)
{
	size_t count = ep->sink.left;

	if (!ep->sink.at)
		ep->sink.cq = VRB_RDM_NO_SINK;
	vrb_rdm_polled(ep, n);
	return read_rest(cq, ep, count - ep->sink.left);
}

/* It calls last what it calls, so that nothing is to be kept in registers. */
ssize_t vrb_rdm_read_polled(struct vrb_rdm_cq *cq, struct vrb_rdm *ep, int n)
{
	if (__builtin_expect(n != 1 || !ep->sink.at || ep->sink.src, 0))
		return read_several(cq, ep, n);
	return ep->wc->wr_id & VRB_RDM_RX_BIT ? read_arrived(cq, ep) : read_retired(cq, ep);
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
