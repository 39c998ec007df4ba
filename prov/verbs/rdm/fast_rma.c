/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * fi_read, fi_write and fi_inject_write that have nothing in their way: one work request, whose
 * slot has the application's context.
 */
#include "link.h"
#include "lock.h"
#include "peer.h"
#include "fast.h"
#include "stats.h"

/* False: nothing was done. `rma` is ep->read or ep->write; lkey 0: inline. */
OFI_INLINE bool post_now(struct vrb_rdm *ep, struct vrb_rdm_fast_rma *rma, const void *buf,
			 size_t len, uint32_t lkey, fi_addr_t addr, uint64_t remote, uint64_t key,
			 void *context, uint64_t flags, bool nolock)
{
	struct ibv_send_wr *wr = &rma->wr;
	struct vrb_rdm_peer *peer;
	bool posted = false;

	if (!vrb_rdm_enter(ep, nolock))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (ofi_likely(peer && peer->direct && peer->proto.up && STAILQ_EMPTY(&peer->ops) &&
		       ofi_rdm_flow_has_data_credit(&peer->proto.flow))) {
		rma->sge.addr = (uintptr_t)buf;
		rma->sge.length = (uint32_t)len;
		if (lkey)
			rma->sge.lkey = lkey;
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = (uint32_t)key;
		wr->send_flags = lkey ? 0 : IBV_SEND_INLINE;
		posted = !vrb_rdm_link_post(peer->link, wr, flags, context, NULL);
		if (ofi_likely(posted)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			if (rma == &ep->read)
				vrb_rdm_count(ep, OFI_STATS_READS, OFI_STATS_READ_BYTES, len);
			else
				vrb_rdm_count(ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, len);
		}
	}
	vrb_rdm_leave(ep, nolock);
	return posted;
}

static inline uint32_t lkey_of(void *desc)
{
	return (uint32_t)(uintptr_t)desc;
}

/* With no buffer, no length or a wide key `end` is not looked at. */
OFI_INLINE bool may_post(const void *buf, size_t len, uint64_t key, size_t end)
{
	return len < end && len && buf && !(key >> 32);
}

static OFI_OUTLINE ssize_t write_registered(struct fid_ep *fid, const void *buf, size_t len,
					    void *desc, fi_addr_t addr, uint64_t remote,
					    uint64_t key, void *context)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (lkey_of(desc) && may_post(buf, len, key, ep->write.registered_end) &&
	    post_now(ep, &ep->write, buf, len, lkey_of(desc), addr, remote, key, context,
		     ep->write.flags, ep->biased))
		return 0;
	return vrb_rdm_write_one(fid, buf, len, desc, addr, remote, key, context);
}

OFI_INLINE ssize_t write_any(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     fi_addr_t addr, uint64_t remote, uint64_t key, void *context,
			     bool nolock)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (may_post(buf, len, key, ep->write.end) &&
	    post_now(ep, &ep->write, buf, len, 0, addr, remote, key, context, ep->write.flags,
		     nolock))
		return 0;
	return write_registered(fid, buf, len, desc, addr, remote, key, context);
}

OFI_INLINE ssize_t read_any(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			    uint64_t remote, uint64_t key, void *context, bool nolock)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (ofi_likely(lkey_of(desc)) && may_post(buf, len, key, ep->read.registered_end) &&
	    post_now(ep, &ep->read, buf, len, lkey_of(desc), addr, remote, key, context,
		     ep->read.flags, nolock))
		return 0;
	return vrb_rdm_read_one(fid, buf, len, desc, addr, remote, key, context);
}

OFI_INLINE ssize_t inject_any(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			      uint64_t remote, uint64_t key, bool nolock)
{
	struct vrb_rdm *ep = vrb_rdm(fid);

	if (may_post(buf, len, key, ep->inline_max + 1) &&
	    post_now(ep, &ep->write, buf, len, 0, addr, remote, key, NULL,
		     FI_RMA | FI_WRITE | VRB_SILENT, nolock))
		return 0;
	return vrb_rdm_inject_write_one(fid, buf, len, addr, remote, key);
}

ssize_t vrb_rdm_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
		      uint64_t remote, uint64_t key, void *context)
{
	return write_any(fid, buf, len, desc, addr, remote, key, context, false);
}

ssize_t vrb_rdm_write_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return write_any(fid, buf, len, desc, addr, remote, key, context, true);
}

ssize_t vrb_rdm_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
		     uint64_t remote, uint64_t key, void *context)
{
	return read_any(fid, buf, len, desc, addr, remote, key, context, false);
}

ssize_t vrb_rdm_read_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			    uint64_t remote, uint64_t key, void *context)
{
	return read_any(fid, buf, len, desc, addr, remote, key, context, true);
}

ssize_t vrb_rdm_inject_write(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			     uint64_t remote, uint64_t key)
{
	return inject_any(fid, buf, len, addr, remote, key, false);
}

ssize_t vrb_rdm_inject_write_nolock(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
				    uint64_t remote, uint64_t key)
{
	return inject_any(fid, buf, len, addr, remote, key, true);
}
