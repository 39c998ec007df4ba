/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct completion: entries are written to the array of the thread that reads the CQ, past the
 * ring.
 */
#ifndef OFI_RDM_DIRECT_H
#define OFI_RDM_DIRECT_H

#include "rdm.h"

/*
 * Advances past an entry that was written; `from` is the sender's fi_addr. When the array is full,
 * direct completion ends.
 */
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
