/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection request, the handle in the fi_info of FI_CONNREQ. It owns the id until an endpoint
 * takes it over.
 */
#ifndef VRB_REQ_H
#define VRB_REQ_H

#include <sys/queue.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include <rdma/fabric.h>
#include "cm.h"

struct vrb_req {
	struct fid fid; /* FI_CLASS_CONNREQ; closing it rejects the peer */
	struct vrb_owner owner;
	struct ofi_ref own; /* records the process of the listener */
	struct vrb_cm *cm;
	struct rdma_cm_id *id;
	const void *listener; /* the passive endpoint, for counting; NULL once it is closed */
	uint8_t responder_resources, initiator_depth; /* values that the peer requested */
	/* FI_E* if the peer gave up; guarded by cm->lock. */
	int err;
	LIST_ENTRY(vrb_req) link; /* in cm->reqs */
};

/* Takes over the id of a connect request to a listener. Returns NULL when out of memory. */
struct vrb_req *vrb_req_new(struct vrb_cm *cm, const struct rdma_cm_event *event,
			    const void *listener);
/*
 * Returns the number of requests to a listener that are neither accepted nor rejected, at most
 * `most`.
 */
int vrb_req_count(struct vrb_cm *cm, const void *listener, int most);
/* Called before the listener is freed, because another one may get its address. */
void vrb_req_orphan(struct vrb_cm *cm, const void *listener);
/*
 * Passes the id of a handle to a new owner and frees the handle; its former contents are copied to
 * *req. *id is set before the new owner can get an event. On failure, which is logged, the handle
 * stays: -FI_EINVAL if it is unknown, has been used before, or is of another device; -FI_E* if the
 * peer has given up.
 */
int vrb_req_take(struct vrb_cm *cm, const struct fid *handle, struct ibv_device *device,
		 struct vrb_owner *owner, struct rdma_cm_id **id, struct vrb_req *req);
/*
 * Rejects the peer of a handle with private data and frees the handle. Returns -FI_EINVAL as above.
 */
int vrb_req_reject_handle(struct vrb_cm *cm, const struct fid *handle, const void *data,
			  size_t len);
/* Frees a request that was never reported, but not its id. Called by the event thread. */
void vrb_req_forget(struct vrb_req *req);
/* Rejects the request with private data and destroys the id. */
int vrb_req_reject(struct rdma_cm_id *id, const void *data, size_t len);

#endif
