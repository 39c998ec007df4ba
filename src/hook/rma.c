/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Remote memory access under hooks. */
#include <rdma/fi_rma.h>
#include "call.h"

#define RMA_CALLS(CALL)                                                                            \
	CALL(PLAIN, ssize_t, read, "fi_read", (P, void *, buf), (Z, size_t, len),                  \
	     (P, void *, desc), (X, fi_addr_t, src_addr), (X, uint64_t, addr), (X, uint64_t, key), \
	     (P, void *, context))                                                                 \
	CALL(PLAIN, ssize_t, readv, "fi_readv", (P, const struct iovec *, iov),                    \
	     (P, void **, desc), (Z, size_t, count), (X, fi_addr_t, src_addr),                     \
	     (X, uint64_t, addr), (X, uint64_t, key), (P, void *, context))                        \
	CALL(TRIGGERED, ssize_t, readmsg, "fi_readmsg", (P, const struct fi_msg_rma *, msg),       \
	     (X, uint64_t, flags))                                                                 \
	CALL(PLAIN, ssize_t, write, "fi_write", (P, const void *, buf), (Z, size_t, len),          \
	     (P, void *, desc), (X, fi_addr_t, dest_addr), (X, uint64_t, addr),                    \
	     (X, uint64_t, key), (P, void *, context))                                             \
	CALL(PLAIN, ssize_t, writev, "fi_writev", (P, const struct iovec *, iov),                  \
	     (P, void **, desc), (Z, size_t, count), (X, fi_addr_t, dest_addr),                    \
	     (X, uint64_t, addr), (X, uint64_t, key), (P, void *, context))                        \
	CALL(TRIGGERED, ssize_t, writemsg, "fi_writemsg", (P, const struct fi_msg_rma *, msg),     \
	     (X, uint64_t, flags))                                                                 \
	CALL(PLAIN, ssize_t, inject, "fi_inject_write", (P, const void *, buf), (Z, size_t, len),  \
	     (X, fi_addr_t, dest_addr), (X, uint64_t, addr), (X, uint64_t, key))                   \
	CALL(PLAIN, ssize_t, writedata, "fi_writedata", (P, const void *, buf), (Z, size_t, len),  \
	     (P, void *, desc), (X, uint64_t, data), (X, fi_addr_t, dest_addr),                    \
	     (X, uint64_t, addr), (X, uint64_t, key), (P, void *, context))                        \
	CALL(PLAIN, ssize_t, injectdata, "fi_inject_writedata", (P, const void *, buf),            \
	     (Z, size_t, len), (X, uint64_t, data), (X, fi_addr_t, dest_addr),                     \
	     (X, uint64_t, addr), (X, uint64_t, key))

#define RMA_DEFINE(how, ret, ...)   HOOK_##how(fid_ep, rma, ret, __VA_ARGS__)
#define RMA_SLOT(how, ret, op, ...) HOOK_SLOT(fid_ep, rma, op)
RMA_CALLS(RMA_DEFINE)

struct fi_ops_rma ofi_hook_rma_ops = {
	.size = sizeof(struct fi_ops_rma) RMA_CALLS(RMA_SLOT),
};
