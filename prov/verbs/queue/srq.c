/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues: their slots, and their completion queues. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "cq.h"
#include "prov/verbs/provider/err.h"
#include "srq.h"

static void link_slots(struct vrb_srq *srq)
{
	struct vrb_wq *wq = &srq->wq;
	uint32_t i;

	for (i = 0; i < wq->size; i++) {
		wq->slots[i].wq = wq;
		wq->slots[i].next = i + 1 < wq->size ? &wq->slots[i + 1] : NULL;
	}
	srq->free = wq->slots;
}

struct vrb_srq *vrb_srq_new(struct vrb_domain *domain, uint32_t size)
{
	struct vrb_srq *srq = aligned_alloc(VRB_CACHELINE, sizeof(*srq));

	if (!srq)
		return NULL;
	*srq = (struct vrb_srq){
		.wq = { .special = VRB_WQ_SHARED, .size = size },
		.refs = 1,
		.domain = domain,
	};
	srq->wq.slots = calloc(size, sizeof(*srq->wq.slots));
	if (!srq->wq.slots) {
		free(srq);
		return NULL;
	}
	link_slots(srq);
	srq->wq.recv = (struct ibv_recv_wr){ .sg_list = &srq->wq.sge };
	return srq;
}

static void srq_put(struct vrb_srq *srq)
{
	if (__atomic_sub_fetch(&srq->refs, 1, __ATOMIC_ACQ_REL))
		return;
	free(srq->wq.slots);
	free(srq);
}

static void close_share(struct vrb_cq *cq, struct vrb_share *share)
{
	vrb_cq_lock(cq);
	LIST_REMOVE(share, of_cq);
	LIST_INSERT_HEAD(&cq->closed_shares, share, of_cq);
	vrb_cq_set_special(cq, VRB_CQ_CLOSED, true);
	vrb_cq_unlock(cq);
}

void vrb_srq_close(struct vrb_srq *srq)
{
	struct vrb_domain *domain;
	struct vrb_share *share;

	if (!srq)
		return;
	domain = srq->domain;
	if (srq->ibv)
		ibv_destroy_srq(srq->ibv);
	__atomic_store_n(&srq->wq.closed, true, __ATOMIC_RELAXED);
	ofi_lock(&domain->share_lock);
	while ((share = LIST_FIRST(&srq->shares))) {
		LIST_REMOVE(share, of_srq);
		close_share(share->cq, share);
	}
	ofi_unlock(&domain->share_lock);
	srq_put(srq);
}

void vrb_srq_leave(struct vrb_share *share)
{
	vrb_cq_unreserve(share->cq, share->srq->wq.size);
	srq_put(share->srq);
	free(share);
}

void vrb_srq_reap(struct vrb_cq *cq)
{
	struct vrb_share *share;

	while ((share = LIST_FIRST(&cq->closed_shares))) {
		LIST_REMOVE(share, of_cq);
		vrb_srq_leave(share);
	}
}

/* The counts are read one after the other, so more slots may appear retired than taken. */
uint32_t vrb_srq_left(const struct vrb_srq *srq)
{
	uint32_t taken = __atomic_load_n(&srq->taken, __ATOMIC_ACQUIRE);
	int32_t used = (int32_t)(taken - __atomic_load_n(&srq->retired, __ATOMIC_RELAXED));

	if (vrb_wq_special(&srq->wq) & VRB_WQ_SHUT)
		return 0;
	return used > 0 ? srq->wq.size - (uint32_t)used : srq->wq.size;
}

struct vrb_slot *vrb_srq_refill(struct vrb_srq *srq)
{
	return __atomic_exchange_n(&srq->returned, NULL, __ATOMIC_ACQUIRE);
}

ssize_t vrb_srq_blocked(const struct vrb_srq *srq)
{
	if (vrb_wq_special(&srq->wq) & VRB_WQ_SHUT)
		return __atomic_load_n(&srq->down_err, __ATOMIC_RELAXED);
	return -FI_EAGAIN;
}

ssize_t vrb_srq_post_failed(struct vrb_srq *srq, struct vrb_slot *slot, int err)
{
	slot->next = srq->free;
	srq->free = slot;
	__atomic_store_n(&srq->taken, srq->taken - 1, __ATOMIC_RELAXED);
	return vrb_errno(err);
}
