/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A peer: its protocol, its address, and the connection to it. */
#ifndef VRB_RDM_PEER_H
#define VRB_RDM_PEER_H

#include <netinet/in.h>
#include "link.h"
#include "prov/rdm/policy.h"
#include "rdm.h"

struct vrb_rdm_peer {
	struct ofi_rdm_proto_peer proto;  /* first */
	uint32_t met;			  /* fi_addrs in ep->by_addr that are its */
	bool known;			  /* it had one: receives may be for its messages alone */
	bool vacant;			  /* in ep->known.vacant: it stands for nobody */
	uint32_t links;			  /* that are its own, whatever has become of them */
	LIST_ENTRY(vrb_rdm_peer) vacancy; /* ep->known.vacant */
	struct vrb_rdm *ep;
	struct vrb_rdm_link
		*link; /* that is sent by, or was and is flushing; NULL while there is none */
	struct vrb_rdm_link *next;	   /* that is being made */
	struct ofi_rdm_conn conn;	   /* what is decided about link and next */
	LIST_HEAD(, vrb_rdm_knock) knocks; /* at its host, not answered yet */
	uint32_t seen; /* link->head when it was last looked whether it is used */
	bool starved;  /* in ep->conn.starved */
	TAILQ_ENTRY(vrb_rdm_peer) starving;
	bool notes;	   /* it is to be told of RMA on its memory */
	bool direct;	   /* a write needs nothing but its work request */
	fi_addr_t fi_addr; /* FI_ADDR_NOTAVAIL while none is known */
	fi_addr_t source;  /* what completions report: fi_addr, or the user's id */
	struct vrb_rdm_addr addr;
	STAILQ_HEAD(, vrb_rdm_op) ops;	      /* RMA and atomics that wait to be posted */
	TAILQ_HEAD(, vrb_rdm_op) answers;     /* atomics that wait for the peer's answer */
	STAILQ_HEAD(, vrb_rdm_reply) replies; /* of ours that wait for a credit */
	uint64_t reply_bytes;		      /* of those */
	uint32_t bounces;		      /* buffers that wait with ops */
	struct vrb_rdm_op *marker; /* in ops: where fenced go on; NULL when there is none */
	bool marker_set;	   /* marker_at is of the link */
	uint8_t issued;		   /* kinds of operations since a fence, of an ordered endpoint */
	uint32_t marker_at;	   /* link->head behind all that is before the marker */
	STAILQ_HEAD(, vrb_rdm_fenced) fenced; /* operations behind the marker */
	void *keys;			      /* tsearch(3): the peer's keys that are known */
	bool asked;			      /* for key, as key_id */
	uint32_t key_id;
	uint32_t missed; /* requests of the peer for memory that it was not given */
	uint64_t key;
	struct ofi_stats_peer stats; /* at the end, as ofi_stats_peer_alloc() wants it */
};

/* False for what is no IP address with a port. */
bool vrb_rdm_addr_set(struct vrb_rdm_addr *addr, const struct sockaddr *sa);
int vrb_rdm_addr_compare(const void *a, const void *b);

/* The peer of an fi_addr when it is new to the endpoint. NULL: -errno is in *err. */
struct vrb_rdm_peer *vrb_rdm_peer_meet(struct vrb_rdm *ep, fi_addr_t fi_addr, int *err);
/* The peer with an address; made when it is new. NULL when out of memory. */
struct vrb_rdm_peer *vrb_rdm_peer_at(struct vrb_rdm *ep, const struct vrb_rdm_addr *addr);
/*
 * One that no fi_addr in use means, that has no connection and has left nothing is forgotten; its
 * number will be another one's.
 */
void vrb_rdm_peer_leave(struct vrb_rdm_peer *peer);
/* What completions report as the source. */
fi_addr_t vrb_rdm_peer_source(struct vrb_rdm_peer *peer);
/* The fi_addr is removed from the address vector. Its peer may be forgotten. */
void vrb_rdm_peer_forget(struct vrb_rdm *ep, fi_addr_t fi_addr, const struct vrb_rdm_addr *addr);
/* The fi_addr has another user id. */
void vrb_rdm_peer_rename(struct vrb_rdm *ep, fi_addr_t fi_addr);
void vrb_rdm_peers_fini(struct vrb_rdm *ep);

static inline struct vrb_rdm_peer *vrb_rdm_peer_of(struct vrb_rdm *ep, fi_addr_t fi_addr, int *err)
{
	struct vrb_rdm_peer *peer;

	if (ofi_likely(fi_addr < ep->by_addr_size)) {
		peer = ep->by_addr[fi_addr];
		if (ofi_likely(peer))
			return peer;
	}
	return vrb_rdm_peer_meet(ep, fi_addr, err);
}

#endif
