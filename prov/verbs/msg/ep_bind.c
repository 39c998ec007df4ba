/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoint bindings, options and default operation flags. */
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/cm/cm_wire.h"
#include "prov/verbs/queue/cntr.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/dgram/dgram.h"
#include "ep.h"
#include "ep_alias.h"
#include "ep_bind.h"
#include "ops.h"
#include "prov/verbs/queue/post.h"
#include "prov/verbs/provider/prov.h"
#include "srx.h"
#include "stx.h"

#define CQ_FLAGS (FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)

/* What can be a default of receives. */
static uint64_t rx_op_flags(const struct vrb_ep *ep)
{
	return (VRB_RX_FLAGS & ~FI_MORE) | (ep->info->caps & FI_MULTI_RECV);
}

void vrb_ep_set_modes(struct vrb_ep *ep)
{
	bool tx_silent = ep->tx_selective && !(ep->tx_op_flags & FI_COMPLETION);
	bool rx_silent = ep->rx_selective && !(ep->rx_op_flags & FI_COMPLETION);

	ep->tx_op_flags &= ep->tx_flags & ~(FI_REMOTE_CQ_DATA | FI_MORE);
	ep->rx_op_flags &= rx_op_flags(ep);
	ep->tx_silent = tx_silent ? VRB_SILENT : 0;
	ep->rx_flags = FI_MSG | FI_RECV | (rx_silent ? VRB_SILENT : 0);
	ep->tx_wr_flags = (tx_silent ? 0 : IBV_SEND_SIGNALED) | vrb_fence_flag(ep, ep->tx_op_flags);
	ep->send_max = ep->tx_op_flags & FI_INJECT ? ep->inject_size : ep->max_msg_size;
	if (vrb_ep_is_dgram(ep))
		vrb_dgram_set_modes(vrb_dgram_of(ep));
}

void vrb_ep_set_msg(struct vrb_ep *ep)
{
	bool lock = ep->lock_posts;

	if (vrb_ep_shares_rx(ep))
		ep->fid.msg = lock ? &vrb_msg_srx_ops : &vrb_msg_srx_bare_ops;
	else if (ep->info->caps & FI_MULTI_RECV)
		ep->fid.msg = lock ? &vrb_msg_multi_ops : &vrb_msg_multi_bare_ops;
	else
		ep->fid.msg = lock ? &vrb_msg_ops : &vrb_msg_bare_ops;
}

static int bind_eq(struct vrb_ep *ep, struct ofi_eq *eq, uint64_t flags)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (!ofi_eq_of(&eq->fid.fid, &ep->domain->fabric->ref)) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the event queue is of another fabric\n");
		return -FI_EINVAL;
	}
	if (ep->eq)
		return -FI_EBUSY;
	ep->eq = eq;
	ofi_ref_get(&eq->ref);
	return 0;
}

void vrb_ep_use_domain_eq(struct vrb_ep *ep)
{
	if (ep->domain->eq)
		bind_eq(ep, ep->domain->eq, 0);
}

static int bind_cq(struct vrb_ep *ep, struct vrb_cq *cq, uint64_t flags)
{
	bool selective = flags & FI_SELECTIVE_COMPLETION;

	if ((flags & ~CQ_FLAGS) || !(flags & (FI_TRANSMIT | FI_RECV))) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: flags 0x%llx; bind a completion queue with FI_TRANSMIT, FI_RECV or both, and FI_SELECTIVE_COMPLETION if wanted\n",
			(unsigned long long)flags);
		return -FI_EBADFLAGS;
	}
	if (!vrb_is_cq(&cq->fid.fid) || cq->domain != ep->domain) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the completion queue is of another domain\n");
		return -FI_EINVAL;
	}
	if (((flags & FI_TRANSMIT) && ep->tx_cq) || ((flags & FI_RECV) && ep->rx_cq))
		return -FI_EBUSY;
	if (flags & FI_TRANSMIT) {
		ep->tx_cq = cq;
		ep->tx_selective = selective;
		ofi_ref_get(&cq->ref);
	}
	if (flags & FI_RECV) {
		ep->rx_cq = cq;
		ep->rx_selective = selective;
		ofi_ref_get(&cq->ref);
	}
	vrb_ep_set_modes(ep);
	vrb_ep_alias_update(ep);
	return 0;
}

static int bind_srx(struct vrb_ep *ep, struct vrb_srx *srx, uint64_t flags)
{
	if (flags)
		return -FI_EBADFLAGS;
	if (srx->domain != ep->domain) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the shared receive context is of another domain\n");
		return -FI_EINVAL;
	}
	if (ep->srx)
		return -FI_EBUSY;
	ep->srx = srx;
	ofi_ref_get(&srx->ref);
	if (ep->info->caps & FI_MSG)
		vrb_ep_set_msg(ep);
	vrb_ep_alias_update(ep);
	return 0;
}

int vrb_ep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep_self(fid);

	if (!bfid)
		return -FI_EINVAL;
	if (ep->enabled && bfid->fclass != FI_CLASS_CNTR && bfid->fclass != FI_CLASS_STX_CTX) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_ep_bind: the endpoint is enabled and takes only counters and a shared transmit context now; bind anything else before fi_enable\n");
		return -FI_EOPBADSTATE;
	}
	switch (bfid->fclass) {
	case FI_CLASS_EQ:
		return bind_eq(ep, (struct ofi_eq *)bfid, flags);
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
			return vrb_stx_bind(&ep->stx, (struct vrb_stx *)bfid, ep->domain,
					    ep->info->tx_attr, flags);
		break;
	default:
		break;
	}
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
		"fi_ep_bind: object of class %zu; an endpoint takes event queues, completion "
		"queues and counters, a connected one shared contexts, one of type FI_EP_DGRAM an address vector\n",
		bfid->fclass);
	return -FI_EINVAL;
}

void vrb_ep_unbind(struct vrb_ep *ep)
{
	if (ep->eq)
		ofi_ref_put(&ep->eq->ref);
	if (ep->tx_cq)
		ofi_ref_put(&ep->tx_cq->ref);
	if (ep->rx_cq)
		ofi_ref_put(&ep->rx_cq->ref);
	if (ep->own_cq)
		fi_close(&ep->own_cq->fid.fid);
	if (ep->srx)
		ofi_ref_put(&ep->srx->ref);
	if (ep->stx)
		ofi_ref_put(&ep->stx->ref);
}

static int get_op_flags(const struct vrb_ep *ep, uint64_t *flags)
{
	switch (*flags & (FI_TRANSMIT | FI_RECV)) {
	case FI_TRANSMIT:
		*flags = ep->tx_op_flags;
		return 0;
	case FI_RECV:
		*flags = ep->rx_op_flags;
		return 0;
	default:
		return -FI_EINVAL;
	}
}

int vrb_ep_set_op_flags(struct vrb_ep *ep, uint64_t flags)
{
	uint64_t which = flags & (FI_TRANSMIT | FI_RECV);

	flags &= ~which;
	if (which == FI_TRANSMIT) {
		if (flags & ~(ep->tx_flags & ~(FI_REMOTE_CQ_DATA | FI_MORE)))
			return -FI_EBADFLAGS;
		ep->tx_op_flags = flags;
	} else if (which == FI_RECV) {
		if (flags & ~rx_op_flags(ep))
			return -FI_EBADFLAGS;
		ep->rx_op_flags = flags;
	} else {
		return -FI_EINVAL;
	}
	vrb_ep_set_modes(ep);
	return 0;
}

int vrb_ep_control(struct fid *fid, int command, void *arg)
{
	struct vrb_ep *ep = (struct vrb_ep *)fid;

	switch (command) {
	case FI_ENABLE:
		return vrb_ep_enable(ep->self);
	case FI_ALIAS:
		return vrb_ep_alias_open(ep, arg);
	case FI_GETOPSFLAG:
		return arg ? get_op_flags(ep, arg) : -FI_EINVAL;
	case FI_SETOPSFLAG:
		return arg ? vrb_ep_set_op_flags(ep, *(uint64_t *)arg) : -FI_EINVAL;
	default:
		return -FI_ENOSYS;
	}
}

/* Options are size_t; all but FI_OPT_MIN_MULTI_RECV are read-only. */
static int msg_option(const struct vrb_ep *ep, int name, size_t *value)
{
	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
		*value = __atomic_load_n(&ep->min_multi, __ATOMIC_RELAXED);
		return ep->info->caps & FI_MULTI_RECV ? 0 : -FI_ENOPROTOOPT;
	case FI_OPT_CM_DATA_SIZE:
		*value = VRB_CM_DATA_MAX;
		return 0;
	case FI_OPT_MAX_RMA_SIZE:
		*value = ep->max_msg_size;
		return 0;
	case FI_OPT_MAX_ATOMIC_SIZE:
		*value = sizeof(uint64_t);
		return 0;
	case FI_OPT_INJECT_RMA_SIZE:
		*value = ep->inject_size;
		return 0;
	case FI_OPT_INJECT_ATOMIC_SIZE:
		*value = ep->inject_size < sizeof(uint64_t) ? 0 : sizeof(uint64_t);
		return 0;
	default:
		return -FI_ENOPROTOOPT;
	}
}

static int option(const struct vrb_ep *ep, int name, size_t *value)
{
	switch (name) {
	case FI_OPT_TX_SIZE:
		*value = ep->info->tx_attr->size;
		return 0;
	case FI_OPT_RX_SIZE:
		*value = ep->info->rx_attr->size;
		return 0;
	case FI_OPT_MAX_MSG_SIZE:
		*value = ep->max_msg_size;
		return 0;
	case FI_OPT_INJECT_MSG_SIZE:
		*value = ep->inject_size;
		return 0;
	default:
		return vrb_ep_is_dgram(ep) ? -FI_ENOPROTOOPT : msg_option(ep, name, value);
	}
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	size_t found;
	int ret;

	if (level != FI_OPT_ENDPOINT || !value || !len)
		return -FI_EINVAL;
	ret = option(vrb_ep_self(fid), name, &found);
	if (ret)
		return ret;
	if (*len < sizeof(found)) {
		*len = sizeof(found);
		return -FI_ETOOSMALL;
	}
	*len = sizeof(found);
	memcpy(value, &found, sizeof(found));
	return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct vrb_ep *ep = vrb_ep_self(fid);
	size_t found;
	int ret;

	if (level != FI_OPT_ENDPOINT || !value || len != sizeof(found))
		return -FI_EINVAL;
	ret = option(ep, name, &found);
	if (ret || name != FI_OPT_MIN_MULTI_RECV)
		return ret ? ret : -FI_EOPNOTSUPP;
	memcpy(&found, value, sizeof(found));
	if (!found || found > ep->max_msg_size)
		return -FI_EINVAL;
	__atomic_store_n(&ep->min_multi, found, __ATOMIC_RELAXED);
	return 0;
}

static ssize_t ep_tx_size_left(struct fid_ep *fid)
{
	struct vrb_ep *ep = vrb_ep_self(&fid->fid);

	return ep->enabled ? (ssize_t)vrb_wq_left(ep->sq) : -FI_EOPBADSTATE;
}

static ssize_t ep_rx_size_left(struct fid_ep *fid)
{
	struct vrb_ep *ep = vrb_ep_self(&fid->fid);

	return ep->enabled ? (ssize_t)vrb_wq_left(ep->rq) : -FI_EOPBADSTATE;
}

/* Whatever was posted is the device's, which can't give it back. */
ssize_t vrb_ep_cancel(fid_t fid, void *context)
{
	(void)fid;
	(void)context;
	return -FI_ENOENT;
}

struct fi_ops_ep vrb_ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	.cancel = vrb_ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.rx_size_left = ep_rx_size_left,
	.tx_size_left = ep_tx_size_left,
};
