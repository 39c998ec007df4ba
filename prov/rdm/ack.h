/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliability for transports that lose packets, on top of the sequence numbers of seq.h. For both
 * directions of one peer, it tracks which sent packets have arrived, which must be retransmitted
 * and when, and which acknowledgments the peer must get. It is a state machine: the caller supplies
 * the time, in microseconds of any monotonic clock, and owns the packets, each with a node in its
 * buffer.
 *
 *   acknowledgment    the number that the receiver expects next, and a bit for each later packet of
 *                     the window that has arrived. It travels with every packet; it is sent alone
 *                     after `every` packets or `delay`, or at once if a packet is missing or
 *                     duplicated.
 *   transmissions     are numbered, too, in `order`, and acknowledgments echo the newest one that
 *                     arrived. A retransmission is therefore never mistaken for the first copy, and
 *                     the round-trip time is measured on both.
 *   fast retransmit   a packet is lost when one that was sent `reorder` transmissions later has
 *                     arrived. If that was wrong, which the peer's count of duplicates reveals, the
 *                     number doubles, as long as it stays below the window, until a timeout.
 *   timeout           as in RFC 6298: the smoothed round-trip time plus four times its variation,
 *                     plus the delay of acknowledgments; doubled with each successive timeout.
 *                     Doubled timeouts are shortened by up to a half, each by a different part, so
 *                     that peers that lose packets together do not retransmit them together. The
 *                     doubling goes on while retransmissions turn out to be needless.
 *   silence           a peer that has packets to acknowledge and sends nothing for this time is
 *                     given up, whatever was retransmitted meanwhile.
 *
 * A packet is complete when it is acknowledged, by the number or by its bit: the receiver keeps
 * every packet that it has acknowledged. Acknowledgments that arrive late contain nothing new and
 * do no harm. Acknowledgments of packets that were never sent are invalid: the caller drops the
 * packets that carry them. An idle peer has no timer. A packet that the device refuses to send may
 * be treated as lost.
 */
#ifndef OFI_RDM_ACK_H
#define OFI_RDM_ACK_H

#include "seq.h"

#define OFI_RDM_ACK_NEVER UINT64_MAX

/* Parameters for all peers. */
struct ofi_rdm_ack_params {
	uint32_t first;	  /* timeout before a round-trip time is measured */
	uint32_t min;	  /* smallest timeout */
	uint32_t max;	  /* largest timeout, including doubling */
	uint32_t delay;	  /* how long an acknowledgment may be delayed */
	uint32_t every;	  /* number of packets after which it is sent */
	uint64_t silence; /* time after which the peer is given up */
	/* Transmissions after which a packet counts as lost, until that turns out to be wrong. */
	uint8_t reorder;
};

/* The acknowledgment that each packet carries. */
struct ofi_rdm_ack_words {
	uint32_t next;	  /* the number expected next: all earlier ones have arrived */
	uint32_t echo;	  /* the newest transmission that has arrived; 0 for none */
	uint64_t early;	  /* bit i: next + i has arrived */
	uint16_t doubles; /* number of duplicates, modulo 65536 */
	/* How many of the last packets before `next` are not handled yet; not used here. */
	uint8_t stalled;
};

/*
 * A node in the buffer of a packet, in use from ofi_rdm_ack_sent() until the packet is
 * acknowledged.
 */
struct ofi_rdm_ack_node {
	struct ofi_rdm_ack_node *next;
	uint64_t sent;	 /* time of the last transmission */
	uint32_t number; /* sequence number, sent with the packet */
	uint32_t order;	 /* number of the transmission, sent with the packet */
	bool again;	 /* it was retransmitted */
};

struct ofi_rdm_ack {
	const struct ofi_rdm_ack_params *params;
	/* Unacknowledged packets in the order of their numbers. */
	struct ofi_rdm_ack_node *first, *last;
	uint64_t timer; /* timeout of the first packet */
	/* Last packet from the peer, or first transmission after idling. */
	uint64_t last_arrival;
	uint64_t owes;	       /* deadline for the acknowledgment to be sent */
	uint32_t next;	       /* number of the next packet */
	uint32_t oldest;       /* the first unacknowledged number, or `next` */
	uint32_t order;	       /* number of the next transmission */
	uint32_t newest;       /* newest transmission known to have arrived */
	uint32_t srtt, rttvar; /* in eighths and quarters of a microsecond */
	/* Number of retransmissions since the last one that turned out to be unnecessary. */
	uint32_t sent_again;
	uint32_t echo;	      /* sent in acknowledgments */
	uint16_t doubles;     /* sent likewise */
	uint16_t its_doubles; /* count of duplicates that the peer has reported */
	uint8_t unacked;      /* packets since the last acknowledgment sent */
	uint8_t backoff;      /* successive timeouts */
	/* Transmissions after which a packet counts as lost. */
	uint8_t reorder;
};

/* The result of an acknowledgment. */
struct ofi_rdm_ack_news {
	struct ofi_rdm_ack_node *done; /* acknowledged packets, linked by `next` */
	uint32_t count;		       /* their number */
	uint32_t rtt;		       /* the measured round-trip time; 0 for none */
	bool needless;		       /* a packet was retransmitted although it had arrived */
};

enum ofi_rdm_ack_due {
	OFI_RDM_ACK_NOTHING,
	OFI_RDM_ACK_RESEND,  /* retransmit the node's packet, because later ones have arrived */
	OFI_RDM_ACK_TIMEOUT, /* the same, because nothing arrived in time */
	OFI_RDM_ACK_GIVE_UP, /* the peer was silent for too long */
};

/*
 * Initializes the state; the first packet gets the number `first`. Also called for a new
 * incarnation of either side, after the caller has taken the unacknowledged packets from
 * ack->first.
 */
void ofi_rdm_ack_init(struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_params *params,
		      uint32_t first);

/* Returns true if another packet fits in the window. */
static inline bool ofi_rdm_ack_is_open(const struct ofi_rdm_ack *ack)
{
	return ack->next - ack->oldest < OFI_RDM_SEQ_WINDOW;
}

/* Records a new packet, for which the window is open. */
void ofi_rdm_ack_sent(struct ofi_rdm_ack *ack, struct ofi_rdm_ack_node *node, uint64_t now);
/*
 * Processes a received acknowledgment. Returns false, without changing anything, if it is
 * impossible.
 */
bool ofi_rdm_ack_take(struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_words *words, uint64_t now,
		      struct ofi_rdm_ack_news *news);
/*
 * Returns what must be done now; called until it returns NOTHING or GIVE_UP. A packet to be
 * retransmitted counts as sent.
 */
enum ofi_rdm_ack_due ofi_rdm_ack_due(struct ofi_rdm_ack *ack, uint64_t now,
				     struct ofi_rdm_ack_node **node);

/*
 * Records a packet that arrived with the transmission number `order` and got the verdict DELIVER,
 * KEEP or DUPLICATE of seq.h. Called after everything that could be popped was popped.
 */
void ofi_rdm_ack_arrived(struct ofi_rdm_ack *ack, const struct ofi_rdm_seq_in *in, uint32_t order,
			 enum ofi_rdm_seq_verdict verdict, uint64_t now);
/* Fills in the acknowledgment for a packet that is sent now. */
void ofi_rdm_ack_fill(struct ofi_rdm_ack *ack, const struct ofi_rdm_seq_in *in,
		      struct ofi_rdm_ack_words *words);

/*
 * Restarts the time of the peer's silence: the peer is known to exist, although nothing from it has
 * arrived.
 */
static inline void ofi_rdm_ack_heard(struct ofi_rdm_ack *ack, uint64_t now)
{
	ack->last_arrival = now;
}

/* Returns true if an acknowledgment must be sent alone. */
static inline bool ofi_rdm_ack_is_owed(const struct ofi_rdm_ack *ack, uint64_t now)
{
	return ack->owes <= now;
}

/* Returns a part of the time, up to half of it, that differs for each value of `any`. */
static inline uint64_t ofi_rdm_ack_part(uint64_t time, uint32_t any)
{
	return time / 2 * (any * 0x85ebca6b >> 16) >> 16;
}

/* Returns the time of the next action if nothing happens before. */
uint64_t ofi_rdm_ack_next(const struct ofi_rdm_ack *ack);
/* Returns the current timeout in microseconds. */
uint64_t ofi_rdm_ack_timeout(const struct ofi_rdm_ack *ack);

#endif
