/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each two calls that FI_THREAD_SAFE allows at once, in threads of their own on the same objects:
 * all pairs of a table, a call with itself in four threads. That nothing hangs is seen here, all
 * else by the sanitizers.
 */
#ifndef THREAD_PAIRS_H
#define THREAD_PAIRS_H

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_trigger.h>
#include "check.h"

#define STAGE_BUF     65536
#define STAGE_WORKERS 4

/* What the threads share. */
struct stage {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq; /* of all endpoints */
	struct fid_cntr *cntr;
	struct fid_av *av;   /* NULL where endpoints are connected */
	struct fid_ep *srx;  /* of connected endpoints, or NULL */
	struct fid_stx *stx; /* where there are any */
	struct fid_poll *poll;
	struct fid_wait *wait;
	struct fid_cntr *wait_cntr; /* in the wait set */
	struct fid_ep *ep[2];	    /* the first sends to the second */
	fi_addr_t to;
	uint8_t *buf;
	struct fid_mr *mr;
	void *desc;
	uint64_t addr, key;		/* of buf */
	char name[128];			/* of the second */
	struct fid_mc *alone, *both[2]; /* groups of the second, and of the two */
};

/* What a thread has of its own. */
struct worker {
	struct stage *stage;
	unsigned int number;
	struct fid_eq *eq; /* of the connections it makes, and where it listens */
	struct fid_pep *pep;
	struct fi_info *aim;
	struct fi_deferred_work work; /* with one of these */
	struct fi_op_cntr op;
	struct fi_op_msg send;
};

typedef void call_fn(struct stage *stage, struct worker *worker);

struct call {
	const char *name;
	call_fn *run;
};

/*
 * Opens and closes all but the two endpoints and what they are found by. Hints have type, caps and
 * format.
 */
void stage_open(struct stage *stage, struct fi_info *hints, const char *node, size_t srx_size);
void stage_close(struct stage *stage);
/* An endpoint of the stage's queues, enabled. */
struct fid_ep *stage_ep(struct stage *stage, struct fi_info *info, struct fid_eq *eq);
/* Two connected ones, by the worker's own event queue. */
void stage_connect(struct stage *stage, struct worker *worker, struct fid_ep *ep[2]);
/* The same in two steps: a request of the endpoint that is opened, and the one that takes it. */
struct fi_info *stage_request(struct stage *stage, struct worker *worker, struct fid_ep **ep);
struct fid_ep *stage_answer(struct stage *stage, struct worker *worker, struct fi_info *request);
void worker_open(struct worker *worker, struct stage *stage, unsigned int number);
void worker_close(struct worker *worker);
/* All pairs of the calls; extra are those of the endpoints' type. */
void stage_run(struct stage *stage, const struct call *extra, size_t count);

/* A result that is good, or one of what threads may do to each other. */
void may_at(const char *file, int line, const char *call, ssize_t ret, int err);
#define MAY(call, err) may_at(__FILE__, __LINE__, #call, (call), (err))

/* The calls of all types (thread_calls.c), ended by one without name. */
extern const struct call stage_calls[];
call_fn call_rma_write, call_fetch_add, call_alias_life;
/* Of types that have what is called (thread_more.c). */
call_fn call_options, call_late_cntr, call_stx_life, call_queue_work, call_flush_work,
	call_trigger_send, call_mr_bind, call_join, call_barrier, call_broadcast;
/* The groups. */
void stage_join(struct stage *stage);
void stage_leave(struct stage *stage);

#endif
