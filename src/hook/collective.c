/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collectives under hooks. */
#include <rdma/fi_collective.h>
#include "call.h"

#define COLLECTIVE_CALLS(CALL, OF...)                                                              \
	CALL(OF, PLAIN, ssize_t, barrier, "fi_barrier", A_COLL, A_CONTEXT)                         \
	CALL(OF, PLAIN, ssize_t, broadcast, "fi_broadcast", A_BUF_OUT, A_COUNT, A_DESC, A_COLL,    \
	     A_ROOT, A_TYPE, A_FLAGS, A_CONTEXT)                                                   \
	CALL(OF, PLAIN, ssize_t, alltoall, "fi_alltoall", A_GROUP, A_TYPE, A_FLAGS, A_CONTEXT)     \
	CALL(OF, PLAIN, ssize_t, allreduce, "fi_allreduce", A_GROUP, A_TYPE_OP, A_FLAGS,           \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, ssize_t, allgather, "fi_allgather", A_GROUP, A_TYPE, A_FLAGS, A_CONTEXT)   \
	CALL(OF, PLAIN, ssize_t, reduce_scatter, "fi_reduce_scatter", A_GROUP, A_TYPE_OP, A_FLAGS, \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, ssize_t, reduce, "fi_reduce", A_GROUP, A_ROOT, A_TYPE_OP, A_FLAGS,         \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, ssize_t, scatter, "fi_scatter", A_GROUP, A_ROOT, A_TYPE, A_FLAGS,          \
	     A_CONTEXT)                                                                            \
	CALL(OF, PLAIN, ssize_t, gather, "fi_gather", A_GROUP, A_ROOT, A_TYPE, A_FLAGS, A_CONTEXT) \
	CALL(OF, TRIGGERED, ssize_t, msg, "fi_collective_msg", A_MSG(fi_msg_collective),           \
	     A_RESULTS, A_FLAGS)                                                                   \
	CALL(OF, OPTIONAL, ssize_t, barrier2, "fi_barrier2", A_COLL, A_FLAGS, A_CONTEXT)

HOOK_TABLE(fi_ops_collective, ofi_hook_collective_ops, fid_ep, collective, COLLECTIVE_CALLS)
