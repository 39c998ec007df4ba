/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections that have ended: kept until their queue pairs can be destroyed. */
#include <stddef.h>
#include <stdlib.h>
#include "prov/base/wait.h"
#include "conn_int.h"
#include "prov/rdm/lock.h"
#include "progress.h"

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
	struct vrb_rc_conn *conn =
		(struct vrb_rc_conn *)((char *)end - offsetof(struct vrb_rc_conn, end));
	struct ofi_rdm_peer *peer = conn->peer;

	vrb_rdm_poll_all(ep);
	/* Datagrams and their queue pairs have receives apart: see ud_rc.c. */
	if (conn->takes && !conn->let_go && !conn->ud)
		vrb_rdm_rx_doubt(&vrb_rc(ep)->rx);
	vrb_rdm_flush(conn, conn->err);
	vrb_rdm_conn_drained(conn);
	vrb_rc_conn_free(conn);
	ofi_rdm_peer_leave(peer);
}

/*
 * A device that did not report a queue pair's last receive in time will not report others either.
 * Polls before the device discards the completions with the queue pairs.
 */
void vrb_rdm_conn_freeable(struct ofi_rdm_ep *ep, struct vrb_rdm_dead_conns *freeable)
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
			continue;
		}
		SLIST_INSERT_HEAD(freeable, conn, dead_entry);
		if (conn->qp && conn->takes && !conn->let_go && !ep->dead)
			__atomic_store_n(&vrb_rc_domain(ep)->no_last_wqe, true, __ATOMIC_RELAXED);
	}
	if (vrb_ud_old_due(ep, now * 1000) || !SLIST_EMPTY(freeable))
		vrb_rdm_poll_all(ep);
}

static void defer_conns(struct vrb_rdm_conns *conns, struct vrb_rdm_dead_conns *freeable)
{
	struct vrb_rc_conn *conn;

	while ((conn = SLIST_FIRST(freeable))) {
		SLIST_REMOVE_HEAD(freeable, dead_entry);
		SLIST_INSERT_HEAD(&conns->deferred.conns, conn, dead_entry);
	}
}

static void defer_probes(struct vrb_rdm_conns *conns)
{
	struct vrb_rdm_host_probe *probe;

	while ((probe = SLIST_FIRST(&conns->probes))) {
		SLIST_REMOVE_HEAD(&conns->probes, over);
		SLIST_INSERT_HEAD(&conns->deferred.probes, probe, over);
	}
}

/* Wakes the event thread, unless it is the caller. */
void vrb_rdm_conn_defer_free(struct ofi_rdm_ep *ep, struct vrb_rdm_dead_conns *freeable)
{
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;

	if (SLIST_EMPTY(freeable) && SLIST_EMPTY(&conns->probes) && !vrb_ud_has_old(ep))
		return;
	ofi_lock(&conns->deferred.lock);
	defer_conns(conns, freeable);
	defer_probes(conns);
	vrb_ud_take_old(ep, &conns->deferred.old);
	__atomic_store_n(&conns->deferred.some, true, __ATOMIC_RELAXED);
	ofi_unlock(&conns->deferred.lock);
	if (!ofi_bias_outside && !ep->closing)
		vrb_rdm_conn_wake(ep, 0);
}

static void destroy_conn(struct vrb_rc_conn *conn)
{
	if (conn->id)
		rdma_destroy_id(conn->id);
	vrb_rc_conn_destroy_qp(conn);
	conn->end.run = conn_ended;
	ofi_rdm_task_add(conn->ep, &conn->end);
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
	struct vrb_rdm_conns *conns = &vrb_rc(ep)->conns;
	struct vrb_rdm_cm_events requests;
	struct vrb_rdm_dead_conns dead;
	struct vrb_ud_rcs old;
	struct vrb_rdm_host_probes probes;
	struct vrb_rdm_cm_event *pending;
	struct vrb_rdm_host_probe *probe;
	struct ofi_rdm_task *task;
	struct vrb_rc_conn *conn;

	ofi_lock(&conns->deferred.lock);
	dead = conns->deferred.conns;
	probes = conns->deferred.probes;
	requests = conns->deferred.requests;
	old = conns->deferred.old;
	SLIST_INIT(&conns->deferred.conns);
	SLIST_INIT(&conns->deferred.probes);
	SLIST_INIT(&conns->deferred.requests);
	SLIST_INIT(&conns->deferred.old);
	__atomic_store_n(&conns->deferred.some, false, __ATOMIC_RELAXED);
	ofi_unlock(&conns->deferred.lock);
	while ((pending = SLIST_FIRST(&requests))) {
		SLIST_REMOVE_HEAD(&requests, over);
		destroy_request(pending);
	}
	if (SLIST_EMPTY(&probes) && SLIST_EMPTY(&dead) && SLIST_EMPTY(&old))
		return;
	while ((task = vrb_ud_destroy_old(&old)))
		ofi_rdm_task_add(ep, task);
	while ((probe = SLIST_FIRST(&probes))) {
		SLIST_REMOVE_HEAD(&probes, over);
		destroy_probe(probe);
	}
	while ((conn = SLIST_FIRST(&dead))) {
		SLIST_REMOVE_HEAD(&dead, dead_entry);
		destroy_conn(conn);
	}
	vrb_rdm_conn_tasks(ep);
}
