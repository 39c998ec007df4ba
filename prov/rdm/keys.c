/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Keys of remote memory. If the device chooses keys (FI_MR_PROV_KEY), a key is an rkey. If the
 * application chooses them, only the peer knows which memory a key stands for. The peer is asked,
 * and then the device performs the transfer; a transfer that fits in a packet is performed by the
 * peer at once, like an atomic.
 *
 * The answer is not cached for later operations: the peer may close the region and reuse the key,
 * and the two applications may agree on that without the library noticing. A work request for a
 * region that is gone would end the connection.
 */
#include <search.h>
#include <stdlib.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include "op.h"
#include "reply.h"

/*
 * The topmost bits of the id of a KEY_REQ tell how the key will be used; the answer repeats them.
 * If none is set, the peer does not tell.
 */
#define ID_READS  (1u << 31)
#define ID_WRITES (1u << 30)

#define MISSES 64 /* wrong keys after which the connection ends */

struct known {
	uint64_t key; /* first */
	uint64_t base, len;
	uint32_t rkey;
	uint32_t what; /* the access that was requested */
};

static int keys_compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

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

static int resolve(struct ofi_rdm_op *op, struct ofi_rdm_remote *remote)
{
	struct ofi_rdm_peer *peer = op->peer;
	uint32_t what = op->kind == OFI_RDM_OP_READ ? ID_READS : ID_WRITES;
	struct known **found;

	if (peer->ep->prov_keys) {
		remote->rkey = (uint32_t)remote->key;
		remote->resolved = true;
		return remote->key >> 32 ? -FI_EKEYREJECTED : 0;
	}
	found = tfind(&remote->key, &peer->keys, keys_compare);
	if (!found || (*found)->what != what)
		return keys_ask(peer, remote->key, what);
	remote->resolved = true;
	remote->rkey = (*found)->rkey;
	remote->base = (*found)->base;
	return (*found)->rkey ? 0 : -FI_EKEYREJECTED;
}

bool ofi_rdm_keys_by_target(const struct ofi_rdm_op *op)
{
	uint8_t i;

	if (op->peer->ep->prov_keys || op->has_data || !op->total ||
	    op->total > op->peer->proto.eager)
		return false;
	for (i = 0; i < op->remote_count; i++)
		if (!op->remote[i].len)
			return false;
	return true;
}

/*
 * Forgets the known keys: a later operation of the device then asks for its key behind this one and
 * stays in order with it.
 */
int ofi_rdm_keys_post(struct ofi_rdm_op *op)
{
	bool read = op->kind == OFI_RDM_OP_READ;
	struct iovec iov[OFI_RDM_PROTO_IOV];

	ofi_rdm_local_iov(op, iov);
	op->atomic = (struct ofi_rdm_wire_atomic){
		.kind = read ? OFI_RDM_WIRE_ATOMIC_READ : OFI_RDM_WIRE_ATOMIC_WRITE,
		.op = read ? FI_ATOMIC_READ : FI_ATOMIC_WRITE,
		.datatype = FI_UINT8,
		.size = 1,
		.count = (uint32_t)op->total,
	};
	ofi_rdm_keys_forget(op->peer);
	return ofi_rdm_atomic_ask(op, iov, read ? 0 : op->total);
}

int ofi_rdm_keys_resolve(struct ofi_rdm_op *op)
{
	uint8_t i;
	int ret = 0;

	for (i = 0; i < op->remote_count && !ret; i++)
		if (!op->remote[i].resolved)
			ret = resolve(op, &op->remote[i]);
	return ret;
}

bool ofi_rdm_keys_missed(struct ofi_rdm_peer *peer)
{
	return ++peer->missed < MISSES;
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

enum ofi_rdm_wire_error ofi_rdm_key_request(struct ofi_rdm_peer *peer,
					    const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_wire_packet rsp = { .type = OFI_RDM_WIRE_KEY_RSP, .id = packet->id };
	struct ofi_domain *domain = peer->ep->domain;
	struct ofi_mr_place place;

	if (domain->ops->mr_find(domain, packet->key, &place) && allows(&place, packet->id)) {
		rsp.key = place.rkey;
		rsp.addr = place.base;
		rsp.len = place.len;
	} else if (ofi_rdm_keys_missed(peer)) {
		rsp.status = FI_EKEYREJECTED;
	} else {
		return OFI_RDM_WIRE_E_KEYS;
	}
	if (!ofi_rdm_answer(peer, &rsp, NULL, 0))
		ofi_rdm_xport(&peer->proto)->fault(&peer->proto, OFI_RDM_WIRE_E_MEMORY);
	return OFI_RDM_WIRE_OK;
}

static void remember(struct ofi_rdm_peer *peer, const struct ofi_rdm_wire_packet *packet)
{
	struct known *known = malloc(sizeof(*known)), **found;

	if (!known)
		return;
	*known = (struct known){ .key = peer->key,
				 .base = packet->addr,
				 .len = packet->len,
				 .what = peer->key_id & (ID_READS | ID_WRITES),
				 .rkey = packet->status ? 0 : (uint32_t)packet->key };
	found = tsearch(known, &peer->keys, keys_compare);
	if (found && *found == known)
		return;
	if (found)
		**found = *known;
	free(known);
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
	remember(peer, packet);
	ofi_rdm_ops_pump(peer);
	ofi_rdm_keys_forget(peer);
	return OFI_RDM_WIRE_OK;
}

void ofi_rdm_keys_forget(struct ofi_rdm_peer *peer)
{
	tdestroy(peer->keys, free);
	peer->keys = NULL;
}
