/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The arithmetic of fi_atomic(3) and fi_collective(3) in software: every operation on arrays of
 * every data type for which it is defined. Buffers need no alignment. Nothing here is atomic: the
 * caller serializes.
 */
#ifndef OFI_REDUCE_H
#define OFI_REDUCE_H

#include <stddef.h>
#include <rdma/fi_domain.h>

/* Computes dst[i] = dst[i] op src[i]. dst and src are the same array or do not overlap. */
typedef void ofi_reduce_fn(void *dst, const void *src, size_t count);
/* Sets dst[i] to src[i] if compare[i] op dst[i] is true; FI_MSWAP sets the bits in compare[i]. */
typedef void ofi_swap_fn(void *dst, const void *src, const void *compare, size_t count);

/*
 * Returns the size of an element in bytes; 0 for FI_VOID and for types that this machine or
 * fi_atomic(3) does not have.
 */
size_t ofi_datatype_size(enum fi_datatype datatype);

/*
 * Covers FI_MIN to FI_BXOR, FI_DIFF, FI_ATOMIC_WRITE, and FI_ATOMIC_READ, which leaves dst
 * unchanged. Returns NULL if the operation is not defined: complex numbers have no order, and
 * floating-point numbers have no bit operations.
 */
ofi_reduce_fn *ofi_reduce_find(enum fi_datatype datatype, enum fi_op op);
/* Covers FI_CSWAP to FI_MSWAP; returns NULL if the operation is not defined. */
ofi_swap_fn *ofi_swap_find(enum fi_datatype datatype, enum fi_op op);

/*
 * Serialize atomics performed in software: several open domains of this process may offer the same
 * memory.
 */
void ofi_atomics_lock(void);
void ofi_atomics_unlock(void);

#endif
