/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The device's part of an endpoint: its queues, its buffers, and the templates of the fast path. */
#include <errno.h>
#include <fcntl.h>
#include <rdma/fi_errno.h>
#include <ofi/wide.h>
#include "conn.h"
#include "prov/rdm/ep.h"
#include "prov/rdm/sep.h"
#include "prov/rdm/msg.h"
#include "prov/rdm/srx.h"
#include "progress.h"
#include "rc.h"
#include "shm.h"
#include "ud.h"
#include "prov/verbs/discovery/info_rdm.h"
#include "prov/verbs/discovery/inline.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/discovery/device.h"
#include "prov/verbs/discovery/source.h"
#include "prov/verbs/provider/mr.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"

#define TX_BUFS	 1024u
#define SHM_BUFS 32u
#define CQ_SHARE 3072  /* initial number of entries for the peers' send queues */
#define CQ_WHOLE 65536 /* the same if the device's CQs cannot grow */

_Static_assert(VRB_RDM_WR_MIN == OFI_RDM_WIRE_WINDOW + 1 + VRB_SHM_WAKES,
	       "a device that is offered has connections with a whole ring");

static int cq_size(const struct ofi_rdm_ep *ep, int share)
{
	int max = vrb_rc_domain(ep)->attr.max_cqe;
	int size = (int)vrb_rc(ep)->rx.depth + share;

	return size < max ? size : max;
}

/*
 * Creates the CQ, a large one if it cannot grow, unless there is no memory for that. The driver is
 * asked for the size that the CQ has, for which most drivers do nothing.
 */
static int open_cq(struct ofi_rdm_ep *ep)
{
	const struct vrb_domain *domain = vrb_rc_domain(ep);
	int size = cq_size(ep, CQ_SHARE), whole = cq_size(ep, CQ_WHOLE);
	struct vrb_rc_ep *rc = vrb_rc(ep);
	struct ibv_cq *small;

	if (vrb_rdm_create_cq(ep, size))
		return vrb_failed(domain->ctx, errno, "fi_enable: ibv_create_cq");
	rc->room.size = (uint32_t)size;
	small = rc->cq;
	if (whole == size || (domain->ud && !domain->grows) || !ibv_resize_cq(small, size))
		return 0;
	rc->room.fixed = !vrb_rdm_create_cq(ep, whole);
	if (rc->room.fixed) {
		rc->room.size = (uint32_t)whole;
		ibv_destroy_cq(small);
	} else {
		rc->cq = small;
		vrb_rdm_poll_from(rc, small, 1);
	}
	return 0;
}

/* Posts receives to the SRQ. */
static int receive_now(struct ofi_rdm_ep *ep)
{
	int ret;

	vrb_rc(ep)->rx.srq = vrb_rc(ep)->srq;
	vrb_rc(ep)->rx.grow_at = 0;
	ep->fd = vrb_rc(ep)->channel->fd;
	ret = vrb_rdm_pool_reserve(&vrb_rc(ep)->tx_bufs);
	return ret ? ret : vrb_rdm_rx_fill(&vrb_rc(ep)->rx);
}

static uint32_t rx_depth(const struct ofi_rdm_ep *ep)
{
	int max = vrb_rc_domain(ep)->attr.max_srq_wr, depth = vrb_params.rdm_rx_buffers;

	if (max > 0 && max < depth)
		depth = max;
	/* The other half of the completion queue is for what is sent. */
	max = vrb_rc_domain(ep)->attr.max_cqe / 2;
	return (uint32_t)(max > 0 && max < depth ? max : depth);
}

/* Receive buffers that are not posted, for what arrives through shared memory. */
static uint32_t rx_reserve(const struct ofi_rdm_ep *ep, uint32_t depth)
{
	uint32_t reserve = depth / 4 < SHM_BUFS ? depth / 4 : SHM_BUFS;

	return vrb_rc_shares(ep) ? reserve : 0;
}

static void set_receives(struct ofi_rdm_ep *ep)
{
	uint32_t depth = rx_depth(ep), reserve = rx_reserve(ep, depth);

	vrb_rdm_rx_init(&vrb_rc(ep)->rx, vrb_rc_domain(ep), (size_t)vrb_params.rdm_buffer_size,
			depth - reserve, reserve);
}

/* Creates the device's objects. A thread that sleeps for completions needs the channel. */
int vrb_rc_enable(struct ofi_rdm_ep *ep)
{
	struct ibv_srq_init_attr srq = { .srq_context = ep, .attr = { .max_sge = 1 } };
	int ret;

	if (!vrb_rc(ep)->channel) {
		set_receives(ep);
		vrb_rc(ep)->channel = ibv_create_comp_channel(vrb_rc_domain(ep)->ctx);
	}
	if (!vrb_rc(ep)->channel)
		return vrb_failed(vrb_rc_domain(ep)->ctx, errno,
				  "fi_enable: ibv_create_comp_channel");
	if (fcntl(vrb_rc(ep)->channel->fd, F_SETFL, O_NONBLOCK))
		return vrb_failed(vrb_rc_domain(ep)->ctx, errno, "fi_enable: fcntl");
	ret = vrb_rc(ep)->cq ? 0 : open_cq(ep);
	if (ret)
		return ret;
	if (vrb_rc_domain(ep)->ud) {
		ret = vrb_rc(ep)->ud ? 0 : vrb_ud_open(ep, &vrb_rdm_ud_calls);
		return ret ? ret : receive_now(ep);
	}
	srq.attr.max_wr = vrb_rc(ep)->rx.depth;
	if (!vrb_rc(ep)->srq)
		vrb_rc(ep)->srq = ibv_create_srq(vrb_rc_domain(ep)->pd, &srq);
	if (!vrb_rc(ep)->srq)
		return vrb_failed(vrb_rc_domain(ep)->ctx, errno, "fi_enable: ibv_create_srq");
	vrb_rc(ep)->room.left = vrb_rc(ep)->room.size - vrb_rc(ep)->rx.depth;
	return receive_now(ep);
}

static void close_queues(struct ofi_rdm_ep *ep)
{
	vrb_shm_close(ep);
	vrb_ud_close(ep);
	if (vrb_rc(ep)->srq)
		ibv_destroy_srq(vrb_rc(ep)->srq);
	if (vrb_rc(ep)->cq) {
		if (vrb_rc(ep)->unacked)
			ibv_ack_cq_events(vrb_rc(ep)->cq, vrb_rc(ep)->unacked);
		ibv_destroy_cq(vrb_rc(ep)->cq);
	}
	if (vrb_rc(ep)->channel)
		ibv_destroy_comp_channel(vrb_rc(ep)->channel);
}

static void set_rma(struct vrb_rdm_fast_rma *rma, enum ibv_wr_opcode opcode)
{
	rma->wr = (struct ibv_send_wr){
		.opcode = opcode,
		.sg_list = &rma->sge,
		.num_sge = 1,
	};
}

/* Returns how many segments inline data may have. Old irdma sends only the first one. */
static int inlined_sge(const struct vrb_domain *domain)
{
	return domain->attr.vendor_id == VRB_VENDOR_INTEL ? 1 : domain->attr.max_sge;
}

static void set_templates(struct ofi_rdm_ep *ep)
{
	int tagged, max_sge = inlined_sge(vrb_rc_domain(ep));
	struct vrb_rdm_fast *fast;

	vrb_rc(ep)->packet.max_sge =
		max_sge < 1 + OFI_RDM_PROTO_IOV ? max_sge : 1 + OFI_RDM_PROTO_IOV;
	for (tagged = 0; tagged < 2; tagged++) {
		fast = &vrb_rc(ep)->fast[tagged];
		fast->sge[0] = (struct ibv_sge){
			.addr = (uintptr_t)&fast->head,
			.length = (uint32_t)ofi_rdm_wire_build_fast(&fast->head, tagged, 0),
		};
		fast->wr = (struct ibv_send_wr){
			.opcode = IBV_WR_SEND,
			.sg_list = fast->sge,
			.num_sge = vrb_rc(ep)->inline_max ? 2 : 1,
		};
	}
	vrb_rc(ep)->packet.wr = (struct ibv_send_wr){
		.opcode = IBV_WR_SEND,
		.sg_list = vrb_rc(ep)->packet.sge,
	};
	set_rma(&vrb_rc(ep)->write, IBV_WR_RDMA_WRITE);
	set_rma(&vrb_rc(ep)->read, IBV_WR_RDMA_READ);
}

/* An eager packet's header counts toward the device's inline limit. */
static int set_inline(struct ofi_rdm_ep *ep)
{
	const char *what;
	const struct vrb_domain *domain = vrb_rc_domain(ep);
	uint32_t max = 0;
	int err;

	/* The stand-in for a queue pair copies data that fit in the smallest packet. */
	vrb_rc(ep)->inline_max = VRB_UD_INLINE;
	if (domain->ud && !domain->grows)
		return 0;
	err = vrb_inline_max(domain->ctx, IBV_QPT_RC, &what, &max);
	if (err)
		return vrb_failed(domain->ctx, err, "fi_enable: %s", what);
	if (vrb_params.inline_size && max > (uint32_t)vrb_params.inline_size)
		max = (uint32_t)vrb_params.inline_size;
	max = max > sizeof(struct ofi_rdm_wire_fast) && inlined_sge(domain) > 1
		      ? max - (uint32_t)sizeof(struct ofi_rdm_wire_fast)
		      : 0;
	if (!domain->ud || max < VRB_UD_INLINE)
		vrb_rc(ep)->inline_max = max;
	return 0;
}

int vrb_rc_init(struct ofi_rdm_ep *ep)
{
	int ret = set_inline(ep);

	if (ret)
		return ret;
	ep->prov_keys = vrb_mr_prov_key(vrb_rc_domain(ep));
	set_templates(ep);
	vrb_rdm_pool_init(&vrb_rc(ep)->tx_bufs, vrb_rc_domain(ep),
			  (size_t)vrb_params.rdm_buffer_size, TX_BUFS);
	return vrb_rdm_conn_open(ep);
}

void vrb_rc_fini(struct ofi_rdm_ep *ep)
{
	close_queues(ep);
	vrb_rdm_rx_fini(&vrb_rc(ep)->rx);
	vrb_rdm_pool_fini(&vrb_rc(ep)->tx_bufs);
	vrb_rdm_mem_fini(ep);
}

void vrb_rc_set_modes(struct ofi_rdm_ep *ep, uint64_t flags)
{
	uint64_t silent = flags & FI_COMPLETION ? 0 : OFI_RDM_SILENT;
	bool fenced = flags & FI_FENCE;
	size_t end = fenced || flags & (FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE)
			     ? 0
			     : vrb_rc(ep)->inline_max + 1;

	vrb_rc(ep)->fast[false].flags = FI_MSG | FI_SEND | silent;
	vrb_rc(ep)->fast[true].flags = FI_TAGGED | FI_SEND | silent;
	vrb_rc(ep)->fast[false].end = vrb_rc(ep)->fast[true].end = end;
	vrb_rc(ep)->write.flags = FI_RMA | FI_WRITE | silent;
	vrb_rc(ep)->write.end = fenced ? 0 : vrb_rc(ep)->inline_max + 1;
	/* What is not inline is read by the device later, but FI_INJECT returns it at once. */
	vrb_rc(ep)->write.registered_end =
		fenced || flags & FI_INJECT ? 0 : ep->proto.xport.props.max_write + 1;
	vrb_rc(ep)->read.flags = FI_RMA | FI_READ | silent;
	vrb_rc(ep)->read.registered_end = fenced ? 0 : ep->proto.xport.props.max_read + 1;
}

static struct ofi_rdm_proto_config proto_config(void)
{
	return (struct ofi_rdm_proto_config){
		.segmented = (size_t)vrb_params.rdm_segmented_size,
		.write = vrb_params.rdm_use_write > 0,
		.unexpected = (uint64_t)vrb_params.rdm_unexpected_size,
	};
}

int vrb_rc_srx_open(struct fid_domain *fid, struct fi_rx_attr *attr, struct fid_ep **srx,
		    void *context)
{
	struct fi_rx_attr limit = vrb_rdm_rx_limits();
	const struct ofi_rdm_proto_config config = proto_config();
	struct vrb_domain *domain = vrb_domain(fid);
	const struct fi_info *info = domain->base.info;
	const struct ofi_rdm_xport xport = vrb_rdm_rc(domain, info);

	if (__atomic_load_n(&domain->dead, __ATOMIC_ACQUIRE))
		return -FI_ENODEV;
	limit.caps &= ~ofi_rdm_lacking_variants(info->fabric_attr->api_version);
	limit.caps |= info->caps & FI_HMEM;
	return ofi_rdm_srx_open(&domain->base, &limit, attr, &xport, &config, srx, context);
}

int vrb_rc_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **ep, void *context)
{
	const struct ofi_rdm_proto_config config = proto_config();
	struct vrb_domain *domain = vrb_domain(fid);
	struct ofi_rdm_xport xport;
	struct ofi_wide wide;
	struct vrb_rc_ep *rc;
	int ret;

	info = ofi_widen(domain->fabric->fid.api_version, info, &wide);
	ret = ofi_rdm_ep_check(&domain->base, info, ep);
	if (!ret && info->domain_attr)
		ret = vrb_device_check(domain->ctx->device, info->domain_attr->name,
				       domain->unordered);
	if (!ret)
		ret = vrb_tclass_check("fi_endpoint", info);
	if (ret)
		return ret;
	rc = ofi_stats_alloc(sizeof(*rc));
	if (!rc)
		return -FI_ENOMEM;
	xport = vrb_rdm_rc(domain, info);
	rc->conns.timer.fd = -1;
	rc->recent_qp = VRB_RDM_NO_QP;
	SLIST_INIT(&rc->conns.dead_conns);
	return ofi_rdm_ep_open(&rc->rdm, &domain->base, info, &xport, &config, ep, context);
}

int vrb_rc_sep_open(struct fid_domain *fid, struct fi_info *info, struct fid_ep **sep,
		    void *context)
{
	struct vrb_domain *domain = vrb_domain(fid);
	struct ofi_wide wide;
	struct fi_info *own;
	int ret;

	info = ofi_widen(domain->fabric->fid.api_version, info, &wide);
	ret = ofi_rdm_ep_check(&domain->base, info, sep);
	if (ret)
		return ret;
	own = fi_dupinfo(info);
	if (!own)
		return -FI_ENOMEM;
	ret = vrb_source_choose(domain, own);
	if (!ret)
		ret = ofi_rdm_sep_open(fid, own, vrb_rc_open, sep, context);
	fi_freeinfo(own);
	return ret;
}

void vrb_rc_free(struct ofi_rdm_ep *ep)
{
	ofi_stats_free(vrb_rc(ep), &ep->stats);
}
