/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Taking completions: from the device, from those kept for later, or on behalf of a device that is
 * gone.
 */
#include "prov/base/cq.h"
#include "batch.h"
#include "cq.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/msg/ep.h"
#include "srq.h"
#include "prov/verbs/provider/stats.h"

void vrb_cq_keep(struct vrb_cq *cq, uint32_t from, uint32_t end)
{
	if (from == end)
		return;
	cq->first = from;
	cq->kept = end - from;
	vrb_cq_set_special(cq, VRB_CQ_KEPT, true);
}

static bool is_given_up(const struct ibv_wc *wc)
{
	return ((struct vrb_slot *)(uintptr_t)wc->wr_id)->wq->given_up;
}

/*
 * When a queue pair is destroyed, an Elastic Fabric Adapter completes its outstanding work
 * requests. libefa drops these completions, but returns an error for each of them.
 */
static int poll_device(const struct vrb_cq *cq, struct ibv_wc *wc, int want)
{
	uint32_t left = cq->domain->unordered ? cq->capacity : 0;
	int n;

	do
		n = ibv_poll_cq(cq->ibv, want, wc);
	while (ofi_unlikely(n < 0) && left--);
	return n;
}

static void see_lost(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	ofi_lock(&cq->lost_lock);
	while ((wq = LIST_FIRST(&cq->losing))) {
		LIST_REMOVE(wq, lost_entry);
		LIST_INSERT_HEAD(&cq->lost, wq, lost_entry);
	}
	ofi_unlock(&cq->lost_lock);
}

static void forget_lost(struct vrb_cq *cq, struct vrb_wq *wq)
{
	ofi_lock(&cq->lost_lock);
	if (wq->lost)
		LIST_REMOVE(wq, lost_entry);
	if (LIST_EMPTY(&cq->losing) && LIST_EMPTY(&cq->lost))
		vrb_cq_set_special(cq, VRB_CQ_LOST, false);
	ofi_unlock(&cq->lost_lock);
}

/* Called when a poll after see_lost() found the device empty. */
static void give_up_lost(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	LIST_FOREACH (wq, &cq->lost, lost_entry)
		wq->given_up = true;
}

/*
 * Polls the device, but drops completions of a queue that the library completes itself, which it
 * does once there are no more.
 */
int vrb_cq_take_device(struct vrb_cq *cq, struct ibv_wc *wc, int want)
{
	int n, i, taken;
	bool lost;

	do {
		lost = __atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) & VRB_CQ_LOST;
		if (lost)
			see_lost(cq);
		n = poll_device(cq, wc, want);
		if (n <= 0 && lost && want)
			give_up_lost(cq);
		if (n <= 0 || !lost)
			return n;
		for (i = taken = 0; i < n; i++)
			if (!is_given_up(&wc[i]))
				wc[taken++] = wc[i];
	} while (!taken);
	return taken;
}

static int take_lost(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	LIST_FOREACH (wq, &cq->lost, lost_entry) {
		if (wq->closed || !wq->given_up || !vrb_wq_used(wq))
			continue;
		cq->wc[0] = (struct ibv_wc){
			.wr_id = (uintptr_t)wq->tail,
			.status = IBV_WC_WR_FLUSH_ERR,
		};
		return 1;
	}
	return 0;
}

void vrb_cq_reap(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	while ((wq = LIST_FIRST(&cq->closed))) {
		LIST_REMOVE(wq, siblings);
		forget_lost(cq, wq);
		vrb_cq_release(cq, wq);
		vrb_wq_free(wq);
	}
	vrb_srq_reap(cq);
	vrb_cq_set_special(cq, VRB_CQ_CLOSED, false);
}

void vrb_cq_list_held(struct vrb_cq *cq, struct vrb_wq *wq)
{
	wq->listed = true;
	wq->next_held = __atomic_load_n(&cq->held, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&cq->held, &wq->next_held, wq, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

void vrb_cq_take_held(struct vrb_cq *cq)
{
	struct vrb_wq *wq = __atomic_exchange_n(&cq->held, NULL, __ATOMIC_ACQUIRE), *next;

	for (; wq; wq = next) {
		next = wq->next_held;
		ofi_lock(&wq->lock);
		wq->listed = false;
		if (!wq->closed)
			vrb_batch_ring(wq->ep, 0);
		ofi_unlock(&wq->lock);
	}
}

void vrb_cq_ring_held(struct vrb_cq *cq)
{
	if ((__atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) & ~(VRB_CQ_COUNTS | VRB_CQ_SAVED)) <
	    VRB_CQ_HELD)
		return;
	vrb_cq_take_held(cq);
}

/* Used when nothing is kept: polls the device, or completes work requests on its behalf. */
static inline int take_fresh(struct vrb_cq *cq, int want)
{
	int n;

	cq->first = 0;
	n = vrb_cq_take_device(cq, cq->wc, want);
	if (!n)
		vrb_cq_reap(cq);
	if (n <= 0 && (__atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) & VRB_CQ_LOST))
		n = take_lost(cq);
	return n < 0 ? -FI_EIO : n;
}

static int take_stored(struct vrb_cq *cq, int want)
{
	int n = vrb_cq_take_stored(cq, want);

	if (!cq->store.count && !vrb_cq_counts(cq))
		vrb_cq_set_special(cq, VRB_CQ_SAVED, false);
	return n;
}

/* Takes the next completions: kept ones, then stored ones, then the device's. */
static int take_next(struct vrb_cq *cq, int want)
{
	int n;

	if (cq->kept)
		return vrb_cq_take_kept(cq);
	if (cq->store.count)
		return take_stored(cq, want);
	n = take_fresh(cq, want);
	if (vrb_cq_counts(cq)) {
		vrb_cq_count_lost(cq);
		vrb_cq_count(cq->wc, n);
	}
	return n;
}

/* Slow path: batches to post, counters to update, or saved completions. */
static OFI_OUTLINE int take_special(struct vrb_cq *cq, int want)
{
	vrb_cq_ring_held(cq);
	return take_next(cq, want);
}

int vrb_cq_poll(struct vrb_cq *cq, size_t count)
{
	int want = vrb_cq_want(cq, count);

	if (!want)
		return 0;
	if (__atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) >= VRB_CQ_HELD)
		return take_special(cq, want);
	return cq->kept ? vrb_cq_take_kept(cq) : take_fresh(cq, want);
}

void vrb_cq_failed(const struct ibv_wc *wc)
{
	struct vrb_ep *ep = ((struct vrb_slot *)(uintptr_t)wc->wr_id)->wq->ep;

	if (ep && vrb_ep_is_dgram(ep) && wc->status != IBV_WC_WR_FLUSH_ERR)
		vrb_dgram_failed(vrb_dgram_of(ep));
}

static bool is_silent(const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_SUCCESS)
		return vrb_cq_drops(wc);
	return wc->opcode != IBV_WC_RECV_RDMA_WITH_IMM &&
	       ((struct vrb_slot *)(uintptr_t)wc->wr_id)->flags & VRB_SILENT;
}

bool vrb_cq_retire_silent(const struct ibv_wc *wc)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;

	vrb_wq_see(slot->wq);
	if (!is_silent(wc))
		return false;
	if (wc->status == IBV_WC_SUCCESS)
		vrb_stats_received(wc);
	vrb_wq_retire(slot->wq, slot, 0);
	return true;
}

static bool is_closed(const struct ibv_wc *wc)
{
	return ((struct vrb_slot *)(uintptr_t)wc->wr_id)->wq->closed;
}

void vrb_cq_purge(struct vrb_cq *cq)
{
	uint32_t i, end;
	int n;

	if (vrb_cq_counts(cq)) {
		while (vrb_cq_fetch(cq) > 0)
			;
		return;
	}
	while (!cq->kept || is_closed(&cq->wc[cq->first])) {
		n = take_next(cq, (int)cq->bunch);
		if (n <= 0)
			break;
		i = cq->first;
		end = i + (uint32_t)n;
		while (i < end && (is_closed(&cq->wc[i]) || vrb_cq_retire_silent(&cq->wc[i])))
			i++;
		vrb_cq_keep(cq, i, end);
	}
}

static void cq_reclaim(struct vrb_cq *cq)
{
	int n = take_next(cq, (int)cq->bunch);
	uint32_t i = cq->first, end = i + (n > 0 ? (uint32_t)n : 0);

	/* Stops at an unread completion: retiring later ones would free its slot. */
	while (i < end && vrb_cq_retire_silent(&cq->wc[i]))
		i++;
	vrb_cq_keep(cq, i, end);
}

void vrb_cq_reclaim(struct vrb_cq *cq)
{
	if (cq->locked && !ofi_trylock(&cq->lock))
		return;
	if (cq->unread)
		vrb_cq_fetch(cq);
	else if (!cq->kept)
		cq_reclaim(cq);
	vrb_cq_unlock(cq);
}

/* Errors, at which reads of a completion queue stop. */

/* Returns the error at which a read stopped, or NULL. Drops failures that are not reported. */
static const struct ibv_wc *kept_error(struct vrb_cq *cq)
{
	const struct ibv_wc *wc;

	for (; cq->kept; cq->first++, cq->kept--) {
		wc = &cq->wc[cq->first];
		if (wc->status == IBV_WC_SUCCESS)
			return NULL;
		if (!vrb_cq_retire_silent(wc))
			return wc;
	}
	vrb_cq_set_special(cq, VRB_CQ_KEPT, false);
	return NULL;
}

static void report_error(struct vrb_cq *cq, const struct ibv_wc *wc, struct fi_cq_err_entry *entry)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	struct fi_cq_err_entry error;

	vrb_cq_failed(wc);
	vrb_wc_error(wc, &error);
	vrb_wc_detail(wc, &cq->detail);
	ofi_cq_copy_error(cq->domain->base.info->fabric_attr->api_version, entry, &error,
			  &cq->detail, sizeof(cq->detail));
	vrb_stats_error(cq, slot->wq, wc->status);
	vrb_wq_retire(slot->wq, slot, 0);
	vrb_cq_keep(cq, cq->first + 1, cq->first + vrb_cq_take_kept(cq));
}

bool vrb_cq_take_error(struct ofi_cq *base, struct fi_cq_err_entry *entry)
{
	struct vrb_cq *cq = (struct vrb_cq *)base;
	const struct ibv_wc *wc;

	vrb_cq_lock(cq);
	wc = kept_error(cq);
	if (wc)
		report_error(cq, wc, entry);
	vrb_cq_unlock(cq);
	return wc;
}
