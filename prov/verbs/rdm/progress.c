/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The endpoint's CQ: arriving packets and completed work requests. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "arrive.h"
#include "prov/rdm/coll.h"
#include "conn.h"
#include "prov/rdm/cq.h"
#include "prov/rdm/lock.h"
#include "prov/rdm/op.h"
#include "prov/rdm/peer.h"
#include "progress.h"
#include "retire.h"
#include "shm.h"
#include "ud.h"
#include "prov/rdm/direct.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

#define ACK_BATCH 64

static void slot_done(struct ofi_rdm_ep *ep, struct vrb_rc_conn *conn,
		      const struct vrb_rdm_slot *slot, int err, int status)
{
	struct ofi_rdm_peer *peer = conn->peer;

	if (slot->bounce)
		vrb_rdm_pool_put(&vrb_rc(ep)->tx_bufs, slot->bounce);
	switch (vrb_rdm_kind_of(slot)) {
	case VRB_RDM_FAST:
		ofi_rdm_complete_tx(ep, slot->context, slot->flags, err, status);
		ofi_rdm_flow_give(&peer->proto.flow, 1);
		break;
	case VRB_RDM_PACKET:
		ofi_rdm_proto_sent(&peer->proto, slot->context, err);
		break;
	case VRB_RDM_READ:
		ofi_rdm_proto_read_done(slot->context, err);
		break;
	case VRB_RDM_WRITE:
		ofi_rdm_proto_write_done(slot->context, err);
		break;
	case VRB_RDM_OP:
		ofi_rdm_flow_give(&peer->proto.flow, 1);
		ofi_rdm_op_done(slot->context, err, status);
		break;
	case VRB_RDM_PROBE:
		/* A packet of the transport's own took no credit. */
		if (slot->context)
			break;
		ofi_rdm_flow_give(&peer->proto.flow, 1);
		if (conn->asked && slot->seq == conn->asked_at && !err)
			vrb_rdm_conn_alive(conn);
		break;
	case VRB_RDM_BIND:
		ofi_rdm_proto_bound(&peer->proto);
		break;
	case VRB_RDM_REVOKE:
		ofi_rdm_proto_revoked(&peer->proto, slot->context);
		break;
	default:
		break;
	}
}

/* Failures that follow from the end of the connection get the reason of that end. */
static int wc_error(struct vrb_rc_conn *conn, const struct vrb_rdm_slot *slot,
		    const struct ibv_wc *wc)
{
	enum vrb_rdm_kind kind = vrb_rdm_kind_of(slot);
	int err = vrb_wc_err(wc->status, false);

	vrb_rdm_window_failed(conn, kind, wc->status);
	vrb_rdm_conn_failed(conn, err, wc);
	return wc->status == IBV_WC_WR_FLUSH_ERR && conn->err ? conn->err : err;
}

/* Continues messages and operations that wait for credits, or for what has just completed. */
static void pump_peer(struct ofi_rdm_peer *peer)
{
	if (!STAILQ_EMPTY(&peer->proto.flow.data))
		ofi_rdm_proto_progress(&peer->proto);
	if (!STAILQ_EMPTY(&peer->ops) || !STAILQ_EMPTY(&peer->replies))
		ofi_rdm_ops_pump(peer);
}

/* Returns true for a silent message or operation, which reports nothing. */
static bool is_silent(const struct ofi_rdm_ep *ep, const struct vrb_rdm_slot *slot)
{
	return (slot->flags & (OFI_RDM_KIND | OFI_RDM_SILENT)) == OFI_RDM_SILENT && !slot->bounce &&
	       !ep->counts;
}

OFI_OUTLINE void vrb_rdm_retired(struct ofi_rdm_ep *ep, const struct ibv_wc *wc)
{
	struct vrb_rdm_slot *slot = (struct vrb_rdm_slot *)(uintptr_t)wc->wr_id, *at;
	struct vrb_rc_conn *conn = slot->conn;
	int err = 0;

	if (ofi_unlikely(wc->status != IBV_WC_SUCCESS)) {
		if (slot == &conn->last) {
			vrb_rdm_conn_flushed(conn);
			return;
		}
		err = wc_error(conn, slot, wc);
	}
	while ((at = &conn->slots[conn->tail++ & conn->mask]) != slot) {
		if (ofi_likely(is_silent(ep, at)))
			ofi_rdm_flow_give(&conn->peer->proto.flow, 1);
		else
			slot_done(ep, conn, at, 0, 0);
	}
	slot_done(ep, conn, slot, err, (int)wc->status);
	/* Peers that wait for a bounce buffer come before this one, which has just had some. */
	if (ofi_unlikely(!TAILQ_EMPTY(&vrb_rc(ep)->conns.starved)))
		vrb_rdm_conn_feed(ep);
	pump_peer(conn->peer);
}

/* Completes a packet directly. On false nothing was done. */
OFI_INLINE bool direct_matched(struct ofi_rdm_ep *ep, const struct ibv_wc *wc)
{
	struct ofi_rdm_direct *direct = &ep->direct;
	struct vrb_rdm_arrival a;

	if (ofi_unlikely(direct->cq != ep->rx_tagged) ||
	    ofi_unlikely(vrb_rdm_meet(ep, wc, &a) != VRB_RDM_MATCHED))
		return false;
	ofi_rdm_copy(a.recv->proto.iov[0].iov_base, a.payload, a.len);
	vrb_rdm_take_matched(ep, wc, &a, direct->at);
	ofi_rdm_direct_advance(direct, sizeof(struct fi_cq_tagged_entry),
			       ofi_unlikely(direct->src)
				       ? ofi_rdm_peer_source(ep->peers[vrb_rc(ep)->recent_number])
				       : 0);
	if (ofi_unlikely(--vrb_rc(ep)->rx.above < 0))
		vrb_rdm_refill(ep);
	return true;
}

/* Completes a work request directly. On false nothing was done. */
OFI_INLINE bool direct_retired(struct ofi_rdm_ep *ep, const struct ibv_wc *wc)
{
	if (!vrb_rdm_retires_now(ep, wc))
		return false;
	vrb_rdm_retire_now(ep, wc, ep->direct.at);
	ofi_rdm_direct_advance(&ep->direct, sizeof(struct fi_cq_tagged_entry), FI_ADDR_NOTAVAIL);
	return true;
}

OFI_OUTLINE void vrb_rdm_refill(struct ofi_rdm_ep *ep)
{
	if (vrb_rdm_rx_fill(&vrb_rc(ep)->rx))
		vrb_rdm_conn_retry_receives(ep);
}

void vrb_rdm_polled(struct ofi_rdm_ep *ep, int n)
{
	const struct ibv_wc *wc = vrb_rc(ep)->wc, *end = wc + n;

	do {
		if (wc->wr_id & VRB_RDM_RX_BIT) {
			if (ofi_unlikely(!direct_matched(ep, wc)))
				vrb_rdm_arrived(ep, wc);
		} else if (ofi_unlikely(!direct_retired(ep, wc))) {
			vrb_rdm_retired(ep, wc);
		}
	} while (++wc != end);
}

/* Polls the device's CQ. Returns true if there was something. The caller holds the lock. */
static bool poll_cq(struct ofi_rdm_ep *ep)
{
	int n = ibv_poll_cq(vrb_rc(ep)->poll_cq, VRB_RDM_BATCH, vrb_rc(ep)->wc);

	ep->direct.cq = OFI_RDM_NO_DIRECT;
	if (n > 0)
		vrb_rdm_polled(ep, n);
	return n > 0;
}

static bool poll_ep(struct ofi_rdm_ep *ep)
{
	bool some = poll_cq(ep);

	if (ofi_unlikely(ep->collects))
		ofi_rdm_coll_run(ep);
	return some;
}

bool vrb_rdm_poll(struct ofi_rdm_proto *proto)
{
	return poll_ep(ofi_rdm_of_proto(proto));
}

void vrb_rdm_poll_all(struct ofi_rdm_ep *ep)
{
	int most = vrb_rc(ep)->cq->cqe, rounds = most / VRB_RDM_BATCH + 1;
	bool ends = vrb_shm_drain_begin(ep, (uint32_t)most);

	while (poll_cq(ep) && (ends || --rounds))
		;
	if (ends)
		vrb_shm_drain_end(ep);
}

void vrb_rdm_progress(struct ofi_rdm_proto *proto)
{
	struct ofi_rdm_ep *ep = ofi_rdm_of_proto(proto);

	ofi_rdm_lock(ep);
	poll_ep(ep);
	ofi_rdm_unlock(ep);
}

/* Returns true if there was an event. */
static bool drain_channel(struct ofi_rdm_ep *ep)
{
	unsigned int before = vrb_rc(ep)->unacked;
	struct ibv_cq *cq;
	void *context;
	bool some;

	while (!ibv_get_cq_event(vrb_rc(ep)->channel, &cq, &context))
		vrb_rc(ep)->unacked++;
	some = vrb_rc(ep)->unacked != before;
	if (vrb_rc(ep)->unacked >= ACK_BATCH) {
		ibv_ack_cq_events(vrb_rc(ep)->cq, vrb_rc(ep)->unacked);
		vrb_rc(ep)->unacked = 0;
	}
	return some;
}

/*
 * Not every Elastic Fabric Adapter has events, and not every driver of one. Without events, whoever
 * would sleep polls.
 */
int vrb_rdm_create_cq(struct ofi_rdm_ep *ep, int size)
{
	struct vrb_rc_ep *rc = vrb_rc(ep);
	struct ibv_context *ctx = vrb_rc_domain(ep)->ctx;

	rc->cq = ibv_create_cq(ctx, size, ep, rc->channel, ofi_rdm_vector(ep));
	if (!rc->cq && errno == EOPNOTSUPP) {
		FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_enable: %s has no completion events: threads that wait poll\n",
			ibv_get_device_name(ctx->device));
		rc->deaf = true;
		rc->cq = ibv_create_cq(ctx, size, ep, NULL, 0);
	}
	vrb_rdm_poll_from(rc, rc->cq, 1);
	return rc->cq ? 0 : -1;
}

static int request_event(struct ofi_rdm_ep *ep)
{
	if (vrb_rc(ep)->deaf)
		return EOPNOTSUPP;
	vrb_shm_arm(ep);
	vrb_ud_arm(ep);
	return ibv_req_notify_cq(vrb_rc(ep)->cq, 0);
}

/*
 * Other threads may be waiting for the event that was taken: this handles what came with it and
 * requests another event. There may always be more, so the event thread goes on in the end.
 */
static void progress_settle(struct ofi_rdm_ep *ep)
{
	int rounds = vrb_rc(ep)->cq->cqe / VRB_RDM_BATCH + 1;

	do {
		while (poll_ep(ep) && --rounds > 0)
			;
		if (request_event(ep) || !poll_ep(ep))
			return;
	} while (--rounds > 0);
	vrb_rdm_conn_wake(ep, 0);
}

/*
 * Returns 0 if nothing is there and an event will report the next completion. The caller holds the
 * lock.
 */
static int progress_arm(struct ofi_rdm_ep *ep)
{
	bool taken = vrb_rc(ep)->channel && drain_channel(ep);

	if (!poll_ep(ep) && vrb_rc(ep)->channel && !request_event(ep) && !poll_ep(ep))
		return 0;
	if (taken)
		progress_settle(ep);
	return -FI_EAGAIN;
}

int vrb_rdm_arm(struct ofi_rdm_proto *proto)
{
	struct ofi_rdm_ep *ep = ofi_rdm_of_proto(proto);
	int ret;

	ofi_rdm_lock(ep);
	ret = progress_arm(ep);
	ofi_rdm_unlock(ep);
	return ret;
}

void vrb_rdm_flush(struct vrb_rc_conn *conn, int err)
{
	while (!vrb_rc_conn_idle(conn))
		slot_done(conn->ep, conn, &conn->slots[conn->tail++ & conn->mask], err,
			  err ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS);
}
