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

static void probe_set_port(struct ofi_rdm_addr *addr, in_port_t port)
{
	if (addr->sa.sa_family == AF_INET)
		addr->in.sin_port = port;
	else
		addr->in6.sin6_port = port;
}

static bool probe_begin(struct vrb_rdm_host_probe *probe)
{
	struct ofi_rdm_addr addr = probe->peer->addr;

	probe_set_port(&addr, 0);
	return !vrb_cm_create_id(vrb_rdm_conn_cm(probe->ep), "asking a host", &probe->owner,
				 &probe->id) &&
	       !rdma_resolve_addr(probe->id, NULL, &addr.sa, vrb_params.resolve_timeout);
}

static void probe_end(struct vrb_rdm_host_probe *probe)
{
	struct ofi_rdm_ep *ep = probe->ep;

	LIST_REMOVE(probe, link);
	probe->peer = NULL;
	SLIST_INSERT_HEAD(&vrb_rc(ep)->conns.probes, probe, over);
	if (!ep->closing)
		vrb_rdm_conn_wake(ep, 0);
}

void vrb_rdm_conn_probes_end(struct ofi_rdm_peer *peer)
{
	while (!LIST_EMPTY(&vrb_rc_peer(peer)->probes))
		probe_end(LIST_FIRST(&vrb_rc_peer(peer)->probes));
}

void vrb_rdm_conn_probes_free(struct vrb_rdm_host_probes *probes)
{
	struct vrb_rdm_host_probe *probe;

	while ((probe = SLIST_FIRST(probes))) {
		SLIST_REMOVE_HEAD(probes, over);
		if (probe->id)
			rdma_destroy_id(probe->id);
		free(probe);
	}
}

void vrb_rdm_conn_probe_ended(struct ofi_rdm_ep *ep, struct ofi_rdm_task *end)
{
	(void)ep;
	free((char *)end - offsetof(struct vrb_rdm_host_probe, end));
}

/*
 * The request carries an unused queue pair number: with one that is in use, it would be taken for
 * that of a stale connection.
 */
static bool send_probe(struct vrb_rdm_host_probe *probe)
{
	struct rdma_conn_param param = { .retry_count = 0 };

	return !rdma_connect(probe->id, &param);
}

/* The probe is on its way, or there is no route: from now on the silence is the host's. */
static void host_probed(struct ofi_rdm_peer *peer)
{
	vrb_rdm_conn_step(peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED });
}

static void host_answered(struct ofi_rdm_peer *peer)
{
	vrb_rdm_conn_probes_end(peer);
	vrb_rdm_conn_step(peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ANSWERED });
}

static void probe_step(struct vrb_rdm_host_probe *probe, const struct rdma_cm_event *event)
{
	struct ofi_rdm_peer *peer = probe->peer;
	bool goes_on = false, counts = !probe->asked;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		goes_on = !rdma_resolve_route(probe->id, vrb_params.resolve_timeout);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		goes_on = probe->asked = send_probe(probe);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
	case RDMA_CM_EVENT_REJECTED:
		host_answered(peer);
		return;
	default:
		break;
	}
	counts &= probe->asked || !goes_on;
	if (!goes_on)
		probe_end(probe);
	if (counts)
		host_probed(peer);
}

static struct rdma_cm_id *probe_event(struct vrb_owner *owner, const struct rdma_cm_event *event)
{
	struct vrb_rdm_host_probe *probe = vrb_owner_of(owner, struct vrb_rdm_host_probe, owner);

	if (!probe->ep->closing && probe->peer)
		probe_step(probe, event);
	return NULL;
}

static void probe_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			   struct vrb_cm_left *left)
{
	vrb_rdm_conn_event(vrb_owner_of(owner, struct vrb_rdm_host_probe, owner)->ep, probe_event,
			   owner, event, left);
}

static const struct vrb_owner_ops probe_owner_ops = { .event = probe_cm_event };

void vrb_rdm_conn_probe_host(struct ofi_rdm_peer *peer)
{
	struct vrb_rdm_host_probe *probe = calloc(1, sizeof(*probe));

	if (!probe) {
		host_probed(peer);
		return;
	}
	*probe = (struct vrb_rdm_host_probe){ .owner.ops = &probe_owner_ops,
					      .ep = peer->ep,
					      .peer = peer };
	LIST_INSERT_HEAD(&vrb_rc_peer(peer)->probes, probe, link);
	if (probe_begin(probe))
		return;
	probe_end(probe);
	host_probed(peer);
}
