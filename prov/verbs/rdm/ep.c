/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable-datagram endpoints: opening, binding, enabling, closing. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/ep.h"
#include "prov/base/ops.h"
#include "prov/base/wait.h"
#include <rdma/fi_cm.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "alias.h"
#include "domain_progress.h"
#include "atomic.h"
#include "av.h"
#include "proto_ops.h"
#include "cntr.h"
#include "coll.h"
#include "conn.h"
#include "cq.h"
#include "ep.h"
#include "lock.h"
#include "mem.h"
#include "msg.h"
#include "op.h"
#include "peer.h"
#include "progress.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/discovery/inline.h"
#include "prov/verbs/provider/mr.h"
#include "prov/base/name.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"
#include "prov/base/stx.h"
#include "order.h"
#include "rc.h"
#include "stats.h"
#include "work.h"
#include "prov/base/refuse.h"

#define TX_BUFS	 1024u
#define CQ_SHARE 3072 /* entries for the send queues of peers, at first */
#define DRAIN_MS 2000

static int ep_failed(const char *call, int err)
{
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "fi_enable: %s: %s%s\n", call, strerror(err),
		vrb_remedy(err));
	return vrb_errno(err);
}

/* The device's objects. Whoever may sleep for a completion needs the channel. */
static int open_queues(struct vrb_rdm *ep)
{
	struct ibv_srq_init_attr srq = { .srq_context = ep,
					 .attr = { .max_wr = ep->rx.depth, .max_sge = 1 } };
	int max = ep->domain->attr.max_cqe;
	int size = (int)ep->rx.depth + CQ_SHARE < max ? (int)ep->rx.depth + CQ_SHARE : max;

	if (!ep->channel)
		ep->channel = ibv_create_comp_channel(ep->domain->ctx);
	if (!ep->channel)
		return ep_failed("ibv_create_comp_channel", errno);
	if (fcntl(ep->channel->fd, F_SETFL, O_NONBLOCK))
		return ep_failed("fcntl", errno);
	if (!ep->cq)
		ep->cq = ibv_create_cq(ep->domain->ctx, size, ep, ep->channel, vrb_rdm_vector(ep));
	if (!ep->cq)
		return ep_failed("ibv_create_cq", errno);
	if (!ep->srq)
		ep->srq = ibv_create_srq(ep->domain->pd, &srq);
	if (!ep->srq)
		return ep_failed("ibv_create_srq", errno);
	ep->room.size = (uint32_t)size;
	ep->room.left = ep->room.size - ep->rx.depth;
	ep->rx.srq = ep->srq;
	ep->rx.refused = false;
	return vrb_rdm_rx_fill(&ep->rx);
}

static void detach(struct vrb_rdm *ep)
{
	int i;

	vrb_rdm_domain_progress_remove(ep->domain->base.progress, ep);
	if (ep->attached > 0 && ep->tx_cq)
		vrb_rdm_cq_detach(ep->tx_cq, ep, true);
	if (ep->attached > 1 && ep->rx_cq && ep->rx_cq != ep->tx_cq)
		vrb_rdm_cq_detach(ep->rx_cq, ep, false);
	ep->attached = 0;
	for (i = 0; i < VRB_RDM_COUNTS; i++)
		if (ep->cntrs[i])
			ofi_cntr_unwatch(ep->cntrs[i], ep);
	ofi_cntr_unwatch_all(&ep->deferred.watches);
}

static int attach(struct vrb_rdm *ep)
{
	int i, ret = 0;

	if (ep->tx_cq)
		ret = vrb_rdm_cq_attach(ep->tx_cq, ep, true);
	ep->attached = !ret;
	if (!ret && ep->rx_cq && ep->rx_cq != ep->tx_cq)
		ret = vrb_rdm_cq_attach(ep->rx_cq, ep, false);
	if (ret)
		return ret;
	ep->attached = 2;
	ret = vrb_rdm_domain_progress_add(ep->domain->base.progress, ep);
	for (i = 0; i < VRB_RDM_COUNTS && !ret; i++)
		if (ep->cntrs[i])
			ret = ofi_cntr_watch(ep->cntrs[i], &vrb_rdm_cntr_source, ep,
					     ep->channel->fd);
	return ret;
}

static int missing(const struct vrb_rdm *ep)
{
	uint64_t caps = ep->info->caps;

	if (!ep->av) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "fi_enable: no address vector is bound\n");
		return -FI_ENOAV;
	}
	if (!ep->stx && ep->info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_enable: tx_ctx_cnt is FI_SHARED_CONTEXT and no shared transmit context is bound\n");
		return -FI_EOPBADSTATE;
	}
	if (!ep->tx_cq && (caps & FI_SEND) && !ep->cntrs[VRB_RDM_SEND]) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_enable: no completion queue is bound with FI_TRANSMIT\n");
		return -FI_ENOCQ;
	}
	if (!ep->rx_cq && (caps & FI_RECV) && !ep->cntrs[VRB_RDM_RECV]) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_enable: no completion queue is bound with FI_RECV\n");
		return -FI_ENOCQ;
	}
	return 0;
}

static int enable(struct vrb_rdm *ep)
{
	int ret;

	if (ep->enabled || ep->dead)
		return -ep->dead;
	ret = missing(ep);
	if (!ret)
		ret = open_queues(ep);
	if (ret)
		return ret;
	ret = attach(ep);
	if (ret) {
		detach(ep);
		return ep_failed("what asks it for progress", -ret);
	}
	vrb_rdm_coll_enable(ep);
	vrb_rdm_lock(ep);
	ep->enabled = true;
	vrb_rdm_unlock(ep);
	vrb_rdm_stats_show(ep);
	return 0;
}

/* Everything that was sent has left, as far as peers take it; for a while. */
static bool is_drained(struct vrb_rdm *ep)
{
	uint32_t i;

	for (i = 0; i < ep->peer_count; i++) {
		struct vrb_rdm_peer *peer = ep->peers[i];

		if (!TAILQ_EMPTY(&peer->proto.outs) || peer->marker ||
		    !STAILQ_EMPTY(&peer->proto.flow.control))
			return false;
		if (!peer->link || vrb_rdm_link_idle(peer->link))
			continue;
		if (peer->link->live)
			vrb_rdm_link_probe(peer->link, &peer->proto.flow);
		return false;
	}
	return true;
}

static void drain(struct vrb_rdm *ep)
{
	uint64_t end = ofi_now_ms() + DRAIN_MS;
	bool done;

	do {
		vrb_rdm_progress(ep);
		vrb_rdm_lock(ep);
		done = is_drained(ep);
		vrb_rdm_unlock(ep);
		if (!done)
			sched_yield();
	} while (!done && ofi_now_ms() < end);
}

static void close_queues(struct vrb_rdm *ep)
{
	if (ep->srq)
		ibv_destroy_srq(ep->srq);
	if (ep->cq) {
		if (ep->unacked)
			ibv_ack_cq_events(ep->cq, ep->unacked);
		ibv_destroy_cq(ep->cq);
	}
	if (ep->channel)
		ibv_destroy_comp_channel(ep->channel);
}

/*
 * Other threads may read its queues and counters, and change its address vector, until it has left
 * them; only then its connections end. What is left is forgotten with the endpoint.
 */
static void ep_free(struct vrb_rdm *ep)
{
	vrb_rdm_conn_shut(ep);
	detach(ep);
	if (ep->av)
		vrb_rdm_av_leave(ep->av, ep);
	vrb_rdm_conn_close(ep);
	vrb_rdm_unbind(ep);
	close_queues(ep);
	vrb_rdm_peers_fini(ep);
	vrb_rdm_rx_fini(&ep->rx);
	vrb_rdm_pool_fini(&ep->tx_bufs);
	vrb_rdm_coll_fini(ep);
	vrb_rdm_objects_fini(ep);
	vrb_rdm_mem_fini(ep);
	vrb_rdm_ops_fini(ep);
	vrb_rdm_work_fini(ep);
	free(ep->atomic_old);
	free(ep->buckets);
	fi_freeinfo(ep->info);
	ofi_stats_free(ep, &ep->stats);
}

int vrb_rdm_close(struct vrb_rdm *ep)
{
	struct ofi_trigger_match match = { .owner = ep };
	struct vrb_domain *domain = ep->domain;
	int ret;

	if (ofi_ref_inherited(&domain->base.ref))
		return 0;
	ret = __atomic_load_n(&ep->fids.children, __ATOMIC_ACQUIRE) == 1 ? vrb_rdm_coll_busy(ep)
									 : 0;
	if (ret || __atomic_sub_fetch(&ep->fids.children, 1, __ATOMIC_ACQ_REL))
		return ret;
	ofi_triggers_cancel(&domain->base.triggers, &match);
	if (ep->enabled)
		drain(ep);
	ep_free(ep);
	ofi_ref_put(&domain->base.ref);
	return 0;
}

static int ep_close(struct fid *fid)
{
	return vrb_rdm_close((struct vrb_rdm *)fid);
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)fid;
	struct ofi_ep_op_flags of = { &ep->tx_op_flags, &ep->rx_op_flags, VRB_RDM_TX_OP_FLAGS,
				      VRB_RDM_RX_OP_FLAGS };
	int ret;

	switch (command) {
	case FI_ENABLE:
		return enable(ep);
	case FI_ALIAS:
		return vrb_rdm_alias_open(ep, ep->tx_op_flags, ep->rx_op_flags, arg);
	case FI_GETOPSFLAG:
		return ofi_ep_get_op_flags(&vrb_prov, &of, arg);
	case FI_SETOPSFLAG:
		ret = ofi_ep_set_op_flags(&vrb_prov, &of, arg);
		if (!ret)
			vrb_rdm_set_modes(ep);
		return ret;
	default:
		return ofi_decline_command(
			&vrb_prov, FI_LOG_EP_CTRL, command,
			"an endpoint knows FI_ENABLE, FI_ALIAS, FI_GETOPSFLAG and FI_SETOPSFLAG");
	}
}

static const struct fi_ops ep_fid_ops = {
	.size = sizeof(struct fi_ops),
	OFI_FID_DEFAULTS,
	.close = ep_close,
	.bind = vrb_rdm_bind,
	.control = ep_control,
	.ops_open = vrb_rdm_stats_open_ops,
};

bool vrb_rdm_is_ep(const struct fid *fid)
{
	return fid->ops == &ep_fid_ops || vrb_rdm_is_alias(fid);
}

static ssize_t ep_cancel(struct fid *fid, void *context)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)fid;
	bool found;

	vrb_rdm_lock(ep);
	found = ofi_rdm_proto_cancel(&ep->proto, true, context) ||
		ofi_rdm_proto_cancel(&ep->proto, false, context) ||
		vrb_rdm_work_cancel(ep, context);
	vrb_rdm_unlock(ep);
	return found ? 0 : -FI_ENOENT;
}

static int option(struct fid *fid, int name, size_t *value)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)fid;

	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
		*value = __atomic_load_n(&ep->min_multi_recv, __ATOMIC_RELAXED);
		return 0;
	case FI_OPT_TX_SIZE:
		*value = ep->info->tx_attr->size;
		return 0;
	case FI_OPT_RX_SIZE:
		*value = ep->info->rx_attr->size;
		return 0;
	case FI_OPT_MAX_MSG_SIZE:
	case FI_OPT_MAX_TAGGED_SIZE:
	case FI_OPT_MAX_RMA_SIZE:
		*value = ep->info->ep_attr->max_msg_size;
		return 0;
	case FI_OPT_MAX_ATOMIC_SIZE:
	case FI_OPT_INJECT_ATOMIC_SIZE:
		*value = ep->proto.eager;
		return 0;
	case FI_OPT_INJECT_MSG_SIZE:
	case FI_OPT_INJECT_TAGGED_SIZE:
	case FI_OPT_INJECT_RMA_SIZE:
		*value = ep->inject_size;
		return 0;
	default:
		return -FI_ENOPROTOOPT;
	}
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	return ofi_ep_getopt(&vrb_prov, fid, option, level, name, value, len);
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)fid;
	size_t to;
	int ret = ofi_ep_setopt(&vrb_prov, fid, option, level, name, value, len,
				FI_OPT_MIN_MULTI_RECV, &to);

	if (!ret)
		__atomic_store_n(&ep->min_multi_recv, to, __ATOMIC_RELAXED);
	return ret;
}

static const struct fi_ops_ep ep_ops = {
	.size = sizeof(struct fi_ops_ep),
	OFI_EP_DEFAULTS,
	.cancel = ep_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
};

static int ep_getname(fid_t fid, void *addr, size_t *len)
{
	struct vrb_rdm *ep = (struct vrb_rdm *)fid;
	struct sockaddr_storage ss = { 0 };

	if (!len || (!addr && *len))
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_getname", "addr or addrlen");
	memcpy(&ss, &ep->self, sizeof(ep->self));
	return ofi_name_out(&vrb_prov, "fi_getname", ep->info->addr_format, &ss, addr, len);
}

static const struct fi_ops_cm cm_ops = {
	.size = sizeof(struct fi_ops_cm),
	OFI_CM_DEFAULTS,
	.getname = ep_getname,
	.join = vrb_rdm_coll_join,
};

static void set_rma(struct vrb_rdm_fast_rma *rma, enum ibv_wr_opcode opcode)
{
	rma->wr = (struct ibv_send_wr){
		.opcode = opcode,
		.sg_list = &rma->sge,
		.num_sge = 1,
	};
}

static void set_templates(struct vrb_rdm *ep)
{
	struct vrb_rdm_fast *fast;
	int tagged;

	for (tagged = 0; tagged < 2; tagged++) {
		fast = &ep->fast[tagged];
		fast->sge[0] = (struct ibv_sge){
			.addr = (uintptr_t)&fast->head,
			.length = (uint32_t)ofi_rdm_wire_build_fast(&fast->head, tagged, 0),
		};
		fast->wr = (struct ibv_send_wr){
			.opcode = IBV_WR_SEND,
			.sg_list = fast->sge,
			.num_sge = 2,
		};
	}
	set_rma(&ep->write, IBV_WR_RDMA_WRITE);
	set_rma(&ep->read, IBV_WR_RDMA_READ);
	if (!(ep->info->rx_attr->caps & FI_DIRECTED_RECV))
		ep->undirected = FI_ADDR_UNSPEC;
}

/* Of what the device takes inline an eager packet's header is a part. */
static int set_inline(struct vrb_rdm *ep)
{
	const char *what;
	uint32_t max;
	int err = vrb_inline_max(ep->domain->ctx, IBV_QPT_RC, &what, &max);

	if (err)
		return ep_failed(what, err);
	if (vrb_params.inline_size && max > (uint32_t)vrb_params.inline_size)
		max = (uint32_t)vrb_params.inline_size;
	ep->inline_max =
		max > sizeof(struct ofi_rdm_wire_fast) ? max - sizeof(struct ofi_rdm_wire_fast) : 0;
	return 0;
}

static uint32_t rx_depth(const struct vrb_rdm *ep)
{
	int max = ep->domain->attr.max_srq_wr, depth = vrb_params.rdm_rx_buffers;

	return (uint32_t)(max > 0 && max < depth ? max : depth);
}

static int ep_setup(struct vrb_rdm *ep, const struct fi_info *info)
{
	int ret;

	ep->info = fi_dupinfo(info);
	if (!ep->info)
		return -FI_ENOMEM;
	/* It is of the receiving side; OpenSHMEM says so only there. */
	ep->info->caps |= info->rx_attr->caps & ep->domain->base.info->caps & FI_RMA_EVENT;
	vrb_rdm_domain_progress_bias(ep->domain->base.progress, ep);
	ep->inject_size = info->tx_attr->inject_size;
	ep->tx_op_flags = info->tx_attr->op_flags;
	ep->rx_op_flags = info->rx_attr->op_flags;
	ep->wants_source = info->caps & (FI_SOURCE | FI_SOURCE_ERR);
	ep->counts = info->caps & FI_TRIGGER; /* deferred work has counters of its own */
	ep->prov_keys = vrb_mr_prov_key(ep->domain);
	vrb_rdm_order_init(ep, info);
	ep->atomic_old = malloc(vrb_rdm_payload());
	if (!ep->atomic_old)
		return -FI_ENOMEM;
	ep->min_multi_recv = 64;
	ret = set_inline(ep);
	if (!ret)
		ret = vrb_rdm_proto_open(ep, vrb_rdm_rc(ep->domain, info));
	if (!ret)
		ret = vrb_rdm_coll_open(ep);
	if (ret)
		return ret;
	set_templates(ep);
	vrb_rdm_set_modes(ep);
	vrb_rdm_pool_init(&ep->tx_bufs, ep->domain, (size_t)vrb_params.rdm_buffer_size, TX_BUFS);
	vrb_rdm_rx_init(&ep->rx, ep->domain, (size_t)vrb_params.rdm_buffer_size, rx_depth(ep));
	return vrb_rdm_conn_open(ep);
}

/* Only what the endpoint was asked to do has a table that does something. */
static void set_tables(struct vrb_rdm *ep, void *context)
{
	uint64_t caps = ep->info->caps;

	ep->fid = (struct fid_ep){
		.fid = { .fclass = FI_CLASS_EP, .context = context, .ops = ofi_ops(&ep_fid_ops) },
		.ops = ofi_ops(&ep_ops),
		.cm = ofi_ops(&cm_ops),
		.msg = caps & FI_MSG ? vrb_rdm_msg_table(ep) : ofi_ops(&ofi_no_msg_ops),
		.tagged = caps & FI_TAGGED ? vrb_rdm_tagged_table(ep) : ofi_ops(&ofi_no_tagged_ops),
		.rma = caps & FI_RMA ? vrb_rdm_rma_table(ep) : ofi_ops(&ofi_no_rma_ops),
		.atomic = caps & FI_ATOMIC ? ofi_ops(&vrb_rdm_atomic_ops)
					   : ofi_ops(&ofi_no_atomic_ops),
		.collective =
			ep->coll ? ofi_ops(&vrb_rdm_coll_ops) : ofi_ops(&ofi_no_collective_ops),
	};
}

/* What triggered operations and deferred work do in the end. */
static const struct vrb_rdm_calls calls = {
	.send = vrb_rdm_send_work,
	.recv = vrb_rdm_recv_work,
	.rma = vrb_rdm_rma_work,
	.atomic = vrb_rdm_atomic_work,
};

int vrb_rdm_open(struct fid_domain *domain_fid, struct fi_info *info, struct fid_ep **ep_fid,
		 void *context)
{
	struct vrb_domain *domain = vrb_domain(domain_fid);
	struct vrb_rdm *ep;
	int ret;

	if (!info || !info->ep_attr || !info->tx_attr || !info->rx_attr || !info->src_addr ||
	    !ep_fid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_endpoint",
				       "ep, info or what belongs to it");
	if (info->ep_attr->type != FI_EP_RDM) {
		FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
			"fi_endpoint: type %d; this domain has FI_EP_RDM\n", info->ep_attr->type);
		return -FI_EINVAL;
	}
	ret = vrb_tclass_check("fi_endpoint", info);
	if (ret)
		return ret;
	ep = ofi_stats_alloc(sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->endpoint = ep;
	ep->domain = domain;
	ep->conn.timer.fd = -1;
	ep->recent_qp = VRB_RDM_NO_QP;
	SLIST_INIT(&ep->conn.dead_links);
	ep->deferred.calls = &calls;
	LIST_INIT(&ep->deferred.dones);
	ofi_lock_init(&ep->deferred.lock);
	LIST_INIT(&ep->deferred.watches);
	ofi_ref_get(&ep->fids);
	ret = ep_setup(ep, info);
	if (ret) {
		ep_free(ep);
		return ret;
	}
	set_tables(ep, context);
	ofi_ref_get(&domain->base.ref);
	*ep_fid = &ep->fid;
	return 0;
}
