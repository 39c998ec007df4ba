/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The sending half of a peer: messages cut into datagrams, a window of them, what is lost is sent again. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/rel_peer.h>
#include <rdma/fi_errno.h>

#define LOST_AFTER 3 /* later datagrams acknowledged */

_Static_assert(OFI_REL_WINDOW == 64, "an acknowledgement has a bit for each");

static uint8_t *put16(uint8_t *at, uint16_t value)
{
	value = htobe16(value);
	return (uint8_t *)memcpy(at, &value, sizeof(value)) + sizeof(value);
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
	value = htobe32(value);
	return (uint8_t *)memcpy(at, &value, sizeof(value)) + sizeof(value);
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
	value = htobe64(value);
	return (uint8_t *)memcpy(at, &value, sizeof(value)) + sizeof(value);
}

/* Every datagram acknowledges what has arrived. */
static void put_head(struct ofi_rel_peer *peer, const struct ofi_rel_head *head, uint8_t *at)
{
	at = put16(at, OFI_REL_MAGIC);
	*at++ = OFI_REL_VERSION;
	*at++ = head->flags;
	at = put32(at, peer->rel->net.session);
	at = put32(at, peer->session);
	at = put32(at, head->seq);
	at = put32(at, peer->expected);
	at = put32(at, 0);
	at = put64(at, ofi_rel_rx_sack(peer));
	at = put64(at, head->tag);
	at = put64(at, head->len);
	put64(at, head->offset);
}

static bool transmit(struct ofi_rel_peer *peer, const struct ofi_rel_head *head, const void *data,
		     size_t len)
{
	const struct ofi_rel *rel = peer->rel;
	uint8_t bytes[OFI_REL_HEAD];

	put_head(peer, head, bytes);
	if (rel->net.send(rel->arg, peer->addr, bytes, data, len))
		return false;
	peer->ack_due = false;
	return true;
}

void ofi_rel_tx_control(struct ofi_rel_peer *peer, uint8_t flags)
{
	transmit(peer, &(struct ofi_rel_head){ .flags = flags, .seq = peer->next }, NULL, 0);
}

static struct ofi_rel_slot *slot_of(struct ofi_rel_peer *peer, uint32_t seq)
{
	return &peer->slot[seq % OFI_REL_WINDOW];
}

/* What can't be sent now stays lost, for the next progress. */
static bool slot_send(struct ofi_rel_peer *peer, uint32_t seq, uint64_t now)
{
	struct ofi_rel_slot *slot = slot_of(peer, seq);
	const struct ofi_rel_head head = {
		.flags = OFI_REL_DATA,
		.seq = seq,
		.tag = slot->msg->tag,
		.len = slot->msg->len,
		.offset = slot->offset,
	};

	slot->sent = now;
	slot->lost =
		!transmit(peer, &head, slot->len ? slot->msg->buf + slot->offset : NULL, slot->len);
	return !slot->lost;
}

/* The next datagram of the first message that is not cut to its end. */
static struct ofi_rel_msg *next_msg(const struct ofi_rel_peer *peer)
{
	struct ofi_rel_msg *msg;

	TAILQ_FOREACH_REVERSE(msg, &peer->sends, ofi_rel_msgs, link)
	{
		struct ofi_rel_msg *before = TAILQ_PREV(msg, ofi_rel_msgs, link);

		if (msg->cut)
			return NULL;
		if (!before || before->cut)
			return msg;
	}
	return NULL;
}

static void slot_fill(struct ofi_rel_peer *peer, struct ofi_rel_msg *msg)
{
	size_t most = peer->rel->net.mtu - OFI_REL_HEAD, left = msg->len - msg->done;
	struct ofi_rel_slot *slot = slot_of(peer, peer->next);

	*slot = (struct ofi_rel_slot){ .msg = msg,
				       .offset = msg->done,
				       .len = left < most ? left : most };
	msg->done += slot->len;
	msg->cut = msg->done == msg->len;
	msg->last = peer->next++;
}

/* Waits twice as long each time, and lets fewer datagrams go at once. */
static void time_out(struct ofi_rel_peer *peer, uint64_t now)
{
	uint64_t max = peer->rel->net.rto_max;
	bool any = false;

	for (uint32_t seq = peer->base; seq != peer->next; seq++) {
		struct ofi_rel_slot *slot = slot_of(peer, seq);

		if (!slot->acked && !slot->lost && now - slot->sent >= peer->rto) {
			slot->lost = any = true;
			slot->again = false;
		}
	}
	if (!any)
		return;
	peer->rto = peer->rto < max / 2 ? 2 * peer->rto : max;
	peer->window = peer->window > 1 ? peer->window / 2 : 1;
}

static bool send_lost(struct ofi_rel_peer *peer, uint64_t now)
{
	uint32_t count = 0;

	for (uint32_t seq = peer->base; seq != peer->next && count < peer->window; seq++) {
		const struct ofi_rel_slot *slot = slot_of(peer, seq);

		if (slot->acked)
			continue;
		count++;
		if (slot->lost && !slot_send(peer, seq, now))
			return false;
	}
	return true;
}

void ofi_rel_tx_progress(struct ofi_rel_peer *peer, uint64_t now)
{
	struct ofi_rel_msg *msg = next_msg(peer);

	time_out(peer, now);
	if (!send_lost(peer, now))
		return;
	while (msg && peer->next - peer->base < peer->window) {
		slot_fill(peer, msg);
		if (!slot_send(peer, peer->next - 1, now))
			return;
		if (msg->cut)
			msg = TAILQ_NEXT(msg, link);
	}
}

/* Datagrams that later ones have overtaken are taken for lost, once, without waiting for their time. */
static void find_lost(struct ofi_rel_peer *peer)
{
	unsigned later = 0;

	for (uint32_t seq = peer->next; seq-- != peer->base;) {
		struct ofi_rel_slot *slot = slot_of(peer, seq);

		if (slot->acked)
			later++;
		else if (later >= LOST_AFTER && !slot->again)
			slot->lost = slot->again = true;
	}
}

/* Messages all of whose datagrams have arrived. */
static void end_sent(struct ofi_rel_peer *peer)
{
	struct ofi_rel_msg *msg;

	while ((msg = TAILQ_FIRST(&peer->sends)) && msg->cut &&
	       (int32_t)(peer->base - msg->last) > 0) {
		TAILQ_REMOVE(&peer->sends, msg, link);
		ofi_rel_msg_end(peer, msg, msg->len, 0);
	}
}

void ofi_rel_tx_ack(struct ofi_rel_peer *peer, uint32_t ack, uint64_t sack)
{
	uint32_t used = peer->next - peer->base, seq;

	if (ack - peer->base > used)
		return;
	if (ack != peer->base) {
		peer->rto = peer->rel->net.rto_min;
		if (peer->window < OFI_REL_WINDOW)
			peer->window++;
	}
	peer->base = ack;
	for (seq = ack + 1; sack && (int32_t)(peer->next - seq) > 0; seq++, sack >>= 1)
		if (sack & 1)
			slot_of(peer, seq)->acked = true;
	find_lost(peer);
	end_sent(peer);
}

void ofi_rel_tx_cancel(struct ofi_rel_peer *peer, struct ofi_rel_msg *msg)
{
	uint8_t *copy = NULL;

	if (!msg->done && !msg->cut) {
		TAILQ_REMOVE(&peer->sends, msg, link);
		free(msg);
		return;
	}
	msg->canceled = true;
	if (msg->len)
		copy = malloc(msg->len);
	if (copy)
		memcpy(copy, msg->buf, msg->len);
	msg->buf = copy;
	if (msg->len && !copy)
		ofi_rel_peer_fail(peer, FI_ENOMEM);
}
