/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the files about connections share: conn.c does what policy.h decides, conn_cm.c speaks with
 * the connection manager, conn_room.c makes room, conn_bury.c frees links that have ended,
 * conn_open.c has the beginning, the end and the clock. All with the endpoint's lock held, unless
 * it says otherwise.
 */
#ifndef VRB_RDM_CONN_INT_H
#define VRB_RDM_CONN_INT_H

#include <ofi/addr.h>
#include "conn.h"
#include "prov/verbs/provider/fabric.h"

static inline struct vrb_cm *vrb_rdm_conn_cm(const struct ofi_rdm_ep *ep)
{
	return &vrb_rc_domain(ep)->fabric->cm;
}

static inline const char *vrb_rdm_conn_name(const struct ofi_rdm_peer *peer, char *text)
{
	return ofi_addr_str(&peer->addr.sa, text, OFI_ADDR_STRLEN);
}

static inline struct ofi_rdm_peer *vrb_rdm_conn_peer(struct ofi_rdm_conn *conn)
{
	return &((struct vrb_rc_peer *)conn)->rdm;
}

/* Something happened: decides, and does all but accepting or rejecting the peer's request. */
struct ofi_rdm_conn_action vrb_rdm_conn_step(struct ofi_rdm_peer *peer,
					     struct ofi_rdm_conn_input input);
void vrb_rdm_conn_step_failed(struct ofi_rdm_peer *peer, int err);
/* What time has brought, for all peers. */
void vrb_rdm_conn_tick(struct ofi_rdm_ep *ep);
/* The link carries nothing from now on. What was posted flushes, the peer hears that it ended. */
void vrb_rdm_conn_end(struct vrb_rdm_link *link, int err);
/* Afterwards the event thread frees it. */
void vrb_rdm_conn_free_later(struct vrb_rdm_link *link);
/* Those of ep->conn.dead_links that can be freed now. */
void vrb_rdm_conn_ripe(struct ofi_rdm_ep *ep, struct vrb_rdm_dead_links *ripe);
/* Frees them. Without the lock. */
void vrb_rdm_conn_free(struct vrb_rdm_dead_links *ripe);
/* It may be peer->next that now is the one to send by. */
void vrb_rdm_conn_drained(struct vrb_rdm_link *link);

/*
 * Nothing is under way; what was sent has arrived. What waits because the peer is held waits for
 * the next connection.
 */
bool vrb_rdm_conn_is_idle(const struct ofi_rdm_peer *peer);
/* There are too many: one is told to go, if no other is on its way. */
void vrb_rdm_conn_evict(struct ofi_rdm_ep *ep);
/* There is no place for a stranger: another one is told to go, if one has to for it. */
void vrb_rdm_conn_make_room(struct ofi_rdm_peer *asker);

/* Asks the peer's host once more whether it is there: an answer to any counts. */
void vrb_rdm_conn_knock(struct ofi_rdm_peer *peer);
/* The answers are of no interest any more. */
void vrb_rdm_conn_knocks_end(struct ofi_rdm_peer *peer);
/* Those that are over. Without the lock. */
void vrb_rdm_conn_knocks_free(struct vrb_rdm_knocks *knocks);

/* Asks the peer for a connection. */
void vrb_rdm_conn_call(struct ofi_rdm_peer *peer);

/* The story of a connection, with FI_LOG_LEVEL=debug. */
void vrb_rdm_conn_entered(const struct ofi_rdm_conn *conn, enum ofi_rdm_conn_state from,
			  enum ofi_rdm_conn_event cause);

#endif
