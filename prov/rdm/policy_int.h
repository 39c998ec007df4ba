/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the files about decisions: policy.c has the table, policy_request.c handles the
 * requests of peers and strangers, policy_stranger.c shares the strangers' places among hosts,
 * policy_time.c has the states and the time.
 */
#ifndef OFI_RDM_POLICY_INT_H
#define OFI_RDM_POLICY_INT_H

#include "policy.h"

#define OFI_RDM_CONN_DECISION(name)                                        \
	void name(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, \
		  const struct ofi_rdm_conn_input *input, struct ofi_rdm_conn_action *action)

#define OFI_RDM_CONN_SPARE_MS 20 /* that a connection has at least */

/* The only function that writes the state. */
void ofi_rdm_conn_enter(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			enum ofi_rdm_conn_state state);
/* After each step: the one that it was about is where it is looked for next. */
void ofi_rdm_conn_settle(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* It has a queue pair, or will. */
bool ofi_rdm_conn_is_open(enum ofi_rdm_conn_state state);
bool ofi_rdm_conn_has_room(const struct ofi_rdm_conn_set *set);
/* The silence is broken, or begins. */
void ofi_rdm_conn_asked(const struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
void ofi_rdm_conn_heard(const struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Something is to be sent. */
void ofi_rdm_conn_start(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			struct ofi_rdm_conn_action *action);
/* The attempt is over. What wants the connection tries again later, after `most` ms at most. */
void ofi_rdm_conn_retry(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err);
void ofi_rdm_conn_retry_within(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err,
			       uint64_t most);
/* What was accepted is over. Without a proof it says nothing about the peer, nor delays us. */
void ofi_rdm_conn_retry_offer(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err);
/* The longest such time for a peer that finds no room: there may be some soon. */
uint64_t ofi_rdm_conn_busy_most(const struct ofi_rdm_conn_set *set);
void ofi_rdm_conn_fail(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err,
		       struct ofi_rdm_conn_action *action);
/* The connection ended by agreement. */
void ofi_rdm_conn_release(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			  struct ofi_rdm_conn_action *action);
/* It was to end, and goes on. */
void ofi_rdm_conn_resume(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			 struct ofi_rdm_conn_action *action);

/*
 * Around each change of the state, and of whether it is a stranger's: it is not counted, and
 * counted again.
 */
void ofi_rdm_conn_stranger_out(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
void ofi_rdm_conn_stranger_in(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* It was used. */
void ofi_rdm_conn_stranger_used(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* A stranger finds no place. */
void ofi_rdm_conn_stranger_refused(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
				   struct ofi_rdm_conn_action *action);
/* The place that is left is for a stranger of another host. */
bool ofi_rdm_conn_is_held(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn);
/* When one that was told goodbye is not waited for any longer. */
uint64_t ofi_rdm_conn_stranger_gone_at(const struct ofi_rdm_conn_set *set,
				       const struct ofi_rdm_conn *conn);
/*
 * It has not drained for so long that it ends, since its host has more places than one that waits.
 */
bool ofi_rdm_conn_stranger_overdue(const struct ofi_rdm_conn_set *set,
				   const struct ofi_rdm_conn *conn);
/* One that was accepted and never came; NULL if there is none. */
struct ofi_rdm_conn *ofi_rdm_conn_half_open(struct ofi_rdm_conn_set *set);

/* A request or a reply of the peer has this incarnation and serial. */
void ofi_rdm_conn_hear(const struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		       uint64_t incarnation, uint32_t serial);

OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request);
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_expected);
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_crossing);
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_again);
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_live);
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_left);
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_alive);

#endif
