/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Default operation flags of an endpoint, the values that posting derives from them, and options.
 */
#include <rdma/fi_errno.h>
#include "alias_trigger.h"
#include "ep.h"
#include "ep_modes.h"
#include "ops.h"
#include "prov/base/ops.h"
#include "prov/verbs/cm/cm_wire.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/queue/post.h"
#include "prov/verbs/provider/prov.h"

static bool is_alias(const struct vrb_ep *ep)
{
	return ep->self != ep;
}

/* Returns the flags that transmits and receives may have as defaults. */
static uint64_t tx_op_flags(const struct vrb_ep *ep)
{
	return (ep->tx_flags & ~(FI_REMOTE_CQ_DATA | FI_MORE)) |
	       (is_alias(ep) ? ep->info->caps & FI_TRIGGER : 0);
}

static uint64_t rx_op_flags(const struct vrb_ep *ep)
{
	return OFI_RX_OP_FLAGS | (ep->info->caps & FI_MULTI_RECV) |
	       (is_alias(ep) ? ep->info->caps & FI_TRIGGER : 0);
}

void vrb_ep_set_modes(struct vrb_ep *ep)
{
	bool tx_silent = ep->tx_selective && !(ep->tx_op_flags & FI_COMPLETION);
	uint64_t rx_silent = vrb_ep_rx_silent(ep, ep->rx_op_flags);

	ep->tx_op_flags &= tx_op_flags(ep);
	ep->rx_op_flags &= rx_op_flags(ep);
	ep->tx_silent = tx_silent ? VRB_SILENT : 0;
	ep->rx_flags = FI_MSG | FI_RECV | rx_silent;
	ep->tx_wr_flags = (tx_silent ? 0 : IBV_SEND_SIGNALED) | vrb_fence_flag(ep, ep->tx_op_flags);
	ep->send_max = ep->tx_op_flags & FI_INJECT ? ep->inject_size : ep->max_msg_size;
	if (vrb_ep_is_dgram(ep))
		vrb_dgram_set_modes(vrb_dgram_of(ep));
	else if (is_alias(ep))
		vrb_alias_set_tables(ep);
}

static const struct fi_ops_msg *hmem_msg(const struct vrb_ep *ep)
{
	if (vrb_ep_shares_rx(ep))
		return &vrb_msg_hmem_srx_ops;
	return ep->info->caps & FI_MULTI_RECV ? &vrb_msg_hmem_multi_ops : &vrb_msg_hmem_ops;
}

void vrb_ep_set_msg(struct vrb_ep *ep)
{
	bool lock = ep->lock_posts;

	if (ep->info->caps & FI_HMEM)
		ep->fid.msg = ofi_ops(hmem_msg(ep));
	else if (vrb_ep_shares_rx(ep))
		ep->fid.msg = ofi_ops(lock ? &vrb_msg_srx_ops : &vrb_msg_srx_nolock_ops);
	else if (ep->info->caps & FI_MULTI_RECV)
		ep->fid.msg = ofi_ops(lock ? &vrb_msg_multi_ops : &vrb_msg_multi_nolock_ops);
	else
		ep->fid.msg = ofi_ops(lock ? &vrb_msg_ops : &vrb_msg_nolock_ops);
}

struct ofi_ep_op_flags vrb_ep_op_flags(struct vrb_ep *ep)
{
	return (struct ofi_ep_op_flags){
		.tx = &ep->tx_op_flags,
		.rx = &ep->rx_op_flags,
		.tx_allowed = tx_op_flags(ep),
		.rx_allowed = rx_op_flags(ep),
	};
}

int vrb_ep_set_op_flags(struct vrb_ep *ep, const uint64_t *flags)
{
	struct ofi_ep_op_flags of = vrb_ep_op_flags(ep);
	int ret = ofi_ep_set_op_flags(&vrb_prov, &of, flags);

	if (!ret)
		vrb_ep_set_modes(ep);
	return ret;
}

/* Options are of type size_t; all except FI_OPT_MIN_MULTI_RECV are read-only. */
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

static int ep_option(struct fid *fid, int name, size_t *value)
{
	const struct vrb_ep *ep = vrb_ep_self(fid);

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
	const struct vrb_ep *ep = vrb_ep_self(fid);

	if (ofi_hmem_has_option(ep->info, level, name))
		return ofi_hmem_getopt(&vrb_prov, &ep->hmem, name, value, len);
	return ofi_ep_getopt(&vrb_prov, fid, ep_option, level, name, value, len);
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct vrb_ep *ep = vrb_ep_self(fid);
	size_t to;
	int ret;

	if (ofi_hmem_has_option(ep->info, level, name))
		return ofi_hmem_setopt(&vrb_prov, ep->info, &ep->hmem, name, value, len);
	ret = ofi_ep_setopt(&vrb_prov, fid, ep_option, level, name, value, len,
			    FI_OPT_MIN_MULTI_RECV, &to);
	if (ret)
		return ret;
	if (!to || to > ep->max_msg_size)
		return -FI_EINVAL;
	__atomic_store_n(&ep->min_multi, to, __ATOMIC_RELAXED);
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

/* Posted operations belong to the device, which cannot return them. */
ssize_t vrb_ep_cancel(fid_t fid, void *context)
{
	(void)fid;
	(void)context;
	return -FI_ENOENT;
}

const struct fi_ops_ep vrb_ep_ops = {
	.size = OFI_EP_DEFAULTS,
	.cancel = vrb_ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.rx_size_left = ep_rx_size_left,
	.tx_size_left = ep_tx_size_left,
};
