/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues of reliable-datagram endpoints in poll sets. */
#include <rdma/fi_errno.h>
#include "cq.h"

static struct ofi_ref *cq_ref(struct fid *fid, const struct ofi_ref *domain)
{
	struct vrb_rdm_cq *cq = (struct vrb_rdm_cq *)fid;

	return vrb_rdm_is_cq(fid) && &cq->domain->ref == domain ? &cq->ref : NULL;
}

/* To read nothing of it makes progress if it is empty. */
static bool cq_ready(struct fid *fid)
{
	struct vrb_rdm_cq *cq = (struct vrb_rdm_cq *)fid;

	fi_cq_read(&cq->fid, NULL, 0);
	return !ofi_cq_ring_empty(&cq->ring);
}

const struct ofi_poll_ops vrb_rdm_poll_ops = {
	.cq_ref = cq_ref,
	.cq_ready = cq_ready,
};
