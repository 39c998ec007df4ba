/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a reliable-datagram endpoint counts, with its lock held, and how the application reads it.
 */
#ifndef OFI_RDM_STATS_H
#define OFI_RDM_STATS_H

#include "rdm.h"

/* Two additions where the compiler knows the counters. */
OFI_INLINE void ofi_rdm_count(struct ofi_rdm_ep *ep, int ops, int bytes, size_t len)
{
	ofi_stats_add(&ep->stats, ops, 1);
	ofi_stats_add(&ep->stats, bytes, len);
}

/* What a call that was made with the lock held returns: it found no room. */
static inline void ofi_rdm_count_result(struct ofi_rdm_ep *ep, ssize_t ret)
{
	if (ofi_unlikely(ret == -FI_EAGAIN))
		ofi_stats_add(&ep->stats, OFI_STATS_EAGAIN, 1);
}

/* The endpoint is enabled: others may see its record. */
void ofi_rdm_stats_show(struct ofi_rdm_ep *ep);
/* fi_open_ops of an endpoint. */
int ofi_rdm_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context);

#endif
