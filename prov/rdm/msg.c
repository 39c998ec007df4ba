/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending messages and tagged messages. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "objects.h"
#include "fence.h"
#include "hmem.h"
#include "lock.h"
#include "msg.h"
#include "order.h"
#include "peer.h"
#include "stats.h"
#include "work.h"

#define TX_FLAGS                                                                                   \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

static uint8_t level_of(uint64_t flags)
{
	if (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE))
		return OFI_RDM_PROTO_DELIVERY;
	/* Data that is copied is followed to its end, so that a failure is reported. */
	if ((flags & (FI_INJECT_COMPLETE | FI_INJECT | FI_COMPLETION)) == FI_INJECT_COMPLETE)
		return OFI_RDM_PROTO_INJECT;
	return OFI_RDM_PROTO_TRANSMIT;
}

/*
 * Copies the data of a message that is queued, because the application may reuse its buffer at
 * return. Returns 0 or -FI_E*.
 */
static int copy_data(struct ofi_rdm_out *out, size_t total, bool device)
{
	struct ofi_rdm_proto_out *proto = &out->proto;
	int ret;

	if (!total)
		return 0;
	out->copy = malloc(total);
	ret = out->copy ? ofi_rdm_proto_load(out->copy, proto->iov, proto->count, device)
			: -FI_EAGAIN;
	proto->iov[0] = (struct iovec){ out->copy, total };
	proto->count = 1;
	return ret;
}

static void fill_out(struct ofi_rdm_out *out, const struct fi_msg_tagged *msg, uint64_t flags,
		     bool tagged, uint64_t mark)
{
	struct ofi_rdm_proto_out *proto = &out->proto;
	size_t i;

	proto->flags = (uint8_t)((tagged ? OFI_RDM_WIRE_TAGGED : 0) |
				 (flags & FI_REMOTE_CQ_DATA ? OFI_RDM_WIRE_DATA : 0));
	proto->level = level_of(flags);
	out->fenced.fence = flags & FI_FENCE;
	proto->tag = msg->tag;
	proto->data = flags & FI_REMOTE_CQ_DATA ? msg->data : 0;
	proto->context = msg->context;
	proto->count = (uint8_t)msg->iov_count;
	for (i = 0; i < msg->iov_count; i++)
		proto->iov[i] = msg->msg_iov[i];
	out->flags = FI_SEND | (tagged ? FI_TAGGED : FI_MSG) |
		     (flags & FI_COMPLETION ? 0 : OFI_RDM_SILENT) | mark;
}

/* Passes a message that is filled in to the protocol. The caller holds the lock. */
static ssize_t send_out(struct ofi_rdm_peer *peer, struct ofi_rdm_out *out, bool inject,
			size_t total)
{
	bool ready = ofi_rdm_peer_ready(peer);
	int ret = 0;

	if (ofi_unlikely(inject))
		ret = copy_data(out, total, peer->ep->hmem);
	if (ret)
		return ret;
	if (ofi_unlikely(out->fenced.fence || peer->marker)) {
		ret = ready ? 0 : ofi_rdm_xport(&peer->proto)->connect(&peer->proto);
		return ret ? ret : ofi_rdm_fence_add(peer, &out->fenced);
	}
	ofi_rdm_proto_send(&peer->proto, &out->proto);
	/* The request for a connection may carry the message. */
	ret = ready ? 0 : ofi_rdm_xport(&peer->proto)->connect(&peer->proto);
	if (ret)
		ofi_rdm_proto_unsend(&out->proto);
	return ret;
}

static inline ssize_t msg_check(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg,
				uint64_t flags, size_t *total)
{
	ssize_t ret;

	if (ofi_unlikely(flags & ~TX_FLAGS))
		return -FI_EBADFLAGS;
	ret = ofi_rdm_iov_total(msg->msg_iov, msg->iov_count, total);
	if (!ret && (flags & FI_INJECT) && *total > ep->inject_size)
		ret = -FI_EMSGSIZE;
	if (ret || !(ep->enabled & OFI_RDM_TX))
		return ret ? ret : ofi_rdm_not_enabled(ep);
	return ofi_rdm_check_copy(ep, "fi_send", msg->msg_iov, msg->desc, msg->iov_count);
}

/* Queues a message. The caller holds the lock. */
static ssize_t msg_start(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			 bool tagged, uint64_t mark, size_t total)
{
	struct ofi_rdm_peer *peer;
	struct ofi_rdm_out *out;
	ssize_t ret;
	int err;

	peer = ofi_rdm_peer_of(ep, msg->addr, &err);
	if (!peer)
		return err;
	out = ofi_rdm_out_get(ep);
	if (!out)
		return -FI_EAGAIN;
	fill_out(out, msg, flags, tagged, mark);
	ofi_rdm_order_begin(peer, &out->fenced, OFI_RDM_ORDER_SEND);
	ret = send_out(peer, out, flags & FI_INJECT, total);
	if (ret)
		ofi_rdm_out_put(ep, out);
	return ret;
}

ssize_t ofi_rdm_send_work(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			  bool tagged, uint64_t mark, bool only_check)
{
	size_t total;
	ssize_t ret = msg_check(ep, msg, flags, &total);

	if (ofi_unlikely(ret == -FI_EBADFLAGS && !only_check))
		return ofi_rdm_trigger(ep, &(struct ofi_call){ tagged ? FI_OP_TSEND : FI_OP_SEND,
							       flags, .msg = *msg });
	if (ofi_unlikely(ret || only_check))
		return ret;
	ofi_rdm_lock(ep);
	ret = msg_start(ep, msg, flags, tagged, mark, total);
	ofi_rdm_count_result(ep, ret);
	if (!ret)
		ofi_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, total);
	ofi_rdm_unlock(ep);
	return ret;
}

void ofi_rdm_set_modes(struct ofi_rdm_ep *ep)
{
	const struct ofi_rdm_xport_ops *ops = ep->proto.xport.ops;

	ep->tx_op_flags &= TX_FLAGS & ~(FI_REMOTE_CQ_DATA | FI_MORE);
	if (ops->modes)
		ops->modes(ep, ofi_rdm_tx_flags(&ep->fid, TX_FLAGS));
	ofi_rdm_set_recv_modes(ep);
}
