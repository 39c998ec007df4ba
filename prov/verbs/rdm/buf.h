/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The registered memory of an endpoint: bounce buffers for sending, and the buffers of the shared
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
SLIST_HEAD(vrb_rdm_chunks, vrb_rdm_chunk);

struct vrb_rdm_buf {
	struct ofi_rdm_bounce out; /* first */
	SLIST_ENTRY(vrb_rdm_buf) link;
};

/* A pool that grows by chunks up to a limit. The endpoint's lock guards it. */
struct vrb_rdm_pool {
	struct vrb_domain *domain;
	size_t size; /* size of a buffer */
	uint32_t count, limit;
	uint32_t spares; /* buffers held by queued operations */
	SLIST_HEAD(, vrb_rdm_buf) free;
	struct vrb_rdm_chunks chunks;
};

void vrb_rdm_pool_init(struct vrb_rdm_pool *pool, struct vrb_domain *domain, size_t size,
		       uint32_t limit);
void vrb_rdm_pool_fini(struct vrb_rdm_pool *pool);
/* Adds a chunk. Returns NULL at the limit, or when out of memory. */
struct vrb_rdm_buf *vrb_rdm_pool_grow(struct vrb_rdm_pool *pool);
/*
 * Registers the first buffers of an empty pool before receives and the application's regions can
 * take all memory that may be locked: without any buffer sends would wait forever. Returns 0 or
 * -FI_ENOMEM.
 */
int vrb_rdm_pool_reserve(struct vrb_rdm_pool *pool);

static inline struct vrb_rdm_buf *vrb_rdm_pool_get(struct vrb_rdm_pool *pool)
{
	struct vrb_rdm_buf *buf = SLIST_FIRST(&pool->free);

	if (ofi_unlikely(!buf))
		return vrb_rdm_pool_grow(pool);
	SLIST_REMOVE_HEAD(&pool->free, link);
	return buf;
}

/*
 * Returns a buffer for an operation that may wait in a queue with it; at least one is left for
 * sends.
 */
static inline struct vrb_rdm_buf *vrb_rdm_pool_get_spare(struct vrb_rdm_pool *pool)
{
	struct vrb_rdm_buf *buf = SLIST_FIRST(&pool->free);

	return buf && SLIST_NEXT(buf, link) ? vrb_rdm_pool_get(pool) : vrb_rdm_pool_grow(pool);
}

/*
 * Does the same for one of several peers. `own` is the number of buffers that the peer holds; it
 * may have as many as are left for the others, so peers that accept nothing leave room for those
 * that do.
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

/* Returns how many buffers vrb_rdm_pool_get_share() still grants, however many a peer holds. */
static inline size_t vrb_rdm_pool_left(const struct vrb_rdm_pool *pool)
{
	/* A chunk may exceed the limit. */
	size_t left = pool->limit > pool->count ? pool->limit - pool->count : 0, share = 0;
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
 * Bytes of a packet that fit in a small object: a header and the smallest of messages, or a request
 * with one region.
 */
#define VRB_RDM_SMALL_SIZE 80u
/* Set in the index of a small object. */
#define VRB_RDM_SMALL_BIT (1u << (OFI_RDM_PROTO_INDEX_BITS - 1))
/* A kept packet shorter than this is copied instead of holding its receive buffer. */
#define VRB_RDM_HOLD_MIN 2048u

struct vrb_rdm_rx_ring;

/*
 * A packet with the protocol's state for it. Its bytes are in a receive buffer, or in separate
 * memory.
 */
struct vrb_rdm_rx {
	struct ofi_rdm_proto_in in; /* first */
	struct vrb_rdm_rx_ring *ring;
	STAILQ_ENTRY(vrb_rdm_rx) early; /* in a connection's list of early packets */
	struct ibv_sge sge;		/* the memory of the bytes */
	uint32_t len;			/* length of the packet in it */
	bool held;			/* a receive buffer counted in ring->held */
	bool idle; /* a receive buffer in ring->free; valid only while they are scanned */
};

/* A receive buffer. */
struct vrb_rdm_rx_buf {
	struct vrb_rdm_rx rx; /* first */
	struct ibv_recv_wr wr;
};

/*
 * Holds a packet that is kept longer than its receive buffer: in bytes, or in `heap` if it is
 * longer.
 */
struct vrb_rdm_small {
	struct vrb_rdm_rx rx; /* first */
	SLIST_ENTRY(vrb_rdm_small) link;
	uint8_t *heap;
	uint8_t bytes[VRB_RDM_SMALL_SIZE];
};

/*
 * The buffers of the shared receive queue, which is kept full. No peer can empty it with messages
 * that nobody receives: kept packets are copied, except some long ones, which hold at most a
 * quarter of the buffers. Those buffers are replaced as far as memory can be registered. If the
 * queue could not be filled, it is filled when a buffer is returned, or by the timer. Receives that
 * a device has lost are replaced, at most as many as the queue has.
 */
struct vrb_rdm_rx_ring {
	struct vrb_domain *domain;
	struct ibv_srq *srq;
	size_t size;	  /* size of a buffer */
	uint32_t depth;	  /* depth of the queue */
	uint32_t reserve; /* buffers that are not posted, for packets from elsewhere */
	uint32_t low;	  /* the queue is refilled below this level */
	int32_t above;	  /* number of posted buffers above low */
	uint32_t count;	  /* number of all buffers */
	uint32_t held;	  /* number of buffers held by kept packets */
	bool doubt_again; /* check again after the current check of suspects */
	uint32_t missing; /* receives taken from the queue that never completed */
	uint64_t posts;
	/* Number of completions after which suspects are judged; 0: there are none. */
	uint64_t judge_at;
	/* Time in ms before which no more memory is registered; 0: none was refused. */
	uint64_t grow_at;
	struct vrb_rdm_rx_buf **rx; /* chunks, by index */
	uint32_t free_count;
	/* Unused buffers, linked so that they can be posted as one list. */
	struct ibv_recv_wr *free;
	struct vrb_rdm_chunks chunks;
	uint32_t small_count;
	struct vrb_rdm_small **small; /* chunks, by index without VRB_RDM_SMALL_BIT */
	SLIST_HEAD(, vrb_rdm_small) free_small;
};

/* The wr_id of a receive is its address with this bit, which addresses of slots do not have. */
#define VRB_RDM_RX_BIT 1u

/* Returns the packet of a receive with that wr_id. */
static inline struct vrb_rdm_rx *vrb_rdm_rx_at_id(uint64_t wr_id)
{
	return (struct vrb_rdm_rx *)(uintptr_t)(wr_id & ~(uint64_t)VRB_RDM_RX_BIT);
}

void vrb_rdm_rx_init(struct vrb_rdm_rx_ring *ring, struct vrb_domain *domain, size_t size,
		     uint32_t depth, uint32_t reserve);
/* Frees the buffers after the queue has been destroyed, or if there was none. */
void vrb_rdm_rx_fini(struct vrb_rdm_rx_ring *ring);
/*
 * Fills the queue, as far as memory permits. On -FI_E* the queue is empty or the device refused:
 * the caller must try again later, even if nothing completes.
 */
int vrb_rdm_rx_fill(struct vrb_rdm_rx_ring *ring);
/*
 * Keeps a packet of len bytes: returns the object that holds it from now on, with a copy of its
 * bytes but not of its protocol state. Returns NULL when out of memory; the packet then stays where
 * it was.
 */
struct vrb_rdm_rx *vrb_rdm_rx_keep(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx, size_t len);
/* Takes one of the reserved buffers, or another one that is not posted. Returns NULL if none is. */
struct vrb_rdm_rx *vrb_rdm_rx_take(struct vrb_rdm_rx_ring *ring);
struct vrb_rdm_rx *vrb_rdm_rx_at(const struct vrb_rdm_rx_ring *ring, uint32_t index);

/*
 * Called when a queue pair that may have taken receives from the queue has been destroyed and all
 * its completions have been seen. The queue is FIFO: receives that all later ones have overtaken
 * are lost, and others are posted in their place. The lost ones are not reposted, because the
 * device may still write to them.
 */
void vrb_rdm_rx_doubt(struct vrb_rdm_rx_ring *ring);

/* Adds a chunk of small objects. Returns NULL when out of memory. */
struct vrb_rdm_small *vrb_rdm_small_grow(struct vrb_rdm_rx_ring *ring);

static inline struct vrb_rdm_small *vrb_rdm_small_get(struct vrb_rdm_rx_ring *ring)
{
	struct vrb_rdm_small *small = SLIST_FIRST(&ring->free_small);

	if (ofi_unlikely(!small))
		return vrb_rdm_small_grow(ring);
	SLIST_REMOVE_HEAD(&ring->free_small, link);
	return small;
}

/* Adds a buffer to the unused ones. */
static inline void vrb_rdm_rx_reuse(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx)
{
	struct ibv_recv_wr *wr = &((struct vrb_rdm_rx_buf *)rx)->wr;

	wr->next = ring->free;
	ring->free = wr;
	ring->free_count++;
}

/* Frees a packet that was kept, or its buffer if it was not. */
void vrb_rdm_rx_put(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx);

#endif
