/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The list of endpoints of a completion queue. */
#include "cq.h"

static bool is_busy(const struct ofi_rdm_ep *ep)
{
	return __atomic_load_n(&ep->collects, __ATOMIC_RELAXED) || ep->info->caps & FI_TRIGGER;
}

/* The caller holds cq->eps_lock. */
static void set_only(struct ofi_rdm_cq *cq)
{
	const struct ofi_rdm_cq_link *first = LIST_FIRST(&cq->eps);

	cq->only = first && !LIST_NEXT(first, entry) ? first->ep : NULL;
	/*
	 * Collectives and triggered operations run in each progress call. Moreover, a reader
	 * without locks must not enter an endpoint that requires them.
	 */
	if (cq->only && (is_busy(cq->only) || cq->only->biased != cq->nolock))
		cq->only = NULL;
}

void ofi_rdm_cq_renew(struct ofi_rdm_cq *cq)
{
	ofi_lock(&cq->eps_lock);
	set_only(cq);
	ofi_unlock(&cq->eps_lock);
}

static void link_ep(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx)
{
	ep->cq_links[tx].ep = ep;
	LIST_INSERT_HEAD(&cq->eps, &ep->cq_links[tx], entry);
	set_only(cq);
}

void ofi_rdm_cq_turn(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx)
{
	ofi_lock(&cq->eps_lock);
	LIST_REMOVE(&ep->cq_links[tx], entry);
	link_ep(cq, ep, !tx);
	ofi_unlock(&cq->eps_lock);
}

int ofi_rdm_cq_attach(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx)
{
	int ret = ofi_cq_watch(&cq->base, ep->fd);

	if (ret)
		return ret;
	ofi_lock(&cq->eps_lock);
	link_ep(cq, ep, tx);
	ofi_unlock(&cq->eps_lock);
	ofi_cq_rearm(&cq->base);
	return 0;
}

void ofi_rdm_cq_detach(struct ofi_rdm_cq *cq, struct ofi_rdm_ep *ep, bool tx)
{
	ofi_lock(&cq->eps_lock);
	LIST_REMOVE(&ep->cq_links[tx], entry);
	set_only(cq);
	ofi_unlock(&cq->eps_lock);
	ofi_cq_unwatch(&cq->base, ep->fd);
}
