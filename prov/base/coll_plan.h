/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The part of one member in one collective operation: a list of steps. Sends and receives start in
 * order; a WAIT step completes all earlier ones. Each pair of members exchanges at most one message
 * per round.
 */
#ifndef OFI_COLL_PLAN_H
#define OFI_COLL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "reduce.h"
#include <rdma/fi_collective.h>

#define OFI_COLL_ROUND_BITS 13 /* enough for a ring, which takes two rounds per member */

enum ofi_coll_verb {
	OFI_COLL_SEND,	 /* sends len bytes of src to peer */
	OFI_COLL_RECV,	 /* receives len bytes from peer into dst */
	OFI_COLL_WAIT,	 /* waits for all earlier sends and receives */
	OFI_COLL_COPY,	 /* copies len bytes of src to dst */
	OFI_COLL_REDUCE, /* dst op= src for len elements */
};

struct ofi_coll_op;

struct ofi_coll_step {
	struct ofi_coll_op *owner; /* the step is the cookie of its transfer */
	enum ofi_coll_verb verb;
	uint16_t peer;
	uint16_t round;
	void *dst;
	const void *src;
	size_t len;
	bool active; /* in flight */
	bool done;   /* completed without an error */
};

struct ofi_coll_plan {
	struct ofi_coll_step *step;
	size_t count;
	size_t room;
	ofi_reduce_fn *reduce;
	uint8_t *scratch;
	int err; /* -FI_ENOMEM once an allocation has failed */
};

struct ofi_coll_shape {
	enum fi_collective_op kind;
	const void *buf;
	void *result;
	size_t count; /* number of elements */
	size_t bytes; /* size of `count` elements */
	size_t rank, size, root;
};

/*
 * Makes a plan. Returns 0, and the caller frees the plan; or -FI_ENOMEM with nothing to free. The
 * caller has set plan->reduce.
 */
int ofi_coll_plan_make(struct ofi_coll_plan *plan, const struct ofi_coll_shape *shape);
void ofi_coll_plan_free(struct ofi_coll_plan *plan);

/* Returns nonzero if the input or the output of the operation has one slice per member. */
int ofi_coll_sliced(enum fi_collective_op kind);

#endif
