/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* An endpoint with one connection that has shared memory; its device is a list of completions. */
#ifndef SHM_RIG_H
#define SHM_RIG_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "prov/verbs/rdm/arrive.h"
#include "prov/verbs/rdm/shm_int.h"

enum { LEN = 8, SIZE = 4096, ROOM = 8 };

static struct vrb_rc_ep rc;
static struct vrb_rc_conn conn, *list = &conn;
static struct vrb_shm_conn shm, *conns[64];
static struct vrb_shm all;
static struct vrb_shm_bell bell;
static struct ofi_shm_ring_map map;
static struct vrb_rdm_rx from_device;
static struct vrb_rdm_rx_buf buffers[2];
static uint8_t device_bytes[LEN], buffer_bytes[2][SIZE];
static struct vrb_rdm_slot slots[4], *sent_slot;
static enum ibv_wc_status wake_status;
static bool damage_expected;
static int device_has, wakes_done, starvations, woken, failures, refused, pending;
static uint64_t pending_ms;

static void take_damage(struct vrb_rc_conn *damaged)
{
	assert_ptr_equal(damaged, &conn);
	assert_true(damage_expected);
	damage_expected = false;
}

static void count_failure(struct vrb_rc_conn *failed, const struct ibv_wc *wc)
{
	assert_ptr_equal(failed, &conn);
	assert_int_equal(wc->status, wake_status);
	failures++;
}

static void count_starvation(struct ofi_rdm_ep *ep)
{
	assert_ptr_equal(ep, &rc.rdm);
	starvations++;
}

static int poll_device(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	assert_ptr_equal(cq, all.device);
	assert_true(count > 0);
	if (wakes_done) {
		wakes_done--;
		*wc = (struct ibv_wc){ .wr_id = VRB_SHM_WAKE_ID, .status = wake_status };
		return 1;
	}
	if (sent_slot) {
		*wc = (struct ibv_wc){ .wr_id = (uintptr_t)sent_slot, .opcode = IBV_WC_SEND };
		sent_slot = NULL;
		return 1;
	}
	if (!device_has)
		return 0;
	device_has--;
	*wc = (struct ibv_wc){
		.wr_id = (uintptr_t)&from_device | VRB_RDM_RX_BIT,
		.status = IBV_WC_SUCCESS,
		.opcode = IBV_WC_RECV,
		.byte_len = LEN,
	};
	return 1;
}

static int count_wake(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)bad;
	assert_ptr_equal(qp, conn.qp);
	assert_int_equal(wr->wr_id, VRB_SHM_WAKE_ID);
	if (refused && refused--)
		return ENOMEM;
	woken++;
	return 0;
}

static void count_pending(struct ofi_rdm_ep *ep, uint64_t ms)
{
	assert_ptr_equal(ep, &rc.rdm);
	pending++;
	pending_ms = ms;
}

static inline void give_buffer(int i)
{
	struct vrb_rdm_rx_buf *buffer = &buffers[i];

	buffer->rx.sge.addr = (uintptr_t)buffer_bytes[i];
	buffer->wr.wr_id = (uintptr_t)&buffer->rx | VRB_RDM_RX_BIT;
	buffer->wr.next = rc.rx.free;
	rc.rx.free = &buffer->wr;
	rc.rx.free_count++;
}

static int begin(void **state)
{
	static const struct vrb_shm_calls calls = { take_damage, count_failure, count_starvation,
						    count_pending };
	static struct ibv_context context;
	static struct ibv_cq cq = { .context = &context, .cqe = 16 };
	static struct ibv_qp qp = { .context = &context };

	(void)state;
	memset(&all, 0, sizeof(all));
	memset(&shm, 0, sizeof(shm));
	memset(&map, 0, sizeof(map));
	memset(&bell, 0, sizeof(bell));
	memset(&conn, 0, sizeof(conn));
	context.ops.poll_cq = poll_device;
	context.ops.post_send = count_wake;
	conn.qp = &qp;
	all.device = &cq;
	rc.shm = &all;
	rc.rx.size = SIZE;
	rc.rx.free = NULL;
	rc.by_qp = (struct vrb_rc_table){ .lists = &list, .size = 1, .used = 1 };
	conn.ep = &rc.rdm;
	conn.shm = &shm;
	shm.conn = &conn;
	shm.fd = -1;
	shm.bell = &bell;
	shm.started = true;
	shm.rx.map = &map;
	conns[0] = &shm;
	all.conns = conns;
	all.size = 64;
	all.used = true;
	all.bell = &bell;
	all.ep = &rc.rdm;
	all.calls = &calls;
	all.cq.cq_context = &all;
	TAILQ_INIT(&all.pending);
	TAILQ_INIT(&all.awake);
	TAILQ_INIT(&all.offered);
	TAILQ_INIT(&all.waiting);
	vrb_shm_set_awake(&shm, true);
	from_device.sge.addr = (uintptr_t)device_bytes;
	sent_slot = NULL;
	device_has = wakes_done = starvations = woken = failures = refused = pending = 0;
	wake_status = IBV_WC_SUCCESS;
	return 0;
}

static inline void write_ring(struct ofi_shm_ring_tx *tx, uint32_t mark)
{
	assert_int_equal(ofi_shm_ring_begin(tx, LEN, mark), OFI_SHM_RING_PACKET);
	ofi_shm_ring_add(tx, "earlier", LEN);
	ofi_shm_ring_end(tx);
	bell.bells[0] = 1;
}

/* Work requests 0, 1 and 2 are posted, of which the bits say which are in the ring. */
static inline void post_three(uint64_t in_ring)
{
	uint32_t i;

	conn.slots = slots;
	conn.mask = 3;
	for (i = 0; i < 4; i++)
		slots[i] = (struct vrb_rdm_slot){ .conn = &conn, .seq = i };
	conn.head = 3;
	shm.tx.map = &map;
	shm.in_ring[0] = in_ring;
	TAILQ_INSERT_TAIL(&all.pending, &shm, pending);
	shm.is_pending = true;
}

#endif
