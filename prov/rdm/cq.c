/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues of reliable-datagram endpoints: opening, reading, waiting. */
#include "prov/base/ops.h"
#include "prov/base/refuse.h"
#include <rdma/fi_errno.h>
#include "domain_progress.h"
#include "cq.h"

#define CQ_DEFAULT_SIZE 1024

ssize_t ofi_rdm_cq_read_ring(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	ssize_t ret;

	if (ofi_cq_ring_empty(&cq->ring))
		return -FI_EAGAIN;
	if (count && !buf)
		return -FI_EINVAL;
	ofi_lock(&cq->lock);
	ret = ofi_cq_ring_read(&cq->ring, cq->base.format, buf, count, src);
	ofi_unlock(&cq->lock);
	return ret;
}

/* Makes all endpoints progress. The caller holds cq->eps_lock. */
static void progress_all(struct ofi_rdm_cq *cq)
{
	struct ofi_rdm_cq_link *link;

	LIST_FOREACH (link, &cq->eps, entry)
		link->ep->proto.xport.ops->progress(&link->ep->proto);
}

/* Called with cq->eps_lock held and releases it. */
OFI_OUTLINE ssize_t ofi_rdm_cq_read_many(struct ofi_rdm_cq *cq, void *buf, size_t count,
					 fi_addr_t *src)
{
	bool is_ready = count && !ofi_cq_ring_empty(&cq->ring);

	if (!is_ready)
		progress_all(cq);
	ofi_unlock(&cq->eps_lock);
	if (!is_ready)
		ofi_triggers_run(&cq->domain->triggers);
	return ofi_rdm_cq_read_ring(cq, buf, count, src);
}

ssize_t ofi_rdm_cq_read_any(struct ofi_rdm_cq *cq, void *buf, size_t count, fi_addr_t *src)
{
	if (count || ofi_cq_ring_empty(&cq->ring))
		return ofi_rdm_cq_read_ring(cq, buf, count, src);
	ofi_lock(&cq->eps_lock);
	return ofi_rdm_cq_read_many(cq, buf, count, src);
}

/*
 * Copies a failure to the application's entry. The sender's address in it stays valid until the
 * application reads the next failure.
 */
static void copy_error(struct ofi_rdm_cq *cq, const struct ofi_cq_item *item,
		       struct fi_cq_err_entry *entry)
{
	struct ofi_rdm_sender *from = ofi_rdm_cq_sender(item);
	const struct fi_cq_err_entry error = {
		.op_context = item->context,
		.flags = item->flags & ~OFI_RDM_CQ_FROM,
		.len = item->len,
		.buf = item->buf,
		.data = item->data,
		.tag = item->tag,
		.olen = from ? 0 : item->olen,
		.err = item->err,
		.prov_errno = item->prov_errno,
	};

	ofi_cq_copy_error(cq->domain->info->fabric_attr->api_version, entry, &error,
			  from ? from->name : NULL, from ? from->len : 0);
	free(cq->sender);
	cq->sender = from;
}

static bool cq_take_error(struct ofi_cq *base, struct fi_cq_err_entry *entry)
{
	struct ofi_rdm_cq *cq = (struct ofi_rdm_cq *)base;
	const struct ofi_cq_item *item;

	ofi_lock(&cq->lock);
	item = ofi_cq_ring_take_error(&cq->ring);
	if (item)
		copy_error(cq, item, entry);
	ofi_unlock(&cq->lock);
	return item;
}

static bool is_empty_locked(struct ofi_rdm_cq *cq)
{
	bool empty;

	ofi_lock(&cq->lock);
	empty = ofi_cq_ring_empty(&cq->ring);
	ofi_unlock(&cq->lock);
	return empty;
}

static int cq_trywait(struct ofi_cq *base)
{
	struct ofi_rdm_cq *cq = (struct ofi_rdm_cq *)base;
	struct ofi_rdm_cq_link *link;
	int ret = 0;

	ofi_lock(&cq->eps_lock);
	ofi_wait_clear(&cq->slow.wait);
	__atomic_store_n(&cq->waiting, true, __ATOMIC_SEQ_CST);
	LIST_FOREACH (link, &cq->eps, entry)
		if (link->ep->proto.xport.ops->arm(&link->ep->proto))
			ret = -FI_EAGAIN;
	ofi_unlock(&cq->eps_lock);
	ofi_triggers_run(&cq->domain->triggers);
	if (!is_empty_locked(cq)) {
		/* Other threads may be waiting for the signal that was cleared above. */
		ofi_rdm_cq_wake(cq);
		ret = -FI_EAGAIN;
	}
	return ofi_triggers_due(&cq->domain->triggers) ? -FI_EAGAIN : ret;
}

bool ofi_rdm_cq_ready(struct ofi_cq *base)
{
	struct ofi_rdm_cq *cq = (struct ofi_rdm_cq *)base;

	fi_cq_read(&cq->fid, NULL, 0);
	return !ofi_cq_ring_empty(&cq->ring);
}

static void cq_free(struct ofi_rdm_cq *cq)
{
	uint32_t i;

	if (!cq)
		return;
	ofi_waitset_leave(&cq->slow.member);
	ofi_cq_fini(&cq->base);
	for (i = cq->ring.head; i != cq->ring.tail; i++)
		free(ofi_rdm_cq_sender(&cq->ring.items[i & cq->ring.mask]));
	ofi_cq_ring_fini(&cq->ring);
	free(cq->sender);
	free(cq);
}

static int cq_close(struct fid *fid)
{
	struct ofi_rdm_cq *cq = (struct ofi_rdm_cq *)fid;
	struct ofi_domain *domain = cq->domain;
	int ret = ofi_ref_busy(&cq->slow.ref);

	if (ofi_ref_inherited(&domain->ref))
		return 0;
	if (ret)
		return ofi_refuse(
			domain->prov, FI_LOG_CQ, ret,
			"fi_close: completion queue %p is still bound; close its endpoints first\n",
			(void *)cq);
	cq_free(cq);
	ofi_ref_put(&domain->ref);
	return 0;
}

static const struct fi_ops cq_fid_ops = {
	.size = OFI_FID_DEFAULTS,
	.close = cq_close,
	.control = ofi_cq_control,
};

static const struct ofi_cq_ops cq_base_ops = {
	.trywait = cq_trywait,
	.ready = ofi_rdm_cq_ready,
	.take_error = cq_take_error,
};

static int cq_init(struct ofi_rdm_cq *cq, const struct fi_cq_attr *attr)
{
	struct ofi_domain *domain = cq->domain;
	int ret = ofi_cq_init(&cq->base, domain->prov, &cq->slow, &cq_base_ops, &domain->ref, attr);

	if (!ret)
		ret = ofi_cq_ring_init(&cq->ring, attr->size ? attr->size : CQ_DEFAULT_SIZE);
	if (ret)
		return ofi_refuse(domain->prov, FI_LOG_CQ, ret, "fi_cq_open: %zu entries: %s\n",
				  attr->size, fi_strerror(-ret));
	return ofi_cq_join(&cq->base, domain->prov, domain->fabric, attr);
}

int ofi_rdm_cq_open(struct ofi_domain *domain, const struct fi_cq_attr *attr, int vector,
		    const struct fi_ops_cq *ops, const struct fi_ops_cq *nolock_ops,
		    struct fid_cq **cq_fid, void *context)
{
	struct ofi_rdm_cq *cq;
	int ret;

	ret = ofi_cq_check_attr(domain->prov, attr);
	if (ret)
		return ret;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return -FI_ENOMEM;
	cq->domain = domain;
	cq->vector = vector;
	cq->nolock = ofi_rdm_domain_progress_biased(domain->progress);
	LIST_INIT(&cq->eps);
	ret = cq_init(cq, attr);
	if (ret) {
		cq_free(cq);
		return ret;
	}
	cq->fid = (struct fid_cq){
		.fid = { .fclass = FI_CLASS_CQ, .context = context, .ops = ofi_ops(&cq_fid_ops) },
		.ops = ofi_ops(cq->nolock ? nolock_ops : ops),
	};
	ofi_cq_arm_reads(&cq->base, domain->info->fabric_attr->api_version);
	ofi_ref_get(&domain->ref);
	*cq_fid = &cq->fid;
	return 0;
}
