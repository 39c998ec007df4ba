/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections to peers: they are made at first use or accepted, ended, and made again. The
 * connection policy (policy.h) decides; this code acts. The fabric's event thread does the work,
 * even if the application does not poll. All functions are called with the endpoint's lock held
 * unless they say otherwise.
 *
 * The event thread does not wait for threads that are in the endpoint: those run its tasks when
 * they leave (task.h). An id is destroyed without the lock, because that waits until its events are
 * acknowledged; the same holds for queue pairs. Connections that are no longer used go to a list
 * that the event thread empties between events.
 *
 * While peer->conn is flushing, peer->next is the new connection, whose packets wait until then.
 */
#ifndef VRB_RDM_CONN_H
#define VRB_RDM_CONN_H

#include "rc_conn.h"
#include "prov/rdm/peer.h"

/* A probe of a peer's host. */
struct vrb_rdm_host_probe {
	struct vrb_owner owner; /* owner of id */
	struct ofi_rdm_ep *ep;
	struct ofi_rdm_peer *peer; /* NULL: the answer is no longer needed */
	struct rdma_cm_id *id;
	bool asked; /* the request was sent */
	/*
	 * If not 0, the number of a connection on datagrams whose peer is silent. The probe goes to
	 * the peer's port if `to_port` is set: there is no answer while the process is stopped.
	 */
	uint32_t number;
	bool to_port;
	LIST_ENTRY(vrb_rdm_host_probe) link; /* in peer->probes or peer->asks */
	struct vrb_rdm_deferred deferred;
};

/*
 * Listens on the endpoint's address, which sets the port. Called without the lock. Returns 0, or
 * logs and returns -FI_E*.
 */
int vrb_rdm_conn_open(struct ofi_rdm_ep *ep);
/* Changes the listening address before the endpoint is enabled. Called without the lock. */
int vrb_rdm_conn_setname(struct ofi_rdm_ep *ep, const struct sockaddr_storage *local);
/*
 * Ends all connections; no event is handled afterward. Called without the lock, when only the event
 * thread may still enter the endpoint. Skips objects that are not open.
 */
void vrb_rdm_conn_close(struct ofi_rdm_ep *ep);

/*
 * Connects because there is something to send; if that fails, the operations fail. Returns 0 or
 * -FI_E*.
 */
int vrb_rdm_conn_want(struct ofi_rdm_proto_peer *peer);

/* Makes the event thread run the endpoint's timers after so many ms. Needs no lock. */
void vrb_rdm_conn_wake(struct ofi_rdm_ep *ep, uint64_t ms);

/* Soon retries posts that failed for lack of memory or device resources. */
void vrb_rdm_conn_retry_post(struct ofi_rdm_proto_peer *peer);
/*
 * Retries them at once, the one that has waited longest first, while there are bounce buffers and
 * each takes some. The timer ends connections that have to end.
 */
void vrb_rdm_conn_feed(struct ofi_rdm_ep *ep);

/* Soon retries to fill the receive queue, even if nothing completes. */
void vrb_rdm_conn_retry_receives(struct ofi_rdm_ep *ep);

/*
 * Handles a packet on a connection that is not live, or not yet. Returns true if the buffer is
 * kept.
 */
bool vrb_rdm_conn_early(struct vrb_rc_conn *conn, struct vrb_rdm_rx *rx, size_t len);
/* Ends the connection because a work request has failed with err (FI_E*). */
void vrb_rdm_conn_failed(struct vrb_rc_conn *conn, int err, const struct ibv_wc *wc);
/* Called when the peer's device has responded, which it does only for an existing queue pair. */
void vrb_rdm_conn_alive(struct vrb_rc_conn *conn);
/*
 * Ends the connection because the peer still reads memory of a context or a collective
 * group that closes.
 */
void vrb_rdm_conn_overdue(struct ofi_rdm_proto_peer *peer);
/* Ends the connection because of an invalid or excessive packet, or for lack of memory. */
void vrb_rdm_conn_fault(struct ofi_rdm_proto_peer *peer, enum ofi_rdm_wire_error error);
/*
 * End the connection soon because the peer violates the shared-memory protocol, or because a packet
 * that wakes it failed.
 */
void vrb_rdm_conn_damaged(struct vrb_rc_conn *conn);
void vrb_rdm_conn_wake_failed(struct vrb_rc_conn *conn, const struct ibv_wc *wc);
/* Ends the connection with err (FI_E*) soon, for callers that may not end it themselves. */
void vrb_rdm_conn_fail_later(struct vrb_rc_conn *conn, int err);
/* Called when all work requests of a connection that ended are complete, with conn->last. */
void vrb_rdm_conn_flushed(struct vrb_rc_conn *conn);
/* Handles BYE or its answer. */
void vrb_rdm_conn_bye(struct ofi_rdm_proto_peer *peer, const struct ofi_rdm_wire_packet *packet);

/* The owners of the listener's id, and of a connection's id and queue pair. */
extern const struct vrb_owner_ops vrb_rdm_listener_ops, vrb_rc_conn_ops;
extern const struct vrb_ud_calls vrb_rdm_ud_calls;
/* Handles an asynchronous event of the queue pair. Called by the event thread without the lock. */
void vrb_rdm_conn_qp_event(struct vrb_rc_conn *conn, enum ibv_event_type event);
/*
 * Called when the device or a queue of the endpoint has failed, without the lock: everything posted
 * or in flight fails, and so do all later calls.
 */
void vrb_rdm_conn_lost(struct ofi_rdm_ep *ep, int err);
/* The same with the lock. */
void vrb_rdm_conn_lose(struct ofi_rdm_ep *ep, int err);

#endif
