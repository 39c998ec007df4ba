/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The stream of --rate: the client sends, the server acknowledges each half window. So the server
 * has a receive for every message, also where the network does not hold the sender back.
 */
#ifndef PP_STREAM_H
#define PP_STREAM_H

#include <stddef.h>

#include "pp_data.h"
#include "pp_ep.h"

struct pp_stream {
	struct pp_ep *ep;
	unsigned int room;   /* receives that are posted, and contexts for sends */
	unsigned int window; /* messages that may be sent and not acknowledged; at most `room` */
	unsigned int arrived;
	unsigned int idle_count;
	struct fi_context2 **idle;    /* the contexts of sends that are not in use */
	struct fi_context2 *contexts; /* `room` for sends, then those for receives */
	struct pp_wait wait;
};

/* Posts receives, with the one that the endpoint has as many as the window that it can have. */
int pp_stream_open(struct pp_stream *stream, struct pp_ep *ep);
/* Accepts a stream that is not open. */
void pp_stream_close(struct pp_stream *stream);
/*
 * Sends or receives count messages, in windows of stream->window. On the client they have all
 * arrived at return.
 */
int pp_stream_run(struct pp_stream *stream, size_t size, unsigned int count);

#endif
