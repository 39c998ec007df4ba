/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections to peers: messages to and from the connection manager. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "conn_int.h"
#include "progress.h"
#include "proof.h"
#include "prov/verbs/cm/cm_wire.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"

struct rdma_conn_param vrb_rdm_conn_param(const struct vrb_rc_conn *conn, const uint8_t *wire,
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

/* Ends an attempt that has also ended for the connection manager. */
static void conn_cm_drop(struct vrb_rc_conn *conn, struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_peer *peer = conn->peer;

	vrb_rdm_conn_end(conn, FI_ECONNREFUSED);
	vrb_rdm_conn_step(peer, input);
}

static int resolve_addr(struct vrb_rc_conn *conn)
{
	int ret = vrb_cm_create_id(vrb_rdm_conn_cm(conn->ep), "connecting reliable datagrams",
				   &conn->owner, vrb_rc_domain(conn->ep)->ud, &conn->id);

	return ret ? ret : vrb_rdm_conn_resolve(conn->ep, conn->id, conn->peer->addr);
}

/* Writes the private data of a request. Returns its length, or 0 on failure. */
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

/* Requests a connection by the name of the peer's queue pair, without the connection manager. */
static int ask_by_name(struct vrb_rc_conn *conn)
{
	uint8_t wire[VRB_RDM_CM_MAX], len;
	struct vrb_ud_first first;
	int ret = prepare_request(conn, wire, &len);

	if (ret)
		return ret;
	vrb_rdm_first_put(conn, len, &first);
	return vrb_ud_ask(conn, wire, len, &first);
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
		ret = vrb_ud_has_name(peer) ? ask_by_name(conn) : resolve_addr(conn);
	}
	if (ret)
		vrb_rdm_conn_step_failed(peer, -ret);
}

/* Requests the connection once the route to the peer is known. Returns 0 or -FI_E*. */
static int ask_by_id(struct vrb_rc_conn *conn)
{
	struct ibv_device *device = vrb_rc_domain(conn->ep)->ctx->device;
	uint8_t wire[VRB_RDM_CM_MAX], len;
	struct rdma_conn_param param;
	int ret;

	if (!vrb_cm_same_device("connecting reliable datagrams", conn->id, device,
				&conn->peer->addr.sa))
		return -FI_EHOSTUNREACH;
	ret = prepare_request(conn, wire, &len);
	if (ret)
		return ret;
	param = vrb_rdm_conn_param(conn, wire, len);
	return rdma_connect(conn->id, &param) ? vrb_errno(errno) : 0;
}

/* Ends an attempt whose reply is invalid, and reports the reason, or what is malformed. */
static void refuse_reply(struct vrb_rc_conn *conn, enum ofi_rdm_cmwire_reason reason,
			 const char *malformed)
{
	uint8_t wire[VRB_CM_WIRE_MAX], len;
	char text[OFI_ADDR_STRLEN];

	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "reply of peer %s refused: %s\n",
		       vrb_rdm_conn_name(conn->peer, text),
		       malformed ? malformed : ofi_rdm_cmwire_reason_text(reason));
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
		return 0;
	return rdma_establish(conn->id) ? FI_ECONNABORTED : 0;
}

static void conn_answered(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	struct ofi_rdm_cmwire cm;
	enum ofi_rdm_wire_error error = vrb_rdm_conn_parse(event, &cm);
	int err = !error && conn->ud ? vrb_ud_hear(conn, event) : 0;

	if (err && err != -FI_EPROTO) {
		vrb_rdm_conn_step_failed(conn->peer, -err);
		return;
	}
	if (err)
		error = OFI_RDM_WIRE_E_SIZE;
	if (error || cm.kind != OFI_RDM_CMWIRE_REPLY) {
		refuse_reply(conn, OFI_RDM_CMWIRE_MALFORMED,
			     error ? ofi_rdm_wire_strerror(error) : "not a reply");
		return;
	}
	if (!conn->proof != !(cm.flags & OFI_RDM_CMWIRE_SECRET)) {
		refuse_reply(conn, OFI_RDM_CMWIRE_LONELY, NULL);
		return;
	}
	if (conn->proof && !vrb_rdm_proof_is_right(conn, event)) {
		refuse_reply(conn, OFI_RDM_CMWIRE_SECRETS, NULL);
		return;
	}
	vrb_rdm_conn_learn(conn, &cm);
	vrb_rdm_conn_heard(conn->peer);
	err = conn_establish(conn, &cm);
	if (!err && !conn->proof) {
		vrb_rdm_conn_step(conn->peer,
				  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED,
							       .incarnation = cm.incarnation,
							       .serial = cm.serial });
		if (conn->ud && conn->state == VRB_RC_CONN_UP && !conn->id)
			vrb_ud_conn_confirm(conn);
		else if (conn->ud && conn->state == VRB_RC_CONN_UP)
			err = vrb_ud_conn_start(conn);
	}
	if (err)
		vrb_rdm_conn_step_failed(conn->peer, err);
}

/* Warns if the peer has lacked resources for as long as a silent one would be waited for. */
static void warn_refused(const struct ofi_rdm_peer *peer)
{
	const struct ofi_rdm_conn_set *set = &vrb_rc(peer->ep)->conns.set;
	uint64_t since = vrb_rc_peer(peer)->policy.refused;
	char text[OFI_ADDR_STRLEN];

	if (since && set->now - since >= set->params.give_up)
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL,
			       "peer %s has refused for %u s: %s; operations to it wait\n",
			       vrb_rdm_conn_name(peer, text),
			       (unsigned int)(set->now - since) / 1000,
			       ofi_rdm_cmwire_reason_text(OFI_RDM_CMWIRE_RESOURCES));
}

/*
 * A reject without a reason of this protocol means that no endpoint listens there, or that its host
 * has too many requests for it: the attempt is repeated. If the host says which, it is not silent.
 */
static void conn_rejected(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	struct ofi_rdm_conn_input input = { .event = OFI_RDM_CONN_REJECTED };
	struct ofi_rdm_cmwire cm = { .reason = OFI_RDM_CMWIRE_NONE };
	enum ofi_rdm_wire_error error = vrb_rdm_conn_parse(event, &cm);
	char text[OFI_ADDR_STRLEN];

	if (error == OFI_RDM_WIRE_E_VERSION)
		cm.reason = OFI_RDM_CMWIRE_VERSION;
	else if (error || cm.kind != OFI_RDM_CMWIRE_REJECT) {
		if (conn->ud && vrb_rdm_conn_is_crowd(event, error)) {
			vrb_rdm_conn_heard(conn->peer);
			input.event = OFI_RDM_CONN_ANSWERED;
			vrb_rdm_conn_step(conn->peer, input);
		}
		vrb_rdm_conn_step_failed(conn->peer, FI_ECONNREFUSED);
		return;
	}
	if (cm.reason == OFI_RDM_CMWIRE_VERSION || cm.reason == OFI_RDM_CMWIRE_SOURCE ||
	    cm.reason == OFI_RDM_CMWIRE_LONELY || cm.reason == OFI_RDM_CMWIRE_SECRETS)
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL, "peer %s refused: %s\n",
			       vrb_rdm_conn_name(conn->peer, text),
			       ofi_rdm_cmwire_reason_text(cm.reason));
	vrb_rdm_conn_heard(conn->peer);
	input.reason = (uint8_t)cm.reason;
	input.incarnation = cm.incarnation;
	if (conn->state == VRB_RC_CONN_ACCEPTED)
		vrb_rdm_conn_step(conn->peer, input);
	else
		conn_cm_drop(conn, input);
	warn_refused(conn->peer);
}

/* Both sides. */

void vrb_rdm_conn_established(struct vrb_rc_conn *conn)
{
	if (vrb_rdm_proof_waits(conn))
		vrb_rdm_poll_all(conn->ep);
	else if (conn->state != VRB_RC_CONN_ACCEPTED)
		return;
	else if (conn->mirror)
		conn->state = VRB_RC_CONN_UP;
	else
		vrb_rdm_conn_step(conn->peer,
				  (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED });
}

void vrb_rdm_conn_disconnected(struct vrb_rc_conn *conn)
{
	if (!vrb_rdm_conn_take_last(conn))
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
	if (!vrb_rdm_conn_take_last(conn))
		return;
	if (conn->mirror)
		vrb_rdm_conn_end(conn, err);
	else
		vrb_rdm_conn_step_failed(conn->peer, err);
}

static void conn_event(struct vrb_rc_conn *conn, const struct rdma_cm_event *event)
{
	int ret = 0;

	switch (conn->ud ? vrb_ud_event(event) : event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(conn->id, vrb_params.resolve_timeout))
			ret = vrb_errno(errno);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		ret = ask_by_id(conn);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		conn_answered(conn, event);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		vrb_rdm_conn_established(conn);
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
	if (ret)
		vrb_rdm_conn_step_failed(conn->peer, -ret);
}

/*
 * Handles an event. A connection on datagrams needs no id once the connection manager has delivered
 * the answer. Returns the id, which is to be destroyed, or NULL.
 */
struct rdma_cm_id *vrb_rdm_conn_take_event(struct vrb_owner *owner,
					   const struct rdma_cm_event *event)
{
	struct vrb_rc_conn *conn = ofi_container(owner, struct vrb_rc_conn, owner);
	struct rdma_cm_id *id;

	if (conn->ep->closing || conn->state >= VRB_RC_CONN_ENDED)
		return NULL;
	conn_event(conn, event);
	if (!conn->ud || event->event != RDMA_CM_EVENT_ESTABLISHED)
		return NULL;
	id = conn->id;
	conn->id = NULL;
	return id;
}

static void conn_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			  struct vrb_cm_left *left)
{
	vrb_rdm_conn_event(ofi_container(owner, struct vrb_rc_conn, owner)->ep,
			   vrb_rdm_conn_take_event, owner, event, left);
}

static void conn_qp_event(struct vrb_owner *owner, enum ibv_event_type type)
{
	vrb_rdm_conn_qp_event(ofi_container(owner, struct vrb_rc_conn, owner), type);
}

const struct vrb_owner_ops vrb_rc_conn_ops = { .event = conn_cm_event, .qp_event = conn_qp_event };
