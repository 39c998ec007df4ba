/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains under hooks, and the objects opened and registered on them. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include "call.h"

/*
 * Ops tables that the provider's object does not have are missing in the application's object too.
 */
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

/*
 * info->handle is either a passive endpoint, or a connection request, which belongs to the
 * provider.
 */
static struct fid *take_handle(struct fi_info *info)
{
	struct fid *handle = info ? info->handle : NULL;

	if (info)
		info->handle = ofi_hook_unwrap(handle);
	return handle;
}

static int opened_ep(int ret, struct fi_info *info, struct fid *handle, struct fid_ep **ep,
		     void *context)
{
	if (info)
		info->handle = handle;
	return ret ? ret : ofi_hook_wrap_ep(ep, context);
}

#define HOOK_ENDPOINT(object_, table_, ret_, op_, name_, ...)                \
	HOOK_CALL(object_, struct object_ *, table_, ret_, op_, name_, real, \
		  HOOK_IF_THERE(table_, op_);                                \
		  struct fid *handle = take_handle(info),                    \
		  opened_ep(ret, info, handle, ep, context), __VA_ARGS__)

/* A shared transmit context can only be bound. */
#define DOMAIN_CALLS(CALL, OF...)                                                               \
	CALL(OF, ENDPOINT, int, endpoint, "fi_endpoint", A_INFO, (P, struct fid_ep **, ep),     \
	     A_CONTEXT)                                                                         \
	CALL(OF, ENDPOINT, int, endpoint2, "fi_endpoint2", A_INFO, (P, struct fid_ep **, ep),   \
	     A_FLAGS, A_CONTEXT)                                                                \
	CALL(OF, OPENED, int, av_open, "fi_av_open",                                            \
	     ofi_hook_wrap_ops((struct fid **)av, context, &ofi_hook_av_ops),                   \
	     (P, struct fi_av_attr *, attr), (P, struct fid_av **, av), A_CONTEXT)              \
	CALL(OF, OPENED, int, cq_open, "fi_cq_open",                                            \
	     ofi_hook_wrap_ops((struct fid **)cq, context, &ofi_hook_cq_ops),                   \
	     (P, struct fi_cq_attr *, attr), (P, struct fid_cq **, cq), A_CONTEXT)              \
	CALL(OF, OPENED, int, cntr_open, "fi_cntr_open",                                        \
	     ofi_hook_wrap_ops((struct fid **)cntr, context, &ofi_hook_cntr_ops),               \
	     (P, struct fi_cntr_attr *, attr), (P, struct fid_cntr **, cntr), A_CONTEXT)        \
	CALL(OF, OPENED, int, poll_open, "fi_poll_open",                                        \
	     ofi_hook_wrap_ops((struct fid **)pollset, (*pollset)->fid.context,                 \
			       &ofi_hook_poll_ops),                                             \
	     (P, struct fi_poll_attr *, attr), (P, struct fid_poll **, pollset))                \
	CALL(OF, OPENED, int, scalable_ep, "fi_scalable_ep", ofi_hook_wrap_ep(sep, context),    \
	     A_INFO, (P, struct fid_ep **, sep), A_CONTEXT)                                     \
	CALL(OF, PLAIN, int, stx_ctx, "fi_stx_context", (P, struct fi_tx_attr *, attr),         \
	     (P, struct fid_stx **, stx), A_CONTEXT)                                            \
	CALL(OF, OPENED, int, srx_ctx, "fi_srx_context", ofi_hook_wrap_ep(rx_ep, context),      \
	     (P, struct fi_rx_attr *, attr), (P, struct fid_ep **, rx_ep), A_CONTEXT)           \
	CALL(OF, OPTIONAL, int, query_atomic, "fi_query_atomic", A_TYPE, A_OP,                  \
	     (P, struct fi_atomic_attr *, attr), A_FLAGS)                                       \
	CALL(OF, OPTIONAL, int, query_collective, "fi_query_collective",                        \
	     (D, enum fi_collective_op, coll), (P, struct fi_collective_attr *, attr), A_FLAGS) \
	CALL(OF, OPTIONAL, int, xpu_ctx, "fi_xpu_ctx", (P, struct fi_xpu_attr *, attr),         \
	     (P, struct fid_xpu_ctx **, ctx), A_CONTEXT)

HOOK_TABLE(fi_ops_domain, ofi_hook_domain_ops, fid_domain, ops, DOMAIN_CALLS)

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

#define MR_CALLS(CALL, OF...)                                                               \
	CALL(OF, FID_OPENED, int, reg, "fi_mr_reg", wrap_mr(mr, context), A_BUF, A_LEN,     \
	     (X, uint64_t, access), (X, uint64_t, offset), (X, uint64_t, key), A_FLAGS,     \
	     (P, struct fid_mr **, mr), A_CONTEXT)                                          \
	CALL(OF, FID_OPENED, int, regv, "fi_mr_regv", wrap_mr(mr, context), A_IOV, A_COUNT, \
	     (X, uint64_t, access), (X, uint64_t, offset), (X, uint64_t, key), A_FLAGS,     \
	     (P, struct fid_mr **, mr), A_CONTEXT)                                          \
	CALL(OF, FID_OPENED, int, regattr, "fi_mr_regattr", wrap_mr(mr, attr->context),     \
	     (P, const struct fi_mr_attr *, attr), A_FLAGS, (P, struct fid_mr **, mr))

HOOK_TABLE(fi_ops_mr, ofi_hook_mr_ops, fid_domain, mr, MR_CALLS)
