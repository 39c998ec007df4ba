/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory of an endpoint: bounce buffers to send from, and the buffers of the shared receive queue. */
#ifndef VRB_RDM_BUF_H
#define VRB_RDM_BUF_H

#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "proto.h"

struct vrb_domain;

struct vrb_rdm_chunk; /* private to buf.c */

struct vrb_rdm_buf {
	SLIST_ENTRY(vrb_rdm_buf) link;
	uint32_t lkey;
	uint8_t *data;
};

/* Grows by chunks up to a limit. The endpoint's lock guards it. */
struct vrb_rdm_pool {
	struct vrb_domain *domain;
	size_t size; /* bytes of a buffer */
	uint32_t count, limit;
	SLIST_HEAD(, vrb_rdm_buf) free;
	SLIST_HEAD(, vrb_rdm_chunk) chunks;
};

void vrb_rdm_pool_init(struct vrb_rdm_pool *pool, struct vrb_domain *domain, size_t size,
		       uint32_t limit);
void vrb_rdm_pool_fini(struct vrb_rdm_pool *pool);
/* Adds a chunk. NULL at the limit, or when out of memory. */
struct vrb_rdm_buf *vrb_rdm_pool_grow(struct vrb_rdm_pool *pool);

static inline struct vrb_rdm_buf *vrb_rdm_pool_get(struct vrb_rdm_pool *pool)
{
	struct vrb_rdm_buf *buf = SLIST_FIRST(&pool->free);

	if (__builtin_expect(!buf, 0))
		return vrb_rdm_pool_grow(pool);
	SLIST_REMOVE_HEAD(&pool->free, link);
	return buf;
}

/* For what may wait in a queue with it: one is left for what is sent. */
static inline struct vrb_rdm_buf *vrb_rdm_pool_get_spare(struct vrb_rdm_pool *pool)
{
	struct vrb_rdm_buf *buf = SLIST_FIRST(&pool->free);

	return buf && SLIST_NEXT(buf, link) ? vrb_rdm_pool_get(pool) : vrb_rdm_pool_grow(pool);
}

static inline void vrb_rdm_pool_put(struct vrb_rdm_pool *pool, struct vrb_rdm_buf *buf)
{
	SLIST_INSERT_HEAD(&pool->free, buf, link);
}

#define VRB_RDM_SMALL_SIZE 192u
/* Of the index of one of those. */
#define VRB_RDM_SMALL_BIT (1u << (VRB_PROTO_INDEX_BITS - 1))

struct vrb_rdm_rx_ring;

/* A receive buffer; it carries the protocol's note of the packet in it. */
struct vrb_rdm_rx {
	struct vrb_proto_in in; /* first */
	struct ibv_recv_wr wr;
	struct ibv_sge sge;
	struct vrb_rdm_rx_ring *ring;
	STAILQ_ENTRY(vrb_rdm_rx) early; /* of a connection */
	uint32_t len;			/* of the packet there */
};

/* A packet of few bytes that is kept outlives its receive buffer in one of these. */
struct vrb_rdm_small {
	struct vrb_rdm_rx rx; /* first */
	SLIST_ENTRY(vrb_rdm_small) link;
	uint8_t bytes[VRB_RDM_SMALL_SIZE];
};

/*
 * The shared receive queue is kept full. A buffer that holds an unexpected message is replaced, so there are
 * more of them than the queue holds; the protocol's budget bounds how many.
 */
struct vrb_rdm_rx_ring {
	struct vrb_domain *domain;
	struct ibv_srq *srq;
	size_t size;		/* bytes of a buffer */
	uint32_t depth;		/* of the queue */
	uint32_t low;		/* with fewer in it, it is filled */
	int32_t above;		/* how many more than low are in it */
	uint32_t count;		/* all of them */
	struct vrb_rdm_rx **rx; /* chunks, by index */
	uint32_t free_count;
	struct ibv_recv_wr *free; /* of unused buffers, ready to be posted as one list */
	SLIST_HEAD(, vrb_rdm_chunk) chunks;
	uint32_t small_count;
	struct vrb_rdm_small **small; /* chunks, by index without VRB_RDM_SMALL_BIT */
	SLIST_HEAD(, vrb_rdm_small) free_small;
};

/* wr_id of a receive: its address with this bit, which slots don't have. */
#define VRB_RDM_RX_BIT 1u

void vrb_rdm_rx_init(struct vrb_rdm_rx_ring *ring, struct vrb_domain *domain, size_t size,
		     uint32_t depth);
/* The queue is destroyed, or there was none. */
void vrb_rdm_rx_fini(struct vrb_rdm_rx_ring *ring);
/* Fills the queue, as far as there is memory. 0 or -FI_E* when it is empty. */
int vrb_rdm_rx_fill(struct vrb_rdm_rx_ring *ring);
struct vrb_rdm_rx *vrb_rdm_rx_at(const struct vrb_rdm_rx_ring *ring, uint32_t index);

/* Adds a chunk of small ones. NULL when out of memory. */
struct vrb_rdm_small *vrb_rdm_small_grow(struct vrb_rdm_rx_ring *ring);

static inline struct vrb_rdm_small *vrb_rdm_small_get(struct vrb_rdm_rx_ring *ring)
{
	struct vrb_rdm_small *small = SLIST_FIRST(&ring->free_small);

	if (__builtin_expect(!small, 0))
		return vrb_rdm_small_grow(ring);
	SLIST_REMOVE_HEAD(&ring->free_small, link);
	return small;
}

/* A buffer that was in the queue is not used any more. */
static inline void vrb_rdm_rx_reuse(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx)
{
	rx->wr.next = ring->free;
	ring->free = &rx->wr;
	ring->free_count++;
}

/* A buffer, or a small one, is not used any more. */
static inline void vrb_rdm_rx_put(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx)
{
	if (__builtin_expect(rx->in.index & VRB_RDM_SMALL_BIT, 0)) {
		SLIST_INSERT_HEAD(&ring->free_small, (struct vrb_rdm_small *)rx, link);
		return;
	}
	vrb_rdm_rx_reuse(ring, rx);
}

#endif
