/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The completion queue object: one ibv_cq, polled in batches straight into the application's entries. */
#ifndef VRB_CQ_H
#define VRB_CQ_H

#include <stdbool.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include <rdma/fi_eq.h>
#include <ofi/lock.h>
#include <ofi/ref.h>
#include "domain.h"
#include "wc.h"
#include "wq.h"

#define VRB_CQ_BUNCH_MAX 32

struct vrb_cq {
	struct fid_cq fid;
	struct ofi_lock lock; /* guards polling: what follows up to the next remark */
	bool locked;	      /* the domain's threading asks for the lock; constant */
	int bunch;	      /* completions taken from the device at once; constant */
	struct ibv_cq *ibv;
	/* Completions taken from the device and not yet handed out: an error and what came behind it. */
	uint32_t stash_first, stash_count;
	struct ibv_wc stash[VRB_CQ_BUNCH_MAX];
	int lost; /* queues with work requests that only the library can complete; atomic */
	LIST_HEAD(, vrb_wq) wqs;
	LIST_HEAD(, vrb_wq) closed; /* kept until the device can't mention them any more */
	struct vrb_wc_detail detail; /* err_data of the last error read */

	/* Credits, under domain->lock. */
	uint32_t capacity, reserved;
	bool shared; /* all is reserved, the rest is in the pool */
	int pool;    /* entries shared by queues that could not reserve their own; atomic */

	/* Set at open. */
	enum fi_cq_format format;
	enum fi_wait_obj wait_obj;
	enum fi_cq_wait_cond wait_cond;
	struct ibv_comp_channel *channel; /* NULL where there is nothing to wait on */
	int signal_fd, epfd;		  /* fi_cq_signal, and the descriptor of FI_GETWAIT */
	bool signalled;			  /* fi_cq_signal of FI_WAIT_YIELD; atomic */
	unsigned int unacked;		  /* channel events not yet acknowledged; under lock */
	struct vrb_domain *domain;
	struct ofi_ref ref; /* endpoints */
	LIST_ENTRY(vrb_cq) siblings;
};

static inline struct vrb_cq *vrb_cq(struct fid_cq *fid)
{
	return (struct vrb_cq *)fid;
}

int vrb_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq, void *context);
/* -FI_SUCCESS when armed and empty: the caller may sleep; -FI_EAGAIN when there is something to read. */
int vrb_cq_trywait(struct vrb_cq *cq);

/* Makes room for a queue's completions, by growing the CQ or, failing that, by sharing its pool. 0 or -FI_ENOSPC. */
int vrb_cq_attach(struct vrb_cq *cq, struct vrb_wq *wq, uint32_t size);
/* The queue's endpoint closes, its queue pair is destroyed: the CQ drops what still completes, and frees the queue. */
void vrb_cq_detach(struct vrb_cq *cq, struct vrb_wq *wq, uint32_t size);
/* The device completes nothing more for the queue: the CQ reports what is outstanding as flushed. */
void vrb_cq_lose(struct vrb_wq *wq);
/* Takes up to want completions, with the lock held, where there is a stash or a lost queue. */
int vrb_cq_take_rare(struct vrb_cq *cq, struct ibv_wc *wc, int want);
/* Puts n completions, just taken, back in front of the stash. */
void vrb_cq_untake(struct vrb_cq *cq, const struct ibv_wc *wc, int n);
/* Frees the queues of closed endpoints: nothing the device said earlier is left unread. */
void vrb_cq_reap(struct vrb_cq *cq);

/* fi_cq_read and the like, by format (cq_read.c); ready to use after vrb_cq_ops_init(). */
extern struct fi_ops_cq vrb_cq_ops[FI_CQ_FORMAT_TAGGED + 1];
ssize_t vrb_cq_readerr(struct fid_cq *cq, struct fi_cq_err_entry *entry, uint64_t flags);
const char *vrb_cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf, size_t len);
/* Blocking reads and their wait objects (cq_wait.c). */
int vrb_cq_wait_open(struct vrb_cq *cq, const struct fi_cq_attr *attr);
void vrb_cq_wait_close(struct vrb_cq *cq);
int vrb_cq_signal(struct fid_cq *cq);
ssize_t vrb_cq_sread(struct fid_cq *cq, void *buf, size_t count, const void *cond, int timeout);
ssize_t vrb_cq_sreadfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src, const void *cond, int timeout);
int vrb_cq_control(struct fid *fid, int command, void *arg);

static inline void vrb_cq_lock(struct vrb_cq *cq)
{
	if (cq->locked)
		ofi_lock(&cq->lock);
}

static inline void vrb_cq_unlock(struct vrb_cq *cq)
{
	if (cq->locked)
		ofi_unlock(&cq->lock);
}

#endif
