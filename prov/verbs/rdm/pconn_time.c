/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections: the state, who gets a place, and what time does. */
#include <stddef.h>
#include <rdma/fi_errno.h>
#include "pconn_int.h"

#define LOOK_MS 2  /* between looks at whether a connection has drained */
#define KNOCKS	4  /* in vain, before a host is taken to be gone */
#define LOOKS	64 /* at connections, for a victim */

void vrb_pconn_set_init(struct vrb_pconn_set *set, const struct vrb_pconn_params *params)
{
	int i;

	*set = (struct vrb_pconn_set){ .params = *params };
	TAILQ_INIT(&set->ready);
	TAILQ_INIT(&set->ups);
	for (i = 0; i < VRB_PCONN_HOSTS; i++)
		TAILQ_INIT(&set->hosts[i].strangers);
}

void vrb_pconn_init(struct vrb_pconn *conn, int order)
{
	*conn = (struct vrb_pconn){ .order = order };
}

bool vrb_pconn_is_open(enum vrb_pconn_state state)
{
	return state != VRB_PCONN_IDLE && state != VRB_PCONN_WAITING &&
	       state != VRB_PCONN_EXPECTING;
}

/* How long a state may last without an event, or until it is looked at. */
static uint64_t patience(const struct vrb_pconn_set *set, const struct vrb_pconn *conn)
{
	uint32_t doublings = conn->attempts < 3 ? conn->attempts : 3;

	if (conn->state == VRB_PCONN_DRAINING || conn->state == VRB_PCONN_PARTING)
		return LOOK_MS;
	return (uint64_t)set->params.attempt << doublings;
}

void vrb_pconn_mark(struct vrb_pconn_set *set, struct vrb_pconn *conn, bool stranger)
{
	vrb_pconn_stranger_out(set, conn);
	conn->stranger = stranger;
	vrb_pconn_stranger_in(set, conn);
}

static void unqueue(struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	if (conn->queued)
		TAILQ_REMOVE(&set->ready, conn, link);
	set->queued -= conn->queued;
	conn->queued = false;
}

void vrb_pconn_enter(struct vrb_pconn_set *set, struct vrb_pconn *conn, enum vrb_pconn_state state)
{
	enum vrb_pconn_state old = conn->state;

	vrb_pconn_stranger_out(set, conn);
	if (old == VRB_PCONN_UP)
		TAILQ_REMOVE(&set->ups, conn, link);
	else
		unqueue(set, conn);
	if (state == VRB_PCONN_UP && conn->stranger)
		TAILQ_INSERT_HEAD(&set->ups, conn, link);
	else if (state == VRB_PCONN_UP)
		TAILQ_INSERT_TAIL(&set->ups, conn, link);
	set->going -= conn->going;
	conn->going = state >= VRB_PCONN_DRAINING;
	set->going += conn->going;
	set->connecting -= conn->young;
	conn->young = state == VRB_PCONN_CONNECTING;
	set->connecting += conn->young;
	set->open += (uint32_t)vrb_pconn_is_open(state) - (uint32_t)vrb_pconn_is_open(old);
	conn->state = state;
	vrb_pconn_stranger_in(set, conn);
	conn->since = set->now;
	conn->timer = set->now + patience(set, conn);
	conn->agreed = false;
}

void vrb_pconn_heard(const struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	conn->deadline = set->now + set->params.give_up;
	conn->knock = set->now + set->params.give_up / 2;
	conn->knocks = 0;
}

uint64_t vrb_pconn_busy_most(const struct vrb_pconn_set *set)
{
	return (uint64_t)set->params.backoff * 4;
}

/* Between half and all of a time that doubles. */
static uint64_t backoff(const struct vrb_pconn_set *set, const struct vrb_pconn *conn, uint64_t max)
{
	const struct vrb_pconn_params *params = &set->params;
	uint32_t doublings = conn->attempts < 20 ? conn->attempts : 20;
	uint64_t most = (uint64_t)params->backoff << doublings;

	if (most > max)
		most = max;
	return most / 2 + params->random(params->arg) % (most / 2 + 1);
}

bool vrb_pconn_has_room(const struct vrb_pconn_set *set)
{
	return set->open < set->params.cap;
}

/* The last place is for one that was refused, if it comes soon. */
static bool must_yield(const struct vrb_pconn_set *set)
{
	return set->now < set->yield && set->open + 1 >= set->params.cap;
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
	if (set->connecting >= set->params.window || must_yield(set) || (first && first != conn))
		return;
	if (set->now >= set->yield)
		set->yield = 0;
	if (conn->queued)
		conn->deadline += set->now - conn->since;
	vrb_pconn_enter(set, conn, VRB_PCONN_CONNECTING);
	if (conn->knock < conn->deadline - set->params.give_up / 2)
		conn->knock = conn->deadline - set->params.give_up / 2;
	set->serial++;
	action->what |= VRB_PCONN_DO_CONNECT;
}

void vrb_pconn_fail(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err,
		    struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
	conn->wanted = false;
	conn->attempts = 0;
	action->what |= VRB_PCONN_DO_FAIL;
	action->err = err;
}

void vrb_pconn_start(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		     struct vrb_pconn_action *action)
{
	vrb_pconn_mark(set, conn, false);
	conn->wanted = true;
	vrb_pconn_heard(set, conn);
	conn->attempts = 0;
	conn->err = FI_ETIMEDOUT;
	vrb_pconn_enter(set, conn, VRB_PCONN_WAITING);
	conn->timer = set->now;
	try_connect(set, conn, action);
}

void vrb_pconn_retry_within(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err,
			    uint64_t most)
{
	if (!conn->wanted) {
		vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
		return;
	}
	if (err)
		conn->err = err;
	vrb_pconn_enter(set, conn, VRB_PCONN_WAITING);
	conn->timer = set->now + backoff(set, conn, most);
	conn->attempts++;
}

void vrb_pconn_retry(struct vrb_pconn_set *set, struct vrb_pconn *conn, int err)
{
	vrb_pconn_retry_within(set, conn, err, set->params.backoff_max);
}

static uint64_t drain_time(const struct vrb_pconn_set *set, const struct vrb_pconn *conn)
{
	return (uint64_t)set->params.drain << (conn->drains < 5 ? conn->drains : 5);
}

/* It goes on. What was held gets as much time as it was held. */
void vrb_pconn_resume(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		      struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_UP);
	conn->wanted = false;
	conn->used = set->now;
	conn->spared = set->now + drain_time(set, conn);
	conn->drains++;
	action->what |= VRB_PCONN_DO_RESUME;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* When time has something to do for it. */
static uint64_t due_at(const struct vrb_pconn_set *set, const struct vrb_pconn *conn)
{
	uint64_t at = VRB_DUE_NEVER;

	switch (conn->state) {
	case VRB_PCONN_WAITING:
		if (conn->queued)
			return VRB_DUE_NEVER;
		return earlier(conn->timer, conn->deadline);
	case VRB_PCONN_CONNECTING:
		at = conn->young ? conn->timer : VRB_DUE_NEVER;
		break;
	case VRB_PCONN_EXPECTING:
		at = conn->timer;
		break;
	case VRB_PCONN_ACCEPTING:
		at = conn->proof;
		break;
	case VRB_PCONN_DRAINING:
	case VRB_PCONN_PARTING:
	case VRB_PCONN_LEFT:
		return conn->timer;
	case VRB_PCONN_LEAVING:
		at = vrb_pconn_stranger_gone_at(set, conn);
		return conn->going ? earlier(conn->timer, at) : at;
	default:
		return VRB_DUE_NEVER;
	}
	return earlier(at, earlier(conn->knock, conn->deadline));
}

void vrb_pconn_settle(struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	if (conn->state == VRB_PCONN_WAITING && !conn->queued && set->now >= conn->timer) {
		TAILQ_INSERT_TAIL(&set->ready, conn, link);
		conn->queued = true;
		conn->since = set->now;
		set->queued++;
	}
	vrb_due_set(&set->due, &conn->due, due_at(set, conn));
}

/*
 * The peer's answer is to come. Each knock has its time, also if the clock has gone on meanwhile because we have not
 * run for long: that would be our silence, not the peer's.
 */
static void age(struct vrb_pconn_set *set, struct vrb_pconn *conn, struct vrb_pconn_action *action)
{
	if (conn->state == VRB_PCONN_EXPECTING && set->now >= conn->timer) {
		vrb_pconn_retry(set, conn, FI_ETIMEDOUT);
		return;
	}
	if (set->now >= conn->timer) {
		set->connecting -= conn->young;
		conn->young = false;
	}
	if (set->now < conn->knock)
		return;
	conn->knock = set->now + set->params.give_up / (2 * KNOCKS) + 1;
	conn->knocks++;
	if (conn->deadline < conn->knock && conn->knocks < KNOCKS)
		conn->deadline = conn->knock;
	action->what |= VRB_PCONN_DO_KNOCK;
}

/* A stranger that does not go, whose place is wanted. */
static void cut(struct vrb_pconn_set *set, struct vrb_pconn *conn, struct vrb_pconn_action *action)
{
	vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
	action->what |= VRB_PCONN_DO_TEARDOWN;
	action->err = FI_ECONNRESET;
}

static void look(struct vrb_pconn_set *set, struct vrb_pconn *conn, struct vrb_pconn_action *action)
{
	if (set->now < conn->since + drain_time(set, conn)) {
		conn->timer = set->now + LOOK_MS;
		action->what |= VRB_PCONN_DO_LOOK;
		return;
	}
	if (vrb_pconn_stranger_overdue(set, conn)) {
		cut(set, conn, action);
		return;
	}
	if (conn->state == VRB_PCONN_PARTING)
		action->what |= VRB_PCONN_DO_REFUSE;
	vrb_pconn_resume(set, conn, action);
}

/* Nothing was heard for as long as it may be. */
static void expire(struct vrb_pconn_set *set, struct vrb_pconn *conn,
		   struct vrb_pconn_action *action)
{
	if (vrb_pconn_is_open(conn->state))
		action->what |= VRB_PCONN_DO_ABANDON;
	if (vrb_pconn_is_out(conn))
		conn->err = FI_ETIMEDOUT;
	if (conn->wanted)
		vrb_pconn_fail(set, conn, conn->err, action);
	else
		vrb_pconn_enter(set, conn, VRB_PCONN_IDLE);
}

/* Its host may answer for ever: what is to be sent goes by a connection of ours, or fails. */
static void drop(struct vrb_pconn_set *set, struct vrb_pconn *conn, struct vrb_pconn_action *action)
{
	action->what |= VRB_PCONN_DO_ABANDON;
	vrb_pconn_retry(set, conn, FI_EKEYREJECTED);
}

/* What time does to one that is due. */
static void pass(struct vrb_pconn_set *set, struct vrb_pconn *conn, struct vrb_pconn_action *action)
{
	bool silent = set->now >= conn->deadline;

	switch (conn->state) {
	case VRB_PCONN_DRAINING:
	case VRB_PCONN_PARTING:
		look(set, conn, action);
		break;
	case VRB_PCONN_LEAVING:
		/* The peer may be stopped: another one has to make room. */
		set->going -= conn->going;
		conn->going = false;
		if (set->now >= vrb_pconn_stranger_gone_at(set, conn))
			cut(set, conn, action);
		break;
	case VRB_PCONN_LEFT:
		vrb_pconn_release(set, conn, action);
		break;
	case VRB_PCONN_WAITING:
		if (silent)
			expire(set, conn, action);
		break;
	default:
		if (conn->state == VRB_PCONN_ACCEPTING && set->now >= conn->proof)
			drop(set, conn, action);
		else if (silent && conn->knocks >= KNOCKS)
			expire(set, conn, action);
		else
			age(set, conn, action);
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
		pass(set, conn, action);
		vrb_pconn_settle(set, conn);
		if (action->what)
			return conn;
	}
	conn = TAILQ_FIRST(&set->ready);
	if (!conn)
		return NULL;
	try_connect(set, conn, action);
	vrb_pconn_settle(set, conn);
	/* To be told once per poll that there are too many is enough: it is no progress. */
	return action->what & ~(uint32_t)VRB_PCONN_DO_EVICT ? conn : NULL;
}

uint64_t vrb_pconn_next(const struct vrb_pconn_set *set)
{
	const struct vrb_due_node *due = vrb_due_first(&set->due);
	uint64_t next = due ? due->at : VRB_DUE_NEVER;

	/* For want of room it is an event that goes on, not time. */
	if (TAILQ_EMPTY(&set->ready) || !vrb_pconn_has_room(set) ||
	    set->connecting >= set->params.window)
		return next;
	if (!must_yield(set))
		return set->now;
	return set->yield < next ? set->yield : next;
}

static void to_the_end(struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	TAILQ_REMOVE(&set->ups, conn, link);
	TAILQ_INSERT_TAIL(&set->ups, conn, link);
}

void vrb_pconn_used(struct vrb_pconn_set *set, struct vrb_pconn *conn)
{
	conn->used = set->now;
	conn->unused = false;
	vrb_pconn_stranger_used(set, conn);
	if (conn->state == VRB_PCONN_UP)
		to_the_end(set, conn);
}

struct vrb_pconn *vrb_pconn_victim(struct vrb_pconn_set *set)
{
	struct vrb_pconn *conn;
	int i;

	for (i = 0; i < LOOKS && (conn = TAILQ_FIRST(&set->ups)); i++) {
		if (set->now >= conn->spared)
			return conn;
		to_the_end(set, conn);
	}
	return vrb_pconn_half_open(set);
}
