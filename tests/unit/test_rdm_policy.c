/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Decisions about connections, one at a time. */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "policy_rig.h"

static void test_crossing(void **state)
{
	const struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST,
						    .incarnation = 9,
						    .serial = 1 };
	struct ofi_rdm_conn_input own = request;
	struct ofi_rdm_conn *conn;

	(void)state;
	conn = conn_in(OFI_RDM_CONN_CONNECTING, -1);
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_CROSSING);
	assert_int_equal(conn->state, OFI_RDM_CONN_CONNECTING);
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	assert_int_equal(after(conn, request).what,
			 OFI_RDM_CONN_DO_ABANDON | OFI_RDM_CONN_DO_ACCEPT);
	assert_int_equal(conn->state, OFI_RDM_CONN_ACCEPTING);
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 0);
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_IN_USE);
	own.incarnation = the_set.params.incarnation;
	assert_int_equal(after(conn, own).what, OFI_RDM_CONN_DO_ACCEPT);
	assert_int_equal(conn->state, OFI_RDM_CONN_CONNECTING);
	conn = conn_in(OFI_RDM_CONN_IDLE, 0);
	assert_int_equal(after(conn, own).reason, OFI_RDM_CMWIRE_IN_USE);
	assert_int_equal(conn->state, OFI_RDM_CONN_IDLE);
	/* Who says that its own request is out means that one and no other. */
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
						 .reason = OFI_RDM_CMWIRE_CROSSING,
						 .incarnation = 8 });
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_BUSY);
	own.incarnation = 8;
	assert_int_equal(after(conn, own).what, OFI_RDM_CONN_DO_ACCEPT);
}

/* A request under the name of a connected peer: the peer is probed, and stays if it answers. */
static void test_replace(void **state)
{
	static const enum ofi_rdm_conn_state states[] = { OFI_RDM_CONN_UP, OFI_RDM_CONN_LEAVING };
	static const uint64_t incarnations[] = { 6, 5 };
	struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST, .serial = 9 };
	const uint32_t ask = OFI_RDM_CONN_DO_REJECT | OFI_RDM_CONN_DO_ASK;
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	int i;

	(void)state;
	for (i = 0; i < 4; i++) {
		conn = conn_in(states[i & 1], 1);
		request.incarnation = incarnations[i / 2];
		action = after(conn, request);
		assert_true(action.what == ask && action.reason == OFI_RDM_CMWIRE_BUSY);
		assert_int_equal(after(conn, request).what, ask);
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ALIVE });
		action = after(conn, request);
		assert_int_equal(action.what, OFI_RDM_CONN_DO_REJECT);
		assert_int_equal(action.reason, OFI_RDM_CMWIRE_IN_USE);
		the_set.now += 1000;
		assert_int_equal(after(conn, request).what, ask);
		assert_int_equal(conn->state, states[i & 1]);
		action = after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED });
		assert_int_equal(action.what, OFI_RDM_CONN_DO_TEARDOWN);
		assert_int_equal(after(conn, request).what, OFI_RDM_CONN_DO_ACCEPT);
	}
}

/* Numbers that were seen on the wire don't shut the peer out. */
static void test_incarnations(void **state)
{
	struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST,
					      .incarnation = 6,
					      .serial = 1 };
	const struct ofi_rdm_conn_input gone = { .event = OFI_RDM_CONN_DISCONNECTED };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_UP, 1);

	(void)state;
	assert_int_equal(after(conn, gone).err, FI_ECONNRESET);
	assert_int_equal(after(conn, request).what, OFI_RDM_CONN_DO_ACCEPT);
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED });
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_STALE);
	assert_true(conn->known == 6 && conn->past == 5);
	request.incarnation = 5;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_STALE);
	assert_int_equal(conn->state, OFI_RDM_CONN_UP);
	request.incarnation = 6;
	request.serial = 2;
	request.expected = the_set.params.incarnation + 1;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_STALE);
	request.expected--;
	after(conn, gone);
	request.serial = 1;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_STALE);
	the_set.now += 10000;
	assert_int_equal(after(conn, request).what, OFI_RDM_CONN_DO_ACCEPT);
	conn = conn_in(OFI_RDM_CONN_UP, 1);
	after(conn, gone);
	conn->past = 6;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_STALE);
	the_set.now += 10000;
	assert_int_equal(after(conn, request).what, OFI_RDM_CONN_DO_ACCEPT);
}

static void rejected_as_stale(struct ofi_rdm_conn *conn)
{
	struct ofi_rdm_conn_action action;

	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
						 .reason = OFI_RDM_CMWIRE_STALE });
	assert_int_equal(conn->known, 0);
	the_set.now += 1000;
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
}

/*
 * Whoever answers is compared with the process that was connected last, also if its incarnation had
 * to be forgotten meanwhile. The first one renews nothing.
 */
static void test_renewed(void **state)
{
	struct ofi_rdm_conn_input reply = { .event = OFI_RDM_CONN_ESTABLISHED, .incarnation = 5 };
	const uint32_t up = OFI_RDM_CONN_DO_UP;
	struct ofi_rdm_conn *conn;
	int stale;

	(void)state;
	conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
	rejected_as_stale(conn);
	assert_int_equal(after(conn, reply).what, up);
	for (stale = 0; stale < 3; stale++) {
		step_event(conn, OFI_RDM_CONN_DISCONNECTED);
		step_event(conn, OFI_RDM_CONN_WANT);
		rejected_as_stale(conn);
		if (stale)
			rejected_as_stale(conn);
		reply.incarnation += stale;
		assert_int_equal(after(conn, reply).what, stale ? up | OFI_RDM_CONN_DO_RENEW : up);
	}
}

/* The same for whoever asks for the connection. */
static void test_renewed_by_request(void **state)
{
	struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST, .serial = 1 };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_IDLE, 1);
	const uint32_t up = OFI_RDM_CONN_DO_UP;

	(void)state;
	for (request.incarnation = 5; request.incarnation < 8; request.incarnation++) {
		assert_int_equal(after(conn, request).what, OFI_RDM_CONN_DO_ACCEPT);
		assert_int_equal(
			after(conn,
			      (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED })
				.what,
			request.incarnation > 5 ? up | OFI_RDM_CONN_DO_RENEW : up);
		step_event(conn, OFI_RDM_CONN_DISCONNECTED);
	}
	/* The same process as before, which is not late. */
	request.incarnation = 7;
	request.serial = 2;
	step_event(conn, OFI_RDM_CONN_WANT);
	assert_true(after(conn, request).what & OFI_RDM_CONN_DO_ACCEPT);
	assert_int_equal(after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_BYE }).what,
			 up | OFI_RDM_CONN_DO_REFUSE);
}

/* What was accepted has time to come, also when another one wants its place. */
static void test_again(void **state)
{
	struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST,
					      .incarnation = 5,
					      .serial = 2 };
	const uint32_t replace = OFI_RDM_CONN_DO_ABANDON | OFI_RDM_CONN_DO_ACCEPT;
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_ACCEPTING, 1);

	(void)state;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_BUSY);
	the_set.now += ATTEMPT;
	assert_int_equal(after(conn, request).what, replace);
	request.incarnation = 6;
	the_set.now += ATTEMPT;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_BUSY);
	the_set.now += 2 * ATTEMPT;
	assert_int_equal(after(conn, request).what, replace);
}

static void test_rejects(void **state)
{
	static const struct {
		uint8_t reason;
		int err; /* 0: tried again */
		enum ofi_rdm_conn_state next;
	} cases[] = {
		{ OFI_RDM_CMWIRE_VERSION, FI_ENOPROTOOPT, OFI_RDM_CONN_IDLE },
		{ OFI_RDM_CMWIRE_MALFORMED, FI_ECONNREFUSED, OFI_RDM_CONN_IDLE },
		{ 200, FI_ECONNREFUSED, OFI_RDM_CONN_IDLE },
		{ OFI_RDM_CMWIRE_SOURCE, FI_EACCES, OFI_RDM_CONN_IDLE },
		{ OFI_RDM_CMWIRE_LONELY, FI_EKEYREJECTED, OFI_RDM_CONN_IDLE },
		{ OFI_RDM_CMWIRE_SECRETS, FI_EKEYREJECTED, OFI_RDM_CONN_IDLE },
		{ OFI_RDM_CMWIRE_BUSY, 0, OFI_RDM_CONN_WAITING },
		{ OFI_RDM_CMWIRE_RESOURCES, 0, OFI_RDM_CONN_WAITING },
		{ OFI_RDM_CMWIRE_CLOSING, 0, OFI_RDM_CONN_WAITING },
		{ OFI_RDM_CMWIRE_IN_USE, 0, OFI_RDM_CONN_WAITING },
		{ OFI_RDM_CMWIRE_UNKNOWN, 0, OFI_RDM_CONN_WAITING },
		{ OFI_RDM_CMWIRE_STALE, 0, OFI_RDM_CONN_WAITING },
		{ OFI_RDM_CMWIRE_CROSSING, 0, OFI_RDM_CONN_EXPECTING },
	};
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn = conn_in(OFI_RDM_CONN_CONNECTING, 1);
		action = after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
								  .reason = cases[i].reason });
		assert_int_equal(action.err, cases[i].err);
		assert_int_equal(!!(action.what & OFI_RDM_CONN_DO_FAIL), !!cases[i].err);
		assert_int_equal(conn->state, cases[i].next);
	}
}

/* A peer that never answers: tries that are further and further apart, and the end. */
static void test_give_up(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1), *due;
	struct ofi_rdm_conn_set *set = &the_set;
	uint64_t start = set->now, last = start, gap, longest = 0;
	struct ofi_rdm_conn_action action;
	int tries = 1;

	(void)state;
	/* The failed attempt gives its queue pair and id back before the next one begins. */
	action = after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED,
							  .err = FI_EHOSTUNREACH });
	assert_int_equal(action.what, OFI_RDM_CONN_DO_ABANDON);
	while (conn->state != OFI_RDM_CONN_IDLE) {
		set->now = ofi_rdm_conn_next(set);
		due = ofi_rdm_conn_poll(set, &action);
		assert_ptr_equal(due, conn);
		if (!(action.what & OFI_RDM_CONN_DO_CONNECT))
			continue;
		tries++;
		gap = set->now - last;
		last = set->now;
		longest = gap > longest ? gap : longest;
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED,
							 .err = FI_EHOSTUNREACH });
	}
	assert_int_equal(set->now - start, GIVE_UP);
	assert_int_equal(action.err, FI_EHOSTUNREACH);
	assert_true(action.what & OFI_RDM_CONN_DO_FAIL);
	assert_true(longest >= 100 && longest <= 200);
	assert_true(tries > GIVE_UP / 200 && tries < GIVE_UP / 100 + 8);
	assert_int_equal(set->open + set->connecting, 0);
}

static void test_window_and_cap(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, 1), *next = &conns[1];
	struct ofi_rdm_conn *third = &conns[2];
	const struct ofi_rdm_conn_input want_it = { .event = OFI_RDM_CONN_WANT };
	struct ofi_rdm_conn_action action;

	(void)state;
	assert_int_equal(after(next, want_it).what, 0);
	assert_int_equal(next->state, OFI_RDM_CONN_WAITING);
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	the_set.now += 7;
	after(conn,
	      (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED, .incarnation = 1 });
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), next);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
	the_set.now += 7;
	after(next,
	      (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED, .incarnation = 2 });
	assert_int_equal(after(third, want_it).what, OFI_RDM_CONN_DO_EVICT);
	/* They have just come up. */
	assert_null(ofi_rdm_conn_victim(&the_set));
	the_set.now += 100;
	assert_ptr_equal(ofi_rdm_conn_victim(&the_set), conn);
	ofi_rdm_conn_used(&the_set, conn);
	assert_ptr_equal(ofi_rdm_conn_victim(&the_set), next);
	assert_int_equal(after(next, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_EVICT,
								  .idle = true })
				 .what,
			 OFI_RDM_CONN_DO_HOLD | OFI_RDM_CONN_DO_BYE);
	assert_int_equal(
		after(next, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_AGREED }).what,
		OFI_RDM_CONN_DO_RELEASE);
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), third);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_CONNECT);
}

static void test_bye(void **state)
{
	struct ofi_rdm_conn_input bye = { .event = OFI_RDM_CONN_BYE };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_UP, 1);
	struct ofi_rdm_conn_action action;

	(void)state;
	bye.idle = true;
	assert_int_equal(after(conn, bye).what, OFI_RDM_CONN_DO_HOLD | OFI_RDM_CONN_DO_AGREE);
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
	action = after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_DISCONNECTED });
	assert_int_equal(action.what, OFI_RDM_CONN_DO_RELEASE | OFI_RDM_CONN_DO_CONNECT);
	conn = conn_in(OFI_RDM_CONN_LEAVING, 1);
	assert_int_equal(
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REFUSED }).what,
		OFI_RDM_CONN_DO_RESUME);
	/* It is connected: a peer that is stopped answers when it goes on. */
	conn = conn_in(OFI_RDM_CONN_LEAVING, 1);
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
	the_set.now += 10 * GIVE_UP;
	assert_null(ofi_rdm_conn_poll(&the_set, &action));
	assert_int_equal(
		after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_AGREED }).what,
		OFI_RDM_CONN_DO_RELEASE | OFI_RDM_CONN_DO_CONNECT);
	conn = conn_in(OFI_RDM_CONN_ACCEPTING, 1);
	assert_int_equal(after(conn, bye).what, OFI_RDM_CONN_DO_UP | OFI_RDM_CONN_DO_REFUSE);
	conn = conn_in(OFI_RDM_CONN_LEFT, 1);
	the_set.now += ATTEMPT;
	assert_ptr_equal(ofi_rdm_conn_poll(&the_set, &action), conn);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_RELEASE);
}

/* Both say BYE: whose answer is lost with the connection does not matter. */
static void test_bye_both(void **state)
{
	const struct ofi_rdm_conn_input bye = { .event = OFI_RDM_CONN_BYE };
	const struct ofi_rdm_conn_input gone = { .event = OFI_RDM_CONN_DISCONNECTED };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_LEAVING, 1);

	(void)state;
	assert_int_equal(after(conn, bye).what, OFI_RDM_CONN_DO_AGREE);
	assert_int_equal(after(conn, gone).what, OFI_RDM_CONN_DO_RELEASE);
	step_event(conn, OFI_RDM_CONN_WANT);
	step_event(conn, OFI_RDM_CONN_ESTABLISHED);
	step_event(conn, OFI_RDM_CONN_EVICT);
	assert_int_equal(conn->state, OFI_RDM_CONN_LEAVING);
	assert_int_equal(after(conn, gone).what, OFI_RDM_CONN_DO_TEARDOWN);
}

/* The peer connects again before we hear that it has left. */
static void test_request_after_bye(void **state)
{
	struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST,
					      .incarnation = 5,
					      .serial = 1 };
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_LEFT, 1);

	(void)state;
	assert_int_equal(after(conn, request).what,
			 OFI_RDM_CONN_DO_RELEASE | OFI_RDM_CONN_DO_ACCEPT);
	assert_int_equal(conn->state, OFI_RDM_CONN_ACCEPTING);
	conn = conn_in(OFI_RDM_CONN_LEFT, 1);
	request.serial = 0;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_STALE);
	assert_int_equal(conn->state, OFI_RDM_CONN_LEFT);
	request.incarnation = 6;
	assert_int_equal(after(conn, request).reason, OFI_RDM_CMWIRE_BUSY);
	assert_int_equal(conn->state, OFI_RDM_CONN_LEFT);
}

/* Strangers get a part of the room, and none that others have. */
static void test_strangers(void **state)
{
	const struct ofi_rdm_conn_input ask = {
		.event = OFI_RDM_CONN_REQUEST, .incarnation = 5, .serial = 1, .stranger = true
	};
	struct ofi_rdm_conn_input known = ask;
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_IDLE, 1);
	struct ofi_rdm_conn_action action;

	(void)state;
	known.stranger = false;
	the_set.params.strangers = 1;
	assert_int_equal(after(conn, ask).what, OFI_RDM_CONN_DO_ACCEPT);
	assert_int_equal(the_set.strangers, 1);
	action = after(&conns[1], ask);
	assert_true(action.what == OFI_RDM_CONN_DO_REJECT && action.reason == OFI_RDM_CMWIRE_BUSY);
	assert_int_equal(after(&conns[1], known).what, OFI_RDM_CONN_DO_ACCEPT);
	assert_int_equal(after(&conns[2], ask).what, OFI_RDM_CONN_DO_REJECT);
	assert_true(after(&conns[2], known).what & OFI_RDM_CONN_DO_EVICT);
	/* Who is sent to is known from then on. */
	step_event(conn, OFI_RDM_CONN_WANT);
	assert_int_equal(the_set.strangers, 0);
}

static void test_close(void **state)
{
	const struct ofi_rdm_conn_input close = { .event = OFI_RDM_CONN_CLOSE };
	static const struct {
		enum ofi_rdm_conn_state state;
		uint32_t what;
	} cases[] = {
		{ OFI_RDM_CONN_IDLE, 0 },
		{ OFI_RDM_CONN_CONNECTING, OFI_RDM_CONN_DO_ABANDON },
		{ OFI_RDM_CONN_ACCEPTING, OFI_RDM_CONN_DO_ABANDON },
		{ OFI_RDM_CONN_UP, OFI_RDM_CONN_DO_TEARDOWN },
		{ OFI_RDM_CONN_DRAINING, OFI_RDM_CONN_DO_TEARDOWN },
		{ OFI_RDM_CONN_PARTING, OFI_RDM_CONN_DO_TEARDOWN },
		{ OFI_RDM_CONN_LEAVING, OFI_RDM_CONN_DO_TEARDOWN },
		{ OFI_RDM_CONN_LEFT, OFI_RDM_CONN_DO_TEARDOWN },
	};
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn = conn_in(cases[i].state, 1);
		action = after(conn, close);
		assert_int_equal(action.what, cases[i].what | OFI_RDM_CONN_DO_FAIL);
		assert_int_equal(action.err, FI_ECANCELED);
		assert_int_equal(conn->state, OFI_RDM_CONN_IDLE);
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
		{ OFI_RDM_CMWIRE_MALFORMED, FI_ECONNREFUSED },
		{ OFI_RDM_CMWIRE_LONELY, FI_EKEYREJECTED },
		{ OFI_RDM_CMWIRE_SECRETS, FI_EKEYREJECTED },
		{ OFI_RDM_CMWIRE_VERSION, FI_ENOPROTOOPT },
		{ OFI_RDM_CMWIRE_SOURCE, FI_EACCES },
		{ 250, FI_ECONNREFUSED },
	};
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		conn = conn_in(OFI_RDM_CONN_ACCEPTING, 1);
		step_event(conn, OFI_RDM_CONN_WANT);
		action = after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
								  .reason = cases[i].reason });
		assert_int_equal(action.what, OFI_RDM_CONN_DO_ABANDON);
		assert_int_equal(conn->state, OFI_RDM_CONN_WAITING);
		assert_int_equal(conn->err, cases[i].err);
	}
}

static char story[512];

static void entered(const struct ofi_rdm_conn *conn, enum ofi_rdm_conn_state from,
		    enum ofi_rdm_conn_event cause)
{
	size_t len = strlen(story);

	snprintf(story + len, sizeof(story) - len, "%s, was %s: %s\n",
		 ofi_rdm_conn_state_name(conn->state), ofi_rdm_conn_state_name(from),
		 ofi_rdm_conn_cause_name(cause));
}

/* Whoever asks for it is told each change of state and its cause. */
static void test_story(void **state)
{
	struct ofi_rdm_conn *conn = conn_in(OFI_RDM_CONN_CONNECTING, -1);
	struct ofi_rdm_conn_action action;

	(void)state;
	the_set.params.entered = entered;
	after(conn,
	      (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED, .err = FI_ECONNREFUSED });
	the_set.now += 1000;
	ofi_rdm_conn_poll(&the_set, &action);
	step_event(conn, OFI_RDM_CONN_ESTABLISHED);
	step_event(conn, OFI_RDM_CONN_BYE);
	step_event(conn, OFI_RDM_CONN_DISCONNECTED);
	assert_string_equal(
		story, "waiting to connect, was connecting: failed\n"
		       "connecting, was waiting to connect: time has passed\n"
		       "connected, was connecting: established\n"
		       "draining for the peer, was connected: the peer asks to disconnect\n"
		       "left by the peer, was draining for the peer: the peer asks to disconnect\n"
		       "idle, was left by the peer: disconnected by the peer\n");
}

static void test_names(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < OFI_RDM_CONN_STATES; i++)
		assert_non_null(ofi_rdm_conn_state_name((enum ofi_rdm_conn_state)i));
	for (i = 0; i <= OFI_RDM_CONN_TIME; i++)
		assert_non_null(ofi_rdm_conn_cause_name((enum ofi_rdm_conn_event)i));
	assert_string_equal(ofi_rdm_conn_state_name(OFI_RDM_CONN_STATES), "?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crossing),       cmocka_unit_test(test_incarnations),
		cmocka_unit_test(test_rejects),	       cmocka_unit_test(test_give_up),
		cmocka_unit_test(test_window_and_cap), cmocka_unit_test(test_bye),
		cmocka_unit_test(test_bye_both),       cmocka_unit_test(test_request_after_bye),
		cmocka_unit_test(test_replace),	       cmocka_unit_test(test_again),
		cmocka_unit_test(test_strangers),      cmocka_unit_test(test_reply_refused),
		cmocka_unit_test(test_close),	       cmocka_unit_test(test_story),
		cmocka_unit_test(test_renewed),	       cmocka_unit_test(test_renewed_by_request),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("rdm_policy", tests, NULL, NULL);
}
