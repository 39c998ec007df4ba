/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection requests, between their arrival and the endpoint that accepts them. */
#include <errno.h>
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include "cm_wire.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/fabric.h"
#include "prov/verbs/provider/prov.h"
#include "req.h"

static struct vrb_req *req_find(struct vrb_cm *cm, const struct fid *handle)
{
	struct vrb_req *req;

	LIST_FOREACH (req, &cm->reqs, link)
		if (&req->fid == handle)
			break;
	return req;
}

int vrb_req_reject(struct rdma_cm_id *id, const void *data, size_t len)
{
	uint8_t wire[VRB_CM_WIRE_MAX];
	int ret = rdma_reject(id, wire, vrb_cm_pack(wire, data, len)) ? vrb_errno(errno) : 0;

	rdma_destroy_id(id);
	return ret;
}

/* Rejects and frees a request. Destroying the id waits for an event that still uses the request. */
static int req_refuse(struct vrb_req *req, const void *data, size_t len)
{
	int ret = vrb_req_reject(req->id, data, len);

	free(req);
	return ret;
}

static int req_close(struct fid *fid)
{
	struct vrb_req *req = (struct vrb_req *)fid;

	if (ofi_ref_inherited(&req->own))
		return 0;
	ofi_lock(&req->cm->lock);
	LIST_REMOVE(req, link);
	ofi_unlock(&req->cm->lock);
	/* Rejecting a peer that has given up fails, which makes no difference to the caller. */
	req_refuse(req, NULL, 0);
	return 0;
}

static const struct fi_ops req_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = req_close,
};

int vrb_req_count(struct vrb_cm *cm, const void *listener, int most)
{
	const struct vrb_req *req;
	int count = 0;

	ofi_lock(&cm->lock);
	LIST_FOREACH (req, &cm->reqs, link) {
		count += req->listener == listener;
		if (count == most)
			break;
	}
	ofi_unlock(&cm->lock);
	return count;
}

void vrb_req_orphan(struct vrb_cm *cm, const void *listener)
{
	struct vrb_req *req;

	ofi_lock(&cm->lock);
	LIST_FOREACH (req, &cm->reqs, link)
		if (req->listener == listener)
			req->listener = NULL;
	ofi_unlock(&cm->lock);
}

static void req_cm_event(struct vrb_owner *owner, const struct rdma_cm_event *event,
			 struct vrb_cm_left *left)
{
	struct vrb_req *req = ofi_container(owner, struct vrb_req, owner);

	(void)left;
	if (event->event == RDMA_CM_EVENT_TIMEWAIT_EXIT ||
	    event->event == RDMA_CM_EVENT_ADDR_CHANGE)
		return;
	req->err = event->event == RDMA_CM_EVENT_DEVICE_REMOVAL ? FI_ENODEV : FI_ECONNABORTED;
	FI_INFO(&vrb_prov, FI_LOG_EP_CTRL, "connection request %p: the peer gave up: %s\n",
		(void *)req, rdma_event_str(event->event));
}

static const struct vrb_owner_ops req_owner_ops = { .event = req_cm_event, .locked = true };

struct vrb_req *vrb_req_new(struct vrb_cm *cm, const struct rdma_cm_event *event,
			    const void *listener)
{
	struct vrb_req *req = calloc(1, sizeof(*req));

	if (!req)
		return NULL;
	req->fid.fclass = FI_CLASS_CONNREQ;
	req->fid.ops = ofi_ops(&req_fid_ops);
	req->owner.ops = &req_owner_ops;
	ofi_ref_own(&req->own);
	req->cm = cm;
	req->id = event->id;
	req->listener = listener;
	req->responder_resources = event->param.conn.responder_resources;
	req->initiator_depth = event->param.conn.initiator_depth;

	ofi_lock(&cm->lock);
	req->id->context = &req->owner;
	LIST_INSERT_HEAD(&cm->reqs, req, link);
	ofi_unlock(&cm->lock);
	return req;
}

/* A request that is gone occupies no place of the backlog any more, but still has to be closed. */
static int req_check(struct vrb_req *req, struct ibv_device *device)
{
	if (req->err) {
		FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_endpoint: connection request %p is gone: %s\n", (void *)req,
			fi_strerror(req->err));
		req->listener = NULL;
		return -req->err;
	}
	if (!vrb_cm_same_device("fi_endpoint", req->id, device, rdma_get_peer_addr(req->id)))
		return -FI_EINVAL;
	return 0;
}

int vrb_req_take(struct vrb_cm *cm, const struct fid *handle, struct ibv_device *device,
		 struct vrb_owner *owner, struct rdma_cm_id **id, struct vrb_req *copy)
{
	struct vrb_req *req;
	int ret;

	ofi_lock(&cm->lock);
	req = req_find(cm, handle);
	ret = req ? req_check(req, device)
		  : ofi_refuse(
			    &vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			    "fi_endpoint: info->handle %p is neither a pending connection request nor a passive endpoint\n",
			    (const void *)handle);
	if (!ret) {
		LIST_REMOVE(req, link);
		*copy = *req;
		*id = req->id;
		req->id->context = owner;
	}
	ofi_unlock(&cm->lock);
	if (!ret)
		free(req);
	return ret;
}

int vrb_req_reject_handle(struct vrb_cm *cm, const struct fid *handle, const void *data, size_t len)
{
	struct vrb_req *req;
	int ret;

	ofi_lock(&cm->lock);
	req = req_find(cm, handle);
	if (req)
		LIST_REMOVE(req, link);
	ofi_unlock(&cm->lock);
	if (!req)
		return -FI_EINVAL;
	/* The connection manager no longer knows the connection of a peer that has given up. */
	ret = req_refuse(req, data, len);
	return ret == -FI_EINVAL ? -FI_ECONNABORTED : ret;
}

void vrb_req_forget(struct vrb_req *req)
{
	ofi_lock(&req->cm->lock);
	LIST_REMOVE(req, link);
	ofi_unlock(&req->cm->lock);
	free(req);
}
