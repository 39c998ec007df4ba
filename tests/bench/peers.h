/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A simulation of one endpoint on unreliable datagrams and very many peers that send to it. The
 * real modules seq.h, ack.h and cwnd.h run at both ends of each connection; what prov/verbs/rdm/ud*
 * does with them is repeated here in short, with the same constants, and what is between is a
 * model. Time is simulated, and a seed decides everything. Peers and receiver meet by letters, as
 * there.
 *
 *   hosts      PEERS_HOST peers each, on a link of their own, with a queue without limit
 *   port       of a switch: all links lead to it, and a queue of limited length is before the link
 *              to the receiver
 *   receives   as many as the transport posts: packets are dropped when all are taken
 *   process    polls whenever it is free, and takes a fixed time for each packet
 *   thread     of the fabric: accepts requests of peers one by one
 *   way back   a link for the acknowledgments and answers
 *
 * Peers poll all the time. The receiver's application always has a buffer for the next message.
 */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <sys/queue.h>
#include "prov/rdm/due.h"
#include "prov/verbs/rdm/ud_int.h"

enum {
	PEERS_MTU = 4096,
	PEERS_AROUND = 98,  /* bytes of Ethernet and RoCE v2 around a packet */
	PEERS_LETTER = 256, /* bytes of a request or an answer */
	PEERS_HOST = 64,
	/* In ns, of a link of 25 Gbit/s: 0.32 ns a byte, in hundredths. */
	PEERS_BYTE = 32,
	PEERS_WIRE = 1500,	   /* half of the way from a host to the receiver, without queues */
	PEERS_ROOM = 4 << 20,	   /* bytes in the queue of the port */
	PEERS_HANDLE_NS = 800,	   /* of the process, for a packet with a message */
	PEERS_SEND_NS = 200,	   /* for any other packet, and before that message */
	PEERS_ACCEPT_NS = 20000,   /* of the thread, for a request */
	PEERS_SPREAD_US = 1000000, /* first messages are sent within that time */
	PEERS_BURST_US = 100,	   /* bursts begin within that time */
};

struct peers_packet {
	uint64_t at; /* when it arrives, in ns */
	uint32_t peer;
	uint32_t number, order, message, lag;
	struct ofi_rdm_ack_words words;
	uint8_t kind; /* enum vrb_ud_kind */
};

/* Packets in the order of their times. */
struct peers_line {
	struct peers_packet *packets;
	uint64_t head, tail, size;
};

/* A packet of a peer, in its host's queue while it is posted. */
struct peers_tx {
	struct ofi_rdm_ack_node node; /* first */
	struct peers_tx *next;
	struct peers_packet packet;
	bool posted, done;
};

/* A packet in the receiver's memory. */
struct peers_rx {
	struct ofi_rdm_seq_node node; /* first */
	struct peers_packet packet;
};

struct peers_letter {
	uint64_t at, wait; /* in us; at is OFI_RDM_DUE_NEVER if there is none */
	uint32_t times;	   /* it was sent */
};

/* The peer's end of a connection. */
struct peers_source {
	struct ofi_rdm_due_node due; /* first */
	struct ofi_rdm_ack ack;
	struct ofi_rdm_seq_in in;
	struct ofi_rdm_cwnd cwnd;
	struct peers_letter letter;
	uint64_t ask;		    /* in us: when the host may be probed again */
	uint32_t flying, next, end; /* packets in flight, next message, end of the burst */
	bool met;
};

/* The receiver's end while it is awake. */
struct peers_awake {
	struct ofi_rdm_due_node due; /* first */
	struct ofi_rdm_ack ack;
	struct ofi_rdm_seq_in in;
	struct peers_letter letter;
	uint64_t acked, arrived; /* in us */
	uint32_t peer;
	bool is_prompt;
	uint32_t seen_order, seen_in;
	TAILQ_ENTRY(peers_awake) awake, prompt;
};

TAILQ_HEAD(peers_awakes, peers_awake);

/* The receiver's end. */
struct peers_sink {
	struct peers_awake *awake; /* NULL: it sleeps, and `rest` is valid */
	struct vrb_ud_rest rest;
	uint32_t first;	    /* number of the peer's first packet */
	uint32_t delivered; /* messages */
	uint32_t before;    /* of these, before this part of the run */
	uint64_t post,
		last; /* in ns: when the peer sent, and when the last message was delivered */
	bool met;
};

/* These are counted in a part of the run. */
struct peers_counts {
	uint64_t packets, again;  /* of messages: first transmissions, and others */
	uint64_t letters, probes; /* that the peers sent */
	uint64_t full;		  /* packets dropped by the port */
	uint64_t overrun;	  /* by the receiver's device */
	uint64_t lost;		  /* on the wire, in either direction */
	uint64_t requests;	  /* dropped because too many waited */
	uint64_t doubles, crowded, acks;
	uint64_t delivered;
	uint64_t awake;	       /* connections at most */
	uint64_t begun, last;  /* in ns: the first message was sent, the last one was delivered */
	uint64_t sum, squares; /* of the messages of each peer when half were delivered */
};

struct peers {
	uint64_t random, now; /* now: in ns */
	uint32_t count;
	uint32_t loss;	 /* packets of a thousand that are lost on the wire */
	uint32_t handle; /* ns of the process for a message */
	uint64_t wanted; /* messages in this part of the run */
	struct peers_counts counts;
	struct peers_source *sources;
	struct peers_sink *sinks;
	struct ofi_rdm_due source_timers, sink_timers; /* in ns */
};

extern struct peers peers;

/* The network (peers_net.c). */
void peers_net_open(void);
void peers_net_close(void);
/* Runs until nothing is due. */
void peers_net_run(void);
/* A peer sends a packet. */
void peers_net_post(struct peers_tx *tx);
/* The receiver sends one. */
void peers_net_answer(struct peers_packet packet);
/* A request is accepted when the thread has time. */
void peers_net_accept(uint32_t peer);
/* The process returns a receive to the device. */
void peers_net_repost(struct peers_rx *rx);
uint32_t peers_net_kept(void);
/* The process was busy for so many ns. */
void peers_net_spend(uint32_t ns);
uint32_t peers_any(uint32_t n);
void *peers_alloc(size_t count, size_t size);
/* Sets the timer unless it expires earlier; in us. */
void peers_timer(struct ofi_rdm_due *due, struct ofi_rdm_due_node *node, uint64_t us);
void peers_die(const char *what, uint32_t peer) __attribute__((noreturn));

static inline uint64_t peers_us(void)
{
	return peers.now / 1000;
}

/* The peers (peers_source.c). */
void peers_source_init(struct peers_source *source, uint32_t first, uint32_t sink_first);
void peers_source_timer(struct peers_source *source);
void peers_source_take(const struct peers_packet *packet);
/* The packet has left its host. */
void peers_tx_put(struct peers_tx *tx);
void peers_source_close(void);

/* The receiver (peers_sink.c). */
void peers_sink_open(void);
void peers_sink_close(void);
/* Returns true if the packet stays. */
bool peers_sink_take(struct peers_rx *rx, uint64_t polled);
void peers_sink_polled(void);
void peers_sink_timer(struct peers_awake *awake);
void peers_sink_accepted(uint32_t peer);
/* The connections that have nothing to do fall asleep. Returns how many stay awake. */
uint32_t peers_sink_rest(void);

extern const struct ofi_rdm_ack_params peers_ack_params;

#endif
