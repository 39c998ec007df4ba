/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Atomic operations. The target's software performs all of them, for every type and operation of
 * fi_atomic(3). They are never mixed with the device's own atomics, because the device is not
 * atomic with respect to other accesses to the same memory.
 */
#include <stdlib.h>
#include <string.h>
#include "prov/base/refuse.h"
#include <rdma/fi_errno.h>
#include "atomic.h"
#include "hmem.h"
#include "lock.h"
#include "objects.h"
#include "op.h"
#include "order.h"
#include "stats.h"
#include "work.h"

#define ATOMIC_FLAGS                                                           \
	(FI_INJECT | FI_COMPLETION | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)

size_t ofi_rdm_atomic_count(size_t payload, enum fi_datatype datatype, enum fi_op op)
{
	size_t size = ofi_datatype_size(datatype);

	if (!size || !ofi_rdm_atomic_is_defined(datatype, op))
		return 0;
	return payload / size / (ofi_rdm_atomic_is_swap(op) ? 2 : 1);
}

/* Returns true if the buffers are valid and have n elements. */
static bool have_elements(const struct fi_ioc *ioc, size_t count, size_t n)
{
	size_t i;

	if (!ioc || count > OFI_RDM_PROTO_IOV)
		return false;
	for (i = 0; i < count; i++)
		if (!ioc[i].addr && ioc[i].count)
			return false;
	return ofi_rdm_ioc_elements(ioc, count) == n;
}

static size_t to_iov(struct iovec *iov, const struct fi_ioc *ioc, size_t count, size_t size)
{
	size_t i;

	for (i = 0; i < count; i++)
		iov[i] = (struct iovec){ ioc[i].addr, ioc[i].count * size };
	return count;
}

/* Checks buffers of n elements. Returns 0 or -FI_E*. */
static int check_buffers(const struct ofi_rdm_ep *ep, const struct fi_ioc *ioc, void *const *desc,
			 size_t count, size_t n)
{
	struct iovec iov[OFI_RDM_PROTO_IOV];

	if (!have_elements(ioc, count, n))
		return -FI_EINVAL;
	if (!ofi_rdm_checks_copy(ep))
		return 0;
	return ofi_rdm_check_hmem(ep, "fi_atomic", iov, desc, to_iov(iov, ioc, count, 1));
}

/* Adds up the elements of the target. A peer ends the connection if a range of it wraps around. */
static int target_elements(const struct ofi_atomic_args *a, size_t max, size_t *n)
{
	size_t i, size = ofi_datatype_size(a->msg.datatype);
	uint64_t end;

	*n = 0;
	if (!a->msg.rma_iov || a->msg.rma_iov_count > OFI_RDM_PROTO_IOV)
		return -FI_EINVAL;
	for (i = 0; i < a->msg.rma_iov_count; i++) {
		const struct fi_rma_ioc *ioc = &a->msg.rma_iov[i];

		if (ioc->count > max - *n)
			return -FI_EMSGSIZE;
		if (__builtin_add_overflow(ioc->addr, ioc->count * size, &end))
			return -FI_EINVAL;
		*n += ioc->count;
	}
	return *n ? 0 : -FI_EINVAL;
}

static int atomic_check(const struct ofi_rdm_ep *ep, enum fi_op_type type,
			const struct ofi_atomic_args *a, uint64_t flags, size_t *n)
{
	size_t max = ofi_rdm_atomic_count(ep->proto.eager, a->msg.datatype, a->msg.op);
	int ret;

	if (flags & ~ATOMIC_FLAGS)
		return -FI_EBADFLAGS;
	if (!max || !ofi_rdm_atomic_is_of(type, a->msg.op))
		return -FI_EOPNOTSUPP;
	ret = target_elements(a, max, n);
	if (!ret && !ofi_atomic_only_reads(type, a))
		ret = check_buffers(ep, a->msg.msg_iov, a->msg.desc, a->msg.iov_count, *n);
	if (!ret && type == FI_OP_COMPARE_ATOMIC)
		ret = check_buffers(ep, a->compare, a->compare_desc, a->compare_count, *n);
	if (!ret && type != FI_OP_ATOMIC)
		ret = check_buffers(ep, a->result, a->result_desc, a->result_count, *n);
	if (ret)
		return ret;
	return ep->enabled & OFI_RDM_TX ? 0 : ofi_rdm_not_enabled(ep);
}

/*
 * Keeps a copy of the iov, from which the operands are copied once the fence has passed. The copy
 * is stored behind the operands.
 */
static bool keep_late(struct ofi_rdm_op *op, const struct ofi_atomic_args *a)
{
	size_t align = _Alignof(struct iovec), count = a->msg.iov_count + a->compare_count;
	size_t room = (op->operands_len + align - 1) / align * align;
	struct iovec *iov;

	op->operands = malloc(room + count * sizeof(*iov));
	if (!op->operands)
		return false;
	iov = (struct iovec *)((uint8_t *)op->operands + room);
	to_iov(iov, a->msg.msg_iov, a->msg.iov_count, op->atomic.size);
	to_iov(iov + a->msg.iov_count, a->compare, a->compare_count, op->atomic.size);
	op->late = iov;
	op->late_count = (uint8_t)count;
	return true;
}

/* Copies the operands and then the values to compare with. Returns 0 or -FI_E*. */
static int copy_operands(struct ofi_rdm_op *op, enum fi_op_type type,
			 const struct ofi_atomic_args *a, uint64_t flags, size_t len)
{
	struct iovec iov[OFI_RDM_PROTO_IOV];
	size_t size = op->atomic.size;
	bool device = op->peer->ep->hmem;
	int ret;

	if (ofi_atomic_only_reads(type, a))
		return 0;
	op->operands_len = type == FI_OP_COMPARE_ATOMIC ? 2 * len : len;
	if (ofi_unlikely((op->fenced.fence || op->peer->marker) && !(flags & FI_INJECT)))
		return keep_late(op, a) ? 0 : -FI_EAGAIN;
	op->operands = malloc(op->operands_len);
	if (!op->operands)
		return -FI_EAGAIN;
	ret = ofi_rdm_proto_load(op->operands, iov,
				 to_iov(iov, a->msg.msg_iov, a->msg.iov_count, size), device);
	if (ret || type != FI_OP_COMPARE_ATOMIC)
		return ret;
	return ofi_rdm_proto_load((uint8_t *)op->operands + len, iov,
				  to_iov(iov, a->compare, a->compare_count, size), device);
}

static enum ofi_rdm_wire_atomic_kind wire_kind(enum fi_op_type type,
					       const struct ofi_atomic_args *a)
{
	if (type == FI_OP_ATOMIC)
		return OFI_RDM_WIRE_ATOMIC_WRITE;
	if (type == FI_OP_COMPARE_ATOMIC)
		return OFI_RDM_WIRE_ATOMIC_COMPARE;
	return ofi_atomic_only_reads(type, a) ? OFI_RDM_WIRE_ATOMIC_READ
					      : OFI_RDM_WIRE_ATOMIC_FETCH;
}

/* Starts an atomic operation. The caller holds the lock. */
static ssize_t atomic_start(struct ofi_rdm_ep *ep, enum fi_op_type type,
			    const struct ofi_atomic_args *a, uint64_t flags, uint64_t mark,
			    size_t n)
{
	size_t i, size = ofi_datatype_size(a->msg.datatype);
	struct ofi_rdm_peer *peer;
	struct ofi_rdm_op *op;
	int err;

	peer = ofi_rdm_peer_of(ep, a->msg.addr, &err);
	if (!peer)
		return err;
	op = ofi_rdm_op_get(ep);
	if (!op)
		return -FI_EAGAIN;
	op->peer = peer;
	op->kind = OFI_RDM_OP_ATOMIC;
	op->fenced.fence = flags & FI_FENCE;
	ofi_rdm_order_begin(peer, &op->fenced, OFI_RDM_ORDER_ATOMIC);
	op->context = a->msg.context;
	op->flags = FI_ATOMIC | (type == FI_OP_ATOMIC ? FI_WRITE : FI_READ) |
		    (flags & FI_COMPLETION ? 0 : OFI_RDM_SILENT) | mark;
	op->atomic = (struct ofi_rdm_wire_atomic){
		.kind = (uint8_t)wire_kind(type, a),
		.op = (uint8_t)a->msg.op,
		.datatype = (uint8_t)a->msg.datatype,
		.size = (uint8_t)size,
		.count = (uint32_t)n,
	};
	for (i = 0; i < a->msg.rma_iov_count; i++)
		if (a->msg.rma_iov[i].count)
			op->remote[op->remote_count++] =
				(struct ofi_rdm_remote){ .addr = a->msg.rma_iov[i].addr,
							 .len = a->msg.rma_iov[i].count,
							 .key = a->msg.rma_iov[i].key };
	if (a->result)
		op->result_count = (uint8_t)to_iov(op->result, a->result, a->result_count, size);
	err = copy_operands(op, type, a, flags, n * size);
	if (err) {
		ofi_rdm_op_put(op);
		return err;
	}
	return ofi_rdm_op_start(op);
}

int ofi_rdm_op_ask(struct ofi_rdm_op *op, const struct ofi_rdm_wire_packet *packet,
		   const struct iovec *operands, size_t offset, size_t len)
{
	struct ofi_rdm_peer *peer = op->peer;
	uint8_t header[OFI_RDM_WIRE_HEADER_MAX];

	if (!ofi_rdm_flow_has_data_credit(&peer->proto.flow))
		return -FI_EAGAIN;
	if (ofi_rdm_xport(&peer->proto)
		    ->send(&peer->proto, header, ofi_rdm_wire_build(header, packet), operands,
			   offset, len, NULL))
		return -FI_EAGAIN;
	ofi_rdm_flow_take(&peer->proto.flow);
	if (!op->waiting)
		TAILQ_INSERT_TAIL(&peer->answers, op, wait);
	op->waiting = true;
	return 0;
}

int ofi_rdm_atomic_ask(struct ofi_rdm_op *op)
{
	const struct iovec operands = { op->operands, op->operands_len };
	uint8_t list[OFI_RDM_PROTO_IOV * sizeof(struct ofi_rdm_wire_target)];
	const struct ofi_rdm_wire_packet packet = {
		.type = OFI_RDM_WIRE_ATOMIC_REQ,
		.id = op->id,
		.count = op->remote_count,
		.atomic = op->atomic,
		.list = list,
	};
	uint8_t i;

	if (op->operands_len > op->peer->proto.eager)
		return -FI_EMSGSIZE;
	for (i = 0; i < op->remote_count; i++)
		ofi_rdm_wire_put_target(list, i,
					&(struct ofi_rdm_wire_target){ op->remote[i].addr,
								       op->remote[i].key,
								       op->remote[i].len });
	return ofi_rdm_op_ask(op, &packet, &operands, 0, op->operands_len);
}

enum ofi_rdm_wire_error ofi_rdm_atomic_answer(struct ofi_rdm_peer *peer,
					      const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_op *op = ofi_rdm_op_at(peer->ep, packet->id);
	size_t len;
	int err = 0;

	if (!op || op->peer != peer)
		return OFI_RDM_WIRE_OK;
	if (op->kind != OFI_RDM_OP_ATOMIC)
		return ofi_rdm_keys_answered(op, packet);
	len = op->atomic.kind == OFI_RDM_WIRE_ATOMIC_WRITE ? 0 : op->atomic.count * op->atomic.size;
	if (!packet->status && packet->payload_len != len)
		return OFI_RDM_WIRE_E_SHORT;
	if (!packet->status)
		err = ofi_rdm_proto_store(op->result, op->result_count, 0, packet->payload, len,
					  peer->ep->hmem);
	ofi_rdm_op_end(op, err ? -err : (int)packet->status);
	return OFI_RDM_WIRE_OK;
}

ssize_t ofi_rdm_atomic_work(struct ofi_rdm_ep *ep, enum fi_op_type type,
			    const struct ofi_atomic_args *args, uint64_t flags, uint64_t mark,
			    bool only_check)
{
	size_t n;
	ssize_t ret = atomic_check(ep, type, args, flags, &n);

	if (ofi_unlikely(ret == -FI_EBADFLAGS && !only_check))
		return ofi_rdm_trigger(ep, &(struct ofi_call){ type, flags, .atomic = *args });
	if (ofi_unlikely(ret || only_check))
		return ret;
	ofi_rdm_lock(ep);
	ret = atomic_start(ep, type, args, flags, mark, n);
	ofi_rdm_count_result(ep, ret);
	if (!ret)
		ofi_rdm_count(ep, OFI_STATS_ATOMICS, OFI_STATS_ATOMIC_BYTES,
			      n * ofi_datatype_size(args->msg.datatype));
	ofi_rdm_unlock(ep);
	return ret;
}

int ofi_rdm_query_atomic(struct fid_domain *fid, enum fi_datatype datatype, enum fi_op op,
			 struct fi_atomic_attr *attr, uint64_t flags)
{
	size_t payload = ofi_rdm_payload(ofi_domain(fid)),
	       n = ofi_rdm_atomic_count(payload, datatype, op);
	bool compare = flags & FI_COMPARE_ATOMIC, fetch = flags & FI_FETCH_ATOMIC;
	enum fi_op_type type =
		compare ? FI_OP_COMPARE_ATOMIC : (fetch ? FI_OP_FETCH_ATOMIC : FI_OP_ATOMIC);
	const struct fi_provider *prov = ofi_domain(fid)->prov;

	if (!attr || (compare && fetch))
		return ofi_refuse(
			prov, FI_LOG_DOMAIN, -FI_EINVAL,
			"fi_query_atomic: attr is NULL, or both FI_FETCH_ATOMIC and FI_COMPARE_ATOMIC\n");
	if (flags & ~(FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC | FI_TAGGED))
		return ofi_refuse_flags(prov, FI_LOG_DOMAIN, "fi_query_atomic", flags);
	if (!n || (flags & FI_TAGGED) || !ofi_rdm_atomic_is_of(type, op))
		return ofi_decline(
			prov, FI_LOG_DOMAIN, -FI_EOPNOTSUPP,
			"fi_query_atomic: operation %d is not supported on datatype %d in calls of this kind\n",
			(int)op, (int)datatype);
	attr->count = n;
	attr->size = ofi_datatype_size(datatype);
	return 0;
}
