/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every two calls that FI_THREAD_SAFE allows at the same time, in separate threads on the same
 * objects: all pairs of a table, and each call with itself in four threads. This program detects
 * hangs; the sanitizers detect everything else.
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

/* Shared by the threads. */
struct stage {
	struct fi_info *info;
	struct fid_fabric *fabric;
	struct fid_domain *domain;
	struct fid_eq *eq;
	struct fid_cq *cq; /* for all endpoints */
	struct fid_cntr *cntr;
	struct fid_av *av;   /* NULL if endpoints are connected */
	struct fid_ep *srx;  /* for connected endpoints, or NULL */
	struct fid_stx *stx; /* if there are any */
	struct fid_poll *poll;
	struct fid_wait *wait;
	struct fid_cntr *wait_cntr; /* in the wait set */
	struct fid_ep *ep[2];	    /* the first sends to the second */
	fi_addr_t to;
	uint8_t *buf;
	struct fid_mr *mr;
	void *desc;
	uint64_t addr, key;		/* of buf */
	char name[128];			/* of the second endpoint */
	struct fid_mc *alone, *both[2]; /* groups of the second endpoint, and of both */
};

/* Private to a thread. */
struct worker {
	struct stage *stage;
	unsigned int number;
	struct fid_eq *eq; /* for the connections it makes, and their address */
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
 * Open and close everything except the two endpoints and their addresses. The hints contain type,
 * caps and format.
 */
void stage_open(struct stage *stage, struct fi_info *hints, const char *node, size_t srx_size);
void stage_close(struct stage *stage);
/* Returns an enabled endpoint on the stage's queues. */
struct fid_ep *stage_ep(struct stage *stage, struct fi_info *info, struct fid_eq *eq);
/* Opens two connected endpoints, using the worker's own event queue. */
void stage_connect(struct stage *stage, struct worker *worker, struct fid_ep *ep[2]);
/*
 * The same in two steps: an endpoint that is opened and sends a request, and one that accepts it.
 */
struct fi_info *stage_request(struct stage *stage, struct worker *worker, struct fid_ep **ep);
struct fid_ep *stage_answer(struct stage *stage, struct worker *worker, struct fi_info *request);
void worker_open(struct worker *worker, struct stage *stage, unsigned int number);
void worker_close(struct worker *worker);
/* Runs all pairs of the calls; `extra` are those for the type of endpoint. */
void stage_run(struct stage *stage, const struct call *extra, size_t count);

/* Accepts a good result, or one that concurrent threads may cause. */
void may_at(const char *file, int line, const char *call, ssize_t ret, int err);
#define MAY(call, err) may_at(__FILE__, __LINE__, #call, (call), (err))

/* The calls for all types (thread_calls.c), terminated by one without a name. */
extern const struct call stage_calls[];
call_fn call_rma_write, call_fetch_add, call_alias_life;
/* Calls for some types (thread_more.c). */
call_fn call_options, call_late_cntr, call_stx_life, call_queue_work, call_flush_work,
	call_trigger_send, call_mr_bind, call_join, call_barrier, call_broadcast;
/* Multicast groups. */
void stage_join(struct stage *stage);
void stage_leave(struct stage *stage);

#endif
