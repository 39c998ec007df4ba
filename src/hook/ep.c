/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints under hooks: options and contexts. */
#include <rdma/fi_endpoint.h>
#include "call.h"

#define EP_PEP_CALLS(CALL, OF...)                                                   \
	CALL(OF, FID, ssize_t, cancel, "fi_cancel", A_CONTEXT)                      \
	CALL(OF, FID, int, getopt, "fi_getopt", (D, int, level), (D, int, optname), \
	     (P, void *, optval), (P, size_t *, optlen))                            \
	CALL(OF, FID, int, setopt, "fi_setopt", (D, int, level), (D, int, optname), \
	     (P, const void *, optval), (Z, size_t, optlen))

EP_PEP_CALLS(HOOK_DEFINE, fid_pep, ops)

#define EP_EP_CALLS(CALL, OF...)                                                    \
	CALL(OF, OPENED, int, tx_ctx, "fi_tx_ctx", HOOK_WRAP(tx_ep), (D, int, idx), \
	     A_ATTR(fi_tx_attr), (P, struct fid_ep **, tx_ep), A_CONTEXT)           \
	CALL(OF, OPENED, int, rx_ctx, "fi_rx_ctx", HOOK_WRAP(rx_ep), (D, int, idx), \
	     A_ATTR(fi_rx_attr), (P, struct fid_ep **, rx_ep), A_CONTEXT)           \
	CALL(OF, PLAIN, ssize_t, rx_size_left, "fi_rx_size_left")                   \
	CALL(OF, PLAIN, ssize_t, tx_size_left, "fi_tx_size_left")                   \
	CALL(OF, OPTIONAL, int, export_xpu, "fi_export_xpu", A_XPU(ep))

EP_EP_CALLS(HOOK_DEFINE, fid_ep, ops)

struct fi_ops_ep ofi_hook_ep_ops = {
	.size = sizeof(struct fi_ops_ep) EP_PEP_CALLS(HOOK_SLOT, fid_pep, ops)
		EP_EP_CALLS(HOOK_SLOT, fid_ep, ops),
};
