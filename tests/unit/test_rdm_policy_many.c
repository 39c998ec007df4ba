/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections to very many peers: the time grows linearly with their number, and those that do not
 * answer are no hindrance to others. WEFT_PEERS=N measures N peers and prints the time.
 */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/policy.h"

enum { FEW = 5000, MANY = 40000, WINDOW = 32, ATTEMPT = 1000, GIVE_UP = 10000, CROWD = 1000 };

static uint32_t any32(void *arg)
{
	uint32_t *random = arg;

	return *random = *random * 1664525 + 1013904223;
}

static double cpu_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct run {
	struct ofi_rdm_conn_set set;
	struct ofi_rdm_conn *conns;
	uint32_t out[WINDOW], outs, count; /* requests that the peers have */
	uint32_t random, ups;
};

static void step(struct run *run, uint32_t i, struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(&run->set, &run->conns[i], &input, &action);
	if (action.what & OFI_RDM_CONN_DO_CONNECT)
		run->out[run->outs++] = i;
	run->ups += !!(action.what & OFI_RDM_CONN_DO_UP);
}

/* What the endpoint does after each event: whatever is due, and when to look again. */
static void schedule(struct run *run)
{
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;

	while ((conn = ofi_rdm_conn_poll(&run->set, &action)))
		if (action.what & OFI_RDM_CONN_DO_CONNECT)
			run->out[run->outs++] = (uint32_t)(conn - run->conns);
	assert_true(ofi_rdm_conn_next(&run->set) >= run->set.now);
}

/* One request is answered; one of four is refused at first, and tried again later. */
static void answer(struct run *run)
{
	uint32_t at = any32(&run->random) % run->outs, i = run->out[at];

	run->out[at] = run->out[--run->outs];
	if (any32(&run->random) % 4)
		step(run, i,
		     (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED,
						  .incarnation = i + 1 });
	else
		step(run, i,
		     (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REJECTED,
						  .reason = OFI_RDM_CMWIRE_BUSY });
}

static double connect_all(uint32_t count)
{
	static struct run run;
	const struct ofi_rdm_conn_params params = {
		.incarnation = 77,
		.window = WINDOW,
		.cap = UINT32_MAX,
		.attempt = ATTEMPT,
		.give_up = UINT32_MAX,
		.backoff = 20,
		.backoff_max = 1000,
		.random = any32,
		.arg = &run.random,
	};
	double start;
	uint32_t i;

	run = (struct run){ .conns = calloc(count, sizeof(*run.conns)), .count = count };
	assert_non_null(run.conns);
	ofi_rdm_conn_set_init(&run.set, &params);
	for (i = 0; i < count; i++)
		ofi_rdm_conn_init(&run.conns[i], 1);
	start = cpu_s();
	for (i = 0; i < count; i++) {
		step(&run, i, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
		schedule(&run);
	}
	while (run.ups < count) {
		run.set.now += 1;
		while (run.outs)
			answer(&run);
		schedule(&run);
	}
	free(run.conns);
	return cpu_s() - start;
}

/*
 * Eight times as many peers take eight times as long, with a margin for other costs; with scanning
 * the factor is 64.
 */
static void test_linear(void **state)
{
	const char *peers = getenv("WEFT_PEERS");
	double few = 1e9, many = 1e9, s;
	int i;

	(void)state;
	if (peers) {
		printf("%s peers: %.3f s\n", peers, connect_all((uint32_t)atoi(peers)));
		return;
	}
	for (i = 0; i < 3; i++) {
		s = connect_all(FEW);
		few = s < few ? s : few;
		s = connect_all(MANY);
		many = s < many ? s : many;
	}
	print_message("%d peers in %.4f s, %d in %.4f s\n", FEW, few, MANY, many);
	assert_true(many < few * (MANY / FEW) * 3);
}

/*
 * Peers that all do the same with a request: its fate comes after some time, or when the one host
 * of all of them has the time for it. The last one is live, and answers at once.
 */
static struct {
	struct ofi_rdm_conn_set set;
	struct ofi_rdm_conn conns[CROWD + 1];
	/* Requests whose fate is not known, first in, first out. */
	uint32_t out[32 * CROWD], first, outs;
	uint64_t sent[32 * CROWD];
	struct ofi_rdm_conn_input fate;
	enum ofi_rdm_conn_event probed; /* what becomes of a probe */
	uint32_t delay, pause;		/* of a fate after its request; between two fates */
	uint64_t next;			/* time of the next fate */
	uint32_t random, fails, ups, most;
	uint64_t asked_live; /* time of the request to the live peer */
} crowd;

static void crowd_step(struct ofi_rdm_conn *conn, struct ofi_rdm_conn_input input);

static void crowd_perform(struct ofi_rdm_conn *conn, uint32_t what)
{
	uint32_t i = (uint32_t)(conn - crowd.conns);

	crowd.ups += !!(what & OFI_RDM_CONN_DO_UP);
	crowd.fails += !!(what & OFI_RDM_CONN_DO_FAIL);
	if (what & OFI_RDM_CONN_DO_CONNECT && i == CROWD) {
		crowd.asked_live = crowd.set.now;
		crowd_step(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED,
							      .incarnation = 1 });
	} else if (what & OFI_RDM_CONN_DO_CONNECT) {
		crowd.sent[crowd.outs] = crowd.set.now;
		crowd.out[crowd.outs++] = i;
	}
	if (crowd.set.open > crowd.most)
		crowd.most = crowd.set.open;
	if (what & OFI_RDM_CONN_DO_PROBE)
		crowd_step(conn, (struct ofi_rdm_conn_input){ .event = crowd.probed });
}

static void crowd_step(struct ofi_rdm_conn *conn, struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(&crowd.set, conn, &input, &action);
	crowd_perform(conn, action.what);
}

static void crowd_want(uint32_t i)
{
	crowd_step(&crowd.conns[i], (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_WANT });
}

/* The host takes requests in the order in which they come. */
static void meet_fates(void)
{
	uint64_t now = crowd.set.now;

	while (crowd.delay && crowd.first < crowd.outs && now >= crowd.next &&
	       now >= crowd.sent[crowd.first] + crowd.delay) {
		crowd.next = now + crowd.pause;
		crowd_step(&crowd.conns[crowd.out[crowd.first++]], crowd.fate);
	}
}

static void crowd_pass(void)
{
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;
	uint32_t outs = crowd.outs;

	crowd.set.now++;
	meet_fates();
	while ((conn = ofi_rdm_conn_poll(&crowd.set, &action)))
		crowd_perform(conn, action.what);
	/* Requests take time, in which the endpoint is locked. */
	assert_true(crowd.outs - outs <= WINDOW);
}

/* A delay of 0 means never. */
static void crowd_begin(uint32_t delay, uint32_t pause, struct ofi_rdm_conn_input fate,
			enum ofi_rdm_conn_event probed)
{
	const struct ofi_rdm_conn_params params = {
		.incarnation = 77,
		.window = WINDOW,
		.cap = UINT32_MAX,
		.attempt = ATTEMPT,
		.give_up = GIVE_UP,
		.backoff = 20,
		.backoff_max = 1000,
		.random = any32,
		.arg = &crowd.random,
	};
	uint32_t i;

	memset(&crowd, 0, sizeof(crowd));
	crowd.delay = delay;
	crowd.pause = pause;
	crowd.fate = fate;
	crowd.probed = probed;
	ofi_rdm_conn_set_init(&crowd.set, &params);
	for (i = 0; i <= CROWD; i++)
		ofi_rdm_conn_init(&crowd.conns[i], 1);
	for (i = 0; i < CROWD; i++)
		crowd_want(i);
}

/* The live peer is wanted after this time; the others have their time limit, and not much more. */
static void expect_live(uint32_t delay, uint64_t wanted)
{
	const struct ofi_rdm_conn_input unreachable = { .event = OFI_RDM_CONN_FAILED,
							.err = FI_EHOSTUNREACH };

	crowd_begin(delay, 0, unreachable, OFI_RDM_CONN_PROBED);
	while (crowd.set.now < wanted)
		crowd_pass();
	crowd_want(CROWD);
	while (!crowd.asked_live && crowd.set.now < 400000)
		crowd_pass();
	while (crowd.fails < CROWD && crowd.set.now < 400000)
		crowd_pass();
	print_message("%u ms to fail, wanted after %u ms: asked after %u ms; all failed at %u ms\n",
		      delay, (unsigned int)wanted, (unsigned int)(crowd.asked_live - wanted),
		      (unsigned int)crowd.set.now);
	assert_true(crowd.asked_live && crowd.asked_live <= wanted + ATTEMPT * 5 / 2);
	assert_in_range(crowd.set.now, GIVE_UP, GIVE_UP * 3 / 2);
	assert_int_equal(crowd.ups, 1);
	assert_int_equal(crowd.set.silent, 0);
}

/* A thousand hosts that are gone make others wait for 2 s, whether or not requests fail early. */
static void test_gone(void **state)
{
	static const uint32_t delays[] = { 0, 300, 2000 };
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(delays) / sizeof(delays[0]); i++) {
		expect_live(delays[i], 0);
		expect_live(delays[i], 5000);
	}
}

/*
 * A host that is slow because of its many peers is not asked for all of them at once, and they all
 * connect, however long that takes.
 */
static void test_slow(void **state)
{
	const struct ofi_rdm_conn_input reply = { .event = OFI_RDM_CONN_ESTABLISHED,
						  .incarnation = 5 };

	(void)state;
	crowd_begin(1, 1000 / (WINDOW / 2), reply, OFI_RDM_CONN_ANSWERED);
	while (crowd.ups < CROWD && crowd.set.now < 200000) {
		crowd_pass();
		assert_true(crowd.set.connecting <= WINDOW);
		if (crowd.set.now == GIVE_UP / 2)
			assert_true(crowd.outs <= WINDOW * (GIVE_UP / 2 / ATTEMPT + 1) * 3 / 2);
	}
	print_message("%u slow peers connect in %u ms\n", crowd.ups, (unsigned int)crowd.set.now);
	assert_int_equal(crowd.ups, CROWD);
	assert_int_equal(crowd.fails, 0);
	assert_int_equal(crowd.set.silent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_linear),
		cmocka_unit_test(test_gone),
		cmocka_unit_test(test_slow),
	};

	return cmocka_run_group_tests_name("rdm_policy_many", tests, NULL, NULL);
}
