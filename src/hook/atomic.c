/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics under hooks. */
#include <rdma/fi_atomic.h>
#include "call.h"

#define ATOMIC_CALLS(CALL, OF...)                                                                \
	CALL(OF, PLAIN, ssize_t, write, "fi_atomic", A_BUF, A_COUNT, A_DESC, A_DEST, A_ADDR,     \
	     A_KEY, A_TYPE, A_OP, A_CONTEXT)                                                     \
	CALL(OF, PLAIN, ssize_t, writev, "fi_atomicv", A_IOCS, A_DESCS, A_COUNT, A_DEST, A_ADDR, \
	     A_KEY, A_TYPE, A_OP, A_CONTEXT)                                                     \
	CALL(OF, TRIGGERED, ssize_t, writemsg, "fi_atomicmsg",                                   \
	     (P, const struct fi_msg_atomic *, msg), A_FLAGS)                                    \
	CALL(OF, PLAIN, ssize_t, inject, "fi_inject_atomic", A_BUF, A_COUNT, A_DEST, A_ADDR,     \
	     A_KEY, A_TYPE, A_OP)                                                                \
	CALL(OF, PLAIN, ssize_t, readwrite, "fi_fetch_atomic", A_BUF, A_COUNT, A_DESC, A_RESULT, \
	     A_DEST, A_ADDR, A_KEY, A_TYPE, A_OP, A_CONTEXT)                                     \
	CALL(OF, PLAIN, ssize_t, readwritev, "fi_fetch_atomicv", A_IOCS, A_DESCS, A_COUNT,       \
	     A_RESULTS, A_DEST, A_ADDR, A_KEY, A_TYPE, A_OP, A_CONTEXT)                          \
	CALL(OF, TRIGGERED, ssize_t, readwritemsg, "fi_fetch_atomicmsg",                         \
	     (P, const struct fi_msg_atomic *, msg), A_RESULTS, A_FLAGS)                         \
	CALL(OF, PLAIN, ssize_t, compwrite, "fi_compare_atomic", A_BUF, A_COUNT, A_DESC,         \
	     A_COMPARE, A_RESULT, A_DEST, A_ADDR, A_KEY, A_TYPE, A_OP, A_CONTEXT)                \
	CALL(OF, PLAIN, ssize_t, compwritev, "fi_compare_atomicv", A_IOCS, A_DESCS, A_COUNT,     \
	     A_COMPARES, A_RESULTS, A_DEST, A_ADDR, A_KEY, A_TYPE, A_OP, A_CONTEXT)              \
	CALL(OF, TRIGGERED, ssize_t, compwritemsg, "fi_compare_atomicmsg",                       \
	     (P, const struct fi_msg_atomic *, msg), A_COMPARES, A_RESULTS, A_FLAGS)             \
	CALL(OF, PLAIN, int, writevalid, "fi_atomicvalid", A_TYPE, A_OP, (P, size_t *, count))   \
	CALL(OF, PLAIN, int, readwritevalid, "fi_fetch_atomicvalid", A_TYPE, A_OP,               \
	     (P, size_t *, count))                                                               \
	CALL(OF, PLAIN, int, compwritevalid, "fi_compare_atomicvalid", A_TYPE, A_OP,             \
	     (P, size_t *, count))

HOOK_TABLE(fi_ops_atomic, ofi_hook_atomic_ops, fid_ep, atomic, ATOMIC_CALLS)
