/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues with counters. Each completion is counted once, when it is polled from the
 * device; completions that a counter's reader finds are stored in order for the application.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <errno.h>
#include <rdma/providers/fi_log.h>
#include "cq.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "srq.h"
#include "prov/verbs/provider/stats.h"

static struct vrb_wq *wq_of(const struct ibv_wc *wc)
{
	return ((struct vrb_slot *)(uintptr_t)wc->wr_id)->wq;
}

static struct ofi_cntr *cntr_of(const struct vrb_wq *wq, uint64_t flags)
{
	if (flags & VRB_UNCOUNTED)
		return NULL;
	if (flags & FI_SEND)
		return wq->cntrs[VRB_COUNT_SEND];
	if (flags & FI_RECV)
		return wq->cntrs[VRB_COUNT_RECV];
	return wq->cntrs[flags & FI_READ ? VRB_COUNT_READ : VRB_COUNT_WRITE];
}

/* Drops the completion counter of a slot with VRB_WORK. */
static void forget_work(struct vrb_slot *slot)
{
	struct ofi_cntr *cntr = (struct ofi_cntr *)slot->len;

	slot->flags &= ~(VRB_WORK | VRB_UNCOUNTED);
	slot->len = 0;
	if (cntr)
		ofi_ref_put(&cntr->ref);
}

static void count_work(struct vrb_slot *slot, bool good)
{
	ofi_cntr_finish((struct ofi_cntr *)slot->len, good);
	slot->len = 0;
	forget_work(slot);
}

static void count_slot(struct vrb_wq *wq, bool good)
{
	struct vrb_slot *slot = wq->counted;
	struct ofi_cntr *cntr = cntr_of(wq, slot->flags);

	wq->counted = slot->next;
	if (slot->flags & VRB_WORK)
		count_work(slot, good);
	/* A buffer of several parts fails only once. */
	if (!good && (slot->flags & (VRB_MULTI | FI_MULTI_RECV)) == VRB_MULTI)
		return;
	ofi_cntr_count_result(cntr, good);
}

/*
 * Counts a shared receive for the endpoint that took it. The counter exists while the endpoint is
 * in domain->takers.
 */
static void count_shared(struct vrb_domain *domain, const struct ibv_wc *wc)
{
	struct vrb_ep *ep;

	ofi_lock(&domain->lock);
	ep = vrb_ep_find(domain, wc->qp_num);
	if (ep)
		ofi_cntr_count_result(ep->cntrs[VRB_COUNT_RECV], wc->status == IBV_WC_SUCCESS);
	ofi_unlock(&domain->lock);
}

/* Earlier operations without a completion have succeeded. */
static void count_to(const struct ibv_wc *wc)
{
	struct vrb_slot *slot = (struct vrb_slot *)(uintptr_t)wc->wr_id;
	struct vrb_wq *wq = slot->wq;

	vrb_wq_see(wq);
	if (vrb_wq_special(wq) & VRB_WQ_SHARED)
		count_shared(vrb_srq(wq)->domain, wc);
	if (!wq->cntrs || wq->given_up)
		return;
	while (wq->counted != slot)
		count_slot(wq, true);
	count_slot(wq, wc->status == IBV_WC_SUCCESS);
}

void vrb_cq_count(const struct ibv_wc *wc, int n)
{
	int i;

	for (i = 0; i < n; i++)
		count_to(&wc[i]);
}

void vrb_cq_count_lost(struct vrb_cq *cq)
{
	struct vrb_wq *wq;

	if (!(__atomic_load_n(&cq->special, __ATOMIC_ACQUIRE) & VRB_CQ_LOST))
		return;
	LIST_FOREACH (wq, &cq->lost, lost_entry)
		while (wq->cntrs && wq->given_up &&
		       wq->counted != __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE))
			count_slot(wq, false);
}

void vrb_cq_count_forget(struct vrb_wq *wq)
{
	for (; wq->cntrs && wq->counted != wq->head; wq->counted = wq->counted->next)
		if (wq->counted->flags & VRB_WORK)
			forget_work(wq->counted);
	wq->cntrs = NULL;
}

/* The descriptor is readable while completions are stored. */
static void cq_count_put(struct vrb_cq_store *store, const struct ibv_wc *wc)
{
	const uint64_t one = 1;

	store->wc[(store->first + store->count) % store->size] = *wc;
	if (!store->count++ && store->fd >= 0)
		(void)!write(store->fd, &one, sizeof(one));
}

static void store_get(struct vrb_cq_store *store, struct ibv_wc *wc)
{
	uint64_t signals;

	*wc = store->wc[store->first];
	store->first = (store->first + 1) % store->size;
	if (!--store->count && store->fd >= 0)
		(void)!read(store->fd, &signals, sizeof(signals));
}

int vrb_cq_take_stored(struct vrb_cq *cq, int want)
{
	int n;

	cq->first = 0;
	for (n = 0; n < want && cq->store.count; n++)
		store_get(&cq->store, &cq->wc[n]);
	return n;
}

void vrb_cq_forget(struct vrb_cq *cq, const struct vrb_wq *wq)
{
	uint32_t n = cq->store.count;
	struct ibv_wc wc;

	while (n--) {
		store_get(&cq->store, &wc);
		if (wq_of(&wc) != wq)
			cq_count_put(&cq->store, &wc);
	}
}

static void wc_retire(struct vrb_cq *cq, const struct ibv_wc *wc)
{
	if (wc->status == IBV_WC_SUCCESS)
		vrb_stats_received(wc);
	else
		vrb_stats_error(cq, wq_of(wc), wc->status);
	vrb_wq_retire(wq_of(wc), (struct vrb_slot *)(uintptr_t)wc->wr_id, 0);
}

/* Handles a counted completion: drops it, retires it, or stores it after unread ones. */
static void cq_count_settle(struct vrb_cq *cq, const struct ibv_wc *wc)
{
	if (vrb_wq_closed(wq_of(wc)))
		return;
	if (cq->unread && wc->status != IBV_WC_SUCCESS)
		vrb_cq_failed(wc);
	if (cq->unread)
		wc_retire(cq, wc);
	else if (cq->kept || cq->store.count || !vrb_cq_retire_silent(wc))
		cq_count_put(&cq->store, wc);
}

int vrb_cq_fetch(struct vrb_cq *cq)
{
	struct ibv_wc wc[VRB_CQ_BUNCH_MAX];
	uint32_t room = cq->unread ? cq->bunch : cq->store.size - cq->store.count;
	int i, n;

	n = vrb_cq_take_device(cq, wc, vrb_cq_want(cq, room));
	vrb_cq_count_lost(cq);
	if (!n && !cq->kept && !cq->store.count)
		vrb_cq_reap(cq);
	vrb_cq_count(wc, n);
	for (i = 0; i < n; i++)
		cq_count_settle(cq, &wc[i]);
	return n;
}

static int open_fd(struct vrb_cq *cq)
{
	int fd, ret;

	if (!cq->channel || cq->store.fd >= 0)
		return 0;
	fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return vrb_errno(errno);
	ret = ofi_cq_watch(&cq->base, fd);
	if (ret)
		close(fd);
	else
		cq->store.fd = fd;
	return ret;
}

static int store_resize(struct vrb_cq_store *store, uint32_t size)
{
	struct ibv_wc *wc = calloc(size, sizeof(*wc));
	uint32_t i;

	if (!wc)
		return -FI_ENOMEM;
	for (i = 0; i < store->count; i++)
		wc[i] = store->wc[(store->first + i) % store->size];
	free(store->wc);
	store->wc = wc;
	store->size = size;
	store->first = 0;
	return 0;
}

static void save_wcs(struct vrb_cq *cq)
{
	struct ibv_wc wc[VRB_CQ_BUNCH_MAX];
	int i, n;

	if (cq->store.size < cq->capacity && store_resize(&cq->store, cq->capacity)) {
		FI_WARN_SPARSE(
			&vrb_prov, FI_LOG_CQ,
			"fi_close: out of memory: receive completions of the endpoint that have not been read may be lost\n");
		return;
	}
	do {
		n = vrb_cq_take_device(cq, wc, vrb_cq_want(cq, cq->store.size - cq->store.count));
		for (i = 0; i < n; i++)
			cq_count_put(&cq->store, &wc[i]);
	} while (n > 0);
	if (cq->store.count)
		vrb_cq_set_special(cq, VRB_CQ_SAVED, true);
}

static void save_all(struct vrb_cq *cq)
{
	if (vrb_cq_counts(cq)) {
		while (vrb_cq_fetch(cq) > 0)
			;
	} else {
		save_wcs(cq);
	}
}

void vrb_cq_save(struct vrb_cq *cq)
{
	vrb_cq_lock(cq);
	save_all(cq);
	vrb_cq_unlock(cq);
}

int vrb_cq_count_open(struct vrb_cq *cq)
{
	int ret = open_fd(cq);

	if (!ret && !cq->unread && cq->store.size < cq->capacity)
		ret = store_resize(&cq->store, cq->capacity);
	if (!ret)
		vrb_cq_set_special(cq, VRB_CQ_COUNTS, true);
	return ret;
}

/* Returns the slot after those whose completions were already polled and wait for a reader. */
static struct vrb_slot *first_unpolled(const struct vrb_cq *cq, const struct vrb_wq *wq)
{
	struct vrb_slot *first = wq->tail;
	const struct ibv_wc *wc;
	uint32_t i;

	for (i = 0; i < cq->kept + cq->store.count; i++) {
		wc = i < cq->kept
			     ? &cq->wc[cq->first + i]
			     : &cq->store.wc[(cq->store.first + i - cq->kept) % cq->store.size];
		if (wq_of(wc) == wq)
			first = ((struct vrb_slot *)(uintptr_t)wc->wr_id)->next;
	}
	return first;
}

bool vrb_cq_has_all(struct vrb_cq *cq, const struct vrb_wq *wq)
{
	bool all;

	vrb_cq_lock(cq);
	all = first_unpolled(cq, wq) == __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE);
	vrb_cq_unlock(cq);
	return all;
}

bool vrb_cq_has_none(struct vrb_cq *cq, const struct vrb_wq *wq)
{
	bool none;

	if (cq->locked && !ofi_trylock(&cq->lock))
		return false;
	save_all(cq);
	none = cq->store.size >= cq->capacity && first_unpolled(cq, wq) == wq->tail;
	vrb_cq_unlock(cq);
	return none;
}

int vrb_cq_count_late(struct vrb_cq *cq, struct vrb_wq *wq, struct ofi_cntr *const *cntrs)
{
	int ret;

	vrb_cq_lock(cq);
	ret = vrb_cq_count_open(cq);
	if (!ret && !wq->cntrs) {
		wq->counted = first_unpolled(cq, wq);
		wq->cntrs = cntrs;
	}
	vrb_cq_unlock(cq);
	return ret;
}

void vrb_cq_count_close(struct vrb_cq *cq)
{
	if (cq->store.fd >= 0)
		close(cq->store.fd);
	free(cq->store.wc);
}

int vrb_cq_arm_counted(struct vrb_cq *cq)
{
	int n, err, ret = 0;

	do {
		while ((n = vrb_cq_fetch(cq)) > 0)
			ret = -FI_EAGAIN;
		err = n < 0 ? 0 : ibv_req_notify_cq(cq->ibv, 0);
		n = n < 0 || err ? 0 : vrb_cq_fetch(cq);
		if (n > 0)
			ret = -FI_EAGAIN;
	} while (n > 0);
	return err ? vrb_errno(err) : ret;
}
