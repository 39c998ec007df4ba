/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections between a few endpoints that a seed drives through crossing, lost and late messages,
 * restarts and evictions. WEFT_SEEDS=N runs N schedules.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/policy.h"

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
	struct ofi_rdm_conn_set set;
	struct ofi_rdm_conn conns[MOST];
	unsigned int link[MOST]; /* the connection or attempt that it has, 0: none */
	unsigned int ops[MOST];	 /* that wait */
	bool held[MOST];
	uint64_t last[MOST];	  /* the incarnation that it was connected to last */
	unsigned int asked[MOST]; /* the connection whose other end is asked whether it is there */
};

static struct {
	uint64_t random, seed;
	unsigned int links, sent, failed, ups, evicted, asked, stayed;
	int nodes;
	bool lossy, strangers, prove;
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
	const struct ofi_rdm_conn_params params = {
		.incarnation = ((uint64_t)any32(NULL) << 32 | any32(NULL)) | 1,
		.window = window,
		.cap = cap,
		.attempt = ATTEMPT,
		.give_up = GIVE_UP,
		.prove = w.prove ? GIVE_UP / 2 : 0,
		.drain = DRAIN,
		.backoff = 20,
		.backoff_max = 200,
		.random = any32,
	};
	uint64_t now = w.node[n].set.now;
	int i;

	memset(&w.node[n], 0, sizeof(w.node[n]));
	ofi_rdm_conn_set_init(&w.node[n].set, &params);
	w.node[n].set.now = now;
	for (i = 0; i < MOST; i++)
		ofi_rdm_conn_init(&w.node[n].conns[i], (n > i) - (n < i));
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

static void step(int n, int peer, struct ofi_rdm_conn_input input, unsigned int request);

/* What becomes of the connection. */
static void perform_link(int n, int peer, const struct ofi_rdm_conn_action *action,
			 unsigned int request)
{
	struct node *node = &w.node[n];
	uint32_t what = action->what;

	if (what & (OFI_RDM_CONN_DO_ABANDON | OFI_RDM_CONN_DO_RELEASE | OFI_RDM_CONN_DO_TEARDOWN))
		drop_link(n, peer);
	if (what & (OFI_RDM_CONN_DO_FAIL | OFI_RDM_CONN_DO_TEARDOWN)) {
		assert_int_not_equal(action->err, 0);
		w.failed += node->ops[peer];
		node->ops[peer] = 0;
	}
	if (what & OFI_RDM_CONN_DO_REJECT) {
		assert_int_not_equal(action->reason, OFI_RDM_CMWIRE_NONE);
		post(REJECT, n, peer, request, (uint8_t)action->reason);
	}
	if (what & OFI_RDM_CONN_DO_ACCEPT) {
		assert_int_equal(node->link[peer], 0);
		node->link[peer] = request;
		post(REPLY, n, peer, request, 0);
	}
	if (what & OFI_RDM_CONN_DO_CONNECT) {
		assert_int_equal(node->link[peer], 0);
		node->link[peer] = ++w.links;
		post(REQUEST, n, peer, node->link[peer], 0);
	}
	if (what & (OFI_RDM_CONN_DO_UP | OFI_RDM_CONN_DO_RESUME)) {
		assert_int_not_equal(node->link[peer], 0);
		w.ups++;
		w.sent += node->ops[peer];
		node->ops[peer] = 0;
		node->held[peer] = false;
	}
}

static void perform(int n, int peer, const struct ofi_rdm_conn_action *action, unsigned int request)
{
	struct node *node = &w.node[n];
	uint32_t what = action->what;

	perform_link(n, peer, action, request);
	if (what & OFI_RDM_CONN_DO_UP) {
		assert_int_equal(!!(what & OFI_RDM_CONN_DO_RENEW),
				 node->last[peer] && node->last[peer] != node->conns[peer].known);
		node->last[peer] = node->conns[peer].known;
	}
	if (what & OFI_RDM_CONN_DO_ASK) {
		assert_int_not_equal(node->link[peer], 0);
		node->asked[peer] = node->link[peer];
		w.asked++;
	}
	if (what & OFI_RDM_CONN_DO_HOLD)
		node->held[peer] = true;
	if (what & OFI_RDM_CONN_DO_BYE)
		post(BYE, n, peer, node->link[peer], 0);
	if (what & OFI_RDM_CONN_DO_AGREE)
		post(AGREE, n, peer, node->link[peer], 0);
	if (what & OFI_RDM_CONN_DO_REFUSE)
		post(REFUSE, n, peer, node->link[peer], 0);
	if (what & OFI_RDM_CONN_DO_LOOK && !any_of(4))
		step(n, peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_DRAINED }, 0);
	if (what & OFI_RDM_CONN_DO_PROBE)
		step(n, peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_PROBED }, 0);
	if (what & OFI_RDM_CONN_DO_PROBE && (!w.lossy || any_of(8)))
		step(n, peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ANSWERED }, 0);
}

static void evict(int n)
{
	struct ofi_rdm_conn *victim = ofi_rdm_conn_victim(&w.node[n].set);

	if (!victim)
		return;
	w.evicted++;
	step(n, (int)(victim - w.node[n].conns),
	     (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_EVICT, .idle = any_of(2) }, 0);
}

static void step(int n, int peer, struct ofi_rdm_conn_input input, unsigned int request)
{
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(&w.node[n].set, &w.node[n].conns[peer], &input, &action);
	perform(n, peer, &action, request);
	if (action.what & OFI_RDM_CONN_DO_EVICT)
		evict(n);
}

static void step_event(int n, int peer, enum ofi_rdm_conn_event event)
{
	step(n, peer, (struct ofi_rdm_conn_input){ .event = event, .idle = any_of(4) }, 0);
}

/* What the connection manager does: an answer that nobody waits for ends what it is about. */
static void take_message(struct message m)
{
	static const enum ofi_rdm_conn_event events[] = {
		[REPLY] = OFI_RDM_CONN_ESTABLISHED, [READY] = OFI_RDM_CONN_ESTABLISHED,
		[REJECT] = OFI_RDM_CONN_REJECTED,   [DISCONNECT] = OFI_RDM_CONN_DISCONNECTED,
		[BYE] = OFI_RDM_CONN_BYE,	    [AGREE] = OFI_RDM_CONN_AGREED,
		[REFUSE] = OFI_RDM_CONN_REFUSED,
	};
	struct node *node = &w.node[m.to];
	struct ofi_rdm_conn_input input = {
		.event = m.kind == REQUEST ? OFI_RDM_CONN_REQUEST : events[m.kind],
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
	enum ofi_rdm_conn_state state = w.node[n].conns[peer].state;
	bool same = w.node[peer].link[n] == link;

	if (is_under_way(link))
		return;
	if (state == OFI_RDM_CONN_ACCEPTING && same)
		post(w.node[peer].conns[n].state == OFI_RDM_CONN_CONNECTING ? REPLY : READY,
		     w.node[peer].conns[n].state == OFI_RDM_CONN_CONNECTING ? n : peer,
		     w.node[peer].conns[n].state == OFI_RDM_CONN_CONNECTING ? peer : n, link, 0);
	else if (state == OFI_RDM_CONN_CONNECTING && !same)
		post(REQUEST, n, peer, link, 0);
	else if (state == OFI_RDM_CONN_ACCEPTING)
		take_message((struct message){
			.kind = DISCONNECT, .from = peer, .to = n, .link = link });
}

/* A device notices after a while that nobody is at the other end. */
static void notice(int n, int peer)
{
	unsigned int link = w.node[n].link[peer];
	enum ofi_rdm_conn_state state = w.node[n].conns[peer].state;

	if (link && state < OFI_RDM_CONN_UP)
		send_again(n, peer);
	if (!link || w.node[peer].link[n] == link || state < OFI_RDM_CONN_UP)
		return;
	w.node[n].link[peer] = 0;
	step(n, peer, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_FAILED, .err = FI_EIO },
	     0);
}

/* The device at the other end answers if it has the connection. */
static void answer(int n, int peer)
{
	unsigned int asked = w.node[n].asked[peer];

	w.node[n].asked[peer] = 0;
	if (asked && w.node[n].link[peer] == asked && w.node[peer].link[n] == asked)
		step_event(n, peer, OFI_RDM_CONN_ALIVE);
}

/*
 * Somebody else sends a request under a peer's name, with its own incarnation or the peer's. A
 * connection that both have survives it.
 */
static void intrude(int n, int peer)
{
	struct node *node = &w.node[n];
	unsigned int link = node->link[peer];
	enum ofi_rdm_conn_state state = node->conns[peer].state;
	bool whole = state >= OFI_RDM_CONN_UP && state != OFI_RDM_CONN_LEFT && link &&
		     w.node[peer].link[n] == link;
	struct ofi_rdm_conn_input input = {
		.event = OFI_RDM_CONN_REQUEST,
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
static bool has_deadline(const struct ofi_rdm_conn *conn)
{
	return conn->state != OFI_RDM_CONN_IDLE && conn->state < OFI_RDM_CONN_UP && !conn->queued;
}

static void check_node(int n)
{
	struct ofi_rdm_conn_set *set = &w.node[n].set;
	uint32_t connecting = 0, open = 0, silent = 0;
	struct ofi_rdm_conn *conn;
	int i;

	for (i = 0; i < w.nodes; i++) {
		conn = &w.node[n].conns[i];
		connecting += conn->state == OFI_RDM_CONN_CONNECTING && conn->young;
		silent += conn->silent;
		open += conn->state == OFI_RDM_CONN_CONNECTING ||
			conn->state >= OFI_RDM_CONN_ACCEPTING;
		/* What waits has somebody who works on it, and not for ever. */
		if (w.node[n].ops[i])
			assert_true(conn->wanted);
		if (has_deadline(conn))
			assert_true(set->now <= conn->deadline);
		if (conn->state == OFI_RDM_CONN_IDLE || conn->state == OFI_RDM_CONN_WAITING)
			assert_int_equal(w.node[n].link[i], 0);
		if (conn->state == OFI_RDM_CONN_UP)
			assert_false(conn->wanted || w.node[n].held[i]);
		if (conn->silent)
			assert_in_range(conn->state, OFI_RDM_CONN_WAITING, OFI_RDM_CONN_CONNECTING);
	}
	assert_true(connecting == set->connecting && connecting <= set->params.window);
	assert_true(open == set->open && open <= set->params.cap && silent == set->silent);
}

static void pass_time(uint32_t ms)
{
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	int n, peer;

	for (n = 0; n < w.nodes; n++) {
		w.node[n].set.now += ms;
		for (peer = 0; peer < w.nodes; peer++)
			answer(n, peer);
		while ((conn = ofi_rdm_conn_poll(&w.node[n].set, &action)))
			perform(n, (int)(conn - w.node[n].conns), &action, 0);
		if (action.what & OFI_RDM_CONN_DO_EVICT)
			evict(n);
		assert_true(ofi_rdm_conn_next(&w.node[n].set) > w.node[n].set.now);
		check_node(n);
	}
}

static void want(int n, int peer)
{
	struct node *node = &w.node[n];

	if (node->conns[peer].state == OFI_RDM_CONN_UP) {
		w.sent++;
		ofi_rdm_conn_used(&node->set, &node->conns[peer]);
		return;
	}
	node->ops[peer]++;
	step_event(n, peer, OFI_RDM_CONN_WANT);
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
			step_event(n, peer, OFI_RDM_CONN_EVICT);
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
	w.prove = seed & 8;
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
	/*
	 * From now on nothing goes wrong: what is asked for happens, and both ends have the same.
	 */
	w.lossy = false;
	settle(2 * GIVE_UP / TICK);
	for (n = 0; n < w.nodes; n++) {
		for (peer = 0; peer < w.nodes; peer++) {
			if (peer == n)
				continue;
			assert_int_equal(w.node[n].ops[peer], 0);
			if (w.node[n].conns[peer].state == OFI_RDM_CONN_UP)
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
			assert_int_equal(w.node[n].conns[peer].state, OFI_RDM_CONN_UP);
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
				if (waited > demand->longest)
					demand->longest = waited;
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
 * More peers than there are connections, everywhere, down to one connection: everything is sent,
 * nothing fails however long it waits, and none waits for ever. Returns the longest wait so far.
 */
static uint64_t run_capped(uint64_t seed, uint64_t longest)
{
	struct demand demand = { .longest = longest };
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
	uint64_t seed, count = seeds ? strtoull(seeds, NULL, 0) : 2000, longest = 0;

	(void)state;
	for (seed = 0; seed < count; seed++)
		longest = run_capped(seed, longest);
	print_message("the longest wait for room: %llu ms\n", (unsigned long long)longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedules),
		cmocka_unit_test(test_capped),
	};

	return cmocka_run_group_tests_name("rdm_policy_sim", tests, NULL, NULL);
}
