/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The fast path of fi_read, fi_write and fi_inject_write: one work request, whose slot holds the
 * application's context.
 */
#include "rc_conn.h"
#include "prov/rdm/local.h"
#include "prov/rdm/lock.h"
#include "prov/rdm/peer.h"
#include "prov/base/desc.h"
#include "prov/base/ops.h"
#include "prov/rdm/calls.h"
#include "rc.h"
#include "prov/rdm/stats.h"

/*
 * Posts the transfer, inline if there is no descriptor. On false nothing was done. `rma` is
 * ep->read or ep->write.
 */
OFI_INLINE bool post_now(struct ofi_rdm_ep *ep, struct vrb_rdm_fast_rma *rma, const void *buf,
			 size_t len, void *desc, fi_addr_t addr, uint64_t remote, uint64_t key,
			 void *context, uint64_t flags, bool nolock)
{
	const bool reads = rma == &vrb_rc(ep)->read;
	struct ibv_send_wr *wr = &rma->wr;
	struct ofi_rdm_peer *peer;
	bool posted = false;

	if (!ofi_rdm_enter(ep, nolock))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (ofi_likely(peer && (!desc || ofi_rdm_region_has(ep, desc, buf, len, reads)) &&
		       peer->direct && peer->proto.clear && STAILQ_EMPTY(&peer->ops) &&
		       ofi_rdm_flow_has_data_credit(&peer->proto.flow))) {
		rma->sge.addr = (uintptr_t)buf;
		rma->sge.length = (uint32_t)len;
		if (desc)
			rma->sge.lkey = ofi_desc_lkey(desc);
		wr->wr.rdma.remote_addr = remote;
		wr->wr.rdma.rkey = (uint32_t)key;
		wr->send_flags = desc ? 0 : IBV_SEND_INLINE;
		posted = !vrb_rc_conn_post(vrb_rc_peer(peer)->conn, wr, flags, context, NULL);
		if (ofi_likely(posted)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			if (reads)
				ofi_rdm_count(ep, OFI_STATS_READS, OFI_STATS_READ_BYTES, len);
			else
				ofi_rdm_count(ep, OFI_STATS_WRITES, OFI_STATS_WRITE_BYTES, len);
		}
	}
	ofi_rdm_leave(ep, nolock);
	return posted;
}

/*
 * Checks the arguments. A NULL buffer, zero length or wide key takes the slow path, whatever `end`
 * is.
 */
OFI_INLINE bool may_post(const void *buf, size_t len, uint64_t key, size_t end)
{
	return len < end && len && buf && !(key >> 32);
}

static OFI_OUTLINE ssize_t write_registered(struct fid_ep *fid, const void *buf, size_t len,
					    void *desc, fi_addr_t addr, uint64_t remote,
					    uint64_t key, void *context)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (desc && may_post(buf, len, key, vrb_rc(ep)->write.registered_end) &&
	    post_now(ep, &vrb_rc(ep)->write, buf, len, desc, addr, remote, key, context,
		     vrb_rc(ep)->write.flags, ep->biased))
		return 0;
	return ofi_rdm_write_one(fid, buf, len, desc, addr, remote, key, context);
}

OFI_INLINE ssize_t write_any(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			     fi_addr_t addr, uint64_t remote, uint64_t key, void *context,
			     bool nolock)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (may_post(buf, len, key, vrb_rc(ep)->write.end) &&
	    post_now(ep, &vrb_rc(ep)->write, buf, len, NULL, addr, remote, key, context,
		     vrb_rc(ep)->write.flags, nolock))
		return 0;
	return write_registered(fid, buf, len, desc, addr, remote, key, context);
}

OFI_INLINE ssize_t read_any(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			    uint64_t remote, uint64_t key, void *context, bool nolock)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (ofi_likely(desc != NULL) && may_post(buf, len, key, vrb_rc(ep)->read.registered_end) &&
	    post_now(ep, &vrb_rc(ep)->read, buf, len, desc, addr, remote, key, context,
		     vrb_rc(ep)->read.flags, nolock))
		return 0;
	return ofi_rdm_read_one(fid, buf, len, desc, addr, remote, key, context);
}

OFI_INLINE ssize_t inject_any(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			      uint64_t remote, uint64_t key, bool nolock)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (may_post(buf, len, key, vrb_rc(ep)->inline_max + 1) &&
	    post_now(ep, &vrb_rc(ep)->write, buf, len, NULL, addr, remote, key, NULL,
		     FI_RMA | FI_WRITE | OFI_RDM_SILENT, nolock))
		return 0;
	return ofi_rdm_inject_write_one(fid, buf, len, addr, remote, key);
}

static ssize_t rc_write(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
			uint64_t remote, uint64_t key, void *context)
{
	return write_any(fid, buf, len, desc, addr, remote, key, context, false);
}

static ssize_t rc_write_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       fi_addr_t addr, uint64_t remote, uint64_t key, void *context)
{
	return write_any(fid, buf, len, desc, addr, remote, key, context, true);
}

static ssize_t rc_read(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
		       uint64_t remote, uint64_t key, void *context)
{
	return read_any(fid, buf, len, desc, addr, remote, key, context, false);
}

static ssize_t rc_read_nolock(struct fid_ep *fid, void *buf, size_t len, void *desc, fi_addr_t addr,
			      uint64_t remote, uint64_t key, void *context)
{
	return read_any(fid, buf, len, desc, addr, remote, key, context, true);
}

static ssize_t rc_inject_write(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			       uint64_t remote, uint64_t key)
{
	return inject_any(fid, buf, len, addr, remote, key, false);
}

static ssize_t rc_inject_write_nolock(struct fid_ep *fid, const void *buf, size_t len,
				      fi_addr_t addr, uint64_t remote, uint64_t key)
{
	return inject_any(fid, buf, len, addr, remote, key, true);
}

#define RMA(lock_)                                                                   \
	{                                                                            \
		.size = OFI_RMA_DEFAULTS, OFI_RDM_RMA_CALLS, .read = rc_read##lock_, \
		.write = rc_write##lock_, .inject = rc_inject_write##lock_,          \
	}

const struct fi_ops_rma vrb_rc_rma_ops = RMA();
const struct fi_ops_rma vrb_rc_rma_nolock_ops = RMA(_nolock);
