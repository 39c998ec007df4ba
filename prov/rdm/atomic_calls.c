/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* All forms of the fi_atomic calls, like calls.c for messages. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include "prov/base/ops.h"
#include "atomic.h"
#include "calls.h"
#include "work.h"

#define FLAGS                                                                               \
	(FI_COMPLETION | FI_FENCE | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_TRIGGER)

/* The remote region has the size of the result, or of the operands if nothing is fetched. */
static ssize_t to_region(struct fid_ep *fid, enum fi_op_type type, struct ofi_atomic_args *args,
			 uint64_t remote, uint64_t key, uint64_t flags)
{
	const struct fi_rma_ioc rma = {
		remote,
		args->result ? ofi_rdm_ioc_elements(args->result, args->result_count)
			     : ofi_rdm_ioc_elements(args->msg.msg_iov, args->msg.iov_count),
		key,
	};

	args->msg.rma_iov = &rma;
	args->msg.rma_iov_count = 1;
	return ofi_rdm_atomic_work(ofi_rdm_self(fid), type, args, flags, 0, false);
}

static ssize_t atomic_writev(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc,
			     size_t count, fi_addr_t addr, uint64_t remote, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct ofi_atomic_args args = {
		.msg = { ioc, desc, count, addr, NULL, 0, datatype, op, context, 0 },
	};

	return to_region(fid, FI_OP_ATOMIC, &args, remote, key, ofi_rdm_tx_flags(fid, FLAGS));
}

static ssize_t atomic_write(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			    fi_addr_t addr, uint64_t remote, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };

	return atomic_writev(fid, &ioc, &desc, 1, addr, remote, key, datatype, op, context);
}

static ssize_t by_msg(struct fid_ep *fid, enum fi_op_type type, const struct fi_msg_atomic *msg,
		      const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
		      struct fi_ioc *result, void **result_desc, size_t result_count,
		      uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self(fid);
	struct ofi_atomic_args args;

	if (!msg)
		return -FI_EINVAL;
	args = ofi_atomic_args(msg, compare, compare_desc, compare_count, result, result_desc,
			       result_count);
	return ofi_rdm_atomic_work(ep, type, &args, ofi_rdm_msg_flags(ep, flags), 0, false);
}

static ssize_t atomic_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return by_msg(fid, FI_OP_ATOMIC, msg, NULL, NULL, 0, NULL, NULL, 0, flags);
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t addr,
			     uint64_t remote, uint64_t key, enum fi_datatype datatype,
			     enum fi_op op)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	struct ofi_atomic_args args = {
		.msg = { &ioc, NULL, 1, addr, NULL, 0, datatype, op, NULL, 0 },
	};

	return to_region(fid, FI_OP_ATOMIC, &args, remote, key, FI_INJECT);
}

static ssize_t atomic_fetchv(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc,
			     size_t count, struct fi_ioc *result, void **result_desc,
			     size_t result_count, fi_addr_t addr, uint64_t remote, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_msg_atomic msg = {
		ioc, desc, count, addr, NULL, 0, datatype, op, context, 0
	};
	struct ofi_atomic_args args =
		ofi_atomic_args(&msg, NULL, NULL, 0, result, result_desc, result_count);

	return result ? to_region(fid, FI_OP_FETCH_ATOMIC, &args, remote, key,
				  ofi_rdm_tx_flags(fid, FLAGS))
		      : -FI_EINVAL;
}

static ssize_t atomic_fetch(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t addr, uint64_t remote,
			    uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	struct fi_ioc into = { result, count };

	return atomic_fetchv(fid, &ioc, &desc, 1, &into, &result_desc, 1, addr, remote, key,
			     datatype, op, context);
}

static ssize_t atomic_fetchmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			       struct fi_ioc *result, void **result_desc, size_t result_count,
			       uint64_t flags)
{
	return by_msg(fid, FI_OP_FETCH_ATOMIC, msg, NULL, NULL, 0, result, result_desc,
		      result_count, flags);
}

static ssize_t atomic_comparev(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc,
			       size_t count, const struct fi_ioc *compare, void **compare_desc,
			       size_t compare_count, struct fi_ioc *result, void **result_desc,
			       size_t result_count, fi_addr_t addr, uint64_t remote, uint64_t key,
			       enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_msg_atomic msg = {
		ioc, desc, count, addr, NULL, 0, datatype, op, context, 0
	};
	struct ofi_atomic_args args = ofi_atomic_args(&msg, compare, compare_desc, compare_count,
						      result, result_desc, result_count);

	return result ? to_region(fid, FI_OP_COMPARE_ATOMIC, &args, remote, key,
				  ofi_rdm_tx_flags(fid, FLAGS))
		      : -FI_EINVAL;
}

static ssize_t atomic_compare(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			      const void *compare, void *compare_desc, void *result,
			      void *result_desc, fi_addr_t addr, uint64_t remote, uint64_t key,
			      enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	const struct fi_ioc with = { (void *)(uintptr_t)compare, count };
	struct fi_ioc into = { result, count };

	return atomic_comparev(fid, &ioc, &desc, 1, &with, &compare_desc, 1, &into, &result_desc, 1,
			       addr, remote, key, datatype, op, context);
}

static ssize_t atomic_comparemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				 const struct fi_ioc *compare, void **compare_desc,
				 size_t compare_count, struct fi_ioc *result, void **result_desc,
				 size_t result_count, uint64_t flags)
{
	return by_msg(fid, FI_OP_COMPARE_ATOMIC, msg, compare, compare_desc, compare_count, result,
		      result_desc, result_count, flags);
}

static int check_op(struct fid_ep *fid, enum fi_op_type type, enum fi_datatype datatype,
		    enum fi_op op, size_t *count)
{
	size_t n = ofi_rdm_atomic_count(ofi_rdm_self(fid)->proto.eager, datatype, op);

	if (!count)
		return -FI_EINVAL;
	if (!n || !ofi_rdm_atomic_is_of(type, op))
		return -FI_EOPNOTSUPP;
	*count = n;
	return 0;
}

static int atomic_write_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			      size_t *count)
{
	return check_op(fid, FI_OP_ATOMIC, datatype, op, count);
}

static int atomic_fetch_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			      size_t *count)
{
	return check_op(fid, FI_OP_FETCH_ATOMIC, datatype, op, count);
}

static int atomic_compare_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
				size_t *count)
{
	return check_op(fid, FI_OP_COMPARE_ATOMIC, datatype, op, count);
}

const struct fi_ops_atomic ofi_rdm_atomic_ops = {
	.size = OFI_ATOMIC_DEFAULTS,
	.write = atomic_write,
	.writev = atomic_writev,
	.writemsg = atomic_writemsg,
	.inject = atomic_inject,
	.readwrite = atomic_fetch,
	.readwritev = atomic_fetchv,
	.readwritemsg = atomic_fetchmsg,
	.compwrite = atomic_compare,
	.compwritev = atomic_comparev,
	.compwritemsg = atomic_comparemsg,
	.writevalid = atomic_write_valid,
	.readwritevalid = atomic_fetch_valid,
	.compwritevalid = atomic_compare_valid,
};
