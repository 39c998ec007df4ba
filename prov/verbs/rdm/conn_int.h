/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the files about connections: conn.c carries out the decisions of policy.h, conn_cm.c
 * talks to the connection manager, conn_request.c answers requests of peers, conn_event.c passes
 * events to the thread that is in the endpoint, conn_fault.c ends connections after faults,
 * conn_resolve.c resolves addresses, conn_probe.c probes hosts, conn_ud.c serves connections on
 * datagrams, conn_room.c makes room, conn_free.c frees connections that have ended, conn_data.c
 * fills and evaluates private data, conn_first.c sends a message in a request, conn_open.c opens,
 * closes and runs the timers. All functions are called with the endpoint's lock held unless they
 * say otherwise.
 */
#ifndef VRB_RDM_CONN_INT_H
#define VRB_RDM_CONN_INT_H

#include <ofi/addr.h>
#include "conn.h"
#include "prov/rdm/cmwire.h"
#include "ud.h"

static inline struct vrb_cm *vrb_rdm_conn_cm(const struct ofi_rdm_ep *ep)
{
	return &vrb_rc_domain(ep)->fabric->cm;
}

static inline const char *vrb_rdm_conn_name(const struct ofi_rdm_peer *peer, char *text)
{
	return ofi_rdm_addr_str(&peer->addr, text, OFI_ADDR_STRLEN);
}

static inline struct ofi_rdm_peer *vrb_rdm_conn_peer(struct ofi_rdm_conn *conn)
{
	return &((struct vrb_rc_peer *)conn)->rdm;
}

/*
 * Passes an event to the policy and performs the actions, except accepting or rejecting the peer's
 * request.
 */
struct ofi_rdm_conn_action vrb_rdm_conn_step(struct ofi_rdm_peer *peer,
					     struct ofi_rdm_conn_input input);
void vrb_rdm_conn_step_failed(struct ofi_rdm_peer *peer, int err);
/*
 * Called when the peer has confirmed the connection that it requested, or when one of its packets
 * arrives. With a job secret, only the first packet confirms it.
 */
void vrb_rdm_conn_established(struct vrb_rc_conn *conn);
/*
 * Processes the peer's last messages before a connection ends: they may have been acknowledged, so
 * nobody would report their loss. Returns false if the connection ended meanwhile.
 */
bool vrb_rdm_conn_take_last(struct vrb_rc_conn *conn);
/* Called when the peer has ended the connection, or it failed. Processes arrived packets first. */
void vrb_rdm_conn_disconnected(struct vrb_rc_conn *conn);
void vrb_rdm_conn_broken(struct vrb_rc_conn *conn, int err);
/* Handles expired timers of all peers. */
void vrb_rdm_conn_tick(struct ofi_rdm_ep *ep);
/* Ends a connection: flushes its work requests and notifies the peer. */
void vrb_rdm_conn_end(struct vrb_rc_conn *conn, int err);
/* Leaves the connection to the event thread to be freed. */
void vrb_rdm_conn_free_later(struct vrb_rc_conn *conn);
/* Moves the connections in conns.dead_conns that can be freed now to `freeable`. */
void vrb_rdm_conn_freeable(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred_list *freeable);
/* Leaves these, and queue pairs that were given back, to vrb_rdm_conn_free_deferred(). */
void vrb_rdm_conn_defer_all(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred_list *freeable);
/* Leaves one object to vrb_rdm_conn_free_deferred(). */
void vrb_rdm_conn_defer(struct ofi_rdm_ep *ep, struct vrb_rdm_deferred *deferred);
/* Frees the deferred objects. Called by the event thread, or when closing, without the lock. */
void vrb_rdm_conn_free_deferred(struct ofi_rdm_ep *ep);
/* Called when the connection has been flushed; peer->next may replace it now. */
void vrb_rdm_conn_drained(struct vrb_rc_conn *conn);

/* Returns true if the connection is live, nothing is in flight, and everything sent has arrived. */
bool vrb_rdm_conn_is_idle(const struct ofi_rdm_peer *peer);
/* Evicts a connection because there are too many, unless enough of them are ending already. */
void vrb_rdm_conn_evict(struct ofi_rdm_ep *ep);
/* Evicts a stranger's connection to make room for another stranger, if the policy permits that. */
void vrb_rdm_conn_make_room(struct ofi_rdm_peer *asker);

/*
 * Probes the peer's host once more. An answer to any probe counts, also to one for another peer on
 * the same host.
 */
void vrb_rdm_conn_probe_host(struct ofi_rdm_peer *peer);
/* A process of the peer's host has answered a request. */
void vrb_rdm_conn_heard(const struct ofi_rdm_peer *peer);
/* Ends probes whose answers are no longer needed. */
void vrb_rdm_conn_probes_end(struct vrb_rdm_host_probes *probes);
/*
 * Called when the peer of a connection on datagrams is silent: probes its host, and its port, where
 * only a running process answers.
 */
void vrb_rdm_conn_ask(struct vrb_rc_conn *conn);

/* Handles an event for its owner. Returns an id to be destroyed, or NULL. */
typedef struct rdma_cm_id *vrb_rdm_cm_event_fn(struct vrb_owner *owner,
					       const struct rdma_cm_event *event);

/* An event of the connection manager that waits for its handler. */
struct vrb_rdm_cm_event {
	struct ofi_rdm_task task;
	vrb_rdm_cm_event_fn *handle;
	struct vrb_owner *owner;
	struct rdma_cm_event event;
	struct rdma_cm_id *refused;
	struct vrb_rdm_deferred deferred; /* destroys `refused` */
	uint8_t data[];			  /* private data, and the bytes after it in a letter */
};

/*
 * Handles the event, or leaves it to the thread that is in the endpoint. Called by the event thread
 * without the lock.
 */
void vrb_rdm_conn_event(struct ofi_rdm_ep *ep, vrb_rdm_cm_event_fn *handle, struct vrb_owner *owner,
			const struct rdma_cm_event *event, struct vrb_cm_left *left);
/*
 * Leaves an event that has no id to the event thread. Called while the endpoint is polled. Returns
 * false when out of memory.
 */
bool vrb_rdm_conn_event_later(struct ofi_rdm_ep *ep, vrb_rdm_cm_event_fn *handle,
			      struct vrb_owner *owner, const struct rdma_cm_event *event);
/* Handle an event of a connection, and a request to the endpoint. */
vrb_rdm_cm_event_fn vrb_rdm_conn_take_event, vrb_rdm_conn_take_request;
/* Queues a task, which the thread in the endpoint runs when it leaves, or the event thread. */
void vrb_rdm_conn_hand(struct ofi_rdm_ep *ep, struct ofi_rdm_task *task);
/* Reads the expired timer. Returns true if a tick is due, and at which time it was. */
bool vrb_rdm_conn_expired(struct vrb_rdm_conns *conns, uint64_t *at);
/*
 * Runs the tasks, or leaves them to the thread that is in the endpoint and tries again soon. Called
 * without the lock.
 */
void vrb_rdm_conn_tasks(struct ofi_rdm_ep *ep);
/* Runs the tasks that are left. Called without the lock. */
void vrb_rdm_conn_settle(struct ofi_rdm_ep *ep);

/*
 * Returns the parameters that the peer's queue pair needs. The endpoint's queue pair is not the
 * id's.
 */
struct rdma_conn_param vrb_rdm_conn_param(const struct vrb_rc_conn *conn, const uint8_t *wire,
					  uint8_t len);
/*
 * Resolves a peer's address from the endpoint's own: the route to the peer may start at another
 * device, and the peer refuses a request from any address but the one that it names. A scope id is
 * valid only on its own host, so the endpoint's replaces that of the peer's name. Returns 0 or
 * -FI_E*.
 */
int vrb_rdm_conn_resolve(const struct ofi_rdm_ep *ep, struct rdma_cm_id *id,
			 struct ofi_rdm_addr to);
/* Requests a connection from the peer. */
void vrb_rdm_conn_call(struct ofi_rdm_peer *peer);

/* Returns the message to a peer with the endpoint's own values. */
struct ofi_rdm_cmwire vrb_rdm_conn_words(const struct ofi_rdm_peer *peer,
					 enum ofi_rdm_cmwire_kind kind);
/* Packs the private data of a request or a reply to a peer. Returns its length. */
uint8_t vrb_rdm_conn_data(const struct ofi_rdm_peer *peer, enum ofi_rdm_cmwire_kind kind,
			  uint8_t *wire);
/* Does the same for a reject, also to a peer that is not known. */
uint8_t vrb_rdm_conn_reject_data(const struct ofi_rdm_ep *ep, enum ofi_rdm_cmwire_reason reason,
				 uint8_t *wire);
/* Returns the private data of an event and its length, or NULL. */
const uint8_t *vrb_rdm_conn_bytes(const struct rdma_cm_event *event, size_t *len);
enum ofi_rdm_wire_error vrb_rdm_conn_parse(const struct rdma_cm_event *event,
					   struct ofi_rdm_cmwire *cm);
enum { VRB_SIDR_REJECT = 2 }; /* IB_SIDR_REJECT of the kernel; it sends 1 if nobody listens */

/*
 * Returns true if the peer's host has rejected a request on datagrams because too many wait for the
 * peer's process. Such a reject has no private data.
 */
static inline bool vrb_rdm_conn_is_crowd(const struct rdma_cm_event *event,
					 enum ofi_rdm_wire_error error)
{
	return error == OFI_RDM_WIRE_E_SHORT && event->status == VRB_SIDR_REJECT;
}
/* Stores the peer's properties from its message. */
void vrb_rdm_conn_learn(struct vrb_rc_conn *conn, const struct ofi_rdm_cmwire *cm);
/*
 * Sets *addr to the address on which a peer states it listens; a link-local one gets the endpoint's
 * scope. Returns false if it is not valid.
 */
bool vrb_rdm_conn_addr(const struct ofi_rdm_ep *ep, const struct ofi_rdm_cmwire *cm,
		       struct ofi_rdm_addr *addr);
/*
 * Returns true if the address in the message is the one from which it came, according to the
 * connection manager.
 */
bool vrb_rdm_conn_is_from(const struct ofi_rdm_cmwire *cm, const struct ofi_rdm_addr *from);

/* Fills in the message that waits for the connection, if it fits after the private data. */
void vrb_rdm_first_put(struct vrb_rc_conn *conn, uint8_t len, struct vrb_ud_first *first);
/* Delivers the message of a request that is being accepted, if it counts. */
void vrb_rdm_first_take(struct vrb_rc_conn *conn, const struct rdma_cm_event *event);
/* Called when the connection is up: the answer stated whether the peer has the message. */
void vrb_rdm_first_end(struct vrb_rc_conn *conn);

/* Logs the state changes of a connection at FI_LOG_LEVEL=debug. */
void vrb_rdm_conn_entered(const struct ofi_rdm_conn *conn, enum ofi_rdm_conn_state from,
			  enum ofi_rdm_conn_event cause);

#endif
