/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Aliases of reliable-datagram endpoints: atomics. */
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include "prov/base/ops.h"
#include "alias.h"
#include "work.h"

#define FLAGS                                                                   \
	(FI_COMPLETION | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE | FI_TRIGGER)

static struct fid_ep *self(struct fid_ep *fid)
{
	return &ofi_rdm_self(fid)->fid;
}

static size_t elements(const struct fi_ioc *ioc, size_t count)
{
	size_t i, n = 0;

	for (i = 0; ioc && i < count && i < OFI_RDM_PROTO_IOV; i++)
		n += ioc[i].count;
	return n;
}

/* The remote region has the size of the result, or of the operands if nothing is fetched. */
static ssize_t perform(struct fid_ep *fid, enum fi_op_type type, struct ofi_rdm_atomic_args *args,
		       uint64_t remote, uint64_t key)
{
	const struct fi_rma_ioc rma = {
		remote,
		args->result ? elements(args->result, args->result_count)
			     : elements(args->msg.msg_iov, args->msg.iov_count),
		key,
	};

	args->msg.rma_iov = &rma;
	args->msg.rma_iov_count = 1;
	return ofi_rdm_atomic_work(ofi_rdm_self(fid), type, args,
				   ofi_rdm_alias_tx_flags(fid, FLAGS), 0, false);
}

static ssize_t alias_writev(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc, size_t count,
			    fi_addr_t addr, uint64_t remote, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct ofi_rdm_atomic_args args = {
		.msg = { ioc, desc, count, addr, NULL, 0, datatype, op, context, 0 },
	};

	return perform(fid, FI_OP_ATOMIC, &args, remote, key);
}

static ssize_t alias_write(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			   fi_addr_t addr, uint64_t remote, uint64_t key, enum fi_datatype datatype,
			   enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };

	return alias_writev(fid, &ioc, &desc, 1, addr, remote, key, datatype, op, context);
}

static ssize_t alias_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return fi_atomicmsg(self(fid), msg, flags);
}

static ssize_t alias_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t addr,
			    uint64_t remote, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	return fi_inject_atomic(self(fid), buf, count, addr, remote, key, datatype, op);
}

static ssize_t alias_fetchv(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc, size_t count,
			    struct fi_ioc *result, void **result_desc, size_t result_count,
			    fi_addr_t addr, uint64_t remote, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct ofi_rdm_atomic_args args = {
		.msg = { ioc, desc, count, addr, NULL, 0, datatype, op, context, 0 },
		.result = result,
		.result_count = result_count,
	};

	(void)result_desc;
	return result ? perform(fid, FI_OP_FETCH_ATOMIC, &args, remote, key) : -FI_EINVAL;
}

static ssize_t alias_fetch(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			   void *result, void *result_desc, fi_addr_t addr, uint64_t remote,
			   uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	struct fi_ioc into = { result, count };

	return alias_fetchv(fid, &ioc, &desc, 1, &into, &result_desc, 1, addr, remote, key,
			    datatype, op, context);
}

static ssize_t alias_fetchmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			      struct fi_ioc *result, void **result_desc, size_t result_count,
			      uint64_t flags)
{
	return fi_fetch_atomicmsg(self(fid), msg, result, result_desc, result_count, flags);
}

static ssize_t alias_comparev(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc,
			      size_t count, const struct fi_ioc *compare, void **compare_desc,
			      size_t compare_count, struct fi_ioc *result, void **result_desc,
			      size_t result_count, fi_addr_t addr, uint64_t remote, uint64_t key,
			      enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct ofi_rdm_atomic_args args = {
		.msg = { ioc, desc, count, addr, NULL, 0, datatype, op, context, 0 },
		.compare = compare,
		.compare_count = compare_count,
		.result = result,
		.result_count = result_count,
	};

	(void)compare_desc;
	(void)result_desc;
	return result ? perform(fid, FI_OP_COMPARE_ATOMIC, &args, remote, key) : -FI_EINVAL;
}

static ssize_t alias_compare(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			     const void *compare, void *compare_desc, void *result,
			     void *result_desc, fi_addr_t addr, uint64_t remote, uint64_t key,
			     enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	const struct fi_ioc with = { (void *)(uintptr_t)compare, count };
	struct fi_ioc into = { result, count };

	return alias_comparev(fid, &ioc, &desc, 1, &with, &compare_desc, 1, &into, &result_desc, 1,
			      addr, remote, key, datatype, op, context);
}

static ssize_t alias_comparemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				const struct fi_ioc *compare, void **compare_desc,
				size_t compare_count, struct fi_ioc *result, void **result_desc,
				size_t result_count, uint64_t flags)
{
	return fi_compare_atomicmsg(self(fid), msg, compare, compare_desc, compare_count, result,
				    result_desc, result_count, flags);
}

static int alias_write_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			     size_t *count)
{
	return fi_atomicvalid(self(fid), datatype, op, count);
}

static int alias_fetch_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			     size_t *count)
{
	return fi_fetch_atomicvalid(self(fid), datatype, op, count);
}

static int alias_compare_valid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			       size_t *count)
{
	return fi_compare_atomicvalid(self(fid), datatype, op, count);
}

const struct fi_ops_atomic ofi_rdm_alias_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	OFI_ATOMIC_DEFAULTS,
	.write = alias_write,
	.writev = alias_writev,
	.writemsg = alias_writemsg,
	.inject = alias_inject,
	.readwrite = alias_fetch,
	.readwritev = alias_fetchv,
	.readwritemsg = alias_fetchmsg,
	.compwrite = alias_compare,
	.compwritev = alias_comparev,
	.compwritemsg = alias_comparemsg,
	.writevalid = alias_write_valid,
	.readwritevalid = alias_fetch_valid,
	.compwritevalid = alias_compare_valid,
};
