/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared transmit contexts: opening, checking which endpoints they fit, closing. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "ops.h"
#include "refuse.h"
#include "stx.h"

void ofi_stx_put(struct ofi_stx *stx)
{
	if (!ofi_ref_put_last(&stx->ref))
		return;
	ofi_ref_put(&stx->domain->ref);
	free(stx);
}

static int stx_close(struct fid *fid)
{
	struct ofi_stx *stx = (struct ofi_stx *)fid;

	if (!ofi_ref_inherited(&stx->domain->ref))
		ofi_stx_put(stx);
	return 0;
}

static const struct fi_ops stx_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = stx_close,
};

static const struct fi_ops_ep stx_ops = {
	.size = OFI_EP_DEFAULTS,
};

static int stx_check_attr(const struct ofi_domain *domain, const struct fi_tx_attr *limit,
			  const struct fi_tx_attr *attr)
{
	const uint64_t caps = limit->caps | domain->info->caps;

	if (!(attr->caps & ~caps) && attr->size <= limit->size &&
	    attr->iov_limit <= limit->iov_limit && attr->rma_iov_limit <= limit->rma_iov_limit)
		return 0;
	return ofi_refuse(
		domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_stx_context: caps 0x%llx, size %zu, iov_limit %zu, rma_iov_limit %zu; %s allows 0x%llx, %zu, %zu and %zu\n",
		(unsigned long long)attr->caps, attr->size, attr->iov_limit, attr->rma_iov_limit,
		domain->info->domain_attr->name, (unsigned long long)caps, limit->size,
		limit->iov_limit, limit->rma_iov_limit);
}

int ofi_stx_open(struct ofi_domain *domain, const struct fi_tx_attr *limit,
		 const struct fi_tx_attr *attr, struct fid_stx **stx_fid, void *context)
{
	struct ofi_stx *stx;
	int ret = 0;

	if (!stx_fid)
		return ofi_refuse_null(domain->prov, FI_LOG_EP_CTRL, "fi_stx_context", "stx");
	if (attr)
		ret = stx_check_attr(domain, limit, attr);
	if (ret)
		return ret;
	stx = calloc(1, sizeof(*stx));
	if (!stx)
		return -FI_ENOMEM;
	stx->domain = domain;
	stx->limits = attr;
	if (attr)
		stx->attr = (struct fi_tx_attr){ .size = attr->size,
						 .inject_size = attr->inject_size,
						 .iov_limit = attr->iov_limit };
	stx->fid = (struct fid_stx){
		.fid = { .fclass = FI_CLASS_STX_CTX,
			 .context = context,
			 .ops = ofi_ops(&stx_fid_ops) },
		.ops = ofi_ops(&stx_ops),
	};
	ofi_ref_get(&stx->ref);
	ofi_ref_get(&domain->ref);
	*stx_fid = &stx->fid;
	return 0;
}

/* A limit of 0 means no limit. */
static bool above(const struct fi_provider *prov, const char *name, size_t asked, size_t limit)
{
	if (!limit || asked <= limit)
		return false;
	FI_WARN(prov, FI_LOG_EP_CTRL,
		"fi_ep_bind: %s %zu of the endpoint, the shared transmit context has %zu\n", name,
		asked, limit);
	return true;
}

static int check_limits(const struct ofi_stx *stx, const struct fi_tx_attr *attr)
{
	const struct fi_tx_attr *limit = &stx->attr;

	if (!stx->limits)
		return 0;
	if (above(stx->domain->prov, "tx_attr->size", attr->size, limit->size) ||
	    above(stx->domain->prov, "tx_attr->inject_size", attr->inject_size,
		  limit->inject_size) ||
	    above(stx->domain->prov, "tx_attr->iov_limit", attr->iov_limit, limit->iov_limit))
		return -FI_EINVAL;
	return 0;
}

int ofi_stx_bind(struct ofi_stx **slot, struct ofi_stx *stx, const struct ofi_domain *domain,
		 const struct fi_tx_attr *attr, uint64_t flags)
{
	struct ofi_stx *none = NULL;
	int ret;

	if (flags)
		return ofi_refuse_flags(domain->prov, FI_LOG_EP_CTRL,
					"fi_ep_bind of a shared transmit context", flags);
	if (stx->domain != domain)
		return ofi_refuse(
			domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: the shared transmit context belongs to another domain\n");
	ret = __atomic_load_n(slot, __ATOMIC_RELAXED) ? -FI_EBUSY : check_limits(stx, attr);
	if (ret)
		return ret;
	ofi_ref_get(&stx->ref);
	if (__atomic_compare_exchange_n(slot, &none, stx, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return 0;
	ofi_stx_put(stx);
	return -FI_EBUSY;
}
