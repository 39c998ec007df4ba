/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registering within the limit of locked memory. */
#include <errno.h>
#include "domain.h"
#include "mr.h"
#include "prov/base/mr_cache.h"

struct ibv_mr *vrb_mr_new(struct vrb_domain *domain, void *addr, size_t len, int access)
{
	struct ofi_mr_cache *cache = domain->base.cache;
	struct ibv_mr *mr;
	int err;

	do {
		mr = ibv_reg_mr(domain->pd, addr, len, access);
		err = errno;
	} while (!mr && err == ENOMEM && cache && ofi_mr_cache_shed(cache, len));
	errno = err;
	return mr;
}
