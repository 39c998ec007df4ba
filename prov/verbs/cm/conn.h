/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A connection as the endpoint sees it: the rdma_cm id and the state, which only fsm.c writes. */
#ifndef VRB_CONN_H
#define VRB_CONN_H

#include <stdbool.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include "src/ds/lock.h"
#include "cm.h"
#include "cm_wire.h"

enum vrb_conn_state {
	VRB_CONN_IDLE,	     /* opened, not connecting */
	VRB_CONN_REQUESTED,  /* passive: made from a connection request, not yet accepted */
	VRB_CONN_ADDR,	     /* resolving the address */
	VRB_CONN_ROUTE,	     /* resolving the route */
	VRB_CONN_CONNECTING, /* active: request sent */
	VRB_CONN_ACCEPTING,  /* passive: accepted, not yet established */
	VRB_CONN_UP,
	VRB_CONN_DOWN,	 /* rejected, failed, shut down or disconnected: final */
	VRB_CONN_CLOSED, /* the endpoint is closing: nothing is reported any more */
	VRB_CONN_STATES
};

struct vrb_conn {
	struct ofi_lock
		lock; /* guards what follows; never held while waiting for the event thread */
	enum vrb_conn_state state;
	struct vrb_owner owner;
	struct rdma_cm_id *id;
	struct sockaddr_storage local, peer; /* family 0 while unknown */
	bool bound;	 /* local is the id's own, by fi_setname or a passive endpoint */
	size_t wire_len; /* private data kept from fi_connect until the route is resolved */
	uint8_t wire[VRB_CM_WIRE_MAX];
	uint8_t responder_resources, initiator_depth; /* a request's, ours once settled */
	bool shutdown_due; /* was connected, FI_SHUTDOWN is still to be reported */
};

struct vrb_ep;

/*
 * Set up for an endpoint; info->handle, when set, is a connection request whose id is taken over.
 */
int vrb_conn_init(struct vrb_ep *ep, const struct fi_info *info);
/*
 * Ends the connection and destroys the id; no event of it is delivered afterwards. NULL-safe about
 * id. First in the endpoint's close: the queue pair, the EQ and the memory go after it, since an
 * asynchronous event may still be on its way to the (deaf) connection until ibv_destroy_qp()
 * returns.
 */
void vrb_conn_fini(struct vrb_ep *ep);

extern const struct fi_ops_cm vrb_ep_cm_ops; /* connect accept shutdown getname setname getpeer */

#endif
