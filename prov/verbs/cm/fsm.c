/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection state machine: one table, and the actions of the steps. Only this file writes
 * conn.state.
 */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "prov/base/refuse.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/err.h"
#include "fsm.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"
#include "prov/verbs/queue/qp.h"

struct cell {
	int (*act)(struct vrb_ep *ep, const struct vrb_step_arg *arg);
	/*
	 * Called in the next state and without the lock: the event that it causes may come before
	 * it returns, and its handler does not have to wait. If it fails, the state goes back.
	 */
	int (*call)(struct vrb_ep *ep, const struct vrb_step_arg *arg);
	enum vrb_conn_state next; /* VRB_CONN_IDLE, which no step leads to, means no change */
	int refuse;		  /* FI_E* of a call that is not allowed here */
};

static const char *const state_names[VRB_CONN_STATES] = {
	[VRB_CONN_IDLE] = "not connected",
	[VRB_CONN_REQUESTED] = "made from a connection request, not accepted yet",
	[VRB_CONN_ADDR] = "connecting (resolving the address)",
	[VRB_CONN_ROUTE] = "connecting (resolving the route)",
	[VRB_CONN_CONNECTING] = "connecting",
	[VRB_CONN_ACCEPTING] = "accepting",
	[VRB_CONN_UP] = "connected",
	[VRB_CONN_DOWN] = "disconnected; an endpoint can be connected only once",
	[VRB_CONN_CLOSED] = "closed",
};

static const char *const step_names[VRB_STEPS] = {
	[VRB_STEP_CONNECT] = "fi_connect",
	[VRB_STEP_ACCEPT] = "fi_accept",
	[VRB_STEP_SHUTDOWN] = "fi_shutdown",
	[VRB_STEP_TAKE] = "fi_endpoint",
	[VRB_STEP_CLOSE] = "fi_close",
	[VRB_STEP_ADDR] = "the address is resolved",
	[VRB_STEP_ROUTE] = "the route is resolved",
	[VRB_STEP_RESPONSE] = "the peer has accepted",
	[VRB_STEP_ESTABLISHED] = "established",
	[VRB_STEP_COMM_EST] = "data came",
	[VRB_STEP_FAILED] = "failed",
	[VRB_STEP_DISCONNECTED] = "disconnected by the peer",
	[VRB_STEP_FATAL] = "the queue pair or the device has failed",
};

static void post_cm(struct vrb_ep *ep, uint32_t event, const struct vrb_step_arg *arg)
{
	bool data = arg && arg->data;

	vrb_cm_post(vrb_ep_eq(ep), event, &ep->fid.fid, NULL, data ? arg->data : NULL,
		    data ? arg->len : 0);
}

static void post_err(struct vrb_ep *ep, int err, int prov_errno, const struct vrb_step_arg *arg)
{
	struct fi_eq_err_entry entry = {
		.fid = &ep->fid.fid,
		.err = err,
		.prov_errno = prov_errno,
	};
	struct ofi_eq *eq = vrb_ep_eq(ep);

	if (arg && arg->data && arg->len) {
		entry.err_data = (void *)arg->data;
		entry.err_data_size = arg->len;
	}
	if (eq)
		ofi_eq_post_err(eq, &entry);
}

static void post_shutdown(struct vrb_ep *ep)
{
	if (!ep->conn.shutdown_due)
		return;
	ep->conn.shutdown_due = false;
	post_cm(ep, FI_SHUTDOWN, NULL);
}

/* Logs a failed call of librdmacm and returns its -FI_E*. */
static int cm_failed(struct vrb_ep *ep, const char *call)
{
	int ret = vrb_errno(vrb_err_cause(errno));
	char text[OFI_ADDR_STRLEN];

	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, ret, "%s, peer %s: %s%s\n", call,
			  ofi_addr_str((struct sockaddr *)&ep->conn.peer, text, sizeof(text)),
			  fi_strerror(-ret), vrb_remedy(-ret));
}

/*
 * Does the same for a reply, but logs EINVAL at level info: the connection manager no longer knows
 * the connection, because the peer has given it up.
 */
static int answer_failed(struct vrb_ep *ep, const char *call)
{
	char text[OFI_ADDR_STRLEN];

	if (errno != EINVAL)
		return cm_failed(ep, call);
	return ofi_decline(&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			   "%s: peer %s has given up connecting\n", call,
			   ofi_addr_str((struct sockaddr *)&ep->conn.peer, text, sizeof(text)));
}

/* The application must not be told that its own argument is invalid. */
static int aborted_or(int ret)
{
	return ret == -FI_EINVAL ? -FI_ECONNABORTED : ret;
}

/* As in discovery, a loopback address is replaced by the device's own address on this host. */
static void set_peer(struct vrb_conn *conn, const struct sockaddr *sa)
{
	const struct sockaddr *local = (struct sockaddr *)&conn->local;

	vrb_cm_copy_addr(&conn->peer, sa);
	if (!ofi_addr_is_loopback(sa) || local->sa_family != sa->sa_family ||
	    ofi_addr_is_any(local))
		return;
	conn->peer = conn->local;
	ofi_addr_set_port((struct sockaddr *)&conn->peer, ofi_addr_port(sa));
}

static int act_name_peer(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	struct vrb_conn *conn = &ep->conn;

	set_peer(conn, arg->addr);
	conn->wire_len = vrb_cm_pack(conn->wire, arg->data, arg->len);
	return 0;
}

static int call_resolve(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	struct vrb_conn *conn = &ep->conn;
	struct sockaddr_storage local, peer;
	struct sockaddr *src = NULL;

	ofi_lock(&conn->lock);
	local = conn->local;
	peer = conn->peer;
	ofi_unlock(&conn->lock);
	if (!conn->bound && local.ss_family == arg->addr->sa_family)
		src = (struct sockaddr *)&local;
	if (rdma_resolve_addr(conn->id, src, (struct sockaddr *)&peer, vrb_params.resolve_timeout))
		return cm_failed(ep, "fi_connect: rdma_resolve_addr");
	return 0;
}

static int act_route(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	struct vrb_conn *conn = &ep->conn;

	(void)arg;
	vrb_cm_copy_addr(&conn->local, rdma_get_local_addr(conn->id));
	if (!vrb_cm_same_device("fi_connect", conn->id, ep->domain->ctx->device,
				(const struct sockaddr *)&conn->peer))
		return -FI_EADDRNOTAVAIL;
	vrb_tclass_set_id(vrb_tclass_of(ep->domain->base.info, ep->info), conn->id);
	if (rdma_resolve_route(conn->id, vrb_params.resolve_timeout))
		return cm_failed(ep, "fi_connect: rdma_resolve_route");
	return 0;
}

static uint8_t at_most(int limit, int wanted)
{
	int depth = wanted < limit ? wanted : limit;

	return (uint8_t)(depth > UINT8_MAX ? UINT8_MAX : depth);
}

/* Returns the parameters common to requests and replies; the device limits the depths. */
static struct rdma_conn_param conn_param(const struct vrb_ep *ep, const void *wire, size_t len)
{
	const struct ibv_device_attr *attr = &ep->domain->attr;
	const struct vrb_conn *conn = &ep->conn;

	return (struct rdma_conn_param){
		.private_data = wire,
		.private_data_len = (uint8_t)len,
		.responder_resources = at_most(attr->max_qp_rd_atom, conn->responder_resources),
		.initiator_depth = at_most(attr->max_qp_init_rd_atom, conn->initiator_depth),
		.flow_control = 1,
		.retry_count = (uint8_t)vrb_params.retry_count,
		.rnr_retry_count = (uint8_t)vrb_params.rnr_retry_count,
		.srq = ep->srx != NULL,
		.qp_num = ep->qp->qp_num,
	};
}

static int act_request(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	struct vrb_conn *conn = &ep->conn;
	struct rdma_conn_param param;

	(void)arg;
	conn->responder_resources = conn->initiator_depth = UINT8_MAX;
	param = conn_param(ep, conn->wire, conn->wire_len);
	if (rdma_connect(conn->id, &param))
		return cm_failed(ep, "fi_connect: rdma_connect");
	return 0;
}

static int conn_accepted(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	ep->conn.shutdown_due = true;
	post_cm(ep, FI_CONNECTED, arg);
	return 0;
}

static int conn_up(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	vrb_ep_ready(ep);
	return conn_accepted(ep, arg);
}

static int act_establish(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	struct vrb_conn *conn = &ep->conn;
	int ret;

	ret = vrb_qp_connect(ep, conn->id);
	if (!ret && rdma_establish(conn->id))
		ret = answer_failed(ep, "fi_connect: rdma_establish");
	if (!ret)
		ret = conn_up(ep, arg);
	if (ret)
		rdma_reject(conn->id, NULL, 0);
	return aborted_or(ret);
}

/*
 * Prepares the queue pair. From here on the endpoint may send, because it can receive and answer
 * the peer's first message before the application reads FI_CONNECTED.
 */
static int act_prepare(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	int ret = vrb_qp_connect(ep, ep->conn.id);

	(void)arg;
	if (!ret)
		vrb_ep_ready(ep);
	return aborted_or(ret);
}

static int call_accept(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	uint8_t wire[VRB_CM_WIRE_MAX];
	struct rdma_conn_param param;
	int ret = 0;

	param = conn_param(ep, wire, vrb_cm_pack(wire, arg->data, arg->len));
	if (rdma_accept(ep->conn.id, &param))
		ret = answer_failed(ep, "fi_accept: rdma_accept");
	/* The kernel does not report a peer that gave up earlier; the call just returns EINVAL. */
	return aborted_or(ret);
}

/* The peer's last CM message may be lost, but data from the peer proves that it was sent. */
static int act_notify(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	(void)arg;
	rdma_notify(ep->conn.id, IBV_EVENT_COMM_EST);
	return 0;
}

static int act_down(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	(void)arg;
	vrb_ep_down(ep, -FI_ENOTCONN);
	return 0;
}

/*
 * The queue pair is destroyed next, which is sufficient if the endpoint is idle. With a shared
 * receive context the queue pair always enters the error state, because only then the device
 * reports that it no longer uses the context.
 */
static int act_close(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	return !ep->srx && vrb_ep_is_idle(ep) ? 0 : act_down(ep, arg);
}

static int call_disconnect(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	(void)arg;
	rdma_disconnect(ep->conn.id);
	return 0;
}

/*
 * Both sides are notified of the end, whichever side started it. The side that calls fi_shutdown is
 * notified at once: if the peer hangs, it would otherwise have to wait for the timeouts of the CM.
 */
static int act_disconnected(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	act_down(ep, arg);
	call_disconnect(ep, arg);
	post_shutdown(ep);
	return 0;
}

/*
 * A peer disconnects only from a connection, so its last message of connecting was lost or
 * overtaken. It may have sent data before.
 */
static int act_overtaken(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	conn_accepted(ep, arg);
	return act_disconnected(ep, arg);
}

static int act_shutdown(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	(void)arg;
	vrb_ep_down(ep, -FI_ENOTCONN);
	if (vrb_domain_is_serialized(ep->domain)) {
		vrb_wq_guard(ep->sq);
		vrb_wq_guard(ep->rq);
	}
	/* EINVAL: the peer has disconnected already. */
	if (rdma_disconnect(ep->conn.id) && errno != EINVAL)
		return cm_failed(ep, "fi_shutdown: rdma_disconnect");
	post_shutdown(ep);
	return 0;
}

static int act_fail(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	vrb_ep_down(ep, -FI_ENOTCONN);
	post_err(ep, arg->err, arg->prov_errno, arg);
	return 0;
}

static int act_abort(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	(void)arg;
	vrb_ep_down(ep, -FI_ENOTCONN);
	post_err(ep, FI_ECONNABORTED, 0, NULL);
	return 0;
}

static int act_fatal(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	vrb_ep_down(ep, arg->err == FI_ENODEV ? -FI_ENODEV : -FI_ENOTCONN);
	post_err(ep, arg->err, arg->prov_errno, NULL);
	if (ep->conn.shutdown_due)
		rdma_disconnect(ep->conn.id);
	post_shutdown(ep);
	return 0;
}

/* Called after the end: a device that is gone flushes nothing, so the library does. */
static int act_lost(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	if (arg->err == FI_ENODEV)
		vrb_ep_down(ep, -FI_ENODEV);
	return 0;
}

static int act_refuse(struct vrb_ep *ep, const struct vrb_step_arg *arg)
{
	uint8_t wire[VRB_CM_WIRE_MAX];

	(void)arg;
	rdma_reject(ep->conn.id, wire, vrb_cm_pack(wire, NULL, 0));
	return 0;
}

#define GO(action, to)                        \
	{                                     \
		.act = (action), .next = (to) \
	}
#define CALL(action, function, to)                                \
	{                                                         \
		.act = (action), .call = (function), .next = (to) \
	}
/* A call that makes no sense in a state. */
#define REFUSED(err)            \
	{                       \
		.refuse = (err) \
	}
/* Steps that end a connection that was never established. */
#define BROKEN                                                  \
	[VRB_STEP_FAILED] = GO(act_fail, VRB_CONN_DOWN),        \
	[VRB_STEP_DISCONNECTED] = GO(act_abort, VRB_CONN_DOWN), \
	[VRB_STEP_FATAL] = GO(act_fatal, VRB_CONN_DOWN)

static const struct cell table[VRB_CONN_STATES][VRB_STEPS] = {
	[VRB_CONN_IDLE] = {
		[VRB_STEP_CONNECT] = CALL(act_name_peer, call_resolve, VRB_CONN_ADDR),
		[VRB_STEP_ACCEPT] = REFUSED(FI_EOPBADSTATE),
		[VRB_STEP_SHUTDOWN] = REFUSED(FI_ENOTCONN),
		[VRB_STEP_TAKE] = GO(NULL, VRB_CONN_REQUESTED),
		[VRB_STEP_CLOSE] = GO(NULL, VRB_CONN_CLOSED),
		BROKEN,
	},
	[VRB_CONN_REQUESTED] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EOPBADSTATE),
		[VRB_STEP_ACCEPT] = CALL(act_prepare, call_accept, VRB_CONN_ACCEPTING),
		[VRB_STEP_SHUTDOWN] = REFUSED(FI_ENOTCONN),
		[VRB_STEP_CLOSE] = GO(act_refuse, VRB_CONN_CLOSED),
		BROKEN,
	},
	[VRB_CONN_ADDR] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EALREADY),
		[VRB_STEP_ACCEPT] = REFUSED(FI_EOPBADSTATE),
		[VRB_STEP_SHUTDOWN] = REFUSED(FI_ENOTCONN),
		[VRB_STEP_ADDR] = GO(act_route, VRB_CONN_ROUTE),
		[VRB_STEP_CLOSE] = GO(NULL, VRB_CONN_CLOSED),
		BROKEN,
	},
	[VRB_CONN_ROUTE] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EALREADY),
		[VRB_STEP_ACCEPT] = REFUSED(FI_EOPBADSTATE),
		[VRB_STEP_SHUTDOWN] = REFUSED(FI_ENOTCONN),
		[VRB_STEP_ROUTE] = GO(act_request, VRB_CONN_CONNECTING),
		[VRB_STEP_CLOSE] = GO(NULL, VRB_CONN_CLOSED),
		BROKEN,
	},
	[VRB_CONN_CONNECTING] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EALREADY),
		[VRB_STEP_ACCEPT] = REFUSED(FI_EOPBADSTATE),
		[VRB_STEP_SHUTDOWN] = REFUSED(FI_ENOTCONN),
		[VRB_STEP_RESPONSE] = GO(act_establish, VRB_CONN_UP),
		/* iWARP: the kernel moves the queue pair, and there is no response to confirm. */
		[VRB_STEP_ESTABLISHED] = GO(conn_up, VRB_CONN_UP),
		[VRB_STEP_CLOSE] = GO(NULL, VRB_CONN_CLOSED),
		BROKEN,
	},
	[VRB_CONN_ACCEPTING] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EOPBADSTATE),
		[VRB_STEP_ACCEPT] = REFUSED(FI_EALREADY),
		[VRB_STEP_SHUTDOWN] = REFUSED(FI_ENOTCONN),
		[VRB_STEP_ESTABLISHED] = GO(conn_accepted, VRB_CONN_UP),
		[VRB_STEP_COMM_EST] = GO(act_notify, VRB_CONN_ACCEPTING),
		[VRB_STEP_CLOSE] = CALL(act_close, call_disconnect, VRB_CONN_CLOSED),
		[VRB_STEP_FAILED] = GO(act_fail, VRB_CONN_DOWN),
		[VRB_STEP_DISCONNECTED] = GO(act_overtaken, VRB_CONN_DOWN),
		[VRB_STEP_FATAL] = GO(act_fatal, VRB_CONN_DOWN),
	},
	[VRB_CONN_UP] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EISCONN),
		[VRB_STEP_ACCEPT] = REFUSED(FI_EISCONN),
		[VRB_STEP_SHUTDOWN] = GO(act_shutdown, VRB_CONN_DOWN),
		[VRB_STEP_CLOSE] = CALL(act_close, call_disconnect, VRB_CONN_CLOSED),
		[VRB_STEP_FAILED] = GO(act_fatal, VRB_CONN_DOWN),
		[VRB_STEP_DISCONNECTED] = GO(act_disconnected, VRB_CONN_DOWN),
		[VRB_STEP_FATAL] = GO(act_fatal, VRB_CONN_DOWN),
	},
	[VRB_CONN_DOWN] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EOPBADSTATE),
		[VRB_STEP_ACCEPT] = REFUSED(FI_ECONNABORTED),
		[VRB_STEP_CLOSE] = GO(NULL, VRB_CONN_CLOSED),
		[VRB_STEP_FATAL] = GO(act_lost, VRB_CONN_DOWN),
	},
	[VRB_CONN_CLOSED] = {
		[VRB_STEP_CONNECT] = REFUSED(FI_EOPBADSTATE),
	},
};

static int fsm_refuse(struct vrb_ep *ep, enum vrb_step step, int err)
{
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -err, "%s: endpoint %p is %s\n",
			  step_names[step], (void *)ep, state_names[ep->conn.state]);
}

static void fsm_enter(struct vrb_ep *ep, enum vrb_conn_state state, enum vrb_step cause)
{
	if (state != ep->conn.state)
		FI_LOG(&vrb_prov, FI_LOG_DEBUG, FI_LOG_EP_CTRL, "endpoint %p: %s, was %s: %s\n",
		       (void *)ep, state_names[state], state_names[ep->conn.state],
		       step_names[cause]);
	ep->conn.state = state;
}

static void fsm_end(struct vrb_ep *ep, enum vrb_step cause)
{
	vrb_ep_down(ep, -FI_ENOTCONN);
	fsm_enter(ep, VRB_CONN_DOWN, cause);
}

/* A failed event ends the connection, as does a peer that has left when fi_accept is called. */
static int step_locked(struct vrb_ep *ep, const struct cell *cell, enum vrb_step step,
		       const struct vrb_step_arg *arg)
{
	int ret = 0;

	if (cell->refuse)
		return fsm_refuse(ep, step, cell->refuse);
	if (cell->act)
		ret = cell->act(ep, arg);
	if (!ret) {
		if (cell->next)
			fsm_enter(ep, cell->next, step);
	} else if (step > VRB_STEP_CLOSE) {
		fsm_end(ep, step);
		post_err(ep, -ret, ret, NULL);
	} else if (ret == -FI_ECONNABORTED) {
		fsm_end(ep, step);
	}
	return ret;
}

/* Undoes a step whose call failed, unless an event has changed the state in the meantime. */
static void take_back(struct vrb_ep *ep, enum vrb_conn_state from, enum vrb_conn_state to,
		      enum vrb_step step, int ret)
{
	ofi_lock(&ep->conn.lock);
	if (ep->conn.state == from && ret == -FI_ECONNABORTED) {
		fsm_end(ep, step);
	} else if (ep->conn.state == from) {
		if (step == VRB_STEP_ACCEPT)
			vrb_ep_unready(ep);
		fsm_enter(ep, to, step);
	}
	ofi_unlock(&ep->conn.lock);
}

int vrb_fsm_step(struct vrb_ep *ep, enum vrb_step step, const struct vrb_step_arg *arg)
{
	enum vrb_conn_state before;
	const struct cell *cell;
	int ret;

	ofi_lock(&ep->conn.lock);
	before = ep->conn.state;
	cell = &table[before][step];
	ret = step_locked(ep, cell, step, arg);
	ofi_unlock(&ep->conn.lock);
	if (ret || !cell->call)
		return ret;
	ret = cell->call(ep, arg);
	if (ret)
		take_back(ep, cell->next, before, step, ret);
	return ret;
}
