/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive contexts: opening, options, detaching endpoints, closing. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include "prov/base/ops.h"
#include "src/ds/patience.h"
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include "prov/verbs/queue/cq.h"
#include "ep_modes.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/qp.h"
#include "srx.h"
#include "prov/base/refuse.h"

#define LAST_WQE_MS 100

/*
 * The capabilities of a shared receive context. Those for RMA and atomics are accepted although
 * their data arrives without a receive.
 */
#define SRX_CAPS                                                                    \
	(FI_MSG | FI_RECV | FI_RMA | FI_ATOMIC | FI_REMOTE_READ | FI_REMOTE_WRITE | \
	 FI_LOCAL_COMM | FI_REMOTE_COMM | FI_TRIGGER | FI_HMEM)

static void srx_free(struct vrb_srx *srx)
{
	if (!srx)
		return;
	vrb_srq_close(srx->srq);
	ofi_eq_forget(srx->eq, &srx->fid.fid);
	/* The events from before it was bound to its own. */
	ofi_eq_forget(srx->domain->base.eq, &srx->fid.fid);
	if (srx->eq)
		ofi_ref_put(&srx->eq->ref);
	free(srx);
}

static int srx_close(struct fid *fid)
{
	struct vrb_srx *srx = (struct vrb_srx *)fid;
	struct vrb_domain *domain = srx->domain;

	if (ofi_ref_inherited(&domain->base.ref))
		return 0;
	if (ofi_ref_busy(&srx->ref))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EBUSY,
			"fi_close: shared receive context %p has endpoints; close them first\n",
			(void *)srx);
	ofi_lock(&domain->fail_lock);
	LIST_REMOVE(srx, siblings);
	ofi_unlock(&domain->fail_lock);
	srx_free(srx);
	ofi_ref_put(&domain->base.ref);
	return 0;
}

static int srx_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct vrb_srx *srx = (struct vrb_srx *)fid;

	return ofi_eq_bind(&vrb_prov, FI_LOG_EP_CTRL, "fi_ep_bind", &srx->eq, bfid,
			   &srx->domain->fabric->ref, flags);
}

static int srx_control(struct fid *fid, int command, void *arg)
{
	struct vrb_srx *srx = (struct vrb_srx *)fid;
	const struct ofi_ep_op_flags of = { .rx = &srx->op_flags, .rx_allowed = OFI_RX_OP_FLAGS };

	if (command == FI_ENABLE)
		return 0;
	return ofi_ep_control(
		&vrb_prov, &of, command, arg,
		"a shared receive context supports FI_ENABLE, FI_GETOPSFLAG and FI_SETOPSFLAG");
}

static int set_limit(struct vrb_srx *srx, size_t limit)
{
	struct ibv_srq_attr attr = { .srq_limit = (uint32_t)limit };
	int err;

	if (limit > srx->srq->wq.size)
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_setopt: limit %zu exceeds the %u receives of the shared receive context\n",
			limit, srx->srq->wq.size);
	if (limit && !vrb_srx_eq(srx))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOEQ,
			"fi_setopt: there is no event queue for the event; bind one to the shared receive context or to its domain\n");
	err = ibv_modify_srq(srx->srq->ibv, &attr, IBV_SRQ_LIMIT);
	return err ? vrb_failed(srx->domain->ctx, err, "fi_setopt: ibv_modify_srq") : 0;
}

static int get_limit(const struct vrb_srx *srx, size_t *limit)
{
	struct ibv_srq_attr attr;
	int err = ibv_query_srq(srx->srq->ibv, &attr);

	if (err)
		return vrb_failed(srx->domain->ctx, err, "fi_getopt: ibv_query_srq");
	*limit = attr.srq_limit;
	return 0;
}

static int srx_option(struct fid *fid, int name, size_t *value)
{
	const struct vrb_srx *srx = (struct vrb_srx *)fid;

	*value = srx->srq->wq.size;
	if (name == FI_OPT_VERBS_SRX_LIMIT)
		return get_limit(srx, value);
	return name == FI_OPT_RX_SIZE ? 0 : -FI_ENOPROTOOPT;
}

static int srx_getopt(fid_t fid, int level, int name, void *value, size_t *len)
{
	return ofi_ep_getopt(&vrb_prov, fid, srx_option, level, name, value, len);
}

static int srx_setopt(fid_t fid, int level, int name, const void *value, size_t len)
{
	size_t limit;
	int ret = ofi_ep_setopt(&vrb_prov, fid, srx_option, level, name, value, len,
				FI_OPT_VERBS_SRX_LIMIT, &limit);

	return ret ? ret : set_limit((struct vrb_srx *)fid, limit);
}

static ssize_t srx_rx_size_left(struct fid_ep *fid)
{
	return (ssize_t)vrb_srq_left(vrb_srx(fid)->srq);
}

static const struct fi_ops srx_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = srx_close,
	.bind = srx_bind,
	.control = srx_control,
};

static const struct fi_ops_ep srx_ops = {
	.size = OFI_EP_DEFAULTS,
	.cancel = vrb_ep_cancel,
	.getopt = srx_getopt,
	.setopt = srx_setopt,
	.rx_size_left = srx_rx_size_left,
};

static size_t or_default(size_t asked, size_t def, size_t max)
{
	return asked ? asked : def < max ? def : max;
}

static int srx_check_attr(const struct vrb_domain *domain, const struct fi_rx_attr *attr)
{
	const struct ibv_device_attr *device = &domain->attr;
	const uint64_t caps = SRX_CAPS | domain->base.info->caps;

	if (!device->max_srq)
		return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, -FI_ENOSYS,
				  "fi_srx_context: %s has no shared receive queues\n",
				  ibv_get_device_name(domain->ctx->device));
	if (attr->caps & ~caps || attr->size > (size_t)device->max_srq_wr ||
	    attr->iov_limit > vrb_srx_max_iov(device))
		return ofi_refuse(
			&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			"fi_srx_context: caps 0x%llx, size %zu, iov_limit %zu; %s allows 0x%llx, %d and %zu\n",
			(unsigned long long)attr->caps, attr->size, attr->iov_limit,
			ibv_get_device_name(domain->ctx->device), (unsigned long long)caps,
			device->max_srq_wr, vrb_srx_max_iov(device));
	return 0;
}

/*
 * Returns the receive attributes of the domain's endpoints, as far as they apply to a shared
 * context.
 */
static struct fi_rx_attr default_attr(const struct vrb_domain *domain)
{
	struct fi_rx_attr attr = { .caps = 0 };

	if (domain->base.info->rx_attr)
		attr = *domain->base.info->rx_attr;
	attr.caps &= SRX_CAPS;
	if (attr.size > (size_t)domain->attr.max_srq_wr)
		attr.size = (size_t)domain->attr.max_srq_wr;
	if (attr.iov_limit > vrb_srx_max_iov(&domain->attr))
		attr.iov_limit = vrb_srx_max_iov(&domain->attr);
	return attr;
}

static int srx_create(struct vrb_srx *srx, const struct fi_rx_attr *attr)
{
	struct vrb_domain *domain = srx->domain;
	struct ibv_srq_init_attr init = { .srq_context = srx };

	srx->iov_limit = or_default(attr->iov_limit, (size_t)vrb_params.rx_iov_limit,
				    vrb_srx_max_iov(&domain->attr));
	init.attr.max_sge = (uint32_t)srx->iov_limit;
	init.attr.max_wr = (uint32_t)or_default(attr->size, (size_t)vrb_params.rx_size,
						(size_t)domain->attr.max_srq_wr);
	srx->srq = vrb_srq_new(domain, init.attr.max_wr);
	if (!srx->srq)
		return -FI_ENOMEM;
	srx->srq->ibv = ibv_create_srq(domain->pd, &init);
	return srx->srq->ibv ? 0 : vrb_failed(domain->ctx, errno, "fi_srx_context: ibv_create_srq");
}

int vrb_srx_open(struct fid_domain *domain_fid, struct fi_rx_attr *attr, struct fid_ep **srx_fid,
		 void *context)
{
	struct vrb_domain *domain = vrb_domain(domain_fid);
	struct fi_rx_attr own = default_attr(domain);
	struct vrb_srx *srx;
	bool dead;
	int ret;

	if (!srx_fid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_EP_CTRL, "fi_srx_context", "rx_ep");
	if (!attr)
		attr = &own;
	ret = srx_check_attr(domain, attr);
	if (ret)
		return ret;
	if (__atomic_load_n(&domain->dead, __ATOMIC_ACQUIRE))
		return -FI_ENODEV;
	srx = calloc(1, sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	srx->domain = domain;
	srx->op_flags = attr->op_flags & OFI_RX_OP_FLAGS;
	ret = srx_create(srx, attr);
	if (ret) {
		srx_free(srx);
		return ret;
	}
	ofi_ep_fid_init(&srx->fid, FI_CLASS_SRX_CTX, context, &srx_fid_ops, &srx_ops,
			&ofi_no_cm_ops);
	srx->fid.msg = ofi_ops(domain->lock_posts ? &vrb_srx_msg_ops : &vrb_srx_msg_nolock_ops);
	ofi_ref_get(&domain->base.ref);
	ofi_lock(&domain->fail_lock);
	LIST_INSERT_HEAD(&domain->srxs, srx, siblings);
	dead = __atomic_load_n(&domain->dead, __ATOMIC_ACQUIRE);
	ofi_unlock(&domain->fail_lock);
	if (dead) /* before the event thread could find it */
		vrb_srq_shut(srx->srq, -FI_ENODEV);
	*srx_fid = &srx->fid;
	return 0;
}

static bool srx_let_go(const struct vrb_ep *ep)
{
	return __atomic_load_n(&ep->last_wqe, __ATOMIC_ACQUIRE) ||
	       __atomic_load_n(&ep->domain->dead, __ATOMIC_ACQUIRE);
}

/*
 * Waits until the device reports the last receive of the queue pair. After a timeout no endpoint
 * waits again, until the device reports one late: soft-RoCE never does.
 */
static void await_last(struct vrb_ep *ep)
{
	struct vrb_domain *domain = ep->domain;
	struct ofi_patience patience = { .ms = LAST_WQE_MS };

	vrb_qp_flush(ep);
	if (__atomic_load_n(&domain->no_last_wqe, __ATOMIC_RELAXED))
		return;
	while (!srx_let_go(ep) && !ofi_patience_over(&patience))
		sched_yield();
	if (!srx_let_go(ep))
		__atomic_store_n(&domain->no_last_wqe, true, __ATOMIC_RELAXED);
}

void vrb_srx_leave(struct vrb_ep *ep)
{
	struct vrb_cq *cq = ep->rx_cq ? ep->rx_cq : ep->tx_cq;

	if (!ep->srx || !ep->qp)
		return;
	if (ep->peer_qp_num)
		await_last(ep);
	vrb_cq_save(cq);
}
