/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Binding objects to reliable-datagram endpoints. */
#include "prov/base/refuse.h"
#include <rdma/fi_errno.h>
#include "prov/base/ep.h"
#include "av.h"
#include "objects.h"
#include "cntr.h"
#include "cq.h"
#include "ep.h"
#include "lock.h"
#include "msg.h"
#include "peer.h"
#include "prov/base/stx.h"
#include "srx.h"

static int bind_cq(struct ofi_rdm_ep *ep, struct ofi_rdm_cq *cq, uint64_t flags)
{
	uint64_t bound = (ep->tx_cq ? FI_TRANSMIT : 0) | (ep->rx_cq ? FI_RECV : 0);
	int ret = ofi_ep_check_cq(ep->domain->prov, &cq->fid.fid, &ep->domain->ref, flags, bound);

	if (ret)
		return ret;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_tagged = cq->base.format == FI_CQ_FORMAT_TAGGED ? cq : NULL;
		ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
		ofi_ref_get(&cq->slow.ref);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_tagged = cq->base.format == FI_CQ_FORMAT_TAGGED ? cq : NULL;
		ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
		ofi_ref_get(&cq->slow.ref);
	}
	ofi_rdm_set_modes(ep);
	return 0;
}

int ofi_rdm_bind_cq(struct ofi_rdm_ep *ep, struct fid *cq, uint64_t flags)
{
	int ret;

	ofi_rdm_lock(ep);
	ret = bind_cq(ep, (struct ofi_rdm_cq *)cq, flags);
	ofi_rdm_unlock(ep);
	return ret;
}

static const uint64_t cntr_flags[] = {
	[OFI_RDM_SEND] = FI_SEND,
	[OFI_RDM_RECV] = FI_RECV,
	[OFI_RDM_RMA_READ] = FI_READ,
	[OFI_RDM_RMA_WRITE] = FI_WRITE,
	[OFI_RDM_REMOTE_READ] = FI_REMOTE_READ,
	[OFI_RDM_REMOTE_WRITE] = FI_REMOTE_WRITE,
};

static int set_cntr(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int i;

	for (i = 0; i < OFI_RDM_COUNTS; i++)
		if ((flags & cntr_flags[i]) && ep->cntrs[i])
			return ofi_refuse_second(ep->domain->prov, FI_LOG_EP_CTRL, "fi_ep_bind",
						 "a counter for one of these flags");
	for (i = 0; i < OFI_RDM_COUNTS; i++) {
		if (!(flags & cntr_flags[i]))
			continue;
		ep->cntrs[i] = cntr;
		ofi_ref_get(&cntr->ref);
	}
	ep->counts = true;
	ofi_rdm_set_modes(ep);
	return 0;
}

static void bind_unwatch(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	for (; flags; flags &= flags - 1)
		ofi_cntr_unwatch(cntr, ep);
}

/*
 * Watches the counter once for each kind of operation, since closing the endpoint removes one watch
 * for each.
 */
static int bind_watch(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	uint64_t left, done = 0;
	int ret;

	for (left = flags; left; left &= left - 1) {
		ret = ofi_cntr_watch(cntr, &ofi_rdm_cntr_source, ep, ep->fd);
		if (ret) {
			bind_unwatch(ep, cntr, done);
			return ret;
		}
		done |= left & -left;
	}
	return 0;
}

/*
 * Makes operations that started before the counter was bound count, too. The caller holds the lock.
 */
static void count_from_now(struct ofi_rdm_ep *ep, uint64_t flags)
{
	const struct ofi_rdm_xport_ops *ops = ep->proto.xport.ops;
	uint32_t i;

	if (flags & FI_RECV)
		ofi_rdm_recvs_mark(ep, OFI_RDM_RECV_SLOW);
	if (!(flags & (FI_SEND | FI_READ | FI_WRITE)))
		return;
	ops->signal_all(ep);
	for (i = 0; i < ep->peer_count; i++)
		ops->settled(&ep->peers[i]->proto);
}

/*
 * A counter that makes progress holds its own lock and takes the endpoint's. It therefore must not
 * be watched with the endpoint's lock held.
 */
static int bind_cntr_late(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int ret = bind_watch(ep, cntr, flags);

	if (ret)
		return ret;
	ofi_rdm_lock(ep);
	ret = set_cntr(ep, cntr, flags);
	if (!ret)
		count_from_now(ep, flags);
	ofi_rdm_unlock(ep);
	if (ret)
		bind_unwatch(ep, cntr, flags);
	return ret;
}

static int bind_cntr(struct ofi_rdm_ep *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int ret =
		ofi_ep_check_cntr(ep->domain->prov, cntr, &ep->domain->ref, ep->info->caps, &flags);

	if (ret)
		return ret;
	return ep->enabled ? bind_cntr_late(ep, cntr, flags) : set_cntr(ep, cntr, flags);
}

static int bind_av(struct ofi_rdm_ep *ep, struct ofi_rdm_av *av, uint64_t flags)
{
	if (flags)
		return ofi_refuse_flags(ep->domain->prov, FI_LOG_EP_CTRL,
					"fi_ep_bind of an address vector", flags);
	if (av->base.parent != &ep->domain->ref)
		return ofi_refuse(ep->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "fi_ep_bind: the address vector belongs to another domain\n");
	if (ep->av)
		return ofi_refuse_second(ep->domain->prov, FI_LOG_EP_CTRL, "fi_ep_bind",
					 "an address vector");
	ep->av = av;
	ofi_rdm_av_bind(av, ep);
	return 0;
}

int ofi_rdm_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self((struct fid_ep *)fid);

	if (!bfid)
		return ofi_refuse_null(ep->domain->prov, FI_LOG_EP_CTRL, "fi_ep_bind", "bfid");
	if (ep->enabled && bfid->fclass != FI_CLASS_CNTR && bfid->fclass != FI_CLASS_STX_CTX)
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_ep_bind: the endpoint is enabled and takes only counters and a shared transmit context now; bind anything else before fi_enable\n");
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct ofi_rdm_cq *)bfid, flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, (struct ofi_cntr *)bfid, flags);
	case FI_CLASS_AV:
		return bind_av(ep, (struct ofi_rdm_av *)bfid, flags);
	case FI_CLASS_EQ:
		return ofi_ep_bind_eq(ep->domain->prov, &ep->eq, (struct ofi_eq *)bfid,
				      ep->domain->fabric, flags);
	case FI_CLASS_STX_CTX:
		return ofi_stx_bind(&ep->stx, (struct ofi_stx *)bfid, ep->domain, ep->info->tx_attr,
				    flags);
	case FI_CLASS_SRX_CTX:
		return ofi_rdm_srx_bind(ep, bfid, flags);
	default:
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: object of class %zu; a reliable-datagram endpoint takes an address vector, queues, counters and shared contexts\n",
			bfid->fclass);
	}
}

static void release_cntr(struct ofi_rdm_ep *ep, int i)
{
	struct ofi_cntr *cntr = ep->cntrs[i];

	if (!cntr)
		return;
	ofi_rdm_lock(ep);
	ep->cntrs[i] = NULL;
	ofi_rdm_unlock(ep);
	ofi_cntr_unwatch(cntr, ep);
	ofi_ref_put(&cntr->ref);
}

void ofi_rdm_release_cntrs(struct ofi_rdm_ep *ep, uint64_t flags)
{
	int i;

	for (i = 0; i < OFI_RDM_COUNTS; i++)
		if (flags & cntr_flags[i])
			release_cntr(ep, i);
}

void ofi_rdm_unbind(struct ofi_rdm_ep *ep)
{
	int i;

	if (ep->tx_cq)
		ofi_ref_put(&ep->tx_cq->slow.ref);
	if (ep->rx_cq)
		ofi_ref_put(&ep->rx_cq->slow.ref);
	for (i = 0; i < OFI_RDM_COUNTS; i++)
		if (ep->cntrs[i])
			ofi_ref_put(&ep->cntrs[i]->ref);
	if (ep->eq)
		ofi_ref_put(&ep->eq->ref);
	if (ep->stx)
		ofi_stx_put(ep->stx);
	if (ep->av)
		ofi_ref_put(&ep->av->base.ref);
}
