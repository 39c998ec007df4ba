/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Performs atomic operations that a peer requests, under the lock of atomics, and sends the
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
#include "prov/base/mapped.h"
#include "src/ds/min.h"

static bool is_valid(const struct ofi_rdm_wire_packet *packet)
{
	const struct ofi_rdm_wire_atomic *a = &packet->atomic;
	bool swap = ofi_rdm_atomic_is_swap((enum fi_op)a->op);

	return a->size == ofi_datatype_size((enum fi_datatype)a->datatype) &&
	       ofi_rdm_atomic_is_defined((enum fi_datatype)a->datatype, (enum fi_op)a->op) &&
	       swap == (a->kind == OFI_RDM_WIRE_ATOMIC_COMPARE);
}

/* Elements of a target that lie in one buffer. */
struct piece {
	void *at;
	uint64_t count;
};

/*
 * Finds the buffer that has an address of the peer, and the bytes from there to its end. Returns
 * NULL if the peer may not access it.
 */
static void *place_of(struct ofi_domain *domain, uint64_t key, uint64_t address, uint64_t access,
		      uint64_t *room, bool *unbacked)
{
	struct ofi_mr_place place;
	uint32_t i = 0;
	uint64_t at;

	do {
		if (!domain->ops->mr_find(domain, key, i, &place) ||
		    (place.access & access) != access)
			return NULL;
		at = place.base + address;
		if (at >= place.start && at - place.start < place.len) {
			*room = place.len - (at - place.start);
			*unbacked = place.unbacked;
			/* A dma-buf need not be mapped where its addresses say. */
			return place.opaque && !ofi_hmem_at(true, (void *)(uintptr_t)at)
				       ? NULL
				       : (void *)(uintptr_t)at;
		}
	} while (++i < place.count);
	return NULL;
}

/* Returns true if memory that need not be mapped is mapped for the access. */
static bool is_there(struct ofi_domain *domain, const struct piece *piece, size_t size,
		     uint64_t access)
{
	return ofi_hmem_at(domain->info->caps & FI_HMEM, piece->at) ||
	       ofi_is_mapped(piece->at, piece->count * size, access & FI_REMOTE_WRITE);
}

/* Appends the pieces of a target. Returns FI_E* or 0. */
static int add_pieces(struct ofi_domain *domain, const struct ofi_rdm_wire_target *target,
		      size_t size, uint64_t access, struct piece *pieces, size_t *count)
{
	uint64_t address = target->addr, left, room = 0;
	size_t most = *count + OFI_MR_BUFFERS;
	bool unbacked = false;
	struct piece *piece;

	for (left = target->count; left; left -= piece->count) {
		if (*count == most)
			return FI_EKEYREJECTED;
		piece = &pieces[(*count)++];
		piece->at = place_of(domain, target->key, address, access, &room, &unbacked);
		piece->count = ofi_min(room / size, left);
		if (!piece->at || !piece->count)
			return FI_EKEYREJECTED;
		if (unbacked && !is_there(domain, piece, size, access))
			return FI_EFAULT;
		address += piece->count * size;
	}
	return 0;
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
	err = -ofi_hmem_load(true, copy, at, len);
	if (!err)
		apply_here(a, copy, count, operand, compare, old);
	if (!err && a->kind != OFI_RDM_WIRE_ATOMIC_READ)
		err = -ofi_hmem_store(true, at, copy, len);
	free(copy);
	return err;
}

static int apply_atomic(bool device, const struct ofi_rdm_wire_atomic *a, void *at, size_t count,
			const uint8_t *operand, const uint8_t *compare, uint8_t *old)
{
	if (ofi_unlikely(ofi_hmem_at(device, at) != NULL))
		return apply_on_device(a, at, count, operand, compare, old);
	apply_here(a, at, count, operand, compare, old);
	return 0;
}

static int apply_pieces(struct ofi_domain *domain, const struct ofi_rdm_wire_packet *packet,
			const struct piece *pieces, size_t count, uint8_t *old)
{
	const struct ofi_rdm_wire_atomic *a = &packet->atomic;
	const uint8_t *operand = packet->payload, *compare = operand + (size_t)a->count * a->size;
	size_t i, len;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		len = pieces[i].count * a->size;
		err = apply_atomic(domain->info->caps & FI_HMEM, a, pieces[i].at, pieces[i].count,
				   operand, compare, old);
		operand += len;
		compare += len;
		old += len;
	}
	return err;
}

/* Validates all targets before changing the first. Sets *key to the one that is refused. */
static int perform_locked(struct ofi_domain *domain, const struct ofi_rdm_wire_packet *packet,
			  uint8_t *old, uint64_t *key)
{
	const struct ofi_rdm_wire_atomic *a = &packet->atomic;
	/* The right to change memory is that to fetch what is changed, too. */
	uint64_t right = a->kind == OFI_RDM_WIRE_ATOMIC_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
	struct piece pieces[OFI_RDM_WIRE_REGIONS * OFI_MR_BUFFERS];
	struct ofi_rdm_wire_target target;
	size_t count = 0;
	uint8_t i;
	int err = 0;

	for (i = 0; i < packet->count && !err; i++) {
		ofi_rdm_wire_get_target(packet->list, i, &target);
		err = add_pieces(domain, &target, a->size, right, pieces, &count);
		*key = target.key;
	}
	return err ? err : apply_pieces(domain, packet, pieces, count, old);
}

/* The regions stay registered meanwhile, because fi_close() of a region waits for the lock. */
static int perform_atomic(struct ofi_domain *domain, const struct ofi_rdm_wire_packet *packet,
			  uint8_t *old, uint64_t *key)
{
	int err;

	ofi_atomics_lock();
	err = perform_locked(domain, packet, old, key);
	ofi_atomics_unlock();
	return err;
}

enum ofi_rdm_wire_error ofi_rdm_atomic_request(struct ofi_rdm_peer *peer,
					       const struct ofi_rdm_wire_packet *packet)
{
	const struct ofi_rdm_wire_atomic *a = &packet->atomic;
	struct ofi_rdm_wire_packet rsp = { .type = OFI_RDM_WIRE_ATOMIC_RSP, .id = packet->id };
	size_t len = a->kind == OFI_RDM_WIRE_ATOMIC_WRITE ? 0 : (size_t)a->count * a->size;
	uint8_t *old = peer->ep->atomic_old;
	uint64_t key = 0;

	/*
	 * An endpoint with no_calls has no FI_ATOMIC, and must not ask whose memory the target is.
	 */
	if (!is_valid(packet) || len > peer->proto.eager || peer->ep->hmem_options.no_calls)
		rsp.status = FI_EOPNOTSUPP;
	else
		rsp.status = (uint32_t)perform_atomic(peer->ep->domain, packet, old, &key);
	if (rsp.status == FI_EKEYREJECTED && !ofi_rdm_keys_missed(peer, key))
		return OFI_RDM_WIRE_E_KEYS;
	if (!rsp.status && !(packet->flags & OFI_RDM_WIRE_PART))
		ofi_rdm_rma_event_atomic(peer->ep, packet);
	if (!ofi_rdm_answer(peer, &rsp, old, rsp.status ? 0 : len))
		ofi_rdm_xport(&peer->proto)->fault(&peer->proto, OFI_RDM_WIRE_E_MEMORY);
	return OFI_RDM_WIRE_OK;
}
