/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attaching endpoints to the queues and counters whose readers make them progress. */
#include "ep.h"

#include "cntr.h"
#include "cq.h"
#include "domain_progress.h"
#include "lock.h"
#include "msg.h"

static struct ofi_rdm_cq *cq_of(const struct ofi_rdm_ep *ep, uint8_t half)
{
	return half == OFI_RDM_TX ? ep->tx_cq : ep->rx_cq;
}

static void cq_leave(struct ofi_rdm_ep *ep, uint8_t half)
{
	if (ep->attached & half)
		ofi_rdm_cq_detach(cq_of(ep, half), ep, half == OFI_RDM_TX);
	ep->attached &= (uint8_t)~half;
}

/* Attaches the queue of a direction. A queue of both directions is attached once. */
static int cq_join(struct ofi_rdm_ep *ep, uint8_t half)
{
	struct ofi_rdm_cq *cq = cq_of(ep, half);
	int ret;

	if (!cq || ep->attached & half || (ep->attached && cq == cq_of(ep, half ^ OFI_RDM_BOTH)))
		return 0;
	ret = ofi_rdm_cq_attach(cq, ep, half == OFI_RDM_TX);
	if (!ret)
		ep->attached |= half;
	return ret;
}

void ofi_rdm_detach(struct ofi_rdm_ep *ep)
{
	int i;

	ofi_rdm_domain_progress_remove(ep->domain->progress, ep);
	cq_leave(ep, OFI_RDM_TX);
	cq_leave(ep, OFI_RDM_RX);
	for (i = 0; i < OFI_RDM_COUNTS; i++)
		if (ep->cntrs[i])
			ofi_cntr_unwatch(ep->cntrs[i], ep);
	ofi_cntr_unwatch_all(&ep->domain->triggers, &ep->deferred.watches);
}

int ofi_rdm_attach_cqs(struct ofi_rdm_ep *ep)
{
	int ret = cq_join(ep, OFI_RDM_TX);

	return ret ? ret : cq_join(ep, OFI_RDM_RX);
}

int ofi_rdm_attach(struct ofi_rdm_ep *ep)
{
	int i, ret = ofi_rdm_attach_cqs(ep);

	if (!ret)
		ret = ofi_rdm_domain_progress_add(ep->domain->progress, ep);
	for (i = 0; i < OFI_RDM_COUNTS && !ret; i++)
		if (ep->cntrs[i])
			ret = ofi_cntr_watch(ep->cntrs[i], &ofi_rdm_cntr_source, ep, ep->fd);
	return ret;
}

static void forget_cq(struct ofi_rdm_ep *ep, uint8_t half)
{
	ofi_rdm_lock(ep);
	if (half == OFI_RDM_TX)
		ep->tx_cq = ep->tx_tagged = NULL;
	else
		ep->rx_cq = ep->rx_tagged = NULL;
	ofi_rdm_set_modes(ep);
	ofi_rdm_unlock(ep);
}

/* A queue that the other direction uses as well stays attached, for that direction. */
void ofi_rdm_release_cq(struct ofi_rdm_ep *ep, uint8_t half)
{
	struct ofi_rdm_cq *cq = cq_of(ep, half);
	uint8_t attached = ep->attached & half;

	if (!cq)
		return;
	if (attached && cq == cq_of(ep, half ^ OFI_RDM_BOTH)) {
		ofi_rdm_cq_turn(cq, ep, half == OFI_RDM_TX);
		ep->attached ^= OFI_RDM_BOTH;
		attached = 0;
	}
	forget_cq(ep, half);
	if (attached)
		ofi_rdm_cq_detach(cq, ep, half == OFI_RDM_TX);
	ep->attached &= (uint8_t)~attached;
	ofi_ref_put(&cq->slow.ref);
}
