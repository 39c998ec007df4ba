/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The fast path of sends. */
#include <string.h>
#include <rdma/fi_tagged.h>
#include "rc_conn.h"
#include "prov/rdm/lock.h"
#include "prov/rdm/peer.h"
#include "prov/base/ops.h"
#include "prov/rdm/calls.h"
#include "rc.h"
#include "prov/rdm/stats.h"

/* Sends a small message inline if nothing is queued before it. On false nothing was done. */
OFI_INLINE bool send_inline(struct ofi_rdm_ep *ep, bool tagged, const void *buf, size_t len,
			    fi_addr_t addr, uint64_t tag, void *context, uint64_t flags,
			    bool nolock)
{
	struct vrb_rdm_fast *fast = &vrb_rc(ep)->fast[tagged];
	struct ofi_rdm_peer *peer;
	bool sent = false;

	if (!ofi_rdm_enter(ep, nolock))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (ofi_likely(peer && ofi_rdm_proto_may_bypass(&peer->proto, len))) {
		if (tagged)
			fast->head.tag = htole64(tag);
		fast->sge[1].addr = (uintptr_t)buf;
		fast->sge[1].length = (uint32_t)len;
		fast->wr.send_flags = IBV_SEND_INLINE;
		sent = !vrb_rc_conn_post(vrb_rc_peer(peer)->conn, &fast->wr, flags, context, NULL);
		if (ofi_likely(sent)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			ofi_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, len);
		}
	}
	ofi_rdm_leave(ep, nolock);
	return sent;
}

/* The same for a longer message that fits in a packet. */
static OFI_OUTLINE bool send_bounced(struct ofi_rdm_ep *ep, bool tagged, const void *buf,
				     size_t len, fi_addr_t addr, uint64_t tag, void *context)
{
	size_t header = ofi_rdm_wire_fast_header(tagged);
	struct ibv_sge sge = { .length = (uint32_t)(header + len) };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1 };
	struct ofi_rdm_wire_fast head = vrb_rc(ep)->fast[tagged].head;
	struct vrb_rdm_buf *bounce;
	struct ofi_rdm_peer *peer;
	bool sent = false;

	head.tag = htole64(tag);
	if (!ofi_rdm_enter(ep, ep->biased))
		return false;
	peer = addr < ep->by_addr_size ? ep->by_addr[addr] : NULL;
	if (peer && ofi_rdm_proto_may_bypass(&peer->proto, len) &&
	    (bounce = vrb_rdm_pool_get(&vrb_rc(ep)->tx_bufs))) {
		memcpy(bounce->out.data, &head, header);
		memcpy(bounce->out.data + header, buf, len);
		sge.addr = (uintptr_t)bounce->out.data;
		sge.lkey = bounce->out.lkey;
		sent = !vrb_rc_conn_post(vrb_rc_peer(peer)->conn, &wr,
					 vrb_rc(ep)->fast[tagged].flags, context, bounce);
		if (ofi_likely(sent)) {
			ofi_rdm_flow_take(&peer->proto.flow);
			ofi_rdm_count(ep, OFI_STATS_SENDS, OFI_STATS_SEND_BYTES, len);
		} else {
			vrb_rdm_pool_put(&vrb_rc(ep)->tx_bufs, bounce);
		}
	}
	ofi_rdm_leave(ep, ep->biased);
	return sent;
}

/* Decides how the message is sent: inline, through a bounce buffer, or by the protocol. */
OFI_INLINE ssize_t fast_send_any(struct fid_ep *fid, bool tagged, const void *buf, size_t len,
				 fi_addr_t addr, uint64_t tag, void *context, bool nolock)
{
	struct ofi_rdm_ep *ep = ofi_rdm(fid);
	const struct vrb_rdm_fast *fast = &vrb_rc(ep)->fast[tagged];

	if (ofi_unlikely(!buf))
		return ofi_rdm_send_one(fid, buf, len, addr, tag, context, tagged);
	if (len < fast->end &&
	    send_inline(ep, tagged, buf, len, addr, tag, context, fast->flags, nolock))
		return 0;
	if (len > vrb_rc(ep)->inline_max && len <= ep->proto.eager && fast->end &&
	    send_bounced(ep, tagged, buf, len, addr, tag, context))
		return 0;
	return ofi_rdm_send_one(fid, buf, len, addr, tag, context, tagged);
}

OFI_INLINE ssize_t inject_any(struct fid_ep *fid, bool tagged, const void *buf, size_t len,
			      fi_addr_t addr, uint64_t tag, bool nolock)
{
	const uint64_t flags = FI_SEND | OFI_RDM_SILENT | (tagged ? FI_TAGGED : FI_MSG);
	struct ofi_rdm_ep *ep = ofi_rdm(fid);

	if (len <= vrb_rc(ep)->inline_max && buf &&
	    send_inline(ep, tagged, buf, len, addr, tag, NULL, flags, nolock))
		return 0;
	return ofi_rdm_inject_one(fid, buf, len, addr, tag, tagged);
}

static ssize_t rc_tsend(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
			uint64_t tag, void *context)
{
	(void)desc;
	return fast_send_any(fid, true, buf, len, addr, tag, context, false);
}

static ssize_t rc_tsend_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			       fi_addr_t addr, uint64_t tag, void *context)
{
	(void)desc;
	return fast_send_any(fid, true, buf, len, addr, tag, context, true);
}

static ssize_t rc_send(struct fid_ep *fid, const void *buf, size_t len, void *desc, fi_addr_t addr,
		       void *context)
{
	(void)desc;
	return fast_send_any(fid, false, buf, len, addr, 0, context, false);
}

static ssize_t rc_send_nolock(struct fid_ep *fid, const void *buf, size_t len, void *desc,
			      fi_addr_t addr, void *context)
{
	(void)desc;
	return fast_send_any(fid, false, buf, len, addr, 0, context, true);
}

static ssize_t rc_tinject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
			  uint64_t tag)
{
	return inject_any(fid, true, buf, len, addr, tag, false);
}

static ssize_t rc_tinject_nolock(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr,
				 uint64_t tag)
{
	return inject_any(fid, true, buf, len, addr, tag, true);
}

static ssize_t rc_inject(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return inject_any(fid, false, buf, len, addr, 0, false);
}

static ssize_t rc_inject_nolock(struct fid_ep *fid, const void *buf, size_t len, fi_addr_t addr)
{
	return inject_any(fid, false, buf, len, addr, 0, true);
}

#define MESSAGES(lock_)                                                                   \
	{                                                                                 \
		.size = OFI_MSG_DEFAULTS, OFI_RDM_MSG_CALLS, .recv = ofi_rdm_recv##lock_, \
		.send = rc_send##lock_, .inject = rc_inject##lock_,                       \
	}
#define TAGGED(lock_)                                                                            \
	{                                                                                        \
		.size = OFI_TAGGED_DEFAULTS, OFI_RDM_TAGGED_CALLS, .recv = ofi_rdm_trecv##lock_, \
		.send = rc_tsend##lock_, .inject = rc_tinject##lock_,                            \
	}

static const struct fi_ops_msg msg_ops = MESSAGES(), msg_nolock_ops = MESSAGES(_nolock);
static const struct fi_ops_tagged tagged_ops = TAGGED(), tagged_nolock_ops = TAGGED(_nolock);

const struct ofi_rdm_calls vrb_rc_calls = { &msg_ops, &tagged_ops, &vrb_rc_rma_ops };
const struct ofi_rdm_calls vrb_rc_nolock_calls = { &msg_nolock_ops, &tagged_nolock_ops,
						   &vrb_rc_rma_nolock_ops };
