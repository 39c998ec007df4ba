/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The statistics of the provider's objects, and the application's access to them. */
#ifndef VRB_STATS_H
#define VRB_STATS_H

#include <rdma/fabric.h>
#include "prov/verbs/queue/wq.h"

struct vrb_domain;
struct vrb_ep;

/*
 * Counts the bytes of an operation and, unless it is a send, the operation itself; posted work
 * requests are counted elsewhere. Costs one or two additions if the compiler knows the kind. n is
 * 1, or -1 to undo the count of a rejected operation.
 */
OFI_INLINE void vrb_wq_count(struct vrb_wq *wq, uint64_t flags, size_t len, int n)
{
	int bytes = OFI_STATS_SEND_BYTES, ops = -1;

	if (flags & FI_RECV)
		return;
	if (flags & FI_ATOMIC)
		ops = OFI_STATS_ATOMICS, bytes = OFI_STATS_ATOMIC_BYTES;
	else if ((flags & FI_RMA) && (flags & FI_READ))
		ops = OFI_STATS_READS, bytes = OFI_STATS_READ_BYTES;
	else if (flags & FI_RMA)
		ops = OFI_STATS_WRITES, bytes = OFI_STATS_WRITE_BYTES;
	ofi_stats_add(&wq->stats, bytes, n < 0 ? -(uint64_t)len : len);
	if (ops >= 0)
		ofi_stats_add(&wq->stats, ops, (uint64_t)n);
}

void vrb_stats_show(struct vrb_domain *domain, struct ofi_stats *stats, uint32_t fclass);
void vrb_stats_show_ep(struct vrb_ep *ep);
/*
 * Keeps the number of a queue's completions when the queue leaves the CQ. The caller holds the CQ's
 * lock.
 */
void vrb_stats_detach(struct vrb_cq *cq, struct vrb_wq *wq);
void vrb_stats_error(struct vrb_cq *cq, struct vrb_wq *wq, enum ibv_wc_status status);
/* Counts the bytes of a receive that is retired without a CQ entry. */
void vrb_stats_received(const struct ibv_wc *wc);
/* Implements fi_open_ops of a domain, completion queue or endpoint. */
int vrb_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
		       void *context);

#endif
