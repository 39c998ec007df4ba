/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Peers of reliable datagrams that wait for bounce buffers, while other peers hold all of them. */
#include "unit.h"
#include <rdma/fi_errno.h>
#include "prov/base/wait.h"
#include "prov/rdm/reply.h"
#include "prov/verbs/rdm/conn.h"
#include "prov/verbs/rdm/progress.h"
#include "fake_verbs.h"

enum { BUFS = 4, ROOM = 4096 };

static struct vrb_rc_ep rc;
static struct vrb_domain domain;
static struct vrb_rc_conn *conns[BUFS + 1];
static struct vrb_rc_peer peers[BUFS + 1];
static struct vrb_rdm_buf bufs[BUFS];
static unsigned int send_flags;

static int post_send(struct ibv_qp *at, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)at;
	*bad = wr;
	send_flags = wr->send_flags;
	return 0;
}

static struct ibv_context context = { .ops.post_send = post_send };
static struct ibv_qp qp = { .context = &context };

static const struct ofi_rdm_xport_ops *ops(void)
{
	struct fi_ep_attr attr = { 0 };
	const struct fi_info info = { .ep_attr = &attr };

	return vrb_rdm_rc(&domain, &info).ops;
}

/* Connects peers that send to one queue pair, and fills the pool with buffers for all but one. */
static int begin(void **state)
{
	static uint8_t bytes[512];
	uint32_t i;

	(void)state;
	fake_reset();
	memset(&rc, 0, sizeof(rc));
	memset(&domain, 0, sizeof(domain));
	domain.ctx = &fake.ctx;
	rc.rdm.domain = &domain.base;
	rc.rdm.proto.xport.ops = ops();
	rc.room.size = rc.room.left = ROOM;
	rc.room.fixed = true;
	rc.packet.wr.sg_list = rc.packet.sge;
	TAILQ_INIT(&rc.conns.starved);
	rc.conns.timer.fd = -1;
	rc.tx_bufs.count = rc.tx_bufs.limit = BUFS;
	for (i = 0; i <= BUFS; i++) {
		conns[i] = vrb_rc_conn_new(&rc.rdm);
		conns[i]->sq = &qp;
		conns[i]->qp_num = i;
		conns[i]->live = true;
		conns[i]->peer = &peers[i].rdm;
		assert_true(vrb_rc_table_reserve(&rc.by_qp));
		vrb_rc_table_add(&rc.by_qp, conns[i]);
		peers[i] = (struct vrb_rc_peer){ .rdm.ep = &rc.rdm, .conn = conns[i] };
		peers[i].rdm.proto.flow.credits = 1;
		if (i == BUFS)
			return 0;
		bufs[i].out.data = bytes;
		vrb_rdm_pool_put(&rc.tx_bufs, &bufs[i]);
	}
	return 0;
}

static int end(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i <= BUFS; i++) {
		conns[i]->peer = NULL;
		vrb_rc_conn_free(conns[i]);
	}
	assert_int_equal(rc.room.left, ROOM);
	return 0;
}

static int send_packet(struct vrb_rc_peer *peer)
{
	return ops()->send(&peer->rdm.proto, "head", 4, NULL, 0, 0, NULL);
}

/*
 * Silent packets of other connections that hold all buffers are probed, whoever lacks one, but not
 * with each call of an application that tries again.
 */
static void buffers_of_silent_connections_come_back(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 0; i <= BUFS; i++)
		assert_int_equal(send_packet(&peers[i]), i < BUFS ? 0 : -FI_EAGAIN);
	assert_true(peers[BUFS].starved);
	for (i = 0; i < BUFS; i++) {
		assert_int_equal(conns[i]->head, 2);
		assert_int_equal(conns[i]->slots[1].flags >> OFI_RDM_KIND_SHIFT, VRB_RDM_PROBE);
	}
	assert_true(send_flags & IBV_SEND_SIGNALED);
	/* What RMA lacks is probed for, too. */
	conns[0]->slots[1].flags |= OFI_RDM_SILENT;
	peers[0].rdm.proto.flow.credits = 1;
	while (rc.conns.probed == ofi_now_ms())
		;
	assert_null(ops()->bounce_get(&peers[BUFS].rdm));
	assert_int_equal(conns[0]->head, 3);
	assert_int_equal(conns[1]->head, 2);
}

/* The device has sent what is in the slot. */
static void complete(const struct vrb_rdm_slot *slot)
{
	rc.wc[0] = vrb_rdm_wc_sent((uintptr_t)slot, slot->conn->qp_num);
	vrb_rdm_polled(&rc.rdm, 1);
}

static void await_buffer(struct vrb_rc_peer *peer)
{
	const struct ofi_rdm_wire_packet bye = { .type = OFI_RDM_WIRE_BYE };
	struct ofi_rdm_peer *rdm = &peer->rdm;

	ofi_rdm_proto_peer_init(&rc.rdm.proto, &rdm->proto, 0);
	STAILQ_INIT(&rdm->ops);
	STAILQ_INIT(&rdm->replies);
	rdm->proto.up = true;
	rdm->proto.flow.credits = 2;
	assert_true(ofi_rdm_answer(rdm, &bye, NULL, 0));
	assert_true(peer->starved);
	assert_int_equal(peer->conn->head, 0);
}

/*
 * A peer that has nothing in flight does not wait for the timer, but gets a buffer as soon as one
 * of another peer comes back, also if the reader takes the completion directly.
 */
static void a_buffer_that_comes_back_goes_to_who_waits(void **state)
{
	struct ibv_send_wr wr = { 0 };
	struct fi_cq_tagged_entry entry;
	uint32_t i;

	(void)state;
	SLIST_INIT(&rc.tx_bufs.free);
	for (i = 0; i < 2; i++)
		assert_int_equal(vrb_rc_conn_post(conns[i], &wr, FI_SEND, NULL, &bufs[i]), 0);
	await_buffer(&peers[2]);
	await_buffer(&peers[3]);
	/* The reader takes this one directly. */
	rc.rdm.direct.at = &entry;
	rc.rdm.direct.left = 1;
	complete(&conns[0]->slots[0]);
	assert_false(peers[2].starved);
	assert_ptr_equal(conns[2]->slots[0].bounce, &bufs[0]);
	assert_true(peers[3].starved);
	rc.rdm.direct.cq = OFI_RDM_NO_DIRECT;
	complete(&conns[1]->slots[0]);
	assert_false(peers[3].starved);
	assert_ptr_equal(conns[3]->slots[0].bounce, &bufs[1]);
	/* The timer ends a connection with a fault. */
	await_buffer(&peers[BUFS]);
	conns[BUFS]->fault = FI_EIO;
	complete(&conns[2]->slots[0]);
	assert_true(peers[BUFS].starved);
	assert_ptr_equal(SLIST_FIRST(&rc.tx_bufs.free), &bufs[0]);
	ofi_rdm_replies_drop(&peers[BUFS].rdm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(buffers_of_silent_connections_come_back, begin,
						end),
		cmocka_unit_test_setup_teardown(a_buffer_that_comes_back_goes_to_who_waits, begin,
						end),
	};

	return cmocka_run_group_tests_name("rdm_starved", tests, NULL, NULL);
}
