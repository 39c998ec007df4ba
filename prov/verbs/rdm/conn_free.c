/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections that have ended: kept until their queue pairs can be destroyed. A dead connection is
 * in dead_conns until a tick finds that no completion of it is outstanding; then it is deferred to
 * the event thread, which destroys its queue pair without a lock, and a task frees what remains.
 */
#include "conn_int.h"
#include "progress.h"

#define READS_MS 10

void vrb_rdm_conn_free_later(struct vrb_rc_conn *conn)
{
	conn->state = VRB_RC_CONN_DEAD;
	vrb_rc_conn_halt(conn, ofi_now_ms());
	SLIST_INSERT_HEAD(&vrb_rc(conn->ep)->conns.dead_conns, conn, dead_entry);
	vrb_rdm_conn_wake(conn->ep, 0);
}

/*
 * Frees a connection whose id and queue pair are destroyed; its work requests may not have
 * completed.
 */
static void conn_ended(struct ofi_rdm_ep *ep, struct ofi_rdm_task *end)
{
	struct vrb_rc_conn *conn = ofi_container(end, struct vrb_rc_conn, deferred.end);
	struct ofi_rdm_peer *peer = conn->peer;

	vrb_rdm_poll_all(ep);
	/* Connections on datagrams, and their queue pairs, use other receives: see ud_rc.c. */
	if (conn->takes && !conn->let_go && !conn->ud)
		vrb_rdm_rx_doubt(&vrb_rc(ep)->rx);
	vrb_rdm_flush(conn, conn->err);
	vrb_rdm_conn_drained(conn);
	vrb_rc_conn_free(conn);
	ofi_rdm_peer_leave(peer);
}

static void destroy_conn(struct vrb_rdm_deferred *deferred)
{
	struct vrb_rc_conn *conn = ofi_container(deferred, struct vrb_rc_conn, deferred);

	if (conn->id)
		rdma_destroy_id(conn->id);
	vrb_rc_conn_destroy_qp(conn);
}

/*
 * Assumes that a device that did not report a queue pair's last receive in time does not report
 * others either. Polls before the device discards completions together with the queue pairs.
 */
void vrb_rdm_conn_freeable(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred_list *freeable)
{
	struct vrb_rdm_dead_conns all = vrb_rc(ep)->conns.dead_conns;
	uint64_t now = ofi_now_ms();
	struct vrb_rc_conn *conn;

	SLIST_INIT(freeable);
	SLIST_INIT(&vrb_rc(ep)->conns.dead_conns);
	while ((conn = SLIST_FIRST(&all))) {
		SLIST_REMOVE_HEAD(&all, dead_entry);
		if (!vrb_rc_conn_freeable(conn, now)) {
			SLIST_INSERT_HEAD(&vrb_rc(ep)->conns.dead_conns, conn, dead_entry);
			/* Only the device's reads take longer: the next look is soon. */
			if (conn->linger <= now)
				conn->linger = now + READS_MS;
			continue;
		}
		conn->deferred.destroy = destroy_conn;
		conn->deferred.end.run = conn_ended;
		SLIST_INSERT_HEAD(freeable, &conn->deferred, link);
		if (conn->qp && conn->takes && !conn->let_go && !ep->dead)
			__atomic_store_n(&vrb_rc_domain(ep)->no_last_wqe, true, __ATOMIC_RELAXED);
	}
	if (vrb_ud_old_due(ep, now * 1000) || !SLIST_EMPTY(freeable))
		vrb_rdm_poll_all(ep);
}

void vrb_rdm_conn_defer_all(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred_list *freeable)
{
	struct vrb_rdm_deferred *deferred;

	vrb_ud_take_old(ep, freeable);
	while ((deferred = SLIST_FIRST(freeable))) {
		SLIST_REMOVE_HEAD(freeable, link);
		vrb_rdm_conn_defer(ep, deferred);
	}
}
