/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RC transport of the engine: packets and RDMA as work requests of the peer's queue pair. */
#include <errno.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include "conn.h"
#include "rc_conn.h"
#include "prov/base/hmem_copy.h"
#include "prov/base/mr_cache.h"
#include "prov/base/refuse.h"
#include "prov/rdm/copy.h"
#include "prov/rdm/op.h"
#include "progress.h"
#include "rc.h"
#include "shm_int.h"
#include "prov/rdm/stats.h"
#include "prov/verbs/provider/prov.h"

#define RDMA_AT_ONCE 4
#define SOFT_READ    (128u << 10)
#define SOFT_READS   2

/* Fills sge with `len` bytes starting at `offset`. Returns the number of segments. */
static int gather_sge(struct ibv_sge *sge, const struct iovec *iov, size_t offset, size_t len)
{
	size_t take;
	int n = 0;

	for (; len; iov++) {
		if (offset >= iov->iov_len) {
			offset -= iov->iov_len;
			continue;
		}
		take = iov->iov_len - offset < len ? iov->iov_len - offset : len;
		sge[n++] = (struct ibv_sge){
			.addr = (uintptr_t)iov->iov_base + offset,
			.length = (uint32_t)take,
		};
		len -= take;
		offset = 0;
	}
	return n;
}

/* Copies `len` bytes starting at `offset`. Returns false if device memory cannot be read. */
static bool pack_iov(bool device, uint8_t *to, const struct iovec *iov, size_t offset, size_t len)
{
	size_t take;

	for (; len; iov++) {
		if (offset >= iov->iov_len) {
			offset -= iov->iov_len;
			continue;
		}
		take = iov->iov_len - offset < len ? iov->iov_len - offset : len;
		if (ofi_hmem_load(device, to, (const uint8_t *)iov->iov_base + offset, take))
			return false;
		to += take;
		len -= take;
		offset = 0;
	}
	return true;
}

static int retry(struct ofi_rdm_peer *peer, int err)
{
	if (!err)
		return 0;
	vrb_rc_conn_refused(vrb_rc_peer(peer)->conn, err);
	vrb_rdm_conn_retry_post(&peer->proto);
	return -FI_EAGAIN;
}

/* Ends the connection, because a message in device memory that cannot be copied cannot be sent. */
static int bounce_give_up(struct ofi_rdm_peer *peer, struct vrb_rdm_buf *bounce)
{
	vrb_rdm_pool_put(&vrb_rc(peer->ep)->tx_bufs, bounce);
	vrb_rdm_conn_fail_later(vrb_rc_peer(peer)->conn, FI_EIO);
	return -FI_EAGAIN;
}

static int send_bounced(struct ofi_rdm_peer *peer, const void *hdr, size_t hdr_len,
			const struct iovec *iov, size_t offset, size_t len, uint64_t flags,
			void *context)
{
	struct vrb_rdm_packet *packet = &vrb_rc(peer->ep)->packet;
	struct vrb_rdm_pool *pool = &vrb_rc(peer->ep)->tx_bufs;
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;
	struct vrb_rdm_buf *bounce = vrb_rdm_pool_get(pool);
	int err;

	if (!bounce) {
		vrb_rc_conn_probe_all(peer->ep);
		return retry(peer, ENOMEM);
	}
	ofi_rdm_copy(bounce->out.data, hdr, hdr_len);
	if (!pack_iov(peer->ep->hmem, bounce->out.data + hdr_len, iov, offset, len))
		return bounce_give_up(peer, bounce);
	packet->sge[0] = (struct ibv_sge){
		.addr = (uintptr_t)bounce->out.data,
		.length = (uint32_t)(hdr_len + len),
		.lkey = bounce->out.lkey,
	};
	packet->wr.num_sge = 1;
	packet->wr.send_flags = 0;
	err = vrb_rc_conn_post(conn, &packet->wr, flags, context, bounce);
	if (err)
		vrb_rdm_pool_put(pool, bounce);
	return retry(peer, err);
}

/*
 * Returns true if the packet can be sent inline; then the segments of the payload are set. The
 * processor reads inline data, so endpoints with device memory do not use it.
 */
static bool goes_inline(const struct ofi_rdm_ep *ep, struct vrb_rdm_packet *packet, size_t hdr_len,
			const struct iovec *iov, size_t offset, size_t len)
{
	if (ep->hmem || hdr_len + len > vrb_rc(ep)->inline_max + sizeof(struct ofi_rdm_wire_fast))
		return false;
	packet->wr.num_sge = 1 + gather_sge(&packet->sge[1], iov, offset, len);
	return packet->wr.num_sge <= packet->max_sge;
}

/* Sends inline if the packet fits, else from a bounce buffer. */
static int send_packet(struct ofi_rdm_peer *peer, const void *hdr, size_t hdr_len,
		       const struct iovec *iov, size_t offset, size_t len, uint64_t flags,
		       void *context)
{
	struct vrb_rdm_packet *packet = &vrb_rc(peer->ep)->packet;

	if (!goes_inline(peer->ep, packet, hdr_len, iov, offset, len))
		return send_bounced(peer, hdr, hdr_len, iov, offset, len, flags, context);
	packet->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)hdr, .length = (uint32_t)hdr_len };
	packet->wr.send_flags = IBV_SEND_INLINE;
	return retry(peer,
		     vrb_rc_conn_post(vrb_rc_peer(peer)->conn, &packet->wr, flags, context, NULL));
}

static int rc_send(struct ofi_rdm_proto_peer *peer, const void *hdr, size_t hdr_len,
		   const struct iovec *iov, size_t offset, size_t len,
		   struct ofi_rdm_proto_out *out)
{
	return send_packet(vrb_rc_peer_of(peer), hdr, hdr_len, iov, offset, len,
			   vrb_rdm_kind_bits(VRB_RDM_PACKET) | (out ? 0 : OFI_RDM_SILENT), out);
}

static int rc_send_op(struct ofi_rdm_op *op, const void *hdr, size_t hdr_len)
{
	return send_packet(op->peer, hdr, hdr_len, NULL, 0, 0, vrb_rdm_kind_bits(VRB_RDM_OP), op);
}

static int post_rdma(struct ofi_rdm_peer *peer, struct vrb_rdm_fast_rma *rma, void *addr,
		     const struct ofi_rdm_proto_mr *mr, size_t len, uint64_t remote, uint64_t rkey,
		     uint64_t flags, void *context)
{
	struct ibv_send_wr *wr = &rma->wr;

	rma->sge = (struct ibv_sge){
		.addr = (uintptr_t)addr,
		.length = (uint32_t)len,
		.lkey = mr->lkey,
	};
	wr->wr.rdma.remote_addr = remote;
	wr->wr.rdma.rkey = (uint32_t)rkey;
	wr->send_flags = 0;
	return retry(peer, vrb_rc_conn_post(vrb_rc_peer(peer)->conn, wr, flags, context, NULL));
}

/* Copies from the memory of a process on this host. The completion is that of any other read. */
static OFI_OUTLINE int read_copied(struct ofi_rdm_proto_in *in, void *addr, size_t len,
				   uint64_t remote, uint64_t key)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(in->peer);
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_READ, .send_flags = VRB_SHM_COPIED };
	struct vrb_rc_conn *conn = vrb_rc_peer(peer)->conn;
	int ret = vrb_shm_copy(conn, addr, len, remote, key);

	return ret ? ret
		   : retry(peer,
			   vrb_rc_conn_post(conn, &wr, vrb_rdm_kind_bits(VRB_RDM_READ), in, NULL));
}

static int rc_read(struct ofi_rdm_proto_in *in, void *addr, const struct ofi_rdm_proto_mr *mr,
		   size_t len, uint64_t remote, uint64_t rkey)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(in->peer);

	if (ofi_unlikely(rkey & OFI_RDM_PROTO_COPIED))
		return read_copied(in, addr, len, remote, rkey);
	return post_rdma(peer, &vrb_rc(peer->ep)->read, addr, mr, len, remote, rkey,
			 vrb_rdm_kind_bits(VRB_RDM_READ), in);
}

static int rc_write(struct ofi_rdm_proto_out *out, void *addr, const struct ofi_rdm_proto_mr *mr,
		    size_t len, uint64_t remote, uint64_t rkey)
{
	struct ofi_rdm_peer *peer = vrb_rc_peer_of(out->peer);

	return post_rdma(peer, &vrb_rc(peer->ep)->write, addr, mr, len, remote, rkey,
			 vrb_rdm_kind_bits(VRB_RDM_WRITE), out);
}

/* Moves the protocol's state of a packet, except the fields that describe its place. */
static void move_in(struct ofi_rdm_proto_in *to, const struct ofi_rdm_proto_in *from, ptrdiff_t by)
{
	uint32_t index = to->index, cost = to->cost;
	uint16_t use = to->use;

	*to = *from;
	to->index = index;
	to->cost = cost;
	to->use = use;
	to->packet.payload += by;
	if (to->packet.list)
		to->packet.list += by;
}

static struct ofi_rdm_proto_in *rc_keep(struct ofi_rdm_proto_in *in, bool payload)
{
	struct vrb_rdm_rx *rx = (struct vrb_rdm_rx *)in, *kept;
	uintptr_t from = rx->sge.addr;
	size_t len = (uintptr_t)in->packet.payload - from;

	if (payload)
		len += in->packet.payload_len;
	kept = vrb_rdm_rx_keep(rx->ring, rx, len);
	if (kept && kept != rx)
		move_in(&kept->in, in, (ptrdiff_t)(kept->sge.addr - from));
	if (kept && payload &&
	    (in->packet.type == OFI_RDM_WIRE_EAGER || in->packet.type == OFI_RDM_WIRE_SEG_FIRST ||
	     in->packet.type == OFI_RDM_WIRE_RTS))
		ofi_rdm_count(vrb_rc_peer_of(in->peer)->ep, OFI_STATS_UNEXPECTED,
			      OFI_STATS_UNEXPECTED_BYTES, in->total);
	return kept ? &kept->in : NULL;
}

static OFI_OUTLINE void release_and_fill(struct ofi_rdm_proto_in *in)
{
	struct ofi_rdm_ep *ep = vrb_rc_peer_of(in->peer)->ep;

	vrb_rdm_rx_put(&vrb_rc(ep)->rx, (struct vrb_rdm_rx *)in);
	if (!ep->closing)
		vrb_rdm_refill(ep);
}

/* The inline case is an unexpected message whose bytes are in a small object. */
static void rc_release(struct ofi_rdm_proto_in *in)
{
	struct vrb_rdm_small *small = (struct vrb_rdm_small *)in;
	struct vrb_rdm_rx_ring *ring = small->rx.ring;

	if (ofi_unlikely(ring->above < 0))
		release_and_fill(in);
	else if (ofi_likely(in->index & VRB_RDM_SMALL_BIT && !small->heap))
		SLIST_INSERT_HEAD(&ring->free_small, small, link);
	else
		vrb_rdm_rx_put(ring, &small->rx);
}

static struct ofi_rdm_proto_in *rc_in_at(struct ofi_rdm_proto_peer *peer, uint32_t index)
{
	return (struct ofi_rdm_proto_in *)vrb_rdm_rx_at(&vrb_rc(vrb_rc_peer_of(peer)->ep)->rx,
							index);
}

static bool rc_quiet(const struct ofi_rdm_proto_peer *peer)
{
	const struct vrb_rc_conn *conn = vrb_rc_peer(vrb_rc_peer_of(peer))->conn;

	return !conn || vrb_rc_conn_idle(conn);
}

static uint32_t rc_mark(const struct ofi_rdm_proto_peer *peer)
{
	return vrb_rc_peer(vrb_rc_peer_of(peer))->conn->head;
}

static bool rc_passed(struct ofi_rdm_proto_peer *peer, uint32_t mark)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(vrb_rc_peer_of(peer))->conn;

	if ((int32_t)(conn->tail - mark) >= 0)
		return true;
	/* The connection has ended; its queue pair completes what is left. */
	if (!conn->live)
		return false;
	vrb_rc_conn_probe(conn, &peer->flow);
	if (conn->slots[(conn->head - 1) & conn->mask].flags & OFI_RDM_SILENT)
		vrb_rdm_conn_retry_post(peer);
	return false;
}

static void rc_touch(struct ofi_rdm_proto_peer *peer)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(vrb_rc_peer_of(peer))->conn;

	if (vrb_rc_conn_idle(conn))
		vrb_rc_conn_touch(conn, &peer->flow);
}

static bool rc_settled(struct ofi_rdm_proto_peer *peer)
{
	struct vrb_rc_conn *conn = vrb_rc_peer(vrb_rc_peer_of(peer))->conn;

	if (rc_quiet(peer))
		return true;
	if (conn->live)
		vrb_rc_conn_probe(conn, &peer->flow);
	return false;
}

static struct ofi_rdm_bounce *rc_bounce_get(struct ofi_rdm_peer *peer)
{
	struct vrb_rdm_buf *buf =
		vrb_rdm_pool_get_share(&vrb_rc(peer->ep)->tx_bufs, &vrb_rc_peer(peer)->bounces);

	if (!buf)
		vrb_rc_conn_probe_all(peer->ep);
	return (struct ofi_rdm_bounce *)buf;
}

static void rc_bounce_put(struct ofi_rdm_peer *peer, struct ofi_rdm_bounce *bounce)
{
	vrb_rdm_pool_put_share(&vrb_rc(peer->ep)->tx_bufs, (struct vrb_rdm_buf *)bounce,
			       &vrb_rc_peer(peer)->bounces);
}

static size_t rc_bounces_left(struct ofi_rdm_ep *ep)
{
	return vrb_rdm_pool_left(&vrb_rc(ep)->tx_bufs);
}

static int rc_local(struct ofi_rdm_ep *ep, void *addr, size_t len, bool written,
		    struct ofi_mr_region **region, uint32_t *lkey)
{
	int ret;

	if (ofi_hmem_at(ep->hmem, addr))
		return ofi_refuse(&vrb_prov, FI_LOG_EP_DATA, -FI_EINVAL,
				  "RMA of %zu B of device memory: needs its descriptor\n", len);
	ret = ofi_mr_cache_get(ep->domain->cache, addr, len, written ? IBV_ACCESS_LOCAL_WRITE : 0,
			       region);
	if (!ret)
		*lkey = ((struct ibv_mr *)(*region)->mr)->lkey;
	return ret;
}

static int rc_rdma(struct ofi_rdm_peer *peer, bool read, const void *addr, uint32_t lkey,
		   size_t len, uint64_t remote, uint32_t rkey, struct ofi_rdm_op *op)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)addr,
		.length = (uint32_t)len,
		.lkey = lkey,
	};
	struct ibv_send_wr wr = {
		.opcode = read ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
		.sg_list = &sge,
		.num_sge = len > 0,
		.wr.rdma = { .remote_addr = remote, .rkey = rkey },
	};

	return retry(peer, vrb_rc_conn_post(vrb_rc_peer(peer)->conn, &wr,
					    vrb_rdm_kind_bits(VRB_RDM_OP), op, NULL));
}

static const struct ofi_rdm_xport_ops rc_ops = {
	.open = vrb_rc_init,
	.enable = vrb_rc_enable,
	.setname = vrb_rdm_conn_setname,
	.disconnect = vrb_rdm_conn_close,
	.close = vrb_rc_fini,
	.free = vrb_rc_free,
	.lost = vrb_rdm_conn_lost,
	.modes = vrb_rc_set_modes,
	.signal_all = vrb_rc_conn_signal_all,
	.has = vrb_rc_conn_has,
	.peer_new = vrb_rc_peer_new,
	.peer_free = vrb_rc_peer_free,
	.peer_init = vrb_rc_peer_init,
	.peer_met = vrb_rc_peer_met,
	.peer_is_gone = vrb_rc_peer_is_gone,
	.bounce_get = rc_bounce_get,
	.bounce_put = rc_bounce_put,
	.bounces_left = rc_bounces_left,
	.local = rc_local,
	.rdma = rc_rdma,
	.send = rc_send,
	.send_op = rc_send_op,
	.read = rc_read,
	.write = rc_write,
	.reg = vrb_rdm_mem_reg,
	.bind = vrb_rdm_mem_bind,
	.revoke = vrb_rdm_mem_revoke,
	.dereg = vrb_rdm_mem_dereg,
	.keep = rc_keep,
	.release = rc_release,
	.in_at = rc_in_at,
	.connect = vrb_rdm_conn_want,
	.bye = vrb_rdm_conn_bye,
	.fault = vrb_rdm_conn_fault,
	.overdue = vrb_rdm_conn_overdue,
	.retry = vrb_rdm_conn_retry_post,
	.quiet = rc_quiet,
	.settled = rc_settled,
	.mark = rc_mark,
	.passed = rc_passed,
	.touch = rc_touch,
	.poll = vrb_rdm_poll,
	.progress = vrb_rdm_progress,
	.arm = vrb_rdm_arm,
};

/*
 * Soft-RoCE answers a read with all its packets at once. If the network loses some of them, the
 * reader waits for a timeout, and everything after them is retransmitted. A large message is
 * therefore read in pieces that a network can buffer.
 */
static void limit_reads(const struct vrb_domain *domain, struct ofi_rdm_xport_props *props)
{
	if (domain->attr.vendor_id != VRB_VENDOR_SOFT_ROCE)
		return;
	props->max_read = SOFT_READ;
	props->reads = SOFT_READS;
}

/* On an unordered device max_msg_size is one packet, and longer transfers consist of several. */
static size_t most_at_once(const struct vrb_domain *domain, const struct fi_info *info)
{
	size_t most = domain->unordered ? 0 : info->ep_attr->max_order_waw_size;

	return most ? most : 1u << 20;
}

struct ofi_rdm_xport vrb_rdm_rc(const struct vrb_domain *domain, const struct fi_info *info)
{
	struct ofi_rdm_xport xport = {
		.ops = &rc_ops,
		.calls = &vrb_rc_calls,
		.nolock_calls = &vrb_rc_nolock_calls,
		.props = {
			.ordered = true,
			.reliable = true,
			.delivers = domain->ctx->device->transport_type != IBV_TRANSPORT_IWARP,
			.can_read = true,
			.copies = domain->shares,
			/* RDMA writes of an EFA are not used, whatever FI_VERBS_* prefers. */
			.can_write = !domain->unordered,
			.window = OFI_RDM_WIRE_WINDOW,
			.unread = domain->shares ? OFI_SHM_RING_UNREAD : 0,
			.max_packet = (size_t)vrb_params.rdm_buffer_size,
			.max_read = most_at_once(domain, info),
			.max_write = most_at_once(domain, info),
			.reads = RDMA_AT_ONCE,
			.writes = RDMA_AT_ONCE,
		},
	};

	limit_reads(domain, &xport.props);
	return xport;
}
