/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer: its protocol, its address, and its operations. It is the last part of the transport's own
 * object.
 */
#ifndef OFI_RDM_PEER_H
#define OFI_RDM_PEER_H

#include <netinet/in.h>
#include "rdm.h"

struct ofi_rdm_peer {
	struct ofi_rdm_proto_peer proto;  /* first */
	uint32_t met;			  /* fi_addrs in ep->by_addr that are its */
	bool known;			  /* it had one: receives may be for its messages alone */
	bool vacant;			  /* in ep->known.vacant: it stands for nobody */
	LIST_ENTRY(ofi_rdm_peer) vacancy; /* ep->known.vacant */
	struct ofi_rdm_ep *ep;
	bool notes;	   /* it is to be told of RMA on its memory */
	bool direct;	   /* a write needs nothing but its work request */
	fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL while none is known */
	fi_addr_t source;  /* what completions report: fi_addr, or the user's id */
	struct ofi_rdm_addr addr;
	STAILQ_HEAD(, ofi_rdm_op) ops;	      /* RMA and atomics that wait to be posted */
	TAILQ_HEAD(, ofi_rdm_op) answers;     /* atomics that wait for the peer's answer */
	STAILQ_HEAD(, ofi_rdm_reply) replies; /* of ours that wait for a credit */
	uint64_t reply_bytes;		      /* of those */
	struct ofi_rdm_op *marker; /* in ops: where fenced go on; NULL when there is none */
	bool marker_set;	   /* marker_at is of the connection */
	uint8_t issued;		   /* kinds of operations since a fence, of an ordered endpoint */
	uint32_t marker_at;	   /* behind all that is before the marker */
	STAILQ_HEAD(, ofi_rdm_fenced) fenced; /* operations behind the marker */
	void *keys;			      /* tsearch(3): the peer's keys that are known */
	bool asked;			      /* for key, as key_id */
	uint32_t key_id;
	uint32_t missed; /* requests of the peer for memory that it was not given */
	uint64_t key;
	struct ofi_stats_peer stats; /* at the end, as ofi_stats_peer_alloc() wants it */
};

/* False for what is no IP address with a port. */
bool ofi_rdm_addr_set(struct ofi_rdm_addr *addr, const struct sockaddr *sa);
int ofi_rdm_addr_compare(const void *a, const void *b);

/* The peer of an fi_addr when it is new to the endpoint. NULL: -errno is in *err. */
struct ofi_rdm_peer *ofi_rdm_peer_meet(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, int *err);
/* The peer with an address; made when it is new. NULL when out of memory. */
struct ofi_rdm_peer *ofi_rdm_peer_at(struct ofi_rdm_ep *ep, const struct ofi_rdm_addr *addr);
/*
 * One that no fi_addr in use means, that has no connection and has left nothing is forgotten; its
 * number will be another one's.
 */
void ofi_rdm_peer_leave(struct ofi_rdm_peer *peer);
/* What completions report as the source. */
fi_addr_t ofi_rdm_peer_source(struct ofi_rdm_peer *peer);
/* The fi_addr is removed from the address vector. Its peer may be forgotten. */
void ofi_rdm_peer_forget(struct ofi_rdm_ep *ep, fi_addr_t fi_addr, const struct ofi_rdm_addr *addr);
/* The fi_addr has another user id. */
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

/* What is to be sent can be. */
static inline bool ofi_rdm_peer_ready(const struct ofi_rdm_peer *peer)
{
	return peer->proto.up && !peer->proto.held;
}

#endif
