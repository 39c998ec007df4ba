/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Keys of remote memory. If the device chooses keys (FI_MR_PROV_KEY), a key is an rkey. If the
 * application chooses them, only the peer knows which memory a key stands for. The peer is asked,
 * and then the device performs the transfer; a transfer that fits in a packet is performed by the
 * peer at once, like an atomic. If the region has no device key, the peer performs every
 * transfer, packet by packet.
 *
 * The answer is not cached for later operations: the peer may close the region and reuse the key,
 * and the two applications may agree on that without the library noticing. A work request for a
 * region that is gone would end the connection.
 */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include "prov/base/refuse.h"
#include "src/ds/clock.h"
#include "src/ds/min.h"
#include "hmem.h"
#include "op.h"
#include "reply.h"
#include "rma_event.h"

/*
 * The topmost bits of the id of a KEY_REQ tell how the key will be used; the answer repeats them.
 * If none is set, the peer does not tell.
 */
#define ID_READS  (1u << 31)
#define ID_WRITES (1u << 30)

#define MISSES	  64   /* wrong keys after which the connection ends */
#define MISSES_MS 1000 /* after which one of them is forgotten */
#define PARTS	  16 /* requests for parts at a time: the target may have to keep their responses */

/* The status of a KEY_RSP if the device has no key. */
#define BY_TARGET FI_EOPNOTSUPP

struct ofi_rdm_known {
	uint64_t key, base;
	uint32_t rkey;
	uint32_t what;			      /* the access that was requested */
	bool by_target;			      /* the device has no key */
	uint8_t count;			      /* of the region's buffers, if there are several */
	struct ofi_rdm_wire_region buffers[]; /* the key of each is its rkey */
};

static int keys_ask(struct ofi_rdm_peer *peer, uint64_t key, uint32_t what)
{
	struct ofi_rdm_wire_packet packet = { .type = OFI_RDM_WIRE_KEY_REQ, .key = key };

	if (peer->asked)
		return -FI_EAGAIN;
	peer->key_id = ((peer->key_id + 1) & (ID_WRITES - 1)) | what;
	packet.id = peer->key_id;
	peer->key = key;
	peer->asked = ofi_rdm_answer(peer, &packet, NULL, 0);
	return peer->asked ? -FI_EAGAIN : -FI_ENOMEM;
}

/* Makes room for all buffers of all remote entries. Those before `index` have one each. */
static bool split_begin(struct ofi_rdm_op *op, uint8_t index)
{
	if (op->split)
		return true;
	op->split = calloc(OFI_RDM_PROTO_IOV * OFI_RDM_WIRE_REGIONS, sizeof(*op->split));
	if (!op->split)
		return false;
	memcpy(op->split, op->remote, index * sizeof(*op->remote));
	op->split_count = index;
	return true;
}

/*
 * Finds the buffer that contains an address, and the address of its first byte, both as operations
 * give them.
 */
static const struct ofi_rdm_wire_region *buffer_at(const struct ofi_rdm_known *known,
						   uint64_t address, uint64_t *start)
{
	const struct ofi_rdm_wire_region *buffer;
	uint64_t offset = 0;

	for (buffer = known->buffers; buffer < &known->buffers[known->count]; buffer++) {
		*start = known->base ? offset : buffer->addr;
		if (address >= *start && address - *start < buffer->len)
			return buffer;
		offset += buffer->len;
	}
	return NULL;
}

/* Splits a remote entry into the parts that lie in one buffer each. */
static int key_split(struct ofi_rdm_op *op, const struct ofi_rdm_remote *remote,
		     const struct ofi_rdm_known *known)
{
	uint64_t address = remote->addr, left = remote->len, start, len;
	const struct ofi_rdm_wire_region *buffer;

	while (left) {
		buffer = buffer_at(known, address, &start);
		if (!buffer)
			return -FI_EKEYREJECTED;
		len = buffer->len - (address - start);
		if (len > left)
			len = left;
		op->split[op->split_count++] = (struct ofi_rdm_remote){
			.addr = buffer->addr + (address - start),
			.len = len,
			.rkey = (uint32_t)buffer->key,
		};
		address += len;
		left -= len;
	}
	return 0;
}

/*
 * Leaves the operation to the target. The processor then accesses the local memory, too, which an
 * endpoint with FI_HMEM may have on a device.
 */
static int use_target(struct ofi_rdm_op *op)
{
	struct ofi_rdm_ep *ep = op->peer->ep;

	op->by_target = true;
	if (!op->total || op->bounce || !ofi_rdm_checks_copy(ep))
		return 0;
	return ofi_refuse(
		ep->domain->prov, FI_LOG_EP_DATA, -FI_EOPNOTSUPP,
		"RMA of %zu B by an endpoint with FI_HMEM: the peer's region has no device key; the peer must register mapped memory, or request FI_MR_ALLOCATED\n",
		op->total);
}

static int use_known(struct ofi_rdm_op *op, uint8_t index, const struct ofi_rdm_known *known)
{
	struct ofi_rdm_remote *remote = &op->remote[index];

	remote->resolved = true;
	remote->rkey = known->rkey;
	remote->base = known->base;
	if (known->by_target)
		return use_target(op);
	if (!known->rkey && !known->count)
		return -FI_EKEYREJECTED;
	if (known->count)
		return split_begin(op, index) ? key_split(op, remote, known) : -FI_ENOMEM;
	if (op->split)
		op->split[op->split_count++] = *remote;
	return 0;
}

static int key_resolve(struct ofi_rdm_op *op, uint8_t index)
{
	struct ofi_rdm_remote *remote = &op->remote[index];
	struct ofi_rdm_peer *peer = op->peer;
	uint32_t what = op->kind == OFI_RDM_OP_READ ? ID_READS : ID_WRITES;

	if (peer->ep->prov_keys) {
		remote->rkey = (uint32_t)remote->key;
		remote->resolved = true;
		return remote->key >> 32 ? -FI_EKEYREJECTED : 0;
	}
	if (!peer->key_answer || peer->key_answer->key != remote->key ||
	    peer->key_answer->what != what)
		return keys_ask(peer, remote->key, what);
	return use_known(op, index, peer->key_answer);
}

bool ofi_rdm_keys_by_target(const struct ofi_rdm_op *op)
{
	uint8_t i;

	if (op->by_target)
		return true;
	if (op->peer->ep->prov_keys || op->has_data || !op->total ||
	    op->total > op->peer->proto.eager)
		return false;
	for (i = 0; i < op->remote_count; i++)
		if (!op->remote[i].len)
			return false;
	return true;
}

static size_t part_len(const struct ofi_rdm_op *op, size_t at)
{
	return ofi_min(op->peer->proto.eager, op->total - at);
}

/* Lists the places of the target that have these bytes of the operation. Returns their number. */
static uint8_t list_places(const struct ofi_rdm_op *op, size_t at, size_t len, uint8_t *list)
{
	const struct ofi_rdm_remote *remote;
	uint8_t count = 0;
	size_t n;

	for (remote = op->remote; len; at -= ofi_min(at, remote->len), remote++) {
		if (at >= remote->len)
			continue;
		n = ofi_min(len, remote->len - at);
		ofi_rdm_wire_put_target(
			list, count++,
			&(struct ofi_rdm_wire_target){ remote->addr + at, remote->key, n });
		len -= n;
	}
	return count;
}

/* Requests the next part, as an atomic operation on bytes. */
static int ask_part(struct ofi_rdm_op *op)
{
	bool read = op->kind == OFI_RDM_OP_READ;
	size_t len = part_len(op, op->posted);
	uint8_t list[OFI_RDM_PROTO_IOV * sizeof(struct ofi_rdm_wire_target)];
	const struct ofi_rdm_wire_packet packet = {
		.type = OFI_RDM_WIRE_ATOMIC_REQ,
		.flags = op->owes ? OFI_RDM_WIRE_PART : 0,
		.id = op->id,
		.count = list_places(op, op->posted, len, list),
		.atomic = {
			.kind = read ? OFI_RDM_WIRE_ATOMIC_READ : OFI_RDM_WIRE_ATOMIC_WRITE,
			.op = read ? FI_ATOMIC_READ : FI_ATOMIC_WRITE,
			.datatype = FI_UINT8,
			.size = 1,
			.count = (uint32_t)len,
		},
		.list = list,
	};
	struct iovec iov[OFI_RDM_PROTO_IOV];
	int ret;

	ofi_rdm_local_iov(op, iov);
	ret = ofi_rdm_op_ask(op, &packet, iov, op->posted, read ? 0 : len);
	if (ret)
		return ret;
	op->parts++;
	op->peer->parts += op->by_target;
	op->posted += len;
	return 0;
}

/*
 * The target counts a request as an operation. An operation that takes several requests, or carries
 * data, sends an RMA event after the last response, which the target counts instead.
 *
 * Forgets the known keys: a later operation of the device then asks for its key behind this one and
 * stays in order with it.
 */
int ofi_rdm_keys_post(struct ofi_rdm_op *op)
{
	int ret;

	if (op->by_target && !op->posted)
		op->owes = ofi_rdm_rma_event_is_due(op);
	ofi_rdm_keys_forget(op->peer);
	while (op->posted < op->total && !op->err) {
		ret = op->peer->parts < PARTS ? ask_part(op) : -FI_EAGAIN;
		if (ret)
			return ret;
	}
	if (op->parts && (op->owes || op->err))
		return -FI_EAGAIN;
	if (op->err)
		return -op->err;
	if (op->owes) {
		ret = ofi_rdm_rma_event_post(op);
		if (ret)
			return ret;
		op->owes = false;
	}
	op->posted_all = true;
	return 0;
}

/* The responses arrive in the order of the requests. */
enum ofi_rdm_wire_error ofi_rdm_keys_answered(struct ofi_rdm_op *op,
					      const struct ofi_rdm_wire_packet *packet)
{
	size_t eager = op->peer->proto.eager, at = 0, len = 0;
	struct iovec iov[OFI_RDM_PROTO_IOV];
	bool by_target = op->by_target;
	struct ofi_rdm_peer *peer = op->peer;
	int err = (int)packet->status;

	if (op->kind == OFI_RDM_OP_READ) {
		at = ((op->posted + eager - 1) / eager - op->parts) * eager;
		len = part_len(op, at);
	}
	if (!err && packet->payload_len != len)
		return OFI_RDM_WIRE_E_SHORT;
	if (!err)
		err = -ofi_rdm_proto_store(iov, (uint8_t)ofi_rdm_local_iov(op, iov), at,
					   packet->payload, len, peer->ep->hmem);
	if (!op->err)
		op->err = err;
	op->parts--;
	peer->parts -= by_target;
	if (!op->parts && op->posted_all) {
		ofi_rdm_op_end(op, op->err);
	} else if (!op->parts) {
		TAILQ_REMOVE(&peer->answers, op, wait);
		op->waiting = false;
	}
	if (by_target)
		ofi_rdm_ops_pump(peer);
	return OFI_RDM_WIRE_OK;
}

int ofi_rdm_keys_resolve(struct ofi_rdm_op *op)
{
	uint8_t i;
	int ret = 0;

	for (i = 0; i < op->remote_count && !ret && !op->by_target; i++)
		if (!op->remote[i].resolved)
			ret = key_resolve(op, i);
	return ret;
}

bool ofi_rdm_keys_missed(struct ofi_rdm_peer *peer, uint64_t key)
{
	uint64_t now = ofi_now_ms();

	if (peer->missed && peer->missed_key == key)
		return true;
	peer->missed_key = key;
	if (peer->missed < now)
		peer->missed = now;
	peer->missed += MISSES_MS;
	return peer->missed - now < MISSES * MISSES_MS;
}

/*
 * For a peer that does not tell the access, either right suffices: the device checks each access.
 */
static bool allows(const struct ofi_mr_place *place, uint32_t id)
{
	uint64_t wanted =
		(id & ID_READS ? FI_REMOTE_READ : 0) | (id & ID_WRITES ? FI_REMOTE_WRITE : 0);

	return wanted ? (place->access & wanted) == wanted
		      : place->access & (FI_REMOTE_READ | FI_REMOTE_WRITE);
}

/* Lists the buffers of a region that has several. Returns false if it is gone. */
static bool list_buffers(struct ofi_domain *domain, uint64_t key, uint32_t count, uint8_t *list,
			 struct ofi_rdm_wire_packet *rsp)
{
	struct ofi_mr_place place;

	rsp->list = list;
	rsp->len = 0;
	while (rsp->count < count) {
		if (!domain->ops->mr_find(domain, key, rsp->count, &place))
			return false;
		ofi_rdm_wire_put_region(
			list, rsp->count++,
			&(struct ofi_rdm_wire_region){ place.start, place.len, place.rkey });
		rsp->len += place.len;
	}
	return true;
}

static bool find_region(struct ofi_domain *domain, const struct ofi_rdm_wire_packet *packet,
			uint8_t *list, struct ofi_rdm_wire_packet *rsp)
{
	struct ofi_mr_place place;

	if (!domain->ops->mr_find(domain, packet->key, 0, &place) || !allows(&place, packet->id))
		return false;
	if (place.unbacked) {
		rsp->status = BY_TARGET;
		return true;
	}
	rsp->key = place.rkey;
	rsp->addr = place.base;
	rsp->len = place.len;
	return place.count == 1 || list_buffers(domain, packet->key, place.count, list, rsp);
}

enum ofi_rdm_wire_error ofi_rdm_key_request(struct ofi_rdm_peer *peer,
					    const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_wire_packet rsp = { .type = OFI_RDM_WIRE_KEY_RSP, .id = packet->id };
	uint8_t list[OFI_MR_BUFFERS * sizeof(struct ofi_rdm_wire_region)];

	if (!find_region(peer->ep->domain, packet, list, &rsp)) {
		if (!ofi_rdm_keys_missed(peer, packet->key))
			return OFI_RDM_WIRE_E_KEYS;
		rsp = (struct ofi_rdm_wire_packet){ .type = OFI_RDM_WIRE_KEY_RSP,
						    .id = packet->id,
						    .status = FI_EKEYREJECTED };
	}
	if (!ofi_rdm_answer(peer, &rsp, NULL, 0))
		ofi_rdm_xport(&peer->proto)->fault(&peer->proto, OFI_RDM_WIRE_E_MEMORY);
	return OFI_RDM_WIRE_OK;
}

static void key_remember(struct ofi_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_known *known =
		malloc(sizeof(*known) + packet->count * sizeof(known->buffers[0]));
	uint8_t i;

	if (!known)
		return;
	known->key = peer->key;
	known->base = packet->addr;
	known->what = peer->key_id & (ID_READS | ID_WRITES);
	known->rkey = packet->status ? 0 : (uint32_t)packet->key;
	known->by_target = packet->status == BY_TARGET;
	known->count = packet->status ? 0 : packet->count;
	for (i = 0; i < known->count; i++)
		ofi_rdm_wire_get_region(packet->list, i, &known->buffers[i]);
	ofi_rdm_keys_forget(peer);
	peer->key_answer = known;
}

/*
 * The answer serves the operations that wait for it and is then dropped, because the peer may close
 * the region and reuse the key.
 */
enum ofi_rdm_wire_error ofi_rdm_key_answer(struct ofi_rdm_peer *peer,
					   const struct ofi_rdm_wire_packet *packet)
{
	if (!peer->asked || packet->id != peer->key_id)
		return OFI_RDM_WIRE_OK;
	peer->asked = false;
	key_remember(peer, packet);
	ofi_rdm_ops_pump(peer);
	ofi_rdm_keys_forget(peer);
	return OFI_RDM_WIRE_OK;
}

void ofi_rdm_keys_forget(struct ofi_rdm_peer *peer)
{
	free(peer->key_answer);
	peer->key_answer = NULL;
}

void ofi_rdm_keys_unresolve(struct ofi_rdm_peer *peer)
{
	struct ofi_rdm_op *op;
	uint8_t i;

	ofi_rdm_keys_forget(peer);
	STAILQ_FOREACH (op, &peer->ops, link) {
		for (i = 0; i < op->remote_count; i++)
			op->remote[i].resolved = false;
		op->by_target = false;
		free(op->split);
		op->split = NULL;
	}
}
