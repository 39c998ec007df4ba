/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work queue rings: creation, and the operations of the slow path. */
#include <stdlib.h>
#include "cq.h"
#include "prov/verbs/provider/stats.h"
#include "srq.h"
#include "wq.h"

/*
 * Sets the constant fields of the slots; the others are written when a slot is posted. One slot in
 * each half of the queue requests a completion, so a full queue has always requested one.
 */
static void link_slots(struct vrb_wq *wq)
{
	uint32_t i, size = wq->size, period = size < 2 ? 1 : size / 2;
	struct vrb_slot *slot = wq->slots;

	for (i = 0; i <= size; i++, slot++) {
		slot->flags = 0;
		slot->wq = wq;
		slot->signal = 0;
		slot->next = slot + 1;
		slot->index = i;
	}
	wq->slots[size].next = wq->slots;
	for (i = period - 1; i <= size; i += period)
		wq->slots[i].signal = IBV_SEND_SIGNALED;
}

_Static_assert(sizeof(struct vrb_wq) <= OFI_STATS_SLOT, "a queue has to fit a slot");

/* Tells the statistics record where to find the queue's positions. */
static void set_ring(struct vrb_wq *wq)
{
	struct ofi_stats *stats = &wq->stats;

	stats->entries = wq->size + 1;
	stats->stride = sizeof(*wq->slots);
	stats->ring = (uintptr_t)wq->slots;
	stats->head = (char *)&wq->head - (char *)stats;
	stats->tail = (char *)&wq->tail - (char *)stats;
}

struct vrb_wq *vrb_wq_new(struct vrb_ep *ep, uint32_t size)
{
	struct vrb_wq *wq = ofi_stats_alloc(sizeof(*wq));

	if (!wq)
		return NULL;
	wq->special = VRB_WQ_SHUT;
	wq->size = size;
	wq->ep = ep;
	wq->slots = malloc(((size_t)size + 1) * sizeof(*wq->slots));
	if (!wq->slots) {
		vrb_wq_free(wq);
		return NULL;
	}
	link_slots(wq);
	wq->head = wq->tail = wq->slots;
	wq->stop = wq->marked = wq->head;
	set_ring(wq);
	return wq;
}

void vrb_wq_signal_all(struct vrb_wq *wq)
{
	uint32_t i;

	for (i = 0; i <= wq->size; i++)
		wq->slots[i].signal = IBV_SEND_SIGNALED;
}

void vrb_wq_set_unordered(struct vrb_wq *wq)
{
	vrb_wq_signal_all(wq);
	wq->unordered = true;
}

void vrb_wq_set_cntrs(struct vrb_wq *wq, struct ofi_cntr *const *cntrs)
{
	vrb_wq_signal_all(wq);
	wq->counted = wq->tail;
	wq->cntrs = cntrs;
}

void vrb_wq_free(struct vrb_wq *wq)
{
	if (!wq)
		return;
	free(wq->slots);
	ofi_stats_free(wq, &wq->stats);
}

uint32_t vrb_wq_left(const struct vrb_wq *wq)
{
	return vrb_wq_special(wq) & VRB_WQ_SHUT ? 0 : wq->size - vrb_wq_used(wq);
}

void vrb_wq_mark(struct vrb_wq *wq)
{
	uint32_t moved = vrb_wq_distance(wq, wq->marked, wq->head);

	wq->marked = wq->head;
	__atomic_store_n(&wq->stats.mark, wq->stats.mark + moved, __ATOMIC_RELEASE);
}

bool vrb_wq_refresh(struct vrb_wq *wq)
{
	struct vrb_slot *tail = __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE);

	vrb_wq_mark(wq);
	tail = tail == wq->slots ? &wq->slots[wq->size] : tail - 1;
	__atomic_store_n(&wq->stop, tail, __ATOMIC_RELAXED);
	return wq->head != tail;
}

void vrb_wq_guard(struct vrb_wq *wq)
{
	if (vrb_wq_special(wq))
		__atomic_store_n(&wq->stop, __atomic_load_n(&wq->head, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
}

/*
 * Without locks only the thread that posts may move stop: a post in progress would pass it, and the
 * ring be overrun. Posts go on until they reach stop, and are flushed.
 */
void vrb_wq_shut(struct vrb_wq *wq, bool lock)
{
	vrb_wq_set(wq, VRB_WQ_SHUT);
	if (!lock)
		return;
	ofi_lock(&wq->lock);
	vrb_wq_guard(wq);
	ofi_unlock(&wq->lock);
}

bool vrb_wq_take_pool(struct vrb_wq *wq)
{
	if (!(vrb_wq_special(wq) & VRB_WQ_SHARES) ||
	    __atomic_sub_fetch(wq->pool, 1, __ATOMIC_ACQUIRE) >= 0)
		return true;
	vrb_wq_give_pool(wq, 1);
	return false;
}

bool vrb_wq_untake(struct vrb_wq *wq, uint32_t n)
{
	ptrdiff_t at = wq->head - wq->slots;
	uint32_t i;

	if (__atomic_load_n(&wq->lost, __ATOMIC_ACQUIRE))
		return false;
	for (i = 0; i < n; i++) {
		at = at ? at - 1 : (ptrdiff_t)wq->size;
		vrb_wq_count(wq, wq->slots[at].flags, wq->slots[at].len, -1);
	}
	ofi_stats_add(&wq->stats, OFI_STATS_REFUSED, n);
	__atomic_store_n(&wq->head, &wq->slots[at], __ATOMIC_RELEASE);
	vrb_wq_give_pool(wq, n);
	return true;
}

/* Moves the tail over the slots that are retired, which are free from then on. */
static void retire_alone(struct vrb_wq *wq, struct vrb_slot *slot)
{
	const struct vrb_slot *head = __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE);
	struct vrb_slot *tail = wq->tail;
	uint32_t n;

	slot->flags |= VRB_RETIRED;
	for (n = 0; tail != head && tail->flags & VRB_RETIRED; n++)
		tail = tail->next;
	__atomic_store_n(&wq->tail, tail, __ATOMIC_RELEASE);
	vrb_wq_give_pool(wq, n);
}

uint64_t vrb_wq_retire(struct vrb_wq *wq, struct vrb_slot *slot, uint64_t flags)
{
	uint32_t n;

	if (wq->unordered) {
		retire_alone(wq, slot);
		return flags;
	}

	if (vrb_wq_special(wq) & VRB_WQ_SHARED) {
		vrb_srq_retire(wq, slot);
		return vrb_wq_closed(wq) ? flags | VRB_SILENT : flags;
	}
	n = vrb_wq_distance(wq, wq->tail, slot->next);
	vrb_wq_retire_fast(wq, slot);
	vrb_wq_give_pool(wq, n);
	return flags;
}

/* Wakes threads that wait for its counters. */
static void wake_counters(struct vrb_wq *wq)
{
	struct ofi_cntr *cntr;
	int i;

	for (i = 0; wq->cntrs && i < VRB_COUNTS; i++) {
		cntr = __atomic_load_n(&wq->cntrs[i], __ATOMIC_ACQUIRE);
		if (cntr)
			ofi_cntr_wake(cntr);
	}
}

void vrb_wq_lose(struct vrb_wq *wq)
{
	struct vrb_cq *cq = wq->cq;

	ofi_lock(&cq->lost_lock);
	if (!wq->lost)
		LIST_INSERT_HEAD(&cq->losing, wq, lost_entry);
	__atomic_store_n(&wq->lost, true, __ATOMIC_RELEASE);
	vrb_cq_set_special(cq, VRB_CQ_LOST, true);
	ofi_unlock(&cq->lost_lock);
	ofi_wait_signal(&cq->slow.wait);
	wake_counters(wq);
}
