/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RMA: all forms of fi_read and fi_write, posted directly to the peer's queue pair. */
#include <string.h>
#include "prov/base/mr_cache.h"
#include "prov/base/ops.h"
#include <rdma/fi_errno.h>
#include "proto_ops.h"
#include "lock.h"
#include "objects.h"
#include "op.h"
#include "order.h"
#include "calls.h"
#include "stats.h"
#include "work.h"

#define WRITE_FLAGS                                                                                \
	(FI_INJECT | FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | FI_REMOTE_CQ_DATA | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define READ_FLAGS                                                                        \
	(FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE)

struct rma {
	enum ofi_rdm_op_kind kind;
	const struct iovec *iov;
	void **desc;
	size_t count;
	fi_addr_t addr;
	const struct fi_rma_iov *rma;
	size_t rma_count;
	void *context;
	uint64_t flags; /* FI_COMPLETION if a CQ entry is wanted */
	uint64_t data;
	uint64_t mark; /* OFI_RDM_DEFERRED, or 0 */
};

/* Default flags of the endpoint that apply. */
#define DEFAULTS (WRITE_FLAGS & ~(FI_INJECT | FI_REMOTE_CQ_DATA))

static bool sum(const struct iovec *iov, size_t count, size_t *total)
{
	size_t i;

	*total = 0;
	for (i = 0; i < count; i++)
		if ((!iov[i].iov_base && iov[i].iov_len) ||
		    __builtin_add_overflow(*total, iov[i].iov_len, total))
			return false;
	return true;
}

static int rma_check(const struct ofi_rdm_ep *ep, const struct rma *rma, size_t *total)
{
	uint64_t allowed = rma->kind == OFI_RDM_OP_READ ? READ_FLAGS : WRITE_FLAGS;
	size_t i, remote = 0;

	if (rma->flags & ~allowed)
		return -FI_EBADFLAGS;
	if (rma->count > OFI_RDM_PROTO_IOV || (rma->count && !rma->iov) || !rma->rma_count ||
	    rma->rma_count > OFI_RDM_PROTO_IOV || !rma->rma || !sum(rma->iov, rma->count, total))
		return -FI_EINVAL;
	for (i = 0; i < rma->rma_count; i++)
		if (__builtin_add_overflow(remote, rma->rma[i].len, &remote))
			return -FI_EINVAL;
	if (remote != *total)
		return -FI_EINVAL;
	if ((rma->flags & FI_INJECT) && *total > ep->inject_size)
		return -FI_EMSGSIZE;
	return ep->enabled ? 0 : -FI_EOPBADSTATE;
}

/* Operations before this one may still change the data that it writes. */
static bool is_late(const struct ofi_rdm_op *op, const struct rma *rma)
{
	return (op->fenced.fence || op->peer->marker) && !(rma->flags & FI_INJECT);
}

/* Small transfers use a bounce buffer, also if the application's memory is not registered. */
static bool use_bounce(struct ofi_rdm_op *op, const struct rma *rma, size_t total)
{
	op->bounce = ofi_rdm_xport(&op->peer->proto)->bounce_get(op->peer);
	if (!op->bounce)
		return false;
	op->local[0] = (struct ofi_rdm_local){
		.addr = op->bounce->data,
		.len = total,
		.lkey = op->bounce->lkey,
	};
	op->local_count = 1;
	if (rma->kind == OFI_RDM_OP_WRITE && !is_late(op, rma)) {
		ofi_rdm_gather(op->bounce->data, rma->iov, rma->count);
		return true;
	}
	memcpy(op->result, rma->iov, rma->count * sizeof(*rma->iov));
	op->result_count = (uint8_t)rma->count;
	if (rma->kind == OFI_RDM_OP_WRITE) {
		op->late = op->result;
		op->late_count = op->result_count;
	}
	return true;
}

/* Uses the application's registration, or one from the cache. */
static int use_memory(struct ofi_rdm_op *op, const struct rma *rma)
{
	struct ofi_rdm_ep *ep = op->peer->ep;
	bool written = rma->kind == OFI_RDM_OP_READ;
	struct ofi_rdm_local *local;
	size_t i;
	int ret = 0;

	for (i = 0; i < rma->count && !ret; i++) {
		if (!rma->iov[i].iov_len)
			continue;
		local = &op->local[op->local_count];
		local->addr = rma->iov[i].iov_base;
		local->len = rma->iov[i].iov_len;
		if (rma->desc && rma->desc[i])
			local->lkey = (uint32_t)(uintptr_t)rma->desc[i];
		else
			ret = ep->proto.xport.ops->local(ep, local->addr, local->len, written,
							 &local->region, &local->lkey);
		op->local_count += !ret;
	}
	return ret;
}

static int set_local(struct ofi_rdm_op *op, const struct rma *rma, size_t total)
{
	bool own = rma->desc && rma->desc[0] && !(rma->flags & FI_INJECT);

	if (!total)
		return 0;
	if (!own && total <= op->peer->ep->proto.xport.props.max_packet)
		return use_bounce(op, rma, total) ? 0 : -FI_EAGAIN;
	return use_memory(op, rma);
}

/* Starts an RMA operation. The caller holds the lock. */
static ssize_t rma_start(struct ofi_rdm_ep *ep, struct ofi_rdm_peer *peer, const struct rma *rma,
			 size_t total)
{
	struct ofi_rdm_op *op = ofi_rdm_op_get(ep);
	uint64_t what = rma->kind == OFI_RDM_OP_READ ? FI_READ : FI_WRITE;
	size_t i;
	int ret;

	if (!op)
		return -FI_EAGAIN;
	op->peer = peer;
	op->kind = (uint8_t)rma->kind;
	op->fenced.fence = rma->flags & FI_FENCE;
	ofi_rdm_order_begin(peer, &op->fenced,
			    what == FI_READ ? OFI_RDM_ORDER_READ : OFI_RDM_ORDER_WRITE);
	op->context = rma->context;
	op->flags = FI_RMA | what | (rma->flags & FI_COMPLETION ? 0 : OFI_RDM_SILENT) | rma->mark;
	op->total = total;
	op->has_data = rma->flags & FI_REMOTE_CQ_DATA;
	op->data = rma->data;
	for (i = 0; i < rma->rma_count; i++)
		op->remote[i] = (struct ofi_rdm_remote){ .addr = rma->rma[i].addr,
							 .len = rma->rma[i].len,
							 .key = rma->rma[i].key };
	op->remote_count = (uint8_t)rma->rma_count;
	ret = set_local(op, rma, total);
	if (ret) {
		ofi_rdm_op_put(op);
		return ret;
	}
	return ofi_rdm_op_start(op);
}

static OFI_OUTLINE ssize_t rma_trigger(struct ofi_rdm_ep *ep, const struct rma *rma)
{
	const struct fi_msg_rma msg = {
		.msg_iov = rma->iov,
		.desc = rma->desc,
		.iov_count = rma->count,
		.addr = rma->addr,
		.rma_iov = rma->rma,
		.rma_iov_count = rma->rma_count,
		.context = rma->context,
		.data = rma->data,
	};

	return ofi_rdm_trigger_rma(ep, rma->kind == OFI_RDM_OP_READ ? FI_OP_READ : FI_OP_WRITE,
				   &msg, rma->flags);
}

static ssize_t transfer(struct ofi_rdm_ep *ep, const struct rma *rma)
{
	struct ofi_rdm_peer *peer;
	size_t total;
	ssize_t ret;
	int err;

	ret = rma_check(ep, rma, &total);
	if (ofi_unlikely(ret))
		return ret == -FI_EBADFLAGS ? rma_trigger(ep, rma) : ret;
	ofi_rdm_lock(ep);
	peer = ofi_rdm_peer_of(ep, rma->addr, &err);
	ret = peer ? rma_start(ep, peer, rma, total) : err;
	ofi_rdm_count_result(ep, ret);
	if (!ret && rma->kind == OFI_RDM_OP_READ)
		ofi_rdm_count(ep, OFI_STATS_READS, OFI_STATS_READ_BYTES, total);
	else if (!ret)
		ofi_rdm_count(ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, total);
	ofi_rdm_unlock(ep);
	return ret;
}

static ssize_t one(struct fid_ep *fid, enum ofi_rdm_op_kind kind, const void *buf, size_t len,
		   void *desc, fi_addr_t addr, uint64_t remote, uint64_t key, void *context,
		   uint64_t flags, uint64_t data)
{
	const struct iovec iov = { (void *)(uintptr_t)buf, len };
	const struct fi_rma_iov rma_iov = { .addr = remote, .len = len, .key = key };
	const struct rma rma = { kind, &iov, &desc, 1, addr, &rma_iov, 1, context, flags, data };

	return transfer(ofi_rdm(fid), &rma);
}

static ssize_t many(struct fid_ep *fid, enum ofi_rdm_op_kind kind, const struct iovec *iov,
		    void **desc, size_t count, fi_addr_t addr, uint64_t remote, uint64_t key,
		    void *context)
{
	struct fi_rma_iov rma_iov = { .addr = remote, .key = key };
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	const struct rma rma = { kind,	iov,	 desc,
				 count, addr,	 &rma_iov,
				 1,	context, ofi_rdm_tx_flags(ep, DEFAULTS),
				 0 };

	if (count > OFI_RDM_PROTO_IOV || (count && !iov) || !sum(iov, count, &rma_iov.len))
		return -FI_EINVAL;
	return transfer(ep, &rma);
}

static ssize_t msg(struct fid_ep *fid, bool read, const struct fi_msg_rma *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	return ofi_rdm_rma_work(ep, msg, ofi_rdm_msg_flags(ep, flags), read, 0, false);
}

OFI_OUTLINE ssize_t ofi_rdm_read_one(struct fid_ep *fid, void *buf, size_t len, void *desc,
				     fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return one(fid, OFI_RDM_OP_READ, buf, len, desc, addr, remote, key, context,
		   ofi_rdm_tx_flags(ofi_rdm(fid), DEFAULTS), 0);
}

ssize_t ofi_rdm_readv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return many(fid, OFI_RDM_OP_READ, iov, desc, count, addr, remote, key, context);
}

ssize_t ofi_rdm_readmsg(struct fid_ep *fid, const struct fi_msg_rma *rma, uint64_t flags)
{
	return msg(fid, true, rma, flags);
}

OFI_OUTLINE ssize_t ofi_rdm_write_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
				      fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return one(fid, OFI_RDM_OP_WRITE, buf, len, desc, addr, remote, key, context,
		   ofi_rdm_tx_flags(ofi_rdm(fid), DEFAULTS), 0);
}

OFI_OUTLINE ssize_t ofi_rdm_inject_write_one(struct fid_ep *fid, const void *buf, size_t len,
					     fi_addr_t addr, uint64_t remote, uint64_t key)
{
	return one(fid, OFI_RDM_OP_WRITE, buf, len, NULL, addr, remote, key, NULL, FI_INJECT, 0);
}

ssize_t ofi_rdm_writev(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return many(fid, OFI_RDM_OP_WRITE, iov, desc, count, addr, remote, key, context);
}

ssize_t ofi_rdm_writemsg(struct fid_ep *fid, const struct fi_msg_rma *rma, uint64_t flags)
{
	return msg(fid, false, rma, flags);
}

ssize_t ofi_rdm_writedata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  uint64_t data, fi_addr_t addr, uint64_t remote, uint64_t key,
			  void *context)
{
	return one(fid, OFI_RDM_OP_WRITE, buf, len, desc, addr, remote, key, context,
		   ofi_rdm_tx_flags(ofi_rdm(fid), DEFAULTS) | FI_REMOTE_CQ_DATA, data);
}

ssize_t ofi_rdm_inject_writedata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
				 fi_addr_t addr, uint64_t remote, uint64_t key)
{
	return one(fid, OFI_RDM_OP_WRITE, buf, len, NULL, addr, remote, key, NULL,
		   FI_INJECT | FI_REMOTE_CQ_DATA, data);
}

ssize_t ofi_rdm_rma_work(struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			 bool read, uint64_t mark, bool only_check)
{
	const struct rma rma = { read ? OFI_RDM_OP_READ : OFI_RDM_OP_WRITE,
				 msg->msg_iov,
				 msg->desc,
				 msg->iov_count,
				 msg->addr,
				 msg->rma_iov,
				 msg->rma_iov_count,
				 msg->context,
				 flags,
				 msg->data,
				 mark };
	size_t total;

	return only_check ? rma_check(ep, &rma, &total) : transfer(ep, &rma);
}

const struct fi_ops_rma ofi_rdm_rma_ops = {
	.size = sizeof(struct fi_ops_rma),
	OFI_RMA_DEFAULTS,
	OFI_RDM_RMA_CALLS,
	.read = ofi_rdm_read_one,
	.write = ofi_rdm_write_one,
	.inject = ofi_rdm_inject_write_one,
};
