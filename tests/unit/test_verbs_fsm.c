/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The connection state machine: every step in every state, and failures in between. */
#include "unit.h"
#include "capture.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <prov/verbs/cm/fsm.h>
#include <prov/verbs/msg/srx.h>
#include <prov/verbs/provider/prov.h>
#include "fake_cm.h"

static struct fake_bed bed;
static struct vrb_ep *ep;
static struct sockaddr_in dest = { .sin_family = AF_INET };

static int setup(void **state)
{
	(void)state;
	fake_init(&bed);
	ep = fake_ep(&bed);
	assert_int_equal(vrb_conn_init(ep, ep->info), 0);
	ep->conn.id->verbs = &bed.ctx;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	fake_ep_close(ep);
	fake_fini(&bed);
	return 0;
}

static int step(enum vrb_step which)
{
	struct vrb_step_arg arg = {
		.data = (const uint8_t *)"data",
		.len = 4,
		.addr = (struct sockaddr *)&dest,
		.err = which == VRB_STEP_FATAL ? FI_EIO : FI_ECONNREFUSED,
		.prov_errno = 28,
	};

	return vrb_fsm_step(ep, which, &arg);
}

static void in_state(enum vrb_conn_state state)
{
	ep->conn.state = state;
	ep->conn.shutdown_due = state == VRB_CONN_UP;
	fake.calls[0] = '\0';
}

/* The route is that of the endpoint's traffic class. */
static void the_route_is_of_the_traffic_class(void **state)
{
	(void)state;
	in_state(VRB_CONN_ADDR);
	ep->info->tx_attr->tclass = FI_TC_LOW_LATENCY;
	assert_int_equal(step(VRB_STEP_ADDR), 0);
	assert_string_equal(fake.calls, "set_tos resolve_route ");
}

/* What a step does when it is not ignored. */
static const struct {
	enum vrb_conn_state state;
	enum vrb_step step;
	int ret;
	enum vrb_conn_state next;
	const char *calls;
	const char *events; /* C connected, S shutdown, E error */
} expected[] = {
#define ROW(state, step, ...)                                  \
	{                                                      \
		VRB_CONN_##state, VRB_STEP_##step, __VA_ARGS__ \
	}
	ROW(IDLE, CONNECT, 0, VRB_CONN_ADDR, "resolve_addr ", ""),
	ROW(IDLE, ACCEPT, -FI_EOPBADSTATE, VRB_CONN_IDLE, "", ""),
	ROW(IDLE, SHUTDOWN, -FI_ENOTCONN, VRB_CONN_IDLE, "", ""),
	ROW(IDLE, TAKE, 0, VRB_CONN_REQUESTED, "", ""),
	ROW(REQUESTED, CONNECT, -FI_EOPBADSTATE, VRB_CONN_REQUESTED, "", ""),
	ROW(REQUESTED, ACCEPT, 0, VRB_CONN_ACCEPTING, "qp_connect accept ", ""),
	ROW(REQUESTED, SHUTDOWN, -FI_ENOTCONN, VRB_CONN_REQUESTED, "", ""),
	ROW(ADDR, CONNECT, -FI_EALREADY, VRB_CONN_ADDR, "", ""),
	ROW(ADDR, ACCEPT, -FI_EOPBADSTATE, VRB_CONN_ADDR, "", ""),
	ROW(ADDR, SHUTDOWN, -FI_ENOTCONN, VRB_CONN_ADDR, "", ""),
	ROW(ADDR, ADDR, 0, VRB_CONN_ROUTE, "resolve_route ", ""),
	ROW(ROUTE, CONNECT, -FI_EALREADY, VRB_CONN_ROUTE, "", ""),
	ROW(ROUTE, ACCEPT, -FI_EOPBADSTATE, VRB_CONN_ROUTE, "", ""),
	ROW(ROUTE, SHUTDOWN, -FI_ENOTCONN, VRB_CONN_ROUTE, "", ""),
	ROW(ROUTE, ROUTE, 0, VRB_CONN_CONNECTING, "connect ", ""),
	ROW(CONNECTING, CONNECT, -FI_EALREADY, VRB_CONN_CONNECTING, "", ""),
	ROW(CONNECTING, ACCEPT, -FI_EOPBADSTATE, VRB_CONN_CONNECTING, "", ""),
	ROW(CONNECTING, SHUTDOWN, -FI_ENOTCONN, VRB_CONN_CONNECTING, "", ""),
	ROW(CONNECTING, RESPONSE, 0, VRB_CONN_UP, "qp_connect establish ", "C"),
	ROW(CONNECTING, ESTABLISHED, 0, VRB_CONN_UP, "", "C"),
	ROW(ACCEPTING, CONNECT, -FI_EOPBADSTATE, VRB_CONN_ACCEPTING, "", ""),
	ROW(ACCEPTING, ACCEPT, -FI_EALREADY, VRB_CONN_ACCEPTING, "", ""),
	ROW(ACCEPTING, SHUTDOWN, -FI_ENOTCONN, VRB_CONN_ACCEPTING, "", ""),
	ROW(ACCEPTING, ESTABLISHED, 0, VRB_CONN_UP, "", "C"),
	ROW(ACCEPTING, DISCONNECTED, 0, VRB_CONN_DOWN, "disconnect ", "CS"),
	ROW(ACCEPTING, COMM_EST, 0, VRB_CONN_ACCEPTING, "notify ", ""),
	ROW(UP, CONNECT, -FI_EISCONN, VRB_CONN_UP, "", ""),
	ROW(UP, ACCEPT, -FI_EISCONN, VRB_CONN_UP, "", ""),
	ROW(UP, SHUTDOWN, 0, VRB_CONN_DOWN, "disconnect ", "S"),
	ROW(UP, FAILED, 0, VRB_CONN_DOWN, "disconnect ", "ES"),
	ROW(UP, DISCONNECTED, 0, VRB_CONN_DOWN, "disconnect ", "S"),
	ROW(UP, FATAL, 0, VRB_CONN_DOWN, "disconnect ", "ES"),
	ROW(DOWN, CONNECT, -FI_EOPBADSTATE, VRB_CONN_DOWN, "", ""),
	ROW(DOWN, ACCEPT, -FI_ECONNABORTED, VRB_CONN_DOWN, "", ""),
	ROW(CLOSED, CONNECT, -FI_EOPBADSTATE, VRB_CONN_CLOSED, "", ""),
	ROW(REQUESTED, CLOSE, 0, VRB_CONN_CLOSED, "reject ", ""),
	ROW(ACCEPTING, CLOSE, 0, VRB_CONN_CLOSED, "disconnect ", ""),
	ROW(UP, CLOSE, 0, VRB_CONN_CLOSED, "disconnect ", ""),
};

/* Up to and including ACCEPTING, these steps end what has not begun, with an error. */
static bool never_up(enum vrb_conn_state state, enum vrb_step which)
{
	if (which == VRB_STEP_DISCONNECTED)
		return state < VRB_CONN_ACCEPTING;
	return state < VRB_CONN_UP && (which == VRB_STEP_FAILED || which == VRB_STEP_FATAL);
}

static void expect_events(const char *events)
{
	char seen[8] = "";
	int event;

	while ((event = fake_read(bed.eq, NULL, NULL)))
		strcat(seen, event < 0 ? "E" : event == FI_CONNECTED ? "C" : "S");
	assert_string_equal(seen, events);
}

static void try_step(enum vrb_conn_state from, enum vrb_step which)
{
	enum vrb_conn_state next = which == VRB_STEP_CLOSE ? VRB_CONN_CLOSED : from;
	const char *calls = "", *events = "";
	int ret = 0;
	size_t i;

	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		if (expected[i].state != from || expected[i].step != which)
			continue;
		ret = expected[i].ret;
		next = expected[i].next;
		calls = expected[i].calls;
		events = expected[i].events;
	}
	if (never_up(from, which)) {
		next = VRB_CONN_DOWN;
		events = "E";
	}
	in_state(from);
	assert_int_equal(step(which), ret);
	assert_int_equal(ep->conn.state, next);
	assert_string_equal(fake.calls, calls);
	expect_events(events);
}

static void every_step_in_every_state(void **state)
{
	enum vrb_conn_state from;
	enum vrb_step which;

	(void)state;
	for (from = VRB_CONN_IDLE; from < VRB_CONN_STATES; from++)
		for (which = 0; which < VRB_STEPS; which++)
			try_step(from, which);
	in_state(VRB_CONN_IDLE);
}

static void a_call_that_fails_changes_nothing(void **state)
{
	(void)state;
	fake.err = ENOMEM;
	fake.fail = "resolve_addr";
	in_state(VRB_CONN_IDLE);
	assert_int_equal(step(VRB_STEP_CONNECT), -FI_ENOMEM);
	assert_int_equal(ep->conn.state, VRB_CONN_IDLE);
	fake.fail = "accept";
	in_state(VRB_CONN_REQUESTED);
	assert_int_equal(step(VRB_STEP_ACCEPT), -FI_ENOMEM);
	fake.fail = "qp_connect";
	assert_int_equal(step(VRB_STEP_ACCEPT), -FI_ENOMEM);
	assert_int_equal(ep->conn.state, VRB_CONN_REQUESTED);
	assert_int_equal(fake.down, 0);
	expect_events("");
}

/* No event tells of it, so receives that were posted end with the call. */
static void accepting_a_peer_that_gave_up_ends_it(void **state)
{
	static const char *const calls[] = { "qp_connect", "accept" };
	size_t i;

	(void)state;
	fake.err = EINVAL;
	for (i = 0; i < 2; i++) {
		fake.fail = calls[i];
		fake.down = 0;
		in_state(VRB_CONN_REQUESTED);
		assert_int_equal(step(VRB_STEP_ACCEPT), -FI_ECONNABORTED);
		assert_int_equal(ep->conn.state, VRB_CONN_DOWN);
		assert_int_equal(fake.down, 1);
		assert_int_equal(fake.down_err, -FI_ENOTCONN);
		expect_events("");
	}
}

/* The peer's first message may be answered before the connection is known to be established. */
static void who_accepts_may_send(void **state)
{
	(void)state;
	in_state(VRB_CONN_REQUESTED);
	assert_int_equal(step(VRB_STEP_ACCEPT), 0);
	assert_int_equal(fake.ready, 1);
	assert_int_equal(step(VRB_STEP_ESTABLISHED), 0);
	assert_int_equal(fake.ready, 1);
	fake.err = ENOMEM;
	fake.fail = "accept";
	in_state(VRB_CONN_REQUESTED);
	assert_int_equal(step(VRB_STEP_ACCEPT), -FI_ENOMEM);
	assert_int_equal(fake.ready, 1);
}

static void an_event_that_fails_ends_it(void **state)
{
	static const struct {
		enum vrb_conn_state state;
		enum vrb_step step;
		const char *fail;
		int err;
	} rows[] = {
		{ VRB_CONN_ADDR, VRB_STEP_ADDR, "resolve_route", -FI_EINVAL },
		{ VRB_CONN_ROUTE, VRB_STEP_ROUTE, "connect", -FI_EINVAL },
		/* The peer has given up meanwhile. */
		{ VRB_CONN_CONNECTING, VRB_STEP_RESPONSE, "qp_connect", -FI_ECONNABORTED },
		{ VRB_CONN_CONNECTING, VRB_STEP_RESPONSE, "establish", -FI_ECONNABORTED },
	};
	size_t i;

	(void)state;
	fake.err = EINVAL;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake.fail = rows[i].fail;
		fake.down = 0;
		in_state(rows[i].state);
		step(rows[i].step);
		assert_int_equal(ep->conn.state, VRB_CONN_DOWN);
		assert_int_equal(fake.down, 1);
		assert_int_equal(fake_read(bed.eq, NULL, NULL), rows[i].err);
		step(VRB_STEP_DISCONNECTED);
		expect_events("");
	}
	assert_non_null(strstr(fake.calls, "reject"));
}

/* Any peer can do that, so nobody has to look into it; what else goes wrong is warned of. */
static void a_peer_that_gives_up_is_no_warning(void **state)
{
	(void)state;
	fake.err = EINVAL;
	capture_start();
	fake.fail = "establish";
	in_state(VRB_CONN_CONNECTING);
	assert_int_equal(step(VRB_STEP_RESPONSE), -FI_ECONNABORTED);
	fake.fail = "accept";
	in_state(VRB_CONN_REQUESTED);
	assert_int_equal(step(VRB_STEP_ACCEPT), -FI_ECONNABORTED);
	assert_string_equal(capture_stop(), "");
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_ECONNABORTED);
	fake.err = ENOMEM;
	in_state(VRB_CONN_REQUESTED);
	capture_start();
	assert_int_equal(step(VRB_STEP_ACCEPT), -FI_ENOMEM);
	assert_non_null(strstr(capture_stop(), "fi_accept: rdma_accept"));
}

static void one_shutdown(void **state)
{
	static const enum vrb_step ways[][3] = {
		{ VRB_STEP_DISCONNECTED, VRB_STEP_DISCONNECTED, VRB_STEP_SHUTDOWN },
		{ VRB_STEP_SHUTDOWN, VRB_STEP_DISCONNECTED, VRB_STEP_SHUTDOWN },
		{ VRB_STEP_DISCONNECTED, VRB_STEP_FATAL, VRB_STEP_FAILED },
		{ VRB_STEP_SHUTDOWN, VRB_STEP_FATAL, VRB_STEP_CLOSE },
	};
	size_t i, j;

	(void)state;
	for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		in_state(VRB_CONN_UP);
		for (j = 0; j < 3; j++)
			assert_int_equal(step(ways[i][j]), 0);
		expect_events("S");
	}
	in_state(VRB_CONN_CONNECTING);
	step(VRB_STEP_FAILED);
	step(VRB_STEP_DISCONNECTED);
	expect_events("E");
}

static void data_goes_with_its_length(void **state)
{
	char text[256];

	(void)state;
	in_state(VRB_CONN_IDLE);
	step(VRB_STEP_CONNECT);
	step(VRB_STEP_ADDR);
	step(VRB_STEP_ROUTE);
	assert_int_equal(fake.param.private_data_len, 5);
	assert_memory_equal(fake.data, "\4data", 5);
	assert_int_equal(fake.param.qp_num, 0x11);
	assert_int_equal(fake.param.retry_count, vrb_params.retry_count);
	assert_int_equal(fake.param.rnr_retry_count, vrb_params.rnr_retry_count);
	assert_int_equal(fake.param.responder_resources, 16);
	assert_int_equal(fake.param.initiator_depth, 8);
	step(VRB_STEP_RESPONSE);
	assert_int_equal(fake_read(bed.eq, text, NULL), FI_CONNECTED);
	assert_string_equal(text, "data");
	assert_int_equal(fake.ready, 1);
}

static void refusal_brings_its_data(void **state)
{
	char text[256];

	(void)state;
	in_state(VRB_CONN_CONNECTING);
	step(VRB_STEP_FAILED);
	assert_int_equal(fake_read(bed.eq, text, NULL), -FI_ECONNREFUSED);
	assert_string_equal(text, "data");
}

static void a_lost_device_says_so(void **state)
{
	struct vrb_step_arg arg = { .err = FI_ENODEV };

	(void)state;
	in_state(VRB_CONN_UP);
	vrb_fsm_step(ep, VRB_STEP_FATAL, &arg);
	assert_int_equal(fake.down_err, -FI_ENODEV);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_ENODEV);
	expect_events("S");
}

static void the_route_leads_to_the_domain(void **state)
{
	struct ibv_device other = { .name = "rxe1" };
	struct ibv_context ctx = { .device = &other };

	(void)state;
	ep->conn.id->verbs = &ctx;
	in_state(VRB_CONN_ADDR);
	step(VRB_STEP_ADDR);
	assert_int_equal(fake_read(bed.eq, NULL, NULL), -FI_EADDRNOTAVAIL);
	assert_int_equal(ep->conn.state, VRB_CONN_DOWN);
}

/* The event that a call causes, on the event thread, which may be faster than the caller. */
static void answer(struct rdma_cm_id *id, const char *call)
{
	struct vrb_step_arg arg = { 0 };
	bool is_free = ofi_trylock(&ep->conn.lock);

	(void)id;
	assert_true(is_free);
	ofi_unlock(&ep->conn.lock);
	fake.on_call = NULL;
	if (!strcmp(call, "resolve_addr"))
		assert_int_equal(vrb_fsm_step(ep, VRB_STEP_ADDR, &arg), 0);
	else if (!strcmp(call, "accept"))
		assert_int_equal(vrb_fsm_step(ep, VRB_STEP_ESTABLISHED, &arg), 0);
	else
		assert_int_equal(vrb_fsm_step(ep, VRB_STEP_DISCONNECTED, &arg), 0);
}

static void check_answered(enum vrb_conn_state from, enum vrb_step which, enum vrb_conn_state to)
{
	in_state(from);
	fake.on_call = answer;
	assert_int_equal(step(which), 0);
	assert_null(fake.on_call);
	assert_int_equal(ep->conn.state, to);
}

/* The handler of an event does not wait for the call that caused the event. */
static void an_event_may_come_before_the_call_returns(void **state)
{
	(void)state;
	check_answered(VRB_CONN_IDLE, VRB_STEP_CONNECT, VRB_CONN_ROUTE);
	check_answered(VRB_CONN_REQUESTED, VRB_STEP_ACCEPT, VRB_CONN_UP);
	check_answered(VRB_CONN_UP, VRB_STEP_CLOSE, VRB_CONN_CLOSED);
	expect_events("C");
}

/* Returns how often closing a connected endpoint shut its queues. */
static int closing_shuts(bool idle, bool shares)
{
	struct vrb_srx srx = { 0 };

	in_state(VRB_CONN_UP);
	fake.idle = idle;
	ep->srx = shares ? &srx : NULL;
	fake.down = 0;
	assert_int_equal(step(VRB_STEP_CLOSE), 0);
	ep->srx = NULL;
	assert_int_equal(ep->conn.state, VRB_CONN_CLOSED);
	return fake.down;
}

/* With nothing outstanding, destroying the queue pair is enough. */
static void closing_spares_idle_queues(void **state)
{
	(void)state;
	assert_int_equal(closing_shuts(true, false), 0);
	assert_int_equal(closing_shuts(true, true), 1);
	assert_int_equal(closing_shuts(false, false), 1);
}

#define test(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(every_step_in_every_state),
		test(a_call_that_fails_changes_nothing),
		test(accepting_a_peer_that_gave_up_ends_it),
		test(a_peer_that_gives_up_is_no_warning),
		test(who_accepts_may_send),
		test(an_event_that_fails_ends_it),
		test(one_shutdown),
		test(data_goes_with_its_length),
		test(refusal_brings_its_data),
		test(a_lost_device_says_so),
		test(the_route_leads_to_the_domain),
		test(the_route_is_of_the_traffic_class),
		test(an_event_may_come_before_the_call_returns),
		test(closing_spares_idle_queues),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
