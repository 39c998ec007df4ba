/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The alias objects of reliable-datagram endpoints. Their calls are those of calls.c. */
#include "alias.h"

#include <stdlib.h>
#include "prov/base/ops.h"
#include <rdma/fi_errno.h>
#include "calls.h"
#include "ep.h"
#include "prov/base/refuse.h"
#include "stats.h"

static struct ofi_rdm_fid *alias_of(struct fid *fid)
{
	return (struct ofi_rdm_fid *)fid;
}

struct ofi_ep_op_flags ofi_rdm_op_flags(struct ofi_rdm_fid *a)
{
	uint64_t trigger = a->endpoint->info->caps & FI_TRIGGER;

	return (struct ofi_ep_op_flags){ &a->tx_op_flags, &a->rx_op_flags,
					 OFI_RDM_TX_OP_FLAGS | trigger,
					 OFI_RDM_RX_OP_FLAGS | trigger };
}

static int alias_close(struct fid *fid)
{
	struct ofi_rdm_fid *a = alias_of(fid);
	int ret = ofi_rdm_close(a->endpoint);

	if (!ret)
		free(a);
	return ret;
}

static int alias_control(struct fid *fid, int command, void *arg)
{
	struct ofi_rdm_fid *a = alias_of(fid);
	struct ofi_ep_op_flags of = ofi_rdm_op_flags(a);
	struct fid *aliased = &a->endpoint->fid.fid;

	switch (command) {
	case FI_ALIAS:
		return ofi_rdm_alias_open(a->endpoint, a->tx_op_flags, a->rx_op_flags, arg);
	case FI_GETOPSFLAG:
	case FI_SETOPSFLAG:
		return ofi_ep_control(a->endpoint->domain->prov, &of, command, arg, "");
	default:
		return aliased->ops->control(aliased, command, arg);
	}
}

static const struct fi_ops fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = alias_close,
	.bind = ofi_rdm_bind,
	.control = alias_control,
	.ops_open = ofi_rdm_stats_open_ops,
};

int ofi_rdm_alias_open(struct ofi_rdm_ep *ep, uint64_t tx_op_flags, uint64_t rx_op_flags,
		       const struct fi_alias *arg)
{
	struct ofi_ep_op_flags of;
	struct ofi_rdm_fid *a;
	int ret;

	if (!arg || !arg->fid)
		return ofi_refuse_null(ep->domain->prov, FI_LOG_EP_CTRL, "fi_ep_alias", "alias_ep");
	a = calloc(1, sizeof(*a));
	if (!a)
		return -FI_ENOMEM;
	a->endpoint = ep;
	a->tx_op_flags = tx_op_flags;
	a->rx_op_flags = rx_op_flags;
	of = ofi_rdm_op_flags(a);
	ret = ofi_ep_set_op_flags(a->endpoint->domain->prov, &of, &arg->flags);
	if (ret) {
		free(a);
		return ret;
	}
	ofi_ep_fid_init(&a->fid, FI_CLASS_EP, ep->fid.fid.context, &fid_ops, ep->fid.ops,
			ep->fid.cm);
	ofi_rdm_set_calls(&a->fid, &a->one_way, ep->info->caps, ep->info->caps, &ofi_rdm_calls);
	ofi_ref_get(&ep->fids);
	*arg->fid = &a->fid.fid;
	return 0;
}
