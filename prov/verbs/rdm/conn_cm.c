/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: messages to and from the connection manager. */
#include <errno.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/wait.h"
#include "prov/rdm/av.h"
#include "conn_data.h"
#include "conn_int.h"
#include "progress.h"
#include "proof.h"
#include "ud.h"
#include "prov/verbs/cm/cm_wire.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/async.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"

/*
 * Returns the parameters that the peer's queue pair needs; the queue pair is our own, not the id's.
 */
static struct rdma_conn_param conn_param(const struct vrb_rc_conn *conn, const uint8_t *wire,
					 uint8_t len)
{
	const struct ibv_device_attr *attr = &vrb_rc_domain(conn->ep)->attr;

	if (conn->ud)
		return (struct rdma_conn_param){
			.private_data = wire,
			.private_data_len = len,
			.qp_num = vrb_ud_qpn(conn->ep),
		};
	return (struct rdma_conn_param){
		.private_data = wire,
		.private_data_len = len,
		.responder_resources =
			(uint8_t)(attr->max_qp_rd_atom < 255 ? attr->max_qp_rd_atom : 255),
		.initiator_depth =
			(uint8_t)(attr->max_qp_init_rd_atom < 255 ? attr->max_qp_init_rd_atom
								  : 255),
		.retry_count = (uint8_t)vrb_params.retry_count,
		.rnr_retry_count = (uint8_t)vrb_params.rnr_retry_count,
		.srq = 1,
		.qp_num = conn->qp_num,
	};
}

/* Active side. */

/* Ends an attempt that is over for the connection manager, too. */
static void conn_cm_drop(struct vrb_rc_conn *conn, struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_peer *peer = conn->peer;

	vrb_rdm_conn_end(conn, FI_ECONNREFUSED);
	vrb_rdm_conn_step(peer, input);
}

static void conn_cm_failed(struct vrb_rc_conn *conn, int err)
{
	vrb_rdm_conn_step_failed(conn->peer, err);
}

static int create_id(struct vrb_rc_conn *conn)
{
	static const char call[] = "connecting reliable datagrams";
	struct vrb_cm *cm = vrb_rdm_conn_cm(conn->ep);

	return vrb_rc_domain(conn->ep)->ud ? vrb_cm_create_ud_id(cm, call, &conn->owner, &conn->id)
					   : vrb_cm_create_id(cm, call, &conn->owner, &conn->id);
}

/*
 * Resolves from the endpoint's listening address: the route to the peer may start at another
 * device, and the peer accepts a request only from the address that it names.
 */
static int resolve_addr(struct vrb_rc_conn *conn)
{
	struct ofi_rdm_addr from = conn->ep->self, to = conn->peer->addr;
	struct sockaddr *src;
	int ret;

	ret = create_id(conn);
	if (ret)
		return ret;
	vrb_tclass_set_id(vrb_tclass_of(conn->ep->domain->info, conn->ep->info), conn->id);
	ofi_addr_set_port(&from.sa, 0);
	if (to.sa.sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&to.in6.sin6_addr) &&
	    !to.in6.sin6_scope_id)
		to.in6.sin6_scope_id = vrb_rc(conn->ep)->conns.scope;
	src = from.sa.sa_family == to.sa.sa_family ? &from.sa : NULL;
	return rdma_resolve_addr(conn->id, src, &to.sa, vrb_params.resolve_timeout)
		       ? vrb_errno(errno)
		       : 0;
}

/* Returns 0 if memory or random bytes are not available. */
static uint8_t request_data(struct vrb_rc_conn *conn, uint8_t *wire)
{
	if (!vrb_rc(conn->ep)->conns.secret || !vrb_rc_peer(conn->peer)->policy.order)
		return vrb_rdm_conn_data(conn->peer, OFI_RDM_CMWIRE_REQUEST, wire);
	return vrb_rdm_proof_new(conn, true) ? 0 : vrb_rdm_proof_request(conn, wire);
}

/* Creates the queue pair and the private data that go with a request. */
static int prepare_request(struct vrb_rc_conn *conn, uint8_t *wire, uint8_t *len)
{
	int ret;

	*len = request_data(conn, wire);
	ret = *len ? vrb_rc_conn_create_qp(conn) : -FI_ENOMEM;
	if (!ret && conn->ud)
		*len = vrb_ud_say(conn, wire, *len);
	return ret;
}

/* The name of a queue pair says how it is reached. */
static int ask_by_name(struct vrb_rc_conn *conn)
{
	uint8_t wire[VRB_RDM_CM_MAX], len;
	int ret = prepare_request(conn, wire, &len);

	return ret ? ret : vrb_ud_ask(conn, wire, len);
}

void vrb_rdm_conn_call(struct ofi_rdm_peer *peer)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_new(peer->ep);
	int ret = -FI_ENOMEM;

	if (conn) {
		conn->owner.ops = &vrb_rc_conn_ops;
		conn->peer = peer;
		vrb_rc_peer(peer)->conns++;
		conn->state = VRB_RC_CONN_CALLING;
		vrb_rc_peer(peer)->next = conn;
		ret = ofi_rdm_addr_is_qp(&peer->addr) ? ask_by_name(conn) : resolve_addr(conn);
	}
	if (ret)
		vrb_rdm_conn_step_failed(peer, -ret);
}

static void conn_cm_ask(struct vrb_rc_conn *conn)
{
	struct ofi_rdm_ep *ep = conn->ep;
	uint8_t wire[VRB_RDM_CM_MAX], len;
	struct rdma_conn_param param;
	int ret;

	if (!conn->id->verbs || strcmp(ibv_get_device_name(conn->id->verbs->device),
				       ibv_get_device_name(vrb_rc_domain(ep)->ctx->device))) {
		conn_cm_failed(conn, FI_EHOSTUNREACH);
		return;
	}
	ret = prepare_request(conn, wire, &len);
	if (ret) {
		conn_cm_failed(conn, -ret);
		return;
	}
	param = conn_param(conn, wire, len);
	if (rdma_connect(conn->id, &param))
		conn_cm_failed(conn, -vrb_errno(errno));
}

/* Ends an attempt whose reply is invalid; both ends know why. */
static void refuse_reply(struct vrb_rc_conn *conn, enum ofi_rdm_cmwire_reason reason,
			 const char *detail)
{
	uint8_t wire[VRB_CM_WIRE_MAX], len;
	char text[OFI_ADDR_STRLEN];

	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "reply of peer %s refused: %s%s\n",
		       vrb_rdm_conn_name(conn->peer, text), ofi_rdm_cmwire_reason_text(reason),
		       detail);
	len = vrb_rdm_conn_reject_data(conn->ep, reason, wire);
	if (!conn->ud)
		rdma_reject(conn->id, wire, len);
	conn_cm_drop(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
							.reason = (uint8_t)reason });
}

/*
 * With a job secret the connection counts as established only when the peer's first packet has
 * arrived.
 */
static int conn_establish(struct vrb_rc_conn *conn, const struct ofi_rdm_cmwire *cm)
{
	if (vrb_rc_conn_connect(conn))
		return FI_ECONNABORTED;
	if (conn->proof) {
		conn->proof->known = cm->incarnation;
		conn->proof->serial = cm->serial;
		if (vrb_rdm_proof_begin(conn))
			return FI_ENOMEM;
	}
	if (conn->ud)
		return conn->proof ? 0 : vrb_ud_conn_start(conn);
	return rdma_establish(conn->id) ? FI_ECONNABORTED : 0;
}

static void conn_answered(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	struct ofi_rdm_cmwire cm;
	enum ofi_rdm_wire_error error = vrb_rdm_conn_parse(event, &cm);
	int err;

	if (!error && conn->ud && vrb_ud_hear(conn, event))
		error = OFI_RDM_WIRE_E_SIZE;
	if (error || cm.kind != OFI_RDM_CMWIRE_REPLY) {
		refuse_reply(conn, OFI_RDM_CMWIRE_MALFORMED, ofi_rdm_wire_strerror(error));
		return;
	}
	if (!conn->proof != !(cm.flags & OFI_RDM_CMWIRE_SECRET)) {
		refuse_reply(conn, OFI_RDM_CMWIRE_LONELY, "");
		return;
	}
	if (conn->proof && !vrb_rdm_proof_is_right(conn, event)) {
		refuse_reply(conn, OFI_RDM_CMWIRE_SECRETS, "");
		return;
	}
	vrb_rdm_conn_learn(conn, &cm);
	err = conn_establish(conn, &cm);
	if (err)
		conn_cm_failed(conn, err);
	else if (!conn->proof)
		vrb_rdm_conn_step(conn->peer,
				  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED,
							       .incarnation = cm.incarnation,
							       .serial = cm.serial });
}

/* A reject without our reason means that nobody listens there, not yet or no longer. */
static void conn_rejected(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	struct ofi_rdm_conn_input input = { .event = OFI_RDM_CONN_REJECTED };
	struct ofi_rdm_cmwire cm = { .reason = OFI_RDM_CMWIRE_NONE };
	enum ofi_rdm_wire_error error = vrb_rdm_conn_parse(event, &cm);
	char text[OFI_ADDR_STRLEN];

	if (error == OFI_RDM_WIRE_E_VERSION)
		cm.reason = OFI_RDM_CMWIRE_VERSION;
	else if (error || cm.kind != OFI_RDM_CMWIRE_REJECT) {
		conn_cm_failed(conn, FI_ECONNREFUSED);
		return;
	}
	if (cm.reason == OFI_RDM_CMWIRE_VERSION || cm.reason == OFI_RDM_CMWIRE_SOURCE ||
	    cm.reason == OFI_RDM_CMWIRE_LONELY || cm.reason == OFI_RDM_CMWIRE_SECRETS)
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "peer %s refused: %s\n",
			       vrb_rdm_conn_name(conn->peer, text),
			       ofi_rdm_cmwire_reason_text(cm.reason));
	input.reason = (uint8_t)cm.reason;
	input.incarnation = cm.incarnation;
	if (conn->state == VRB_RC_CONN_ACCEPTED)
		vrb_rdm_conn_step(conn->peer, input);
	else
		conn_cm_drop(conn, input);
}

/* Both sides. */

static void conn_established(struct vrb_rc_conn *conn)
{
	if (conn->state != VRB_RC_CONN_ACCEPTED)
		return;
	if (conn->mirror)
		conn->state = VRB_RC_CONN_UP;
	else if (vrb_rdm_proof_waits(conn))
		vrb_rdm_poll_all(conn->ep);
	else
		vrb_rdm_conn_step(conn->peer,
				  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED });
}

/* The peer's last messages may have arrived without being processed. */
void vrb_rdm_conn_disconnected(struct vrb_rc_conn *conn)
{
	vrb_rdm_poll_all(conn->ep);
	if (conn->state >= VRB_RC_CONN_ENDED)
		return;
	if (conn->mirror)
		vrb_rdm_conn_end(conn, FI_ECONNRESET);
	else
		vrb_rdm_conn_step(conn->peer,
				  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_DISCONNECTED,
							       .err = FI_ECONNRESET });
}

void vrb_rdm_conn_broken(struct vrb_rc_conn *conn, int err)
{
	if (conn->mirror)
		vrb_rdm_conn_end(conn, err);
	else
		conn_cm_failed(conn, err);
}

static void conn_event(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	switch (conn->ud ? vrb_ud_event(event) : event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(conn->id, vrb_params.resolve_timeout))
			conn_cm_failed(conn, -vrb_errno(errno));
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		conn_cm_ask(conn);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		conn_answered(conn, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		conn_established(conn);
		break;
	case RDMA_CM_EVENT_REJECTED:
		/*
		 * The accepting side can still refuse: a reject after our reply ends the
		 * connection.
		 */
		if (conn->state == VRB_RC_CONN_UP)
			vrb_rdm_conn_disconnected(conn);
		else
			conn_rejected(conn, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		vrb_rdm_conn_disconnected(conn);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		vrb_rdm_conn_broken(conn, FI_ENODEV);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		vrb_rdm_conn_broken(conn, vrb_cm_err(event->event, event->status));
		break;
	default:
		break;
	}
}

struct rdma_cm_id *vrb_rdm_conn_take_event(struct vrb_owner *owner,
					   const struct rdma_cm_event *event)
{
	struct vrb_rc_conn *conn = vrb_owner_of(owner, struct vrb_rc_conn, owner);

	if (!conn->ep->closing && conn->state < VRB_RC_CONN_ENDED)
		conn_event(conn, event);
	return NULL;
}

static void conn_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			  struct vrb_cm_left *left)
{
	vrb_rdm_conn_event(vrb_owner_of(owner, struct vrb_rc_conn, owner)->ep,
			   vrb_rdm_conn_take_event, owner, event, left);
}

/* Passive side. */

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
	len = reply_data(conn, event, wire);
	if (!len)
		return -FI_EIO;
	if (conn->ud)
		len = vrb_ud_say(conn, wire, len);
	param = conn_param(conn, wire, len);
	conn->state = VRB_RC_CONN_ACCEPTED;
	conn->live = conn->mirror;
	if (!conn->id)
		return vrb_ud_answer(conn, wire, len);
	if (!rdma_accept(conn->id, &param))
		return 0;
	return errno == EINVAL ? -FI_ECONNABORTED : vrb_errno(errno);
}

/* The id belongs to the caller again, who rejects it. */
static void accept_failed(struct vrb_rc_conn *conn, int err)
{
	conn->id = NULL;
	conn->state = VRB_RC_CONN_NEW;
	vrb_rdm_conn_end(conn, err);
}

/*
 * The connection manager no longer knows the request: the peer has given it up and makes another
 * one if needed.
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

/* Makes the connection the owner of the id, whose events the listener ignores until then. */
static void conn_own_id(struct vrb_rc_conn *conn)
{
	struct vrb_cm *cm = vrb_rdm_conn_cm(conn->ep);

	if (!conn->id)
		return;
	ofi_lock(&cm->lock);
	conn->id->context = &conn->owner;
	ofi_unlock(&cm->lock);
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
		conn_own_id(conn);
		if (!mirror)
			vrb_rc_peer(peer)->next = conn;
		ret = accept_conn(conn, event);
	}
	if (!ret)
		return OFI_RDM_CMWIRE_NONE;
	if (conn)
		accept_failed(conn, -ret);
	if (!mirror)
		vrb_rdm_conn_step_failed(peer, -ret);
	return refusal_reason(peer, -ret);
}

/*
 * Returns true for the passive end of the endpoint's connection to itself; the connection manager
 * gives a port to one id only.
 */
static bool is_ours(const struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	uint32_t from;

	if (!conn || !conn->qp)
		return false;
	from = conn->ud ? vrb_ud_number_in(event) : event->param.conn.qp_num;
	if (!event->id)
		return from == conn->qp_num;
	return from == conn->qp_num && ofi_addr_port(rdma_get_peer_addr(event->id)) ==
					       ofi_addr_port(rdma_get_local_addr(conn->id));
}

static enum ofi_rdm_cmwire_reason admit_host(struct ofi_rdm_ep *ep, const struct ofi_rdm_cmwire *cm)
{
	if (vrb_rc(ep)->conns.known_only)
		return OFI_RDM_CMWIRE_UNKNOWN;
	return ofi_rdm_admit_takes(&vrb_rc(ep)->conns.admit, cm->addr, ofi_now_ms())
		       ? OFI_RDM_CMWIRE_NONE
		       : OFI_RDM_CMWIRE_BUSY;
}

/* Stores where a request came from, as far as is certain. */
static void request_sender(const struct rdma_cm_event *event, struct ofi_rdm_addr *from)
{
	if (event->id)
		memcpy(from, rdma_get_peer_addr(event->id), sizeof(*from));
	else
		vrb_ud_sender(event, from);
}

/* Returns false if the request names no address that a peer can have. */
static bool request_addr(const struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *from,
			 const struct ofi_rdm_cmwire *cm, struct ofi_rdm_addr *addr)
{
	if (!ofi_rdm_addr_is_qp(from))
		return vrb_rdm_conn_addr(ep, cm, addr);
	return ofi_rdm_addr_set_qp(addr, from->qp.gid, from->qp.qpn, from->qp.key);
}

/* Finds the peer that requests a connection, or the reason why it is refused. */
static enum ofi_rdm_cmwire_reason identify(struct ofi_rdm_ep *ep, const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm, struct ofi_rdm_peer **peer,
					   bool *stranger)
{
	enum ofi_rdm_wire_error error = vrb_rdm_conn_parse(event, cm);
	enum ofi_rdm_cmwire_reason reason = OFI_RDM_CMWIRE_NONE;
	struct ofi_rdm_addr addr, from;

	request_sender(event, &from);
	if (error == OFI_RDM_WIRE_E_VERSION)
		return OFI_RDM_CMWIRE_VERSION;
	/* The address then comes from the connection manager. */
	if (cm->flags & OFI_RDM_CMWIRE_SECRET)
		vrb_rdm_conn_ip(cm->addr, &from.sa);
	if (error || (cm->kind != OFI_RDM_CMWIRE_REQUEST && cm->kind != OFI_RDM_CMWIRE_PROBE) ||
	    !request_addr(ep, &from, cm, &addr))
		return OFI_RDM_CMWIRE_MALFORMED;
	if (!vrb_rdm_conn_is_from(cm, &from.sa))
		return OFI_RDM_CMWIRE_SOURCE;
	if (cm->kind == OFI_RDM_CMWIRE_PROBE)
		return OFI_RDM_CMWIRE_BUSY;
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
 * Warns of refusals that a person may have to look into; FI_WARN_SPARSE keeps strangers from
 * filling the log.
 */
static void log_refused(const struct rdma_cm_event *event, enum ofi_rdm_cmwire_reason reason)
{
	char text[OFI_ADDR_STRLEN];
	struct ofi_rdm_addr from;

	request_sender(event, &from);
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
 * owns it.
 */
struct rdma_cm_id *vrb_rdm_conn_take_request(struct vrb_owner *owner,
					     const struct rdma_cm_event *event)
{
	struct ofi_rdm_ep *ep = vrb_owner_of(owner, struct vrb_rdm_listener, owner)->ep;
	uint8_t wire[VRB_CM_WIRE_MAX];
	enum ofi_rdm_cmwire_reason reason;
	uint8_t len;

	if (!event->id && vrb_ud_was_asked(ep, event))
		return NULL;
	reason = conn_requested(ep, event);
	len = vrb_rdm_conn_reject_data(ep, reason, wire);
	if (reason == OFI_RDM_CMWIRE_NONE)
		return NULL;
	log_refused(event, reason);
	if (event->id)
		rdma_reject(event->id, wire, len);
	else
		vrb_ud_decline(ep, event, wire, len);
	return event->id;
}

/* Every endpoint has a listener, so it is told of a removal even without connections. */
static void listener_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			   struct vrb_cm_left *left)
{
	struct ofi_rdm_ep *ep = vrb_owner_of(owner, struct vrb_rdm_listener, owner)->ep;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		vrb_rdm_conn_event(ep, vrb_rdm_conn_take_request, owner, event, left);
	else if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL)
		vrb_async_lost(vrb_rc_domain(ep));
}

const struct vrb_owner_ops vrb_rdm_listener_ops = { .event = listener_event };

static void conn_qp_event(struct vrb_owner *owner, enum ibv_event_type type)
{
	vrb_rdm_conn_qp_event(vrb_owner_of(owner, struct vrb_rc_conn, owner), type);
}

const struct vrb_owner_ops vrb_rc_conn_ops = { .event = conn_cm_event, .qp_event = conn_qp_event };
