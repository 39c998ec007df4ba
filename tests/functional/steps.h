/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What most tests do at either end: receives, completions, and looking at memory. */
#ifndef STEPS_H
#define STEPS_H

#include "fixture.h"

/* The next completion, which must be a success; the CQ's format is FI_CQ_FORMAT_TAGGED. */
void wait_comp(struct fid_cq *cq, struct fi_cq_tagged_entry *entry);
/* The next completion, whose context must be this one. */
void wait_context(struct fid_cq *cq, void *context);
/* The next completion, which must be an error. */
void wait_error(struct fid_cq *cq, struct fi_cq_err_entry *entry);
/* That there is nothing to read, now and for some time. */
void no_comp(struct fid_cq *cq, int ms);
/*
 * True when the call found no room, after a pause: while (AGAIN(end, fi_send(...))). Other failures
 * end the test.
 */
bool again_at(const char *file, int line, const char *call, ssize_t ret, uint64_t end);
#define AGAIN(end, call) again_at(__FILE__, __LINE__, #call, (call), (end))

/* Its statuses are less exact than those of a device. */
bool on_soft_roce(const struct end *end);

/* A part of an end's buf, and the operation it is for. */
struct part {
	size_t off, len;
	unsigned int seed;
	uint64_t context;
};

/* Steps with a struct part. */
step_fn post_recv;  /* a receive */
step_fn post_send;  /* a send of what is there */
step_fn fill_part;  /* fills by seed */
step_fn clear_part; /* with zeros */
step_fn check_part; /* that it was filled by seed */
step_fn check_zero; /* that it is still cleared */
step_fn reap_recv;  /* reads a receive's completion: context and len must be those, and the data */

/* Step with a struct fi_cq_tagged_entry: the next of rxcq. */
step_fn next_recv;
/* Step with an int: that no receive completes in so many ms. */
step_fn no_recv;
/* Step with a struct fi_cq_err_entry: the next of rxcq. */
step_fn next_recv_error;

/* Shorthands for the steps above. */
void at_part(struct end *end, step_fn *step, size_t off, size_t len, unsigned int seed);

#endif
