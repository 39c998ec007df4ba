/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What is bound to reliable-datagram endpoints. */
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/ep.h"
#include "av.h"
#include "proto_ops.h"
#include "cntr.h"
#include "cq.h"
#include "ep.h"
#include "link.h"
#include "lock.h"
#include "msg.h"
#include "peer.h"
#include "prov/verbs/provider/prov.h"
#include "prov/base/stx.h"
#include "prov/base/refuse.h"

static int bind_refuse(const char *what)
{
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind: the %s belongs to another domain\n", what);
	return -FI_EINVAL;
}

static int bind_cq(struct vrb_rdm *ep, struct vrb_rdm_cq *cq, uint64_t flags)
{
	uint64_t bound = (ep->tx_cq ? FI_TRANSMIT : 0) | (ep->rx_cq ? FI_RECV : 0);
	int ret = ofi_ep_check_cq(&vrb_prov, &cq->fid.fid, &ep->domain->base.ref, flags, bound);

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
	vrb_rdm_set_modes(ep);
	return 0;
}

static const uint64_t cntr_flags[] = {
	[VRB_RDM_SEND] = FI_SEND,
	[VRB_RDM_RECV] = FI_RECV,
	[VRB_RDM_RMA_READ] = FI_READ,
	[VRB_RDM_RMA_WRITE] = FI_WRITE,
	[VRB_RDM_REMOTE_READ] = FI_REMOTE_READ,
	[VRB_RDM_REMOTE_WRITE] = FI_REMOTE_WRITE,
};

static int check_cntr_flags(const struct vrb_rdm *ep, uint64_t flags)
{
	const uint64_t remote = FI_REMOTE_READ | FI_REMOTE_WRITE;

	if (!flags || (flags & ~(FI_SEND | FI_RECV | FI_READ | FI_WRITE | remote)))
		return ofi_refuse_flags(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind of a counter",
					flags);
	if (!(flags & remote) || ep->info->caps & FI_RMA_EVENT)
		return 0;
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
		"fi_ep_bind: a counter with FI_REMOTE_READ or FI_REMOTE_WRITE: the endpoint was opened without FI_RMA_EVENT; request it in the hints of fi_getinfo\n");
	return -FI_EOPNOTSUPP;
}

static int set_cntr(struct vrb_rdm *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int i;

	for (i = 0; i < VRB_RDM_COUNTS; i++)
		if ((flags & cntr_flags[i]) && ep->cntrs[i])
			return ofi_refuse_second(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind",
						 "a counter for one of these flags");
	for (i = 0; i < VRB_RDM_COUNTS; i++) {
		if (!(flags & cntr_flags[i]))
			continue;
		ep->cntrs[i] = cntr;
		ofi_ref_get(&cntr->ref);
	}
	ep->counts = true;
	vrb_rdm_set_modes(ep);
	return 0;
}

static void bind_unwatch(struct vrb_rdm *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	for (; flags; flags &= flags - 1)
		ofi_cntr_unwatch(cntr, ep);
}

/* Once for each kind, as closing the endpoint takes it back. */
static int bind_watch(struct vrb_rdm *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	uint64_t left, done = 0;
	int ret;

	for (left = flags; left; left &= left - 1) {
		ret = ofi_cntr_watch(cntr, &vrb_rdm_cntr_source, ep, ep->channel->fd);
		if (ret) {
			bind_unwatch(ep, cntr, done);
			return ret;
		}
		done |= left & -left;
	}
	return 0;
}

static void probe_all(struct vrb_rdm *ep)
{
	struct vrb_rdm_link *link;
	uint32_t i;

	for (i = 0; i < ep->peer_count; i++) {
		link = ep->peers[i]->link;
		if (link && link->live)
			vrb_rdm_link_probe(link, &ep->peers[i]->proto.flow);
	}
}

/* With the lock held: what is under way was begun without a counter, and is to be counted too. */
static void count_from_now(struct vrb_rdm *ep, uint64_t flags)
{
	if (flags & FI_RECV)
		vrb_rdm_recvs_mark(ep, VRB_RDM_RECV_SLOW);
	if (!(flags & (FI_SEND | FI_WRITE)))
		return;
	vrb_rdm_link_signal_all(ep);
	probe_all(ep);
}

/*
 * A counter that looks for progress holds its lock and takes the endpoint's: it can't be watched
 * with that one held.
 */
static int bind_cntr_late(struct vrb_rdm *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int ret = bind_watch(ep, cntr, flags);

	if (ret)
		return ret;
	vrb_rdm_lock(ep);
	ret = set_cntr(ep, cntr, flags);
	if (!ret)
		count_from_now(ep, flags);
	vrb_rdm_unlock(ep);
	if (ret)
		bind_unwatch(ep, cntr, flags);
	return ret;
}

static int bind_cntr(struct vrb_rdm *ep, struct ofi_cntr *cntr, uint64_t flags)
{
	int ret = check_cntr_flags(ep, flags);

	if (ret)
		return ret;
	if (!ofi_cntr_of(&cntr->fid.fid, &ep->domain->base.ref))
		return bind_refuse("counter");
	return ep->enabled ? bind_cntr_late(ep, cntr, flags) : set_cntr(ep, cntr, flags);
}

static int bind_av(struct vrb_rdm *ep, struct vrb_rdm_av *av)
{
	if (av->base.parent != &ep->domain->base.ref)
		return bind_refuse("address vector");
	if (ep->av)
		return ofi_refuse_second(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind",
					 "an address vector");
	ep->av = av;
	vrb_rdm_av_bind(av, ep);
	return 0;
}

int vrb_rdm_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)fid;

	if (!bfid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind", "bfid");
	if (ep->enabled && bfid->fclass != FI_CLASS_CNTR && bfid->fclass != FI_CLASS_STX_CTX) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the endpoint is enabled and takes only counters and a shared transmit context now; bind anything else before fi_enable\n");
		return -FI_EOPBADSTATE;
	}
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct vrb_rdm_cq *)bfid, flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, (struct ofi_cntr *)bfid, flags);
	case FI_CLASS_AV:
		return bind_av(ep, (struct vrb_rdm_av *)bfid);
	case FI_CLASS_EQ:
		return ofi_ep_bind_eq(&vrb_prov, &ep->eq, (struct ofi_eq *)bfid,
				      &ep->domain->fabric->ref, flags);
	case FI_CLASS_STX_CTX:
		return ofi_stx_bind(&ep->stx, (struct ofi_stx *)bfid, &ep->domain->base,
				    ep->info->tx_attr, flags);
	default:
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: object of class %zu; a reliable-datagram endpoint takes an address vector, queues, counters and a shared transmit context\n",
			bfid->fclass);
		return -FI_EINVAL;
	}
}

void vrb_rdm_unbind(struct vrb_rdm *ep)
{
	int i;

	if (ep->tx_cq)
		ofi_ref_put(&ep->tx_cq->slow.ref);
	if (ep->rx_cq)
		ofi_ref_put(&ep->rx_cq->slow.ref);
	for (i = 0; i < VRB_RDM_COUNTS; i++)
		if (ep->cntrs[i])
			ofi_ref_put(&ep->cntrs[i]->ref);
	if (ep->eq)
		ofi_ref_put(&ep->eq->ref);
	if (ep->stx)
		ofi_ref_put(&ep->stx->ref);
	if (ep->av)
		ofi_ref_put(&ep->av->base.ref);
}
