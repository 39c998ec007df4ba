/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory access under hooks. */
#include <rdma/fi_rma.h>
#include "call.h"

#define RMA_CALLS(CALL, OF...)                                                                     \
	CALL(OF, PLAIN, ssize_t, read, "fi_read", A_BUF_OUT, A_LEN, A_DESC, A_SRC, A_ADDR, A_KEY,  \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, ssize_t, readv, "fi_readv", A_IOV, A_DESCS, A_COUNT, A_SRC, A_ADDR, A_KEY, \
	     A_CONTEXT)                                                                            \
	CALL(OF, TRIGGERED, ssize_t, readmsg, "fi_readmsg", (P, const struct fi_msg_rma *, msg),   \
	     A_FLAGS)                                                                              \
	CALL(OF, PLAIN, ssize_t, write, "fi_write", A_BUF, A_LEN, A_DESC, A_DEST, A_ADDR, A_KEY,   \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, ssize_t, writev, "fi_writev", A_IOV, A_DESCS, A_COUNT, A_DEST, A_ADDR,     \
	     A_KEY, A_CONTEXT)                                                                     \
	CALL(OF, TRIGGERED, ssize_t, writemsg, "fi_writemsg", (P, const struct fi_msg_rma *, msg), \
	     A_FLAGS)                                                                              \
	CALL(OF, PLAIN, ssize_t, inject, "fi_inject_write", A_BUF, A_LEN, A_DEST, A_ADDR, A_KEY)   \
	CALL(OF, PLAIN, ssize_t, writedata, "fi_writedata", A_BUF, A_LEN, A_DESC, A_DATA, A_DEST,  \
	     A_ADDR, A_KEY, A_CONTEXT)                                                             \
	CALL(OF, PLAIN, ssize_t, injectdata, "fi_inject_writedata", A_BUF, A_LEN, A_DATA, A_DEST,  \
	     A_ADDR, A_KEY)

HOOK_TABLE(fi_ops_rma, ofi_hook_rma_ops, fid_ep, rma, RMA_CALLS)
