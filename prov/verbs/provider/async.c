/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Asynchronous events of an open device, reported as errors and notifications through event queues.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "async.h"
#include "src/ds/container.h"
#include "domain.h"
#include "prov/verbs/msg/ep.h"
#include "prov.h"
#include "prov/verbs/msg/srx.h"

#define ASYNC_EVENTS_AT_ONCE 16 /* limit, so that the other sources get their turn */

/* Notifications go only to an EQ bound to the domain: other applications would not expect them. */
static void async_notify(struct vrb_domain *domain, const struct ibv_async_event *event, int port)
{
	FI_INFO(&vrb_prov, FI_LOG_DOMAIN, "%s: %s, port %d\n",
		ibv_get_device_name(domain->ctx->device), ibv_event_type_str(event->event_type),
		port);
	ofi_eq_report(domain->base.eq, FI_NOTIFY, &domain->fid.fid,
		      (uint64_t)event->event_type << 32 | (uint32_t)port);
}

/*
 * The owner of the queue pair exists until the event is acknowledged, because ibv_destroy_qp()
 * waits for that.
 */
static void qp_event(const struct ibv_async_event *event)
{
	struct vrb_owner *owner = event->element.qp->qp_context;

	if (owner->ops->qp_event)
		owner->ops->qp_event(owner, event->event_type);
}

static bool ep_uses(const struct vrb_ep *ep, const void *object)
{
	return ep->tx_cq == object || ep->rx_cq == object || ep->srx == object;
}

/* Fails the endpoints of a CQ or shared context, or all of the domain if object is NULL. */
static void fatal_all(struct vrb_domain *domain, const void *object, int err)
{
	struct vrb_ep *ep;

	ofi_lock(&domain->fail_lock);
	LIST_FOREACH (ep, &domain->eps, siblings)
		if (!object || ep_uses(ep, object))
			ep->owner.ops->fatal(&ep->owner, err);
	ofi_unlock(&domain->fail_lock);
	if (vrb_rdm_of(domain))
		vrb_rdm_of(domain)->lost(domain->base.progress, object, err);
}

/* The context exists until the event is acknowledged, because ibv_destroy_srq() waits for that. */
static void srq_limit(const struct ibv_async_event *event)
{
	struct vrb_srx *srx = event->element.srq->srq_context;

	ofi_eq_report(vrb_srx_eq(srx), FI_NOTIFY, &srx->fid.fid, (uint64_t)event->event_type << 32);
}

static void srq_failed(struct vrb_domain *domain, const struct ibv_async_event *event)
{
	struct vrb_srx *srx = event->element.srq->srq_context;

	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL,
		"%s: shared receive context %p failed; its endpoints no longer work\n",
		ibv_get_device_name(domain->ctx->device), (void *)srx);
	vrb_srq_shut(srx->srq, -FI_EIO);
	ofi_eq_report_err(vrb_srx_eq(srx), &srx->fid.fid, FI_EIO, -FI_EIO);
	fatal_all(domain, srx, FI_EIO);
}

static void shut_shared(struct vrb_domain *domain)
{
	struct vrb_srx *srx;

	ofi_lock(&domain->fail_lock);
	LIST_FOREACH (srx, &domain->srxs, siblings)
		vrb_srq_shut(srx->srq, -FI_ENODEV);
	ofi_unlock(&domain->fail_lock);
}

static void cq_event(struct vrb_domain *domain, const struct ibv_async_event *event)
{
	const void *cq = event->element.cq->cq_context;

	FI_WARN(&vrb_prov, FI_LOG_CQ,
		"%s: completion queue %p of %d entries overflowed; its endpoints no longer work\n",
		ibv_get_device_name(domain->ctx->device), cq, event->element.cq->cqe);
	fatal_all(domain, cq, FI_EOVERRUN);
}

void vrb_async_lost(struct vrb_domain *domain)
{
	if (__atomic_exchange_n(&domain->dead, true, __ATOMIC_ACQ_REL))
		return;
	FI_WARN(&vrb_prov, FI_LOG_DOMAIN,
		"%s has failed or is being removed; close what was opened on it\n",
		ibv_get_device_name(domain->ctx->device));
	ofi_eq_report_err(domain->base.eq, &domain->fid.fid, FI_ENODEV, -FI_ENODEV);
	shut_shared(domain);
	fatal_all(domain, NULL, FI_ENODEV);
}

static void async_event(struct vrb_domain *domain, const struct ibv_async_event *event)
{
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
		qp_event(event);
		break;
	case IBV_EVENT_PATH_MIG:
	case IBV_EVENT_PATH_MIG_ERR:
		async_notify(domain, event, 0);
		break;
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		if (!domain->rdm)
			srq_limit(event);
		break;
	case IBV_EVENT_SRQ_ERR:
		if (domain->rdm)
			vrb_rdm_of(domain)->lost(domain->base.progress,
						 event->element.srq->srq_context, FI_EIO);
		else
			srq_failed(domain, event);
		break;
	case IBV_EVENT_CQ_ERR:
		cq_event(domain, event);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		vrb_async_lost(domain);
		break;
	default:
		async_notify(domain, event, event->element.port_num);
		break;
	}
}

static void async_ready(struct ofi_source *source)
{
	struct vrb_domain *domain = ofi_container(source, struct vrb_domain, async);
	struct ibv_async_event event;
	int i;

	for (i = 0; i < ASYNC_EVENTS_AT_ONCE && !ibv_get_async_event(domain->ctx, &event); i++) {
		ofi_stats_add(domain->base.stats, OFI_STATS_EVENTS, 1);
		async_event(domain, &event);
		ibv_ack_async_event(&event);
	}
	if (i < ASYNC_EVENTS_AT_ONCE && errno != EAGAIN && errno != EINTR) {
		/* The kernel has disconnected the device: no more events will come. */
		ofi_loop_remove(&domain->fabric->loop, source);
		vrb_async_lost(domain);
	}
}

int vrb_async_open(struct vrb_domain *domain)
{
	int fd = domain->ctx->async_fd;
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -errno;
	domain->async = (struct ofi_source){ .fd = fd, .ready = async_ready };
	return ofi_loop_add(&domain->fabric->loop, &domain->async);
}

void vrb_async_close(struct vrb_domain *domain)
{
	ofi_loop_remove(&domain->fabric->loop, &domain->async);
}
