/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Sending messages and tagged messages. */
#include <stdlib.h>
#include <string.h>
#include "prov/base/ops.h"
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "proto_ops.h"
#include "fence.h"
#include "lock.h"
#include "msg.h"
#include "order.h"
#include "peer.h"
#include "calls.h"
#include "stats.h"
#include "work.h"

#define TX_FLAGS                                                                                   \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)

struct send {
	const struct iovec *iov;
	size_t count;
	fi_addr_t addr;
	uint64_t tag, data;
	void *context;
	uint64_t flags; /* flags of the call; FI_COMPLETION if a CQ entry is wanted */
	bool tagged;
	uint64_t mark; /* OFI_RDM_DEFERRED, or 0 */
};

static uint8_t level_of(uint64_t flags)
{
	if (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE))
		return OFI_RDM_PROTO_DELIVERY;
	if ((flags & (FI_INJECT_COMPLETE | FI_INJECT)) && !(flags & FI_COMPLETION))
		return OFI_RDM_PROTO_INJECT;
	return OFI_RDM_PROTO_TRANSMIT;
}

static ssize_t total_of(const struct ofi_rdm_ep *ep, const struct send *send, size_t *total)
{
	size_t i;

	*total = 0;
	if (send->count > OFI_RDM_PROTO_IOV || (send->count && !send->iov))
		return -FI_EINVAL;
	for (i = 0; i < send->count; i++) {
		if (!send->iov[i].iov_base && send->iov[i].iov_len)
			return -FI_EINVAL;
		if (__builtin_add_overflow(*total, send->iov[i].iov_len, total))
			return -FI_EMSGSIZE;
	}
	return (send->flags & FI_INJECT) && *total > ep->inject_size ? -FI_EMSGSIZE : 0;
}

/*
 * Copies the data of a message that is queued, because the application may reuse its buffer at
 * return.
 */
static bool copy_data(struct ofi_rdm_out *out, size_t total)
{
	struct ofi_rdm_proto_out *proto = &out->proto;
	uint8_t *to;
	uint8_t i;

	if (!total)
		return true;
	to = out->copy = malloc(total);
	if (!to)
		return false;
	for (i = 0; i < proto->count; i++) {
		memcpy(to, proto->iov[i].iov_base, proto->iov[i].iov_len);
		to += proto->iov[i].iov_len;
	}
	proto->iov[0] = (struct iovec){ out->copy, total };
	proto->count = 1;
	return true;
}

static void fill_out(struct ofi_rdm_out *out, const struct send *send)
{
	struct ofi_rdm_proto_out *proto = &out->proto;

	proto->flags = (uint8_t)((send->tagged ? OFI_RDM_WIRE_TAGGED : 0) |
				 (send->flags & FI_REMOTE_CQ_DATA ? OFI_RDM_WIRE_DATA : 0));
	proto->level = level_of(send->flags);
	out->fenced.fence = send->flags & FI_FENCE;
	proto->tag = send->tag;
	proto->data = send->flags & FI_REMOTE_CQ_DATA ? send->data : 0;
	proto->context = send->context;
	proto->count = (uint8_t)send->count;
	memcpy(proto->iov, send->iov, send->count * sizeof(*send->iov));
	out->flags = FI_SEND | (send->tagged ? FI_TAGGED : FI_MSG) |
		     (send->flags & FI_COMPLETION ? 0 : OFI_RDM_SILENT) | send->mark;
}

/* Queues a message. The caller holds the lock. */
static ssize_t queue(struct ofi_rdm_ep *ep, struct ofi_rdm_peer *peer, const struct send *send,
		     size_t total)
{
	struct ofi_rdm_out *out = ofi_rdm_out_get(ep);
	int ret;

	if (!out)
		return -FI_EAGAIN;
	fill_out(out, send);
	ofi_rdm_order_begin(peer, &out->fenced, OFI_RDM_ORDER_SEND);
	if ((send->flags & FI_INJECT) && !copy_data(out, total)) {
		ofi_rdm_out_put(ep, out);
		return -FI_EAGAIN;
	}
	ret = ofi_rdm_peer_ready(peer) ? 0 : ofi_rdm_xport(&peer->proto)->connect(&peer->proto);
	if (ret) {
		ofi_rdm_out_put(ep, out);
		return ret;
	}
	if (ofi_likely(!out->fenced.fence && !peer->marker)) {
		ofi_rdm_proto_send(&peer->proto, &out->proto);
		return 0;
	}
	ret = ofi_rdm_fence_out(peer, out);
	if (ret)
		ofi_rdm_out_put(ep, out);
	return ret;
}

static OFI_OUTLINE ssize_t msg_trigger(struct ofi_rdm_ep *ep, const struct send *send)
{
	const struct fi_msg_tagged msg = {
		.msg_iov = send->iov,
		.iov_count = send->count,
		.addr = send->addr,
		.tag = send->tag,
		.context = send->context,
		.data = send->data,
	};

	return ofi_rdm_trigger_msg(ep, send->tagged ? FI_OP_TSEND : FI_OP_SEND, &msg, send->flags);
}

static inline ssize_t msg_check(struct ofi_rdm_ep *ep, const struct send *send, size_t *total)
{
	ssize_t ret;

	if (ofi_unlikely(send->flags & ~TX_FLAGS))
		return -FI_EBADFLAGS;
	ret = total_of(ep, send, total);
	return ret || ep->enabled ? ret : -FI_EOPBADSTATE;
}

static ssize_t msg_send_any(struct ofi_rdm_ep *ep, const struct send *send)
{
	struct ofi_rdm_peer *peer;
	size_t total;
	ssize_t ret;
	int err;

	ret = msg_check(ep, send, &total);
	if (ofi_unlikely(ret))
		return ret == -FI_EBADFLAGS ? msg_trigger(ep, send) : ret;
	ofi_rdm_lock(ep);
	peer = ofi_rdm_peer_of(ep, send->addr, &err);
	ret = peer ? queue(ep, peer, send, total) : err;
	ofi_rdm_count_result(ep, ret);
	if (!ret)
		ofi_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, total);
	ofi_rdm_unlock(ep);
	return ret;
}

OFI_OUTLINE ssize_t ofi_rdm_send_one(struct ofi_rdm_ep *ep, const void *buf, size_t len,
				     fi_addr_t addr, uint64_t tag, void *context, bool tagged)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return msg_send_any(ep, &(struct send){ &iov, 1, addr, tag, 0, context,
						ofi_rdm_tx_flags(ep, TX_FLAGS), tagged });
}

OFI_OUTLINE ssize_t ofi_rdm_inject_one(struct ofi_rdm_ep *ep, const void *buf, size_t len,
				       fi_addr_t addr, uint64_t tag, bool tagged)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return msg_send_any(ep, &(struct send){ &iov, 1, addr, tag, 0, NULL, FI_INJECT, tagged });
}

ssize_t ofi_rdm_tsendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t addr, uint64_t tag, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	const struct send send = {
		iov, count, addr, tag, 0, context, ofi_rdm_tx_flags(ep, TX_FLAGS), true
	};

	(void)desc;
	return msg_send_any(ep, &send);
}

ssize_t ofi_rdm_tsendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	return ofi_rdm_send_work(ep, msg, ofi_rdm_msg_flags(ep, flags), true, 0, false);
}

ssize_t ofi_rdm_tsenddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			  uint64_t data, fi_addr_t addr, uint64_t tag, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	(void)desc;
	return msg_send_any(ep, &(struct send){ &iov, 1, addr, tag, data, context,
						ofi_rdm_tx_flags(ep, TX_FLAGS) | FI_REMOTE_CQ_DATA,
						true });
}

ssize_t ofi_rdm_tinjectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			    fi_addr_t addr, uint64_t tag)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return msg_send_any(ofi_rdm(fid), &(struct send){ &iov, 1, addr, tag, data, NULL,
							  FI_INJECT | FI_REMOTE_CQ_DATA, true });
}

ssize_t ofi_rdm_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t addr, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	(void)desc;
	return msg_send_any(ep, &(struct send){ iov, count, addr, 0, 0, context,
						ofi_rdm_tx_flags(ep, TX_FLAGS), false });
}

ssize_t ofi_rdm_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	return msg_send_any(ep,
			    &(struct send){ msg->msg_iov, msg->iov_count, msg->addr, 0, msg->data,
					    msg->context, ofi_rdm_msg_flags(ep, flags), false });
}

ssize_t ofi_rdm_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc, uint64_t data,
			 fi_addr_t addr, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	(void)desc;
	return msg_send_any(ep, &(struct send){ &iov, 1, addr, 0, data, context,
						ofi_rdm_tx_flags(ep, TX_FLAGS) | FI_REMOTE_CQ_DATA,
						false });
}

ssize_t ofi_rdm_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			   fi_addr_t addr)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return msg_send_any(ofi_rdm(fid), &(struct send){ &iov, 1, addr, 0, data, NULL,
							  FI_INJECT | FI_REMOTE_CQ_DATA, false });
}

ssize_t ofi_rdm_send_work(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			  bool tagged, uint64_t mark, bool only_check)
{
	const struct send send = { msg->msg_iov, msg->iov_count, msg->addr, msg->tag, msg->data,
				   msg->context, flags,		 tagged,    mark };
	size_t total;

	return only_check ? msg_check(ep, &send, &total) : msg_send_any(ep, &send);
}

void ofi_rdm_set_modes(struct ofi_rdm_ep *ep)
{
	const struct ofi_rdm_xport_ops *ops = ep->proto.xport.ops;

	ep->tx_op_flags &= TX_FLAGS & ~(FI_REMOTE_CQ_DATA | FI_MORE);
	if (ops->modes)
		ops->modes(ep, ofi_rdm_tx_flags(ep, TX_FLAGS));
	ofi_rdm_set_recv_modes(ep);
}

static ssize_t send_one(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
			void *context)
{
	(void)desc;
	return ofi_rdm_send_one(ofi_rdm(fid), buf, len, addr, 0, context, false);
}

static ssize_t tsend_one(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t addr, uint64_t tag, void *context)
{
	(void)desc;
	return ofi_rdm_send_one(ofi_rdm(fid), buf, len, addr, tag, context, true);
}

static ssize_t inject_one(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return ofi_rdm_inject_one(ofi_rdm(fid), buf, len, addr, 0, false);
}

static ssize_t tinject_one(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			   uint64_t tag)
{
	return ofi_rdm_inject_one(ofi_rdm(fid), buf, len, addr, tag, true);
}

static const struct fi_ops_msg msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	OFI_MSG_DEFAULTS,
	OFI_RDM_MSG_CALLS,
	.recv = ofi_rdm_recv,
	.send = send_one,
	.inject = inject_one,
};

static const struct fi_ops_tagged tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	OFI_TAGGED_DEFAULTS,
	OFI_RDM_TAGGED_CALLS,
	.recv = ofi_rdm_trecv,
	.send = tsend_one,
	.inject = tinject_one,
};

static const struct fi_ops_msg msg_nolock_ops = {
	.size = sizeof(struct fi_ops_msg),
	OFI_MSG_DEFAULTS,
	OFI_RDM_MSG_CALLS,
	.recv = ofi_rdm_recv_nolock,
	.send = send_one,
	.inject = inject_one,
};

static const struct fi_ops_tagged tagged_nolock_ops = {
	.size = sizeof(struct fi_ops_tagged),
	OFI_TAGGED_DEFAULTS,
	OFI_RDM_TAGGED_CALLS,
	.recv = ofi_rdm_trecv_nolock,
	.send = tsend_one,
	.inject = tinject_one,
};

const struct ofi_rdm_calls ofi_rdm_calls = { &msg_ops, &tagged_ops, &ofi_rdm_rma_ops };
const struct ofi_rdm_calls ofi_rdm_nolock_calls = { &msg_nolock_ops, &tagged_nolock_ops,
						    &ofi_rdm_rma_ops };
