/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues and counters under hooks. */
#include <rdma/fi_eq.h>
#include "call.h"

#define CQ_CALLS(CALL)                                                                           \
	CALL(PLAIN, ssize_t, read, "fi_cq_read", (P, void *, buf), (Z, size_t, count))           \
	CALL(PLAIN, ssize_t, readfrom, "fi_cq_readfrom", (P, void *, buf), (Z, size_t, count),   \
	     (P, fi_addr_t *, src_addr))                                                         \
	CALL(PLAIN, ssize_t, readerr, "fi_cq_readerr", (P, struct fi_cq_err_entry *, buf),       \
	     (X, uint64_t, flags))                                                               \
	CALL(PLAIN, ssize_t, sread, "fi_cq_sread", (P, void *, buf), (Z, size_t, count),         \
	     (P, const void *, cond), (D, int, timeout))                                         \
	CALL(PLAIN, ssize_t, sreadfrom, "fi_cq_sreadfrom", (P, void *, buf), (Z, size_t, count), \
	     (P, fi_addr_t *, src_addr), (P, const void *, cond), (D, int, timeout))             \
	CALL(BARE, int, signal, "fi_cq_signal")                                                  \
	CALL(OPTIONAL, int, export_xpu, "fi_cq_export_xpu", (X, uint64_t, flags),                \
	     (P, struct fid_xpu_cq *, xpu_cq))

#define CQ_DEFINE(how, ret, ...)   HOOK_##how(fid_cq, ops, ret, __VA_ARGS__)
#define CQ_SLOT(how, ret, op, ...) HOOK_SLOT(fid_cq, ops, op)
CQ_CALLS(CQ_DEFINE)

static const char *cq_strerror(struct fid_cq *cq, int prov_errno, const void *err_data, char *buf,
			       size_t len)
{
	struct fid_cq *real = ofi_hook_real(cq);

	return real->ops->strerror(real, prov_errno, err_data, buf, len);
}

struct fi_ops_cq ofi_hook_cq_ops = {
	.size = sizeof(struct fi_ops_cq),
	.strerror = cq_strerror CQ_CALLS(CQ_SLOT),
};

#define CNTR_CALLS(CALL)                                                                    \
	CALL(BARE, uint64_t, read, "fi_cntr_read")                                          \
	CALL(BARE, uint64_t, readerr, "fi_cntr_readerr")                                    \
	CALL(PLAIN, int, add, "fi_cntr_add", (X, uint64_t, value))                          \
	CALL(PLAIN, int, set, "fi_cntr_set", (X, uint64_t, value))                          \
	CALL(PLAIN, int, wait, "fi_cntr_wait", (X, uint64_t, threshold), (D, int, timeout)) \
	CALL(PLAIN, int, adderr, "fi_cntr_adderr", (X, uint64_t, value))                    \
	CALL(PLAIN, int, seterr, "fi_cntr_seterr", (X, uint64_t, value))                    \
	CALL(OPTIONAL, int, export_xpu, "fi_cntr_export_xpu", (X, uint64_t, flags),         \
	     (P, struct fid_xpu_cntr *, xpu_cntr))

#define CNTR_DEFINE(how, ret, ...)   HOOK_##how(fid_cntr, ops, ret, __VA_ARGS__)
#define CNTR_SLOT(how, ret, op, ...) HOOK_SLOT(fid_cntr, ops, op)
CNTR_CALLS(CNTR_DEFINE)

struct fi_ops_cntr ofi_hook_cntr_ops = {
	.size = sizeof(struct fi_ops_cntr) CNTR_CALLS(CNTR_SLOT),
};
