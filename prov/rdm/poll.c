/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completion queues of reliable-datagram endpoints in poll sets. */
#include <rdma/fi_errno.h>
#include "cq.h"

bool ofi_rdm_cq_ready(struct ofi_cq *base)
{
	struct ofi_rdm_cq *cq = (struct ofi_rdm_cq *)base;

	fi_cq_read(&cq->fid, NULL, 0);
	return !ofi_cq_ring_empty(&cq->ring);
}
