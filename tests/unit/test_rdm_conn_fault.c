/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Faults that end connections of reliable datagrams. */
#include "unit.h"
#include <errno.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "prov/rdm/lock.h"
#include "prov/rdm/op.h"
#include "prov/verbs/rdm/conn_int.h"
#include "prov/verbs/rdm/rc.h"
#include "prov/verbs/rdm/ud_int.h"
#include "capture.h"
#include "fake_verbs.h"

enum { CQ_SIZE = 64 };

static struct vrb_rc_ep rc;
static struct vrb_fabric fabric;
static struct vrb_domain domain;
static struct vrb_rc_peer rc_peer;
static struct vrb_rc_conn *conn;
static bool polled, polled_late;

/* Notes whether the connection is still up, and whether nothing more can arrive. */
static int poll_nothing(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)cq;
	(void)n;
	(void)wc;
	polled |= conn->live;
	polled_late |= conn->live && conn->qp->state == IBV_QPS_ERR;
	return 0;
}

static struct ibv_context context = { .ops.poll_cq = poll_nothing };
static struct ibv_cq poll_cq = { .context = &context };

static int begin(void **state)
{
	const struct ofi_rdm_conn_params params = { .cap = 1 };
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC };
	struct fi_ep_attr ep_attr = { 0 };
	const struct fi_info info = { .ep_attr = &ep_attr };

	(void)state;
	fake_reset();
	memset(&rc, 0, sizeof(rc));
	domain = (struct vrb_domain){ .ctx = &fake.ctx, .fabric = &fabric };
	fake.attr.max_cqe = domain.attr.max_cqe = CQ_SIZE;
	domain.pd = ibv_alloc_pd(&fake.ctx);
	rc.rdm.domain = &domain.base;
	rc.room.size = rc.room.left = CQ_SIZE;
	rc.cq = ibv_create_cq(&fake.ctx, CQ_SIZE, NULL, NULL, 0);
	rc.poll_cq = &poll_cq;
	ofi_rdm_conn_set_init(&rc.conns.set, &params);
	TAILQ_INIT(&rc.conns.starved);
	rc.conns.timer.fd = -1;
	rc_peer = (struct vrb_rc_peer){ .rdm.ep = &rc.rdm };
	rc_peer.rdm.addr.sa.sa_family = AF_INET;
	conn = vrb_rc_conn_new(&rc.rdm);
	assert_non_null(conn);
	conn->peer = &rc_peer.rdm;
	rc_peer.conn = conn;
	init.send_cq = init.recv_cq = rc.cq;
	conn->qp = conn->sq = ibv_create_qp(domain.pd, &init);
	rc.rdm.proto.xport = vrb_rdm_rc(&domain, &info);
	rc_peer.rdm.proto.proto = &rc.rdm.proto;
	rc_peer.rdm.proto.flow.credits = 8;
	polled = polled_late = false;
	return 0;
}

static int end(void **state)
{
	(void)state;
	ibv_destroy_qp(conn->qp);
	conn->qp = NULL;
	conn->peer = NULL;
	vrb_rc_conn_free(conn);
	ibv_destroy_cq(rc.cq);
	ibv_dealloc_pd(domain.pd);
	fake_all_closed();
	return 0;
}

static unsigned int lines_of(const char *text)
{
	unsigned int lines = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		lines++;
	}
	return lines;
}

static void use_room(void)
{
	rc.room.left = 0;
	rc.room.fixed = true;
}

/* Whoever asks for connections without end, or breaks them, does not fill the log. */
static void faults_do_not_fill_the_log(void **state)
{
	const struct ibv_wc wc = { .status = IBV_WC_REM_OP_ERR };
	uint32_t left = rc.room.left;
	int i;

	(void)state;
	use_room();
	capture_start();
	for (i = 0; i < 100; i++) {
		assert_null(vrb_rc_conn_new(&rc.rdm));
		vrb_rdm_conn_fault(&rc_peer.rdm.proto, OFI_RDM_WIRE_E_MEMORY);
		vrb_rdm_conn_fault(&rc_peer.rdm.proto, OFI_RDM_WIRE_E_TYPE);
		vrb_rdm_conn_failed(conn, FI_EIO, &wc);
		vrb_rdm_conn_qp_event(conn, IBV_EVENT_QP_FATAL);
	}
	assert_in_range(lines_of(capture_stop()), 4, 15);
	rc.room.left = left;
}

/* What the device has acknowledged is processed before a connection ends that has a fault. */
static void last_messages_are_not_lost(void **state)
{
	(void)state;
	conn->live = true;
	capture_start();
	vrb_rdm_conn_damaged(conn);
	vrb_rdm_conn_tick(&rc.rdm);
	capture_stop();
	assert_true(polled_late);
}

/* The device may report the failure of a queue pair before its last completions are polled. */
static void last_messages_are_not_lost_by_an_event(void **state)
{
	(void)state;
	conn->live = true;
	capture_start();
	vrb_rdm_conn_qp_event(conn, IBV_EVENT_QP_ACCESS_ERR);
	capture_stop();
	assert_true(polled);
}

static int post(void)
{
	return ofi_rdm_xport(&rc_peer.rdm.proto)->rdma(&rc_peer.rdm, false, NULL, 0, 0, 0, 0, NULL);
}

/* A full queue takes the post later. */
static void a_full_queue_is_no_fault(void **state)
{
	static const int errors[] = { ENOMEM, -ENOMEM, EAGAIN };
	size_t i;

	(void)state;
	conn->live = true;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fake_qp(conn->qp)->post_err = errors[i];
		assert_int_equal(post(), -FI_EAGAIN);
		assert_int_equal(conn->fault, 0);
		assert_true(rc_peer.starved);
	}
}

/* Otherwise it would be tried again without end. */
static void a_refused_post_ends_the_connection(void **state)
{
	const char *log;

	(void)state;
	conn->live = true;
	fake_qp(conn->qp)->post_err = EINVAL;
	capture_start();
	assert_int_equal(post(), -FI_EAGAIN);
	log = capture_stop();
	assert_non_null(strstr(log, "ibv_post_send: Invalid argument: connection ended"));
	assert_int_equal(conn->fault, EINVAL);
	vrb_rdm_conn_tick(&rc.rdm);
	assert_true(polled_late);
}

/* Nothing else would end the wait for what the probe is to retire. */
static void a_refused_probe_ends_the_connection(void **state)
{
	(void)state;
	conn->live = true;
	fake_qp(conn->qp)->post_err = EOPNOTSUPP;
	capture_start();
	assert_false(vrb_rc_conn_touch(conn, &rc_peer.rdm.proto.flow));
	assert_int_equal(conn->fault, EOPNOTSUPP);
	vrb_rdm_conn_tick(&rc.rdm);
	capture_stop();
	assert_true(polled_late);
}

/* The receives of a shared context are for its other endpoints, as long as there are some. */
static void a_shared_context_survives_an_endpoint(void **state)
{
	static struct ofi_rdm_ep srx, closing = { .closing = 1 };
	static struct vrb_rc_ep others[2];
	int i;

	(void)state;
	rc.rdm.srx = &srx;
	rc.rdm.in_srx = srx.receives = true;
	LIST_INSERT_HEAD(&srx.members, &rc.rdm, srx_link);
	LIST_INSERT_HEAD(&srx.members, &closing, srx_link);
	for (i = 0; i < 2; i++) {
		others[i].rdm.srx = &srx;
		others[i].rdm.in_srx = true;
		LIST_INSERT_HEAD(&srx.members, &others[i].rdm, srx_link);
	}
	vrb_rdm_conn_lost(&others[1].rdm, FI_EIO);
	vrb_rdm_conn_lost(&rc.rdm, FI_EOVERRUN);
	assert_int_equal(rc.rdm.dead, FI_EOVERRUN);
	assert_true(srx.receives);
	assert_int_equal(srx.dead, 0);
	vrb_rdm_conn_lost(&others[0].rdm, FI_ENODEV);
	assert_false(srx.receives);
	assert_int_equal(srx.dead, FI_ENODEV);
}

/* The thread that finds the fault is inside the endpoint, so the end waits until it leaves. */
static void a_lost_queue_ends_the_endpoint(void **state)
{
	(void)state;
	ofi_rdm_lock(&rc.rdm);
	vrb_rdm_ud_calls.lose(&rc.rdm, FI_EIO);
	assert_int_equal(rc.rdm.dead, 0);
	ofi_rdm_unlock(&rc.rdm);
	assert_int_equal(rc.rdm.dead, FI_EIO);
}

static uint32_t no_random(void *arg)
{
	(void)arg;
	return 0;
}

static void fail_attempt(int err)
{
	rc_peer.policy = (struct ofi_rdm_conn){ .wanted = true };
	rc_peer.policy.state = OFI_RDM_CONN_CONNECTING;
	rc.conns.set.open = 1;
	vrb_rdm_conn_step_failed(&rc_peer.rdm, err);
	assert_int_equal(rc_peer.policy.state, OFI_RDM_CONN_WAITING);
}

/* The peer was not asked: neither it nor others are treated as if it had not answered. */
static void a_shortage_for_datagrams_is_not_silence(void **state)
{
	static const int errors[] = { FI_ENOMEM, FI_ENOSPC };
	struct vrb_ud ud = { 0 };
	size_t i;

	(void)state;
	rc.ud = &ud;
	rc.conns.set.params.random = no_random;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		fail_attempt(errors[i]);
		assert_int_equal(rc.conns.set.silent, 0);
		assert_int_equal(rc.conns.set.cap, UINT32_MAX);
	}
	fail_attempt(FI_EHOSTUNREACH);
	assert_int_equal(rc.conns.set.silent, 1);
	rc.ud = NULL;
	fail_attempt(FI_ENOMEM);
	assert_int_equal(rc.conns.set.cap, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(faults_do_not_fill_the_log, begin, end),
		cmocka_unit_test_setup_teardown(last_messages_are_not_lost, begin, end),
		cmocka_unit_test_setup_teardown(last_messages_are_not_lost_by_an_event, begin, end),
		cmocka_unit_test_setup_teardown(a_full_queue_is_no_fault, begin, end),
		cmocka_unit_test_setup_teardown(a_refused_post_ends_the_connection, begin, end),
		cmocka_unit_test_setup_teardown(a_refused_probe_ends_the_connection, begin, end),
		cmocka_unit_test_setup_teardown(a_lost_queue_ends_the_endpoint, begin, end),
		cmocka_unit_test_setup_teardown(a_shared_context_survives_an_endpoint, begin, end),
		cmocka_unit_test_setup_teardown(a_shortage_for_datagrams_is_not_silence, begin,
						end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
