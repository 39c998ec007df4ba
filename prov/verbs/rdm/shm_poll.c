/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Polling with shared memory: packets that arrive in rings, and completions of those written to
 * rings, are reported among the device's completions in the order of the connection. A packet in a
 * ring states how many packets the peer had sent through the device before it; packets that the
 * peer wrote to the ring before it sent one through the device are visible when that one arrives.
 *
 * Before the endpoint sleeps, a flag in each ring asks the peer to wake it, which the peer does
 * through the device. When a packet of the peer arrives through the device, the flag is cleared:
 * the peer then uses the ring again, until the endpoint sleeps the next time. The device's event
 * for that packet wakes any thread that sleeps.
 */
#include <string.h>
#include "src/ds/compiler.h"
#include "arrive.h"
#include "shm_int.h"

#define NO_END	UINT64_MAX
#define UNASKED 16u /* after so many polls one ring is polled without a bell */
#define SKIPPED 8u /* after so many polls the device is polled even if there are packets in rings */

static bool is_in_ring(const struct vrb_shm_conn *shm, uint32_t seq)
{
	uint32_t slot = seq & shm->conn->mask;

	return shm->in_ring[slot / 64] >> slot % 64 & 1;
}

/*
 * Returns true if the completion of a packet in a ring may be reported. It is held back while the
 * reader is far behind, so that a sender that finds the ring full has a completion to wait for.
 */
static bool may_report(struct vrb_shm_conn *shm, uint32_t seq)
{
	return seq != shm->conn->head && is_in_ring(shm, seq) &&
	       ofi_shm_ring_near(&shm->tx, shm->ends[seq & shm->conn->mask]);
}

/* Returns the next work request whose completion is to be reported. */
static uint32_t next_report(const struct vrb_shm_conn *shm)
{
	uint32_t tail = shm->conn->tail;

	return (int32_t)(tail - shm->reported) > 0 ? tail : shm->reported;
}

/* Reports work requests before `end`. */
static int report_conn(struct vrb_shm_conn *shm, uint32_t end, int count, struct ibv_wc *wc)
{
	struct vrb_rc_conn *conn = shm->conn;
	uint32_t seq = next_report(shm);
	bool silent;
	int n = 0;

	/* A work request of the device that is not complete holds back those behind it. */
	for (; n < count && (int32_t)(end - seq) > 0 && may_report(shm, seq); seq++) {
		silent = conn->slots[seq & conn->mask].flags & OFI_RDM_SILENT;
		if (silent && seq + 1 != end && may_report(shm, seq + 1))
			continue;
		wc[n++] = vrb_rdm_wc_sent((uintptr_t)&conn->slots[seq & conn->mask], conn->qp_num);
	}
	shm->reported = seq;
	return n;
}

/* Returns the end of the packets that the peer has written to the ring by now. */
static uint64_t written_by_now(const struct vrb_shm_conn *shm)
{
	return shm->started ? ofi_shm_ring_written(&shm->rx) : 0;
}

/* Returns true if the peer may have asked this side to stop: it has written beyond the limit. */
static bool may_be_stopped(const struct vrb_shm_conn *shm)
{
	return vrb_shm_of(shm)->limited && shm->rx.read != written_by_now(shm);
}

/*
 * Reports sent packets of a connection, which stays in the list until all its packets in the ring
 * are reported and its peer is woken. A wake that is due is posted when an earlier one completes;
 * if none is in flight, it is tried again here.
 */
static int report_pending(struct vrb_shm_conn *shm, uint32_t end, int count, struct ibv_wc *wc)
{
	struct vrb_shm *all = vrb_shm_of(shm);
	int n;

	if (shm->wake_due && !shm->wakes)
		vrb_shm_wake(shm);
	n = ofi_unlikely(may_be_stopped(shm)) ? 0 : report_conn(shm, end, count, wc);
	TAILQ_REMOVE(&all->pending, shm, pending);
	shm->is_pending = shm->reported != shm->conn->head || shm->wake_due;
	/* The others have their turns first. */
	if (shm->is_pending)
		TAILQ_INSERT_TAIL(&all->pending, shm, pending);
	return n;
}

static int report_sent(struct vrb_shm *all, int count, struct ibv_wc *wc)
{
	struct vrb_shm_conn *last = TAILQ_LAST(&all->pending, vrb_shm_pending), *shm, *next;
	int n = 0;

	for (shm = TAILQ_FIRST(&all->pending); shm && n < count; shm = next) {
		next = shm == last ? NULL : TAILQ_NEXT(shm, pending);
		n += report_pending(shm, shm->conn->head, count - n, wc + n);
	}
	return n;
}

/* Takes the next packet of a ring if its turn has come. */
static enum ofi_shm_ring_state take_packet(struct vrb_shm_conn *shm, struct ibv_wc *wc)
{
	struct vrb_rdm_rx_ring *ring = &vrb_rc(shm->conn->ep)->rx;
	enum ofi_shm_ring_state state;
	struct vrb_rdm_rx *rx;
	uint32_t len, mark;

	state = ofi_shm_ring_peek(&shm->rx, &len, &mark);
	if (state != OFI_SHM_RING_PACKET)
		return state;
	if (len > ring->size || (int32_t)(mark - shm->arrived) > VRB_SHM_AHEAD)
		return OFI_SHM_RING_INVALID;
	if ((int32_t)(mark - shm->arrived) > 0)
		return OFI_SHM_RING_FULL;
	rx = vrb_rdm_rx_take(ring);
	if (!rx) {
		vrb_shm_of(shm)->starved = true;
		vrb_shm_of(shm)->calls->starved(shm->conn->ep);
		return OFI_SHM_RING_FULL;
	}
	ofi_shm_ring_take(&shm->rx, (void *)(uintptr_t)rx->sge.addr, len);
	*wc = vrb_rdm_wc_arrived(rx, len, shm->conn->qp_num);
	return OFI_SHM_RING_PACKET;
}

/*
 * Takes packets of a ring that begin before `end`. Sets *more unless the ring is empty, or is
 * invalid.
 */
static int drain_ring(struct vrb_shm_conn *shm, uint64_t end, int count, struct ibv_wc *wc,
		      bool *more)
{
	enum ofi_shm_ring_state state = OFI_SHM_RING_PACKET;
	int n = 0;

	*more = true;
	if (!shm->started)
		return 0;
	while (n < count && shm->rx.read < end &&
	       (state = take_packet(shm, wc + n)) == OFI_SHM_RING_PACKET)
		n++;
	if (n)
		vrb_shm_of(shm)->latest = shm->index;
	if (n && ofi_shm_ring_must_wake_writer(&shm->rx))
		vrb_shm_wake(shm);
	*more = state != OFI_SHM_RING_EMPTY && state != OFI_SHM_RING_INVALID;
	if (state == OFI_SHM_RING_INVALID) {
		vrb_shm_of(shm)->latest = VRB_SHM_NO_RING;
		vrb_shm_of(shm)->calls->damaged(shm->conn);
	}
	return n;
}

/* Takes packets of those rings of the word whose bits are set in `which`. */
static int drain_word(struct vrb_shm *all, uint32_t word, uint64_t which, int count,
		      struct ibv_wc *wc)
{
	uint64_t left = all->ready[word] & which;
	struct vrb_shm_conn *shm;
	uint32_t index;
	bool more;
	int n = 0;

	for (; left && n < count; left &= left - 1) {
		index = word * 64 + (uint32_t)__builtin_ctzll(left);
		more = false;
		shm = index < all->size ? all->conns[index] : NULL;
		if (shm)
			n += drain_ring(shm, ofi_unlikely(all->limited) ? shm->limit : NO_END,
					count - n, wc + n, &more);
		if (more)
			all->turn = index + 1;
		else
			all->ready[word] &= ~(left & -left);
	}
	return n;
}

static void set_ready(struct vrb_shm *all, uint32_t index)
{
	all->ready[index / 64] |= 1ULL << index % 64;
}

static bool has_packet(const struct vrb_shm_conn *shm)
{
	return shm && shm->started &&
	       __atomic_load_n(&shm->rx.map->written, __ATOMIC_ACQUIRE) != shm->rx.read;
}

/*
 * Takes the bells of a word. That of the ring which delivered last stays rung, so that neither side
 * writes it for each packet; the ring is looked at instead.
 */
static uint64_t take_word(struct vrb_shm *all, uint32_t word)
{
	uint64_t kept = word == all->latest / 64 ? 1ULL << all->latest % 64 : 0;
	uint64_t *bells = &all->bell->bells[word];
	uint64_t rung = __atomic_load_n(bells, __ATOMIC_SEQ_CST);

	if (ofi_unlikely(rung & ~kept))
		rung = __atomic_fetch_and(bells, kept, __ATOMIC_SEQ_CST);
	return rung & kept && !has_packet(all->conns[all->latest]) ? rung & ~kept : rung;
}

/*
 * Takes the bells before the rings are polled, so that none is missed. Returns true if there are
 * rings to be polled.
 */
static bool take_bells(struct vrb_shm *all)
{
	uint32_t word, words = all->size / 64;
	uint64_t some = 0;

	for (word = 0; word < words; word++) {
		all->ready[word] |= take_word(all, word);
		some |= all->ready[word];
	}
	return some;
}

/*
 * Polls the rings whose bells were rung, and now and then one more in case a peer clears the bells
 * of others. Begins after the last ring that was left with packets, so that each has its turn.
 */
static int drain_rings(struct vrb_shm *all, int count, struct ibv_wc *wc)
{
	uint32_t left, word, words = all->size / 64, turn = all->turn < all->size ? all->turn : 0;
	uint64_t which = ~0ULL << turn % 64;
	int n = 0;

	if (ofi_unlikely(all->polls % UNASKED == 0)) {
		all->unasked = all->unasked + 1 < all->size ? all->unasked + 1 : 0;
		set_ready(all, all->unasked);
	}
	if (!take_bells(all))
		return 0;
	/* The first word may come again at the end, for the rings before the first one. */
	for (word = turn / 64, left = words + (turn % 64 > 0); left && n < count; left--) {
		n += drain_word(all, word, which, count - n, wc + n);
		which = ~0ULL;
		word = word + 1 < words ? word + 1 : 0;
	}
	return n;
}

static void retire_wake(const struct vrb_shm *all, const struct ibv_wc *wc)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_find(all->ep, wc->qp_num);

	if (!conn || !conn->shm)
		return;
	conn->shm->wakes--;
	if (wc->status == IBV_WC_SUCCESS && conn->shm->wake_due)
		vrb_shm_wake(conn->shm);
	/* A flushed wake follows another failure, or the end of the connection. */
	if (wc->status != IBV_WC_SUCCESS && wc->status != IBV_WC_WR_FLUSH_ERR)
		all->calls->failed(conn, wc);
}

/* Returns the shared memory of the connection on which the held packet arrived, or NULL. */
static struct vrb_shm_conn *held_from(const struct vrb_shm *all)
{
	struct vrb_rc_conn *conn;

	if (!(all->held.wr_id & VRB_RDM_RX_BIT) || all->held.status != IBV_WC_SUCCESS)
		return NULL;
	conn = vrb_rc_conn_find(all->ep, all->held.qp_num);
	return conn ? conn->shm : NULL;
}

/* Returns the shared memory of the connection that the held completion is for, or NULL. */
static struct vrb_shm_conn *held_for(const struct vrb_shm *all)
{
	const struct vrb_rdm_slot *slot = vrb_shm_held_slot(all);

	return slot ? slot->conn->shm : held_from(all);
}

/*
 * Returns the shared memory of the connection whose packets come before the held completion, or
 * NULL. All rings are empty before a completion of what was sent is passed on, unless there are
 * limits.
 */
static struct vrb_shm_conn *held_behind(const struct vrb_shm *all)
{
	return ofi_unlikely(all->limited) ? held_for(all) : held_from(all);
}

/*
 * Holds a completion. A peer must not delay it by writing to its ring without end, so only packets
 * that are there by now come before it.
 */
static void hold(struct vrb_shm *all)
{
	const struct vrb_shm_conn *shm = held_behind(all);

	all->has_held = true;
	all->held_end = shm ? written_by_now(shm) : 0;
}

/* Holds the next completion of the device, if there is one and none is held already. */
static void hold_one(struct vrb_shm *all)
{
	while (!all->has_held && (!all->limited || all->quota) &&
	       ibv_poll_cq(all->device, 1, &all->held) > 0) {
		all->quota--;
		if (all->held.wr_id == VRB_SHM_WAKE_ID)
			retire_wake(all, &all->held);
		else
			hold(all);
	}
}

/* Counts a packet that arrived through the device. */
static void count_arrived(struct vrb_shm_conn *shm, const struct ibv_wc *wc)
{
	const void *bytes = (const void *)(uintptr_t)vrb_rdm_rx_of(wc)->sge.addr;

	vrb_shm_set_awake(shm, true);
	if (shm->started) {
		shm->arrived++;
		return;
	}
	shm->started = shm->rx.map && vrb_shm_is_start(bytes, wc->byte_len);
	if (vrb_shm_of(shm)->limited)
		shm->limit = written_by_now(shm);
}

/* The held completion of a work request retires those before it: they must not follow it. */
static void skip_retired(const struct vrb_shm *all)
{
	const struct vrb_rdm_slot *slot = vrb_shm_held_slot(all);
	struct vrb_rc_conn *conn = slot ? slot->conn : NULL;

	if (conn && conn->shm)
		conn->shm->reported = slot == &conn->last ? conn->head : slot->seq + 1;
}

/*
 * Passes on the held completion after the packets that its peer wrote to the ring before it. It
 * stays held if there is no room for all of them, or no buffer.
 */
static int pass_held(struct vrb_shm *all, int count, struct ibv_wc *wc)
{
	struct vrb_shm_conn *shm = held_behind(all);
	bool more;
	int n = 0;

	all->starved = false;
	if (shm)
		n = drain_ring(shm, all->held_end, count, wc, &more);
	if (n == count || all->starved)
		return n;
	shm = held_from(all);
	if (shm)
		count_arrived(shm, &all->held);
	skip_retired(all);
	wc[n] = all->held;
	all->has_held = false;
	return n + 1;
}

void vrb_shm_set_awake(struct vrb_shm_conn *shm, bool awake)
{
	if (shm->is_awake == awake || !shm->rx.map)
		return;
	shm->is_awake = awake;
	if (awake) {
		ofi_shm_ring_awake(&shm->rx);
		TAILQ_INSERT_TAIL(&vrb_shm_of(shm)->awake, shm, awake);
	} else {
		TAILQ_REMOVE(&vrb_shm_of(shm)->awake, shm, awake);
	}
}

/* Asks the peer to wake this side when the next completion may be reported. */
static void wait_for_room(struct vrb_shm_conn *shm)
{
	uint32_t seq = next_report(shm);

	if (seq != shm->conn->head && is_in_ring(shm, seq) && shm->tx.map)
		ofi_shm_ring_wait(&shm->tx, shm->ends[seq & shm->conn->mask]);
}

static void wait_for_rooms(const struct vrb_shm *all)
{
	struct vrb_shm_conn *shm;

	TAILQ_FOREACH (shm, &all->pending, pending)
		wait_for_room(shm);
}

/* The poll may complete nothing that a thread waits for, which is told of what follows, too. */
bool vrb_shm_drain_begin(struct ofi_rdm_ep *ep, uint32_t quota)
{
	struct vrb_shm *all = vrb_rc(ep)->shm;
	uint32_t i;

	if (!all)
		return false;
	memset(all->ready, UINT8_MAX, all->size / 8);
	for (i = 0; i < all->size; i++)
		if (all->conns[i])
			all->conns[i]->limit = written_by_now(all->conns[i]);
	all->limited = true;
	all->quota = quota;
	if (all->sleep != VRB_SHM_TOLD)
		return true;
	wait_for_rooms(all);
	all->sleep = VRB_SHM_DOZES;
	return true;
}

void vrb_shm_drain_end(struct ofi_rdm_ep *ep)
{
	vrb_rc(ep)->shm->limited = false;
}

void vrb_shm_arm(struct ofi_rdm_ep *ep)
{
	struct vrb_shm *all = vrb_rc(ep)->shm;
	struct vrb_shm_conn *shm;

	if (!all)
		return;
	while ((shm = TAILQ_FIRST(&all->awake))) {
		vrb_shm_set_awake(shm, false);
		if (ofi_shm_ring_sleep(&shm->rx))
			set_ready(all, shm->index);
	}
	wait_for_rooms(all);
	all->sleep = VRB_SHM_ASLEEP;
}

/*
 * Sets the goal: the packets and completions that come before the completion whose turn it is.
 * These include all packets that its peer has written to the ring by now, because a STOP or HALT
 * must be processed before a completion lets this side send more.
 */
static void begin_turn(struct vrb_shm *all)
{
	struct vrb_shm_conn *shm = NULL;

	if (all->turn_of == VRB_SHM_TURN_SENT)
		shm = TAILQ_FIRST(&all->pending);
	else if (all->has_held)
		shm = held_for(all);
	all->goal.shm = shm;
	all->goal.is_set = true;
	if (!shm)
		return;
	all->goal.sent = next_report(shm);
	while (may_report(shm, all->goal.sent))
		all->goal.sent++;
	all->goal.written = written_by_now(shm);
}

/* Returns true once the packets and completions before the goal have been passed on. */
static bool reach_goal(struct vrb_shm *all, int count, struct ibv_wc *wc, int *n)
{
	struct vrb_shm_conn *shm = all->goal.shm;
	bool more;

	if (!shm)
		return true;
	*n = drain_ring(shm, all->goal.written, count, wc, &more);
	if (*n == count)
		return false;
	if (shm->is_pending)
		*n += report_pending(shm, all->goal.sent, count - *n, wc + *n);
	return *n < count || all->turn_of == VRB_SHM_TURN_SENT;
}

/*
 * If packets in rings filled every poll, other completions would wait forever. So a full poll is
 * followed by one that begins with the held completion of the device, and then by one that begins
 * with completions of packets written to a ring.
 */
static int take_turn(struct vrb_shm *all, int count, struct ibv_wc *wc)
{
	int n = 0;

	if (all->turn_of == VRB_SHM_TURN_RINGS || all->limited)
		return 0;
	if (!all->goal.is_set)
		begin_turn(all);
	if (!reach_goal(all, count, wc, &n))
		return n;
	all->goal.is_set = false;
	if (all->turn_of == VRB_SHM_TURN_DEVICE && all->has_held && n < count)
		n += pass_held(all, count - n, wc + n);
	return n;
}

int vrb_shm_poll_cq(struct ibv_cq *cq, int count, struct ibv_wc *wc)
{
	struct vrb_shm *all = cq->cq_context;
	int n;

	/* Retires wakes, which are not passed on, even if packets in rings fill each poll. */
	if (++all->polls % SKIPPED == 0)
		hold_one(all);
	n = take_turn(all, count, wc);
	/* A STOP or HALT must be processed before a completion lets this side send more. */
	n += drain_rings(all, count - n, wc + n);
	/* A completion of the device retires packets in a ring before it: these come first. */
	n += report_sent(all, count - n, wc + n);
	if (!n)
		hold_one(all);
	while (all->has_held && n < count) {
		n += pass_held(all, count - n, wc + n);
		if (all->has_held)
			break;
		hold_one(all);
	}
	if (n == count && !all->goal.is_set)
		all->turn_of = (all->turn_of + 1) % VRB_SHM_TURNS;
	return n;
}
