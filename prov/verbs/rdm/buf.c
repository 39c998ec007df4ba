/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registered memory, allocated in chunks. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "buf.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/provider/prov.h"
#include "src/ds/clock.h"
#include "src/ds/min.h"

#define CHUNK_BUFS   32u
#define RESERVE_BUFS 4u	  /* for sends, however little memory there is */
#define REFILL	     32u  /* receives posted at once */
#define HEAP_EXTRA   16u  /* malloc's overhead per block */
#define PATIENCE_MS  1000 /* until memory that could not be registered is asked for again */

struct vrb_rdm_chunk {
	SLIST_ENTRY(vrb_rdm_chunk) link;
	uint8_t *map;
	size_t len;
	struct ibv_mr *mr;
	void *heads; /* vrb_rdm_buf or vrb_rdm_rx_buf, one for each buffer */
};

static void chunk_free(struct vrb_rdm_chunk *chunk)
{
	if (chunk->mr)
		ibv_dereg_mr(chunk->mr);
	if (chunk->map != MAP_FAILED)
		munmap(chunk->map, chunk->len);
	free(chunk->heads);
	free(chunk);
}

static void chunks_free(struct vrb_rdm_chunks *chunks)
{
	struct vrb_rdm_chunk *chunk;

	while ((chunk = SLIST_FIRST(chunks))) {
		SLIST_REMOVE_HEAD(chunks, link);
		chunk_free(chunk);
	}
}

static void chunk_failed(const struct vrb_rdm_chunk *chunk, int err)
{
	bool mapped = chunk->map != MAP_FAILED;

	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL,
		       "reliable datagrams: %s of %zu B of buffers: %s%s\n",
		       mapped ? "ibv_reg_mr" : "mmap", chunk->len, strerror(err),
		       mapped ? vrb_reg_remedy(err) : "");
}

/* Maps the memory, so that no other data shares the pages that the device writes to. */
static struct vrb_rdm_chunk *chunk_new(struct vrb_domain *domain, uint32_t bufs, size_t size,
				       size_t head_size)
{
	struct vrb_rdm_chunk *chunk = calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->len = size * bufs;
	chunk->heads = calloc(bufs, head_size);
	chunk->map =
		mmap(NULL, chunk->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* With a constant access, libibverbs calls another function than in vrb_mr_new(). */
	if (chunk->heads && chunk->map != MAP_FAILED) {
		chunk->mr = ibv_reg_mr(domain->pd, chunk->map, chunk->len, IBV_ACCESS_LOCAL_WRITE);
		if (!chunk->mr)
			chunk->mr = vrb_mr_again(domain, chunk->map, chunk->len,
						 IBV_ACCESS_LOCAL_WRITE);
	}
	if (chunk->mr)
		return chunk;
	chunk_failed(chunk, errno);
	chunk_free(chunk);
	return NULL;
}

void vrb_rdm_pool_init(struct vrb_rdm_pool *pool, struct vrb_domain *domain, size_t size,
		       uint32_t limit)
{
	*pool = (struct vrb_rdm_pool){ .domain = domain, .size = size, .limit = limit };
	SLIST_INIT(&pool->free);
	SLIST_INIT(&pool->chunks);
}

void vrb_rdm_pool_fini(struct vrb_rdm_pool *pool)
{
	chunks_free(&pool->chunks);
}

static struct vrb_rdm_buf *pool_add(struct vrb_rdm_pool *pool, uint32_t count)
{
	struct vrb_rdm_chunk *chunk;
	struct vrb_rdm_buf *bufs;
	uint32_t i;

	chunk = chunk_new(pool->domain, count, pool->size, sizeof(*bufs));
	if (!chunk)
		return NULL;
	SLIST_INSERT_HEAD(&pool->chunks, chunk, link);
	bufs = chunk->heads;
	for (i = 0; i < count; i++) {
		bufs[i].out.lkey = chunk->mr->lkey;
		bufs[i].out.data = chunk->map + i * pool->size;
		if (i)
			vrb_rdm_pool_put(pool, &bufs[i]);
	}
	pool->count += count;
	return &bufs[0];
}

struct vrb_rdm_buf *vrb_rdm_pool_grow(struct vrb_rdm_pool *pool)
{
	return pool->count < pool->limit ? pool_add(pool, CHUNK_BUFS) : NULL;
}

int vrb_rdm_pool_reserve(struct vrb_rdm_pool *pool)
{
	struct vrb_rdm_buf *buf;

	if (pool->count)
		return 0;
	buf = pool_add(pool, RESERVE_BUFS);
	if (!buf)
		return -FI_ENOMEM;
	vrb_rdm_pool_put(pool, buf);
	return 0;
}

void vrb_rdm_rx_init(struct vrb_rdm_rx_ring *ring, struct vrb_domain *domain, size_t size,
		     uint32_t depth, uint32_t reserve)
{
	*ring = (struct vrb_rdm_rx_ring){
		.domain = domain,
		.size = size,
		.depth = depth,
		.reserve = reserve,
		.low = (depth > 2 * REFILL ? depth - REFILL : depth / 2) + 1,
	};
	ring->above = -(int32_t)ring->low;
	SLIST_INIT(&ring->chunks);
	SLIST_INIT(&ring->free_small);
}

void vrb_rdm_rx_fini(struct vrb_rdm_rx_ring *ring)
{
	uint32_t i, k;

	for (i = 0; i < ring->small_count / CHUNK_BUFS; i++) {
		for (k = 0; k < CHUNK_BUFS; k++)
			free(ring->small[i][k].heap);
		free(ring->small[i]);
	}
	free(ring->small);
	ring->small = NULL;
	chunks_free(&ring->chunks);
	free(ring->rx);
	ring->rx = NULL;
}

struct vrb_rdm_small *vrb_rdm_small_grow(struct vrb_rdm_rx_ring *ring)
{
	uint32_t i, chunks = ring->small_count / CHUNK_BUFS;
	struct vrb_rdm_small **array, *chunk;

	if (ring->small_count + CHUNK_BUFS > VRB_RDM_SMALL_BIT)
		return NULL;
	array = realloc(ring->small, (chunks + 1) * sizeof(*array));
	if (!array)
		return NULL;
	ring->small = array;
	chunk = array[chunks] = calloc(CHUNK_BUFS, sizeof(*chunk));
	if (!chunk)
		return NULL;
	for (i = 0; i < CHUNK_BUFS; i++) {
		chunk[i].rx.ring = ring;
		chunk[i].rx.in.cost = sizeof(chunk[i]);
		chunk[i].rx.in.index = (ring->small_count + i) | VRB_RDM_SMALL_BIT;
		chunk[i].rx.sge.addr = (uintptr_t)chunk[i].bytes;
		if (i)
			SLIST_INSERT_HEAD(&ring->free_small, &chunk[i], link);
	}
	ring->small_count += CHUNK_BUFS;
	return &chunk[0];
}

static struct vrb_rdm_rx_buf *buf_at(const struct vrb_rdm_rx_ring *ring, uint32_t i)
{
	return &ring->rx[i / CHUNK_BUFS][i % CHUNK_BUFS];
}

struct vrb_rdm_rx *vrb_rdm_rx_at(const struct vrb_rdm_rx_ring *ring, uint32_t index)
{
	if (index & VRB_RDM_SMALL_BIT) {
		index &= ~VRB_RDM_SMALL_BIT;
		return index < ring->small_count
			       ? &ring->small[index / CHUNK_BUFS][index % CHUNK_BUFS].rx
			       : NULL;
	}
	return index < ring->count ? &buf_at(ring, index)->rx : NULL;
}

static void buf_set_rx(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx_buf *buf,
		       const struct vrb_rdm_chunk *chunk, uint32_t i)
{
	struct vrb_rdm_rx *rx = &buf->rx;

	rx->in.index = ring->count + i;
	rx->in.cost = (uint32_t)ring->size;
	rx->ring = ring;
	rx->sge = (struct ibv_sge){
		.addr = (uintptr_t)chunk->map + i * ring->size,
		.length = (uint32_t)ring->size,
		.lkey = chunk->mr->lkey,
	};
	buf->wr = (struct ibv_recv_wr){
		.wr_id = (uintptr_t)rx | VRB_RDM_RX_BIT,
		.sg_list = &rx->sge,
		.num_sge = 1,
	};
}

static bool rx_add(struct vrb_rdm_rx_ring *ring)
{
	size_t chunks = ring->count / CHUNK_BUFS;
	struct vrb_rdm_rx_buf **rx = realloc(ring->rx, (chunks + 1) * sizeof(*rx));
	struct vrb_rdm_chunk *chunk;
	uint32_t i;

	if (!rx)
		return false;
	ring->rx = rx;
	if (ring->count + CHUNK_BUFS > VRB_RDM_SMALL_BIT)
		return false;
	chunk = chunk_new(ring->domain, CHUNK_BUFS, ring->size, sizeof(**rx));
	if (!chunk)
		return false;
	SLIST_INSERT_HEAD(&ring->chunks, chunk, link);
	rx[chunks] = chunk->heads;
	for (i = 0; i < CHUNK_BUFS; i++) {
		buf_set_rx(ring, &rx[chunks][i], chunk, i);
		vrb_rdm_rx_reuse(ring, &rx[chunks][i].rx);
	}
	ring->count += CHUNK_BUFS;
	return true;
}

static void rx_grow(struct vrb_rdm_rx_ring *ring)
{
	ring->grow_at = rx_add(ring) ? 0 : ofi_now_ms() + PATIENCE_MS;
}

/* The limit is: posted and reserved buffers, a quarter more for held ones, and missing ones. */
static bool may_grow(const struct vrb_rdm_rx_ring *ring, bool held)
{
	uint32_t most = ring->depth + ring->reserve + (held ? ring->depth / 4 : 0);

	return ring->count < most + ring->missing &&
	       (!ring->grow_at || ofi_now_ms() >= ring->grow_at);
}

/* Links at most `want` work requests. Returns their number. */
static uint32_t chain_recvs(struct vrb_rdm_rx_ring *ring, uint32_t want, struct ibv_recv_wr **first)
{
	struct ibv_recv_wr **link = first;
	uint32_t n, reserve;

	while (ring->free_count < want + ring->reserve && may_grow(ring, ring->held))
		rx_grow(ring);
	*first = ring->free;
	/* The queue gets most of the buffers, even if there is only one chunk of them. */
	reserve = (uint32_t)ofi_min(ring->reserve, ring->count / 4);
	if (want + reserve > ring->free_count)
		want = ring->free_count > reserve ? ring->free_count - reserve : 0;
	if (ring->free_count <= want) {
		n = ring->free_count;
		ring->free = NULL;
	} else {
		for (n = 0; n < want; n++)
			link = &(*link)->next;
		ring->free = *link;
		*link = NULL;
	}
	ring->free_count -= n;
	return n;
}

static uint32_t rx_posted(const struct vrb_rdm_rx_ring *ring)
{
	return (uint32_t)(ring->above + (int32_t)ring->low);
}

static uint64_t rx_completed(const struct vrb_rdm_rx_ring *ring)
{
	return ring->posts - rx_posted(ring);
}

/* Markers in wr.next of a posted receive: its completion is in doubt, or no longer expected. */
static struct ibv_recv_wr doubted, missing;

/*
 * Corrects the count for missing receives that have completed after all: they were not counted as
 * posted.
 */
static void rx_recount(struct vrb_rdm_rx_ring *ring)
{
	uint32_t i, still = 0;

	for (i = 0; i < ring->count; i++)
		still += buf_at(ring, i)->wr.next == &missing;
	ring->above += (int32_t)(ring->missing - still);
	ring->missing = still;
}

/*
 * Called when all receives posted after the suspects have been taken from the queue: the suspects
 * are lost.
 */
static void rx_check(struct vrb_rdm_rx_ring *ring)
{
	uint32_t i, before;

	rx_recount(ring);
	before = ring->missing;
	for (i = 0; i < ring->count && ring->missing < ring->depth; i++) {
		if (buf_at(ring, i)->wr.next != &doubted)
			continue;
		buf_at(ring, i)->wr.next = &missing;
		ring->missing++;
		ring->above--;
	}
	ring->judge_at = 0;
	if (ring->missing > before)
		FI_INFO(&vrb_prov, FI_LOG_EP_CTRL,
			"the device did not report %u receives of connections that ended; they are replaced\n",
			ring->missing - before);
	if (ring->doubt_again)
		vrb_rdm_rx_doubt(ring);
}

void vrb_rdm_rx_doubt(struct vrb_rdm_rx_ring *ring)
{
	struct vrb_rdm_rx_buf *buf;
	struct ibv_recv_wr *wr;
	uint32_t i;

	ring->doubt_again = ring->judge_at;
	if (ring->judge_at)
		return;
	for (wr = ring->free; wr; wr = wr->next)
		vrb_rdm_rx_at_id(wr->wr_id)->idle = true;
	for (i = 0; i < ring->count; i++) {
		buf = buf_at(ring, i);
		if (!buf->rx.idle && !buf->rx.held && buf->wr.next != &missing)
			buf->wr.next = &doubted;
		buf->rx.idle = false;
	}
	ring->judge_at = rx_completed(ring) + rx_posted(ring);
}

/* Counts the buffer as posted, because the packet in it counts as one from the queue. */
struct vrb_rdm_rx *vrb_rdm_rx_take(struct vrb_rdm_rx_ring *ring)
{
	struct ibv_recv_wr *wr;

	/* Kept packets may hold the reserve while the queue is full and takes no more buffers. */
	if (!ring->free && may_grow(ring, ring->held))
		rx_grow(ring);
	wr = ring->free;
	if (!wr)
		return NULL;
	ring->free = wr->next;
	ring->free_count--;
	ring->above++;
	return vrb_rdm_rx_at_id(wr->wr_id);
}

int vrb_rdm_rx_fill(struct vrb_rdm_rx_ring *ring)
{
	struct ibv_recv_wr *first, *bad, *wr, *next;
	uint32_t n;
	int err = 0;

	if (ofi_unlikely(ring->judge_at && rx_completed(ring) >= ring->judge_at))
		rx_check(ring);
	n = chain_recvs(ring, ring->depth - rx_posted(ring), &first);
	bad = first;
	if (n)
		err = ibv_post_srq_recv(ring->srq, first, &bad);
	ring->above += (int32_t)n;
	ring->posts += n;
	for (wr = err ? bad : NULL; wr; wr = next) {
		next = wr->next;
		vrb_rdm_rx_reuse(ring, vrb_rdm_rx_at_id(wr->wr_id));
		ring->above--;
		ring->posts--;
	}
	if (!err)
		return rx_posted(ring) ? 0 : -FI_ENOMEM;
	rx_recount(ring);
	return vrb_errno(err);
}

static bool is_small(const struct vrb_rdm_rx *rx)
{
	return rx->in.index & VRB_RDM_SMALL_BIT;
}

/* Holds the receive buffer; at most a quarter of the buffers are held. */
static struct vrb_rdm_rx *rx_hold(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx)
{
	if (ring->held >= (ring->count < ring->depth ? ring->count : ring->depth) / 4)
		return NULL;
	ring->held++;
	rx->held = true;
	/* The receive has completed. */
	((struct vrb_rdm_rx_buf *)rx)->wr.next = NULL;
	return rx;
}

/*
 * Returns true if one more held buffer leaves the reserve as it is; without a reserve, no packets
 * could be taken from elsewhere.
 */
static bool has_spare(struct vrb_rdm_rx_ring *ring)
{
	if (ring->free_count < ring->reserve && may_grow(ring, true))
		rx_grow(ring);
	return ring->free_count >= ring->reserve;
}

static struct vrb_rdm_rx *rx_copy(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx, size_t len)
{
	struct vrb_rdm_small *small = vrb_rdm_small_get(ring);
	uint8_t *to;

	if (!small)
		return NULL;
	if (len > VRB_RDM_SMALL_SIZE)
		small->heap = malloc(len);
	if (len > VRB_RDM_SMALL_SIZE && !small->heap) {
		SLIST_INSERT_HEAD(&ring->free_small, small, link);
		return NULL;
	}
	to = small->heap ? small->heap : small->bytes;
	memcpy(to, (const void *)(uintptr_t)rx->sge.addr, len);
	small->rx.sge.addr = (uintptr_t)to;
	if (small->heap)
		small->rx.in.cost += (uint32_t)(HEAP_EXTRA + len);
	vrb_rdm_rx_reuse(ring, rx);
	return &small->rx;
}

struct vrb_rdm_rx *vrb_rdm_rx_keep(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx, size_t len)
{
	struct vrb_rdm_rx *kept;

	if (is_small(rx) || rx->held)
		return rx;
	kept = len >= VRB_RDM_HOLD_MIN && has_spare(ring) ? rx_hold(ring, rx) : NULL;
	if (!kept)
		kept = rx_copy(ring, rx, len);
	return kept ? kept : rx_hold(ring, rx);
}

void vrb_rdm_rx_put(struct vrb_rdm_rx_ring *ring, struct vrb_rdm_rx *rx)
{
	struct vrb_rdm_small *small = (struct vrb_rdm_small *)rx;

	if (!is_small(rx)) {
		ring->held -= rx->held;
		rx->held = false;
		vrb_rdm_rx_reuse(ring, rx);
		return;
	}
	if (small->heap) {
		free(small->heap);
		small->heap = NULL;
		rx->sge.addr = (uintptr_t)small->bytes;
		rx->in.cost = (uint32_t)sizeof(*small);
	}
	SLIST_INSERT_HEAD(&ring->free_small, small, link);
}
