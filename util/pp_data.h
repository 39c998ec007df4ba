/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends a message and receives one back. */
#ifndef PP_DATA_H
#define PP_DATA_H

#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "pp_ep.h"

/* How long somebody has waited. Begins as zeros. */
struct pp_wait {
	unsigned int spins;
	time_t start;
	time_t gone; /* time when the peer was first seen to have ended; 0 before */
};

int pp_post_recv(struct pp_ep *ep);
/* Sends size bytes of the transmit buffer, which may be reused at return. */
int pp_tx(struct pp_ep *ep, size_t size);
/* Waits for a message of size bytes and posts the next receive. */
int pp_rx(struct pp_ep *ep, size_t size);
/* Tells the peer that this side is done and waits for the same message from it. */
int pp_finish(struct pp_ep *ep);

/* Each is one call of libfabric: an untagged or a tagged one. */
ssize_t pp_recv_once(struct pp_ep *ep, void *context);
ssize_t pp_inject_once(struct pp_ep *ep, size_t len);
ssize_t pp_send_once(struct pp_ep *ep, size_t len, void *context);
/* Reads the error of a queue and says what failed. */
int pp_cq_error(struct fid_cq *cq, const char *what);
/* Is called each time nothing has happened; fails if nothing can happen any more. */
int pp_wait_spin(struct pp_ep *ep, struct pp_wait *wait);

/* Fills in the message of one iteration, for -c. Iterations are counted across all sizes. */
int pp_fill(struct pp_ep *ep, size_t size, unsigned int iteration);
int pp_verify(const struct pp_ep *ep, size_t size, unsigned int iteration);

#endif
