/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Probes the host of a peer that does not answer: sends a connection request to a port on which
 * nobody can listen. The host's connection manager refuses it, even if no process runs.
 *
 * One probe answers for all peers of a host. If each peer had its own, the probes of a host that is
 * merely busy would keep it busy: hundreds of processes that connect to each other would send more
 * probes than requests.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "conn_int.h"
#include "prov/verbs/cm/cm_wire.h"
#include "prov/verbs/provider/prov.h"

static bool probe_begin(struct vrb_rdm_host_probe *probe)
{
	struct vrb_cm *cm = vrb_rdm_conn_cm(probe->ep);
	struct ofi_rdm_addr addr = probe->peer->addr;
	int ret;

	if (probe->to_port) {
		ret = vrb_cm_create_id(cm, "asking a peer", &probe->owner, true, &probe->id);
	} else {
		ofi_addr_set_port(&addr.sa, 0);
		ret = vrb_cm_create_id(cm, "asking a host", &probe->owner, false, &probe->id);
	}
	return !ret && !vrb_rdm_conn_resolve(probe->ep, probe->id, addr);
}

static void probe_destroy(struct vrb_rdm_deferred *deferred)
{
	struct vrb_rdm_host_probe *probe =
		ofi_container(deferred, struct vrb_rdm_host_probe, deferred);

	if (probe->id)
		rdma_destroy_id(probe->id);
}

static void probe_free(struct ofi_rdm_ep *ep, struct ofi_rdm_task *end)
{
	(void)ep;
	free(ofi_container(end, struct vrb_rdm_host_probe, deferred.end));
}

/* The event thread may free the probe at once. */
static void probe_end(struct vrb_rdm_host_probe *probe)
{
	LIST_REMOVE(probe, link);
	probe->peer = NULL;
	probe->deferred.destroy = probe_destroy;
	probe->deferred.end.run = probe_free;
	vrb_rdm_conn_defer(probe->ep, &probe->deferred);
}

void vrb_rdm_conn_probes_end(struct vrb_rdm_host_probes *probes)
{
	while (!LIST_EMPTY(probes))
		probe_end(LIST_FIRST(probes));
}

/*
 * The request carries an unused queue pair number: with one that is in use, it would be taken for
 * that of a stale connection.
 */
static bool send_probe(struct vrb_rdm_host_probe *probe)
{
	struct rdma_conn_param param = { .retry_count = 0 };
	uint8_t wire[VRB_CM_WIRE_MAX];

	if (probe->to_port) {
		param.private_data = wire;
		param.private_data_len = vrb_rdm_conn_data(probe->peer, OFI_RDM_CMWIRE_PROBE, wire);
	}
	return !rdma_connect(probe->id, &param);
}

/* Returns the record of the peer's host, which is cleared if it was another host's. */
static struct vrb_rdm_host *probe_host_of(const struct ofi_rdm_peer *peer)
{
	struct vrb_rdm_host *host = &vrb_rc(peer->ep)->conns.hosts[vrb_rc_peer(peer)->policy.host];
	struct vrb_rdm_host other = { 0 };

	ofi_rdm_addr_gid(&peer->addr, other.ip);
	if (memcmp(host->ip, other.ip, sizeof(other.ip)))
		*host = other;
	return host;
}

/* Called when a probe was sent, or there is no route: silence now counts against the host. */
static void peer_probed(struct ofi_rdm_peer *peer)
{
	vrb_rdm_conn_step(peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED });
}

static void host_probed(struct ofi_rdm_peer *peer)
{
	if (!ofi_rdm_addr_is_qp(&peer->addr))
		probe_host_of(peer)->asked = ofi_now_ms();
	peer_probed(peer);
}

void vrb_rdm_conn_heard(const struct ofi_rdm_peer *peer)
{
	if (!ofi_rdm_addr_is_qp(&peer->addr))
		probe_host_of(peer)->heard = ofi_now_ms();
}

static void peer_heard(struct ofi_rdm_peer *peer)
{
	vrb_rdm_conn_probes_end(&vrb_rc_peer(peer)->probes);
	vrb_rdm_conn_step(peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ANSWERED });
}

/*
 * Handles the answer about a connection. The host answers for itself, and for a port on which
 * nobody listens, but not for a process, except that it rejects a request if too many wait for the
 * process; a process states its incarnation, and whether it has a connection.
 */
static void ask_answered(struct vrb_rdm_host_probe *probe, const struct rdma_cm_event *event)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_find(probe->ep, probe->number);
	uint64_t known = vrb_rc_peer(probe->peer)->policy.known;
	struct ofi_rdm_cmwire cm;
	enum ofi_rdm_wire_error error = vrb_rdm_conn_parse(event, &cm);

	if (!conn || !conn->ud || conn->state >= VRB_RC_CONN_ENDED ||
	    (probe->to_port && vrb_rdm_conn_is_crowd(event, error)))
		return;
	if (probe->to_port && (error || cm.kind != OFI_RDM_CMWIRE_REJECT ||
			       cm.incarnation != known || cm.reason == OFI_RDM_CMWIRE_STALE))
		vrb_ud_conn_lost(conn);
	else
		vrb_ud_conn_heard(conn);
}

static bool is_answer(const struct vrb_rdm_host_probe *probe, const struct rdma_cm_event *event)
{
	if (probe->to_port)
		return event->event == RDMA_CM_EVENT_UNREACHABLE && event->status > 0;
	return event->event == RDMA_CM_EVENT_CONNECT_RESPONSE ||
	       event->event == RDMA_CM_EVENT_REJECTED;
}

/* Takes the next step before the request is sent. Returns false if there is none, or it failed. */
static bool probe_go_on(struct vrb_rdm_host_probe *probe, enum rdma_cm_event_type event)
{
	if (event == RDMA_CM_EVENT_ADDR_RESOLVED)
		return !rdma_resolve_route(probe->id, vrb_params.resolve_timeout);
	if (event == RDMA_CM_EVENT_ROUTE_RESOLVED)
		probe->asked = send_probe(probe);
	return event == RDMA_CM_EVENT_ROUTE_RESOLVED && probe->asked;
}

static void ask_step(struct vrb_rdm_host_probe *probe, const struct rdma_cm_event *event)
{
	if (is_answer(probe, event))
		ask_answered(probe, event);
	if (!probe_go_on(probe, event->event))
		probe_end(probe);
}

static void probe_step(struct vrb_rdm_host_probe *probe, const struct rdma_cm_event *event)
{
	struct ofi_rdm_peer *peer = probe->peer;
	bool goes_on, counts = !probe->asked;

	if (is_answer(probe, event)) {
		vrb_rdm_conn_heard(peer);
		peer_heard(peer);
		return;
	}
	goes_on = probe_go_on(probe, event->event);
	counts &= probe->asked || !goes_on;
	if (!goes_on)
		probe_end(probe);
	if (counts)
		host_probed(peer);
}

static struct rdma_cm_id *probe_event(struct vrb_owner *owner, const struct rdma_cm_event *event)
{
	struct vrb_rdm_host_probe *probe = ofi_container(owner, struct vrb_rdm_host_probe, owner);

	if (!probe->ep->closing && probe->peer && probe->number)
		ask_step(probe, event);
	else if (!probe->ep->closing && probe->peer)
		probe_step(probe, event);
	return NULL;
}

static void probe_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			   struct vrb_cm_left *left)
{
	vrb_rdm_conn_event(ofi_container(owner, struct vrb_rdm_host_probe, owner)->ep, probe_event,
			   owner, event, left);
}

static const struct vrb_owner_ops probe_owner_ops = { .event = probe_cm_event };

/* Returns true if the time is not 0 and at most so many intervals ago. */
static bool is_within(uint64_t when, unsigned int intervals)
{
	return when &&
	       ofi_now_ms() - when < intervals * (uint64_t)vrb_params.rdm_connect_timeout / 8;
}

/*
 * Returns true if the host has just answered, or another peer's probe of it is on its way, which
 * counts for this peer, too, once it is sent.
 */
static bool host_is_probed(struct ofi_rdm_peer *peer)
{
	struct vrb_rdm_host *host = probe_host_of(peer);

	if (is_within(host->heard, 1)) {
		peer_heard(peer);
		return true;
	}
	if (is_within(host->begun, 1)) {
		/* An earlier probe counts, too, because the latest one may not be sent yet. */
		if (is_within(host->asked, 2) && host->heard < host->asked)
			peer_probed(peer);
		return true;
	}
	host->begun = ofi_now_ms();
	return false;
}

/* Returns false if there is no memory, or no route. */
static bool probe_new(struct ofi_rdm_peer *peer, struct vrb_rdm_host_probes *list, uint32_t number,
		      bool to_port)
{
	struct vrb_rdm_host_probe *probe = calloc(1, sizeof(*probe));

	if (!probe)
		return false;
	probe->owner.ops = &probe_owner_ops;
	probe->ep = peer->ep;
	probe->peer = peer;
	probe->number = number;
	probe->to_port = to_port;
	LIST_INSERT_HEAD(list, probe, link);
	if (probe_begin(probe))
		return true;
	probe_end(probe);
	return false;
}

/* A peer that is known only by the name of its queue pair has no host to probe. */
void vrb_rdm_conn_probe_host(struct ofi_rdm_peer *peer)
{
	if (ofi_rdm_addr_is_qp(&peer->addr) ||
	    (!host_is_probed(peer) && !probe_new(peer, &vrb_rc_peer(peer)->probes, 0, false)))
		host_probed(peer);
}

static bool is_asking(const struct vrb_rc_conn *conn, bool to_port)
{
	const struct vrb_rdm_host_probe *probe;

	LIST_FOREACH (probe, &vrb_rc_peer(conn->peer)->asks, link)
		if (probe->number == conn->qp_num && probe->to_port == to_port)
			return true;
	return false;
}

static void ask_about(struct vrb_rc_conn *conn, bool to_port)
{
	struct ofi_rdm_peer *peer = conn->peer;

	if (!is_asking(conn, to_port))
		probe_new(peer, &vrb_rc_peer(peer)->asks, conn->qp_num, to_port);
}

void vrb_rdm_conn_ask(struct vrb_rc_conn *conn)
{
	ask_about(conn, true);
	ask_about(conn, false);
}
