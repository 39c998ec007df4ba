/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections that have ended: kept until their queue pairs can be destroyed. */
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

/* Frees a connection that nothing refers to; its work requests may not have completed. */
static void free_link(struct vrb_rdm_link *link)
{
	struct ofi_rdm_peer *peer = link->peer;
	struct ofi_rdm_ep *ep = link->ep;

	if (link->id)
		rdma_destroy_id(link->id);
	/* Polls before the device discards the completions. */
	ofi_rdm_lock(ep);
	vrb_rdm_poll_all(ep);
	ofi_rdm_unlock(ep);
	vrb_rdm_link_destroy_qp(link);
	ofi_rdm_lock(ep);
	vrb_rdm_poll_all(ep);
	if (link->takes && !link->let_go)
		vrb_rdm_rx_doubt(&vrb_rc(ep)->rx);
	vrb_rdm_flush(link, link->err);
	vrb_rdm_conn_drained(link);
	vrb_rdm_link_free(link);
	ofi_rdm_peer_leave(peer);
	ofi_rdm_unlock(ep);
}

/*
 * A device that did not report a queue pair's last receive in time will not report others either.
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
}

void vrb_rdm_conn_free(struct vrb_rdm_dead_links *ripe)
{
	struct vrb_rdm_link *link;

	while ((link = SLIST_FIRST(ripe))) {
		SLIST_REMOVE_HEAD(ripe, dead_entry);
		free_link(link);
	}
}
