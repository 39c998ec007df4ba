/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection policy: states, which peer gets a connection, and timers. */
#include <stddef.h>
#include <rdma/fi_errno.h>
#include "policy_int.h"
#include "src/ds/container.h"
#include "src/ds/min.h"

#define LOOK_MS 2    /* interval for checking whether a connection has drained */
#define PROBES	4    /* unanswered probes after which a host counts as gone */
#define BEHIND	16   /* the same while we are behind in reading answers */
#define LOOKS	64   /* connections examined for a victim */
#define GROW_MS 1000 /* interval after which a full device is asked for one more connection */
/* Each silent peer adds HURRY requests a second, up to FASTEST windows a second. */
#define HURRY	4
#define FASTEST 32

void ofi_rdm_conn_set_init(struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn_params *params)
{
	int i;

	*set = (struct ofi_rdm_conn_set){ .params = *params, .cap = UINT32_MAX };
	TAILQ_INIT(&set->ready);
	TAILQ_INIT(&set->ups);
	for (i = 0; i < OFI_RDM_CONN_HOSTS; i++)
		TAILQ_INIT(&set->hosts[i].strangers);
}

void ofi_rdm_conn_init(struct ofi_rdm_conn *conn, int order)
{
	*conn = (struct ofi_rdm_conn){ .order = order };
}

bool ofi_rdm_conn_is_open(enum ofi_rdm_conn_state state)
{
	return state != OFI_RDM_CONN_IDLE && state != OFI_RDM_CONN_WAITING &&
	       state != OFI_RDM_CONN_EXPECTING;
}

/*
 * Returns how long a request counts as young: the shorter, the more peers are silent, so that hosts
 * that are gone do not keep the window from others. But if answers come late, the peers are slow,
 * and more requests at once would make them slower.
 */
static uint64_t youth(const struct ofi_rdm_conn_set *set)
{
	uint64_t window = set->params.window, silent = set->now < set->slow ? 0 : set->silent;

	return set->params.attempt * window / ofi_min(window + HURRY * silent, window * FASTEST);
}

/* Returns how long a state may last without an event, or until the next check. */
static uint64_t conn_patience(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	uint32_t doublings = conn->attempts < 3 ? conn->attempts : 3;

	if (conn->state == OFI_RDM_CONN_DRAINING || conn->state == OFI_RDM_CONN_PARTING)
		return LOOK_MS;
	if (conn->state == OFI_RDM_CONN_CONNECTING)
		return youth(set);
	return (uint64_t)set->params.attempt << doublings;
}

void ofi_rdm_conn_mark_silent(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, bool silent)
{
	set->silent += (uint32_t)silent - conn->silent;
	conn->silent = silent;
}

void ofi_rdm_conn_heard(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (conn->silent)
		set->slow = set->now + set->params.attempt;
	ofi_rdm_conn_mark_silent(set, conn, false);
}

void ofi_rdm_conn_mark(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, bool stranger)
{
	ofi_rdm_conn_stranger_out(set, conn);
	conn->stranger = stranger;
	ofi_rdm_conn_stranger_in(set, conn);
}

static void conn_unqueue(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (conn->queued)
		TAILQ_REMOVE(&set->ready, conn, link);
	set->queued -= conn->queued;
	conn->queued = false;
}

void ofi_rdm_conn_enter(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
			enum ofi_rdm_conn_state state)
{
	enum ofi_rdm_conn_state old = conn->state;

	ofi_rdm_conn_stranger_out(set, conn);
	if (old == OFI_RDM_CONN_UP)
		TAILQ_REMOVE(&set->ups, conn, link);
	else
		conn_unqueue(set, conn);
	if (state == OFI_RDM_CONN_UP && conn->stranger)
		TAILQ_INSERT_HEAD(&set->ups, conn, link);
	else if (state == OFI_RDM_CONN_UP)
		TAILQ_INSERT_TAIL(&set->ups, conn, link);
	set->going -= conn->going;
	conn->going = state >= OFI_RDM_CONN_DRAINING;
	set->going += conn->going;
	set->connecting -= conn->young;
	conn->young = state == OFI_RDM_CONN_CONNECTING;
	set->connecting += conn->young;
	set->open += (uint32_t)ofi_rdm_conn_is_open(state) - (uint32_t)ofi_rdm_conn_is_open(old);
	conn->state = state;
	if (state > OFI_RDM_CONN_CONNECTING)
		ofi_rdm_conn_heard(set, conn);
	else if (state == OFI_RDM_CONN_IDLE)
		ofi_rdm_conn_mark_silent(set, conn, false);
	ofi_rdm_conn_stranger_in(set, conn);
	conn->since = set->now;
	conn->timer = set->now + conn_patience(set, conn);
	conn->agreed = false;
	if (set->params.entered && state != old)
		set->params.entered(conn, old, set->input ? set->input->event : OFI_RDM_CONN_TIME);
}

void ofi_rdm_conn_answered(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_heard(set, conn);
	conn->deadline = set->now + set->params.give_up;
	conn->probe = set->now + set->params.give_up / 2;
	conn->probes = 0;
}

/* Returns the number of unanswered probes after which the host counts as gone. */
static uint32_t probes_enough(const struct ofi_rdm_conn_set *set)
{
	return set->behind ? BEHIND : PROBES;
}

/* Starts the time limit for a probe and its answer. */
static void wait_for_answer(const struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	uint32_t time = set->params.give_up / (2 * PROBES);

	conn->probe = set->now + (time ? time : 1);
	if (conn->deadline < conn->probe && conn->probes <= probes_enough(set))
		conn->deadline = conn->probe;
}

void ofi_rdm_conn_asked(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	conn->probes++;
	wait_for_answer(set, conn);
}

uint64_t ofi_rdm_conn_busy_most(const struct ofi_rdm_conn_set *set)
{
	return (uint64_t)set->params.backoff * 4;
}

/* Returns a random time between half and all of an interval that doubles with each attempt. */
static uint64_t conn_backoff(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn,
			     uint64_t max)
{
	const struct ofi_rdm_conn_params *params = &set->params;
	uint32_t doublings = conn->attempts < 20 ? conn->attempts : 20;
	uint64_t most = (uint64_t)params->backoff << doublings;

	if (most > max)
		most = max;
	return most / 2 + params->random(params->arg) % (most / 2 + 1);
}

/* Returns how many more connections are allowed, and fit in the device as far as is known. */
static uint64_t free_places(const struct ofi_rdm_conn_set *set)
{
	uint64_t cap = set->cap + (set->now - set->full) / GROW_MS;
	uint64_t used = (uint64_t)set->open + set->ending;

	if (used >= cap || set->open >= set->params.cap)
		return 0;
	return ofi_min(cap - used, set->params.cap - set->open);
}

bool ofi_rdm_conn_has_room(const struct ofi_rdm_conn_set *set)
{
	return free_places(set) > 0;
}

void ofi_rdm_conn_full(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	uint32_t used = set->open + set->ending;

	set->cap = used ? used : 1;
	set->full = set->now;
	if (used)
		ofi_rdm_conn_answered(set, conn);
}

/* Returns true if the last place is reserved for a peer that was refused recently. */
static bool must_yield(const struct ofi_rdm_conn_set *set)
{
	return set->now < set->yield && free_places(set) <= 1;
}

/* Sends a request if that is possible now and no other peer has waited longer. */
static void try_connect(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	const struct ofi_rdm_conn *first = TAILQ_FIRST(&set->ready);
	bool room = ofi_rdm_conn_has_room(set);

	if (!room)
		set->action->what |= OFI_RDM_CONN_DO_EVICT;
	if (!room || must_yield(set)) {
		set->cramped = set->now;
		return;
	}
	if (set->connecting >= set->params.window || (first && first != conn))
		return;
	if (set->now >= set->yield)
		set->yield = 0;
	/* The silence of a peer that was asked already goes on, unless there was no room for it. */
	if (conn->queued && (!conn->silent || set->cramped >= conn->since))
		conn->deadline += set->now - conn->since;
	/* Its time ended while it waited for its turn: the request would be dropped at once. */
	if (set->now >= conn->deadline && conn->probes >= probes_enough(set)) {
		ofi_rdm_conn_fail(set, conn, conn->err);
		return;
	}
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_CONNECTING);
	if (conn->probe < conn->deadline - set->params.give_up / 2)
		conn->probe = conn->deadline - set->params.give_up / 2;
	set->serial++;
	set->action->what |= OFI_RDM_CONN_DO_CONNECT;
}

void ofi_rdm_conn_fail(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err)
{
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_IDLE);
	conn->wanted = false;
	conn->attempts = 0;
	set->action->what |= OFI_RDM_CONN_DO_FAIL;
	set->action->err = err;
}

void ofi_rdm_conn_start(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_mark(set, conn, false);
	conn->wanted = true;
	ofi_rdm_conn_answered(set, conn);
	conn->attempts = 0;
	conn->refused = 0;
	conn->err = FI_ETIMEDOUT;
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_WAITING);
	conn->timer = set->now;
	try_connect(set, conn);
}

/* Returns true if we did not run for a long time, so that the peer was not really asked. */
static bool is_late(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	uint64_t due = conn->due.at > conn->since ? conn->due.at : conn->since;

	return set->now > due && set->now - due >= set->params.give_up / (2 * PROBES);
}

/* If we are late, there is time for one attempt more. */
void ofi_rdm_conn_retry_within(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err,
			       uint64_t most)
{
	bool late = is_late(set, conn);

	if (!conn->wanted) {
		ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_IDLE);
		return;
	}
	if (err)
		conn->err = err;
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_WAITING);
	conn->timer = set->now + conn_backoff(set, conn, most);
	conn->attempts++;
	if (late && conn->probes < PROBES && conn->deadline <= conn->timer)
		conn->deadline = conn->timer + 1;
}

void ofi_rdm_conn_retry(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err)
{
	ofi_rdm_conn_retry_within(set, conn, err, set->params.backoff_max);
}

void ofi_rdm_conn_retry_offer(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err)
{
	uint32_t attempts = conn->attempts;

	set->action->what |= OFI_RDM_CONN_DO_ABANDON;
	ofi_rdm_conn_retry(set, conn, err);
	if (set->params.prove)
		conn->attempts = attempts;
}

static uint64_t drain_time(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	return (uint64_t)set->params.drain << (conn->drains < 5 ? conn->drains : 5);
}

/*
 * Resumes the connection. It is not evicted again for as long as it had time to drain, so that
 * queued operations proceed.
 */
void ofi_rdm_conn_resume(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_UP);
	conn->wanted = false;
	conn->used = set->now;
	conn->spared = set->now + drain_time(set, conn);
	conn->drains++;
	set->action->what |= OFI_RDM_CONN_DO_RESUME;
}

/* Returns the time at which the connection's timer expires. */
static uint64_t due_at(const struct ofi_rdm_conn_set *set, const struct ofi_rdm_conn *conn)
{
	uint64_t at = OFI_RDM_DUE_NEVER;

	switch (conn->state) {
	case OFI_RDM_CONN_WAITING:
		if (conn->queued)
			return OFI_RDM_DUE_NEVER;
		return ofi_min(conn->timer, conn->deadline);
	case OFI_RDM_CONN_CONNECTING:
		at = conn->young ? conn->timer : OFI_RDM_DUE_NEVER;
		break;
	case OFI_RDM_CONN_EXPECTING:
		at = conn->timer;
		break;
	case OFI_RDM_CONN_ACCEPTING:
		at = conn->proof;
		break;
	case OFI_RDM_CONN_DRAINING:
	case OFI_RDM_CONN_PARTING:
	case OFI_RDM_CONN_LEFT:
		return conn->timer;
	case OFI_RDM_CONN_LEAVING:
		at = ofi_rdm_conn_stranger_gone_at(set, conn);
		return conn->going ? ofi_min(conn->timer, at) : at;
	default:
		return OFI_RDM_DUE_NEVER;
	}
	return ofi_min(at, ofi_min(conn->probe, conn->deadline));
}

void ofi_rdm_conn_settle(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (conn->state == OFI_RDM_CONN_WAITING && !conn->queued && set->now >= conn->timer) {
		TAILQ_INSERT_TAIL(&set->ready, conn, link);
		conn->queued = true;
		conn->since = set->now;
		set->queued++;
	}
	ofi_rdm_due_set(&set->due, &conn->due, due_at(set, conn));
}

/*
 * Waits for the peer's answer. A probe counts from the moment it is sent and then has its full
 * time, even if the clock has advanced because we did not run: such silence is ours, not the
 * peer's.
 */
static void conn_age(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (conn->state == OFI_RDM_CONN_EXPECTING && set->now >= conn->timer) {
		ofi_rdm_conn_retry(set, conn, FI_ETIMEDOUT);
		return;
	}
	if (conn->young && set->now >= conn->timer) {
		set->connecting--;
		conn->young = false;
		ofi_rdm_conn_mark_silent(set, conn, true);
	}
	if (set->now < conn->probe) {
		/* How many probes are enough has changed: the last one has its time, too. */
		if (conn->deadline < conn->probe)
			conn->deadline = conn->probe;
		return;
	}
	wait_for_answer(set, conn);
	set->action->what |= OFI_RDM_CONN_DO_PROBE;
}

void ofi_rdm_conn_teardown(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn, int err)
{
	ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_IDLE);
	conn->wanted = false;
	set->action->what |= OFI_RDM_CONN_DO_TEARDOWN;
	set->action->err = err;
}

static void conn_look(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (set->now < conn->since + drain_time(set, conn)) {
		conn->timer = set->now + LOOK_MS;
		set->action->what |= OFI_RDM_CONN_DO_LOOK;
		return;
	}
	if (ofi_rdm_conn_stranger_overdue(set, conn)) {
		ofi_rdm_conn_teardown(set, conn, FI_ECONNRESET);
		return;
	}
	if (conn->state == OFI_RDM_CONN_PARTING)
		set->action->what |= OFI_RDM_CONN_DO_REFUSE;
	ofi_rdm_conn_resume(set, conn);
}

/* Ends an attempt whose allowed silence is over. */
static void conn_expire(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	if (ofi_rdm_conn_is_open(conn->state))
		set->action->what |= OFI_RDM_CONN_DO_ABANDON;
	if (ofi_rdm_conn_is_out(conn))
		conn->err = FI_ETIMEDOUT;
	if (conn->wanted)
		ofi_rdm_conn_fail(set, conn, conn->err);
	else
		ofi_rdm_conn_enter(set, conn, OFI_RDM_CONN_IDLE);
}

/* Handles the expired timer of a connection. */
static void conn_pass(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	bool silent = set->now >= conn->deadline;

	switch (conn->state) {
	case OFI_RDM_CONN_DRAINING:
	case OFI_RDM_CONN_PARTING:
		conn_look(set, conn);
		break;
	case OFI_RDM_CONN_LEAVING:
		/* The peer may be stopped; another connection must make room. */
		set->going -= conn->going;
		conn->going = false;
		if (set->now >= ofi_rdm_conn_stranger_gone_at(set, conn))
			ofi_rdm_conn_teardown(set, conn, FI_ECONNRESET);
		break;
	case OFI_RDM_CONN_LEFT:
		ofi_rdm_conn_release(set, conn);
		break;
	case OFI_RDM_CONN_WAITING:
		/*
		 * An attempt that was due earlier is late because we did not run: it is made now.
		 */
		if (silent && conn->timer >= conn->deadline)
			conn_expire(set, conn);
		break;
	default:
		/*
		 * The host of a peer that does not prove itself may answer forever. If operations
		 * are queued we connect ourselves, or they fail.
		 */
		if (conn->state == OFI_RDM_CONN_ACCEPTING && set->now >= conn->proof)
			ofi_rdm_conn_retry_offer(set, conn, FI_EKEYREJECTED);
		else if (silent && conn->probes >= probes_enough(set))
			conn_expire(set, conn);
		else
			conn_age(set, conn);
		break;
	}
}

static struct ofi_rdm_conn *conn_of(struct ofi_rdm_due_node *due)
{
	return ofi_container(due, struct ofi_rdm_conn, due);
}

struct ofi_rdm_conn *ofi_rdm_conn_poll(struct ofi_rdm_conn_set *set,
				       struct ofi_rdm_conn_action *action)
{
	struct ofi_rdm_conn *conn;

	*action = (struct ofi_rdm_conn_action){ 0 };
	set->input = NULL;
	set->action = action;
	while (ofi_rdm_due_next(&set->due) <= set->now) {
		conn = conn_of(ofi_rdm_due_first(&set->due));
		conn_pass(set, conn);
		ofi_rdm_conn_settle(set, conn);
		if (action->what)
			return conn;
	}
	conn = TAILQ_FIRST(&set->ready);
	if (!conn)
		return NULL;
	try_connect(set, conn);
	ofi_rdm_conn_settle(set, conn);
	/* Reporting EVICT once per poll is enough; it is not progress. */
	return action->what & ~(uint32_t)OFI_RDM_CONN_DO_EVICT ? conn : NULL;
}

uint64_t ofi_rdm_conn_next(const struct ofi_rdm_conn_set *set)
{
	uint64_t next = ofi_rdm_due_next(&set->due);

	/* When there is no room, an event resumes the queue, not the time. */
	if (TAILQ_EMPTY(&set->ready) || !ofi_rdm_conn_has_room(set) ||
	    set->connecting >= set->params.window)
		return next;
	if (!must_yield(set))
		return set->now;
	return set->yield < next ? set->yield : next;
}

static void to_the_end(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	TAILQ_REMOVE(&set->ups, conn, link);
	TAILQ_INSERT_TAIL(&set->ups, conn, link);
}

void ofi_rdm_conn_used(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn)
{
	conn->used = set->now;
	conn->unused = false;
	ofi_rdm_conn_stranger_used(set, conn);
	if (conn->state == OFI_RDM_CONN_UP)
		to_the_end(set, conn);
}

struct ofi_rdm_conn *ofi_rdm_conn_victim(struct ofi_rdm_conn_set *set)
{
	struct ofi_rdm_conn *conn;
	int i;

	for (i = 0; i < LOOKS && (conn = TAILQ_FIRST(&set->ups)); i++) {
		if (set->now >= conn->spared)
			return conn;
		to_the_end(set, conn);
	}
	return ofi_rdm_conn_half_open(set);
}
