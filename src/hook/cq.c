/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues and counters under hooks. */
#include <rdma/fi_eq.h>
#include "call.h"

#define CQ_CALLS(CALL, OF...)                                                                      \
	CALL(OF, UNTOLD, const char *, strerror, (D, int, prov_errno),                             \
	     (P, const void *, err_data), (P, char *, buf), A_LEN)                                 \
	CALL(OF, PLAIN, ssize_t, read, "fi_cq_read", A_BUF_OUT, A_COUNT)                           \
	CALL(OF, PLAIN, ssize_t, readfrom, "fi_cq_readfrom", A_BUF_OUT, A_COUNT, A_SRCS)           \
	CALL(OF, PLAIN, ssize_t, readerr, "fi_cq_readerr", (P, struct fi_cq_err_entry *, buf),     \
	     A_FLAGS)                                                                              \
	CALL(OF, PLAIN, ssize_t, sread, "fi_cq_sread", A_BUF_OUT, A_COUNT, A_COND, A_TIMEOUT)      \
	CALL(OF, PLAIN, ssize_t, sreadfrom, "fi_cq_sreadfrom", A_BUF_OUT, A_COUNT, A_SRCS, A_COND, \
	     A_TIMEOUT)                                                                            \
	CALL(OF, PLAIN, int, signal, "fi_cq_signal")                                               \
	CALL(OF, OPTIONAL, int, export_xpu, "fi_cq_export_xpu", A_XPU(cq))

HOOK_TABLE(fi_ops_cq, ofi_hook_cq_ops, fid_cq, ops, CQ_CALLS)

#define CNTR_CALLS(CALL, OF...)                                                         \
	CALL(OF, PLAIN, uint64_t, read, "fi_cntr_read")                                 \
	CALL(OF, PLAIN, uint64_t, readerr, "fi_cntr_readerr")                           \
	CALL(OF, PLAIN, int, add, "fi_cntr_add", A_VALUE)                               \
	CALL(OF, PLAIN, int, set, "fi_cntr_set", A_VALUE)                               \
	CALL(OF, PLAIN, int, wait, "fi_cntr_wait", (X, uint64_t, threshold), A_TIMEOUT) \
	CALL(OF, OPTIONAL, int, adderr, "fi_cntr_adderr", A_VALUE)                      \
	CALL(OF, OPTIONAL, int, seterr, "fi_cntr_seterr", A_VALUE)                      \
	CALL(OF, OPTIONAL, int, export_xpu, "fi_cntr_export_xpu", A_XPU(cntr))

HOOK_TABLE(fi_ops_cntr, ofi_hook_cntr_ops, fid_cntr, ops, CNTR_CALLS)
