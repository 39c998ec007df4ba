/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection request, the handle in the fi_info of FI_CONNREQ: it owns an id until an endpoint
 * does.
 */
#ifndef VRB_REQ_H
#define VRB_REQ_H

#include <sys/queue.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include <rdma/fabric.h>
#include "cm.h"

struct vrb_req {
	struct fid fid; /* FI_CLASS_CONNREQ; closing it refuses the peer */
	struct vrb_owner owner;
	struct ofi_ref own; /* whose listener it came to */
	struct vrb_cm *cm;
	struct rdma_cm_id *id;
	const void *listener; /* to count what waits for it, it may be gone */
	uint8_t responder_resources, initiator_depth; /* what the peer asks of us */
	int err;				      /* FI_E*: the peer gave up; under cm->lock */
	LIST_ENTRY(vrb_req) link;		      /* cm->reqs */
};

/* Takes over the id of a connect request to a listener. NULL when out of memory. */
struct vrb_req *vrb_req_new(struct vrb_cm *cm, const struct rdma_cm_event *event,
			    const void *listener);
/* The requests to a listener that are neither accepted nor refused, `most` at most. */
int vrb_req_count(struct vrb_cm *cm, const void *listener, int most);
/*
 * Gives the id of a handle to a new owner and forgets the handle; what it was is copied to *req.
 * *id is set before the new owner can get an event. -FI_EINVAL when the handle is unknown: never
 * one, or used before.
 */
int vrb_req_take(struct vrb_cm *cm, const struct fid *handle, struct vrb_owner *owner,
		 struct rdma_cm_id **id, struct vrb_req *req);
/* Refuses the peer of a handle with private data and forgets the handle. -FI_EINVAL as above. */
int vrb_req_reject_handle(struct vrb_cm *cm, const struct fid *handle, const void *data,
			  size_t len);
/* Frees a request that nobody has heard of, and leaves its id. From the event thread. */
void vrb_req_forget(struct vrb_req *req);
/* Refuses with private data and destroys the id. */
int vrb_req_reject(struct rdma_cm_id *id, const void *data, size_t len);

#endif
