/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics under hooks. */
#include <rdma/fi_atomic.h>
#include "call.h"

#define ATOMIC_CALLS(CALL, OF...)                                                                  \
	CALL(OF, TX, ssize_t, write, "fi_atomic", A_OPERANDS, A_TO, A_TYPE_OP, A_CONTEXT)          \
	CALL(OF, TX, ssize_t, writev, "fi_atomicv", A_IOCV, A_TO, A_TYPE_OP, A_CONTEXT)            \
	CALL(OF, TRIGGERED, ssize_t, writemsg, "fi_atomicmsg", A_MSG(fi_msg_atomic), A_FLAGS)      \
	CALL(OF, PLAIN, ssize_t, inject, "fi_inject_atomic", A_BUF, A_COUNT, A_TO, A_TYPE_OP)      \
	CALL(OF, TX, ssize_t, readwrite, "fi_fetch_atomic", A_OPERANDS, A_RESULT, A_TO, A_TYPE_OP, \
	     A_CONTEXT)                                                                            \
	CALL(OF, TX, ssize_t, readwritev, "fi_fetch_atomicv", A_IOCV, A_RESULTS, A_TO, A_TYPE_OP,  \
	     A_CONTEXT)                                                                            \
	CALL(OF, TRIGGERED, ssize_t, readwritemsg, "fi_fetch_atomicmsg", A_MSG(fi_msg_atomic),     \
	     A_RESULTS, A_FLAGS)                                                                   \
	CALL(OF, TX, ssize_t, compwrite, "fi_compare_atomic", A_OPERANDS, A_COMPARE, A_RESULT,     \
	     A_TO, A_TYPE_OP, A_CONTEXT)                                                           \
	CALL(OF, TX, ssize_t, compwritev, "fi_compare_atomicv", A_IOCV, A_COMPARES, A_RESULTS,     \
	     A_TO, A_TYPE_OP, A_CONTEXT)                                                           \
	CALL(OF, TRIGGERED, ssize_t, compwritemsg, "fi_compare_atomicmsg", A_MSG(fi_msg_atomic),   \
	     A_COMPARES, A_RESULTS, A_FLAGS)                                                       \
	CALL(OF, PLAIN, int, writevalid, "fi_atomicvalid", A_TYPE_OP, (P, size_t *, count))        \
	CALL(OF, PLAIN, int, readwritevalid, "fi_fetch_atomicvalid", A_TYPE_OP,                    \
	     (P, size_t *, count))                                                                 \
	CALL(OF, PLAIN, int, compwritevalid, "fi_compare_atomicvalid", A_TYPE_OP,                  \
	     (P, size_t *, count))

HOOK_TABLE(fi_ops_atomic, ofi_hook_atomic_ops, fid_ep, atomic, ATOMIC_CALLS)
