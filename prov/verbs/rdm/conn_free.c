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
static void link_ended(struct ofi_rdm_ep *ep, struct ofi_rdm_task *end)
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
void vrb_rdm_conn_freeable(struct ofi_rdm_ep *ep, struct vrb_rdm_dead_links *freeable)
{
	struct vrb_rdm_dead_links all = vrb_rc(ep)->conn.dead_links;
	uint64_t now = ofi_now_ms();
	struct vrb_rdm_link *link;

	SLIST_INIT(freeable);
	SLIST_INIT(&vrb_rc(ep)->conn.dead_links);
	while ((link = SLIST_FIRST(&all))) {
		SLIST_REMOVE_HEAD(&all, dead_entry);
		if (!vrb_rdm_link_freeable(link, now)) {
			SLIST_INSERT_HEAD(&vrb_rc(ep)->conn.dead_links, link, dead_entry);
			continue;
		}
		SLIST_INSERT_HEAD(freeable, link, dead_entry);
		if (link->qp && link->takes && !link->let_go && !ep->dead)
			__atomic_store_n(&vrb_rc_domain(ep)->no_last_wqe, true, __ATOMIC_RELAXED);
	}
	if (!SLIST_EMPTY(freeable))
		vrb_rdm_poll_all(ep);
}

static void defer_links(struct vrb_rdm_conns *conn, struct vrb_rdm_dead_links *freeable)
{
	struct vrb_rdm_link *link;

	while ((link = SLIST_FIRST(freeable))) {
		SLIST_REMOVE_HEAD(freeable, dead_entry);
		SLIST_INSERT_HEAD(&conn->deferred.links, link, dead_entry);
	}
}

static void defer_probes(struct vrb_rdm_conns *conn)
{
	struct vrb_rdm_host_probe *probe;

	while ((probe = SLIST_FIRST(&conn->probes))) {
		SLIST_REMOVE_HEAD(&conn->probes, over);
		SLIST_INSERT_HEAD(&conn->deferred.probes, probe, over);
	}
}

/* Wakes the event thread, unless it is the caller. */
void vrb_rdm_conn_defer_free(struct ofi_rdm_ep *ep, struct vrb_rdm_dead_links *freeable)
{
	struct vrb_rdm_conns *conn = &vrb_rc(ep)->conn;

	if (SLIST_EMPTY(freeable) && SLIST_EMPTY(&conn->probes))
		return;
	ofi_lock(&conn->deferred.lock);
	defer_links(conn, freeable);
	defer_probes(conn);
	__atomic_store_n(&conn->deferred.some, true, __ATOMIC_RELAXED);
	ofi_unlock(&conn->deferred.lock);
	if (!ofi_bias_outside && !ep->closing)
		vrb_rdm_conn_wake(ep, 0);
}

static void destroy_link(struct vrb_rdm_link *link)
{
	if (link->id)
		rdma_destroy_id(link->id);
	vrb_rdm_link_destroy_qp(link);
	link->end.run = link_ended;
	ofi_rdm_task_add(link->ep, &link->end);
}

static void destroy_probe(struct vrb_rdm_host_probe *probe)
{
	if (probe->id)
		rdma_destroy_id(probe->id);
	probe->end.run = vrb_rdm_conn_probe_ended;
	ofi_rdm_task_add(probe->ep, &probe->end);
}

static void destroy_request(struct vrb_rdm_cm_event *pending)
{
	rdma_destroy_id(pending->refused);
	free(pending);
}

/* Tasks run in order, so events of an object are handled before it is freed. */
void vrb_rdm_conn_free_deferred(struct ofi_rdm_ep *ep)
{
	struct vrb_rdm_conns *conn = &vrb_rc(ep)->conn;
	struct vrb_rdm_cm_events requests;
	struct vrb_rdm_dead_links links;
	struct vrb_rdm_host_probes probes;
	struct vrb_rdm_cm_event *pending;
	struct vrb_rdm_host_probe *probe;
	struct vrb_rdm_link *link;

	ofi_lock(&conn->deferred.lock);
	links = conn->deferred.links;
	probes = conn->deferred.probes;
	requests = conn->deferred.requests;
	SLIST_INIT(&conn->deferred.links);
	SLIST_INIT(&conn->deferred.probes);
	SLIST_INIT(&conn->deferred.requests);
	__atomic_store_n(&conn->deferred.some, false, __ATOMIC_RELAXED);
	ofi_unlock(&conn->deferred.lock);
	while ((pending = SLIST_FIRST(&requests))) {
		SLIST_REMOVE_HEAD(&requests, over);
		destroy_request(pending);
	}
	if (SLIST_EMPTY(&probes) && SLIST_EMPTY(&links))
		return;
	while ((probe = SLIST_FIRST(&probes))) {
		SLIST_REMOVE_HEAD(&probes, over);
		destroy_probe(probe);
	}
	while ((link = SLIST_FIRST(&links))) {
		SLIST_REMOVE_HEAD(&links, dead_entry);
		destroy_link(link);
	}
	vrb_rdm_conn_tasks(ep);
}
