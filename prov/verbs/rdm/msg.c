/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages and tagged messages: the calls of fi_msg and fi_tagged. */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "carry.h"
#include "conn.h"
#include "cq.h"
#include "link.h"
#include "msg.h"
#include "peer.h"
#include "progress.h"

#define TX_FLAGS                                                                                   \
	(FI_INJECT | FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_MORE | FI_FENCE | FI_INJECT_COMPLETE | \
	 FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
#define RX_FLAGS    (FI_COMPLETION | FI_MORE)
#define PROBE_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)

struct send {
	const struct iovec *iov;
	size_t count;
	fi_addr_t addr;
	uint64_t tag, data;
	void *context;
	uint64_t flags; /* of the call, FI_COMPLETION where an entry is wanted */
	bool tagged;
};

/* The default flags of a call that has none, where FI_COMPLETION says whether there will be an entry. */
static uint64_t tx_flags(const struct vrb_rdm *ep)
{
	return ep->tx_op_flags | (ep->tx_selective ? 0 : FI_COMPLETION);
}

static uint8_t level_of(uint64_t flags)
{
	if (flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE))
		return VRB_PROTO_DELIVERY;
	if ((flags & (FI_INJECT_COMPLETE | FI_INJECT)) && !(flags & FI_COMPLETION))
		return VRB_PROTO_INJECT;
	return VRB_PROTO_TRANSMIT;
}

static ssize_t total_of(const struct vrb_rdm *ep, const struct send *send, size_t *total)
{
	size_t i;

	*total = 0;
	if (send->count > VRB_PROTO_IOV || (send->count && !send->iov))
		return -FI_EINVAL;
	for (i = 0; i < send->count; i++) {
		if (!send->iov[i].iov_base && send->iov[i].iov_len)
			return -FI_EINVAL;
		if (__builtin_add_overflow(*total, send->iov[i].iov_len, total))
			return -FI_EMSGSIZE;
	}
	return (send->flags & FI_INJECT) && *total > ep->inject_size ? -FI_EMSGSIZE : 0;
}

/* The application's buffer is its own again at return: the data waits in a copy. */
static bool copy_data(struct vrb_rdm_out *out, size_t total)
{
	struct vrb_proto_out *proto = &out->proto;
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

static void fill_out(struct vrb_rdm_out *out, const struct send *send)
{
	struct vrb_proto_out *proto = &out->proto;

	proto->flags = (uint8_t)((send->tagged ? VRB_WIRE_TAGGED : 0) |
				 (send->flags & FI_REMOTE_CQ_DATA ? VRB_WIRE_DATA : 0));
	proto->level = level_of(send->flags);
	proto->fence = send->flags & FI_FENCE;
	proto->tag = send->tag;
	proto->data = send->flags & FI_REMOTE_CQ_DATA ? send->data : 0;
	proto->context = send->context;
	proto->count = (uint8_t)send->count;
	memcpy(proto->iov, send->iov, send->count * sizeof(*send->iov));
	out->flags = FI_SEND | (send->tagged ? FI_TAGGED : FI_MSG) |
		     (send->flags & FI_COMPLETION ? 0 : VRB_SILENT);
}

/* With the lock held. */
static ssize_t queue(struct vrb_rdm *ep, struct vrb_rdm_peer *peer, const struct send *send,
		     size_t total)
{
	struct vrb_rdm_out *out = vrb_rdm_out_get(ep);
	int ret;

	if (!out)
		return -FI_EAGAIN;
	fill_out(out, send);
	if ((send->flags & FI_INJECT) && !copy_data(out, total)) {
		vrb_rdm_out_put(ep, out);
		return -FI_EAGAIN;
	}
	ret = vrb_rdm_conn_ready(peer) ? 0 : vrb_rdm_conn_want(peer);
	if (ret) {
		vrb_rdm_out_put(ep, out);
		return ret;
	}
	vrb_proto_send(&peer->proto, &out->proto);
	return 0;
}

static ssize_t send_any(struct vrb_rdm *ep, const struct send *send)
{
	struct vrb_rdm_peer *peer;
	size_t total;
	ssize_t ret;
	int err;

	if (send->flags & ~TX_FLAGS)
		return -FI_EBADFLAGS;
	ret = total_of(ep, send, &total);
	if (ret)
		return ret;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	ofi_lock(&ep->lock);
	peer = vrb_rdm_peer_of(ep, send->addr, &err);
	ret = peer ? queue(ep, peer, send, total) : err;
	ofi_unlock(&ep->lock);
	return ret;
}

/* A small tagged message when nothing is in its way; otherwise false, and nothing was done. */
static inline bool send_plain(struct vrb_rdm *ep, const void *buf, size_t len, fi_addr_t addr,
			      uint64_t tag, void *context, uint64_t flags)
{
	struct vrb_rdm_peer *peer;
	bool sent = false;

	ofi_lock(&ep->lock);
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (peer && vrb_proto_may_bypass(&peer->proto, len)) {
		ep->plain.tag = htole64(tag);
		ep->sge[1].addr = (uintptr_t)buf;
		ep->sge[1].length = (uint32_t)len;
		ep->wr.send_flags = IBV_SEND_INLINE;
		sent = !vrb_rdm_link_post(peer->link, &ep->wr, flags, context, NULL);
		if (sent)
			vrb_flow_take(&peer->proto.flow);
	}
	ofi_unlock(&ep->lock);
	return sent;
}

static ssize_t rdm_tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			 fi_addr_t addr, uint64_t tag, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct vrb_rdm *ep = vrb_rdm(fid);
	const struct send send = { &iov, 1, addr, tag, 0, context, tx_flags(ep), true };

	(void)desc;
	if (len < ep->plain_end && buf &&
	    send_plain(ep, buf, len, addr, tag, context, ep->plain_flags))
		return 0;
	return send_any(ep, &send);
}

static ssize_t rdm_tsendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t addr, uint64_t tag, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);
	const struct send send = { iov, count, addr, tag, 0, context, tx_flags(ep), true };

	(void)desc;
	return send_any(ep, &send);
}

/* The default operation flags don't apply, but without selective completion there is always an entry. */
static uint64_t msg_flags(const struct vrb_rdm *ep, uint64_t flags)
{
	return flags | (ep->tx_selective ? 0 : FI_COMPLETION);
}

static ssize_t rdm_tsendmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	return send_any(ep, &(struct send){ msg->msg_iov, msg->iov_count, msg->addr, msg->tag,
					    msg->data, msg->context, msg_flags(ep, flags), true });
}

static ssize_t rdm_tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			   uint64_t tag)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (len <= ep->inline_max && buf &&
	    send_plain(ep, buf, len, addr, tag, NULL, FI_TAGGED | FI_SEND | VRB_SILENT))
		return 0;
	return send_any(ep, &(struct send){ &iov, 1, addr, tag, 0, NULL, FI_INJECT, true });
}

static ssize_t rdm_tsenddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     uint64_t data, fi_addr_t addr, uint64_t tag, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return send_any(ep, &(struct send){ &iov, 1, addr, tag, data, context,
					    tx_flags(ep) | FI_REMOTE_CQ_DATA, true });
}

static ssize_t rdm_tinjectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			       fi_addr_t addr, uint64_t tag)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return send_any(vrb_rdm(fid), &(struct send){ &iov, 1, addr, tag, data, NULL,
						      FI_INJECT | FI_REMOTE_CQ_DATA, true });
}

static ssize_t rdm_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
			void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return send_any(ep, &(struct send){ &iov, 1, addr, 0, 0, context, tx_flags(ep), false });
}

static ssize_t rdm_sendv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t addr, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return send_any(ep, &(struct send){ iov, count, addr, 0, 0, context, tx_flags(ep), false });
}

static ssize_t rdm_sendmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	return send_any(ep, &(struct send){ msg->msg_iov, msg->iov_count, msg->addr, 0, msg->data,
					    msg->context, msg_flags(ep, flags), false });
}

static ssize_t rdm_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return send_any(vrb_rdm(fid),
			&(struct send){ &iov, 1, addr, 0, 0, NULL, FI_INJECT, false });
}

static ssize_t rdm_senddata(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    uint64_t data, fi_addr_t addr, void *context)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return send_any(ep, &(struct send){ &iov, 1, addr, 0, data, context,
					    tx_flags(ep) | FI_REMOTE_CQ_DATA, false });
}

static ssize_t rdm_injectdata(struct fid_ep *fid, const void *buf, size_t len, uint64_t data,
			      fi_addr_t addr)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return send_any(vrb_rdm(fid), &(struct send){ &iov, 1, addr, 0, data, NULL,
						      FI_INJECT | FI_REMOTE_CQ_DATA, false });
}

struct receive {
	const struct iovec *iov;
	size_t count;
	fi_addr_t addr;
	uint64_t tag, ignore;
	void *context;
	uint64_t flags; /* FI_COMPLETION where an entry is wanted */
	bool tagged;
};

static uint64_t rx_flags(const struct vrb_rdm *ep)
{
	return ep->rx_op_flags | (ep->rx_selective ? 0 : FI_COMPLETION);
}

/* The peer's number, or any. With the lock held. */
static int source_of(struct vrb_rdm *ep, fi_addr_t addr, uint32_t *src)
{
	struct vrb_rdm_peer *peer;
	int err;

	*src = VRB_MATCH_ANY;
	if (addr == FI_ADDR_UNSPEC || !(ep->info->rx_attr->caps & FI_DIRECTED_RECV))
		return 0;
	peer = vrb_rdm_peer_of(ep, addr, &err);
	if (!peer)
		return err;
	*src = peer->proto.src;
	return 0;
}

static void fill_recv(struct vrb_rdm *ep, struct vrb_rdm_recv *recv, const struct receive *receive)
{
	struct vrb_proto_recv *proto = &recv->proto;

	proto->match.context = receive->context;
	proto->match.sticky = receive->flags & FI_MULTI_RECV;
	proto->count = (uint8_t)receive->count;
	memcpy(proto->iov, receive->iov, receive->count * sizeof(*receive->iov));
	proto->space = receive->tagged ? VRB_PROTO_TAGGED : VRB_PROTO_UNTAGGED;
	proto->min_free = ep->min_multi_recv;
	recv->flags = FI_RECV | (receive->tagged ? FI_TAGGED : FI_MSG) |
		      (receive->flags & FI_MULTI_RECV) |
		      (receive->flags & FI_COMPLETION ? 0 : VRB_SILENT);
}

/* With the lock held. */
static ssize_t post(struct vrb_rdm *ep, const struct receive *receive)
{
	struct vrb_rdm_recv *recv;
	uint32_t src;
	int ret;

	ret = source_of(ep, receive->addr, &src);
	if (ret)
		return ret;
	recv = vrb_rdm_recv_get(ep);
	if (!recv)
		return -FI_EAGAIN;
	fill_recv(ep, recv, receive);
	vrb_proto_recv_post(&ep->proto, &recv->proto, src, receive->tag, receive->ignore);
	return 0;
}

static ssize_t receive_any(struct vrb_rdm *ep, const struct receive *receive, uint64_t allowed)
{
	size_t i;
	ssize_t ret;

	if (receive->flags & ~allowed)
		return -FI_EBADFLAGS;
	if (receive->count > VRB_PROTO_IOV || (receive->count && !receive->iov))
		return -FI_EINVAL;
	for (i = 0; i < receive->count; i++)
		if (!receive->iov[i].iov_base && receive->iov[i].iov_len)
			return -FI_EINVAL;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	ofi_lock(&ep->lock);
	ret = post(ep, receive);
	ofi_unlock(&ep->lock);
	return ret;
}

static ssize_t rdm_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			 uint64_t tag, uint64_t ignore, void *context)
{
	struct iovec iov = { buf, len };
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return receive_any(
		ep, &(struct receive){ &iov, 1, addr, tag, ignore, context, rx_flags(ep), true },
		RX_FLAGS);
}

static ssize_t rdm_trecvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			  fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return receive_any(
		ep, &(struct receive){ iov, count, addr, tag, ignore, context, rx_flags(ep), true },
		RX_FLAGS);
}

/* What FI_PEEK found, or that there is nothing. */
static void report_probe(struct vrb_rdm *ep, const struct vrb_proto_in *in,
			 const struct fi_msg_tagged *msg)
{
	struct ofi_cq_item item = {
		.context = msg->context,
		.flags = FI_TAGGED | FI_RECV,
		.tag = msg->tag,
	};

	if (in) {
		item.len = in->total;
		item.tag = in->packet.tag;
		item.data = in->packet.data;
		item.src = vrb_rdm_peer_source((struct vrb_rdm_peer *)in->peer);
		if (in->packet.flags & VRB_WIRE_DATA)
			item.flags |= FI_REMOTE_CQ_DATA;
	} else {
		item.err = FI_ENOMSG;
		item.olen = 0;
	}
	vrb_rdm_cq_put(ep->rx_cq, &item);
}

/* With the lock held. */
static ssize_t peek(struct vrb_rdm *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct vrb_proto_in *in;
	uint32_t src;
	int ret;

	ret = source_of(ep, msg->addr, &src);
	if (ret)
		return ret;
	in = vrb_proto_peek(&ep->proto, true, src, msg->tag, msg->ignore);
	report_probe(ep, in, msg);
	if (in && (flags & FI_CLAIM))
		vrb_match_claim(&ep->proto.match[1], &in->match, msg->context);
	else if (in && (flags & FI_DISCARD))
		vrb_proto_discard(in);
	return 0;
}

/* With the lock held: the message that an earlier FI_PEEK | FI_CLAIM found. */
static ssize_t take_claimed(struct vrb_rdm *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct receive receive = {
		msg->msg_iov, msg->iov_count,	     msg->addr, msg->tag, msg->ignore,
		msg->context, flags & FI_COMPLETION, true
	};
	struct ofi_cq_item item = { .context = msg->context,
				    .flags = FI_TAGGED | FI_RECV,
				    .src = FI_ADDR_NOTAVAIL };
	struct vrb_rdm_recv *recv;

	if (flags & FI_DISCARD) {
		if (!vrb_proto_discard_claimed(&ep->proto, true, msg->context))
			return -FI_EINVAL;
		vrb_rdm_cq_put(ep->rx_cq, &item);
		return 0;
	}
	recv = vrb_rdm_recv_get(ep);
	if (!recv)
		return -FI_EAGAIN;
	fill_recv(ep, recv, &receive);
	if (vrb_proto_recv_claimed(&ep->proto, &recv->proto, msg->context))
		return 0;
	vrb_rdm_recv_put(ep, recv);
	return -FI_EINVAL;
}

static bool is_probe(uint64_t flags)
{
	return flags == FI_PEEK || flags == (FI_PEEK | FI_CLAIM) ||
	       flags == (FI_PEEK | FI_DISCARD) || flags == FI_CLAIM ||
	       flags == (FI_CLAIM | FI_DISCARD);
}

static ssize_t probe(struct vrb_rdm *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	ssize_t ret;

	if ((flags & ~(RX_FLAGS | PROBE_FLAGS)) || !is_probe(flags & PROBE_FLAGS))
		return -FI_EBADFLAGS;
	if (msg->iov_count > VRB_PROTO_IOV || (msg->iov_count && !msg->msg_iov))
		return -FI_EINVAL;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	vrb_rdm_progress(ep);
	ofi_lock(&ep->lock);
	ret = flags & FI_PEEK ? peek(ep, msg, flags) : take_claimed(ep, msg, flags);
	ofi_unlock(&ep->lock);
	return ret;
}

static ssize_t rdm_trecvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	flags |= ep->rx_selective ? 0 : FI_COMPLETION;
	if (flags & PROBE_FLAGS)
		return probe(ep, msg, flags);
	return receive_any(ep,
			   &(struct receive){ msg->msg_iov, msg->iov_count, msg->addr, msg->tag,
					      msg->ignore, msg->context, flags, true },
			   RX_FLAGS);
}

static ssize_t rdm_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			void *context)
{
	struct iovec iov = { buf, len };
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return receive_any(ep,
			   &(struct receive){ &iov, 1, addr, 0, 0, context, rx_flags(ep), false },
			   RX_FLAGS | FI_MULTI_RECV);
}

static ssize_t rdm_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
			 fi_addr_t addr, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	return receive_any(
		ep, &(struct receive){ iov, count, addr, 0, 0, context, rx_flags(ep), false },
		RX_FLAGS | FI_MULTI_RECV);
}

static ssize_t rdm_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (!msg || ((flags & FI_MULTI_RECV) && msg->iov_count != 1))
		return -FI_EINVAL;
	flags |= ep->rx_selective ? 0 : FI_COMPLETION;
	return receive_any(ep,
			   &(struct receive){ msg->msg_iov, msg->iov_count, msg->addr, 0, 0,
					      msg->context, flags, false },
			   RX_FLAGS | FI_MULTI_RECV);
}

void vrb_rdm_set_modes(struct vrb_rdm *ep)
{
	uint64_t flags;

	ep->tx_op_flags &= TX_FLAGS & ~(FI_REMOTE_CQ_DATA | FI_MORE);
	ep->rx_op_flags &= (RX_FLAGS | FI_MULTI_RECV) & ~FI_MORE;
	flags = tx_flags(ep);
	ep->plain_flags = FI_TAGGED | FI_SEND | (flags & FI_COMPLETION ? 0 : VRB_SILENT);
	ep->plain_end = flags & (FI_FENCE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
				? 0
				: ep->inline_max + 1;
}

struct fi_ops_msg vrb_rdm_msg_ops = {
	.size = sizeof(struct fi_ops_msg),
	.recv = rdm_recv,
	.recvv = rdm_recvv,
	.recvmsg = rdm_recvmsg,
	.send = rdm_send,
	.sendv = rdm_sendv,
	.sendmsg = rdm_sendmsg,
	.inject = rdm_inject,
	.senddata = rdm_senddata,
	.injectdata = rdm_injectdata,
};

struct fi_ops_tagged vrb_rdm_tagged_ops = {
	.size = sizeof(struct fi_ops_tagged),
	.recv = rdm_trecv,
	.recvv = rdm_trecvv,
	.recvmsg = rdm_trecvmsg,
	.send = rdm_tsend,
	.sendv = rdm_tsendv,
	.sendmsg = rdm_tsendmsg,
	.inject = rdm_tinject,
	.senddata = rdm_tsenddata,
	.injectdata = rdm_tinjectdata,
};
