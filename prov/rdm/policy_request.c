/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The decisions about requests. A request names a peer, and an incarnation that anyone may have
 * seen: neither proves who asks. A connection that works is not given up for a request.
 */
#include "policy_int.h"

#define FRESH_MS 5000 /* a request that comes late comes within this time */
#define ALIVE_MS 200  /* for so long the answer counts that a connection works */

static void reject(struct ofi_rdm_conn_action *action, enum ofi_rdm_cmwire_reason reason)
{
	action->what |= OFI_RDM_CONN_DO_REJECT;
	action->reason = reason;
}

/*
 * A number is compared only while a late request is to be expected: a stranger's can't shut the
 * peer out for good.
 */
static bool is_stale(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn,
		     const struct ofi_rdm_conn_input *input)
{
	if (input->expected && input->expected != set->params.incarnation)
		return true;
	if (set->now >= conn->fresh)
		return false;
	if (conn->past && input->incarnation == conn->past)
		return true;
	return input->incarnation == conn->heard && (int32_t)(input->serial - conn->serial) <= 0;
}

void ofi_rdm_conn_hear(const struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		       uint64_t incarnation, uint32_t serial)
{
	if (incarnation != conn->heard || (int32_t)(serial - conn->serial) > 0)
		conn->serial = serial;
	conn->heard = incarnation;
	conn->fresh = set->now + FRESH_MS;
}

static void accept_it(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		      const struct ofi_rdm_conn_input *input, struct ofi_rdm_conn_action *action)
{
	ofi_rdm_conn_mark(set, conn, input->stranger && !conn->wanted);
	conn->offered = input->incarnation;
	conn->offered_serial = input->serial;
	conn->used = set->now;
	if (!set->params.prove)
		ofi_rdm_conn_hear(set, conn, input->incarnation, input->serial);
	ofi_rdm_conn_heard(set, conn);
	set->yield = 0;
	if (conn->stranger && conn->host == set->held_for)
		set->held = 0;
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_ACCEPTING);
	conn->proof = set->params.prove ? set->now + set->params.prove : OFI_RDM_DUE_NEVER;
	action->what |= OFI_RDM_CONN_DO_ACCEPT;
}

/* The next place is for the peer that was refused, if it comes soon; the one after is not. */
static void refuse_for_room(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn_action *action)
{
	reject(action, OFI_RDM_CMWIRE_BUSY);
	action->what |= OFI_RDM_CONN_DO_EVICT;
	if (!set->yield)
		set->yield = set->now + 2 * ofi_rdm_conn_busy_most(set);
}

/* Some room is left for peers that are known. */
static bool have_enough(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn_input *input)
{
	return input->tight || !ofi_rdm_conn_has_room(set) ||
	       (set->params.strangers && set->strangers >= set->params.strangers);
}

OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request)
{
	if (is_stale(set, conn, input)) {
		reject(action, OFI_RDM_CMWIRE_STALE);
	} else if (!conn->order) {
		/* The endpoint asks itself only while its own request is out. */
		reject(action, OFI_RDM_CMWIRE_IN_USE);
	} else if (input->stranger && have_enough(set, input)) {
		reject(action, OFI_RDM_CMWIRE_BUSY);
		ofi_rdm_conn_stranger_refused(set, conn, action);
	} else if (input->stranger && ofi_rdm_conn_is_held(set, conn)) {
		reject(action, OFI_RDM_CMWIRE_BUSY);
	} else if (!ofi_rdm_conn_has_room(set)) {
		refuse_for_room(set, action);
	} else {
		accept_it(set, conn, input, action);
	}
}

/* The peer itself has said that its request is out: no other one is meant. */
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_expected)
{
	if (conn->expects && input->incarnation != conn->expects)
		reject(action, OFI_RDM_CMWIRE_BUSY);
	else
		ofi_rdm_conn_on_request(set, conn, input, action);
}

OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_crossing)
{
	if (is_stale(set, conn, input)) {
		reject(action, OFI_RDM_CMWIRE_STALE);
	} else if (conn->order < 0) {
		reject(action, OFI_RDM_CMWIRE_CROSSING);
	} else if (!conn->order) {
		/* To ourselves: the same connection's other end. */
		if (input->incarnation == set->params.incarnation)
			action->what |= OFI_RDM_CONN_DO_ACCEPT;
		else
			reject(action, OFI_RDM_CMWIRE_IN_USE);
	} else if (set->params.prove) {
		/* If it is the peer's it comes again when the peer has told us to expect it. */
		reject(action, OFI_RDM_CMWIRE_BUSY);
	} else {
		action->what |= OFI_RDM_CONN_DO_ABANDON;
		accept_it(set, conn, input, action);
	}
}

/*
 * The peer gave up what we accepted and tries again, or another one wants its place. Whose request
 * was accepted has the time of an attempt to come; when the peer gives up, the connection manager
 * mostly says so before that.
 */
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_again)
{
	uint64_t grace = set->params.attempt;

	/* What proves nothing could keep the place by asking again and again. */
	if (!set->params.prove && input->incarnation != conn->offered)
		grace *= 3;
	if (is_stale(set, conn, input)) {
		reject(action, OFI_RDM_CMWIRE_STALE);
	} else if (!conn->order || set->now - conn->since < grace) {
		reject(action, OFI_RDM_CMWIRE_BUSY);
	} else {
		action->what |= OFI_RDM_CONN_DO_ABANDON;
		accept_it(set, conn, input, action);
	}
}

/*
 * The request says that the peer's end of the connection is gone. The device at that end is
 * asked: if it answers the connection stays; if it does not, the connection fails, and there is
 * room for the sender of the request.
 */
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_live)
{
	if (is_stale(set, conn, input)) {
		reject(action, OFI_RDM_CMWIRE_STALE);
	} else if (!conn->order || set->now < conn->alive) {
		reject(action, OFI_RDM_CMWIRE_IN_USE);
	} else {
		reject(action, OFI_RDM_CMWIRE_BUSY);
		action->what |= OFI_RDM_CONN_DO_ASK;
	}
}

OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_alive)
{
	(void)input;
	(void)action;
	conn->alive = set->now + ALIVE_MS;
}

/*
 * The connection ended by agreement, and we did not hear of it yet. Nothing was sent since BYE.
 * Another incarnation has to wait until it has ended.
 */
OFI_RDM_CONN_DECISION(ofi_rdm_conn_on_request_left)
{
	if (is_stale(set, conn, input)) {
		reject(action, OFI_RDM_CMWIRE_STALE);
	} else if (input->incarnation != conn->known) {
		reject(action, OFI_RDM_CMWIRE_BUSY);
	} else {
		action->what |= OFI_RDM_CONN_DO_RELEASE;
		accept_it(set, conn, input, action);
	}
}
