/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomics of reliable connections, on one 64-bit integer: the device performs add, fetch-and-add
 * and compare-and-swap; write and fetch-read are RDMA operations on 8 aligned bytes.
 */
#include <string.h>
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

static uint64_t atomic_load(const void *buf)
{
	uint64_t word;

	memcpy(&word, buf, sizeof(word));
	return word;
}

OFI_INLINE void fill_atomic(struct ibv_send_wr *wr, const struct fi_rma_ioc *to,
			    uint64_t compare_add, uint64_t swap)
{
	wr->wr.atomic.remote_addr = to->addr;
	wr->wr.atomic.rkey = (uint32_t)to->key;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

OFI_INLINE void fill_rdma(struct ibv_send_wr *wr, const struct fi_rma_ioc *to)
{
	wr->wr.rdma.remote_addr = to->addr;
	wr->wr.rdma.rkey = (uint32_t)to->key;
}

OFI_INLINE ssize_t do_write(struct vrb_ep *ep, const void *buf, void *desc,
			    const struct fi_rma_ioc *to, enum fi_datatype datatype, enum fi_op op,
			    void *context, const struct vrb_tx_mode *mode, bool more)
{
	struct ibv_send_wr *wr;
	ssize_t ret = vrb_atomic_check(FI_OP_ATOMIC, datatype, op, to);

	if (ofi_unlikely(ret))
		return ret;
	if (ofi_unlikely(!buf))
		return -FI_EINVAL;
	vrb_wq_enter(ep->sq, ep->lock_posts);
	if (op == FI_SUM) {
		wr = vrb_sq_wr(ep->sq, ep->domain->scratch, WORD,
			       (void *)(uintptr_t)ep->domain->scratch_mr->lkey);
		wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr->send_flags = mode->wr_flags;
		fill_atomic(wr, to, atomic_load(buf), 0);
	} else {
		wr = vrb_sq_wr(ep->sq, buf, WORD, desc);
		wr->opcode = IBV_WR_RDMA_WRITE;
		wr->send_flags = mode->wr_flags | vrb_inline_flag(ep, WORD);
		fill_rdma(wr, to);
	}
	return vrb_sq_post(ep->sq, wr, context, FI_ATOMIC | FI_WRITE | mode->silent, WORD, more,
			   ep->lock_posts);
}

OFI_INLINE ssize_t do_fetch(struct vrb_ep *ep, const void *buf, void *result, void *result_desc,
			    const struct fi_rma_ioc *to, enum fi_datatype datatype, enum fi_op op,
			    void *context, const struct vrb_tx_mode *mode, bool more)
{
	struct ibv_send_wr *wr;
	ssize_t ret = vrb_atomic_check(FI_OP_FETCH_ATOMIC, datatype, op, to);

	if (ofi_unlikely(ret))
		return ret;
	if (ofi_unlikely(!result || (op == FI_SUM && !buf)))
		return -FI_EINVAL;
	vrb_wq_enter(ep->sq, ep->lock_posts);
	wr = vrb_sq_wr(ep->sq, result, WORD, result_desc);
	wr->send_flags = mode->wr_flags;
	if (op == FI_SUM) {
		wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		fill_atomic(wr, to, atomic_load(buf), 0);
	} else {
		wr->opcode = IBV_WR_RDMA_READ;
		fill_rdma(wr, to);
	}
	return vrb_sq_post(ep->sq, wr, context, FI_ATOMIC | FI_READ | mode->silent, WORD, more,
			   ep->lock_posts);
}

OFI_INLINE ssize_t do_compare(struct vrb_ep *ep, const void *buf, const void *compare, void *result,
			      void *result_desc, const struct fi_rma_ioc *to,
			      enum fi_datatype datatype, enum fi_op op, void *context,
			      const struct vrb_tx_mode *mode, bool more)
{
	struct ibv_send_wr *wr;
	ssize_t ret = vrb_atomic_check(FI_OP_COMPARE_ATOMIC, datatype, op, to);

	if (ofi_unlikely(ret))
		return ret;
	if (ofi_unlikely(!buf || !compare || !result))
		return -FI_EINVAL;
	vrb_wq_enter(ep->sq, ep->lock_posts);
	wr = vrb_sq_wr(ep->sq, result, WORD, result_desc);
	wr->opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	wr->send_flags = mode->wr_flags;
	fill_atomic(wr, to, atomic_load(compare), atomic_load(buf));
	return vrb_sq_post(ep->sq, wr, context, FI_ATOMIC | FI_READ | mode->silent, WORD, more,
			   ep->lock_posts);
}

OFI_INLINE struct vrb_tx_mode default_mode(const struct vrb_ep *ep)
{
	return (struct vrb_tx_mode){ .wr_flags = ep->tx_wr_flags, .silent = vrb_ep_tx_silent(ep) };
}

static ssize_t atomic_write(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			    fi_addr_t dest, uint64_t addr, uint64_t key, enum fi_datatype datatype,
			    enum fi_op op, void *context)
{
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = default_mode(vrb_ep(fid));

	(void)dest;
	return do_write(vrb_ep(fid), buf, desc, &to, datatype, op, context, &mode, false);
}

static ssize_t atomic_inject(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t dest,
			     uint64_t addr, uint64_t key, enum fi_datatype datatype, enum fi_op op)
{
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = { .silent = VRB_SILENT };

	(void)dest;
	if (ofi_unlikely(vrb_ep(fid)->inject_size < WORD))
		return -FI_EMSGSIZE;
	return do_write(vrb_ep(fid), buf, NULL, &to, datatype, op, NULL, &mode, false);
}

/* Slow path: all other operations, argument errors, and contention. */
static OFI_OUTLINE ssize_t atomic_fetch_any(struct fid_ep *fid, const void *buf, size_t count,
					    void *desc, void *result, void *result_desc,
					    fi_addr_t dest, uint64_t addr, uint64_t key,
					    enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = default_mode(vrb_ep(fid));

	(void)desc;
	(void)dest;
	return do_fetch(vrb_ep(fid), buf, result, result_desc, &to, datatype, op, context, &mode,
			false);
}

/*
 * Fast path: fetch-and-add, which applications use for counting. All else is a tail call with the
 * same arguments.
 */
OFI_INLINE ssize_t atomic_fetch_on(struct fid_ep *fid, const void *buf, size_t count, void *desc,
				   void *result, void *result_desc, fi_addr_t dest, uint64_t addr,
				   uint64_t key, enum fi_datatype datatype, enum fi_op op,
				   void *context, bool lock)
{
	const struct fi_rma_ioc to = { addr, 1, key };
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_wq *sq = ep->sq;
	struct ibv_send_wr *wr;

	if (ofi_unlikely(op != FI_SUM || !buf || !result || count != 1 ||
			 vrb_atomic_check(FI_OP_FETCH_ATOMIC, datatype, op, &to)))
		return atomic_fetch_any(fid, buf, count, desc, result, result_desc, dest, addr, key,
					datatype, op, context);
	if (lock && ofi_unlikely(!ofi_trylock(&sq->lock)))
		return atomic_fetch_any(fid, buf, count, desc, result, result_desc, dest, addr, key,
					datatype, op, context);
	wr = vrb_sq_wr(sq, result, WORD, result_desc);
	wr->send_flags = ep->tx_wr_flags;
	wr->opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	fill_atomic(wr, &to, atomic_load(buf), 0);
	return vrb_sq_post(sq, wr, context, FI_ATOMIC | FI_READ | vrb_ep_tx_silent(ep), WORD, false,
			   lock);
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
	const struct fi_rma_ioc to = { addr, count, key };
	struct vrb_tx_mode mode = default_mode(vrb_ep(fid));

	(void)desc;
	(void)compare_desc;
	(void)dest;
	return do_compare(vrb_ep(fid), buf, compare, result, result_desc, &to, datatype, op,
			  context, &mode, false);
}

static ssize_t msg_prepare(struct vrb_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags,
			   struct vrb_tx_mode *mode)
{
	if (!msg || msg->rma_iov_count != 1 || !msg->rma_iov)
		return -FI_EINVAL;
	return vrb_tx_mode(ep, flags, ATOMIC_FLAGS, WORD, mode);
}

static ssize_t atomic_writemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_tx_mode mode;
	ssize_t ret = msg_prepare(ep, msg, flags, &mode);

	if (ret == -FI_EBADFLAGS)
		return vrb_trigger_atomic(ep, FI_OP_ATOMIC, (struct ofi_atomic_args){ .msg = *msg },
					  flags);
	if (ret)
		return ret;
	return do_write(ep, vrb_ioc_addr(msg->msg_iov, msg->iov_count), vrb_first_desc(msg->desc),
			msg->rma_iov, msg->datatype, msg->op, msg->context, &mode, flags & FI_MORE);
}

static ssize_t atomic_fetchmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			       struct fi_ioc *resultv, void **result_desc, size_t result_count,
			       uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_tx_mode mode;
	ssize_t ret = msg_prepare(ep, msg, flags, &mode);

	if (ret == -FI_EBADFLAGS)
		return vrb_trigger_atomic(
			ep, FI_OP_FETCH_ATOMIC,
			ofi_atomic_args(msg, NULL, NULL, 0, resultv, result_desc, result_count),
			flags);
	if (ret)
		return ret;
	return do_fetch(ep, vrb_ioc_addr(msg->msg_iov, msg->iov_count),
			vrb_ioc_addr(resultv, result_count), vrb_first_desc(result_desc),
			msg->rma_iov, msg->datatype, msg->op, msg->context, &mode, flags & FI_MORE);
}

static ssize_t atomic_comparemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
				 const struct fi_ioc *comparev, void **compare_desc,
				 size_t compare_count, struct fi_ioc *resultv, void **result_desc,
				 size_t result_count, uint64_t flags)
{
	struct vrb_ep *ep = vrb_ep(fid);
	struct vrb_tx_mode mode;
	ssize_t ret = msg_prepare(ep, msg, flags, &mode);

	if (ret == -FI_EBADFLAGS)
		return vrb_trigger_atomic(ep, FI_OP_COMPARE_ATOMIC,
					  ofi_atomic_args(msg, comparev, compare_desc,
							  compare_count, resultv, result_desc,
							  result_count),
					  flags);
	if (ret)
		return ret;
	return do_compare(ep, vrb_ioc_addr(msg->msg_iov, msg->iov_count),
			  vrb_ioc_addr(comparev, compare_count),
			  vrb_ioc_addr(resultv, result_count), vrb_first_desc(result_desc),
			  msg->rma_iov, msg->datatype, msg->op, msg->context, &mode,
			  flags & FI_MORE);
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
