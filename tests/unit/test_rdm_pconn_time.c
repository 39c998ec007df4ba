/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decisions about connections: how long a peer is waited for, who gets a place. */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/pconn.h"

enum { CONNS = 4, ATTEMPT = 500, GIVE_UP = 3000, DRAIN = 100 };

static struct vrb_pconn_set the_set;
static struct vrb_pconn conns[CONNS];

static uint32_t any32(void *arg)
{
	uint32_t *random = arg;

	return *random = *random * 1664525 + 1013904223;
}

static struct vrb_pconn_action after(struct vrb_pconn *conn, struct vrb_pconn_input input)
{
	struct vrb_pconn_action action;

	vrb_pconn_step(&the_set, conn, &input, &action);
	return action;
}

static void step_event(struct vrb_pconn *conn, enum vrb_pconn_event event)
{
	after(conn, (struct vrb_pconn_input){ .event = event, .incarnation = 5, .idle = true });
}

/* The first of them; one request at a time, two connections. */
static struct vrb_pconn *conn_in(enum vrb_pconn_state state, int order)
{
	static uint32_t random;
	const struct vrb_pconn_params params = {
		.incarnation = 77,
		.window = 1,
		.cap = 2,
		.attempt = ATTEMPT,
		.give_up = GIVE_UP,
		.drain = DRAIN,
		.backoff = 20,
		.backoff_max = 200,
		.random = any32,
		.arg = &random,
	};
	struct vrb_pconn *conn = &conns[0];
	int i;

	vrb_pconn_set_init(&the_set, &params);
	for (i = 0; i < CONNS; i++)
		vrb_pconn_init(&conns[i], order);
	if (state == VRB_PCONN_ACCEPTING)
		after(conn, (struct vrb_pconn_input){
				    .event = VRB_PCONN_REQUEST, .incarnation = 5, .serial = 1 });
	else if (state != VRB_PCONN_IDLE)
		step_event(conn, VRB_PCONN_WANT);
	if (state >= VRB_PCONN_UP)
		step_event(conn, VRB_PCONN_ESTABLISHED);
	if (state == VRB_PCONN_DRAINING)
		after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_EVICT });
	if (state == VRB_PCONN_PARTING)
		after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_BYE });
	if (state == VRB_PCONN_LEAVING)
		step_event(conn, VRB_PCONN_EVICT);
	if (state == VRB_PCONN_LEFT)
		step_event(conn, VRB_PCONN_BYE);
	assert_int_equal(conn->state, state);
	return conn;
}

/* Time that is over is noticed only when the host has been asked in vain. */
static struct vrb_pconn *poll_silent(struct vrb_pconn_action *action)
{
	struct vrb_pconn *conn;

	while (!(conn = vrb_pconn_poll(&the_set, action)) || action->what == VRB_PCONN_DO_KNOCK)
		the_set.now = vrb_pconn_next(&the_set);
	return conn;
}

/* What is under way when a connection is to end does so first; what doesn't in time goes on. */
static void test_drain(void **state)
{
	const struct vrb_pconn_input drained = { .event = VRB_PCONN_DRAINED };
	const struct vrb_pconn_input evict = { .event = VRB_PCONN_EVICT };
	const struct vrb_pconn_input bye = { .event = VRB_PCONN_BYE };
	struct vrb_pconn *conn = conn_in(VRB_PCONN_UP, 1);
	struct vrb_pconn_action action;
	unsigned int looks = 0;
	uint64_t start;

	(void)state;
	assert_int_equal(after(conn, evict).what, VRB_PCONN_DO_HOLD);
	assert_int_equal(after(conn, drained).what, VRB_PCONN_DO_BYE);
	conn = conn_in(VRB_PCONN_PARTING, 1);
	assert_int_equal(after(conn, drained).what, VRB_PCONN_DO_AGREE);
	assert_int_equal(conn->state, VRB_PCONN_LEFT);
	conn = conn_in(VRB_PCONN_DRAINING, 1);
	after(conn, bye);
	assert_int_equal(conn->state, VRB_PCONN_PARTING);
	start = the_set.now;
	for (;;) {
		the_set.now = vrb_pconn_next(&the_set);
		assert_ptr_equal(vrb_pconn_poll(&the_set, &action), conn);
		if (action.what != VRB_PCONN_DO_LOOK)
			break;
		looks++;
	}
	assert_int_equal(action.what, VRB_PCONN_DO_REFUSE | VRB_PCONN_DO_RESUME);
	assert_int_equal(the_set.now - start, DRAIN);
	assert_true(looks > 10);
	/* It has time now, and more the next time. */
	assert_null(vrb_pconn_victim(&the_set));
	the_set.now += DRAIN;
	assert_ptr_equal(vrb_pconn_victim(&the_set), conn);
	after(conn, evict);
	the_set.now += DRAIN;
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, VRB_PCONN_DO_LOOK);
}

/* An attempt lasts while the peer's host is there, however slow the peer; others may begin meanwhile. */
static void test_slow(void **state)
{
	struct vrb_pconn *conn = conn_in(VRB_PCONN_CONNECTING, 1), *next = &conns[1];
	struct vrb_pconn_set *set = &the_set;
	struct vrb_pconn_action action;
	unsigned int knocks = 0;
	uint64_t start = set->now;

	(void)state;
	after(next, (struct vrb_pconn_input){ .event = VRB_PCONN_WANT });
	set->now += ATTEMPT;
	assert_ptr_equal(vrb_pconn_poll(set, &action), next);
	assert_int_equal(action.what, VRB_PCONN_DO_CONNECT);
	after(next, (struct vrb_pconn_input){ .event = VRB_PCONN_ESTABLISHED, .incarnation = 1 });
	while (set->now < start + 20 * GIVE_UP) {
		set->now = vrb_pconn_next(set);
		if (!vrb_pconn_poll(set, &action))
			continue;
		assert_int_equal(action.what, VRB_PCONN_DO_KNOCK);
		knocks++;
		set->now += 3;
		after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_HEARD });
	}
	assert_int_equal(conn->state, VRB_PCONN_CONNECTING);
	assert_true(knocks >= 30 && knocks <= 50);
	assert_int_equal(after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_ESTABLISHED,
							       .incarnation = 2 })
				 .what,
			 VRB_PCONN_DO_UP);
	/* And no longer: several knocks, as one may be lost. */
	conn = conn_in(VRB_PCONN_CONNECTING, 1);
	for (knocks = 0, start = set->now; conn->state != VRB_PCONN_IDLE;) {
		set->now = vrb_pconn_next(set);
		if (vrb_pconn_poll(set, &action))
			knocks += action.what == VRB_PCONN_DO_KNOCK;
	}
	assert_true(knocks >= 3);
	assert_int_equal(set->now - start, GIVE_UP);
	assert_int_equal(action.what, VRB_PCONN_DO_ABANDON | VRB_PCONN_DO_FAIL);
	assert_int_equal(action.err, FI_ETIMEDOUT);
}

/* Neither to wait for room nor to be refused for want of it is silence. */
static void test_room_is_not_silence(void **state)
{
	struct vrb_pconn *conn = conn_in(VRB_PCONN_UP, 1), *third = &conns[2];
	struct vrb_pconn_action action;
	unsigned int i;

	(void)state;
	step_event(&conns[1], VRB_PCONN_WANT);
	step_event(&conns[1], VRB_PCONN_ESTABLISHED);
	step_event(third, VRB_PCONN_WANT);
	for (i = 0; i < 10; i++) {
		the_set.now += GIVE_UP;
		assert_null(vrb_pconn_poll(&the_set, &action));
		assert_int_equal(action.what, VRB_PCONN_DO_EVICT);
	}
	step_event(conn, VRB_PCONN_DISCONNECTED);
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), third);
	assert_int_equal(action.what, VRB_PCONN_DO_CONNECT);
	for (i = 0; i < 10 * GIVE_UP / 40; i++) {
		action = after(third, (struct vrb_pconn_input){ .event = VRB_PCONN_REJECTED,
								.reason = VRB_CMWIRE_BUSY });
		assert_int_equal(action.what, 0);
		while (third->state == VRB_PCONN_WAITING) {
			the_set.now = vrb_pconn_next(&the_set);
			vrb_pconn_poll(&the_set, &action);
		}
		assert_int_equal(action.what, VRB_PCONN_DO_CONNECT);
	}
	/* From now on nothing is heard. */
	the_set.now += GIVE_UP;
	assert_ptr_equal(poll_silent(&action), third);
	assert_true(action.what & VRB_PCONN_DO_FAIL);
}

/* Who was refused gets the next place, who waits here the one after. */
static void test_turns(void **state)
{
	struct vrb_pconn_input request = { .event = VRB_PCONN_REQUEST,
					   .incarnation = 9,
					   .serial = 1 };
	struct vrb_pconn *conn = conn_in(VRB_PCONN_UP, 1), *third = &conns[2];
	struct vrb_pconn *stranger = &conns[3];
	struct vrb_pconn_action action;

	(void)state;
	step_event(&conns[1], VRB_PCONN_WANT);
	step_event(&conns[1], VRB_PCONN_ESTABLISHED);
	step_event(third, VRB_PCONN_WANT);
	action = after(stranger, request);
	assert_int_equal(action.what, VRB_PCONN_DO_REJECT | VRB_PCONN_DO_EVICT);
	assert_int_equal(action.reason, VRB_CMWIRE_BUSY);
	step_event(conn, VRB_PCONN_DISCONNECTED);
	assert_null(vrb_pconn_poll(&the_set, &action));
	assert_int_equal(action.what, 0);
	assert_int_equal(after(stranger, request).what, VRB_PCONN_DO_ACCEPT);
	step_event(stranger, VRB_PCONN_FAILED);
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), third);
	assert_int_equal(action.what, VRB_PCONN_DO_CONNECT);
	/* It does not come: the place is not kept for long. */
	request.serial++;
	after(stranger, request);
	step_event(third, VRB_PCONN_FAILED);
	the_set.now = third->timer;
	assert_null(vrb_pconn_poll(&the_set, &action));
	the_set.now = vrb_pconn_next(&the_set);
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), third);
}

/* Time is over while the other side's request is awaited; what was accepted has longer than an attempt. */
static void test_late(void **state)
{
	struct vrb_pconn *conn = conn_in(VRB_PCONN_CONNECTING, 1);
	struct vrb_pconn_action action;

	(void)state;
	after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_REJECTED,
					      .reason = VRB_CMWIRE_CROSSING });
	conn->timer = the_set.now + 2 * GIVE_UP;
	the_set.now += GIVE_UP;
	assert_ptr_equal(poll_silent(&action), conn);
	assert_int_equal(action.what, VRB_PCONN_DO_FAIL);
	assert_int_equal(action.err, FI_ETIMEDOUT);
	conn = conn_in(VRB_PCONN_ACCEPTING, 1);
	the_set.now += ATTEMPT;
	assert_null(vrb_pconn_poll(&the_set, &action));
	the_set.now += GIVE_UP;
	assert_ptr_equal(poll_silent(&action), conn);
	assert_int_equal(action.what, VRB_PCONN_DO_ABANDON);
	assert_int_equal(conn->state, VRB_PCONN_IDLE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_room_is_not_silence),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_late),
	};

	return cmocka_run_group_tests_name("rdm_pconn_time", tests, NULL, NULL);
}
