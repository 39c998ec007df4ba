/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive contexts: opening, their calls, the endpoints that come and go, closing. */
#include "srx.h"

#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "prov/base/ep.h"
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include "alias.h"
#include "av.h"
#include "calls.h"
#include "lock.h"
#include "msg.h"
#include "objects.h"
#include "peer.h"
#include "ep.h"

#define SRX_CAPS \
	(FI_MSG | FI_TAGGED | FI_RECV | FI_DIRECTED_RECV | FI_MULTI_RECV | OFI_RDM_RECV_VARIANTS)

static struct ofi_rdm_ep *srx_of(struct fid *fid)
{
	return (struct ofi_rdm_ep *)fid;
}

static void srx_free(struct ofi_rdm_ep *srx)
{
	ofi_rdm_peers_fini(srx);
	ofi_rdm_objects_fini(srx);
	free(srx->buckets);
	fi_freeinfo(srx->info);
	ofi_stats_free(srx, &srx->stats);
}

/* Messages belong to endpoints, and none is bound any more, so no message is left here. */
static int srx_close(struct fid *fid)
{
	struct ofi_rdm_ep *srx = srx_of(fid);
	struct ofi_domain *domain = srx->domain;

	if (ofi_ref_inherited(&domain->ref))
		return 0;
	if (ofi_ref_busy(&srx->users))
		return ofi_refuse(
			domain->prov, FI_LOG_EP_CTRL, -FI_EBUSY,
			"fi_close: shared receive context %p has endpoints; close them first\n",
			(void *)srx);
	srx_free(srx);
	ofi_ref_put(&domain->ref);
	return 0;
}

static int srx_no_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	(void)bfid;
	(void)flags;
	return ofi_refuse(
		srx_of(fid)->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_ep_bind: nothing is bound to a shared receive context of reliable datagrams; queues, counters and the address vector are those of its endpoints\n");
}

static int srx_control(struct fid *fid, int command, void *arg)
{
	struct ofi_rdm_ep *srx = srx_of(fid);
	struct ofi_ep_op_flags of = { .rx = &srx->rx_op_flags, .rx_allowed = OFI_RDM_RX_OP_FLAGS };
	int ret;

	if (command == FI_ENABLE)
		return 0;
	ret = ofi_ep_control(
		srx->domain->prov, &of, command, arg,
		"a shared receive context supports FI_ENABLE, FI_GETOPSFLAG and FI_SETOPSFLAG");
	if (!ret && command == FI_SETOPSFLAG)
		ofi_rdm_set_recv_modes(srx);
	return ret;
}

static const struct fi_ops srx_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = srx_close,
	.bind = srx_no_bind,
	.control = srx_control,
};

static int srx_option(struct fid *fid, int name, size_t *value)
{
	struct ofi_rdm_ep *srx = srx_of(fid);

	switch (name) {
	case FI_OPT_MIN_MULTI_RECV:
		*value = __atomic_load_n(&srx->min_multi_recv, __ATOMIC_RELAXED);
		return 0;
	case FI_OPT_RX_SIZE:
		*value = srx->info->rx_attr->size;
		return 0;
	default:
		return -FI_ENOPROTOOPT;
	}
}

static int srx_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	return ofi_ep_getopt(srx_of(fid)->domain->prov, fid, srx_option, level, name, value, len);
}

static int srx_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	struct ofi_rdm_ep *srx = srx_of(fid);
	size_t to;
	int ret = ofi_ep_setopt(srx->domain->prov, fid, srx_option, level, name, value, len,
				FI_OPT_MIN_MULTI_RECV, &to);

	if (!ret)
		__atomic_store_n(&srx->min_multi_recv, to, __ATOMIC_RELAXED);
	return ret;
}

static const struct fi_ops_ep srx_ops = {
	.size = OFI_EP_DEFAULTS,
	.cancel = ofi_rdm_cancel,
	.getopt = srx_getopt,
	.setopt = srx_setopt,
	.rx_size_left = ofi_rdm_rx_left,
};

static int srx_check_attr(const struct ofi_domain *domain, const struct fi_rx_attr *limit,
			  const struct fi_rx_attr *attr)
{
	const uint64_t caps = limit->caps | (domain->info->caps & ~SRX_CAPS);

	if (!(attr->caps & ~caps) && attr->size <= limit->size &&
	    attr->iov_limit <= limit->iov_limit)
		return 0;
	return ofi_refuse(
		domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
		"fi_srx_context: caps 0x%llx, size %zu, iov_limit %zu; %s allows 0x%llx, %zu and %zu\n",
		(unsigned long long)attr->caps, attr->size, attr->iov_limit,
		domain->info->domain_attr->name, (unsigned long long)caps, limit->size,
		limit->iov_limit);
}

static void srx_set_tables(struct ofi_rdm_ep *srx, void *context)
{
	uint64_t caps = srx->info->rx_attr->caps & (FI_MSG | FI_TAGGED);

	ofi_ep_fid_init(&srx->fid, FI_CLASS_SRX_CTX, context, &srx_fid_ops, &srx_ops,
			&ofi_no_cm_ops);
	ofi_rdm_set_calls(&srx->fid, &srx->one_way, FI_RECV, caps, &ofi_rdm_calls);
	srx->one_way.msg.recv = ofi_rdm_recv;
	srx->one_way.tagged.recv = ofi_rdm_trecv;
}

/*
 * Sets the fields of an endpoint that a context has. It is selective: whether a completion is
 * suppressed depends on the endpoint that the message came to.
 */
static int srx_set_up(struct ofi_rdm_ep *srx, const struct fi_rx_attr *attr)
{
	srx->info = fi_dupinfo(srx->domain->info);
	if (srx->info && !srx->info->rx_attr)
		srx->info->rx_attr = calloc(1, sizeof(*srx->info->rx_attr));
	if (!srx->info || !srx->info->rx_attr)
		return -FI_ENOMEM;
	*srx->info->rx_attr = *attr;
	srx->info->caps &= SRX_CAPS;
	srx->endpoint = srx;
	srx->is_srx = srx->receives = srx->rx_selective = true;
	srx->hmem = srx->domain->info->caps & FI_HMEM;
	srx->fd = -1;
	srx->rx_op_flags = attr->op_flags;
	srx->min_multi_recv = 64;
	ofi_rdm_set_sources(srx, attr->caps);
	ofi_rdm_set_recv_modes(srx);
	return 0;
}

int ofi_rdm_srx_open(struct ofi_domain *domain, const struct fi_rx_attr *limit,
		     const struct fi_rx_attr *attr, const struct ofi_rdm_xport *xport,
		     const struct ofi_rdm_proto_config *config, struct fid_ep **fid, void *context)
{
	const struct fi_rx_attr *own = domain->info->rx_attr ? domain->info->rx_attr : limit;
	struct fi_rx_attr used = attr ? *attr : *own;
	struct ofi_rdm_ep *srx;
	int ret;

	if (!fid)
		return ofi_refuse_null(domain->prov, FI_LOG_EP_CTRL, "fi_srx_context", "rx_ep");
	ret = srx_check_attr(domain, limit, &used);
	if (ret)
		return ret;
	if (!(used.caps & (FI_MSG | FI_TAGGED)))
		used.caps |= own->caps;
	if (!used.size)
		used.size = own->size;
	srx = ofi_stats_alloc(sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	srx->domain = domain;
	srx->has_limits = attr && attr->caps;
	ret = srx_set_up(srx, &used);
	if (!ret)
		ret = ofi_rdm_proto_open(srx, xport, config);
	if (ret) {
		srx_free(srx);
		return ret;
	}
	srx_set_tables(srx, context);
	ofi_ref_get(&domain->ref);
	*fid = &srx->fid;
	return 0;
}

int ofi_rdm_srx_bind(struct ofi_rdm_ep *ep, struct fid *fid, uint64_t flags)
{
	const struct fi_provider *prov = ep->domain->prov;
	struct ofi_rdm_ep *srx = srx_of(fid);
	uint64_t more;

	if (flags)
		return ofi_refuse_flags(prov, FI_LOG_EP_CTRL,
					"fi_ep_bind of a shared receive context", flags);
	if (fid->ops != &srx_fid_ops || srx->domain != ep->domain)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: the shared receive context belongs to another domain\n");
	if (ep->info->ep_attr->rx_ctx_cnt != FI_SHARED_CONTEXT)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: the endpoint was opened with a receive context of its own; set ep_attr->rx_ctx_cnt to FI_SHARED_CONTEXT\n");
	if (ep->srx)
		return ofi_refuse_second(prov, FI_LOG_EP_CTRL, "fi_ep_bind",
					 "a shared receive context");
	more = ep->info->rx_attr->caps & SRX_CAPS & ~srx->info->rx_attr->caps;
	if (srx->has_limits && more)
		return ofi_refuse(
			prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_ep_bind: the endpoint has receive capabilities 0x%llx that the shared receive context was not opened with\n",
			(unsigned long long)more);
	ep->srx = srx;
	ep->hmem |= srx->hmem;
	ofi_ref_get(&srx->users);
	return 0;
}

/* The caller holds srx->join_lock. */
static int take_av(struct ofi_rdm_ep *srx, struct ofi_rdm_ep *ep)
{
	if (srx->av)
		return srx->av == ep->av
			       ? 0
			       : ofi_refuse(
					 ep->domain->prov, FI_LOG_EP_CTRL, -FI_EINVAL,
					 "fi_enable: all endpoints of a shared receive context have one address vector; this one has another\n");
	ofi_rdm_lock(srx);
	srx->av = ep->av;
	ofi_rdm_unlock(srx);
	ofi_rdm_av_bind(srx->av, srx);
	return 0;
}

int ofi_rdm_srx_join(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_ep *srx = ep->srx;
	int ret = 0;

	ofi_lock(&srx->join_lock);
	if (!ep->in_srx)
		ret = take_av(srx, ep);
	if (!ret && !ep->in_srx) {
		ep->in_srx = true;
		ofi_rdm_lock(ep);
		ofi_lock_join(&ep->joined, &srx->lock);
		ofi_rdm_lock(srx);
		LIST_INSERT_HEAD(&srx->members, ep, srx_link);
		ofi_rdm_unlock(srx);
	}
	ofi_unlock(&srx->join_lock);
	return ret;
}

/* Forgets the fi_addrs of the address vector, because the last endpoint has left. */
static void forget_av(struct ofi_rdm_ep *srx)
{
	size_t i;

	for (i = 0; i < srx->by_addr_size; i++)
		if (srx->by_addr[i])
			ofi_rdm_peer_forget(srx, i, &srx->by_addr[i]->addr);
	srx->av = NULL;
}

void ofi_rdm_srx_leave(struct ofi_rdm_ep *ep)
{
	struct ofi_rdm_ep *srx = ep->srx;
	struct ofi_rdm_av *av = srx->av;
	bool last = false;
	uint32_t i;

	if (!ep->in_srx)
		return;
	ofi_lock(&srx->join_lock);
	ofi_rdm_lock(srx);
	for (i = 0; i < ep->peer_count; i++)
		ofi_rdm_peer_unshare(ep->peers[i]);
	LIST_REMOVE(ep, srx_link);
	last = LIST_EMPTY(&srx->members);
	ofi_rdm_unlock(srx);
	if (last) {
		ofi_rdm_av_leave(av, srx);
		ofi_rdm_lock(srx);
		forget_av(srx);
		ofi_rdm_unlock(srx);
		ofi_ref_put(&av->base.ref);
	}
	ofi_unlock(&srx->join_lock);
}
