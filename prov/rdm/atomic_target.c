/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Performs atomic operations that a peer requests, under the domain's lock, and sends the
 * responses.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include "atomic.h"
#include "rma_event.h"
#include "op.h"
#include "reply.h"
#include "prov/base/hmem_copy.h"

static bool is_valid(const struct ofi_rdm_wire_packet *packet)
{
	const struct ofi_rdm_wire_atomic *a = &packet->atomic;
	bool swap = ofi_rdm_atomic_is_swap((enum fi_op)a->op);

	return a->size == ofi_datatype_size((enum fi_datatype)a->datatype) &&
	       ofi_rdm_atomic_is_defined((enum fi_datatype)a->datatype, (enum fi_op)a->op) &&
	       swap == (a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE);
}

/* Returns the local address of a target, or NULL if the peer may not access it. */
static void *place_of(struct ofi_domain *domain, const struct ofi_rdm_wire_target *target,
		      size_t size, uint64_t access)
{
	struct ofi_mr_place place;
	uint64_t at, len;

	if (!domain->ops->mr_find(domain, target->key, &place) ||
	    (place.access & access) != access || __builtin_mul_overflow(target->count, size, &len))
		return NULL;
	at = place.base + target->addr;
	if (at < place.start || at - place.start > place.len ||
	    len > place.len - (at - place.start))
		return NULL;
	/* A dma-buf need not be mapped where its addresses say. */
	return place.opaque && !ofi_hmem_at((void *)(uintptr_t)at) ? NULL : (void *)(uintptr_t)at;
}

static void apply_here(const struct ofi_rdm_wire_atomic *a, void *at, size_t count,
		       const uint8_t *operand, const uint8_t *compare, uint8_t *old)
{
	enum fi_datatype datatype = (enum fi_datatype)a->datatype;
	enum fi_op op = (enum fi_op)a->op;

	if (a->kind != OFI_RDM_WIRE_ATOMIC_WRITE)
		memcpy(old, at, count * a->size);
	if (a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE)
		ofi_swap_find(datatype, op)(at, operand, compare, count);
	else if (a->kind == OFI_RDM_WIRE_ATOMIC_WRITE && op == FI_ATOMIC_WRITE && a->size == 1)
		memcpy(at, operand, count);
	else if (a->kind != OFI_RDM_WIRE_ATOMIC_READ)
		ofi_reduce_find(datatype, op)(at, operand, count);
}

/* Changes a copy of the values, which then replaces them. Returns FI_E* or 0. */
static int apply_on_device(const struct ofi_rdm_wire_atomic *a, void *at, size_t count,
			   const uint8_t *operand, const uint8_t *compare, uint8_t *old)
{
	size_t len = count * a->size;
	void *copy = malloc(len);
	int err;

	if (!copy)
		return FI_ENOMEM;
	err = -ofi_hmem_copy(copy, at, len);
	if (!err)
		apply_here(a, copy, count, operand, compare, old);
	if (!err && a->kind != OFI_RDM_WIRE_ATOMIC_READ)
		err = -ofi_hmem_copy(at, copy, len);
	free(copy);
	return err;
}

static int apply(const struct ofi_rdm_wire_atomic *a, void *at, size_t count,
		 const uint8_t *operand, const uint8_t *compare, uint8_t *old)
{
	if (ofi_unlikely(ofi_hmem_at(at)))
		return apply_on_device(a, at, count, operand, compare, old);
	apply_here(a, at, count, operand, compare, old);
	return 0;
}

/* Validates all targets before changing the first. */
static int perform_locked(struct ofi_domain *domain, const struct ofi_rdm_wire_packet *packet,
			  uint8_t *old)
{
	const struct ofi_rdm_wire_atomic *a = &packet->atomic;
	const uint8_t *operand = packet->payload, *compare = operand + (size_t)a->count * a->size;
	struct ofi_rdm_wire_target target[OFI_RDM_WIRE_REGIONS];
	void *at[OFI_RDM_WIRE_REGIONS];
	int err = 0;
	uint8_t i;

	for (i = 0; i < packet->count; i++) {
		ofi_rdm_wire_get_target(packet->list, i, &target[i]);
		at[i] = place_of(domain, &target[i], a->size, ofi_rdm_atomic_access(a->kind));
		if (!at[i])
			return FI_EKEYREJECTED;
	}
	for (i = 0; i < packet->count && !err; i++) {
		size_t len = target[i].count * a->size;

		err = apply(a, at[i], target[i].count, operand, compare, old);
		operand += len;
		compare += len;
		old += len;
	}
	return err;
}

/* The regions stay registered meanwhile, because fi_close() of a region waits for the lock. */
static int perform(struct ofi_domain *domain, const struct ofi_rdm_wire_packet *packet,
		   uint8_t *old)
{
	int err;

	ofi_lock(&domain->atomics);
	err = perform_locked(domain, packet, old);
	ofi_unlock(&domain->atomics);
	return err;
}

enum ofi_rdm_wire_error ofi_rdm_atomic_request(struct ofi_rdm_peer *peer,
					       const struct ofi_rdm_wire_packet *packet)
{
	const struct ofi_rdm_wire_atomic *a = &packet->atomic;
	struct ofi_rdm_wire_packet rsp = { .type = OFI_RDM_WIRE_ATOMIC_RSP, .id = packet->id };
	size_t len = a->kind == OFI_RDM_WIRE_ATOMIC_WRITE ? 0 : (size_t)a->count * a->size;
	uint8_t *old = peer->ep->atomic_old;

	if (!is_valid(packet) || len > peer->proto.eager)
		rsp.status = FI_EOPNOTSUPP;
	else
		rsp.status = (uint32_t)perform(peer->ep->domain, packet, old);
	if (rsp.status == FI_EKEYREJECTED && !ofi_rdm_keys_missed(peer))
		return OFI_RDM_WIRE_E_KEYS;
	if (!rsp.status)
		ofi_rdm_rma_event_atomic(peer->ep, packet);
	if (!ofi_rdm_answer(peer, &rsp, old, rsp.status ? 0 : len))
		ofi_rdm_xport(&peer->proto)->fault(&peer->proto, OFI_RDM_WIRE_E_MEMORY);
	return OFI_RDM_WIRE_OK;
}
