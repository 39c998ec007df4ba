/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections: the fi_cm calls of an endpoint, and the life of its id. */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "prov/base/refuse.h"
#include "prov/base/ops.h"
#include "prov/verbs/provider/async.h"
#include "conn.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/err.h"
#include "fsm.h"
#include "prov/base/name.h"
#include "pep.h"
#include "prov/verbs/provider/prov.h"
#include "req.h"

/* Sets the peer's private data from a message that can carry it. */
static void event_data(struct vrb_step_arg *arg, const struct rdma_cm_event *event)
{
	const struct rdma_conn_param *param = &event->param.conn;

	arg->data = vrb_cm_unpack(param->private_data, param->private_data_len, &arg->len);
}

static void addr_changed(struct vrb_ep *ep)
{
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
		"endpoint %p: the network address of its device changed\n", (void *)ep);
	ofi_eq_report(ep->domain->base.eq, FI_NOTIFY, &ep->fid.fid, 0);
}

static void step_failed(struct vrb_ep *ep, enum vrb_step step, const struct rdma_cm_event *event)
{
	struct vrb_step_arg arg = {
		.err = vrb_cm_err(event->event, event->status),
		.prov_errno = event->status,
	};

	if (event->event == RDMA_CM_EVENT_REJECTED)
		event_data(&arg, event);
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL, "endpoint %p: %s, status %d\n", (void *)ep,
		rdma_event_str(event->event), event->status);
	vrb_fsm_step(ep, step, &arg);
}

static void conn_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			  struct vrb_cm_left *left)
{
	struct vrb_ep *ep = ofi_container(owner, struct vrb_ep, conn.owner);
	struct vrb_step_arg arg = { 0 };

	(void)left;
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		vrb_fsm_step(ep, VRB_STEP_ADDR, &arg);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		vrb_fsm_step(ep, VRB_STEP_ROUTE, &arg);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		event_data(&arg, event);
		vrb_fsm_step(ep, VRB_STEP_RESPONSE, &arg);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		event_data(&arg, event);
		vrb_fsm_step(ep, VRB_STEP_ESTABLISHED, &arg);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
		step_failed(ep, VRB_STEP_FAILED, event);
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		vrb_fsm_step(ep, VRB_STEP_DISCONNECTED, &arg);
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		vrb_async_lost(ep->domain);
		step_failed(ep, VRB_STEP_FATAL, event);
		break;
	case RDMA_CM_EVENT_ADDR_CHANGE:
		addr_changed(ep);
		break;
	default:
		break;
	}
}

static const struct vrb_owner_ops conn_owner_ops = { .event = conn_cm_event, .shared = true };

static int take_request(struct vrb_ep *ep, const struct fi_info *info)
{
	struct vrb_conn *conn = &ep->conn;
	struct vrb_req req;
	int ret;

	/*
	 * The state changes before the id is taken over, since the id's next event goes to this
	 * endpoint.
	 */
	vrb_fsm_step(ep, VRB_STEP_TAKE, NULL);
	ret = vrb_req_take(&ep->domain->fabric->cm, info->handle, ep->domain->ctx->device,
			   &conn->owner, &conn->id, &req);
	if (ret)
		return ret;
	conn->responder_resources = req.responder_resources;
	conn->initiator_depth = req.initiator_depth;
	vrb_cm_copy_addr(&conn->local, rdma_get_local_addr(conn->id));
	vrb_cm_copy_addr(&ep->conn.peer, rdma_get_peer_addr(conn->id));
	return 0;
}

static int take_pep(struct vrb_ep *ep, struct vrb_pep *pep)
{
	struct vrb_conn *conn = &ep->conn;

	conn->id = vrb_pep_take(pep, &conn->owner);
	if (!conn->id)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_endpoint: passive endpoint %p is listening or has no address to take over\n",
			(void *)pep);
	conn->bound = true;
	vrb_cm_copy_addr(&conn->local, rdma_get_local_addr(conn->id));
	return 0;
}

static int new_id(struct vrb_ep *ep, const struct fi_info *info)
{
	struct vrb_conn *conn = &ep->conn;
	int ret;

	if (info->src_addr) {
		ret = ofi_name_in(&vrb_prov, "fi_endpoint", info->addr_format, info->src_addr,
				  info->src_addrlen, &conn->local);
		if (ret)
			return ret;
	}
	return vrb_cm_create_id(&ep->domain->fabric->cm, "fi_endpoint", &conn->owner, false,
				&conn->id);
}

int vrb_conn_init(struct vrb_ep *ep, const struct fi_info *info)
{
	struct vrb_pep *pep;

	ep->conn = (struct vrb_conn){ .owner.ops = &conn_owner_ops };
	ofi_lock_init(&ep->conn.lock);
	if (!info->handle)
		return new_id(ep, info);
	/* A handle is looked up but not dereferenced: one that was used before no longer exists. */
	pep = vrb_pep_find(&ep->domain->fabric->cm, info->handle);
	return pep ? take_pep(ep, pep) : take_request(ep, info);
}

void vrb_conn_fini(struct vrb_ep *ep)
{
	if (!ep->conn.id)
		return;
	vrb_fsm_step(ep, VRB_STEP_CLOSE, NULL);
	rdma_destroy_id(ep->conn.id);
	ep->conn.id = NULL;
	/* Some events go to the domain's EQ, as did all of them before the endpoint had its own. */
	ofi_eq_forget(ep->eq, &ep->fid.fid);
	ofi_eq_forget(ep->domain->base.eq, &ep->fid.fid);
}

/* Checks common to fi_connect and fi_accept. */
static int check_call(struct vrb_ep *ep, const char *call, const void *param, size_t len)
{
	if (!vrb_ep_eq(ep))
		return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOEQ,
				  "%s: no event queue is bound to endpoint %p; use fi_ep_bind\n",
				  call, (void *)ep);
	if (len && !param)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, call, "param");
	return 0;
}

/* Enables an endpoint that is not enabled yet, if its state permits the call. */
static int enable_for(struct vrb_ep *ep, enum vrb_conn_state expected)
{
	bool now;

	ofi_lock(&ep->conn.lock);
	now = ep->conn.state == expected && !ep->enabled;
	ofi_unlock(&ep->conn.lock);
	return now ? fi_enable(&ep->fid) : 0;
}

static int check_dest(const struct sockaddr *dest)
{
	char text[OFI_ADDR_STRLEN];

	if (!ofi_addr_is_any(dest) && (ofi_addr_port(dest) || dest->sa_family == AF_IB))
		return 0;
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			  "fi_connect: %s does not name a peer; give a host and a port\n",
			  ofi_addr_str(dest, text, sizeof(text)));
}

static int conn_connect(struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct vrb_ep *ep = vrb_ep_self(&fid->fid);
	struct sockaddr_storage dest;
	struct vrb_step_arg arg = { .data = param,
				    .len = vrb_cm_cut(len),
				    .addr = (struct sockaddr *)&dest };
	int ret = check_call(ep, "fi_connect", param, len);

	if (!ret)
		ret = ofi_name_in(&vrb_prov, "fi_connect", ep->info->addr_format, addr,
				  OFI_NAME_LEN_UNKNOWN, &dest);
	if (!ret)
		ret = check_dest(arg.addr);
	if (!ret)
		ret = enable_for(ep, VRB_CONN_IDLE);
	if (!ret)
		ret = vrb_fsm_step(ep, VRB_STEP_CONNECT, &arg);
	return ret;
}

static int conn_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct vrb_ep *ep = vrb_ep_self(&fid->fid);
	struct vrb_step_arg arg = { .data = param, .len = vrb_cm_cut(len) };
	int ret = check_call(ep, "fi_accept", param, len);

	if (!ret)
		ret = enable_for(ep, VRB_CONN_REQUESTED);
	if (!ret)
		ret = vrb_fsm_step(ep, VRB_STEP_ACCEPT, &arg);
	return ret;
}

static int conn_shutdown(struct fid_ep *fid, uint64_t flags)
{
	if (flags)
		return ofi_refuse_flags(&vrb_prov, FI_LOG_EP_CTRL, "fi_shutdown", flags);
	return vrb_fsm_step(vrb_ep_self(&fid->fid), VRB_STEP_SHUTDOWN, NULL);
}

static int conn_getname(fid_t fid, void *addr, size_t *len)
{
	struct vrb_ep *ep = vrb_ep_self(fid);
	struct sockaddr_storage local;

	ofi_lock(&ep->conn.lock);
	local = ep->conn.local;
	ofi_unlock(&ep->conn.lock);
	return ofi_name_out(&vrb_prov, "fi_getname", ep->info->addr_format, &local, addr, len);
}

static int conn_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	struct vrb_ep *ep = vrb_ep_self(&fid->fid);
	struct sockaddr_storage peer;

	ofi_lock(&ep->conn.lock);
	peer = ep->conn.peer;
	ofi_unlock(&ep->conn.lock);
	if (!peer.ss_family)
		return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOTCONN,
				  "fi_getpeer: endpoint %p has no peer\n", (void *)ep);
	return ofi_name_out(&vrb_prov, "fi_getpeer", ep->info->addr_format, &peer, addr, len);
}

/* Binds a new id, because an id can be bound only once; destroys the old one without a lock. */
static int conn_setname(fid_t fid, void *addr, size_t len)
{
	struct vrb_ep *ep = vrb_ep_self(fid);
	struct vrb_conn *conn = &ep->conn;
	struct sockaddr_storage ss;
	struct rdma_cm_id *id, *old;
	int ret;

	ret = ofi_name_in(&vrb_prov, "fi_setname", ep->info->addr_format, addr, len, &ss);
	if (!ret)
		ret = vrb_cm_bind_id(&ep->domain->fabric->cm, "fi_setname", &conn->owner, false,
				     &ss, &id);
	if (ret)
		return ret;
	old = id;
	ofi_lock(&conn->lock);
	if (conn->state == VRB_CONN_IDLE) {
		old = conn->id;
		conn->id = id;
		conn->bound = true;
		vrb_cm_copy_addr(&conn->local, rdma_get_local_addr(id));
	}
	ofi_unlock(&conn->lock);
	rdma_destroy_id(old);
	if (old != id)
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
		"fi_setname: endpoint %p is connecting or connected; call fi_setname before fi_connect\n",
		(void *)ep);
}

const struct fi_ops_cm vrb_ep_cm_ops = {
	.size = OFI_CM_DEFAULTS,
	.setname = conn_setname,
	.getname = conn_getname,
	.getpeer = conn_getpeer,
	.connect = conn_connect,
	.accept = conn_accept,
	.shutdown = conn_shutdown,
};
