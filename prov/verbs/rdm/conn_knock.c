/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probes the host of a peer that does not answer: sends a connection request to a port on which
 * nobody can listen. The host's connection manager refuses it, for which no process has to run.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "prov/verbs/provider/prov.h"

static void set_port(struct ofi_rdm_addr *addr, in_port_t port)
{
	if (addr->sa.sa_family == AF_INET)
		addr->in.sin_port = port;
	else
		addr->in6.sin6_port = port;
}

static bool begin(struct vrb_rdm_knock *knock)
{
	struct ofi_rdm_addr addr = knock->peer->addr;

	set_port(&addr, 0);
	return !vrb_cm_create_id(vrb_rdm_conn_cm(knock->ep), "asking a host", &knock->owner,
				 &knock->id) &&
	       !rdma_resolve_addr(knock->id, NULL, &addr.sa, vrb_params.resolve_timeout);
}

static void end(struct vrb_rdm_knock *knock)
{
	struct ofi_rdm_ep *ep = knock->ep;

	LIST_REMOVE(knock, link);
	knock->peer = NULL;
	SLIST_INSERT_HEAD(&vrb_rc(ep)->conn.knocks, knock, over);
	if (!ep->closing)
		vrb_rdm_conn_wake(ep, 0);
}

void vrb_rdm_conn_knocks_end(struct ofi_rdm_peer *peer)
{
	while (!LIST_EMPTY(&vrb_rc_peer(peer)->knocks))
		end(LIST_FIRST(&vrb_rc_peer(peer)->knocks));
}

void vrb_rdm_conn_knocks_free(struct vrb_rdm_knocks *knocks)
{
	struct vrb_rdm_knock *knock;

	while ((knock = SLIST_FIRST(knocks))) {
		SLIST_REMOVE_HEAD(knocks, over);
		if (knock->id)
			rdma_destroy_id(knock->id);
		free(knock);
	}
}

void vrb_rdm_conn_knock_ended(struct ofi_rdm_ep *ep, struct ofi_rdm_errand *end)
{
	(void)ep;
	free((char *)end - offsetof(struct vrb_rdm_knock, end));
}

/*
 * The request carries an unused queue pair number: with one that is in use, it would be taken for
 * that of a stale connection.
 */
static bool conn_knock_ask(struct vrb_rdm_knock *knock)
{
	struct rdma_conn_param param = { .retry_count = 0 };

	return !rdma_connect(knock->id, &param);
}

/* The probe is on its way, or there is no route: from now on the silence is the host's. */
static void asked(struct ofi_rdm_peer *peer)
{
	vrb_rdm_conn_step(peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ASKED });
}

static void heard(struct ofi_rdm_peer *peer)
{
	vrb_rdm_conn_knocks_end(peer);
	vrb_rdm_conn_step(peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_HEARD });
}

static void handle(struct vrb_rdm_knock *knock, const struct rdma_cm_event *event)
{
	struct ofi_rdm_peer *peer = knock->peer;
	bool goes_on = false, counts = !knock->asked;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		goes_on = !rdma_resolve_route(knock->id, vrb_params.resolve_timeout);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		goes_on = knock->asked = conn_knock_ask(knock);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_REJECTED:
		heard(peer);
		return;
	default:
		break;
	}
	counts &= knock->asked || !goes_on;
	if (!goes_on)
		end(knock);
	if (counts)
		asked(peer);
}

static struct rdma_cm_id *knock_heard(struct vrb_owner *owner, const struct rdma_cm_event *event)
{
	struct vrb_rdm_knock *knock = vrb_owner_of(owner, struct vrb_rdm_knock, owner);

	if (!knock->ep->closing && knock->peer)
		handle(knock, event);
	return NULL;
}

static void conn_knock_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
				struct vrb_cm_left *left)
{
	vrb_rdm_conn_hear(vrb_owner_of(owner, struct vrb_rdm_knock, owner)->ep, knock_heard, owner,
			  event, left);
}

static const struct vrb_owner_ops knock_owner_ops = { .event = conn_knock_cm_event };

void vrb_rdm_conn_knock(struct ofi_rdm_peer *peer)
{
	struct vrb_rdm_knock *knock = calloc(1, sizeof(*knock));

	if (!knock) {
		asked(peer);
		return;
	}
	*knock = (struct vrb_rdm_knock){ .owner.ops = &knock_owner_ops,
					 .ep = peer->ep,
					 .peer = peer };
	LIST_INSERT_HEAD(&vrb_rc_peer(peer)->knocks, knock, link);
	if (begin(knock))
		return;
	end(knock);
	asked(peer);
}
