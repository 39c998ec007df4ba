/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attaching shared receive queues to completion queues, and closing them. */
#include <stdlib.h>
#include <rdma/fi_errno.h>
#include "cq.h"
#include "srq.h"

static int add_share(struct vrb_srq *srq, struct vrb_cq *cq)
{
	struct vrb_share *share = malloc(sizeof(*share));
	int ret = share ? vrb_cq_reserve(cq, srq->wq.size) : -FI_ENOMEM;

	if (ret) {
		free(share);
		return ret;
	}
	*share = (struct vrb_share){ .srq = srq, .cq = cq };
	__atomic_add_fetch(&srq->refs, 1, __ATOMIC_RELAXED);
	LIST_INSERT_HEAD(&srq->shares, share, of_srq);
	vrb_cq_lock(cq);
	LIST_INSERT_HEAD(&cq->shares, share, of_cq);
	vrb_cq_set_special(cq, VRB_CQ_TRACED, true);
	vrb_cq_unlock(cq);
	return 0;
}

/* Prepares the CQ for counters. Its capacity has grown already. */
static int count_shared(struct vrb_cq *cq, bool count)
{
	int ret = 0;

	vrb_cq_lock(cq);
	if (count || vrb_cq_counts(cq))
		ret = vrb_cq_count_open(cq);
	vrb_cq_unlock(cq);
	return ret;
}

int vrb_srq_attach(struct vrb_srq *srq, struct vrb_cq *cq, bool count)
{
	struct vrb_share *share;
	int ret = 0;

	ofi_lock(&srq->domain->share_lock);
	LIST_FOREACH (share, &srq->shares, of_srq)
		if (share->cq == cq)
			break;
	if (!share)
		ret = add_share(srq, cq);
	if (!ret)
		ret = count_shared(cq, count);
	ofi_unlock(&srq->domain->share_lock);
	return ret;
}

static void retire_unread(struct vrb_cq *cq)
{
	struct vrb_slot *slot;
	int i, n;

	while ((n = vrb_cq_poll(cq, cq->bunch)) > 0)
		for (i = 0; i < n; i++) {
			slot = (struct vrb_slot *)(uintptr_t)cq->wc[cq->first + i].wr_id;
			if (vrb_wq_special(slot->wq) & VRB_WQ_SHARED)
				vrb_srq_retire(slot->wq, slot);
		}
}

void vrb_srq_forget_cq(struct vrb_cq *cq)
{
	struct vrb_share *share;

	ofi_lock(&cq->domain->share_lock);
	if (!LIST_EMPTY(&cq->shares)) {
		vrb_cq_lock(cq);
		retire_unread(cq);
		vrb_cq_unlock(cq);
	}
	while ((share = LIST_FIRST(&cq->shares))) {
		LIST_REMOVE(share, of_cq);
		LIST_REMOVE(share, of_srq);
		vrb_srq_leave(share);
	}
	ofi_unlock(&cq->domain->share_lock);
}
