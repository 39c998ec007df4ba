/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Receiving on unreliable datagrams: packets are put in order, messages are assembled in the
 * transport's receive buffers, and the peer's reads and writes are carried out.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include <ofi/addr.h>
#include "src/ds/compiler.h"
#include "proof.h"
#include "prov/verbs/provider/mr_table.h"
#include "prov/verbs/provider/prov.h"
#include "ud_int.h"
#include "ud_qp.h"
#include "ud_rc.h"
#include "ud_refuse.h"

static void rx_put(struct vrb_ud *all, struct vrb_ud_rx *rx)
{
	rx->wr.next = all->repost;
	all->repost = &rx->wr;
	all->kept--;
}

/*
 * Packets that wait for a buffer may be acknowledged, so they are delivered before the end is told.
 */
void vrb_ud_tell(struct vrb_ud_conn *ud, int err)
{
	if (ud->told)
		return;
	ud->end_err = err;
	if (vrb_ud_is_listed(ud, VRB_UD_STALLED) && !ud->reason)
		return;
	ud->told = true;
	ud->conn->news.err = err;
	vrb_ud_of(ud)->calls->news(ud->conn);
}

/* Ends the connection, and tells the peer why. */
static void end_conn(struct vrb_ud_conn *ud, enum vrb_ud_reason reason, int err)
{
	if (ud->over)
		return;
	vrb_ud_send_bare(ud, VRB_UD_END, reason);
	ud->reason = reason;
	ud->over = true;
	vrb_ud_tell(ud, err);
}

void vrb_ud_break(struct vrb_ud_conn *ud, enum vrb_ud_reason reason)
{
	static const struct {
		const char *text;
		int err;
	} why[] = {
		[VRB_UD_ACCESS] = { "accessed memory without the right to", FI_EKEYREJECTED },
		[VRB_UD_BROKEN] = { "sent a packet that violates the protocol", FI_ECONNABORTED },
		[VRB_UD_SHORT] = { "gets no service: out of memory", FI_ENOMEM },
	};
	char text[OFI_ADDR_STRLEN];

	if (!ud->over)
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_DATA, "peer %s %s: connection ended\n",
			       ofi_rdm_addr_str(&ud->conn->peer->addr, text, sizeof(text)),
			       why[reason].text);
	end_conn(ud, reason, why[reason].err);
}

/* Takes the next of the transport's receive buffers. */
static struct vrb_rdm_rx *take_recv(struct vrb_ud *all)
{
	return all->recv_tail == all->recv_head ? NULL
						: all->recvs[all->recv_tail++ & all->ring_mask];
}

struct vrb_rdm_rx *vrb_ud_recv_take(struct ofi_rdm_ep *ep, size_t len)
{
	const struct vrb_ud *all = vrb_rc(ep)->ud;

	/* Messages that wait for a buffer came first. */
	if (vrb_ud_any(all, VRB_UD_STALLED) || all->recv_tail == all->recv_head ||
	    len > all->recvs[all->recv_tail & all->ring_mask]->sge.length)
		return NULL;
	return take_recv(vrb_rc(ep)->ud);
}

/*
 * Returns true if the message is assembled in memory of its own: those that begin take half of the
 * receives at most, because nobody has to send the rest of a message.
 */
static bool is_apart(const struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	const struct vrb_ud *all = vrb_ud_of(ud);

	if (ud->part)
		return ud->is_apart;
	return !packet->last && all->parts >= all->recv_head - all->recv_tail;
}

/*
 * Returns true if the packet has to wait, for a buffer or for messages of the queue pair. A write
 * that will be refused waits for the answers to earlier reads, because the connection ends with it.
 */
static bool must_wait(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	if (packet->kind == VRB_UD_WRITE)
		return ofi_unlikely(ud->job_count) &&
		       !vrb_mr_table_copy(vrb_rc_domain(ud->conn->ep), packet->key, packet->addr,
					  packet->len, true, NULL);
	if (packet->kind == VRB_UD_BACK)
		return vrb_ud_back_waits(ud, packet);
	return packet->kind == VRB_UD_SEND && (is_apart(ud, packet) ? packet->last : !ud->part) &&
	       vrb_ud_of(ud)->recv_tail == vrb_ud_of(ud)->recv_head;
}

static void ack_soon(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	ud->met = all->now;
	if (ud->chats < ud->chats_needed && all->now - ud->acked >= VRB_UD_PROMPT_US)
		vrb_ud_list(all, ud, VRB_UD_PROMPT);
}

static void begin_message(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	size_t size = vrb_rc(all->ep)->rx.size;

	ud->part_len = 0;
	ud->is_apart = is_apart(ud, packet);
	all->parts += !ud->is_apart;
	ud->part = ud->is_apart ? malloc(sizeof(*ud->part) + size) : take_recv(all);
	if (ud->is_apart && ud->part)
		ud->part->sge = (struct ibv_sge){ .addr = (uintptr_t)(ud->part + 1),
						  .length = (uint32_t)size };
}

static void end_message(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_rdm_rx *rx = ud->is_apart ? take_recv(all) : ud->part;

	if (ud->is_apart) {
		memcpy((void *)(uintptr_t)rx->sge.addr, ud->part + 1, ud->part_len);
		free(ud->part);
	}
	all->parts -= !ud->is_apart;
	ud->part = NULL;
	vrb_ud_report(all, rx, ud->part_len, ud->conn->qp_num);
	ack_soon(ud);
}

static void take_part(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	if (!ud->part)
		begin_message(ud, packet);
	if (!ud->part) {
		vrb_ud_break(ud, VRB_UD_SHORT);
		return;
	}
	if (packet->len > ud->part->sge.length - ud->part_len || (!packet->len && !packet->last)) {
		vrb_ud_break(ud, VRB_UD_BROKEN);
		return;
	}
	memcpy((uint8_t *)(uintptr_t)ud->part->sge.addr + ud->part_len, packet->payload,
	       packet->len);
	ud->part_len += (uint32_t)packet->len;
	if (packet->last)
		end_message(ud);
}

/* A peer that has not proved that it knows the job secret has no access. */
static bool is_shut(const struct vrb_ud_conn *ud)
{
	return ud->conn->proof && ud->conn->proof->shut;
}

/* Refuses the access. The END does not acknowledge the packet, so the peer does not complete it. */
static void refuse_access(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	ud->is_refused = true;
	ud->refused = packet->number;
	vrb_ud_break(ud, VRB_UD_ACCESS);
}

static void take_write(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	if (is_shut(ud) ||
	    !vrb_mr_table_copy(vrb_rc_domain(ud->conn->ep), packet->key, packet->addr, packet->len,
			       true, (void *)(uintptr_t)packet->payload))
		refuse_access(ud, packet);
	else if (packet->last)
		vrb_ud_list(vrb_ud_of(ud), ud, VRB_UD_PROMPT);
}

static void take_read(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	struct vrb_ud_job *job;

	if (ud->job_count >= VRB_UD_JOBS || !packet->asked) {
		vrb_ud_break(ud, VRB_UD_BROKEN);
		return;
	}
	if (is_shut(ud)) {
		refuse_access(ud, packet);
		return;
	}
	job = malloc(sizeof(*job));
	if (!job) {
		vrb_ud_break(ud, VRB_UD_SHORT);
		return;
	}
	*job = (struct vrb_ud_job){
		.addr = packet->addr, .key = packet->key, .len = packet->asked, .id = packet->id
	};
	STAILQ_INSERT_TAIL(&ud->jobs, job, link);
	ud->job_count++;
}

static void take_data(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	struct vrb_ud_wr *wr;

	STAILQ_FOREACH (wr, &ud->wrs, link)
		if (wr->kind == VRB_UD_READ && wr->id == packet->id && wr->packed && !wr->done &&
		    !wr->direct)
			break;
	if (!wr || packet->addr != wr->got || packet->len > wr->len - wr->got || !packet->len) {
		vrb_ud_break(ud, VRB_UD_BROKEN);
		return;
	}
	vrb_ud_copy(wr, wr->got, (uint8_t *)(uintptr_t)packet->payload, packet->len, false);
	wr->got += (uint32_t)packet->len;
	vrb_ud_wr_done(ud, wr);
}

static void handle(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	int ret = 0;

	if (ud->reason)
		return;
	if (vrb_ud_of(ud)->rcs.wanted)
		vrb_ud_back_score(ud, vrb_ud_rc_worth_in(packet));
	switch (packet->kind) {
	case VRB_UD_SEND:
		take_part(ud, packet);
		break;
	case VRB_UD_WRITE:
		take_write(ud, packet);
		break;
	case VRB_UD_READ:
		take_read(ud, packet);
		break;
	case VRB_UD_DATA:
		take_data(ud, packet);
		break;
	case VRB_UD_QP:
		ret = vrb_ud_rc_met(ud, packet);
		break;
	case VRB_UD_BACK:
		ret = vrb_ud_back_met(ud, packet);
		break;
	default:
		break;
	}
	if (ret == -FI_EPROTO)
		vrb_ud_break(ud, VRB_UD_BROKEN);
	else if (ofi_unlikely(ret))
		vrb_ud_tell(ud, -ret);
}

/* Handles a packet whose turn has come, or lets it wait for a buffer with those behind it. */
static void deliver(struct vrb_ud_conn *ud, struct vrb_ud_rx *rx)
{
	struct vrb_ud *all = vrb_ud_of(ud);

	if (!ud->reason && (vrb_ud_is_listed(ud, VRB_UD_STALLED) || must_wait(ud, &rx->packet))) {
		STAILQ_INSERT_TAIL(&ud->stalled, rx, stalled);
		vrb_ud_list(all, ud, VRB_UD_STALLED);
		return;
	}
	handle(ud, &rx->packet);
	rx_put(all, rx);
}

static void unstall(struct vrb_ud_conn *ud)
{
	struct vrb_ud_rx *rx;

	while ((rx = STAILQ_FIRST(&ud->stalled)) && (ud->reason || !must_wait(ud, &rx->packet))) {
		STAILQ_REMOVE_HEAD(&ud->stalled, stalled);
		handle(ud, &rx->packet);
		rx_put(vrb_ud_of(ud), rx);
	}
	if (rx)
		return;
	vrb_ud_unlist(vrb_ud_of(ud), ud, VRB_UD_STALLED);
	if (ud->end_err)
		vrb_ud_tell(ud, ud->end_err);
	if (!ud->over)
		vrb_ud_send_ack(ud);
	vrb_ud_pump(ud);
	vrb_ud_watch(ud);
}

void vrb_ud_unstall(struct vrb_ud *all)
{
	struct vrb_ud_conn *ud, *next;

	for (ud = TAILQ_FIRST(&all->lists[VRB_UD_STALLED]); ud; ud = next) {
		next = TAILQ_NEXT(ud, entry[VRB_UD_STALLED]);
		unstall(ud);
	}
}

void vrb_ud_drop_received(struct vrb_ud_conn *ud)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct ofi_rdm_seq_node *node, *next;
	struct vrb_ud_rx *rx;

	for (node = ofi_rdm_seq_begin(&ud->in, 0); node; node = next) {
		next = node->next;
		rx_put(all, (struct vrb_ud_rx *)node);
	}
	while ((rx = STAILQ_FIRST(&ud->stalled))) {
		STAILQ_REMOVE_HEAD(&ud->stalled, stalled);
		rx_put(all, rx);
	}
	vrb_ud_unlist(all, ud, VRB_UD_STALLED);
	if (ud->part && ud->is_apart)
		free(ud->part);
	else if (ud->part)
		all->recvs[--all->recv_tail & all->ring_mask] = ud->part;
	all->parts -= ud->part && !ud->is_apart;
	ud->part = NULL;
}

/*
 * Returns true if an early packet cannot stay. Packets that wait for earlier ones occupy receives
 * that other packets need: the last quarter of the receives is for packets that need not wait, and
 * once half of them are occupied, each peer may keep only a few.
 */
static bool is_crowded(const struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	const struct vrb_ud *all = vrb_ud_of(ud);

	if (ofi_rdm_seq_distance(ud->in.next, packet->number) <= 0 ||
	    all->kept <= all->rq_depth / 2)
		return false;
	return all->kept > all->rq_depth - all->rq_depth / 4 ||
	       __builtin_popcountll(ud->in.early) >= VRB_UD_FEW;
}

/*
 * A packet that cannot be kept counts as lost: the peer sends it again. Returns true if the packet
 * stays.
 */
static bool take_numbered(struct vrb_ud_conn *ud, struct vrb_ud_rx *rx)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct vrb_ud_packet *packet = &rx->packet;
	enum ofi_rdm_seq_verdict verdict;
	struct ofi_rdm_seq_node *node;

	if (vrb_ud_is_listed(ud, VRB_UD_STALLED) || is_crowded(ud, packet) ||
	    (packet->number == ud->in.next && must_wait(ud, packet)))
		return false;
	verdict = ofi_rdm_seq_arrive(&ud->in, packet->number, &rx->node);
	if (verdict == OFI_RDM_SEQ_BEYOND)
		return false;
	if (verdict == OFI_RDM_SEQ_DELIVER) {
		deliver(ud, rx);
		while ((node = ofi_rdm_seq_pop(&ud->in)))
			deliver(ud, (struct vrb_ud_rx *)node);
	}
	ud->arrived = all->polled;
	ofi_rdm_ack_arrived(&ud->ack, &ud->in, packet->order, verdict, all->now);
	return verdict != OFI_RDM_SEQ_DUPLICATE;
}

/* Takes the first work request that is not complete for the one that was refused. */
static void take_refusal(struct vrb_ud_conn *ud)
{
	vrb_ud_fail(ud, IBV_WC_REM_ACCESS_ERR);
	if (STAILQ_EMPTY(&ud->wrs))
		vrb_ud_tell(ud, FI_EKEYREJECTED);
}

void vrb_ud_over(struct vrb_ud_conn *ud, int err)
{
	ud->over = true;
	vrb_ud_tell(ud, err);
}

static void take_end(struct vrb_ud_conn *ud, const struct vrb_ud_packet *packet)
{
	if (ud->over)
		return;
	if (packet->id == VRB_UD_ACCESS) {
		take_refusal(ud);
		return;
	}
	vrb_ud_over(ud, packet->id == VRB_UD_BROKEN ? FI_ECONNABORTED : FI_ECONNRESET);
}

/*
 * The passive side learns from the first packet how the peer is reached; later ones may wake the
 * connection. Where GIDs are addresses, it answers to the one that asked for the connection:
 * anybody can send the packet in the name of another host, or of none. Without a path the
 * connection ends: looking for one can take a second, which each packet would cost. Returns the
 * connection, or NULL if the packet counts as lost.
 */
static struct vrb_ud_conn *with_path(struct vrb_ud_conn *ud, const struct ibv_wc *wc,
				     const struct vrb_ud_rx *rx)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct ibv_ah_attr attr;

	if (ud->path)
		return ud;
	if (ud->asleep)
		return vrb_ud_wake(ud);
	if (!all->grh || !vrb_ud_attr_from(all, wc, rx, &attr))
		return NULL;
	if (all->port.link_layer == IBV_LINK_LAYER_ETHERNET)
		ofi_rdm_addr_gid(&ud->conn->peer->addr, attr.grh.dgid.raw);
	ud->path = vrb_ud_path_of(ud, &attr);
	if (ud->path)
		return ud;
	vrb_ud_over(ud, FI_EHOSTUNREACH);
	return NULL;
}

/*
 * Returns the round-trip time without the times for which packets may have waited until a process
 * polled: the rest tells how full the network is. Returns 0 if none was measured.
 */
static uint32_t time_on_wire(const struct vrb_ud_conn *ud, const struct ofi_rdm_ack_news *news,
			     const struct vrb_ud_packet *packet)
{
	const struct vrb_ud *all = vrb_ud_of(ud);
	uint64_t waits = all->now - all->polled + packet->lag;

	if (!news->rtt)
		return 0;
	return news->rtt > waits ? (uint32_t)(news->rtt - waits) : 1;
}

/*
 * Handles the first packet of a peer, which knows the connection and sends no letter again. The
 * connection's owner sees messages itself; other packets are reported to it.
 */
static void take_first(struct vrb_ud_conn *ud, enum vrb_ud_kind kind)
{
	vrb_ud_of(ud)->fresh--;
	ud->used = true;
	vrb_ud_letter_free(ud);
	if (kind == VRB_UD_SEND || kind == VRB_UD_END)
		return;
	ud->conn->news.met = true;
	vrb_ud_of(ud)->calls->news(ud->conn);
}

/* Returns true if the packet stays. */
static bool take_packet(struct vrb_ud_conn *ud, struct vrb_ud_rx *rx)
{
	struct vrb_ud *all = vrb_ud_of(ud);
	struct ofi_rdm_ack_news news;
	bool stays = false;

	if (rx->packet.kind == VRB_UD_END && rx->packet.id == VRB_UD_UNKNOWN) {
		if (vrb_ud_is_refusal(ud, &rx->packet))
			take_end(ud, &rx->packet);
		return false;
	}
	if (!ofi_rdm_ack_take(&ud->ack, &rx->packet.words, all->now, &news))
		return false;
	if (!ud->used)
		take_first(ud, rx->packet.kind);
	vrb_ud_handled(ud, rx->packet.words.next - rx->packet.words.stalled);
	if (news.needless)
		ofi_rdm_cwnd_needless(&ud->cwnd);
	if (news.count) {
		vrb_ud_acked(ud, news.done);
		ofi_rdm_cwnd_acked(&ud->cwnd, news.count, time_on_wire(ud, &news, &rx->packet),
				   all->now);
	}
	if (rx->packet.kind == VRB_UD_END)
		take_end(ud, &rx->packet);
	else if (rx->packet.kind >= VRB_UD_NUMBERED)
		stays = take_numbered(ud, rx);
	if (!vrb_ud_resend(ud) || ud->over)
		return stays;
	if (ofi_unlikely(ud->rc_met && !ud->rc && !ud->rc_closed))
		vrb_ud_rc_answer(ud);
	vrb_ud_pump(ud);
	if (ofi_rdm_ack_is_owed(&ud->ack, all->now))
		vrb_ud_send_ack(ud);
	vrb_ud_watch(ud);
	return stays;
}

static struct vrb_ud_conn *find_conn(struct vrb_ud *all, const struct vrb_ud_packet *packet)
{
	struct vrb_rc_conn *conn = vrb_rc_conn_find(all->ep, packet->to);

	return conn ? conn->ud : NULL;
}

static bool is_from_peer(const struct vrb_ud_conn *ud, const struct ibv_wc *wc,
			 const struct vrb_ud_packet *packet)
{
	return ud && ud->heard && wc->src_qp == ud->qpn && packet->from == ud->to;
}

/* Returns true if the packet ends the connection whose answer has arrived, and is handled soon. */
static bool ends_early(const struct vrb_ud_conn *ud, const struct ibv_wc *wc,
		       const struct vrb_ud_packet *packet)
{
	return ud && !ud->heard && !ud->letter && wc->src_qp == ud->qpn &&
	       packet->kind == VRB_UD_END && packet->id != VRB_UD_UNKNOWN;
}

/* Returns true if the packet stays. */
static bool take_arrived(struct vrb_ud *all, const struct ibv_wc *wc, struct vrb_ud_rx *rx)
{
	struct vrb_ud_conn *ud = find_conn(all, &rx->packet);

	if (vrb_ud_is_letter(rx->packet.kind)) {
		vrb_ud_met(all, wc, rx);
		return false;
	}
	if (!is_from_peer(ud, wc, &rx->packet)) {
		if (ends_early(ud, wc, &rx->packet))
			take_end(ud, &rx->packet);
		else
			vrb_ud_refuse(all, wc, rx);
		return false;
	}
	if (ud->over) {
		vrb_ud_repeat_end(ud, &rx->packet);
		return false;
	}
	ud = with_path(ud, wc, rx);
	return ud && take_packet(ud, rx);
}

void vrb_ud_arrived(struct vrb_ud *all, const struct ibv_wc *wc)
{
	struct vrb_ud_rx *rx = (struct vrb_ud_rx *)(uintptr_t)wc->wr_id;
	const uint8_t *bytes = (const uint8_t *)(uintptr_t)rx->sge.addr + all->grh;
	bool stays = false;

	all->kept++;
	if (ofi_unlikely(wc->status != IBV_WC_SUCCESS)) {
		stays = vrb_ud_recv_failed(all, &rx->wr);
	} else if (wc->byte_len > all->grh) {
		if (vrb_ud_parse(bytes, wc->byte_len - all->grh, &rx->packet))
			stays = take_arrived(all, wc, rx);
		else
			vrb_ud_met_other(all, bytes, wc->byte_len - all->grh);
	}
	if (!stays)
		rx_put(all, rx);
}
