/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The peer's right to the memory of a rendezvous: it begins before the peer hears of it and ends before the operation does. */
#include <rdma/fi_errno.h>
#include "proto_int.h"

int vrb_proto_grant(struct vrb_proto_peer *peer, struct vrb_proto_mr *mr, uint8_t count,
		    uint8_t *bound, uint32_t keep)
{
	int ret;

	for (; *bound < count; ++*bound) {
		if (!mr[*bound].window)
			continue;
		if (peer->flow.credits <= keep)
			return -FI_EAGAIN;
		ret = peer->proto->ops->bind(peer, &mr[*bound]);
		if (ret)
			return ret;
		vrb_flow_take(&peer->flow);
	}
	return peer->flow.credits > keep ? 0 : -FI_EAGAIN;
}

bool vrb_proto_is_granted(const struct vrb_proto_mr *mr, uint8_t bound)
{
	while (bound)
		if (mr[--bound].window)
			return true;
	return false;
}

static int revoke(struct vrb_proto_peer *peer, struct vrb_proto_item *item, struct vrb_proto_mr *mr,
		  uint8_t *bound, uint32_t *inflight)
{
	int ret;

	for (; *bound; --*bound) {
		if (!mr[*bound - 1].window)
			continue;
		if (!vrb_flow_has_control_credit(&peer->flow))
			return -FI_EAGAIN;
		ret = peer->proto->ops->revoke(peer, &mr[*bound - 1], item);
		if (ret)
			return ret;
		vrb_flow_take(&peer->flow);
		++*inflight;
	}
	return 0;
}

int vrb_proto_send_revoke(struct vrb_proto_item *item)
{
	struct vrb_proto_out *out = (struct vrb_proto_out *)item;
	struct vrb_proto_in *in = vrb_proto_in_of(item);

	if (item->is_out)
		return revoke(out->peer, item, out->mr, &out->bound, &out->inflight);
	return revoke(in->peer, item, in->mr, &in->bound, &in->inflight);
}

void vrb_proto_bound(struct vrb_proto_peer *peer)
{
	vrb_flow_give(&peer->flow, 1);
	vrb_proto_progress(peer);
}

void vrb_proto_revoked(struct vrb_proto_peer *peer, struct vrb_proto_item *item)
{
	struct vrb_proto_in *in = vrb_proto_in_of(item);

	vrb_flow_give(&peer->flow, 1);
	if (item->is_out) {
		((struct vrb_proto_out *)item)->inflight--;
		vrb_proto_out_check((struct vrb_proto_out *)item);
	} else if (!--in->inflight && !item->owes) {
		vrb_proto_rndv_end_written(in);
	}
	vrb_proto_progress(peer);
}
