/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The atomic operations that reliable connections perform in hardware, on one 64-bit integer each.
 */
#ifndef VRB_ATOMIC_H
#define VRB_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>
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
int vrb_atomic_write_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			   size_t *count);
int vrb_atomic_fetch_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			   size_t *count);
int vrb_atomic_compare_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			     size_t *count);

/* Pass the single element of vectors to the calls for buffers of the endpoint's table. */
ssize_t vrb_atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			  enum fi_op op, void *context);
ssize_t vrb_atomic_fetchv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			  struct fi_ioc *resultv, void **result_desc, size_t result_count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			  enum fi_op op, void *context);
ssize_t vrb_atomic_comparev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			    const struct fi_ioc *comparev, void **compare_desc,
			    size_t compare_count, struct fi_ioc *resultv, void **result_desc,
			    size_t result_count, fi_addr_t dest, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context);

int vrb_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags);

#endif
