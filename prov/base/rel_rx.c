/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The receiving half of a peer: datagrams put in order, messages matched with receives. */
#include <stdlib.h>
#include <string.h>
#include <ofi/rel_peer.h>
#include <rdma/fi_errno.h>

uint64_t ofi_rel_rx_sack(const struct ofi_rel_peer *peer)
{
	uint64_t sack = 0;

	for (uint32_t i = 0; i < OFI_REL_WINDOW - 1; i++)
		if (peer->stash[(peer->expected + 1 + i) % OFI_REL_WINDOW])
			sack |= 1ULL << i;
	return sack;
}

static struct ofi_rel_msg *find(const struct ofi_rel_msgs *msgs, uint64_t tag)
{
	struct ofi_rel_msg *msg;

	TAILQ_FOREACH (msg, msgs, link)
		if (msg->tag == tag && !msg->wanted)
			return msg;
	return NULL;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* A receive gets the whole of an unexpected message, which goes. */
static void hand_over(struct ofi_rel_peer *peer, struct ofi_rel_msg *recv, struct ofi_rel_msg *msg)
{
	size_t len = msg->len, room = recv->len;

	if (len && room)
		memcpy(recv->buf, msg->data, least(len, room));
	TAILQ_REMOVE(&peer->unexpected, msg, link);
	free(msg);
	ofi_rel_msg_end(peer, recv, len, len > room ? FI_ETRUNC : 0);
}

void ofi_rel_rx_match(struct ofi_rel_peer *peer, struct ofi_rel_msg *recv)
{
	struct ofi_rel_msg *msg = find(&peer->unexpected, recv->tag);

	if (!msg)
		TAILQ_INSERT_TAIL(&peer->recvs, recv, link);
	else if (msg->done == msg->len && msg != peer->into)
		hand_over(peer, recv, msg);
	else
		msg->wanted = recv;
}

/* The first datagram of a message: where it goes. */
static int begin(struct ofi_rel_peer *peer, const struct ofi_rel_head *head)
{
	struct ofi_rel_msg *msg = find(&peer->recvs, head->tag);

	peer->into_posted = msg;
	if (msg) {
		TAILQ_REMOVE(&peer->recvs, msg, link);
	} else {
		msg = ofi_rel_msg_new(head->tag, NULL, head->len, NULL, head->len);
		if (!msg)
			return -FI_ENOMEM;
		TAILQ_INSERT_TAIL(&peer->unexpected, msg, link);
	}
	peer->into = msg;
	peer->into_tag = head->tag;
	peer->into_len = head->len;
	peer->into_got = 0;
	peer->receiving = true;
	return 0;
}

static void put(struct ofi_rel_peer *peer, const uint8_t *data, size_t len)
{
	struct ofi_rel_msg *msg = peer->into;
	uint8_t *to = !msg ? NULL : peer->into_posted ? msg->buf : msg->data;
	size_t at = peer->into_got;

	peer->into_got += len;
	if (!msg)
		return;
	msg->done = peer->into_got;
	if (at < msg->len && len)
		memcpy(to + at, data, least(len, msg->len - at));
}

static void finish(struct ofi_rel_peer *peer)
{
	struct ofi_rel_msg *msg = peer->into;
	size_t len = peer->into_len;

	peer->receiving = false;
	peer->into = NULL;
	if (!msg)
		return;
	if (peer->into_posted)
		ofi_rel_msg_end(peer, msg, len, len > msg->len ? FI_ETRUNC : 0);
	else if (msg->wanted)
		hand_over(peer, msg->wanted, msg);
}

/* Pieces follow each other without a gap, or the peer does not speak our language. */
static bool fits(const struct ofi_rel_peer *peer, const struct ofi_rel_head *head, size_t len)
{
	if (head->len > peer->rel->net.max_msg || head->offset > head->len ||
	    len > head->len - head->offset || (!len && head->len))
		return false;
	if (!peer->receiving)
		return !head->offset;
	return head->tag == peer->into_tag && head->len == peer->into_len &&
	       head->offset == peer->into_got;
}

/* False: it was not taken, for want of memory, or the peer has failed. */
static bool take(struct ofi_rel_peer *peer, const struct ofi_rel_head *head, const uint8_t *data,
		 size_t len)
{
	if (!fits(peer, head, len)) {
		ofi_rel_peer_fail(peer, FI_EIO);
		return false;
	}
	if (!peer->receiving && begin(peer, head))
		return false;
	put(peer, data, len);
	peer->expected++;
	if (peer->into_got == peer->into_len)
		finish(peer);
	return !peer->err;
}

static void stash(struct ofi_rel_peer *peer, const struct ofi_rel_head *head, const uint8_t *data,
		  size_t len)
{
	struct ofi_rel_stash **at = &peer->stash[head->seq % OFI_REL_WINDOW];

	if (*at)
		return;
	*at = malloc(sizeof(**at) + len);
	if (!*at)
		return;
	(*at)->head = *head;
	(*at)->len = len;
	if (len)
		memcpy((*at)->data, data, len);
}

/* What has been acknowledged is not dropped when memory is short: it is tried again. */
void ofi_rel_rx_drain(struct ofi_rel_peer *peer)
{
	struct ofi_rel_stash **at, *next;

	while (*(at = &peer->stash[peer->expected % OFI_REL_WINDOW])) {
		next = *at;
		*at = NULL;
		if (!take(peer, &next->head, next->data, next->len)) {
			if (!peer->err)
				*at = next;
			else
				free(next);
			return;
		}
		free(next);
	}
}

void ofi_rel_rx_data(struct ofi_rel_peer *peer, const struct ofi_rel_head *head,
		     const uint8_t *data, size_t len)
{
	uint32_t ahead = head->seq - peer->expected;

	peer->ack_due = true;
	if (ahead && ahead < OFI_REL_WINDOW)
		stash(peer, head, data, len);
	else if (!ahead && !peer->stash[head->seq % OFI_REL_WINDOW])
		take(peer, head, data, len);
	if (!peer->err)
		ofi_rel_rx_drain(peer);
}

void ofi_rel_rx_cancel(struct ofi_rel_peer *peer, struct ofi_rel_msg *recv)
{
	struct ofi_rel_msg *msg;

	if (peer->into == recv) {
		peer->into = NULL;
	} else {
		TAILQ_FOREACH (msg, &peer->unexpected, link)
			if (msg->wanted == recv)
				break;
		if (msg)
			msg->wanted = NULL;
		else
			TAILQ_REMOVE(&peer->recvs, recv, link);
	}
	free(recv);
}

/* Everything that arrived; receives are the caller's. */
void ofi_rel_rx_drop(struct ofi_rel_peer *peer)
{
	struct ofi_rel_msg *msg;

	while ((msg = TAILQ_FIRST(&peer->unexpected))) {
		TAILQ_REMOVE(&peer->unexpected, msg, link);
		free(msg);
	}
	for (size_t i = 0; i < OFI_REL_WINDOW; i++) {
		free(peer->stash[i]);
		peer->stash[i] = NULL;
	}
	peer->receiving = false;
	peer->into = NULL;
}
