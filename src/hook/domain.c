/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains under hooks, and what is opened and registered on them. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include "call.h"

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

/* A shared transmit context is only bound. */
#define DOMAIN_CALLS(CALL)                                                                       \
	CALL(OPENED, int, av_open, "fi_av_open",                                                 \
	     ofi_hook_wrap_ops((struct fid **)av, context, &ofi_hook_av_ops),                    \
	     (P, struct fi_av_attr *, attr), (P, struct fid_av **, av), (P, void *, context))    \
	CALL(OPENED, int, cq_open, "fi_cq_open",                                                 \
	     ofi_hook_wrap_ops((struct fid **)cq, context, &ofi_hook_cq_ops),                    \
	     (P, struct fi_cq_attr *, attr), (P, struct fid_cq **, cq), (P, void *, context))    \
	CALL(OPENED, int, cntr_open, "fi_cntr_open",                                             \
	     ofi_hook_wrap_ops((struct fid **)cntr, context, &ofi_hook_cntr_ops),                \
	     (P, struct fi_cntr_attr *, attr), (P, struct fid_cntr **, cntr),                    \
	     (P, void *, context))                                                               \
	CALL(OPENED, int, poll_open, "fi_poll_open",                                             \
	     ofi_hook_wrap_ops((struct fid **)pollset, (*pollset)->fid.context,                  \
			       &ofi_hook_poll_ops),                                              \
	     (P, struct fi_poll_attr *, attr), (P, struct fid_poll **, pollset))                 \
	CALL(OPENED, int, scalable_ep, "fi_scalable_ep", ofi_hook_wrap_ep(sep, context),         \
	     (P, struct fi_info *, info), (P, struct fid_ep **, sep), (P, void *, context))      \
	CALL(PLAIN, int, stx_ctx, "fi_stx_context", (P, struct fi_tx_attr *, attr),              \
	     (P, struct fid_stx **, stx), (P, void *, context))                                  \
	CALL(OPENED, int, srx_ctx, "fi_srx_context", ofi_hook_wrap_ep(rx_ep, context),           \
	     (P, struct fi_rx_attr *, attr), (P, struct fid_ep **, rx_ep), (P, void *, context)) \
	CALL(OPTIONAL, int, query_atomic, "fi_query_atomic", (D, enum fi_datatype, datatype),    \
	     (D, enum fi_op, op), (P, struct fi_atomic_attr *, attr), (X, uint64_t, flags))      \
	CALL(OPTIONAL, int, query_collective, "fi_query_collective",                             \
	     (D, enum fi_collective_op, coll), (P, struct fi_collective_attr *, attr),           \
	     (X, uint64_t, flags))                                                               \
	CALL(OPTIONAL, int, xpu_ctx, "fi_xpu_ctx", (P, struct fi_xpu_attr *, attr),              \
	     (P, struct fid_xpu_ctx **, ctx), (P, void *, context))

#define DOMAIN_DEFINE(how, ret, ...)   HOOK_##how(fid_domain, ops, ret, __VA_ARGS__)
#define DOMAIN_SLOT(how, ret, op, ...) HOOK_SLOT(fid_domain, ops, op)
DOMAIN_CALLS(DOMAIN_DEFINE)

struct fi_ops_domain ofi_hook_domain_ops = {
	.size = sizeof(struct fi_ops_domain),
	.endpoint = domain_endpoint,
	.endpoint2 = domain_endpoint2 DOMAIN_CALLS(DOMAIN_SLOT),
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
