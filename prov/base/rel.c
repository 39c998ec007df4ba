/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A reliable channel over datagrams: its calls, what arrives, and the passing of time. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <ofi/rel_peer.h>
#include <rdma/fi_errno.h>

static uint32_t get32(const uint8_t *at)
{
	uint32_t value;

	memcpy(&value, at, sizeof(value));
	return be32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
	uint64_t value;

	memcpy(&value, at, sizeof(value));
	return be64toh(value);
}

static bool get_head(const uint8_t *at, size_t len, struct ofi_rel_head *head)
{
	if (len < OFI_REL_HEAD || at[0] != OFI_REL_MAGIC >> 8 || at[1] != (OFI_REL_MAGIC & 0xff) ||
	    at[2] != OFI_REL_VERSION)
		return false;
	*head = (struct ofi_rel_head){
		.flags = at[3],
		.from = get32(at + 4),
		.to = get32(at + 8),
		.seq = get32(at + 12),
		.ack = get32(at + 16),
		.sack = get64(at + 24),
		.tag = get64(at + 32),
		.len = get64(at + 40),
		.offset = get64(at + 48),
	};
	return head->from;
}

static ssize_t enter(struct ofi_rel *rel, fi_addr_t addr, size_t len, struct ofi_rel_peer **peer)
{
	if (len > rel->net.max_msg)
		return -FI_EMSGSIZE;
	*peer = ofi_rel_peer_get(rel, addr);
	if (!*peer)
		return -FI_ENOMEM;
	return -(*peer)->err;
}

ssize_t ofi_rel_send(struct ofi_rel *rel, fi_addr_t to, uint64_t tag, const void *buf, size_t len,
		     void *cookie)
{
	struct ofi_rel_peer *peer;
	struct ofi_rel_msg *msg;
	ssize_t ret = enter(rel, to, len, &peer);

	if (ret)
		return ret;
	msg = ofi_rel_msg_new(tag, buf, len, cookie, 0);
	if (!msg)
		return -FI_ENOMEM;
	ofi_rel_peer_wake(peer);
	TAILQ_INSERT_TAIL(&peer->sends, msg, link);
	return 0;
}

ssize_t ofi_rel_recv(struct ofi_rel *rel, fi_addr_t from, uint64_t tag, void *buf, size_t len,
		     void *cookie)
{
	struct ofi_rel_peer *peer;
	struct ofi_rel_msg *msg;
	ssize_t ret = enter(rel, from, len, &peer);

	if (ret)
		return ret;
	msg = ofi_rel_msg_new(tag, buf, len, cookie, 0);
	if (!msg)
		return -FI_ENOMEM;
	ofi_rel_peer_wake(peer);
	ofi_rel_rx_match(peer, msg);
	return 0;
}

static struct ofi_rel_msg *find_cookie(const struct ofi_rel_msgs *msgs, const void *cookie)
{
	struct ofi_rel_msg *msg;

	TAILQ_FOREACH (msg, msgs, link)
		if (msg->cookie == cookie && !msg->canceled)
			return msg;
	return NULL;
}

static struct ofi_rel_msg *find_recv(const struct ofi_rel_peer *peer, const void *cookie)
{
	struct ofi_rel_msg *msg = find_cookie(&peer->recvs, cookie);

	if (msg)
		return msg;
	if (peer->into && peer->into_posted && peer->into->cookie == cookie)
		return peer->into;
	TAILQ_FOREACH (msg, &peer->unexpected, link)
		if (msg->wanted && msg->wanted->cookie == cookie)
			return msg->wanted;
	return NULL;
}

/* What is in flight belongs to an active peer. */
void ofi_rel_cancel(struct ofi_rel *rel, void *cookie)
{
	struct ofi_rel_peer *peer;
	struct ofi_rel_msg *msg;

	TAILQ_FOREACH (peer, &rel->active, active) {
		msg = find_recv(peer, cookie);
		if (msg) {
			ofi_rel_rx_cancel(peer, msg);
			return;
		}
		msg = find_cookie(&peer->sends, cookie);
		if (msg) {
			ofi_rel_tx_cancel(peer, msg);
			return;
		}
	}
}

void ofi_rel_purge(struct ofi_rel *rel, fi_addr_t from, uint64_t tag, uint64_t ignore)
{
	struct ofi_rel_peer *peer = ofi_rel_peer_find(rel, from);
	struct ofi_rel_msg *msg, *next;

	for (msg = peer ? TAILQ_FIRST(&peer->unexpected) : NULL; msg; msg = next) {
		next = TAILQ_NEXT(msg, link);
		if (((msg->tag ^ tag) & ~ignore) || msg->wanted)
			continue;
		if (peer->into == msg)
			peer->into = NULL;
		TAILQ_REMOVE(&peer->unexpected, msg, link);
		free(msg);
	}
}

void ofi_rel_forget(struct ofi_rel *rel, fi_addr_t addr, int err)
{
	struct ofi_rel_peer *peer = ofi_rel_peer_find(rel, addr);

	if (!peer)
		return;
	ofi_rel_peer_fail(peer, err);
	ofi_rel_peer_free(peer);
}

/* An endpoint that went, and one that came with its name, are told apart by their sessions. */
static bool same_session(struct ofi_rel_peer *peer, const struct ofi_rel_head *head)
{
	if (head->to && head->to != peer->rel->net.session)
		return false;
	if (!peer->session)
		peer->session = head->from;
	return peer->session == head->from;
}

void ofi_rel_arrived(struct ofi_rel *rel, fi_addr_t from, const void *datagram, size_t len)
{
	struct ofi_rel_peer *peer;
	struct ofi_rel_head head;

	if (!get_head(datagram, len, &head))
		return;
	peer = ofi_rel_peer_get(rel, from);
	if (!peer || peer->err || !same_session(peer, &head))
		return;
	ofi_rel_peer_wake(peer);
	peer->heard = rel->net.now(rel->arg);
	ofi_rel_tx_ack(peer, head.ack, head.sack);
	if (peer->err)
		return;
	if (head.flags & OFI_REL_PROBE)
		peer->ack_due = true;
	if (head.flags & OFI_REL_DATA)
		ofi_rel_rx_data(peer, &head, (const uint8_t *)datagram + OFI_REL_HEAD,
				len - OFI_REL_HEAD);
}

/* A peer that is only waited for is asked now and then whether it still exists. */
static void probe(struct ofi_rel_peer *peer, uint64_t now)
{
	uint64_t pause = peer->rel->net.rto_max;

	if (now - peer->heard < pause || now - peer->probed < pause)
		return;
	peer->probed = now;
	ofi_rel_tx_control(peer, OFI_REL_PROBE);
}

/* When the peer's next datagram, or silence, is overdue. */
static uint64_t peer_deadline(const struct ofi_rel_peer *peer, uint64_t now)
{
	const struct ofi_rel_net *net = &peer->rel->net;
	uint64_t at = now + net->rto_max;

	for (uint32_t seq = peer->base; seq != peer->next; seq++) {
		const struct ofi_rel_slot *slot = &peer->slot[seq % OFI_REL_WINDOW];

		if (!slot->acked && !slot->lost && slot->sent + peer->rto < at)
			at = slot->sent + peer->rto;
		else if (slot->lost && now + net->rto_min < at)
			at = now + net->rto_min;
	}
	if (net->give_up && peer->heard + net->give_up < at)
		at = peer->heard + net->give_up;
	return at;
}

/* False when there is nothing left to do or to wait for. */
static bool peer_progress(struct ofi_rel_peer *peer, uint64_t now)
{
	const struct ofi_rel_net *net = &peer->rel->net;

	if (peer->err)
		return false;
	if (net->give_up && now - peer->heard >= net->give_up && ofi_rel_peer_wants(peer)) {
		ofi_rel_peer_fail(peer, FI_ETIMEDOUT);
		return false;
	}
	ofi_rel_rx_drain(peer);
	ofi_rel_tx_progress(peer, now);
	if (peer->ack_due)
		ofi_rel_tx_control(peer, 0);
	if (!ofi_rel_peer_wants(peer))
		return peer->ack_due;
	probe(peer, now);
	return true;
}

/* Nobody is silent while we don't listen. */
static void forgive(struct ofi_rel *rel, uint64_t now)
{
	uint64_t pause = now - rel->last;
	struct ofi_rel_peer *peer;

	rel->last = now;
	if (pause > rel->net.rto_max)
		TAILQ_FOREACH (peer, &rel->active, active)
			if (now - peer->heard >= pause)
				peer->heard += pause - rel->net.rto_max;
}

void ofi_rel_progress(struct ofi_rel *rel)
{
	uint64_t now = rel->net.now(rel->arg), at;
	struct ofi_rel_peer *peer, *next;

	forgive(rel, now);
	if (!rel->dirty && now < rel->deadline)
		return;
	rel->dirty = false;
	rel->deadline = UINT64_MAX;
	for (peer = TAILQ_FIRST(&rel->active); peer; peer = next) {
		bool stays = peer_progress(peer, now);

		next = TAILQ_NEXT(peer, active);
		if (!stays) {
			TAILQ_REMOVE(&rel->active, peer, active);
			peer->listed = false;
			continue;
		}
		at = peer_deadline(peer, now);
		if (at < rel->deadline)
			rel->deadline = at;
	}
}

uint64_t ofi_rel_deadline(const struct ofi_rel *rel)
{
	return rel->dirty ? 0 : rel->deadline;
}

struct ofi_rel *ofi_rel_new(const struct ofi_rel_net *net, void *arg)
{
	struct ofi_rel *rel = calloc(1, sizeof(*rel));

	if (!rel)
		return NULL;
	rel->net = *net;
	rel->arg = arg;
	rel->deadline = UINT64_MAX;
	TAILQ_INIT(&rel->active);
	for (size_t i = 0; i < OFI_REL_BUCKETS; i++)
		TAILQ_INIT(&rel->bucket[i]);
	return rel;
}

void ofi_rel_free(struct ofi_rel *rel)
{
	if (!rel)
		return;
	for (size_t i = 0; i < OFI_REL_BUCKETS; i++)
		while (!TAILQ_EMPTY(&rel->bucket[i]))
			ofi_rel_peer_free(TAILQ_FIRST(&rel->bucket[i]));
	free(rel);
}
