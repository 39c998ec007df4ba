/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reliability for transports that lose packets, above the numbers of seq.h. Both directions of one
 * peer: which packets that were sent have arrived, which are to be sent again and when, and what
 * the peer is to be told of those that it sent. It is a state machine: the caller gives the time,
 * in microseconds of any monotonic clock, and has the packets, each with a node in its buffer.
 *
 *   acknowledgement   the number that the receiver waits for, and a bit for each of the window
 *                     behind it that has come. It travels with every packet; alone it goes after
 *                     `every` packets or `delay`, at once when something is missing or came twice.
 *   transmissions     are numbered too, in `order`, and acknowledgements echo the newest that
 *                     came. So a packet that is sent again is never taken for its first copy: the
 *                     round trip is measured on both.
 *   fast retransmit   a packet is lost when one that was sent three transmissions later has come.
 *                     Where that was wrong, which the peer's count of doubles tells, the three
 *                     become six, and so on up to 48, until a timeout.
 *   timeout           as in RFC 6298: the smoothed round trip and four times its variation, and
 *                     the delay of acknowledgements; doubled with each timeout in a row.
 *   silence           a peer that has packets to acknowledge and is not heard of for so long is
 *                     given up, whatever was sent again meanwhile.
 *
 * A packet is complete as soon as it is acknowledged, by the number or by its bit: the receiver
 * keeps what it has said it has. Acknowledgements that are older than others say nothing new and do
 * no harm; those of packets that were not sent are a lie, and the caller ends with such a peer.
 * An idle peer has no timer. A packet that the device refuses to send may be counted as lost.
 */
#ifndef OFI_RDM_ACK_H
#define OFI_RDM_ACK_H

#include "seq.h"

#define OFI_RDM_ACK_NEVER UINT64_MAX

/* Of all peers. */
struct ofi_rdm_ack_params {
	uint32_t first;	  /* timeout while no round trip is measured */
	uint32_t min;	  /* of the timeout */
	uint32_t max;	  /* the same, with its doublings */
	uint32_t delay;	  /* how long an acknowledgement may wait */
	uint32_t every;	  /* for how many packets it waits */
	uint32_t silence; /* until the peer is given up */
};

/* What each packet says of those that came. */
struct ofi_rdm_ack_words {
	uint32_t next;	  /* the number that is to come next: all before it have */
	uint32_t echo;	  /* the newest transmission that came; 0: none */
	uint64_t early;	  /* bit i: next + i has come */
	uint16_t doubles; /* how many came twice, modulo 65536 */
};

/* In the buffer of a packet from ofi_rdm_ack_sent() until it is acknowledged. */
struct ofi_rdm_ack_node {
	struct ofi_rdm_ack_node *next;
	uint64_t sent;	 /* when it was last */
	uint32_t number; /* goes with the packet */
	uint32_t order;	 /* the transmission, goes with the packet */
	bool again;	 /* it was sent more than once */
};

struct ofi_rdm_ack {
	const struct ofi_rdm_ack_params *params;
	struct ofi_rdm_seq_out out;
	struct ofi_rdm_ack_node *first, *last; /* not acknowledged, in the order of numbers */
	uint64_t timer;			       /* timeout of the first */
	uint64_t heard;			       /* of the peer, or nothing was sent before */
	uint64_t owes;			       /* the acknowledgement that the peer is to have */
	uint32_t order;			       /* of the next transmission */
	uint32_t newest;		       /* that is known to have come */
	uint32_t srtt, rttvar;		       /* in eighths and quarters of a microsecond */
	uint32_t sent_again;		       /* since the last one was found to be needless */
	uint32_t echo;			       /* what the peer is told */
	uint16_t doubles;		       /* the same */
	uint16_t its_doubles;		       /* that the peer has told of */
	uint8_t unsaid;			       /* packets since the last acknowledgement */
	uint8_t backoff;		       /* timeouts in a row */
	uint8_t reorder;		       /* transmissions after which a packet is lost */
};

/* What an acknowledgement brought. */
struct ofi_rdm_ack_news {
	struct ofi_rdm_ack_node *done; /* a list by `next`: packets that are complete */
	uint32_t count;		       /* of them */
	uint32_t rtt;		       /* a round trip was measured; 0: none was */
};

enum ofi_rdm_ack_due {
	OFI_RDM_ACK_NOTHING,
	OFI_RDM_ACK_RESEND,  /* the packet of the node, since others behind it have come */
	OFI_RDM_ACK_TIMEOUT, /* the same, since nothing came in time */
	OFI_RDM_ACK_GIVE_UP, /* the peer was silent for too long */
};

/*
 * The first packet will have that number. For a new incarnation of either side too: what was not
 * acknowledged is the caller's, which takes it from `first` before.
 */
void ofi_rdm_ack_init(struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_params *params,
		      uint32_t first);

/* A new packet is sent now, for which ofi_rdm_seq_out_open(&ack->out) is true. */
void ofi_rdm_ack_sent(struct ofi_rdm_ack *ack, struct ofi_rdm_ack_node *node, uint64_t now);
/* Words that came. False: they can't be true; then nothing has changed. */
bool ofi_rdm_ack_take(struct ofi_rdm_ack *ack, const struct ofi_rdm_ack_words *words, uint64_t now,
		      struct ofi_rdm_ack_news *news);
/*
 * What is to be done now, to be asked until it is NOTHING. A packet that is to be sent again counts
 * as sent.
 */
enum ofi_rdm_ack_due ofi_rdm_ack_due(struct ofi_rdm_ack *ack, uint64_t now,
				     struct ofi_rdm_ack_node **node);

/*
 * A packet came by that transmission, and seq.h says DELIVER, KEEP or DUPLICATE of it; what could be
 * popped then was.
 */
void ofi_rdm_ack_arrived(struct ofi_rdm_ack *ack, const struct ofi_rdm_seq_in *in, uint32_t order,
			 enum ofi_rdm_seq_verdict verdict, uint64_t now);
/* The words for a packet that goes now, whatever it is. */
void ofi_rdm_ack_say(struct ofi_rdm_ack *ack, const struct ofi_rdm_seq_in *in,
		     struct ofi_rdm_ack_words *words);

/* A packet with nothing but the words is to go. */
static inline bool ofi_rdm_ack_is_owed(const struct ofi_rdm_ack *ack, uint64_t now)
{
	return ack->owes <= now;
}

/* When there is something to be done, if nothing happens before. */
uint64_t ofi_rdm_ack_next(const struct ofi_rdm_ack *ack);
/* The timeout now, in microseconds. */
uint64_t ofi_rdm_ack_timeout(const struct ofi_rdm_ack *ack);

#endif
