/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Congestion windows of senders that share a bottleneck, which is a link behind a queue of limited
 * length: link utilization, fairness (Jain's index) and drops. Random calls in random order check
 * the bounds; WEFT_SEEDS=N runs N schedules of these.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "prov/rdm/cwnd.h"
#include "prov/rdm/due.h"

enum { SENDERS = 1000, EVENTS = 1 << 17, TIMEOUT = 2000 };

enum what { ACKED, LOST, TIMED_OUT };

struct sender {
	struct ofi_rdm_due_node due; /* first; when it may send */
	struct ofi_rdm_cwnd cwnd;
	uint32_t under_way;
	uint64_t arrived; /* packets since measurement began */
};

struct event {
	uint64_t at, sent;
	uint32_t sender;
	enum what what;
};

/* Events in the order of their times. */
struct line {
	struct event events[EVENTS];
	uint32_t first, last;
};

/* One run. */
struct net {
	uint32_t senders, stagger; /* microseconds between their starts */
	uint32_t service;	   /* of one packet on the link, in microseconds */
	uint32_t trip;		   /* round trip without queue */
	uint32_t room;		   /* packets in the queue */
	uint32_t loss;		   /* one packet in this many is lost on the wire; 0: none */
	uint64_t length;	   /* of the run, whose second half is measured */
};

struct figures {
	double use; /* utilization of the link */
	double fair;
	double dropped; /* fraction of the packets sent */
	uint64_t least; /* packets of the slowest sender */
};

static const struct ofi_rdm_cwnd_params params = { .target = 100, .first = 4, .most = 64 };

static struct {
	uint64_t random, now;
	uint64_t busy; /* the link, until then */
	uint64_t sent, dropped;
	struct ofi_rdm_due due;
	struct sender senders[SENDERS];
	struct line trips, timeouts;
} w;

static uint32_t any_of(uint32_t n)
{
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (uint32_t)((w.random >> 32) * n >> 32);
}

static void put_event(struct line *line, struct event event)
{
	assert_true(line->last - line->first < EVENTS);
	line->events[line->last++ % EVENTS] = event;
}

static const struct event *front(const struct line *line)
{
	return line->first == line->last ? NULL : &line->events[line->first % EVENTS];
}

/* A lost packet is noticed after one round trip if others are in flight, else after a timeout. */
static void send_packet(const struct net *net, struct sender *s)
{
	uint64_t start = w.busy > w.now ? w.busy : w.now;
	bool full = (start - w.now) / net->service >= net->room;
	bool lost = full || (net->loss && !any_of(net->loss));
	struct event event = { .sent = w.now, .sender = (uint32_t)(s - w.senders) };

	w.sent++;
	w.dropped += full;
	if (!full)
		w.busy = start + net->service;
	event.at = (full ? start : w.busy) + net->trip;
	event.what = lost ? LOST : ACKED;
	if (lost && !s->under_way) {
		event.what = TIMED_OUT;
		event.at = w.now + TIMEOUT;
	}
	s->under_way++;
	ofi_rdm_cwnd_sent(&s->cwnd, w.now);
	put_event(event.what == TIMED_OUT ? &w.timeouts : &w.trips, event);
}

static void send_all(const struct net *net, struct sender *s)
{
	uint64_t when;

	while ((when = ofi_rdm_cwnd_time(&s->cwnd, s->under_way)) <= w.now)
		send_packet(net, s);
	ofi_rdm_due_set(&w.due, &s->due, when);
}

static void take_event(const struct net *net, struct line *line)
{
	const struct event *event = &line->events[line->first++ % EVENTS];
	struct sender *s = &w.senders[event->sender];

	s->under_way--;
	if (event->what == LOST)
		ofi_rdm_cwnd_lost(&s->cwnd, w.now);
	else if (event->what == TIMED_OUT)
		ofi_rdm_cwnd_timeout(&s->cwnd, w.now);
	else
		ofi_rdm_cwnd_acked(&s->cwnd, 1, (uint32_t)(w.now - event->sent), w.now);
	s->arrived += event->what == ACKED;
	send_all(net, s);
}

/* Handles the next event. Returns false at the end of the run. */
static bool step(const struct net *net, uint64_t end)
{
	const struct event *trip = front(&w.trips), *timeout = front(&w.timeouts);
	const struct ofi_rdm_due_node *due = ofi_rdm_due_first(&w.due);
	uint64_t next = due ? due->at : OFI_RDM_DUE_NEVER;

	if (trip && trip->at < next)
		next = trip->at;
	if (timeout && timeout->at < next)
		next = timeout->at;
	if (next > end)
		return false;
	w.now = next > w.now ? next : w.now;
	if (trip && trip->at == next)
		take_event(net, &w.trips);
	else if (timeout && timeout->at == next)
		take_event(net, &w.timeouts);
	else
		send_all(net, &w.senders[(struct sender *)due - w.senders]);
	return true;
}

static void start_net(const struct net *net)
{
	uint32_t i;

	memset(&w, 0, sizeof(w));
	w.random = 0x9e3779b97f4a7c15ULL;
	for (i = 0; i < net->senders; i++) {
		ofi_rdm_cwnd_init(&w.senders[i].cwnd, &params);
		ofi_rdm_due_set(&w.due, &w.senders[i].due, 1 + (uint64_t)i * net->stagger);
	}
}

static struct figures measure(const struct net *net)
{
	struct figures f = { .least = UINT64_MAX };
	double all = 0, squares = 0, share;
	uint32_t i;

	for (i = 0; i < net->senders; i++) {
		share = (double)w.senders[i].arrived;
		all += share;
		squares += share * share;
		if (w.senders[i].arrived < f.least)
			f.least = w.senders[i].arrived;
	}
	f.use = all * net->service / (double)(net->length / 2);
	f.fair = all * all / (net->senders * squares);
	f.dropped = (double)w.dropped / (double)w.sent;
	return f;
}

static struct figures run_net(const struct net *net)
{
	struct figures f;
	uint32_t i;

	start_net(net);
	while (step(net, net->length / 2))
		;
	for (i = 0; i < net->senders; i++)
		w.senders[i].arrived = 0;
	while (step(net, net->length))
		;
	f = measure(net);
	print_message("%u senders, round trip %u, room for %u, loss %u: link %.2f, fair %.2f, "
		      "dropped %.3f, least %llu\n",
		      net->senders, net->trip, net->room, net->loss, f.use, f.fair, f.dropped,
		      (unsigned long long)f.least);
	return f;
}

/* Senders that start one after the other share the link equally and lose nothing. */
static void test_shares(void **state)
{
	struct net net = {
		.stagger = 5000, .service = 4, .trip = 40, .room = 1000, .length = 400000
	};
	struct figures f;

	(void)state;
	for (net.senders = 1; net.senders <= 64; net.senders *= 2) {
		net.stagger = 100000 / net.senders;
		f = run_net(&net);
		assert_true(f.use > 0.9 && f.fair > 0.9);
		assert_true(f.dropped == 0);
	}
}

/* Incast: a thousand senders start at once. */
static void test_incast(void **state)
{
	struct net net = {
		.senders = SENDERS, .service = 4, .trip = 40, .room = 4096, .length = 2000000
	};
	struct figures f;

	(void)state;
	f = run_net(&net);
	assert_true(f.use > 0.8 && f.fair > 0.7 && f.least > 0 && f.dropped < 0.01);
	net.room = 256;
	f = run_net(&net);
	assert_true(f.use > 0.5 && f.fair > 0.7 && f.least > 0 && f.dropped < 0.2);
}

/* Random loss that is unrelated to load. */
static void test_loss(void **state)
{
	struct net net = { .senders = 1, .service = 4, .trip = 40, .room = 1000, .length = 400000 };

	(void)state;
	for (net.senders = 1; net.senders <= 16; net.senders *= 4) {
		net.loss = 100;
		assert_true(run_net(&net).use > 0.8);
		net.loss = 20;
		assert_true(run_net(&net).use > 0.5);
	}
}

/* Round trips far above the target do not keep the window small. */
static void test_far(void **state)
{
	struct net net = {
		.senders = 1, .service = 4, .trip = 5000, .room = 1000, .length = 4000000
	};
	struct figures f;

	(void)state;
	f = run_net(&net);
	/* The largest window limits the utilization. */
	assert_true(f.use > 0.9 * params.most * net.service / net.trip);
	net.trip = 1000;
	net.senders = 4;
	f = run_net(&net);
	assert_true(f.use > 0.5 && f.fair > 0.7);
}

/* Returns the window, in packets, after some packets of 32 are lost. */
static uint32_t window_behind(uint32_t window, uint32_t lost)
{
	struct ofi_rdm_cwnd cwnd;
	uint32_t i;

	ofi_rdm_cwnd_init(&cwnd, &params);
	ofi_rdm_cwnd_timeout(&cwnd, 1000);
	cwnd.window = window * OFI_RDM_CWND_ONE;
	for (i = 0; i < lost; i++)
		ofi_rdm_cwnd_lost(&cwnd, 2000);
	for (; i < 32; i++)
		ofi_rdm_cwnd_acked(&cwnd, 1, 50, 2000);
	return cwnd.window / OFI_RDM_CWND_ONE;
}

static void test_lost(void **state)
{
	(void)state;
	assert_in_range(window_behind(40, 4), 40, 41);
	assert_in_range(window_behind(40, 5), 20, 21);
	assert_in_range(window_behind(40, 30), 20, 21);
}

/* Reductions are proportional to the excess, at most by half, at most once per round trip. */
static void test_cut(void **state)
{
	struct ofi_rdm_cwnd cwnd;

	(void)state;
	ofi_rdm_cwnd_init(&cwnd, &params);
	cwnd.window = 64 * OFI_RDM_CWND_ONE;
	/* The target is 112: 64 - 64 * 38 / 150 * 4 / 5 */
	ofi_rdm_cwnd_acked(&cwnd, 1, 150, 1000);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 50, 51);
	ofi_rdm_cwnd_acked(&cwnd, 1, 150, 1149);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 50, 51);
	ofi_rdm_cwnd_acked(&cwnd, 1, 100000, 1300);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 50, 51);
	ofi_rdm_cwnd_acked(&cwnd, 1, 100000, 301001);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 25, 25);
	ofi_rdm_cwnd_timeout(&cwnd, 301002);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 12, 12);
}

/* A full queue delays all packets: a short round trip shows that there is none. */
static void test_noise(void **state)
{
	struct ofi_rdm_cwnd cwnd;

	(void)state;
	ofi_rdm_cwnd_init(&cwnd, &params);
	cwnd.window = 60 * OFI_RDM_CWND_ONE;
	ofi_rdm_cwnd_acked(&cwnd, 1, 50, 1000);
	ofi_rdm_cwnd_acked(&cwnd, 1, 150, 1200);
	ofi_rdm_cwnd_acked(&cwnd, 1, 50, 1299);
	ofi_rdm_cwnd_acked(&cwnd, 1, 150, 1599);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 60, 64);
	ofi_rdm_cwnd_acked(&cwnd, 1, 150, 1600);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 40, 55);
}

/* A timeout that was too early is undone, unless another sign of congestion came meanwhile. */
static void test_needless(void **state)
{
	struct ofi_rdm_cwnd cwnd;

	(void)state;
	ofi_rdm_cwnd_init(&cwnd, &params);
	cwnd.window = 64 * OFI_RDM_CWND_ONE;
	ofi_rdm_cwnd_acked(&cwnd, 1, 50, 1000);
	ofi_rdm_cwnd_needless(&cwnd);
	assert_int_equal(cwnd.window / OFI_RDM_CWND_ONE, 64);
	ofi_rdm_cwnd_timeout(&cwnd, 2000);
	ofi_rdm_cwnd_acked(&cwnd, 1, 0, 2100);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 32, 33);
	ofi_rdm_cwnd_needless(&cwnd);
	assert_int_equal(cwnd.window / OFI_RDM_CWND_ONE, 64);
	ofi_rdm_cwnd_timeout(&cwnd, 3000);
	ofi_rdm_cwnd_acked(&cwnd, 1, 150, 4000);
	ofi_rdm_cwnd_needless(&cwnd);
	assert_in_range(cwnd.window / OFI_RDM_CWND_ONE, 16, 31);
}

static void any_call(struct ofi_rdm_cwnd *cwnd)
{
	static const uint32_t lengths[] = { 2, 50, 200, 5000, 2000000000 };

	w.now += any_of(2) ? any_of(50) : any_of(20000000);
	switch (any_of(4)) {
	case 0:
		ofi_rdm_cwnd_lost(cwnd, w.now);
		break;
	case 1:
		ofi_rdm_cwnd_timeout(cwnd, w.now);
		break;
	case 2:
		ofi_rdm_cwnd_sent(cwnd, w.now);
		break;
	default:
		ofi_rdm_cwnd_acked(cwnd, 1 + any_of(64), any_of(lengths[any_of(5)]), w.now);
		break;
	}
}

/* The window keeps its bounds, opens again, and grows when round trips are short. */
static void run(uint64_t seed)
{
	struct ofi_rdm_cwnd cwnd;
	uint64_t when;
	int i;

	w.random = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	w.now = any_of(1000);
	ofi_rdm_cwnd_init(&cwnd, &params);
	for (i = 0; i < 12; i++) {
		any_call(&cwnd);
		assert_true(cwnd.window >= OFI_RDM_CWND_MIN);
		assert_true(cwnd.window <= params.most * OFI_RDM_CWND_ONE);
		when = ofi_rdm_cwnd_time(&cwnd, 0);
		assert_true(when != OFI_RDM_CWND_NEVER && when <= cwnd.sent + 64ULL * cwnd.rtt);
		assert_true(ofi_rdm_cwnd_time(&cwnd, params.most) == OFI_RDM_CWND_NEVER);
	}
	for (i = 0; i < 40; i++) {
		w.now += 50;
		ofi_rdm_cwnd_acked(&cwnd, 1, 50, w.now);
	}
	assert_true(cwnd.window >= OFI_RDM_CWND_ONE);
}

static void test_schedules(void **state)
{
	const char *seeds = getenv("WEFT_SEEDS");
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 1000000;

	(void)state;
	for (seed = 0; seed < count; seed++)
		run(seed);
}

static void test_size(void **state)
{
	(void)state;
	assert_true(sizeof(struct ofi_rdm_cwnd) <= 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),	 cmocka_unit_test(test_incast),
		cmocka_unit_test(test_loss),	 cmocka_unit_test(test_far),
		cmocka_unit_test(test_size),	 cmocka_unit_test(test_lost),
		cmocka_unit_test(test_cut),	 cmocka_unit_test(test_noise),
		cmocka_unit_test(test_needless), cmocka_unit_test(test_schedules),
	};

	return cmocka_run_group_tests_name("rdm_cwnd", tests, NULL, NULL);
}
