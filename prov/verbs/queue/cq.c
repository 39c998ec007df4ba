/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues: opening, closing, attaching queues. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "prov/base/cq_peer.h"
#include <rdma/providers/fi_log.h>
#include "cq.h"
#include "prov/verbs/provider/err.h"
#include "prov/verbs/provider/prov.h"
#include "srq.h"
#include "prov/verbs/provider/stats.h"
#include "prov/base/refuse.h"

#define CQ_DEFAULT_SIZE 1024

static void cq_join(struct vrb_cq *cq, struct vrb_wq *wq)
{
	wq->cq = cq;
	wq->stats.cq = cq->stats->id;
	LIST_INSERT_HEAD(&cq->wqs, wq, siblings);
	if (wq->multi || wq->unordered || vrb_wq_special(wq) & VRB_WQ_TRACED)
		vrb_cq_set_special(cq, VRB_CQ_TRACED, true);
	if (wq->dgram)
		vrb_cq_set_special(cq, VRB_CQ_DGRAM, true);
}

int vrb_cq_attach(struct vrb_cq *cq, struct vrb_wq *wq)
{
	int ret;

	vrb_cq_lock(cq);
	if (cq->special & VRB_CQ_CLOSED)
		vrb_cq_purge(cq);
	vrb_cq_unlock(cq);
	ret = vrb_cq_admit(cq, wq);
	if (ret)
		return ret;
	vrb_cq_lock(cq);
	if (wq->cntrs || vrb_cq_counts(cq))
		ret = vrb_cq_count_open(cq);
	if (!ret)
		cq_join(cq, wq);
	vrb_cq_unlock(cq);
	if (ret)
		vrb_cq_release(cq, wq);
	return ret;
}

/*
 * Makes the remaining completions silent. Without counters, and unless the queue is shared, these
 * are those of the slots from tail to head.
 */
static void wq_silence(const struct vrb_cq *cq, struct vrb_wq *wq)
{
	struct vrb_slot *slot = __atomic_load_n(&wq->tail, __ATOMIC_ACQUIRE);
	const struct vrb_slot *head = __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE);
	uint32_t i;

	if (wq->cntrs || vrb_cq_counts(cq) || vrb_wq_special(wq) & VRB_WQ_SHARED) {
		for (i = 0; i <= wq->size; i++)
			wq->slots[i].flags |= VRB_SILENT;
		return;
	}
	for (; slot != head; slot = slot->next)
		slot->flags |= VRB_SILENT;
}

/* Counters process each completion, including unread ones. */
static bool drain_counted(struct vrb_cq *cq, struct vrb_wq *wq)
{
	bool left;

	vrb_cq_lock(cq);
	wq_silence(cq, wq);
	vrb_cq_fetch(cq);
	left = wq->counted != __atomic_load_n(&wq->head, __ATOMIC_ACQUIRE);
	vrb_cq_unlock(cq);
	return left;
}

/* A CQ whose next completion nobody reads is not reclaimed: the completions are moved aside. */
bool vrb_cq_drain(struct vrb_cq *cq, struct vrb_wq *wq)
{
	bool blocked;

	if (wq->cntrs)
		return drain_counted(cq, wq);
	vrb_cq_lock(cq);
	wq_silence(cq, wq);
	vrb_cq_unlock(cq);
	vrb_cq_reclaim(cq);
	vrb_cq_lock(cq);
	blocked = cq->kept;
	vrb_cq_unlock(cq);
	if (!blocked)
		return vrb_wq_used(wq);
	if (wq->unordered)
		return false;
	vrb_cq_save(cq);
	return !vrb_cq_has_all(cq, wq);
}

void vrb_cq_close_wq(struct vrb_cq *cq, struct vrb_wq *wq)
{
	vrb_cq_lock(cq);
	__atomic_store_n(&wq->closed, true, __ATOMIC_RELAXED);
	if (wq->listed)
		vrb_cq_take_held(cq);
	wq_silence(cq, wq);
	vrb_cq_unlock(cq);
}

void vrb_cq_detach(struct vrb_cq *cq, struct vrb_wq *wq)
{
	vrb_cq_lock(cq);
	LIST_REMOVE(wq, siblings);
	vrb_stats_detach(cq, wq);
	vrb_cq_count_forget(wq);
	vrb_cq_forget(cq, wq);
	LIST_INSERT_HEAD(&cq->closed, wq, siblings);
	vrb_cq_set_special(cq, VRB_CQ_CLOSED, true);
	vrb_cq_purge(cq);
	vrb_cq_unlock(cq);
}

const char *vrb_cq_strerror(struct fid_cq *fid, int prov_errno, const void *err_data, char *buf,
			    size_t len)
{
	const struct vrb_wc_detail *detail = err_data;
	static __thread char text[256];

	(void)fid;
	if (detail && detail->size != sizeof(*detail))
		detail = NULL;
	if (!buf || !len)
		return vrb_wc_text(prov_errno, detail, text, sizeof(text));
	return vrb_wc_text(prov_errno, detail, buf, len);
}

static int cq_check_attr(const struct vrb_domain *domain, const struct fi_cq_attr *attr)
{
	int ret = ofi_cq_check_attr(&vrb_prov, attr);

	if (ret)
		return ret;
	if (attr->size > (size_t)domain->attr.max_cqe)
		return ofi_refuse(&vrb_prov, FI_LOG_CQ, -FI_EINVAL,
				  "fi_cq_open: size %zu, %s allows at most %d entries\n",
				  attr->size, ibv_get_device_name(domain->ctx->device),
				  domain->attr.max_cqe);
	return 0;
}

static int cq_create(struct vrb_cq *cq, const struct fi_cq_attr *attr)
{
	struct vrb_domain *domain = cq->domain;
	int vector = vrb_cq_vector(domain, attr);
	int err, size = attr->size ? (int)attr->size : CQ_DEFAULT_SIZE;

	if (size > domain->attr.max_cqe)
		size = domain->attr.max_cqe;
	cq->ibv = ibv_create_cq(domain->ctx, size, cq, cq->channel, vector);
	if (!cq->ibv) {
		err = errno;
		if (cq->channel && err == EOPNOTSUPP)
			return ofi_refuse(
				&vrb_prov, FI_LOG_CQ, -FI_ENOSYS,
				"fi_cq_open: %s has no completion events: use FI_WAIT_NONE or FI_WAIT_YIELD\n",
				ibv_get_device_name(domain->ctx->device));
		FI_WARN_SPARSE(&vrb_prov, FI_LOG_CQ,
			       "fi_cq_open: ibv_create_cq of %d entries on %s: %s%s\n", size,
			       ibv_get_device_name(domain->ctx->device), strerror(err),
			       vrb_remedy(err));
		return vrb_errno(err);
	}
	cq->capacity = cq->ibv->cqe;
	return 0;
}

static void cq_free(struct vrb_cq *cq)
{
	if (!cq)
		return;
	ofi_waitset_leave(&cq->slow.member);
	vrb_cq_reap(cq);
	vrb_cq_count_close(cq);
	if (cq->ibv) {
		ibv_ack_cq_events(cq->ibv, cq->unacked);
		ibv_destroy_cq(cq->ibv);
	}
	ofi_cq_fini(&cq->base);
	if (cq->channel)
		ibv_destroy_comp_channel(cq->channel);
	ofi_stats_free(cq->stats, cq->stats);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct vrb_cq *cq = vrb_cq((struct fid_cq *)fid);
	struct vrb_domain *domain = cq->domain;

	if (ofi_ref_inherited(&domain->base.ref))
		return 0;
	if (ofi_ref_busy(&cq->slow.ref))
		return ofi_refuse(
			&vrb_prov, FI_LOG_CQ, -FI_EBUSY,
			"fi_close: completion queue %p is bound; close its endpoints first\n",
			(void *)cq);
	vrb_srq_forget_cq(cq);
	cq_free(cq);
	ofi_ref_put(&domain->base.ref);
	return 0;
}

static const struct fi_ops cq_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = cq_close,
	.control = ofi_cq_control,
	.ops_open = vrb_stats_open_ops,
};

int vrb_cq_open(struct fid_domain *fid, struct fi_cq_attr *attr, struct fid_cq **cq_fid,
		void *context)
{
	struct vrb_domain *domain = vrb_domain(fid);
	struct fi_cq_attr none = { 0 };
	struct vrb_cq *cq;
	int ret;

	if (!cq_fid)
		return ofi_refuse_null(&vrb_prov, FI_LOG_CQ, "fi_cq_open", "cq");
	if (!attr)
		attr = &none;
	if (attr->flags & FI_PEER)
		return ofi_cq_peer_open(&vrb_prov, vrb_cq_open, fid, attr, cq_fid, context);
	ret = cq_check_attr(domain, attr);
	if (ret)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = domain;
	cq->store.fd = -1;
	cq->locked = domain->lock_polls;
	cq->bunch = vrb_params.cqread_bunch_size < VRB_CQ_BUNCH_MAX ? vrb_params.cqread_bunch_size
								    : VRB_CQ_BUNCH_MAX;
	ret = vrb_cq_wait_open(cq, attr);
	if (!ret) {
		cq->stats = cq->slow.stats = ofi_stats_alloc(sizeof(*cq->stats));
		ret = cq->stats ? cq_create(cq, attr) : -FI_ENOMEM;
	}
	if (!ret)
		ret = ofi_cq_join(&cq->base, &vrb_prov, &domain->fabric->ref, attr);
	if (ret) {
		cq_free(cq);
		return ret;
	}
	cq->fid = (struct fid_cq){
		.fid = { .fclass = FI_CLASS_CQ, .context = context, .ops = ofi_ops(&cq_fid_ops) },
		.ops = ofi_ops(cq->locked ? &vrb_cq_ops[cq->base.format]
					  : &vrb_cq_nolock_ops[cq->base.format]),
	};
	ofi_cq_arm_reads(&cq->base, domain->base.info->fabric_attr->api_version);
	vrb_stats_show(domain, cq->stats, FI_CLASS_CQ);
	ofi_ref_get(&domain->base.ref);
	*cq_fid = &cq->fid;
	return 0;
}
