/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Steps that most tests use at either end: receives, completions, and memory checks. */
#ifndef STEPS_H
#define STEPS_H

#include "fixture.h"

/* Reads the next completion, which must be a success, from a CQ with FI_CQ_FORMAT_TAGGED. */
void wait_comp(struct fid_cq *cq, struct fi_cq_tagged_entry *entry);
/* Reads the next completion, which must have this context. */
void wait_context(struct fid_cq *cq, void *context);
/* Reads the next completion, which must be an error. */
void wait_error(struct fid_cq *cq, struct fi_cq_err_entry *entry);
/* Checks that there is nothing to read, now and for some time. */
void no_comp(struct fid_cq *cq, int ms);
/*
 * Returns true, after a pause, if the call found no room: while (AGAIN(end, fi_send(...))). Other
 * failures end the test.
 */
bool again_at(const char *file, int line, const char *call, ssize_t ret, uint64_t end);
#define AGAIN(end, call) again_at(__FILE__, __LINE__, #call, (call), (end))

/* Binds another datagram endpoint of the end's domain to the end's address vector and queues. */
void bind_dgram(const struct end *end, struct fid_ep *ep);
/* Sends that endpoint, which is enabled, a datagram at its name. Returns the name. */
struct sockaddr_in reach_dgram(const struct end *end, struct fid_ep *ep);

/* Returns true for soft-RoCE, whose statuses are less precise than those of devices. */
bool on_soft_roce(const struct end *end);

/* A part of an end's buf, and the operation that uses it. */
struct part {
	size_t off, len;
	unsigned int seed;
	uint64_t context;
};

/* Steps with a struct part: */
step_fn post_recv;  /* posts a receive */
step_fn post_send;  /* sends the contents */
step_fn fill_part;  /* fills it according to the seed */
step_fn clear_part; /* clears it */
step_fn check_part; /* checks that it is filled according to the seed */
step_fn check_zero; /* checks that it is clear */
step_fn reap_recv;  /* reads a receive's completion and checks context, len and data */

/* Step with a struct fi_cq_tagged_entry: reads the next entry of rxcq. */
step_fn next_recv;
/* Step with an int: checks that no receive completes in so many ms. */
step_fn no_recv;
/* Step with a struct fi_cq_err_entry: reads the next error of rxcq. */
step_fn next_recv_error;

/* Shorthands for the steps above. */
void at_part(struct end *end, step_fn *step, size_t off, size_t len, unsigned int seed);

#endif
