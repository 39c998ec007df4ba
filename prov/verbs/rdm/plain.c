/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sends, receives and writes that have nothing in their way: the calls in which instructions count.
 */
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include "carry.h"
#include "link.h"
#include "lock.h"
#include "peer.h"
#include "plain.h"
#include "stats.h"

/* A small message when nothing is in its way; otherwise false, and nothing was done. */
OFI_INLINE bool send_plain(struct vrb_rdm *ep, bool tagged, const void *buf, size_t len,
			   fi_addr_t addr, uint64_t tag, void *context, uint64_t flags)
{
	struct vrb_rdm_plain *plain = &ep->plain[tagged];
	struct vrb_rdm_peer *peer;
	bool sent = false;

	if (!vrb_rdm_enter(ep))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (ofi_likely(peer && ofi_rdm_proto_may_bypass(&peer->proto, len))) {
		if (tagged)
			plain->head.tag = htole64(tag);
		plain->sge[1].addr = (uintptr_t)buf;
		plain->sge[1].length = (uint32_t)len;
		plain->wr.send_flags = IBV_SEND_INLINE;
		sent = !vrb_rdm_link_post(peer->link, &plain->wr, flags, context, NULL);
		if (ofi_likely(sent)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			vrb_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, len);
		}
	}
	vrb_rdm_leave(ep);
	return sent;
}

/* The same of a longer message, that fits a packet. */
static OFI_OUTLINE bool send_bounced(struct vrb_rdm *ep, bool tagged, const void *buf, size_t len,
				     fi_addr_t addr, uint64_t tag, void *context)
{
	size_t header = ofi_rdm_wire_plain_header(tagged);
	struct ibv_sge sge = { .length = (uint32_t)(header + len) };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ofi_rdm_wire_plain head = ep->plain[tagged].head;
	struct vrb_rdm_buf *bounce;
	struct vrb_rdm_peer *peer;
	bool sent = false;

	head.tag = htole64(tag);
	if (!vrb_rdm_enter(ep))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (peer && ofi_rdm_proto_may_bypass(&peer->proto, len) &&
	    (bounce = vrb_rdm_pool_get(&ep->tx_bufs))) {
		memcpy(bounce->data, &head, header);
		memcpy(bounce->data + header, buf, len);
		sge.addr = (uintptr_t)bounce->data;
		sge.lkey = bounce->lkey;
		sent = !vrb_rdm_link_post(peer->link, &wr, ep->plain[tagged].flags, context,
					  bounce);
		if (ofi_likely(sent)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			vrb_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, len);
		} else {
			vrb_rdm_pool_put(&ep->tx_bufs, bounce);
		}
	}
	vrb_rdm_leave(ep);
	return sent;
}

ssize_t VRB_RDM_NAME(tsend)(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    fi_addr_t addr, uint64_t tag, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	if (len < ep->plain[true].end && buf &&
	    send_plain(ep, true, buf, len, addr, tag, context, ep->plain[true].flags))
		return 0;
	if (len > ep->inline_max && ep->plain[true].end && buf &&
	    send_bounced(ep, true, buf, len, addr, tag, context))
		return 0;
	return vrb_rdm_send_one(ep, buf, len, addr, tag, context, true);
}

ssize_t VRB_RDM_NAME(tinject)(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			      uint64_t tag)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (len <= ep->inline_max && buf &&
	    send_plain(ep, true, buf, len, addr, tag, NULL, FI_TAGGED | FI_SEND | VRB_SILENT))
		return 0;
	return vrb_rdm_inject_one(ep, buf, len, addr, tag, true);
}

ssize_t VRB_RDM_NAME(send)(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			   fi_addr_t addr, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	(void)desc;
	if (len < ep->plain[false].end && buf &&
	    send_plain(ep, false, buf, len, addr, 0, context, ep->plain[false].flags))
		return 0;
	if (len > ep->inline_max && ep->plain[false].end && buf &&
	    send_bounced(ep, false, buf, len, addr, 0, context))
		return 0;
	return vrb_rdm_send_one(ep, buf, len, addr, 0, context, false);
}

ssize_t VRB_RDM_NAME(inject)(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (len <= ep->inline_max && buf &&
	    send_plain(ep, false, buf, len, addr, 0, NULL, FI_MSG | FI_SEND | VRB_SILENT))
		return 0;
	return vrb_rdm_inject_one(ep, buf, len, addr, 0, false);
}

static OFI_OUTLINE ssize_t wake(struct vrb_rdm *ep)
{
	ofi_unlock_slow(&ep->lock);
	return 0;
}

OFI_OUTLINE ssize_t VRB_RDM_NAME(trecv_entered)(struct fid_ep *fid, void *buf, size_t len,
						void *desc, fi_addr_t addr, uint64_t tag,
						uint64_t ignore, void *context)
{
	vrb_rdm_leave(vrb_rdm(fid));
	return vrb_rdm_trecv_any(fid, buf, len, desc, addr, tag, ignore, context);
}

OFI_OUTLINE ssize_t VRB_RDM_NAME(recv_entered)(struct fid_ep *fid, void *buf, size_t len,
					       void *desc, fi_addr_t addr, void *context)
{
	vrb_rdm_leave(vrb_rdm(fid));
	return vrb_rdm_recv_any(fid, buf, len, desc, addr, context);
}

/*
 * A receive of one buffer, already in recv, which is the first of the free ones, that matches in
 * another way than the one before. Leaves the endpoint. The order of the arguments is that of the
 * calls' above.
 */
static OFI_OUTLINE ssize_t post_other(struct vrb_rdm *ep, struct vrb_rdm_recv *recv,
				      uint64_t ignore, bool tagged, fi_addr_t addr, uint64_t tag)
{
	uint32_t src;
	int ret = vrb_rdm_recv_source(ep, addr, &src);

	if (!ret) {
		SLIST_REMOVE_HEAD(&ep->free_recvs[tagged], link);
		ofi_rdm_proto_recv_post(&ep->proto, &recv->proto, src, tag, ignore);
	}
	vrb_rdm_leave(ep);
	return ret;
}

/*
 * The receive of one buffer that is of the only class, when no message waits. It calls nothing but
 * at its end, so that everything is in registers. Leaves the endpoint.
 */
OFI_INLINE ssize_t post_one(struct vrb_rdm *ep, bool tagged, struct vrb_rdm_recv *recv,
			    fi_addr_t addr, uint64_t tag, uint64_t ignore)
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
	return ofi_likely(vrb_rdm_release(ep)) ? 0 : wake(ep);
}

static inline void set_buffer(struct vrb_rdm_recv *recv, uint64_t flags, void *buf, size_t len,
			      void *context)
{
	recv->flags = flags;
	recv->proto.match.context = context;
	recv->proto.iov[0].iov_base = buf;
	recv->proto.iov[0].iov_len = len;
}

ssize_t VRB_RDM_NAME(trecv)(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			    uint64_t tag, uint64_t ignore, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);
	struct vrb_rdm_recv *recv;

	(void)desc;
	if (ofi_unlikely(!buf || !vrb_rdm_try_enter(ep)))
		return vrb_rdm_trecv_any(fid, buf, len, NULL, addr, tag, ignore, context);
	recv = SLIST_FIRST(&ep->free_recvs[true]);
	if (ofi_unlikely(!recv))
		return VRB_RDM_NAME(trecv_entered)(fid, buf, len, NULL, addr, tag, ignore, context);
	set_buffer(recv, ep->recv_flags[true], buf, len, context);
	return post_one(ep, true, recv, addr, tag, ignore);
}

ssize_t VRB_RDM_NAME(recv)(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			   void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);
	struct vrb_rdm_recv *recv;

	(void)desc;
	if (ofi_unlikely(!buf || !ep->recv_flags[false] || !vrb_rdm_try_enter(ep)))
		return vrb_rdm_recv_any(fid, buf, len, NULL, addr, context);
	recv = SLIST_FIRST(&ep->free_recvs[false]);
	if (ofi_unlikely(!recv))
		return VRB_RDM_NAME(recv_entered)(fid, buf, len, NULL, addr, context);
	set_buffer(recv, ep->recv_flags[false], buf, len, context);
	return post_one(ep, false, recv, addr, 0, 0);
}

/* A small write when nothing is in its way. False: nothing was done. */
OFI_INLINE bool write_now(struct vrb_rdm *ep, const void *buf, size_t len, fi_addr_t addr,
			  uint64_t remote, uint64_t key, void *context, uint64_t flags)
{
	struct ibv_send_wr *wr = &ep->write.wr;
	struct vrb_rdm_peer *peer;
	bool posted = false;

	if (!vrb_rdm_enter(ep))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (ofi_likely(peer && peer->direct && peer->proto.up && STAILQ_EMPTY(&peer->ops) &&
		       ofi_rdm_flow_has_data_credit(&peer->proto.flow))) {
		ep->write.sge.addr = (uintptr_t)buf;
		ep->write.sge.length = (uint32_t)len;
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = (uint32_t)key;
		wr->send_flags = IBV_SEND_INLINE;
		posted = !vrb_rdm_link_post(peer->link, wr, flags, context, NULL);
		if (ofi_likely(posted)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			vrb_rdm_count(ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, len);
		}
	}
	vrb_rdm_leave(ep);
	return posted;
}

ssize_t VRB_RDM_NAME(write)(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			    fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (len < ep->write.end && len && buf && !(key >> 32) &&
	    write_now(ep, buf, len, addr, remote, key, context, ep->write.flags))
		return 0;
	return vrb_rdm_write_one(fid, buf, len, desc, addr, remote, key, context);
}

ssize_t VRB_RDM_NAME(inject_write)(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
				   uint64_t remote, uint64_t key)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (len <= ep->inline_max && len && buf && !(key >> 32) &&
	    write_now(ep, buf, len, addr, remote, key, NULL, FI_RMA | FI_WRITE | VRB_SILENT))
		return 0;
	return vrb_rdm_inject_write_one(fid, buf, len, addr, remote, key);
}
