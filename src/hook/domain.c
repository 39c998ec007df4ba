/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Domains under hooks, and the objects opened and registered on them. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include "call.h"

/*
 * Unwraps info->handle, which is a passive endpoint or a connection request; the latter belongs to
 * the provider. Returns the original.
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
	return ret ? ret : HOOK_WRAP(ep);
}

#define HOOK_ENDPOINT(object_, table_, ret_, op_, name_, ...)                \
	HOOK_CALL(object_, struct object_ *, table_, ret_, op_, name_, real, \
		  HOOK_IF_THERE(table_, op_);                                \
		  struct fid *handle = take_handle(info),                    \
		  opened_ep(ret, info, handle, ep, context), __VA_ARGS__)

/* A shared transmit context is not put under hooks, because it can only be bound. */
#define DOMAIN_CALLS(CALL, OF...)                                                                  \
	CALL(OF, ENDPOINT, int, endpoint, "fi_endpoint", A_INFO, A_NEW(ep), A_CONTEXT)             \
	CALL(OF, ENDPOINT, int, endpoint2, "fi_endpoint2", A_INFO, A_NEW(ep), A_FLAGS, A_CONTEXT)  \
	CALL(OF, OPENED, int, av_open, "fi_av_open", HOOK_WRAP(av), A_ATTR(fi_av_attr), A_NEW(av), \
	     A_CONTEXT)                                                                            \
	CALL(OF, OPENED, int, cq_open, "fi_cq_open", HOOK_WRAP(cq), A_ATTR(fi_cq_attr), A_NEW(cq), \
	     A_CONTEXT)                                                                            \
	CALL(OF, OPENED, int, cntr_open, "fi_cntr_open", HOOK_WRAP(cntr), A_ATTR(fi_cntr_attr),    \
	     A_NEW(cntr), A_CONTEXT)                                                               \
	CALL(OF, OPENED, int, poll_open, "fi_poll_open",                                           \
	     ofi_hook_wrap((struct fid **)pollset, (*pollset)->fid.context), A_ATTR(fi_poll_attr), \
	     (P, struct fid_poll **, pollset))                                                     \
	CALL(OF, OPENED, int, scalable_ep, "fi_scalable_ep", HOOK_WRAP(sep), A_INFO,               \
	     (P, struct fid_ep **, sep), A_CONTEXT)                                                \
	CALL(OF, PLAIN, int, stx_ctx, "fi_stx_context", A_ATTR(fi_tx_attr), A_NEW(stx), A_CONTEXT) \
	CALL(OF, OPENED, int, srx_ctx, "fi_srx_context", HOOK_WRAP(rx_ep), A_ATTR(fi_rx_attr),     \
	     (P, struct fid_ep **, rx_ep), A_CONTEXT)                                              \
	CALL(OF, OPTIONAL, int, query_atomic, "fi_query_atomic", A_TYPE_OP,                        \
	     A_ATTR(fi_atomic_attr), A_FLAGS)                                                      \
	CALL(OF, OPTIONAL, int, query_collective, "fi_query_collective",                           \
	     (D, enum fi_collective_op, coll), A_ATTR(fi_collective_attr), A_FLAGS)                \
	CALL(OF, OPTIONAL, int, xpu_ctx, "fi_xpu_ctx", A_ATTR(fi_xpu_attr),                        \
	     (P, struct fid_xpu_ctx **, ctx), A_CONTEXT)

HOOK_TABLE(fi_ops_domain, ofi_hook_domain_ops, fid_domain, ops, DOMAIN_CALLS)

#define MR_CALLS(CALL, OF...)                                                                  \
	CALL(OF, FID_OPENED, int, reg, "fi_mr_reg", HOOK_WRAP(mr), A_BUF, A_LEN, A_ACCESS,     \
	     A_NEW(mr), A_CONTEXT)                                                             \
	CALL(OF, FID_OPENED, int, regv, "fi_mr_regv", HOOK_WRAP(mr), A_IOV, A_COUNT, A_ACCESS, \
	     A_NEW(mr), A_CONTEXT)                                                             \
	CALL(OF, FID_OPENED, int, regattr, "fi_mr_regattr",                                    \
	     ofi_hook_wrap((struct fid **)mr, attr->context),                                  \
	     (P, const struct fi_mr_attr *, attr), A_FLAGS, A_NEW(mr))

HOOK_TABLE(fi_ops_mr, ofi_hook_mr_ops, fid_domain, mr, MR_CALLS)
