/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receives: the fi_msg and fi_tagged calls that post, peek and claim. */
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "proto_ops.h"
#include "cq.h"
#include "lock.h"
#include "peer.h"
#include "calls.h"
#include "complete.h"
#include "msg.h"
#include "work.h"

#define RX_FLAGS    (FI_COMPLETION | FI_MORE)
#define PROBE_FLAGS (FI_PEEK | FI_CLAIM | FI_DISCARD)

struct receive {
	const struct iovec *iov;
	size_t count;
	fi_addr_t addr;
	uint64_t tag, ignore;
	void *context;
	uint64_t flags; /* FI_COMPLETION if a CQ entry is wanted */
	bool tagged;
	uint64_t mark; /* OFI_RDM_DEFERRED, or 0 */
};

static uint64_t rx_flags(const struct ofi_rdm_ep *ep)
{
	return ep->rx_op_flags | (ep->rx_selective ? 0 : FI_COMPLETION);
}

/* FI_MULTI_RECV applies to untagged receives only. */
static uint64_t tagged_flags(const struct ofi_rdm_ep *ep)
{
	return rx_flags(ep) & ~FI_MULTI_RECV;
}

int ofi_rdm_recv_source(struct ofi_rdm_ep *ep, fi_addr_t addr, uint32_t *src)
{
	struct ofi_rdm_peer *peer;
	int err;

	*src = OFI_RDM_MATCH_ANY;
	if (addr == FI_ADDR_UNSPEC || !(ep->info->rx_attr->caps & FI_DIRECTED_RECV))
		return 0;
	peer = ofi_rdm_peer_of(ep, addr, &err);
	if (!peer)
		return err;
	*src = peer->proto.src;
	return 0;
}

/* A NULL buffer has no room: only messages of length 0 fit. */
static void fill_recv(struct ofi_rdm_ep *ep, struct ofi_rdm_recv *recv,
		      const struct receive *receive)
{
	struct ofi_rdm_proto_recv *proto = &recv->proto;
	size_t i;

	proto->match.context = receive->context;
	proto->match.sticky = receive->flags & FI_MULTI_RECV;
	proto->count = (uint8_t)receive->count;
	for (i = 0; i < receive->count; i++) {
		proto->iov[i] = receive->iov[i];
		if (!proto->iov[i].iov_base)
			proto->iov[i].iov_len = 0;
	}
	proto->min_free = __atomic_load_n(&ep->min_multi_recv, __ATOMIC_RELAXED);
	recv->flags = FI_RECV | (receive->tagged ? FI_TAGGED : FI_MSG) |
		      (receive->flags & FI_MULTI_RECV) |
		      (receive->flags & FI_COMPLETION ? 0 : OFI_RDM_RECV_SILENT) | receive->mark;
	if (ep->counts || ep->source_err || receive->count != 1 ||
	    recv->flags & (FI_MULTI_RECV | OFI_RDM_RECV_SILENT))
		recv->flags |= OFI_RDM_RECV_SLOW;
}

/* Posts a receive. The caller holds the lock. */
static ssize_t recv_post(struct ofi_rdm_ep *ep, const struct receive *receive)
{
	struct ofi_rdm_recv *recv;
	uint32_t src;
	int ret;

	ret = ofi_rdm_recv_source(ep, receive->addr, &src);
	if (ret)
		return ret;
	recv = ofi_rdm_recv_get(ep, receive->tagged);
	if (!recv)
		return -FI_EAGAIN;
	fill_recv(ep, recv, receive);
	ofi_rdm_proto_recv_post(&ep->proto, &recv->proto, src, receive->tag, receive->ignore);
	return 0;
}

static OFI_OUTLINE ssize_t recv_trigger(struct ofi_rdm_ep *ep, const struct receive *receive)
{
	const struct fi_msg_tagged msg = {
		.msg_iov = receive->iov,
		.iov_count = receive->count,
		.addr = receive->addr,
		.tag = receive->tag,
		.ignore = receive->ignore,
		.context = receive->context,
	};

	return ofi_rdm_trigger_msg(ep, receive->tagged ? FI_OP_TRECV : FI_OP_RECV, &msg,
				   receive->flags);
}

static inline bool is_bad(const struct iovec *iov, size_t count)
{
	return count > OFI_RDM_PROTO_IOV || (count && !iov);
}

static inline ssize_t recv_check(const struct ofi_rdm_ep *ep, const struct receive *receive,
				 uint64_t allowed)
{
	if (receive->flags & ~allowed)
		return -FI_EBADFLAGS;
	if (is_bad(receive->iov, receive->count) ||
	    ((receive->flags & FI_MULTI_RECV) && receive->count != 1))
		return -FI_EINVAL;
	return ep->enabled ? 0 : -FI_EOPBADSTATE;
}

static ssize_t receive_any(struct ofi_rdm_ep *ep, const struct receive *receive, uint64_t allowed)
{
	ssize_t ret = recv_check(ep, receive, allowed);

	if (ofi_unlikely(ret))
		return ret == -FI_EBADFLAGS ? recv_trigger(ep, receive) : ret;
	ofi_rdm_lock(ep);
	ret = recv_post(ep, receive);
	ofi_rdm_unlock(ep);
	return ret;
}

/*
 * Slow path. These functions are called last by functions with the same arguments. They are not
 * static so that the compiler keeps the arguments in their registers.
 */
OFI_OUTLINE ssize_t ofi_rdm_trecv_any(struct fid_ep *fid, void *buf, size_t len, void *desc,
				      fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	struct iovec iov = { buf, len };

	(void)desc;
	return receive_any(
		ep,
		&(struct receive){ &iov, 1, addr, tag, ignore, context, tagged_flags(ep), true },
		RX_FLAGS);
}

OFI_OUTLINE ssize_t ofi_rdm_recv_any(struct fid_ep *fid, void *buf, size_t len, void *desc,
				     fi_addr_t addr, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	struct iovec iov = { buf, len };

	(void)desc;
	return receive_any(ep,
			   &(struct receive){ &iov, 1, addr, 0, 0, context, rx_flags(ep), false },
			   RX_FLAGS | FI_MULTI_RECV);
}

ssize_t ofi_rdm_trecvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		       fi_addr_t addr, uint64_t tag, uint64_t ignore, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	(void)desc;
	return receive_any(
		ep,
		&(struct receive){ iov, count, addr, tag, ignore, context, tagged_flags(ep), true },
		RX_FLAGS);
}

/* Reports the message that FI_PEEK found, or that there is none. */
static void report_probe(struct ofi_rdm_ep *ep, const struct ofi_rdm_proto_in *in,
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
		item.src = ofi_rdm_peer_source((struct ofi_rdm_peer *)in->peer);
		if (in->packet.flags & OFI_RDM_WIRE_DATA)
			item.flags |= FI_REMOTE_CQ_DATA;
	} else {
		item.err = FI_ENOMSG;
		item.olen = 0;
	}
	ofi_rdm_cq_put(ep->rx_cq, &item);
}

/* The caller holds the lock. */
static ssize_t peek(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct ofi_rdm_proto_in *in;
	uint32_t src;
	int ret;

	ret = ofi_rdm_recv_source(ep, msg->addr, &src);
	if (ret)
		return ret;
	in = ofi_rdm_proto_peek(&ep->proto, true, src, msg->tag, msg->ignore);
	report_probe(ep, in, msg);
	if (in && (flags & FI_CLAIM))
		ofi_rdm_match_claim(&ep->proto.match[1], &in->match, msg->context);
	else if (in && (flags & FI_DISCARD))
		ofi_rdm_proto_discard(in);
	return 0;
}

/* The caller holds the lock. */
static ssize_t discard_claimed(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg)
{
	struct ofi_cq_item item = { .context = msg->context,
				    .flags = FI_TAGGED | FI_RECV,
				    .src = FI_ADDR_NOTAVAIL };

	if (!ofi_rdm_proto_discard_claimed(&ep->proto, true, msg->context, &item.tag))
		return -FI_EINVAL;
	ofi_rdm_cq_put(ep->rx_cq, &item);
	return 0;
}

/* Receives the message that an earlier FI_PEEK | FI_CLAIM found. The caller holds the lock. */
static ssize_t take_claimed(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct receive receive = {
		msg->msg_iov, msg->iov_count,	     msg->addr, msg->tag, msg->ignore,
		msg->context, flags & FI_COMPLETION, true
	};
	struct ofi_rdm_recv *recv;

	if (flags & FI_DISCARD)
		return discard_claimed(ep, msg);
	recv = ofi_rdm_recv_get(ep, true);
	if (!recv)
		return -FI_EAGAIN;
	fill_recv(ep, recv, &receive);
	if (ofi_rdm_proto_recv_claimed(&ep->proto, &recv->proto, msg->context))
		return 0;
	ofi_rdm_recv_put(ep, recv);
	return -FI_EINVAL;
}

/*
 * Returns true if a NULL buffer would have to take bytes of a claimed message, which is a caller's
 * error.
 */
static bool lacks_buffer(const struct iovec *iov, size_t count)
{
	while (count--)
		if (!iov[count].iov_base && iov[count].iov_len)
			return true;
	return false;
}

static bool is_probe(uint64_t flags)
{
	return flags == FI_PEEK || flags == (FI_PEEK | FI_CLAIM) ||
	       flags == (FI_PEEK | FI_DISCARD) || flags == FI_CLAIM ||
	       flags == (FI_CLAIM | FI_DISCARD);
}

static ssize_t probe(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	ssize_t ret;

	if ((flags & ~(RX_FLAGS | PROBE_FLAGS)) || !is_probe(flags & PROBE_FLAGS))
		return -FI_EBADFLAGS;
	if (!(flags & (FI_PEEK | FI_DISCARD)) &&
	    (is_bad(msg->msg_iov, msg->iov_count) || lacks_buffer(msg->msg_iov, msg->iov_count)))
		return -FI_EINVAL;
	if (!ep->enabled)
		return -FI_EOPBADSTATE;
	if (!ep->rx_cq)
		return -FI_ENOCQ;
	ep->proto.xport.ops->progress(&ep->proto);
	ofi_rdm_lock(ep);
	ret = flags & FI_PEEK ? peek(ep, msg, flags) : take_claimed(ep, msg, flags);
	ofi_rdm_unlock(ep);
	return ret;
}

ssize_t ofi_rdm_trecvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	flags |= ep->rx_selective ? 0 : FI_COMPLETION;
	if (flags & PROBE_FLAGS)
		return probe(ep, msg, flags);
	return ofi_rdm_recv_work(ep, msg, flags, true, 0, false);
}

ssize_t ofi_rdm_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc, size_t count,
		      fi_addr_t addr, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	(void)desc;
	return receive_any(
		ep, &(struct receive){ iov, count, addr, 0, 0, context, rx_flags(ep), false },
		RX_FLAGS | FI_MULTI_RECV);
}

ssize_t ofi_rdm_recvmsg(struct fid_ep *fid, const struct fi_msg *msg, uint64_t flags)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (!msg)
		return -FI_EINVAL;
	flags |= ep->rx_selective ? 0 : FI_COMPLETION;
	return receive_any(ep,
			   &(struct receive){ msg->msg_iov, msg->iov_count, msg->addr, 0, 0,
					      msg->context, flags, false },
			   RX_FLAGS | FI_MULTI_RECV);
}

/* Deferred work completes once, so it takes only one message. */
ssize_t ofi_rdm_recv_work(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			  bool tagged, uint64_t mark, bool only_check)
{
	const struct receive receive = { msg->msg_iov, msg->iov_count, msg->addr,
					 msg->tag,     msg->ignore,    msg->context,
					 flags,	       tagged,	       mark };
	uint64_t allowed = RX_FLAGS | (tagged || mark ? 0 : FI_MULTI_RECV);

	return only_check ? recv_check(ep, &receive, allowed) : receive_any(ep, &receive, allowed);
}

void ofi_rdm_set_recv_modes(struct ofi_rdm_ep *ep)
{
	uint64_t flags;

	ep->source_err = ep->info->caps & FI_SOURCE_ERR;
	ep->rx_op_flags &= (RX_FLAGS | FI_MULTI_RECV) & ~FI_MORE;
	flags = FI_RECV | (rx_flags(ep) & FI_COMPLETION ? 0 : OFI_RDM_RECV_BITS);
	if (ep->counts || ep->source_err)
		flags |= OFI_RDM_RECV_SLOW;
	ep->recv_flags[false] = ep->rx_op_flags & FI_MULTI_RECV ? 0 : flags | FI_MSG;
	ep->recv_flags[true] = flags | FI_TAGGED;
}
