/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Lookup of peers by address and by number. A shared receive context has a peer for each address
 * that a peer of its endpoints has or that a receive names. These peers have a number and no
 * transport.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "av.h"
#include "peer.h"

#define LOOKS 4

static const void *key_of(const void *ep, uint32_t number)
{
	return &((const struct ofi_rdm_ep *)ep)->peers[number]->addr;
}

static struct ofi_index_keys keys_of(const struct ofi_rdm_ep *ep)
{
	return (struct ofi_index_keys){
		.owner = ep,
		.key_of = key_of,
		.hash = ofi_rdm_addr_hash,
		.compare = ofi_rdm_addr_compare,
	};
}

/* Grows an array of pointers by doubling until it holds `index`. */
static bool reserve_peers(struct ofi_rdm_peer ***array, size_t *size, size_t index)
{
	size_t wanted = *size ? *size : 16;
	struct ofi_rdm_peer **grown;

	if (index < *size)
		return true;
	while (wanted <= index)
		wanted *= 2;
	grown = realloc(*array, wanted * sizeof(*grown));
	if (!grown)
		return false;
	memset(grown + *size, 0, (wanted - *size) * sizeof(*grown));
	*array = grown;
	*size = wanted;
	return true;
}

static void peer_name(struct ofi_rdm_peer *peer, fi_addr_t fi_addr)
{
	peer->fi_addr = peer->source = fi_addr;
	if (fi_addr != FI_ADDR_NOTAVAIL)
		peer->source = ofi_av_reported(&peer->ep->av->base, fi_addr);
}

struct ofi_rdm_peer *ofi_rdm_peer_find(const struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr)
{
	uint32_t number = ofi_index_find(&ep->known.index, keys_of(ep), addr);

	return number == OFI_INDEX_NONE ? NULL : ep->peers[number];
}

static void peer_init(struct ofi_rdm_peer *peer, struct ofi_rdm_ep *ep,
		      const struct ofi_rdm_addr *addr, uint32_t number)
{
	memset(peer, 0, offsetof(struct ofi_rdm_peer, stats));
	peer->ep = ep;
	peer->number = number;
	peer->addr = *addr;
	peer_name(peer, FI_ADDR_NOTAVAIL);
	STAILQ_INIT(&peer->ops);
	TAILQ_INIT(&peer->answers);
	STAILQ_INIT(&peer->replies);
	STAILQ_INIT(&peer->fenced);
	ofi_rdm_proto_peer_init(ep->srx ? &ep->srx->proto : &ep->proto, &peer->proto, number);
	peer->proto.fenced = ep->ordered; /* sends go through the ordering check */
	if (!ep->is_srx)
		ep->proto.xport.ops->peer_init(peer);
}

/*
 * Returns an unused peer, if possible one whose number was used before. Returns NULL when out of
 * memory.
 */
static struct ofi_rdm_peer *peer_take_own(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr)
{
	struct ofi_rdm_peer *peer = SLIST_FIRST(&ep->known.unused);

	if (peer) {
		SLIST_REMOVE_HEAD(&ep->known.unused, unused_entry);
		peer_init(peer, ep, addr, peer->number);
		return peer;
	}
	if (!reserve_peers(&ep->peers, &ep->known.size, ep->peer_count))
		return NULL;
	peer = ep->is_srx ? ofi_stats_peer_alloc(sizeof(*peer)) : ep->proto.xport.ops->peer_new();
	if (!peer)
		return NULL;
	peer_init(peer, ep, addr, ep->peer_count);
	ep->peers[ep->peer_count++] = peer;
	return peer;
}

void ofi_rdm_peer_unshare(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_peer *shared = peer->shared;

	if (!shared)
		return;
	peer->shared = NULL;
	shared->addrs--;
	ofi_rdm_peer_leave(shared);
}

/*
 * Messages from one scalable endpoint, or from one address to all endpoints of a shared receive
 * context, have one number for matching. What a peer claims can make its base another context; the
 * base is then that one's, so that peers do not form chains. Returns false when out of memory.
 */
static bool find_shared(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr, uint8_t context,
			struct ofi_rdm_peer **shared)
{
	struct ofi_rdm_addr base = *addr;

	*shared = NULL;
	if (!ep->srx && !context)
		return true;
	if (!ofi_rdm_addr_shift(&base, -context))
		return false;
	*shared = ofi_rdm_peer_at(ep->srx ? ep->srx : ep, &base, 0);
	if (*shared && (*shared)->shared)
		*shared = (*shared)->shared;
	if (*shared)
		(*shared)->addrs++;
	return *shared;
}

static struct ofi_rdm_peer *peer_take(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr,
				      uint8_t context)
{
	struct ofi_rdm_peer *peer, *shared;

	if (!find_shared(ep, addr, context, &shared))
		return NULL;
	peer = peer_take_own(ep, addr);
	if (peer)
		peer->context = context;
	if (peer && shared) {
		peer->shared = shared;
		peer->proto.src = shared->proto.src;
	} else if (shared) {
		shared->addrs--;
	}
	return peer;
}

static void peer_release(struct ofi_rdm_peer *peer)
{
	ofi_rdm_peer_unshare(peer);
	ofi_stats_hide(&peer->stats.id);
	peer->unused = true;
	SLIST_INSERT_HEAD(&peer->ep->known.unused, peer, unused_entry);
}

/* Returns true if nothing is in flight or queued and no message of the peer is kept. */
static bool is_gone(const struct ofi_rdm_peer *peer)
{
	const struct ofi_rdm_proto_peer *proto = &peer->proto;
	const struct ofi_rdm_ep *ep = peer->ep;

	return (ep->is_srx || ep->proto.xport.ops->peer_is_gone(peer)) && !proto->awaited &&
	       TAILQ_EMPTY(&proto->ins) && TAILQ_EMPTY(&proto->outs) && STAILQ_EMPTY(&peer->ops) &&
	       TAILQ_EMPTY(&peer->answers) && STAILQ_EMPTY(&peer->replies) &&
	       STAILQ_EMPTY(&peer->fenced) && !peer->key_answer;
}

/* Returns true if a posted receive names the peer. Scans all posted receives. */
static bool is_awaited(const struct ofi_rdm_peer *peer)
{
	const struct ofi_rdm_proto *proto = &peer->ep->proto;
	unsigned int i;

	for (i = 0; peer->known && i < proto->spaces; i++)
		if (ofi_rdm_match_awaits(&proto->match[i], peer->proto.src))
			return true;
	return false;
}

void ofi_rdm_peer_leave(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_ep *ep = peer->ep;

	if (peer->addrs || peer->unused || ep->closing || !is_gone(peer) || is_awaited(peer))
		return;
	ofi_index_remove(&ep->known.index, keys_of(ep), peer->number);
	peer_release(peer);
}

/* Checks some peers that could not be forgotten because messages of theirs were kept. */
static void look_for_gone(struct ofi_rdm_ep *ep)
{
	uint32_t i;

	for (i = 0; i < LOOKS && i < ep->peer_count; i++) {
		ep->known.looked = ep->known.looked + 1 < ep->peer_count ? ep->known.looked + 1 : 0;
		ofi_rdm_peer_leave(ep->peers[ep->known.looked]);
	}
}

static struct ofi_rdm_peer *peer_new(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr,
				     uint8_t context)
{
	struct ofi_rdm_peer *peer;

	look_for_gone(ep);
	peer = peer_take(ep, addr, context);
	if (!peer || ofi_index_add(&ep->known.index, keys_of(ep), peer->number))
		return peer;
	peer_release(peer);
	return NULL;
}

struct ofi_rdm_peer *ofi_rdm_peer_at(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr,
				     uint8_t context)
{
	struct ofi_rdm_peer *found = ofi_rdm_peer_find(ep, addr);

	if (context > ep->known.last_context)
		ep->known.last_context = context;
	return found ? found : peer_new(ep, addr, context);
}

/* Returns the place of an fi_addr that has one, else NULL. */
static struct ofi_rdm_peer **slot_find(const struct ofi_rdm_ep *ep, fi_addr_t entry,
				       uint64_t context)
{
	size_t slot = entry * OFI_RDM_CMWIRE_CONTEXTS + context;

	if (context)
		return entry < ep->by_context_size && slot < ep->by_context_size
			       ? &ep->by_context[slot]
			       : NULL;
	return entry < ep->by_addr_size ? &ep->by_addr[entry] : NULL;
}

/* The fi_addr is that of an existing entry, so the array does not outgrow the address vector. */
static struct ofi_rdm_peer **slot_of(struct ofi_rdm_ep *ep, fi_addr_t entry, uint64_t context)
{
	bool done = context ? reserve_peers(&ep->by_context, &ep->by_context_size,
					    entry * OFI_RDM_CMWIRE_CONTEXTS + context)
			    : reserve_peers(&ep->by_addr, &ep->by_addr_size, entry);

	return done ? slot_find(ep, entry, context) : NULL;
}

/*
 * Returns the peer that the application names as a context, whatever it was before. A peer that is
 * connected stays what it is until the connection has ended.
 */
static struct ofi_rdm_peer *peer_as(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr,
				    uint8_t context)
{
	struct ofi_rdm_peer *peer = ofi_rdm_peer_find(ep, addr);

	if (peer && context && peer->context != context)
		ofi_rdm_peer_leave(peer);
	peer = ofi_rdm_peer_at(ep, addr, context);
	if (peer && context && is_gone(peer))
		peer->context = context;
	return peer;
}

static struct ofi_rdm_peer *meet(struct ofi_rdm_ep *ep, fi_addr_t entry, uint64_t context,
				 const struct ofi_rdm_addr *addr)
{
	struct ofi_rdm_peer *peer = peer_as(ep, addr, (uint8_t)context), **slot;

	slot = peer ? slot_of(ep, entry, context) : NULL;
	if (!slot)
		return NULL;
	if (*slot != peer && (!context || peer->context == context)) {
		peer->addrs++;
		*slot = peer;
	}
	peer->known = true;
	/* Also called for a peer that is known already because it requested the connection. */
	if (!ep->is_srx)
		ep->proto.xport.ops->peer_met(peer);
	if (peer->fi_addr == FI_ADDR_NOTAVAIL)
		peer_name(peer, entry);
	return peer;
}

struct ofi_rdm_peer *ofi_rdm_peer_meet(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, int *err)
{
	struct ofi_rdm_peer *peer, **slot;
	struct ofi_rdm_addr addr;
	uint64_t context;
	fi_addr_t entry;

	*err = ep->av ? -FI_EINVAL : -FI_ENOAV;
	if (!ep->av)
		return NULL;
	entry = ofi_rdm_av_split(ep->av, fi_addr, &context);
	slot = context && context < OFI_RDM_CMWIRE_CONTEXTS ? slot_find(ep, entry, context) : NULL;
	if (slot && *slot)
		return *slot;
	if (!ofi_rdm_av_get(ep->av, fi_addr, &addr))
		return NULL;
	/* A shared receive context knows only the endpoint that messages come from. */
	if (ep->is_srx && ofi_rdm_addr_shift(&addr, -(int)context))
		context = 0;
	peer = meet(ep, entry, context, &addr);
	*err = peer ? 0 : -FI_ENOMEM;
	return peer;
}

fi_addr_t ofi_rdm_peer_source(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_addr base = peer->addr;

	if (peer->fi_addr == FI_ADDR_NOTAVAIL && peer->ep->wants_source &&
	    ofi_rdm_addr_shift(&base, -peer->context))
		peer_name(peer, ofi_rdm_av_find(peer->ep->av, &base));
	return peer->source;
}

static void forget_one(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, uint64_t context,
		       const struct ofi_rdm_addr *addr)
{
	struct ofi_rdm_peer *peer = ofi_rdm_peer_find(ep, addr),
			    **slot = slot_find(ep, fi_addr, context);

	if (slot && *slot) {
		(*slot)->addrs--;
		*slot = NULL;
	}
	if (!peer)
		return;
	if (peer->fi_addr == fi_addr)
		peer_name(peer, FI_ADDR_NOTAVAIL);
	ofi_rdm_peer_leave(peer);
}

/* A peer that only sends to us is not in by_addr. Contexts refer to context 0, so they go first. */
void ofi_rdm_peer_forget(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, const struct ofi_rdm_addr *addr)
{
	int context = ep->known.last_context;
	struct ofi_rdm_addr at;

	for (; context >= 0; context--) {
		at = *addr;
		if (ofi_rdm_addr_shift(&at, context))
			forget_one(ep, fi_addr, (uint64_t)context, &at);
	}
}

static void rename_peer(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, const struct ofi_rdm_addr *addr)
{
	struct ofi_rdm_peer *peer = ofi_rdm_peer_find(ep, addr);

	if (peer && peer->fi_addr == fi_addr)
		peer_name(peer, fi_addr);
}

void ofi_rdm_peer_rename(struct ofi_rdm_ep *ep, fi_addr_t fi_addr)
{
	int context = ep->known.last_context;
	struct ofi_rdm_addr addr, at;

	if (!ofi_rdm_av_get(ep->av, fi_addr, &addr))
		return;
	for (; context >= 0; context--) {
		at = addr;
		if (ofi_rdm_addr_shift(&at, context))
			rename_peer(ep, fi_addr, &at);
	}
}

void ofi_rdm_peers_fini(struct ofi_rdm_ep *ep)
{
	uint32_t i;

	ofi_index_fini(&ep->known.index);
	for (i = 0; i < ep->peer_count; i++)
		if (ep->is_srx)
			ofi_stats_peer_free(ep->peers[i], &ep->peers[i]->stats);
		else
			ep->proto.xport.ops->peer_free(ep->peers[i]);
	free(ep->peers);
	free(ep->by_addr);
	free(ep->by_context);
}
