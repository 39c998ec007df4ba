/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer: its protocol state, its address, and its operations. It is the last member of the
 * transport's own object.
 */
#ifndef OFI_RDM_PEER_H
#define OFI_RDM_PEER_H

#include "rdm.h"

struct ofi_rdm_peer {
	struct ofi_rdm_proto_peer proto; /* first */
	/* Number of entries of by_addr and by_context, and of peers, that refer to it. */
	uint32_t addrs;
	/* An fi_addr referred to it: receives may name it as their source. */
	bool known;
	bool unused;	 /* in ep->known.unused: not in use */
	bool rma_events; /* it wants an RMA event for operations on its memory */
	bool direct;	 /* a write needs only its work request */
	bool marker_set; /* marker_at is valid for this connection */
	/* A KEY_REQ for key, with key_id, awaits its answer. */
	bool asked;
	/* Kinds of operations since the last fence, if the endpoint is ordered. */
	uint8_t issued;
	uint8_t context;			/* its index in a scalable endpoint, else 0 */
	SLIST_ENTRY(ofi_rdm_peer) unused_entry; /* ep->known.unused */
	struct ofi_rdm_ep *ep;
	fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL if none is known */
	fi_addr_t source;  /* source in completions: fi_addr, or the user's id */
	struct ofi_rdm_addr addr;
	uint32_t number;		      /* index in ep->peers */
	STAILQ_HEAD(, ofi_rdm_op) ops;	      /* RMA and atomics waiting to be posted */
	TAILQ_HEAD(, ofi_rdm_op) answers;     /* operations that await the peer's response */
	STAILQ_HEAD(, ofi_rdm_reply) replies; /* our replies that wait for a credit */
	uint64_t reply_bytes;		      /* their size */
	/* The fence marker in ops, which `fenced` waits for; NULL if none. */
	struct ofi_rdm_op *marker;
	uint32_t marker_at; /* send-queue position behind everything before the marker */
	STAILQ_HEAD(, ofi_rdm_fenced) fenced; /* operations behind the marker */
	struct ofi_rdm_known *key_answer;     /* about a key, while operations use it */
	uint32_t key_id;
	uint32_t parts; /* requests for parts of operations that await their responses */
	/* In ms: when the last key with which the peer was refused memory is forgotten. */
	uint64_t missed;
	uint64_t missed_key; /* the last of them */
	uint64_t key;
	/*
	 * The peer whose number messages of this one have for matching: the same address in the
	 * shared receive context, or context 0 of the same scalable endpoint.
	 */
	struct ofi_rdm_peer *shared;
	struct ofi_stats_peer stats; /* last, as ofi_stats_peer_alloc() requires */
};

/*
 * Returns the peer of an fi_addr that ep->by_addr does not have. Returns NULL with -FI_E* in *err
 * on failure.
 */
struct ofi_rdm_peer *ofi_rdm_peer_meet(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, int *err);
/* Returns the peer with the address, or NULL. */
struct ofi_rdm_peer *ofi_rdm_peer_find(const struct ofi_rdm_ep *ep,
				       const struct ofi_rdm_addr *addr);
/* Returns the peer with the address and creates it if needed. Returns NULL when out of memory. */
struct ofi_rdm_peer *ofi_rdm_peer_at(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr,
				     uint8_t context);
/*
 * Forgets the peer if no fi_addr refers to it, it has no connection, and none of its messages is
 * kept. Its number is reused.
 */
void ofi_rdm_peer_leave(struct ofi_rdm_peer *peer);
/* Drops the reference to `shared`. */
void ofi_rdm_peer_unshare(struct ofi_rdm_peer *peer);
/* Returns the source address for completions. */
fi_addr_t ofi_rdm_peer_source(struct ofi_rdm_peer *peer);
/* Called when an fi_addr is removed from the address vector. Its peer may be forgotten. */
void ofi_rdm_peer_forget(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, const struct ofi_rdm_addr *addr);
/* Called when the fi_addr gets another user id. */
void ofi_rdm_peer_rename(struct ofi_rdm_ep *ep, fi_addr_t fi_addr);
void ofi_rdm_peers_fini(struct ofi_rdm_ep *ep);

static inline struct ofi_rdm_peer *ofi_rdm_peer_of(struct ofi_rdm_ep *ep, fi_addr_t fi_addr,
						   int *err)
{
	struct ofi_rdm_peer *peer;

	if (ofi_likely(fi_addr < ep->by_addr_size)) {
		peer = ep->by_addr[fi_addr];
		if (ofi_likely(peer))
			return peer;
	}
	return ofi_rdm_peer_meet(ep, fi_addr, err);
}

/* Returns true if operations can be sent now. */
static inline bool ofi_rdm_peer_ready(const struct ofi_rdm_peer *peer)
{
	return peer->proto.up && !peer->proto.held;
}

#endif
