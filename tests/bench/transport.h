/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The same exchanges over a library and over raw verbs, with the same buffers, receives and
 * polling. One thread serves both ends, so that only the path of an operation is measured.
 */
#ifndef BENCH_TRANSPORT_H
#define BENCH_TRANSPORT_H

#include <stddef.h>
#include "lib.h"

#define WINDOW 64 /* messages in a burst */

struct transport {
	void *pair;
	/* Sends `count` messages there and back. */
	void (*pingpong)(void *pair, size_t size, int count);
	/* Posts the receives of a burst. */
	void (*ready)(void *pair, size_t size);
	/*
	 * Sends WINDOW messages one way, `batch` of them per doorbell, and reads all their
	 * completions.
	 */
	void (*burst)(void *pair, size_t size, int batch);
	/* Disconnects the two endpoints and connects new ones. */
	void (*reconnect)(void *pair);
	/* The same, if each knows only the other's address and port. */
	void (*reconnect_by_ip)(void *pair);
	/* Sends a message to an endpoint that the first one has not met. */
	void (*first)(void *pair, size_t size);
	/* Performs `count` writes, each after the completion of the previous one. */
	void (*write)(void *pair, size_t size, int count);
	void (*fetch_add)(void *pair, size_t size, int count);
};

void transport_open_fabric(struct transport *transport, const struct lib *lib, const char *address,
			   enum fi_threading threading);
/* For FI_EP_RDM; reconnect opens endpoints that have not met. Only it implements first. */
void transport_open_rdm(struct transport *transport, const struct lib *lib, const char *address,
			enum fi_threading threading);
/* The bytes are only copied: there is nothing but pingpong. */
void transport_open_memcpy(struct transport *transport);
void transport_open_raw(struct transport *transport, const char *address);

#endif
