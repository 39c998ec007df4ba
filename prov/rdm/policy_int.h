/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the files of the connection policy: policy.c has the transition table, policy_request.c
 * handles requests of peers and strangers, policy_stranger.c divides the strangers' connections
 * among hosts, policy_time.c has the states and the timers.
 */
#ifndef OFI_RDM_POLICY_INT_H
#define OFI_RDM_POLICY_INT_H

#include "policy.h"

/* Decides what set->input means for the connection, and adds to set->action. */
typedef void ofi_rdm_conn_decision(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);

#define OFI_RDM_CONN_SPARE_MS 20 /* minimum lifetime of a connection */

/* Sets the state; the only function that does. */
void ofi_rdm_conn_enter(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			enum ofi_rdm_conn_state state);
/* Ends each step: puts the connection into the queues and the timer that its state requires. */
void ofi_rdm_conn_settle(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Returns true for states with a queue pair, or in which one is being created. */
bool ofi_rdm_conn_is_open(enum ofi_rdm_conn_state state);
bool ofi_rdm_conn_has_room(const struct ofi_rdm_conn_set *set);
/*
 * Called after an attempt for which the device had no resources. While other connections can end
 * for it, it waits for room, and its peer is not silent.
 */
void ofi_rdm_conn_full(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* The first counts a probe and starts waiting for its answer; the second ends the silence. */
void ofi_rdm_conn_asked(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
void ofi_rdm_conn_answered(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Sets whether the peer counts as silent: its latest request was not answered while young. */
void ofi_rdm_conn_mark_silent(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, bool silent);
/* The peer or its host has answered: it is not silent, and was slow if it counted as such. */
void ofi_rdm_conn_heard(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Starts connecting because there is something to send. */
void ofi_rdm_conn_start(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/*
 * Ends the attempt. If the connection is still wanted, it is retried after at most backoff_max or
 * `most` ms.
 */
void ofi_rdm_conn_retry(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err);
void ofi_rdm_conn_retry_within(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err,
			       uint64_t most);
/*
 * Abandons an attempt that we accepted. A peer that never proved itself must not affect our own
 * attempts.
 */
void ofi_rdm_conn_retry_offer(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err);
/*
 * Returns the value of `most` for a request that was refused for lack of room, which may change
 * soon.
 */
uint64_t ofi_rdm_conn_busy_most(const struct ofi_rdm_conn_set *set);
void ofi_rdm_conn_fail(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err);
/* Ends a connection that is broken, or whose place is wanted; its operations fail. */
void ofi_rdm_conn_teardown(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err);
/* Ends the connection by agreement. */
void ofi_rdm_conn_release(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Resumes a connection that was being drained. */
void ofi_rdm_conn_resume(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);

/* Surround each change of the state or of `stranger`, to keep the counts of strangers. */
void ofi_rdm_conn_stranger_out(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
void ofi_rdm_conn_stranger_in(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Records that a stranger's connection was used. */
void ofi_rdm_conn_stranger_used(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Records that a stranger was refused for lack of room. */
void ofi_rdm_conn_stranger_refused(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn);
/* Returns true if the remaining place is reserved for strangers of another host. */
bool ofi_rdm_conn_is_held(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn);
/* Returns the time until which a stranger that was told to disconnect is waited for. */
uint64_t ofi_rdm_conn_stranger_gone_at(const struct ofi_rdm_conn_set *set,
				       const struct ofi_rdm_conn *conn);
/*
 * Returns true if the connection has not drained for so long that it is cut: its host has more
 * connections than one that waits.
 */
bool ofi_rdm_conn_stranger_overdue(const struct ofi_rdm_conn_set *set,
				   const struct ofi_rdm_conn *conn);
/* Returns an accepted connection whose peer never completed it; NULL if there is none. */
struct ofi_rdm_conn *ofi_rdm_conn_half_open(struct ofi_rdm_conn_set *set);

/* Records the incarnation and the serial number of a request or reply of the peer. */
void ofi_rdm_conn_learn(const struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			uint64_t incarnation, uint32_t serial);

ofi_rdm_conn_decision ofi_rdm_conn_on_request, ofi_rdm_conn_on_request_expected,
	ofi_rdm_conn_on_request_crossing, ofi_rdm_conn_on_request_again,
	ofi_rdm_conn_on_request_live, ofi_rdm_conn_on_request_left;

#endif
