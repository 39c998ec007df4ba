/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol between two reliable-datagram endpoints: which packets a message becomes, what
 * happens on arrival, and when each operation completes. It knows no verbs: what it consumes are
 * the application's calls, packets and completions; what it produces are calls of the transport
 * (xport.h) and of ofi_rdm_proto_ops. Nothing is allocated: messages live in objects of the
 * caller.
 *
 *   out   a message being sent, from the call to its completion
 *   in    an incoming packet that is kept: an unexpected message, or one that takes several packets
 *   recv  a posted receive
 *
 * A message goes by the first way that fits its size: one EAGER packet, segments, or rendezvous
 * (RTS, and RDMA reads by the receiver or RDMA writes by the sender, then FIN). A peer that said
 * STOP gets rendezvous for all but the smallest, one that said HALT nothing that it would have to
 * keep. When the sender can't register memory, segments always work. When the receiver can't, it
 * asks for them.
 *
 * What a peer may read or write by rendezvous is exactly the message, from the packet that
 * announces it until its operation completes here: an operation whose peer still has the right to
 * its memory is not complete.
 *
 * Each operation that was accepted completes once. When a peer goes down its operations complete
 * with an error, but those that the device still works on only when it is done with them, so the
 * caller lets the connection's work requests complete or flush between _down and the next _up.
 *
 * The packets and completions of a peer come in the order of its queue pair. The endpoint's lock
 * guards everything. The ops must not call back into this module, but for `other`, which may hold
 * the peer, let it leave or take it down.
 */
#ifndef OFI_RDM_PROTO_H
#define OFI_RDM_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "flow.h"
#include "match.h"
#include "wire.h"
#include "xport.h"

enum {
	OFI_RDM_PROTO_IOV = 4,
	OFI_RDM_PROTO_INDEX_BITS = 20, /* of ids; the rest says which use of the object it is */
	OFI_RDM_PROTO_SMALL = 64,      /* bytes that go to a stopped peer nevertheless */
};

struct ofi_rdm_proto;
struct ofi_rdm_proto_peer;

/* Where messages are matched. */
enum ofi_rdm_proto_space {
	OFI_RDM_PROTO_UNTAGGED,
	OFI_RDM_PROTO_TAGGED,
	OFI_RDM_PROTO_COLLECTIVE,
	OFI_RDM_PROTO_SPACES
};

enum ofi_rdm_proto_level {
	OFI_RDM_PROTO_INJECT,	/* complete when the user's buffer is reusable */
	OFI_RDM_PROTO_TRANSMIT, /* when the peer's device has it */
	OFI_RDM_PROTO_DELIVERY, /* when it is in the matched receive's buffer */
};

/* What an object in a peer's control queue has to send. */
enum ofi_rdm_proto_owes {
	OFI_RDM_PROTO_OWES_NOTHING,
	OFI_RDM_PROTO_OWES_ACK,
	OFI_RDM_PROTO_OWES_CTS,
	OFI_RDM_PROTO_OWES_FIN,
	OFI_RDM_PROTO_OWES_SEG_REQ,
	OFI_RDM_PROTO_OWES_REVOKE, /* the end of the peer's right to memory, to the device */
};

struct ofi_rdm_proto_item {
	struct ofi_rdm_flow_node node;
	bool is_out;
	uint8_t owes;
};

enum ofi_rdm_proto_out_state {
	OFI_RDM_PROTO_OUT_FREE,
	OFI_RDM_PROTO_OUT_QUEUED,  /* in flow.data, maybe with some segments sent */
	OFI_RDM_PROTO_OUT_SENT,	   /* waits for completions, and acked if that is wanted */
	OFI_RDM_PROTO_OUT_WAITING, /* RTS sent, waits for CTS or FIN */
	OFI_RDM_PROTO_OUT_WRITING, /* RDMA writes, then FIN */
};

/* The caller sets the first part, the address stays the same until the out is complete. */
struct ofi_rdm_proto_out {
	struct ofi_rdm_proto_item item; /* first */
	uint32_t index;			/* for ops.out_at(), below 1 << OFI_RDM_PROTO_INDEX_BITS */
	uint8_t flags; /* OFI_RDM_WIRE_TAGGED, OFI_RDM_WIRE_DATA, OFI_RDM_WIRE_COLLECTIVE */
	uint8_t level;
	uint8_t count; /* of iov */
	uint64_t tag, data;
	struct iovec iov[OFI_RDM_PROTO_IOV]; /* what it points to stays until completion */
	void *context;

	uint8_t state;
	bool segments; /* the message goes, or has begun to go, in segments */
	bool asked;    /* for them, by the receiver of its RTS */
	bool decided;  /* how it ends; what is left is to revoke the peer's right */
	bool acked;
	bool fin_sent;
	bool working;	   /* in peer.writers */
	uint16_t use;	   /* in ids */
	int err;	   /* FI_E*: what it will complete with */
	uint32_t inflight; /* work requests not completed */
	uint32_t id;
	struct ofi_rdm_proto_peer *peer;
	size_t total;
	size_t sent;			     /* bytes in packets, or in RDMA writes posted */
	TAILQ_ENTRY(ofi_rdm_proto_out) link; /* peer.outs */
	TAILQ_ENTRY(ofi_rdm_proto_out) work; /* peer.writers */
	struct ofi_rdm_proto_in *cts;
	uint8_t mr_count, bound; /* registered; of these windows that may be bound */
	struct ofi_rdm_proto_mr mr[OFI_RDM_PROTO_IOV];
};

/* A posted receive; the caller sets the first part. */
struct ofi_rdm_proto_recv {
	struct ofi_rdm_match_recv match; /* first; sticky with FI_MULTI_RECV; context */
	struct iovec iov[OFI_RDM_PROTO_IOV];
	uint8_t count;
	uint8_t space;
	size_t min_free; /* FI_MULTI_RECV: with less room left no message is put into it */

	size_t len;
	size_t used;
	uint32_t users; /* messages on their way into it */
	bool closed;	/* takes no more messages */
	bool canceled;
};

enum ofi_rdm_proto_in_state {
	OFI_RDM_PROTO_IN_FREE,
	OFI_RDM_PROTO_IN_PART,	     /* held for the message that it is a segment of */
	OFI_RDM_PROTO_IN_WHOLE,	     /* all bytes are here */
	OFI_RDM_PROTO_IN_ASSEMBLING, /* more segments will come */
	OFI_RDM_PROTO_IN_ANNOUNCED,  /* RTS */
	OFI_RDM_PROTO_IN_READING,
	OFI_RDM_PROTO_IN_WRITTEN,  /* the peer writes, waits for FIN */
	OFI_RDM_PROTO_IN_REVOKING, /* it has written; its right to do so ends */
	OFI_RDM_PROTO_IN_ENDING,   /* delivered or dropped; owes something */
};

/* In each of the caller's receive buffers, which it sets index and cost of. */
struct ofi_rdm_proto_in {
	union {
		struct ofi_rdm_match_msg match; /* first; until it has a receive */
		struct {
			struct iovec iov
				[OFI_RDM_PROTO_IOV]; /* the part of the receive that it goes to */
			struct ofi_rdm_proto_mr mr[OFI_RDM_PROTO_IOV]; /* mr_count of them */
		};
	};
	struct ofi_rdm_proto_item item;
	uint32_t index; /* for the transport's in_at() */
	uint32_t cost;	/* all the memory that it takes while it is kept */

	uint8_t state;
	bool discard; /* without a receive: the bytes are dropped */
	bool working; /* in peer.readers */
	bool asked;   /* for segments, since its memory can't be registered */
	uint16_t use;
	int err;
	uint32_t id;
	uint32_t epoch; /* of the peer: an older one is gone */
	uint32_t inflight;
	struct ofi_rdm_proto_peer *peer;
	struct ofi_rdm_wire_packet packet; /* its pointers are into the buffer */
	struct ofi_rdm_proto_recv *recv;
	size_t base;   /* where in the receive's buffer it begins */
	size_t accept; /* bytes that fit there */
	size_t total;
	size_t got; /* bytes arrived, or in RDMA reads posted */
	uint64_t charged;
	STAILQ_HEAD(, ofi_rdm_proto_in) parts;
	STAILQ_ENTRY(ofi_rdm_proto_in) part;
	TAILQ_ENTRY(ofi_rdm_proto_in) link; /* peer.ins */
	TAILQ_ENTRY(ofi_rdm_proto_in) work; /* peer.readers */
	uint8_t mr_count, bound;
};

/* How a receive ends. */
struct ofi_rdm_proto_done {
	struct ofi_rdm_proto_recv *recv;
	uint32_t src;
	uint8_t flags; /* OFI_RDM_WIRE_TAGGED, OFI_RDM_WIRE_DATA */
	bool last;     /* the receive is the caller's again */
	bool message;  /* the fields below are of a message; else the receive ends without one */
	uint64_t tag, data;
	size_t base; /* in the receive's buffer */
	size_t len;  /* bytes there */
	size_t lost; /* FI_ETRUNC: bytes that did not fit */
	int err;     /* FI_E* or 0 */
};

/* What the protocol tells its endpoint, and asks it. */
struct ofi_rdm_proto_ops {
	/* err: FI_E* or 0. The object is the caller's again. */
	void (*out_done)(struct ofi_rdm_proto_out *out, int err);
	void (*recv_done)(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done);
	/* By index; NULL when there is none. */
	struct ofi_rdm_proto_out *(*out_at)(struct ofi_rdm_proto *proto, uint32_t index);
	/* Packets that are none of messages: atomics, keys, BYE. 0, or why it is wrong. */
	enum ofi_rdm_wire_error (*other)(struct ofi_rdm_proto_peer *peer,
					 const struct ofi_rdm_wire_packet *packet);
};

struct ofi_rdm_proto_config {
	size_t segmented;    /* largest message that goes in segments by choice */
	bool write;	     /* as a receiver, let the sender write */
	uint64_t unexpected; /* bytes, for the budget */
};

struct ofi_rdm_proto {
	const struct ofi_rdm_proto_ops *ops;
	struct ofi_rdm_xport xport;
	struct ofi_rdm_proto_config config;
	size_t eager;	/* bytes of a packet's payload at most */
	uint8_t spaces; /* OFI_RDM_PROTO_SPACES, or one less: without collectives */
	struct ofi_rdm_match match[OFI_RDM_PROTO_SPACES]; /* initialised by the caller */
	struct ofi_rdm_flow_budget budget;
};

struct ofi_rdm_proto_peer {
	struct ofi_rdm_proto *proto;
	struct ofi_rdm_flow flow;
	uint32_t src; /* its number for matching */
	uint32_t epoch;
	bool up;
	bool held;				 /* data wait although it is up */
	bool fenced;				 /* the caller keeps sends back */
	bool clear;				 /* up, neither held nor fenced, nor told to halt */
	uint32_t awaited;			 /* something is, the caller says: it is not idle */
	bool writes;				 /* it answers RTS with CTS, but of collectives */
	size_t eager;				 /* the smaller one of both sides' */
	TAILQ_HEAD(, ofi_rdm_proto_out) outs;	 /* not complete, in order */
	TAILQ_HEAD(, ofi_rdm_proto_in) ins;	 /* kept */
	uint32_t out_count, in_count;		 /* of these; for statistics */
	TAILQ_HEAD(, ofi_rdm_proto_out) writers; /* may have RDMA to post */
	TAILQ_HEAD(, ofi_rdm_proto_in) readers;
	struct ofi_rdm_proto_in *assembling; /* the message that segments belong to */
};

static inline const struct ofi_rdm_xport_ops *ofi_rdm_xport(const struct ofi_rdm_proto_peer *peer)
{
	return peer->proto->xport.ops;
}

/* Without collectives. 0, or -FI_EOPNOTSUPP: the transport loses packets or mixes them up. */
int ofi_rdm_proto_init(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_ops *ops,
		       const struct ofi_rdm_xport *xport,
		       const struct ofi_rdm_proto_config *config);
void ofi_rdm_proto_peer_init(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_peer *peer,
			     uint32_t src);
/* Connected: a send queue of so many credits; eager is the peer's limit. What waited is sent. */
void ofi_rdm_proto_peer_up(struct ofi_rdm_proto_peer *peer, uint32_t credits, uint32_t reserve,
			   size_t eager);
/*
 * Not connected any more, or will not be. All operations complete with err. Messages that had
 * arrived as a whole stay. May be called again.
 */
void ofi_rdm_proto_peer_down(struct ofi_rdm_proto_peer *peer, int err);
/* Nothing is on its way to or from the peer that a connection is needed for. */
bool ofi_rdm_proto_peer_idle(const struct ofi_rdm_proto_peer *peer);
/* The same, but what the peer may send one day is not waited for: it connects then. */
bool ofi_rdm_proto_peer_drained(const struct ofi_rdm_proto_peer *peer);
/* From now on what is to be sent waits, unless it has begun; or no longer. */
void ofi_rdm_proto_peer_hold(struct ofi_rdm_proto_peer *peer, bool hold);
/*
 * No packet may be sent past ofi_rdm_proto_send(), whatever the connection does; or it may again.
 */
void ofi_rdm_proto_peer_fence(struct ofi_rdm_proto_peer *peer, bool fence);
/*
 * The connection ends by agreement, the peer was idle when it was held: what waits does so for the
 * next _up. Should anything be under way nevertheless, it completes with err.
 */
void ofi_rdm_proto_peer_leave(struct ofi_rdm_proto_peer *peer, int err);
/* Drops the unexpected messages of a peer that is down, before it is forgotten. */
void ofi_rdm_proto_peer_purge(struct ofi_rdm_proto_peer *peer);

/* A send that was accepted; out->total is computed. It may complete before this returns. */
void ofi_rdm_proto_send(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_out *out);
/*
 * A message that waits to be sent, or for the rest of it to be, goes on from a copy of all of it.
 * False: it does not, since the peer has a right to the bytes where they are.
 */
bool ofi_rdm_proto_send_from(struct ofi_rdm_proto_out *out, void *copy);
/* A packet of send() is complete. err: FI_E* or 0. */
void ofi_rdm_proto_sent(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_out *out, int err);
void ofi_rdm_proto_read_done(struct ofi_rdm_proto_in *in, int err);
void ofi_rdm_proto_write_done(struct ofi_rdm_proto_out *out, int err);
/* The peer has no right any more, or the connection failed and the caller took it away. */
void ofi_rdm_proto_revoked(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_item *item);
/* The bind is complete. */
void ofi_rdm_proto_bound(struct ofi_rdm_proto_peer *peer);
/* After bytes were given back to the budget: peers that were told to wait may go on. */
void ofi_rdm_proto_resume(struct ofi_rdm_proto *proto);
/*
 * Sends what can be sent. For when the transport's send() failed for want of something that is
 * there now.
 */
void ofi_rdm_proto_progress(struct ofi_rdm_proto_peer *peer);

/* A posted receive. It may complete before this returns. */
void ofi_rdm_proto_recv_post(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv,
			     uint32_t src, uint64_t tag, uint64_t ignore);
/*
 * Takes back a receive from this peer only that took no message yet or is still in progress. False:
 * the device writes to it, which ends soon with ops.recv_done().
 */
bool ofi_rdm_proto_recv_withdraw(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_recv *recv);
/* FI_CLAIM: the message claimed with the context goes to recv. False if there is none. */
bool ofi_rdm_proto_recv_claimed(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv,
				const void *context);
/*
 * The message that a receive would get; NULL if there is none. in->total and in->packet describe
 * it.
 */
struct ofi_rdm_proto_in *ofi_rdm_proto_peek(struct ofi_rdm_proto *proto, uint8_t space,
					    uint32_t src, uint64_t tag, uint64_t ignore);
/* FI_DISCARD: of a message that was peeked or claimed. */
void ofi_rdm_proto_discard(struct ofi_rdm_proto_in *in);
bool ofi_rdm_proto_discard_claimed(struct ofi_rdm_proto *proto, bool tagged, const void *context,
				   uint64_t *tag);
/* Completes the first receive posted with the context with FI_ECANCELED; false if there is none. */
bool ofi_rdm_proto_cancel(struct ofi_rdm_proto *proto, bool tagged, const void *context);
/* Completes all posted receives with FI_ECANCELED. */
void ofi_rdm_proto_cancel_all(struct ofi_rdm_proto *proto);

/*
 * A packet. *kept: it is in what the transport's keep() gave, or `in` itself if that gave it. An
 * error means that the peer is not to be trusted, or that there is no memory for what it sends: the
 * caller ends the connection.
 */
enum ofi_rdm_wire_error ofi_rdm_proto_packet(struct ofi_rdm_proto_peer *peer,
					     struct ofi_rdm_proto_in *in, const void *bytes,
					     size_t len, bool *kept);
/*
 * Of something that was kept, when ofi_rdm_flow_charge() says so: the peer is told. As
 * ofi_rdm_proto_packet().
 */
enum ofi_rdm_wire_error ofi_rdm_proto_exceeded(struct ofi_rdm_proto_peer *peer);

/*
 * For the fast path: a packet may be sent past ofi_rdm_proto_send(), with ofi_rdm_flow_take() by
 * the caller.
 */
static inline bool ofi_rdm_proto_may_bypass(const struct ofi_rdm_proto_peer *peer, size_t len)
{
	return peer->clear && ofi_rdm_flow_clear(&peer->flow) &&
	       (!peer->flow.stopped || len <= OFI_RDM_PROTO_SMALL) && len <= peer->eager;
}

/*
 * For the fast path: the receive that a plain eager packet goes to, already taken, if it is one
 * to which the caller may copy and complete by itself. Else NULL: the packet is unexpected, or
 * ofi_rdm_proto_packet() is for it.
 */
static inline struct ofi_rdm_proto_recv *
ofi_rdm_proto_bypass(struct ofi_rdm_proto_peer *peer, bool tagged, uint64_t tag, bool *unexpected)
{
	struct ofi_rdm_match_recv *recv;

	recv = ofi_rdm_match_arrive(&peer->proto->match[tagged], peer->src, tag);
	*unexpected = !recv;
	return recv && !recv->sticky ? (struct ofi_rdm_proto_recv *)recv : NULL;
}

/*
 * For the fast path: whether a message that ofi_rdm_match_oldest() found is all here and owes
 * nothing.
 */
static inline bool ofi_rdm_proto_is_whole(const struct ofi_rdm_proto_in *in)
{
	return in->state == OFI_RDM_PROTO_IN_WHOLE && in->packet.type == OFI_RDM_WIRE_EAGER &&
	       !(in->packet.flags & (OFI_RDM_WIRE_WANT_ACK | OFI_RDM_WIRE_DATA));
}

/* It was copied: it is taken out, and its place is the caller's. */
static inline void ofi_rdm_proto_take_whole(struct ofi_rdm_proto *proto, uint8_t space,
					    struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_proto_peer *peer = in->peer;

	ofi_rdm_match_drop(&proto->match[space], &in->match);
	TAILQ_REMOVE(&peer->ins, in, link);
	in->state = OFI_RDM_PROTO_IN_FREE;
	ofi_rdm_flow_return(&proto->budget, &peer->flow, in->charged);
	in->charged = 0;
	/* The peer may be owed a better word than HALT, or another peer may go on. */
	if (ofi_unlikely(peer->flow.owed || ofi_rdm_flow_may_resume(&proto->budget)))
		ofi_rdm_proto_progress(peer);
}

/*
 * An eager packet for which ofi_rdm_proto_bypass() found no receive, where it is kept. Of a free
 * place all is 0 that a message without regions and answers does not need. As
 * ofi_rdm_proto_packet().
 */
static inline enum ofi_rdm_wire_error ofi_rdm_proto_unexpected(struct ofi_rdm_proto_peer *peer,
							       struct ofi_rdm_proto_in *in,
							       const void *bytes, size_t len,
							       bool tagged, uint64_t tag)
{
	size_t header = ofi_rdm_wire_fast_header(tagged);

	in->match.tag = in->packet.tag = tag;
	in->match.src = peer->src;
	in->packet.type = OFI_RDM_WIRE_EAGER;
	in->packet.flags = tagged ? OFI_RDM_WIRE_TAGGED : 0;
	in->packet.data = 0;
	in->packet.payload = (const uint8_t *)bytes + header;
	in->packet.payload_len = in->total = in->got = len - header;
	in->peer = peer;
	in->state = OFI_RDM_PROTO_IN_WHOLE;
	in->charged = in->cost;
	peer->in_count++;
	TAILQ_INSERT_TAIL(&peer->ins, in, link);
	ofi_rdm_match_queue(&peer->proto->match[tagged], &in->match);
	if (ofi_rdm_flow_charge(&peer->proto->budget, &peer->flow, in->charged))
		return ofi_rdm_proto_exceeded(peer);
	return OFI_RDM_WIRE_OK;
}

#endif
