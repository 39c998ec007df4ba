/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Decisions about connection requests. A request names a peer and an incarnation that anyone may
 * have observed; neither proves who sent it. A working connection is never given up because of a
 * request.
 */
#include "policy_int.h"

#define FRESH_MS 5000 /* a request is at most this late */

static void reject_request(struct ofi_rdm_conn_set *set, enum ofi_rdm_cmwire_reason reason)
{
	set->action->what |= OFI_RDM_CONN_DO_REJECT;
	set->action->reason = reason;
}

/*
 * Serial numbers are compared only while a late request is possible. Otherwise a stranger's number
 * could lock the peer out for good.
 */
static bool is_stale(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	if (set->input->expected && set->input->expected != set->params.incarnation)
		return true;
	if (set->now >= conn->fresh)
		return false;
	if (conn->past && set->input->incarnation == conn->past)
		return true;
	return set->input->incarnation == conn->sender &&
	       (int32_t)(set->input->serial - conn->serial) <= 0;
}

void ofi_rdm_conn_learn(const struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			uint64_t incarnation, uint32_t serial)
{
	if (incarnation != conn->sender || (int32_t)(serial - conn->serial) > 0)
		conn->serial = serial;
	conn->sender = incarnation;
	conn->fresh = set->now + FRESH_MS;
}

static void accept_it(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_mark(set, conn, set->input->stranger && !conn->wanted);
	conn->offered = set->input->incarnation;
	conn->offered_serial = set->input->serial;
	conn->used = set->now;
	if (!set->params.prove)
		ofi_rdm_conn_learn(set, conn, set->input->incarnation, set->input->serial);
	ofi_rdm_conn_answered(set, conn);
	set->yield = 0;
	if (conn->stranger && conn->host == set->held_for)
		set->held = 0;
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_ACCEPTING);
	conn->proof = set->params.prove ? set->now + set->params.prove : OFI_RDM_DUE_NEVER;
	set->action->what |= OFI_RDM_CONN_DO_ACCEPT;
}

/* Reserves the next free connection for the refused peer for a while. */
static void refuse_for_room(struct ofi_rdm_conn_set *set)
{
	reject_request(set, OFI_RDM_CMWIRE_BUSY);
	set->action->what |= OFI_RDM_CONN_DO_EVICT;
	if (!set->yield)
		set->yield = set->now + 2 * ofi_rdm_conn_busy_most(set);
}

/* Keeps some room for known peers. */
static bool have_enough(const struct ofi_rdm_conn_set *set)
{
	return set->input->tight || !ofi_rdm_conn_has_room(set) ||
	       (set->params.strangers && set->strangers >= set->params.strangers);
}

void ofi_rdm_conn_on_request(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (is_stale(set, conn)) {
		reject_request(set, OFI_RDM_CMWIRE_STALE);
	} else if (!conn->order) {
		/* An endpoint connects to itself only with its own outstanding request. */
		reject_request(set, OFI_RDM_CMWIRE_IN_USE);
	} else if (set->input->stranger && have_enough(set)) {
		reject_request(set, OFI_RDM_CMWIRE_BUSY);
		ofi_rdm_conn_stranger_refused(set, conn);
	} else if (set->input->stranger && ofi_rdm_conn_is_held(set, conn)) {
		reject_request(set, OFI_RDM_CMWIRE_BUSY);
	} else if (!ofi_rdm_conn_has_room(set)) {
		refuse_for_room(set);
	} else {
		accept_it(set, conn);
	}
}

/* The peer itself has announced its request, so no other request is accepted. */
void ofi_rdm_conn_on_request_expected(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (conn->expects && set->input->incarnation != conn->expects)
		reject_request(set, OFI_RDM_CMWIRE_BUSY);
	else
		ofi_rdm_conn_on_request(set, conn);
}

void ofi_rdm_conn_on_request_crossing(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (is_stale(set, conn)) {
		reject_request(set, OFI_RDM_CMWIRE_STALE);
	} else if (conn->order < 0) {
		reject_request(set, OFI_RDM_CMWIRE_CROSSING);
	} else if (!conn->order) {
		/* A connection to ourselves: this is its other end. */
		if (set->input->incarnation == set->params.incarnation)
			set->action->what |= OFI_RDM_CONN_DO_ACCEPT;
		else
			reject_request(set, OFI_RDM_CMWIRE_IN_USE);
	} else if (set->params.prove) {
		/*
		 * If the request is really the peer's, it comes again once the peer has told us to
		 * expect it.
		 */
		reject_request(set, OFI_RDM_CMWIRE_BUSY);
	} else {
		set->action->what |= OFI_RDM_CONN_DO_ABANDON;
		accept_it(set, conn);
	}
}

/*
 * Either the peer gave up the attempt that we accepted and tries again, or somebody else wants its
 * place. An accepted peer has the time of one attempt to complete; if it gives up, the connection
 * manager usually reports that first.
 */
void ofi_rdm_conn_on_request_again(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	uint64_t grace = set->params.attempt;

	/*
	 * A request of another incarnation waits longer, but not with a job secret: whoever has
	 * none could hold the place by repeating its request.
	 */
	if (!set->params.prove && set->input->incarnation != conn->offered)
		grace *= 3;
	if (is_stale(set, conn)) {
		reject_request(set, OFI_RDM_CMWIRE_STALE);
	} else if (!conn->order || set->now - conn->since < grace) {
		reject_request(set, OFI_RDM_CMWIRE_BUSY);
	} else {
		set->action->what |= OFI_RDM_CONN_DO_ABANDON;
		accept_it(set, conn);
	}
}

/*
 * The request claims that the peer's end of the connection is gone. We probe the device at that
 * end: if it answers, the connection stays; if not, the connection fails and the sender of the
 * request gets its place.
 */
void ofi_rdm_conn_on_request_live(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (is_stale(set, conn)) {
		reject_request(set, OFI_RDM_CMWIRE_STALE);
	} else if (!conn->order || set->now < conn->alive) {
		reject_request(set, OFI_RDM_CMWIRE_IN_USE);
	} else {
		reject_request(set, OFI_RDM_CMWIRE_BUSY);
		set->action->what |= OFI_RDM_CONN_DO_ASK;
	}
}

/*
 * The connection ended by agreement, but we have not been told yet. Nothing was sent after BYE.
 * Another incarnation must wait until it has ended.
 */
void ofi_rdm_conn_on_request_left(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (is_stale(set, conn)) {
		reject_request(set, OFI_RDM_CMWIRE_STALE);
	} else if (set->input->incarnation != conn->known) {
		reject_request(set, OFI_RDM_CMWIRE_BUSY);
	} else {
		set->action->what |= OFI_RDM_CONN_DO_RELEASE;
		accept_it(set, conn);
	}
}
