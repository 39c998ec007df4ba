/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A simulation of several endpoints of the reliable-datagram protocol, the queue pairs between
 * them, and a scheduler driven by a seed: it decides which packet arrives next, which completion is
 * seen, who posts or sends, and what fails. Each queue pair keeps its order; nothing else is
 * ordered. With the options unordered and unreliable, packets travel on a wire that reorders, drops
 * and duplicates them, and seq.h and ack.h restore order and reliability. As an oracle, two plain
 * lists per endpoint determine which receive gets which message.
 */
#ifndef RDM_SIM_H
#define RDM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "prov/rdm/ack.h"
#include "prov/rdm/proto.h"

enum {
	SIM_ENDPOINTS = 3,
	SIM_OUTS = 12,
	SIM_RECVS = 12,
	SIM_INS = 96,
	SIM_MSGS = 64, /* in one schedule */
	SIM_BYTES = 1536,
	SIM_MRS = 96,
	SIM_RING = 16, /* larger than the number of credits */
	SIM_EAGER = 96,
	SIM_PACKET = OFI_RDM_WIRE_HEADER_MAX + SIM_EAGER,
	SIM_BITS = 4,
	SIM_WIRE = 96, /* packets on the wire or early */
	SIM_LKEY = 77, /* of what the application registered */
};

struct sim_options {
	int endpoints;
	int ops;
	bool failures; /* queue pairs break, endpoints restart */
	bool reg_fails;
	bool no_reads, no_writes; /* the transport does not have these */
	int windows;		  /* 1: for most memory that peers may use; 2: for all */
	bool unordered;		  /* the wire reorders packets */
	bool unreliable;	  /* the wire reorders, drops and duplicates packets */
	bool again;		  /* packets are sometimes refused */
	bool copies;		  /* most memory is read without a registration, if at all */
};

enum sim_kind {
	SIM_SEND,
	SIM_READ,
	SIM_WRITE,
	SIM_BIND,
	SIM_REVOKE,
};

struct sim_wr {
	enum sim_kind kind;
	bool moved; /* has arrived */
	struct ofi_rdm_proto_out *out;
	struct ofi_rdm_proto_in *in;
	struct sim_mr *mr;
	const struct ofi_rdm_proto_recv *own; /* a receive that the application registered */
	struct ofi_rdm_proto_item *item;
	void *addr;
	size_t len;
	uint64_t local_key, remote, key;
	struct ofi_rdm_ack_node node;
	uint8_t bytes[SIM_PACKET];
};

/* One direction: the queue pair at one end. */
struct sim_qp {
	struct ofi_rdm_proto_peer peer; /* first */
	int from, to;
	struct sim_wr ring[SIM_RING];
	unsigned int posted, moved, seen; /* counters */
	bool broken;			  /* set until both ends have noticed and drained */
	/* A failed completion was seen, so later ones fail, too. */
	bool failing;
	int sent[SIM_MSGS * 2]; /* messages in order that have not arrived */
	unsigned int first, last;
	/* Only with a lossy wire: work requests of the ring that were started. */
	unsigned int launched;
	uint64_t clock; /* of the pair; kept by the end with the smaller number */
	struct ofi_rdm_ack ack;
	struct ofi_rdm_seq_in in;
	uint32_t session; /* number of the connection, 0: none */
};

/* A packet on the wire, or one that arrived early and waits for its turn. */
struct sim_packet {
	struct ofi_rdm_seq_node node; /* first */
	bool used, on_wire;
	struct sim_qp *qp; /* the end that sent it */
	struct sim_wr *wr;
	uint32_t session, number, order;
	struct ofi_rdm_ack_words words;
	size_t len; /* 0: an acknowledgement only */
	uint8_t bytes[SIM_PACKET];
};

struct sim_msg {
	int from, to;
	uint64_t tag;
	uint8_t flags;
	uint8_t level;
	size_t len;
	bool arrived, delivered, done;
};

struct sim_out {
	struct ofi_rdm_proto_out out; /* first */
	int msg;		      /* -1 if free */
	uint8_t bytes[SIM_BYTES];
};

struct sim_recv {
	struct ofi_rdm_proto_recv recv; /* first */
	bool used;
	bool tagged, sticky;
	uint32_t src;
	uint64_t tag, ignore;
	size_t len, filled;
	int expects;	       /* messages that must complete */
	struct sim_recv *next; /* plain list of posted receives */
	uint8_t bytes[SIM_BYTES];
};

struct sim_in {
	struct ofi_rdm_proto_in in; /* first */
	bool used;
	uint8_t bytes[SIM_PACKET];
};

struct sim_mr {
	bool used, window, bound;
	enum ofi_rdm_proto_access access;
	const struct sim_qp *qp; /* the queue pair through which the peer may use it */
	uint32_t epoch;		 /* of the connection, with which a window ends */
	uintptr_t addr;
	size_t len;
	uint16_t use;
};

struct sim_endpoint {
	struct ofi_rdm_proto proto; /* first */
	struct ofi_rdm_match_node *buckets[4][1 << SIM_BITS];
	struct sim_qp qps[SIM_ENDPOINTS];
	struct sim_out outs[SIM_OUTS];
	struct sim_recv recvs[SIM_RECVS];
	struct sim_in ins[SIM_INS];
	struct sim_mr mrs[SIM_MRS];
	/* Plain lists of posted receives and of unexpected messages. */
	struct sim_recv *posted;
	int unexpected[SIM_MSGS];
	int unexpected_count;
};

struct sim {
	struct sim_options options;
	bool hostile; /* the oracles are off */
	uint64_t seed, random;
	int msg_count;
	struct sim_msg msgs[SIM_MSGS];
	struct sim_recv *of_msg[SIM_MSGS]; /* the receive that each message belongs to */
	struct sim_endpoint eps[SIM_ENDPOINTS];
	struct sim_packet packets[SIM_WIRE];
	uint32_t sessions; /* connections so far, which number them */
	/* Counts of events, to verify that the schedules reach them. */
	uint64_t done_ok, done_err, truncated, stops, halts, reads, own_reads, writes, acks,
		segments, breaks, refused, evictions, bound, unbound, asked, announced, lost,
		doubles, early, resent, stale, copies, unread, unregistered;
};

extern struct sim sim;

/* in rdm_sim_run.c */
/* Creates endpoints that are not connected. */
void sim_start(uint64_t seed, const struct sim_options *options);
/* Runs one schedule; a failed check prints the seed. */
void sim_run(uint64_t seed, const struct sim_options *options);
/*
 * Runs one endpoint whose peer sends arbitrary packets: it must return everything it was given, and
 * nothing else may happen. `packet` generates a packet of at most SIM_PACKET bytes; 0 ends the run.
 */
void sim_run_hostile(uint64_t seed, size_t (*packet)(uint8_t *bytes));
/* Completes everything that the endpoint has posted, as if the peer's device obeyed. */
void sim_complete_all(struct sim_qp *qp);
/* Removes the hostile peer: nothing of it may be left. */
void sim_end_hostile(struct sim_qp *qp);
/* Generates a packet that is almost valid. */
size_t sim_malign_packet(uint8_t *bytes);
/* Checks that the endpoint holds nothing any more. */
void sim_check_quiet(const struct sim_endpoint *ep);

/* in rdm_sim_net.c */
uint32_t sim_random(uint32_t below);
void sim_check(bool truth, const char *what, int line);
#define SIM_CHECK(truth) sim_check(truth, #truth, __LINE__)
extern const struct ofi_rdm_proto_ops sim_ops;
extern const struct ofi_rdm_xport_ops sim_xport;
/*
 * Advances one packet, RDMA operation or completion of the queue pair. Returns false if there is
 * none.
 */
bool sim_qp_move(struct sim_qp *qp);
bool sim_qp_see(struct sim_qp *qp);
struct sim_qp *sim_qp_other(struct sim_qp *qp);
/* Delivers a packet of the queue pair to the other end. */
void sim_qp_arrive(struct sim_qp *qp, const uint8_t *bytes, size_t len);
/* Executes any other work request. */
void sim_qp_execute(struct sim_qp *qp, struct sim_wr *wr);

/* rdm_sim_wire.c */
bool sim_is_lossy(void);
void sim_wire_clear(void);
/* Starts a connection at both ends. */
void sim_wire_up(struct sim_qp *qp);
/* Resets one end, which has no connection. */
void sim_wire_down(struct sim_qp *qp);
/* The same as sim_qp_move(), on a lossy wire; it also moves packets in the other direction. */
bool sim_wire_move(struct sim_qp *qp);

/* In rdm_sim.c: actions of an application, with random parameters. */
struct sim_endpoint *sim_endpoint_at(int i);
uint64_t sim_tag(void);
void sim_send(struct sim_endpoint *ep, int to);
/* Returns a receive of random kind, NULL if none is free. */
struct sim_recv *sim_recv_new(struct sim_endpoint *ep);
void sim_recv_start(struct sim_recv *recv);
/* Starts and posts the receive. */
void sim_recv_post(struct sim_endpoint *ep, struct sim_recv *recv);
void sim_peek(struct sim_endpoint *ep, struct sim_recv *want);
void sim_cancel(struct sim_endpoint *ep);
/* Called before a peer goes down: the oracle forgets messages that have not completely arrived. */
void sim_forget_partial(struct sim_endpoint *ep, int from);
/* Oracles for the network. */
void sim_arrived(struct sim_qp *qp, const struct ofi_rdm_wire_packet *packet);
void sim_out_done(struct ofi_rdm_proto_out *out, int err);
void sim_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done);

#endif
