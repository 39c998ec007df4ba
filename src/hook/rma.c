/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory access under hooks. */
#include <rdma/fi_rma.h>
#include "call.h"

#define RMA_CALLS(CALL, OF...)                                                            \
	CALL(OF, TX, ssize_t, read, "fi_read", A_RECEIVED, A_FROM, A_CONTEXT)             \
	CALL(OF, TX, ssize_t, readv, "fi_readv", A_IOVS, A_FROM, A_CONTEXT)               \
	CALL(OF, TRIGGERED, ssize_t, readmsg, "fi_readmsg", A_MSG(fi_msg_rma), A_FLAGS)   \
	CALL(OF, TX, ssize_t, write, "fi_write", A_SENT, A_TO, A_CONTEXT)                 \
	CALL(OF, TX, ssize_t, writev, "fi_writev", A_IOVS, A_TO, A_CONTEXT)               \
	CALL(OF, TRIGGERED, ssize_t, writemsg, "fi_writemsg", A_MSG(fi_msg_rma), A_FLAGS) \
	CALL(OF, PLAIN, ssize_t, inject, "fi_inject_write", A_BUF, A_LEN, A_TO)           \
	CALL(OF, TX, ssize_t, writedata, "fi_writedata", A_SENT, A_DATA, A_TO, A_CONTEXT) \
	CALL(OF, PLAIN, ssize_t, injectdata, "fi_inject_writedata", A_BUF, A_LEN, A_DATA, A_TO)

HOOK_TABLE(fi_ops_rma, ofi_hook_rma_ops, fid_ep, rma, RMA_CALLS)
