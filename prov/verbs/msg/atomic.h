/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The atomic operations that reliable connections perform in hardware, on one 64-bit integer each.
 */
#ifndef VRB_ATOMIC_H
#define VRB_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_trigger.h>
#include "prov/base/ops.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/queue/post.h"
#include "src/ds/compiler.h"
#include "work.h"

#define VRB_ATOMIC_SIZE sizeof(uint64_t)

/* The operands on one element; NULL where there is none. */
struct vrb_atomic_operands {
	const void *buf;
	void *desc;
	const void *compare;
	void *result, *result_desc;
};

/* Returns true if a call of this type supports the operation. */
static inline bool vrb_atomic_known(enum fi_op_type type, enum fi_datatype datatype, enum fi_op op)
{
	if (datatype != FI_INT64 && datatype != FI_UINT64)
		return false;
	if (type == FI_OP_COMPARE_ATOMIC)
		return op == FI_CSWAP;
	return op == FI_SUM || op == (type == FI_OP_ATOMIC ? FI_ATOMIC_WRITE : FI_ATOMIC_READ);
}

OFI_INLINE struct vrb_atomic_operands vrb_atomic_operands(const struct fi_msg_atomic *msg,
							  const struct fi_ioc *compare,
							  size_t compare_count,
							  const struct fi_ioc *result,
							  void **result_desc, size_t result_count)
{
	return (struct vrb_atomic_operands){
		.buf = vrb_ioc_addr(msg->msg_iov, msg->iov_count),
		.desc = vrb_first_desc(msg->desc),
		.compare = vrb_ioc_addr(compare, compare_count),
		.result = vrb_ioc_addr(result, result_count),
		.result_desc = vrb_first_desc(result_desc),
	};
}

/* Checks the operation, the remote element and the operands. Returns 0 or -FI_E*. */
OFI_INLINE ssize_t vrb_atomic_check(enum fi_op_type type, enum fi_datatype datatype, enum fi_op op,
				    const struct vrb_atomic_operands *operands,
				    const struct fi_rma_ioc *to)
{
	if (ofi_unlikely(!vrb_atomic_known(type, datatype, op)))
		return -FI_EOPNOTSUPP;
	if (ofi_unlikely(to->count != 1 || to->addr % VRB_ATOMIC_SIZE))
		return to->count > 1 ? -FI_EMSGSIZE : -FI_EINVAL;
	if (ofi_unlikely(to->key >> 32))
		return -FI_EKEYREJECTED;
	if (ofi_unlikely((op != FI_ATOMIC_READ && !operands->buf) ||
			 (type != FI_OP_ATOMIC && !operands->result) ||
			 (type == FI_OP_COMPARE_ATOMIC && !operands->compare)))
		return -FI_EINVAL;
	return 0;
}

static inline uint64_t vrb_atomic_load(const void *buf)
{
	uint64_t word;

	memcpy(&word, buf, sizeof(word));
	return word;
}

/*
 * Sets the single segment: the destination of the result, which is the domain's scratch memory
 * where the caller wants none, or the operand of a write.
 */
OFI_INLINE void vrb_atomic_sge(const struct vrb_ep *ep, enum fi_op_type type, enum fi_op op,
			       const struct vrb_atomic_operands *operands, struct ibv_sge *sge)
{
	if (type != FI_OP_ATOMIC)
		vrb_sge_set(sge, operands->result, VRB_ATOMIC_SIZE, operands->result_desc);
	else if (op == FI_ATOMIC_WRITE)
		vrb_sge_set(sge, operands->buf, VRB_ATOMIC_SIZE, operands->desc);
	else
		vrb_sge_set(sge, ep->domain->scratch, VRB_ATOMIC_SIZE,
			    (void *)(uintptr_t)ep->domain->scratch_mr->lkey);
}

/* Fills the fields of the operation: an atomic of the device, or RDMA of one word. */
OFI_INLINE void vrb_atomic_fill(const struct vrb_ep *ep, enum fi_op op,
				const struct vrb_atomic_operands *operands,
				const struct fi_rma_ioc *to, unsigned int flags,
				struct ibv_send_wr *wr)
{
	bool swap = op == FI_CSWAP;

	if (op == FI_ATOMIC_READ || op == FI_ATOMIC_WRITE) {
		if (op == FI_ATOMIC_WRITE)
			flags |= vrb_inline_flag(ep, VRB_ATOMIC_SIZE);
		wr->opcode = op == FI_ATOMIC_WRITE ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ;
		wr->send_flags = flags;
		wr->wr.rdma.remote_addr = to->addr;
		wr->wr.rdma.rkey = (uint32_t)to->key;
	} else {
		wr->opcode = swap ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->send_flags = flags;
		wr->wr.atomic.remote_addr = to->addr;
		wr->wr.atomic.rkey = (uint32_t)to->key;
		wr->wr.atomic.compare_add =
			vrb_atomic_load(swap ? operands->compare : operands->buf);
		wr->wr.atomic.swap = swap ? vrb_atomic_load(operands->buf) : 0;
	}
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
