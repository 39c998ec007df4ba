/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection manager's event channel of a fabric, and the owners that receive its events.
 *
 * Lifetime of an id: one thread at a time reads the channel, the event thread or, while all owners
 * permit that, one that waits in fi_eq_sread. An event that was read pins its id, because
 * rdma_destroy_id() waits until the event is acknowledged. Events are therefore acknowledged last,
 * and the owner found in id->context may be used until then. An owner that closes
 *   1. stops handling events (an endpoint enters VRB_CONN_CLOSED, which ignores all events),
 *   2. calls rdma_destroy_id() without holding a lock that an event takes,
 *   3. drops its unread entries in the event queue, and frees itself.
 * An id changes its owner once: from a connection request to the endpoint that accepts it, or from
 * a passive endpoint that does not listen to the endpoint that takes its address. The change is not
 * blocked by pinning, so such owners handle events under cm->lock, which the change takes too.
 */
#ifndef VRB_CM_H
#define VRB_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <rdma/rdma_cma.h>
#include <rdma/fabric.h>
#include "src/ds/container.h"
#include "src/ds/lock.h"
#include "prov/base/loop.h"

struct ofi_eq;
struct vrb_fabric;
struct vrb_pep;
struct vrb_req;

struct vrb_owner;

/* The work that remains after an event is acknowledged. */
struct vrb_cm_left {
	struct rdma_cm_id *refuse;  /* a request to reject because nobody can answer it, or NULL */
	struct rdma_cm_id *destroy; /* an id to destroy, or NULL */
};

/*
 * Callbacks of the owner of an id or a queue pair, called by the event thread. The owner of an id
 * has event(); of the others, those that are NULL ignore what happened.
 */
struct vrb_owner_ops {
	void (*event)(struct vrb_owner *owner, const struct rdma_cm_event *event,
		      struct vrb_cm_left *left);
	/* event() is called with cm->lock held, because the owner may change; not for requests. */
	bool locked;
	bool shared; /* event() may also be called by a thread that waits in fi_eq_sread */
	void (*qp_event)(struct vrb_owner *owner, enum ibv_event_type type);
	/* A queue that the owner uses, or the device, has failed with err, FI_E*. */
	void (*fatal)(struct vrb_owner *owner, int err);
};

/* The target of id->context and qp->qp_context; embedded in the owner. */
struct vrb_owner {
	const struct vrb_owner_ops *ops;
};

struct vrb_cm {
	struct vrb_fabric *fabric;
	struct ofi_lock lock;		    /* guards channel, reqs, peps, and id->context */
	struct rdma_event_channel *channel; /* opened on first use */
	struct ofi_source source;
	LIST_HEAD(, vrb_req) reqs; /* requests that are neither accepted, rejected nor closed */
	LIST_HEAD(, vrb_pep) peps;
};

void vrb_cm_init(struct vrb_cm *cm, struct vrb_fabric *fabric);
/* Rejects the remaining requests and closes the channel. */
void vrb_cm_fini(struct vrb_cm *cm);
/*
 * Creates an id on the channel, for datagrams or for connections. Returns 0 or -FI_E*, logged for
 * `call`.
 */
int vrb_cm_create_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
		     struct rdma_cm_id **id);
/*
 * Does what rdma_bind_addr does, but no process forks meanwhile. Returns 0 or an errno, which is
 * also set: EADDRINUSE if the port is in use, EADDRNOTAVAIL if no device has the address.
 */
int vrb_cm_bind(struct rdma_cm_id *id, const struct sockaddr_storage *ss);
/* Does what rdma_listen does with an id that is bound, and returns the same. */
int vrb_cm_listen(struct rdma_cm_id *id, int backlog);
/* Creates an id that is bound to an address. Returns 0, or logs and returns -FI_E*. */
int vrb_cm_bind_id(struct vrb_cm *cm, const char *call, struct vrb_owner *owner, bool ud,
		   const struct sockaddr_storage *ss, struct rdma_cm_id **id);
/* Returns true if the id reaches that peer through the device; otherwise logs that for `call`. */
bool vrb_cm_same_device(const char *call, const struct rdma_cm_id *id, struct ibv_device *device,
			const struct sockaddr *peer);
/* Posts an event with data of the peer. Returns 0 or -FI_E*. Does nothing if eq is NULL. */
int vrb_cm_post(struct ofi_eq *eq, uint32_t event, struct fid *fid, struct fi_info *info,
		const uint8_t *data, size_t len);
/* Returns true if there are unread events. */
bool vrb_cm_is_behind(struct vrb_cm *cm);
/* Copies an address. Sets family 0 if sa is NULL or its family is unknown. */
void vrb_cm_copy_addr(struct sockaddr_storage *ss, const struct sockaddr *sa);

#endif
