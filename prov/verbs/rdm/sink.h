/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions to the thread that reads a CQ, past the ring. */
#ifndef VRB_RDM_SINK_H
#define VRB_RDM_SINK_H

#include "rdm.h"

/* An entry was written of a sink that has room. from: fi_addr of the sender. */
static inline void vrb_rdm_sink_advance(struct vrb_rdm_sink *sink, size_t entry_size,
					fi_addr_t from)
{
	sink->at = (uint8_t *)sink->at + entry_size;
	sink->left--;
	if (ofi_unlikely(sink->src))
		*sink->src++ = from;
}

#endif
