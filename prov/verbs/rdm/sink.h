/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Completions to the thread that reads a CQ, past the ring. */
#ifndef VRB_RDM_SINK_H
#define VRB_RDM_SINK_H

#include "rdm.h"

/* An entry was written. from: fi_addr of the sender. Of a full one the CQ is unset. */
static inline void vrb_rdm_sink_advance(struct vrb_rdm_sink *sink, size_t entry_size,
					fi_addr_t from)
{
	sink->at = (uint8_t *)sink->at + entry_size;
	if (ofi_unlikely(sink->src))
		*sink->src++ = from;
	if (!--sink->left)
		sink->cq = VRB_RDM_NO_SINK;
}

#endif
