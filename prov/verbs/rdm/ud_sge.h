/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Copies between packets and the segments of a work request on unreliable datagrams. */
#ifndef VRB_RDM_UD_SGE_H
#define VRB_RDM_UD_SGE_H

#include <string.h>
#include "ud_int.h"

/* Copies a part of what a work request sends. */
static inline void vrb_ud_gather(const struct vrb_ud_wr *wr, uint32_t from, uint32_t len,
				 uint8_t *to)
{
	uint32_t take;
	int i;

	for (i = 0; i < wr->num_sge && len; i++) {
		if (from >= wr->sge[i].length) {
			from -= wr->sge[i].length;
			continue;
		}
		take = wr->sge[i].length - from < len ? wr->sge[i].length - from : len;
		memcpy(to, (const uint8_t *)(uintptr_t)wr->sge[i].addr + from, take);
		to += take;
		len -= take;
		from = 0;
	}
}

/* Copies to a part of the memory of a work request. */
static inline void vrb_ud_scatter(const struct vrb_ud_wr *wr, uint64_t to, const uint8_t *from,
				  size_t len)
{
	size_t take;
	int i;

	for (i = 0; i < wr->num_sge && len; i++) {
		if (to >= wr->sge[i].length) {
			to -= wr->sge[i].length;
			continue;
		}
		take = wr->sge[i].length - to < len ? wr->sge[i].length - to : len;
		memcpy((uint8_t *)(uintptr_t)wr->sge[i].addr + to, from, take);
		from += take;
		len -= take;
		to = 0;
	}
}

#endif
