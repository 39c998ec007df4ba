/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer's right to the memory of a rendezvous. It begins before the peer learns of it and ends
 * before the operation completes.
 */
#include <rdma/fi_errno.h>
#include "proto_int.h"

int ofi_rdm_proto_grant(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_mr *mr, uint8_t count,
			uint8_t *bound, uint32_t keep)
{
	int ret;

	for (; *bound < count; ++*bound) {
		if (!mr[*bound].window)
			continue;
		if (peer->flow.credits <= keep)
			return -FI_EAGAIN;
		ret = peer->proto->xport.ops->bind(peer, &mr[*bound]);
		if (ret)
			return ret;
		ofi_rdm_flow_take(&peer->flow);
	}
	return peer->flow.credits > keep ? 0 : -FI_EAGAIN;
}

bool ofi_rdm_proto_is_granted(const struct ofi_rdm_proto_mr *mr, uint8_t bound)
{
	while (bound)
		if (mr[--bound].window)
			return true;
	return false;
}

static int revoke_grant(struct ofi_rdm_proto_peer *peer, struct ofi_rdm_proto_item *item,
			struct ofi_rdm_proto_mr *mr, uint8_t *bound, uint32_t *inflight)
{
	int ret;

	for (; *bound; --*bound) {
		if (!mr[*bound - 1].window)
			continue;
		if (!ofi_rdm_flow_has_control_credit(&peer->flow))
			return -FI_EAGAIN;
		ret = peer->proto->xport.ops->revoke(peer, &mr[*bound - 1], item);
		if (ret)
			return ret;
		ofi_rdm_flow_take(&peer->flow);
		++*inflight;
	}
	return 0;
}

int ofi_rdm_proto_send_revoke(struct ofi_rdm_proto_item *item)
{
	struct ofi_rdm_proto_out *out = (struct ofi_rdm_proto_out *)item;
	struct ofi_rdm_proto_in *in = ofi_rdm_proto_in_of(item);

	if (item->is_out)
		return revoke_grant(out->peer, item, out->mr, &out->bound, &out->inflight);
	return revoke_grant(in->peer, item, in->mr, &in->bound, &in->inflight);
}
