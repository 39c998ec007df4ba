/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the files about decisions: pconn.c has the table, pconn_request.c handles the requests of peers and strangers,
 * pconn_stranger.c shares the strangers' places among hosts, pconn_time.c has the states and the time.
 */
#ifndef VRB_RDM_PCONN_INT_H
#define VRB_RDM_PCONN_INT_H

#include "pconn.h"

#define VRB_PCONN_DECISION(name)                                     \
	void name(struct vrb_pconn_set *set, struct vrb_pconn *conn, \
		  const struct vrb_pconn_input *input, struct vrb_pconn_action *action)

#define VRB_PCONN_SPARE_MS 20 /* that a connection has at least */

/* The only one who writes state. */
void vrb_pconn_enter(struct vrb_pconn_set *set, struct vrb_pconn *conn, enum vrb_pconn_state state);
/* After each step: the one that it was about is where it is looked for next. */
void vrb_pconn_settle(struct vrb_pconn_set *set, struct vrb_pconn *conn);
/* It has a queue pair, or will. */
bool vrb_pconn_is_open(enum vrb_pconn_state state);
bool vrb_pconn_has_room(const struct vrb_pconn_set *set);
/* The silence is broken, or begins. */
void vrb_pconn_heard(const struct vrb_pconn_set *set, struct vrb_pconn *conn);
/* Something is to be sent. */
void vrb_pconn_start(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     struct vrb_pconn_action *action);
/* The attempt is over. What wants the connection tries again later, after `most` ms at most. */
void vrb_pconn_retry(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err);
void vrb_pconn_retry_within(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err,
			    uint64_t most);
/* Such a time for who finds no room: there may be some soon. */
uint64_t vrb_pconn_busy_most(const struct vrb_pconn_set *set);
void vrb_pconn_fail(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err,
		    struct vrb_pconn_action *action);
/* The connection ended by agreement. */
void vrb_pconn_release(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		       struct vrb_pconn_action *action);
/* It was to end, and goes on. */
void vrb_pconn_resume(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		      struct vrb_pconn_action *action);

/* Around each change of the state, and of whether it is a stranger's: it is not counted, and counted again. */
void vrb_pconn_stranger_out(struct vrb_pconn_set *set, struct vrb_pconn *conn);
void vrb_pconn_stranger_in(struct vrb_pconn_set *set, struct vrb_pconn *conn);
/* It was used. */
void vrb_pconn_stranger_used(struct vrb_pconn_set *set, struct vrb_pconn *conn);
/* A stranger finds no place. */
void vrb_pconn_stranger_refused(struct vrb_pconn_set *set, struct vrb_pconn *conn,
				struct vrb_pconn_action *action);
/* The place that is left is for a stranger of another host. */
bool vrb_pconn_is_held(const struct vrb_pconn_set *set, const struct vrb_pconn *conn);
/* When one that was told goodbye is not waited for any longer. */
uint64_t vrb_pconn_stranger_gone_at(const struct vrb_pconn_set *set, const struct vrb_pconn *conn);
/* It has not drained for so long that it ends, since its host has more places than one that waits. */
bool vrb_pconn_stranger_overdue(const struct vrb_pconn_set *set, const struct vrb_pconn *conn);
/* One that was accepted and never came; NULL if there is none. */
struct vrb_pconn *vrb_pconn_half_open(struct vrb_pconn_set *set);

/* A request or a reply of the peer has this incarnation and serial. */
void vrb_pconn_hear(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input);

VRB_PCONN_DECISION(vrb_pconn_on_request);
VRB_PCONN_DECISION(vrb_pconn_on_request_expected);
VRB_PCONN_DECISION(vrb_pconn_on_request_crossing);
VRB_PCONN_DECISION(vrb_pconn_on_request_again);
VRB_PCONN_DECISION(vrb_pconn_on_request_live);
VRB_PCONN_DECISION(vrb_pconn_on_request_left);
VRB_PCONN_DECISION(vrb_pconn_on_alive);

#endif
