/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: opening, enabling, callbacks of the connection, closing. */
#include <sched.h>
#include <stdlib.h>
#include "prov/base/ep.h"
#include "prov/base/ops.h"
#include "src/ds/patience.h"
#include <rdma/fi_cm.h>
#include <rdma/providers/fi_log.h>
#include <ofi/wide.h>
#include "prov/verbs/queue/batch.h"
#include "prov/verbs/queue/cntr.h"
#include "prov/verbs/queue/cq.h"
#include "prov/verbs/discovery/device.h"
#include "prov/verbs/dgram/dgram.h"
#include "ep.h"
#include "ep_alias.h"
#include "ep_modes.h"
#include "hmem.h"
#include "multi.h"
#include "ops.h"
#include "prov/verbs/queue/post.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/qp.h"
#include "srx.h"
#include "prov/verbs/provider/stats.h"
#include "prov/verbs/provider/tclass.h"
#include "work.h"
#include "prov/base/refuse.h"

#define DRAIN_MS 100

static int context_missing(const struct vrb_ep *ep)
{
	if (!ep->srx && vrb_ep_shares_rx(ep))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_enable: rx_ctx_cnt is FI_SHARED_CONTEXT and no shared receive context is bound\n");
	if (!ep->stx && ep->info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_enable: tx_ctx_cnt is FI_SHARED_CONTEXT and no shared transmit context is bound\n");
	if (ep->srx && ep->rx_selective)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_enable: receives of a shared receive context always have a completion; bind the completion queue without FI_SELECTIVE_COMPLETION\n");
	return 0;
}

/* Returns 0 if nothing is missing: connections need an event queue, datagrams an address vector. */
static int missing_by_type(const struct vrb_ep *ep)
{
	if (vrb_ep_is_dgram(ep) && !((const struct vrb_dgram *)ep)->av)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOAV,
			"fi_enable: no address vector is bound to an endpoint of type FI_EP_DGRAM\n");
	if (!vrb_ep_is_dgram(ep) && !ep->eq)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOEQ,
			"fi_enable: no event queue; bind one to the endpoint or to its domain\n");
	return 0;
}

static int ep_missing(const struct vrb_ep *ep)
{
	uint64_t caps = ep->info->caps;
	int ret = missing_by_type(ep);

	if (ret)
		return ret;
	if (!ep->tx_cq && !vrb_cntr_tx(ep) && (caps & (FI_SEND | FI_READ | FI_WRITE)))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOCQ,
			"fi_enable: no completion queue is bound with FI_TRANSMIT, and no counter\n");
	if (!ep->rx_cq && !ep->cntrs[VRB_COUNT_RECV] && (caps & FI_RECV))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOCQ,
			"fi_enable: no completion queue is bound with FI_RECV, and no counter\n");
	if (!ep->tx_cq && !ep->rx_cq && !vrb_cntr_any(ep))
		return -FI_ENOCQ;
	return context_missing(ep);
}

/*
 * With the lock held, either the event thread finds the endpoint enabled when it tells all that the
 * device is lost, or this thread finds that the domain is dead.
 */
static void set_enabled(struct vrb_ep *ep)
{
	bool dead;

	ofi_lock(&ep->domain->fail_lock);
	ep->enabled = true;
	if (!ep->srx)
		vrb_wq_clear(ep->rq, VRB_WQ_SHUT);
	dead = __atomic_load_n(&ep->domain->dead, __ATOMIC_ACQUIRE);
	ofi_unlock(&ep->domain->fail_lock);
	if (dead)
		ep->owner.ops->fatal(&ep->owner, FI_ENODEV);
}

/* The peer may have given up before there was a queue pair to be flushed. */
static void follow_conn(struct vrb_ep *ep)
{
	ofi_lock(&ep->conn.lock);
	if (ep->conn.state == VRB_CONN_DOWN)
		vrb_ep_down(ep, -FI_ENOTCONN);
	ofi_unlock(&ep->conn.lock);
}

/* A connection whose peer gives up does not flush a queue pair that is being destroyed. */
static int create_queues(struct vrb_ep *ep)
{
	int ret;

	ofi_lock(&ep->conn.lock);
	ret = vrb_qp_create(ep);
	if (!ret) {
		ret = vrb_ep_attach(ep);
		if (ret)
			vrb_qp_destroy(ep);
	}
	ofi_unlock(&ep->conn.lock);
	return ret;
}

static int ep_enable(struct vrb_ep *ep)
{
	int ret;

	if (ep->enabled)
		return 0;
	if (!ep->eq)
		vrb_ep_use_domain_eq(ep);
	ret = ep_missing(ep);
	if (!ret)
		ret = vrb_cntr_enable(ep);
	if (!ret)
		ret = create_queues(ep);
	if (ret)
		return ret;
	vrb_ep_set_templates(ep);
	if (vrb_ep_is_dgram(ep)) {
		ret = vrb_dgram_start(vrb_dgram_of(ep));
		if (ret) {
			vrb_qp_destroy(ep);
			return ret;
		}
		vrb_wq_clear(ep->sq, VRB_WQ_SHUT);
	}
	vrb_stats_show_ep(ep);
	set_enabled(ep);
	if (vrb_ep_is_dgram(ep))
		vrb_dgram_set_modes(vrb_dgram_of(ep));
	else
		follow_conn(ep);
	vrb_ep_alias_update(ep);
	return 0;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct vrb_ep *ep = (struct vrb_ep *)fid;
	struct ofi_ep_op_flags of = vrb_ep_op_flags(ep);

	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep->self);
	case FI_ALIAS:
		return vrb_ep_alias_open(ep, arg);
	case FI_SETOPSFLAG:
		return vrb_ep_set_op_flags(ep, arg);
	default:
		return ofi_ep_control(
			&vrb_prov, &of, command, arg,
			"an endpoint supports FI_ENABLE, FI_ALIAS, FI_GETOPSFLAG and FI_SETOPSFLAG");
	}
}

/* Adds the endpoint to those of its domain, or removes it. */
static void set_listed(struct vrb_ep *ep, bool listed)
{
	struct vrb_domain *domain = ep->domain;

	ofi_lock(&domain->fail_lock);
	ofi_lock(&domain->lock);
	if (listed)
		LIST_INSERT_HEAD(&domain->eps, ep, siblings);
	else
		LIST_REMOVE(ep, siblings);
	ep->listed = listed;
	ofi_unlock(&domain->lock);
	ofi_unlock(&domain->fail_lock);
}

static void ep_free(struct vrb_ep *ep)
{
	if (vrb_ep_is_dgram(ep))
		vrb_sidr_close(&vrb_dgram_of(ep)->sidr);
	else
		vrb_conn_fini(ep);
	vrb_srx_leave(ep);
	if (ep->listed)
		set_listed(ep, false);
	vrb_ep_close_queues(ep);
	vrb_qp_destroy(ep);
	vrb_ep_free_queues(ep);
	if (vrb_ep_is_dgram(ep))
		vrb_dgram_fini(vrb_dgram_of(ep));
	vrb_cntr_unbind(ep);
	vrb_ep_unbind(ep);
	vrb_batch_free(ep->batch);
	fi_freeinfo(ep->info);
	free(ep);
}

/*
 * Posts a silent work request at the end of the queue. Its completion means that the peer has
 * received all earlier data or, with datagrams, that it was sent. Returns false on failure.
 */
static bool post_marker(struct vrb_ep *ep)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED };
	struct vrb_wq *sq = ep->sq;

	if (!vrb_wq_refresh(sq) || !vrb_wq_take_pool(sq))
		return true;
	if (vrb_ep_is_dgram(ep))
		return vrb_dgram_post_marker(vrb_dgram_of(ep));
	wr.wr_id = vrb_wq_take(sq, NULL, FI_RMA | FI_WRITE | VRB_SLOT_OWN, 0);
	vrb_wq_count(sq, FI_RMA | FI_WRITE, 0, 1);
	if (!ibv_post_send(sq->qp, &wr, &sq->bad_send))
		return true;
	vrb_wq_untake(sq, 1);
	return false;
}

/*
 * An application cannot wait for injected messages, so closing waits briefly for them. Otherwise
 * the last message of a program that exits would be lost.
 */
static void ep_drain(struct vrb_ep *ep)
{
	struct ofi_patience patience = { .ms = DRAIN_MS };
	struct vrb_wq *sq = ep->sq;

	vrb_batch_flush(ep);
	if (vrb_wq_special(sq) & VRB_WQ_SHUT || !vrb_wq_used(sq) || !post_marker(ep))
		return;
	while (vrb_cq_drain(sq->cq, sq) && !(vrb_wq_special(sq) & VRB_WQ_SHUT) &&
	       !ofi_patience_over(&patience))
		sched_yield();
}

static int ep_close(struct fid *fid)
{
	struct vrb_ep *ep = vrb_ep_self(fid);
	struct vrb_domain *domain = ep->domain;
	struct ofi_trigger_match match = { .owner = ep };

	if (ofi_ref_inherited(&domain->base.ref))
		return 0;
	if (__atomic_load_n(&ep->fids.children, __ATOMIC_ACQUIRE) == 1 && vrb_ep_is_dgram(ep) &&
	    ofi_ref_busy(&vrb_dgram_of(ep)->ref))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EBUSY,
			"fi_close: endpoint %p is in multicast groups; close them first\n",
			(void *)ep);
	if (!vrb_ep_alias_close((struct vrb_ep *)fid))
		return 0;
	ofi_triggers_cancel(&domain->base.triggers, &match);
	ep_drain(ep);
	ep_free(ep);
	ofi_ref_put(&domain->base.ref);
	return 0;
}

static const struct fi_ops ep_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = ep_close,
	.bind = vrb_ep_bind,
	.control = ep_control,
	.ops_open = vrb_stats_open_ops,
};

bool vrb_is_ep(const struct fid *fid)
{
	return fid->ops == &ep_fid_ops;
}

static int check_lengths(const struct fi_info *info)
{
	if (info->tx_attr->inject_size <= VRB_INLINE_MAX &&
	    info->ep_attr->max_msg_size <= UINT32_MAX)
		return 0;
	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_endpoint: inject_size %zu, max_msg_size %zu; they are limited to %d and %u\n",
		info->tx_attr->inject_size, info->ep_attr->max_msg_size, VRB_INLINE_MAX,
		UINT32_MAX);
}

static bool rx_fits(const struct vrb_domain *domain, const struct fi_info *info)
{
	int max = domain->attr.max_qp_wr;

	if (info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		max = domain->attr.max_srq_wr;
	return info->rx_attr->size && info->rx_attr->size <= (size_t)max &&
	       info->rx_attr->iov_limit <= VRB_IOV_MAX;
}

static int check_info(const struct vrb_domain *domain, const struct fi_info *info)
{
	const char *device = ibv_get_device_name(domain->ctx->device);
	int ret;

	if (!info || !info->ep_attr || !info->tx_attr || !info->rx_attr || !info->domain_attr)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_endpoint",
				       "info or one of its attributes");
	if (info->ep_attr->type != FI_EP_MSG && info->ep_attr->type != FI_EP_DGRAM)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_endpoint: type %d; this domain offers FI_EP_MSG and FI_EP_DGRAM\n",
			info->ep_attr->type);
	ret = vrb_device_check(domain->ctx->device, info->domain_attr->name, false);
	if (ret)
		return ret;
	if (!info->tx_attr->size || info->tx_attr->size > (size_t)domain->attr.max_qp_wr ||
	    info->tx_attr->iov_limit > VRB_IOV_MAX || !rx_fits(domain, info))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_endpoint: sizes %zu and %zu, iov limits %zu and %zu; %s allows 1 to %d and %d\n",
			info->tx_attr->size, info->rx_attr->size, info->tx_attr->iov_limit,
			info->rx_attr->iov_limit, device, domain->attr.max_qp_wr,
			domain->attr.max_sge);
	ret = ofi_ep_check_source(&vrb_prov, info);
	if (!ret)
		ret = vrb_tclass_check("fi_endpoint", info);
	return ret ? ret : check_lengths(info);
}

/*
 * Installs ops tables for the capabilities that were requested; the others return -FI_ENOSYS. Every
 * connected endpoint has messages, because programs that ask for FI_RMA only use them, too.
 */
static void set_tables(struct vrb_ep *ep, void *context)
{
	bool lock = ep->lock_posts, dgram = vrb_ep_is_dgram(ep);
	uint64_t caps = ep->info->caps;
	bool rma = ofi_ep_writes(caps);

	ofi_ep_fid_init(&ep->fid, FI_CLASS_EP, context, &ep_fid_ops, &vrb_ep_ops,
			dgram ? &vrb_dgram_cm_ops : &vrb_ep_cm_ops);
	if (dgram) {
		ep->fid.msg = ofi_ops(lock ? &vrb_dgram_ops : &vrb_dgram_nolock_ops);
		return;
	}
	vrb_ep_set_msg(ep);
	if (rma)
		ep->fid.rma = ofi_ops(lock ? &vrb_rma_ops : &vrb_rma_nolock_ops);
	if ((caps & FI_ATOMIC) && ep->domain->scratch_mr)
		ep->fid.atomic = ofi_ops(lock ? &vrb_atomic_ops : &vrb_atomic_nolock_ops);
	if (!(caps & FI_HMEM))
		return;
	if (rma)
		ep->fid.rma = ofi_ops(&vrb_rma_hmem_ops);
	if ((caps & FI_ATOMIC) && ep->domain->scratch_mr)
		ep->fid.atomic = ofi_ops(&vrb_atomic_hmem_ops);
}

/* With FI_TRIGGER any thread that reads a counter may post the work that waits for it. */
static bool posts_need_lock(const struct vrb_ep *ep)
{
	enum fi_threading threading = ep->domain->base.info->domain_attr->threading;

	return ep->domain->lock_posts || (vrb_ep_triggers(ep) && threading != FI_THREAD_DOMAIN);
}

/* Copies the attributes that an endpoint needs: those of a connected one without addresses. */
static struct fi_info *needed_info(const struct fi_info *info)
{
	struct fi_domain_attr domain = *info->domain_attr;
	struct fi_info needed = *info;

	needed.nic = NULL;
	if (info->ep_attr->type == FI_EP_DGRAM)
		return fi_dupinfo(&needed);
	domain.name = NULL;
	domain.auth_key = NULL;
	domain.auth_key_size = 0;
	needed.domain_attr = &domain;
	needed.fabric_attr = NULL;
	needed.src_addr = needed.dest_addr = NULL;
	needed.src_addrlen = needed.dest_addrlen = 0;
	return fi_dupinfo(&needed);
}

static int ep_setup(struct vrb_ep *ep, const struct fi_info *info)
{
	int ret;

	ep->info = needed_info(info);
	if (!ep->info)
		return -FI_ENOMEM;
	if (!ep->info->tx_attr->iov_limit)
		ep->info->tx_attr->iov_limit = 1;
	if (!ep->info->rx_attr->iov_limit)
		ep->info->rx_attr->iov_limit = 1;
	ep->tx_flags = VRB_TX_FLAGS | (info->caps & FI_MULTICAST);
	/* iWARP reports that the peer's TCP has the data at most. */
	if (vrb_ep_is_dgram(ep) || ep->domain->ctx->device->transport_type == IBV_TRANSPORT_IWARP)
		ep->tx_flags &= ~FI_DELIVERY_COMPLETE;
	ep->lock_posts = posts_need_lock(ep);
	ep->inject_size = info->tx_attr->inject_size;
	ep->max_msg_size = info->ep_attr->max_msg_size;
	ep->tx_op_flags = info->tx_attr->op_flags;
	ep->rx_op_flags = info->rx_attr->op_flags;
	ep->min_multi = VRB_MULTI_DEFAULT;
	vrb_ep_set_modes(ep);
	ret = vrb_ep_new_queues(ep);
	if (ret)
		return ret;
	ep->rq->multi = info->caps & FI_MULTI_RECV;
	if (vrb_ep_is_dgram(ep))
		return vrb_dgram_init(vrb_dgram_of(ep), info);
	return vrb_conn_init(ep, info);
}

int vrb_ep_open(struct fid_domain *domain_fid, struct fi_info *info, struct fid_ep **ep_fid,
		void *context)
{
	struct vrb_domain *domain = vrb_domain(domain_fid);
	struct ofi_wide wide;
	struct vrb_ep *ep;
	int ret;

	info = ofi_widen(domain->fabric->fid.api_version, info, &wide);
	ret = ep_fid ? check_info(domain, info)
		     : ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_endpoint", "ep");
	if (ret)
		return ret;
	if (__atomic_load_n(&domain->dead, __ATOMIC_ACQUIRE))
		return -FI_ENODEV;
	ep = calloc(1, info->ep_attr->type == FI_EP_DGRAM ? sizeof(struct vrb_dgram) : sizeof(*ep));
	if (!ep)
		return -FI_ENOMEM;
	ep->type = info->ep_attr->type;
	ep->domain = domain;
	ep->self = ep;
	ep->owner.ops = &vrb_ep_owner_ops;
	ofi_ref_get(&ep->fids);
	LIST_INIT(&ep->aliases);
	ret = ep_setup(ep, info);
	if (ret) {
		ep_free(ep);
		return ret;
	}
	set_tables(ep, context);
	ofi_ref_get(&domain->base.ref);
	set_listed(ep, true);
	*ep_fid = &ep->fid;
	return 0;
}
