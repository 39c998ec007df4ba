/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The RMA calls: they become operations on local memory that is registered, or on bounce buffers.
 */
#include <string.h>
#include "prov/base/desc.h"
#include <rdma/fi_errno.h>
#include "hmem.h"
#include "local.h"
#include "lock.h"
#include "objects.h"
#include "op.h"
#include "order.h"
#include "stats.h"
#include "work.h"

#define WRITE_FLAGS                                                                                \
	(FI_INJECT | FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | FI_REMOTE_CQ_DATA | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define READ_FLAGS                                                                        \
	(FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | \
	 FI_DELIVERY_COMPLETE)

/* Returns true if the device accesses the application's memory by its descriptors. */
static bool has_own(const struct fi_msg_rma *msg, uint64_t flags, bool read)
{
	return ofi_desc_permits(ofi_desc_at(msg->desc, 0), read) && !(flags & FI_INJECT);
}

/* Small transfers use a bounce buffer, also if the application's memory is not registered. */
static bool is_bounced(const struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
		       bool read, size_t total)
{
	return !has_own(msg, flags, read) && total <= ep->proto.xport.props.max_packet;
}

/* Returns true if the processor may access the application's memory. */
static bool is_copied(const struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
		      bool read, size_t total)
{
	bool by_target = !ep->prov_keys && total <= ep->proto.eager;

	return by_target || is_bounced(ep, msg, flags, read, total);
}

static int rma_check(const struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
		     bool read, size_t *total)
{
	uint64_t allowed = read ? READ_FLAGS : WRITE_FLAGS;
	size_t i, remote = 0;
	uint64_t end;

	if (flags & ~allowed)
		return -FI_EBADFLAGS;
	if (!msg->rma_iov_count || msg->rma_iov_count > OFI_RDM_PROTO_IOV || !msg->rma_iov ||
	    ofi_rdm_iov_total(msg->msg_iov, msg->iov_count, total))
		return -FI_EINVAL;
	for (i = 0; i < msg->rma_iov_count; i++)
		if (__builtin_add_overflow(remote, msg->rma_iov[i].len, &remote) ||
		    __builtin_add_overflow(msg->rma_iov[i].addr, msg->rma_iov[i].len, &end))
			return -FI_EINVAL;
	if (remote != *total)
		return -FI_EINVAL;
	if ((flags & FI_INJECT) && *total > ep->inject_size)
		return -FI_EMSGSIZE;
	if (!(ep->enabled & OFI_RDM_TX))
		return ofi_rdm_not_enabled(ep);
	if (!ofi_rdm_checks_copy(ep) || !is_copied(ep, msg, flags, read, *total))
		return 0;
	return ofi_rdm_check_hmem(ep, "RMA", msg->msg_iov, msg->desc, msg->iov_count);
}

/* Returns true if the data is copied behind a fence: operations before this one may change it. */
static bool is_late(const struct ofi_rdm_op *op, uint64_t flags)
{
	return (op->fenced.fence || op->peer->marker) && !(flags & FI_INJECT);
}

/* Returns 0 or -FI_E*. */
static int use_bounce(struct ofi_rdm_op *op, const struct fi_msg_rma *msg, uint64_t flags,
		      bool read, size_t total)
{
	op->bounce = ofi_rdm_xport(&op->peer->proto)->bounce_get(op->peer);
	if (!op->bounce)
		return -FI_EAGAIN;
	op->local[0] = (struct ofi_rdm_local){
		.addr = op->bounce->data,
		.len = total,
		.lkey = op->bounce->lkey,
	};
	op->local_count = 1;
	if (!read && !is_late(op, flags))
		return ofi_rdm_proto_load(op->bounce->data, msg->msg_iov, msg->iov_count,
					  op->peer->ep->hmem);
	memcpy(op->result, msg->msg_iov, msg->iov_count * sizeof(*msg->msg_iov));
	op->result_count = (uint8_t)msg->iov_count;
	if (!read) {
		op->late = op->result;
		op->late_count = op->result_count;
	}
	return 0;
}

/* Uses the application's registration, or one from the cache. */
static int use_memory(struct ofi_rdm_op *op, const struct fi_msg_rma *msg, bool read)
{
	struct ofi_rdm_ep *ep = op->peer->ep;
	struct ofi_rdm_local *local;
	size_t i;
	int ret = 0;

	for (i = 0; i < msg->iov_count && !ret; i++) {
		if (!msg->msg_iov[i].iov_len)
			continue;
		local = &op->local[op->local_count];
		local->addr = msg->msg_iov[i].iov_base;
		local->len = msg->msg_iov[i].iov_len;
		if (ofi_rdm_region_covers(ep, ofi_desc_at(msg->desc, i), local->addr, local->len,
					  read))
			local->lkey = ofi_desc_lkey(msg->desc[i]);
		else
			ret = ep->proto.xport.ops->local(ep, local->addr, local->len, read,
							 &local->region, &local->lkey);
		op->local_count += !ret;
	}
	return ret;
}

static int set_local(struct ofi_rdm_op *op, const struct fi_msg_rma *msg, uint64_t flags, bool read,
		     size_t total)
{
	if (!total)
		return 0;
	if (is_bounced(op->peer->ep, msg, flags, read, total))
		return use_bounce(op, msg, flags, read, total);
	return use_memory(op, msg, read);
}

/* Starts an RMA operation. The caller holds the lock. */
static ssize_t rma_start(struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			 bool read, uint64_t mark, size_t total)
{
	uint64_t what = read ? FI_READ : FI_WRITE;
	struct ofi_rdm_peer *peer;
	struct ofi_rdm_op *op;
	size_t i;
	int ret;

	peer = ofi_rdm_peer_of(ep, msg->addr, &ret);
	if (!peer)
		return ret;
	op = ofi_rdm_op_get(ep);
	if (!op)
		return -FI_EAGAIN;
	op->peer = peer;
	op->kind = read ? OFI_RDM_OP_READ : OFI_RDM_OP_WRITE;
	op->fenced.fence = flags & FI_FENCE;
	ofi_rdm_order_begin(peer, &op->fenced, read ? OFI_RDM_ORDER_READ : OFI_RDM_ORDER_WRITE);
	op->context = msg->context;
	op->flags = FI_RMA | what | (flags & FI_COMPLETION ? 0 : OFI_RDM_SILENT) | mark;
	op->total = total;
	op->has_data = flags & FI_REMOTE_CQ_DATA;
	op->data = msg->data;
	for (i = 0; i < msg->rma_iov_count; i++)
		op->remote[i] = (struct ofi_rdm_remote){ .addr = msg->rma_iov[i].addr,
							 .len = msg->rma_iov[i].len,
							 .key = msg->rma_iov[i].key };
	op->remote_count = (uint8_t)msg->rma_iov_count;
	ret = set_local(op, msg, flags, read, total);
	if (ret) {
		ofi_rdm_op_put(op);
		return ret;
	}
	return ofi_rdm_op_start(op);
}

ssize_t ofi_rdm_rma_work(struct ofi_rdm_ep *ep, const struct fi_msg_rma *msg, uint64_t flags,
			 bool read, uint64_t mark, bool only_check)
{
	size_t total = 0;
	ssize_t ret = rma_check(ep, msg, flags, read, &total);

	if (ofi_unlikely(ret == -FI_EBADFLAGS && !only_check))
		return ofi_rdm_trigger(ep, &(struct ofi_call){ read ? FI_OP_READ : FI_OP_WRITE,
							       flags, .rma = *msg });
	if (ofi_unlikely(ret || only_check))
		return ret;
	ofi_rdm_lock(ep);
	ret = rma_start(ep, msg, flags, read, mark, total);
	ofi_rdm_count_result(ep, ret);
	if (!ret && read)
		ofi_rdm_count(ep, OFI_STATS_READS, OFI_STATS_READ_BYTES, total);
	else if (!ret)
		ofi_rdm_count(ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, total);
	ofi_rdm_unlock(ep);
	return ret;
}
