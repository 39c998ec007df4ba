/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Arriving packets: matched, kept or passed to the protocol; and the receives that they complete.
 */
#include "prov/base/cq_ring.h"
#include "prov/base/hmem_copy.h"
#include <rdma/fi_errno.h>
#include "arrive.h"
#include "prov/rdm/objects.h"
#include "conn.h"
#include "prov/rdm/op.h"
#include "progress.h"
#include "shm.h"
#include "ud.h"

static size_t scatter_recv(const struct ofi_rdm_proto_recv *recv, const uint8_t *from, size_t len,
			   bool device, int *err)
{
	size_t done = 0, take;
	uint8_t i;

	for (i = 0; i < recv->count && done < len; i++) {
		take = recv->iov[i].iov_len < len - done ? recv->iov[i].iov_len : len - done;
		*err |= ofi_hmem_store(device, recv->iov[i].iov_base, from + done, take);
		done += take;
	}
	return done;
}

/* Delivers an eager packet to the receive that matched it, and completes the receive. */
static void deliver_recv(struct ofi_rdm_peer *peer, struct ofi_rdm_recv *recv,
			 const uint8_t *payload, size_t len, uint64_t tag)
{
	int err = 0;
	struct ofi_cq_item item = {
		.context = recv->proto.match.context,
		.flags = recv->flags & ~OFI_RDM_RECV_BITS,
		.len = scatter_recv(&recv->proto, payload, len, peer->ep->hmem, &err),
		.tag = tag,
	};

	if (ofi_unlikely(err)) {
		item.err = FI_EIO;
	} else if (ofi_unlikely(item.len < len)) {
		item.err = FI_ETRUNC;
		item.olen = len - item.len;
	}
	ofi_rdm_complete_rx(peer->ep, recv, &item, peer);
	ofi_rdm_recv_put(ofi_rdm_of_proto(peer->proto.proto), recv);
}

OFI_OUTLINE void vrb_rdm_not_kept(struct ofi_rdm_peer *peer, enum ofi_rdm_wire_error error)
{
	if (error)
		vrb_rdm_conn_fault(&peer->proto, error);
}

/*
 * An announcement stays until its message has been read, so its few bytes are kept before they are
 * parsed: then nothing of the protocol's state has to be moved.
 */
static struct vrb_rdm_rx *keep_early(struct vrb_rdm_rx *rx, size_t len)
{
	struct vrb_rdm_rx *kept = NULL;

	if (len <= VRB_RDM_SMALL_SIZE &&
	    ofi_rdm_wire_is_announcement((const void *)(uintptr_t)rx->sge.addr, len))
		kept = vrb_rdm_rx_keep(rx->ring, rx, len);
	return kept ? kept : rx;
}

/*
 * The protocol does not know the packet, or it is wrong. The packet that starts a connection on
 * datagrams is the transport's own, and only packets that the protocol refuses are compared to it.
 */
static void refuse_packet(struct vrb_rc_conn *conn, struct vrb_rdm_rx *rx, size_t len,
			  enum ofi_rdm_wire_error error, bool kept)
{
	bool start = conn->ud && vrb_ud_is_start((const void *)(uintptr_t)rx->sge.addr, len);

	if (!kept)
		vrb_rdm_rx_put(&vrb_rc(conn->ep)->rx, rx);
	if (!start)
		vrb_rdm_conn_fault(&conn->peer->proto, error);
}

void vrb_rdm_take_packet(struct vrb_rc_conn *conn, struct vrb_rdm_rx *rx, size_t len)
{
	struct ofi_rdm_ep *ep = conn->ep;
	enum ofi_rdm_wire_error error;
	bool kept = false;

	if (ofi_unlikely(conn->peer_shares) &&
	    vrb_shm_packet(conn, (const void *)(uintptr_t)rx->sge.addr, len)) {
		vrb_rdm_rx_put(&vrb_rc(ep)->rx, rx);
		return;
	}
	rx = keep_early(rx, len);
	error = ofi_rdm_proto_packet(&conn->peer->proto, &rx->in,
				     (const void *)(uintptr_t)rx->sge.addr, len, &kept);
	if (ofi_unlikely(error))
		refuse_packet(conn, rx, len, error, kept);
	else if (!kept)
		vrb_rdm_rx_put(&vrb_rc(ep)->rx, rx);
	/* The packet may be the response that a fence waits for. */
	if (ofi_unlikely(!STAILQ_EMPTY(&conn->peer->ops)))
		ofi_rdm_ops_pump(conn->peer);
}

static void take_fast(struct vrb_rc_conn *conn, struct vrb_rdm_rx *rx, size_t len, bool tagged)
{
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr;
	size_t header = ofi_rdm_wire_fast_header(tagged);
	uint64_t tag = tagged ? ofi_rdm_wire_fast_tag(bytes) : 0;
	struct ofi_rdm_peer *peer = conn->peer;
	struct ofi_rdm_proto_recv *recv;
	bool unexpected;

	recv = ofi_rdm_proto_bypass(&peer->proto, tagged, tag, &unexpected);
	if (ofi_likely(recv)) {
		deliver_recv(peer, (struct ofi_rdm_recv *)recv, bytes + header, len - header, tag);
		vrb_rdm_rx_reuse(&vrb_rc(peer->ep)->rx, rx);
	} else if (unexpected) {
		vrb_rdm_keep_fast(peer, rx, len, tagged, tag);
	} else {
		vrb_rdm_take_packet(conn, rx, len);
	}
}

static void take_any(struct ofi_rdm_ep *ep, struct vrb_rc_conn *conn, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx = vrb_rdm_rx_of(wc);
	const void *bytes = (const void *)(uintptr_t)rx->sge.addr;

	conn->used = true;
	if (!conn->peer->proto.up) {
		vrb_rdm_take_packet(conn, rx, wc->byte_len);
		return;
	}
	vrb_rc(ep)->recent_qp = conn->qp_num;
	vrb_rc(ep)->recent_src = conn->peer->proto.src;
	vrb_rc(ep)->recent_number = conn->peer->number;
	if (ofi_rdm_wire_is_fast(bytes, wc->byte_len, true))
		take_fast(conn, rx, wc->byte_len, true);
	else if (ofi_rdm_wire_is_fast(bytes, wc->byte_len, false))
		take_fast(conn, rx, wc->byte_len, false);
	else
		vrb_rdm_take_packet(conn, rx, wc->byte_len);
}

void vrb_rdm_arrived(struct ofi_rdm_ep *ep, const struct ibv_wc *wc)
{
	struct vrb_rdm_rx *rx = vrb_rdm_rx_of(wc);
	struct vrb_rc_conn *conn = NULL;

	if (wc->status == IBV_WC_SUCCESS)
		conn = vrb_rc_conn_find(ep, wc->qp_num);
	if (ofi_likely(conn && conn->live))
		take_any(ep, conn, wc);
	else if (!conn || !vrb_rdm_conn_early(conn, rx, wc->byte_len))
		vrb_rdm_rx_put(&vrb_rc(ep)->rx, rx);
	if (--vrb_rc(ep)->rx.above < 0)
		vrb_rdm_refill(ep);
}
