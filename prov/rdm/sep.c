/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Scalable endpoints: opening, binding, closing, and opening their contexts. */
#include "sep.h"

#include <stdlib.h>
#include <string.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "alias.h"
#include "av.h"
#include "ep.h"
#include "prov/base/name.h"
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include "sep_int.h"

/* Returns 0 if a context may have these attributes. */
static int check_attr(const struct ofi_rdm_sep *sep, const char *call, bool rx, uint64_t caps,
		      uint64_t op_flags)
{
	const struct fi_info *info = sep->info;
	uint64_t own = rx ? info->rx_attr->caps : info->tx_attr->caps;
	uint64_t excess = caps & ~(own | info->caps | FI_NAMED_RX_CTX);

	if (excess)
		return ofi_refuse(
			sep->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"%s: capabilities 0x%llx that the scalable endpoint was not opened with\n",
			call, (unsigned long long)excess);
	if (op_flags & ~(rx ? OFI_RDM_RX_OP_FLAGS : OFI_RDM_TX_OP_FLAGS))
		return ofi_refuse_flags(sep->domain->prov, FI_LOG_EP_CTRL, call, op_flags);
	return 0;
}

static int context_new(struct ofi_rdm_sep *sep, const char *call, int index, bool rx, uint64_t caps,
		       uint64_t op_flags, struct fid_ep **fid, void *user)
{
	const struct fi_provider *prov = sep->domain->prov;
	int ret = check_attr(sep, call, rx, caps, op_flags);

	if (ret)
		return ret;
	if (!fid)
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, call, "the context");
	if (index < 0 || (size_t)index >= sep->count[rx])
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EINVAL,
				  "%s: index %d: the scalable endpoint has %zu %s contexts\n", call,
				  index, sep->count[rx], ofi_rdm_context_kind(rx));
	ofi_lock(&sep->lock);
	if (sep->part[index].context[rx])
		ret = ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EBUSY,
				 "%s: %s context %d is open already\n", call,
				 ofi_rdm_context_kind(rx), index);
	else
		ret = ofi_rdm_context_open(sep, (size_t)index, rx, op_flags, user, fid);
	ofi_unlock(&sep->lock);
	return ret;
}

/* In programs for API 1.8 and earlier, the structure ends before tclass. */
static void tx_attr_out(const struct ofi_rdm_sep *sep, struct fi_tx_attr *attr, uint64_t op_flags)
{
	uint32_t version = sep->domain->info->fabric_attr->api_version;
	bool has_tclass = FI_VERSION_GE(version, FI_VERSION(1, 9));

	memcpy(attr, sep->info->tx_attr,
	       has_tclass ? sizeof(*attr) : offsetof(struct fi_tx_attr, tclass));
	attr->op_flags = op_flags;
}

static int sep_tx_ctx(struct fid_ep *fid, int index, struct fi_tx_attr *attr, struct fid_ep **ep,
		      void *user)
{
	struct ofi_rdm_sep *sep = ofi_rdm_sep_of(&fid->fid);
	uint64_t op_flags = attr ? attr->op_flags : sep->info->tx_attr->op_flags;
	int ret = context_new(sep, "fi_tx_context", index, false, attr ? attr->caps : 0, op_flags,
			      ep, user);

	if (!ret && attr)
		tx_attr_out(sep, attr, op_flags);
	return ret;
}

static int sep_rx_ctx(struct fid_ep *fid, int index, struct fi_rx_attr *attr, struct fid_ep **ep,
		      void *user)
{
	struct ofi_rdm_sep *sep = ofi_rdm_sep_of(&fid->fid);
	const struct fi_rx_attr *own = sep->info->rx_attr;
	uint64_t op_flags = attr ? attr->op_flags : own->op_flags;
	int ret = context_new(sep, "fi_rx_context", index, true, attr ? attr->caps : 0, op_flags,
			      ep, user);

	if (!ret && attr) {
		*attr = *own;
		attr->op_flags = op_flags;
	}
	return ret;
}

/* The scalable endpoint. */

static void sep_free(struct ofi_rdm_sep *sep)
{
	ofi_rdm_parts_close(sep);
	if (sep->av)
		ofi_ref_put(&sep->av->base.ref);
	fi_freeinfo(sep->info);
	free(sep);
}

static int sep_close(struct fid *fid)
{
	struct ofi_rdm_sep *sep = ofi_rdm_sep_of(fid);
	struct ofi_domain *domain = sep->domain;
	size_t i;

	if (ofi_ref_inherited(&domain->ref))
		return 0;
	for (i = 0; i < sep->parts; i++)
		if (sep->part[i].context[0] || sep->part[i].context[1])
			return ofi_refuse(
				domain->prov, FI_LOG_EP_CTRL, -FI_EBUSY,
				"fi_close of a scalable endpoint: context %zu is still open\n", i);
	sep_free(sep);
	ofi_ref_put(&domain->ref);
	return 0;
}

static int sep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct ofi_rdm_sep *sep = ofi_rdm_sep_of(fid);
	const struct fi_provider *prov = sep->domain->prov;
	struct ofi_rdm_av *av = (struct ofi_rdm_av *)bfid;
	int ret = 0;
	size_t i;

	if (!bfid)
		return ofi_refuse_null(prov, FI_LOG_EP_CTRL, "fi_scalable_ep_bind", "bfid");
	if (flags)
		return ofi_refuse_flags(prov, FI_LOG_EP_CTRL, "fi_scalable_ep_bind", flags);
	if (bfid->fclass != FI_CLASS_AV || av->base.parent != &sep->domain->ref)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_scalable_ep_bind: a scalable endpoint takes an address vector of its domain; bind anything else to its contexts\n");
	if (sep->av)
		return ofi_refuse_second(prov, FI_LOG_EP_CTRL, "fi_scalable_ep_bind",
					 "an address vector");
	for (i = 0; i < sep->parts && !ret; i++)
		if (sep->part[i].ep)
			ret = ofi_rdm_bind(&sep->part[i].ep->fid.fid, bfid, 0);
	if (ret)
		return ret;
	sep->av = av;
	ofi_ref_get(&av->base.ref);
	return 0;
}

/* Programs may enable the scalable endpoint, too, but only enabling its contexts has an effect. */
static int sep_control(struct fid *fid, int command, void *arg)
{
	(void)arg;
	if (command == FI_ENABLE)
		return 0;
	return ofi_decline_command(ofi_rdm_sep_of(fid)->domain->prov, FI_LOG_EP_CTRL, command,
				   "a scalable endpoint supports FI_ENABLE");
}

static const struct fi_ops sep_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = sep_close,
	.bind = sep_bind,
	.control = sep_control,
};

static const struct fi_ops_ep sep_ops = {
	.size = OFI_EP_DEFAULTS,
	.tx_ctx = sep_tx_ctx,
	.rx_ctx = sep_rx_ctx,
};

static int sep_getname(fid_t fid, void *addr, size_t *len)
{
	return ofi_rdm_sep_name(ofi_rdm_sep_of(fid), addr, len);
}

static const struct fi_ops_cm sep_cm_ops = {
	.size = OFI_CM_DEFAULTS,
	.getname = sep_getname,
};

/* An attribute of 0 means one context. */
static int set_counts(struct ofi_rdm_sep *sep)
{
	const struct fi_ep_attr *attr = sep->info->ep_attr;

	sep->count[0] = attr->tx_ctx_cnt ? attr->tx_ctx_cnt : 1;
	sep->count[1] = attr->rx_ctx_cnt ? attr->rx_ctx_cnt : 1;
	sep->parts = sep->count[0] > sep->count[1] ? sep->count[0] : sep->count[1];
	if (sep->parts <= OFI_RDM_SEP_MAX)
		return 0;
	sep->parts = 0;
	return ofi_refuse(
		sep->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_scalable_ep: tx_ctx_cnt %zu, rx_ctx_cnt %zu: a scalable endpoint has up to %d contexts of each direction, not shared ones\n",
		attr->tx_ctx_cnt, attr->rx_ctx_cnt, OFI_RDM_SEP_MAX);
}

static int sep_set_up(struct ofi_rdm_sep *sep, const struct fi_info *info)
{
	struct fi_info full = *info;
	int ret;

	if (!full.domain_attr)
		full.domain_attr = sep->domain->info->domain_attr;
	sep->info = fi_dupinfo(&full);
	if (!sep->info)
		return -FI_ENOMEM;
	ret = set_counts(sep);
	if (!ret)
		ret = ofi_name_in(sep->domain->prov, "fi_scalable_ep", info->addr_format,
				  info->src_addr, info->src_addrlen, &sep->name);
	return ret ? ret : ofi_rdm_parts_open(sep);
}

int ofi_rdm_sep_open(struct fid_domain *domain_fid, const struct fi_info *info,
		     ofi_rdm_sep_open_fn *open, struct fid_ep **fid, void *context)
{
	struct ofi_domain *domain = ofi_domain(domain_fid);
	struct ofi_rdm_sep *sep;
	int ret;

	sep = calloc(1, sizeof(*sep));
	if (!sep)
		return -FI_ENOMEM;
	sep->domain = domain;
	sep->domain_fid = domain_fid;
	sep->open = open;
	ofi_lock_init(&sep->lock);
	ofi_ep_fid_init(&sep->fid, FI_CLASS_SEP, context, &sep_fid_ops, &sep_ops, &sep_cm_ops);
	ret = sep_set_up(sep, info);
	if (ret) {
		sep_free(sep);
		return ret;
	}
	ofi_ref_get(&domain->ref);
	*fid = &sep->fid;
	return 0;
}
