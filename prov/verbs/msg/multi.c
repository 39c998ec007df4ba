/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* FI_MULTI_RECV buffers: their parts, and error handling when the device accepts only some. */
#include "prov/verbs/provider/err.h"
#include "multi.h"
#include "prov/verbs/queue/qp.h"

#define ALIGN 64

uint32_t vrb_multi_parts(size_t len, size_t min, uint32_t room, size_t *size)
{
	size_t count = len / min;

	count = count < VRB_MULTI_PARTS ? count : VRB_MULTI_PARTS;
	count = count < room ? count : room;
	count = count ? count : 1;
	*size = len / count;
	if (count > 1 && (*size & ~(size_t)(ALIGN - 1)) >= min)
		*size &= ~(size_t)(ALIGN - 1);
	return (uint32_t)count;
}

/*
 * Posted parts cannot be taken back, so the endpoint is shut and the parts are flushed without
 * being reported.
 */
ssize_t vrb_multi_failed(struct vrb_wq *rq, uint32_t count, uint32_t posted, int err)
{
	vrb_wq_untake(rq, count - posted);
	if (posted) {
		__atomic_store_n(&rq->ep->down_err, -FI_EIO, __ATOMIC_RELAXED);
		vrb_wq_shut(rq, false);
		vrb_qp_flush(rq->ep);
	}
	return vrb_errno(err);
}
