/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The decisions about connections: one table of what each event means in each state. */
#include <stddef.h>
#include <rdma/fi_errno.h>
#include "pconn_int.h"

typedef void (*decision)(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			 const struct vrb_pconn_input *input, struct vrb_pconn_action *action);

void vrb_pconn_set_init(struct vrb_pconn_set *set, const struct vrb_pconn_params *params)
{
	*set = (struct vrb_pconn_set){ .params = *params };
	TAILQ_INIT(&set->ready);
	TAILQ_INIT(&set->ups);
}

void vrb_pconn_init(struct vrb_pconn *conn, int order)
{
	*conn = (struct vrb_pconn){ .order = order };
}

static bool is_open(enum vrb_pconn_state state)
{
	return state != VRB_PCONN_IDLE && state != VRB_PCONN_WAITING &&
	       state != VRB_PCONN_EXPECTING;
}

/*
 * How long a state may last without an event. An attempt gets twice the time of the one before. What was
 * accepted is not given up easily: the peer may think that it is connected, and send.
 */
static uint64_t patience(const struct vrb_pconn_set *set, const struct vrb_pconn *conn)
{
	uint32_t doublings = conn->attempts < 3 ? conn->attempts : 3;

	if (conn->state == VRB_PCONN_ACCEPTING)
		return set->params.give_up;
	return (uint64_t)set->params.attempt << doublings;
}

static void unqueue(struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	if (conn->queued)
		TAILQ_REMOVE(&set->ready, conn, link);
	conn->queued = false;
}

/* The only one who writes state. */
void vrb_pconn_enter(struct vrb_pconn_set *set, struct vrb_pconn *conn, enum vrb_pconn_state state)
{
	enum vrb_pconn_state old = conn->state;

	if (old == VRB_PCONN_UP)
		TAILQ_REMOVE(&set->ups, conn, link);
	else
		unqueue(set, conn);
	if (state == VRB_PCONN_UP)
		TAILQ_INSERT_TAIL(&set->ups, conn, link);
	set->in[old]--;
	set->in[state]++;
	set->connecting +=
		(uint32_t)(state == VRB_PCONN_CONNECTING) - (uint32_t)(old == VRB_PCONN_CONNECTING);
	set->open += (uint32_t)is_open(state) - (uint32_t)is_open(old);
	conn->state = state;
	conn->timer = set->now + patience(set, conn);
	conn->since = set->now;
	conn->agreed = false;
}

static void learn(struct vrb_pconn *conn, uint64_t incarnation)
{
	if (conn->known && conn->known != incarnation)
		conn->past = conn->known;
	conn->known = incarnation;
}

/* Between half and all of a time that doubles. */
static uint64_t backoff(const struct vrb_pconn_set *set, const struct vrb_pconn *conn)
{
	const struct vrb_pconn_params *params = &set->params;
	uint32_t doublings = conn->attempts < 20 ? conn->attempts : 20;
	uint64_t most = (uint64_t)params->backoff << doublings;

	if (most > params->backoff_max)
		most = params->backoff_max;
	return most / 2 + params->random(params->arg) % (most / 2 + 1);
}

/* Sends a request if that is possible now and nobody has waited longer. */
static void try_connect(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			struct vrb_pconn_action *action)
{
	const struct vrb_pconn *first = TAILQ_FIRST(&set->ready);

	if (!vrb_pconn_has_room(set)) {
		action->what |= VRB_PCONN_DO_EVICT;
		return;
	}
	if (set->connecting >= set->params.window || (first && first != conn))
		return;
	vrb_pconn_enter(set, conn, VRB_PCONN_CONNECTING);
	set->serial++;
	action->what |= VRB_PCONN_DO_CONNECT;
}

static void fail(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err,
		 struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
	conn->wanted = false;
	conn->attempts = 0;
	action->what |= VRB_PCONN_DO_FAIL;
	action->err = err;
}

static void start(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		  struct vrb_pconn_action *action)
{
	conn->wanted = true;
	conn->deadline = set->now + set->params.give_up;
	conn->attempts = 0;
	conn->err = FI_ETIMEDOUT;
	vrb_pconn_enter(set, conn, VRB_PCONN_WAITING);
	conn->timer = set->now;
	try_connect(set, conn, action);
}

/* The attempt is over. What wants the connection tries again, later, or fails when it is too late. */
static void retry(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err)
{
	if (!conn->wanted) {
		vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
		return;
	}
	if (err)
		conn->err = err;
	vrb_pconn_enter(set, conn, VRB_PCONN_WAITING);
	conn->timer = set->now + backoff(set, conn);
	conn->attempts++;
}

static void on_want(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	start(set, conn, action);
}

/* The peer's request may lead to a connection, or it may not: the wait of what is to be sent begins. */
static void on_want_soon(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			 const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	(void)action;
	if (conn->wanted)
		return;
	conn->wanted = true;
	conn->deadline = set->now + set->params.give_up;
	conn->err = FI_ETIMEDOUT;
}

static void up(struct vrb_pconn_set *set, struct vrb_pconn *conn, uint64_t incarnation,
	       struct vrb_pconn_action *action)
{
	learn(conn, incarnation);
	vrb_pconn_enter(set, conn, VRB_PCONN_UP);
	conn->wanted = false;
	conn->attempts = 0;
	conn->used = set->now;
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

static void on_rejected(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	switch (input->reason) {
	case VRB_CMWIRE_CROSSING:
		conn->expects = input->incarnation;
		vrb_pconn_enter(set, conn, VRB_PCONN_EXPECTING);
		break;
	case VRB_CMWIRE_STALE:
		/* Another process has the address now: whoever it is. */
		if (conn->known)
			conn->past = conn->known;
		conn->known = 0;
		retry(set, conn, FI_ECONNREFUSED);
		break;
	case VRB_CMWIRE_BUSY:
	case VRB_CMWIRE_RESOURCES:
	case VRB_CMWIRE_CLOSING:
		retry(set, conn, FI_ECONNREFUSED);
		break;
	case VRB_CMWIRE_IN_USE:
		/* What our name's former owner has left may take a while to go. */
		retry(set, conn, FI_EADDRINUSE);
		break;
	case VRB_CMWIRE_VERSION:
		fail(set, conn, FI_ENOPROTOOPT, action);
		break;
	case VRB_CMWIRE_SOURCE:
		fail(set, conn, FI_EACCES, action);
		break;
	default:
		fail(set, conn, FI_ECONNREFUSED, action);
		break;
	}
}

static void on_failed(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		      const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	action->what |= VRB_PCONN_DO_ABANDON;
	retry(set, conn, input->err ? input->err : FI_ECONNABORTED);
}

static void on_broken(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		      const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
	conn->wanted = false;
	action->what |= VRB_PCONN_DO_TEARDOWN;
	action->err = input->err ? input->err : FI_ECONNRESET;
}

static void release(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
	action->what |= VRB_PCONN_DO_RELEASE;
	if (conn->wanted)
		start(set, conn, action);
}

static void on_released(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	release(set, conn, action);
}

/* Both sides said BYE, the peer has our answer and we won't see its. */
static void on_leaving_gone(struct vrb_pconn_set *set, struct vrb_pconn *conn,
			    const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	if (conn->agreed)
		release(set, conn, action);
	else
		on_broken(set, conn, input, action);
}

static void on_evict(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	(void)input;
	vrb_pconn_enter(set, conn, VRB_PCONN_LEAVING);
	action->what |= VRB_PCONN_DO_HOLD | VRB_PCONN_DO_BYE;
}

static void on_bye(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		   const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	if (!input->idle) {
		action->what |= VRB_PCONN_DO_REFUSE;
		return;
	}
	vrb_pconn_enter(set, conn, VRB_PCONN_LEFT);
	action->what |= VRB_PCONN_DO_HOLD | VRB_PCONN_DO_AGREE;
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
	vrb_pconn_enter(set, conn, VRB_PCONN_UP);
	conn->wanted = false;
	conn->used = set->now;
	action->what |= VRB_PCONN_DO_RESUME;
}

static void on_close(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	if (conn->state == VRB_PCONN_CONNECTING || conn->state == VRB_PCONN_ACCEPTING)
		action->what |= VRB_PCONN_DO_ABANDON;
	else if (is_open(conn->state))
		action->what |= VRB_PCONN_DO_TEARDOWN;
	fail(set, conn, input->err ? input->err : FI_ECANCELED, action);
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
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_EXPECTING] = {
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_expected,
		[VRB_PCONN_CLOSE] = on_close,
	},
	[VRB_PCONN_ACCEPTING] = {
		[VRB_PCONN_WANT] = on_want_soon,
		[VRB_PCONN_REQUEST] = vrb_pconn_on_request_again,
		[VRB_PCONN_ESTABLISHED] = on_accepted,
		[VRB_PCONN_BYE] = on_bye_early,
		[VRB_PCONN_FAILED] = on_failed,
		[VRB_PCONN_DISCONNECTED] = on_failed,
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

static bool is_late(const struct vrb_pconn_set *set, const struct vrb_pconn *conn)
{
	return conn->wanted && set->now >= conn->deadline;
}

/* When time has something to do for it. */
static uint64_t due_at(const struct vrb_pconn *conn)
{
	uint64_t deadline = conn->wanted ? conn->deadline : VRB_DUE_NEVER;

	if (conn->state == VRB_PCONN_IDLE || conn->state == VRB_PCONN_UP)
		return VRB_DUE_NEVER;
	if (conn->state == VRB_PCONN_LEAVING || conn->queued)
		return deadline;
	if (conn->state == VRB_PCONN_LEFT)
		return conn->timer;
	return conn->timer < deadline ? conn->timer : deadline;
}

/* After each step: the one that it was about is where it is looked for next. */
static void settle(struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	if (conn->state == VRB_PCONN_WAITING && !conn->queued && set->now >= conn->timer) {
		TAILQ_INSERT_TAIL(&set->ready, conn, link);
		conn->queued = true;
	}
	vrb_due_set(&set->due, &conn->due, due_at(conn));
}

void vrb_pconn_step(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		    const struct vrb_pconn_input *input, struct vrb_pconn_action *action)
{
	decision decide = table[conn->state][input->event];

	*action = (struct vrb_pconn_action){ 0 };
	if (decide)
		decide(set, conn, input, action);
	settle(set, conn);
}

/* What time does to one that is due. */
static void expire(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		   struct vrb_pconn_action *action)
{
	static const struct vrb_pconn_input timeout = { .err = FI_ETIMEDOUT };

	switch (conn->state) {
	case VRB_PCONN_WAITING:
		if (is_late(set, conn))
			fail(set, conn, conn->err, action);
		break;
	case VRB_PCONN_LEAVING:
		on_broken(set, conn, &timeout, action);
		break;
	case VRB_PCONN_LEFT:
		release(set, conn, action);
		break;
	default:
		if (conn->state != VRB_PCONN_EXPECTING)
			action->what |= VRB_PCONN_DO_ABANDON;
		retry(set, conn, FI_ETIMEDOUT);
		if (is_late(set, conn))
			fail(set, conn, conn->err, action);
		break;
	}
}

static struct vrb_pconn *conn_of(struct vrb_due_node *due)
{
	return (struct vrb_pconn *)((char *)due - offsetof(struct vrb_pconn, due));
}

struct vrb_pconn *vrb_pconn_poll(struct vrb_pconn_set *set, struct vrb_pconn_action *action)
{
	struct vrb_due_node *due;
	struct vrb_pconn *conn;

	*action = (struct vrb_pconn_action){ 0 };
	while ((due = vrb_due_first(&set->due)) && due->at <= set->now) {
		conn = conn_of(due);
		expire(set, conn, action);
		settle(set, conn);
		if (action->what)
			return conn;
	}
	conn = TAILQ_FIRST(&set->ready);
	if (!conn)
		return NULL;
	try_connect(set, conn, action);
	settle(set, conn);
	/* To be told once per poll that there are too many is enough: it is no progress. */
	return action->what & ~(uint32_t)VRB_PCONN_DO_EVICT ? conn : NULL;
}

uint64_t vrb_pconn_next(const struct vrb_pconn_set *set)
{
	const struct vrb_due_node *due = vrb_due_first(&set->due);

	/* For want of room it is an event that goes on, not time. */
	if (!TAILQ_EMPTY(&set->ready) && vrb_pconn_has_room(set) &&
	    set->connecting < set->params.window)
		return set->now;
	return due ? due->at : VRB_DUE_NEVER;
}

void vrb_pconn_used(struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	conn->used = set->now;
	if (conn->state != VRB_PCONN_UP)
		return;
	TAILQ_REMOVE(&set->ups, conn, link);
	TAILQ_INSERT_TAIL(&set->ups, conn, link);
}

struct vrb_pconn *vrb_pconn_victim(const struct vrb_pconn_set *set)
{
	return TAILQ_FIRST(&set->ups);
}
