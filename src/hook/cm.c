/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection management under hooks. */
#include <rdma/fi_cm.h>
#include "call.h"

#define CM_PEP_CALLS(CALL, OF...)                                                            \
	CALL(OF, FID, int, setname, "fi_setname", (P, void *, addr), (Z, size_t, addrlen))   \
	CALL(OF, FID, int, getname, "fi_getname", (P, void *, addr), (P, size_t *, addrlen)) \
	CALL(OF, PLAIN, int, listen, "fi_listen")                                            \
	CALL(OF, PLAIN, int, reject, "fi_reject", (P, fid_t, handle), A_PARAM)

CM_PEP_CALLS(HOOK_DEFINE, fid_pep, cm)

#define CM_EP_CALLS(CALL, OF...)                                                               \
	CALL(OF, PLAIN, int, getpeer, "fi_getpeer", (P, void *, addr), (P, size_t *, addrlen)) \
	CALL(OF, PLAIN, int, connect, "fi_connect", (P, const void *, addr), A_PARAM)          \
	CALL(OF, PLAIN, int, accept, "fi_accept", A_PARAM)                                     \
	CALL(OF, PLAIN, int, shutdown, "fi_shutdown", A_FLAGS)                                 \
	CALL(OF, OPTIONAL, int, join, "fi_join", (P, const void *, addr), A_FLAGS, A_NEW(mc),  \
	     A_CONTEXT)

CM_EP_CALLS(HOOK_DEFINE, fid_ep, cm)

struct fi_ops_cm ofi_hook_cm_ops = {
	.size = sizeof(struct fi_ops_cm) CM_PEP_CALLS(HOOK_SLOT, fid_pep, cm)
		CM_EP_CALLS(HOOK_SLOT, fid_ep, cm),
};
