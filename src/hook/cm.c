/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection management under hooks. */
#include <rdma/fi_cm.h>
#include "call.h"

#define CM_PEP_CALLS(CALL)                                                               \
	CALL(FID, int, setname, "fi_setname", (P, void *, addr), (Z, size_t, addrlen))   \
	CALL(FID, int, getname, "fi_getname", (P, void *, addr), (P, size_t *, addrlen)) \
	CALL(BARE, int, listen, "fi_listen")                                             \
	CALL(PLAIN, int, reject, "fi_reject", (P, fid_t, handle), A_PARAM)

#define CM_PEP_DEFINE(how, ret, ...)   HOOK_##how(fid_pep, cm, ret, __VA_ARGS__)
#define CM_PEP_SLOT(how, ret, op, ...) HOOK_SLOT(fid_pep, cm, op)
CM_PEP_CALLS(CM_PEP_DEFINE)

#define CM_EP_CALLS(CALL)                                                                  \
	CALL(PLAIN, int, getpeer, "fi_getpeer", (P, void *, addr), (P, size_t *, addrlen)) \
	CALL(PLAIN, int, connect, "fi_connect", (P, const void *, addr), A_PARAM)          \
	CALL(PLAIN, int, accept, "fi_accept", A_PARAM)                                     \
	CALL(PLAIN, int, shutdown, "fi_shutdown", A_FLAGS)                                 \
	CALL(PLAIN, int, join, "fi_join", (P, const void *, addr), A_FLAGS,                \
	     (P, struct fid_mc **, mc), A_CONTEXT)

#define CM_EP_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, cm, ret, __VA_ARGS__)
#define CM_EP_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, cm, op)
CM_EP_CALLS(CM_EP_DEFINE)

struct fi_ops_cm ofi_hook_cm_ops = {
	.size = sizeof(struct fi_ops_cm) CM_PEP_CALLS(CM_PEP_SLOT) CM_EP_CALLS(CM_EP_SLOT),
};
