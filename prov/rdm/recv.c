/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receives: posting, peeking and claiming. */
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "prov/base/desc.h"
#include "alias.h"
#include "objects.h"
#include "cq.h"
#include "hmem.h"
#include "lock.h"
#include "peer.h"
#include "calls.h"
#include "msg.h"
#include "srx.h"
#include "work.h"

void ofi_rdm_set_sources(struct ofi_rdm_ep *ep, uint64_t caps)
{
	ep->any_source = caps & FI_EXACT_DIRECTED_RECV ? FI_ADDR_UNSPEC - 1 : FI_ADDR_UNSPEC;
	if (caps & (FI_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV))
		return;
	ep->undirected[false] = FI_ADDR_UNSPEC;
	ep->undirected[true] = caps & FI_TAGGED_DIRECTED_RECV ? 0 : FI_ADDR_UNSPEC;
}

int ofi_rdm_recv_source(struct ofi_rdm_ep *ep, fi_addr_t addr, bool tagged, uint32_t *src)
{
	struct ofi_rdm_peer *peer;
	int err;

	*src = OFI_RDM_MATCH_ANY;
	if ((addr | ep->undirected[tagged]) == ep->any_source)
		return 0;
	peer = ofi_rdm_peer_of(ep, addr, &err);
	if (!peer)
		return err;
	*src = peer->proto.src;
	return 0;
}

/* A NULL buffer has no room: only messages of length 0 fit. */
static void fill_recv(struct ofi_rdm_ep *ep, struct ofi_rdm_recv *recv,
		      const struct fi_msg_tagged *msg, uint64_t flags, bool tagged, uint64_t mark)
{
	struct ofi_rdm_proto_recv *proto = &recv->proto;
	size_t i;

	proto->match.context = msg->context;
	proto->match.sticky = flags & FI_MULTI_RECV;
	proto->count = (uint8_t)msg->iov_count;
	proto->desc = msg->iov_count == 1 ? ofi_desc_at(msg->desc, 0) : NULL;
	for (i = 0; i < msg->iov_count; i++) {
		proto->iov[i] = msg->msg_iov[i];
		if (!proto->iov[i].iov_base)
			proto->iov[i].iov_len = 0;
	}
	proto->min_free = __atomic_load_n(&ep->min_multi_recv, __ATOMIC_RELAXED);
	recv->flags = FI_RECV | (tagged ? FI_TAGGED : FI_MSG) | (flags & FI_MULTI_RECV) |
		      (flags & FI_COMPLETION ? 0 : OFI_RDM_RECV_SILENT) | mark;
	if (ep->counts || ep->source_err || ep->hmem || msg->iov_count != 1 ||
	    recv->flags & (FI_MULTI_RECV | OFI_RDM_RECV_SILENT))
		recv->flags |= OFI_RDM_RECV_SLOW;
}

/* Posts a receive. The caller holds the lock. */
static ssize_t recv_post(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			 bool tagged, uint64_t mark)
{
	struct ofi_rdm_recv *recv;
	uint32_t src;
	int ret;

	ret = ofi_rdm_recv_source(ep, msg->addr, tagged, &src);
	if (ret)
		return ret;
	recv = ofi_rdm_recv_get(ep, tagged);
	if (!recv)
		return -FI_EAGAIN;
	fill_recv(ep, recv, msg, flags, tagged, mark);
	ofi_rdm_proto_recv_post(&ep->proto, &recv->proto, src, msg->tag, msg->ignore);
	return 0;
}

static inline bool is_bad(const struct iovec *iov, size_t count)
{
	return count > OFI_RDM_PROTO_IOV || (count && !iov);
}

/* Returns the reason why no receive can be posted. */
static OFI_OUTLINE ssize_t not_receiving(const struct ofi_rdm_ep *ep)
{
	return ep->enabled & OFI_RDM_RX ? -FI_ENOSYS : ofi_rdm_not_enabled(ep);
}

static inline ssize_t check_memory(const struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg)
{
	return ofi_rdm_check_copy(ep, "fi_recv", msg->msg_iov, msg->desc, msg->iov_count);
}

static inline ssize_t recv_check(const struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg,
				 uint64_t flags, uint64_t allowed)
{
	if (flags & ~allowed)
		return -FI_EBADFLAGS;
	if (is_bad(msg->msg_iov, msg->iov_count) ||
	    ((flags & FI_MULTI_RECV) && msg->iov_count != 1))
		return -FI_EINVAL;
	if (!ep->receives)
		return not_receiving(ep);
	return check_memory(ep, msg);
}

/* Deferred work completes once, so it takes only one message. */
ssize_t ofi_rdm_recv_work(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags,
			  bool tagged, uint64_t mark, bool only_check)
{
	bool takes_many = !mark && (!tagged || ep->info->rx_attr->caps & FI_TAGGED_MULTI_RECV);
	uint64_t allowed = OFI_RX_FLAGS | (takes_many ? FI_MULTI_RECV : 0);
	ssize_t ret = recv_check(ep, msg, flags, allowed);

	if (ofi_unlikely(ret == -FI_EBADFLAGS && !only_check))
		return ofi_rdm_trigger(ep, &(struct ofi_call){ tagged ? FI_OP_TRECV : FI_OP_RECV,
							       flags, .msg = *msg });
	if (ofi_unlikely(ret || only_check))
		return ret;
	ofi_rdm_lock(ep);
	ret = recv_post(ep, msg, flags, tagged, mark);
	ofi_rdm_unlock(ep);
	return ret;
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
	const struct ofi_rdm_ep *to = ofi_rdm_srx_reporter(ep);

	if (in) {
		if (((struct ofi_rdm_peer *)in->peer)->ep->rx_cq)
			to = ((struct ofi_rdm_peer *)in->peer)->ep;
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
	ofi_rdm_cq_put(to->rx_cq, &item);
}

/* The caller holds the lock. */
static ssize_t recv_peek(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct ofi_rdm_proto_in *in;
	uint32_t src;
	int ret;

	ret = ofi_rdm_recv_source(ep, msg->addr, true, &src);
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
	ofi_rdm_cq_put(ofi_rdm_srx_reporter(ep)->rx_cq, &item);
	return 0;
}

/* Receives the message that an earlier FI_PEEK | FI_CLAIM found. The caller holds the lock. */
static ssize_t take_claimed(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	struct ofi_rdm_recv *recv;

	if (flags & FI_DISCARD)
		return discard_claimed(ep, msg);
	recv = ofi_rdm_recv_get(ep, true);
	if (!recv)
		return -FI_EAGAIN;
	fill_recv(ep, recv, msg, flags & FI_COMPLETION, true, 0);
	if (ofi_rdm_proto_recv_claimed(&ep->proto, &recv->proto, msg->context))
		return 0;
	ofi_rdm_recv_put(ep, recv);
	return -FI_EINVAL;
}

static bool is_probe(uint64_t flags)
{
	return flags == FI_PEEK || flags == (FI_PEEK | FI_CLAIM) ||
	       flags == (FI_PEEK | FI_DISCARD) || flags == FI_CLAIM ||
	       flags == (FI_CLAIM | FI_DISCARD);
}

/* Makes progress on the endpoint, or on all endpoints of a shared receive context. */
static void probe_progress(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_ep *member;

	if (!ep->is_srx) {
		ep->proto.xport.ops->progress(&ep->proto);
		return;
	}
	ofi_rdm_lock(ep);
	LIST_FOREACH (member, &ep->members, srx_link)
		if (member->enabled)
			member->proto.xport.ops->poll(&member->proto);
	ofi_rdm_unlock(ep);
}

ssize_t ofi_rdm_recv_probe(struct ofi_rdm_ep *ep, const struct fi_msg_tagged *msg, uint64_t flags)
{
	bool takes = !(flags & (FI_PEEK | FI_DISCARD));
	const struct ofi_rdm_ep *to;
	size_t total;
	ssize_t ret;

	if ((flags & ~(OFI_RX_FLAGS | OFI_RDM_PROBE_FLAGS)) ||
	    !is_probe(flags & OFI_RDM_PROBE_FLAGS))
		return -FI_EBADFLAGS;
	/* A NULL buffer that would have to take bytes of a claimed message is an error. */
	if (takes && ofi_rdm_iov_total(msg->msg_iov, msg->iov_count, &total) == -FI_EINVAL)
		return -FI_EINVAL;
	if (!ep->receives)
		return not_receiving(ep);
	if (takes && check_memory(ep, msg))
		return -FI_EOPNOTSUPP;
	probe_progress(ep);
	ofi_rdm_lock(ep);
	to = ofi_rdm_srx_reporter(ep);
	if (!to || !to->rx_cq)
		ret = -FI_ENOCQ;
	else
		ret = flags & FI_PEEK ? recv_peek(ep, msg, flags) : take_claimed(ep, msg, flags);
	ofi_rdm_unlock(ep);
	return ret;
}

void ofi_rdm_recvs_stop(struct ofi_rdm_ep *ep)
{
	ep->receives = false;
	ofi_rdm_proto_cancel_all(&ep->proto);
}

/* The fast path checks nothing, so it must find no free receive from now on. */
void ofi_rdm_recvs_lost(struct ofi_rdm_ep *ep, int err)
{
	ep->dead = err;
	ofi_rdm_recvs_stop(ep);
	ofi_rdm_recvs_drop(ep);
}

void ofi_rdm_set_recv_modes(struct ofi_rdm_ep *ep)
{
	uint64_t flags;

	ep->source_err = ep->info->caps & FI_SOURCE_ERR;
	ep->rx_op_flags &= OFI_RDM_RX_OP_FLAGS;
	flags = FI_RECV;
	if (ep->rx_selective && !(ep->rx_op_flags & FI_COMPLETION))
		flags |= OFI_RDM_RECV_BITS;
	if (ep->counts || ep->source_err || ep->hmem)
		flags |= OFI_RDM_RECV_SLOW;
	ep->recv_flags[false] = ep->rx_op_flags & FI_MULTI_RECV ? 0 : flags | FI_MSG;
	ep->recv_flags[true] = flags | FI_TAGGED;
}
