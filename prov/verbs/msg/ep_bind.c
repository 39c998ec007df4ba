/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoint bindings. */
#include <rdma/providers/fi_log.h>
#include "prov/base/ep.h"
#include "prov/verbs/queue/cntr.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/dgram/dgram.h"
#include "ep.h"
#include "ep_alias.h"
#include "ep_modes.h"
#include "prov/verbs/provider/prov.h"
#include "srx.h"
#include "prov/base/refuse.h"
#include "prov/base/stx.h"

void vrb_ep_use_domain_eq(struct vrb_ep *ep)
{
	if (ep->domain->base.eq)
		ofi_ep_bind_eq(&vrb_prov, &ep->eq, ep->domain->base.eq, &ep->domain->fabric->ref,
			       0);
}

static int bind_cq(struct vrb_ep *ep, struct vrb_cq *cq, uint64_t flags)
{
	uint64_t bound = (ep->tx_cq ? FI_TRANSMIT : 0) | (ep->rx_cq ? FI_RECV : 0);
	bool selective = flags & FI_SELECTIVE_COMPLETION;
	int ret = ofi_ep_check_cq(&vrb_prov, &cq->fid.fid, &ep->domain->base.ref, flags, bound);

	if (ret)
		return ret;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = selective;
		ofi_ref_get(&cq->slow.ref);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
		ofi_ref_get(&cq->slow.ref);
	}
	vrb_ep_set_modes(ep);
	vrb_ep_alias_update(ep);
	return 0;
}

static int bind_srx(struct vrb_ep *ep, struct vrb_srx *srx, uint64_t flags)
{
	if (flags)
		return ofi_refuse_flags(&vrb_prov, FI_LOG_EP_CTRL,
					"fi_ep_bind of a shared receive context", flags);
	if (srx->domain != ep->domain)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: the shared receive context belongs to another domain\n");
	if (ep->srx)
		return ofi_refuse_second(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind",
					 "a shared receive context");
	ep->srx = srx;
	ofi_ref_get(&srx->ref);
	vrb_ep_set_msg(ep);
	vrb_ep_alias_update(ep);
	return 0;
}

int vrb_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep_self(fid);

	if (!bfid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind", "bfid");
	if (ep->enabled && bfid->fclass != FI_CLASS_CNTR && bfid->fclass != FI_CLASS_STX_CTX)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_ep_bind: the endpoint is enabled and takes only counters and a shared transmit context now; bind anything else before fi_enable\n");
	switch (bfid->fclass) {
	case FI_CLASS_EQ:
		return ofi_ep_bind_eq(&vrb_prov, &ep->eq, (struct ofi_eq *)bfid,
				      &ep->domain->fabric->ref, flags);
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct vrb_cq *)bfid, flags);
	case FI_CLASS_AV:
		if (vrb_ep_is_dgram(ep))
			return vrb_dgram_bind(vrb_dgram_of(ep), (struct vrb_av *)bfid, flags);
		break;
	case FI_CLASS_CNTR:
		return vrb_cntr_bind(ep, (struct ofi_cntr *)bfid, flags);
	case FI_CLASS_SRX_CTX:
		if (!vrb_ep_is_dgram(ep))
			return bind_srx(ep, (struct vrb_srx *)bfid, flags);
		break;
	case FI_CLASS_STX_CTX:
		if (!vrb_ep_is_dgram(ep))
			return ofi_stx_bind(&ep->stx, (struct ofi_stx *)bfid, &ep->domain->base,
					    ep->info->tx_attr, flags);
		break;
	default:
		break;
	}
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_ep_bind: object of class %zu; an endpoint takes event queues, completion "
		"queues and counters, a connected one shared contexts, one of type FI_EP_DGRAM an address vector\n",
		bfid->fclass);
}

void vrb_ep_unbind(struct vrb_ep *ep)
{
	if (ep->eq)
		ofi_ref_put(&ep->eq->ref);
	if (ep->tx_cq)
		ofi_ref_put(&ep->tx_cq->slow.ref);
	if (ep->rx_cq)
		ofi_ref_put(&ep->rx_cq->slow.ref);
	if (ep->own_cq)
		fi_close(&ep->own_cq->fid.fid);
	if (ep->srx)
		ofi_ref_put(&ep->srx->ref);
	if (ep->stx)
		ofi_stx_put(ep->stx);
}
