/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rare ways of posting: full or closed queues, failed posts, and the batches of FI_MORE. */
#include "batch.h"
#include "err.h"
#include "post.h"

static int down_err(const struct vrb_ep *ep)
{
	int err = __atomic_load_n(&ep->down_err, __ATOMIC_RELAXED);

	return err ? err : -FI_EOPBADSTATE;
}

static ssize_t sq_blocked(struct vrb_ep *ep)
{
	vrb_batch_ring(ep, 0);
	return vrb_wq_limit(ep->sq) ? -FI_EAGAIN : down_err(ep);
}

ssize_t vrb_sq_post_rare(struct vrb_ep *ep, struct ibv_send_wr *wr, struct vrb_slot *slot, bool more)
{
	if (!slot)
		return sq_blocked(ep);
	vrb_wq_publish(ep->sq);
	vrb_batch_add(ep, wr);
	if (more && ep->sq->held < VRB_BATCH_MAX)
		return 0;
	return vrb_batch_ring(ep, 1);
}

ssize_t vrb_wq_post_failed(struct vrb_wq *wq, int err)
{
	vrb_wq_unpublish(wq, 1);
	return vrb_errno(err);
}

ssize_t vrb_rq_blocked(struct vrb_ep *ep)
{
	return vrb_wq_limit(ep->rq) ? -FI_EAGAIN : down_err(ep);
}
