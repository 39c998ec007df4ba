/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The RDM part of a domain, and its registration cache, which FI_MR_CACHE_* configure. */
#ifndef VRB_RDM_DOMAIN_H
#define VRB_RDM_DOMAIN_H

#include "prov/base/mr_cache.h"

struct vrb_domain;

/* Called when the provider starts: domains for FI_EP_RDM can be opened afterward. */
void vrb_rdm_domain_init(void);
int vrb_rdm_cache_open(struct vrb_domain *domain, struct ofi_mr_cache **cache);
/* NULL-safe. */
void vrb_rdm_cache_close(struct ofi_mr_cache *cache);

#endif
