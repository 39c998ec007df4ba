/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The completion queue of reliable-datagram endpoints: what they completed, and the endpoints to
 * ask for more.
 */
#ifndef VRB_RDM_CQ_H
#define VRB_RDM_CQ_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <rdma/fi_eq.h>
#include "prov/base/cq.h"
#include "prov/base/cq_ring.h"
#include "src/ds/lock.h"
#include "rdm.h"

struct vrb_rdm_cq {
	union {
		struct fid_cq fid;
		struct ofi_cq base;
	};
	struct ofi_lock lock; /* guards the ring */
	struct ofi_cq_ring ring;
	bool waiting; /* somebody sleeps, or is about to: a completion signals; atomic */

	struct ofi_lock
		eps_lock; /* guards the lists; an endpoint does not close while it is asked */
	LIST_HEAD(, vrb_rdm) tx_eps, rx_eps; /* an endpoint is in one of them */
	struct vrb_rdm *only;		     /* the endpoint if there is one alone */
	bool nolock;			     /* readers of `only` take no locks; constant */

	int vector; /* completion vector for the queues of its endpoints */
	struct ofi_cq_slow slow;
	struct vrb_domain *domain;
	char text[128]; /* of the last error read */
	void *sender;	/* the address that the last error read tells of; lock guards it */
};

#define VRB_RDM_CQ_FROM (1ULL << 63) /* in the flags of a failure in the ring: `from` is set */

/* The address that a failure tells of, or NULL. */
static inline void *vrb_rdm_cq_sender(const struct ofi_cq_item *item)
{
	return item->err && item->flags & VRB_RDM_CQ_FROM ? (void *)(uintptr_t)item->from : NULL;
}

/* Where the completions of the endpoint's one queue interrupt: at who receives, if there is one. */
static inline int vrb_rdm_vector(const struct vrb_rdm *ep)
{
	const struct vrb_rdm_cq *cq = ep->rx_cq ? ep->rx_cq : ep->tx_cq;

	return cq ? cq->vector : 0;
}

int vrb_rdm_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
		    void *context);
/* To read nothing makes progress if it is empty. */
bool vrb_rdm_cq_ready(struct ofi_cq *cq);
/* The endpoint completes into the CQ, and is asked for progress when it is read. 0 or -FI_E*. */
int vrb_rdm_cq_attach(struct vrb_rdm_cq *cq, struct vrb_rdm *ep, bool tx);
/* After this the CQ does not ask the endpoint any more. */
void vrb_rdm_cq_detach(struct vrb_rdm_cq *cq, struct vrb_rdm *ep, bool tx);
/* An endpoint of it joined a group. */
void vrb_rdm_cq_renew(struct vrb_rdm_cq *cq);
/* Somebody sleeps: wakes them. */
void vrb_rdm_cq_wake(struct vrb_rdm_cq *cq);
/* fi_cq_read and fi_cq_readfrom (read.c), and the same without locks. */
ssize_t vrb_rdm_cq_read(struct fid_cq *cq, void *buf, size_t count);
ssize_t vrb_rdm_cq_readfrom(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src);
ssize_t vrb_rdm_cq_read_nolock(struct fid_cq *cq, void *buf, size_t count);
ssize_t vrb_rdm_cq_readfrom_nolock(struct fid_cq *cq, void *buf, size_t count, fi_addr_t *src);
/*
 * With cq->eps_lock held, which is released: progress of all endpoints, and what the ring has then.
 */
ssize_t vrb_rdm_cq_read_many(struct vrb_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/* What the ring alone has. */
ssize_t vrb_rdm_cq_read_ring(struct vrb_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/*
 * A failure tells of the sender's address, as long as it is not read. Not if there is no memory for
 * that.
 */
void vrb_rdm_cq_name_sender(struct ofi_cq_item *item, const struct vrb_rdm_addr *addr);
/* Adds a completion. item->err is not 0: a failure. What it tells of is the CQ's. */
void vrb_rdm_cq_put(struct vrb_rdm_cq *cq, const struct ofi_cq_item *item);
/* vrb_rdm_cq_put() in line. */
static inline void vrb_rdm_cq_add(struct vrb_rdm_cq *cq, const struct ofi_cq_item *item)
{
	struct ofi_cq_item *next;

	ofi_lock(&cq->lock);
	next = ofi_cq_ring_next(&cq->ring);
	if (ofi_likely(next)) {
		*next = *item;
		ofi_cq_ring_push(&cq->ring);
	} else {
		free(vrb_rdm_cq_sender(item));
	}
	ofi_unlock(&cq->lock);
	/*
	 * A sleeper sets it before it takes the lock to look: it finds the completion, or is found
	 * here.
	 */
	if (ofi_unlikely(__atomic_load_n(&cq->waiting, __ATOMIC_RELAXED)))
		vrb_rdm_cq_wake(cq);
}

#endif
