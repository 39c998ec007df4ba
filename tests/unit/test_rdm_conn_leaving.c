/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A peer that owes its answer to BYE, whose host may vanish. */
#include "unit.h"
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include "prov/base/wait.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/verbs/rdm/conn_int.h"
#include "prov/verbs/rdm/progress.h"
#include "fake_verbs.h"

enum { ROOM = 4096, WATCH_MS = 2000, GIVE_UP = 10000 };

static struct vrb_rc_ep rc;
static struct vrb_domain domain;
static struct vrb_fabric fabric;
static struct vrb_rc_peer peer;
static struct ofi_rdm_peer *peers[] = { &peer.rdm };
static struct vrb_rc_conn *conn;

static int post_send(struct ibv_qp *at, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)at;
	*bad = wr;
	return 0;
}

static struct ibv_context context = { .ops.post_send = post_send };
static struct ibv_qp qp = { .context = &context };

static void policy_step(enum ofi_rdm_conn_event event)
{
	const struct ofi_rdm_conn_input input = { .event = event, .incarnation = 5 };
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(&rc.conns.set, &peer.policy, &input, &action);
}

static void open_peer(void)
{
	const struct fi_ep_attr attr = { 0 };
	const struct fi_info info = { .ep_attr = (struct fi_ep_attr *)(uintptr_t)&attr };

	peer = (struct vrb_rc_peer){ .rdm.ep = &rc.rdm, .conn = conn };
	rc.rdm.proto.xport.ops = vrb_rdm_rc(&domain, &info).ops;
	ofi_rdm_proto_peer_init(&rc.rdm.proto, &peer.rdm.proto, 0);
	STAILQ_INIT(&peer.rdm.ops);
	STAILQ_INIT(&peer.rdm.replies);
	TAILQ_INIT(&peer.rdm.answers);
	peer.rdm.proto.up = true;
	peer.rdm.proto.flow.credits = 16;
	rc.rdm.peers = peers;
	rc.rdm.peer_count = 1;
	ofi_rdm_conn_init(&peer.policy, 1);
	policy_step(OFI_RDM_CONN_WANT);
	policy_step(OFI_RDM_CONN_ESTABLISHED);
}

/* A peer is connected, and no other peer can be. */
static int begin(void **state)
{
	const struct ofi_rdm_conn_params params = {
		.window = 32, .cap = 1, .attempt = 1000, .give_up = GIVE_UP, .drain = 100
	};

	(void)state;
	fake_reset();
	memset(&rc, 0, sizeof(rc));
	domain.ctx = &fake.ctx;
	domain.fabric = &fabric;
	rc.rdm.domain = &domain.base;
	rc.room.size = rc.room.left = ROOM;
	rc.room.fixed = true;
	rc.inline_max = 64;
	rc.packet.wr.sg_list = rc.packet.sge;
	rc.packet.max_sge = 2;
	TAILQ_INIT(&rc.conns.starved);
	rc.conns.armed = rc.conns.wanted = UINT64_MAX;
	rc.conns.timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
	ofi_rdm_conn_set_init(&rc.conns.set, &params);
	conn = vrb_rc_conn_new(&rc.rdm);
	assert_non_null(conn);
	conn->sq = &qp;
	conn->qp_num = 1;
	conn->live = true;
	conn->peer = &peer.rdm;
	assert_true(vrb_rc_table_reserve(&rc.by_qp));
	vrb_rc_table_add(&rc.by_qp, conn);
	open_peer();
	return 0;
}

static int end(void **state)
{
	(void)state;
	conn->peer = NULL;
	vrb_rc_conn_free(conn);
	return close(rc.conns.timer.fd);
}

static void watch(void)
{
	rc.conns.watch = 0;
	vrb_rdm_conn_tick(&rc.rdm);
}

/* The device has sent what is in the slot. */
static void complete(uint32_t i)
{
	rc.wc[0] = vrb_rdm_wc_sent((uintptr_t)&conn->slots[i], conn->qp_num);
	vrb_rdm_polled(&rc.rdm, 1);
}

static uint64_t timer_ms(void)
{
	struct itimerspec spec;

	assert_int_equal(timerfd_gettime(rc.conns.timer.fd, &spec), 0);
	return (uint64_t)spec.it_value.tv_sec * 1000 + (uint64_t)spec.it_value.tv_nsec / 1000000;
}

static void is_probed(uint32_t i)
{
	assert_int_equal(conn->head, i + 1);
	assert_int_equal(conn->slots[i].flags >> OFI_RDM_KIND_SHIFT, VRB_RDM_PROBE);
}

static void a_host_that_owes_the_answer_to_bye_is_probed(void **state)
{
	struct ofi_rdm_conn_input evict = { .event = OFI_RDM_CONN_EVICT, .idle = true };

	(void)state;
	watch();
	assert_int_equal(conn->head, 0); /* nothing is awaited */
	vrb_rdm_conn_step(&peer.rdm, evict);
	assert_int_equal(peer.policy.state, OFI_RDM_CONN_LEAVING);
	assert_int_equal(conn->head, 1);
	watch();
	is_probed(1);
	watch();
	assert_int_equal(conn->head, 2); /* one at a time */
	complete(1);
	watch();
	is_probed(2);
	/* Its own timer does not look again. */
	rc.conns.armed = rc.conns.wanted = UINT64_MAX;
	peer.policy.timer = ofi_now_ms();
	ofi_rdm_due_set(&rc.conns.set.due, &peer.policy.due, peer.policy.timer);
	vrb_rdm_conn_tick(&rc.rdm);
	assert_int_equal(ofi_rdm_conn_next(&rc.conns.set), UINT64_MAX);
	assert_in_range(timer_ms(), 1, WATCH_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_host_that_owes_the_answer_to_bye_is_probed, begin,
						end),
	};

	return cmocka_run_group_tests_name("rdm_conn_leaving", tests, NULL, NULL);
}
