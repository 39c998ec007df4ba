/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queue pairs: creation, transition to RTS, flushing. */
#include <errno.h>
#include <rdma/providers/fi_log.h>
#include <rdma/rdma_cma.h>
#include "cq.h"
#include "prov/base/refuse.h"
#include "prov/verbs/dgram/dgram.h"
#include "prov/verbs/msg/ep.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/provider/tclass.h"
#include "qp.h"
#include "qp_start.h"
#include "prov/verbs/msg/srx.h"

/*
 * Returns the lowest port that is up; the connection's own port is set when its address is
 * resolved.
 */
static uint8_t first_port(const struct vrb_domain *domain)
{
	struct ibv_port_attr attr;
	uint8_t port;

	for (port = 1; port < domain->attr.phys_port_cnt; port++)
		if (!ibv_query_port(domain->ctx, port, &attr) && attr.state == IBV_PORT_ACTIVE)
			return port;
	return port;
}

static int to_init(struct vrb_ep *ep)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = first_port(ep->domain),
		.qp_access_flags =
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE,
	};
	int err;

	if (ep->domain->attr.atomic_cap != IBV_ATOMIC_NONE)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	ep->qp_access = attr.qp_access_flags;
	ep->qp_port = attr.port_num;
	err = ibv_modify_qp(ep->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	return err ? vrb_failed(ep->domain->ctx, err, "fi_enable: ibv_modify_qp to INIT") : 0;
}

int vrb_qp_start_ud(struct vrb_dgram *ep, const char *call)
{
	int err = vrb_qp_to_rts(&ep->port, ep->ep.qp, ep->qkey, false);

	return err ? vrb_failed(ep->ep.domain->ctx, err, "%s: ibv_modify_qp", call) : 0;
}

static int first_steps(struct vrb_ep *ep)
{
	return vrb_ep_is_dgram(ep) ? vrb_qp_start_ud(vrb_dgram_of(ep), "fi_enable") : to_init(ep);
}

/* Returns true if a receive has a segment of the library for the GRH. */
static bool has_spill(struct vrb_ep *ep)
{
	return vrb_ep_is_dgram(ep) && !vrb_dgram_of(ep)->prefix;
}

struct ibv_qp *vrb_qp_new(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	uint32_t wanted = attr->cap.max_inline_data;
	struct ibv_qp *qp;

	/* A driver may refuse without setting it: bnxt_re. */
	errno = 0;
	qp = ibv_create_qp(pd, attr);
	if (!qp && !errno)
		errno = EINVAL;
	if (!qp || attr->cap.max_inline_data >= wanted)
		return qp;
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_CTRL,
		       "a queue pair of %s takes %u bytes of inline data, not %u\n",
		       ibv_get_device_name(pd->context->device), attr->cap.max_inline_data, wanted);
	ibv_destroy_qp(qp);
	errno = EOPNOTSUPP;
	return NULL;
}

/*
 * Logs the requested sizes. Entries, segments and inline data share the memory of a work queue, so
 * their combination may be too large although each is within its limit.
 */
static int create_failed(struct vrb_ep *ep, const struct ibv_qp_cap *cap)
{
	int ret = vrb_failed(ep->domain->ctx, errno, "fi_enable: ibv_create_qp");

	return ofi_refuse(
		&vrb_prov, FI_LOG_EP_CTRL, ret,
		"fi_enable: asked for tx_attr size %u, iov_limit %u, inject_size %zu, rx_attr size %u, iov_limit %u; lower those above the defaults\n",
		cap->max_send_wr, cap->max_send_sge, ep->inject_size, cap->max_recv_wr,
		cap->max_recv_sge);
}

/* Has vrb_ep_find() return the endpoint if it takes shared receives, or not any more. */
static void set_taker(struct vrb_ep *ep, bool takes)
{
	struct vrb_domain *domain = ep->domain;

	if (!ep->srx)
		return;
	ofi_lock(&domain->lock);
	if (takes)
		LIST_INSERT_HEAD(&domain->takers[ep->qp_num % VRB_TAKERS], ep, taker);
	else
		LIST_REMOVE(ep, taker);
	ofi_unlock(&domain->lock);
}

int vrb_qp_create(struct vrb_ep *ep)
{
	const struct fi_info *info = ep->info;
	struct vrb_cq *tx = ep->tx_cq ? ep->tx_cq : ep->rx_cq;
	struct vrb_cq *rx = ep->rx_cq ? ep->rx_cq : ep->tx_cq;
	struct ibv_qp_init_attr attr = {
		.qp_context = &ep->owner,
		.send_cq = tx->ibv,
		.recv_cq = rx->ibv,
		.qp_type = vrb_ep_is_dgram(ep) ? IBV_QPT_UD : IBV_QPT_RC,
		.cap = {
			.max_send_wr = info->tx_attr->size,
			.max_send_sge = info->tx_attr->iov_limit,
			.max_inline_data = info->tx_attr->inject_size,
		},
	};
	int ret;

	if (ep->srx) {
		attr.srq = ep->srx->srq->ibv;
	} else {
		attr.cap.max_recv_wr = info->rx_attr->size;
		attr.cap.max_recv_sge = info->rx_attr->iov_limit + has_spill(ep);
	}
	ep->qp = vrb_qp_new(ep->domain->pd, &attr);
	if (!ep->qp)
		return create_failed(ep, &attr.cap);
	__atomic_store_n(&ep->qp_num, ep->qp->qp_num, __ATOMIC_RELAXED);
	set_taker(ep, true);
	ret = first_steps(ep);
	if (ret)
		vrb_qp_destroy(ep);
	return ret;
}

void vrb_qp_destroy(struct vrb_ep *ep)
{
	int err;

	if (!ep->qp)
		return;
	set_taker(ep, false);
	err = ibv_destroy_qp(ep->qp);
	if (err)
		vrb_failed(ep->domain->ctx, err, "fi_close: ibv_destroy_qp");
	ep->qp = NULL;
}

void vrb_qp_settle(const struct vrb_domain *domain, const struct fi_info *info,
		   struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_device_attr *device = &domain->attr;

	if (mask & IBV_QP_MIN_RNR_TIMER)
		attr->min_rnr_timer = (uint8_t)vrb_params.min_rnr_timer;
	if (mask & IBV_QP_RETRY_CNT)
		attr->retry_cnt = (uint8_t)vrb_params.retry_count;
	if (mask & IBV_QP_RNR_RETRY)
		attr->rnr_retry = (uint8_t)vrb_params.rnr_retry_count;
	if ((mask & IBV_QP_TIMEOUT) && vrb_params.ack_timeout)
		attr->timeout = (uint8_t)vrb_params.ack_timeout;
	if (mask & IBV_QP_AV)
		vrb_tclass_set_ah(vrb_tclass_of(domain->base.info, info), &attr->ah_attr);
	if (attr->max_dest_rd_atomic > device->max_qp_rd_atom)
		attr->max_dest_rd_atomic = (uint8_t)device->max_qp_rd_atom;
	if (attr->max_rd_atomic > device->max_qp_init_rd_atom)
		attr->max_rd_atomic = (uint8_t)device->max_qp_init_rd_atom;
}

/*
 * Logs the failure and returns -FI_E*. EINVAL means that the connection manager no longer knows the
 * connection because the peer has given it up. Any peer can cause that, so it is not a warning.
 */
static int init_failed(const struct vrb_ep *ep, const char *name, int err)
{
	if (err != EINVAL)
		return vrb_failed(ep->domain->ctx, err, "connecting: rdma_init_qp_attr for %s",
				  name);
	return ofi_decline(&vrb_prov, FI_LOG_EP_CTRL, -FI_EINVAL,
			   "endpoint %p: the peer has given up its connection request\n",
			   (const void *)ep);
}

static int qp_modify(struct vrb_ep *ep, struct rdma_cm_id *id, enum ibv_qp_state state,
		     const char *name)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int err, mask = 0;

	if (rdma_init_qp_attr(id, &attr, &mask))
		return init_failed(ep, name, errno);
	/* It is in INIT already, with the first partition key of this port. */
	if (state == IBV_QPS_INIT && attr.port_num == ep->qp_port && !attr.pkey_index)
		return 0;
	vrb_qp_settle(ep->domain, ep->info, &attr, mask);
	if (mask & IBV_QP_ACCESS_FLAGS)
		attr.qp_access_flags = ep->qp_access;
	if (mask & IBV_QP_DEST_QPN)
		ep->peer_qp_num = attr.dest_qp_num;
	err = ibv_modify_qp(ep->qp, &attr, mask);
	return err ? vrb_failed(ep->domain->ctx, err, "connecting: ibv_modify_qp to %s", name) : 0;
}

int vrb_qp_connect(struct vrb_ep *ep, struct rdma_cm_id *id)
{
	enum ibv_qp_state state = ep->qp->state;
	int ret = 0;

	/* A call that is repeated goes on from the state that the queue pair has reached. */
	if (state != IBV_QPS_RTR && state != IBV_QPS_RTS) {
		ret = qp_modify(ep, id, IBV_QPS_INIT, "INIT");
		if (!ret)
			ret = qp_modify(ep, id, IBV_QPS_RTR, "RTR");
	}
	if (!ret && state != IBV_QPS_RTS)
		ret = qp_modify(ep, id, IBV_QPS_RTS, "RTS");
	return ret;
}

void vrb_qp_flush(struct vrb_ep *ep)
{
	if (ep->qp)
		vrb_qp_stop(ep->qp);
}
