/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion queues of programs that know no fi_trywait(), which came with API 1.3. They read until
 * the queue is empty and then sleep on its descriptor, so each read that finds nothing requests a
 * wakeup.
 */
#include "cq.h"

#include <rdma/fi_errno.h>

/* If there may be something to read after all, or an error, the descriptor says so. */
static void arm_old(struct ofi_cq *cq)
{
	if (cq->slow->ops->trywait(cq))
		ofi_wait_signal(&cq->slow->wait);
}

static ssize_t old_read(struct fid_cq *fid, void *buf, size_t count)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;
	ssize_t ret = cq->slow->inner->read(fid, buf, count);

	if (ret == -FI_EAGAIN)
		arm_old(cq);
	return ret;
}

static ssize_t old_readfrom(struct fid_cq *fid, void *buf, size_t count, fi_addr_t *src)
{
	struct ofi_cq *cq = (struct ofi_cq *)fid;
	ssize_t ret = cq->slow->inner->readfrom(fid, buf, count, src);

	if (ret == -FI_EAGAIN)
		arm_old(cq);
	return ret;
}

void ofi_cq_arm_reads(struct ofi_cq *cq, uint32_t api_version)
{
	struct ofi_cq_slow *slow = cq->slow;

	if (FI_VERSION_GE(api_version, FI_VERSION(1, 3)) || slow->wait.obj != FI_WAIT_FD)
		return;
	slow->inner = cq->fid.ops;
	slow->old_ops = *slow->inner;
	slow->old_ops.read = old_read;
	slow->old_ops.readfrom = old_readfrom;
	cq->fid.ops = &slow->old_ops;
	arm_old(cq);
}
