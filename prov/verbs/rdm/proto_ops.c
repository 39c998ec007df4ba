/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The protocol of an endpoint: what it is opened with, and what it tells. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "arrive.h"
#include "proto_ops.h"
#include "coll.h"
#include "op.h"
#include "peer.h"
#include "progress.h"
#include "prov/verbs/provider/prov.h"

#define MATCH_BITS 12u

static struct vrb_rdm *ep_of(struct ofi_rdm_proto *proto)
{
	return (struct vrb_rdm *)((char *)proto - offsetof(struct vrb_rdm, proto));
}

static void carry_out_done(struct ofi_rdm_proto_out *proto_out, int err)
{
	struct vrb_rdm *ep = ((struct vrb_rdm_peer *)proto_out->peer)->ep;
	struct vrb_rdm_out *out = (struct vrb_rdm_out *)proto_out;

	if (out->proto.flags & OFI_RDM_WIRE_COLLECTIVE) {
		vrb_rdm_coll_out_done(ep, out, err);
		return;
	}
	vrb_rdm_complete_tx(ep, out->proto.context, out->flags, err, 0);
	vrb_rdm_out_put(ep, out);
}

static void carry_recv_done(struct ofi_rdm_proto *proto, const struct ofi_rdm_proto_done *done)
{
	if (done->recv->space == OFI_RDM_PROTO_COLLECTIVE)
		vrb_rdm_coll_recv_done(ep_of(proto), done);
	else
		vrb_rdm_recv_done(proto, done);
}

static struct ofi_rdm_proto_out *carry_out_at(struct ofi_rdm_proto *proto, uint32_t index)
{
	struct vrb_rdm_out *out = vrb_rdm_out_at(ep_of(proto), index);

	return out ? &out->proto : NULL;
}

static enum ofi_rdm_wire_error carry_other(struct ofi_rdm_proto_peer *peer,
					   const struct ofi_rdm_wire_packet *packet)
{
	return vrb_rdm_op_packet((struct vrb_rdm_peer *)peer, packet);
}

static const struct ofi_rdm_proto_ops carry_ops = {
	.out_done = carry_out_done,
	.recv_done = carry_recv_done,
	.out_at = carry_out_at,
	.other = carry_other,
};

int vrb_rdm_proto_open(struct vrb_rdm *ep, struct ofi_rdm_xport xport)
{
	struct ofi_rdm_proto_config config = {
		.segmented = (size_t)vrb_params.rdm_segmented_size,
		.write = vrb_params.rdm_use_write > 0,
		.unexpected = (uint64_t)vrb_params.rdm_unexpected_size,
	};
	size_t buckets = (size_t)1 << MATCH_BITS;

	ep->buckets = calloc(4 * buckets, sizeof(*ep->buckets));
	if (!ep->buckets)
		return -FI_ENOMEM;
	ofi_rdm_match_init(&ep->proto.match[0], ep->buckets, ep->buckets + buckets, MATCH_BITS);
	ofi_rdm_match_init(&ep->proto.match[1], ep->buckets + 2 * buckets,
			   ep->buckets + 3 * buckets, MATCH_BITS);
	return ofi_rdm_proto_init(&ep->proto, &carry_ops, &xport, &config);
}
