/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The completion queue of reliable-datagram endpoints: what they completed, and the endpoints to
 * ask for more.
 */
#ifndef OFI_RDM_CQ_H
#define OFI_RDM_CQ_H

#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <rdma/fi_eq.h>
#include "prov/base/cq.h"
#include "prov/base/cq_ring.h"
#include "src/ds/lock.h"
#include "rdm.h"

struct ofi_rdm_cq {
	union {
		struct fid_cq fid;
		struct ofi_cq base;
	};
	struct ofi_lock lock; /* guards the ring */
	struct ofi_cq_ring ring;
	bool waiting; /* somebody sleeps, or is about to: a completion signals; atomic */

	struct ofi_lock
		eps_lock; /* guards the lists; an endpoint does not close while it is asked */
	LIST_HEAD(, ofi_rdm_ep) tx_eps, rx_eps; /* an endpoint is in one of them */
	struct ofi_rdm_ep *only;		/* the endpoint if there is one alone */
	bool nolock;				/* readers of `only` take no locks; constant */

	int vector; /* completion vector for the queues of its endpoints */
	struct ofi_cq_slow slow;
	struct ofi_domain *domain;
	char text[128]; /* of the last error read */
	void *sender;	/* the address that the last error read tells of; lock guards it */
};

#define OFI_RDM_CQ_FROM (1ULL << 63) /* in the flags of a failure in the ring: `from` is set */

/* The address that a failure tells of, or NULL. */
static inline void *ofi_rdm_cq_sender(const struct ofi_cq_item *item)
{
	return item->err && item->flags & OFI_RDM_CQ_FROM ? (void *)(uintptr_t)item->from : NULL;
}

/* Where the completions of the endpoint's one queue interrupt: at who receives, if there is one. */
static inline int ofi_rdm_vector(const struct ofi_rdm_ep *ep)
{
	const struct ofi_rdm_cq *cq = ep->rx_cq ? ep->rx_cq : ep->tx_cq;

	return cq ? cq->vector : 0;
}

/*
 * The tables are the transport's, for endpoints with locks and without; vector: the interrupt of
 * its queues.
 */
int ofi_rdm_cq_open(struct ofi_domain *domain, const struct fi_cq_attr *attr, int vector,
		    const struct fi_ops_cq *ops, const struct fi_ops_cq *nolock_ops,
		    struct fid_cq **cq, void *context);
/* To read nothing makes progress if it is empty. */
bool ofi_rdm_cq_ready(struct ofi_cq *cq);
/* The endpoint completes into the CQ, and is asked for progress when it is read. 0 or -FI_E*. */
int ofi_rdm_cq_attach(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx);
/* After this the CQ does not ask the endpoint any more. */
void ofi_rdm_cq_detach(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx);
/* An endpoint of it joined a group. */
void ofi_rdm_cq_renew(struct ofi_rdm_cq *cq);
/* Somebody sleeps: wakes them. */
void ofi_rdm_cq_wake(struct ofi_rdm_cq *cq);
/* Slow path of fi_cq_read and fi_cq_readfrom: what the ring has, else progress of all endpoints. */
ssize_t ofi_rdm_cq_read_any(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/*
 * With cq->eps_lock held, which is released: progress of all endpoints, and what the ring has then.
 */
ssize_t ofi_rdm_cq_read_many(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/* What the ring alone has. */
ssize_t ofi_rdm_cq_read_ring(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/*
 * A failure tells of the sender's address, as long as it is not read. Not if there is no memory for
 * that.
 */
void ofi_rdm_cq_name_sender(struct ofi_cq_item *item, const struct ofi_rdm_addr *addr);
/* Adds a completion. item->err is not 0: a failure. What it tells of is the CQ's. */
void ofi_rdm_cq_put(struct ofi_rdm_cq *cq, const struct ofi_cq_item *item);
/* ofi_rdm_cq_put() in line. */
static inline void ofi_rdm_cq_add(struct ofi_rdm_cq *cq, const struct ofi_cq_item *item)
{
	struct ofi_cq_item *next;

	ofi_lock(&cq->lock);
	next = ofi_cq_ring_next(&cq->ring);
	if (ofi_likely(next)) {
		*next = *item;
		ofi_cq_ring_push(&cq->ring);
	} else {
		free(ofi_rdm_cq_sender(item));
	}
	ofi_unlock(&cq->lock);
	/*
	 * A sleeper sets it before it takes the lock to look: it finds the completion, or is found
	 * here.
	 */
	if (ofi_unlikely(__atomic_load_n(&cq->waiting, __ATOMIC_RELAXED)))
		ofi_rdm_cq_wake(cq);
}

/* Slots of the tables but for read, readfrom and strerror. */
#define OFI_RDM_CQ_CALLS                                                                 \
	.readerr = ofi_cq_readerr, .sread = ofi_cq_sread, .sreadfrom = ofi_cq_sreadfrom, \
	.signal = ofi_cq_signal

#endif
