/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection manager's event channel of a fabric, and who gets its events.
 *
 * Life of an id. The event thread alone reads the channel. An event it has read pins its id:
 * rdma_destroy_id() waits until the event is acknowledged, so events are acknowledged last, and the
 * owner found in id->context may be used until then. An owner that closes
 *   1. makes itself deaf (an endpoint enters VRB_CONN_CLOSED, where every event is ignored),
 *   2. calls rdma_destroy_id() with no lock held that an event takes,
 *   3. drops what its events left in the event queue, and frees itself.
 * An id changes hands once, from a connection request to the endpoint that accepts it. A request is
 * not pinned by that, so its events are handled under cm->lock, which the change takes too.
 */
#ifndef VRB_CM_H
#define VRB_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include <rdma/fabric.h>
#include "src/ds/lock.h"
#include "prov/base/loop.h"

struct vrb_fabric;
struct vrb_pep;
struct vrb_req;

struct vrb_owner;

/* What is left to do when an event is acknowledged. */
struct vrb_cm_left {
	struct rdma_cm_id *refuse;  /* a request that nobody can answer, or NULL */
	struct rdma_cm_id *destroy; /* or NULL */
};

/*
 * The owner of an id or a queue pair gets their events, from the event thread. What is NULL is
 * ignored.
 */
struct vrb_owner_ops {
	void (*event)(struct vrb_owner *owner, const struct rdma_cm_event *event,
		      struct vrb_cm_left *left);
	bool locked; /* event() is called with cm->lock held: the id may change hands */
	void (*qp_event)(struct vrb_owner *owner, enum ibv_event_type type);
	/* A queue it uses or the device is broken, err is FI_E*. */
	void (*fatal)(struct vrb_owner *owner, int err);
};

/* What id->context and qp->qp_context point to; embedded in the owner. */
struct vrb_owner {
	const struct vrb_owner_ops *ops;
};

#define vrb_owner_of(owner, type, member) ((type *)((char *)(owner)-offsetof(type, member)))

struct vrb_cm {
	struct vrb_fabric *fabric;
	struct ofi_lock lock;		    /* guards what follows, and id->context */
	struct rdma_event_channel *channel; /* opened at first use */
	struct ofi_source source;
	LIST_HEAD(, vrb_req) reqs; /* requests not yet accepted, rejected or closed */
	LIST_HEAD(, vrb_pep) peps;
};

void vrb_cm_init(struct vrb_cm *cm, struct vrb_fabric *fabric);
/* Refuses the requests that are left and closes the channel. */
void vrb_cm_fini(struct vrb_cm *cm);
/* A new id on the channel. 0 or -FI_E*, logged for `call`. */
int vrb_cm_create_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner,
		     struct rdma_cm_id **id);
/* The same for datagrams. */
int vrb_cm_create_ud_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner,
			struct rdma_cm_id **id);
/* A connection's, bound to an address. -FI_EADDRINUSE and the like, logged. */
int vrb_cm_bind_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner,
		   const struct sockaddr_storage *ss, struct rdma_cm_id **id);
/* Whether the id, to that peer, goes through the device; logged for `call` when not. */
bool vrb_cm_same_device(const char *call, const struct rdma_cm_id *id, struct ibv_device *device,
			const struct sockaddr_storage *peer);
/* Whether events wait to be read. */
bool vrb_cm_is_behind(struct vrb_cm *cm);
/* Family 0 when there is none. */
void vrb_cm_copy_addr(struct sockaddr_storage *ss, const struct sockaddr *sa);

#endif
