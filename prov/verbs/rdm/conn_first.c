/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The first message to a peer is sent in the connection request, if that is a letter (see
 * ud_meet.c), so it does not wait for a round trip. It is delivered before the connection's own
 * packets, and the answer states whether it was delivered.
 *
 * An attempt may end without an answer although the message was delivered. The message is then in
 * doubt, and the next request carries it again with the same mark. The receiver delivers a message
 * only if its mark differs from that of the last one it delivered, and each end states this last
 * mark whenever a connection is made. A mark is the endpoint's incarnation, which is odd, plus
 * twice the number of the request: it is not 0, and differs from that of the message before.
 *
 * A request does not prove its sender. Its message therefore counts only if the receiver's address
 * vector has the name of the sender, because others do not know the key in that name. With a job
 * secret, no such message counts: the sender proves the secret only after the answer. The receiver
 * remembers the mark as long as its address vector has the peer. A message that does not count is
 * sent again when the connection is up.
 *
 * No message travels in the request while RMA operations wait for the connection, because it may
 * announce what they write.
 */
#include <string.h>
#include "conn_int.h"
#include "prov/rdm/av.h"
#include "progress.h"

void vrb_rdm_first_put(struct vrb_rc_conn *conn, uint8_t len, struct vrb_ud_first *first)
{
	const struct ofi_rdm_conn_set *set = &vrb_rc(conn->ep)->conns.set;
	struct vrb_rc_peer *rc = vrb_rc_peer(conn->peer);
	size_t room = vrb_ud_room(conn->ep, len);
	bool again = false;

	first->len = 0;
	if (conn->proof || !rc->policy.order || !STAILQ_EMPTY(&rc->rdm.ops))
		return;
	/* Packets of an Elastic Fabric Adapter have more room than this buffer. */
	if (room > sizeof(first->bytes))
		room = sizeof(first->bytes);
	first->len = ofi_rdm_proto_first(&conn->peer->proto, first->bytes, room, &again);
	if (first->len && (!again || !rc->doubt))
		rc->doubt = (uint32_t)set->params.incarnation + 2 * set->serial;
	first->mark = rc->doubt;
}

/* Returns true if the request comes from the queue pair that the address vector names. */
static bool is_named(const struct vrb_rc_conn *conn, const struct rdma_ud_param *asker)
{
	const struct ofi_rdm_ep *ep = conn->ep;
	fi_addr_t at = ofi_rdm_av_find(ep->av, &conn->peer->addr);
	struct ofi_rdm_addr_hint hint;
	struct ofi_rdm_addr addr;

	if (at == FI_ADDR_NOTAVAIL || !ofi_rdm_av_get(ep->av, at, &addr))
		return false;
	return ofi_rdm_addr_is_qp(&addr) || (ofi_rdm_addr_hint(&addr, &hint) &&
					     hint.qpn == asker->qp_num && hint.key == asker->qkey);
}

static bool deliver(struct vrb_rc_conn *conn, struct vrb_rdm_rx *rx, size_t len)
{
	struct vrb_rdm_rx_ring *ring = &vrb_rc(conn->ep)->rx;
	bool kept, done;

	done = ofi_rdm_proto_take_first(&conn->peer->proto, &rx->in,
					(const void *)(uintptr_t)rx->sge.addr, len, &kept);
	if (!kept)
		vrb_rdm_rx_put(ring, rx);
	if (--ring->above < 0)
		vrb_rdm_refill(conn->ep);
	return done;
}

void vrb_rdm_first_take(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	struct vrb_rc_peer *rc = vrb_rc_peer(conn->peer);
	const uint8_t *bytes;
	struct vrb_rdm_rx *rx;
	uint32_t mark;
	size_t len;

	bytes = vrb_ud_first_in(event, &len, &mark);
	if (!bytes || mark == rc->delivered || conn->proof || conn->mirror ||
	    !is_named(conn, &event->param.ud))
		return;
	rx = vrb_ud_recv_take(conn->ep, len);
	if (!rx)
		return;
	memcpy((void *)(uintptr_t)rx->sge.addr, bytes, len);
	if (deliver(conn, rx, len))
		rc->delivered = mark;
}

void vrb_rdm_first_end(struct vrb_rc_conn *conn)
{
	struct vrb_rc_peer *rc = vrb_rc_peer(conn->peer);

	if (!rc->doubt)
		return;
	ofi_rdm_proto_first_ends(&conn->peer->proto, vrb_ud_delivered(conn) == rc->doubt);
	rc->doubt = 0;
}
