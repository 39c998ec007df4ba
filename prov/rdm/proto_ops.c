/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connects the protocol with an endpoint: its configuration and its callbacks. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "ep.h"
#include "local.h"
#include "objects.h"
#include "coll.h"
#include "op.h"
#include "rma_event.h"
#include "peer.h"
#include "complete.h"

#define MATCH_BITS 12u

static void proto_ops_out_done(struct ofi_rdm_proto_out *proto_out, int err)
{
	struct ofi_rdm_ep *ep = ((struct ofi_rdm_peer *)proto_out->peer)->ep;
	struct ofi_rdm_out *out = (struct ofi_rdm_out *)proto_out;

	if (out->proto.flags & OFI_RDM_WIRE_COLLECTIVE) {
		ofi_rdm_coll_out_done(ep, out, err);
		return;
	}
	ofi_rdm_complete_tx(ep, out->proto.context, out->flags, err, 0);
	ofi_rdm_out_put(ep, out);
}

static void proto_ops_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done)
{
	if (done->recv->space == OFI_RDM_PROTO_COLLECTIVE)
		ofi_rdm_coll_recv_done(ofi_rdm_of_proto(proto), done);
	else
		ofi_rdm_recv_done(proto, done);
}

static struct ofi_rdm_proto_out *proto_ops_out_at(struct ofi_rdm_proto_peer *peer, uint32_t index)
{
	const struct ofi_rdm_ep *ep = ((struct ofi_rdm_peer *)peer)->ep;
	struct ofi_rdm_out *out = ofi_rdm_chunks_at(&ep->objects.outs, index, sizeof(*out));

	return out ? &out->proto : NULL;
}

/* Handles packets of atomics, keys, RMA events, and the end of a connection. */
static enum ofi_rdm_wire_error proto_ops_other(struct ofi_rdm_proto_peer *of,
					       const struct ofi_rdm_wire_packet *packet)
{
	struct ofi_rdm_peer *peer = (struct ofi_rdm_peer *)of;

	switch (packet->type) {
	case OFI_RDM_WIRE_ATOMIC_REQ:
		return ofi_rdm_atomic_request(peer, packet);
	case OFI_RDM_WIRE_ATOMIC_RSP:
		return ofi_rdm_atomic_answer(peer, packet);
	case OFI_RDM_WIRE_KEY_REQ:
		return ofi_rdm_key_request(peer, packet);
	case OFI_RDM_WIRE_KEY_RSP:
		return ofi_rdm_key_answer(peer, packet);
	case OFI_RDM_WIRE_RMA_EVENT:
		return ofi_rdm_rma_event(peer, packet);
	case OFI_RDM_WIRE_BYE:
	case OFI_RDM_WIRE_BYE_RSP:
		ofi_rdm_xport(&peer->proto)->bye(&peer->proto, packet);
		return OFI_RDM_WIRE_OK;
	default:
		return OFI_RDM_WIRE_E_TYPE;
	}
}

static bool proto_ops_registered(struct ofi_rdm_proto *proto, const void *desc,
				 const struct iovec *iov)
{
	return ofi_rdm_region_covers(ofi_rdm_of_proto(proto), desc, iov->iov_base, iov->iov_len,
				     true);
}

static const struct ofi_rdm_proto_ops proto_ops_ops = {
	.registered = proto_ops_registered,
	.out_done = proto_ops_out_done,
	.recv_done = proto_ops_recv_done,
	.out_at = proto_ops_out_at,
	.other = proto_ops_other,
};

int ofi_rdm_proto_open(struct ofi_rdm_ep *ep, const struct ofi_rdm_xport *xport,
		       const struct ofi_rdm_proto_config *config)
{
	size_t buckets = (size_t)1 << MATCH_BITS;
	int ret;

	ep->buckets = calloc(4 * buckets, sizeof(*ep->buckets));
	if (!ep->buckets)
		return -FI_ENOMEM;
	ofi_rdm_match_init(&ep->proto.match[0], ep->buckets, ep->buckets + buckets, MATCH_BITS);
	ofi_rdm_match_init(&ep->proto.match[1], ep->buckets + 2 * buckets,
			   ep->buckets + 3 * buckets, MATCH_BITS);
	ret = ofi_rdm_proto_init(&ep->proto, &proto_ops_ops, xport, config);
	/*
	 * With FI_HMEM, an option of the endpoint decides whether the device may access device
	 * memory, so the application's own registrations are not used.
	 */
	ep->proto.config.descriptors = !ep->hmem;
	ep->proto.config.device = ep->hmem;
	return ret;
}
