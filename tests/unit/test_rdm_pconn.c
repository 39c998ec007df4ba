/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decisions about connections, one by one. */
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

static void test_crossing(void **state)
{
	const struct vrb_pconn_input request = { .event = VRB_PCONN_REQUEST,
						 .incarnation = 9,
						 .serial = 1 };
	struct vrb_pconn_input own = request;
	struct vrb_pconn *conn;

	(void)state;
	conn = conn_in(VRB_PCONN_CONNECTING, -1);
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_CROSSING);
	assert_int_equal(conn->state, VRB_PCONN_CONNECTING);
	conn = conn_in(VRB_PCONN_CONNECTING, 1);
	assert_int_equal(after(conn, request).what, VRB_PCONN_DO_ABANDON | VRB_PCONN_DO_ACCEPT);
	assert_int_equal(conn->state, VRB_PCONN_ACCEPTING);
	conn = conn_in(VRB_PCONN_CONNECTING, 0);
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_IN_USE);
	own.incarnation = the_set.params.incarnation;
	assert_int_equal(after(conn, own).what, VRB_PCONN_DO_ACCEPT);
	assert_int_equal(conn->state, VRB_PCONN_CONNECTING);
	conn = conn_in(VRB_PCONN_IDLE, 0);
	assert_int_equal(after(conn, own).reason, VRB_CMWIRE_IN_USE);
	assert_int_equal(conn->state, VRB_PCONN_IDLE);
	/* Who says that its own request is out means that one and no other. */
	conn = conn_in(VRB_PCONN_CONNECTING, 1);
	after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_REJECTED,
					      .reason = VRB_CMWIRE_CROSSING,
					      .incarnation = 8 });
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_BUSY);
	own.incarnation = 8;
	assert_int_equal(after(conn, own).what, VRB_PCONN_DO_ACCEPT);
}

/* A request under the name of a peer that is connected: the peer is asked, and stays if it answers. */
static void test_replace(void **state)
{
	static const enum vrb_pconn_state states[] = { VRB_PCONN_UP, VRB_PCONN_LEAVING };
	static const uint64_t incarnations[] = { 6, 5 };
	struct vrb_pconn_input request = { .event = VRB_PCONN_REQUEST, .serial = 9 };
	const uint32_t ask = VRB_PCONN_DO_REJECT | VRB_PCONN_DO_ASK;
	struct vrb_pconn_action action;
	struct vrb_pconn *conn;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		conn = conn_in(states[i & 1], 1);
		request.incarnation = incarnations[i / 2];
		action = after(conn, request);
		assert_true(action.what == ask && action.reason == VRB_CMWIRE_BUSY);
		assert_int_equal(after(conn, request).what, ask);
		after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_ALIVE });
		action = after(conn, request);
		assert_int_equal(action.what, VRB_PCONN_DO_REJECT);
		assert_int_equal(action.reason, VRB_CMWIRE_IN_USE);
		the_set.now += 1000;
		assert_int_equal(after(conn, request).what, ask);
		assert_int_equal(conn->state, states[i & 1]);
		action = after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_FAILED });
		assert_int_equal(action.what, VRB_PCONN_DO_TEARDOWN);
		assert_int_equal(after(conn, request).what, VRB_PCONN_DO_ACCEPT);
	}
}

/* Numbers that were seen on the wire don't shut the peer out. */
static void test_incarnations(void **state)
{
	struct vrb_pconn_input request = { .event = VRB_PCONN_REQUEST,
					   .incarnation = 6,
					   .serial = 1 };
	const struct vrb_pconn_input gone = { .event = VRB_PCONN_DISCONNECTED };
	struct vrb_pconn *conn = conn_in(VRB_PCONN_UP, 1);

	(void)state;
	assert_int_equal(after(conn, gone).err, FI_ECONNRESET);
	assert_int_equal(after(conn, request).what, VRB_PCONN_DO_ACCEPT);
	after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_ESTABLISHED });
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_STALE);
	assert_true(conn->known == 6 && conn->past == 5);
	request.incarnation = 5;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_STALE);
	assert_int_equal(conn->state, VRB_PCONN_UP);
	request.incarnation = 6;
	request.serial = 2;
	request.expected = the_set.params.incarnation + 1;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_STALE);
	request.expected--;
	after(conn, gone);
	request.serial = 1;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_STALE);
	the_set.now += 10000;
	assert_int_equal(after(conn, request).what, VRB_PCONN_DO_ACCEPT);
	conn = conn_in(VRB_PCONN_UP, 1);
	after(conn, gone);
	conn->past = 6;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_STALE);
	the_set.now += 10000;
	assert_int_equal(after(conn, request).what, VRB_PCONN_DO_ACCEPT);
}

/* What was accepted has time to come, also when another one wants its place. */
static void test_again(void **state)
{
	struct vrb_pconn_input request = { .event = VRB_PCONN_REQUEST,
					   .incarnation = 5,
					   .serial = 2 };
	const uint32_t replace = VRB_PCONN_DO_ABANDON | VRB_PCONN_DO_ACCEPT;
	struct vrb_pconn *conn = conn_in(VRB_PCONN_ACCEPTING, 1);

	(void)state;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_BUSY);
	the_set.now += ATTEMPT;
	assert_int_equal(after(conn, request).what, replace);
	request.incarnation = 6;
	the_set.now += ATTEMPT;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_BUSY);
	the_set.now += 2 * ATTEMPT;
	assert_int_equal(after(conn, request).what, replace);
}

static void test_rejects(void **state)
{
	static const struct {
		uint8_t reason;
		int err; /* 0: tried again */
		enum vrb_pconn_state next;
	} cases[] = {
		{ VRB_CMWIRE_VERSION, FI_ENOPROTOOPT, VRB_PCONN_IDLE },
		{ VRB_CMWIRE_MALFORMED, FI_ECONNREFUSED, VRB_PCONN_IDLE },
		{ 200, FI_ECONNREFUSED, VRB_PCONN_IDLE },
		{ VRB_CMWIRE_SOURCE, FI_EACCES, VRB_PCONN_IDLE },
		{ VRB_CMWIRE_LONELY, FI_EKEYREJECTED, VRB_PCONN_IDLE },
		{ VRB_CMWIRE_SECRETS, FI_EKEYREJECTED, VRB_PCONN_IDLE },
		{ VRB_CMWIRE_BUSY, 0, VRB_PCONN_WAITING },
		{ VRB_CMWIRE_RESOURCES, 0, VRB_PCONN_WAITING },
		{ VRB_CMWIRE_CLOSING, 0, VRB_PCONN_WAITING },
		{ VRB_CMWIRE_IN_USE, 0, VRB_PCONN_WAITING },
		{ VRB_CMWIRE_UNKNOWN, 0, VRB_PCONN_WAITING },
		{ VRB_CMWIRE_STALE, 0, VRB_PCONN_WAITING },
		{ VRB_CMWIRE_CROSSING, 0, VRB_PCONN_EXPECTING },
	};
	struct vrb_pconn_action action;
	struct vrb_pconn *conn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn = conn_in(VRB_PCONN_CONNECTING, 1);
		action = after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_REJECTED,
							       .reason = cases[i].reason });
		assert_int_equal(action.err, cases[i].err);
		assert_int_equal(!!(action.what & VRB_PCONN_DO_FAIL), !!cases[i].err);
		assert_int_equal(conn->state, cases[i].next);
	}
}

/* A peer that never answers: tries that are further and further apart, and the end. */
static void test_give_up(void **state)
{
	struct vrb_pconn *conn = conn_in(VRB_PCONN_CONNECTING, 1), *due;
	struct vrb_pconn_set *set = &the_set;
	uint64_t start = set->now, last = start, gap, longest = 0;
	struct vrb_pconn_action action;
	int tries = 1;

	(void)state;
	after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_FAILED, .err = FI_EHOSTUNREACH });
	while (conn->state != VRB_PCONN_IDLE) {
		set->now = vrb_pconn_next(set);
		due = vrb_pconn_poll(set, &action);
		assert_ptr_equal(due, conn);
		if (!(action.what & VRB_PCONN_DO_CONNECT))
			continue;
		tries++;
		gap = set->now - last;
		last = set->now;
		longest = gap > longest ? gap : longest;
		after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_FAILED,
						      .err = FI_EHOSTUNREACH });
	}
	assert_int_equal(set->now - start, GIVE_UP);
	assert_int_equal(action.err, FI_EHOSTUNREACH);
	assert_true(action.what & VRB_PCONN_DO_FAIL);
	assert_true(longest >= 100 && longest <= 200);
	assert_true(tries > GIVE_UP / 200 && tries < GIVE_UP / 100 + 8);
	assert_int_equal(set->open + set->connecting, 0);
}

static void test_window_and_cap(void **state)
{
	struct vrb_pconn *conn = conn_in(VRB_PCONN_CONNECTING, 1), *next = &conns[1];
	struct vrb_pconn *third = &conns[2];
	const struct vrb_pconn_input want_it = { .event = VRB_PCONN_WANT };
	struct vrb_pconn_action action;

	(void)state;
	assert_int_equal(after(next, want_it).what, 0);
	assert_int_equal(next->state, VRB_PCONN_WAITING);
	assert_null(vrb_pconn_poll(&the_set, &action));
	the_set.now += 7;
	after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_ESTABLISHED, .incarnation = 1 });
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), next);
	assert_int_equal(action.what, VRB_PCONN_DO_CONNECT);
	the_set.now += 7;
	after(next, (struct vrb_pconn_input){ .event = VRB_PCONN_ESTABLISHED, .incarnation = 2 });
	assert_int_equal(after(third, want_it).what, VRB_PCONN_DO_EVICT);
	/* They have just come up. */
	assert_null(vrb_pconn_victim(&the_set));
	the_set.now += 100;
	assert_ptr_equal(vrb_pconn_victim(&the_set), conn);
	vrb_pconn_used(&the_set, conn);
	assert_ptr_equal(vrb_pconn_victim(&the_set), next);
	assert_int_equal(
		after(next, (struct vrb_pconn_input){ .event = VRB_PCONN_EVICT, .idle = true })
			.what,
		VRB_PCONN_DO_HOLD | VRB_PCONN_DO_BYE);
	assert_int_equal(after(next, (struct vrb_pconn_input){ .event = VRB_PCONN_AGREED }).what,
			 VRB_PCONN_DO_RELEASE);
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), third);
	assert_int_equal(action.what, VRB_PCONN_DO_CONNECT);
}

static void test_bye(void **state)
{
	struct vrb_pconn_input bye = { .event = VRB_PCONN_BYE };
	struct vrb_pconn *conn = conn_in(VRB_PCONN_UP, 1);
	struct vrb_pconn_action action;

	(void)state;
	bye.idle = true;
	assert_int_equal(after(conn, bye).what, VRB_PCONN_DO_HOLD | VRB_PCONN_DO_AGREE);
	after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_WANT });
	action = after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_DISCONNECTED });
	assert_int_equal(action.what, VRB_PCONN_DO_RELEASE | VRB_PCONN_DO_CONNECT);
	conn = conn_in(VRB_PCONN_LEAVING, 1);
	assert_int_equal(after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_REFUSED }).what,
			 VRB_PCONN_DO_RESUME);
	/* It is connected: a peer that is stopped answers when it goes on. */
	conn = conn_in(VRB_PCONN_LEAVING, 1);
	after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_WANT });
	the_set.now += 10 * GIVE_UP;
	assert_null(vrb_pconn_poll(&the_set, &action));
	assert_int_equal(after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_AGREED }).what,
			 VRB_PCONN_DO_RELEASE | VRB_PCONN_DO_CONNECT);
	conn = conn_in(VRB_PCONN_ACCEPTING, 1);
	assert_int_equal(after(conn, bye).what, VRB_PCONN_DO_UP | VRB_PCONN_DO_REFUSE);
	conn = conn_in(VRB_PCONN_LEFT, 1);
	the_set.now += ATTEMPT;
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, VRB_PCONN_DO_RELEASE);
}

/* Both say BYE: whose answer is lost with the connection does not matter. */
static void test_bye_both(void **state)
{
	const struct vrb_pconn_input bye = { .event = VRB_PCONN_BYE };
	const struct vrb_pconn_input gone = { .event = VRB_PCONN_DISCONNECTED };
	struct vrb_pconn *conn = conn_in(VRB_PCONN_LEAVING, 1);

	(void)state;
	assert_int_equal(after(conn, bye).what, VRB_PCONN_DO_AGREE);
	assert_int_equal(after(conn, gone).what, VRB_PCONN_DO_RELEASE);
	step_event(conn, VRB_PCONN_WANT);
	step_event(conn, VRB_PCONN_ESTABLISHED);
	step_event(conn, VRB_PCONN_EVICT);
	assert_int_equal(conn->state, VRB_PCONN_LEAVING);
	assert_int_equal(after(conn, gone).what, VRB_PCONN_DO_TEARDOWN);
}

/* The peer connects again before we hear that it has left. */
static void test_request_after_bye(void **state)
{
	struct vrb_pconn_input request = { .event = VRB_PCONN_REQUEST,
					   .incarnation = 5,
					   .serial = 1 };
	struct vrb_pconn *conn = conn_in(VRB_PCONN_LEFT, 1);

	(void)state;
	assert_int_equal(after(conn, request).what, VRB_PCONN_DO_RELEASE | VRB_PCONN_DO_ACCEPT);
	assert_int_equal(conn->state, VRB_PCONN_ACCEPTING);
	conn = conn_in(VRB_PCONN_LEFT, 1);
	request.serial = 0;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_STALE);
	assert_int_equal(conn->state, VRB_PCONN_LEFT);
	request.incarnation = 6;
	assert_int_equal(after(conn, request).reason, VRB_CMWIRE_BUSY);
	assert_int_equal(conn->state, VRB_PCONN_LEFT);
}

/* Strangers get a part of the room, and none that others have. */
static void test_strangers(void **state)
{
	const struct vrb_pconn_input ask = {
		.event = VRB_PCONN_REQUEST, .incarnation = 5, .serial = 1, .stranger = true
	};
	struct vrb_pconn_input known = ask;
	struct vrb_pconn *conn = conn_in(VRB_PCONN_IDLE, 1);
	struct vrb_pconn_action action;

	(void)state;
	known.stranger = false;
	the_set.params.strangers = 1;
	assert_int_equal(after(conn, ask).what, VRB_PCONN_DO_ACCEPT);
	assert_int_equal(the_set.strangers, 1);
	action = after(&conns[1], ask);
	assert_true(action.what == VRB_PCONN_DO_REJECT && action.reason == VRB_CMWIRE_BUSY);
	assert_int_equal(after(&conns[1], known).what, VRB_PCONN_DO_ACCEPT);
	assert_int_equal(after(&conns[2], ask).what, VRB_PCONN_DO_REJECT);
	assert_true(after(&conns[2], known).what & VRB_PCONN_DO_EVICT);
	/* Who is sent to is known from then on. */
	step_event(conn, VRB_PCONN_WANT);
	assert_int_equal(the_set.strangers, 0);
}

/* With a job secret: who was accepted and proves nothing goes, though its host may answer. */
static void test_proof(void **state)
{
	const struct vrb_pconn_input ask = { .event = VRB_PCONN_REQUEST,
					     .incarnation = 5,
					     .serial = 1 };
	struct vrb_pconn *conn = conn_in(VRB_PCONN_IDLE, 1);
	struct vrb_pconn_action action;

	(void)state;
	the_set.params.prove = 500;
	after(conn, ask);
	step_event(conn, VRB_PCONN_WANT);
	assert_true(vrb_pconn_next(&the_set) <= 500);
	the_set.now += 500;
	assert_ptr_equal(vrb_pconn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, VRB_PCONN_DO_ABANDON);
	assert_int_equal(conn->state, VRB_PCONN_WAITING);
	assert_int_equal(conn->err, FI_EKEYREJECTED);
}

static void test_close(void **state)
{
	const struct vrb_pconn_input close = { .event = VRB_PCONN_CLOSE };
	static const struct {
		enum vrb_pconn_state state;
		uint32_t what;
	} cases[] = {
		{ VRB_PCONN_IDLE, 0 },
		{ VRB_PCONN_CONNECTING, VRB_PCONN_DO_ABANDON },
		{ VRB_PCONN_ACCEPTING, VRB_PCONN_DO_ABANDON },
		{ VRB_PCONN_UP, VRB_PCONN_DO_TEARDOWN },
		{ VRB_PCONN_DRAINING, VRB_PCONN_DO_TEARDOWN },
		{ VRB_PCONN_PARTING, VRB_PCONN_DO_TEARDOWN },
		{ VRB_PCONN_LEAVING, VRB_PCONN_DO_TEARDOWN },
		{ VRB_PCONN_LEFT, VRB_PCONN_DO_TEARDOWN },
	};
	struct vrb_pconn_action action;
	struct vrb_pconn *conn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn = conn_in(cases[i].state, 1);
		action = after(conn, close);
		assert_int_equal(action.what, cases[i].what | VRB_PCONN_DO_FAIL);
		assert_int_equal(action.err, FI_ECANCELED);
		assert_int_equal(conn->state, VRB_PCONN_IDLE);
		assert_int_equal(the_set.open + the_set.connecting, 0);
	}
}

/* The peer refuses the reply to its request: with what it says, if nothing else comes. */
static void test_reply_refused(void **state)
{
	static const struct {
		uint8_t reason;
		int err;
	} cases[] = {
		{ VRB_CMWIRE_MALFORMED, FI_ECONNREFUSED }, { VRB_CMWIRE_LONELY, FI_EKEYREJECTED },
		{ VRB_CMWIRE_SECRETS, FI_EKEYREJECTED },   { VRB_CMWIRE_VERSION, FI_ENOPROTOOPT },
		{ VRB_CMWIRE_SOURCE, FI_EACCES },	   { 250, FI_ECONNREFUSED },
	};
	struct vrb_pconn_action action;
	struct vrb_pconn *conn;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn = conn_in(VRB_PCONN_ACCEPTING, 1);
		step_event(conn, VRB_PCONN_WANT);
		action = after(conn, (struct vrb_pconn_input){ .event = VRB_PCONN_REJECTED,
							       .reason = cases[i].reason });
		assert_int_equal(action.what, VRB_PCONN_DO_ABANDON);
		assert_int_equal(conn->state, VRB_PCONN_WAITING);
		assert_int_equal(conn->err, cases[i].err);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crossing),       cmocka_unit_test(test_incarnations),
		cmocka_unit_test(test_rejects),	       cmocka_unit_test(test_give_up),
		cmocka_unit_test(test_window_and_cap), cmocka_unit_test(test_bye),
		cmocka_unit_test(test_bye_both),       cmocka_unit_test(test_request_after_bye),
		cmocka_unit_test(test_replace),	       cmocka_unit_test(test_again),
		cmocka_unit_test(test_strangers),      cmocka_unit_test(test_proof),
		cmocka_unit_test(test_reply_refused),  cmocka_unit_test(test_close),
	};

	return cmocka_run_group_tests_name("rdm_pconn", tests, NULL, NULL);
}
