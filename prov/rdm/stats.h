/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The statistics of a reliable-datagram endpoint, counted with its lock held, and the application's
 * access to them.
 */
#ifndef OFI_RDM_STATS_H
#define OFI_RDM_STATS_H

#include "rdm.h"

/* Counts an operation and its bytes: two additions if the compiler knows the counters. */
OFI_INLINE void ofi_rdm_count(struct ofi_rdm_ep *ep, int ops, int bytes, size_t len)
{
	ofi_stats_add(&ep->stats, ops, 1);
	ofi_stats_add(&ep->stats, bytes, len);
}

/* Counts a call that returns -FI_EAGAIN. The caller holds the lock. */
static inline void ofi_rdm_count_result(struct ofi_rdm_ep *ep, ssize_t ret)
{
	if (ofi_unlikely(ret == -FI_EAGAIN))
		ofi_stats_add(&ep->stats, OFI_STATS_EAGAIN, 1);
}

/* Publishes the record of an enabled endpoint to other processes. */
void ofi_rdm_stats_show(struct ofi_rdm_ep *ep);
/* Implements fi_open_ops of an endpoint. */
int ofi_rdm_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context);

#endif
