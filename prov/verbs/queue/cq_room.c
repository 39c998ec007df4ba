/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Room in completion queues: each outstanding work request of the queues has an entry, reserved or
 * from a pool.
 */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "cq.h"
#include "prov/base/refuse.h"
#include "prov/verbs/provider/prov.h"

/* Grows the device's CQ to at least `entries`. A driver may report success without growing it. */
static bool grow(struct vrb_cq *cq, uint64_t entries)
{
	if (entries <= cq->capacity)
		return true;
	if (entries > (uint64_t)cq->domain->attr.max_cqe || ibv_resize_cq(cq->ibv, (int)entries))
		return false;
	cq->capacity = cq->ibv->cqe;
	return entries <= cq->capacity;
}

static int no_room(const struct vrb_cq *cq)
{
	return ofi_refuse(
		&vrb_prov, FI_LOG_CQ, -FI_ENOSPC,
		"fi_enable: completion queue of %u entries is full and does not grow (%d is the most on this device); open a larger one, or more\n",
		cq->capacity, cq->domain->attr.max_cqe);
}

/*
 * Reserves entries while less than three quarters of the largest CQ are taken. Otherwise grows the
 * CQ to its maximum.
 */
static bool cq_reserve(struct vrb_cq *cq, uint32_t size)
{
	uint64_t need = (uint64_t)cq->reserved + size;

	if (!cq->shared && need <= (uint32_t)cq->domain->attr.max_cqe / 4 * 3 && grow(cq, need)) {
		cq->reserved = need;
		return true;
	}
	grow(cq, cq->domain->attr.max_cqe);
	return false;
}

/*
 * The first queue that finds no room creates the pool, of the entries that are not reserved:
 * usually the last quarter of the CQ. The pool may run out long before a queue reaches a slot that
 * requests a completion, so each slot requests one.
 */
static int join_pool(struct vrb_cq *cq, struct vrb_wq *wq)
{
	if (!cq->shared && cq->reserved == cq->capacity)
		return no_room(cq);
	__atomic_add_fetch(&cq->pool, (int)(cq->capacity - cq->reserved), __ATOMIC_RELEASE);
	cq->reserved = cq->capacity;
	cq->shared = true;
	wq->pool = &cq->pool;
	vrb_wq_set(wq, VRB_WQ_SHARES);
	vrb_wq_signal_all(wq);
	return 0;
}

int vrb_cq_admit(struct vrb_cq *cq, struct vrb_wq *wq)
{
	int ret;

	ofi_lock(&cq->domain->lock);
	ret = cq_reserve(cq, wq->size) ? 0 : join_pool(cq, wq);
	ofi_unlock(&cq->domain->lock);
	return ret;
}

/* Takes `size` entries at once, from the last quarter or from the pool. */
static bool take_rest(struct vrb_cq *cq, uint32_t size)
{
	if (!cq->shared) {
		if (size > cq->capacity - cq->reserved)
			return false;
		cq->reserved += size;
		return true;
	}
	if (size <= cq->capacity && __atomic_sub_fetch(&cq->pool, (int)size, __ATOMIC_ACQUIRE) >= 0)
		return true;
	if (size <= cq->capacity)
		__atomic_add_fetch(&cq->pool, (int)size, __ATOMIC_RELEASE);
	return false;
}

int vrb_cq_reserve(struct vrb_cq *cq, uint32_t size)
{
	int ret = 0;

	ofi_lock(&cq->domain->lock);
	if (!cq_reserve(cq, size) && !take_rest(cq, size))
		ret = no_room(cq);
	ofi_unlock(&cq->domain->lock);
	return ret;
}

void vrb_cq_unreserve(struct vrb_cq *cq, uint32_t size)
{
	ofi_lock(&cq->domain->lock);
	if (cq->shared)
		__atomic_add_fetch(&cq->pool, (int)size, __ATOMIC_RELEASE);
	else
		cq->reserved -= size;
	ofi_unlock(&cq->domain->lock);
}

void vrb_cq_release(struct vrb_cq *cq, struct vrb_wq *wq)
{
	if (vrb_wq_special(wq) & VRB_WQ_SHARES) {
		vrb_wq_give_pool(wq, vrb_wq_used(wq));
		vrb_wq_clear(wq, VRB_WQ_SHARES);
	} else {
		vrb_cq_unreserve(cq, wq->size);
	}
}
