/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations. The target's software performs all of them, for every type and operation of
 * fi_atomic(3). They are never mixed with the device's own atomics, because the device is not
 * atomic with respect to other accesses to the same memory.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include "prov/base/refuse.h"
#include <rdma/fi_errno.h>
#include "prov/base/ops.h"
#include "atomic.h"
#include "proto_ops.h"
#include "lock.h"
#include "objects.h"
#include "op.h"
#include "order.h"
#include "stats.h"
#include "work.h"

#define ATOMIC_FLAGS                                                           \
	(FI_INJECT | FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

struct atomic {
	enum ofi_rdm_wire_atomic_kind kind;
	const struct fi_ioc *buf;
	size_t count;
	const struct fi_ioc *compare;
	size_t compare_count;
	const struct fi_ioc *result;
	size_t result_count;
	fi_addr_t addr;
	const struct fi_rma_ioc *rma;
	size_t rma_count;
	enum fi_datatype datatype;
	enum fi_op op;
	void *context;
	uint64_t flags;
	uint64_t mark; /* OFI_RDM_DEFERRED, or 0 */
};

size_t ofi_rdm_atomic_count(size_t payload, enum fi_datatype datatype, enum fi_op op)
{
	size_t size = ofi_datatype_size(datatype);

	if (!size || !ofi_rdm_atomic_is_defined(datatype, op))
		return 0;
	return payload / size / (ofi_rdm_atomic_is_swap(op) ? 2 : 1);
}

/* Returns the number of elements, or SIZE_MAX, which exceeds every limit, if the sum overflows. */
static size_t elements(const struct fi_ioc *ioc, size_t count)
{
	size_t i, n = 0;

	for (i = 0; i < count; i++)
		if (__builtin_add_overflow(n, ioc[i].count, &n))
			return SIZE_MAX;
	return n;
}

static bool is_bad(const struct fi_ioc *ioc, size_t count)
{
	size_t i;

	if (!ioc || count > OFI_RDM_PROTO_IOV)
		return true;
	for (i = 0; i < count; i++)
		if (!ioc[i].addr && ioc[i].count)
			return true;
	return false;
}

static int atomic_check(const struct ofi_rdm_ep *ep, const struct atomic *a, size_t *n)
{
	size_t i, max = ofi_rdm_atomic_count(ep->proto.eager, a->datatype, a->op);

	*n = 0;
	if (a->flags & ~ATOMIC_FLAGS)
		return -FI_EBADFLAGS;
	if (!max)
		return -FI_EOPNOTSUPP;
	if (!a->rma || !a->rma_count || a->rma_count > OFI_RDM_PROTO_IOV)
		return -FI_EINVAL;
	for (i = 0; i < a->rma_count; i++)
		if (__builtin_add_overflow(*n, a->rma[i].count, n))
			return -FI_EINVAL;
	if (!*n || *n > max)
		return *n ? -FI_E2BIG : -FI_EINVAL;
	if (a->kind != OFI_RDM_WIRE_ATOMIC_READ &&
	    (is_bad(a->buf, a->count) || elements(a->buf, a->count) != *n))
		return -FI_EINVAL;
	if (a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE &&
	    (is_bad(a->compare, a->compare_count) || elements(a->compare, a->compare_count) != *n))
		return -FI_EINVAL;
	if (a->kind != OFI_RDM_WIRE_ATOMIC_WRITE &&
	    (is_bad(a->result, a->result_count) || elements(a->result, a->result_count) != *n))
		return -FI_EINVAL;
	return ep->enabled ? 0 : -FI_EOPBADSTATE;
}

static size_t to_iov(struct iovec *iov, const struct fi_ioc *ioc, size_t count, size_t size)
{
	size_t i;

	for (i = 0; i < count; i++)
		iov[i] = (struct iovec){ ioc[i].addr, ioc[i].count * size };
	return count;
}

/*
 * Keeps a copy of the iov, from which the operands are copied once the fence has passed. The copy
 * is stored behind the operands.
 */
static bool keep_late(struct ofi_rdm_op *op, const struct atomic *a)
{
	size_t align = _Alignof(struct iovec), count = a->count + a->compare_count;
	size_t room = (op->operands_len + align - 1) / align * align;
	struct iovec *iov;

	op->operands = malloc(room + count * sizeof(*iov));
	if (!op->operands)
		return false;
	iov = (struct iovec *)((uint8_t *)op->operands + room);
	to_iov(iov, a->buf, a->count, op->atomic.size);
	to_iov(iov + a->count, a->compare, a->compare_count, op->atomic.size);
	op->late = iov;
	op->late_count = (uint8_t)count;
	return true;
}

/* Copies the operands and then the values to compare with. */
static bool copy_operands(struct ofi_rdm_op *op, const struct atomic *a, size_t len)
{
	struct iovec iov[OFI_RDM_PROTO_IOV];
	size_t size = op->atomic.size;

	if (a->kind == OFI_RDM_WIRE_ATOMIC_READ)
		return true;
	op->operands_len = a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE ? 2 * len : len;
	if (ofi_unlikely((op->fenced.fence || op->peer->marker) && !(a->flags & FI_INJECT)))
		return keep_late(op, a);
	op->operands = malloc(op->operands_len);
	if (!op->operands)
		return false;
	ofi_rdm_gather(op->operands, iov, to_iov(iov, a->buf, a->count, size));
	if (a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE)
		ofi_rdm_gather((uint8_t *)op->operands + len, iov,
			       to_iov(iov, a->compare, a->compare_count, size));
	return true;
}

/* Starts an atomic operation. The caller holds the lock. */
static ssize_t atomic_start(struct ofi_rdm_ep *ep, struct ofi_rdm_peer *peer,
			    const struct atomic *a, size_t n)
{
	struct ofi_rdm_op *op = ofi_rdm_op_get(ep);
	size_t i, size = ofi_datatype_size(a->datatype);

	if (!op)
		return -FI_EAGAIN;
	op->peer = peer;
	op->kind = OFI_RDM_OP_ATOMIC;
	op->fenced.fence = a->flags & FI_FENCE;
	ofi_rdm_order_begin(peer, &op->fenced, OFI_RDM_ORDER_ATOMIC);
	op->context = a->context;
	op->flags = FI_ATOMIC | (a->kind == OFI_RDM_WIRE_ATOMIC_WRITE ? FI_WRITE : FI_READ) |
		    (a->flags & FI_COMPLETION ? 0 : OFI_RDM_SILENT) | a->mark;
	op->atomic = (struct ofi_rdm_wire_atomic){
		.kind = (uint8_t)a->kind,
		.op = (uint8_t)a->op,
		.datatype = (uint8_t)a->datatype,
		.size = (uint8_t)size,
		.count = (uint32_t)n,
	};
	for (i = 0; i < a->rma_count; i++)
		if (a->rma[i].count)
			op->remote[op->remote_count++] = (struct ofi_rdm_remote){
				.addr = a->rma[i].addr, .len = a->rma[i].count, .key = a->rma[i].key
			};
	if (a->result)
		op->result_count = (uint8_t)to_iov(op->result, a->result, a->result_count, size);
	if (!copy_operands(op, a, n * size)) {
		ofi_rdm_op_put(op);
		return -FI_EAGAIN;
	}
	return ofi_rdm_op_start(op);
}

int ofi_rdm_atomic_ask(struct ofi_rdm_op *op, const struct iovec *operands, size_t len)
{
	struct ofi_rdm_peer *peer = op->peer;
	uint8_t header[OFI_RDM_WIRE_HEADER_MAX],
		list[OFI_RDM_PROTO_IOV * sizeof(struct ofi_rdm_wire_target)];
	struct ofi_rdm_wire_packet packet = {
		.type = OFI_RDM_WIRE_ATOMIC_REQ,
		.id = op->id,
		.count = op->remote_count,
		.atomic = op->atomic,
		.list = list,
	};
	uint8_t i;

	if (len > peer->proto.eager)
		return -FI_E2BIG;
	if (!ofi_rdm_flow_has_data_credit(&peer->proto.flow))
		return -FI_EAGAIN;
	for (i = 0; i < op->remote_count; i++)
		ofi_rdm_wire_put_target(list, i,
					&(struct ofi_rdm_wire_target){ op->remote[i].addr,
								       op->remote[i].key,
								       op->remote[i].len });
	if (ofi_rdm_xport(&peer->proto)
		    ->send(&peer->proto, header, ofi_rdm_wire_build(header, &packet), operands, 0,
			   len, NULL))
		return -FI_EAGAIN;
	ofi_rdm_flow_take(&peer->proto.flow);
	op->waiting = true;
	TAILQ_INSERT_TAIL(&peer->answers, op, wait);
	return 0;
}

int ofi_rdm_atomic_post(struct ofi_rdm_op *op)
{
	const struct iovec iov = { op->operands, op->operands_len };

	return ofi_rdm_atomic_ask(op, &iov, op->operands_len);
}

enum ofi_rdm_wire_error ofi_rdm_atomic_answer(struct ofi_rdm_peer *peer,
					      const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_op *op = ofi_rdm_op_at(peer->ep, packet->id);
	struct iovec iov[OFI_RDM_PROTO_IOV];
	size_t len;

	if (!op || op->peer != peer)
		return OFI_RDM_WIRE_OK;
	len = op->atomic.kind == OFI_RDM_WIRE_ATOMIC_WRITE ? 0 : op->atomic.count * op->atomic.size;
	if (!packet->status && packet->payload_len != len)
		return OFI_RDM_WIRE_E_SHORT;
	if (!packet->status && op->kind == OFI_RDM_OP_READ)
		ofi_rdm_scatter(iov, ofi_rdm_local_iov(op, iov), packet->payload, len);
	else if (!packet->status)
		ofi_rdm_scatter(op->result, op->result_count, packet->payload, len);
	ofi_rdm_op_answered(op, (int)packet->status);
	return OFI_RDM_WIRE_OK;
}

/* The API calls. */

#define DEFAULTS (ATOMIC_FLAGS & ~FI_INJECT) /* default flags of the endpoint that apply */

static OFI_OUTLINE ssize_t atomic_trigger(struct ofi_rdm_ep *ep, const struct atomic *a)
{
	const struct ofi_rdm_atomic_args args = {
		.msg = { .msg_iov = a->buf,
			 .iov_count = a->count,
			 .addr = a->addr,
			 .rma_iov = a->rma,
			 .rma_iov_count = a->rma_count,
			 .datatype = a->datatype,
			 .op = a->op,
			 .context = a->context },
		.compare = a->compare,
		.compare_count = a->compare_count,
		.result = a->result,
		.result_count = a->result_count,
	};
	enum fi_op_type type = a->kind == OFI_RDM_WIRE_ATOMIC_WRITE	? FI_OP_ATOMIC
			       : a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE ? FI_OP_COMPARE_ATOMIC
									: FI_OP_FETCH_ATOMIC;

	return ofi_rdm_trigger_atomic(ep, type, &args, a->flags);
}

static ssize_t atomic(struct fid_ep *fid, const struct atomic *a)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	struct ofi_rdm_peer *peer;
	ssize_t ret;
	size_t n;
	int err;

	ret = atomic_check(ep, a, &n);
	if (ofi_unlikely(ret))
		return ret == -FI_EBADFLAGS ? atomic_trigger(ep, a) : ret;
	ofi_rdm_lock(ep);
	peer = ofi_rdm_peer_of(ep, a->addr, &err);
	ret = peer ? atomic_start(ep, peer, a, n) : err;
	ofi_rdm_count_result(ep, ret);
	if (!ret)
		ofi_rdm_count(ep, OFI_STATS_ATOMICS, OFI_STATS_ATOMIC_BYTES,
			      n * ofi_datatype_size(a->datatype));
	ofi_rdm_unlock(ep);
	return ret;
}

static enum ofi_rdm_wire_atomic_kind fetch_kind(enum fi_op op)
{
	return op == FI_ATOMIC_READ ? OFI_RDM_WIRE_ATOMIC_READ : OFI_RDM_WIRE_ATOMIC_FETCH;
}

/*
 * Calls without a message structure. The caller has filled in what is specific to the kind. The
 * remote region has the size of the result, or of the operands if nothing is fetched.
 */
static ssize_t to_region(struct fid_ep *fid, struct atomic *a, uint64_t remote, uint64_t key)
{
	const struct fi_ioc *ioc = a->result ? a->result : a->buf;
	size_t count = a->result ? a->result_count : a->count;
	const struct fi_rma_ioc rma = { remote, is_bad(ioc, count) ? 0 : elements(ioc, count),
					key };

	a->rma = &rma;
	a->rma_count = 1;
	return atomic(fid, a);
}

ssize_t ofi_rdm_atomic_work(struct ofi_rdm_ep *ep, enum fi_op_type type,
			    const struct ofi_rdm_atomic_args *args, uint64_t flags, uint64_t mark,
			    bool only_check)
{
	const struct fi_msg_atomic *msg = &args->msg;
	const struct atomic a = {
		.kind = type == FI_OP_ATOMIC	       ? OFI_RDM_WIRE_ATOMIC_WRITE
			: type == FI_OP_COMPARE_ATOMIC ? OFI_RDM_WIRE_ATOMIC_COMPARE
						       : fetch_kind(msg->op),
		.buf = msg->msg_iov,
		.count = msg->iov_count,
		.compare = args->compare,
		.compare_count = args->compare_count,
		.result = args->result,
		.result_count = args->result_count,
		.addr = msg->addr,
		.rma = msg->rma_iov,
		.rma_count = msg->rma_iov_count,
		.datatype = msg->datatype,
		.op = msg->op,
		.context = msg->context,
		.flags = flags,
		.mark = mark,
	};
	size_t n;

	return only_check ? atomic_check(ep, &a, &n) : atomic(&ep->fid, &a);
}

/* Calls with a message structure. */
static ssize_t of_msg(struct fid_ep *fid, struct atomic *a, const struct fi_msg_atomic *msg,
		      uint64_t flags)
{
	if (!msg)
		return -FI_EINVAL;
	a->buf = msg->msg_iov;
	a->count = msg->iov_count;
	a->addr = msg->addr;
	a->rma = msg->rma_iov;
	a->rma_count = msg->rma_iov_count;
	a->datatype = msg->datatype;
	a->op = msg->op;
	a->context = msg->context;
	a->flags = ofi_rdm_msg_flags(ofi_rdm(fid), flags);
	return atomic(fid, a);
}

static ssize_t rdm_atomicv(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc, size_t count,
			   fi_addr_t addr, uint64_t remote, uint64_t key, enum fi_datatype datatype,
			   enum fi_op op, void *context)
{
	struct atomic a = { OFI_RDM_WIRE_ATOMIC_WRITE,
			    ioc,
			    count,
			    .addr = addr,
			    .datatype = datatype,
			    .op = op,
			    .context = context,
			    .flags = ofi_rdm_tx_flags(ofi_rdm(fid), DEFAULTS) };

	(void)desc;
	return to_region(fid, &a, remote, key);
}

static ssize_t rdm_atomic(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			  fi_addr_t addr, uint64_t remote, uint64_t key, enum fi_datatype datatype,
			  enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };

	return rdm_atomicv(fid, &ioc, &desc, 1, addr, remote, key, datatype, op, context);
}

static ssize_t rdm_atomicmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg, uint64_t flags)
{
	struct atomic a = { OFI_RDM_WIRE_ATOMIC_WRITE };

	return of_msg(fid, &a, msg, flags);
}

static ssize_t rdm_inject_atomic(struct fid_ep *fid, const void *buf, size_t count, fi_addr_t addr,
				 uint64_t remote, uint64_t key, enum fi_datatype datatype,
				 enum fi_op op)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	struct atomic a = {
		OFI_RDM_WIRE_ATOMIC_WRITE, &ioc, 1, .addr = addr, .datatype = datatype, .op = op,
		.flags = FI_INJECT
	};

	return to_region(fid, &a, remote, key);
}

static ssize_t rdm_fetchv(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc, size_t count,
			  struct fi_ioc *result, void **result_desc, size_t result_count,
			  fi_addr_t addr, uint64_t remote, uint64_t key, enum fi_datatype datatype,
			  enum fi_op op, void *context)
{
	struct atomic a = { fetch_kind(op),
			    ioc,
			    count,
			    .result = result,
			    .result_count = result_count,
			    .addr = addr,
			    .datatype = datatype,
			    .op = op,
			    .context = context,
			    .flags = ofi_rdm_tx_flags(ofi_rdm(fid), DEFAULTS) };

	(void)desc;
	(void)result_desc;
	return result ? to_region(fid, &a, remote, key) : -FI_EINVAL;
}

static ssize_t rdm_fetch(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			 void *result, void *result_desc, fi_addr_t addr, uint64_t remote,
			 uint64_t key, enum fi_datatype datatype, enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	struct fi_ioc into = { result, count };

	return rdm_fetchv(fid, &ioc, &desc, 1, &into, &result_desc, 1, addr, remote, key, datatype,
			  op, context);
}

static ssize_t rdm_fetchmsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			    struct fi_ioc *result, void **result_desc, size_t result_count,
			    uint64_t flags)
{
	struct atomic a = { msg ? fetch_kind(msg->op) : OFI_RDM_WIRE_ATOMIC_FETCH, .result = result,
			    .result_count = result_count };

	(void)result_desc;
	return of_msg(fid, &a, msg, flags);
}

static ssize_t rdm_comparev(struct fid_ep *fid, const struct fi_ioc *ioc, void **desc, size_t count,
			    const struct fi_ioc *compare, void **compare_desc, size_t compare_count,
			    struct fi_ioc *result, void **result_desc, size_t result_count,
			    fi_addr_t addr, uint64_t remote, uint64_t key,
			    enum fi_datatype datatype, enum fi_op op, void *context)
{
	struct atomic a = { OFI_RDM_WIRE_ATOMIC_COMPARE,
			    ioc,
			    count,
			    compare,
			    compare_count,
			    result,
			    result_count,
			    .addr = addr,
			    .datatype = datatype,
			    .op = op,
			    .context = context,
			    .flags = ofi_rdm_tx_flags(ofi_rdm(fid), DEFAULTS) };

	(void)desc;
	(void)compare_desc;
	(void)result_desc;
	return result ? to_region(fid, &a, remote, key) : -FI_EINVAL;
}

static ssize_t rdm_compare(struct fid_ep *fid, const void *buf, size_t count, void *desc,
			   const void *compare, void *compare_desc, void *result, void *result_desc,
			   fi_addr_t addr, uint64_t remote, uint64_t key, enum fi_datatype datatype,
			   enum fi_op op, void *context)
{
	const struct fi_ioc ioc = { (void *)(uintptr_t)buf, count };
	const struct fi_ioc with = { (void *)(uintptr_t)compare, count };
	struct fi_ioc into = { result, count };

	return rdm_comparev(fid, &ioc, &desc, 1, &with, &compare_desc, 1, &into, &result_desc, 1,
			    addr, remote, key, datatype, op, context);
}

static ssize_t rdm_comparemsg(struct fid_ep *fid, const struct fi_msg_atomic *msg,
			      const struct fi_ioc *compare, void **compare_desc,
			      size_t compare_count, struct fi_ioc *result, void **result_desc,
			      size_t result_count, uint64_t flags)
{
	struct atomic a = { OFI_RDM_WIRE_ATOMIC_COMPARE, .compare = compare,
			    .compare_count = compare_count, .result = result,
			    .result_count = result_count };

	(void)compare_desc;
	(void)result_desc;
	return of_msg(fid, &a, msg, flags);
}

static int valid(const struct ofi_rdm_ep *ep, enum fi_datatype datatype, enum fi_op op, bool swap,
		 size_t *count)
{
	size_t n = ofi_rdm_atomic_count(ep->proto.eager, datatype, op);

	if (!count)
		return -FI_EINVAL;
	if (!n || ofi_rdm_atomic_is_swap(op) != swap)
		return -FI_EOPNOTSUPP;
	*count = n;
	return 0;
}

static int rdm_writevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			  size_t *count)
{
	return op == FI_ATOMIC_READ ? -FI_EOPNOTSUPP
				    : valid(ofi_rdm(fid), datatype, op, false, count);
}

static int rdm_fetchvalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			  size_t *count)
{
	return valid(ofi_rdm(fid), datatype, op, false, count);
}

static int rdm_comparevalid(struct fid_ep *fid, enum fi_datatype datatype, enum fi_op op,
			    size_t *count)
{
	return valid(ofi_rdm(fid), datatype, op, true, count);
}

const struct fi_ops_atomic ofi_rdm_atomic_ops = {
	.size = sizeof(struct fi_ops_atomic),
	OFI_ATOMIC_DEFAULTS,
	.write = rdm_atomic,
	.writev = rdm_atomicv,
	.writemsg = rdm_atomicmsg,
	.inject = rdm_inject_atomic,
	.readwrite = rdm_fetch,
	.readwritev = rdm_fetchv,
	.readwritemsg = rdm_fetchmsg,
	.compwrite = rdm_compare,
	.compwritev = rdm_comparev,
	.compwritemsg = rdm_comparemsg,
	.writevalid = rdm_writevalid,
	.readwritevalid = rdm_fetchvalid,
	.compwritevalid = rdm_comparevalid,
};

int ofi_rdm_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
			 struct fi_atomic_attr *attr, uint64_t flags)
{
	size_t payload = ofi_rdm_payload(ofi_domain(fid)),
	       n = ofi_rdm_atomic_count(payload, datatype, op);
	bool compare = flags & FI_COMPARE_ATOMIC, fetch = flags & FI_FETCH_ATOMIC;
	const struct fi_provider *prov = ofi_domain(fid)->prov;

	if (!attr || (compare && fetch))
		return ofi_refuse(
			prov, FI_LOG_DOMAIN, -FI_EINVAL,
			"fi_query_atomic: attr is NULL, or both FI_FETCH_ATOMIC and FI_COMPARE_ATOMIC\n");
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return ofi_refuse_flags(prov, FI_LOG_DOMAIN, "fi_query_atomic", flags);
	if (!n || (flags & FI_TAGGED) || ofi_rdm_atomic_is_swap(op) != compare ||
	    (op == FI_ATOMIC_READ && !fetch))
		return ofi_decline(
			prov, FI_LOG_DOMAIN, -FI_EOPNOTSUPP,
			"fi_query_atomic: there is no operation %d on datatype %d of this kind\n",
			(int)op, (int)datatype);
	attr->count = n;
	attr->size = ofi_datatype_size(datatype);
	return 0;
}
