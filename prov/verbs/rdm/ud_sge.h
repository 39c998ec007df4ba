/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies between packets and the segments of a work request on unreliable datagrams. */
#ifndef VRB_RDM_UD_SGE_H
#define VRB_RDM_UD_SGE_H

#include <string.h>
#include "ud_int.h"

/* Copies the bytes of a work request that begin at an offset to a packet, or from one. */
static inline void vrb_ud_copy(const struct vrb_ud_wr *wr, uint64_t at, uint8_t *bytes, size_t len,
			       bool to_packet)
{
	uint8_t *memory;
	size_t take;
	int i;

	for (i = 0; i < wr->num_sge && len; i++) {
		if (at >= wr->sge[i].length) {
			at -= wr->sge[i].length;
			continue;
		}
		memory = (uint8_t *)(uintptr_t)wr->sge[i].addr + at;
		take = wr->sge[i].length - at < len ? wr->sge[i].length - at : len;
		memcpy(to_packet ? bytes : memory, to_packet ? memory : bytes, take);
		bytes += take;
		len -= take;
		at = 0;
	}
}

#endif
