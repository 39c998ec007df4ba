/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: requests of peers, which are accepted or refused. */
#include <errno.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/rdm/av.h"
#include "conn_int.h"
#include "progress.h"
#include "proof.h"
#include "prov/verbs/cm/cm_wire.h"
#include "prov/verbs/provider/async.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

static uint8_t reply_data(struct vrb_rc_conn *conn, const struct rdma_cm_event *event,
			  uint8_t *wire)
{
	if (conn->proof)
		return vrb_rdm_proof_reply(conn, event, wire);
	return vrb_rdm_conn_data(conn->peer, OFI_RDM_CMWIRE_REPLY, wire);
}

static int accept_conn(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	uint8_t wire[VRB_RDM_CM_MAX], len;
	struct rdma_conn_param param;
	int ret = 0;

	if (vrb_rc(conn->ep)->conns.secret && !conn->mirror)
		ret = vrb_rdm_proof_new(conn, false);
	if (!ret)
		ret = vrb_rc_conn_create_qp(conn);
	if (!ret)
		ret = conn->ud ? vrb_ud_hear(conn, event) : vrb_rc_conn_connect(conn);
	if (ret)
		return ret;
	vrb_rdm_first_take(conn, event);
	len = reply_data(conn, event, wire);
	if (!len)
		return -FI_EIO;
	if (conn->ud)
		len = vrb_ud_say(conn, wire, len);
	param = vrb_rdm_conn_param(conn, wire, len);
	conn->state = VRB_RC_CONN_ACCEPTED;
	conn->live = conn->mirror;
	if (!conn->id)
		return vrb_ud_answer(conn, event, wire, len);
	if (!rdma_accept(conn->id, &param))
		return 0;
	return errno == EINVAL ? -FI_ECONNABORTED : vrb_errno(errno);
}

/* The owner is the connection, or the listener, which ignores the events of the id. */
static void set_id_owner(const struct vrb_rc_conn *conn, struct vrb_owner *owner)
{
	struct vrb_cm *cm = vrb_rdm_conn_cm(conn->ep);

	if (!conn->id)
		return;
	ofi_lock(&cm->lock);
	conn->id->context = owner;
	ofi_unlock(&cm->lock);
}

/*
 * Ends the connection, but leaves its id to the caller, which rejects the request. The id may
 * outlive the connection.
 */
static void accept_failed(struct vrb_rc_conn *conn, int err)
{
	set_id_owner(conn, &vrb_rc(conn->ep)->conns.listener.owner);
	conn->id = NULL;
	conn->state = VRB_RC_CONN_NEW;
	vrb_rdm_conn_end(conn, err);
}

/*
 * Returns the reason for which the request is rejected after accepting it failed. With
 * FI_ECONNABORTED, the connection manager no longer knows the request: the peer has given it up,
 * and makes another one if needed.
 */
static enum ofi_rdm_cmwire_reason refusal_reason(const struct ofi_rdm_peer *peer, int err)
{
	char text[OFI_ADDR_STRLEN];

	if (err != FI_ECONNABORTED)
		return OFI_RDM_CMWIRE_RESOURCES;
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
		"peer %s has given up its connection request before it was accepted\n",
		vrb_rdm_conn_name(peer, text));
	return OFI_RDM_CMWIRE_BUSY;
}

static enum ofi_rdm_cmwire_reason conn_cm_take(struct ofi_rdm_peer *peer,
					       const struct rdma_cm_event *event,
					       const struct ofi_rdm_cmwire *cm)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_new(peer->ep);
	bool mirror = !vrb_rc_peer(peer)->policy.order;
	int ret = -FI_ENOMEM;

	if (conn) {
		conn->owner.ops = &vrb_rc_conn_ops;
		conn->peer = peer;
		vrb_rc_peer(peer)->conns++;
		conn->mirror = mirror;
		vrb_rdm_conn_learn(conn, cm);
		conn->id = event->id;
		set_id_owner(conn, &conn->owner);
		if (!mirror)
			vrb_rc_peer(peer)->next = conn;
		ret = accept_conn(conn, event);
	}
	if (!ret && conn->ud)
		conn->id = NULL;
	if (!ret)
		return OFI_RDM_CMWIRE_NONE;
	if (conn)
		accept_failed(conn, -ret);
	if (!mirror)
		vrb_rdm_conn_step_failed(peer, -ret);
	return refusal_reason(peer, -ret);
}

/*
 * Returns true if the request is from the endpoint itself. The source port shows that, because the
 * connection manager gives a port to one id only. If our request is a letter, there is no id.
 */
static bool is_ours(const struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	uint32_t from;

	if (!conn || !conn->qp)
		return false;
	from = conn->ud ? vrb_ud_number_in(event) : event->param.conn.qp_num;
	if (!event->id)
		return from == conn->qp_num;
	return from == conn->qp_num && conn->id &&
	       ofi_addr_port(rdma_get_peer_addr(event->id)) ==
		       ofi_addr_port(rdma_get_local_addr(conn->id));
}

static enum ofi_rdm_cmwire_reason admit_host(struct ofi_rdm_ep *ep, const struct ofi_rdm_cmwire *cm)
{
	if (vrb_rc(ep)->conns.known_only)
		return OFI_RDM_CMWIRE_UNKNOWN;
	return ofi_rdm_admit_takes(&vrb_rc(ep)->conns.admit, cm->addr, ofi_now_ms()) &&
			       vrb_ud_takes_host(ep, cm->addr)
		       ? OFI_RDM_CMWIRE_NONE
		       : OFI_RDM_CMWIRE_BUSY;
}

/* Sets *from to the sender of a request, as known to the connection manager or the device. */
static void request_sender(const struct ofi_rdm_ep *ep, const struct rdma_cm_event *event,
			   struct ofi_rdm_addr *from)
{
	if (event->id)
		memcpy(from, rdma_get_peer_addr(event->id), sizeof(*from));
	else
		vrb_ud_sender(ep, event, from);
}

/* Returns false if the request names no address that a peer can have. */
static bool request_addr(const struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *from,
			 const struct ofi_rdm_cmwire *cm, struct ofi_rdm_addr *addr)
{
	if (!ofi_rdm_addr_is_qp(from))
		return vrb_rdm_conn_addr(ep, cm, addr);
	return ofi_rdm_addr_set_qp(addr, from->qp.gid, from->qp.qpn, from->qp.key);
}

/*
 * A peer that asks whether this end of its connection is alive must not wait for one that ended. It
 * may ask because it does not receive what is sent to it.
 */
static enum ofi_rdm_cmwire_reason answer_probe(const struct ofi_rdm_ep *ep,
					       const struct ofi_rdm_addr *addr)
{
	struct ofi_rdm_peer *peer = ofi_rdm_peer_find(ep, addr);

	if (peer && vrb_rc_peer(peer)->conn && vrb_rc_peer(peer)->conn->ud)
		vrb_ud_conn_renew(vrb_rc_peer(peer)->conn);
	return peer && (vrb_rc_peer(peer)->conn || vrb_rc_peer(peer)->next) ? OFI_RDM_CMWIRE_BUSY
									    : OFI_RDM_CMWIRE_STALE;
}

/* Finds the peer that requests a connection, or the reason why it is refused. */
static enum ofi_rdm_cmwire_reason identify(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm, struct ofi_rdm_peer **peer,
					   bool *stranger)
{
	enum ofi_rdm_wire_error error = vrb_rdm_conn_parse(event, cm);
	enum ofi_rdm_cmwire_reason reason = OFI_RDM_CMWIRE_NONE;
	struct ofi_rdm_addr addr, from;

	request_sender(ep, event, &from);
	if (!error && cm->kind == OFI_RDM_CMWIRE_REQUEST && vrb_rc(ep)->ud)
		error = vrb_ud_words_check(event);
	if (error == OFI_RDM_WIRE_E_VERSION)
		return OFI_RDM_CMWIRE_VERSION;
	/* Random bytes replace the address, which the connection manager provides. */
	if (cm->flags & OFI_RDM_CMWIRE_SECRET)
		ofi_rdm_addr_gid(&from, cm->addr);
	if (error || (cm->kind != OFI_RDM_CMWIRE_REQUEST && cm->kind != OFI_RDM_CMWIRE_PROBE) ||
	    !request_addr(ep, &from, cm, &addr))
		return OFI_RDM_CMWIRE_MALFORMED;
	if (!vrb_rdm_conn_is_from(cm, &from))
		return OFI_RDM_CMWIRE_SOURCE;
	if (cm->kind == OFI_RDM_CMWIRE_PROBE)
		return answer_probe(ep, &addr);
	if (ep->closing || !ep->enabled)
		return ep->closing ? OFI_RDM_CMWIRE_CLOSING : OFI_RDM_CMWIRE_BUSY;
	if (!vrb_rc(ep)->conns.secret != !(cm->flags & OFI_RDM_CMWIRE_SECRET) &&
	    ofi_rdm_addr_compare(&ep->self, &addr))
		return OFI_RDM_CMWIRE_LONELY;
	if (cm->to_context != ep->context)
		return OFI_RDM_CMWIRE_CONTEXT;
	*stranger = !ofi_rdm_av_knows(ep->av, &addr, &cm->from_context);
	if (*stranger)
		reason = admit_host(ep, cm);
	if (reason)
		return reason;
	*peer = ofi_rdm_peer_at(ep, &addr, cm->from_context);
	return *peer ? OFI_RDM_CMWIRE_NONE : OFI_RDM_CMWIRE_RESOURCES;
}

/* Returns the bytes of messages from peers that have no connection any more. */
static uint64_t kept_of_gone(const struct ofi_rdm_ep *ep)
{
	uint64_t kept = 0;
	uint32_t i;

	for (i = 0; i < ep->peer_count; i++)
		if (!vrb_rc_peer(ep->peers[i])->conn)
			kept += ep->peers[i]->proto.flow.kept;
	return kept;
}

/*
 * Returns true if the peer may not add to the messages that are kept. Whoever is gone cannot be
 * halted, so somebody could fill the memory by leaving and coming back, under whatever name.
 * Strangers are refused while those who are gone have left more than four limits.
 */
static bool is_flooded(const struct ofi_rdm_peer *peer, bool stranger)
{
	const struct ofi_rdm_flow_budget *budget = &peer->proto.proto->budget;

	return peer->proto.flow.kept > budget->most ||
	       (stranger && !vrb_rc_peer(peer)->policy.wanted && budget->used > 4 * budget->limit &&
		kept_of_gone(peer->ep) > 4 * budget->limit);
}

static enum ofi_rdm_cmwire_reason decide_request(struct ofi_rdm_peer *peer,
						 const struct rdma_cm_event *event,
						 const struct ofi_rdm_cmwire *cm, bool stranger)
{
	struct ofi_rdm_conn_input input = {
		.event = OFI_RDM_CONN_REQUEST,
		.incarnation = cm->incarnation,
		.expected = cm->expected,
		.serial = cm->serial,
		.stranger = stranger,
		.tight = !vrb_rc_conn_has_room(peer->ep),
	};
	struct ofi_rdm_conn_action action;

	if (!vrb_rc_peer(peer)->policy.order && !is_ours(vrb_rc_peer(peer)->next, event))
		return OFI_RDM_CMWIRE_IN_USE;
	if (is_flooded(peer, stranger))
		return OFI_RDM_CMWIRE_BUSY;
	/* Packets of a connection that this one may replace are processed first. */
	if (vrb_rc_peer(peer)->conn)
		vrb_rdm_poll_all(peer->ep);
	action = vrb_rdm_conn_step(peer, input);
	if (action.what & OFI_RDM_CONN_DO_ACCEPT)
		return conn_cm_take(peer, event, cm);
	return action.what & OFI_RDM_CONN_DO_REJECT ? action.reason : OFI_RDM_CMWIRE_STALE;
}

static enum ofi_rdm_cmwire_reason conn_requested(struct ofi_rdm_ep *ep,
						 const struct rdma_cm_event *event)
{
	struct ofi_rdm_peer *peer = NULL;
	enum ofi_rdm_cmwire_reason reason;
	struct ofi_rdm_cmwire cm;
	bool stranger;

	reason = identify(ep, event, &cm, &peer, &stranger);
	if (!reason)
		reason = decide_request(peer, event, &cm, stranger);
	if (peer)
		ofi_rdm_peer_leave(peer);
	return reason;
}

/*
 * Warns of refusals that the user may have to fix; FI_WARN_SPARSE keeps strangers from filling the
 * log.
 */
static void log_refused(const struct ofi_rdm_ep *ep, const struct rdma_cm_event *event,
			enum ofi_rdm_cmwire_reason reason)
{
	char text[OFI_ADDR_STRLEN];
	struct ofi_rdm_addr from;

	request_sender(ep, event, &from);
	if (reason == OFI_RDM_CMWIRE_VERSION || reason == OFI_RDM_CMWIRE_MALFORMED ||
	    reason == OFI_RDM_CMWIRE_RESOURCES || reason == OFI_RDM_CMWIRE_SOURCE ||
	    reason == OFI_RDM_CMWIRE_IN_USE || reason == OFI_RDM_CMWIRE_UNKNOWN ||
	    reason == OFI_RDM_CMWIRE_LONELY || reason == OFI_RDM_CMWIRE_CONTEXT)
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL,
			       "connection request from %s refused: %s\n",
			       ofi_rdm_addr_str(&from, text, sizeof(text)),
			       ofi_rdm_cmwire_reason_text(reason));
}

/*
 * Returns the request's id to be destroyed after the event is acknowledged, or NULL if a connection
 * owns it. A connection on datagrams needs no id.
 */
struct rdma_cm_id *vrb_rdm_conn_take_request(struct vrb_owner *owner,
					     const struct rdma_cm_event *event)
{
	struct ofi_rdm_ep *ep = ofi_container(owner, struct vrb_rdm_listener, owner)->ep;
	uint8_t wire[VRB_CM_WIRE_MAX];
	enum ofi_rdm_cmwire_reason reason;
	uint8_t len;

	if (!event->id && vrb_ud_was_asked(ep, event))
		return NULL;
	reason = conn_requested(ep, event);
	len = vrb_rdm_conn_reject_data(ep, reason, wire);
	if (reason == OFI_RDM_CMWIRE_NONE)
		return vrb_rc(ep)->ud ? event->id : NULL;
	log_refused(ep, event, reason);
	if (event->id)
		rdma_reject(event->id, wire, len);
	else
		vrb_ud_decline(ep, event, wire, len);
	return event->id;
}

/* Every endpoint has a listener, so it learns of a device's removal even without connections. */
static void listener_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			   struct vrb_cm_left *left)
{
	struct ofi_rdm_ep *ep = ofi_container(owner, struct vrb_rdm_listener, owner)->ep;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		vrb_rdm_conn_event(ep, vrb_rdm_conn_take_request, owner, event, left);
	else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		vrb_async_lost(vrb_rc_domain(ep));
}

const struct vrb_owner_ops vrb_rdm_listener_ops = { .event = listener_event };
