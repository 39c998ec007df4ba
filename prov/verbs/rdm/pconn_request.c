/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The decisions about requests. A request names a peer, and an incarnation that anyone may have seen: neither
 * proves who asks. What works is not given up for it.
 */
#include "pconn_int.h"

#define FRESH_MS 5000 /* a request that comes late comes within this time */
#define ALIVE_MS 200  /* for so long the answer counts that a connection works */

static void reject(struct vrb_pconn_action *action, enum vrb_cmwire_reason reason)
{
	action->what |= VRB_PCONN_DO_REJECT;
	action->reason = reason;
}

/* A number is compared only while a late request is to be expected: a stranger's can't shut the peer out for good. */
static bool is_stale(const struct vrb_pconn_set *set, const struct vrb_pconn *conn,
		     const struct vrb_pconn_input *input)
{
	if (input->expected && input->expected != set->params.incarnation)
		return true;
	if (set->now >= conn->fresh)
		return false;
	if (conn->past && input->incarnation == conn->past)
		return true;
	return input->incarnation == conn->heard && (int32_t)(input->serial - conn->serial) <= 0;
}

void vrb_pconn_hear(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input)
{
	if (input->incarnation != conn->heard || (int32_t)(input->serial - conn->serial) > 0)
		conn->serial = input->serial;
	conn->heard = input->incarnation;
	conn->fresh = set->now + FRESH_MS;
}

static void accept_it(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		      const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	vrb_pconn_mark(set, conn, input->stranger && !conn->wanted);
	conn->offered = input->incarnation;
	conn->used = set->now;
	vrb_pconn_hear(set, conn, input);
	vrb_pconn_heard(set, conn);
	set->yield = 0;
	if (conn->stranger && conn->host == set->held_for)
		set->held = 0;
	vrb_pconn_enter(set, conn, VRB_PCONN_ACCEPTING);
	conn->proof = set->params.prove ? set->now + set->params.prove : VRB_DUE_NEVER;
	action->what |= VRB_PCONN_DO_ACCEPT;
}

/* The next place is for who was refused, if it comes soon, and the one after that is not. */
static void refuse_for_room(struct vrb_pconn_set *set, struct vrb_pconn_action *action)
{
	reject(action, VRB_CMWIRE_BUSY);
	action->what |= VRB_PCONN_DO_EVICT;
	if (!set->yield)
		set->yield = set->now + 2 * vrb_pconn_busy_most(set);
}

/* Some room is left for peers that are known. */
static bool have_enough(const struct vrb_pconn_set *set, const struct vrb_pconn_input *input)
{
	return input->tight || !vrb_pconn_has_room(set) ||
	       (set->params.strangers && set->strangers >= set->params.strangers);
}

VRB_PCONN_DECISION(vrb_pconn_on_request)
{
	if (is_stale(set, conn, input)) {
		reject(action, VRB_CMWIRE_STALE);
	} else if (!conn->order) {
		/* The endpoint asks itself only while its own request is out. */
		reject(action, VRB_CMWIRE_IN_USE);
	} else if (input->stranger && have_enough(set, input)) {
		reject(action, VRB_CMWIRE_BUSY);
		vrb_pconn_stranger_refused(set, conn, action);
	} else if (input->stranger && vrb_pconn_is_held(set, conn)) {
		reject(action, VRB_CMWIRE_BUSY);
	} else if (!vrb_pconn_has_room(set)) {
		refuse_for_room(set, action);
	} else {
		accept_it(set, conn, input, action);
	}
}

/* The peer itself has said that its request is out: no other one is meant. */
VRB_PCONN_DECISION(vrb_pconn_on_request_expected)
{
	if (conn->expects && input->incarnation != conn->expects)
		reject(action, VRB_CMWIRE_BUSY);
	else
		vrb_pconn_on_request(set, conn, input, action);
}

VRB_PCONN_DECISION(vrb_pconn_on_request_crossing)
{
	if (is_stale(set, conn, input)) {
		reject(action, VRB_CMWIRE_STALE);
	} else if (conn->order < 0) {
		reject(action, VRB_CMWIRE_CROSSING);
	} else if (!conn->order) {
		/* To ourselves: the same connection's other end. */
		if (input->incarnation == set->params.incarnation)
			action->what |= VRB_PCONN_DO_ACCEPT;
		else
			reject(action, VRB_CMWIRE_IN_USE);
	} else {
		action->what |= VRB_PCONN_DO_ABANDON;
		accept_it(set, conn, input, action);
	}
}

/*
 * The peer gave up what we accepted and tries again, or another one wants its place. Whose request was accepted has the
 * time of an attempt to come; when the peer gives up, the connection manager mostly says so before that.
 */
VRB_PCONN_DECISION(vrb_pconn_on_request_again)
{
	uint64_t grace = set->params.attempt;

	if (input->incarnation != conn->offered)
		grace *= 3;
	if (is_stale(set, conn, input)) {
		reject(action, VRB_CMWIRE_STALE);
	} else if (!conn->order || set->now - conn->since < grace) {
		reject(action, VRB_CMWIRE_BUSY);
	} else {
		action->what |= VRB_PCONN_DO_ABANDON;
		accept_it(set, conn, input, action);
	}
}

/*
 * Who asks says that the peer's end of the connection is gone. The device at that end is asked: if it answers the
 * connection stays; if it does not, the connection fails, and there is room for who asks again.
 */
VRB_PCONN_DECISION(vrb_pconn_on_request_live)
{
	if (is_stale(set, conn, input)) {
		reject(action, VRB_CMWIRE_STALE);
	} else if (!conn->order || set->now < conn->alive) {
		reject(action, VRB_CMWIRE_IN_USE);
	} else {
		reject(action, VRB_CMWIRE_BUSY);
		action->what |= VRB_PCONN_DO_ASK;
	}
}

VRB_PCONN_DECISION(vrb_pconn_on_alive)
{
	(void)input;
	(void)action;
	conn->alive = set->now + ALIVE_MS;
}

/*
 * The connection ended by agreement, and we did not hear of it yet. Nothing was sent since BYE. Another incarnation has
 * to wait until it has ended.
 */
VRB_PCONN_DECISION(vrb_pconn_on_request_left)
{
	if (is_stale(set, conn, input)) {
		reject(action, VRB_CMWIRE_STALE);
	} else if (input->incarnation != conn->known) {
		reject(action, VRB_CMWIRE_BUSY);
	} else {
		action->what |= VRB_PCONN_DO_RELEASE;
		accept_it(set, conn, input, action);
	}
}
