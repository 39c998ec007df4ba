/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections to peers: made at first use or accepted, ended, made again. The fabric's event thread does
 * the work, whether or not the application polls. All is called with the endpoint's lock held, unless it
 * says otherwise.
 *
 * An id is destroyed without the lock, since that waits until its events are handled: links that are done
 * with go to a list that the event thread empties between events.
 */
#ifndef VRB_RDM_CONN_H
#define VRB_RDM_CONN_H

#include "link.h"
#include "peer.h"

/* Listens on the endpoint's address, whose port is then known. Without the lock. 0 or -FI_E*, logged. */
int vrb_rdm_conn_open(struct vrb_rdm *ep);
/* Ends all connections; no event comes afterwards. Without the lock; NULL-safe about what is not open. */
void vrb_rdm_conn_close(struct vrb_rdm *ep);

/* The peer is to be connected. 0, or -FI_E* when there is no hope. */
int vrb_rdm_conn_want(struct vrb_rdm_peer *peer);
/* A packet came by the link: it is up, if its last event has not told yet. False: it is to be dropped. */
bool vrb_rdm_conn_heard(struct vrb_rdm_link *link);
/* A work request failed with err (FI_E*). */
void vrb_rdm_conn_failed(struct vrb_rdm_link *link, int err, const struct ibv_wc *wc);
/* The peer sent what makes no sense. */
void vrb_rdm_conn_malformed(struct vrb_rdm_link *link, const char *what);
/* All that was posted to a broken link has completed. */
void vrb_rdm_conn_drained(struct vrb_rdm_link *link);

/* Of the event thread, without the lock. Returns a request's id to be destroyed once the event is acknowledged, or NULL. */
struct rdma_cm_id *vrb_rdm_conn_request(struct vrb_rdm_listener *listener,
					const struct rdma_cm_event *event);
void vrb_rdm_conn_event(struct vrb_rdm_link *link, const struct rdma_cm_event *event);

#endif
