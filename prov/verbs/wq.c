/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work queue rings: allocation. */
#include <stdlib.h>
#include "wq.h"

static uint32_t pow2_at_least(uint32_t n)
{
	return n <= 1 ? 1 : 1u << (32 - __builtin_clz(n - 1));
}

struct vrb_wq *vrb_wq_new(struct vrb_ep *ep, uint32_t size)
{
	uint32_t slots = pow2_at_least(size), i;
	struct vrb_wq *wq;

	wq = aligned_alloc(VRB_CACHELINE, sizeof(*wq));
	if (!wq)
		return NULL;
	*wq = (struct vrb_wq){ .ep = ep, .mask = slots - 1 };
	/* At least two of size slots ask for a completion, so that the ring can always be retired. */
	wq->signal_mask = pow2_at_least(size / 2 + 1) / 2;
	wq->signal_mask = wq->signal_mask ? wq->signal_mask - 1 : 0;
	wq->slots = calloc(slots, sizeof(*wq->slots));
	if (!wq->slots) {
		free(wq);
		return NULL;
	}
	for (i = 0; i < slots; i++)
		wq->slots[i].wq = wq;
	return wq;
}

void vrb_wq_free(struct vrb_wq *wq)
{
	if (!wq)
		return;
	free(wq->slots);
	free(wq);
}
