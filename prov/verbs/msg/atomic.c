/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomics of reliable connections, on one 64-bit integer: the device performs add, fetch-and-add
 * and compare-and-swap; write and fetch-read are RDMA operations on 8 aligned bytes.
 */
#include "prov/base/refuse.h"
#include "prov/verbs/provider/domain.h"
#include "prov/verbs/provider/prov.h"
#include "atomic.h"
#include "ops.h"
#include "prov/verbs/queue/post.h"
#include "work.h"

#define WORD VRB_ATOMIC_SIZE
#define ATOMIC_FLAGS                                                           \
	(FI_INJECT | FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

/* `type` is a constant, so each call has its own copy of this. */
OFI_INLINE ssize_t do_atomic(struct vrb_ep *ep, enum fi_op_type type,
			     const struct vrb_atomic_operands *operands,
			     const struct fi_rma_ioc *to, enum fi_datatype datatype, enum fi_op op,
			     void *context, const struct vrb_tx_mode *mode, bool more)
{
	uint64_t kind = FI_ATOMIC | (type == FI_OP_ATOMIC ? FI_WRITE : FI_READ);
	ssize_t ret = vrb_atomic_check(type, datatype, op, operands, to);
	struct vrb_wq *sq = ep->sq;

	if (ofi_unlikely(ret))
		return ret;
	vrb_wq_enter(sq, ep->lock_posts);
	vrb_atomic_sge(ep, type, op, operands, &sq->sge);
	vrb_atomic_fill(ep, op, operands, to, mode->wr_flags, &sq->send);
	return vrb_sq_post(sq, &sq->send, context, kind | mode->silent, WORD, more, ep->lock_posts);
}

OFI_INLINE struct vrb_tx_mode default_mode(const struct vrb_ep *ep)
{
	return (struct vrb_tx_mode){ .wr_flags = ep->tx_wr_flags, .silent = vrb_ep_tx_silent(ep) };
}

static ssize_t atomic_write(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			    fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			    enum fi_op op, void *context)
{
	const struct vrb_atomic_operands operands = { .buf = buf, .desc = desc };
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = default_mode(vrb_ep(fid));

	(void)dest;
	return do_atomic(vrb_ep(fid), FI_OP_ATOMIC, &operands, &to, datatype, op, context, &mode,
			 false);
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t dest,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	const struct vrb_atomic_operands operands = { .buf = buf };
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = { .silent = VRB_SILENT };

	(void)dest;
	if (ofi_unlikely(vrb_ep(fid)->inject_size < WORD))
		return -FI_EMSGSIZE;
	return do_atomic(vrb_ep(fid), FI_OP_ATOMIC, &operands, &to, datatype, op, NULL, &mode,
			 false);
}

/* Slow path: all other operations, argument errors, and contention. */
static OFI_OUTLINE ssize_t atomic_fetch_any(struct fid_ep *fid, const void *buf, size_t count,
					    void *desc, void *result, void *result_desc,
					    fi_addr_t dest, uint64_t addr, uint64_t key,
					    enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct vrb_atomic_operands operands = { .buf = buf,
						      .result = result,
						      .result_desc = result_desc };
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = default_mode(vrb_ep(fid));

	(void)desc;
	(void)dest;
	return do_atomic(vrb_ep(fid), FI_OP_FETCH_ATOMIC, &operands, &to, datatype, op, context,
			 &mode, false);
}

/*
 * Fast path: fetch-and-add, which applications use for counting. All else is a tail call with the
 * same arguments. Testing the operands first saves instructions.
 */
OFI_INLINE ssize_t atomic_fetch_on(struct fid_ep *fid, const void *buf, size_t count, void *desc,
				   void *result, void *result_desc, fi_addr_t dest, uint64_t addr,
				   uint64_t key, enum fi_datatype datatype, enum fi_op op,
				   void *context, bool lock)
{
	const struct vrb_atomic_operands operands = { .buf = buf,
						      .result = result,
						      .result_desc = result_desc };
	const struct fi_rma_ioc to = { addr, 1, key };
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_wq *sq = ep->sq;

	if (ofi_unlikely(op != FI_SUM || !buf || !result || count != 1 ||
			 vrb_atomic_check(FI_OP_FETCH_ATOMIC, datatype, op, &operands, &to)))
		return atomic_fetch_any(fid, buf, count, desc, result, result_desc, dest, addr, key,
					datatype, op, context);
	if (lock && ofi_unlikely(!ofi_trylock(&sq->lock)))
		return atomic_fetch_any(fid, buf, count, desc, result, result_desc, dest, addr, key,
					datatype, op, context);
	vrb_atomic_sge(ep, FI_OP_FETCH_ATOMIC, FI_SUM, &operands, &sq->sge);
	vrb_atomic_fill(ep, FI_SUM, &operands, &to, ep->tx_wr_flags, &sq->send);
	return vrb_sq_post(sq, &sq->send, context, FI_ATOMIC | FI_READ | vrb_ep_tx_silent(ep), WORD,
			   false, lock);
}

static ssize_t atomic_fetch(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			    void *result, void *result_desc, fi_addr_t dest, uint64_t addr,
			    uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	return atomic_fetch_on(fid, buf, count, desc, result, result_desc, dest, addr, key,
			       datatype, op, context, true);
}

static ssize_t atomic_fetch_nolock(struct fid_ep *fid, const void *buf, size_t count, void *desc,
				   void *result, void *result_desc, fi_addr_t dest, uint64_t addr,
				   uint64_t key, enum fi_datatype datatype, enum fi_op op,
				   void *context)
{
	return atomic_fetch_on(fid, buf, count, desc, result, result_desc, dest, addr, key,
			       datatype, op, context, false);
}

static ssize_t atomic_compare(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			      const void *compare, void *compare_desc, void *result,
			      void *result_desc, fi_addr_t dest, uint64_t addr, uint64_t key,
			      enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct vrb_atomic_operands operands = {
		.buf = buf, .compare = compare, .result = result, .result_desc = result_desc
	};
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = default_mode(vrb_ep(fid));

	(void)desc;
	(void)compare_desc;
	(void)dest;
	return do_atomic(vrb_ep(fid), FI_OP_COMPARE_ATOMIC, &operands, &to, datatype, op, context,
			 &mode, false);
}

static ssize_t msg_prepare(struct vrb_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags,
			   struct vrb_tx_mode *mode)
{
	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov)
		return -FI_EINVAL;
	return vrb_tx_mode(ep, flags, ATOMIC_FLAGS, WORD, mode);
}

OFI_INLINE ssize_t do_message(struct vrb_ep *ep, enum fi_op_type type,
			      const struct fi_msg_atomic *msg, const struct fi_ioc *compare,
			      void **compare_desc, size_t compare_count,
			      const struct fi_ioc *result, void **result_desc, size_t result_count,
			      uint64_t flags)
{
	struct vrb_atomic_operands operands;
	struct vrb_tx_mode mode;
	ssize_t ret = msg_prepare(ep, msg, flags, &mode);

	if (ret == -FI_EBADFLAGS)
		return vrb_trigger_atomic(ep, type,
					  ofi_atomic_args(msg, compare, compare_desc, compare_count,
							  result, result_desc, result_count),
					  flags);
	if (ret)
		return ret;
	operands =
		vrb_atomic_operands(msg, compare, compare_count, result, result_desc, result_count);
	return do_atomic(ep, type, &operands, msg->rma_iov, msg->datatype, msg->op, msg->context,
			 &mode, flags & FI_MORE);
}

static ssize_t atomic_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	return do_message(vrb_ep(fid), FI_OP_ATOMIC, msg, NULL, NULL, 0, NULL, NULL, 0, flags);
}

static ssize_t atomic_fetchmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			       struct fi_ioc *resultv, void **result_desc, size_t result_count,
			       uint64_t flags)
{
	return do_message(vrb_ep(fid), FI_OP_FETCH_ATOMIC, msg, NULL, NULL, 0, resultv, result_desc,
			  result_count, flags);
}

static ssize_t atomic_comparemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				 const struct fi_ioc *comparev, void **compare_desc,
				 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, uint64_t flags)
{
	return do_message(vrb_ep(fid), FI_OP_COMPARE_ATOMIC, msg, comparev, compare_desc,
			  compare_count, resultv, result_desc, result_count, flags);
}

ssize_t vrb_atomic_writev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			  enum fi_op op, void *context)
{
	return ep->atomic->write(ep, vrb_ioc_addr(iov, count), vrb_ioc_count(iov, count),
				 vrb_first_desc(desc), dest, addr, key, datatype, op, context);
}

ssize_t vrb_atomic_fetchv(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			  struct fi_ioc *resultv, void **result_desc, size_t result_count,
			  fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			  enum fi_op op, void *context)
{
	return ep->atomic->readwrite(
		ep, vrb_ioc_addr(iov, count), vrb_ioc_count(resultv, result_count),
		vrb_first_desc(desc), vrb_ioc_addr(resultv, result_count),
		vrb_first_desc(result_desc), dest, addr, key, datatype, op, context);
}

ssize_t vrb_atomic_comparev(struct fid_ep *ep, const struct fi_ioc *iov, void **desc, size_t count,
			    const struct fi_ioc *comparev, void **compare_desc,
			    size_t compare_count, struct fi_ioc *resultv, void **result_desc,
			    size_t result_count, fi_addr_t dest, uint64_t addr, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	return ep->atomic->compwrite(
		ep, vrb_ioc_addr(iov, count), vrb_ioc_count(iov, count), vrb_first_desc(desc),
		vrb_ioc_addr(comparev, compare_count), vrb_first_desc(compare_desc),
		vrb_ioc_addr(resultv, result_count), vrb_first_desc(result_desc), dest, addr, key,
		datatype, op, context);
}

static int atomic_valid(enum fi_op_type type, enum fi_datatype datatype, enum fi_op op,
			size_t *count)
{
	if (!vrb_atomic_known(type, datatype, op))
		return -FI_EOPNOTSUPP;
	if (count)
		*count = 1;
	return 0;
}

int vrb_atomic_write_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			   size_t *count)
{
	(void)ep;
	return atomic_valid(FI_OP_ATOMIC, datatype, op, count);
}

int vrb_atomic_fetch_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			   size_t *count)
{
	(void)ep;
	return atomic_valid(FI_OP_FETCH_ATOMIC, datatype, op, count);
}

int vrb_atomic_compare_valid(struct fid_ep *ep, enum fi_datatype datatype, enum fi_op op,
			     size_t *count)
{
	(void)ep;
	return atomic_valid(FI_OP_COMPARE_ATOMIC, datatype, op, count);
}

#define ATOMICS(fetch_)                                                                          \
	{                                                                                        \
		.size = OFI_ATOMIC_DEFAULTS, .write = atomic_write, .writev = vrb_atomic_writev, \
		.writemsg = atomic_writemsg, .inject = atomic_inject, .readwrite = (fetch_),     \
		.readwritev = vrb_atomic_fetchv, .readwritemsg = atomic_fetchmsg,                \
		.compwrite = atomic_compare, .compwritev = vrb_atomic_comparev,                  \
		.compwritemsg = atomic_comparemsg, .writevalid = vrb_atomic_write_valid,         \
		.readwritevalid = vrb_atomic_fetch_valid,                                        \
		.compwritevalid = vrb_atomic_compare_valid,                                      \
	}

const struct fi_ops_atomic vrb_atomic_ops = ATOMICS(atomic_fetch);
const struct fi_ops_atomic vrb_atomic_nolock_ops = ATOMICS(atomic_fetch_nolock);

static int atomic_decline(enum fi_datatype datatype, enum fi_op op)
{
	return ofi_decline(
		&vrb_prov, FI_LOG_DOMAIN, -FI_EOPNOTSUPP,
		"fi_query_atomic: operation %d is not supported on datatype %d in calls of this kind\n",
		(int)op, (int)datatype);
}

int vrb_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
		     struct fi_atomic_attr *attr, uint64_t flags)
{
	struct vrb_domain *domain = vrb_domain(fid);
	enum fi_op_type type = FI_OP_ATOMIC;

	if (!attr)
		return ofi_refuse_null(&vrb_prov, FI_LOG_DOMAIN, "fi_query_atomic", "attr");
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return ofi_refuse_flags(&vrb_prov, FI_LOG_DOMAIN, "fi_query_atomic", flags);
	if ((flags & FI_TAGGED) || !domain->scratch_mr)
		return atomic_decline(datatype, op);
	if ((flags & FI_FETCH_ATOMIC) && (flags & FI_COMPARE_ATOMIC))
		return ofi_refuse(
			&vrb_prov, FI_LOG_DOMAIN, -FI_EINVAL,
			"fi_query_atomic: FI_FETCH_ATOMIC or FI_COMPARE_ATOMIC, not both\n");
	if (flags & FI_FETCH_ATOMIC)
		type = FI_OP_FETCH_ATOMIC;
	else if (flags & FI_COMPARE_ATOMIC)
		type = FI_OP_COMPARE_ATOMIC;
	if (!vrb_atomic_known(type, datatype, op))
		return atomic_decline(datatype, op);
	attr->count = 1;
	attr->size = VRB_ATOMIC_SIZE;
	return 0;
}
