/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls of msg.c, recv.c and cancel.c for the other files of an endpoint. */
#ifndef OFI_RDM_MSG_H
#define OFI_RDM_MSG_H

#include <rdma/fabric.h>
#include "rdm.h"

/* Variants of FI_DIRECTED_RECV and FI_MULTI_RECV. */
#define OFI_RDM_RECV_VARIANTS \
	(FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV | FI_TAGGED_MULTI_RECV)

/* Returns the variants that an API version lacks: 1.x has FI_VARIABLE_MSG at one of these bits. */
static inline uint64_t ofi_rdm_lacking_variants(uint32_t version)
{
	return FI_VERSION_LT(version, FI_VERSION(2, 0)) ? OFI_RDM_RECV_VARIANTS : 0;
}

/* Called when the default flags or the way completions are reported change. */
void ofi_rdm_set_modes(struct ofi_rdm_ep *ep);
/* The part of ofi_rdm_set_modes() that concerns receives. */
void ofi_rdm_set_recv_modes(struct ofi_rdm_ep *ep);
/* Implements fi_cancel of endpoints and shared receive contexts. */
ssize_t ofi_rdm_cancel(struct fid *fid, void *context);
/* Cancels posted receives, and makes later ones fail. The caller holds the lock. */
void ofi_rdm_recvs_stop(struct ofi_rdm_ep *ep);
/*
 * Cancels posted receives because the device was lost, and makes later ones fail with err (FI_E*).
 * The caller holds the lock.
 */
void ofi_rdm_recvs_lost(struct ofi_rdm_ep *ep, int err);
/* Sets which receives name their source, by the receive capabilities. */
void ofi_rdm_set_sources(struct ofi_rdm_ep *ep, uint64_t caps);

#endif
