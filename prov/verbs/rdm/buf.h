/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registered memory of an endpoint: bounce buffers to send from, and the buffers of the shared
 * receive queue.
 */
#ifndef VRB_RDM_BUF_H
#define VRB_RDM_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <infiniband/verbs.h>
#include "prov/rdm/proto.h"

struct vrb_domain;

struct vrb_rdm_chunk; /* private to buf.c */

struct vrb_rdm_buf {
	struct ofi_rdm_bounce out; /* first */
	SLIST_ENTRY(vrb_rdm_buf) link;
};

/* Grows by chunks up to a limit. The endpoint's lock guards it. */
struct vrb_rdm_pool {
	struct vrb_domain *domain;
	size_t size; /* bytes of a buffer */
	uint32_t count, limit;
	uint32_t spares; /* with what waits */
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

	if (ofi_unlikely(!buf))
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

/*
 * The same for one of several who wait, who has `own` of them and may have as many as are left for
 * others: peers that take nothing leave room for those that do.
 */
static inline struct vrb_rdm_buf *vrb_rdm_pool_get_share(struct vrb_rdm_pool *pool, uint32_t *own)
{
	struct vrb_rdm_buf *buf = NULL;

	if (*own + pool->spares < pool->limit)
		buf = vrb_rdm_pool_get_spare(pool);
	*own += buf != NULL;
	pool->spares += buf != NULL;
	return buf;
}

/* How many vrb_rdm_pool_get_share() gives at least, whatever the one who waits already has. */
static inline size_t vrb_rdm_pool_left(const struct vrb_rdm_pool *pool)
{
	size_t left = pool->limit - pool->count, share = 0;
	const struct vrb_rdm_buf *buf;

	SLIST_FOREACH (buf, &pool->free, link)
		left++;
	if (2 * pool->spares < pool->limit)
		share = (pool->limit - 2 * pool->spares + 1) / 2;
	return left > share ? share : left - (left > 0);
}

static inline void vrb_rdm_pool_put(struct vrb_rdm_pool *pool, struct vrb_rdm_buf *buf)
{
	SLIST_INSERT_HEAD(&pool->free, buf, link);
}

static inline void vrb_rdm_pool_put_share(struct vrb_rdm_pool *pool, struct vrb_rdm_buf *buf,
					  uint32_t *own)
{
	--*own;
	pool->spares--;
	vrb_rdm_pool_put(pool, buf);
}

/*
 * Bytes of a packet that a note has room for: a header and the smallest of messages, or a request
 * with one region.
 */
#define VRB_RDM_SMALL_SIZE 80u
/* Of the index of one of those. */
#define VRB_RDM_SMALL_BIT (1u << (OFI_RDM_PROTO_INDEX_BITS - 1))
/* A kept packet of fewer bytes is copied, rather than to hold its buffer. */
#define VRB_RDM_HOLD_MIN 2048u

struct vrb_rdm_rx_ring;

/*
 * A packet, and the protocol's note of it. Its bytes are in a receive buffer, or in memory of its
 * own.
 */
struct vrb_rdm_rx {
	struct ofi_rdm_proto_in in; /* first */
	struct vrb_rdm_rx_ring *ring;
	STAILQ_ENTRY(vrb_rdm_rx) early; /* of a connection */
	struct ibv_sge sge;		/* where the bytes are */
	uint32_t len;			/* of the packet there */
	bool held;			/* a receive buffer that is counted in ring->held */
	bool idle; /* while they are looked through: a receive buffer in ring->free */
};

/* A receive buffer. */
struct vrb_rdm_rx_buf {
	struct vrb_rdm_rx rx; /* first */
	struct ibv_recv_wr wr;
};

/*
 * A packet that is kept outlives its receive buffer in one of these: in bytes, or in `heap` when it
 * is longer.
 */
struct vrb_rdm_small {
	struct vrb_rdm_rx rx; /* first */
	SLIST_ENTRY(vrb_rdm_small) link;
	uint8_t *heap;
	uint8_t bytes[VRB_RDM_SMALL_SIZE];
};

/*
 * The shared receive queue is kept full. No peer can empty it by messages that nobody receives:
 * what is kept is copied, but for some long packets, which hold a quarter of the buffers at most.
 * Those are replaced as far as memory can be registered. When the queue could not be filled,
 * whoever gives a buffer back fills it, and so does the timer. Receives that a device lost are
 * replaced, at most as many as the queue has.
 */
struct vrb_rdm_rx_ring {
	struct vrb_domain *domain;
	struct ibv_srq *srq;
	size_t size;	  /* bytes of a buffer */
	uint32_t depth;	  /* of the queue */
	uint32_t low;	  /* with fewer in it, it is filled */
	int32_t above;	  /* how many more than low are in it */
	uint32_t count;	  /* all of them */
	uint32_t held;	  /* by kept packets */
	bool refused;	  /* no more could be registered; logged */
	bool doubt_again; /* when what is in doubt has been judged */
	uint32_t missing; /* taken from the queue, and never told of */
	uint64_t posts;
	uint64_t judge_at; /* completions, when what is in doubt is judged; 0: nothing is */
	struct vrb_rdm_rx_buf **rx; /* chunks, by index */
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
/*
 * Fills the queue, as far as there is memory. 0, or -FI_E* when it is empty or the device refused:
 * it is to be tried again, also if nothing happens.
 */
int vrb_rdm_rx_fill(struct vrb_rdm_rx_ring *ring);
/*
 * A packet of len bytes is to be kept: what it is kept in from now on, which has a copy of its
 * bytes and of none of its note. NULL when out of memory: the packet is where it was.
 */
struct vrb_rdm_rx *vrb_rdm_rx_keep(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx, size_t len);
struct vrb_rdm_rx *vrb_rdm_rx_at(const struct vrb_rdm_rx_ring *ring, uint32_t index);

/*
 * A queue pair was destroyed that may have taken receives from the queue, and all completions have
 * been seen. The queue is first in, first out: receives that are passed by all that were posted
 * later are missing, and others are posted in their place. They are not posted again themselves, as
 * a device may still write to them.
 */
void vrb_rdm_rx_doubt(struct vrb_rdm_rx_ring *ring);

/* Adds a chunk of small ones. NULL when out of memory. */
struct vrb_rdm_small *vrb_rdm_small_grow(struct vrb_rdm_rx_ring *ring);

static inline struct vrb_rdm_small *vrb_rdm_small_get(struct vrb_rdm_rx_ring *ring)
{
	struct vrb_rdm_small *small = SLIST_FIRST(&ring->free_small);

	if (ofi_unlikely(!small))
		return vrb_rdm_small_grow(ring);
	SLIST_REMOVE_HEAD(&ring->free_small, link);
	return small;
}

/* A buffer that was in the queue is not used any more. */
static inline void vrb_rdm_rx_reuse(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx)
{
	struct ibv_recv_wr *wr = &((struct vrb_rdm_rx_buf *)rx)->wr;

	wr->next = ring->free;
	ring->free = wr;
	ring->free_count++;
}

/* A packet that was, or may have been, kept is not used any more. */
void vrb_rdm_rx_put(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx);

#endif
