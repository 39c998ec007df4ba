/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections that have ended: kept until their queue pairs can be destroyed. */
#include <stddef.h>
#include <stdlib.h>
#include "prov/base/wait.h"
#include "conn_int.h"
#include "prov/rdm/lock.h"
#include "progress.h"

void vrb_rdm_conn_free_later(struct vrb_rdm_link *link)
{
	link->state = VRB_RDM_LINK_DEAD;
	vrb_rdm_link_halt(link, ofi_now_ms());
	SLIST_INSERT_HEAD(&vrb_rc(link->ep)->conn.dead_links, link, dead_entry);
	vrb_rdm_conn_wake(link->ep, 0);
}

/*
 * Frees a connection whose id and queue pair are destroyed; its work requests may not have
 * completed.
 */
static void link_ended(struct ofi_rdm_ep *ep, struct ofi_rdm_errand *end)
{
	struct vrb_rdm_link *link =
		(struct vrb_rdm_link *)((char *)end - offsetof(struct vrb_rdm_link, end));
	struct ofi_rdm_peer *peer = link->peer;

	vrb_rdm_poll_all(ep);
	if (link->takes && !link->let_go)
		vrb_rdm_rx_doubt(&vrb_rc(ep)->rx);
	vrb_rdm_flush(link, link->err);
	vrb_rdm_conn_drained(link);
	vrb_rdm_link_free(link);
	ofi_rdm_peer_leave(peer);
}

/*
 * A device that did not report a queue pair's last receive in time will not report others either.
 * Polls before the device discards the completions with the queue pairs.
 */
void vrb_rdm_conn_ripe(struct ofi_rdm_ep *ep, struct vrb_rdm_dead_links *ripe)
{
	struct vrb_rdm_dead_links all = vrb_rc(ep)->conn.dead_links;
	uint64_t now = ofi_now_ms();
	struct vrb_rdm_link *link;

	SLIST_INIT(ripe);
	SLIST_INIT(&vrb_rc(ep)->conn.dead_links);
	while ((link = SLIST_FIRST(&all))) {
		SLIST_REMOVE_HEAD(&all, dead_entry);
		if (!vrb_rdm_link_ripe(link, now)) {
			SLIST_INSERT_HEAD(&vrb_rc(ep)->conn.dead_links, link, dead_entry);
			continue;
		}
		SLIST_INSERT_HEAD(ripe, link, dead_entry);
		if (link->qp && link->takes && !link->let_go && !ep->dead)
			__atomic_store_n(&vrb_rc_domain(ep)->no_last_wqe, true, __ATOMIC_RELAXED);
	}
	if (!SLIST_EMPTY(ripe))
		vrb_rdm_poll_all(ep);
}

static void doom_links(struct vrb_rdm_conns *conn, struct vrb_rdm_dead_links *ripe)
{
	struct vrb_rdm_link *link;

	while ((link = SLIST_FIRST(ripe))) {
		SLIST_REMOVE_HEAD(ripe, dead_entry);
		SLIST_INSERT_HEAD(&conn->burial.links, link, dead_entry);
	}
}

static void doom_knocks(struct vrb_rdm_conns *conn)
{
	struct vrb_rdm_knock *knock;

	while ((knock = SLIST_FIRST(&conn->knocks))) {
		SLIST_REMOVE_HEAD(&conn->knocks, over);
		SLIST_INSERT_HEAD(&conn->burial.knocks, knock, over);
	}
}

/* Wakes the event thread, unless it is the caller. */
void vrb_rdm_conn_doom(struct ofi_rdm_ep *ep, struct vrb_rdm_dead_links *ripe)
{
	struct vrb_rdm_conns *conn = &vrb_rc(ep)->conn;

	if (SLIST_EMPTY(ripe) && SLIST_EMPTY(&conn->knocks))
		return;
	ofi_lock(&conn->burial.lock);
	doom_links(conn, ripe);
	doom_knocks(conn);
	__atomic_store_n(&conn->burial.some, true, __ATOMIC_RELAXED);
	ofi_unlock(&conn->burial.lock);
	if (!ofi_bias_outside && !ep->closing)
		vrb_rdm_conn_wake(ep, 0);
}

static void bury_link(struct vrb_rdm_link *link)
{
	if (link->id)
		rdma_destroy_id(link->id);
	vrb_rdm_link_destroy_qp(link);
	link->end.run = link_ended;
	ofi_rdm_errand_add(link->ep, &link->end);
}

static void bury_knock(struct vrb_rdm_knock *knock)
{
	if (knock->id)
		rdma_destroy_id(knock->id);
	knock->end.run = vrb_rdm_conn_knock_ended;
	ofi_rdm_errand_add(knock->ep, &knock->end);
}

static void bury_request(struct vrb_rdm_heard *heard)
{
	rdma_destroy_id(heard->refused);
	free(heard);
}

/* Errands run in order, so events of an object are handled before it is freed. */
void vrb_rdm_conn_bury(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_conns *conn = &vrb_rc(ep)->conn;
	struct vrb_rdm_heard_list requests;
	struct vrb_rdm_dead_links links;
	struct vrb_rdm_knocks knocks;
	struct vrb_rdm_heard *heard;
	struct vrb_rdm_knock *knock;
	struct vrb_rdm_link *link;

	ofi_lock(&conn->burial.lock);
	links = conn->burial.links;
	knocks = conn->burial.knocks;
	requests = conn->burial.requests;
	SLIST_INIT(&conn->burial.links);
	SLIST_INIT(&conn->burial.knocks);
	SLIST_INIT(&conn->burial.requests);
	__atomic_store_n(&conn->burial.some, false, __ATOMIC_RELAXED);
	ofi_unlock(&conn->burial.lock);
	while ((heard = SLIST_FIRST(&requests))) {
		SLIST_REMOVE_HEAD(&requests, over);
		bury_request(heard);
	}
	if (SLIST_EMPTY(&knocks) && SLIST_EMPTY(&links))
		return;
	while ((knock = SLIST_FIRST(&knocks))) {
		SLIST_REMOVE_HEAD(&knocks, over);
		bury_knock(knock);
	}
	while ((link = SLIST_FIRST(&links))) {
		SLIST_REMOVE_HEAD(&links, dead_entry);
		bury_link(link);
	}
	vrb_rdm_conn_errands(ep);
}
