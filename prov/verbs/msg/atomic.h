/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The atomic operations that reliable connections perform in hardware, on one 64-bit integer each.
 */
#ifndef VRB_ATOMIC_H
#define VRB_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>
#include "prov/base/ops.h"
#include "src/ds/compiler.h"

#define VRB_ATOMIC_SIZE sizeof(uint64_t)

struct fid_domain;

/* Returns true if a call of this type supports the operation. */
static inline bool vrb_atomic_known(enum fi_op_type type, enum fi_datatype datatype, enum fi_op op)
{
	if (datatype != FI_INT64 && datatype != FI_UINT64)
		return false;
	if (type == FI_OP_COMPARE_ATOMIC)
		return op == FI_CSWAP;
	return op == FI_SUM || op == (type == FI_OP_ATOMIC ? FI_ATOMIC_WRITE : FI_ATOMIC_READ);
}

/* Checks the operation and the remote element. Returns 0 or -FI_E*. */
OFI_INLINE ssize_t vrb_atomic_check(enum fi_op_type type, enum fi_datatype datatype, enum fi_op op,
				    const struct fi_rma_ioc *to)
{
	if (ofi_unlikely(!vrb_atomic_known(type, datatype, op)))
		return -FI_EOPNOTSUPP;
	if (ofi_unlikely(to->count != 1 || to->addr % VRB_ATOMIC_SIZE))
		return to->count > 1 ? -FI_EMSGSIZE : -FI_EINVAL;
	return ofi_unlikely(to->key >> 32) ? -FI_EKEYREJECTED : 0;
}

/* Implement fi_atomicvalid, fi_fetch_atomicvalid and fi_compare_atomicvalid. */
OFI_CALL(fi_ops_atomic, writevalid) vrb_atomic_write_valid;
OFI_CALL(fi_ops_atomic, readwritevalid) vrb_atomic_fetch_valid;
OFI_CALL(fi_ops_atomic, compwritevalid) vrb_atomic_compare_valid;

/* Pass the single element of vectors to the calls for buffers of the endpoint's table. */
OFI_CALL(fi_ops_atomic, writev) vrb_atomic_writev;
OFI_CALL(fi_ops_atomic, readwritev) vrb_atomic_fetchv;
OFI_CALL(fi_ops_atomic, compwritev) vrb_atomic_comparev;

OFI_CALL(fi_ops_domain, query_atomic) vrb_query_atomic;

#endif
