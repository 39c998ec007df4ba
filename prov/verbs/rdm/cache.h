/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The domain's registration cache, configured by the FI_MR_CACHE_* parameters. */
#ifndef VRB_RDM_CACHE_H
#define VRB_RDM_CACHE_H

#include "prov/base/mr_cache.h"

struct vrb_domain;

int vrb_rdm_cache_open(struct vrb_domain *domain, struct ofi_mr_cache **cache);
/* NULL-safe. */
void vrb_rdm_cache_close(struct ofi_mr_cache *cache);

#endif
