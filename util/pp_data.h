/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sends a message and receives one back. */
#ifndef PP_DATA_H
#define PP_DATA_H

#include <stddef.h>

#include "pp_ep.h"

int pp_post_recv(struct pp_ep *ep);
/* Sends size bytes of the transmit buffer, which may be reused at return. */
int pp_tx(struct pp_ep *ep, size_t size);
/* Waits for a message of size bytes and posts the next receive. */
int pp_rx(struct pp_ep *ep, size_t size);
/* Tells the peer that this side is done and waits for the same message from it. */
int pp_finish(struct pp_ep *ep);

/* Fills in the message of one iteration, for -c. Iterations are counted across all sizes. */
void pp_fill(struct pp_ep *ep, size_t size, unsigned int iteration);
int pp_verify(const struct pp_ep *ep, size_t size, unsigned int iteration);

#endif
