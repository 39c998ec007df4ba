/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The atomic operations that exist, and how many elements of a type fit in one of them. Callers and
 * targets use the same limits.
 */
#ifndef OFI_RDM_ATOMIC_H
#define OFI_RDM_ATOMIC_H

#include <stdbool.h>
#include <stddef.h>
#include "prov/base/reduce.h"
#include <rdma/fi_atomic.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_trigger.h>
#include "prov/base/domain.h"
#include "proto.h"
#include "wire.h"

static inline bool ofi_rdm_atomic_is_swap(enum fi_op op)
{
	return op >= FI_CSWAP && op <= FI_MSWAP;
}

static inline bool ofi_rdm_atomic_is_defined(enum fi_datatype datatype, enum fi_op op)
{
	return ofi_rdm_atomic_is_swap(op) ? !!ofi_swap_find(datatype, op)
					  : !!ofi_reduce_find(datatype, op);
}

/* Returns true if calls of the type perform the operation. */
static inline bool ofi_rdm_atomic_is_of(enum fi_op_type type, enum fi_op op)
{
	return ofi_rdm_atomic_is_swap(op) == (type == FI_OP_COMPARE_ATOMIC) &&
	       (op != FI_ATOMIC_READ || type == FI_OP_FETCH_ATOMIC);
}

/*
 * Returns the number of elements that fit in a payload; 0 if the operation is not defined for the
 * type.
 */
size_t ofi_rdm_atomic_count(size_t payload, enum fi_datatype datatype, enum fi_op op);
/*
 * Returns the number of elements of at most OFI_RDM_PROTO_IOV buffers, or SIZE_MAX, which exceeds
 * every limit, if the sum overflows.
 */
static inline size_t ofi_rdm_ioc_elements(const struct fi_ioc *ioc, size_t count)
{
	size_t i, n = 0;

	for (i = 0; ioc && i < count && i < OFI_RDM_PROTO_IOV; i++)
		if (__builtin_add_overflow(n, ioc[i].count, &n))
			return SIZE_MAX;
	return n;
}

int ofi_rdm_query_atomic(struct fid_domain *domain, enum fi_datatype datatype, enum fi_op op,
			 struct fi_atomic_attr *attr, uint64_t flags);

/* Returns the payload size of one packet in bytes. */
static inline size_t ofi_rdm_payload(const struct ofi_domain *domain)
{
	return domain->packet - OFI_RDM_WIRE_HEADER_MAX;
}

#endif
