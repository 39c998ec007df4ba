/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The completion queue of reliable-datagram endpoints: a ring of completions, and the list of
 * endpoints that a read makes progress on.
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
	bool waiting; /* a thread sleeps or is about to: completions signal it; atomic */

	/* Guards the list; keeps an endpoint open while it is polled. */
	struct ofi_lock eps_lock;
	LIST_HEAD(, ofi_rdm_cq_link) eps; /* an endpoint is there once */
	/* The only endpoint, if readers may poll it by themselves; else NULL. */
	struct ofi_rdm_ep *only;
	bool nolock; /* readers of `only` take no lock; constant */

	int vector; /* completion vector for the endpoints' queues */
	struct ofi_cq_slow slow;
	struct ofi_domain *domain;
	char text[128]; /* text of the error read last */
	void *sender;	/* sender address of the error read last; guarded by lock */
};

#define OFI_RDM_CQ_FROM (1ULL << 63) /* in the flags of a failed entry: `from` is set */

/* The address of an unknown sender, in the format in which an address vector takes it. */
struct ofi_rdm_sender {
	size_t len;
	uint8_t name[OFI_RDM_ADDR_NAME] __attribute__((aligned(8)));
};

/* Returns the sender address of a failed entry, or NULL. */
static inline struct ofi_rdm_sender *ofi_rdm_cq_sender(const struct ofi_cq_item *item)
{
	return item->err && item->flags & OFI_RDM_CQ_FROM
		       ? (struct ofi_rdm_sender *)(uintptr_t)item->from
		       : NULL;
}

/* Returns the completion vector of the endpoint's queue: the receive CQ's if there is one. */
static inline int ofi_rdm_vector(const struct ofi_rdm_ep *ep)
{
	const struct ofi_rdm_cq *cq = ep->rx_cq ? ep->rx_cq : ep->tx_cq;

	return cq ? cq->vector : 0;
}

/*
 * Opens a CQ. The transport supplies the ops tables, with and without locks, and the completion
 * vector of its queues.
 */
int ofi_rdm_cq_open(struct ofi_domain *domain, const struct fi_cq_attr *attr, int vector,
		    const struct fi_ops_cq *ops, const struct fi_ops_cq *nolock_ops,
		    struct fid_cq **cq, void *context);
/* Makes progress. Returns true if the ring then has entries. */
bool ofi_rdm_cq_ready(struct ofi_cq *cq);
/*
 * Attaches the endpoint: it completes into the CQ, and reading the CQ makes it progress. Returns 0
 * or -FI_E*.
 */
int ofi_rdm_cq_attach(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx);
/* Detaches the endpoint: reading the CQ no longer makes it progress. */
void ofi_rdm_cq_detach(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx);
/* Makes an endpoint that was attached with `tx` one of the other direction. */
void ofi_rdm_cq_turn(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx);
/* Called after an endpoint of the CQ has joined a collective group. */
void ofi_rdm_cq_renew(struct ofi_rdm_cq *cq);
/* Wakes threads that sleep on the CQ. */
void ofi_rdm_cq_wake(struct ofi_rdm_cq *cq);
/*
 * The slow path of fi_cq_read and fi_cq_readfrom if another thread polls the endpoints: reads the
 * ring. If the ring has entries and count is 0, polls all endpoints first.
 */
ssize_t ofi_rdm_cq_read_any(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/*
 * Reads the ring, after polling all endpoints if it is empty or count is 0. Called with
 * cq->eps_lock held and releases it.
 */
ssize_t ofi_rdm_cq_read_many(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/* Reads the ring without polling endpoints. */
ssize_t ofi_rdm_cq_read_ring(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src);
/*
 * Attaches the sender's address to a failed entry until the entry is read. Skipped when out of
 * memory.
 */
void ofi_rdm_cq_name_sender(struct ofi_cq_item *item, const struct ofi_rdm_addr *addr);
/*
 * Adds a completion, or a failure if item->err is not 0. The CQ takes over what the entry points
 * to.
 */
void ofi_rdm_cq_put(struct ofi_rdm_cq *cq, const struct ofi_cq_item *item);
/* The inline form of ofi_rdm_cq_put(). */
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
	 * A sleeper sets the flag before it locks the ring and checks it, so either it sees the
	 * completion or the flag is seen here.
	 */
	if (ofi_unlikely(__atomic_load_n(&cq->waiting, __ATOMIC_RELAXED)))
		ofi_rdm_cq_wake(cq);
}

/* The slots of the tables except read, readfrom and strerror. */
#define OFI_RDM_CQ_CALLS                                                                 \
	.readerr = ofi_cq_readerr, .sread = ofi_cq_sread, .sreadfrom = ofi_cq_sreadfrom, \
	.signal = ofi_cq_signal

#endif
