/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint's connection: the rdma_cm id, and the state, which only fsm.c writes. */
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
	VRB_CONN_REQUESTED,  /* passive: created from a connection request, not yet accepted */
	VRB_CONN_ADDR,	     /* resolving the address */
	VRB_CONN_ROUTE,	     /* resolving the route */
	VRB_CONN_CONNECTING, /* active: request sent */
	VRB_CONN_ACCEPTING,  /* passive: accepted, not yet established */
	VRB_CONN_UP,
	VRB_CONN_DOWN,	 /* rejected, failed, shut down or disconnected: final */
	VRB_CONN_CLOSED, /* the endpoint is closing: nothing is reported anymore */
	VRB_CONN_STATES
};

struct vrb_conn {
	/* Guards the fields below; never held while waiting for the event thread. */
	struct ofi_lock lock;
	enum vrb_conn_state state;
	struct vrb_owner owner;
	struct rdma_cm_id *id;
	struct sockaddr_storage local, peer; /* family 0 if unknown */
	/* The id has its own local address, from fi_setname or a passive endpoint. */
	bool bound;
	size_t wire_len; /* private data of fi_connect, kept until the route is resolved */
	uint8_t wire[VRB_CM_WIRE_MAX];
	/* Values of the peer's request; the maximum on the active side. */
	uint8_t responder_resources, initiator_depth;
	bool shutdown_due; /* was connected; FI_SHUTDOWN has yet to be reported */
};

struct vrb_ep;

/*
 * Initializes an endpoint's connection. If info->handle is a connection request, takes over its id.
 */
int vrb_conn_init(struct vrb_ep *ep, const struct fi_info *info);
/*
 * Ends the connection and destroys the id; none of its events is delivered afterward. NULL-safe
 * about the id. This must come first when an endpoint closes: the queue pair, the EQ and the memory
 * are released later, because until ibv_destroy_qp() returns an asynchronous event may still be on
 * its way to the connection, which ignores it.
 */
void vrb_conn_fini(struct vrb_ep *ep);

extern const struct fi_ops_cm vrb_ep_cm_ops; /* connect accept shutdown getname setname getpeer */

#endif
