/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fast path of posting receives. */
#include "calls.h"
#include "copy.h"
#include "cq.h"
#include "lock.h"
#include "peer.h"
#include "stats.h"

static OFI_OUTLINE ssize_t wake_ep(struct ofi_rdm_ep *ep)
{
	ofi_rdm_unlock_slow(ep);
	return 0;
}

/*
 * Slow paths that leave the endpoint. They are not static so that the compiler keeps the arguments
 * in their registers.
 */
OFI_OUTLINE ssize_t ofi_rdm_trecv_entered(struct fid_ep *fid, void *buf, size_t len, void *desc,
					  fi_addr_t addr, uint64_t tag, uint64_t ignore,
					  void *context)
{
	ofi_rdm_leave(ofi_rdm(fid), ofi_rdm(fid)->biased);
	return ofi_rdm_trecv_any(fid, buf, len, desc, addr, tag, ignore, context);
}

OFI_OUTLINE ssize_t ofi_rdm_recv_entered(struct fid_ep *fid, void *buf, size_t len, void *desc,
					 fi_addr_t addr, void *context)
{
	ofi_rdm_leave(ofi_rdm(fid), ofi_rdm(fid)->biased);
	return ofi_rdm_recv_any(fid, buf, len, desc, addr, context);
}

/*
 * Takes an unexpected message in the common case: the oldest one, complete, for a receive object
 * that returns to the free list at once. Returns false if nothing was done.
 */
static bool receive_oldest(struct ofi_rdm_ep *ep, const struct ofi_rdm_recv *recv, bool tagged,
			   uint32_t src, uint64_t tag, uint64_t ignore)
{
	const struct iovec *to = &recv->proto.iov[0];
	struct ofi_rdm_match_msg *msg =
		ofi_rdm_match_oldest(&ep->proto.match[tagged], src, tag, ignore);
	struct ofi_rdm_proto_in *in = (struct ofi_rdm_proto_in *)msg;

	if (!msg || !ofi_rdm_proto_is_whole(in) || in->total > to->iov_len || !ep->rx_cq ||
	    recv->flags & OFI_RDM_RECV_SLOW)
		return false;
	ofi_rdm_copy(to->iov_base, in->packet.payload, in->total);
	ofi_rdm_count(ep, OFI_STATS_RECEIVES, OFI_STATS_RECEIVE_BYTES, in->total);
	ofi_rdm_cq_add(ep->rx_cq,
		       &(struct ofi_cq_item){
			       .context = recv->proto.match.context,
			       .flags = recv->flags,
			       .len = in->total,
			       .tag = in->packet.tag,
			       .src = ofi_rdm_peer_source((struct ofi_rdm_peer *)in->peer),
		       });
	ofi_rdm_proto_take_whole(&ep->proto, tagged, in);
	ep->proto.xport.ops->release(in);
	return true;
}

/*
 * Posts a receive if messages are queued, if receives have several classes, or if the source is not
 * known yet. recv is filled in and still first in the free list. Leaves the endpoint. addr and tag
 * have the same positions as in the calls above, so they stay in their registers.
 */
static OFI_OUTLINE ssize_t post_other(struct ofi_rdm_ep *ep, struct ofi_rdm_recv *recv,
				      uint64_t ignore, bool tagged, fi_addr_t addr, uint64_t tag)
{
	uint32_t src = OFI_RDM_MATCH_ANY;
	int ret = 0;

	ep->direct.cq = OFI_RDM_NO_DIRECT;
	if ((addr | ep->undirected[tagged]) != ep->any_source)
		ret = ofi_rdm_recv_source(ep, addr, tagged, &src);
	if (!ret && !receive_oldest(ep, recv, tagged, src, tag, ignore)) {
		SLIST_REMOVE_HEAD(&ep->free_recvs[tagged], link);
		ofi_rdm_proto_recv_post(&ep->proto, &recv->proto, src, tag, ignore);
	}
	ofi_rdm_leave(ep, ep->biased);
	return ret;
}

/*
 * Posts a receive of the only class if no message is queued. It makes no call except at the end, so
 * all values stay in registers. Leaves the endpoint.
 */
OFI_INLINE ssize_t post_one(struct ofi_rdm_ep *ep, bool tagged, struct ofi_rdm_recv *recv,
			    fi_addr_t addr, uint64_t tag, uint64_t ignore, bool nolock)
{
	struct ofi_rdm_match *m = &ep->proto.match[tagged];
	struct ofi_rdm_match_class *kind = m->now[true];
	const struct ofi_rdm_peer *peer;
	uint64_t from = kind->from;

	if ((addr | ep->undirected[tagged]) != ep->any_source) {
		peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
		if (ofi_unlikely(!peer))
			return post_other(ep, recv, ignore, tagged, addr, tag);
		kind = m->now[false];
		from = kind->from | peer->proto.src;
	}
	if (ofi_unlikely(!ofi_rdm_match_post_from(m, kind, &recv->proto.match, from, tag, ignore)))
		return post_other(ep, recv, ignore, tagged, addr, tag);
	SLIST_FIRST(&ep->free_recvs[tagged]) = SLIST_NEXT(recv, link);
	/* Recomputes the lock's address instead of keeping it in a register. */
	ofi_forget(ep);
	return ofi_likely(ofi_rdm_release(ep, nolock)) ? 0 : wake_ep(ep);
}

static inline void set_buffer(struct ofi_rdm_recv *recv, uint64_t flags, void *buf, size_t len,
			      void *desc, void *context)
{
	recv->flags = flags;
	recv->proto.match.context = context;
	recv->proto.iov[0].iov_base = buf;
	recv->proto.iov[0].iov_len = len;
	recv->proto.desc = desc;
}

OFI_INLINE ssize_t trecv_any(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			     uint64_t tag, uint64_t ignore, void *context, bool nolock)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	struct ofi_rdm_recv *recv;

	if (ofi_unlikely(!buf || !ofi_rdm_try_enter(ep, nolock)))
		return ofi_rdm_trecv_any(fid, buf, len, desc, addr, tag, ignore, context);
	recv = SLIST_FIRST(&ep->free_recvs[true]);
	if (ofi_unlikely(!recv))
		return ofi_rdm_trecv_entered(fid, buf, len, desc, addr, tag, ignore, context);
	set_buffer(recv, ep->recv_flags[true], buf, len, desc, context);
	return post_one(ep, true, recv, addr, tag, ignore, nolock);
}

OFI_INLINE ssize_t recv_any(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			    void *context, bool nolock)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	struct ofi_rdm_recv *recv;

	if (ofi_unlikely(!buf || !ep->recv_flags[false] || !ofi_rdm_try_enter(ep, nolock)))
		return ofi_rdm_recv_any(fid, buf, len, desc, addr, context);
	recv = SLIST_FIRST(&ep->free_recvs[false]);
	if (ofi_unlikely(!recv))
		return ofi_rdm_recv_entered(fid, buf, len, desc, addr, context);
	set_buffer(recv, ep->recv_flags[false], buf, len, desc, context);
	return post_one(ep, false, recv, addr, 0, 0, nolock);
}

ssize_t ofi_rdm_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
		      uint64_t tag, uint64_t ignore, void *context)
{
	return trecv_any(fid, buf, len, desc, addr, tag, ignore, context, false);
}

ssize_t ofi_rdm_trecv_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			     uint64_t tag, uint64_t ignore, void *context)
{
	return trecv_any(fid, buf, len, desc, addr, tag, ignore, context, true);
}

ssize_t ofi_rdm_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
		     void *context)
{
	return recv_any(fid, buf, len, desc, addr, context, false);
}

ssize_t ofi_rdm_recv_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			    void *context)
{
	return recv_any(fid, buf, len, desc, addr, context, true);
}
