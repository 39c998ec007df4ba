/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Contexts of scalable endpoints, and their aliases. */
#include <stdlib.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "alias.h"
#include "calls.h"
#include "ep.h"
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include "sep_int.h"
#include "stats.h"

static struct ofi_rdm_context *context_of(struct fid *fid)
{
	return (struct ofi_rdm_context *)fid;
}

static uint8_t half_of(const struct ofi_rdm_context *context)
{
	return context->rx ? OFI_RDM_RX : OFI_RDM_TX;
}

static const struct fi_provider *prov_of(const struct ofi_rdm_context *context)
{
	return context->sep->domain->prov;
}

/*
 * The endpoint ends with the last context of its index. A later context opens another one. The
 * caller holds the lock.
 */
static void context_end(struct ofi_rdm_context *context)
{
	struct ofi_rdm_part *part = &context->sep->part[context->index];

	part->context[context->rx] = NULL;
	if (part->context[!context->rx])
		ofi_rdm_stop(part->ep, half_of(context), context->cntrs);
	else
		ofi_rdm_part_close(part);
}

static struct ofi_ep_op_flags op_flags_of(struct ofi_rdm_context *context)
{
	struct ofi_ep_op_flags of = ofi_rdm_op_flags(&context->head);

	*(context->rx ? &of.tx : &of.rx) = NULL;
	return of;
}

/* The context ends with the last of its fids. */
static int context_close(struct fid *fid)
{
	struct ofi_rdm_context *context = context_of(fid), *base = context->base;
	struct ofi_rdm_sep *sep = context->sep;
	bool last;

	if (ofi_ref_inherited(&sep->domain->ref))
		return 0;
	ofi_lock(&sep->lock);
	last = !--base->fids;
	if (last)
		context_end(base);
	ofi_unlock(&sep->lock);
	if (context != base)
		free(context);
	if (last)
		free(base);
	return 0;
}

/* Binds to a half that is not enabled. The other half of the endpoint may be at work. */
static int context_bind_to(struct ofi_rdm_context *context, struct fid *bfid, uint64_t flags)
{
	struct ofi_rdm_ep *ep = context->head.endpoint;
	int ret;

	if (bfid->fclass == FI_CLASS_CQ && !(ep->enabled & half_of(context)))
		return ofi_rdm_bind_cq(ep, bfid, flags);
	ret = ofi_rdm_bind(&ep->fid.fid, bfid, flags);
	if (!ret && bfid->fclass == FI_CLASS_CNTR)
		context->base->cntrs |= flags;
	return ret;
}

/* Returns the flags of the other direction, with which nothing is bound to the context. */
static uint64_t flags_of_other(const struct ofi_rdm_context *context, const struct fid *bfid)
{
	if (bfid->fclass == FI_CLASS_CQ)
		return context->rx ? FI_TRANSMIT : FI_RECV;
	if (bfid->fclass == FI_CLASS_CNTR)
		return context->rx ? FI_SEND | FI_READ | FI_WRITE
				   : FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
	return 0;
}

static int context_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct ofi_rdm_context *context = context_of(fid);
	const struct fi_provider *prov = prov_of(context);
	int ret;

	if (!bfid)
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, "fi_ep_bind", "bfid");
	if (flags & flags_of_other(context, bfid))
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: flags 0x%llx are of the other direction; a %s context takes those of its own\n",
			(unsigned long long)(flags & flags_of_other(context, bfid)),
			ofi_rdm_context_kind(context->rx));
	if (bfid->fclass != FI_CLASS_CQ && bfid->fclass != FI_CLASS_CNTR &&
	    bfid->fclass != FI_CLASS_EQ)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: object of class %zu; a context takes a completion queue, counters and an event queue\n",
			bfid->fclass);
	ofi_lock(&context->sep->lock);
	ret = context_bind_to(context, bfid, flags);
	ofi_unlock(&context->sep->lock);
	return ret;
}

static int context_enable(struct ofi_rdm_context *context)
{
	int ret;

	ofi_lock(&context->sep->lock);
	ret = ofi_rdm_enable(context->head.endpoint, half_of(context));
	ofi_unlock(&context->sep->lock);
	return ret;
}

static int context_alias(struct ofi_rdm_context *context, const struct fi_alias *arg)
{
	struct ofi_ep_op_flags of;
	struct ofi_rdm_context *alias;
	int ret;

	if (!arg || !arg->fid)
		return ofi_refuse_null(prov_of(context), FI_LOG_EP_CTRL, "fi_ep_alias", "alias_ep");
	alias = malloc(sizeof(*alias));
	if (!alias)
		return -FI_ENOMEM;
	*alias = *context;
	of = op_flags_of(alias);
	ret = ofi_ep_set_op_flags(prov_of(context), &of, &arg->flags);
	if (ret) {
		free(alias);
		return ret;
	}
	ofi_lock(&context->sep->lock);
	context->base->fids++;
	ofi_unlock(&context->sep->lock);
	*arg->fid = &alias->head.fid.fid;
	return 0;
}

static int context_control(struct fid *fid, int command, void *arg)
{
	struct ofi_rdm_context *context = context_of(fid);
	struct ofi_ep_op_flags of = op_flags_of(context);

	switch (command) {
	case FI_ENABLE:
		return context_enable(context);
	case FI_ALIAS:
		return context_alias(context, arg);
	default:
		return ofi_ep_control(
			prov_of(context), &of, command, arg,
			"a context supports FI_ENABLE, FI_ALIAS, FI_GETOPSFLAG and FI_SETOPSFLAG");
	}
}

static const struct fi_ops context_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = context_close,
	.bind = context_bind,
	.control = context_control,
	.ops_open = ofi_rdm_stats_open_ops,
};

static int context_getname(fid_t fid, void *addr, size_t *len)
{
	return ofi_rdm_sep_name(context_of(fid)->sep, addr, len);
}

static const struct fi_ops_cm context_cm_ops = {
	.size = OFI_CM_DEFAULTS,
	.getname = context_getname,
};

static void context_set_tables(struct ofi_rdm_context *context, void *user)
{
	uint64_t caps =
		context->sep->info->caps & ~(context->rx ? FI_ATOMIC | FI_RMA | FI_SEND : 0);

	ofi_ep_fid_init(&context->head.fid, context->rx ? FI_CLASS_RX_CTX : FI_CLASS_TX_CTX, user,
			&context_fid_ops, context->head.endpoint->fid.ops, &context_cm_ops);
	ofi_rdm_set_calls(&context->head.fid, &context->head.one_way,
			  context->rx ? FI_RECV : FI_SEND, caps, &ofi_rdm_calls);
}

int ofi_rdm_context_open(struct ofi_rdm_sep *sep, size_t index, bool rx, uint64_t op_flags,
			 void *user, struct fid_ep **fid)
{
	struct ofi_rdm_part *part = &sep->part[index];
	struct ofi_rdm_context *context = calloc(1, sizeof(*context));
	int ret = 0;

	if (!context)
		return -FI_ENOMEM;
	if (!part->ep)
		ret = ofi_rdm_part_open(sep, index);
	if (ret) {
		free(context);
		return ret;
	}
	context->sep = sep;
	context->base = context;
	context->fids = 1;
	context->index = index;
	context->rx = rx;
	context->head.endpoint = part->ep;
	*(rx ? &context->head.rx_op_flags : &context->head.tx_op_flags) = op_flags;
	context_set_tables(context, user);
	part->context[rx] = context;
	*fid = &context->head.fid;
	return 0;
}
