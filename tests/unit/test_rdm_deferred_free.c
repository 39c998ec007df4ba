/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections of reliable datagrams that end, on a device that discards the completions of a
 * destroyed queue pair.
 */
#include "unit.h"
#include <stdlib.h>
#include <string.h>
#include "fake_verbs.h"

/* What the file calls of the endpoint. */
#define vrb_rdm_poll_all     fake_poll_all
#define vrb_rdm_flush	     fake_flush_conn
#define vrb_rdm_conn_drained fake_drained
#define vrb_rdm_conn_wake    fake_wake
#define ofi_rdm_peer_leave   fake_leave
#define vrb_rc_conn_freeable fake_freeable
#include "prov/verbs/rdm/conn_free.c"
#undef vrb_rc_conn_freeable

static struct vrb_rc_ep rc;
static struct vrb_domain domain;
static struct vrb_rc_peer rc_peer;
static unsigned int taken; /* completions */
static bool reads;

bool vrb_rc_conn_freeable(const struct vrb_rc_conn *conn, uint64_t now);

bool fake_freeable(const struct vrb_rc_conn *conn, uint64_t now)
{
	return !reads && vrb_rc_conn_freeable(conn, now);
}

void vrb_rdm_poll_all(struct ofi_rdm_ep *of)
{
	struct ibv_wc wc[4];
	int n;

	while ((n = ibv_poll_cq(vrb_rc(of)->cq, 4, wc)) > 0)
		taken += (unsigned int)n;
}

void vrb_rdm_flush(struct vrb_rc_conn *conn, int err)
{
	(void)conn;
	(void)err;
}

void vrb_rdm_conn_drained(struct vrb_rc_conn *conn)
{
	(void)conn;
}

void vrb_rdm_conn_wake(struct ofi_rdm_ep *of, uint64_t ms)
{
	(void)of;
	(void)ms;
}

void ofi_rdm_peer_leave(struct ofi_rdm_peer *of)
{
	(void)of;
}

/* As the event thread does. */
static void tick(void)
{
	struct vrb_rdm_deferred_list freeable;

	vrb_rdm_conn_freeable(&rc.rdm, &freeable);
	vrb_rdm_conn_defer_all(&rc.rdm, &freeable);
	vrb_rdm_conn_free_deferred(&rc.rdm);
}

static struct vrb_rc_conn *link_with_a_receive(struct ibv_pd *pd)
{
	struct ibv_qp_init_attr init = {
		.send_cq = rc.cq, .recv_cq = rc.cq, .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 }
	};
	struct vrb_rc_conn *conn = vrb_rc_conn_new(&rc.rdm);
	struct ibv_recv_wr *bad, wr = { .wr_id = 1 };

	assert_non_null(conn);
	conn->peer = &rc_peer.rdm;
	rc_peer.conns++;
	conn->qp = ibv_create_qp(pd, &init);
	conn->qp->state = IBV_QPS_RTS;
	assert_int_equal(ibv_post_recv(conn->qp, &wr, &bad), 0);
	fake_qp(conn->qp)->deaf = true;
	conn->takes = true;
	vrb_rdm_conn_free_later(conn);
	return conn;
}

static int begin(void **state)
{
	fake_reset();
	memset(&rc, 0, sizeof(rc));
	memset(&domain, 0, sizeof(domain));
	domain.ctx = &fake.ctx;
	rc.rdm.domain = &domain.base;
	rc.room.size = rc.room.left = 600;
	rc.cq = ibv_create_cq(&fake.ctx, 600, NULL, NULL, 0);
	rc_peer.rdm.ep = &rc.rdm;
	taken = 0;
	fake.forgets = true;
	*state = ibv_alloc_pd(&fake.ctx);
	return 0;
}

static int end(void **state)
{
	assert_int_equal(rc_peer.conns, 0);
	ibv_destroy_cq(rc.cq);
	ibv_dealloc_pd(*state);
	fake_all_closed();
	return 0;
}

/*
 * First the error state, then the device's last event, then all completions are taken, and then it
 * is freed.
 */
static void goes_when_all_is_taken(void **state)
{
	struct vrb_rc_conn *conn = link_with_a_receive(*state);

	tick();
	assert_string_equal(fake.ends, "error ");
	fake_complete_recv(conn->qp, IBV_WC_SUCCESS, IBV_WC_RECV, 9, NULL);
	conn->let_go = true;
	tick();
	assert_string_equal(fake.ends, "error empty destroy empty ");
	assert_int_equal(taken, 1);
	assert_false(domain.no_last_wqe);
}

/* A device that says nothing is waited for once. */
static void is_waited_for_once(void **state)
{
	struct vrb_rc_conn *conn = link_with_a_receive(*state);

	tick();
	assert_int_equal(fake.qps, 1);
	conn->linger = ofi_now_ms();
	tick();
	assert_int_equal(fake.qps, 0);
	assert_true(domain.no_last_wqe);
	link_with_a_receive(*state);
	tick();
	assert_int_equal(fake.qps, 0);
}

/* It is looked for again, but not without a pause. */
static void waits_for_the_reads_of_the_device(void **state)
{
	struct vrb_rc_conn *conn = link_with_a_receive(*state);
	uint64_t now = ofi_now_ms();

	reads = true;
	conn->linger = now;
	tick();
	assert_int_equal(fake.qps, 1);
	assert_in_range(conn->linger, now + 1, now + 1000);
	reads = false;
	conn->linger = now;
	tick();
	assert_int_equal(fake.qps, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(goes_when_all_is_taken, begin, end),
		cmocka_unit_test_setup_teardown(is_waited_for_once, begin, end),
		cmocka_unit_test_setup_teardown(waits_for_the_reads_of_the_device, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
