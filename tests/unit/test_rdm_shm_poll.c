/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The order of packets that arrive in shared memory and of those that arrive through the device,
 * and who wakes whom.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include "prov/verbs/rdm/conn.h"
#include "shm_rig.h"
#include "src/ds/clock.h"

static int poll_all(struct ibv_wc *wc)
{
	return vrb_shm_poll_cq(&all.cq, ROOM, wc);
}

/* The device is polled once the rings are empty. */
static int poll_twice(struct ibv_wc *wc)
{
	int n = poll_all(wc);

	return n + vrb_shm_poll_cq(&all.cq, ROOM - n, wc + n);
}

/* Only a packet through the device, which wakes whoever sleeps, ends the request to be woken. */
static void asleep_until_device(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	vrb_shm_arm(&rc.rdm);
	assert_true(ofi_shm_ring_sleeps(&tx));
	assert_int_equal(poll_all(wc), 0);
	assert_true(ofi_shm_ring_sleeps(&tx));
	vrb_shm_arm(&rc.rdm);
	device_has = 1;
	assert_int_equal(poll_all(wc), 1);
	assert_false(ofi_shm_ring_sleeps(&tx));
	vrb_shm_arm(&rc.rdm);
	assert_true(ofi_shm_ring_sleeps(&tx));
	assert_true(ofi_shm_ring_must_wake_reader(&tx));
	assert_false(ofi_shm_ring_must_wake_reader(&tx));
	vrb_shm_set_awake(&shm, false);
}

/* A writer that waits for room is woken once, when there is room. */
static void room_wakes_writer(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	give_buffer(0);
	give_buffer(1);
	write_ring(&tx, 0);
	write_ring(&tx, 1);
	ofi_shm_ring_wait(&tx, tx.written);
	assert_int_equal(poll_all(wc), 1);
	assert_int_equal(woken, 1);
	assert_int_equal(shm.sent, 1);
	device_has = 1;
	assert_int_equal(poll_all(wc), 1);
	assert_int_equal(poll_all(wc), 1);
	assert_int_equal(woken, 1);
}

/* The ring has a packet, and its writer waits for room. */
static void fill_ring(struct ofi_shm_ring_tx *tx)
{
	give_buffer(0);
	write_ring(tx, 0);
	ofi_shm_ring_wait(tx, tx->written);
}

/* Complete wakes make room for the next one, even if each poll is full of packets in rings. */
static void full_ring_wakes_writer(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc;
	int polls;

	(void)state;
	shm.wakes = wakes_done = VRB_SHM_WAKES;
	for (polls = 0; !woken && polls < 8; polls++) {
		fill_ring(&tx);
		assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
		assert_ptr_equal(vrb_rdm_rx_of(&wc), &buffers[0].rx);
	}
	assert_true(woken);
	assert_false(shm.wake_due);
}

/* The wake that was due follows the first one that is complete. */
static void due_wake_is_posted(void **state)
{
	struct ibv_wc wc[ROOM];

	(void)state;
	shm.wakes = VRB_SHM_WAKES;
	shm.wake_due = true;
	wakes_done = 1;
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(woken, 1);
	assert_int_equal(shm.wakes, VRB_SHM_WAKES);
	assert_false(shm.wake_due);
}

/* The application may not poll again: the event thread does until the wake is posted. */
static void due_wake_needs_no_application(void **state)
{
	struct ibv_wc wc[ROOM];

	(void)state;
	shm.wakes = VRB_SHM_WAKES;
	vrb_shm_wake(&shm);
	assert_int_equal(starvations, 1);
	vrb_shm_tick(&rc.rdm);
	assert_int_equal(starvations, 2);
	wakes_done = 1;
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(woken, 1);
	vrb_shm_tick(&rc.rdm);
	assert_int_equal(starvations, 2);
}

/* The device refuses one, and no other is on its way. */
static void refused_wake_is_tried_again(void **state)
{
	struct ibv_wc wc[ROOM];

	(void)state;
	refused = 2;
	vrb_shm_wake(&shm);
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(woken, 0);
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(woken, 1);
	assert_true(TAILQ_EMPTY(&all.pending));
	assert_false(shm.wake_due);
}

/* A peer that cannot be woken has gone; what is flushed is no news. */
static void failed_wake_is_reported(void **state)
{
	struct ibv_wc wc[ROOM];

	(void)state;
	shm.wakes = 2;
	wakes_done = 1;
	wake_status = IBV_WC_RETRY_EXC_ERR;
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(failures, 1);
	wakes_done = 1;
	wake_status = IBV_WC_WR_FLUSH_ERR;
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(failures, 1);
	assert_int_equal(shm.wakes, 0);
}

/* The end of a connection is behind what is complete in the ring. */
static void end_behind_ring(void **state)
{
	struct ibv_wc wc[ROOM];
	int i;

	(void)state;
	post_three(7);
	conn.last.conn = &conn;
	sent_slot = &conn.last;
	assert_int_equal(poll_twice(wc), 4);
	for (i = 0; i < 3; i++)
		assert_ptr_equal(wc[i].wr_id, &slots[i]);
	assert_ptr_equal(wc[3].wr_id, &conn.last);
}

/* The peer reads on while a completion of the device is passed on: earlier ones do not follow. */
static void no_completion_follows_its_retirement(void **state)
{
	static struct ofi_shm_ring_map theirs;
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];
	int i;

	(void)state;
	post_three(3);
	shm.tx = (struct ofi_shm_ring_tx){ .map = &theirs, .written = OFI_SHM_RING_DATA };
	shm.ends[0] = shm.ends[1] = OFI_SHM_RING_DATA;
	sent_slot = &slots[2];
	all.turn_of = VRB_SHM_TURN_DEVICE;
	all.polls = 7; /* the next one polls the device */
	for (i = 0; i < 3; i++)
		write_ring(&tx, 0);
	give_buffer(0);
	give_buffer(1);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 2, wc), 2);
	theirs.read = OFI_SHM_RING_DATA;
	give_buffer(0);
	assert_int_equal(poll_all(wc), 2);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[0]), &buffers[0].rx);
	assert_ptr_equal(wc[1].wr_id, &slots[2]);
}

/* The queue pair of a connection that has ended may be gone. */
static void nobody_is_woken_at_the_end(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	fill_ring(&tx);
	conn.state = VRB_RC_CONN_DEAD;
	assert_int_equal(poll_all(wc), 1);
	assert_int_equal(woken, 0);
}

/* The work request is of a connection that is freed: its slot must not be looked at again. */
static void no_completion_outlives_its_connection(void **state)
{
	struct vrb_shm_conn *own = calloc(1, sizeof(*own));
	struct ibv_wc wc[ROOM];

	(void)state;
	assert_non_null(own);
	own->fd = -1;
	conn.shm = own;
	own->conn = &conn;
	slots[1] = (struct vrb_rdm_slot){ .conn = &conn, .seq = 1 };
	all.held = (struct ibv_wc){ .wr_id = (uintptr_t)&slots[1], .opcode = IBV_WC_SEND };
	all.has_held = true;
	vrb_shm_conn_close(&conn);
	assert_int_equal(poll_all(wc), 0);
}

/* Nor is that of a connection that never had shared memory. */
static void held_completion_without_shared_memory(void **state)
{
	struct ibv_wc wc[ROOM];

	(void)state;
	conn.shm = NULL;
	slots[1] = (struct vrb_rdm_slot){ .conn = &conn, .seq = 1 };
	all.held = (struct ibv_wc){ .wr_id = (uintptr_t)&slots[1], .opcode = IBV_WC_SEND };
	all.has_held = true;
	vrb_shm_conn_close(&conn);
	assert_int_equal(poll_all(wc), 0);
}

/* This end has no shared memory, but the peer does not know that. */
static void packets_without_shared_memory(void **state)
{
	uint8_t bytes[64] = { OFI_RDM_WIRE_VERSION };
	int kind;

	(void)state;
	conn.shm = NULL;
	for (kind = VRB_SHM_OFFER; kind <= VRB_SHM_WAKE; kind++) {
		bytes[1] = (uint8_t)kind;
		assert_true(vrb_shm_packet(&conn, bytes, 2));
		assert_true(vrb_shm_packet(&conn, bytes, sizeof(bytes)));
	}
	bytes[1] = (uint8_t)kind;
	assert_false(vrb_shm_packet(&conn, bytes, sizeof(bytes)));
}

/* What is in the ring does not fail if the peer is gone, so it counts as nothing to be sent. */
static void ring_is_quiet(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	(void)state;
	post_three(7);
	assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
	conn.head++;
	assert_true(vrb_shm_is_quiet(&conn));
	wr = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE, .wr_id = VRB_SHM_WAKE_ID };
	assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
	conn.head++;
	assert_false(vrb_shm_is_quiet(&conn));
	conn.tail = conn.head;
	assert_true(vrb_shm_is_quiet(&conn));
}

/*
 * However many packets follow the last RDMA, it is not taken for one that is in flight, and what is
 * in the ring is reported after any number of work requests of the device.
 */
static void rdma_is_long_ago(void **state)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	int i;

	(void)state;
	post_three(0);
	for (i = 0; i < 6; i++) {
		conn.head = conn.tail += 1u << 30;
		assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
		assert_true(shm.in_ring[0] & 1u << (conn.head & conn.mask));
		assert_true(vrb_shm_is_quiet(&conn));
		assert_int_equal(shm.reported, conn.head);
		shm.in_ring[0] = 0;
	}
}

static void ring_before_device(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	give_buffer(0);
	write_ring(&tx, 0);
	device_has = 1;
	assert_int_equal(poll_twice(wc), 2);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[0]), &buffers[0].rx);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[1]), &from_device);
}

/* The mark says that a packet of the device comes first. */
static void device_before_ring(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	give_buffer(0);
	write_ring(&tx, 1);
	assert_int_equal(poll_all(wc), 0);
	device_has = 1;
	assert_int_equal(poll_all(wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[0]), &from_device);
	assert_int_equal(poll_all(wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[0]), &buffers[0].rx);
	assert_int_equal(starvations, 0);
}

/*
 * The device may have as many packets of a peer as there are receives: all answers to operations
 * that the peer took up while nobody polled here. More than that is not true.
 */
static void device_is_far_behind(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	give_buffer(0);
	write_ring(&tx, VRB_SHM_AHEAD);
	assert_int_equal(poll_all(wc), 0);
	shm.arrived = (uint32_t)-1;
	damage_expected = true;
	bell.bells[0] = 1;
	assert_int_equal(poll_all(wc), 0);
	assert_false(damage_expected);
}

/* Without a buffer for the packet in the ring the later one of the device waits, too. */
static void order_without_buffers(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	give_buffer(0);
	write_ring(&tx, 0);
	write_ring(&tx, 0);
	device_has = 2;
	assert_int_equal(poll_all(wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[0]), &buffers[0].rx);
	assert_int_equal(poll_all(wc), 0);
	assert_true(starvations > 0);
	assert_int_equal(device_has, 1);
	give_buffer(1);
	assert_int_equal(poll_all(wc), 3);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[0]), &buffers[1].rx);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[1]), &from_device);
	assert_ptr_equal(vrb_rdm_rx_of(&wc[2]), &from_device);
}

/* The device reports nothing of what another thread sends or copies while one sleeps. */
static void sleeper_is_told_of_completions(void **state)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_READ, .send_flags = VRB_SHM_COPIED };
	struct ibv_wc wc[ROOM];

	(void)state;
	conn.slots = slots;
	conn.mask = 3;
	vrb_shm_arm(&rc.rdm);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, ROOM, wc), 0);
	assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
	conn.head++;
	assert_int_equal(pending, 1);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, ROOM, wc), 1);
	conn.tail++;
	/* Nobody sleeps any more. */
	assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
	conn.head++;
	assert_int_equal(pending, 1);
}

/* What another thread polls meanwhile is not for the one that sleeps. */
static void sleeper_is_told_after_polls_of_others(void **state)
{
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_READ, .send_flags = VRB_SHM_COPIED };
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc[ROOM];

	(void)state;
	conn.slots = slots;
	conn.mask = 3;
	give_buffer(0);
	vrb_shm_arm(&rc.rdm);
	write_ring(&tx, 0);
	assert_int_equal(poll_all(wc), 1);
	assert_int_equal(vrb_shm_post_send(&shm.qp, &wr, &bad), 0);
	conn.head++;
	assert_int_equal(pending, 1);
}

/* The event thread polls for the sleeper, but the peer reads nothing, and others are sent to. */
static void sleeper_is_told_again(void **state)
{
	static struct ofi_shm_ring_map theirs;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_RDMA_READ, .send_flags = VRB_SHM_COPIED };
	struct vrb_shm_conn other = { .conn = &conn };
	struct ibv_wc wc[ROOM];

	(void)state;
	vrb_shm_arm(&rc.rdm);
	post_three(7);
	shm.tx.map = &theirs;
	shm.ends[0] = shm.tx.written = OFI_SHM_RING_DATA;
	assert_int_equal(vrb_shm_post_send(&other.qp, &wr, &bad), 0);
	assert_int_equal(pending, 1);
	assert_true(vrb_shm_drain_begin(&rc.rdm, 1));
	assert_int_equal(theirs.writer_waits, OFI_SHM_RING_DATA);
	TAILQ_REMOVE(&all.pending, &other, pending);
	other.is_pending = false;
	assert_int_equal(poll_all(wc), 0);
	assert_int_equal(vrb_shm_post_send(&other.qp, &wr, &bad), 0);
	assert_int_equal(pending, 2);
	/* The thread need not be told at once each time, because it may be awake. */
	assert_int_equal(pending_ms, 10);
	vrb_shm_arm(&rc.rdm);
	TAILQ_REMOVE(&all.pending, &other, pending);
	other.is_pending = false;
	assert_int_equal(vrb_shm_post_send(&other.qp, &wr, &bad), 0);
	assert_int_equal(pending, 3);
	assert_int_equal(pending_ms, 0);
}

/* The endpoint closes while packets that wake the peer are on their way. */
static void close_endpoint(void)
{
	static struct vrb_domain domain;
	struct vrb_rc_conn *own = calloc(1, sizeof(*own));

	assert_non_null(own);
	own->shm = calloc(1, sizeof(*own->shm));
	assert_non_null(own->shm);
	own->ep = &rc.rdm;
	own->live = true;
	own->shm->conn = own;
	own->shm->fd = -1;
	own->shm->wakes = 2;
	rc.by_qp = (struct vrb_rc_table){ 0 };
	assert_true(vrb_rc_table_reserve(&rc.by_qp));
	vrb_rc_table_add(&rc.by_qp, own);
	all.context.ops.poll_cq = vrb_shm_poll_cq;
	all.cq.context = &all.context;
	vrb_rdm_poll_from(&rc, &all.cq, VRB_RDM_BATCH);
	rc.cq = all.device;
	rc.conns.timer.fd = -1;
	rc.rdm.domain = &domain.base;
	rc.rdm.closing = true;
	vrb_rdm_conn_close(&rc.rdm);
	rc.rdm.closing = false;
}

/* The packet in the ring has a mark: the peer does not take it before the wake. */
static void closing_waits_for_wakes(void **state)
{
	(void)state;
	wakes_done = 2;
	close_endpoint();
	assert_int_equal(wakes_done, 0);
}

/* The peer's host is gone. */
static void closing_ends_without_wakes(void **state)
{
	(void)state;
	close_endpoint();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(ring_before_device, begin),
		cmocka_unit_test_setup(device_is_far_behind, begin),
		cmocka_unit_test_setup(end_behind_ring, begin),
		cmocka_unit_test_setup(no_completion_follows_its_retirement, begin),
		cmocka_unit_test_setup(nobody_is_woken_at_the_end, begin),
		cmocka_unit_test_setup(sleeper_is_told_of_completions, begin),
		cmocka_unit_test_setup(sleeper_is_told_after_polls_of_others, begin),
		cmocka_unit_test_setup(no_completion_outlives_its_connection, begin),
		cmocka_unit_test_setup(due_wake_is_posted, begin),
		cmocka_unit_test_setup(due_wake_needs_no_application, begin),
		cmocka_unit_test_setup(refused_wake_is_tried_again, begin),
		cmocka_unit_test_setup(failed_wake_is_reported, begin),
		cmocka_unit_test_setup(held_completion_without_shared_memory, begin),
		cmocka_unit_test_setup(packets_without_shared_memory, begin),
		cmocka_unit_test_setup(ring_is_quiet, begin),
		cmocka_unit_test_setup(rdma_is_long_ago, begin),
		cmocka_unit_test_setup(device_before_ring, begin),
		cmocka_unit_test_setup(order_without_buffers, begin),
		cmocka_unit_test_setup(asleep_until_device, begin),
		cmocka_unit_test_setup(room_wakes_writer, begin),
		cmocka_unit_test_setup(full_ring_wakes_writer, begin),
		cmocka_unit_test_setup(sleeper_is_told_again, begin),
		cmocka_unit_test_setup(closing_waits_for_wakes, begin),
		cmocka_unit_test_setup(closing_ends_without_wakes, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
