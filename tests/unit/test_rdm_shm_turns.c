/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All that waits at an endpoint with shared memory has its turn, whatever peers do. */
#include "unit.h"

#include "shm_rig.h"

/* Whoever reads one packet at a time gets them from all peers. */
static void all_rings_have_turns(void **state)
{
	enum { RINGS = 3, PACKETS = 2 };
	static struct ofi_shm_ring_map maps[RINGS];
	static struct vrb_shm_conn peers[RINGS];
	const uint32_t places[RINGS] = { 0, 63, 70 };
	static struct vrb_shm_conn *many[128];
	static struct vrb_rc_conn from[RINGS];
	struct ofi_shm_ring_tx tx;
	struct ibv_wc wc;
	int i, k;

	(void)state;
	memset(maps, 0, sizeof(maps));
	all.conns = many;
	all.size = 128;
	for (i = 0; i < RINGS; i++) {
		from[i] = (struct vrb_rc_conn){ .ep = &rc.rdm, .qp_num = (uint32_t)i };
		peers[i] = (struct vrb_shm_conn){ .conn = &from[i], .started = true };
		peers[i].rx.map = &maps[i];
		many[places[i]] = &peers[i];
		tx = (struct ofi_shm_ring_tx){ .map = &maps[i] };
		for (k = 0; k < PACKETS; k++)
			write_ring(&tx, 0);
	}
	for (i = 0; i < RINGS; i++)
		bell.bells[places[i] / 64] |= 1ULL << places[i] % 64;
	for (i = 0; i < RINGS * PACKETS; i++) {
		rc.rx.free = NULL;
		give_buffer(0);
		assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
		assert_int_equal(wc.qp_num, i % RINGS);
	}
}

static void check_next(const struct vrb_rdm_slot *slot)
{
	struct ibv_wc wc;

	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_ptr_equal(wc.wr_id, slot);
	conn.tail = slot->seq + 1;
}

/* The one in the middle is the device's. Each poll has room for one. */
static void device_between_rings(void **state)
{
	(void)state;
	post_three(5);
	sent_slot = &slots[1];
	check_next(&slots[0]);
	check_next(&slots[1]);
	check_next(&slots[2]);
}

/* The same for what was sent: the completions of two peers, one at a time. */
static void all_peers_have_turns(void **state)
{
	static struct vrb_rdm_slot other_slots[4];
	static struct vrb_rc_conn other;
	static struct vrb_shm_conn peer;
	struct ibv_wc wc;
	int i;

	(void)state;
	post_three(7);
	peer = shm;
	other = conn;
	other.slots = other_slots;
	peer.conn = &other;
	TAILQ_INSERT_TAIL(&all.pending, &peer, pending);
	for (i = 0; i < 6; i++) {
		assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
		assert_ptr_equal(wc.wr_id, i % 2 ? &other_slots[i / 2] : &slots[i / 2]);
	}
	assert_true(TAILQ_EMPTY(&all.pending));
}

/* Writes a packet to the ring and gives the endpoint a buffer for it. */
static void write_and_give(struct ofi_shm_ring_tx *tx)
{
	rc.rx.free = NULL;
	give_buffer(0);
	write_ring(tx, 0);
}

/*
 * The peer writes a packet for each one that is taken, and this end takes one at a time: the ring
 * has two at each poll. Returns after how many polls the work request is reported.
 */
static int polls_until(struct ofi_shm_ring_tx *tx, uint64_t wr_id)
{
	struct ibv_wc wc;
	int polls = 0;

	write_ring(tx, 0);
	do {
		assert_true(++polls < 20);
		write_and_give(tx);
		assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	} while (wc.wr_id != wr_id);
	return polls;
}

/* A full ring does not keep a completion of the device, which the other end waits for, waiting. */
static void device_has_a_turn(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };

	(void)state;
	post_three(0);
	TAILQ_REMOVE(&all.pending, &shm, pending);
	shm.is_pending = false;
	sent_slot = &slots[1];
	assert_true(polls_until(&tx, (uintptr_t)&slots[1]) > 2);
}

/*
 * The same for a packet of the peer that keeps its ring full: it could say of all packets in the
 * ring that it has written them before.
 */
static void packet_of_the_device_has_a_turn(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };

	(void)state;
	device_has = 1;
	assert_true(polls_until(&tx, (uintptr_t)&from_device | VRB_RDM_RX_BIT) > 2);
}

/* What this end wrote to its ring, and the peer took, is reported. */
static void sent_has_a_turn(void **state)
{
	static struct ofi_shm_ring_map theirs;
	struct ofi_shm_ring_tx tx = { .map = &map };

	(void)state;
	post_three(1);
	shm.tx.map = &theirs;
	assert_true(polls_until(&tx, (uintptr_t)&slots[0]) > 2);
}

/*
 * What the peer had written to its ring when the turn of a completion came is taken first: it may
 * be a request to stop. What it writes later is not waited for.
 */
static void ring_before_turn(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc;
	int i;

	(void)state;
	post_three(0);
	sent_slot = &slots[1];
	all.turn_of = VRB_SHM_TURN_DEVICE;
	for (i = 0; i < 3; i++)
		write_ring(&tx, 0);
	for (i = 0; i < 3; i++) {
		write_and_give(&tx);
		assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
		assert_true(wc.wr_id & VRB_RDM_RX_BIT);
	}
	write_and_give(&tx);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_true(wc.wr_id & VRB_RDM_RX_BIT);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_ptr_equal(wc.wr_id, &slots[1]);
}

/* The connection whose turn it is ends before what it had to wait for was taken. */
static void turn_of_connection_that_ends(void **state)
{
	struct vrb_shm_conn *own = calloc(1, sizeof(*own));
	struct ibv_wc wc;

	(void)state;
	assert_non_null(own);
	own->fd = -1;
	own->conn = &conn;
	conn.shm = own;
	all.goal.is_set = true;
	all.goal.shm = own;
	all.turn_of = VRB_SHM_TURN_DEVICE;
	vrb_shm_conn_close(&conn);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 0);
}

/*
 * Before a connection ends, all that has arrived by now is taken, and not more, though a peer
 * writes a packet for each that is taken.
 */
static void all_that_has_arrived_is_taken(void **state)
{
	enum { RING = 2, DEVICE = 40, MORE = 5 };
	struct ofi_shm_ring_tx tx = { .map = &map };
	int from_ring = 0, all_taken = 0;
	struct ibv_wc wc;

	(void)state;
	conn.shm = NULL; /* the packets of the device are those of another peer */
	device_has = DEVICE + MORE;
	for (; from_ring < RING; from_ring++)
		write_ring(&tx, 0);
	assert_true(vrb_shm_drain_begin(&rc.rdm, DEVICE));
	for (from_ring = 0;; all_taken++) {
		assert_true(all_taken <= RING + DEVICE);
		write_and_give(&tx);
		if (!vrb_shm_poll_cq(&all.cq, 1, &wc))
			break;
		from_ring += vrb_rdm_rx_of(&wc) == &buffers[0].rx;
	}
	assert_int_equal(from_ring, RING);
	assert_int_equal(all_taken, RING + DEVICE);
	assert_int_equal(device_has, MORE);
	vrb_shm_drain_end(&rc.rdm);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
}

/* The peer may have asked this side to stop since: nothing is reported before that is read. */
static void nothing_sent_is_reported_meanwhile(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc;

	(void)state;
	post_three(7);
	write_ring(&tx, 0);
	assert_true(vrb_shm_drain_begin(&rc.rdm, 1));
	write_and_give(&tx);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc), &buffers[0].rx);
	rc.rx.free = NULL;
	give_buffer(0);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 0);
	vrb_shm_drain_end(&rc.rdm);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc), &buffers[0].rx);
	check_next(&slots[0]);
}

/* The same if the device completes it. */
static void what_the_device_has_sent_comes_behind(void **state)
{
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc;

	(void)state;
	post_three(0);
	sent_slot = &slots[0];
	assert_true(vrb_shm_drain_begin(&rc.rdm, 1));
	write_and_give(&tx);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc), &buffers[0].rx);
	check_next(&slots[0]);
}

/* The packets in a ring that its peer begins to use meanwhile are taken, too. */
static void a_ring_that_begins_is_taken(void **state)
{
	const uint8_t start[2] = { OFI_RDM_WIRE_VERSION, VRB_SHM_START };
	struct ofi_shm_ring_tx tx = { .map = &map };
	struct ibv_wc wc;

	(void)state;
	shm.started = false;
	memcpy(device_bytes, start, sizeof(start));
	device_has = 1;
	write_ring(&tx, 0);
	give_buffer(0);
	assert_true(vrb_shm_drain_begin(&rc.rdm, 1));
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc), &from_device);
	assert_int_equal(vrb_shm_poll_cq(&all.cq, 1, &wc), 1);
	assert_ptr_equal(vrb_rdm_rx_of(&wc), &buffers[0].rx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_rings_have_turns, begin),
		cmocka_unit_test_setup(device_between_rings, begin),
		cmocka_unit_test_setup(all_peers_have_turns, begin),
		cmocka_unit_test_setup(device_has_a_turn, begin),
		cmocka_unit_test_setup(packet_of_the_device_has_a_turn, begin),
		cmocka_unit_test_setup(sent_has_a_turn, begin),
		cmocka_unit_test_setup(ring_before_turn, begin),
		cmocka_unit_test_setup(turn_of_connection_that_ends, begin),
		cmocka_unit_test_setup(all_that_has_arrived_is_taken, begin),
		cmocka_unit_test_setup(nothing_sent_is_reported_meanwhile, begin),
		cmocka_unit_test_setup(what_the_device_has_sent_comes_behind, begin),
		cmocka_unit_test_setup(a_ring_that_begins_is_taken, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
