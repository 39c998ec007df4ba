/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The endpoint's queue pair for datagrams: it is created and started, and started again after an
 * error. A single datagram that is longer than the receives takes it to the error state, on some
 * devices, and then everything posted to it fails.
 *
 * Receives that fail are kept until the device holds none; then the queue pair is reset. Packets
 * that are lost meanwhile are sent again by whoever sent them. A device without order (SRD) loses
 * none and may still carry out reads, so there the endpoint is lost.
 */
#include <errno.h>
#include <string.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_log.h>
#include "prov/base/refuse.h"
#include "prov/verbs/discovery/inline.h"
#include "prov/verbs/discovery/kind.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "prov/verbs/queue/qp_start.h"
#include "ud_qp.h"

#define INLINE_MAX 256u

int vrb_ud_open_failed(const char *call, int err)
{
	return ofi_refuse(&vrb_prov, FI_LOG_EP_CTRL, vrb_errno(err),
			  "fi_enable: datagrams: %s: %s%s\n", call, strerror(err), vrb_remedy(err));
}

static int start_qp(struct vrb_ud *all)
{
	const struct vrb_domain *domain = vrb_rc_domain(all->ep);
	const struct vrb_kind *kind = domain->fabric->kind;

	return vrb_qp_to_rts(&all->port, all->qp, vrb_ud_qkey(all, all->key),
			     kind->retries && kind->retries(domain->ctx));
}

static void ud_qp_event(struct vrb_owner *owner, enum ibv_event_type type)
{
	struct vrb_ud *all = ofi_container(owner, struct vrb_ud, owner);

	if (type != IBV_EVENT_QP_FATAL && type != IBV_EVENT_QP_REQ_ERR &&
	    type != IBV_EVENT_QP_ACCESS_ERR)
		return;
	FI_WARN(&vrb_prov, FI_LOG_EP_CTRL, "the queue pair for datagrams has failed: %s\n",
		ibv_event_type_str(type));
	all->calls->lost(all->ep, FI_EIO);
}

static const struct vrb_owner_ops owner_ops = { .qp_event = ud_qp_event };

/* Reads of the device are posted by another interface of the same queue pair. */
static int open_reader(struct vrb_ud *all)
{
	if (!vrb_rc_domain(all->ep)->max_read)
		return 0;
	all->reader = ibv_qp_to_qp_ex(all->qp);
	return all->reader ? 0 : vrb_ud_open_failed("ibv_qp_to_qp_ex", EOPNOTSUPP);
}

int vrb_ud_qp_open(struct vrb_ud *all)
{
	struct vrb_domain *domain = vrb_rc_domain(all->ep);
	struct ibv_cq *cq = vrb_rc(all->ep)->cq;
	struct ibv_qp_init_attr attr = {
		.qp_context = &all->owner,
		.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = all->sq_depth,
			 .max_recv_wr = all->rq_depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	/* On a device without order, each packet has a buffer, even one that is only a header. */
	uint32_t max = 0, most = all->unordered ? VRB_UD_HEAD_MAX - 1 : INLINE_MAX;
	const char *call;
	int ret, err = vrb_inline_max(domain->ctx, IBV_QPT_UD, &call, &max);

	all->owner.ops = &owner_ops;
	if (err)
		return vrb_ud_open_failed(call, err);
	all->inline_max = attr.cap.max_inline_data = ofi_min(max, most);
	errno = 0;
	all->qp = domain->fabric->kind->srd
			  ? domain->fabric->kind->srd(domain->pd, &attr, domain->max_read)
			  : ibv_create_qp(domain->pd, &attr);
	if (!all->qp)
		return vrb_ud_open_failed("ibv_create_qp", errno ? errno : EINVAL);
	if (attr.cap.max_inline_data < all->inline_max)
		all->inline_max = attr.cap.max_inline_data;
	ret = open_reader(all);
	err = ret ? 0 : start_qp(all);
	return err ? vrb_ud_open_failed("ibv_modify_qp", err) : ret;
}

static void lose(struct vrb_ud *all)
{
	all->lost = true;
	FI_WARN(&vrb_prov, FI_LOG_EP_DATA,
		"queue pair 0x%x has failed and cannot be used anymore\n", all->qp->qp_num);
	all->calls->lose(all->ep, FI_EIO);
}

/* Returns true if work requests fail for a known reason. */
static bool is_down(const struct vrb_ud *all)
{
	return all->failed || all->lost || all->ep->closing || all->ep->dead;
}

/* Looks whether the queue pair has left the state in which it works. */
static void look(struct vrb_ud *all)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int err;

	if (is_down(all))
		return;
	err = ibv_query_qp(all->qp, &attr, IBV_QP_STATE, &init);
	if (!err && attr.qp_state == IBV_QPS_RTS)
		return;
	if (!err && attr.qp_state != IBV_QPS_ERR)
		err = vrb_qp_stop(all->qp);
	if (err || all->unordered) {
		lose(all);
		return;
	}
	FI_WARN_SPARSE(&vrb_prov, FI_LOG_EP_DATA,
		       "queue pair 0x%x is in the error state: it restarts\n", all->qp->qp_num);
	all->failed = true;
}

/* Returns how many receives the device holds. */
static uint32_t held(const struct vrb_ud *all)
{
	uint32_t n = all->rq_depth - all->kept;
	const struct ibv_recv_wr *wr;

	for (wr = all->repost; wr; wr = wr->next)
		n--;
	return n;
}

/* The next poll posts the receives, and sends what waits. */
static void restart(struct vrb_ud *all)
{
	struct ibv_recv_wr *wr;

	if (start_qp(all)) {
		lose(all);
		return;
	}
	all->failed = false;
	vrb_ud_sent(all, all->sq_head - 1);
	while ((wr = all->flushed)) {
		all->flushed = wr->next;
		wr->next = all->repost;
		all->repost = wr;
		all->kept--;
	}
}

void vrb_ud_qp_check(struct vrb_ud *all)
{
	look(all);
	if (all->failed && !all->lost && !held(all))
		restart(all);
}

bool vrb_ud_recv_failed(struct vrb_ud *all, struct ibv_recv_wr *wr)
{
	look(all);
	if (!is_down(all))
		return false;
	wr->next = all->flushed;
	all->flushed = wr;
	vrb_ud_qp_check(all);
	return true;
}
