/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Collectives under hooks. */
#include <rdma/fi_collective.h>
#include "call.h"

#define COLLECTIVE_CALLS(CALL)                                                                     \
	CALL(PLAIN, ssize_t, barrier, "fi_barrier", (X, fi_addr_t, coll_addr),                     \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, ssize_t, broadcast, "fi_broadcast", (P, void *, buf), (Z, size_t, count),      \
	     (P, void *, desc), (X, fi_addr_t, coll_addr), (X, fi_addr_t, root_addr),              \
	     (D, enum fi_datatype, datatype), (X, uint64_t, flags), (P, void *, context))          \
	CALL(PLAIN, ssize_t, alltoall, "fi_alltoall", (P, const void *, buf), (Z, size_t, count),  \
	     (P, void *, desc), (P, void *, result), (P, void *, result_desc),                     \
	     (X, fi_addr_t, coll_addr), (D, enum fi_datatype, datatype), (X, uint64_t, flags),     \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, ssize_t, allreduce, "fi_allreduce", (P, const void *, buf),                    \
	     (Z, size_t, count), (P, void *, desc), (P, void *, result), (P, void *, result_desc), \
	     (X, fi_addr_t, coll_addr), (D, enum fi_datatype, datatype), (D, enum fi_op, op),      \
	     (X, uint64_t, flags), (P, void *, context))                                           \
	CALL(PLAIN, ssize_t, allgather, "fi_allgather", (P, const void *, buf),                    \
	     (Z, size_t, count), (P, void *, desc), (P, void *, result), (P, void *, result_desc), \
	     (X, fi_addr_t, coll_addr), (D, enum fi_datatype, datatype), (X, uint64_t, flags),     \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, ssize_t, reduce_scatter, "fi_reduce_scatter", (P, const void *, buf),          \
	     (Z, size_t, count), (P, void *, desc), (P, void *, result), (P, void *, result_desc), \
	     (X, fi_addr_t, coll_addr), (D, enum fi_datatype, datatype), (D, enum fi_op, op),      \
	     (X, uint64_t, flags), (P, void *, context))                                           \
	CALL(PLAIN, ssize_t, reduce, "fi_reduce", (P, const void *, buf), (Z, size_t, count),      \
	     (P, void *, desc), (P, void *, result), (P, void *, result_desc),                     \
	     (X, fi_addr_t, coll_addr), (X, fi_addr_t, root_addr),                                 \
	     (D, enum fi_datatype, datatype), (D, enum fi_op, op), (X, uint64_t, flags),           \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, ssize_t, scatter, "fi_scatter", (P, const void *, buf), (Z, size_t, count),    \
	     (P, void *, desc), (P, void *, result), (P, void *, result_desc),                     \
	     (X, fi_addr_t, coll_addr), (X, fi_addr_t, root_addr),                                 \
	     (D, enum fi_datatype, datatype), (X, uint64_t, flags), (P, void *, context))          \
	CALL(PLAIN, ssize_t, gather, "fi_gather", (P, const void *, buf), (Z, size_t, count),      \
	     (P, void *, desc), (P, void *, result), (P, void *, result_desc),                     \
	     (X, fi_addr_t, coll_addr), (X, fi_addr_t, root_addr),                                 \
	     (D, enum fi_datatype, datatype), (X, uint64_t, flags), (P, void *, context))          \
	CALL(TRIGGERED, ssize_t, msg, "fi_collective_msg",                                         \
	     (P, const struct fi_msg_collective *, msg), (P, struct fi_ioc *, resultv),            \
	     (P, void **, result_desc), (Z, size_t, result_count), (X, uint64_t, flags))           \
	CALL(OPTIONAL, ssize_t, barrier2, "fi_barrier2", (X, fi_addr_t, coll_addr),                \
	     (X, uint64_t, flags), (P, void *, context))

#define COLLECTIVE_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, collective, ret, __VA_ARGS__)
#define COLLECTIVE_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, collective, op)
COLLECTIVE_CALLS(COLLECTIVE_DEFINE)

struct fi_ops_collective ofi_hook_collective_ops = {
	.size = sizeof(struct fi_ops_collective) COLLECTIVE_CALLS(COLLECTIVE_SLOT),
};
