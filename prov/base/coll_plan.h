/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What one member does in one collective operation: a list of steps. Sends and receives are begun
 * in order; a wait lets those before it end. Each pair of members exchanges at most one message per
 * round.
 */
#ifndef OFI_COLL_PLAN_H
#define OFI_COLL_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "reduce.h"
#include <rdma/fi_collective.h>

#define OFI_COLL_ROUND_BITS 13 /* a ring takes two rounds per member */

enum ofi_coll_verb {
	OFI_COLL_SEND,	 /* len bytes of src to peer */
	OFI_COLL_RECV,	 /* len bytes from peer to dst */
	OFI_COLL_WAIT,	 /* for all sends and receives before */
	OFI_COLL_COPY,	 /* len bytes of src to dst */
	OFI_COLL_REDUCE, /* dst op= src, len elements */
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
	bool active; /* its completion is to come */
};

struct ofi_coll_plan {
	struct ofi_coll_step *step;
	size_t count;
	size_t room;
	ofi_reduce_fn *reduce;
	uint8_t *scratch;
	int err; /* sticks: -FI_ENOMEM */
};

struct ofi_coll_shape {
	enum fi_collective_op kind;
	const void *buf;
	void *result;
	size_t count; /* elements */
	size_t bytes; /* of count elements */
	size_t rank, size, root;
};

/* 0 with a plan to be freed, or -FI_ENOMEM with one that needn't be. plan->reduce is set before. */
int ofi_coll_plan_make(struct ofi_coll_plan *plan, const struct ofi_coll_shape *shape);
void ofi_coll_plan_free(struct ofi_coll_plan *plan);

/* Whether the operation has an array of one slice per member, at the input or the output. */
int ofi_coll_sliced(enum fi_collective_op kind);

#endif
