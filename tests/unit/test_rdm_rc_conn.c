/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What connections of reliable datagrams use of the completion queue. */
#include "unit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include "prov/base/wait.h"
#include "prov/rdm/op.h"
#include "prov/verbs/rdm/conn_int.h"
#include "prov/verbs/rdm/rc.h"
#include "capture.h"
#include "fake_verbs.h"

enum { SHARE = 3072, RX = 512, MOST = 2000 };

static struct vrb_rc_ep rc;
static struct vrb_domain domain;
static struct vrb_rc_conn *conns[MOST];
static unsigned int count;

static int begin(void **state)
{
	(void)state;
	fake_reset();
	memset(&rc, 0, sizeof(rc));
	memset(&domain, 0, sizeof(domain));
	domain.ctx = &fake.ctx;
	fake.attr.max_cqe = domain.attr.max_cqe = 32767;
	rc.rdm.domain = &domain.base;
	rc.room.size = SHARE + RX;
	rc.room.left = SHARE;
	rc.packet.wr.sg_list = rc.packet.sge;
	rc.cq = ibv_create_cq(&fake.ctx, SHARE + RX, NULL, NULL, 0);
	assert_non_null(rc.cq);
	count = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	while (count)
		vrb_rc_conn_free(conns[--count]);
	assert_int_equal(rc.room.left + RX, rc.room.size);
	ibv_destroy_cq(rc.cq);
	fake_all_closed();
	return 0;
}

/* As many as there is room for. */
static void fill(void)
{
	struct vrb_rc_conn *conn;

	while (count < MOST && (conn = vrb_rc_conn_new(&rc.rdm)))
		conns[count++] = conn;
}

/* The queue never holds more than it has entries for. */
static void check_burden(void)
{
	uint32_t i, sum = RX;

	for (i = 0; i < count; i++) {
		assert_true(conns[i]->size >= 8 && conns[i]->size <= 128);
		sum += conns[i]->size + 1;
	}
	assert_int_equal(sum + rc.room.left, rc.room.size);
	assert_true(rc.room.size <= (uint32_t)domain.attr.max_cqe);
}

static void grows_with_its_peers(void **state)
{
	(void)state;
	fake.attr.max_cqe = domain.attr.max_cqe = 4194303;
	fill();
	assert_int_equal(count, MOST);
	assert_int_equal(conns[0]->size, 128);
	assert_int_equal(conns[MOST - 1]->size, 128);
	assert_true(fake.resizes < 10);
	check_burden();
}

static void has_room_for_500_on_a_small_device(void **state)
{
	(void)state;
	fill();
	assert_true(count >= 500 && count < MOST);
	assert_int_equal(conns[0]->size, 128);
	assert_int_equal(conns[count - 1]->size, 8);
	check_burden();
	/* One goes, one comes. */
	vrb_rc_conn_free(conns[--count]);
	fill();
	check_burden();
}

static void shares(void)
{
	fill();
	assert_true(count >= 100);
	assert_int_equal(rc.room.size, SHARE + RX);
	assert_int_equal(fake.resizes, 1);
	check_burden();
}

static void shares_what_does_not_grow(void **state)
{
	(void)state;
	fake.resize_err = EOPNOTSUPP;
	shares();
}

static void shares_what_does_not_grow_in_spite_of_success(void **state)
{
	(void)state;
	fake.resize_idle = true;
	shares();
}

/* Enables the endpoint on a device whose largest CQ has so many entries. */
static void enable(int max_cqe, uint32_t size)
{
	ibv_destroy_cq(rc.cq);
	rc.cq = NULL;
	fake.attr.max_cqe = domain.attr.max_cqe = max_cqe;
	domain.pd = ibv_alloc_pd(&fake.ctx);
	rc.channel = ibv_create_comp_channel(&fake.ctx);
	vrb_rdm_rx_init(&rc.rx, &domain, 256, RX, 0);
	vrb_rdm_pool_init(&rc.tx_bufs, &domain, 256, RX);
	if (vrb_rc_enable(&rc.rdm))
		assert_int_equal(vrb_rc_enable(&rc.rdm), 0);
	assert_int_equal(rc.room.size, size);
	assert_int_equal(fake_cq(rc.cq)->requested, size);
	assert_ptr_equal(rc.poll_cq, rc.cq);
	assert_int_equal(fake.cqs, 1);
}

static void disable(void)
{
	check_burden();
	while (count)
		vrb_rc_conn_free(conns[--count]);
	vrb_rc_fini(&rc.rdm);
	ibv_dealloc_pd(domain.pd);
	rc.srq = NULL;
	rc.room.fixed = false;
	rc.cq = ibv_create_cq(&fake.ctx, 1, NULL, NULL, 0);
}

/* The device is not full because the CQ would be small at first. */
static void is_large_if_it_cannot_grow(void **state)
{
	(void)state;
	fake.resize_err = EOPNOTSUPP;
	enable(1 << 20, RX + 65536);
	fill();
	assert_true(count >= 300);
	assert_true(conns[299]->size >= 32);
	disable();
	enable(32767, 32767);
	disable();
	enable(RX + SHARE, RX + SHARE);
	disable();
	/* There may be memory for a small one only. */
	fake.fail_at = fake.calls + 4;
	fake.fail_errno = ENOMEM;
	enable(1 << 20, RX + SHARE);
	assert_string_equal(fake.failed, "ibv_create_cq");
	disable();
}

static void is_small_at_first_if_it_can_grow(void **state)
{
	(void)state;
	/* The CQ stays when there is no SRQ at first. */
	fake.fail_at = fake.calls + 4;
	fake.fail_errno = ENOMEM;
	enable(1 << 20, RX + SHARE);
	assert_string_equal(fake.failed, "ibv_create_srq");
	assert_int_equal(fake.resizes, 1);
	fill();
	assert_int_equal(count, MOST);
	disable();
}

/*
 * The other side has given up on its request or reply, which is not a failure; any other reason is
 * one.
 */
static void knows_a_request_that_is_no_more(void **state)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_new(&rc.rdm);

	(void)state;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EINVAL;
	assert_int_equal(vrb_rc_conn_connect(conn), -FI_ECONNABORTED);
	assert_string_equal(fake.failed, "rdma_init_qp_attr");
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EPERM;
	assert_int_equal(vrb_rc_conn_connect(conn), -FI_EPERM);
	conn->state = VRB_RC_CONN_CALLING;
	fake.fail_at = fake.calls + 1;
	fake.fail_errno = EINVAL;
	assert_int_equal(vrb_rc_conn_connect(conn), -FI_ECONNABORTED);
	fake.fail_at = 0;
	vrb_rc_conn_free(conn);
}

/* It is destroyed when the device has let go of its receives, or was waited for long enough. */
static void lingers_until_it_lets_go(void **state)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_new(&rc.rdm);
	struct ibv_qp_init_attr init = { .send_cq = rc.cq,
					 .recv_cq = rc.cq,
					 .qp_type = IBV_QPT_RC };
	struct ibv_pd *pd = ibv_alloc_pd(&fake.ctx);

	(void)state;
	vrb_rc_conn_halt(conn, 5);
	assert_true(vrb_rc_conn_freeable(conn, 5));
	init.cap.max_send_wr = init.cap.max_recv_wr = 1;
	init.cap.max_send_sge = init.cap.max_recv_sge = 1;
	conn->qp = conn->sq = ibv_create_qp(pd, &init);
	vrb_rc_conn_halt(conn, 5);
	assert_true(vrb_rc_conn_freeable(conn, 5));
	conn->takes = true;
	vrb_rc_conn_halt(conn, 5);
	assert_int_equal(fake_qp(conn->qp)->attr.qp_state, IBV_QPS_ERR);
	assert_false(vrb_rc_conn_freeable(conn, 5));
	assert_false(vrb_rc_conn_freeable(conn, 104));
	assert_true(vrb_rc_conn_freeable(conn, 1005));
	conn->let_go = true;
	assert_true(vrb_rc_conn_freeable(conn, 5));
	conn->let_go = false;
	domain.no_last_wqe = true;
	assert_true(vrb_rc_conn_freeable(conn, 5));
	domain.no_last_wqe = false;
	rc.rdm.dead = FI_EIO;
	assert_true(vrb_rc_conn_freeable(conn, 5));
	vrb_rc_conn_destroy_qp(conn);
	vrb_rc_conn_free(conn);
	ibv_dealloc_pd(pd);
}

/*
 * Everything posted before a mark is complete, or a completion is requested: silent operations may
 * give none, so the engine is made to look again.
 */
static void a_mark_is_passed_when_all_before_it_is_complete(void **state)
{
	struct fi_ep_attr attr = { 0 };
	const struct fi_info info = { .ep_attr = &attr };
	const struct ofi_rdm_xport_ops *ops = vrb_rdm_rc(&domain, &info).ops;
	static struct vrb_rc_peer rc_peer;
	struct vrb_rc_conn *conn = vrb_rc_conn_new(&rc.rdm);
	uint32_t mark;

	(void)state;
	rc_peer = (struct vrb_rc_peer){ .rdm.ep = &rc.rdm };
	TAILQ_INIT(&rc.conns.starved);
	rc.conns.timer.fd = -1;
	assert_true(ops->quiet(&rc_peer.rdm.proto)); /* without a connection, too */
	rc_peer.conn = conn;
	conn->head = conn->tail = UINT32_MAX; /* the counts go round */
	assert_true(ops->quiet(&rc_peer.rdm.proto));
	conn->head += 2;
	assert_false(ops->quiet(&rc_peer.rdm.proto));
	mark = ops->mark(&rc_peer.rdm.proto);
	assert_false(ops->passed(&rc_peer.rdm.proto, mark));
	assert_false(rc_peer.starved);
	conn->slots[(conn->head - 1) & conn->mask].flags = OFI_RDM_SILENT;
	conn->tail++;
	assert_false(ops->passed(&rc_peer.rdm.proto, mark)); /* nor is one that has ended probed */
	assert_false(rc_peer.starved);
	conn->live = true;
	assert_false(ops->passed(&rc_peer.rdm.proto, mark)); /* there is no credit for a probe */
	assert_true(rc_peer.starved);
	conn->head++; /* which the mark does not stand for */
	conn->tail++;
	assert_true(ops->passed(&rc_peer.rdm.proto, mark));
	vrb_rc_conn_free(conn);
}

static uint8_t sent[512];
static size_t sent_len;
static unsigned int send_flags;
static int post_err;

static int post_send(struct ibv_qp *at, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int i;

	(void)at;
	*bad = wr;
	for (i = 0, sent_len = 0; i < wr->num_sge; i++) {
		memcpy(sent + sent_len, (void *)(uintptr_t)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		sent_len += wr->sg_list[i].length;
	}
	send_flags = wr->send_flags;
	return post_err;
}

/* The header and the bytes of a list, from an offset on. */
static int send_list(const struct ofi_rdm_xport_ops *ops, struct ofi_rdm_peer *peer)
{
	static char head[100] = "head", first[] = "abc", second[] = "defg";
	const struct iovec iov[2] = { { first, 3 }, { second, 4 } };

	return ops->send(&peer->proto, head, sizeof(head), iov, 2, 4, NULL);
}

static struct vrb_rc_peer rc_peer;

/* Connects the peer by a queue pair; packets of 256 bytes go inline, and there is one buffer. */
static struct vrb_rc_conn *conn_for_packets(struct ibv_qp *qp, struct vrb_rdm_buf *bounce)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_new(&rc.rdm);

	rc_peer = (struct vrb_rc_peer){ .rdm.ep = &rc.rdm, .conn = conn };
	conn->qp = conn->sq = qp;
	SLIST_INSERT_HEAD(&rc.tx_bufs.free, bounce, link);
	post_err = 0;
	rc.inline_max = 256;
	return conn;
}

static void a_packet_goes_inline_or_by_a_bounce_buffer(void **state)
{
	struct fi_ep_attr attr = { 0 };
	const struct fi_info info = { .ep_attr = &attr };
	const struct ofi_rdm_xport_ops *ops = vrb_rdm_rc(&domain, &info).ops;
	struct ibv_context context = { .ops.post_send = post_send };
	struct ibv_qp qp = { .context = &context };
	uint8_t bytes[sizeof(sent)];
	struct vrb_rdm_buf bounce = { .out.data = bytes };
	struct vrb_rc_conn *conn;

	(void)state;
	TAILQ_INIT(&rc.conns.starved);
	rc.conns.timer.fd = -1;
	conn = conn_for_packets(&qp, &bounce);
	rc.packet.max_sge = 3;
	assert_int_equal(send_list(ops, &rc_peer.rdm), 0);
	assert_true(send_flags & IBV_SEND_INLINE);
	assert_int_equal(sent_len, 104);
	assert_memory_equal(sent, "head", 5);
	assert_memory_equal(sent + 100, "cdef", 4);
	assert_null(conn->slots[0].bounce);
	rc.inline_max = 0;
	assert_int_equal(send_list(ops, &rc_peer.rdm), 0);
	assert_false(send_flags & IBV_SEND_INLINE);
	assert_memory_equal(sent + 100, "cdef", 4);
	assert_ptr_equal(conn->slots[1].bounce, &bounce);
	/* Another one has none, and is tried again. */
	assert_int_equal(send_list(ops, &rc_peer.rdm), -FI_EAGAIN);
	assert_true(rc_peer.starved);
	assert_int_equal(conn->head, 2);
	/* A full device takes nothing. */
	SLIST_INSERT_HEAD(&rc.tx_bufs.free, &bounce, link);
	post_err = ENOMEM;
	assert_int_equal(send_list(ops, &rc_peer.rdm), -FI_EAGAIN);
	assert_ptr_equal(SLIST_FIRST(&rc.tx_bufs.free), &bounce);
	assert_int_equal(conn->head, 2);
	conn->qp = conn->sq = NULL;
	vrb_rc_conn_free(conn);
}

/* Its completion is signaled, and is one of the operation. */
static void a_packet_of_an_operation_is_part_of_it(void **state)
{
	struct fi_ep_attr attr = { 0 };
	const struct fi_info info = { .ep_attr = &attr };
	struct ibv_context context = { .ops.post_send = post_send };
	struct ibv_qp qp = { .context = &context };
	struct vrb_rdm_buf bounce;
	struct vrb_rc_conn *conn = conn_for_packets(&qp, &bounce);
	struct ofi_rdm_op op = { .peer = &rc_peer.rdm };

	(void)state;
	rc.packet.max_sge = 3;
	assert_int_equal(vrb_rdm_rc(&domain, &info).ops->send_op(&op, "head", 4), 0);
	assert_true(send_flags & IBV_SEND_SIGNALED);
	assert_int_equal(sent_len, 4);
	assert_int_equal(conn->slots[0].flags >> OFI_RDM_KIND_SHIFT, VRB_RDM_OP);
	assert_ptr_equal(conn->slots[0].context, &op);
	conn->qp = conn->sq = NULL;
	vrb_rc_conn_free(conn);
}

/* The device takes a header and one buffer at once. */
static void a_packet_of_many_buffers_is_copied(void **state)
{
	struct fi_ep_attr attr = { 0 };
	const struct fi_info info = { .ep_attr = &attr };
	struct ibv_context context = { .ops.post_send = post_send };
	struct ibv_qp qp = { .context = &context };
	uint8_t bytes[sizeof(sent)];
	struct vrb_rdm_buf bounce = { .out.data = bytes };
	struct vrb_rc_conn *conn;

	(void)state;
	conn = conn_for_packets(&qp, &bounce);
	rc.packet.max_sge = 2;
	assert_int_equal(send_list(vrb_rdm_rc(&domain, &info).ops, &rc_peer.rdm), 0);
	assert_false(send_flags & IBV_SEND_INLINE);
	assert_int_equal(sent_len, 104);
	assert_memory_equal(sent + 100, "cdef", 4);
	assert_ptr_equal(conn->slots[0].bounce, &bounce);
	conn->qp = conn->sq = NULL;
	vrb_rc_conn_free(conn);
}

/* A counter of any kind of operation has to learn of each. */
static void what_is_counted_is_signaled(void **state)
{
	static const int counts[] = { OFI_RDM_SEND, OFI_RDM_RMA_READ, OFI_RDM_RMA_WRITE };
	static struct ofi_cntr cntr;
	unsigned int i;

	(void)state;
	fill();
	assert_int_not_equal(conns[0]->quiet, 0);
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		vrb_rc_conn_free(conns[--count]);
		rc.rdm.cntrs[counts[i]] = &cntr;
		fill();
		assert_int_equal(conns[count - 1]->quiet, 0);
		rc.rdm.cntrs[counts[i]] = NULL;
	}
}

/* The device would read the bytes of a write after the call, unless they are inline. */
static void injected_writes_are_copied(void **state)
{
	(void)state;
	rc.rdm.proto.xport.props.max_write = rc.rdm.proto.xport.props.max_read = 1000;
	rc.inline_max = 8;
	vrb_rc_set_modes(&rc.rdm, FI_COMPLETION);
	assert_int_equal(rc.write.registered_end, 1001);
	vrb_rc_set_modes(&rc.rdm, FI_COMPLETION | FI_INJECT);
	assert_int_equal(rc.write.registered_end, 0);
	assert_int_equal(rc.write.end, 9);
	assert_int_equal(rc.read.registered_end, 1001);
}

static bool is_behind_when_late_by(uint64_t ms)
{
	rc.conns.expired = ofi_now_ms() - ms;
	vrb_rdm_conn_tick(&rc.rdm);
	return rc.conns.set.behind;
}

/* While this process does not get to run, silence is not held against peers that soon. */
static void a_late_timer_shows_that_we_are_behind(void **state)
{
	const struct ofi_rdm_conn_params params = { .cap = 1, .give_up = 3600000 };
	static struct vrb_fabric fabric;

	(void)state;
	domain.fabric = &fabric;
	ofi_rdm_conn_set_init(&rc.conns.set, &params);
	TAILQ_INIT(&rc.conns.starved);
	rc.conns.timer.fd = -1;
	rc.conns.armed = rc.conns.expired = UINT64_MAX;
	vrb_rdm_conn_tick(&rc.rdm);
	assert_false(rc.conns.set.behind);
	assert_true(is_behind_when_late_by(60));
	assert_true(is_behind_when_late_by(0));
}

static void step(struct ofi_rdm_conn_set *set, struct ofi_rdm_conn *conn,
		 enum ofi_rdm_conn_event event)
{
	const struct ofi_rdm_conn_input input = { .event = event, .incarnation = 7, .idle = true };
	struct ofi_rdm_conn_action action;

	ofi_rdm_conn_step(set, conn, &input, &action);
}

/* Makes a peer that has left and will disconnect. A new connection to it waits for its turn. */
static void leave(struct vrb_rc_peer *peer)
{
	const struct ofi_rdm_conn_params params = { .cap = 2, .give_up = 3600000 };
	struct ofi_rdm_conn_set *set = &rc.conns.set;

	*peer = (struct vrb_rc_peer){ .rdm.ep = &rc.rdm, .rdm.addr.sa.sa_family = AF_INET };
	ofi_rdm_proto_peer_init(&rc.rdm.proto, &peer->rdm.proto, 0);
	STAILQ_INIT(&peer->rdm.ops);
	STAILQ_INIT(&peer->rdm.fenced);
	ofi_rdm_conn_init(&peer->policy, 1);
	ofi_rdm_conn_set_init(set, &params);
	TAILQ_INIT(&rc.conns.starved);
	rc.conns.timer.fd = -1;
	step(set, &peer->policy, OFI_RDM_CONN_REQUEST);
	step(set, &peer->policy, OFI_RDM_CONN_ESTABLISHED);
	step(set, &peer->policy, OFI_RDM_CONN_BYE);
	assert_int_equal(peer->policy.state, OFI_RDM_CONN_LEFT);
	assert_false(peer->policy.wanted);
}

/*
 * Operations that were queued for lack of credits before the peer was held want a connection when
 * it has ended, whether the peer has ended it or the timer.
 */
static void what_is_queued_is_sent_on_the_next_connection(void **state)
{
	const struct ofi_rdm_conn_input end = { .event = OFI_RDM_CONN_DISCONNECTED };
	struct ofi_rdm_proto_out out = { .state = OFI_RDM_PROTO_OUT_QUEUED };
	struct ofi_rdm_op op = { 0 };
	static struct vrb_rc_peer peer;
	static struct vrb_fabric fabric;

	(void)state;
	domain.fabric = &fabric;
	leave(&peer);
	vrb_rdm_conn_step(&peer.rdm, end);
	assert_int_equal(peer.policy.state, OFI_RDM_CONN_IDLE);
	leave(&peer);
	out.peer = &peer.rdm.proto;
	TAILQ_INSERT_TAIL(&peer.rdm.proto.outs, &out, link);
	vrb_rdm_conn_step(&peer.rdm, end);
	assert_int_equal(peer.policy.state, OFI_RDM_CONN_WAITING);
	leave(&peer);
	STAILQ_INSERT_TAIL(&peer.rdm.ops, &op, link);
	peer.policy.timer = 0;
	ofi_rdm_due_set(&rc.conns.set.due, &peer.policy.due, 0);
	vrb_rdm_conn_tick(&rc.rdm);
	assert_int_equal(peer.policy.state, OFI_RDM_CONN_WAITING);
}

/* Returns true if the log blames the security group for a peer that does not answer. */
static bool blames_group(struct vrb_rc_peer *peer)
{
	const char *log;

	peer->rdm.proto.awaited = 1;
	ofi_rdm_conn_init(&peer->policy, 1);
	step(&rc.conns.set, &peer->policy, OFI_RDM_CONN_WANT);
	step(&rc.conns.set, &peer->policy, OFI_RDM_CONN_FAILED);
	assert_int_equal(peer->policy.state, OFI_RDM_CONN_WAITING);
	peer->policy.timer = peer->policy.deadline = 0;
	ofi_rdm_due_set(&rc.conns.set.due, &peer->policy.due, 0);
	capture_start();
	vrb_rdm_conn_tick(&rc.rdm);
	log = capture_stop();
	assert_non_null(strstr(log, "no answer"));
	return strstr(log, "security group");
}

static void a_name_without_an_answer_may_be_in_another_group(void **state)
{
	static const uint8_t gid[16] = { [15] = 1 };
	static struct vrb_fabric fabric;
	static struct vrb_rc_peer peer;

	(void)state;
	domain.fabric = &fabric;
	leave(&peer);
	assert_false(blames_group(&peer));
	assert_true(ofi_rdm_addr_set_qp(&peer.rdm.addr, gid, 1, 1));
	assert_true(blames_group(&peer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(knows_a_request_that_is_no_more, begin, end),
		cmocka_unit_test_setup_teardown(lingers_until_it_lets_go, begin, end),
		cmocka_unit_test_setup_teardown(a_mark_is_passed_when_all_before_it_is_complete,
						begin, end),
		cmocka_unit_test_setup_teardown(a_packet_of_an_operation_is_part_of_it, begin, end),
		cmocka_unit_test_setup_teardown(a_packet_goes_inline_or_by_a_bounce_buffer, begin,
						end),
		cmocka_unit_test_setup_teardown(a_packet_of_many_buffers_is_copied, begin, end),
		cmocka_unit_test_setup_teardown(what_is_counted_is_signaled, begin, end),
		cmocka_unit_test_setup_teardown(injected_writes_are_copied, begin, end),
		cmocka_unit_test_setup_teardown(grows_with_its_peers, begin, end),
		cmocka_unit_test_setup_teardown(has_room_for_500_on_a_small_device, begin, end),
		cmocka_unit_test_setup_teardown(shares_what_does_not_grow, begin, end),
		cmocka_unit_test_setup_teardown(shares_what_does_not_grow_in_spite_of_success,
						begin, end),
		cmocka_unit_test_setup_teardown(is_large_if_it_cannot_grow, begin, end),
		cmocka_unit_test_setup_teardown(is_small_at_first_if_it_can_grow, begin, end),
		cmocka_unit_test_setup_teardown(a_late_timer_shows_that_we_are_behind, begin, end),
		cmocka_unit_test_setup_teardown(a_name_without_an_answer_may_be_in_another_group,
						begin, end),
		cmocka_unit_test_setup_teardown(what_is_queued_is_sent_on_the_next_connection,
						begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
