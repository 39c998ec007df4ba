/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Order for transports whose packets overtake each other, come twice, or come from a peer that has
 * restarted since. The sender numbers its packets to a peer, the receiver delivers each number once
 * and in order. It is a state machine without memory of its own: a packet that comes early stays in
 * the caller's buffer, linked by a node in it.
 *
 * Numbers are 32 bits and wrap around. A sender has at most OFI_RDM_SEQ_WINDOW numbers between its
 * oldest packet that has not arrived and its newest one, so the receiver keeps one packet less than
 * that at most, and drops what lies beyond: only a peer that breaks the rule sends it.
 *
 * Each packet names the incarnation of its sender. A receiver takes packets of one incarnation
 * only: those of the time before a restart are dropped however late they arrive. Which incarnation
 * that is, and the number that it begins with, the caller learns elsewhere (hello.h).
 *
 * A transport that is reliable needs nothing else: a packet has arrived when its work request is
 * complete, in whatever order they complete. One that loses packets adds ack.h.
 */
#ifndef OFI_RDM_SEQ_H
#define OFI_RDM_SEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OFI_RDM_SEQ_WINDOW = 64 };

/* Sender: the packets to one peer. */
struct ofi_rdm_seq_out {
	uint32_t oldest;  /* the first number that is not known to have arrived */
	uint32_t next;	  /* of the next packet */
	uint64_t arrived; /* bit i: oldest + i has; bit 0 is never set */
};

/* Receiver: in the buffer of a packet that is kept. */
struct ofi_rdm_seq_node {
	struct ofi_rdm_seq_node *next;
	uint32_t number;
};

/* Receiver: the packets of one peer. All 0: no incarnation is known yet, and nothing is taken. */
struct ofi_rdm_seq_in {
	uint32_t incarnation; /* of the peer, 0: none */
	uint32_t next;	      /* to be delivered next */
	uint64_t early;	      /* bit i: next + i is kept */
	struct ofi_rdm_seq_node *first, *last;
};

enum ofi_rdm_seq_verdict {
	OFI_RDM_SEQ_DELIVER,   /* it is the next; then ofi_rdm_seq_pop() */
	OFI_RDM_SEQ_KEEP,      /* it comes early: its node is linked, its buffer stays as it is */
	OFI_RDM_SEQ_DUPLICATE, /* it was delivered or is kept */
	OFI_RDM_SEQ_BEYOND,    /* an honest peer does not send it */
	OFI_RDM_SEQ_STRANGER,  /* it is of another incarnation */
};

/* How many numbers `to` comes after `from`, across the wrap-around; negative if it comes before. */
static inline int32_t ofi_rdm_seq_distance(uint32_t from, uint32_t to)
{
	return (int32_t)(to - from);
}

/* The first packet will have that number. */
void ofi_rdm_seq_out_init(struct ofi_rdm_seq_out *out, uint32_t first);
/* The number has arrived. False: it was not sent, or has arrived before. */
bool ofi_rdm_seq_out_arrived(struct ofi_rdm_seq_out *out, uint32_t number);

/* Packets whose numbers are less than a window apart from the oldest may be sent. */
static inline bool ofi_rdm_seq_out_open(const struct ofi_rdm_seq_out *out)
{
	return out->next - out->oldest < OFI_RDM_SEQ_WINDOW;
}

/* The number of the packet that is sent now; the window is open. */
static inline uint32_t ofi_rdm_seq_out_take(struct ofi_rdm_seq_out *out)
{
	return out->next++;
}

/* The number was sent and is not known to have arrived. */
bool ofi_rdm_seq_out_waits(const struct ofi_rdm_seq_out *out, uint32_t number);

/*
 * The peer has this incarnation, which is not 0, and begins with that number. What was kept of an
 * earlier one is the caller's again: a list by `next`, or NULL.
 */
struct ofi_rdm_seq_node *ofi_rdm_seq_begin(struct ofi_rdm_seq_in *in, uint32_t incarnation,
					   uint32_t first);
/* A packet with these words. Unless the verdict is KEEP, the node is not touched. */
enum ofi_rdm_seq_verdict ofi_rdm_seq_arrive(struct ofi_rdm_seq_in *in, uint32_t incarnation,
					    uint32_t number, struct ofi_rdm_seq_node *node);
/* After a delivery: the kept packet that is to be delivered now; NULL: it has not come. */
struct ofi_rdm_seq_node *ofi_rdm_seq_pop(struct ofi_rdm_seq_in *in);

#endif
