/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The decisions about connections: one table of what each event means in each state. */
#include <stddef.h>
#include <rdma/fi_errno.h>
#include "pconn_int.h"

typedef void (*decision)(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			 const struct vrb_pconn_input *input, struct vrb_pconn_action *action);

static void on_want(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	vrb_pconn_start(set, conn, action);
}

/* What happens anyhow decides whether a new connection is needed. */
static void on_want_soon(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			 const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	(void)action;
	vrb_pconn_mark(set, conn, false);
	if (conn->wanted)
		return;
	conn->wanted = true;
	conn->err = FI_ETIMEDOUT;
}

static void learn(struct vrb_pconn *conn, uint64_t incarnation)
{
	if (conn->known && conn->known != incarnation)
		conn->past = conn->known;
	conn->known = incarnation;
}

static void up(struct vrb_pconn_set *set, struct vrb_pconn *conn, uint64_t incarnation,
	       struct vrb_pconn_action *action)
{
	learn(conn, incarnation);
	vrb_pconn_enter(set, conn, VRB_PCONN_UP);
	conn->wanted = false;
	conn->attempts = 0;
	conn->drains = 0;
	conn->used = set->now;
	conn->unused = true;
	conn->told = 0;
	conn->spared = set->now + VRB_PCONN_SPARE_MS;
	action->what |= VRB_PCONN_DO_UP;
}

static void on_reply(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	vrb_pconn_hear(set, conn, input);
	up(set, conn, input->incarnation, action);
}

static void on_accepted(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	up(set, conn, conn->offered, action);
}

/* What operations fail with when nothing better comes. */
static int refusal(uint8_t reason)
{
	switch (reason) {
	case VRB_CMWIRE_VERSION:
		return FI_ENOPROTOOPT;
	case VRB_CMWIRE_IN_USE:
		return FI_EADDRINUSE;
	case VRB_CMWIRE_UNKNOWN:
	case VRB_CMWIRE_SOURCE:
		return FI_EACCES;
	case VRB_CMWIRE_LONELY:
	case VRB_CMWIRE_SECRETS:
		return FI_EKEYREJECTED;
	default:
		return FI_ECONNREFUSED;
	}
}

/* The peer does not take our reply to its request. */
static void on_reply_rejected(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			      const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	action->what |= VRB_PCONN_DO_ABANDON;
	vrb_pconn_retry(set, conn, refusal(input->reason));
}

static void on_rejected(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	switch (input->reason) {
	case VRB_CMWIRE_CROSSING:
		conn->expects = input->incarnation;
		vrb_pconn_heard(set, conn);
		vrb_pconn_enter(set, conn, VRB_PCONN_EXPECTING);
		break;
	case VRB_CMWIRE_BUSY:
		vrb_pconn_heard(set, conn);
		vrb_pconn_retry_within(set, conn, refusal(input->reason), vrb_pconn_busy_most(set));
		break;
	case VRB_CMWIRE_STALE:
		/* Another process has the address now: whoever it is. */
		if (conn->known)
			conn->past = conn->known;
		conn->known = 0;
		vrb_pconn_retry(set, conn, FI_ECONNREFUSED);
		break;
	case VRB_CMWIRE_RESOURCES:
	case VRB_CMWIRE_CLOSING:
	case VRB_CMWIRE_IN_USE:	 /* what our name's former owner has left may take a while to go */
	case VRB_CMWIRE_UNKNOWN: /* who is not known yet may be soon */
		vrb_pconn_retry(set, conn, refusal(input->reason));
		break;
	default:
		vrb_pconn_fail(set, conn, refusal(input->reason), action);
		break;
	}
}

static void on_failed(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		      const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	action->what |= VRB_PCONN_DO_ABANDON;
	vrb_pconn_retry(set, conn, input->err ? input->err : FI_ECONNABORTED);
}

static void on_broken(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		      const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
	conn->wanted = false;
	action->what |= VRB_PCONN_DO_TEARDOWN;
	action->err = input->err ? input->err : FI_ECONNRESET;
}

void vrb_pconn_release(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		       struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
	action->what |= VRB_PCONN_DO_RELEASE;
	if (conn->wanted)
		vrb_pconn_start(set, conn, action);
}

static void on_released(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	vrb_pconn_release(set, conn, action);
}

/* Both sides said BYE, the peer has our answer and we won't see its. */
static void on_leaving_gone(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			    const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	if (conn->agreed)
		vrb_pconn_release(set, conn, action);
	else
		on_broken(set, conn, input, action);
}

static void on_heard(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	(void)action;
	vrb_pconn_heard(set, conn);
}

static void on_drained(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		       const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	bool parting = conn->state == VRB_PCONN_PARTING;

	(void)input;
	vrb_pconn_enter(set, conn, parting ? VRB_PCONN_LEFT : VRB_PCONN_LEAVING);
	action->what |= parting ? VRB_PCONN_DO_AGREE : VRB_PCONN_DO_BYE;
}

/* From UP or DRAINING, towards LEAVING or LEFT. */
static void drain(struct vrb_pconn_set *set, struct vrb_pconn *conn, enum vrb_pconn_state by,
		  const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, by);
	action->what |= VRB_PCONN_DO_HOLD;
	if (input->idle)
		on_drained(set, conn, input, action);
}

static void on_evict(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	/* What was spared long ago begins anew. */
	if (!conn->told || set->now >= conn->spared + set->params.give_up)
		conn->told = set->now;
	drain(set, conn, VRB_PCONN_DRAINING, input, action);
}

static void on_bye(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		   const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	drain(set, conn, VRB_PCONN_PARTING, input, action);
}

/* It comes before the connection manager's last message, which will be late then. */
static void on_bye_early(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			 const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	up(set, conn, conn->offered, action);
	action->what |= VRB_PCONN_DO_REFUSE;
}

static void on_bye_both(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)set;
	(void)input;
	conn->agreed = true;
	action->what |= VRB_PCONN_DO_AGREE;
}

static void on_refused(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		       const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	vrb_pconn_resume(set, conn, action);
}

static void on_close(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	if (conn->state == VRB_PCONN_CONNECTING || conn->state == VRB_PCONN_ACCEPTING)
		action->what |= VRB_PCONN_DO_ABANDON;
	else if (vrb_pconn_is_open(conn->state))
		action->what |= VRB_PCONN_DO_TEARDOWN;
	vrb_pconn_fail(set, conn, input->err ? input->err : FI_ECANCELED, action);
}

/* What is not here is late, or none of our business: nothing is done. */
static const decision table[VRB_PCONN_STATES][VRB_PCONN_EVENTS] = {
	[VRB_PCONN_IDLE] = {
		[VRB_PCONN_WANT] = on_want,
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_WAITING] = {
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_CONNECTING] = {
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_crossing,
		[VRB_PCONN_ESTABLISHED] = on_reply,
		[VRB_PCONN_REJECTED] = on_rejected,
		[VRB_PCONN_FAILED] = on_failed,
		[VRB_PCONN_DISCONNECTED] = on_failed,
		[VRB_PCONN_HEARD] = on_heard,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_EXPECTING] = {
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_expected,
		[VRB_PCONN_HEARD] = on_heard,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_ACCEPTING] = {
		[VRB_PCONN_WANT] = on_want_soon,
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_again,
		[VRB_PCONN_ESTABLISHED] = on_accepted,
		[VRB_PCONN_REJECTED] = on_reply_rejected,
		[VRB_PCONN_BYE] = on_bye_early,
		[VRB_PCONN_FAILED] = on_failed,
		[VRB_PCONN_DISCONNECTED] = on_failed,
		[VRB_PCONN_HEARD] = on_heard,
		[VRB_PCONN_EVICT] = on_failed,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_UP] = {
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_live,
		[VRB_PCONN_ALIVE] = vrb_pconn_on_alive,
		[VRB_PCONN_FAILED] = on_broken,
		[VRB_PCONN_DISCONNECTED] = on_broken,
		[VRB_PCONN_EVICT] = on_evict,
		[VRB_PCONN_BYE] = on_bye,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_DRAINING] = {
		[VRB_PCONN_WANT] = on_want_soon,
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_live,
		[VRB_PCONN_ALIVE] = vrb_pconn_on_alive,
		[VRB_PCONN_FAILED] = on_broken,
		[VRB_PCONN_DISCONNECTED] = on_broken,
		[VRB_PCONN_BYE] = on_bye,
		[VRB_PCONN_DRAINED] = on_drained,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_PARTING] = {
		[VRB_PCONN_WANT] = on_want_soon,
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_live,
		[VRB_PCONN_ALIVE] = vrb_pconn_on_alive,
		[VRB_PCONN_FAILED] = on_broken,
		[VRB_PCONN_DISCONNECTED] = on_broken,
		[VRB_PCONN_DRAINED] = on_drained,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_LEAVING] = {
		[VRB_PCONN_WANT] = on_want_soon,
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_live,
		[VRB_PCONN_ALIVE] = vrb_pconn_on_alive,
		[VRB_PCONN_FAILED] = on_leaving_gone,
		[VRB_PCONN_DISCONNECTED] = on_leaving_gone,
		[VRB_PCONN_BYE] = on_bye_both,
		[VRB_PCONN_AGREED] = on_released,
		[VRB_PCONN_REFUSED] = on_refused,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_LEFT] = {
		[VRB_PCONN_WANT] = on_want_soon,
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_left,
		[VRB_PCONN_FAILED] = on_released,
		[VRB_PCONN_DISCONNECTED] = on_released,
		[VRB_PCONN_CLOSE] = on_close,
	},
};

void vrb_pconn_step(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	decision decide = table[conn->state][input->event];

	*action = (struct vrb_pconn_action){ 0 };
	if (decide)
		decide(set, conn, input, action);
	vrb_pconn_settle(set, conn);
}
