/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work requests held back by FI_MORE, chained for a single doorbell. They are copies with inline
 * data, so the caller's buffers and arrays may be reused when the call returns. Guarded by
 * sq->lock.
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

/* The constant fields of the work requests are set once: the segment pointers and the links. */
struct vrb_batch {
	size_t inline_size;
	uint8_t *data; /* inline_size bytes each */
	struct ibv_send_wr wr[VRB_BATCH_MAX];
};

void vrb_batch_free(struct vrb_batch *batch);
/*
 * Posts the batch. If the device rejects some of it, the last `mine` (0 or 1) work requests fail
 * through the return value; those of earlier calls complete with an error, and the endpoint is
 * shut.
 */
ssize_t vrb_batch_ring(struct vrb_ep *ep, uint32_t mine);
/*
 * Takes sq->lock and posts the batch. May be called from any thread, because the thread that holds
 * work requests back takes the lock, too.
 */
void vrb_batch_flush(struct vrb_ep *ep);

/*
 * Returns true if one more work request fits and nothing requires the slow path; n is the value of
 * sq->special, which is then the number of held work requests.
 */
static inline bool vrb_batch_open(const struct vrb_wq *sq, uint32_t n)
{
	return ofi_likely(n < VRB_BATCH_MAX - 1) &&
	       ofi_likely(sq->head->next != __atomic_load_n(&sq->tail, __ATOMIC_ACQUIRE));
}

/* Counts a work request held after n others. The CQ counts queues that hold any, and lists them. */
static inline void vrb_batch_count(struct vrb_wq *sq, uint32_t n)
{
	__atomic_add_fetch(&sq->special, 1, __ATOMIC_RELAXED);
	ofi_stats_add(&sq->stats, OFI_STATS_SHARED, 1);
	if (n)
		return;
	if (!sq->listed)
		vrb_cq_list_held(sq->cq, sq);
	__atomic_add_fetch(&sq->cq->special, VRB_CQ_HELD, __ATOMIC_RELAXED);
}

/* Publishes the slot of a work request held after n others, and keeps posts on the slow path. */
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
