/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The atomic operations that reliable connections perform in hardware, on one 64-bit integer each.
 */
#ifndef VRB_ATOMIC_H
#define VRB_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fi_atomic.h>

#define VRB_ATOMIC_SIZE sizeof(uint64_t)

struct fid_domain;

static inline bool vrb_atomic_is_word(enum fi_datatype datatype)
{
	return datatype == FI_INT64 || datatype == FI_UINT64;
}

/* Return whether fi_atomic, fi_fetch_atomic and fi_compare_atomic support the operation. */
static inline bool vrb_atomic_write_op(enum fi_op op)
{
	return op == FI_ATOMIC_WRITE || op == FI_SUM;
}

static inline bool vrb_atomic_fetch_op(enum fi_op op)
{
	return op == FI_ATOMIC_READ || op == FI_SUM;
}

static inline bool vrb_atomic_compare_op(enum fi_op op)
{
	return op == FI_CSWAP;
}

/* Implement fi_atomicvalid, fi_fetch_atomicvalid and fi_compare_atomicvalid. */
int vrb_atomic_write_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			   size_t *count);
int vrb_atomic_fetch_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			   size_t *count);
int vrb_atomic_compare_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			     size_t *count);

int vrb_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags);

#endif
