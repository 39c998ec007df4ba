/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues and counters under hooks. */
#include <rdma/fi_eq.h>
#include "call.h"

#define CQ_CALLS(CALL)                                                                          \
	CALL(UNTOLD, const char *, strerror, (D, int, prov_errno), (P, const void *, err_data), \
	     (P, char *, buf), A_LEN)                                                           \
	CALL(PLAIN, ssize_t, read, "fi_cq_read", A_BUF_OUT, A_COUNT)                            \
	CALL(PLAIN, ssize_t, readfrom, "fi_cq_readfrom", A_BUF_OUT, A_COUNT, A_SRCS)            \
	CALL(PLAIN, ssize_t, readerr, "fi_cq_readerr", (P, struct fi_cq_err_entry *, buf),      \
	     A_FLAGS)                                                                           \
	CALL(PLAIN, ssize_t, sread, "fi_cq_sread", A_BUF_OUT, A_COUNT, A_COND, A_TIMEOUT)       \
	CALL(PLAIN, ssize_t, sreadfrom, "fi_cq_sreadfrom", A_BUF_OUT, A_COUNT, A_SRCS, A_COND,  \
	     A_TIMEOUT)                                                                         \
	CALL(BARE, int, signal, "fi_cq_signal")                                                 \
	CALL(OPTIONAL, int, export_xpu, "fi_cq_export_xpu", A_FLAGS,                            \
	     (P, struct fid_xpu_cq *, xpu_cq))

#define CQ_DEFINE(how, ret, ...)   HOOK_##how(fid_cq, ops, ret, __VA_ARGS__)
#define CQ_SLOT(how, ret, op, ...) HOOK_SLOT(fid_cq, ops, op)
CQ_CALLS(CQ_DEFINE)

struct fi_ops_cq ofi_hook_cq_ops = {
	.size = sizeof(struct fi_ops_cq) CQ_CALLS(CQ_SLOT),
};

#define CNTR_CALLS(CALL)                                                            \
	CALL(BARE, uint64_t, read, "fi_cntr_read")                                  \
	CALL(BARE, uint64_t, readerr, "fi_cntr_readerr")                            \
	CALL(PLAIN, int, add, "fi_cntr_add", A_VALUE)                               \
	CALL(PLAIN, int, set, "fi_cntr_set", A_VALUE)                               \
	CALL(PLAIN, int, wait, "fi_cntr_wait", (X, uint64_t, threshold), A_TIMEOUT) \
	CALL(PLAIN, int, adderr, "fi_cntr_adderr", A_VALUE)                         \
	CALL(PLAIN, int, seterr, "fi_cntr_seterr", A_VALUE)                         \
	CALL(OPTIONAL, int, export_xpu, "fi_cntr_export_xpu", A_FLAGS,              \
	     (P, struct fid_xpu_cntr *, xpu_cntr))

#define CNTR_DEFINE(how, ret, ...)   HOOK_##how(fid_cntr, ops, ret, __VA_ARGS__)
#define CNTR_SLOT(how, ret, op, ...) HOOK_SLOT(fid_cntr, ops, op)
CNTR_CALLS(CNTR_DEFINE)

struct fi_ops_cntr ofi_hook_cntr_ops = {
	.size = sizeof(struct fi_ops_cntr) CNTR_CALLS(CNTR_SLOT),
};
