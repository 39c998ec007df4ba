/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reliable-datagram endpoints: opening, binding, enabling, closing. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/ep.h"
#include "prov/base/ops.h"
#include "src/ds/patience.h"
#include <rdma/fi_cm.h>
#include "prov/base/refuse.h"
#include <rdma/fi_errno.h>
#include <rdma/fi_ext.h>
#include "alias.h"
#include "domain_progress.h"
#include "atomic.h"
#include "av.h"
#include "calls.h"
#include "coll.h"
#include "ep.h"
#include "fence.h"
#include "hmem.h"
#include "lock.h"
#include "msg.h"
#include "objects.h"
#include "op.h"
#include "order.h"
#include "peer.h"
#include "srx.h"
#include "prov/base/name.h"
#include "stats.h"
#include "upcall.h"
#include "work.h"

#define DRAIN_MS 2000
#define STARTS	 (FI_SEND | FI_READ | FI_WRITE) /* what the endpoint itself starts */

/* Returns 0 if everything that these directions need is bound. */
static int ep_missing(const struct ofi_rdm_ep *ep, uint8_t halves)
{
	uint64_t caps = ep->info->caps &
			~((halves & OFI_RDM_TX ? 0 : STARTS) | (halves & OFI_RDM_RX ? 0 : FI_RECV));

	if (!ep->av)
		return ofi_refuse(ep->domain->prov, FI_LOG_EP_CTRL, -FI_ENOAV,
				  "fi_enable: no address vector is bound\n");
	if (!ep->stx && ep->info->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT)
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_enable: tx_ctx_cnt is FI_SHARED_CONTEXT and no shared transmit context is bound\n");
	if (!ep->srx && ep->info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_enable: rx_ctx_cnt is FI_SHARED_CONTEXT and no shared receive context is bound\n");
	if (!ep->tx_cq && (caps & STARTS) && !ep->cntrs[OFI_RDM_SEND] &&
	    !ep->cntrs[OFI_RDM_RMA_READ] && !ep->cntrs[OFI_RDM_RMA_WRITE])
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_ENOCQ,
			"fi_enable: no completion queue is bound with FI_TRANSMIT, and no counter\n");
	if (!ep->rx_cq && (caps & FI_RECV) && !ep->cntrs[OFI_RDM_RECV])
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_ENOCQ,
			"fi_enable: no completion queue is bound with FI_RECV, and no counter\n");
	return 0;
}

static int ep_attach(struct ofi_rdm_ep *ep)
{
	int ret = ep->enabled ? ofi_rdm_attach_cqs(ep) : ofi_rdm_attach(ep);

	if (!ret)
		return 0;
	if (!ep->enabled)
		ofi_rdm_detach(ep);
	return ofi_refuse(ep->domain->prov, FI_LOG_EP_CTRL, ret,
			  "fi_enable: registering the endpoint for progress: %s\n",
			  fi_strerror(-ret));
}

int ofi_rdm_enable(struct ofi_rdm_ep *ep, uint8_t halves)
{
	bool started = ep->enabled;
	int ret;

	if ((ep->enabled & halves) == halves || ep->dead)
		return -ep->dead;
	ret = ep_missing(ep, halves);
	if (!ret && !started && ep->srx)
		ret = ofi_rdm_srx_join(ep);
	if (!ret && !started) {
		ep->begun = true;
		ret = ep->proto.xport.ops->enable(ep);
	}
	if (!ret)
		ret = ep_attach(ep);
	if (ret)
		return ret;
	ofi_rdm_lock(ep);
	/* The device may be lost meanwhile. */
	if (!ep->dead) {
		ep->enabled |= halves | OFI_RDM_STARTED;
		ep->receives = !ep->srx && ep->enabled & OFI_RDM_RX;
	}
	ret = -ep->dead;
	ofi_rdm_unlock(ep);
	if (!started)
		ofi_rdm_stats_show(ep);
	return ret;
}

/*
 * Returns true if no message, operation, fence or control packet is left and every work request is
 * complete.
 */
static bool is_drained(struct ofi_rdm_peer *peer)
{
	return TAILQ_EMPTY(&peer->proto.outs) && STAILQ_EMPTY(&peer->ops) && !peer->marker &&
	       STAILQ_EMPTY(&peer->proto.flow.control) &&
	       ofi_rdm_xport(&peer->proto)->settled(&peer->proto);
}

/*
 * Returns true if no operation uses the application's memory. Receives may go on. The first call
 * makes silent work requests complete.
 */
static bool has_sent(struct ofi_rdm_peer *peer)
{
	return STAILQ_EMPTY(&peer->ops) && ofi_rdm_fence_passed(peer);
}

/* Returns true if no message is being received. What arrives in segments is dropped from now on. */
static bool has_received(struct ofi_rdm_peer *peer)
{
	return ofi_rdm_proto_recvs_withdraw(&peer->proto);
}

static bool all_are(const struct ofi_rdm_ep *ep, bool (*is)(struct ofi_rdm_peer *peer))
{
	bool all = true;
	uint32_t i;

	for (i = 0; i < ep->peer_count; i++)
		all &= is(ep->peers[i]);
	return all;
}

/* Waits until `is` returns true for all peers, but not too long. */
static void ep_drain(struct ofi_rdm_ep *ep, bool (*is)(struct ofi_rdm_peer *peer))
{
	struct ofi_patience patience = { .ms = DRAIN_MS };
	bool done;

	do {
		ep->proto.xport.ops->progress(&ep->proto);
		ofi_rdm_lock(ep);
		done = all_are(ep, is);
		ofi_rdm_unlock(ep);
		if (!done)
			sched_yield();
	} while (!done && !ofi_patience_over(&patience));
}

/*
 * Other threads may read the endpoint's queues and counters and change its address vector until it
 * is detached from them. Its connections end only afterward. The rest of its state is freed with
 * it.
 */
static void ep_free(struct ofi_rdm_ep *ep)
{
	const struct ofi_rdm_xport_ops *ops = ep->proto.xport.ops;

	ofi_rdm_lock(ep);
	ep->closing = true;
	ofi_rdm_unlock(ep);
	ofi_rdm_detach(ep);
	if (ep->av)
		ofi_rdm_av_leave(ep->av, ep);
	ops->disconnect(ep);
	if (ep->srx)
		ofi_rdm_srx_leave(ep);
	ofi_rdm_unbind(ep);
	ops->close(ep);
	ofi_rdm_peers_fini(ep);
	ofi_rdm_coll_fini(ep);
	ofi_rdm_objects_fini(ep);
	ofi_rdm_work_fini(ep);
	free(ep->atomic_old);
	free(ep->buckets);
	fi_freeinfo(ep->info);
	if (ep->srx)
		ofi_ref_put(&ep->srx->users);
	ops->free(ep);
}

/*
 * Ends the operations that still use the memory of a closed context, with their connections: those
 * of the peers for which `is` does not return true.
 */
static void end_users(struct ofi_rdm_ep *ep, bool (*is)(struct ofi_rdm_peer *peer))
{
	struct ofi_rdm_peer *peer;
	uint32_t i;

	ofi_rdm_lock(ep);
	for (i = 0; i < ep->peer_count; i++) {
		peer = ep->peers[i];
		if (is(peer))
			continue;
		if (peer->proto.up)
			ofi_rdm_xport(&peer->proto)->overdue(&peer->proto);
		/* Otherwise the next connection would send what has not begun. */
		if (!peer->proto.up && is == has_sent)
			ofi_rdm_down(peer, FI_ECANCELED);
	}
	ofi_rdm_unlock(ep);
	ep_drain(ep, is);
}

void ofi_rdm_stop(struct ofi_rdm_ep *ep, uint8_t half, uint64_t cntrs)
{
	struct ofi_trigger_match match = { .owner = ep, .part = half };
	uint32_t i;

	ofi_triggers_cancel(&ep->domain->triggers, &match);
	ofi_rdm_lock(ep);
	ep->enabled &= (uint8_t)~half;
	ep->receives = ep->receives && ep->enabled & OFI_RDM_RX;
	for (i = 0; i < ep->peer_count; i++)
		ep->peers[i]->marker_set = false;
	ofi_rdm_unlock(ep);
	if (half == OFI_RDM_TX && ep->enabled)
		ep_drain(ep, has_sent);
	ofi_rdm_release_cq(ep, half);
	ofi_rdm_release_cntrs(ep, cntrs);
	if (half == OFI_RDM_RX) {
		ofi_rdm_lock(ep);
		ofi_rdm_recvs_stop(ep);
		ofi_rdm_unlock(ep);
	}
	if (half == OFI_RDM_RX && ep->enabled)
		ep_drain(ep, has_received);
	if (ep->enabled)
		end_users(ep, half == OFI_RDM_TX ? has_sent : has_received);
}

int ofi_rdm_close(struct ofi_rdm_ep *ep)
{
	struct ofi_trigger_match match = { .owner = ep };
	struct ofi_domain *domain = ep->domain;
	int ret;

	if (ofi_ref_inherited(&domain->ref))
		return 0;
	ret = __atomic_load_n(&ep->fids.children, __ATOMIC_ACQUIRE) == 1 ? ofi_rdm_coll_busy(ep)
									 : 0;
	if (ret || __atomic_sub_fetch(&ep->fids.children, 1, __ATOMIC_ACQ_REL))
		return ret;
	ofi_triggers_cancel(&domain->triggers, &match);
	if (ep->enabled)
		ep_drain(ep, is_drained);
	ep_free(ep);
	ofi_ref_put(&domain->ref);
	return 0;
}

static int ep_close(struct fid *fid)
{
	return ofi_rdm_close((struct ofi_rdm_ep *)fid);
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct ofi_rdm_ep *ep = (struct ofi_rdm_ep *)fid;
	struct ofi_ep_op_flags of = { &ep->tx_op_flags, &ep->rx_op_flags, OFI_RDM_TX_OP_FLAGS,
				      OFI_RDM_RX_OP_FLAGS };
	int ret;

	switch (command) {
	case FI_ENABLE:
		return ofi_rdm_enable(ep, OFI_RDM_BOTH);
	case FI_ALIAS:
		return ofi_rdm_alias_open(ep, ep->tx_op_flags, ep->rx_op_flags, arg);
	default:
		ret = ofi_ep_control(
			ep->domain->prov, &of, command, arg,
			"an endpoint supports FI_ENABLE, FI_ALIAS, FI_GETOPSFLAG and FI_SETOPSFLAG");
		if (ret || command != FI_SETOPSFLAG)
			return ret;
		ofi_rdm_lock(ep);
		ofi_rdm_set_modes(ep);
		ofi_rdm_unlock(ep);
		return 0;
	}
}

static const struct fi_ops ep_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = ep_close,
	.bind = ofi_rdm_bind,
	.control = ep_control,
	.ops_open = ofi_rdm_stats_open_ops,
};

static int ep_option(struct fid *fid, int name, size_t *value)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self((struct fid_ep *)fid);

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
	case FI_OPT_EFA_RNR_RETRY:
		*value = 7; /* for ever */
		return ep->info->ep_attr->protocol == FI_PROTO_EFA ? 0 : -FI_ENOPROTOOPT;
	default:
		return -FI_ENOPROTOOPT;
	}
}

static bool is_shm_option(int level, int name)
{
	return level == FI_OPT_ENDPOINT && name == FI_OPT_SHARED_MEMORY_PERMITTED;
}

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	const struct ofi_rdm_ep *ep = ofi_rdm_self((struct fid_ep *)fid);
	const bool shm = !ep->no_shm;

	if (is_shm_option(level, name))
		return ofi_ep_give_option(ep->domain->prov, name, &shm, sizeof(shm), value, len);
	if (ofi_hmem_has_option(ep->info, level, name))
		return ofi_hmem_getopt(ep->domain->prov, &ep->hmem_options, name, value, len);
	return ofi_ep_getopt(ep->domain->prov, fid, ep_option, level, name, value, len);
}

static int set_hmem_option(struct ofi_rdm_ep *ep, const struct fid *fid, int name,
			   const void *value, size_t len)
{
	struct ofi_hmem_options to = ep->hmem_options;
	int ret = ofi_hmem_setopt(ep->domain->prov, ep->info, &to, name, value, len);
	bool changes = to.no_calls != ep->hmem_options.no_calls;

	if (!ret && changes)
		ret = ofi_rdm_may_stop_calls(ep, fid);
	if (ret)
		return ret;
	ep->hmem_options = to;
	if (changes)
		ep->hmem = ep->proto.config.device = !to.no_calls;
	return 0;
}

/* Peers learn when they connect whether the endpoint uses shared memory. */
static int set_shm_option(struct ofi_rdm_ep *ep, int name, const void *value, size_t len)
{
	uint8_t permitted;
	int ret = ofi_ep_take_option(ep->domain->prov, name, &permitted, sizeof(permitted), value,
				     len);

	if (ret)
		return ret;
	if (ep->begun)
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_setopt: set FI_OPT_SHARED_MEMORY_PERMITTED before fi_enable\n");
	ep->no_shm = !permitted;
	return 0;
}

static int check_rnr_retry(const struct ofi_rdm_ep *ep, size_t retries)
{
	if (retries == 7 && !ep->begun)
		return 0;
	return ofi_refuse(ep->domain->prov, FI_LOG_EP_CTRL,
			  ep->begun ? -FI_EOPBADSTATE : -FI_EOPNOTSUPP,
			  "fi_setopt: FI_OPT_EFA_RNR_RETRY takes 7, for ever, before fi_enable\n");
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self((struct fid_ep *)fid);
	bool is_rnr = name == FI_OPT_EFA_RNR_RETRY;
	size_t to;
	int ret;

	if (is_shm_option(level, name))
		return set_shm_option(ep, name, value, len);
	if (ofi_hmem_has_option(ep->info, level, name))
		return set_hmem_option(ep, fid, name, value, len);
	ret = ofi_ep_setopt(ep->domain->prov, fid, ep_option, level, name, value, len,
			    is_rnr ? name : FI_OPT_MIN_MULTI_RECV, &to);
	if (!ret && is_rnr)
		return check_rnr_retry(ep, to);
	if (!ret)
		__atomic_store_n(&ep->min_multi_recv, to, __ATOMIC_RELAXED);
	return ret;
}

static const struct fi_ops_ep ep_ops = {
	.size = OFI_EP_DEFAULTS,
	.cancel = ofi_rdm_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.rx_size_left = ofi_rdm_rx_left,
	.tx_size_left = ofi_rdm_tx_left,
};

bool ofi_rdm_is_ep(const struct fid *fid)
{
	bool is = fid->fclass == FI_CLASS_EP || fid->fclass == FI_CLASS_TX_CTX ||
		  fid->fclass == FI_CLASS_RX_CTX;

	return is && ((const struct fid_ep *)fid)->ops == &ep_ops;
}

/* The queue pair exists once the endpoint is enabled. */
static int getname_qp(const struct ofi_rdm_ep *ep, void *addr, size_t *len)
{
	uint8_t name[OFI_RDM_ADDR_NAME];

	if (!ofi_rdm_addr_is_qp(&ep->self))
		return ofi_refuse(
			ep->domain->prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_getname: endpoint %p has no queue pair yet; call fi_enable first\n",
			(const void *)ep);
	ofi_rdm_addr_name(&ep->self, name);
	return ofi_copy_out(name, sizeof(name), addr, len) ? 0 : -FI_ETOOSMALL;
}

static int ep_getname(fid_t fid, void *addr, size_t *len)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self((struct fid_ep *)fid);
	struct sockaddr_storage ss = { 0 };

	if (!len || (!addr && *len))
		return ofi_refuse_null(ep->domain->prov, FI_LOG_EP_CTRL, "fi_getname",
				       "addr or addrlen");
	if (ep->info->addr_format == FI_ADDR_EFA)
		return getname_qp(ep, addr, len);
	memcpy(&ss, &ep->self, sizeof(ep->self));
	return ofi_name_out(ep->domain->prov, "fi_getname", ep->info->addr_format, &ss, addr, len);
}

/* The address cannot change after fi_enable, when peers may know it. */
static int ep_setname(fid_t fid, void *addr, size_t len)
{
	struct ofi_rdm_ep *ep = ofi_rdm_self((struct fid_ep *)fid);
	const struct fi_provider *prov = ep->domain->prov;
	struct sockaddr_storage ss;
	int ret;

	if (ep->enabled || ep->dead)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EOPBADSTATE,
			"fi_setname: endpoint %p is enabled; call fi_setname before fi_enable\n",
			(void *)ep);
	if (ep->info->addr_format == FI_ADDR_EFA)
		return ofi_refuse(prov, FI_LOG_EP_CTRL, -FI_EOPNOTSUPP,
				  "fi_setname: the device chooses the names of its queue pairs\n");
	ret = ofi_name_in(prov, "fi_setname", ep->info->addr_format, addr, len, &ss);
	if (ret)
		return ret;
	ofi_name_keep_host(&ss, &ep->self.sa);
	return ep->proto.xport.ops->setname(ep, &ss);
}

static const struct fi_ops_cm cm_ops = {
	.size = OFI_CM_DEFAULTS,
	.setname = ep_setname,
	.getname = ep_getname,
	.join = ofi_rdm_coll_join,
};

static int ep_setup(struct ofi_rdm_ep *ep, const struct fi_info *info)
{
	ep->info = fi_dupinfo(info);
	if (!ep->info)
		return -FI_ENOMEM;
	/* Collectives do not use the matchers of a shared receive context. */
	if (info->ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT)
		ep->info->caps &= ~FI_COLLECTIVE;
	/* The capability belongs to the receive side, and OpenSHMEM sets it only there. */
	ep->info->caps |= info->rx_attr->caps & ep->domain->info->caps & FI_RMA_EVENT;
	ofi_rdm_domain_progress_bias(ep->domain->progress, ep);
	ep->inject_size = info->tx_attr->inject_size;
	ep->tx_op_flags = info->tx_attr->op_flags;
	ep->rx_op_flags = info->rx_attr->op_flags;
	ep->wants_source = info->caps & (FI_SOURCE | FI_SOURCE_ERR);
	ep->hmem = info->caps & FI_HMEM;
	ep->counts = info->caps & FI_TRIGGER; /* deferred work may have its own counters */
	ofi_rdm_order_init(ep, info);
	ep->info->rx_attr->caps &=
		~ofi_rdm_lacking_variants(ep->domain->info->fabric_attr->api_version);
	ofi_rdm_set_sources(ep, ep->info->rx_attr->caps);
	ep->atomic_old = malloc(ofi_rdm_payload(ep->domain));
	if (!ep->atomic_old)
		return -FI_ENOMEM;
	ep->min_multi_recv = 64;
	return 0;
}

static int ep_open(struct ofi_rdm_ep *ep, const struct fi_info *info,
		   const struct ofi_rdm_xport *xport, const struct ofi_rdm_proto_config *config)
{
	int ret = ep_setup(ep, info);

	if (!ret)
		ret = ofi_rdm_proto_open(ep, xport, config);
	if (!ret)
		ret = ofi_rdm_coll_open(ep);
	if (ret)
		return ret;
	ret = xport->ops->open(ep);
	if (!ret)
		ofi_rdm_set_modes(ep);
	return ret;
}

/* Installs ops tables for the capabilities that were requested; the others return -FI_ENOSYS. */
static void set_tables(struct ofi_rdm_ep *ep, void *context)
{
	const struct ofi_rdm_xport *xport = &ep->proto.xport;
	const struct ofi_rdm_calls *calls = ep->biased ? xport->nolock_calls : xport->calls;
	uint64_t caps = ep->info->caps;

	if (!calls || caps & FI_HMEM)
		calls = &ofi_rdm_calls;
	ofi_ep_fid_init(&ep->fid, FI_CLASS_EP, context, &ep_fid_ops, &ep_ops, &cm_ops);
	ofi_rdm_set_calls(&ep->fid, &ep->one_way, caps, caps, calls);
	if (ep->coll)
		ep->fid.collective = ofi_ops(&ofi_rdm_coll_ops);
}

/* The calls that triggered operations and deferred work finally make. */
static const struct ofi_rdm_work_calls work_calls = {
	.send = ofi_rdm_send_work,
	.recv = ofi_rdm_recv_work,
	.rma = ofi_rdm_rma_work,
	.atomic = ofi_rdm_atomic_work,
};

int ofi_rdm_ep_check(const struct ofi_domain *domain, const struct fi_info *info,
		     struct fid_ep **ep)
{
	if (!info || !info->ep_attr || !info->tx_attr || !info->rx_attr || !ep)
		return ofi_refuse_null(domain->prov, FI_LOG_EP_CTRL, "fi_endpoint",
				       "ep, info or one of its attributes");
	if (info->ep_attr->type == FI_EP_RDM)
		return ofi_ep_check_source(domain->prov, info);
	return ofi_refuse(domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			  "fi_endpoint: type %d; this domain offers FI_EP_RDM\n",
			  info->ep_attr->type);
}

int ofi_rdm_ep_open(struct ofi_rdm_ep *ep, struct ofi_domain *domain, const struct fi_info *info,
		    const struct ofi_rdm_xport *xport, const struct ofi_rdm_proto_config *config,
		    struct fid_ep **ep_fid, void *context)
{
	int ret;

	ep->endpoint = ep;
	ep->domain = domain;
	ep->fd = -1;
	ep->proto.xport = *xport;
	ep->deferred.calls = &work_calls;
	LIST_INIT(&ep->deferred.dones);
	LIST_INIT(&ep->deferred.watches);
	ofi_ref_get(&ep->fids);
	ret = ep_open(ep, info, xport, config);
	if (ret) {
		ep_free(ep);
		return ret;
	}
	set_tables(ep, context);
	ofi_ref_get(&domain->ref);
	*ep_fid = &ep->fid;
	return 0;
}
