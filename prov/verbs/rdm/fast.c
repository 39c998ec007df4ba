/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sends, receives and writes that have nothing in their way: the calls in which instructions count.
 */
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "arrive.h"
#include "proto_ops.h"
#include "cq.h"
#include "link.h"
#include "lock.h"
#include "peer.h"
#include "fast.h"
#include "progress.h"
#include "stats.h"

/* A small message when nothing is in its way; otherwise false, and nothing was done. */
OFI_INLINE bool send_inline(struct vrb_rdm *ep, bool tagged, const void *buf, size_t len,
			    fi_addr_t addr, uint64_t tag, void *context, uint64_t flags,
			    bool nolock)
{
	struct vrb_rdm_fast *fast = &ep->fast[tagged];
	struct vrb_rdm_peer *peer;
	bool sent = false;

	if (!vrb_rdm_enter(ep, nolock))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (ofi_likely(peer && ofi_rdm_proto_may_bypass(&peer->proto, len))) {
		if (tagged)
			fast->head.tag = htole64(tag);
		fast->sge[1].addr = (uintptr_t)buf;
		fast->sge[1].length = (uint32_t)len;
		fast->wr.send_flags = IBV_SEND_INLINE;
		sent = !vrb_rdm_link_post(peer->link, &fast->wr, flags, context, NULL);
		if (ofi_likely(sent)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			vrb_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, len);
		}
	}
	vrb_rdm_leave(ep, nolock);
	return sent;
}

/* The same of a longer message, that fits a packet. */
static OFI_OUTLINE bool send_bounced(struct vrb_rdm *ep, bool tagged, const void *buf, size_t len,
				     fi_addr_t addr, uint64_t tag, void *context)
{
	size_t header = ofi_rdm_wire_fast_header(tagged);
	struct ibv_sge sge = { .length = (uint32_t)(header + len) };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ofi_rdm_wire_fast head = ep->fast[tagged].head;
	struct vrb_rdm_buf *bounce;
	struct vrb_rdm_peer *peer;
	bool sent = false;

	if (len > ep->proto.eager)
		return false;
	head.tag = htole64(tag);
	if (!vrb_rdm_enter(ep, ep->biased))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (peer && ofi_rdm_proto_may_bypass(&peer->proto, len) &&
	    (bounce = vrb_rdm_pool_get(&ep->tx_bufs))) {
		memcpy(bounce->data, &head, header);
		memcpy(bounce->data + header, buf, len);
		sge.addr = (uintptr_t)bounce->data;
		sge.lkey = bounce->lkey;
		sent = !vrb_rdm_link_post(peer->link, &wr, ep->fast[tagged].flags, context, bounce);
		if (ofi_likely(sent)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			vrb_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, len);
		} else {
			vrb_rdm_pool_put(&ep->tx_bufs, bounce);
		}
	}
	vrb_rdm_leave(ep, ep->biased);
	return sent;
}

/* The decision: inline, by a bounce buffer, or the protocol's. */
OFI_INLINE ssize_t fast_send_any(struct fid_ep *fid, bool tagged, const void *buf, size_t len,
				 fi_addr_t addr, uint64_t tag, void *context, bool nolock)
{
	struct vrb_rdm *ep = vrb_rdm(fid);
	const struct vrb_rdm_fast *fast = &ep->fast[tagged];

	if (len < fast->end && buf &&
	    send_inline(ep, tagged, buf, len, addr, tag, context, fast->flags, nolock))
		return 0;
	if (len > ep->inline_max && fast->end && buf &&
	    send_bounced(ep, tagged, buf, len, addr, tag, context))
		return 0;
	return vrb_rdm_send_one(ep, buf, len, addr, tag, context, tagged);
}

OFI_INLINE ssize_t inject_any(struct fid_ep *fid, bool tagged, const void *buf, size_t len,
			      fi_addr_t addr, uint64_t tag, bool nolock)
{
	const uint64_t flags = FI_SEND | VRB_SILENT | (tagged ? FI_TAGGED : FI_MSG);
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (len <= ep->inline_max && buf &&
	    send_inline(ep, tagged, buf, len, addr, tag, NULL, flags, nolock))
		return 0;
	return vrb_rdm_inject_one(ep, buf, len, addr, tag, tagged);
}

ssize_t vrb_rdm_tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
		      uint64_t tag, void *context)
{
	(void)desc;
	return fast_send_any(fid, true, buf, len, addr, tag, context, false);
}

ssize_t vrb_rdm_tsend_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     fi_addr_t addr, uint64_t tag, void *context)
{
	(void)desc;
	return fast_send_any(fid, true, buf, len, addr, tag, context, true);
}

ssize_t vrb_rdm_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
		     void *context)
{
	(void)desc;
	return fast_send_any(fid, false, buf, len, addr, 0, context, false);
}

ssize_t vrb_rdm_send_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    fi_addr_t addr, void *context)
{
	(void)desc;
	return fast_send_any(fid, false, buf, len, addr, 0, context, true);
}

ssize_t vrb_rdm_tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			uint64_t tag)
{
	return inject_any(fid, true, buf, len, addr, tag, false);
}

ssize_t vrb_rdm_tinject_nolock(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			       uint64_t tag)
{
	return inject_any(fid, true, buf, len, addr, tag, true);
}

ssize_t vrb_rdm_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return inject_any(fid, false, buf, len, addr, 0, false);
}

ssize_t vrb_rdm_inject_nolock(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return inject_any(fid, false, buf, len, addr, 0, true);
}

static OFI_OUTLINE ssize_t wake(struct vrb_rdm *ep)
{
	ofi_unlock_slow(&ep->lock);
	return 0;
}

/*
 * They leave the endpoint, and are not static so that the compiler leaves the arguments where they
 * are.
 */
OFI_OUTLINE ssize_t vrb_rdm_trecv_entered(struct fid_ep *fid, void *buf, size_t len, void *desc,
					  fi_addr_t addr, uint64_t tag, uint64_t ignore,
					  void *context)
{
	vrb_rdm_leave(vrb_rdm(fid), vrb_rdm(fid)->biased);
	return vrb_rdm_trecv_any(fid, buf, len, desc, addr, tag, ignore, context);
}

OFI_OUTLINE ssize_t vrb_rdm_recv_entered(struct fid_ep *fid, void *buf, size_t len, void *desc,
					 fi_addr_t addr, void *context)
{
	vrb_rdm_leave(vrb_rdm(fid), vrb_rdm(fid)->biased);
	return vrb_rdm_recv_any(fid, buf, len, desc, addr, context);
}

/*
 * An unexpected message that it finds in the common case: the oldest, whole, for a receive that
 * stays among the free ones. False: nothing was done.
 */
static bool receive_oldest(struct vrb_rdm *ep, const struct vrb_rdm_recv *recv, bool tagged,
			   uint32_t src, uint64_t tag, uint64_t ignore)
{
	const struct iovec *to = &recv->proto.iov[0];
	struct ofi_rdm_match_msg *msg =
		ofi_rdm_match_oldest(&ep->proto.match[tagged], src, tag, ignore);
	struct ofi_rdm_proto_in *in = (struct ofi_rdm_proto_in *)msg;

	if (!msg || !ofi_rdm_proto_is_whole(in) || in->total > to->iov_len || !ep->rx_cq ||
	    recv->flags & VRB_RDM_RECV_SLOW)
		return false;
	vrb_rdm_copy(to->iov_base, in->packet.payload, in->total);
	vrb_rdm_count(ep, OFI_STATS_RECEIVES, OFI_STATS_RECEIVE_BYTES, in->total);
	vrb_rdm_cq_add(ep->rx_cq,
		       &(struct ofi_cq_item){
			       .context = recv->proto.match.context,
			       .flags = recv->flags,
			       .len = in->total,
			       .tag = in->packet.tag,
			       .src = vrb_rdm_peer_source((struct vrb_rdm_peer *)in->peer),
		       });
	ofi_rdm_proto_take_whole(&ep->proto, tagged, in);
	vrb_rdm_rx_put(&ep->rx, (struct vrb_rdm_rx *)in);
	if (ofi_unlikely(ep->rx.above < 0))
		vrb_rdm_refill(ep);
	return true;
}

/*
 * A receive of one buffer, already in recv, which is the first of the free ones, that matches in
 * another way than the one before. Leaves the endpoint. The order of the arguments is that of the
 * calls' above.
 */
static OFI_OUTLINE ssize_t post_other(struct vrb_rdm *ep, struct vrb_rdm_recv *recv,
				      uint64_t ignore, bool tagged, fi_addr_t addr, uint64_t tag)
{
	uint32_t src = OFI_RDM_MATCH_ANY;
	int ret = 0;

	ep->direct.cq = VRB_RDM_NO_DIRECT;
	if ((addr | ep->undirected) != FI_ADDR_UNSPEC)
		ret = vrb_rdm_recv_source(ep, addr, &src);
	if (!ret && !receive_oldest(ep, recv, tagged, src, tag, ignore)) {
		SLIST_REMOVE_HEAD(&ep->free_recvs[tagged], link);
		ofi_rdm_proto_recv_post(&ep->proto, &recv->proto, src, tag, ignore);
	}
	vrb_rdm_leave(ep, ep->biased);
	return ret;
}

/*
 * The receive of one buffer that is of the only class, when no message waits. It calls nothing but
 * at its end, so that everything is in registers. Leaves the endpoint.
 */
OFI_INLINE ssize_t post_one(struct vrb_rdm *ep, bool tagged, struct vrb_rdm_recv *recv,
			    fi_addr_t addr, uint64_t tag, uint64_t ignore, bool nolock)
{
	struct ofi_rdm_match *m = &ep->proto.match[tagged];
	struct ofi_rdm_match_class *kind = m->now[true];
	const struct vrb_rdm_peer *peer;
	uint64_t from = kind->from;

	if ((addr | ep->undirected) != FI_ADDR_UNSPEC) {
		peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
		if (ofi_unlikely(!peer))
			return post_other(ep, recv, ignore, tagged, addr, tag);
		kind = m->now[false];
		from = kind->from | peer->proto.src;
	}
	if (ofi_unlikely(!ofi_rdm_match_post_from(m, kind, &recv->proto.match, from, tag, ignore)))
		return post_other(ep, recv, ignore, tagged, addr, tag);
	SLIST_FIRST(&ep->free_recvs[tagged]) = SLIST_NEXT(recv, link);
	/* Where the lock is is computed again, not kept. */
	ofi_forget(ep);
	return ofi_likely(vrb_rdm_release(ep, nolock)) ? 0 : wake(ep);
}

static inline void set_buffer(struct vrb_rdm_recv *recv, uint64_t flags, void *buf, size_t len,
			      void *context)
{
	recv->flags = flags;
	recv->proto.match.context = context;
	recv->proto.iov[0].iov_base = buf;
	recv->proto.iov[0].iov_len = len;
}

OFI_INLINE ssize_t trecv_any(struct fid_ep *fid, void *buf, size_t len, fi_addr_t addr,
			     uint64_t tag, uint64_t ignore, void *context, bool nolock)
{
	struct vrb_rdm *ep = vrb_rdm(fid);
	struct vrb_rdm_recv *recv;

	if (ofi_unlikely(!buf || !vrb_rdm_try_enter(ep, nolock)))
		return vrb_rdm_trecv_any(fid, buf, len, NULL, addr, tag, ignore, context);
	recv = SLIST_FIRST(&ep->free_recvs[true]);
	if (ofi_unlikely(!recv))
		return vrb_rdm_trecv_entered(fid, buf, len, NULL, addr, tag, ignore, context);
	set_buffer(recv, ep->recv_flags[true], buf, len, context);
	return post_one(ep, true, recv, addr, tag, ignore, nolock);
}

OFI_INLINE ssize_t recv_any(struct fid_ep *fid, void *buf, size_t len, fi_addr_t addr,
			    void *context, bool nolock)
{
	struct vrb_rdm *ep = vrb_rdm(fid);
	struct vrb_rdm_recv *recv;

	if (ofi_unlikely(!buf || !ep->recv_flags[false] || !vrb_rdm_try_enter(ep, nolock)))
		return vrb_rdm_recv_any(fid, buf, len, NULL, addr, context);
	recv = SLIST_FIRST(&ep->free_recvs[false]);
	if (ofi_unlikely(!recv))
		return vrb_rdm_recv_entered(fid, buf, len, NULL, addr, context);
	set_buffer(recv, ep->recv_flags[false], buf, len, context);
	return post_one(ep, false, recv, addr, 0, 0, nolock);
}

ssize_t vrb_rdm_trecv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
		      uint64_t tag, uint64_t ignore, void *context)
{
	(void)desc;
	return trecv_any(fid, buf, len, addr, tag, ignore, context, false);
}

ssize_t vrb_rdm_trecv_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			     uint64_t tag, uint64_t ignore, void *context)
{
	(void)desc;
	return trecv_any(fid, buf, len, addr, tag, ignore, context, true);
}

ssize_t vrb_rdm_recv(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
		     void *context)
{
	(void)desc;
	return recv_any(fid, buf, len, addr, context, false);
}

ssize_t vrb_rdm_recv_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			    void *context)
{
	(void)desc;
	return recv_any(fid, buf, len, addr, context, true);
}
