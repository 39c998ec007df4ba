/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sending on unreliable datagrams: work requests become packets, which are kept until the peer has
 * acknowledged them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/provider/mr_table.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"
#include "ud_rc.h"

#define WAKE_US 20000

/* Returns how long the newest packet of the peer may have waited here. */
static uint64_t lag_of(const struct vrb_ud_conn *ud)
{
	return vrb_ud_of(ud)->now - ud->arrived;
}

static void fill_words(struct vrb_ud_conn *ud, struct ofi_rdm_ack_words *words)
{
	const struct vrb_ud_rx *stalled = STAILQ_FIRST(&ud->stalled);

	ofi_rdm_ack_fill(&ud->ack, &ud->in, words);
	/* Stalled packets are in order, and no others are taken until they are handled. */
	if (ofi_unlikely(stalled))
		words->stalled = (uint8_t)(words->next - stalled->packet.number);
}

void vrb_ud_transmit(struct vrb_ud_conn *ud, struct vrb_ud_tx *tx)
{
	struct ibv_sge sge = { .addr = (uintptr_t)tx->bytes,
			       .length = tx->len,
			       .lkey = tx->buf->out.lkey };
	const struct vrb_ud_way way = vrb_ud_way_of(ud);
	struct ofi_rdm_ack_words words;

	/* An earlier copy has not left yet. */
	if (tx->posted)
		return;
	fill_words(ud, &words);
	vrb_ud_stamp(tx->bytes, tx->node.number, tx->node.order, &words, lag_of(ud));
	vrb_ud_put(vrb_ud_of(ud), &way, sge, tx, false);
}

/* Sends a new packet, for which there is room in all windows. */
static void launch(struct vrb_ud_conn *ud, struct vrb_ud_tx *tx)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	tx->ud = ud;
	ofi_rdm_ack_sent(&ud->ack, &tx->node, all->now);
	ofi_rdm_cwnd_sent(&ud->cwnd, all->now);
	if (ud->chats < ud->chats_needed && all->now - ud->met < VRB_UD_SOON_US)
		ud->chats++;
	ud->flying++;
	if (tx->wr) {
		tx->wr->flying++;
		tx->wr->last = tx->node.number;
		ud->ordered = ud->ack.next;
	}
	vrb_ud_transmit(ud, tx);
}

static struct vrb_ud_packet packet_to(const struct vrb_ud_conn *ud, enum vrb_ud_kind kind)
{
	return (struct vrb_ud_packet){ .kind = kind, .to = ud->to, .from = ud->conn->qp_num };
}

/* Returns a new packet, or NULL: the next poll tries again. */
static struct vrb_ud_tx *tx_new(struct vrb_ud_conn *ud)
{
	struct vrb_ud_tx *tx = vrb_ud_tx_new(vrb_ud_of(ud));

	if (ofi_unlikely(!tx))
		vrb_ud_send_soon(ud);
	return tx;
}

/* A packet that the device does not take inline needs a buffer until it is sent. */
bool vrb_ud_put_bare(struct vrb_ud *all, const struct vrb_ud_way *way,
		     const struct vrb_ud_packet *packet)
{
	uint8_t inlined[VRB_UD_HEAD_MAX] __attribute__((aligned(8)));
	bool is_long = packet->len || sizeof(inlined) > all->inline_max;
	struct vrb_ud_tx *tx = is_long ? vrb_ud_tx_new(all) : NULL;
	uint8_t *bytes = tx ? tx->bytes : inlined;
	struct ibv_sge sge = { .addr = (uintptr_t)bytes, .lkey = tx ? tx->buf->out.lkey : 0 };
	bool fits;

	sge.length = (uint32_t)vrb_ud_build(bytes, packet);
	vrb_ud_stamp(bytes, 0, 0, &packet->words, packet->lag);
	/* The queue of a device without order needs the buffer to tell its places apart. */
	fits = tx || (!packet->len && !all->unordered && sge.length <= all->inline_max);
	if (tx && (packet->kind == VRB_UD_ASK || packet->kind == VRB_UD_ANSWER))
		tx->writer = packet->from;
	if (tx && packet->len)
		memcpy(bytes + sge.length, packet->payload, packet->len);
	sge.length += (uint32_t)packet->len;
	fits = fits && vrb_ud_put(all, way, sge, tx, packet->kind == VRB_UD_END);
	if (tx)
		vrb_ud_tx_put(all, tx);
	return fits;
}

void vrb_ud_send_bare(struct vrb_ud_conn *ud, enum vrb_ud_kind kind, enum vrb_ud_reason reason)
{
	const struct vrb_ud_way way = vrb_ud_way_of(ud);
	struct vrb_ud_packet packet = packet_to(ud, kind);

	if (!ud->path)
		return;
	packet.id = reason;
	packet.lag = (uint32_t)lag_of(ud);
	fill_words(ud, &packet.words);
	if (ud->is_refused) {
		packet.words.next = ud->refused;
		packet.words.early = packet.words.stalled = 0;
	}
	vrb_ud_put_bare(vrb_ud_of(ud), &way, &packet);
}

void vrb_ud_send_ack(struct vrb_ud_conn *ud)
{
	ud->acked = vrb_ud_of(ud)->now;
	vrb_ud_send_bare(ud, VRB_UD_ACK, 0);
}

/* Returns true for a write with nothing else in flight: somebody may wait for its completion. */
static bool is_alone(const struct vrb_ud_conn *ud, const struct vrb_ud_wr *wr)
{
	return wr->kind == VRB_UD_WRITE && ud->flying == wr->flying &&
	       (!ud->turn || ud->turn == wr);
}

/*
 * Returns the next packet of a work request, or NULL. The peer's number is written when it is sent.
 */
static struct vrb_ud_tx *pack(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr)
{
	struct vrb_ud_packet packet = packet_to(ud, wr->kind);
	uint32_t left = wr->len - wr->sent, len = left < ud->payload ? left : ud->payload;
	struct vrb_ud_tx *tx = tx_new(ud);
	size_t head;

	if (!tx)
		return NULL;
	tx->wr = wr;
	packet.last = len == left && (wr->kind == VRB_UD_SEND || is_alone(ud, wr));
	packet.addr = wr->remote + wr->sent;
	packet.key = wr->rkey;
	packet.id = wr->id;
	if (wr->kind == VRB_UD_READ) {
		packet.asked = wr->len;
		len = 0;
	}
	head = vrb_ud_build(tx->bytes, &packet);
	vrb_ud_copy(wr, wr->sent, tx->bytes + head, len, true);
	tx->len = (uint32_t)head + len;
	wr->sent = wr->kind == VRB_UD_READ ? wr->len : wr->sent + len;
	return tx;
}

/*
 * Tries again later if the send queue is full. Ends the connection if the device refuses the read.
 */
static bool send_read(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr)
{
	int err = vrb_ud_read(ud, wr);

	if (!err)
		return true;
	if (err == ENOMEM) {
		vrb_ud_send_soon(ud);
		return false;
	}
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_DATA, "ibv_wr_rdma_read: %s: connection ended\n",
		       strerror(err));
	vrb_ud_send_bare(ud, VRB_UD_END, VRB_UD_CLOSED);
	vrb_ud_fail(ud, IBV_WC_LOC_QP_OP_ERR);
	return false;
}

static bool send_wr(struct vrb_ud_conn *ud)
{
	struct vrb_ud_wr *wr = ud->turn;
	struct vrb_ud_tx *tx;

	if (!wr || (wr->kind == VRB_UD_READ && !vrb_ud_may_read(ud, wr)) || vrb_ud_back_holds(ud))
		return false;
	if (wr->direct)
		return send_read(ud, wr);
	tx = wr->copy ? wr->copy : pack(ud, wr);
	if (!tx)
		return false;
	wr->copy = NULL;
	((struct vrb_ud_head *)(void *)tx->bytes)->to = htole32(ud->to);
	ud->reads += wr->kind == VRB_UD_READ;
	if (wr->sent == wr->len) {
		wr->packed = true;
		ud->turn = STAILQ_NEXT(wr, link);
	}
	launch(ud, tx);
	return true;
}

/* Sends a part of what the peer reads. */
static bool send_job(struct vrb_ud_conn *ud)
{
	struct vrb_ud_job *job = STAILQ_FIRST(&ud->jobs);
	struct vrb_ud_packet packet = packet_to(ud, VRB_UD_DATA);
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_ud_tx *tx;
	uint32_t len;
	size_t head;

	if (!job)
		return false;
	tx = tx_new(ud);
	if (!tx)
		return false;
	len = job->len - job->sent < ud->payload ? job->len - job->sent : ud->payload;
	packet.addr = job->sent;
	packet.id = job->id;
	head = vrb_ud_build(tx->bytes, &packet);
	if (!vrb_mr_table_copy(vrb_rc_domain(all->ep), job->key, job->addr + job->sent, len, false,
			       tx->bytes + head)) {
		vrb_ud_tx_put(all, tx);
		vrb_ud_break(ud, VRB_UD_ACCESS);
		return false;
	}
	tx->len = (uint32_t)head + len;
	job->sent += len;
	if (job->sent == job->len) {
		STAILQ_REMOVE_HEAD(&ud->jobs, link);
		ud->job_count--;
		free(job);
	}
	launch(ud, tx);
	return true;
}

/*
 * Sends VRB_UD_QP, VRB_UD_BACK, or VRB_UD_NOTHING, which the peer acknowledges once it has handled
 * the packets before it.
 */
static bool send_empty(struct vrb_ud_conn *ud, enum vrb_ud_kind kind)
{
	struct vrb_ud_packet packet = packet_to(ud, kind);
	struct vrb_ud_tx *tx = tx_new(ud);

	if (!tx)
		return false;
	if (kind == VRB_UD_BACK)
		vrb_ud_back_describe(ud, &packet);
	else if (kind == VRB_UD_QP)
		vrb_ud_rc_describe(ud, &packet);
	tx->len = (uint32_t)vrb_ud_build(tx->bytes, &packet);
	launch(ud, tx);
	if (kind != VRB_UD_NOTHING)
		ud->ordered = ud->ack.next;
	if (kind == VRB_UD_BACK)
		vrb_ud_back_sent(ud);
	return true;
}

static bool is_qp_due(const struct vrb_ud_conn *ud)
{
	return ud->rc_due || vrb_ud_back_is_due(ud);
}

/*
 * Returns true if something waits until the peer has handled what it received, and no packet in
 * flight will be acknowledged then.
 */
static bool must_chase(const struct vrb_ud_conn *ud)
{
	if (ud->ack.first)
		return false;
	return ofi_unlikely(ud->unhandled) ||
	       (ofi_unlikely(ud->turn && ud->turn->direct) && !vrb_ud_is_handled(ud));
}

static bool has_work(const struct vrb_ud_conn *ud)
{
	return ud->turn || !STAILQ_EMPTY(&ud->jobs) || is_qp_due(ud) || must_chase(ud);
}

/*
 * Returns when the next packet may be sent. The wait is bounded if nothing is in flight, because a
 * process that was stopped measures long round trips.
 */
static uint64_t send_time(const struct vrb_ud_conn *ud)
{
	uint64_t time = ofi_rdm_cwnd_time(&ud->cwnd, ud->flying),
		 most = ud->cwnd.sent + VRB_UD_PACE_US;

	/* The device avoids congestion itself. */
	if (vrb_ud_of(ud)->unordered)
		return 0;
	return !ud->flying && time > most ? most : time;
}

/*
 * A reliable device keeps packets to a host that does not answer for seconds. The fuller its queue
 * is, the fewer packets to a peer may be in flight, so that there is room for others.
 */
static bool has_room(const struct vrb_ud_conn *ud)
{
	const struct vrb_ud *all = vrb_ud_of(ud);
	uint32_t room = vrb_ud_sq_room(all);

	if (ofi_likely(2 * room > all->sq_depth + VRB_UD_RESERVE) || !all->unordered)
		return room > VRB_UD_RESERVE;
	return room > VRB_UD_RESERVE && ud->flying + ud->reads < room / VRB_UD_RESERVE;
}

static bool may_send(const struct vrb_ud_conn *ud)
{
	return ud->path && !ud->over && !ud->broken && TAILQ_EMPTY(&ud->not_ready) &&
	       ofi_rdm_ack_is_open(&ud->ack) && has_room(ud) && send_time(ud) <= vrb_ud_of(ud)->now;
}

void vrb_ud_pump(struct vrb_ud_conn *ud)
{
	bool some = true;

	while (some && has_work(ud) && may_send(ud)) {
		some = is_qp_due(ud) ? send_empty(ud, ud->rc_due ? VRB_UD_QP : VRB_UD_BACK)
				     : send_job(ud);
		some |= may_send(ud) && send_wr(ud);
		some |= may_send(ud) && must_chase(ud) && send_empty(ud, VRB_UD_NOTHING);
	}
	if (ofi_unlikely(vrb_ud_sq_room(vrb_ud_of(ud)) <= VRB_UD_RESERVE) && has_work(ud))
		vrb_ud_send_soon(ud);
}

void vrb_ud_touch(struct vrb_rc_conn *conn)
{
	struct vrb_ud_conn *ud = conn->ud;

	vrb_ud_of(ud)->now = vrb_ud_clock();
	if (may_send(ud) && send_empty(ud, VRB_UD_NOTHING))
		vrb_ud_watch(ud);
}

void vrb_ud_watch(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	uint64_t next = ofi_rdm_ack_next(&ud->ack), pace;
	bool works = has_work(ud);

	if (ud->over)
		return;
	if (works && ud->path) {
		pace = send_time(ud);
		if (pace > all->now && pace < next)
			next = pace;
	}
	if (ud->letter && ud->letter->at < next)
		next = ud->letter->at;
	if (!TAILQ_EMPTY(&ud->not_ready) && ud->ready_at < next)
		next = ud->ready_at;
	if (next == OFI_RDM_ACK_NEVER && !works)
		return;
	/* A timer that is postponed stays: postponing it is left to its expiry. */
	if (next < ud->due.at)
		ofi_rdm_due_set(&all->due, &ud->due, next);
	/* The endpoint's timer polls soon if nobody else does. */
	if (all->wake > all->now && all->wake <= all->now + WAKE_US)
		return;
	all->wake = all->now + WAKE_US;
	all->calls->wake(all->ep, WAKE_US / 1000);
}

void vrb_ud_acked(struct vrb_ud_conn *ud, struct ofi_rdm_ack_node *node)
{
	struct ofi_rdm_ack_node *next;
	struct vrb_ud_tx *tx;

	ud->ready_wait = ud->ready_at = 0;
	for (; node; node = next) {
		next = node->next;
		tx = (struct vrb_ud_tx *)node;
		ud->flying--;
		if (tx->wr) {
			tx->wr->flying--;
			vrb_ud_wr_done(ud, tx->wr);
		}
		vrb_ud_tx_put(vrb_ud_of(ud), tx);
	}
}

static void timed_out(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	/* Further timeouts say nothing new about the network. */
	if (ud->ack.backoff < 2)
		ofi_rdm_cwnd_timeout(&ud->cwnd, all->now);
	if (all->now - ud->ack.last_arrival < VRB_UD_SILENT_US || all->now < ud->ask)
		return;
	ud->ask = all->now + VRB_UD_ASK_US;
	ud->conn->news.silent = true;
	all->calls->news(ud->conn);
}

bool vrb_ud_resend(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct ofi_rdm_ack_node *node;
	enum ofi_rdm_ack_due due;

	vrb_ud_letter_again(ud);
	vrb_ud_send_not_ready(ud);
	while (!ud->over &&
	       (due = ofi_rdm_ack_due(&ud->ack, all->now, &node)) != OFI_RDM_ACK_NOTHING) {
		if (due == OFI_RDM_ACK_GIVE_UP) {
			vrb_ud_fail(ud, IBV_WC_RETRY_EXC_ERR);
			vrb_ud_tell(ud, FI_ETIMEDOUT);
			return false;
		}
		if (due == OFI_RDM_ACK_TIMEOUT)
			timed_out(ud);
		else
			ofi_rdm_cwnd_lost(&ud->cwnd, all->now);
		if (TAILQ_EMPTY(&ud->not_ready))
			vrb_ud_transmit(ud, (struct vrb_ud_tx *)node);
	}
	return true;
}

static struct vrb_ud_wr *wr_new(struct vrb_ud *all)
{
	struct vrb_ud_wr *wr = STAILQ_FIRST(&all->free_wrs);

	if (!wr)
		return malloc(sizeof(*wr));
	STAILQ_REMOVE_HEAD(&all->free_wrs, link);
	return wr;
}

static bool kind_of(enum ibv_wr_opcode opcode, uint32_t len, enum vrb_ud_kind *kind)
{
	switch (opcode) {
	case IBV_WR_SEND:
		*kind = VRB_UD_SEND;
		return true;
	case IBV_WR_RDMA_WRITE:
		*kind = len ? VRB_UD_WRITE : VRB_UD_NOTHING;
		return true;
	case IBV_WR_RDMA_READ:
		*kind = len ? VRB_UD_READ : VRB_UD_NOTHING;
		return true;
	default:
		return false;
	}
}

/* Data that fit in one packet are copied now, as inline data have to be. */
static int prepare(struct vrb_ud_conn *ud, struct vrb_ud_wr *wr, const struct ibv_send_wr *from)
{
	int i;

	*wr = (struct vrb_ud_wr){
		.wr_id = from->wr_id,
		.signaled = from->send_flags & IBV_SEND_SIGNALED,
		.num_sge = from->num_sge,
		.remote = from->wr.rdma.remote_addr,
		.rkey = from->wr.rdma.rkey,
		.id = ud->next_id++,
	};
	for (i = 0; i < from->num_sge; i++) {
		wr->sge[i] = from->sg_list[i];
		wr->len += wr->sge[i].length;
	}
	if (!kind_of(from->opcode, wr->len, &wr->kind))
		return EINVAL;
	wr->direct = wr->kind == VRB_UD_READ && vrb_ud_is_direct(ud, wr);
	if (ud->broken || wr->kind == VRB_UD_READ || wr->len > ud->payload)
		return 0;
	wr->copy = pack(ud, wr);
	return wr->copy ? 0 : ENOMEM;
}

int vrb_ud_post_send(struct ibv_qp *qp, struct ibv_send_wr *from, struct ibv_send_wr **bad)
{
	struct vrb_ud_conn *ud =
		(struct vrb_ud_conn *)(void *)((char *)qp - offsetof(struct vrb_ud_conn, qp));
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_ud_wr *wr;
	int err;

	if (!ud->rc || !ud->rc->used)
		all->now = vrb_ud_clock();
	if (all->rcs.wanted && vrb_ud_rc_post(ud, from, bad, &err))
		return err;
	wr = wr_new(all);
	err = wr ? prepare(ud, wr, from) : ENOMEM;
	*bad = from;
	if (err) {
		if (wr)
			STAILQ_INSERT_HEAD(&all->free_wrs, wr, link);
		return err;
	}
	STAILQ_INSERT_TAIL(&ud->wrs, wr, link);
	if (ud->broken) {
		vrb_ud_fail_soon(ud);
		return 0;
	}
	if (!ud->turn)
		ud->turn = wr;
	vrb_ud_pump(ud);
	vrb_ud_watch(ud);
	return 0;
}
