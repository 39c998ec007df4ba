/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections between a few endpoints that a seed drives through crossing, lost and late messages,
 * restarts and evictions. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/verbs/rdm/pconn.h"

enum { NODES = 4, MOST = 6, MESSAGES = 256, TICK = 40, ATTEMPT = 500, GIVE_UP = 3000, DRAIN = 100 };

enum kind { NONE, REQUEST, REPLY, READY, REJECT, DISCONNECT, BYE, AGREE, REFUSE };

struct message {
	enum kind kind;
	int from, to;
	unsigned int link; /* which attempt it is about */
	uint64_t incarnation, expected;
	uint32_t serial;
	uint8_t reason;
};

struct node {
	struct vrb_pconn_set set;
	struct vrb_pconn conns[MOST];
	unsigned int link[MOST]; /* the connection or attempt that it has, 0: none */
	unsigned int ops[MOST];	 /* that wait */
	bool held[MOST];
	unsigned int asked[MOST]; /* the connection whose other end is asked whether it is there */
};

static struct {
	uint64_t random, seed;
	unsigned int links, sent, failed, ups, evicted, asked, stayed;
	int nodes;
	bool lossy, strangers;
	struct message messages[MESSAGES];
	struct node node[MOST];
} w;

static uint32_t any32(void *arg)
{
	(void)arg;
	w.random ^= w.random << 13;
	w.random ^= w.random >> 7;
	w.random ^= w.random << 17;
	return (uint32_t)(w.random >> 20);
}

static uint32_t any_of(uint32_t n)
{
	return any32(NULL) % n;
}

static void init_node(int n, uint32_t window, uint32_t cap)
{
	const struct vrb_pconn_params params = {
		.incarnation = ((uint64_t)any32(NULL) << 32 | any32(NULL)) | 1,
		.window = window,
		.cap = cap,
		.attempt = ATTEMPT,
		.give_up = GIVE_UP,
		.drain = DRAIN,
		.backoff = 20,
		.backoff_max = 200,
		.random = any32,
	};
	uint64_t now = w.node[n].set.now;
	int i;

	memset(&w.node[n], 0, sizeof(w.node[n]));
	vrb_pconn_set_init(&w.node[n].set, &params);
	w.node[n].set.now = now;
	for (i = 0; i < MOST; i++)
		vrb_pconn_init(&w.node[n].conns[i], (n > i) - (n < i));
}

static void post(enum kind kind, int from, int to, unsigned int link, uint8_t reason)
{
	struct message *m;

	/* Messages of the connection itself are not lost. */
	if (w.lossy && kind < BYE && !any_of(8))
		return;
	for (m = w.messages; m < w.messages + MESSAGES && m->kind != NONE; m++)
		;
	if (m == w.messages + MESSAGES)
		return;
	*m = (struct message){
		.kind = kind,
		.from = from,
		.to = to,
		.link = link,
		.incarnation = w.node[from].set.params.incarnation,
		.expected = w.node[from].conns[to].known,
		.serial = w.node[from].set.serial,
		.reason = reason,
	};
}

static void drop_link(int n, int peer)
{
	if (w.node[n].link[peer])
		post(DISCONNECT, n, peer, w.node[n].link[peer], 0);
	w.node[n].link[peer] = 0;
	w.node[n].held[peer] = false;
}

static void step(int n, int peer, struct vrb_pconn_input input, unsigned int request);

static void perform(int n, int peer, const struct vrb_pconn_action *action, unsigned int request)
{
	struct node *node = &w.node[n];
	uint32_t what = action->what;

	if (what & (VRB_PCONN_DO_ABANDON | VRB_PCONN_DO_RELEASE | VRB_PCONN_DO_TEARDOWN))
		drop_link(n, peer);
	if (what & (VRB_PCONN_DO_FAIL | VRB_PCONN_DO_TEARDOWN)) {
		assert_int_not_equal(action->err, 0);
		w.failed += node->ops[peer];
		node->ops[peer] = 0;
	}
	if (what & VRB_PCONN_DO_REJECT) {
		assert_int_not_equal(action->reason, VRB_CMWIRE_NONE);
		post(REJECT, n, peer, request, (uint8_t)action->reason);
	}
	if (what & VRB_PCONN_DO_ACCEPT) {
		assert_int_equal(node->link[peer], 0);
		node->link[peer] = request;
		post(REPLY, n, peer, request, 0);
	}
	if (what & VRB_PCONN_DO_CONNECT) {
		assert_int_equal(node->link[peer], 0);
		node->link[peer] = ++w.links;
		post(REQUEST, n, peer, node->link[peer], 0);
	}
	if (what & (VRB_PCONN_DO_UP | VRB_PCONN_DO_RESUME)) {
		assert_int_not_equal(node->link[peer], 0);
		w.ups++;
		w.sent += node->ops[peer];
		node->ops[peer] = 0;
		node->held[peer] = false;
	}
	if (what & VRB_PCONN_DO_ASK) {
		assert_int_not_equal(node->link[peer], 0);
		node->asked[peer] = node->link[peer];
		w.asked++;
	}
	if (what & VRB_PCONN_DO_HOLD)
		node->held[peer] = true;
	if (what & VRB_PCONN_DO_BYE)
		post(BYE, n, peer, node->link[peer], 0);
	if (what & VRB_PCONN_DO_AGREE)
		post(AGREE, n, peer, node->link[peer], 0);
	if (what & VRB_PCONN_DO_REFUSE)
		post(REFUSE, n, peer, node->link[peer], 0);
	if (what & VRB_PCONN_DO_LOOK && !any_of(4))
		step(n, peer, (struct vrb_pconn_input){ .event = VRB_PCONN_DRAINED }, 0);
	if (what & VRB_PCONN_DO_KNOCK && !(w.lossy && !any_of(8)))
		step(n, peer, (struct vrb_pconn_input){ .event = VRB_PCONN_HEARD }, 0);
}

static void evict(int n)
{
	struct vrb_pconn *victim = vrb_pconn_victim(&w.node[n].set);

	if (!victim)
		return;
	w.evicted++;
	step(n, (int)(victim - w.node[n].conns),
	     (struct vrb_pconn_input){ .event = VRB_PCONN_EVICT, .idle = any_of(2) }, 0);
}

static void step(int n, int peer, struct vrb_pconn_input input, unsigned int request)
{
	struct vrb_pconn_action action;

	vrb_pconn_step(&w.node[n].set, &w.node[n].conns[peer], &input, &action);
	perform(n, peer, &action, request);
	if (action.what & VRB_PCONN_DO_EVICT)
		evict(n);
}

static void step_event(int n, int peer, enum vrb_pconn_event event)
{
	step(n, peer, (struct vrb_pconn_input){ .event = event, .idle = any_of(4) }, 0);
}

/* What the connection manager does: an answer that nobody waits for ends what it is about. */
static void take_message(struct message m)
{
	static const enum vrb_pconn_event events[] = {
		[REPLY] = VRB_PCONN_ESTABLISHED, [READY] = VRB_PCONN_ESTABLISHED,
		[REJECT] = VRB_PCONN_REJECTED,	 [DISCONNECT] = VRB_PCONN_DISCONNECTED,
		[BYE] = VRB_PCONN_BYE,		 [AGREE] = VRB_PCONN_AGREED,
		[REFUSE] = VRB_PCONN_REFUSED,
	};
	struct node *node = &w.node[m.to];
	struct vrb_pconn_input input = {
		.event = m.kind == REQUEST ? VRB_PCONN_REQUEST : events[m.kind],
		.incarnation = m.incarnation,
		.expected = m.expected,
		.serial = m.serial,
		.reason = m.reason,
		.idle = any_of(4),
	};

	if (m.kind != REQUEST && node->link[m.from] != m.link) {
		if (m.kind == REPLY)
			post(DISCONNECT, m.to, m.from, m.link, 0);
		return;
	}
	if (m.kind == REJECT || m.kind == DISCONNECT)
		node->link[m.from] = 0;
	if (m.kind == REPLY)
		post(READY, m.to, m.from, m.link, 0);
	step(m.to, m.from, input, m.link);
}

static bool move_message(void)
{
	uint32_t i, at = any_of(MESSAGES);
	struct message m;

	for (i = 0; i < MESSAGES; i++) {
		m = w.messages[(at + i) % MESSAGES];
		if (m.kind == NONE)
			continue;
		w.messages[(at + i) % MESSAGES].kind = NONE;
		take_message(m);
		return true;
	}
	return false;
}

static bool is_under_way(unsigned int link)
{
	const struct message *m;

	for (m = w.messages; m < w.messages + MESSAGES; m++)
		if (m->kind != NONE && m->link == link)
			return true;
	return false;
}

/* The connection manager sends again what was lost, and tells when it can't. */
static void send_again(int n, int peer)
{
	unsigned int link = w.node[n].link[peer];
	enum vrb_pconn_state state = w.node[n].conns[peer].state;
	bool same = w.node[peer].link[n] == link;

	if (is_under_way(link))
		return;
	if (state == VRB_PCONN_ACCEPTING && same)
		post(w.node[peer].conns[n].state == VRB_PCONN_CONNECTING ? REPLY : READY,
		     w.node[peer].conns[n].state == VRB_PCONN_CONNECTING ? n : peer,
		     w.node[peer].conns[n].state == VRB_PCONN_CONNECTING ? peer : n, link, 0);
	else if (state == VRB_PCONN_CONNECTING && !same)
		post(REQUEST, n, peer, link, 0);
	else if (state == VRB_PCONN_ACCEPTING)
		take_message((struct message){
			.kind = DISCONNECT, .from = peer, .to = n, .link = link });
}

/* A device notices after a while that nobody is at the other end. */
static void notice(int n, int peer)
{
	unsigned int link = w.node[n].link[peer];
	enum vrb_pconn_state state = w.node[n].conns[peer].state;

	if (link && state < VRB_PCONN_UP)
		send_again(n, peer);
	if (!link || w.node[peer].link[n] == link || state < VRB_PCONN_UP)
		return;
	w.node[n].link[peer] = 0;
	step(n, peer, (struct vrb_pconn_input){ .event = VRB_PCONN_FAILED, .err = FI_EIO }, 0);
}

/* The device at the other end answers if it has the connection. */
static void answer(int n, int peer)
{
	unsigned int asked = w.node[n].asked[peer];

	w.node[n].asked[peer] = 0;
	if (asked && w.node[n].link[peer] == asked && w.node[peer].link[n] == asked)
		step_event(n, peer, VRB_PCONN_ALIVE);
}

/*
 * A request under a peer's name by somebody else, with an incarnation of its own or the peer's. A connection that both
 * have outlasts it.
 */
static void intrude(int n, int peer)
{
	struct node *node = &w.node[n];
	unsigned int link = node->link[peer];
	enum vrb_pconn_state state = node->conns[peer].state;
	bool whole = state >= VRB_PCONN_UP && state != VRB_PCONN_LEFT && link &&
		     w.node[peer].link[n] == link;
	struct vrb_pconn_input input = {
		.event = VRB_PCONN_REQUEST,
		.incarnation = any_of(2) ? w.node[peer].set.params.incarnation : any32(NULL) | 1,
		.serial = w.node[peer].set.serial + any_of(1000),
	};

	step(n, peer, input, ++w.links);
	if (!whole)
		return;
	w.stayed++;
	assert_int_equal(node->link[peer], link);
	assert_int_equal(node->conns[peer].state, state);
}

/* Time works on it, unless it waits for others or is connected. */
static bool has_deadline(const struct vrb_pconn *conn)
{
	return conn->state != VRB_PCONN_IDLE && conn->state < VRB_PCONN_UP && !conn->queued;
}

static void check_node(int n)
{
	struct vrb_pconn_set *set = &w.node[n].set;
	uint32_t connecting = 0, open = 0;
	struct vrb_pconn *conn;
	int i;

	for (i = 0; i < w.nodes; i++) {
		conn = &w.node[n].conns[i];
		connecting += conn->state == VRB_PCONN_CONNECTING && conn->young;
		open += conn->state == VRB_PCONN_CONNECTING || conn->state >= VRB_PCONN_ACCEPTING;
		/* What waits has somebody who works on it, and not for ever. */
		if (w.node[n].ops[i])
			assert_true(conn->wanted);
		if (has_deadline(conn))
			assert_true(set->now <= conn->deadline);
		if (conn->state == VRB_PCONN_IDLE || conn->state == VRB_PCONN_WAITING)
			assert_int_equal(w.node[n].link[i], 0);
		if (conn->state == VRB_PCONN_UP)
			assert_false(conn->wanted || w.node[n].held[i]);
	}
	assert_int_equal(connecting, set->connecting);
	assert_int_equal(open, set->open);
	assert_true(connecting <= set->params.window && open <= set->params.cap);
}

static void pass_time(uint32_t ms)
{
	struct vrb_pconn_action action;
	struct vrb_pconn *conn;
	int n, peer;

	for (n = 0; n < w.nodes; n++) {
		w.node[n].set.now += ms;
		for (peer = 0; peer < w.nodes; peer++)
			answer(n, peer);
		while ((conn = vrb_pconn_poll(&w.node[n].set, &action)))
			perform(n, (int)(conn - w.node[n].conns), &action, 0);
		if (action.what & VRB_PCONN_DO_EVICT)
			evict(n);
		assert_true(vrb_pconn_next(&w.node[n].set) > w.node[n].set.now);
		check_node(n);
	}
}

static void want(int n, int peer)
{
	struct node *node = &w.node[n];

	if (node->conns[peer].state == VRB_PCONN_UP) {
		w.sent++;
		vrb_pconn_used(&node->set, &node->conns[peer]);
		return;
	}
	node->ops[peer]++;
	step_event(n, peer, VRB_PCONN_WANT);
}

static void anything(bool restarts)
{
	int n = (int)any_of((uint32_t)w.nodes), peer = (int)any_of((uint32_t)w.nodes - 1);

	peer += peer >= n;
	switch (any_of(w.strangers ? 13 : 12)) {
	case 0:
	case 1:
		want(n, peer);
		break;
	case 2:
		pass_time(any_of(TICK));
		break;
	case 3:
		notice(n, peer);
		break;
	case 4:
		if (!any_of(4))
			step_event(n, peer, VRB_PCONN_EVICT);
		break;
	case 12:
		intrude(n, peer);
		break;
	case 5:
		if (restarts && !any_of(10))
			init_node(n, w.node[n].set.params.window, w.node[n].set.params.cap);
		break;
	default:
		move_message();
		break;
	}
}

static void settle(int steps)
{
	int n, peer;

	while (steps-- > 0) {
		while (move_message())
			;
		for (n = 0; n < w.nodes; n++) {
			for (peer = 0; peer < w.nodes; peer++)
				notice(n, peer);
		}
		pass_time(TICK);
	}
}

static void start_world(uint64_t seed)
{
	int n;

	memset(&w, 0, sizeof(w));
	w.seed = seed;
	w.random = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	w.nodes = 2 + (int)(seed % (NODES - 1));
	for (n = 0; n < w.nodes; n++)
		init_node(n, 1 + any_of(3), seed % 5 ? NODES : 1 + any_of(NODES));
}

static void run(uint64_t seed)
{
	int i, n, peer;

	start_world(seed);
	w.lossy = seed & 1;
	w.strangers = seed & 4;
	for (i = 0; i < 300; i++)
		anything(seed & 2);
	/* From now on nothing goes wrong: what is asked for happens, and both ends have the same. */
	w.lossy = false;
	settle(2 * GIVE_UP / TICK);
	for (n = 0; n < w.nodes; n++) {
		for (peer = 0; peer < w.nodes; peer++) {
			if (peer == n)
				continue;
			assert_int_equal(w.node[n].ops[peer], 0);
			if (w.node[n].conns[peer].state == VRB_PCONN_UP)
				assert_int_equal(w.node[n].link[peer], w.node[peer].link[n]);
		}
	}
	if (seed % 5 == 0)
		return;
	/* With room for all, everybody reaches everybody. */
	w.failed = 0;
	for (n = 0; n < w.nodes; n++) {
		for (peer = 0; peer < w.nodes; peer++) {
			if (peer != n)
				want(n, peer);
		}
	}
	settle(2 * GIVE_UP / TICK);
	assert_int_equal(w.failed, 0);
	for (n = 0; n < w.nodes; n++) {
		for (peer = 0; peer < w.nodes; peer++) {
			if (peer == n)
				continue;
			assert_int_equal(w.node[n].conns[peer].state, VRB_PCONN_UP);
			assert_int_equal(w.node[n].link[peer], w.node[peer].link[n]);
		}
	}
}

static void test_schedules(void **state)
{
	const char *seeds = getenv("WEFT_SEEDS");
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 5000;

	(void)state;
	for (seed = 0; seed < count; seed++)
		run(seed);
}

enum { EACH = 12, FAIR_MS = 30000 };

/* What is to be sent, and since when the oldest of it waits. */
struct demand {
	unsigned int left[MOST][MOST];
	uint64_t since[MOST][MOST];
	uint64_t longest;
};

/* True while something is to be sent. */
static bool push(struct demand *demand)
{
	uint64_t now = w.node[0].set.now, waited;
	bool some = false;
	int n, peer;

	for (n = 0; n < w.nodes; n++) {
		for (peer = 0; peer < w.nodes; peer++) {
			some |= demand->left[n][peer] || w.node[n].ops[peer];
			if (w.node[n].ops[peer]) {
				waited = now - demand->since[n][peer];
				demand->longest =
					waited > demand->longest ? waited : demand->longest;
			} else if (demand->left[n][peer] && !any_of(3)) {
				demand->left[n][peer]--;
				demand->since[n][peer] = now;
				want(n, peer);
			}
		}
	}
	return some;
}

/*
 * More peers than there is room for connections, everywhere, down to one: all is sent, nothing fails however long it
 * waits, nobody waits for ever.
 */
static uint64_t run_capped(uint64_t seed)
{
	struct demand demand = { .longest = 0 };
	int n, peer, i;

	start_world(seed);
	w.nodes = MOST;
	for (n = 0; n < w.nodes; n++) {
		init_node(n, 1 + any_of(3), seed % 5 ? (uint32_t)(seed % 5) : 1 + any_of(4));
		for (peer = 0; peer < w.nodes; peer++)
			demand.left[n][peer] = peer == n ? 0 : EACH;
	}
	while (push(&demand)) {
		for (i = 0; i < 40 && move_message(); i++)
			;
		pass_time(1 + any_of(10));
		assert_int_equal(w.failed, 0);
		assert_true(demand.longest < FAIR_MS);
	}
	return demand.longest;
}

static void test_capped(void **state)
{
	const char *seeds = getenv("WEFT_SEEDS");
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 2000, waited, longest = 0;

	(void)state;
	for (seed = 0; seed < count; seed++) {
		waited = run_capped(seed);
		longest = waited > longest ? waited : longest;
	}
	print_message("the longest wait for room: %llu ms\n", (unsigned long long)longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedules),
		cmocka_unit_test(test_capped),
	};

	return cmocka_run_group_tests_name("rdm_pconn_sim", tests, NULL, NULL);
}
