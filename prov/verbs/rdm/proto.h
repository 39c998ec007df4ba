/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The protocol between two reliable-datagram endpoints: which packets a message becomes, what happens on
 * arrival, who completes when. It knows no verbs: what it consumes are the application's calls, packets
 * and completions; what it produces are calls of vrb_proto_ops. Nothing is allocated: messages live in
 * objects of the caller.
 *
 *   out   a message being sent, from the call to its completion
 *   in    an incoming packet that is kept: an unexpected message, or one that takes several packets
 *   recv  a posted receive
 *
 * A message goes by the first way that fits its size: one EAGER packet, segments, or rendezvous (RTS,
 * and RDMA reads by the receiver or RDMA writes by the sender, then FIN). A peer that said STOP gets
 * rendezvous for all but the smallest, one that said HALT nothing that it would have to keep. When the sender can't
 * register memory, segments always work. When the receiver can't, it asks for them.
 *
 * What a peer may read or write by rendezvous is exactly the message, from the packet that announces it until its
 * operation completes here: an operation whose peer still has the right to its memory is not complete.
 *
 * Each operation that was accepted completes once. When a peer goes down its operations complete with
 * an error, but those that the device still works on only when it is done with them, so the
 * caller lets the connection's work requests complete or flush between _down and the next _up.
 *
 * The packets and completions of a peer come in the order of its queue pair. The endpoint's lock guards
 * everything. The ops must not call back into this module, but for `other`, which may hold the peer, let
 * it leave or take it down.
 */
#ifndef VRB_RDM_PROTO_H
#define VRB_RDM_PROTO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>
#include "flow.h"
#include "match.h"
#include "wire.h"

enum {
	VRB_PROTO_IOV = 4,
	VRB_PROTO_INDEX_BITS = 20, /* of ids; the rest says which use of the object it is */
	VRB_PROTO_SMALL = 64,	   /* bytes that go to a stopped peer nevertheless */
};

struct vrb_proto;
struct vrb_proto_peer;

/* Where messages are matched. */
enum vrb_proto_space {
	VRB_PROTO_UNTAGGED,
	VRB_PROTO_TAGGED,
	VRB_PROTO_COLLECTIVE,
	VRB_PROTO_SPACES
};

/* What memory is registered for: no more than that is possible. */
enum vrb_proto_access {
	VRB_PROTO_SOURCE,      /* our device reads it */
	VRB_PROTO_DESTINATION, /* our device writes it */
	VRB_PROTO_PEER_READS,  /* exactly these bytes, and our device reads it */
	VRB_PROTO_PEER_WRITES, /* exactly these bytes */
};

/* Registered memory. */
struct vrb_proto_mr {
	void *handle, *grant; /* the caller's */
	uint64_t rkey;
	bool window; /* the peer's right begins with ops.bind() and ends with ops.revoke() */
};

enum vrb_proto_level {
	VRB_PROTO_INJECT,   /* complete when the user's buffer is reusable */
	VRB_PROTO_TRANSMIT, /* when the peer's device has it */
	VRB_PROTO_DELIVERY, /* when it is in the matched receive's buffer */
};

/* What an object in a peer's control queue has to send. */
enum vrb_proto_owes {
	VRB_PROTO_OWES_NOTHING,
	VRB_PROTO_OWES_ACK,
	VRB_PROTO_OWES_CTS,
	VRB_PROTO_OWES_FIN,
	VRB_PROTO_OWES_SEG_REQ,
	VRB_PROTO_OWES_REVOKE, /* the end of the peer's right to memory, to the device */
};

struct vrb_proto_item {
	struct vrb_flow_node node;
	bool is_out;
	uint8_t owes;
};

enum vrb_proto_out_state {
	VRB_PROTO_OUT_FREE,
	VRB_PROTO_OUT_QUEUED,  /* in flow.data, maybe with some segments sent */
	VRB_PROTO_OUT_SENT,    /* waits for completions, and acked if that is wanted */
	VRB_PROTO_OUT_WAITING, /* RTS sent, waits for CTS or FIN */
	VRB_PROTO_OUT_WRITING, /* RDMA writes, then FIN */
};

/* The caller sets the first part, the address stays the same until the out is complete. */
struct vrb_proto_out {
	struct vrb_proto_item item; /* first */
	uint32_t index;		    /* for ops.out_at(), below 1 << VRB_PROTO_INDEX_BITS */
	uint8_t flags;		    /* VRB_WIRE_TAGGED, VRB_WIRE_DATA, VRB_WIRE_COLLECTIVE */
	uint8_t level;
	uint8_t count; /* of iov */
	uint64_t tag, data;
	struct iovec iov[VRB_PROTO_IOV]; /* what it points to stays until completion */
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
	struct vrb_proto_peer *peer;
	size_t total;
	size_t sent;			 /* bytes in packets, or in RDMA writes posted */
	TAILQ_ENTRY(vrb_proto_out) link; /* peer.outs */
	TAILQ_ENTRY(vrb_proto_out) work; /* peer.writers */
	struct vrb_proto_in *cts;
	uint8_t mr_count, bound; /* registered; of these windows that may be bound */
	struct vrb_proto_mr mr[VRB_PROTO_IOV];
};

/* A posted receive; the caller sets the first part. */
struct vrb_proto_recv {
	struct vrb_match_recv match; /* first; sticky with FI_MULTI_RECV; context */
	struct iovec iov[VRB_PROTO_IOV];
	uint8_t count;
	uint8_t space;
	size_t min_free; /* FI_MULTI_RECV: with less room left no message is put into it */

	size_t len;
	size_t used;
	uint32_t users; /* messages on their way into it */
	bool closed;	/* takes no more messages */
	bool canceled;
};

enum vrb_proto_in_state {
	VRB_PROTO_IN_FREE,
	VRB_PROTO_IN_PART,	 /* held for the message that it is a segment of */
	VRB_PROTO_IN_WHOLE,	 /* all bytes are here */
	VRB_PROTO_IN_ASSEMBLING, /* more segments will come */
	VRB_PROTO_IN_ANNOUNCED,	 /* RTS */
	VRB_PROTO_IN_READING,
	VRB_PROTO_IN_WRITTEN,  /* the peer writes, waits for FIN */
	VRB_PROTO_IN_REVOKING, /* it has written; its right to do so ends */
	VRB_PROTO_IN_ENDING,   /* delivered or dropped; owes something */
};

/* In each of the caller's receive buffers, which it sets index and cost of. */
struct vrb_proto_in {
	union {
		struct vrb_match_msg match; /* first; until it has a receive */
		struct {
			struct iovec
				iov[VRB_PROTO_IOV]; /* the part of the receive that it goes to */
			struct vrb_proto_mr mr[VRB_PROTO_IOV]; /* mr_count of them */
		};
	};
	struct vrb_proto_item item;
	uint32_t index; /* for ops.in_at() */
	uint32_t cost;	/* all the memory that it takes while it is kept */

	uint8_t state;
	bool sink;    /* without a receive: the bytes are dropped */
	bool working; /* in peer.readers */
	bool asked;   /* for segments, since its memory can't be registered */
	uint16_t use;
	int err;
	uint32_t id;
	uint32_t epoch; /* of the peer: an older one is gone */
	uint32_t inflight;
	struct vrb_proto_peer *peer;
	struct vrb_wire_packet packet; /* its pointers are into the buffer */
	struct vrb_proto_recv *recv;
	size_t base;   /* where in the receive's buffer it begins */
	size_t accept; /* bytes that fit there */
	size_t total;
	size_t got; /* bytes arrived, or in RDMA reads posted */
	uint64_t charged;
	STAILQ_HEAD(, vrb_proto_in) parts;
	STAILQ_ENTRY(vrb_proto_in) part;
	TAILQ_ENTRY(vrb_proto_in) link; /* peer.ins */
	TAILQ_ENTRY(vrb_proto_in) work; /* peer.readers */
	uint8_t mr_count, bound;
};

/* How a receive ends. */
struct vrb_proto_done {
	struct vrb_proto_recv *recv;
	uint32_t src;
	uint8_t flags; /* VRB_WIRE_TAGGED, VRB_WIRE_DATA */
	bool last;     /* the receive is the caller's again */
	bool message;  /* the fields below are of a message; else the receive ends without one */
	uint64_t tag, data;
	size_t base; /* in the receive's buffer */
	size_t len;  /* bytes there */
	size_t lost; /* FI_ETRUNC: bytes that did not fit */
	int err;     /* FI_E* or 0 */
};

struct vrb_proto_ops {
	/*
	 * One packet: hdr, then len bytes of iov from offset on. They are copied. vrb_proto_sent(peer,
	 * out, ...) when it completes. 0, or -FI_EAGAIN: try after the next completion.
	 */
	int (*send)(struct vrb_proto_peer *peer, const void *hdr, size_t hdr_len,
		    const struct iovec *iov, size_t offset, size_t len, struct vrb_proto_out *out);
	/* One RDMA operation; vrb_proto_read_done() or vrb_proto_write_done() when it completes. */
	int (*read)(struct vrb_proto_in *in, void *addr, const struct vrb_proto_mr *mr, size_t len,
		    uint64_t remote, uint64_t rkey);
	int (*write)(struct vrb_proto_out *out, void *addr, const struct vrb_proto_mr *mr,
		     size_t len, uint64_t remote, uint64_t rkey);
	/* 0 or -FI_E*. */
	int (*reg)(struct vrb_proto_peer *peer, const struct iovec *iov,
		   enum vrb_proto_access access, struct vrb_proto_mr *mr);
	/*
	 * Of a window, one work request each: behind bind() the peer that is told mr->rkey may use it; it
	 * may not when vrb_proto_revoked(peer, item) says that revoke() is complete. 0 or -FI_EAGAIN; bind()
	 * also another error, the memory is then not the peer's.
	 */
	int (*bind)(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr);
	int (*revoke)(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr,
		      struct vrb_proto_item *item);
	/* Afterwards neither the peer nor our device has access, whatever was posted. */
	void (*dereg)(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr);
	void (*copy)(void *to, const void *from, size_t len);
	/* err: FI_E* or 0. The object is the caller's again. */
	void (*out_done)(struct vrb_proto_out *out, int err);
	void (*recv_done)(struct vrb_proto *proto, const struct vrb_proto_done *done);
	/*
	 * A packet is to be kept, with its payload or without: where, with a copy of it and with `cost` set; index and
	 * use are those of the place. The pointers of in->packet are into its bytes. NULL: out of memory.
	 */
	struct vrb_proto_in *(*keep)(struct vrb_proto_in *in, bool payload);
	/* What a kept packet is in is the caller's again. */
	void (*release)(struct vrb_proto_in *in);
	/* By index; NULL when there is none. */
	struct vrb_proto_out *(*out_at)(struct vrb_proto *proto, uint32_t index);
	struct vrb_proto_in *(*in_at)(struct vrb_proto *proto, uint32_t index);
	/* Packets that are none of messages: atomics, keys, BYE. 0, or why it is wrong. */
	enum vrb_wire_error (*other)(struct vrb_proto_peer *peer,
				     const struct vrb_wire_packet *packet);
};

struct vrb_proto_config {
	size_t eager;	  /* bytes of a packet's payload at most */
	size_t segmented; /* largest message that goes in segments by choice */
	size_t max_read;  /* bytes of one RDMA read */
	size_t max_write; /* and of one write */
	uint32_t reads;	  /* in flight for one message */
	uint32_t writes;
	bool write;	     /* as a receiver, let the sender write */
	uint64_t unexpected; /* bytes, for the budget */
	uint32_t window;     /* packets that a peer sends before it takes completions */
	bool delivers;	     /* a packet that is complete has come to the peer's device */
};

struct vrb_proto {
	const struct vrb_proto_ops *ops;
	struct vrb_proto_config config;
	uint8_t spaces; /* VRB_PROTO_SPACES, or one less: what is collective makes no sense then */
	struct vrb_match match[VRB_PROTO_SPACES]; /* initialised by the caller */
	struct vrb_flow_budget budget;
};

struct vrb_proto_peer {
	struct vrb_proto *proto;
	struct vrb_flow flow;
	uint32_t src; /* its number for matching */
	uint32_t epoch;
	bool up;
	bool held;			     /* data wait although it is up */
	bool fenced;			     /* the caller keeps sends back */
	bool clear;			     /* up, neither held nor fenced, nor told to halt */
	uint32_t awaited;		     /* something is, the caller says: it is not idle */
	bool writes;			     /* it answers RTS with CTS, but of collectives */
	size_t eager;			     /* the smaller one of both sides' */
	TAILQ_HEAD(, vrb_proto_out) outs;    /* not complete, in order */
	TAILQ_HEAD(, vrb_proto_in) ins;	     /* kept */
	TAILQ_HEAD(, vrb_proto_out) writers; /* may have RDMA to post */
	TAILQ_HEAD(, vrb_proto_in) readers;
	struct vrb_proto_in *assembling; /* the message that segments belong to */
};

/* Without collectives. */
void vrb_proto_init(struct vrb_proto *proto, const struct vrb_proto_ops *ops,
		    const struct vrb_proto_config *config);
void vrb_proto_peer_init(struct vrb_proto *proto, struct vrb_proto_peer *peer, uint32_t src);
/* Connected: a send queue of so many credits; eager is the peer's limit. What waited is sent. */
void vrb_proto_peer_up(struct vrb_proto_peer *peer, uint32_t credits, uint32_t reserve,
		       size_t eager);
/*
 * Not connected any more, or will not be. All operations complete with err. Messages that had arrived as a
 * whole stay. May be called again.
 */
void vrb_proto_peer_down(struct vrb_proto_peer *peer, int err);
/* Nothing is on its way to or from the peer that a connection is needed for. */
bool vrb_proto_peer_idle(const struct vrb_proto_peer *peer);
/* The same, but what the peer may send one day is not waited for: it connects then. */
bool vrb_proto_peer_drained(const struct vrb_proto_peer *peer);
/* From now on what is to be sent waits, unless it has begun; or no longer. */
void vrb_proto_peer_hold(struct vrb_proto_peer *peer, bool hold);
/* No packet may be sent past vrb_proto_send(), whatever the connection does; or it may again. */
void vrb_proto_peer_fence(struct vrb_proto_peer *peer, bool fence);
/*
 * The connection ends by agreement, the peer was idle when it was held: what waits does so for the next _up.
 * Should anything be under way nevertheless, it completes with err.
 */
void vrb_proto_peer_leave(struct vrb_proto_peer *peer, int err);
/* Drops the unexpected messages of a peer that is down, before it is forgotten. */
void vrb_proto_peer_purge(struct vrb_proto_peer *peer);

/* A send that was accepted; out->total is computed. It may complete before this returns. */
void vrb_proto_send(struct vrb_proto_peer *peer, struct vrb_proto_out *out);
/*
 * A message that waits to be sent, or for the rest of it to be, goes on from a copy of all of it. False: it does not, since
 * the peer has a right to the bytes where they are.
 */
bool vrb_proto_send_from(struct vrb_proto_out *out, void *copy);
/* A packet of ops.send is complete. err: FI_E* or 0. */
void vrb_proto_sent(struct vrb_proto_peer *peer, struct vrb_proto_out *out, int err);
void vrb_proto_read_done(struct vrb_proto_in *in, int err);
void vrb_proto_write_done(struct vrb_proto_out *out, int err);
/* The peer has no right any more, or the connection failed and the caller took it away. */
void vrb_proto_revoked(struct vrb_proto_peer *peer, struct vrb_proto_item *item);
/* The bind is complete. */
void vrb_proto_bound(struct vrb_proto_peer *peer);
/* Sends what can be sent. For when ops.send() failed for want of something that is there now. */
void vrb_proto_progress(struct vrb_proto_peer *peer);

/* A posted receive. It may complete before this returns. */
void vrb_proto_recv_post(struct vrb_proto *proto, struct vrb_proto_recv *recv, uint32_t src,
			 uint64_t tag, uint64_t ignore);
/*
 * Takes back a receive from this peer only that took no message yet or is still in progress. False: the device writes
 * to it, which ends soon with ops.recv_done().
 */
bool vrb_proto_recv_withdraw(struct vrb_proto_peer *peer, struct vrb_proto_recv *recv);
/* FI_CLAIM: the message claimed with the context goes to recv. False if there is none. */
bool vrb_proto_recv_claimed(struct vrb_proto *proto, struct vrb_proto_recv *recv,
			    const void *context);
/* The message that a receive would get; NULL if there is none. in->total and in->packet describe it. */
struct vrb_proto_in *vrb_proto_peek(struct vrb_proto *proto, uint8_t space, uint32_t src,
				    uint64_t tag, uint64_t ignore);
/* FI_DISCARD: of a message that was peeked or claimed. */
void vrb_proto_discard(struct vrb_proto_in *in);
bool vrb_proto_discard_claimed(struct vrb_proto *proto, bool tagged, const void *context);
/* Completes the first receive posted with the context with FI_ECANCELED; false if there is none. */
bool vrb_proto_cancel(struct vrb_proto *proto, bool tagged, const void *context);
/* Completes all posted receives with FI_ECANCELED. */
void vrb_proto_cancel_all(struct vrb_proto *proto);

/*
 * A packet. *kept: it is in what ops.keep() gave, or `in` itself if that gave it. An error means that the peer is not
 * to be trusted, or that there is no memory for what it sends: the caller ends the connection.
 */
enum vrb_wire_error vrb_proto_packet(struct vrb_proto_peer *peer, struct vrb_proto_in *in,
				     const void *bytes, size_t len, bool *kept);
/* Of something that was kept, when vrb_flow_charge() says so: the peer is told. As vrb_proto_packet(). */
enum vrb_wire_error vrb_proto_exceeded(struct vrb_proto_peer *peer);

/* For the hot path: a packet may be sent past vrb_proto_send(), with vrb_flow_take() by the caller. */
static inline bool vrb_proto_may_bypass(const struct vrb_proto_peer *peer, size_t len)
{
	return peer->clear && vrb_flow_clear(&peer->flow) &&
	       (!peer->flow.stopped || len <= VRB_PROTO_SMALL) && len <= peer->eager;
}

/*
 * For the hot path: the receive that a plain packet goes to, already taken, if it is one to which the
 * caller may copy and complete by itself. Else NULL: the packet is unexpected, or vrb_proto_packet() is
 * for it.
 */
static inline struct vrb_proto_recv *vrb_proto_bypass(struct vrb_proto_peer *peer, bool tagged,
						      uint64_t tag, bool *unexpected)
{
	struct vrb_match_recv *recv;

	recv = vrb_match_arrive(&peer->proto->match[tagged], peer->src, tag);
	*unexpected = !recv;
	return recv && !recv->sticky ? (struct vrb_proto_recv *)recv : NULL;
}

/*
 * A plain packet for which vrb_proto_bypass() found no receive, where it is kept. Of a free place all is 0 that
 * a message without regions and answers does not need. As vrb_proto_packet().
 */
static inline enum vrb_wire_error vrb_proto_unexpected(struct vrb_proto_peer *peer,
						       struct vrb_proto_in *in, const void *bytes,
						       size_t len, bool tagged, uint64_t tag)
{
	size_t header = vrb_wire_plain_header(tagged);

	in->match.tag = in->packet.tag = tag;
	in->match.src = peer->src;
	in->packet.type = VRB_WIRE_EAGER;
	in->packet.flags = tagged ? VRB_WIRE_TAGGED : 0;
	in->packet.data = 0;
	in->packet.payload = (const uint8_t *)bytes + header;
	in->packet.payload_len = in->total = in->got = len - header;
	in->peer = peer;
	in->state = VRB_PROTO_IN_WHOLE;
	in->charged = in->cost;
	TAILQ_INSERT_TAIL(&peer->ins, in, link);
	vrb_match_queue(&peer->proto->match[tagged], &in->match);
	if (vrb_flow_charge(&peer->proto->budget, &peer->flow, in->charged))
		return vrb_proto_exceeded(peer);
	return VRB_WIRE_OK;
}

#endif
