/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ordering for transports whose packets overtake each other or are duplicated. The sender numbers
 * its packets to a peer; the receiver delivers each number once and in order. It is a state machine
 * without memory of its own: a packet that arrives early stays in the caller's buffer, linked by a
 * node in it.
 *
 * Numbers have 32 bits and wrap around. A sender has at most OFI_RDM_SEQ_WINDOW numbers between its
 * oldest packet that has not arrived and its newest one. The receiver therefore keeps at most one
 * packet less than that, and drops what is beyond, which only a peer that violates the protocol
 * sends.
 *
 * The caller passes on packets of one connection only: it drops those from before a restart of the
 * peer, however late they arrive. It learns the number that the connection begins with by other
 * means.
 *
 * This is the receiver's side. A sender on a reliable transport only counts: a packet has arrived
 * when its work request completes, in whatever order they complete. For a transport that loses
 * packets, ack.h has the sender's side.
 */
#ifndef OFI_RDM_SEQ_H
#define OFI_RDM_SEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { OFI_RDM_SEQ_WINDOW = 64 };

/* The receiver's node in the buffer of a packet that is kept. */
struct ofi_rdm_seq_node {
	struct ofi_rdm_seq_node *next;
	uint32_t number;
};

/* The receiver's side: the packets of one connection. */
struct ofi_rdm_seq_in {
	uint32_t next;	/* number to be delivered next */
	uint64_t early; /* bit i: next + i is kept */
	struct ofi_rdm_seq_node *first, *last;
};

enum ofi_rdm_seq_verdict {
	OFI_RDM_SEQ_DELIVER,   /* it is the next one; ofi_rdm_seq_pop() follows */
	OFI_RDM_SEQ_KEEP,      /* it is early: its node is linked, and its buffer must stay */
	OFI_RDM_SEQ_DUPLICATE, /* it was delivered, or is kept already */
	OFI_RDM_SEQ_BEYOND,    /* it is invalid: an honest peer does not send it */
};

/*
 * Returns how many numbers `to` comes after `from`, with wrap-around; negative if it comes before.
 */
static inline int32_t ofi_rdm_seq_distance(uint32_t from, uint32_t to)
{
	return (int32_t)(to - from);
}

/*
 * Starts a connection, whose first packet has the number `first`. Returns the kept packets of an
 * earlier one, linked by `next`, or NULL.
 */
struct ofi_rdm_seq_node *ofi_rdm_seq_begin(struct ofi_rdm_seq_in *in, uint32_t first);
/* Classifies a packet. Unless the result is KEEP, the node is not used. */
enum ofi_rdm_seq_verdict ofi_rdm_seq_arrive(struct ofi_rdm_seq_in *in, uint32_t number,
					    struct ofi_rdm_seq_node *node);
/*
 * Called after a delivery: returns the kept packet to be delivered next, or NULL if it has not
 * arrived.
 */
struct ofi_rdm_seq_node *ofi_rdm_seq_pop(struct ofi_rdm_seq_in *in);

#endif
