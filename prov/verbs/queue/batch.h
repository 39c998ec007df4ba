/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work requests that FI_MORE holds back, chained for one doorbell. They are copies, with inline
 * data: a caller's buffers and arrays are its own again when the call returns. Guarded by sq->lock.
 */
#ifndef VRB_BATCH_H
#define VRB_BATCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cq.h"
#include "prov/verbs/provider/stats.h"

#define VRB_BATCH_MAX 32

struct vrb_ep;

/* What is constant of a work request is set once: where its segments are, and what is next. */
struct vrb_batch {
	size_t inline_size;
	uint8_t *data; /* inline_size of each */
	struct ibv_send_wr wr[VRB_BATCH_MAX];
};

struct vrb_batch *vrb_batch_new(size_t iov_limit, size_t inline_size);
void vrb_batch_free(struct vrb_batch *batch);
/* Appends a copy of wr, whose slot is published. There is room: see VRB_BATCH_MAX. */
void vrb_batch_add(struct vrb_ep *ep, const struct ibv_send_wr *wr);
/*
 * Posts what is held. Of what the device refuses, the last `mine` (0 or 1) work requests fail by
 * the return value; those accepted by earlier calls complete in error, and the endpoint is over.
 */
ssize_t vrb_batch_ring(struct vrb_ep *ep, uint32_t mine);
/*
 * Takes sq->lock and posts what is held; from any thread, since whoever holds back takes the lock
 * too.
 */
void vrb_batch_flush(struct vrb_ep *ep);

/* One more fits behind n, and there is nothing special but those: can it just be added? */
static inline bool vrb_batch_open(const struct vrb_wq *sq, uint32_t n)
{
	return ofi_likely(n < VRB_BATCH_MAX - 1) &&
	       ofi_likely(sq->head->next != __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE));
}

/* One more than n is held, and the CQ knows of it. */
static inline void vrb_batch_count(struct vrb_wq *sq, uint32_t n)
{
	__atomic_add_fetch(&sq->special, 1, __ATOMIC_RELAXED);
	ofi_stats_add(&sq->stats, OFI_STATS_SHARED, 1);
	if (!n)
		__atomic_add_fetch(&sq->cq->special, VRB_CQ_HELD, __ATOMIC_RELAXED);
}

/* What was put behind n is held. The queue stops at its head, see vrb_wq_guard(). */
static inline void vrb_batch_publish(struct vrb_wq *sq, uint32_t n, void *context, uint64_t flags,
				     size_t len)
{
	if (!n)
		vrb_wq_mark(sq);
	vrb_wq_take(sq, context, flags, len);
	vrb_wq_count(sq, flags, len, 1);
	__atomic_store_n(&sq->stop, sq->head, __ATOMIC_RELAXED);
	vrb_batch_count(sq, n);
}

#endif
