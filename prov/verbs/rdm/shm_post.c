/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending through shared memory. */
#include <errno.h>
#include "src/ds/compiler.h"
#include "shm_int.h"

/* A packet larger than this goes through the device, so that several fit in the ring. */
#define PACKET_MAX (OFI_SHM_RING_DATA / 3)
#define DOZE_MS	   10 /* until a thread that was told, and may sleep on, is told again */

static void set_in_ring(struct vrb_shm_conn *shm, uint32_t seq, bool in_ring)
{
	uint32_t slot = seq & shm->conn->mask;
	uint64_t bit = 1ULL << slot % 64;

	if (in_ring)
		shm->in_ring[slot / 64] |= bit;
	else
		shm->in_ring[slot / 64] &= ~bit;
}

static int post_to_device(struct vrb_shm_conn *shm, struct ibv_send_wr *wr, uint32_t seq,
			  struct ibv_send_wr **bad)
{
	int err;

	wr->send_flags |= IBV_SEND_SIGNALED;
	err = ibv_post_send(shm->conn->qp, wr, bad);
	if (err)
		return err;
	set_in_ring(shm, seq, false);
	shm->device_end = seq + 1;
	if (wr->opcode == IBV_WR_SEND)
		shm->sent++;
	else
		shm->rdma_end = seq + 1;
	return 0;
}

static uint32_t length_of(const struct ibv_send_wr *wr)
{
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

/*
 * Returns true if the work requests before the end are complete. The end then follows the tail, so
 * that their distance does not overflow: this is called for each end at each post.
 */
static bool is_complete(const struct vrb_rc_conn *conn, uint32_t *end)
{
	if ((int32_t)(*end - conn->tail) <= 0)
		*end = conn->tail;
	return *end == conn->tail;
}

bool vrb_shm_is_quiet(const struct vrb_rc_conn *conn)
{
	return is_complete(conn, &conn->shm->device_end);
}

/* Packets must not overtake RDMA in flight, and only the device can wake a sleeping receiver. */
static bool ring_is_usable(struct vrb_shm_conn *shm, uint32_t len)
{
	return is_complete(shm->conn, &shm->rdma_end) && shm->tx.map && len <= PACKET_MAX &&
	       !ofi_shm_ring_sleeps(&shm->tx);
}

/* Adds the connection to the pending ones. A sleeping thread only waits for the device's events. */
static void shm_enlist(struct vrb_shm_conn *shm)
{
	struct vrb_shm *all = vrb_shm_of(shm);

	if (shm->is_pending)
		return;
	shm->is_pending = true;
	TAILQ_INSERT_TAIL(&all->pending, shm, pending);
	if (ofi_likely(all->sleep < VRB_SHM_DOZES))
		return;
	all->calls->pending(all->ep, all->sleep == VRB_SHM_DOZES ? DOZE_MS : 0);
	all->sleep = VRB_SHM_TOLD;
}

void vrb_shm_wake(struct vrb_shm_conn *shm)
{
	uint8_t bytes[2] = { OFI_RDM_WIRE_VERSION, VRB_SHM_WAKE };
	struct ibv_sge sge = { (uintptr_t)bytes, sizeof(bytes), 0 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = VRB_SHM_WAKE_ID,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_INLINE | IBV_SEND_SIGNALED,
	};

	/* The event thread may be destroying the queue pair. */
	if (shm->conn->state == VRB_RC_CONN_DEAD)
		return;
	shm->wake_due = shm->wakes == VRB_SHM_WAKES || ibv_post_send(shm->conn->qp, &wr, &bad);
	if (shm->wake_due) {
		/* The peer sleeps until then, and the application may not poll again. */
		shm_enlist(shm);
		vrb_shm_of(shm)->calls->starved(shm->conn->ep);
		return;
	}
	shm->wakes++;
	shm->sent++;
}

/* Follows a sequentially consistent store to the ring: a bell that is rung was so after it. */
static void ring_bell(struct vrb_shm_conn *shm)
{
	uint64_t *word = &shm->bell->bells[shm->to / 64], bit = 1ULL << shm->to % 64;

	if (!(__atomic_load_n(word, __ATOMIC_SEQ_CST) & bit))
		__atomic_fetch_or(word, bit, __ATOMIC_SEQ_CST);
	if (ofi_shm_ring_must_wake_reader(&shm->tx))
		vrb_shm_wake(shm);
}

static void write_packet(struct vrb_shm_conn *shm, const struct ibv_send_wr *wr, uint32_t seq)
{
	int i;

	for (i = 0; i < wr->num_sge; i++)
		ofi_shm_ring_add(&shm->tx, (const void *)(uintptr_t)wr->sg_list[i].addr,
				 wr->sg_list[i].length);
	shm->ends[seq & shm->conn->mask] = ofi_shm_ring_end(&shm->tx);
	set_in_ring(shm, seq, true);
	shm_enlist(shm);
	ring_bell(shm);
}

/* Records a copied read, which is complete and is reported in its turn. */
static void note_copied(struct vrb_shm_conn *shm, uint32_t seq)
{
	shm->ends[seq & shm->conn->mask] = 0;
	set_in_ring(shm, seq, true);
	shm_enlist(shm);
}

/* Posts the work request of the connection's next slot. */
int vrb_shm_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct vrb_shm_conn *shm = (struct vrb_shm_conn *)qp;
	uint32_t len = length_of(wr), seq = shm->conn->head;

	*bad = wr;
	is_complete(shm->conn, &shm->reported);
	is_complete(shm->conn, &shm->device_end);
	if (wr->send_flags & VRB_SHM_COPIED) {
		note_copied(shm, seq);
		return 0;
	}
	if (wr->opcode != IBV_WR_SEND || !ring_is_usable(shm, len))
		return post_to_device(shm, wr, seq, bad);
	switch (ofi_shm_ring_begin(&shm->tx, len, shm->sent)) {
	case OFI_SHM_RING_PACKET:
		write_packet(shm, wr, seq);
		return 0;
	case OFI_SHM_RING_FULL:
		return ENOMEM;
	default:
		vrb_shm_of(shm)->calls->damaged(shm->conn);
		return EIO;
	}
}
