/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Memory regions by key, for the operations that the library performs itself. */
#ifndef VRB_MR_H
#define VRB_MR_H

#include <stdbool.h>
#include <stdint.h>

struct vrb_domain;

struct vrb_mr_place {
	uint64_t base; /* added to the addresses of operations: 0 with FI_MR_VIRT_ADDR */
	uint64_t start, len;
	uint64_t access; /* FI_REMOTE_READ and the like */
	uint32_t rkey;
};

/* Whether keys are the device's, and not the application's. */
bool vrb_mr_prov_key(const struct vrb_domain *domain);
/* The region of a key. False when there is none. Of domains for reliable datagrams only. */
bool vrb_mr_find(struct vrb_domain *domain, uint64_t key, struct vrb_mr_place *place);
/*
 * The peer has done FI_REMOTE_READ, FI_REMOTE_WRITE or both there: the region's counters count it,
 * once if they are one.
 */
void vrb_mr_count(struct vrb_domain *domain, uint64_t key, uint64_t what);

#endif
