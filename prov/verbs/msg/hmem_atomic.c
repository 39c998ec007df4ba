/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomics of connected endpoints with FI_HMEM. Operands in device memory are copied to host words,
 * which become part of the work request. The device writes the results.
 */
#include <rdma/fi_errno.h>
#include "alias_trigger.h"
#include "atomic.h"
#include "ep.h"
#include "hmem.h"
#include "ops.h"
#include "prov/base/ops.h"
#include "work.h"

/* An operand, and the word that it is copied to. */
struct operand {
	uint64_t word;
	const void *at; /* address of the word; NULL if there is no operand */
};

/*
 * Copies an operand from device memory; the functions of vrb_atomic_ops check the arguments.
 * Requires inline data, without which the device would read the word of a write later.
 */
static ssize_t operand_load(struct fid_ep *fid, const void *buf, const void *desc, size_t count,
			    struct operand *operand)
{
	struct vrb_ep *ep = vrb_ep(fid);

	*operand = (struct operand){ .at = buf };
	if (!buf || count != 1 || !vrb_hmem_of(ep, buf, desc))
		return 0;
	if (ep->inject_size < VRB_ATOMIC_SIZE)
		return -FI_EOPNOTSUPP;
	operand->at = &operand->word;
	return vrb_hmem_load(ep, &operand->word, buf, desc, VRB_ATOMIC_SIZE);
}

static ssize_t ioc_load(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			struct fi_ioc *to, struct operand *operand)
{
	ssize_t ret;

	*operand = (struct operand){ .at = NULL };
	*to = (struct fi_ioc){ NULL, 0 };
	if (!iov || count != 1)
		return 0;
	ret = operand_load(ep, iov->addr, vrb_first_desc(desc), iov->count, operand);
	*to = (struct fi_ioc){ (void *)(uintptr_t)operand->at, iov->count };
	return ret;
}

static ssize_t hmem_inject(struct fid_ep *ep, const void *buf, size_t count, fi_addr_t dest,
			   uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	struct operand operand;
	ssize_t ret = operand_load(ep, buf, NULL, count, &operand);

	return ret ? ret
		   : vrb_atomic_ops.inject(ep, operand.at, count, dest, addr, key, datatype, op);
}

/*
 * Copies the operand of a message to where the processor can read it; leaves a message that waits
 * for a counter unchanged.
 */
static ssize_t msg_load(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags,
			struct fi_msg_atomic *to, struct fi_ioc *from, struct operand *operand)
{
	*to = msg ? *msg : (struct fi_msg_atomic){ .msg_iov = NULL };
	if (!msg || flags & FI_TRIGGER)
		return 0;
	if (msg->msg_iov)
		to->msg_iov = from;
	return ioc_load(ep, msg->msg_iov, msg->desc, msg->iov_count, from, operand);
}

static ssize_t hmem_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct fi_msg_atomic to;
	struct operand operand;
	struct fi_ioc from;
	ssize_t ret = msg_load(ep, msg, flags, &to, &from, &operand);

	return ret ? ret : vrb_atomic_ops.writemsg(ep, msg ? &to : NULL, flags);
}

static ssize_t hmem_fetchmsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
			     struct fi_ioc *resultv, void **result_desc, size_t result_count,
			     uint64_t flags)
{
	struct fi_msg_atomic to;
	struct operand operand;
	struct fi_ioc from;
	ssize_t ret = msg_load(ep, msg, flags, &to, &from, &operand);

	return ret ? ret
		   : vrb_atomic_ops.readwritemsg(ep, msg ? &to : NULL, resultv, result_desc,
						 result_count, flags);
}

static ssize_t hmem_comparemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
			       const struct fi_ioc *comparev, void **compare_desc,
			       size_t compare_count, struct fi_ioc *resultv, void **result_desc,
			       size_t result_count, uint64_t flags)
{
	struct operand operand, other;
	struct fi_msg_atomic to;
	struct fi_ioc from, with;
	ssize_t ret = msg_load(ep, msg, flags, &to, &from, &operand);

	if (ret || flags & FI_TRIGGER)
		return ret ? ret
			   : vrb_atomic_ops.compwritemsg(ep, msg, comparev, compare_desc,
							 compare_count, resultv, result_desc,
							 result_count, flags);
	ret = ioc_load(ep, comparev, compare_desc, compare_count, &with, &other);
	return ret ? ret
		   : vrb_atomic_ops.compwritemsg(ep, msg ? &to : NULL, &with, compare_desc,
						 compare_count, resultv, result_desc, result_count,
						 flags);
}

const struct fi_ops_atomic vrb_atomic_hmem_ops = {
	.size = OFI_ATOMIC_DEFAULTS,
	.write = vrb_call_atomic_write,
	.writev = vrb_atomic_writev,
	.writemsg = hmem_writemsg,
	.inject = hmem_inject,
	.readwrite = vrb_call_fetch,
	.readwritev = vrb_atomic_fetchv,
	.readwritemsg = hmem_fetchmsg,
	.compwrite = vrb_call_compare,
	.compwritev = vrb_atomic_comparev,
	.compwritemsg = hmem_comparemsg,
	.writevalid = vrb_atomic_write_valid,
	.readwritevalid = vrb_atomic_fetch_valid,
	.compwritevalid = vrb_atomic_compare_valid,
};
