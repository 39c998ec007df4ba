/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a reliable-datagram endpoint counts, with its lock held, and how the application reads it.
 */
#ifndef VRB_RDM_STATS_H
#define VRB_RDM_STATS_H

#include "rdm.h"

/* Two additions where the compiler knows the counters. */
OFI_INLINE void vrb_rdm_count(struct vrb_rdm *ep, int ops, int bytes, size_t len)
{
	ofi_stats_add(&ep->stats, ops, 1);
	ofi_stats_add(&ep->stats, bytes, len);
}

/* What a call that was made with the lock held returns: it found no room. */
static inline void vrb_rdm_count_result(struct vrb_rdm *ep, ssize_t ret)
{
	if (ofi_unlikely(ret == -FI_EAGAIN))
		ofi_stats_add(&ep->stats, OFI_STATS_EAGAIN, 1);
}

/* The endpoint is enabled: others may see its record. */
void vrb_rdm_stats_show(struct vrb_rdm *ep);
/* And that of a peer that is new to it. */
void vrb_rdm_stats_show_peer(struct vrb_rdm_peer *peer);
/* fi_open_ops of an endpoint. */
int vrb_rdm_stats_open_ops(struct fid *fid, const char *name, uint64_t flags, void **ops,
			   void *context);

#endif
