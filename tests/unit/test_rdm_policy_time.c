/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decisions about connections: how long a peer is waited for, and who gets a place. */
#include "unit.h"

#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/policy_int.h"
#include "policy_rig.h"

/* Time that is over is noticed only when the host has been asked in vain. */
static struct ofi_rdm_conn *poll_silent(struct ofi_rdm_conn_action *action)
{
	struct ofi_rdm_conn *conn;

	while (!(conn = ofi_rdm_conn_poll(&the_set, action)) ||
	       action->what == OFI_RDM_CONN_DO_PROBE)
		if (conn)
			after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED });
		else
			the_set.now = ofi_rdm_conn_next(&the_set);
	return conn;
}

/* What is under way when a connection is to end does so first; what doesn't in time goes on. */
static void test_drain(void **state)
{
	const struct ofi_rdm_conn_input drained = { .event = OFI_RDM_CONN_DRAINED };
	const struct ofi_rdm_conn_input evict = { .event = OFI_RDM_CONN_EVICT };
	const struct ofi_rdm_conn_input bye = { .event = OFI_RDM_CONN_BYE };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_UP, 1);
	struct ofi_rdm_conn_action action;
	unsigned int looks = 0;
	uint64_t start;

	(void)state;
	assert_int_equal(after(conn, evict).what, OFI_RDM_CONN_DO_HOLD);
	assert_int_equal(after(conn, drained).what, OFI_RDM_CONN_DO_BYE);
	conn = conn_in(OFI_RDM_CONN_PARTING, 1);
	assert_int_equal(after(conn, drained).what, OFI_RDM_CONN_DO_AGREE);
	assert_int_equal(conn->state, OFI_RDM_CONN_LEFT);
	conn = conn_in(OFI_RDM_CONN_DRAINING, 1);
	after(conn, bye);
	assert_int_equal(conn->state, OFI_RDM_CONN_PARTING);
	start = the_set.now;
	for (;;) {
		the_set.now = ofi_rdm_conn_next(&the_set);
		assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), conn);
		if (action.what != OFI_RDM_CONN_DO_LOOK)
			break;
		looks++;
	}
	assert_int_equal(action.what, OFI_RDM_CONN_DO_REFUSE | OFI_RDM_CONN_DO_RESUME);
	assert_int_equal(the_set.now - start, DRAIN);
	assert_true(looks > 10);
	/* It has time now, and more the next time. */
	assert_null(ofi_rdm_conn_victim(&the_set));
	the_set.now += DRAIN;
	assert_ptr_equal(ofi_rdm_conn_victim(&the_set), conn);
	after(conn, evict);
	the_set.now += DRAIN;
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_LOOK);
}

/* Whoever makes room counts what is about to end, so that no more connections end than have to. */
static void test_going(void **state)
{
	static const enum ofi_rdm_conn_state states[] = { OFI_RDM_CONN_DRAINING,
							  OFI_RDM_CONN_PARTING,
							  OFI_RDM_CONN_LEAVING, OFI_RDM_CONN_LEFT };
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		conn = conn_in(states[i], 1);
		assert_int_equal(the_set.going, 1);
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED });
		assert_int_equal(the_set.going, 0);
	}
	/* A peer that does not answer frees nothing: another connection has to end. */
	conn = conn_in(OFI_RDM_CONN_LEAVING, 1);
	the_set.now = conn->timer;
	ofi_rdm_conn_poll(&the_set, &action);
	assert_int_equal(conn->state, OFI_RDM_CONN_LEAVING);
	assert_int_equal(the_set.going, 0);
}

/*
 * An attempt lasts while the peer's host exists, however slow the peer is; other attempts may begin
 * meanwhile.
 */
static void test_slow(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1), *next = &conns[1];
	struct ofi_rdm_conn_set *set = &the_set;
	struct ofi_rdm_conn_action action;
	unsigned int probes = 0;
	uint64_t start = set->now;

	(void)state;
	after(next, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
	set->now += ATTEMPT;
	assert_ptr_equal(ofi_rdm_conn_poll(set, &action), next);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	after(next,
	      (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED, .incarnation = 1 });
	while (set->now < start + 20 * GIVE_UP) {
		set->now = ofi_rdm_conn_next(set);
		if (!ofi_rdm_conn_poll(set, &action))
			continue;
		assert_int_equal(action.what, OFI_RDM_CONN_DO_PROBE);
		probes++;
		set->now += 3;
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ANSWERED });
	}
	assert_int_equal(conn->state, OFI_RDM_CONN_CONNECTING);
	assert_true(probes >= 30 && probes <= 50);
	assert_int_equal(after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED,
								  .incarnation = 2 })
				 .what,
			 OFI_RDM_CONN_DO_UP);
	/* And no longer: several probes, as one may be lost. */
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	for (probes = 0, start = set->now; conn->state != OFI_RDM_CONN_IDLE;) {
		set->now = ofi_rdm_conn_next(set);
		if (!ofi_rdm_conn_poll(set, &action) || action.what != OFI_RDM_CONN_DO_PROBE)
			continue;
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED });
		probes++;
	}
	assert_true(probes >= 3);
	assert_int_equal(set->now - start, GIVE_UP);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_ABANDON | OFI_RDM_CONN_DO_FAIL);
	assert_int_equal(action.err, FI_ETIMEDOUT);
}

/* Neither to wait for room nor to be refused for want of it is silence. */
static void test_room_is_not_silence(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_UP, 1), *third = &conns[2];
	struct ofi_rdm_conn_action action;
	unsigned int i;

	(void)state;
	step_event(&conns[1], OFI_RDM_CONN_WANT);
	step_event(&conns[1], OFI_RDM_CONN_ESTABLISHED);
	step_event(third, OFI_RDM_CONN_WANT);
	for (i = 0; i < 10; i++) {
		the_set.now += GIVE_UP;
		assert_null(ofi_rdm_conn_poll(&the_set, &action));
		assert_int_equal(action.what, OFI_RDM_CONN_DO_EVICT);
	}
	step_event(conn, OFI_RDM_CONN_DISCONNECTED);
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), third);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	for (i = 0; i < 10 * GIVE_UP / 40; i++) {
		action = after(third, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
								   .reason = OFI_RDM_CMWIRE_BUSY });
		assert_int_equal(action.what, 0);
		while (third->state == OFI_RDM_CONN_WAITING) {
			the_set.now = ofi_rdm_conn_next(&the_set);
			ofi_rdm_conn_poll(&the_set, &action);
		}
		assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	}
	/* From now on nothing is heard. */
	the_set.now += GIVE_UP;
	assert_ptr_equal(poll_silent(&action), third);
	assert_true(action.what & OFI_RDM_CONN_DO_FAIL);
}

enum wait { TURN, ROOM, RESERVED }; /* RESERVED: there is room, but for another peer */

/* Returns by how much the deadline of a peer moves that waits for 50 ms after it failed. */
static uint64_t deadline_moves(int err, enum wait wait)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	uint64_t deadline = conn->deadline;
	struct ofi_rdm_conn_action action;
	int i;

	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED, .err = err });
	for (i = 1; i <= (wait == ROOM ? 2 : 1); i++) {
		step_event(&conns[i], OFI_RDM_CONN_WANT);
		if (wait != TURN)
			step_event(&conns[i], OFI_RDM_CONN_ESTABLISHED);
	}
	the_set.now = conn->timer;
	the_set.yield = wait == RESERVED ? the_set.now + 50 : 0;
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	the_set.now += 50;
	if (wait != RESERVED)
		step_event(&conns[1],
			   wait == TURN ? OFI_RDM_CONN_ESTABLISHED : OFI_RDM_CONN_DISCONNECTED);
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	return conn->deadline - deadline;
}

/* A peer that did not answer is silent while it waits for other requests, but not for room. */
static void test_turn_is_silence(void **state)
{
	(void)state;
	assert_int_equal(deadline_moves(FI_EHOSTUNREACH, TURN), 0);
	assert_int_equal(deadline_moves(FI_ECONNREFUSED, TURN), 50);
	assert_int_equal(deadline_moves(FI_EHOSTUNREACH, ROOM), 50);
	assert_int_equal(deadline_moves(FI_ECONNREFUSED, ROOM), 50);
	assert_int_equal(deadline_moves(FI_EHOSTUNREACH, RESERVED), 50);
	assert_int_equal(deadline_moves(FI_ECONNREFUSED, RESERVED), 50);
}

/* A silent peer whose time ends while it waits for its turn is not asked once more. */
static void test_turn_too_late(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	struct ofi_rdm_conn_action action;

	(void)state;
	while (conn->probes < 4) {
		the_set.now = ofi_rdm_conn_next(&the_set);
		if (ofi_rdm_conn_poll(&the_set, &action))
			after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED });
	}
	after(conn,
	      (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED, .err = FI_EHOSTUNREACH });
	step_event(&conns[1], OFI_RDM_CONN_WANT);
	the_set.now = conn->timer;
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	assert_true(conn->queued && the_set.now < conn->deadline);
	the_set.now = conn->deadline;
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_FAIL);
	assert_int_equal(action.err, FI_EHOSTUNREACH);
}

/* An answer that comes late shows that the peer is slow, also if it refuses. */
static void test_late_refusal(void **state)
{
	const struct ofi_rdm_conn_input refusals[] = {
		{ .event = OFI_RDM_CONN_REJECTED, .reason = OFI_RDM_CMWIRE_CROSSING },
		{ .event = OFI_RDM_CONN_REJECTED, .reason = OFI_RDM_CMWIRE_BUSY },
		{ .event = OFI_RDM_CONN_REJECTED, .reason = OFI_RDM_CMWIRE_STALE },
		{ .event = OFI_RDM_CONN_FAILED, .err = FI_ECONNREFUSED },
	};
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
		conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
		the_set.now = conn->timer;
		ofi_rdm_conn_poll(&the_set, &action);
		assert_int_equal(the_set.silent, 1);
		after(conn, refusals[i]);
		assert_int_equal(the_set.silent, 0);
		assert_true(the_set.slow > the_set.now);
	}
}

/* A shortage on this side says nothing about the peer, which remains what it was. */
static void test_own_shortage(void **state)
{
	const struct ofi_rdm_conn_input shortage = { .event = OFI_RDM_CONN_FAILED,
						     .own = true,
						     .err = FI_ENOMEM };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	struct ofi_rdm_conn_action action;

	(void)state;
	after(conn, shortage);
	assert_int_equal(the_set.silent, 0);
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	the_set.now = conn->timer;
	ofi_rdm_conn_poll(&the_set, &action);
	after(conn, shortage);
	assert_int_equal(the_set.silent, 1);
	assert_int_equal(the_set.slow, 0);
}

/* Who was refused gets the next place, who waits here the one after. */
static void test_turns(void **state)
{
	struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST,
					      .incarnation = 9,
					      .serial = 1 };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_UP, 1), *third = &conns[2];
	struct ofi_rdm_conn *stranger = &conns[3];
	struct ofi_rdm_conn_action action;

	(void)state;
	step_event(&conns[1], OFI_RDM_CONN_WANT);
	step_event(&conns[1], OFI_RDM_CONN_ESTABLISHED);
	step_event(third, OFI_RDM_CONN_WANT);
	action = after(stranger, request);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_REJECT | OFI_RDM_CONN_DO_EVICT);
	assert_int_equal(action.reason, OFI_RDM_CMWIRE_BUSY);
	step_event(conn, OFI_RDM_CONN_DISCONNECTED);
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	assert_int_equal(action.what, 0);
	assert_int_equal(after(stranger, request).what, OFI_RDM_CONN_DO_ACCEPT);
	step_event(stranger, OFI_RDM_CONN_FAILED);
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), third);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	/* It does not come: the place is not kept for long. */
	request.serial++;
	after(stranger, request);
	step_event(third, OFI_RDM_CONN_FAILED);
	the_set.now = third->timer;
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	the_set.now = ofi_rdm_conn_next(&the_set);
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), third);
}

/*
 * The time limit while the other side's request is expected; an accepted connection has longer than
 * an attempt.
 */
static void test_late(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	struct ofi_rdm_conn_action action;

	(void)state;
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
						 .reason = OFI_RDM_CMWIRE_CROSSING });
	conn->timer = the_set.now + 2 * GIVE_UP;
	the_set.now += GIVE_UP;
	assert_ptr_equal(poll_silent(&action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_FAIL);
	assert_int_equal(action.err, FI_ETIMEDOUT);
	conn = conn_in(OFI_RDM_CONN_ACCEPTING, 1);
	the_set.now += ATTEMPT;
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	the_set.now += GIVE_UP;
	assert_ptr_equal(poll_silent(&action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_ABANDON);
	assert_int_equal(conn->state, OFI_RDM_CONN_IDLE);
}

/* This process did not run for long: the peer, which was not asked, gets an attempt. */
static void test_own_silence(void **state)
{
	static const struct ofi_rdm_conn_input lose[] = {
		{ .event = OFI_RDM_CONN_REJECTED, .reason = OFI_RDM_CMWIRE_CROSSING },
		{ .event = OFI_RDM_CONN_REJECTED, .reason = OFI_RDM_CMWIRE_BUSY },
		{ .event = OFI_RDM_CONN_REJECTED, .reason = OFI_RDM_CMWIRE_RESOURCES },
		{ .event = OFI_RDM_CONN_FAILED, .err = FI_ECONNREFUSED },
	};
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	uint64_t late;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lose) / sizeof(lose[0]); i++) {
		conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
		after(conn, lose[i]);
		the_set.now += 3 * GIVE_UP;
		assert_ptr_equal(poll_silent(&action), conn);
		assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
		/* Its answer may be read before the timers are looked at. */
		for (late = GIVE_UP - 1; late < 4 * GIVE_UP; late += GIVE_UP) {
			conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
			the_set.now += late;
			after(conn, lose[i]);
			assert_ptr_equal(poll_silent(&action), conn);
			assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
		}
	}
	/* It was refused before the time was over, and is again. */
	after(conn, lose[3]);
	assert_ptr_equal(poll_silent(&action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_FAIL);
	assert_int_equal(action.err, FI_ECONNREFUSED);
	/* It asks for a connection, and gives up before we come to accept it. */
	conn = conn_in(OFI_RDM_CONN_ACCEPTING, 1);
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
	the_set.now += 3 * GIVE_UP;
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED });
	assert_ptr_equal(poll_silent(&action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
}

/* Probes until its end, each of which is asked; how many they were. */
static unsigned int probe_until_idle(const struct ofi_rdm_conn *conn)
{
	struct ofi_rdm_conn_action action;
	unsigned int probes = 0;

	while (conn->state != OFI_RDM_CONN_IDLE) {
		the_set.now = ofi_rdm_conn_next(&the_set);
		if (!ofi_rdm_conn_poll(&the_set, &action) || action.what != OFI_RDM_CONN_DO_PROBE)
			continue;
		after(&conns[0], (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED });
		probes++;
	}
	return probes;
}

/* A question that has not left the host, or whose answer nobody has read, is not in vain. */
static void test_behind(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	struct ofi_rdm_conn_action action;
	uint64_t start = the_set.now;
	unsigned int probes;

	(void)state;
	while (the_set.now < start + 5 * GIVE_UP) {
		the_set.now = ofi_rdm_conn_next(&the_set);
		if (ofi_rdm_conn_poll(&the_set, &action))
			assert_int_equal(action.what, OFI_RDM_CONN_DO_PROBE);
	}
	start = the_set.now;
	probes = probe_until_idle(conn);
	assert_true(probes >= 3 && probes <= 5);
	assert_in_range(the_set.now - start, GIVE_UP / 3, GIVE_UP);
	/* Who floods us with events does not keep a dead peer alive. */
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	the_set.behind = true;
	assert_true(probe_until_idle(conn) > 2 * probes);
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	the_set.behind = false;
	assert_true(probe_until_idle(conn) <= probes);
}

/* A late tick finds a probe that was not granted its time when enough had been sent. */
static void test_behind_again(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	struct ofi_rdm_conn_action action;
	int i;

	(void)state;
	the_set.behind = true;
	for (i = 0; i < 9; i++)
		ofi_rdm_conn_asked(&the_set, conn);
	the_set.now = conn->deadline - 1;
	the_set.behind = false;
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED });
	assert_true(conn->deadline < conn->probe);
	the_set.now = conn->deadline;
	the_set.behind = true;
	alarm(10); /* it would not return */
	while (ofi_rdm_conn_poll(&the_set, &action))
		assert_int_equal(conn->state, OFI_RDM_CONN_CONNECTING);
	alarm(0);
	assert_int_equal(ofi_rdm_conn_next(&the_set), conn->probe);
	the_set.behind = false;
}

static const struct ofi_rdm_conn_input full = {
	.event = OFI_RDM_CONN_FAILED,
	.full = true,
	.err = FI_ENOMEM,
};

/* Waits for a second attempt, which has no room for as long as the first connection lasts. */
static void expect_eviction(struct ofi_rdm_conn *conn)
{
	struct ofi_rdm_conn_action action;

	assert_int_equal(conn->state, OFI_RDM_CONN_WAITING);
	the_set.now = conn->timer;
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	assert_int_equal(action.what, OFI_RDM_CONN_DO_EVICT);
}

/* A device without room for the connections that are allowed has as many as it has room for. */
static void test_full(void **state)
{
	struct ofi_rdm_conn *first = conn_in(OFI_RDM_CONN_UP, 1), *second = &conns[1];
	struct ofi_rdm_conn_action action;
	int i;

	(void)state;
	step_event(second, OFI_RDM_CONN_WANT);
	for (i = 0; i < 20; i++) {
		assert_int_equal(second->state, OFI_RDM_CONN_CONNECTING);
		after(second, full);
		expect_eviction(second);
		/* Another one is tried once a second; operations wait as long as necessary. */
		the_set.now = the_set.full + 999;
		assert_null(ofi_rdm_conn_poll(&the_set, &action));
		the_set.now++;
		assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), second);
		assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	}
	after(second, full);
	expect_eviction(second);
	step_event(first, OFI_RDM_CONN_DISCONNECTED);
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), second);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	step_event(second, OFI_RDM_CONN_ESTABLISHED);
	/* There are never more than are allowed. */
	the_set.now += 60000;
	step_event(first, OFI_RDM_CONN_WANT);
	step_event(first, OFI_RDM_CONN_ESTABLISHED);
	assert_int_equal(first->state, OFI_RDM_CONN_UP);
	step_event(&conns[2], OFI_RDM_CONN_WANT);
	assert_int_equal(conns[2].state, OFI_RDM_CONN_WAITING);
}

/* A peer that could not be accepted gets the place of another one when it asks again. */
static void test_full_accepts(void **state)
{
	const struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST,
						    .incarnation = 5 };
	struct ofi_rdm_conn_action action;

	(void)state;
	conn_in(OFI_RDM_CONN_UP, 1);
	assert_int_equal(after(&conns[1], request).what, OFI_RDM_CONN_DO_ACCEPT);
	assert_int_equal(after(&conns[1], full).what, OFI_RDM_CONN_DO_ABANDON);
	the_set.now += 20;
	conns[1].fresh = 0;
	action = after(&conns[1], request);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_REJECT | OFI_RDM_CONN_DO_EVICT);
	assert_int_equal(action.reason, OFI_RDM_CMWIRE_BUSY);
}

/* Operations fail if there is no other connection that could end. */
static void test_full_of_others(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	uint64_t start = the_set.now;
	struct ofi_rdm_conn_action action = { 0 };

	(void)state;
	while (conn->state != OFI_RDM_CONN_IDLE) {
		if (conn->state == OFI_RDM_CONN_CONNECTING)
			after(conn, full);
		the_set.now = ofi_rdm_conn_next(&the_set);
		ofi_rdm_conn_poll(&the_set, &action);
	}
	assert_in_range(the_set.now - start, GIVE_UP / 2, GIVE_UP + 200);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_FAIL);
	assert_int_equal(action.err, FI_ENOMEM);
	/* A connection to ourselves needs two places. */
	conn_in(OFI_RDM_CONN_UP, 0);
	step_event(&conns[1], OFI_RDM_CONN_WANT);
	after(&conns[1], (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
						      .reason = OFI_RDM_CMWIRE_RESOURCES });
	expect_eviction(&conns[1]);
}

/* A peer that lacks resources is waited for, and it is known for how long. */
static void test_refused(void **state)
{
	const struct ofi_rdm_conn_input refuse = { .event = OFI_RDM_CONN_REJECTED,
						   .reason = OFI_RDM_CMWIRE_RESOURCES };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	struct ofi_rdm_conn_action action;
	uint64_t start = the_set.now = 100;

	(void)state;
	assert_int_equal(conn->refused, 0);
	while (the_set.now < start + 3 * GIVE_UP) {
		if (conn->state == OFI_RDM_CONN_CONNECTING)
			after(conn, refuse);
		the_set.now = ofi_rdm_conn_next(&the_set);
		ofi_rdm_conn_poll(&the_set, &action);
	}
	assert_int_equal(conn->refused, start);
	while (conn->state != OFI_RDM_CONN_CONNECTING) {
		assert_int_equal(conn->state, OFI_RDM_CONN_WAITING);
		the_set.now = ofi_rdm_conn_next(&the_set);
		ofi_rdm_conn_poll(&the_set, &action);
	}
	step_event(conn, OFI_RDM_CONN_ESTABLISHED);
	assert_int_equal(conn->refused, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_going),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_room_is_not_silence),
		cmocka_unit_test(test_turn_is_silence),
		cmocka_unit_test(test_turn_too_late),
		cmocka_unit_test(test_late_refusal),
		cmocka_unit_test(test_own_shortage),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_own_silence),
		cmocka_unit_test(test_behind),
		cmocka_unit_test(test_behind_again),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_full_accepts),
		cmocka_unit_test(test_full_of_others),
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests_name("rdm_policy_time", tests, NULL, NULL);
}
