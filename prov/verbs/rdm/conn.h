/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections to peers: made at first use or accepted, ended, made again. policy.h decides; this
 * does it. The fabric's event thread does the work, whether or not the application polls. All is
 * called with the endpoint's lock held, unless it says otherwise.
 *
 * An id is destroyed without the lock, since that waits until its events are handled, and so is a
 * queue pair: links that are done with go to a list that the event thread empties between events.
 *
 * peer->next is the link that is being made, or was, while peer->link flushes: then its packets
 * wait.
 */
#ifndef VRB_RDM_CONN_H
#define VRB_RDM_CONN_H

#include "link.h"
#include "prov/rdm/peer.h"

/* What asks a peer's host whether it is there. */
struct vrb_rdm_knock {
	struct vrb_owner owner; /* of id */
	struct ofi_rdm_ep *ep;
	struct ofi_rdm_peer *peer; /* NULL: the answer is of no interest any more */
	struct rdma_cm_id *id;
	bool asked;			 /* the question is on its way */
	LIST_ENTRY(vrb_rdm_knock) link;	 /* peer->knocks */
	SLIST_ENTRY(vrb_rdm_knock) over; /* ep->conn.knocks */
};

/*
 * Listens on the endpoint's address, whose port is then known. Without the lock. 0 or -FI_E*,
 * logged.
 */
int vrb_rdm_conn_open(struct ofi_rdm_ep *ep);
/*
 * Ends all connections; no event comes afterwards. Without the lock: only the event thread may
 * still enter the endpoint. NULL-safe about what is not open.
 */
void vrb_rdm_conn_close(struct ofi_rdm_ep *ep);

/*
 * There is something to send, and no connection by which to do so: it will be sent, or fail. 0 or
 * -FI_E*.
 */
int vrb_rdm_conn_want(struct ofi_rdm_proto_peer *peer);

/* The event thread looks after so many ms what there is to do. */
void vrb_rdm_conn_wake(struct ofi_rdm_ep *ep, uint64_t ms);

/*
 * What was to be posted could not be, for want of memory or room of the device's: it is tried again
 * soon.
 */
void vrb_rdm_conn_starve(struct ofi_rdm_proto_peer *peer);

/* The receive queue could not be filled: it is tried again soon, whatever happens. */
void vrb_rdm_conn_dry(struct ofi_rdm_ep *ep);

/* A packet came by a link that is not live, or not yet. True: the buffer is kept. */
bool vrb_rdm_conn_early(struct vrb_rdm_link *link, struct vrb_rdm_rx *rx, size_t len);
/* A work request failed with err (FI_E*). */
void vrb_rdm_conn_failed(struct vrb_rdm_link *link, int err, const struct ibv_wc *wc);
/* The device at the other end has answered, as it does only for a queue pair that exists. */
void vrb_rdm_conn_alive(struct vrb_rdm_link *link);
/* A collective group is closed, and the peer does not let go of its memory. */
void vrb_rdm_conn_overdue(struct ofi_rdm_proto_peer *peer);
/* The peer sent what makes no sense or is too much, or what there is no memory for. */
void vrb_rdm_conn_fault(struct ofi_rdm_proto_peer *peer, enum ofi_rdm_wire_error error);
/* All that was posted to a link that ended has completed: link->last has. */
void vrb_rdm_conn_flushed(struct vrb_rdm_link *link);
/* BYE or its answer. */
void vrb_rdm_conn_bye(struct ofi_rdm_proto_peer *peer, const struct ofi_rdm_wire_packet *packet);

/* The owners that get the events of the listener's id, and of a connection's id and queue pair. */
extern const struct vrb_owner_ops vrb_rdm_listener_ops, vrb_rdm_link_ops;
/* An asynchronous event of the link's queue pair. */
void vrb_rdm_conn_qp_event(struct vrb_rdm_link *link, enum ibv_event_type event);
/*
 * The device, or a queue of the endpoint: what is under way or posted fails, and whatever follows.
 */
void vrb_rdm_conn_lost(struct ofi_rdm_ep *ep, int err);

#endif
