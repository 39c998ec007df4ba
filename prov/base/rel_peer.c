/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The peers of a reliable channel: found by address, failed, freed. */
#include <stdlib.h>
#include <string.h>
#include <ofi/rel_peer.h>
#include <rdma/fi_errno.h>

#define FIRST_WINDOW 16

static struct ofi_rel_peers *bucket_of(struct ofi_rel *rel, fi_addr_t addr)
{
	return &rel->bucket[(addr ^ addr >> 8) % OFI_REL_BUCKETS];
}

struct ofi_rel_peer *ofi_rel_peer_find(struct ofi_rel *rel, fi_addr_t addr)
{
	struct ofi_rel_peer *peer;

	TAILQ_FOREACH (peer, bucket_of(rel, addr), link)
		if (peer->addr == addr)
			return peer;
	return NULL;
}

struct ofi_rel_peer *ofi_rel_peer_get(struct ofi_rel *rel, fi_addr_t addr)
{
	struct ofi_rel_peer *peer = ofi_rel_peer_find(rel, addr);

	if (peer)
		return peer;
	peer = calloc(1, sizeof(*peer));
	if (!peer)
		return NULL;
	peer->rel = rel;
	peer->addr = addr;
	peer->window = FIRST_WINDOW;
	peer->rto = rel->net.rto_min;
	TAILQ_INIT(&peer->sends);
	TAILQ_INIT(&peer->recvs);
	TAILQ_INIT(&peer->unexpected);
	TAILQ_INSERT_TAIL(bucket_of(rel, addr), peer, link);
	return peer;
}

struct ofi_rel_msg *ofi_rel_msg_new(uint64_t tag, const void *buf, size_t len, void *cookie,
				    size_t room)
{
	struct ofi_rel_msg *msg = malloc(sizeof(*msg) + room);

	if (!msg)
		return NULL;
	*msg = (struct ofi_rel_msg){
		.tag = tag, .buf = (uint8_t *)buf, .len = len, .cookie = cookie
	};
	return msg;
}

void ofi_rel_msg_end(struct ofi_rel_peer *peer, struct ofi_rel_msg *msg, size_t len, int err)
{
	const struct ofi_rel *rel = peer->rel;
	void *cookie = msg->cookie;
	bool canceled = msg->canceled;

	if (canceled)
		free(msg->buf);
	free(msg);
	if (!canceled)
		rel->net.done(rel->arg, cookie, len, err);
}

/* Something that has been waited for until now, in the order in which it began. */
static struct ofi_rel_msg *take_any(struct ofi_rel_peer *peer)
{
	struct ofi_rel_msg *msg;

	if ((msg = TAILQ_FIRST(&peer->sends))) {
		TAILQ_REMOVE(&peer->sends, msg, link);
		return msg;
	}
	if ((msg = TAILQ_FIRST(&peer->recvs))) {
		TAILQ_REMOVE(&peer->recvs, msg, link);
		return msg;
	}
	if (peer->into && peer->into_posted) {
		msg = peer->into;
		peer->into = NULL;
		return msg;
	}
	TAILQ_FOREACH (msg, &peer->unexpected, link)
		if (msg->wanted) {
			struct ofi_rel_msg *recv = msg->wanted;

			msg->wanted = NULL;
			return recv;
		}
	return NULL;
}

void ofi_rel_peer_fail(struct ofi_rel_peer *peer, int err)
{
	struct ofi_rel_msg *msg;

	if (!peer->err)
		peer->err = err;
	peer->next = peer->base;
	peer->ack_due = false;
	while ((msg = take_any(peer)))
		ofi_rel_msg_end(peer, msg, 0, err);
	ofi_rel_rx_drop(peer);
}

void ofi_rel_peer_free(struct ofi_rel_peer *peer)
{
	struct ofi_rel_msg *msg;

	while ((msg = take_any(peer))) {
		if (msg->canceled)
			free(msg->buf);
		free(msg);
	}
	ofi_rel_rx_drop(peer);
	if (peer->listed)
		TAILQ_REMOVE(&peer->rel->active, peer, active);
	TAILQ_REMOVE(bucket_of(peer->rel, peer->addr), peer, link);
	free(peer);
}

/* A message that is wanted is on its way, one of ours is not acknowledged, or memory was short. */
bool ofi_rel_peer_wants(const struct ofi_rel_peer *peer)
{
	const struct ofi_rel_msg *msg;

	if (!TAILQ_EMPTY(&peer->sends) || !TAILQ_EMPTY(&peer->recvs) || peer->into ||
	    peer->stash[peer->expected % OFI_REL_WINDOW])
		return true;
	TAILQ_FOREACH (msg, &peer->unexpected, link)
		if (msg->wanted)
			return true;
	return false;
}

void ofi_rel_peer_wake(struct ofi_rel_peer *peer)
{
	struct ofi_rel *rel = peer->rel;

	rel->dirty = true;
	if (peer->listed)
		return;
	peer->heard = peer->probed = rel->net.now(rel->arg);
	peer->listed = true;
	TAILQ_INSERT_TAIL(&rel->active, peer, active);
}
