/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which stranger is evicted if there is no place for another one: by host, by idleness, and after
 * which time.
 */
#include "unit.h"

#include <rdma/fi_errno.h>
#include "prov/rdm/policy.h"

enum { CONNS = 40, PLACES = 12, GIVE_UP = 10000, FOE = 7, FRIEND = 9, TRIES = 60, AGAIN_MS = 50 };

static struct ofi_rdm_conn_set set;
static struct ofi_rdm_conn conns[CONNS];

static uint32_t any32(void *arg)
{
	uint32_t *random = arg;

	return *random = *random * 1664525 + 1013904223;
}

static struct ofi_rdm_conn_action after(struct ofi_rdm_conn *conn, struct ofi_rdm_conn_input input)
{
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(&set, conn, &input, &action);
	return action;
}

static int begin(void **state)
{
	static uint32_t random;
	const struct ofi_rdm_conn_params params = {
		.incarnation = 77,
		.window = 4,
		.cap = 16,
		.strangers = PLACES,
		.attempt = 1000,
		.give_up = GIVE_UP,
		.drain = 100,
		.backoff = 20,
		.backoff_max = 1000,
		.random = any32,
		.arg = &random,
	};
	int i;

	(void)state;
	ofi_rdm_conn_set_init(&set, &params);
	set.now = 100000;
	for (i = 0; i < CONNS; i++) {
		ofi_rdm_conn_init(&conns[i], 1);
		conns[i].host = FOE;
	}
	return 0;
}

static struct ofi_rdm_conn_action ask(struct ofi_rdm_conn *conn)
{
	static uint32_t serial;

	return after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_REQUEST,
							.incarnation = 5,
							.serial = ++serial,
							.stranger = true });
}

static void come_up(struct ofi_rdm_conn *conn)
{
	after(conn, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_ESTABLISHED });
}

/* The foe takes all places, a millisecond apart. */
static void fill(bool up)
{
	int i;

	for (i = 0; i < PLACES; i++) {
		assert_int_equal(ask(&conns[i]).what, OFI_RDM_CONN_DO_ACCEPT);
		if (up)
			come_up(&conns[i]);
		set.now++;
	}
}

static void evict(struct ofi_rdm_conn *victim, bool idle)
{
	after(victim, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_EVICT, .idle = idle });
}

/* What time has to do until then; what drains does not, and hosts are there. */
static void pass(uint64_t until)
{
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *conn;

	while (ofi_rdm_conn_next(&set) <= until) {
		if (ofi_rdm_conn_next(&set) > set.now)
			set.now = ofi_rdm_conn_next(&set);
		while ((conn = ofi_rdm_conn_poll(&set, &action)))
			if (action.what & OFI_RDM_CONN_DO_PROBE)
				after(conn, (struct ofi_rdm_conn_input){
						    .event = OFI_RDM_CONN_ANSWERED });
	}
	set.now = until;
}

/*
 * A stranger asks repeatedly, and others have to make room. Returns the milliseconds until it has a
 * place.
 */
static uint64_t comes_after(struct ofi_rdm_conn *comer, bool idle, unsigned int *victims)
{
	uint64_t start = set.now;
	struct ofi_rdm_conn_action action;
	struct ofi_rdm_conn *victim;
	int i;

	*victims = 0;
	for (i = 0; i < TRIES * 10; i++) {
		action = ask(comer);
		if (action.what & OFI_RDM_CONN_DO_ACCEPT)
			return set.now - start;
		assert_int_equal(action.what, OFI_RDM_CONN_DO_REJECT);
		assert_int_equal(action.reason, OFI_RDM_CMWIRE_BUSY);
		victim = action.make_room ? ofi_rdm_conn_stranger_victim(&set, comer->host) : NULL;
		if (victim) {
			*victims += 1;
			evict(victim, idle);
		}
		pass(set.now + AGAIN_MS);
	}
	return UINT64_MAX;
}

/* In use or not: the host with the most places gives up those that exceed its share. */
static void another_host_gets_its_share(void **state)
{
	unsigned int victims, i;

	(void)state;
	fill(true);
	set.now += 100;
	for (i = 0; i < PLACES / 2; i++) {
		conns[PLACES + i].host = FRIEND;
		assert_true(comes_after(&conns[PLACES + i], true, &victims) <= 1000);
		come_up(&conns[PLACES + i]);
		ofi_rdm_conn_used(&set, &conns[PLACES + i]);
		assert_true(set.hosts[FOE].open <= PLACES - 1 - i);
	}
	pass(set.now + 1000);
	while (set.strangers < PLACES) {
		assert_int_equal(ask(&conns[PLACES + i]).what, OFI_RDM_CONN_DO_ACCEPT);
		come_up(&conns[PLACES + i++]);
	}
	assert_int_equal(set.hosts[FRIEND].open, PLACES / 2);
	/* In halves, neither takes from the other what is in use. */
	for (i = 0; i < CONNS; i++)
		ofi_rdm_conn_used(&set, &conns[i]);
	set.now += 500;
	assert_null(ofi_rdm_conn_stranger_victim(&set, FRIEND));
	assert_null(ofi_rdm_conn_stranger_victim(&set, FOE));
}

/* The place that one gives up is for who was refused, not for its own host again. */
static void the_place_is_kept(void **state)
{
	struct ofi_rdm_conn *comer = &conns[PLACES], *foe = &conns[PLACES + 1], *victim;

	(void)state;
	fill(true);
	set.now += 100;
	comer->host = FRIEND;
	assert_true(ask(comer).make_room);
	victim = ofi_rdm_conn_stranger_victim(&set, FRIEND);
	assert_ptr_equal(victim, &conns[0]);
	evict(victim, true);
	after(victim, (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_AGREED });
	assert_int_equal(ask(foe).reason, OFI_RDM_CMWIRE_BUSY);
	assert_int_equal(ask(comer).what, OFI_RDM_CONN_DO_ACCEPT);
	come_up(comer);
	/* Not for long, if it does not come. */
	comer = &conns[PLACES + 2];
	comer->host = FRIEND;
	ask(comer);
	after(&conns[1], (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_DISCONNECTED });
	assert_int_equal(ask(foe).reason, OFI_RDM_CMWIRE_BUSY);
	set.now += 1000;
	assert_int_equal(ask(foe).what, OFI_RDM_CONN_DO_ACCEPT);
}

/* On one host what was never used goes first, and what is used stays. */
static void idle_ones_give_way_on_their_host(void **state)
{
	unsigned int victims, i;

	(void)state;
	fill(true);
	for (i = 1; i < PLACES; i++)
		ofi_rdm_conn_used(&set, &conns[i]);
	ask(&conns[PLACES]);
	assert_null(ofi_rdm_conn_stranger_victim(&set, FOE));
	set.now += 1100;
	assert_ptr_equal(ofi_rdm_conn_stranger_victim(&set, FOE), &conns[0]);
	assert_true(comes_after(&conns[PLACES], true, &victims) <= 1000);
	assert_int_equal(victims, 1);
	come_up(&conns[PLACES]);
	/* All others were used a while ago. */
	ofi_rdm_conn_used(&set, &conns[PLACES]);
	assert_null(ofi_rdm_conn_stranger_victim(&set, FOE));
	pass(set.now + 5000);
	assert_ptr_equal(ofi_rdm_conn_stranger_victim(&set, FOE), &conns[1]);
	assert_true(comes_after(&conns[PLACES + 1], true, &victims) <= GIVE_UP + 1000);
}

/* Accepted, and never heard of: only when the place is wanted, and not before 5 s. */
static void half_open_ones_give_way(void **state)
{
	struct ofi_rdm_conn_action action;
	unsigned int victims;

	(void)state;
	fill(false);
	pass(set.now + 4 * GIVE_UP);
	assert_int_equal(set.strangers, PLACES);
	assert_true(comes_after(&conns[PLACES], false, &victims) <= AGAIN_MS);
	assert_int_equal(victims, 1);
	begin(NULL);
	fill(false);
	assert_null(ofi_rdm_conn_victim(&set));
	assert_in_range(comes_after(&conns[PLACES], false, &victims), 4000, 6000);
	action = after(ofi_rdm_conn_victim(&set),
		       (struct ofi_rdm_conn_input){ .event = OFI_RDM_CONN_EVICT });
	assert_int_equal(action.what, OFI_RDM_CONN_DO_ABANDON);
	conns[PLACES].host = FRIEND;
}

/* Who answers no goodbye is not waited for; who was used has as long as operations have. */
static void goodbyes_end(void **state)
{
	struct ofi_rdm_conn_action action = { 0 };
	struct ofi_rdm_conn *conn = &conns[0];
	uint64_t start;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		begin(NULL);
		assert_int_equal(ask(conn).what, OFI_RDM_CONN_DO_ACCEPT);
		come_up(conn);
		if (i)
			ofi_rdm_conn_used(&set, conn);
		if (i == 2)
			ofi_rdm_conn_mark(&set, conn, false);
		set.now += 3000;
		start = set.now;
		evict(conn, true);
		assert_int_equal(conn->state, OFI_RDM_CONN_LEAVING);
		while (ofi_rdm_conn_next(&set) < start + 4 * GIVE_UP &&
		       conn->state != OFI_RDM_CONN_IDLE) {
			set.now = ofi_rdm_conn_next(&set);
			ofi_rdm_conn_poll(&set, &action);
		}
		if (i == 2) {
			assert_int_equal(conn->state, OFI_RDM_CONN_LEAVING);
			continue;
		}
		assert_int_equal(conn->state, OFI_RDM_CONN_IDLE);
		assert_int_equal(action.what, OFI_RDM_CONN_DO_TEARDOWN);
		assert_int_equal(action.err, FI_ECONNRESET);
		assert_int_equal(set.now - start, i ? GIVE_UP : 500);
		assert_int_equal(set.strangers, 0);
	}
}

/*
 * A connection that never drains takes no place from a host that has fewer, and keeps its place
 * while nobody wants it.
 */
static void what_does_not_drain_ends(void **state)
{
	unsigned int victims, i;

	(void)state;
	fill(true);
	conns[PLACES].host = FRIEND;
	for (i = 0; i < PLACES; i++)
		ofi_rdm_conn_used(&set, &conns[i]);
	set.now += 6000;
	assert_in_range(comes_after(&conns[PLACES], false, &victims), 500, 2 * GIVE_UP);
	begin(NULL);
	fill(true);
	for (i = 0; i < TRIES; i++) {
		set.now += 1000;
		if (conns[0].state == OFI_RDM_CONN_UP)
			evict(&conns[0], false);
		pass(set.now + 10);
	}
	assert_int_not_equal(conns[0].state, OFI_RDM_CONN_IDLE);
}

/* A device that has little left has no place for strangers either. */
static void tight_devices_have_no_place(void **state)
{
	struct ofi_rdm_conn_input request = { .event = OFI_RDM_CONN_REQUEST,
					      .incarnation = 5,
					      .serial = 1,
					      .stranger = true,
					      .tight = true };
	struct ofi_rdm_conn_action action;

	(void)state;
	action = after(&conns[0], request);
	assert_int_equal(action.what, OFI_RDM_CONN_DO_REJECT);
	assert_int_equal(action.reason, OFI_RDM_CMWIRE_BUSY);
	assert_true(action.make_room);
	assert_null(ofi_rdm_conn_stranger_victim(&set, FOE));
	request.stranger = false;
	assert_int_equal(after(&conns[0], request).what, OFI_RDM_CONN_DO_ACCEPT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(another_host_gets_its_share, begin),
		cmocka_unit_test_setup(the_place_is_kept, begin),
		cmocka_unit_test_setup(idle_ones_give_way_on_their_host, begin),
		cmocka_unit_test_setup(half_open_ones_give_way, begin),
		cmocka_unit_test_setup(goodbyes_end, begin),
		cmocka_unit_test_setup(what_does_not_drain_ends, begin),
		cmocka_unit_test_setup(tight_devices_have_no_place, begin),
	};

	return cmocka_run_group_tests_name("rdm_policy_stranger", tests, NULL, NULL);
}
