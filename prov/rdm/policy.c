/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection policy: the transition table, and the decisions for each event in each state. */
#include <rdma/fi_errno.h>
#include "policy_int.h"

#define ALIVE_MS 200 /* how long a proof that a connection works stays valid */

/* An event that is expected anyway decides whether a new connection is needed. */
static void on_want_soon(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_mark(set, conn, false);
	if (conn->wanted)
		return;
	conn->wanted = true;
	conn->err = FI_ETIMEDOUT;
}

static void conn_learn(struct ofi_rdm_conn *conn, uint64_t incarnation)
{
	if (conn->known && conn->known != incarnation)
		conn->past = conn->known;
	conn->known = incarnation;
}

static void conn_up(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, uint64_t incarnation)
{
	uint64_t last = conn->known ? conn->known : conn->past;

	if (last && last != incarnation)
		set->action->what |= OFI_RDM_CONN_DO_RENEW;
	conn_learn(conn, incarnation);
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_UP);
	conn->wanted = false;
	conn->attempts = 0;
	conn->refused = 0;
	conn->drains = 0;
	conn->used = set->now;
	conn->unused = true;
	conn->asked = 0;
	conn->spared = set->now + OFI_RDM_CONN_SPARE_MS;
	set->action->what |= OFI_RDM_CONN_DO_UP;
}

static void on_reply(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_learn(set, conn, set->input->incarnation, set->input->serial);
	conn_up(set, conn, set->input->incarnation);
}

static void on_accepted(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (set->params.prove)
		ofi_rdm_conn_learn(set, conn, conn->offered, conn->offered_serial);
	conn_up(set, conn, conn->offered);
}

/* Returns the error that operations fail with if no better one follows. */
static int refusal_error(uint8_t reason)
{
	switch (reason) {
	case OFI_RDM_CMWIRE_VERSION:
		return FI_ENOPROTOOPT;
	case OFI_RDM_CMWIRE_IN_USE:
		return FI_EADDRINUSE;
	case OFI_RDM_CMWIRE_UNKNOWN:
	case OFI_RDM_CMWIRE_SOURCE:
		return FI_EACCES;
	case OFI_RDM_CMWIRE_LONELY:
	case OFI_RDM_CMWIRE_SECRETS:
		return FI_EKEYREJECTED;
	default:
		return FI_ECONNREFUSED;
	}
}

/* The peer has rejected our reply to its request. */
static void on_reply_rejected(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_retry_offer(set, conn, refusal_error(set->input->reason));
}

static void on_rejected(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_heard(set, conn);
	switch (set->input->reason) {
	case OFI_RDM_CMWIRE_CROSSING:
		conn->expects = set->input->incarnation;
		ofi_rdm_conn_answered(set, conn);
		ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_EXPECTING);
		break;
	case OFI_RDM_CMWIRE_BUSY:
		ofi_rdm_conn_answered(set, conn);
		ofi_rdm_conn_retry_within(set, conn, refusal_error(set->input->reason),
					  ofi_rdm_conn_busy_most(set));
		break;
	case OFI_RDM_CMWIRE_STALE:
		/*
		 * Our request came late, or another process has this address now; its incarnation
		 * is not known yet. The one before is in conn->past.
		 */
		if (set->input->incarnation != conn->known)
			conn_learn(conn, 0);
		ofi_rdm_conn_retry(set, conn, FI_ECONNREFUSED);
		break;
	case OFI_RDM_CMWIRE_RESOURCES:
		if (!conn->refused)
			conn->refused = set->now;
		ofi_rdm_conn_answered(set, conn);
		ofi_rdm_conn_retry(set, conn, FI_ECONNREFUSED);
		/* For a connection to ourselves there is a place for one end only. */
		if (!conn->order)
			ofi_rdm_conn_full(set, conn);
		break;
	case OFI_RDM_CMWIRE_CLOSING:
	case OFI_RDM_CMWIRE_IN_USE:  /* the peer soon forgets our address's former owner */
	case OFI_RDM_CMWIRE_UNKNOWN: /* the peer may insert our address soon */
		ofi_rdm_conn_retry(set, conn, refusal_error(set->input->reason));
		break;
	default:
		ofi_rdm_conn_fail(set, conn, refusal_error(set->input->reason));
		break;
	}
}

static void on_failed(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	set->action->what |= OFI_RDM_CONN_DO_ABANDON;
	/* A shortage of our own says nothing about the peer. */
	if (set->input->err == FI_ECONNREFUSED)
		ofi_rdm_conn_heard(set, conn);
	else if (set->input->full || !set->input->own)
		ofi_rdm_conn_mark_silent(set, conn, !set->input->full);
	ofi_rdm_conn_retry(set, conn, set->input->err ? set->input->err : FI_ECONNABORTED);
	if (set->input->full)
		ofi_rdm_conn_full(set, conn);
}

/* The accepted attempt failed. */
static void on_offer_failed(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_retry_offer(set, conn, set->input->err ? set->input->err : FI_ECONNABORTED);
	if (set->input->full)
		ofi_rdm_conn_full(set, conn);
}

static void on_broken(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_teardown(set, conn, set->input->err ? set->input->err : FI_ECONNRESET);
}

void ofi_rdm_conn_release(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_IDLE);
	set->action->what |= OFI_RDM_CONN_DO_RELEASE;
	if (conn->wanted)
		ofi_rdm_conn_start(set, conn);
}

/* If both sides sent BYE, the peer has got our answer, and its own does not arrive any more. */
static void on_leaving_gone(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (conn->agreed)
		ofi_rdm_conn_release(set, conn);
	else
		on_broken(set, conn);
}

static void on_drained(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	bool parting = conn->state == OFI_RDM_CONN_PARTING;

	ofi_rdm_conn_enter(set, conn, parting ? OFI_RDM_CONN_LEFT : OFI_RDM_CONN_LEAVING);
	set->action->what |= parting ? OFI_RDM_CONN_DO_AGREE : OFI_RDM_CONN_DO_BYE;
}

/* Leaves UP or DRAINING toward LEAVING or LEFT. */
static void conn_drain(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		       enum ofi_rdm_conn_state by)
{
	ofi_rdm_conn_enter(set, conn, by);
	set->action->what |= OFI_RDM_CONN_DO_HOLD;
	if (set->input->idle)
		on_drained(set, conn);
}

static void on_evict(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	/* If the connection was spared long ago, the time that it has to end starts over. */
	if (!conn->asked || set->now >= conn->spared + set->params.give_up)
		conn->asked = set->now;
	conn_drain(set, conn, OFI_RDM_CONN_DRAINING);
}

static void on_bye(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	conn_drain(set, conn, OFI_RDM_CONN_PARTING);
}

/* BYE may overtake the connection manager's last message, which then arrives late. */
static void on_bye_early(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	on_accepted(set, conn);
	set->action->what |= OFI_RDM_CONN_DO_REFUSE;
}

static void on_bye_both(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	conn->agreed = true;
	set->action->what |= OFI_RDM_CONN_DO_AGREE;
}

static void on_alive(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	conn->alive = set->now + ALIVE_MS;
}

static void on_close(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (conn->state == OFI_RDM_CONN_CONNECTING || conn->state == OFI_RDM_CONN_ACCEPTING)
		set->action->what |= OFI_RDM_CONN_DO_ABANDON;
	else if (ofi_rdm_conn_is_open(conn->state))
		set->action->what |= OFI_RDM_CONN_DO_TEARDOWN;
	ofi_rdm_conn_fail(set, conn, set->input->err ? set->input->err : FI_ECANCELED);
}

/* The decision is the same whether a connection fails, or the peer ends it. */
#define BROKEN(decide) [OFI_RDM_CONN_FAILED] = decide, [OFI_RDM_CONN_DISCONNECTED] = decide

/*
 * Events without an entry are late or irrelevant, and nothing is done. The end of the endpoint is
 * the same decision in all states.
 */
static ofi_rdm_conn_decision *const table[OFI_RDM_CONN_STATES][OFI_RDM_CONN_EVENTS] = {
	[OFI_RDM_CONN_IDLE] = {
		[OFI_RDM_CONN_WANT] = ofi_rdm_conn_start,
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request,
	},
	[OFI_RDM_CONN_WAITING] = {
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request,
	},
	[OFI_RDM_CONN_CONNECTING] = {
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_crossing,
		[OFI_RDM_CONN_ESTABLISHED] = on_reply,
		[OFI_RDM_CONN_REJECTED] = on_rejected,
		BROKEN(on_failed),
		[OFI_RDM_CONN_PROBED] = ofi_rdm_conn_asked,
		[OFI_RDM_CONN_ANSWERED] = ofi_rdm_conn_answered,
	},
	[OFI_RDM_CONN_EXPECTING] = {
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_expected,
		[OFI_RDM_CONN_PROBED] = ofi_rdm_conn_asked,
		[OFI_RDM_CONN_ANSWERED] = ofi_rdm_conn_answered,
	},
	[OFI_RDM_CONN_ACCEPTING] = {
		[OFI_RDM_CONN_WANT] = on_want_soon,
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_again,
		[OFI_RDM_CONN_ESTABLISHED] = on_accepted,
		[OFI_RDM_CONN_REJECTED] = on_reply_rejected,
		[OFI_RDM_CONN_BYE] = on_bye_early,
		BROKEN(on_offer_failed),
		[OFI_RDM_CONN_PROBED] = ofi_rdm_conn_asked,
		[OFI_RDM_CONN_ANSWERED] = ofi_rdm_conn_answered,
		[OFI_RDM_CONN_EVICT] = on_offer_failed,
	},
	[OFI_RDM_CONN_UP] = {
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_live,
		[OFI_RDM_CONN_ALIVE] = on_alive,
		BROKEN(on_broken),
		[OFI_RDM_CONN_EVICT] = on_evict,
		[OFI_RDM_CONN_BYE] = on_bye,
	},
	[OFI_RDM_CONN_DRAINING] = {
		[OFI_RDM_CONN_WANT] = on_want_soon,
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_live,
		[OFI_RDM_CONN_ALIVE] = on_alive,
		BROKEN(on_broken),
		[OFI_RDM_CONN_BYE] = on_bye,
		[OFI_RDM_CONN_DRAINED] = on_drained,
	},
	[OFI_RDM_CONN_PARTING] = {
		[OFI_RDM_CONN_WANT] = on_want_soon,
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_live,
		[OFI_RDM_CONN_ALIVE] = on_alive,
		BROKEN(on_broken),
		[OFI_RDM_CONN_DRAINED] = on_drained,
	},
	[OFI_RDM_CONN_LEAVING] = {
		[OFI_RDM_CONN_WANT] = on_want_soon,
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_live,
		[OFI_RDM_CONN_ALIVE] = on_alive,
		BROKEN(on_leaving_gone),
		[OFI_RDM_CONN_BYE] = on_bye_both,
		[OFI_RDM_CONN_AGREED] = ofi_rdm_conn_release,
		[OFI_RDM_CONN_REFUSED] = ofi_rdm_conn_resume,
	},
	[OFI_RDM_CONN_LEFT] = {
		[OFI_RDM_CONN_WANT] = on_want_soon,
		[OFI_RDM_CONN_REQUEST] = ofi_rdm_conn_on_request_left,
		BROKEN(ofi_rdm_conn_release),
	},
};

void ofi_rdm_conn_step(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		       const struct ofi_rdm_conn_input *input, struct ofi_rdm_conn_action *action)
{
	ofi_rdm_conn_decision *decide =
		input->event == OFI_RDM_CONN_CLOSE ? on_close : table[conn->state][input->event];

	*action = (struct ofi_rdm_conn_action){ 0 };
	set->input = input;
	set->action = action;
	if (decide)
		decide(set, conn);
	ofi_rdm_conn_settle(set, conn);
}

/*
 * `waits` is what an endpoint waits for in the state; it is "" if that depends on more than the
 * state.
 */
static const struct {
	const char *name, *waits;
} states[OFI_RDM_CONN_STATES] = {
	[OFI_RDM_CONN_IDLE] = { "idle", "" },
	[OFI_RDM_CONN_WAITING] = { "waiting to connect", "" },
	[OFI_RDM_CONN_CONNECTING] = { "connecting", "the peer to answer the request" },
	[OFI_RDM_CONN_EXPECTING] = { "expecting the peer's request", "the peer to connect" },
	[OFI_RDM_CONN_ACCEPTING] = { "accepting", "the peer to confirm the connection" },
	[OFI_RDM_CONN_UP] = { "connected", "" },
	[OFI_RDM_CONN_DRAINING] = { "draining", "operations in flight to end" },
	[OFI_RDM_CONN_PARTING] = { "draining for the peer", "operations in flight to end" },
	[OFI_RDM_CONN_LEAVING] = { "leaving", "the peer to agree to disconnect" },
	[OFI_RDM_CONN_LEFT] = { "left by the peer", "the peer to disconnect" },
};

const char *ofi_rdm_conn_state_name(enum ofi_rdm_conn_state state)
{
	return (unsigned int)state < OFI_RDM_CONN_STATES ? states[state].name : "?";
}

const char *ofi_rdm_conn_state_waits(enum ofi_rdm_conn_state state)
{
	return (unsigned int)state < OFI_RDM_CONN_STATES ? states[state].waits : "";
}

const char *ofi_rdm_conn_cause_name(enum ofi_rdm_conn_event cause)
{
	static const char *const names[OFI_RDM_CONN_EVENTS + 1] = {
		[OFI_RDM_CONN_WANT] = "there is something to send",
		[OFI_RDM_CONN_REQUEST] = "request from the peer",
		[OFI_RDM_CONN_ESTABLISHED] = "established",
		[OFI_RDM_CONN_REJECTED] = "rejected by the peer",
		[OFI_RDM_CONN_FAILED] = "failed",
		[OFI_RDM_CONN_DISCONNECTED] = "disconnected by the peer",
		[OFI_RDM_CONN_PROBED] = "the peer's host is probed",
		[OFI_RDM_CONN_ANSWERED] = "the peer's host answers",
		[OFI_RDM_CONN_EVICT] = "evicted to make room",
		[OFI_RDM_CONN_BYE] = "the peer asks to disconnect",
		[OFI_RDM_CONN_DRAINED] = "nothing is in flight",
		[OFI_RDM_CONN_AGREED] = "the peer agreed to disconnect",
		[OFI_RDM_CONN_REFUSED] = "the peer refused to disconnect",
		[OFI_RDM_CONN_ALIVE] = "the peer's device answers",
		[OFI_RDM_CONN_CLOSE] = "the endpoint closes",
		[OFI_RDM_CONN_TIME] = "time has passed",
	};

	return (unsigned int)cause <= OFI_RDM_CONN_TIME ? names[cause] : "?";
}
