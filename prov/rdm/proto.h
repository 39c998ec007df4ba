/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol between two reliable-datagram endpoints: it decides which packets a message becomes,
 * what happens when packets arrive, and when each operation completes. Its inputs are the
 * application's calls, packets, and completions; its outputs are calls of the transport (xport.h)
 * and of ofi_rdm_proto_ops. Nothing is allocated: messages live in the caller's objects.
 *
 *   out   a message being sent, from the call to its completion
 *   in    an incoming packet that is kept: an unexpected message, or one that takes several packets
 *   recv  a posted receive
 *
 * A message uses the first method that fits its size: one EAGER packet, segments, or rendezvous
 * (RTS, then RDMA reads by the receiver or RDMA writes by the sender, then FIN). A peer that sent
 * STOP gets rendezvous for all but the smallest messages; a peer that sent HALT gets nothing that
 * it would have to buffer. If the sender cannot register memory it falls back to segments. If the
 * receiver cannot, it asks for segments. It also does so for messages without a receive when either
 * side wants to end the connection.
 *
 * The memory that a peer may read or write by rendezvous is exactly the message, from the packet
 * that announces it until the local operation completes: an operation does not complete while the
 * peer still has the right to its memory.
 *
 * Each accepted operation completes once. When a peer goes down, its operations complete with an
 * error; those that the device still works on complete only when it is done with them. The caller
 * therefore lets the connection's work requests complete or flush between _down and the next _up.
 *
 * The packets and completions of a peer arrive in the order of its queue pair. The endpoint's lock
 * guards everything. The ops must not call back into this module, except `other`, which may send,
 * hold the peer, let it leave, or take it down.
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
	/* Bits of an id for the index; the rest counts uses of the object. */
	OFI_RDM_PROTO_INDEX_BITS = 20,
	/* Largest message in bytes that a stopped peer still gets eagerly. */
	OFI_RDM_PROTO_SMALL = 64,
};

struct ofi_rdm_proto;
struct ofi_rdm_proto_peer;

/* The match tables. */
enum ofi_rdm_proto_space {
	OFI_RDM_PROTO_UNTAGGED,
	OFI_RDM_PROTO_TAGGED,
	OFI_RDM_PROTO_COLLECTIVE,
	OFI_RDM_PROTO_SPACES
};

enum ofi_rdm_proto_level {
	OFI_RDM_PROTO_INJECT,	/* completes when the user's buffer is reusable */
	OFI_RDM_PROTO_TRANSMIT, /* completes when the peer's device has the message */
	OFI_RDM_PROTO_DELIVERY, /* completes when the message is in the matched receive's buffer */
};

/* The packet that an object in a peer's control queue has to send. */
enum ofi_rdm_proto_owes {
	OFI_RDM_PROTO_OWES_NOTHING,
	OFI_RDM_PROTO_OWES_ACK,
	OFI_RDM_PROTO_OWES_CTS,
	OFI_RDM_PROTO_OWES_FIN,
	OFI_RDM_PROTO_OWES_SEG_REQ,
	OFI_RDM_PROTO_OWES_REVOKE, /* not a packet: the device revokes the peer's right to memory */
};

struct ofi_rdm_proto_item {
	struct ofi_rdm_flow_node node;
	bool is_out;
	uint8_t owes;
};

enum ofi_rdm_proto_out_state {
	OFI_RDM_PROTO_OUT_FREE,
	OFI_RDM_PROTO_OUT_QUEUED,  /* in flow.data, possibly with some segments sent */
	OFI_RDM_PROTO_OUT_SENT,	   /* waits for completions, and for an ACK if one is wanted */
	OFI_RDM_PROTO_OUT_WAITING, /* RTS sent; waits for CTS or FIN */
	OFI_RDM_PROTO_OUT_WRITING, /* RDMA writes, then FIN */
};

/* The caller sets the first part. The address must not change until the out completes. */
struct ofi_rdm_proto_out {
	struct ofi_rdm_proto_item item; /* first */
	uint32_t index;			/* for ops.out_at(); below 1 << OFI_RDM_PROTO_INDEX_BITS */
	uint8_t flags; /* OFI_RDM_WIRE_TAGGED, OFI_RDM_WIRE_DATA, OFI_RDM_WIRE_COLLECTIVE */
	uint8_t level;
	uint8_t count; /* entries of iov */
	uint64_t tag, data;
	struct iovec iov[OFI_RDM_PROTO_IOV]; /* the buffers must stay valid until completion */
	void *context;

	uint8_t state;
	bool segments; /* the message goes, at least in part, in segments */
	bool asked;    /* the receiver of the RTS asked for segments */
	bool decided;  /* the result is known; only the peer's right must be revoked */
	bool acked;
	bool fin_sent;
	bool early;	   /* ofi_rdm_proto_first() has returned its packet */
	bool working;	   /* in peer.writers */
	uint16_t use;	   /* in ids */
	int err;	   /* FI_E* that it will complete with */
	uint32_t inflight; /* outstanding work requests */
	uint32_t id;
	struct ofi_rdm_proto_peer *peer;
	size_t total;
	size_t sent;			     /* bytes sent in packets or posted in RDMA writes */
	TAILQ_ENTRY(ofi_rdm_proto_out) link; /* in peer.outs */
	TAILQ_ENTRY(ofi_rdm_proto_out) work; /* in peer.writers */
	struct ofi_rdm_proto_in *cts;
	/* Registered regions, and how many of the first ones are granted. */
	uint8_t mr_count, bound;
	struct ofi_rdm_proto_mr mr[OFI_RDM_PROTO_IOV];
};

/* A posted receive; the caller sets the first part. */
struct ofi_rdm_proto_recv {
	struct ofi_rdm_match_recv match; /* first; sticky with FI_MULTI_RECV; context */
	struct iovec iov[OFI_RDM_PROTO_IOV];
	uint8_t count;
	uint8_t space;
	const void *desc; /* of the only entry, or NULL */
	size_t min_free;  /* FI_MULTI_RECV: the receive ends when less room than this is left */

	size_t len;
	size_t used;
	uint32_t users; /* messages being received into it */
	bool closed;	/* it takes no more messages */
	bool canceled;
};

enum ofi_rdm_proto_in_state {
	OFI_RDM_PROTO_IN_FREE,
	OFI_RDM_PROTO_IN_PART,	     /* a segment that is kept for its message */
	OFI_RDM_PROTO_IN_WHOLE,	     /* no more bytes will come */
	OFI_RDM_PROTO_IN_ASSEMBLING, /* more segments will come */
	OFI_RDM_PROTO_IN_ANNOUNCED,  /* an RTS */
	OFI_RDM_PROTO_IN_READING,
	OFI_RDM_PROTO_IN_WRITTEN,  /* the peer writes; waits for FIN */
	OFI_RDM_PROTO_IN_REVOKING, /* the peer has written; its right to do so is being revoked */
	OFI_RDM_PROTO_IN_ENDING,   /* delivered or dropped; still owes a packet */
};

/* Part of each of the caller's receive buffers. The caller sets index and cost. */
struct ofi_rdm_proto_in {
	union {
		struct ofi_rdm_match_msg match; /* first; used until it has a receive */
		struct {
			/* The part of the receive's buffer for this message. */
			struct iovec iov[OFI_RDM_PROTO_IOV];
			/* mr_count entries are in use. */
			struct ofi_rdm_proto_mr mr[OFI_RDM_PROTO_IOV];
		};
	};
	struct ofi_rdm_proto_item item;
	uint32_t index; /* for the transport's in_at() */
	uint32_t cost;	/* memory in bytes that it occupies while it is kept */

	uint8_t state;
	bool discard; /* it has no receive; its bytes are dropped */
	bool working; /* in peer.readers */
	bool asked;   /* we asked for segments */
	uint16_t use;
	int err;
	uint32_t id;
	uint32_t epoch; /* epoch of the peer; if it is older the peer has reconnected */
	uint32_t inflight;
	struct ofi_rdm_proto_peer *peer;
	struct ofi_rdm_wire_packet packet; /* its pointers point into the buffer */
	struct ofi_rdm_proto_recv *recv;
	size_t base;   /* offset in the receive's buffer */
	size_t accept; /* bytes that fit there */
	size_t total;
	size_t got; /* bytes that have arrived or that RDMA reads have requested */
	uint64_t charged;
	uint64_t promised; /* bytes of `charged` for segments that have not arrived */
	STAILQ_HEAD(, ofi_rdm_proto_in) parts;
	STAILQ_ENTRY(ofi_rdm_proto_in) part;
	TAILQ_ENTRY(ofi_rdm_proto_in) link; /* in peer.ins */
	TAILQ_ENTRY(ofi_rdm_proto_in) work; /* in peer.readers */
	uint8_t mr_count, bound;
};

/* The result of a receive. */
struct ofi_rdm_proto_done {
	struct ofi_rdm_proto_recv *recv;
	/* The sender of the message that the fields below describe; NULL: no message. */
	struct ofi_rdm_proto_peer *peer;
	uint8_t flags; /* OFI_RDM_WIRE_TAGGED, OFI_RDM_WIRE_DATA */
	bool last;     /* the caller owns the receive again */
	uint64_t tag, data;
	size_t base; /* offset in the receive's buffer */
	size_t len;  /* bytes received there */
	size_t lost; /* bytes that did not fit, with FI_ETRUNC */
	int err;     /* FI_E* or 0 */
};

/* The callbacks of the protocol to its endpoint. */
struct ofi_rdm_proto_ops {
	/* The caller owns the object again. err is FI_E* or 0. */
	void (*out_done)(struct ofi_rdm_proto_out *out, int err);
	void (*recv_done)(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done);
	/* Returns true if the memory is in the descriptor's region, which may be written. */
	bool (*registered)(struct ofi_rdm_proto *proto, const void *desc, const struct iovec *iov);
	/* Returns the object with the index, or NULL. */
	struct ofi_rdm_proto_out *(*out_at)(struct ofi_rdm_proto_peer *peer, uint32_t index);
	/*
	 * Handles packets that are not part of messages: atomics, keys, RMA events, BYE. Returns 0,
	 * or the reason why the packet is invalid.
	 */
	enum ofi_rdm_wire_error (*other)(struct ofi_rdm_proto_peer *peer,
					 const struct ofi_rdm_wire_packet *packet);
};

struct ofi_rdm_proto_config {
	size_t segmented;    /* largest message that is sent in segments by preference */
	bool write;	     /* as a receiver, let the sender write */
	bool descriptors;    /* what the application registered is not registered again */
	uint64_t unexpected; /* budget in bytes */
	bool device;	     /* messages and receives may be in device memory */
};

struct ofi_rdm_proto {
	const struct ofi_rdm_proto_ops *ops;
	struct ofi_rdm_xport xport;
	struct ofi_rdm_proto_config config;
	size_t eager;	/* largest payload of a packet in bytes */
	uint8_t spaces; /* OFI_RDM_PROTO_SPACES, or one less without collectives */
	struct ofi_rdm_match match[OFI_RDM_PROTO_SPACES]; /* initialized by the caller */
	struct ofi_rdm_flow_budget budget;
};

struct ofi_rdm_proto_peer {
	struct ofi_rdm_proto *proto;
	struct ofi_rdm_flow flow;
	uint32_t src; /* its number for matching */
	uint32_t epoch;
	bool up;
	bool held;   /* data is queued although the peer is up */
	bool fenced; /* all sends must go through ofi_rdm_proto_send() */
	bool clear;  /* up, and neither held, fenced nor halted */
	bool writes; /* it answers RTS with CTS, except for collectives */
	/* Number of messages that the caller awaits from the peer, which is not idle then. */
	uint32_t awaited;
	size_t eager;				 /* the smaller limit of both sides */
	TAILQ_HEAD(, ofi_rdm_proto_out) outs;	 /* incomplete messages in order */
	TAILQ_HEAD(, ofi_rdm_proto_in) ins;	 /* messages that are kept */
	uint32_t out_count, in_count;		 /* lengths of these, for statistics */
	TAILQ_HEAD(, ofi_rdm_proto_out) writers; /* outs that may have RDMA to post */
	TAILQ_HEAD(, ofi_rdm_proto_in) readers;
	struct ofi_rdm_proto_in *assembling; /* the message that arriving segments belong to */
};

static inline const struct ofi_rdm_xport_ops *ofi_rdm_xport(const struct ofi_rdm_proto_peer *peer)
{
	return peer->proto->xport.ops;
}

/*
 * Initializes the protocol without collectives. Returns 0, or -FI_EOPNOTSUPP if the transport loses
 * or reorders packets.
 */
int ofi_rdm_proto_init(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_ops *ops,
		       const struct ofi_rdm_xport *xport,
		       const struct ofi_rdm_proto_config *config);
void ofi_rdm_proto_peer_init(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_peer *peer,
			     uint32_t src);
/*
 * Called when the peer is connected, with a send queue of that many credits; `eager` is the peer's
 * limit. ofi_rdm_proto_progress() sends the queued messages.
 */
void ofi_rdm_proto_peer_up(struct ofi_rdm_proto_peer *peer, uint32_t credits, uint32_t reserve,
			   size_t eager);
/*
 * Called when the peer is no longer connected, or never will be. All operations complete with err,
 * but unexpected messages stay if they have arrived completely or are claimed. May be called
 * repeatedly.
 */
void ofi_rdm_proto_peer_down(struct ofi_rdm_proto_peer *peer, int err);
/* Returns true if nothing in flight to or from the peer requires a connection. */
bool ofi_rdm_proto_peer_idle(const struct ofi_rdm_proto_peer *peer);
/* Like _idle, but disregards what the peer may send later: it will connect for that. */
bool ofi_rdm_proto_peer_drained(const struct ofi_rdm_proto_peer *peer);
/*
 * With `hold`, makes messages wait unless they have begun, and those that are announced and not yet
 * received arrive in segments. Without it, lets messages go again.
 */
void ofi_rdm_proto_peer_hold(struct ofi_rdm_proto_peer *peer, bool hold);
/*
 * With `fence`, makes all messages go through ofi_rdm_proto_send(), whatever the state of the
 * connection: ofi_rdm_proto_may_bypass() returns false.
 */
void ofi_rdm_proto_peer_fence(struct ofi_rdm_proto_peer *peer, bool fence);
/*
 * Ends the connection by agreement; the peer was idle when it was held. Queued messages wait for
 * the next _up. Any operation that is in flight nevertheless completes with err.
 */
void ofi_rdm_proto_peer_leave(struct ofi_rdm_proto_peer *peer, int err);
/* Drops the unexpected messages of a disconnected peer before the peer is freed. */
void ofi_rdm_proto_peer_purge(struct ofi_rdm_proto_peer *peer);

/*
 * Sends an accepted message and computes out->total. The message may complete before this returns.
 */
void ofi_rdm_proto_send(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_out *out);
/* Takes back the last message, before anything else is called for its peer. The peer is not up. */
void ofi_rdm_proto_unsend(struct ofi_rdm_proto_out *out);
/*
 * Copies from an iov of the application, which may be device memory if `device`. Returns 0 or
 * -FI_EIO.
 */
int ofi_rdm_proto_load(void *to, const struct iovec *iov, size_t count, bool device);
/* Copies to several buffers from an offset on. Returns 0 or -FI_EIO. */
int ofi_rdm_proto_store(const struct iovec *iov, uint8_t count, size_t offset, const uint8_t *from,
			size_t len, bool device);
/*
 * Writes the packet of the first message that waits for a connection, so that the request for the
 * connection may carry it. Returns its length, at most `room` bytes; 0 if there is no such message,
 * it does not fit, or it needs an answer. *again tells whether the last call wrote the same
 * message.
 */
size_t ofi_rdm_proto_first(struct ofi_rdm_proto_peer *peer, uint8_t *bytes, size_t room,
			   bool *again);
/*
 * Called before _up: the message of ofi_rdm_proto_first() has been delivered, or must be sent like
 * any other.
 */
void ofi_rdm_proto_first_ends(struct ofi_rdm_proto_peer *peer, bool delivered);
/*
 * Replaces the source of a message that is not completely sent by a copy of all of it. Returns
 * false if that is impossible because the peer has a right to the original bytes.
 */
bool ofi_rdm_proto_send_from(struct ofi_rdm_proto_out *out, void *copy);
/* Called when a packet of send() has completed; err is FI_E* or 0. */
void ofi_rdm_proto_sent(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_out *out, int err);
void ofi_rdm_proto_read_done(struct ofi_rdm_proto_in *in, int err);
void ofi_rdm_proto_write_done(struct ofi_rdm_proto_out *out, int err);
/*
 * Called when the peer's right has been revoked, or when the connection failed and the caller has
 * ended the right.
 */
void ofi_rdm_proto_revoked(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_item *item);
/* Called when a bind has completed. */
void ofi_rdm_proto_bound(struct ofi_rdm_proto_peer *peer);
/* Lets waiting peers go on after bytes were returned to the budget. */
void ofi_rdm_proto_resume(struct ofi_rdm_proto *proto);
/*
 * Sends what is queued and resumes peers. ofi_rdm_proto_progress() calls it if there is anything to
 * do.
 */
void ofi_rdm_proto_go_on(struct ofi_rdm_proto_peer *peer);

static inline bool ofi_rdm_proto_owes(const struct ofi_rdm_proto_peer *peer)
{
	return peer->flow.owed != OFI_RDM_FLOW_NOTHING || !STAILQ_EMPTY(&peer->flow.control);
}

/* Sends what is queued, once the resource that the transport's send() lacked is available again. */
static inline void ofi_rdm_proto_progress(struct ofi_rdm_proto_peer *peer)
{
	if (ofi_rdm_proto_owes(peer) || !STAILQ_EMPTY(&peer->flow.data) ||
	    !TAILQ_EMPTY(&peer->readers) || !TAILQ_EMPTY(&peer->writers) ||
	    ofi_rdm_flow_may_resume(&peer->proto->budget))
		ofi_rdm_proto_go_on(peer);
}

/* Posts a receive, which may complete before this returns. */
void ofi_rdm_proto_recv_post(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv,
			     uint32_t src, uint64_t tag, uint64_t ignore);
/*
 * Withdraws a receive that names this peer as its source, if it has taken no message or its message
 * is incomplete. Returns false if the device writes to its buffer; then ops.recv_done() follows
 * soon.
 */
bool ofi_rdm_proto_recv_withdraw(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_recv *recv);
/*
 * Delivers the message claimed with the context to recv (FI_CLAIM). Returns false if there is none.
 */
bool ofi_rdm_proto_recv_claimed(struct ofi_rdm_proto *proto, struct ofi_rdm_proto_recv *recv,
				const void *context);
/*
 * Returns the message that a receive would take, described by in->total and in->packet; NULL if
 * there is none.
 */
struct ofi_rdm_proto_in *ofi_rdm_proto_peek(struct ofi_rdm_proto *proto, uint8_t space,
					    uint32_t src, uint64_t tag, uint64_t ignore);
/* Drops a message that was peeked or claimed (FI_DISCARD). */
void ofi_rdm_proto_discard(struct ofi_rdm_proto_in *in);
bool ofi_rdm_proto_discard_claimed(struct ofi_rdm_proto *proto, bool tagged, const void *context,
				   uint64_t *tag);
/*
 * Completes with FI_ECANCELED the first receive posted with the context. Returns false if there is
 * none.
 */
bool ofi_rdm_proto_cancel(struct ofi_rdm_proto *proto, bool tagged, const void *context);
/*
 * Completes with FI_ECANCELED the first message to the peer with the context of which nothing has
 * been sent. Returns false if there is none.
 */
bool ofi_rdm_proto_cancel_out(struct ofi_rdm_proto_peer *peer, const void *context);
/* Completes all posted receives with FI_ECANCELED. */
void ofi_rdm_proto_cancel_all(struct ofi_rdm_proto *proto);
/*
 * Does the same with receives of the peer's messages that are arriving in segments, whose rest is
 * dropped. Returns true if none is left; others end by themselves, or with the connection.
 */
bool ofi_rdm_proto_recvs_withdraw(struct ofi_rdm_proto_peer *peer);

/*
 * Processes a packet. If *kept is set, the packet is still in use, in what the transport's keep()
 * returned, or in `in` itself if keep() returned that. On an error the peer cannot be trusted, or
 * there is no memory for what it sends: the caller ends the connection.
 */
enum ofi_rdm_wire_error ofi_rdm_proto_packet(struct ofi_rdm_proto_peer *peer,
					     struct ofi_rdm_proto_in *in, const void *bytes,
					     size_t len, bool *kept);
/*
 * Processes the packet of ofi_rdm_proto_first() before _up. Returns false if the message is not
 * delivered; then nothing has changed.
 */
bool ofi_rdm_proto_take_first(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_in *in,
			      const void *bytes, size_t len, bool *kept);
/*
 * Called when ofi_rdm_flow_charge() returns true for something that was kept; tells the peer.
 * Returns what ofi_rdm_proto_packet() does.
 */
enum ofi_rdm_wire_error ofi_rdm_proto_exceeded(struct ofi_rdm_proto_peer *peer);

/*
 * Fast path: returns true if the caller may send a packet itself, past ofi_rdm_proto_send(). The
 * caller then takes the credit with ofi_rdm_flow_take().
 */
static inline bool ofi_rdm_proto_may_bypass(const struct ofi_rdm_proto_peer *peer, size_t len)
{
	return peer->clear && ofi_rdm_flow_clear(&peer->flow) &&
	       (!peer->flow.stopped || len <= OFI_RDM_PROTO_SMALL) && len <= peer->eager;
}

/*
 * Fast path: takes and returns the receive for an eager packet if the caller may copy and complete
 * it by itself. Returns NULL if the packet is unexpected, or if it is a case for
 * ofi_rdm_proto_packet().
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
 * Fast path: returns true if a message found by ofi_rdm_match_oldest() is complete and owes no
 * packet.
 */
static inline bool ofi_rdm_proto_is_whole(const struct ofi_rdm_proto_in *in)
{
	return in->state == OFI_RDM_PROTO_IN_WHOLE && in->packet.type == OFI_RDM_WIRE_EAGER &&
	       !(in->packet.flags & (OFI_RDM_WIRE_WANT_ACK | OFI_RDM_WIRE_DATA));
}

/* Removes such a message after it was copied. The caller owns its place again. */
static inline void ofi_rdm_proto_take_whole(struct ofi_rdm_proto *proto, uint8_t space,
					    struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_proto_peer *peer = in->peer;

	ofi_rdm_match_drop(&proto->match[space], &in->match);
	peer->in_count--;
	TAILQ_REMOVE(&peer->ins, in, link);
	in->state = OFI_RDM_PROTO_IN_FREE;
	ofi_rdm_flow_return(&proto->budget, &peer->flow, in->charged);
	in->charged = 0;
	/* The peer may be owed a GO or STOP in place of HALT, or another peer may go on. */
	if (ofi_unlikely(peer->flow.owed || ofi_rdm_flow_may_resume(&proto->budget)))
		ofi_rdm_proto_progress(peer);
}

/*
 * Keeps an eager packet for which ofi_rdm_proto_bypass() found no receive, in the given place. All
 * fields of an unused place are 0, except those that this sets or that such a message does not
 * need. Returns what ofi_rdm_proto_packet() does.
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
