/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Atomics under hooks. */
#include <rdma/fi_atomic.h>
#include "call.h"

#define ATOMIC_CALLS(CALL)                                                                         \
	CALL(PLAIN, ssize_t, write, "fi_atomic", (P, const void *, buf), (Z, size_t, count),       \
	     (P, void *, desc), (X, fi_addr_t, dest_addr), (X, uint64_t, addr),                    \
	     (X, uint64_t, key), (D, enum fi_datatype, datatype), (D, enum fi_op, op),             \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, ssize_t, writev, "fi_atomicv", (P, const struct fi_ioc *, iov),                \
	     (P, void **, desc), (Z, size_t, count), (X, fi_addr_t, dest_addr),                    \
	     (X, uint64_t, addr), (X, uint64_t, key), (D, enum fi_datatype, datatype),             \
	     (D, enum fi_op, op), (P, void *, context))                                            \
	CALL(TRIGGERED, ssize_t, writemsg, "fi_atomicmsg", (P, const struct fi_msg_atomic *, msg), \
	     (X, uint64_t, flags))                                                                 \
	CALL(PLAIN, ssize_t, inject, "fi_inject_atomic", (P, const void *, buf),                   \
	     (Z, size_t, count), (X, fi_addr_t, dest_addr), (X, uint64_t, addr),                   \
	     (X, uint64_t, key), (D, enum fi_datatype, datatype), (D, enum fi_op, op))             \
	CALL(PLAIN, ssize_t, readwrite, "fi_fetch_atomic", (P, const void *, buf),                 \
	     (Z, size_t, count), (P, void *, desc), (P, void *, result), (P, void *, result_desc), \
	     (X, fi_addr_t, dest_addr), (X, uint64_t, addr), (X, uint64_t, key),                   \
	     (D, enum fi_datatype, datatype), (D, enum fi_op, op), (P, void *, context))           \
	CALL(PLAIN, ssize_t, readwritev, "fi_fetch_atomicv", (P, const struct fi_ioc *, iov),      \
	     (P, void **, desc), (Z, size_t, count), (P, struct fi_ioc *, resultv),                \
	     (P, void **, result_desc), (Z, size_t, result_count), (X, fi_addr_t, dest_addr),      \
	     (X, uint64_t, addr), (X, uint64_t, key), (D, enum fi_datatype, datatype),             \
	     (D, enum fi_op, op), (P, void *, context))                                            \
	CALL(TRIGGERED, ssize_t, readwritemsg, "fi_fetch_atomicmsg",                               \
	     (P, const struct fi_msg_atomic *, msg), (P, struct fi_ioc *, resultv),                \
	     (P, void **, result_desc), (Z, size_t, result_count), (X, uint64_t, flags))           \
	CALL(PLAIN, ssize_t, compwrite, "fi_compare_atomic", (P, const void *, buf),               \
	     (Z, size_t, count), (P, void *, desc), (P, const void *, compare),                    \
	     (P, void *, compare_desc), (P, void *, result), (P, void *, result_desc),             \
	     (X, fi_addr_t, dest_addr), (X, uint64_t, addr), (X, uint64_t, key),                   \
	     (D, enum fi_datatype, datatype), (D, enum fi_op, op), (P, void *, context))           \
	CALL(PLAIN, ssize_t, compwritev, "fi_compare_atomicv", (P, const struct fi_ioc *, iov),    \
	     (P, void **, desc), (Z, size_t, count), (P, const struct fi_ioc *, comparev),         \
	     (P, void **, compare_desc), (Z, size_t, compare_count),                               \
	     (P, struct fi_ioc *, resultv), (P, void **, result_desc), (Z, size_t, result_count),  \
	     (X, fi_addr_t, dest_addr), (X, uint64_t, addr), (X, uint64_t, key),                   \
	     (D, enum fi_datatype, datatype), (D, enum fi_op, op), (P, void *, context))           \
	CALL(TRIGGERED, ssize_t, compwritemsg, "fi_compare_atomicmsg",                             \
	     (P, const struct fi_msg_atomic *, msg), (P, const struct fi_ioc *, comparev),         \
	     (P, void **, compare_desc), (Z, size_t, compare_count),                               \
	     (P, struct fi_ioc *, resultv), (P, void **, result_desc), (Z, size_t, result_count),  \
	     (X, uint64_t, flags))                                                                 \
	CALL(PLAIN, int, writevalid, "fi_atomicvalid", (D, enum fi_datatype, datatype),            \
	     (D, enum fi_op, op), (P, size_t *, count))                                            \
	CALL(PLAIN, int, readwritevalid, "fi_fetch_atomicvalid", (D, enum fi_datatype, datatype),  \
	     (D, enum fi_op, op), (P, size_t *, count))                                            \
	CALL(PLAIN, int, compwritevalid, "fi_compare_atomicvalid",                                 \
	     (D, enum fi_datatype, datatype), (D, enum fi_op, op), (P, size_t *, count))

#define ATOMIC_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, atomic, ret, __VA_ARGS__)
#define ATOMIC_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, atomic, op)
ATOMIC_CALLS(ATOMIC_DEFINE)

struct fi_ops_atomic ofi_hook_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic) ATOMIC_CALLS(ATOMIC_SLOT),
};
