/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many endpoints of FI_EP_RDM send tagged messages to one, as fast as they can. Each message has
 * its sender, its number and a pattern.
 */
#ifndef INCAST_H
#define INCAST_H

#include "rdm_node.h"

struct incast {
	unsigned int senders;
	unsigned int each; /* messages of a sender */
	size_t len;	   /* of a message in bytes, 8 at least */
};

/* What the senders found. */
struct incast_report {
	uint64_t again; /* calls that returned -FI_EAGAIN */
};

/* What the receiver found, in us since it told the senders to begin. */
struct incast_times {
	uint64_t met;	      /* a message of each sender has arrived */
	uint64_t begun;	      /* the senders were told to send the rest */
	uint64_t first, last; /* a sender, all senders were done */
	uint64_t packets;     /* that the device has sent meanwhile */
};

/*
 * Opens these of the endpoints, sends a message of each to the name, and the others when the parent
 * says so.
 */
void incast_send(struct child *parent, const struct incast *incast, unsigned int from,
		 unsigned int to, const void *name);
/*
 * Receives everything, which arrives once and in order for each sender. `begin` is called twice: to
 * have the first messages sent, and the others.
 */
struct incast_times incast_receive(struct node *node, const struct incast *incast,
				   void (*begin)(void *arg), void *arg);
/* Prints the times; returns that of a message in us, but for the first of each sender. */
double incast_print(const struct incast *incast, const struct incast_times *times);

#endif
