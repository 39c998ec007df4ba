/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Registering when the limit of locked memory, or of registrations, is reached. */
#include <errno.h>
#include <rdma/fi_errno.h>
#include "domain.h"
#include "err.h"
#include "mr.h"
#include "prov/base/mr_cache.h"

#define TRIES 2 /* more would not help, but would empty the cache */

struct ibv_mr *vrb_mr_again(struct vrb_domain *domain, void *addr, size_t len, int access)
{
	struct ofi_mr_cache *cache = domain->base.cache;
	struct ibv_mr *mr = NULL;
	int tries, err = errno ? errno : EINVAL;

	for (tries = 0; !mr && vrb_errno(err) == -FI_ENOMEM && cache && tries < TRIES; tries++) {
		if (!ofi_mr_cache_shed(cache, len))
			break;
		mr = ibv_reg_mr(domain->pd, addr, len, access);
		err = errno;
	}
	errno = err;
	return mr;
}
