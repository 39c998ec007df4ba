/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions to the thread that reads a CQ, past the ring. */
#ifndef OFI_RDM_DIRECT_H
#define OFI_RDM_DIRECT_H

#include "rdm.h"

/* An entry was written. from: fi_addr of the sender. Of a full one the CQ is unset. */
static inline void ofi_rdm_direct_advance(struct ofi_rdm_direct *direct, size_t entry_size,
					  fi_addr_t from)
{
	direct->at = (uint8_t *)direct->at + entry_size;
	if (ofi_unlikely(direct->src))
		*direct->src++ = from;
	if (!--direct->left)
		direct->cq = OFI_RDM_NO_DIRECT;
}

#endif
