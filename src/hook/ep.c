/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints under hooks: options and contexts. */
#include <rdma/fi_endpoint.h>
#include "call.h"

#define EP_PEP_CALLS(CALL)                                                      \
	CALL(FID, ssize_t, cancel, "fi_cancel", A_CONTEXT)                      \
	CALL(FID, int, getopt, "fi_getopt", (D, int, level), (D, int, optname), \
	     (P, void *, optval), (P, size_t *, optlen))                        \
	CALL(FID, int, setopt, "fi_setopt", (D, int, level), (D, int, optname), \
	     (P, const void *, optval), (Z, size_t, optlen))

#define EP_PEP_DEFINE(how, ret, ...)   HOOK_##how(fid_pep, ops, ret, __VA_ARGS__)
#define EP_PEP_SLOT(how, ret, op, ...) HOOK_SLOT(fid_pep, ops, op)
EP_PEP_CALLS(EP_PEP_DEFINE)

#define EP_EP_CALLS(CALL)                                                                       \
	CALL(OPENED, int, tx_ctx, "fi_tx_ctx", ofi_hook_wrap_ep(tx_ep, context), (D, int, idx), \
	     (P, struct fi_tx_attr *, attr), (P, struct fid_ep **, tx_ep), A_CONTEXT)           \
	CALL(OPENED, int, rx_ctx, "fi_rx_ctx", ofi_hook_wrap_ep(rx_ep, context), (D, int, idx), \
	     (P, struct fi_rx_attr *, attr), (P, struct fid_ep **, rx_ep), A_CONTEXT)           \
	CALL(BARE, ssize_t, rx_size_left, "fi_rx_size_left")                                    \
	CALL(BARE, ssize_t, tx_size_left, "fi_tx_size_left")                                    \
	CALL(OPTIONAL, int, export_xpu, "fi_export_xpu", A_FLAGS, (P, struct fid_xpu_ep *, xpu_ep))

#define EP_EP_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, ops, ret, __VA_ARGS__)
#define EP_EP_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, ops, op)
EP_EP_CALLS(EP_EP_DEFINE)

struct fi_ops_ep ofi_hook_ep_ops = {
	.size = sizeof(struct fi_ops_ep) EP_PEP_CALLS(EP_PEP_SLOT) EP_EP_CALLS(EP_EP_SLOT),
};
