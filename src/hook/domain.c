/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains under hooks, and what is opened and registered on them. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_errno.h>
#include "hook.h"

/* A table that the provider's object has not, the application's has not either. */
static void fill_ep(struct fid_ep *ep, const struct fid_ep *real)
{
	ep->ops = real->ops ? &ofi_hook_ep_ops : NULL;
	ep->cm = real->cm ? &ofi_hook_cm_ops : NULL;
	ep->msg = real->msg ? &ofi_hook_msg_ops : NULL;
	ep->rma = real->rma ? &ofi_hook_rma_ops : NULL;
	ep->tagged = real->tagged ? &ofi_hook_tagged_ops : NULL;
	ep->atomic = real->atomic ? &ofi_hook_atomic_ops : NULL;
	ep->collective = real->collective ? &ofi_hook_collective_ops : NULL;
}

int ofi_hook_wrap_ep(struct fid_ep **ep, void *context)
{
	struct fid_ep *real = *ep;
	struct ofi_hook *hook;
	int ret = ofi_hook_wrap((struct fid **)ep, context, &hook);

	if (!ret)
		fill_ep(&hook->ep, real);
	return ret;
}

static int domain_av_open(struct fid_domain *domain, struct fi_av_attr *attr, struct fid_av **av,
			  void *context)
{
	static struct ofi_hook_site site = { .name = "fi_av_open" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start = ofi_hook_begin();
	struct ofi_hook *hook;
	int ret;

	ret = (int)ofi_hook_end(&site, domain, start, real->ops->av_open(real, attr, av, context),
				"attr %p, av %p, context %p", (void *)attr, (void *)av, context);
	if (!ret)
		ret = ofi_hook_wrap((struct fid **)av, context, &hook);
	if (!ret)
		hook->av.ops = &ofi_hook_av_ops;
	return ret;
}

static int domain_cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **cq,
			  void *context)
{
	static struct ofi_hook_site site = { .name = "fi_cq_open" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start = ofi_hook_begin();
	struct ofi_hook *hook;
	int ret;

	ret = (int)ofi_hook_end(&site, domain, start, real->ops->cq_open(real, attr, cq, context),
				"attr %p, cq %p, context %p", (void *)attr, (void *)cq, context);
	if (!ret)
		ret = ofi_hook_wrap((struct fid **)cq, context, &hook);
	if (!ret)
		hook->cq.ops = &ofi_hook_cq_ops;
	return ret;
}

static int domain_cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr,
			    struct fid_cntr **cntr, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_cntr_open" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start = ofi_hook_begin();
	struct ofi_hook *hook;
	int ret;

	ret = (int)ofi_hook_end(
		&site, domain, start, real->ops->cntr_open(real, attr, cntr, context),
		"attr %p, cntr %p, context %p", (void *)attr, (void *)cntr, context);
	if (!ret)
		ret = ofi_hook_wrap((struct fid **)cntr, context, &hook);
	if (!ret)
		hook->cntr.ops = &ofi_hook_cntr_ops;
	return ret;
}

static int domain_poll_open(struct fid_domain *domain, struct fi_poll_attr *attr,
			    struct fid_poll **pollset)
{
	static struct ofi_hook_site site = { .name = "fi_poll_open" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start = ofi_hook_begin();
	struct ofi_hook *hook;
	int ret;

	ret = (int)ofi_hook_end(&site, domain, start, real->ops->poll_open(real, attr, pollset),
				"attr %p, pollset %p", (void *)attr, (void *)pollset);
	if (!ret)
		ret = ofi_hook_wrap((struct fid **)pollset, (*pollset)->fid.context, &hook);
	if (!ret)
		hook->poll.ops = &ofi_hook_poll_ops;
	return ret;
}

/* info->handle may be a passive endpoint, or a connection request, which is the provider's own. */
static struct fid *take_handle(struct fi_info *info)
{
	struct fid *handle = info ? info->handle : NULL;

	if (info)
		info->handle = ofi_hook_unwrap(handle);
	return handle;
}

static void give_handle(struct fi_info *info, struct fid *handle)
{
	if (info)
		info->handle = handle;
}

static int domain_endpoint(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			   void *context)
{
	static struct ofi_hook_site site = { .name = "fi_endpoint" };
	struct fid_domain *real = ofi_hook_real(domain);
	struct fid *handle = take_handle(info);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, domain, start, real->ops->endpoint(real, info, ep, context),
				"info %p, ep %p, context %p", (void *)info, (void *)ep, context);
	give_handle(info, handle);
	return ret ? ret : ofi_hook_wrap_ep(ep, context);
}

static int domain_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
			    uint64_t flags, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_endpoint2" };
	struct fid_domain *real = ofi_hook_real(domain);
	struct fid *handle;
	uint64_t start;
	int ret;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_domain, endpoint2))
		return -FI_ENOSYS;
	handle = take_handle(info);
	start = ofi_hook_begin();
	ret = (int)ofi_hook_end(&site, domain, start,
				real->ops->endpoint2(real, info, ep, flags, context),
				"info %p, ep %p, flags 0x%llx, context %p", (void *)info,
				(void *)ep, (unsigned long long)flags, context);
	give_handle(info, handle);
	return ret ? ret : ofi_hook_wrap_ep(ep, context);
}

static int domain_scalable_ep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **sep,
			      void *context)
{
	static struct ofi_hook_site site = { .name = "fi_scalable_ep" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, domain, start,
				real->ops->scalable_ep(real, info, sep, context),
				"info %p, sep %p, context %p", (void *)info, (void *)sep, context);
	return ret ? ret : ofi_hook_wrap_ep(sep, context);
}

/* A shared transmit context is only bound. */
static int domain_stx_ctx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
			  void *context)
{
	static struct ofi_hook_site site = { .name = "fi_stx_context" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start = ofi_hook_begin();

	return (int)ofi_hook_end(&site, domain, start, real->ops->stx_ctx(real, attr, stx, context),
				 "attr %p, stx %p, context %p", (void *)attr, (void *)stx, context);
}

static int domain_srx_ctx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **rx_ep,
			  void *context)
{
	static struct ofi_hook_site site = { .name = "fi_srx_context" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(
		&site, domain, start, real->ops->srx_ctx(real, attr, rx_ep, context),
		"attr %p, rx_ep %p, context %p", (void *)attr, (void *)rx_ep, context);
	return ret ? ret : ofi_hook_wrap_ep(rx_ep, context);
}

static int domain_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
			       struct fi_atomic_attr *attr, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_query_atomic" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_domain, query_atomic))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(&site, domain, start,
				 real->ops->query_atomic(real, datatype, op, attr, flags),
				 "datatype %d, op %d, attr %p, flags 0x%llx", datatype, op,
				 (void *)attr, (unsigned long long)flags);
}

static int domain_query_collective(struct fid_domain *domain, enum fi_collective_op coll,
				   struct fi_collective_attr *attr, uint64_t flags)
{
	static struct ofi_hook_site site = { .name = "fi_query_collective" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_domain, query_collective))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(
		&site, domain, start, real->ops->query_collective(real, coll, attr, flags),
		"coll %d, attr %p, flags 0x%llx", coll, (void *)attr, (unsigned long long)flags);
}

static int domain_xpu_ctx(struct fid_domain *domain, struct fi_xpu_attr *attr,
			  struct fid_xpu_ctx **ctx, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_xpu_ctx" };
	struct fid_domain *real = ofi_hook_real(domain);
	uint64_t start;

	if (!FI_CHECK_OP(real->ops, struct fi_ops_domain, xpu_ctx))
		return -FI_ENOSYS;
	start = ofi_hook_begin();
	return (int)ofi_hook_end(&site, domain, start, real->ops->xpu_ctx(real, attr, ctx, context),
				 "attr %p, ctx %p, context %p", (void *)attr, (void *)ctx, context);
}

struct fi_ops_domain ofi_hook_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.av_open = domain_av_open,
	.cq_open = domain_cq_open,
	.endpoint = domain_endpoint,
	.scalable_ep = domain_scalable_ep,
	.cntr_open = domain_cntr_open,
	.poll_open = domain_poll_open,
	.stx_ctx = domain_stx_ctx,
	.srx_ctx = domain_srx_ctx,
	.query_atomic = domain_query_atomic,
	.query_collective = domain_query_collective,
	.endpoint2 = domain_endpoint2,
	.xpu_ctx = domain_xpu_ctx,
};

static int wrap_mr(struct fid_mr **mr, void *context)
{
	struct fid_mr *real = *mr;
	struct ofi_hook *hook;
	int ret = ofi_hook_wrap((struct fid **)mr, context, &hook);

	if (ret)
		return ret;
	hook->mr.mem_desc = real->mem_desc;
	hook->mr.key = real->key;
	return 0;
}

static int mr_reg(struct fid *fid, const void *buf, size_t len, uint64_t access, uint64_t offset,
		  uint64_t requested_key, uint64_t flags, struct fid_mr **mr, void *context)
{
	static struct ofi_hook_site site = { .name = "fi_mr_reg" };
	struct fid_domain *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, fid, start,
				real->mr->reg(&real->fid, buf, len, access, offset, requested_key,
					      flags, mr, context),
				"buf %p, len %zu, access 0x%llx, key 0x%llx, flags 0x%llx, mr %p",
				buf, len, (unsigned long long)access,
				(unsigned long long)requested_key, (unsigned long long)flags,
				(void *)mr);
	return ret ? ret : wrap_mr(mr, context);
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count, uint64_t access,
		   uint64_t offset, uint64_t requested_key, uint64_t flags, struct fid_mr **mr,
		   void *context)
{
	static struct ofi_hook_site site = { .name = "fi_mr_regv" };
	struct fid_domain *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, fid, start,
				real->mr->regv(&real->fid, iov, count, access, offset,
					       requested_key, flags, mr, context),
				"iov %p, count %zu, access 0x%llx, key 0x%llx, flags 0x%llx, mr %p",
				(const void *)iov, count, (unsigned long long)access,
				(unsigned long long)requested_key, (unsigned long long)flags,
				(void *)mr);
	return ret ? ret : wrap_mr(mr, context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
		      struct fid_mr **mr)
{
	static struct ofi_hook_site site = { .name = "fi_mr_regattr" };
	struct fid_domain *real = ofi_hook_real(fid);
	uint64_t start = ofi_hook_begin();
	int ret;

	ret = (int)ofi_hook_end(&site, fid, start, real->mr->regattr(&real->fid, attr, flags, mr),
				"attr %p, flags 0x%llx, mr %p", (const void *)attr,
				(unsigned long long)flags, (void *)mr);
	return ret ? ret : wrap_mr(mr, attr->context);
}

struct fi_ops_mr ofi_hook_mr_ops = {
	.size = sizeof(struct fi_ops_mr),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
